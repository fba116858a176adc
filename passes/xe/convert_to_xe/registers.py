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
    i64,
)
from xdsl.dialects.vector import BitcastOp, ShuffleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from coopc.dialects.tt.types import bits_of
from coopc.ir.split_values import Splitter
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.register_layout import MAX_COMPONENTS, RegisterLayout


def vector_type(value: SSAValue) -> VectorType:
    """Return the type of a vector."""
    assert isa(value.type, VectorType), value
    return value.type


def length_of(value: SSAValue) -> int:
    """Return the number of components of a vector."""
    return vector_type(value).get_shape()[0]


def shuffled(
    s: Splitter, one: SSAValue, other: SSAValue, mask: Sequence[int]
) -> SSAValue:
    """Return components of two vectors, or the vector itself where that is the same."""
    if list(mask) == list(range(length_of(one))):
        return one
    type = VectorType(vector_type(one).get_element_type(), [len(mask)])
    chosen = DenseArrayBase.from_list(i64, list(mask))
    return s.insert(ShuffleOp(one, other, chosen, result_type=type)).result


def bitcast(s: Splitter, value: SSAValue, type: VectorType) -> SSAValue:
    """Return the same bits as another type."""
    return value if value.type == type else s.insert(BitcastOp(value, type)).result


def gathered(
    s: Splitter, vectors: Sequence[SSAValue], wanted: Sequence[int], length: int
) -> list[SSAValue]:
    """Return vectors of chosen elements.

    Args:
        s: where to put operations.
        vectors: of equal length, their elements counted through.
        wanted: the number of each element that is wanted, in order.
        length: of the new vectors.
    """
    return [
        _gathered(s, vectors, wanted[start : start + length])
        for start in range(0, len(wanted), length)
    ]


def _gathered(
    s: Splitter, vectors: Sequence[SSAValue], wanted: Sequence[int]
) -> SSAValue:
    """Return one vector of chosen elements, two vectors joined at a time."""
    size = length_of(vectors[0])
    parts = [divmod(each, size) for each in wanted]
    used = list(dict.fromkeys(vector for vector, _ in parts))
    first = vectors[used[0]]
    if len(used) == 1:
        return shuffled(s, first, first, [at for _, at in parts])
    # Of the first two all that is wanted; of each further one, put in its places.
    known = {used[0]: 0, used[1]: size}
    mask = [
        known.get(vector, -1) + at if vector in known else -1 for vector, at in parts
    ]
    found = shuffled(s, first, vectors[used[1]], [max(x, 0) for x in mask])
    for other in used[2:]:
        places = [
            len(parts) + at if vector == other else place
            for place, (vector, at) in enumerate(parts)
        ]
        if size != len(parts):
            found = _widened(s, found, vectors[other], places, size)
        else:
            found = shuffled(s, found, vectors[other], places)
    return found


def _widened(
    s: Splitter, found: SSAValue, other: SSAValue, places: Sequence[int], size: int
) -> SSAValue:
    """Return a vector with components of one of another length put in."""
    length = len(places)
    registers = [0] * length
    for place, chosen in enumerate(places):
        if chosen >= length:
            registers[place] = (chosen - length) % size
    wide = shuffled(s, other, other, registers)
    mask = [place if x < length else length + place for place, x in enumerate(places)]
    return shuffled(s, found, wide, mask)


def unpacked(
    s: Splitter, registers: RegisterLayout, pieces: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return the vectors of elements that pieces hold."""
    if registers.packed is None:
        return list(pieces)
    return [
        vector for piece in pieces for vector in elements(s, piece, registers.vector)
    ]


def elements(s: Splitter, piece: SSAValue, type: VectorType) -> list[SSAValue]:
    """Return the bits of a vector as vectors of another type, one or more."""
    width = bit_width(vector_type(piece))
    wanted = bit_width(type)
    if width <= wanted:
        return [bitcast(s, piece, type)]
    slots = length_of(piece) * wanted // width
    if slots == 0:  # less than a component: taken apart first
        element = type.get_element_type()
        count = min(MAX_COMPONENTS, type.get_shape()[0] * width // wanted)
        whole = elements(s, piece, VectorType(element, [count]))
        return [part for each in whole for part in elements(s, each, type)]
    return [
        bitcast(s, shuffled(s, piece, piece, range(at, at + slots)), type)
        for at in range(0, length_of(piece), slots)
    ]


def packed(
    s: Splitter, registers: RegisterLayout, vectors: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return the pieces that vectors of elements make."""
    if (type := registers.packed) is None:
        return list(vectors)
    return joined(s, vectors, type)


def joined(
    s: Splitter, vectors: Sequence[SSAValue], type: VectorType
) -> list[SSAValue]:
    """Return the bits of vectors as vectors of another type, as long or longer."""
    count = bit_width(type) // bit_width(vector_type(vectors[0]))
    if count <= 1:
        return [bitcast(s, vector, type) for vector in vectors]
    length = type.get_shape()[0] // count
    part = VectorType(type.get_element_type(), [length])
    found: list[SSAValue] = []
    for start in range(0, len(vectors), count):
        parts = [bitcast(s, each, part) for each in vectors[start : start + count]]
        while len(parts) > 1:
            both = range(2 * length_of(parts[0]))
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [shuffled(s, x, y, both) for x, y in pairs]
        found += parts
    return found


def zeros(entry: Entry, type: VectorType) -> SSAValue:
    """Return a vector whose bits are all 0."""
    width = bits_of(type.get_element_type())
    assert width is not None, type
    dense = DenseIntOrFPElementsAttr(type, BytesAttr(bytes((width + 7) // 8)))  # pyright: ignore[reportArgumentType]
    return entry.once((dense,), lambda: ConstantOp(dense))


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


def bit_width(type: VectorType) -> int:
    """Return the bits of all components of a vector."""
    element = type.get_element_type()
    width = getattr(element, "bitwidth", None)
    assert isinstance(width, int), type
    return type.get_shape()[0] * width


__all__ = [
    "MAX_COMPONENTS",
    "bit_width",
    "bitcast",
    "elements",
    "gathered",
    "joined",
    "length_of",
    "not_a_number",
    "packed",
    "shuffled",
    "unpacked",
    "vector_type",
    "zeros",
]
