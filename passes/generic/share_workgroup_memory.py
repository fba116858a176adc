"""share-workgroup-memory: overlaps buffers that are not live together.

Before:  work-group memory that is allocated anywhere in structured control flow: what
         it holds is lost where it is allocated anew.
After:   one allocation for each element type, at the entry of the function, and views
         of it. A barrier stands before memory that had another use.
Fails:   never; memory of a size that is not known stays where it is, as does memory
         that control flow or a call passes on, or that `memref.view` looks at.

A buffer is needed from the first to the last operation beside its allocation that
accesses it: all of a loop, if it is accessed in one.  Memory of different element types
is not shared, as Vulkan has no pointer casts there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, StridedLayoutAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import AllocaOp, ReinterpretCastOp, ViewOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.dialects.simt import bits_of
from coopc.ir.builder import allocate
from coopc.ir.control_flow import TRANSPARENT
from coopc.plan.shared_memory import Lifetime, SharedMemoryPlan, share

WORK_GROUP = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
ALIGNED_BITS = 128
"""What buffers begin at multiples of: what rows of matrices are aligned to at most."""


def accesses(memory: SSAValue) -> list[Operation] | None:
    """Return what uses memory, through views too.

    None if control flow passes it on, or `memref.view`, which takes no part of memory.
    """
    found: list[Operation] = []
    for use in memory.uses:
        op = use.operation
        if type(op) in TRANSPARENT or isinstance(op, ViewOp):
            return None
        found.append(op)
        for result in op.results:
            if is_memref(result.type):
                if (more := accesses(result)) is None:
                    return None
                found += more
    return found


def lifetimes(func: FuncOp) -> dict[AllocaOp, Lifetime]:
    """Return the buffers of a function that can share memory, and when each is used."""
    found: dict[AllocaOp, Lifetime] = {}
    numbers: dict[Operation, int] = {op: n for n, op in enumerate(func.walk())}
    for op in numbers:
        if not isinstance(op, AllocaOp) or op.dynamic_sizes:
            continue
        type, users = op.memref.type, accesses(op.memref)
        if not is_memref(type) or type.memory_space != WORK_GROUP or not users:
            continue
        block = op.parent
        assert block is not None, op
        around = [x for x in map(block.find_ancestor_op_in_block, users) if x]
        first = min(numbers[x] for x in around)
        last = max(numbers[inner] for x in around for inner in x.walk())
        found[op] = Lifetime(first, last, type.element_count())
    return found


def view(op: AllocaOp, memory: SSAValue, offset: int) -> None:
    """Put a view of memory in the place of an allocation."""
    type = op.memref.type
    assert is_memref(type), op
    shape = list(type.get_shape())
    strides = [x for x in type.get_strides() or () if x is not None]
    layout = StridedLayoutAttr(strides, offset)
    result = MemRefType(type.element_type, shape, layout, type.memory_space)
    new = ReinterpretCastOp(memory, [], [], [], [offset], shape, strides, result)
    new.location = op.location
    new.results[0].name_hint = op.memref.name_hint
    Rewriter.replace_op(op, new)


def wait_before_use(op: AllocaOp) -> None:
    """Let other lanes finish with the memory, where no barrier does that yet."""
    after = op.next_op
    while after is not None and not after.regions and is_side_effect_free(after):
        after = after.next_op
    while isinstance(after, AllocaOp):
        after = after.next_op
    if not isinstance(after, simt.BarrierOp):
        barrier = simt.BarrierOp(memory=simt.MemorySpace.WORKGROUP)
        barrier.location = op.location
        Rewriter.insert_op(barrier, InsertPoint.after(op))


def share_memory(func: FuncOp) -> dict[Attribute, SharedMemoryPlan]:
    """Let the buffers of a function share memory; return how, by element type."""
    found, plans = lifetimes(func), dict[Attribute, SharedMemoryPlan]()
    elements = {x: memory_type(x).element_type for x in found}
    entry = func.body.blocks[0]
    for element in dict.fromkeys(elements.values()):
        ops = [x for x in found if elements[x] == element]
        alignment = max(1, ALIGNED_BITS // bits_of(element))
        plan = plans[element] = share([found[x] for x in ops], alignment)
        type = MemRefType(element, [plan.size], memory_space=WORK_GROUP)
        memory = allocate(entry, type, "shared")
        for number, op in enumerate(ops):
            if plan.is_reused(number) or op.parent is not entry:
                wait_before_use(op)
            view(op, memory, plan.offsets[number])
    return plans


def memory_type(op: AllocaOp) -> MemRefType:
    assert is_memref(op.memref.type), op
    return op.memref.type


@dataclass(frozen=True)
class ShareWorkgroupMemoryPass(ModulePass):
    """Let buffers in work-group memory share it where they are not needed together."""

    name = "share-workgroup-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if isinstance(each, FuncOp) and each.body.blocks:
                share_memory(each)
