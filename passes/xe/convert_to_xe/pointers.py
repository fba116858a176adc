"""Pointers: scalars as memrefs of rank 0, tensors as offsets from one of those.

    %q = tt.addptr %p, %n      memref.reinterpret_cast to offset: [%n] of what %p is in
    tensor of pointers         vectors of i64, elements from the base on

The base of a tensor of pointers is the scalar that was splat; it is found by looking
back, through loops too, and is not carried.

`tt.bitcast` of pointers: memory stays of what it is, values are cast.

    %q = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>      %q is what %p is
    %x = tt.load %q : !tt.ptr<i32>                         memref.load, arith.bitcast

Elements must have as many bits: then offsets count the same.  A boolean is a byte in
memory, of which the lowest bit counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import (
    AddiOp,
    BitcastOp,
    ExtUIOp,
    IndexCastOp,
    TruncIOp,
)
from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i1,
)
from xdsl.dialects.memref import ReinterpretCastOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from coopc.dialects import tt
from coopc.dialects.narrow import is_memref
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.tt.types import PtrType, bits_of, in_memory
from coopc.ir.split_values import Splitter
from coopc.ir.transaction import Refused
from coopc.passes.xe.convert_to_xe.entry import Entry

MANY = 1 << 40
"""Elements that memory behind a pointer has, as far as anybody knows."""


def memref_of(value: SSAValue) -> Attribute:
    """Return the type of the memref that a scalar pointer becomes."""
    if isinstance(value.owner, tt.BitcastOp):
        return memref_of(value.owner.src)
    plain = isinstance(value, BlockArgument) and not isinstance(
        value.block.parent_op(), ForOp
    )
    layout = NoneAttr() if plain else StridedLayoutAttr([], None)
    return MemRefType(memory_of(value), [], layout)


@dataclass(slots=True)
class Pointers:
    """The rules for scalar pointers, and what is behind them."""

    entry: Entry
    moved: dict[SSAValue, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, SSAValue]]
    )
    """For each memref that was moved, what it is in and the index of its start."""

    def add(self, op: tt.AddPtrOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """A scalar pointer, moved."""
        (base,) = s.parts(op.ptr)
        offset = s.insert(IndexCastOp(op.offset, IndexType())).result
        if base in self.moved:
            base, before = self.moved[base]
            offset = s.insert(AddiOp(before, offset)).result
        assert is_memref(base.type), base
        strided = StridedLayoutAttr([], None)
        type = MemRefType(base.type.get_element_type(), [], strided)
        new = ReinterpretCastOp.from_dynamic(base, [offset], [], [], type)
        result = s.insert(new).result
        self.moved[result] = base, offset
        return [(result,)]

    def view(self, memref: SSAValue) -> SSAValue:
        """Return all elements behind a pointer, as a memref of rank 1."""
        base, offset = self.moved.get(memref, (memref, None))
        assert is_memref(base.type), base
        element = base.type.get_element_type()

        def make() -> Operation:
            strided = StridedLayoutAttr([1], None)
            layout = NoneAttr() if offset is None else strided
            type = MemRefType(element, [MANY], layout)
            return ReinterpretCastOp.from_dynamic(
                base, [0 if offset is None else offset], [MANY], [1], type
            )

        return self.entry.after(memref, "view", make)


def same_pointer(op: tt.BitcastOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
    """What the pointer is that was cast."""
    source, result = element_of(op.src.type), element_of(op.result.type)
    if not isinstance(source, PtrType) or not isinstance(result, PtrType):
        raise Refused(op, "expected pointers, got numbers: expand-tt-math")
    widths = [bits_of(in_memory(x.pointee)) for x in (source, result)]
    if None in widths or widths[0] != widths[1]:
        what = f"expected pointers to elements of as many bits, got {source}"
        raise Refused(op, f"{what} to {result}")
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
