"""Hints in SPIR-V modules, for tests that want a driver's compiler to do as it is told.

A hint is a word of an instruction: the loop control of OpLoopMerge, the function
control of OpFunction.  It changes no meaning, only what a compiler does with the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[Any]

HEADER_WORDS = 5
TYPE_VOID, TYPE_VECTOR, FUNCTION, LOOP_MERGE = 19, 23, 54, 246
"""Opcodes of the SPIR-V specification."""
DONT_UNROLL = 2
"""A loop control."""
INLINE, DONT_INLINE = 1, 2
"""Function controls."""


def instructions(module: Words) -> Iterator[tuple[int, int]]:
    """Yield the opcode of each instruction, and the number of its first word."""
    at = HEADER_WORDS
    while at < module.size:
        yield int(module[at]) & 0xFFFF, at
        at += int(module[at]) >> 16


def with_hints(
    binary: bytes,
    *,
    loops: int | None = None,
    sections: int | None = None,
    functions: int | None = None,
) -> bytes:
    """Return a module with other hints.

    Args:
        binary: the module.
        loops: the control of all loops; that of the module if None.
        sections: the same of functions without a result, kernels too.
        functions: the same of functions with a result.
    """
    module = np.frombuffer(binary, np.uint32).copy()
    voids = [module[at + 1] for op, at in instructions(module) if op == TYPE_VOID]
    for opcode, at in instructions(module):
        wanted = None
        if opcode == LOOP_MERGE:
            wanted = loops
        elif opcode == FUNCTION:
            wanted = sections if module[at + 1] in voids else functions
        if wanted is not None:
            module[at + 3] = wanted
    return module.tobytes()


def widest_vector(binary: bytes) -> int:
    """Return the components of the longest vector type of a module."""
    module = np.frombuffer(binary, np.uint32)
    found = (
        int(module[at + 3]) for op, at in instructions(module) if op == TYPE_VECTOR
    )
    return max(found, default=1)
