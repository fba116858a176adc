"""`tt.bitcast` of pointers: memory stays of what it is, values are cast.

    %q = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>      %q is what %p is
    %x = tt.load %q : !tt.ptr<i32>                         memref.load, arith.bitcast

Elements must have as many bits: then offsets count the same.  A boolean is a byte in
memory, of which the lowest bit counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import BitcastOp, ExtUIOp, TruncIOp
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import tt
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.tt.types import PtrType, bits_of, in_memory
from coopc.rewrite.one_to_many import Splitter


def why_not_bitcast(op: tt.BitcastOp) -> str | None:
    """Return why pointers cannot be cast, or None."""
    source, result = element_of(op.src.type), element_of(op.result.type)
    if not isinstance(source, PtrType) or not isinstance(result, PtrType):
        return "expected pointers, got numbers: expand-tt-math"
    widths = [bits_of(in_memory(x.pointee)) for x in (source, result)]
    if None in widths or widths[0] != widths[1]:
        return (
            f"expected pointers to elements of as many bits, got {source} to {result}"
        )
    return None


def same_pointer(op: tt.BitcastOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
    """What the pointer is that was cast."""
    return [s.parts(op.src)]


def memory_of(value: SSAValue) -> Attribute:
    """Return what the memory behind a scalar pointer is of, before casts."""
    while isinstance(value.owner, tt.BitcastOp | tt.AddPtrOp):
        value = value.owner.operands[0]
    assert isinstance(value.type, PtrType), value
    return in_memory(value.type.pointee)


def cast(s: Splitter, value: SSAValue, element: Attribute) -> SSAValue:
    """Return numbers, or a number, with the same bits as another type."""
    source = element_of(value.type)
    if source == element:
        return value
    type = shaped(value.type, element)
    if source == i1:
        return s.insert(ExtUIOp(value, type)).result  # pyright: ignore[reportArgumentType]
    if element == i1:
        return s.insert(TruncIOp(value, type)).result  # pyright: ignore[reportArgumentType]
    return s.insert(BitcastOp(value, type)).result
