"""Simulation of `coopmatrix_whole`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class CoopmatrixWholeFunctions(SimulatorFunctions):
    """To come."""
