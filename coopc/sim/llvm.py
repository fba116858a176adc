"""Simulation of `llvm.frem`: the remainder of floats, which `arith` of xDSL lacks."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.interpreter import register_impls

from coopc.sim.arith import float_function
from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class LlvmFunctions(SimulatorFunctions):
    """The remainder, with the sign of the dividend."""

    frem = float_function(llvm.FRemOp, "rem")
