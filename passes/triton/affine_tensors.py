"""Index arithmetic of Triton: tensors that are affine in their coordinates.

    row * lda + splat(step) + j    as element (i, j)    start + i * lda + j * 1

`Indices` looks back from a tensor of integers, of pointers, or a block pointer, to
what it is made of; through loops that add the same in each step, of which it knows the
closed form.  What is not affine is `NotAffine`, with the operation that is in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.arith import (
    AddiOp,
    ConstantOp,
    ExtSIOp,
    ExtUIOp,
    IndexCastOp,
    MuliOp,
    ShLIOp,
    SubiOp,
    TruncIOp,
)
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from coopc.dialects import tt, ttg
from coopc.dialects.tt.types import PtrType, is_tensor, shape_of
from coopc.rewrite.polynomial import NOTHING, ONE, Polynomial

CastOp = ExtSIOp | ExtUIOp | IndexCastOp | TruncIOp


class NotAffine(Exception):
    """A value that is not understood; the message says why."""


@dataclass(frozen=True, slots=True)
class Affine:
    """A tensor of numbers: element (i, j) is start + i steps[0] + j steps[1]."""

    start: Polynomial
    steps: tuple[Polynomial, ...] = ()
    """One for each dimension; none for a scalar."""
    base: SSAValue | None = None
    """The scalar pointer that elements are counted from; None for integers."""

    def __add__(self, other: Affine) -> Affine:
        if self.base is not None and other.base is not None:
            raise NotAffine("two pointers are added")
        pairs = zip(self.steps, other.steps, strict=True)
        steps = tuple(x + y for x, y in pairs)
        return Affine(self.start + other.start, steps, self.base or other.base)

    def __neg__(self) -> Affine:
        return Affine(-self.start, tuple(-x for x in self.steps), self.base)

    def scaled(self, by: Polynomial) -> Affine:
        """Return it times a number that is the same for all elements."""
        return Affine(self.start * by, tuple(x * by for x in self.steps), self.base)

    @property
    def is_uniform(self) -> bool:
        """Whether it is the same for all elements."""
        return not any(self.steps)

    def where(self, value: SSAValue, becomes: Polynomial) -> Affine:
        """Return it with a value replaced."""
        steps = tuple(x.where(value, becomes) for x in self.steps)
        return Affine(self.start.where(value, becomes), steps, self.base)


@dataclass(frozen=True, slots=True)
class Block2D:
    """A block pointer: where it was made, and where the block begins."""

    made: tt.MakeTensorPtrOp
    offsets: tuple[Polynomial, ...]


@dataclass(slots=True)
class Indices:
    """What values are, computed once for each."""

    through: bool = False
    """Whether a scalar pointer is what it is moved from, and how far, or is itself."""
    known: dict[SSAValue, Affine] = field(default_factory=dict[SSAValue, Affine])

    def of(self, value: SSAValue) -> Affine:
        """Return what a scalar or a tensor of integers or pointers is.

        Raises:
            NotAffine: it is not understood.
        """
        if (found := self.known.get(value)) is None:
            found = self.known[value] = self._of(value)
        return found

    def number(self, value: SSAValue) -> Polynomial:
        """Return what a scalar is."""
        return self.of(value).start

    def _of(self, value: SSAValue) -> Affine:
        owner = value.owner
        if isinstance(owner, Block):
            return self._argument(value)
        rule = _RULES.get(type(owner))
        if rule is not None:
            return rule(self, owner)
        return unknown(value)

    def _argument(self, value: SSAValue) -> Affine:
        """What a loop carries is its start, and in each step as much more."""
        carried = carried_by(value)
        if carried is None:
            return unknown(value)
        first = self.of(carried.first)
        zeros = (NOTHING,) * len(first.steps)
        mark = Polynomial.value(value)
        self.known[value] = Affine(mark, zeros, first.base)
        try:
            after = self.of(carried.after)
        except NotAffine:
            return self._forgotten(value, first)
        finally:
            del self.known[value]
        step = after.start - mark
        if value in step.values or not after.is_uniform or after.base is not first.base:
            return self._forgotten(value, first)
        total = carried.total(step)
        if total is None:
            return self._forgotten(value, first)
        # Whatever was made of the mark meanwhile is not kept.
        self.known = {
            key: each
            for key, each in self.known.items()
            if value not in each.start.values
            and not any(value in x.values for x in each.steps)
        }
        return Affine(first.start + total, first.steps, first.base)

    def _forgotten(self, value: SSAValue, first: Affine) -> Affine:
        """What a loop carries, not as so many steps: a scalar is what it is."""
        self.known = {
            key: each
            for key, each in self.known.items()
            if value not in each.start.values
        }
        if first.steps:
            raise NotAffine("a loop carries it, not as a sum of equal steps")
        return unknown(value)

    def block(self, value: SSAValue) -> Block2D:
        """Return what a block pointer is.

        Raises:
            NotAffine: it is not understood.
        """
        owner = value.owner
        if isinstance(owner, tt.MakeTensorPtrOp):
            return Block2D(owner, tuple(self.number(x) for x in owner.offsets))
        if isinstance(owner, tt.AdvanceOp):
            before = self.block(owner.ptr)
            moved = (self.number(x) for x in owner.offsets)
            pairs = zip(before.offsets, moved, strict=True)
            return Block2D(before.made, tuple(x + y for x, y in pairs))
        carried = carried_by(value)
        if carried is None:
            raise NotAffine("a block pointer comes from " + named(value))
        first = self.block(carried.first)
        steps = self._advanced(carried.after, value, len(first.offsets))
        totals = [carried.total(step) for step in steps]
        if None in totals:
            raise NotAffine("a loop carries a block pointer, not by equal steps")
        pairs = zip(first.offsets, totals, strict=True)
        return Block2D(first.made, tuple(x + y for x, y in pairs if y is not None))

    def _advanced(
        self, value: SSAValue, start: SSAValue, rank: int
    ) -> tuple[Polynomial, ...]:
        """Return how far a block pointer is from another one."""
        steps = (NOTHING,) * rank
        while value is not start:
            owner = value.owner
            if not isinstance(owner, tt.AdvanceOp):
                raise NotAffine("a loop carries block pointers in another way")
            moved = (self.number(x) for x in owner.offsets)
            steps = tuple(x + y for x, y in zip(steps, moved, strict=True))
            value = owner.ptr
        return steps


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that a loop carries from step to step."""

    loop: ForOp
    first: SSAValue
    after: SSAValue
    """What the next step gets."""

    def total(self, step: Polynomial) -> Polynomial | None:
        """Return how much is added before the current step, if that is known.

        step * (counter - start) / distance, of which the last must be a number that
        divides, and which must be the same in all steps.
        """
        loop = self.loop
        if any(is_inside(value, loop) for value in step.values):
            return None
        distance, start = number_of(loop.step), number_of(loop.lb)
        if distance is None or start is None:
            return None
        each, rest = step.divided(Polynomial.number(distance))
        if rest:
            return None
        counter = Polynomial.value(loop.body.block.args[0])
        return each * (counter - Polynomial.number(start))


def carried_by(value: SSAValue) -> Carried | None:
    """Return how a loop carries a value; None if it does not."""
    if not isinstance(value, BlockArgument) or value.index == 0:
        return None
    loop = value.block.parent_op()
    if not isinstance(loop, ForOp):
        return None
    last = loop.body.block.last_op
    assert isinstance(last, YieldOp), loop
    at = value.index - 1
    return Carried(loop, loop.iter_args[at], last.arguments[at])


def is_inside(value: SSAValue, loop: ForOp) -> bool:
    """Whether a value is defined in a loop."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        if block is loop.body.block:
            return True
        block = block.parent_block()
    return False


def number_of(value: SSAValue) -> int | None:
    """Return the integer that a scalar is, where it is a constant."""
    op = value.owner
    if isinstance(op, ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def named(value: SSAValue) -> str:
    """Return what a value comes from, for people."""
    owner = value.owner
    name = "" if value.name_hint is None else f"%{value.name_hint} of "
    if isinstance(owner, Block):
        parent = owner.parent_op()
        return f"{name}the arguments of {parent.name if parent else 'a block'}"
    return f"{name}{owner.name}"


def unknown(value: SSAValue) -> Affine:
    """Return a scalar as itself.

    Raises:
        NotAffine: the value is a tensor.
    """
    if is_tensor(value.type):
        raise NotAffine(f"indices come from {named(value)}")
    if isinstance(value.type, PtrType):
        return Affine(NOTHING, (), value)
    return Affine(Polynomial.value(value))


def _constant(indices: Indices, op: ConstantOp) -> Affine:
    value = op.value
    zeros = (NOTHING,) * len(shape_of(op.result.type))
    if isinstance(value, IntegerAttr):
        return Affine(Polynomial.number(value.value.data))
    if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat():
        number = next(iter(value.get_values()))
        if isinstance(number, int):
            return Affine(Polynomial.number(number), zeros)
    return unknown(op.result)


def _range(indices: Indices, op: tt.MakeRangeOp) -> Affine:
    return Affine(Polynomial.number(op.start.value.data), (ONE,))


def _splat(indices: Indices, op: tt.SplatOp) -> Affine:
    one = indices.of(op.src)
    return Affine(one.start, (NOTHING,) * len(shape_of(op.result.type)), one.base)


def _expand(indices: Indices, op: tt.ExpandDimsOp) -> Affine:
    found, axis = indices.of(op.src), op.axis.value.data
    steps = (*found.steps[:axis], NOTHING, *found.steps[axis:])
    return Affine(found.start, steps, found.base)


def _broadcast(indices: Indices, op: tt.BroadcastOp) -> Affine:
    found = indices.of(op.src)
    sizes = shape_of(op.src.type)
    pairs = zip(found.steps, sizes, strict=True)
    steps = tuple(NOTHING if size == 1 else step for step, size in pairs)
    return Affine(found.start, steps, found.base)


def _trans(indices: Indices, op: tt.TransOp) -> Affine:
    found = indices.of(op.src)
    steps = tuple(found.steps[dim] for dim in op.permutation)
    return Affine(found.start, steps, found.base)


def _multiply(indices: Indices, op: MuliOp) -> Affine:
    one, other = indices.of(op.lhs), indices.of(op.rhs)
    if other.is_uniform:
        return one.scaled(other.start)
    if one.is_uniform:
        return other.scaled(one.start)
    raise NotAffine("coordinates are multiplied with each other")


def _shift(indices: Indices, op: ShLIOp) -> Affine:
    by = indices.of(op.rhs)
    bits = by.start.constant
    if bits is None or bits < 0 or not by.is_uniform:
        return unknown(op.result)
    return indices.of(op.lhs).scaled(Polynomial.number(1 << bits))


def _addptr(indices: Indices, op: tt.AddPtrOp) -> Affine:
    is_fixed = not isinstance(op.parent_op(), ForOp)
    if is_fixed and not indices.through and not is_tensor(op.result.type):
        return unknown(op.result)
    return indices.of(op.ptr) + indices.of(op.offset)


def _same(indices: Indices, op: ttg.ConvertLayoutOp | CastOp) -> Affine:
    return indices.of(op.operands[0])


_RULES: Mapping[type[Operation], Callable[[Indices, Any], Affine]] = {
    AddiOp: lambda indices, op: indices.of(op.lhs) + indices.of(op.rhs),
    ConstantOp: _constant,
    ExtSIOp: _same,
    ExtUIOp: _same,
    IndexCastOp: _same,
    MuliOp: _multiply,
    ShLIOp: _shift,
    SubiOp: lambda indices, op: indices.of(op.lhs) + -indices.of(op.rhs),
    TruncIOp: _same,
    tt.AddPtrOp: _addptr,
    tt.BroadcastOp: _broadcast,
    tt.ExpandDimsOp: _expand,
    tt.MakeRangeOp: _range,
    tt.SplatOp: _splat,
    tt.TransOp: _trans,
    ttg.ConvertLayoutOp: _same,
}
"""What operations are; all others are not understood."""
