"""Simulation of `vector_memory`."""

from xdsl.interpreter import register_impls

from coopc.sim.interpreter import SimulatorFunctions


@register_impls
class VectorMemoryFunctions(SimulatorFunctions):
    """To come."""
