"""How a tensor is spread over the registers of a lane: what vectors it becomes.

Registers that hold the same element are kept once.  The rest, in order, are cut into
pieces of equal length: for operands of DPAS those of one DPAS, packed into the integers
that it takes, for other tensors vectors of at most 16 elements.

    tensor<256x32xf16, #dot_a>    8 of vector<8xi16>     an A of 8 x 16 each
    tensor<32x256xf16, #dot_b>    8 of vector<8xi32>     a B of 16 x 16 each
    tensor<256x256xf32, #dpas>   16 of vector<8xf32>     a C of 8 x 16 each
    tensor<256xf32, #slice>       4 of vector<8xf32>     as the rows of C
    tensor<64x!tt.ptr<f16>, ..>   vectors of i64: elements from the base on

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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import gcd
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    VectorType,
    i8,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from coopc.device import Device
from coopc.dialects import coopmatrix, tt, xe
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.dialects.coopmatrix.elements import matrix_of
from coopc.dialects.simt import MAX_COMPONENTS
from coopc.dialects.xe import accumulators
from coopc.ir.matrix_size import why_not_held
from coopc.ir.split_values import Parts
from coopc.layout.dpas import CHANNEL_BITS, DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import Encoding, Operand, SliceEncoding
from coopc.layout.linear import LinearLayout

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

MOST_ROWS = 8
"""Rows of A and C of one DPAS."""
ELEMENT_BITS = (8, 16, 32)
DOT_SIZES: dict[Operand, tuple[str, str]] = {
    "a": ("M", "K"),
    "b": ("K", "N"),
    "c": ("M", "N"),
}
"""What the rows and columns of an operand are called."""


@dataclass(frozen=True)
class RegisterLayout:
    """What a lane holds of a tensor."""

    layout: LinearLayout
    """From register, lane and warp to the dimensions of the tensor, or of a tile."""
    element: Attribute
    """The type of an element; i64 for pointers."""
    run: int
    """Elements of a piece."""
    packed: VectorType | None = None
    """The type of a piece that is an operand of DPAS; None for vectors of elements."""
    tiles: tuple[tuple[int, ...], ...] = ()
    """Where tiles of `layout` begin, in the order of a lane's registers; none for a
    tensor, which is one tile.  A matrix of 24 rows is three tiles of 8."""

    @cached_property
    def coordinates(self) -> tuple[tuple[int, ...], ...]:
        """The element that each register of lane 0 of warp 0 holds."""
        images = self.layout.images("register")
        one = tuple(tuple(self.layout.unpack(x)) for x in images)
        if not self.tiles:
            return one
        return tuple(
            tuple(x + y for x, y in zip(tile, element, strict=True))
            for tile in self.tiles
            for element in one
        )

    def elements(self, lanes: int) -> IntArray:
        """Return what lanes of warp 0 hold, of shape (registers, lanes, rank)."""
        import numpy as np

        table = self.layout.apply({"lane": np.arange(lanes)})
        of_lanes = np.stack(list(table.values()), axis=-1)
        own = np.array([self.coordinates[x] for x in self.distinct])
        if not self.tiles:
            return own[:, None] ^ of_lanes[None]
        starts = np.repeat(np.array(self.tiles), self.layout.in_sizes["register"], 0)
        return starts[:, None] + ((own - starts)[:, None] ^ of_lanes[None])

    @cached_property
    def distinct(self) -> tuple[int, ...]:
        """The registers that hold different elements, in order."""
        first: dict[tuple[int, ...], int] = {}
        for register, element in enumerate(self.coordinates):
            first.setdefault(element, register)
        return tuple(first.values())

    @cached_property
    def position(self) -> dict[tuple[int, ...], int]:
        """Which of `registers` holds an element of lane 0 of warp 0."""
        return {self.coordinates[x]: at for at, x in enumerate(self.distinct)}

    @property
    def length(self) -> int:
        """Elements of a vector of elements."""
        return min(self.run, MAX_COMPONENTS)

    @property
    def pieces(self) -> int:
        return len(self.distinct) // self.run

    @property
    def vectors(self) -> int:
        return len(self.distinct) // self.length

    @property
    def vector(self) -> VectorType:
        """The type of a vector of elements."""
        return VectorType(self.element, [self.length])

    @property
    def types(self) -> tuple[Attribute, ...]:
        """The types of the pieces."""
        return (self.vector if self.packed is None else self.packed,) * self.pieces

    def first(self, piece: int) -> tuple[int, ...]:
        """Return the first element of a piece, in lane 0 of warp 0."""
        return self.coordinates[self.distinct[piece * self.run]]


@lru_cache(maxsize=1024)
def register_layout(type: tt.Tensor) -> RegisterLayout:
    """Return how a tensor is spread.

    Raises:
        ValueError: it has no layout.
    """
    layout, encoding = tt.layout_of(type), tt.encoding_of(type)
    assert encoding is not None, type
    element = type.element_type
    plain = RegisterLayout(
        layout, i64 if isinstance(element, tt.PtrType) else element, 1
    )
    count = len(plain.distinct)
    run = 1 << (min(tile_run(encoding), count).bit_length() - 1)
    packed = packed_tensor(type)
    if packed is not None and (count < tile_run(encoding) or count % run):
        packed = None
    if packed is None:
        run = min(run, MAX_COMPONENTS)
        while count % run:
            run //= 2
    return RegisterLayout(layout, plain.element, run, packed)


def tile_run(encoding: Encoding) -> int:
    """Return how many registers of a lane belong together."""
    match encoding:
        case DpasEncoding():
            tile = encoding.tile_shape("c")
        case DotOperandEncoding(parent=DpasEncoding() as parent):
            tile = parent.tile_shape(encoding.operand)
            encoding = parent
        case SliceEncoding():
            return tile_run(encoding.parent)
        case _:
            return MAX_COMPONENTS
    return max(1, tile[0] * tile[1] // encoding.threads_per_warp)


def packed_type(
    operand: Operand, encoding: DpasEncoding, element: Attribute
) -> VectorType | None:
    """Return the type of an operand of DPAS that packs elements; None if none does."""
    precision = precision_of(element)
    if operand == "c" or precision is None:
        return None
    if precision.ops_per_channel != encoding.ops_per_chan:
        return None
    a, b, _ = xe.operand_types(
        precision,
        encoding.repeat_count,
        encoding.threads_per_warp,
        encoding.execution_size,
    )
    return a if operand == "a" else b


def packed_tensor(type: tt.Tensor) -> VectorType | None:
    """Return the type of one operand of DPAS, where a tensor is made of them."""
    match tt.encoding_of(type):
        case DotOperandEncoding(parent=DpasEncoding() as parent) as encoding:
            return packed_type(encoding.operand, parent, type.element_type)
        case _:
            return None


def precision_of(element: Attribute) -> xe.Precision | None:
    """Return what DPAS calls elements of a type: integers are signed."""
    match element:
        case Float16Type():
            return xe.Precision.F16
        case BFloat16Type():
            return xe.Precision.BF16
        case Float32Type():
            return xe.Precision.TF32
        case _:
            return xe.Precision.S8 if element == i8 else None


def channel_bits(type: tt.Tensor) -> tuple[int, int]:
    """Return the elements of an operand of DPAS, and the width of its components.

    The width is 0 where nothing asks for one: 1 and 0 for tensors of other encodings.
    """
    encoding = tt.encoding_of(type)
    assert encoding is not None, type
    packed = packed_tensor(type)
    if packed is not None:
        width = tt.bits_of(packed.get_element_type())
        assert width is not None, packed
        return tile_run(encoding), width
    return (tile_run(encoding), 0) if isinstance(encoding, DpasEncoding) else (1, 0)


def sources(
    source: RegisterLayout, wanted: Sequence[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """Return where in the source's registers elements are; None if one is not there.

    Elements are those of lane 0 of warp 0.
    """
    found = [source.position.get(element) for element in wanted]
    return None if None in found else tuple(x for x in found if x is not None)


def registers_of(value: SSAValue) -> RegisterLayout:
    assert tt.is_tensor(value.type), value
    return register_layout(value.type)


# Matrices


@dataclass(frozen=True)
class DpasTiling:
    """How lanes hold matrices of one type."""

    type: MatrixType
    operand: Operand
    encoding: DpasEncoding
    registers: RegisterLayout

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


def why_not_multiple_of_dpas(
    shape: tuple[int, int], operand: Operand, tile: tuple[int, int], device: Device
) -> str | None:
    """Return which of M, N and K no DPAS of the device divides, or None."""
    for name, has, wanted in zip(DOT_SIZES[operand], shape, tile, strict=True):
        if has % wanted:
            return (
                f"expected {name} to be a multiple of {wanted} (DPAS operand {operand} "
                f"on {device.name}), got {has}"
            )
    return None


def why_not_dpas(op: coopmatrix.MulAddOp, device: Device, lanes: int) -> str | None:
    """Return why DPAS does not multiply what a product does, or None."""
    a, b, c, _ = types = [matrix_type(x) for x in (*op.operands, op.result)]
    precision = precision_of(a.element_type)
    if precision in (None, xe.Precision.TF32) or a.element_type != b.element_type:
        return f"DPAS does not multiply {a} and {b} exactly"
    assert device.dpas is not None, device
    if c.element_type not in accumulators(precision, device.dpas.lanes):
        return f"DPAS does not add {a.element_type} to {c}"
    tilings = (tiling_of(x, device, lanes) for x in types)
    return next((x for x in tilings if isinstance(x, str)), None)


@lru_cache(maxsize=256)
def tiling_of(type: MatrixType, device: Device, lanes: int) -> DpasTiling | str:
    """Return how lanes hold matrices of a type, or why they cannot."""
    if (reason := why_not_held(type, ELEMENT_BITS)) is not None:
        return reason
    matrix = matrix_of(type)
    operand = matrix.operand
    rows = MOST_ROWS if operand == "b" else gcd(matrix.rows, MOST_ROWS)
    assert device.dpas is not None, device
    bits, size = matrix.element_bits, device.dpas.lanes
    try:
        encoding = DpasEncoding.of(bits, lanes, repeat_count=rows, execution_size=size)
        layout = encoding.tile(operand)
    except ValueError as error:
        return f"{error}, in {type}"
    tile = encoding.tile_shape(operand)
    reason = why_not_multiple_of_dpas(matrix.shape, operand, tile, device)
    if reason is not None:
        return f"{reason} in {type}"
    packed = packed_type(operand, encoding, type.element_type)
    starts = (range(0, n, step) for n, step in zip(matrix.shape, tile, strict=True))
    return DpasTiling(
        type,
        operand,
        encoding,
        RegisterLayout(
            layout,
            type.element_type,
            layout.in_sizes["register"],
            packed if type.element_bits < CHANNEL_BITS else None,
            tuple(product(*starts)),
        ),
    )
