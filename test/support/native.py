"""Run kernels on this processor, after passes that make functions of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from coopc.device import device
from coopc.dialects import simt
from coopc.emit.interface import interface_of
from coopc.emit.walker import Facts
from coopc.interface_call import Given, pack
from coopc.run.cpu import Program
from coopc.run.execute import on_cpu
from coopc.run.tiles import Tiles

Array: TypeAlias = npt.NDArray[Any]


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
    outcome = on_cpu(compiled, pack(interface, arguments, groups), threads=threads)
    return [np.asarray(array) for array in outcome.arrays]
