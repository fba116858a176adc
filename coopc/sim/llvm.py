"""Simulation of what `arith` lacks: the remainder of floats, and assumptions."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects.llvm_target import AssumeOp
from coopc.sim.arith import float_function
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class LlvmFunctions(SimulatorFunctions):
    """The remainder, with the sign of the dividend; promises."""

    frem = float_function(llvm.FRemOp, "rem")

    @impl(AssumeOp)
    def assume(
        self, interpreter: Interpreter, op: AssumeOp, args: PythonValues
    ) -> PythonValues:
        """Check a promise, wherever somebody makes it."""
        broken = self.machine.and_active(~args[0])
        if broken is not None and broken.any():
            raise UndefinedBehaviour("expected what is assumed to be true, got false")
        return ()
