"""Index arithmetic of Triton: tensors that are affine in their coordinates.

    row * lda + splat(step) + j    as element (i, j)    start + i * lda + j * 1

`Indices` looks back from a tensor of integers, of pointers, or a block pointer, to
what it is made of; through loops that add the same in each step, of which it knows the
closed form.  What is not affine is `NotAffine`, with the operation that is in the way;
or, where that is asked, a value of its own, whose steps are unknown along the
dimensions in which it varies.  A block pointer has the steps by which it moved from
where it was made.

Masks of Triton: comparisons of coordinates, as bounds along each dimension.

    row + i < m  and  j < k - step        dimension 0: i < m - row, 1: j < k - step

`mask_of` takes a mask apart into what must be below 0, and scalar conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import gcd, prod
from typing import Any, get_args

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from coopc.dialects import tt, ttg
from coopc.dialects.narrow import is_tensor
from coopc.dialects.tt.types import PtrType, shape_of
from coopc.ir.control_flow import is_inside, yielded
from coopc.ir.facts import ValueFacts, constant_number
from coopc.ir.polynomial import NOTHING, ONE, Monomial, Polynomial

CASTS = (arith.ExtSIOp, arith.ExtUIOp, arith.IndexCastOp, arith.TruncIOp)
LEAST_BITS = 32
"""Sums and products of at least so many bits are assumed not to wrap, as memory is not
as large; of narrower ones this is proven."""
ViewOp = tt.BroadcastOp | tt.ExpandDimsOp | tt.TransOp | ttg.ConvertLayoutOp


class NotAffine(Exception):
    """A value that is not understood; the message says why."""


@dataclass(frozen=True, slots=True)
class Affine:
    """A tensor of numbers: element (i, j) is start + i steps[0] + j steps[1]."""

    start: Polynomial
    steps: tuple[Polynomial, ...] = ()
    """One for each dimension; none for a scalar."""
    base: SSAValue | None = None
    """The scalar or block pointer that is counted from; None for integers."""

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

    def viewed(self, op: ViewOp) -> Affine:
        """Return what an operation makes of it that changes the shape alone."""
        steps = self.steps
        match op:
            case tt.BroadcastOp():
                pairs = zip(steps, shape_of(op.src.type), strict=True)
                steps = tuple(NOTHING if size == 1 else step for step, size in pairs)
            case tt.ExpandDimsOp():
                axis = op.axis.value.data
                steps = (*steps[:axis], NOTHING, *steps[axis:])
            case tt.TransOp():
                steps = tuple(steps[dim] for dim in op.permutation)
            case ttg.ConvertLayoutOp():
                pass
        return replace(self, steps=steps)

    @property
    def is_uniform(self) -> bool:
        """Whether it is the same for all elements."""
        return not any(self.steps)

    @property
    def values(self) -> set[SSAValue]:
        return self.start.values.union(*(x.values for x in self.steps))

    def where(self, value: SSAValue, becomes: Polynomial) -> Affine:
        steps = tuple(x.where(value, becomes) for x in self.steps)
        return Affine(self.start.where(value, becomes), steps, self.base)


@dataclass(slots=True)
class Indices:
    """What values are, computed once for each."""

    through: bool = False
    """Whether a scalar pointer is what it is moved from, and how far, or is itself."""
    partial: bool = False
    """Whether a tensor that is not affine is a value of its own: `opaque`."""
    known: dict[SSAValue, Affine] = field(default_factory=dict[SSAValue, Affine])

    def of(self, value: SSAValue) -> Affine:
        """Return what a scalar or a tensor of integers or pointers is.

        Raises:
            NotAffine: it is not understood.
        """
        if (found := self.known.get(value)) is None:
            try:
                found = self._of(value)
            except NotAffine:
                if not self.partial or not is_tensor(value.type):
                    raise
                found = self._opaque(value)
            self.known[value] = found
        return found

    def _opaque(self, value: SSAValue) -> Affine:
        """Return a tensor of which only is known along which dimensions it varies.

        Its start and its steps are the value itself, which stands for any element.
        """
        own, op = Polynomial.value(value), value.owner
        known: list[Affine] = []
        if isinstance(op, Operation) and op.dialect_name() in ("arith", "math"):
            known = [self.of(x) for x in op.operands if is_tensor(x.type)]
        steps = tuple(
            NOTHING
            if size == 1 or (known and not any(x.steps[dim] for x in known))
            else own
            for dim, size in enumerate(shape_of(value.type))
        )
        carried = carried_by(value)
        return Affine(own, steps, carried and self.of(carried.first).base)

    def number(self, value: SSAValue) -> Polynomial:
        return self.of(value).start

    def steps(self, offsets: Sequence[SSAValue]) -> Affine:
        """Return how far offsets move a block pointer."""
        return Affine(NOTHING, tuple(map(self.number, offsets)))

    def _of(self, value: SSAValue) -> Affine:
        owner = value.owner
        if isinstance(owner, Block):
            return self._argument(value)
        rule = _RULES.get(type(owner))
        return unknown(value) if rule is None else rule(self, owner)

    def _argument(self, value: SSAValue) -> Affine:
        """What a loop carries is its start, and in each step as much more."""
        carried = carried_by(value)
        if carried is None:
            return unknown(value)
        first = self.of(carried.first)
        mark = Polynomial.value(value)
        self.known[value] = Affine(mark, (NOTHING,) * len(first.steps), first.base)
        totals: list[Polynomial | None] = [None]
        with suppress(NotAffine):
            after = self.of(carried.after)
            if after.base is first.base:
                totals = [carried.total(x) for x in (after.start - mark, *after.steps)]
        # Whatever was made of the mark meanwhile is not kept.
        self.known = {key: x for key, x in self.known.items() if value not in x.values}
        known = [x for x in totals if x is not None]
        if len(known) == len(totals):
            return first + Affine(known[0], tuple(known[1:]))
        if first.steps:
            raise NotAffine("a loop carries it, not as a sum of equal steps")
        return unknown(value)


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
        distance, start = constant_number(loop.step), constant_number(loop.lb)
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
    at = value.index - 1
    return Carried(loop, loop.iter_args[at], yielded(loop.body)[at])


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


def _constant(indices: Indices, op: arith.ConstantOp) -> Affine:
    value = op.value
    zeros = (NOTHING,) * len(shape_of(op.result.type))
    if isinstance(value, IntegerAttr):
        return Affine(Polynomial.number(value.value.data))
    if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat():
        number = next(iter(value.get_values()))
        if isinstance(number, int):
            return Affine(Polynomial.number(number), zeros)
    return unknown(op.result)


def _multiply(indices: Indices, op: arith.MuliOp) -> Affine:
    one, other = indices.of(op.lhs), indices.of(op.rhs)
    if other.is_uniform:
        return one.scaled(other.start)
    if one.is_uniform:
        return other.scaled(one.start)
    raise NotAffine("coordinates are multiplied with each other")


def _shift(indices: Indices, op: arith.ShLIOp) -> Affine:
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


def width_of(value: SSAValue) -> int:
    """Return the bits of integers; those of an index as far as they are assumed."""
    return tt.bits_of(value.type) or LEAST_BITS


def _fits(value: SSAValue, bits: int) -> bool:
    """Whether integers, computed without end, are those of so many bits."""
    facts, half = ValueFacts().of(value), 1 << bits - 1
    return -half <= facts.low and facts.high < half


def _cast(indices: Indices, op: Any) -> Affine:
    """Look behind casts that change no number."""
    match op:
        case arith.ExtUIOp():
            is_same = ValueFacts().is_known_nonnegative(op.input)
        case arith.TruncIOp():
            is_same = _fits(op.input, width_of(op.result))
        case _:
            is_same = True
    return indices.of(op.operands[0]) if is_same else unknown(op.result)


def _exact(
    rule: Callable[[Indices, Any], Affine],
) -> Callable[[Indices, Any], Affine]:
    """Return a rule for operations that do not wrap."""

    def checked(indices: Indices, op: Any) -> Affine:
        bits = width_of(op.result)
        if bits < LEAST_BITS and not _fits(op.result, bits):
            return unknown(op.result)
        return rule(indices, op)

    return checked


_RULES: Mapping[type[Operation], Callable[[Indices, Any], Affine]] = {
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(
        get_args(ViewOp), lambda indices, op: indices.of(op.src).viewed(op)
    ),
    arith.AddiOp: _exact(lambda indices, op: indices.of(op.lhs) + indices.of(op.rhs)),
    arith.ConstantOp: _constant,
    arith.MuliOp: _exact(_multiply),
    arith.ShLIOp: _exact(_shift),
    arith.SubiOp: _exact(lambda indices, op: indices.of(op.lhs) + -indices.of(op.rhs)),
    tt.AddPtrOp: _addptr,
    tt.AdvanceOp: lambda indices, op: indices.of(op.ptr) + indices.steps(op.offsets),
    tt.MakeRangeOp: lambda indices, op: Affine(
        Polynomial.number(op.start.value.data), (ONE,)
    ),
    tt.MakeTensorPtrOp: lambda indices, op: replace(
        indices.steps(op.offsets), base=op.result
    ),
    tt.SplatOp: lambda indices, op: replace(
        indices.of(op.src), steps=(NOTHING,) * len(shape_of(op.result.type))
    ),
}
"""What operations are; all others are not understood."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask that is true where all of it is."""

    negative: tuple[Affine, ...] = ()
    """What must be less than 0."""
    flags: tuple[SSAValue, ...] = ()
    """Scalars, i1."""
    others: tuple[Affine, ...] = ()
    """Masks of which only is known where they vary, if `indices` are partial."""
    unsigned: tuple[SSAValue, ...] = ()
    """Limits of unsigned comparisons that may be negative, which is then large."""

    def __and__(self, other: Mask) -> Mask:
        return Mask(
            self.negative + other.negative,
            self.flags + other.flags,
            self.others + other.others,
            self.unsigned + other.unsigned,
        )


def mask_of(value: SSAValue, indices: Indices) -> Mask:
    """Return what a mask is.

    Raises:
        NotAffine: it is more than comparisons of coordinates.
    """
    try:
        return _mask_of(value, indices)
    except NotAffine:
        if not indices.partial:
            raise
        return Mask(others=(indices.of(value),))


def _mask_of(value: SSAValue, indices: Indices) -> Mask:
    if not is_tensor(value.type):
        return Mask(flags=(value,))
    match value.owner:
        case arith.AndIOp() as op:
            return mask_of(op.lhs, indices) & mask_of(op.rhs, indices)
        case arith.CmpiOp() as op:
            return _compare(indices, op)
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense) if (
            dense.is_splat()
        ):
            zeros = (NOTHING,) * len(shape_of(value.type))
            is_true = next(iter(dense.get_values()))
            return Mask() if is_true else Mask((Affine(NOTHING, zeros),))
        case arith.ConstantOp():
            raise NotAffine("a mask is a constant of several values")
        case tt.SplatOp() as op:
            return Mask(flags=(op.src,))
        case op if isinstance(op, ViewOp):
            mask = mask_of(op.src, indices)
            negative, others = (
                tuple(x.viewed(op) for x in each)
                for each in (mask.negative, mask.others)
            )
            return replace(mask, negative=negative, others=others)
        case _:
            raise NotAffine(f"a mask comes from {named(value)}")


def _compare(indices: Indices, op: arith.CmpiOp) -> Mask:
    one, other = indices.of(op.lhs), indices.of(op.rhs)
    kind = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    if kind in ("eq", "ne"):
        raise NotAffine("a mask is where coordinates are equal, or are not")
    if kind[1] == "g":
        one, other = other, one
    difference = one + -other
    if kind.endswith("e"):
        difference = replace(difference, start=difference.start - ONE)
    if kind[0] == "s":
        return Mask((difference,))
    limit = op.lhs if kind[1] == "g" else op.rhs
    is_known = ValueFacts().is_known_nonnegative(limit)
    negative = difference, Affine(-one.start - ONE, (-one).steps)
    return Mask(negative, unsigned=() if is_known else (limit,))


def indivisible(number: Polynomial, by: int) -> Iterator[tuple[Monomial, int, int]]:
    """Yield the terms of a sum that are not known to be multiples of a number.

    Each is its factors, what they are multiplied by, and what one of them has to be a
    multiple of for that.
    """
    facts = ValueFacts()
    for factors, times in number.terms.items():
        have = gcd(times * prod(map(facts.divisor, factors)), by)
        if have != by:
            yield factors, times, by // have


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which coordinates along one dimension are inside."""

    below: Polynomial | None = None
    """They are less than this; None where that is not asked."""
    above: Polynomial | None = None
    """They are at least this."""


def bounds(mask: Mask, rank: int) -> tuple[Bounds, ...]:
    """Return what a mask asks of each coordinate.

    Raises:
        NotAffine: it asks something of several together, or two things of one.
    """
    for limit in mask.unsigned:
        raise NotAffine(f"a mask compares with {named(limit)}, as one without a sign")
    found: list[dict[int, Polynomial]] = [{} for _ in range(rank)]
    for each in mask.negative:
        dims = [dim for dim, step in enumerate(each.steps) if step]
        if len(dims) != 1:
            raise NotAffine(f"a mask compares {len(dims)} coordinates at once")
        step = each.steps[dims[0]].constant
        if step not in (1, -1):
            raise NotAffine("a mask compares a multiple of a coordinate")
        limit = -each.start if step == 1 else each.start + ONE
        if found[dims[0]].setdefault(step, limit) != limit:
            raise NotAffine("a mask bounds one dimension twice")
    return tuple(Bounds(limits.get(1), limits.get(-1)) for limits in found)
