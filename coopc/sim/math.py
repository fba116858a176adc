"""Simulation of `math`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class MathFunctions(SimulatorFunctions):
    """To come."""
