"""Simulation of `ttg` and `ttig`: what only matters where tensors are in lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import ttg, ttig
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.values import AXES, Array, trailing


@dataclass(eq=False, slots=True)
class Held:
    """What a buffer holds; None before the first store."""

    value: Array | None


@dataclass(frozen=True, eq=False, slots=True)
class Shared:
    """A buffer in shared memory, and in which order its dimensions are seen."""

    held: Held
    order: tuple[int, ...] = ()
    """The dimension of the buffer that each one is; empty where all stay."""


@register_impls
class TtgFunctions(SimulatorFunctions):
    """Tensors are whole: there is nothing to exchange, and nobody to wait for."""

    @impl(ttg.ConvertLayoutOp)
    def convert_layout(
        self, interpreter: Interpreter, op: ttg.ConvertLayoutOp, args: PythonValues
    ) -> PythonValues:
        """Keep the tensor."""
        return args

    @impl(ttg.LocalAllocOp)
    def local_alloc(
        self, interpreter: Interpreter, op: ttg.LocalAllocOp, args: PythonValues
    ) -> PythonValues:
        """Make a buffer, with an initial value or without one."""
        return (Shared(Held(args[0] if args else None)),)

    @impl(ttg.LocalDeallocOp)
    def local_dealloc(
        self, interpreter: Interpreter, op: ttg.LocalDeallocOp, args: PythonValues
    ) -> PythonValues:
        """Forget what is in a buffer."""
        args[0].held.value = None
        return ()

    @impl(ttg.LocalStoreOp)
    def local_store(
        self, interpreter: Interpreter, op: ttg.LocalStoreOp, args: PythonValues
    ) -> PythonValues:
        """Put a tensor into a buffer, in the work-groups that are active."""
        new: Array = args[0]
        shared: Shared = args[1]
        back = np.argsort(shared.order) if shared.order else range(new.ndim - AXES)
        new = new.transpose((*range(AXES), *(AXES + int(dim) for dim in back)))
        if (here := self.machine.mask) is not None and shared.held.value is not None:
            mask = trailing(here, new.ndim - AXES)
            new = np.where(mask, new, shared.held.value)
        shared.held.value = new
        return ()

    @impl(ttg.LocalLoadOp)
    def local_load(
        self, interpreter: Interpreter, op: ttg.LocalLoadOp, args: PythonValues
    ) -> PythonValues:
        """Take a tensor out of a buffer.

        Raises:
            UndefinedBehaviour: nothing was stored there.
        """
        shared: Shared = args[0]
        if (value := shared.held.value) is None:
            raise UndefinedBehaviour("expected a buffer that was stored to")
        if shared.order:
            order = (AXES + dim for dim in shared.order)
            value = value.transpose((*range(AXES), *order))
        return (value,)

    @impl(ttg.MemDescTransOp)
    def memdesc_trans(
        self, interpreter: Interpreter, op: ttg.MemDescTransOp, args: PythonValues
    ) -> PythonValues:
        """The same buffer with its dimensions in another order."""
        order = [int(dim) for dim in op.order.get_values()]
        before = args[0].order or tuple(range(len(order)))
        return (Shared(args[0].held, tuple(before[dim] for dim in order)),)

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
