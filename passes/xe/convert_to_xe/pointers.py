"""Pointers: scalars as memrefs of rank 0, tensors as offsets from one of those.

    %q = tt.addptr %p, %n      memref.reinterpret_cast to offset: [%n] of what %p is in
    tensor of pointers         vectors of i64, elements from the base on

The base of a tensor of pointers is the scalar that was splat; it is found by looking
back, through loops too, and is not carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.arith import AddiOp, ExtSIOp, IndexCastOp
from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.dialects.memref import ReinterpretCastOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from coopc.dialects import tt, ttg
from coopc.dialects.narrow import is_memref
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.pointer_casts import memory_of
from coopc.rewrite.one_to_many import Splitter
from coopc.rewrite.structure import links

MANY = 1 << 40
"""Elements that memory behind a pointer has, as far as anybody knows."""


VIEWS = (
    tt.BitcastOp
    | tt.BroadcastOp
    | tt.ExpandDimsOp
    | tt.ReshapeOp
    | tt.TransOp
    | ttg.ConvertLayoutOp
)


def origins_of(value: SSAValue, *, moved: bool = False) -> list[SSAValue]:
    """Return all that a value may have been at first: before control flow, and views.

    Loops must be as they were written: not between the rules of a rewriting.

    Args:
        value: of any type.
        moved: whether what a pointer was moved from is looked for, too.
    """
    todo, seen = [value], {value}
    found: list[SSAValue] = []
    while todo:
        value = todo.pop()
        before = _before(value, moved)
        if not before:
            found.append(value)
        new = [x for x in dict.fromkeys(before) if x not in seen]
        todo += new
        seen.update(new)
    return found


def _before(value: SSAValue, moved: bool) -> Sequence[SSAValue]:
    """Return what a value is the same as, or a view of; nothing where it is made."""
    owner = value.owner
    if isinstance(owner, VIEWS):
        return (owner.src,)
    if moved and isinstance(owner, tt.AddPtrOp):
        return (owner.ptr,)
    flow = owner.parent_op() if isinstance(owner, Block) else owner
    if flow is None:
        return ()
    return [x for group in links(flow, {}) if value in group for x in group]


def origin_of(value: SSAValue) -> SSAValue | None:
    """Return what a value carried by control flow, or a view of it, was at first.

    None where that is not the same on every way.
    """
    found = origins_of(value)
    return found[0] if len(found) == 1 else None


def base_of(value: SSAValue) -> SSAValue | None:
    """Return the scalar pointer that a tensor of pointers counts from, if found."""
    bases = {
        made.owner.src if isinstance(made.owner, tt.SplatOp) else None
        for made in origins_of(value, moved=True)
    }
    return bases.pop() if len(bases) == 1 else None


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


def wide_offset(s: Splitter, value: SSAValue) -> SSAValue:
    """Return a scalar offset in 64 bits."""
    return value if value.type == i64 else s.insert(ExtSIOp(value, i64)).result


__all__ = ["MANY", "Pointers", "base_of", "memref_of", "origin_of", "wide_offset"]
