"""Simulation of `ttg` and `ttig`: what only matters where tensors are in lanes."""

from __future__ import annotations

from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import ttg, ttig
from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class TtgFunctions(SimulatorFunctions):
    """Tensors are whole: there is nothing to exchange, and nobody to wait for."""

    @impl(ttg.ConvertLayoutOp)
    def convert_layout(
        self, interpreter: Interpreter, op: ttg.ConvertLayoutOp, args: PythonValues
    ) -> PythonValues:
        """Keep the tensor."""
        return args

    @impl(ttg.BarrierOp)
    def barrier(
        self, interpreter: Interpreter, op: ttg.BarrierOp, args: PythonValues
    ) -> PythonValues:
        """Wait for nobody: tensors are whole."""
        return ()


@register_impls
class TtigFunctions(SimulatorFunctions):
    """Prefetches do nothing that a program sees."""

    @impl(ttig.PrefetchOp)
    def prefetch(
        self, interpreter: Interpreter, op: ttig.PrefetchOp, args: PythonValues
    ) -> PythonValues:
        """Do nothing that a program sees."""
        return ()

    @impl(ttig.DescriptorPrefetchOp)
    def descriptor_prefetch(
        self,
        interpreter: Interpreter,
        op: ttig.DescriptorPrefetchOp,
        args: PythonValues,
    ) -> PythonValues:
        """Do nothing that a program sees."""
        return ()
