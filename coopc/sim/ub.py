"""Simulation of `ub`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class UbFunctions(SimulatorFunctions):
    """To come."""
