"""Simulation of `coopmatrix_elementwise`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class CoopmatrixElementwiseFunctions(SimulatorFunctions):
    """To come."""
