"""How a matrix is made of operands of DPAS: what vectors a lane holds of it.

A matrix is cut into tiles, each an operand of one DPAS, in row-major order; a lane
holds one vector of each tile, in the layout of that operand:

    !coopmatrix.matrix<32x32xf16, a>      8 tiles of 8 x 16,  each a vector<8xi16>
    !coopmatrix.matrix<32x32xf16, b>      4 tiles of 16 x 16, each a vector<8xi32>
    !coopmatrix.matrix<32x32xf32, acc>    8 tiles of 8 x 16,  each a vector<8xf32>

on 16 lanes.  Rows that 8 does not divide come in tiles of 4, 2 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import gcd

from coopc.device import Device
from coopc.dialects import coopmatrix, xe
from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.layout.matrices import matrix_of
from coopc.layout.dpas import CHANNEL_BITS, SYSTOLIC_DEPTH, DpasEncoding, Operand
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.register_layout import Spread, precision_of
from coopc.rewrite.matrix_size import why_too_large
from coopc.rewrite.one_to_many import Parts

Tile = tuple[int, int]
"""The first row and column of a tile."""

MOST_ROWS = 8
"""Rows of A and C of one DPAS."""
ELEMENT_BITS = (8, 16, 32)


@dataclass(frozen=True)
class Pieces:
    """What a lane holds of matrices of one type."""

    type: MatrixType
    operand: Operand
    encoding: DpasEncoding
    spread: Spread
    """Of one tile."""

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a tile."""
        return self.encoding.tile_shape(self.operand)

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Where the tiles begin, in row-major order."""
        (rows, cols), (height, width) = self.type.shape, self.tile
        return tuple(product(range(0, rows, height), range(0, cols, width)))

    @property
    def parts(self) -> Parts:
        """What a matrix becomes."""
        height, width = self.tile
        places = [(row // height, col // width) for row, col in self.tiles]
        suffixes = tuple(f"_{p}x{q}" for p, q in places)
        return Parts(self.spread.types * len(places), suffixes)

    def linear(self, shape: tuple[int, int]) -> LinearLayout:
        """Return the layout of a part of the matrix; its sizes are powers of two."""
        return self.encoding.operand_linear(self.operand, shape)

    def spread_over(self, shape: tuple[int, int]) -> Spread:
        """Return what a lane holds of such a part."""
        one = self.spread
        return Spread(self.linear(shape), one.element, one.run, one.packed)


@lru_cache(maxsize=256)
def pieces_of(type: MatrixType, device: Device, lanes: int) -> Pieces | str:
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
    for name, has, wanted in zip(
        ("rows", "columns"), matrix.shape, encoding.tile_shape(operand), strict=True
    ):
        if has % wanted:
            return (
                f"expected {name} that {wanted} divides, as in a DPAS of "
                f"{device.name}, got {has} in {type}"
            )
    return Pieces(type, operand, encoding, _spread(type, operand, encoding, layout))


def _spread(
    type: MatrixType, operand: Operand, encoding: DpasEncoding, layout: LinearLayout
) -> Spread:
    """Return what a lane holds of one tile."""
    element = type.element_type
    packed = None
    precision = precision_of(element)
    if operand != "c" and precision is not None and type.element_bits < CHANNEL_BITS:
        a, b, _ = xe.operand_types(
            precision,
            encoding.repeat_count,
            encoding.threads_per_warp,
            encoding.execution_size,
        )
        packed = a if operand == "a" else b
    return Spread(layout, element, layout.in_sizes["register"], packed)


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
