"""Simulation of `vector`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class VectorFunctions(SimulatorFunctions):
    """To come."""
