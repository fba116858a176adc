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
from coopc.ir.builder import Builder
from coopc.ir.split_values import Splitter
from coopc.ir.transaction import Refused

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

    moved: dict[SSAValue, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, SSAValue]]
    )
    """For each memref that was moved, what it is in and the index of its start."""

    def add(
        self, op: tt.AddPtrOp, s: Splitter, b: Builder
    ) -> Sequence[Sequence[SSAValue]]:
        """A scalar pointer, moved."""
        (base,) = s.parts(op.ptr)
        offset = b.pure(IndexCastOp, op.offset, IndexType())
        if base in self.moved:
            base, before = self.moved[base]
            offset = b.pure(AddiOp, before, offset)
        result = b.pure(_cast_memory, base, offset, None)
        self.moved[result] = base, offset
        return [(result,)]

    def view(self, b: Builder, memref: SSAValue) -> SSAValue:
        """Return all elements behind a pointer, as a memref of rank 1."""
        return b.pure(_cast_memory, *self.moved.get(memref, (memref, 0)), MANY)


def _cast_memory(base: SSAValue, offset: SSAValue | int, size: int | None) -> Operation:
    """Return memory from an offset on: of rank 1 and some size, or of rank 0."""
    assert is_memref(base.type), base
    sizes = [] if size is None else [size]
    strides = [1 for _ in sizes]
    is_plain = size is not None and offset == 0
    layout = NoneAttr() if is_plain else StridedLayoutAttr(strides, None)
    type = MemRefType(base.type.get_element_type(), sizes, layout)
    return ReinterpretCastOp.from_dynamic(base, [offset], sizes, strides, type)


def same_pointer(
    op: tt.BitcastOp, s: Splitter, b: Builder
) -> Sequence[Sequence[SSAValue]]:
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


def cast(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """Return numbers, or a number, with the same bits as another type."""
    source = element_of(value.type)
    if source == element:
        return value
    make = BitcastOp
    if source == i1:
        make = ExtUIOp
    elif element == i1:
        make = TruncIOp
    return b.pure(make, value, shaped(value.type, element))
