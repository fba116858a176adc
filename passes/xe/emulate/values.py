"""Bits and components, taken apart and put together to emulate `xe`."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import FixedBitwidthType, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects.narrow import is_vector
from coopc.ir.builder import INDEX, BoundedIndex, Builder


def element_bits(type: Attribute) -> int:
    """Return the width of a type, 0 where it has none."""
    return type.bitwidth if isinstance(type, FixedBitwidthType) else 0


def cast_to_index(b: Builder, value: SSAValue) -> SSAValue:
    """Return an integer as an index, with its sign."""
    return b.pure(arith.IndexCastOp, value, INDEX)


def bits_to(b: Builder, value: SSAValue, type: Attribute) -> SSAValue:
    """Return the value of another type of the same width that has the same bits."""
    return value if value.type == type else b.pure(arith.BitcastOp, value, type)


def resized(b: Builder, value: SSAValue, type: IntegerType) -> SSAValue:
    """Return an integer as one of another width: its low bits, or zeros above."""
    have, want = element_bits(value.type), type.bitwidth
    if have == want:
        return value
    return b.pure(arith.ExtUIOp if have < want else arith.TruncIOp, value, type)


def shifted_down(b: Builder, value: SSAValue, shift: int) -> SSAValue:
    """Return the bits of an integer from some bit on."""
    if not shift:
        return value
    return b.pure(arith.ShRUIOp, value, b.constant(value.type, shift))


def element_of(b: Builder, value: SSAValue, at: BoundedIndex) -> SSAValue:
    """Return a component of a vector."""
    assert is_vector(value.type)
    type = value.type.get_element_type()
    return b.pure(_extracted, value, _position(b, value.type, at), type)


def replaced(b: Builder, value: SSAValue, at: BoundedIndex, new: SSAValue) -> SSAValue:
    """Return a vector of which a component is replaced."""
    assert is_vector(value.type)
    return b.pure(_inserted, new, value, _position(b, value.type, at))


def _position(b: Builder, type: VectorType, at: BoundedIndex) -> SSAValue | int:
    if type.get_shape()[0] == 1:
        return 0
    return b.index(at) if at.known is None else at.known


def _extracted(value: SSAValue, at: SSAValue | int, element: Attribute) -> Operation:
    return vector.ExtractOp(value, [at], element)


def _inserted(new: SSAValue, value: SSAValue, at: SSAValue | int) -> Operation:
    return vector.InsertOp(new, value, [at])
