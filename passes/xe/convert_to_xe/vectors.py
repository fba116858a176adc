"""Vectors of a lane: pieces to vectors of elements and back, and other orders.

Vectors of elements have at most 16 of them.  A piece that is packed for DPAS holds
the same bits in wider integers; longer ones are cut in halves first.  What is in order
already is used as it is; a shuffle is made only where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    TensorType,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.vector import (
    BitcastOp,
    BroadcastOp,
    ExtractOp,
    InsertOp,
    ShuffleOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from coopc.dialects.tt.types import bits_of
from coopc.ir.builder import Builder
from coopc.passes.xe.register_layout import MAX_COMPONENTS, RegisterLayout


def vector_type(value: SSAValue) -> VectorType:
    """Return the type of a value that is a vector."""
    assert isa(value.type, VectorType), value
    return value.type


def length_of(value: SSAValue) -> int:
    """Return the number of components of a vector."""
    return vector_type(value).get_shape()[0]


def bit_width(type: VectorType) -> int:
    """Return the bits of all components of a vector."""
    element = type.get_element_type()
    width = getattr(element, "bitwidth", None)
    assert isinstance(width, int), type
    return type.get_shape()[0] * width


def constant_i32(b: Builder, value: int) -> SSAValue:
    """Return a constant i32."""
    found = b.constant(i32, value)
    found.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
    return found


def numbers(b: Builder, values: Sequence[int]) -> SSAValue:
    """Return a constant vector of i32."""
    vector = VectorType(i32, [len(values)])
    dense = DenseIntOrFPElementsAttr.from_list(vector, list(values))
    return b.pure(ConstantOp, dense)


def not_a_number(type: VectorType | TensorType[Attribute]) -> DenseIntOrFPElementsAttr:
    """Return a constant whose elements are all NaN, a quiet one.

    Raises:
        ValueError: there are none of the type of the elements.
    """
    bits = NANS.get(str(type.element_type))
    if bits is None:
        raise ValueError(f"expected floats, got {type}")
    width = bits_of(type.element_type)
    assert width is not None, type
    found = BytesAttr(bits.to_bytes(width // 8, "little"))
    return DenseIntOrFPElementsAttr(type, found)  # pyright: ignore[reportArgumentType]


NANS = {
    "bf16": 0x7FC0,
    "f16": 0x7E00,
    "f32": 0x7FC00000,
    "f64": 0x7FF8000000000000,
    "f8E4M3FN": 0x7F,
    "f8E5M2": 0x7E,
}
"""The bits of a NaN, by the type of floats."""


def splat(b: Builder, value: SSAValue, length: int) -> SSAValue:
    """Return a number in all components of a vector."""
    return b.pure(BroadcastOp, value, VectorType(value.type, [length]))


def component(b: Builder, vector: SSAValue, at: SSAValue | int) -> SSAValue:
    """Return a component, by a number or an index."""
    return b.pure(_extract, vector, at)


def with_component(
    b: Builder, vector: SSAValue, at: SSAValue | int, value: SSAValue
) -> SSAValue:
    """Return a vector of which a component is replaced."""
    return b.pure(_insert, value, vector, at)


def _extract(vector: SSAValue, at: SSAValue | int) -> Operation:
    return ExtractOp(vector, [at], vector_type(vector).get_element_type())


def _insert(value: SSAValue, vector: SSAValue, at: SSAValue | int) -> Operation:
    return InsertOp(value, vector, [at])


def bitcast(b: Builder, value: SSAValue, type: VectorType) -> SSAValue:
    """Return the same bits as another type."""
    return value if value.type == type else b.pure(BitcastOp, value, type)


def shuffled(
    b: Builder, one: SSAValue, other: SSAValue, mask: Sequence[int]
) -> SSAValue:
    """Return components of two vectors, or the vector itself where that is the same."""
    if list(mask) == list(range(length_of(one))):
        return one
    return b.pure(_shuffle, one, other, tuple(mask))


def _shuffle(one: SSAValue, other: SSAValue, mask: tuple[int, ...]) -> Operation:
    type = VectorType(vector_type(one).get_element_type(), [len(mask)])
    chosen = DenseArrayBase.from_list(i64, mask)
    return ShuffleOp(one, other, chosen, result_type=type)


def concatenated(b: Builder, vectors: Sequence[SSAValue]) -> SSAValue:
    """Return the components of vectors of equal length, a power of two of them."""
    while len(vectors) > 1:
        both = range(2 * length_of(vectors[0]))
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [shuffled(b, x, y, both) for x, y in pairs]
    return vectors[0]


def gathered(
    b: Builder, vectors: Sequence[SSAValue], wanted: Sequence[int], length: int
) -> list[SSAValue]:
    """Return vectors of chosen elements.

    Args:
        b: builds the code.
        vectors: of equal length, their elements counted through.
        wanted: the number of each element that is wanted, in order.
        length: of the new vectors.
    """
    return [
        _gathered(b, vectors, wanted[start : start + length])
        for start in range(0, len(wanted), length)
    ]


def _gathered(
    b: Builder, vectors: Sequence[SSAValue], wanted: Sequence[int]
) -> SSAValue:
    """Return one vector of chosen elements, two vectors joined at a time."""
    size = length_of(vectors[0])
    parts = [divmod(each, size) for each in wanted]
    used = list(dict.fromkeys(vector for vector, _ in parts))
    first = vectors[used[0]]
    if len(used) == 1:
        return shuffled(b, first, first, [at for _, at in parts])
    # Of the first two all that is wanted; of each further one, put in its places.
    known = {used[0]: 0, used[1]: size}
    mask = [known[vector] + at if vector in known else 0 for vector, at in parts]
    found = shuffled(b, first, vectors[used[1]], mask)
    for other in used[2:]:
        taken = [at if vector == other else None for vector, at in parts]
        found = _with_components(b, found, vectors[other], taken)
    return found


def _with_components(
    b: Builder, found: SSAValue, other: SSAValue, taken: Sequence[int | None]
) -> SSAValue:
    """Return a vector with some components taken from one of any length."""
    length = len(taken)
    if length_of(other) != length:
        other = shuffled(b, other, other, [at or 0 for at in taken])
        taken = [None if at is None else place for place, at in enumerate(taken)]
    mask = [place if at is None else length + at for place, at in enumerate(taken)]
    return shuffled(b, found, other, mask)


def unpacked(
    b: Builder, registers: RegisterLayout, pieces: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return the vectors of elements that pieces hold."""
    if registers.packed is None:
        return list(pieces)
    return [
        vector for piece in pieces for vector in elements(b, piece, registers.vector)
    ]


def elements(b: Builder, piece: SSAValue, type: VectorType) -> list[SSAValue]:
    """Return the bits of a vector as vectors of another type, one or more."""
    width = bit_width(vector_type(piece))
    wanted = bit_width(type)
    if width <= wanted:
        return [bitcast(b, piece, type)]
    slots = length_of(piece) * wanted // width
    if slots == 0:  # less than a component: taken apart first
        element = type.get_element_type()
        count = min(MAX_COMPONENTS, type.get_shape()[0] * width // wanted)
        whole = elements(b, piece, VectorType(element, [count]))
        return [part for each in whole for part in elements(b, each, type)]
    return [
        bitcast(b, shuffled(b, piece, piece, range(at, at + slots)), type)
        for at in range(0, length_of(piece), slots)
    ]


def packed(
    b: Builder, registers: RegisterLayout, vectors: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return the pieces that vectors of elements make."""
    if (type := registers.packed) is None:
        return list(vectors)
    return joined(b, vectors, type)


def joined(b: Builder, vectors: Sequence[SSAValue], type: VectorType) -> list[SSAValue]:
    """Return the bits of vectors as vectors of another type, as long or longer."""
    count = bit_width(type) // bit_width(vector_type(vectors[0]))
    if count <= 1:
        return [bitcast(b, vector, type) for vector in vectors]
    part = VectorType(type.get_element_type(), [type.get_shape()[0] // count])
    parts = [bitcast(b, each, part) for each in vectors]
    return [
        concatenated(b, parts[start : start + count])
        for start in range(0, len(parts), count)
    ]
