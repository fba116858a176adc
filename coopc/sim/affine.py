"""Simulation of `affine`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class AffineFunctions(SimulatorFunctions):
    """To come."""
