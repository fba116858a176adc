"""prefetch-block-io: prefetches the tiles of later loop iterations.

Before:  loops that load tiles through descriptors at positions computed from the
         induction variable and from values outside the loop.
After:   prefetches of the first tiles before the loop, and in the loop a prefetch of
         the tile some iterations ahead, per descriptor. Loops that already prefetch are
         unchanged. With `barriers`, a split barrier around each iteration. Without
         `steps`, only loops with `tt.num_stages`, one iteration less ahead.
Fails:   never
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.dialects.scf import ForOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from coopc.dialects import simt, tt, ttig
from coopc.dialects.tt.types import CacheModifier
from coopc.ir.builder import Builder
from coopc.ir.control_flow import is_inside
from coopc.ir.facts import constant_number
from coopc.ir.polynomial import Polynomial
from coopc.passes.xe.convert_to_xe.layout_to_arith import plus


def streams(loop: ForOp) -> list[tt.DescriptorLoadOp]:
    """Return the loads whose tiles follow each other in the steps of a loop."""
    counter, step = loop.body.block.args[0], constant_number(loop.step)
    ops = list(loop.body.block.ops)
    done = {op.desc for op in ops if isinstance(op, ttig.DescriptorPrefetchOp)}
    if step is None or counter.type != i32:
        return []
    return [
        op
        for op in ops
        if isinstance(op, tt.DescriptorLoadOp)
        and op.desc not in done
        and not is_inside(op.desc, loop)
        and moves(op, loop)
    ]


def moves(load: tt.DescriptorLoadOp, loop: ForOp) -> bool:
    """Whether of what changes in a loop a load depends on the counter alone."""
    counter = loop.body.block.args[0]
    values = {x for index in load.indices for x in Polynomial.of(index).values}
    inside = {x for x in values if is_inside(x, loop)}
    return inside == {counter}


def add_prefetches(
    loop: ForOp, loads: Sequence[tt.DescriptorLoadOp], steps: int
) -> None:
    counter, step = loop.body.block.args[0], constant_number(loop.step)
    assert step is not None, loop
    before = Builder.at(loop)
    for number in range(steps):
        start = plus(before, loop.lb, number * step)
        for load in loads:
            prefetch(before, load, counter, start)
    last = loads[-1].next_op
    assert last is not None, loop
    after = Builder.at(last)
    after.location = loads[-1].location
    ahead = plus(after, counter, steps * step)
    for load in loads:
        prefetch(after, load, counter, ahead)


def prefetch(
    b: Builder, load: tt.DescriptorLoadOp, counter: SSAValue, at: SSAValue
) -> None:
    """Insert the prefetch of the tile that a load takes at another step."""
    place, indices = Polynomial.value(at), list[SSAValue]()
    for index in load.indices:
        found = Polynomial.of(index)
        moves = counter in found.values
        indices.append(found.where(counter, place).build(b) if moves else index)
    new = b.effect(ttig.DescriptorPrefetchOp(load.desc, indices, CacheModifier.CA))
    new.location = load.location


def stages_of(loop: ForOp) -> int:
    """Return how many steps of a loop are to be under way at a time, if it says so."""
    stages = loop.attributes.get(tt.NUM_STAGES)
    return stages.value.data if isinstance(stages, IntegerAttr) else 1


def add_barriers(loop: ForOp) -> None:
    """Let no subgroup end a step of a loop before all have begun it."""
    block = loop.body.block
    first, last = block.first_op, block.last_op
    assert first is not None, loop
    assert last is not None, loop
    Builder(block, first, loop.location).effect(simt.BarrierArriveOp())
    Builder(block, last, loop.location).effect(simt.BarrierWaitOp())


@dataclass(frozen=True)
class PrefetchBlockIoPass(ModulePass):
    name = "prefetch-block-io"

    steps: int | None = None
    """How many iterations ahead; 0 for no prefetches. By default, one less than the
    loop's `tt.num_stages`."""
    barriers: bool = False
    """Keep subgroups in step by split barriers, since each prefetches a part of what
    all of them load."""

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 0:
            raise ValueError(
                f"expected prefetches 0 or more iterations ahead, got {self.steps}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [each for each in op.walk() if isinstance(each, ForOp)]:
            steps = stages_of(loop) - 1 if self.steps is None else self.steps
            if steps > 0 and (loads := streams(loop)):
                add_prefetches(loop, loads, steps)
                if self.barriers:
                    add_barriers(loop)
