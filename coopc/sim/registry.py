"""Which functions simulate which dialect: the one list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

from coopc.sim.interpreter import Simulator, SimulatorFunctions
from coopc.sim.machine import Machine

FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "affine": ("coopc.sim.affine:AffineFunctions",),
    "amx": ("coopc.sim.amx:AmxFunctions",),
    "arith": ("coopc.sim.arith:ArithFunctions",),
    "coopmatrix": (
        "coopc.sim.coopmatrix_elements:CoopmatrixElementFunctions",
        "coopc.sim.coopmatrix_elementwise:CoopmatrixElementwiseFunctions",
        "coopc.sim.coopmatrix_memory:CoopmatrixMemoryFunctions",
        "coopc.sim.coopmatrix_multiply:CoopmatrixMultiplyFunctions",
        "coopc.sim.coopmatrix_whole:CoopmatrixWholeFunctions",
    ),
    "func": ("coopc.sim.func:FuncFunctions",),
    "linalg": ("coopc.sim.linalg:LinalgFunctions",),
    "llvm": ("coopc.sim.llvm:LlvmFunctions",),
    "math": ("coopc.sim.math:MathFunctions",),
    "memref": (
        "coopc.sim.memref:MemrefFunctions",
        "coopc.sim.memref_views:MemrefViewFunctions",
    ),
    "row_slice": ("coopc.sim.row_slice:RowSliceFunctions",),
    "scf": ("coopc.sim.scf:ScfFunctions",),
    "simt": ("coopc.sim.simt:SimtFunctions",),
    "tt": (
        "coopc.sim.tt:TtFunctions",
        "coopc.sim.tt_math:TtMathFunctions",
        "coopc.sim.tt_memory:TtMemoryFunctions",
    ),
    "ttg": ("coopc.sim.ttg:TtgFunctions",),
    "ttig": (
        "coopc.sim.ttg:TtigFunctions",
        "coopc.sim.tt_memory:TtigMemoryFunctions",
    ),
    "ub": ("coopc.sim.ub:UbFunctions",),
    "vector": (
        "coopc.sim.vector:VectorFunctions",
        "coopc.sim.vector_memory:VectorMemoryFunctions",
    ),
    "xe": (
        "coopc.sim.xe:XeFunctions",
        "coopc.sim.xe_channels:XeChannelFunctions",
        "coopc.sim.xe_multiply:XeMultiplyFunctions",
    ),
}
"""By dialect, the classes of functions; imported when a module has its operations."""


def new_simulator(module: ModuleOp, machine: Machine) -> Simulator:
    """Return an interpreter that knows the dialects of a module."""
    simulator = Simulator(module, machine=machine)
    for dialect in sorted({op.dialect_name() for op in module.walk()}):
        for functions in functions_of(dialect):
            simulator.register_implementations(functions(machine))
    return simulator


def functions_of(dialect: str) -> Iterator[type[SimulatorFunctions]]:
    """Import the functions of a dialect; one without any has none."""
    for path in FUNCTIONS.get(dialect, ()):
        module, _, name = path.partition(":")
        found = getattr(import_module(module), name)
        assert issubclass(found, SimulatorFunctions), path
        yield found
