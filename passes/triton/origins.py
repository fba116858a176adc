"""What a value was at first: before control flow carried it, and views were taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from coopc.dialects import tt, ttg
from coopc.ir.control_flow import definer, links

View: TypeAlias = (
    tt.BroadcastOp | tt.ExpandDimsOp | tt.ReshapeOp | tt.TransOp | ttg.ConvertLayoutOp
)
"""Operations that only move elements."""


def origins_of(value: SSAValue, *, moved: bool = False) -> list[SSAValue]:
    """Return all that a value may have been at first: before control flow, and views.

    Loops must be as they were written: not between the rules of a rewriting.

    With `moved`, what a pointer was moved from is looked for, too.
    """
    return [x for x, before in _reached(value, moved) if not before]


def offsets_of(pointers: SSAValue) -> list[SSAValue]:
    """Return all tensors that are added to what a tensor of pointers counts from."""
    reached = _reached(pointers, moved=True)
    adds = (x.owner for x, _ in reached if tt.is_tensor(x.type))
    return [x.offset for x in adds if isinstance(x, tt.AddPtrOp)]


def _reached(
    value: SSAValue, moved: bool
) -> Iterator[tuple[SSAValue, Sequence[SSAValue]]]:
    """Yield a value and all that it may have been before, with what each was before."""
    todo, seen = [value], {value}
    while todo:
        value = todo.pop()
        before = _before(value, moved)
        yield value, before
        new = [x for x in dict.fromkeys(before) if x not in seen]
        todo += new
        seen.update(new)


def _before(value: SSAValue, moved: bool) -> Sequence[SSAValue]:
    """Return what a value is the same as, or a view of; nothing where it is made."""
    owner = value.owner
    if isinstance(owner, View | tt.BitcastOp):
        return (owner.src,)
    if moved and isinstance(owner, tt.AddPtrOp):
        return (owner.ptr,)
    if (flow := definer(value)) is None:
        return ()
    return [x for group in links(flow, {}) if value in group for x in group]


def copies_of(value: SSAValue) -> list[tuple[SSAValue, bool]] | None:
    """Return the tensor in other layouts, converted, transposed or through buffers.

    None if it has other users; with each, whether it is transposed, of rank 2.
    """
    found: list[tuple[SSAValue, bool]] = []
    todo = [(value, False)]
    while todo:
        value, flipped = todo.pop()
        for op in (use.operation for use in value.uses):
            match op:
                case ttg.ConvertLayoutOp() | ttg.LocalLoadOp():
                    found.append((op.result, flipped))
                case ttg.LocalAllocOp() if not op.result.type.is_mutable:
                    todo.append((op.result, flipped))
                case ttg.MemDescTransOp() if tuple(op.order.get_values()) == (1, 0):
                    todo.append((op.result, not flipped))
                case tt.TransOp() if op.permutation == (1, 0):
                    found.append((op.result, not flipped))
                case ttg.LocalDeallocOp():
                    pass
                case _:
                    return None
    return found


def made_by(desc: SSAValue) -> tt.MakeTensorDescriptorOp | None:
    """Return where a descriptor is made, if that is one place."""
    match origins_of(desc):
        case [SSAValue(owner=tt.MakeTensorDescriptorOp() as made)]:
            return made
        case _:
            return None


def bases_of(value: SSAValue) -> frozenset[SSAValue]:
    """Return what pointers count from: arguments, and pointers made of numbers.

    Of a pointer, a tensor of pointers or a tensor in memory.
    """
    todo, seen = [value], {value}
    found: set[SSAValue] = set()
    while todo:
        for each in origins_of(todo.pop(), moved=True):
            match each.owner:
                case tt.MakeTensorDescriptorOp() | tt.MakeTensorPtrOp() as made:
                    before = [made.base]
                case tt.AdvanceOp() as made:
                    before = [made.ptr]
                case tt.SplatOp() | tt.SplitOp() | tt.UnsplatOp() as made:
                    before = [made.src]
                case tt.CatOp() | tt.JoinOp() as made:
                    before = [*made.operands]
                case _:
                    found.add(each)
                    continue
            todo += [x for x in before if x not in seen]
            seen.update(before)
    return frozenset(found)


def base_of(value: SSAValue) -> SSAValue | None:
    """Return the scalar pointer that a tensor of pointers counts from, if found."""
    bases = {
        made.owner.src if isinstance(made.owner, tt.SplatOp) else None
        for made in origins_of(value, moved=True)
    }
    return bases.pop() if len(bases) == 1 else None
