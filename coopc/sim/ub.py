"""Simulation of `ub`."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import ub
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.sim.arith import element_type
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.values import AXES, shape_of


@register_impls
class UbFunctions(SimulatorFunctions):
    """Poison is NaN, or a pattern of bits."""

    @impl(ub.PoisonOp)
    def poison(
        self, interpreter: Interpreter, op: ub.PoisonOp, args: PythonValues
    ) -> PythonValues:
        """Give poison."""
        value = self.machine.numerics.poison(element_type(op.result))
        return (np.broadcast_to(value, (1,) * AXES + shape_of(op.result.type)),)
