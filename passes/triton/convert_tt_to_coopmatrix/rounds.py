"""Which products go in rounds, which loads wait until they are used, which run again.

    %sums = scf.for .. (%acc = 0) { .. yield tt.dot %a, %b, %acc }      128 x 128
    tt.store %p, f(%sums)

    for each block of 64 x 64: sums = matrices, which the loop carries
                               store f(sums), a strip of the block at a time

A loop that does nothing but add products to one tensor is not written where it stands,
but around the one statement that uses the sums element by element, once for each block
of them.  So no memory has to hold all sums, and a subgroup has as many as it can keep.

What such a statement stores to may not be what the loop loads from.  If they are one
argument, the loop is written where it stands; if they are two, that their memory does
not overlap is a condition of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from coopc.dialects import simt, tt, ttg
from coopc.dialects.narrow import is_tensor
from coopc.dialects.tt.types import shape_of
from coopc.ir.control_flow import yielded
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import FUNCTIONS
from coopc.passes.triton.origins import View

MOST_REPEATED = 16
"""Loads, and operations on what they load, that are repeated to compute an element."""
PASSED_ON = (tt.SplitOp, ttg.LocalAllocOp, ttg.LocalLoadOp, scf.ForOp, scf.WhileOp)
"""Operations that do not use elements where they stand."""
WRITES = (
    tt.AtomicCASOp,
    tt.AtomicRMWOp,
    tt.DescriptorReduceOp,
    tt.DescriptorScatterOp,
    tt.DescriptorStoreOp,
    tt.StoreOp,
    ttg.BarrierOp,
    simt.BarrierOp,
)
OWNERS = (tt.DescriptorLoadOp, tt.DotOp, tt.LoadOp)
"""Operations whose results may have a buffer, which nothing else has."""
DEFERRED = (tt.DescriptorLoadOp, tt.LoadOp)
"""Loads that can run where their elements are used."""
POINTWISE = tt.ELEMENTWISE | {ttg.ConvertLayoutOp}


@dataclass(frozen=True, slots=True)
class RoundsPlan:
    """How the sums of a loop are computed for one statement: in blocks."""

    loop: scf.ForOp
    number: int
    """Of the sums among what the loop carries."""
    dot: tt.DotOp
    statement: Operation
    source: SSAValue
    """What it uses: the sums, or a view of some of them."""
    begin: tuple[int, int]
    """The first row and column of these among all sums."""
    block: tuple[int, int]
    """Rows and columns of sums at a time."""

    @property
    def rounds(self) -> tuple[int, int]:
        """Blocks below each other, and beside each other."""
        rows, cols = shape_of(self.source.type)
        return rows // self.block[0], cols // self.block[1]


def plan_rounds(
    loop: scf.ForOp, moved: set[int], block: tuple[int, int]
) -> tuple[RoundsPlan, ...] | str:
    """Return how the sums of a loop go in rounds, or why they do not.

    What it carries with a number in `moved` moves by the same amount each time. A block
    has the most rows and columns of sums at a time.
    """
    body = loop.body.block
    ends, args = yielded(loop.body), body.args[1:]
    used = [n for n, x in enumerate(loop.results) if x.uses]
    tensors = [n for n, x in enumerate(args) if is_tensor(x.type) and n not in moved]
    if len(tensors) != 1 or used != tensors:
        return f"it carries {len(tensors)} tensors, and {len(used)} results are used"
    (number,) = tensors
    dot, shape = ends[number].owner, shape_of(args[number].type)
    if not isinstance(dot, tt.DotOp) or dot.parent is not body or len(shape) != 2:
        return "it does not carry an accumulator of products"
    if dot.c is not args[number] or not (dot.c.has_one_use() and dot.d.has_one_use()):
        return "the accumulators are used in it"
    if writes(loop):
        return "it writes to memory"
    if not is_splat(loop.iter_args[number]):
        return "the accumulators do not start with the same number"
    users = pointwise_users(loop.results[number])
    if not users:
        return "not all uses are elementwise statements"
    found: list[RoundsPlan] = []
    for statement, (source, path) in users.items():
        if any(map(writes, {*between(loop, statement)} - {*users})):
            return "memory is written before the accumulators are used"
        if (begin := path.begin(shape)) is None:
            return "the part of the accumulators that is used is no block"
        pairs = zip(block, shape_of(source.type), strict=True)
        rows, cols = (min(x, y) for x, y in pairs)
        plan = RoundsPlan(loop, number, dot, statement, source, begin, (rows, cols))
        found.append(plan)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Path:
    """Views of the sums, in order: of a split with which of its results."""

    views: tuple[tuple[Operation, int], ...] = ()

    def begin(self, shape: tuple[int, ...]) -> tuple[int, int] | None:
        """Return row and column where the block begins that views show of sums.

        None if what they show of a shape is no block.
        """
        if not self.views:
            return 0, 0
        import numpy as np  # few programs have views

        sums = np.arange(prod(shape)).reshape(shape)
        seen = sums
        for op, which in self.views:
            match op:
                case tt.SplitOp():
                    seen = seen[..., which]
                case tt.TransOp():
                    seen = seen.transpose(op.permutation)
                case _:
                    seen = seen.reshape(shape_of(op.results[0].type))
        if seen.ndim != 2:
            return None
        (row, col), (rows, cols) = divmod(int(seen[0, 0]), shape[1]), seen.shape
        if row % rows or col % cols:
            return None
        is_block = np.array_equal(seen, sums[row : row + rows, col : col + cols])
        return (row, col) if is_block else None


def writes(op: Operation) -> bool:
    """Whether an operation may change memory that others see."""
    return any(isinstance(each, WRITES) for each in op.walk())


def after(op: Operation) -> Iterator[Operation]:
    """Yield the operations of its block that follow one."""
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


def between(first: Operation, last: Operation) -> Iterator[Operation]:
    """Yield the operations of a block between two of them."""
    return takewhile(lambda op: op is not last, after(first))


def is_splat(value: SSAValue) -> bool:
    """Whether a tensor has the same element everywhere."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp):
        dense = owner.value
        return isinstance(dense, DenseIntOrFPElementsAttr) and dense.is_splat()
    return isinstance(owner, tt.SplatOp)


Users: TypeAlias = dict[Operation, tuple[SSAValue, Path]]


def pointwise_users(value: SSAValue) -> Users | None:
    """Return the statements that use a tensor element by element, and what of it.

    None if anything else uses it.
    """
    found, block = Users(), value.owner.parent_block()
    known: dict[SSAValue, tuple[SSAValue, Path]] = {value: (value, Path())}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        for use in one.uses:
            op, here = use.operation, known[one]
            if is_store(op, use.index) and op.parent is block:
                if found.setdefault(op, here) != here:
                    return None
                continue
            is_view = isinstance(op, tt.ReshapeOp | tt.TransOp | tt.SplitOp)
            is_known = one is here[0] if is_view else type(op) in POINTWISE
            if op.parent is not block or not is_known:
                return None
            for number, result in enumerate(op.results):
                path = Path((*here[1].views, (op, number)))
                there = (result, path) if is_view else here
                if result not in known:
                    waiting.append(result)
                if known.setdefault(result, there) != there:
                    return None
    return found


def statements_of(value: SSAValue) -> frozenset[Operation]:
    """Return the statements that use a tensor as it is, if all uses are of these."""
    users = pointwise_users(value) or {}
    has_views = any(path.views for _, path in users.values())
    return frozenset() if has_views else frozenset(users)


def is_of_elements(op: Operation) -> bool:
    """Whether each lane accesses the elements that it has, however late."""
    return not isinstance(op, DEFERRED) or bool(statements_of(op.result))


def is_store(op: Operation, operand: int) -> bool:
    """Whether an operation stores what is an operand of it, and does no more."""
    match op:
        case tt.StoreOp():
            return op.operands[operand] is op.value and op.value is not op.mask
        case tt.AtomicRMWOp():
            return op.operands[operand] is op.val and not op.result.uses
        case tt.DescriptorStoreOp():
            return True
        case _:
            return False


def updated(op: tt.DotOp) -> SSAValue | None:
    """Return what a loop carries that a product is added to, and is then.

    Elements of it may be changed before, each in its place; nothing else sees it.
    """
    body = op.parent
    loop = None if body is None else body.parent_op()
    if body is None or not isinstance(loop, scf.ForOp) or not op.d.has_one_use():
        return None
    ends = yielded(loop.body)
    for arg, end in zip(body.args[1:], ends, strict=False):
        value: SSAValue = arg
        while value is not op.c and value.has_one_use():
            user = next(iter(value.uses)).operation
            if type(user) not in POINTWISE or user.parent is not body:
                break
            value = user.results[0]
        if end is op.d and value is op.c and value.has_one_use():
            return arg
    return None


def replaced(value: SSAValue) -> SSAValue | None:
    """Return a tensor that nobody needs when another one is computed from it.

    Each element of the other one is computed from the same element of it.
    """
    op = value.owner
    if not isinstance(op, Operation) or type(op) not in POINTWISE:
        return None
    for operand in op.operands:
        before, users = operand.owner, [x.operation for x in operand.uses]
        if operand.type != value.type or not isinstance(before, Operation):
            continue
        if any(x.parent is not op.parent for x in (before, *users)):
            continue
        is_pointwise = type(before) in POINTWISE
        if is_pointwise and len(users) == 1:
            if (found := replaced(operand)) is not None:
                return found
        elif is_pointwise or isinstance(before, OWNERS):
            others = [x for x in users if x is not op]
            if all(
                isinstance(x, tt.ReduceOp) and op in after(x) and not is_pair(x)
                for x in others
            ):
                return operand
    return None


# Where tensors are used, and loads that wait until then


def consumers(
    func: Operation, excluded: tuple[type[Operation], ...] = ()
) -> dict[SSAValue, Operation]:
    """Return where elements of tensors are used, of those that are used in one place.

    It is the operation in which all pointwise uses end, or that needs an element twice,
    unless its type is excluded.
    """
    found: dict[SSAValue, Operation] = {}
    for op in func.walk(reverse=True):
        for result in op.results:
            ends = {_end(x.operation, found) for x in result.uses}
            if len(ends) != 1 or (end := ends.pop()).parent is not op.parent:
                continue
            if isinstance(end, excluded):
                continue
            if result.has_one_use() or not isinstance(end, tt.CatOp | tt.JoinOp):
                found[result] = end
    return found


def _end(op: Operation, found: Mapping[SSAValue, Operation]) -> Operation:
    if type(op) not in POINTWISE and not isinstance(op, tt.BitcastOp):
        return op
    return found.get(op.results[0], op) if len(op.results) == 1 else op


def is_pair(op: tt.ReduceOp) -> bool:
    """Whether each result is of two elements, which are combined where it is used."""
    shape = shape_of(op.srcs[0].type)
    is_tensor_of_pairs = len(shape) > 1 and shape[op.axis.value.data] == 2
    return len(op.srcs) == 1 and is_tensor_of_pairs


def waits(
    op: tt.LoadOp | tt.DescriptorLoadOp, users: Mapping[SSAValue, Operation]
) -> bool:
    """Whether a load may run where its elements are used, once.

    Then nothing in between writes to memory, and elements that are used in several
    places are put in a buffer.

    Of the tensors that are used in one place, `users` says where.
    """
    value: SSAValue = op.result
    while True:
        user = users.get(value)
        if user is None:
            if value is op.result or isinstance(value.owner, Block | View):
                return False
            user = value.owner
            break
        if isinstance(user, (*WRITES, *PASSED_ON, tt.LoadOp)):
            return False
        if type(user) not in FUNCTIONS:
            break
        (value, *others) = user.results
        if others:
            return False
    return not any(map(writes, between(op, user)))


def rematerialized(
    func: Operation, users: Mapping[SSAValue, Operation]
) -> frozenset[SSAValue]:
    """Return tensors that need no buffer: their elements can be computed once more.

    They are of what is in buffers, or until their last use nothing writes to memory.

    Of the tensors that are used in one place, `users` says where.
    """
    found, ends = set[SSAValue](), dict[SSAValue, set[Operation]]()
    # Sums are put in buffers elsewhere than where they are computed.
    has_sums = any(isinstance(op, tt.DotOp) for op in func.walk())

    views, computed = View | tt.SplitOp | tt.SplatOp, (*FUNCTIONS, *DEFERRED)

    def is_kept(value: SSAValue) -> bool:
        if type(value.owner) in computed and (value in found or value in users):
            return False
        return not isinstance(value.owner, views)

    def ends_of(value: SSAValue) -> set[Operation]:
        last = set[Operation]()
        for user in (x.operation for x in value.uses):
            is_passed = type(user) in (*computed, tt.SplitOp)
            if is_passed and (has_sums or not all(map(is_kept, user.results))):
                last.update(*(ends[x] for x in user.results))
            else:
                last.add(user)
        return last

    for op in func.walk(reverse=True):
        ends |= {x: ends_of(x) for x in op.results}
        if type(op) in computed and not is_volatile(op):
            found |= {
                x for x in op.results if all(is_same_until(op, y) for y in ends[x])
            }
    return frozenset(within_limit(func, found, is_kept))


def within_limit(
    func: Operation, found: set[SSAValue], is_kept: Callable[[SSAValue], bool]
) -> set[SSAValue]:
    """Drop tensors that take too long to compute, and add those of what is kept."""
    # How often memory is read, and what is read is computed with.
    counts, loading = dict[SSAValue, int](), set[SSAValue]()
    for op in func.walk():
        count = sum(counts.get(x, 0) for x in op.operands)
        count += bool(count) or isinstance(op, DEFERRED)
        is_loading = isinstance(op, DEFERRED) or not loading.isdisjoint(op.operands)
        if count > MOST_REPEATED:
            found.difference_update(op.results)
        elif type(op) in FUNCTIONS and not is_loading:
            found.update(op.results)
        tensors = [x for x in op.results if is_tensor(x.type)]
        counts |= {x: 1 if is_kept(x) else count for x in tensors}
        loading.update(x for x in tensors if is_loading and not is_kept(x))
    return found


def is_volatile(op: Operation) -> bool:
    return isinstance(op, tt.LoadOp) and bool(op.is_volatile.value.data)


def is_same_until(op: Operation, end: Operation) -> bool:
    """Whether nothing writes to memory until another operation has used an element."""
    block = op.parent
    last = None if block is None else block.find_ancestor_op_in_block(end)
    if last is None or isinstance(end, (*WRITES, scf.ForOp, scf.WhileOp)):
        return False
    is_carried = end.has_trait(IsTerminator) and not isinstance(
        end.parent_op(), scf.IfOp
    )
    if is_carried or (last is not end and writes(last)):
        return False
    return not any(map(writes, between(op, last)))


def feeds_products(op: Operation) -> bool:
    """Whether a load is used as a factor only, and memory stays the same till then."""
    block, users = op.parent, products_of(op.results[0])
    if block is None or not users:
        return False
    ends = [block.find_ancestor_op_in_block(x) for x in users]
    return all(
        end is not None and not any(map(writes, [*between(op, end), end]))
        for end in ends
    )


def products_of(value: SSAValue) -> list[Operation]:
    """Return the products of which a tensor is a factor, transposed or not.

    There are none if anything else uses it.
    """
    found: list[Operation] = []
    for use in value.uses:
        op, more = use.operation, list[Operation]()
        if isinstance(op, tt.TransOp | ttg.ConvertLayoutOp):
            more = products_of(op.results[0])
        elif isinstance(op, tt.DotOp) and use.index < 2:
            more = [op]
        if not more:
            return []
        found += more
    return found
