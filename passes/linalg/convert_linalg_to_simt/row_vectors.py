"""Which loops of rows may be vectors: neighbours that are loaded and computed at once.

A loop is one if each access to memory is contiguous and aligned along it, or invariant,
and if bodies consist of operations that vectors have, too.

    %x = memref.load %b[%k, %n] : memref<64x64xf16>
    %x = vector.load %b[%k, %n] {alignment = 16} : memref<64x64xf16>, vector<8xf16>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from xdsl.dialects import vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    VectorType,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from coopc.dialects import simt
from coopc.dialects.narrow import length_of, memref_type, vector_type
from coopc.dialects.simt import bits_of
from coopc.ir.builder import Builder
from coopc.passes.linalg.match import row_alignment
from coopc.passes.linalg.rows import Index, Nest, Statement, is_contiguous

OpT = TypeVar("OpT", bound=Operation)
VECTOR_BYTES, MOST_ELEMENTS = 16, 8
"""What a work-item loads at once, at most."""
FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)


def width_along(nest: Nest, dimension_of: Callable[[Statement], int | None]) -> int:
    """Return how many neighbours may be one vector; 1 for none.

    Args:
        nest: the rows.
        dimension_of: which dimension of a statement's point a vector is along; None
            for a statement of scalars.
    """
    if not all(map(is_vectorizable, nest.statements)):
        return 1
    places: list[tuple[SSAValue, Index, int]] = []
    sizes: list[int | None] = []
    for statement in nest.loops:
        if (dimension := dimension_of(statement)) is None:
            continue
        point = nest.point(statement)
        (loop,) = (n for n, x in enumerate(point) if x == AffineDimExpr(dimension))
        sizes.append(nest.size(statement, loop))
        for memory, index in (*nest.reads(statement), *nest.writes(statement)):
            used = [x for x in index if dimension in x.used_dims()]
            if used and used != [AffineDimExpr(dimension)]:
                return 1
            if used and not is_contiguous(memory, index, dimension):
                return 1
            if used:
                places.append((memory, index, dimension))
    shared = range(len(nest.shared))
    # What varies along the shared loops alone is accessed once.
    often = [x for x in places if any(y.used_dims() - {*shared} for y in x[1])]
    if not often or None in sizes:
        return 1
    bits = max(bits_of(memref_type(x).get_element_type()) for x, _, _ in often)
    width = min(MOST_ELEMENTS, VECTOR_BYTES * 8 // bits)
    while width > 1 and not (
        all(size is not None and size % width == 0 for size in sizes)
        and all(is_aligned(memory, width) for memory, _, _ in places)
    ):
        width //= 2
    return width


def is_vectorizable(statement: Statement) -> bool:
    """Whether a body has operations that vectors have, too."""
    ops = [x for x in statement.block.ops if not isinstance(x, linalg.YieldOp)]
    values = [*statement.block.args, *(y for x in ops for y in x.results)]
    known = all(x.dialect_name() in ("arith", "math") and not x.regions for x in ops)
    return known and all(is_number(x.type) for x in values)


def is_number(type: Attribute) -> bool:
    if isinstance(type, IntegerType):
        return type.bitwidth in (1, 8, 16, 32, 64)
    return isinstance(type, FLOATS)


def is_aligned(memory: SSAValue, width: int) -> bool:
    """Whether each row of memory begins at a multiple of `width` elements."""
    type = memref_type(memory)
    apart = row_alignment(type) or type.get_shape()[-1]
    return apart > 0 and apart % width == 0


# --- accesses and reductions of vectors ---


def load_vector(
    b: Builder, memory: SSAValue, at: list[SSAValue], width: int
) -> SSAValue:
    """Return neighbours in memory, of which the first is aligned."""
    type = VectorType(memref_type(memory).get_element_type(), [width])
    return b.effect(_aligned(vector.LoadOp(memory, at, type), type)).results[0]


def store_vector(
    b: Builder, value: SSAValue, memory: SSAValue, at: list[SSAValue]
) -> None:
    b.effect(_aligned(vector.StoreOp(value, memory, at), vector_type(value)))


def _aligned(op: OpT, type: VectorType) -> OpT:
    element = type.element_type
    assert isinstance(element, FixedBitwidthType), type
    aligned_to = min(VECTOR_BYTES, type.get_shape()[0] * element.bitwidth // 8)
    op.attributes[simt.ALIGNMENT] = IntegerAttr(aligned_to, i64)
    return op


Two: TypeAlias = Callable[[SSAValue, SSAValue], SSAValue]
"""Combines two values."""


def tree_reduced(values: Sequence[SSAValue], two: Two) -> SSAValue:
    """Combine values pairwise, as many as a power of two."""
    while len(values) > 1:
        values = [two(x, y) for x, y in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def components_of(b: Builder, vector: SSAValue) -> list[SSAValue]:
    return [b.extract(vector, n) for n in range(length_of(vector))]
