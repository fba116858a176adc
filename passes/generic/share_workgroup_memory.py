"""share-workgroup-memory: overlaps buffers that are not live together.

Before:  work-group memory that is allocated anywhere in structured control flow; each
         execution of an allocation loses its contents.
After:   one allocation per element type, at the entry of the function, and views of it.
         A barrier precedes the reuse of memory.
Fails:   never; memory of dynamic size is unchanged, as is memory that control flow or a
         call passes on, or that `memref.view` uses.

A buffer is live from the last barrier before its first access, or else from its
allocation, to the last operation of the same block that accesses it: to the end of a
loop, if it is accessed in one.  Memory of different element types is not shared,
because Vulkan has no pointer casts there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import MuliOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, StridedLayoutAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import AllocaOp, ReinterpretCastOp, SubviewOp, ViewOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.dialects.simt import bits_of
from coopc.ir.builder import INDEX, Builder, allocate
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
        first = numbers[needed_from(op)]
        last = max(numbers[inner] for x in around for inner in x.walk())
        found[op] = Lifetime(first, last, type.element_count() // owners(op))
    return found


def needed_from(op: AllocaOp) -> Operation:
    """Return the last barrier before a buffer is accessed, or its allocation."""
    found: Operation = op
    users = {x for x in accesses(op.memref) or () if not is_passed(x)}
    current = op.next_op
    while current is not None and users.isdisjoint(current.walk()):
        if isinstance(current, simt.BarrierOp) and waits(current, scope_of(op)):
            found = current
        current = current.next_op
    return found


def scope_of(op: AllocaOp) -> simt.FenceScope:
    """Return who accesses the same elements of a buffer."""
    scopes = simt.FenceScope
    return scopes.WORKGROUP if owners(op) == 1 else scopes.SUBGROUP


def owners(op: AllocaOp) -> int:
    """Return how many subgroups have a part of a buffer that no other one sees."""
    (count, *rest), users = memory_type(op).get_shape() or (1,), [*op.memref.uses]
    part = users[0].operation if len(users) == 1 else None
    if not isinstance(part, SubviewOp) or not part.offsets:
        return 1
    is_own = isinstance(part.offsets[0].owner, simt.SubgroupIdOp)
    is_own = is_own and part.static_offsets.get_values()[1:] == (0,) * len(rest)
    is_own = is_own and part.static_sizes.get_values() == (1, *rest)
    return count if is_own and part.result.type.get_num_dims() == len(rest) else 1


@dataclass(frozen=True, slots=True)
class SharedBuffers:
    """The buffers of a function that share memory: of one element type and owner."""

    ops: tuple[AllocaOp, ...]
    element: Attribute
    owners: int
    """Subgroups that have such memory each; 1 for memory of the work-group."""
    plan: SharedMemoryPlan
    """Of what one of them has."""

    @property
    def elements(self) -> int:
        """Of the memory of all."""
        size, alignment = self.plan.size, aligned(self.element)
        if self.owners == 1:
            return size
        return self.owners * -(-size // alignment) * alignment


def aligned(element: Attribute) -> int:
    return max(1, ALIGNED_BITS // bits_of(element))


def plan_sharing(func: FuncOp) -> list[SharedBuffers]:
    """Return how the buffers of a function share memory."""
    found, groups = lifetimes(func), dict[tuple[Attribute, int], list[AllocaOp]]()
    for op in found:
        groups.setdefault((memory_type(op).element_type, owners(op)), []).append(op)
    return [
        SharedBuffers(
            tuple(ops), element, count, share([found[x] for x in ops], aligned(element))
        )
        for (element, count), ops in groups.items()
    ]


def shared_bytes(func: FuncOp) -> int:
    """Return how much work-group memory the buffers of a function take together."""
    plans = plan_sharing(func)
    shared = {op for each in plans for op in each.ops}
    sizes = [(each.element, each.elements) for each in plans]
    for op in func.walk():
        if isinstance(op, AllocaOp) and op not in shared and not op.dynamic_sizes:
            type = memory_type(op)
            if type.memory_space == WORK_GROUP:
                sizes.append((type.element_type, type.element_count()))
    return sum(count * bits_of(element) // 8 for element, count in sizes)


def share_memory(func: FuncOp) -> list[SharedBuffers]:
    """Let the buffers of a function share memory; return how."""
    found, entry = plan_sharing(func), func.body.blocks[0]
    for each in found:
        type = MemRefType(each.element, [each.elements], memory_space=WORK_GROUP)
        memory = allocate(entry, type, "shared")
        for number, op in enumerate(each.ops):
            if each.plan.is_reused(number) or op.parent is not entry:
                wait_before_use(op)
            if each.owners == 1:
                view(op, memory, each.plan.offsets[number])
            else:
                own_view(op, memory, each, each.plan.offsets[number])
    return found


def view(op: AllocaOp, memory: SSAValue, offset: int) -> None:
    """Put a view of memory in the place of an allocation."""
    type = memory_type(op)
    shape = list(type.get_shape())
    strides = [x for x in type.get_strides() or () if x is not None]
    layout = StridedLayoutAttr(strides, offset)
    result = MemRefType(type.element_type, shape, layout, type.memory_space)
    new = ReinterpretCastOp(memory, [], [], [], [offset], shape, strides, result)
    new.location = op.location
    new.results[0].name_hint = op.memref.name_hint
    Rewriter.replace_op(op, new)


def own_view(
    op: AllocaOp, memory: SSAValue, buffers: SharedBuffers, offset: int
) -> None:
    """Put a view of what a subgroup has of memory in the place of its part."""
    (use,) = op.memref.uses
    part = use.operation
    assert isinstance(part, SubviewOp), part
    type = part.result.type
    shape, strides = type.get_shape(), type.get_strides() or ()
    b = Builder.at(part)
    size = b.constant(INDEX, buffers.elements // buffers.owners)
    first = b.plus(b.pure(MuliOp, part.offsets[0], size), offset)
    sizes = [*shape], [x for x in strides if x is not None]
    new = ReinterpretCastOp(memory, [first], [], [], [DYNAMIC_INDEX], *sizes, type)
    new.location = part.location
    new.results[0].name_hint = part.result.name_hint
    Rewriter.replace_op(part, new)
    Rewriter.erase_op(op)


def wait_before_use(op: AllocaOp) -> None:
    """Let other lanes finish with the memory, where no barrier does that yet."""
    before, scope = op.prev_op, scope_of(op)
    while before is not None and is_passed(before):
        before = before.prev_op
    if isinstance(before, simt.BarrierOp) and waits(before, scope):
        return
    if needed_from(op) is op:
        barrier = simt.BarrierOp(scope, simt.MemorySpace.WORKGROUP)
        barrier.location = op.location
        Rewriter.insert_op(barrier, InsertPoint.after(op))


def waits(barrier: simt.BarrierOp, scope: simt.FenceScope) -> bool:
    """Whether all of a scope wait, and see what is in work-group memory."""
    is_of_memory = barrier.memory in (None, WORK_GROUP)
    return is_of_memory and barrier.scope.data in (scope, simt.FenceScope.WORKGROUP)


def is_passed(op: Operation) -> bool:
    """Whether an operation accesses no memory, nor runs others that do."""
    is_memory = isinstance(op, AllocaOp | SubviewOp | ReinterpretCastOp)
    return is_memory or (not op.regions and is_side_effect_free(op))


def memory_type(op: AllocaOp) -> MemRefType:
    assert is_memref(op.memref.type), op
    return op.memref.type


@dataclass(frozen=True)
class ShareWorkgroupMemoryPass(ModulePass):
    name = "share-workgroup-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if isinstance(each, FuncOp) and each.body.blocks:
                share_memory(each)
