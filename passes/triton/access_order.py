"""Which accesses to memory wait for those of other lanes before them.

Lanes wait where two accesses may be to the same memory, and one of them writes.  Memory
of two arguments is taken to be apart.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TypeAlias

from xdsl.dialects import gpu
from xdsl.ir import Block, Operation

from coopc.dialects import tt, ttg
from coopc.passes.triton.layouts import ACCESSES
from coopc.passes.triton.origins import bases_of

MustWait: TypeAlias = Callable[[Operation, Operation], bool]
"""Whether a lane waits before the second access, as others may do the first."""

LOADS = tt.DescriptorGatherOp | tt.DescriptorLoadOp | tt.LoadOp
DESCRIPTOR_ACCESSES = (
    tt.DescriptorGatherOp
    | tt.DescriptorLoadOp
    | tt.DescriptorReduceOp
    | tt.DescriptorScatterOp
    | tt.DescriptorStoreOp
)


def waiting_accesses(
    block: Block, must_wait: MustWait, among: Container[Operation] | None = None
) -> Sequence[Operation]:
    """Return the accesses of a kernel's block before which lanes wait.

    `must_wait` decides for two of them, of which at least one is `among` those, if
    these are given.
    """
    found = dict[Operation, None]()

    def after(block: Block, before: Sequence[Operation]) -> Sequence[Operation]:
        """Return what was accessed, since lanes last waited, when a block ends."""
        for op in block.ops:
            if isinstance(op, ttg.BarrierOp | gpu.BarrierOp):
                before = ()
            elif isinstance(op, ACCESSES | DESCRIPTOR_ACCESSES):
                others = before
                if among is not None and op not in among:
                    others = [x for x in before if x in among]
                if op in found or any(must_wait(x, op) for x in others):
                    found[op] = None
                    before = ()
                before = (*before, op)
            else:
                blocks = [x for region in op.regions for x in region.blocks]
                for inner in blocks * 2:  # a loop's also follows itself
                    before = tuple(dict.fromkeys((*before, *after(inner, before))))
        return before

    after(block, ())
    return list(found)


def may_conflict(first: Operation, second: Operation) -> bool:
    """Whether two accesses may be to the same memory, and one of them writes."""
    if all(isinstance(x, LOADS) for x in (first, second)):
        return False
    if all(isinstance(x, tt.AtomicCASOp | tt.AtomicRMWOp) for x in (first, second)):
        return False
    bases, others = bases_of(first.operands[0]), bases_of(second.operands[0])
    is_known = all(isinstance(x.owner, Block) for x in bases | others)
    return not is_known or bool(bases & others)
