"""`tt.atomic_rmw`: each element is updated once, by the first lane that has it.

    %old = tt.atomic_rmw fadd, relaxed, gpu, %p, %x, %m
    scf.if %first and %m { memref.atomic_rmw .. }    for each element of a lane

What was there before goes through work-group memory to the other lanes that have the
element; where nobody asks for it, nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.arith import AndIOp, IndexCastOp
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    StringAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.dialects.vector import BroadcastOp, ExtractOp, InsertOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.tt.types import is_tensor, pointee_of
from coopc.passes.xe.convert_to_xe.block_access import spread_of_value
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory, row_major, too_large
from coopc.passes.xe.convert_to_xe.lane_access import (
    MOST_UNROLLED,
    element_type,
    is_first_of_all,
)
from coopc.passes.xe.convert_to_xe.lane_loops import LaneLoops
from coopc.passes.xe.convert_to_xe.pointer_casts import memory_of
from coopc.passes.xe.convert_to_xe.pointers import Pointers, base_of
from coopc.passes.xe.convert_to_xe.registers import packed, unpacked, vector_type, zeros
from coopc.passes.xe.register_layout import Spread
from coopc.rewrite.one_to_many import Splitter

Values = Sequence[SSAValue]

KINDS: Mapping[tt.Update, int] = {
    tt.Update.FADD: 0,
    tt.Update.ADD: 1,
    tt.Update.EXCH: 2,
    tt.Update.MAX: 4,
    tt.Update.UMAX: 5,
    tt.Update.MIN: 7,
    tt.Update.UMIN: 8,
    tt.Update.OR: 11,
    tt.Update.AND: 12,
    tt.Update.XOR: 15,
}
"""The numbers of MLIR's AtomicRMWKind."""

ORDERS = {
    tt.Order.RELAXED: Ordering.RELAXED,
    tt.Order.ACQUIRE: Ordering.ACQUIRE,
    tt.Order.RELEASE: Ordering.RELEASE,
    tt.Order.ACQ_REL: Ordering.ACQUIRE_RELEASE,
}
SCOPES = {
    tt.SyncScope.CTA: Scope.WORKGROUP,
    tt.SyncScope.GPU: Scope.DEVICE,
    tt.SyncScope.SYS: Scope.CROSS_DEVICE,
}


def why_not_atomic(op: tt.AtomicRMWOp) -> str | None:
    """Return why an update cannot be converted, or None."""
    if not is_tensor(op.ptr.type):
        base, wanted = op.ptr, op.result.type
    else:
        found = base_of(op.ptr)
        if found is None:
            return "expected pointers that count from one scalar pointer"
        pointee = pointee_of(op.ptr.type)
        assert pointee is not None, op
        assert is_tensor(pointee), op
        base, wanted = found, pointee.element_type
    if (kept := memory_of(base)) != wanted:
        return f"expected memory of {wanted} to be updated, got {kept}, which was cast"
    return _why_not_spread(op) if is_tensor(op.val.type) else None


def _why_not_spread(op: tt.AtomicRMWOp) -> str | None:
    """Return why no lane is the first with an element, or cannot tell the others."""
    spread = spread_of_value(op.val)
    layout = spread.layout
    free = layout.free_masks()
    for name in layout.in_names:
        zero = sum(1 << at for at, x in enumerate(layout.bases(name)) if not any(x))
        if name != "register" and zero != free[name]:
            return (
                "expected elements that several lanes have to be the same by zero "
                f"bases, got {op.val.type}"
            )
    if op.result.uses and is_shared(spread):
        return too_large([spread.element], elements_of(spread))
    return None


def elements_of(spread: Spread) -> int:
    """Return how many elements a tensor has."""
    return prod(spread.layout.out_sizes.values())


def is_shared(spread: Spread) -> bool:
    """Whether several lanes have an element."""
    layout = spread.layout
    names = [x for x in ("lane", "warp") if x in layout.in_names]
    return any(not any(basis) for name in names for basis in layout.bases(name))


@dataclass(slots=True)
class Atomics:
    """The rule."""

    entry: Entry
    pointers: Pointers
    memory: GroupMemory
    bases: dict[Operation, SSAValue]
    """The scalar pointer that the pointers of an access count from."""

    def update(self, op: tt.AtomicRMWOp, s: Splitter) -> Sequence[Values]:
        """Update what a tensor of pointers points to, or one element for all lanes."""
        if not is_tensor(op.ptr.type):
            return [(self._scalar(op, s),)]
        spread = spread_of_value(op.val)
        (base,) = s.parts(self.bases[op])
        target = self.pointers.view(base)
        first = self.memory.is_first(spread.layout)
        values = unpacked(s, spread, s.parts(op.val))
        masks = None
        if op.mask is not None:
            masks = unpacked(s, spread_of_value(op.mask), s.parts(op.mask))
        found: list[SSAValue] = []
        is_long = len(spread.registers) > MOST_UNROLLED
        for number, offsets in enumerate(s.parts(op.ptr)):
            mask = None if masks is None else masks[number]
            if is_long:
                both = first, mask
                loop = self._in_loop(op, s, target, offsets, both, values[number])
                found.append(loop)
                continue
            old = zeros(self.entry, spread.vector)
            for at in range(spread.length):
                flag = self._flag(s, first, mask, at)
                index = s.insert(ExtractOp(offsets, [at], i64)).result
                place = s.insert(IndexCastOp(index, IndexType())).result
                one = s.insert(ExtractOp(values[number], [at], spread.element)).result
                before = self._one(op, s, target, [place], one, flag)
                old = s.insert(InsertOp(before, old, [at])).result
            found.append(old)
        if op.result.uses and is_shared(spread):
            found = self._shared(s, spread, found)
        return [packed(s, spread, found)]

    def _in_loop(
        self,
        op: tt.AtomicRMWOp,
        s: Splitter,
        target: SSAValue,
        offsets: SSAValue,
        flags: tuple[SSAValue | None, SSAValue | None],
        vector: SSAValue,
    ) -> SSAValue:
        """Update the elements of a vector, where there are many of them.

        The flags say for the lane, and for each element, whether it is.
        """
        first, mask = flags
        if first is not None:
            type = VectorType(i1, vector_type(vector).get_shape())
            all = self.entry.once(
                ("all", first, type), lambda: BroadcastOp(first, type)
            )
            mask = all if mask is None else s.insert(AndIOp(mask, all)).result
        return LaneLoops(self.entry).update(
            s, offsets, mask, vector, lambda at, one: rmw(op, target, [at], one)
        )

    def _flag(
        self, s: Splitter, first: SSAValue | None, mask: SSAValue | None, at: int
    ) -> SSAValue | None:
        """Return whether a lane updates an element; None if it does."""
        if mask is None:
            return first
        flag = s.insert(ExtractOp(mask, [at], element_type(mask))).result
        return flag if first is None else s.insert(AndIOp(flag, first)).result

    def _shared(self, s: Splitter, spread: Spread, found: Values) -> list[SSAValue]:
        """Return what the first lanes have, in all that have the element."""
        memory = self.memory.of(spread.element, elements_of(spread))
        places = row_major(self.entry, spread)
        self.memory.barrier(s)
        self.memory.store(s, memory, found, places, spread.layout)
        self.memory.barrier(s)
        return self.memory.load(s, memory, spread, places)

    def _scalar(self, op: tt.AtomicRMWOp, s: Splitter) -> SSAValue:
        """Update one element, the first lane for all."""
        (target,) = s.parts(op.ptr)
        flag = is_first_of_all(self.entry)
        chosen = flag
        if op.mask is not None:
            chosen = s.insert(AndIOp(flag, op.mask)).result
        before = self._one(op, s, target, [], op.val, chosen)
        if not op.result.uses:
            return before
        memory, zero = self.memory.of(before.type, 1), self.entry.number(0, IndexType())
        self.memory.barrier(s)
        write = memref.StoreOp.get(before, memory, [zero])
        s.insert(IfOp(flag, [], Region(Block([write, YieldOp()]))))
        self.memory.barrier(s)
        return s.insert(memref.LoadOp.get(memory, [zero])).res

    def _one(
        self,
        op: tt.AtomicRMWOp,
        s: Splitter,
        target: SSAValue,
        place: Values,
        value: SSAValue,
        flag: SSAValue | None,
    ) -> SSAValue:
        """Update one element where a flag is true; return what was there, or 0."""
        new = rmw(op, target, place, value)
        if flag is None:
            return s.insert(new).result
        zero = zeros(self.entry, VectorType(value.type, [1]))
        nothing = ExtractOp(zero, [0], value.type)
        new.location = nothing.location = s.op.location
        then = Region(Block([new, YieldOp(new.result)]))
        otherwise = Region(Block([nothing, YieldOp(nothing.result)]))
        return s.insert(IfOp(flag, [value.type], then, otherwise)).results[0]


def rmw(
    op: tt.AtomicRMWOp, target: SSAValue, place: Values, value: SSAValue
) -> memref.AtomicRMWOp:
    """Return the update of one element."""
    attributes: dict[str, Attribute] = {
        simt.ORDERING: StringAttr(ORDERS[op.order]),
        simt.ORDERING_SCOPE: StringAttr(SCOPES[op.sync_scope]),
    }
    return memref.AtomicRMWOp.create(
        operands=[value, target, *place],
        result_types=[value.type],
        properties={"kind": IntegerAttr(KINDS[op.kind], i64)},
        attributes=attributes,
    )
