"""Addresses of 2D blocks that a loop keeps in registers: `xe.payload_create` and kin.

In front of the loop a payload is made at the position that does not change; in each
step what changes is set, x or y, one move.  Intel's compiler does this for loads by
itself, mostly, and for prefetches never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import VectorType
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import ttig, xe
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.layout_to_arith import origin
from coopc.passes.xe.convert_to_xe.surface import Surface
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_shape import BlockShape
from coopc.rewrite.one_to_many import Splitter

Payload: TypeAlias = Literal["none", "prefetch", "all"]

MAX_SLOTS = 16
"""Slots of a lane that a load through a payload returns: one vector."""
CACHE = xe.CacheAttr.of(xe.CacheControl.CACHED, xe.CacheControl.CACHED)


@dataclass(frozen=True, slots=True)
class Place:
    """Where messages begin, along one dimension."""

    dimension: int
    """Of the tensor, by number."""
    index: SSAValue
    """Where the tensor begins."""
    shift: int = 0
    """Positions are counted in units of two to this."""


def loop_around(op: Operation, surface: Surface) -> ForOp | None:
    """Return the innermost loop that an operation is directly in.

    None where a payload of a surface cannot be made in front of it.
    """
    parent = op.parent_op()
    if not isinstance(parent, ForOp):
        return None
    known = (surface.base, *surface.sizes)
    return parent if all(is_outside(value, parent) for value in known) else None


def is_outside(value: SSAValue, loop: ForOp) -> bool:
    """Whether a value is defined outside of a loop."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        if block is loop.body.block:
            return False
        block = block.parent_block()
    return True


def make_payload(
    entry: Entry,
    s: Splitter,
    loop: ForOp,
    surface: Surface,
    shape: BlockShape,
    places: tuple[SSAValue, SSAValue],
) -> SSAValue:
    """Make a payload in front of a loop, and set in it what the loop changes."""
    zero = entry.number(0)
    fixed = [is_outside(each, loop) for each in places]
    x, y = (each if keep else zero for each, keep in zip(places, fixed, strict=True))
    made = xe.PayloadCreateOp(surface.base, (x, y), surface.sizes, shape)
    made.location = s.op.location
    Rewriter.insert_op(made, InsertPoint.before(loop))
    if not fixed[0]:
        s.insert(xe.PayloadSetXOp(made.result, places[0]))
    if not fixed[1]:
        s.insert(xe.PayloadSetYOp(made.result, places[1]))
    return made.result


@dataclass(slots=True)
class Prefetches:
    """The rule for prefetches of descriptors."""

    entry: Entry
    payload: bool
    """Whether prefetches in loops hold their addresses."""

    def fetch(
        self, op: ttig.DescriptorPrefetchOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """The share of each subgroup; nothing where there is no plan: it is a hint."""
        attr = op.attributes.get(xe.PLAN)
        if not isinstance(attr, xe.BlockPrefetchPlanAttr):
            return ()
        plan, surface = attr.data, Surface(*s.parts(op.desc))
        y, x = (Place(d, index) for d, index in enumerate(op.indices))
        loop = loop_around(op, surface) if self.payload else None
        for register in range(plan.messages):
            at = self._at(plan.layout, register, x), self._at(plan.layout, register, y)
            if loop is None:
                block = xe.BlockAttr(plan.shape)
                s.insert(
                    xe.BlockPrefetch2DOp(surface.base, at, surface.sizes, block, CACHE)
                )
                continue
            payload = make_payload(self.entry, s, loop, surface, plan.shape, at)
            s.insert(xe.PayloadPrefetchOp(payload, (0, 0), CACHE))
        return ()

    def _at(self, layout: LinearLayout, register: int, place: Place) -> SSAValue:
        """Return where a message begins along one dimension."""
        return origin(self.entry, layout, place.dimension, register, place.index)


@dataclass(slots=True)
class PayloadLoads:
    """How loads in loops hold their addresses."""

    entry: Entry
    immediate_offsets: bool
    """Whether one payload does for all messages of a load: offsets cost nothing."""

    def suits(
        self, op: Operation, surface: Surface, type: VectorType, count: int
    ) -> bool:
        """Whether a load is in a loop, and its message small enough to be returned."""
        slots = count * type.get_shape()[0]
        return loop_around(op, surface) is not None and slots <= MAX_SLOTS

    def load(
        self,
        op: Operation,
        s: Splitter,
        plan: BlockPlan,
        surface: Surface,
        pieces: Sequence[Attribute],
    ) -> list[Sequence[SSAValue]]:
        """Load the messages of a plan; return the pieces of each."""
        loop = loop_around(op, surface)
        assert loop is not None, op
        y, x = op.operands[-2:]
        shift = plan.packed.bit_length() - 1
        found: list[Sequence[SSAValue]] = []
        shared: SSAValue | None = None
        for first in plan.firsts:
            dx, dy = self._offset(plan, first, shift)
            register = first if (dx, dy) == (0, 0) else 0
            if shared is None or (dx, dy) == (0, 0):
                args = (self.entry, plan.layout)
                places = (
                    origin(*args, plan.cols, register, x, shift),
                    origin(*args, plan.rows, register, y),
                )
                shape = plan.shape
                shared = make_payload(self.entry, s, loop, surface, shape, places)
            load = xe.PayloadLoadOp(shared, (dx, dy), pieces)
            found.append(s.insert(load).pieces)
        return found

    def _offset(self, plan: BlockPlan, first: int, shift: int) -> tuple[int, int]:
        """Return what a message adds to the shared payload; 0 where it has its own."""
        origin = plan.origin(first)
        warps = plan.layout.bases("warp") if "warp" in plan.layout.in_names else ()
        bits = [0] * len(origin)
        for basis in warps:
            bits = [x | y for x, y in zip(bits, basis, strict=True)]
        apart = not any(x & y for x, y in zip(bits, origin, strict=True))
        if not self.immediate_offsets or not apart:
            return 0, 0
        return origin[plan.cols] >> shift, origin[plan.rows]
