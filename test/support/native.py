"""Run kernels on this processor, after passes that make functions of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from coopc.device import device
from coopc.dialects import simt
from coopc.emit.interface import interface_of
from coopc.emit.walker import Facts
from coopc.interface_call import Call, Given, pack, sizes_of
from coopc.run.arrays import Argument
from coopc.run.cpu import Program
from coopc.run.tiles import EMULATED, Tiles, best, cpu_flags, emulator, lacking
from coopc.run.toolchain import ToolMissing

Array: TypeAlias = npt.NDArray[Any]

FEATURES = {"bf16": "amx-bf16", "f16": "amx-fp16", "i8": "amx-int8"}
"""Of tiles that multiply an element type."""


def run_native(
    module: ModuleOp,
    program: ModuleOp,
    arguments: Sequence[Given],
    tiles: Tiles,
    *,
    groups: tuple[int, int, int] | None = None,
    threads: int = 1,
) -> list[Array]:
    """Run the first kernel of a module; return its arrays.

    Args:
        module: what was written, whose interface the kernel has.
        program: what passes made of it, of which LLVM IR is emitted.
        arguments: arrays, which are not changed, and numbers.
        tiles: where tiles of AMX are.
        groups: work-groups along x, y, z, instead of those of the kernel's grid.
        threads: how many run parts of the grid.
    """
    kernel = next(simt.kernels(module))
    interface = interface_of(kernel, module, Facts("opencl", device("intel-cpu")))
    compiled = Program.of(program, tiles, level=2)
    return run_call(compiled, pack(interface, arguments, groups), threads=threads)


def run_call(program: Program, call: Call, *, threads: int = 1) -> list[Array]:
    """Run a compiled kernel in this process; return its arrays."""
    found = run_program(
        program,
        call.interface.name,
        call.opencl_arguments,
        call.groups,
        sizes=sizes_of(call.interface, call.given),
        threads=threads,
    )
    return [*call.unpack(found)]


def run_program(
    program: Program,
    name: str,
    arguments: Sequence[Argument],
    groups: tuple[int, int, int] = (1, 1, 1),
    *,
    sizes: Sequence[int] = (),
    threads: int = 1,
) -> list[Array]:
    """Run a kernel on copies of the arrays given, and return those."""
    own = [np.copy(x) if isinstance(x, np.ndarray) else x for x in arguments]
    program.prepared(name, own, groups, sizes=sizes, threads=threads)()
    return [x for x in own if isinstance(x, np.ndarray)]


def best_or_emulated(flags: Collection[str] | None = None) -> Tiles:
    """The tiles of this processor, else emulated ones where they can be."""
    found = best(flags)
    if found is Tiles.NONE and why_not_emulated() is None:
        return Tiles.EMULATED
    return found


def tiles_of(element: str) -> Tiles:
    """The best tiles, or emulated ones, that multiply an element type; else skip."""
    tiles, feature = best_or_emulated(), FEATURES[element]
    if not has(tiles, feature):
        pytest.skip(f"the processor has no {feature}, and nothing emulates it")
    return tiles


def why_not_emulated() -> str | None:
    """Why tiles cannot be emulated, or None."""
    try:
        emulator()
    except ToolMissing as missing:
        return str(missing)
    return None


def has(tiles: Tiles, feature: str) -> bool:
    """Whether tiles have a feature, as LLVM names it."""
    if tiles is Tiles.AMX:
        return not lacking({feature}, cpu_flags())
    return tiles is Tiles.EMULATED and feature in EMULATED
