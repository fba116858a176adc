"""A kernel for a `Case` that is being written: text, arguments, what goes into them.

Inputs are small numbers, so that every sum is exact in every type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from coopc.testing.lane_cases import Case

Array: TypeAlias = npt.NDArray[Any]

BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i8": 8, "i16": 16}
BITS.update({"i32": 32, "i64": 64})
_NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
}
_NUMPY.update({"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64})


def matrix(rows: int, cols: int, element: str, use: str = "acc") -> str:
    """Return the text of a type."""
    return f"!coopmatrix.matrix<{rows}x{cols}x{element}, {use}>"


@dataclass(slots=True)
class Kernel:
    """A kernel that is being written."""

    case: Case
    arguments: list[str] = field(default_factory=list[str])
    arrays: list[Array] = field(default_factory=list[Array])
    lines: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The bodies of functions that the kernel calls one after the other."""

    def add(self, text: str) -> None:
        """Add lines to the body."""
        self.lines += text.strip().splitlines()

    def given(self, name: str, array: Array, type: str) -> None:
        """Add an argument."""
        self.arguments.append(f"%{name}: {type}")
        self.arrays.append(array)

    def memory(self, name: str, rows: int, cols: int, type: str, fill: float) -> str:
        """Add a memref that is filled with a number; return its type."""
        text = f"memref<{rows}x{cols}x{type}>"
        self.given(name, filled((rows, cols), type, fill), text)
        return text

    def keep(self, name: str, rows: int, cols: int, type: str, use: str) -> None:
        """Store a matrix to a memref of its own, larger than it."""
        memory = self.memory(f"o_{name}", rows + 2, cols + 3, type, 7)
        held = matrix(rows, cols, type, use)
        self.add(
            f"coopmatrix.store %{name}, %o_{name}[%c1, %c2] row_major : "
            f"{held}, {memory}"
        )

    def copies(self) -> list[Array]:
        """Return the arguments, to be changed in place: with the same strides."""
        found: list[Array] = []
        for array in self.arrays:
            base = array.base if array.base is not None else array
            copy = base.copy()
            found.append(
                np.lib.stride_tricks.as_strided(copy, array.shape, array.strides)
            )
        return found

    @property
    def text(self) -> str:
        """The module."""
        arguments = ", ".join(self.arguments)
        types = ", ".join(x.partition(": ")[2] for x in self.arguments)
        names = ", ".join(x.partition(": ")[0] for x in self.arguments)
        parts = [
            f"func.func private @{name}({arguments}) {{\n  "
            + "\n  ".join([*self.lines, *lines, "func.return\n}"])
            for name, lines in self.sections.items()
        ]
        calls = [
            f"func.call @{name}({names}) : ({types}) -> ()" for name in self.sections
        ]
        size = f"array<i32: {self.case.lanes}>"
        return "\n".join(
            [
                f"func.func @k({arguments}) attributes {{simt.kernel,",
                f"    simt.work_group_size = {size}, "
                "simt.grid = affine_map<() -> (1)>} {",
                *calls,
                "func.return\n}",
                *parts,
                *self.functions,
            ]
        )


def filled(shape: tuple[int, ...], type: str, value: float) -> Array:
    """Return an array of one number."""
    if type == "bf16":
        bits = np.float32(value).view(np.uint32) >> np.uint32(16)
        return np.full(shape, bits, np.uint16)
    return np.full(shape, value, _NUMPY[type])


def numbers(shape: tuple[int, ...], type: str, seed: int) -> Array:
    """Return numbers from 1 to 4, or -4 to 4 without 0 where the type is signed."""
    random = np.random.default_rng(seed)
    found = random.integers(1, 5, shape) * random.choice([-1, 1], shape)
    if type == "bf16":
        bits = found.astype(np.float32).view(np.uint32) >> np.uint32(16)
        return bits.astype(np.uint16)
    return found.astype(_NUMPY[type])
