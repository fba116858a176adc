"""Vectors of a lane: pieces to vectors of elements and back, and other orders.

Vectors of elements have at most 16 of them.  A piece that is packed for DPAS holds
the same bits in wider integers; longer ones are cut in halves first.  What is in order
already is used as it is; a shuffle is made only where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, i1, i32
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, SSAValue

from coopc.dialects.narrow import is_tensor, length_of
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.simt import MAX_COMPONENTS, bits_of
from coopc.ir.builder import Builder
from coopc.ir.split_values import Splitter
from coopc.passes.xe.register_layout import RegisterLayout, registers_of


def constant_i32(b: Builder, value: int) -> SSAValue:
    found = b.constant(i32, value)
    found.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
    return found


def numbers(b: Builder, values: Sequence[int]) -> SSAValue:
    """Return a constant vector of i32."""
    vector = VectorType(i32, [len(values)])
    dense = DenseIntOrFPElementsAttr.from_list(vector, list(values))
    return b.pure(ConstantOp, dense)


def splat(b: Builder, value: SSAValue, length: int) -> SSAValue:
    """Return a number in all components of a vector."""
    return b.pure(BroadcastOp, value, VectorType(value.type, [length]))


def cast(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """Return numbers, or a number, with the same bits as another type."""
    source = element_of(value.type)
    if source == element:
        return value
    make = arith.BitcastOp
    if source == i1:
        make = arith.ExtUIOp
    elif element == i1:
        make = arith.TruncIOp
    return b.pure(make, value, shaped(value.type, element))


def concatenated(b: Builder, vectors: Sequence[SSAValue]) -> SSAValue:
    """Return the components of vectors, one behind the other."""
    parts = [(vector, at) for vector in vectors for at in range(length_of(vector))]
    return b.gathered(parts, len(parts), vectors[0])


def gathered(
    b: Builder, vectors: Sequence[SSAValue], wanted: Sequence[int], length: int
) -> list[SSAValue]:
    """Return vectors of chosen elements.

    `wanted` are numbers of elements, counted through all vectors, which are equally
    long; `length` is that of the new ones.
    """
    size = length_of(vectors[0])
    parts = [(vectors[at // size], at % size) for at in wanted]
    starts = range(0, len(parts), length)
    return [b.gathered(parts[x : x + length], length, vectors[0]) for x in starts]


def unpacked(
    b: Builder, registers: RegisterLayout, pieces: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return the vectors of elements that pieces hold."""
    if registers.packed is None:
        return list(pieces)
    return [
        vector for piece in pieces for vector in elements(b, piece, registers.vector)
    ]


def vectors_of(value: SSAValue, b: Splitter) -> list[SSAValue]:
    """Return the vectors of elements of a tensor that was split, or a scalar."""
    if not is_tensor(value.type):
        return [value]
    return unpacked(b, registers_of(value), b.parts(value))


def elements(b: Builder, piece: SSAValue, type: VectorType) -> list[SSAValue]:
    """Return the bits of a vector as vectors of another type, one or more."""
    width, wanted = bits_of(piece.type), bits_of(type)
    if width <= wanted:
        return [b.bitcast(piece, type)]
    slots = length_of(piece) * wanted // width
    if slots == 0:  # less than a component: taken apart first
        element = type.get_element_type()
        count = min(MAX_COMPONENTS, type.get_shape()[0] * width // wanted)
        whole = elements(b, piece, VectorType(element, [count]))
        return [part for each in whole for part in elements(b, each, type)]
    return [
        b.bitcast(b.blend(piece, piece, range(at, at + slots)), type)
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
    count = bits_of(type) // bits_of(vectors[0].type)
    if count <= 1:
        return [b.bitcast(vector, type) for vector in vectors]
    part = VectorType(type.get_element_type(), [type.get_shape()[0] // count])
    parts = [b.bitcast(each, part) for each in vectors]
    return [
        concatenated(b, parts[start : start + count])
        for start in range(0, len(parts), count)
    ]
