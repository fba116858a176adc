"""Simulation of `coopmatrix_elements`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class CoopmatrixElementFunctions(SimulatorFunctions):
    """To come."""
