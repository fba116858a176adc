"""What a lane holds of a matrix: tiles, each one operand of DPAS.

A matrix is a tensor in a layout of DPAS, cut into tiles in row-major order, as its
sizes need not be powers of two:

| use | tile                              | in a lane                               |
|-----|-----------------------------------|-----------------------------------------|
| a   | 8 (4, 2, 1) rows, K of one DPAS   | the operand a, packed                   |
| b   | K of one DPAS, N columns          | the operand b, packed                   |
| acc | 8 (4, 2, 1) rows, N columns       | a vector of elements                    |

`coopc.layout.dpas` says which lane has which element of a tile.  A and C have as many
rows in a tile as divide the matrix, 8 at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import gcd

from xdsl.dialects.builtin import VectorType

from coopc.device import Device
from coopc.dialects import coopmatrix, xe
from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.coopmatrix.elements import matrix_of
from coopc.ir.matrix_size import why_too_large
from coopc.ir.split_values import Parts
from coopc.layout.dpas import CHANNEL_BITS, SYSTOLIC_DEPTH, DpasEncoding
from coopc.layout.encodings import Operand
from coopc.passes.xe.register_layout import RegisterLayout, precision_of

MOST_ROWS = 8
"""Rows of A and C of one DPAS."""
ELEMENT_BITS = (8, 16, 32)


@dataclass(frozen=True)
class DpasTiling:
    """How lanes hold matrices of one type."""

    type: MatrixType
    operand: Operand
    encoding: DpasEncoding
    registers: RegisterLayout

    @property
    def lanes(self) -> int:
        """Of a subgroup."""
        return self.encoding.threads_per_warp

    @property
    def parts(self) -> Parts:
        """What a matrix becomes."""
        height, width = self.encoding.tile_shape(self.operand)
        places = [(row // height, col // width) for row, col in self.registers.tiles]
        return Parts(self.registers.types, tuple(f"_{p}x{q}" for p, q in places))

    def over(self, shape: tuple[int, int]) -> RegisterLayout:
        """Return what a lane holds of a part whose sizes are powers of two."""
        whole = self.registers
        layout = self.encoding.operand_linear(self.operand, shape)
        return RegisterLayout(layout, whole.element, whole.run, whole.packed)


@lru_cache(maxsize=256)
def tiling_of(type: MatrixType, device: Device, lanes: int) -> DpasTiling | str:
    """Return how lanes hold matrices of a type, or why they cannot."""
    if (reason := _why_not_type(type)) is not None:
        return reason
    matrix = matrix_of(type)
    operand = matrix.operand
    rows = MOST_ROWS if operand == "b" else gcd(matrix.rows, MOST_ROWS)
    assert device.dpas is not None, device
    size = device.dpas.lanes
    ops = CHANNEL_BITS // matrix.element_bits
    try:
        encoding = DpasEncoding(rows, SYSTOLIC_DEPTH, size, ops, lanes, (1, 1), (1, 1))
        layout = encoding.tile(operand)
    except ValueError as error:
        return f"{error}, in {type}"
    tile = encoding.tile_shape(operand)
    for name, has, wanted in zip(("rows", "columns"), matrix.shape, tile, strict=True):
        if has % wanted:
            return (
                f"expected {name} that {wanted} divides, as in a DPAS of "
                f"{device.name}, got {has} in {type}"
            )
    starts = (range(0, n, step) for n, step in zip(matrix.shape, tile, strict=True))
    return DpasTiling(
        type,
        operand,
        encoding,
        RegisterLayout(
            layout,
            type.element_type,
            layout.in_sizes["register"],
            _packed(type, operand, encoding),
            tuple(product(*starts)),
        ),
    )


def _packed(
    type: MatrixType, operand: Operand, encoding: DpasEncoding
) -> VectorType | None:
    """Return the type of an operand of DPAS that packs elements; None if none does."""
    precision = precision_of(type.element_type)
    if operand == "c" or precision is None or type.element_bits >= CHANNEL_BITS:
        return None
    a, b, _ = xe.operand_types(
        precision,
        encoding.repeat_count,
        encoding.threads_per_warp,
        encoding.execution_size,
    )
    return a if operand == "a" else b


def _why_not_type(type: MatrixType) -> str | None:
    """Return why no device holds matrices of a type as operands of DPAS."""
    if not type.is_static:
        names = ", ".join(f"@{name}" for name in type.names)
        return f"expected sizes that are numbers, got {type} with {names}"
    assert isinstance(type.scope, coopmatrix.ScopeAttr)
    if type.scope.data != coopmatrix.Scope.SUBGROUP:
        return f"expected a matrix that a subgroup holds, got scope {type.scope.data}"
    if type.element_bits not in ELEMENT_BITS:
        return f"expected elements of 8, 16 or 32 bits, got {type.element_type}"
    return why_too_large(type)
