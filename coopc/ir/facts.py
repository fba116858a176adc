"""Facts of integers: a range, and a number that they are multiples of.

    facts = ValueFacts()
    facts.of(value)          # Facts(low=0, high=4080, divisor=16)

A fact holds wherever the value is computed, as long as no arithmetic overflows: that is
what positions and sizes are for every caller (`index` wraps around; an address that
wrapped is outside of all memory).  Where nothing is known a value is in (-inf, inf) and
a multiple of 1.

What is known comes from constants, ids and sizes of work-groups, from loops, from the
conditions of a kernel (`simt.conditions`), and from what a program assumes where it
computes the value: `tl.assume(pid >= 0)`.  Not from Triton's `tt.divisibility`: what
relies on that becomes a condition of the kernel, which its callers check.

Values of tensors and vectors have facts, too: they hold of each element.

Laws (test/unit/ir/test_facts.py checks each by its name):
- soundness: what a program computes has the facts of its value;
- join: the facts of a join hold of what either side holds of;
- loops: facts of what a loop carries hold after any number of rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ContainerType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.llvm_target import AssumeOp
from coopc.dialects.narrow import is_memref
from coopc.interface import Condition, What

MOST_ROUNDS = 4
"""Of a loop, after which nothing is known of what it carries."""
MOST_NESTED = 3
"""Loop-carried values that are followed through each other."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an integer, or of each of several.

    >>> Facts(0, 48, 16).join(Facts.of_number(8))
    Facts(low=0, high=48, divisor=8)
    """

    low: int | None = None
    """The least that it can be; None if there is no bound."""
    high: int | None = None
    """The most that it can be; None if there is no bound."""
    divisor: int = 1
    """It is a multiple of this, which is at least 0; only 0 is a multiple of 0."""

    @classmethod
    def of_number(cls, number: int) -> Facts:
        """All there is to know of a number."""
        return cls(number, number, abs(number))

    @property
    def number(self) -> int | None:
        """The number, if there is one only."""
        return self.low if self.low == self.high else None

    @property
    def is_nonnegative(self) -> bool:
        return self.low is not None and self.low >= 0

    def join(self, other: Facts) -> Facts:
        """What holds of both."""
        return Facts(
            _bound(min, (self.low, other.low)),
            _bound(max, (self.high, other.high)),
            gcd(self.divisor, other.divisor),
        )

    def meet(self, other: Facts) -> Facts:
        """What holds of a value of which both hold."""
        lows = [x for x in (self.low, other.low) if x is not None]
        highs = [x for x in (self.high, other.high) if x is not None]
        multiple = (
            self.divisor * other.divisor // (gcd(self.divisor, other.divisor) or 1)
        )
        return Facts(max(lows, default=None), min(highs, default=None), multiple)

    def widened(self, newer: Facts) -> Facts:
        """A join whose bounds grow to 0 or without end: a chain of such joins ends."""
        joined = self.join(newer)
        low, high = joined.low, joined.high
        if low != self.low:
            low = 0 if joined.is_nonnegative else None
        if high != self.high:
            high = 0 if high is not None and high <= 0 else None
        return Facts(low, high, joined.divisor)

    def __add__(self, other: Facts) -> Facts:
        return Facts(
            _sum(self.low, other.low),
            _sum(self.high, other.high),
            gcd(self.divisor, other.divisor),
        )

    def __neg__(self) -> Facts:
        return Facts(
            None if self.high is None else -self.high,
            None if self.low is None else -self.low,
            self.divisor,
        )

    def __sub__(self, other: Facts) -> Facts:
        return self + -other

    def __mul__(self, other: Facts) -> Facts:
        divisor = self.divisor * other.divisor
        ends = [_times(x, y) for x in _ends(self) for y in _ends(other)]
        if None not in ends:
            known = [x for x in ends if x is not None]
            return Facts(min(known), max(known), divisor)
        low = 0 if self.is_nonnegative and other.is_nonnegative else None
        if low == 0 and self.low and other.low:
            low = self.low * other.low
        return Facts(low, None, divisor)

    def __floordiv__(self, other: Facts) -> Facts:
        """The quotient, rounded to minus infinity; of what is at least 0, to 0 as well.

        A divisor that is not known is taken to be above 0 where the dividend is at
        least 0: in index arithmetic it counts tiles, or those of a group.
        """
        by = other.number
        if by is not None and by <= 0:
            return Facts()
        if by is None:
            is_count = other.low is not None and other.low > 0
            high = max(self.high, -1) if is_count and self.high is not None else None
            return Facts(0 if self.is_nonnegative else None, high)
        exact = self.divisor // by if self.divisor % by == 0 else 1
        return Facts(
            None if self.low is None else self.low // by,
            None if self.high is None else self.high // by,
            exact,
        )

    def remainder(self, other: Facts) -> Facts:
        """The remainder of a division that rounds to 0: its sign is the dividend's."""
        divisor = gcd(self.divisor, other.divisor)
        most: int | None = None
        if other.low is not None and other.high is not None:
            most = max(abs(other.low), abs(other.high)) - 1
        if most is not None and most < 0:
            return Facts()  # by 0: undefined
        if self.is_nonnegative:
            highs = [x for x in (self.high, most) if x is not None]
            return Facts(0, min(highs, default=None), divisor)
        return Facts(None if most is None else -most, most, divisor)


ANY = Facts()
"""What is known of an integer of which nothing is."""
NATURAL = Facts(low=0)
"""At least 0."""

Rule: TypeAlias = Callable[["ValueFacts", Any], Facts]


class ValueFacts:
    """The facts of the values of a program, computed when they are asked for.

    They are remembered: ask a new one after values have got other definitions.
    """

    def __init__(self, assumed: Mapping[SSAValue, Facts] | None = None) -> None:
        self._known: dict[SSAValue, Facts] = dict(assumed or {})
        self._assumed = frozenset(self._known)

    def of(self, value: SSAValue) -> Facts:
        if (found := self._known.get(value)) is None:
            found = self._computed(value).meet(_assumed(value))
            self._known[value] = found
        return found

    def divisor(self, value: SSAValue) -> int:
        """A number that a value is a multiple of, 0 if it is 0."""
        return self.of(value).divisor

    def is_known_nonnegative(self, value: SSAValue) -> bool:
        return self.of(value).is_nonnegative

    def _computed(self, value: SSAValue) -> Facts:
        owner = value.owner
        if isinstance(owner, Block):
            assert isinstance(value, BlockArgument)
            return self._argument(value, owner.parent_op())
        if isinstance(owner, scf.ForOp):
            number = owner.results.index(value)
            return self._carried(owner, number)
        if isinstance(owner, scf.IfOp):
            return self._chosen(owner, owner.results.index(value))
        rule = _RULES.get(type(owner)) or _NAMED.get(owner.name)
        return ANY if rule is None else rule(self, owner)

    def _argument(self, value: BlockArgument, parent: Operation | None) -> Facts:
        match parent:
            case scf.ForOp() if value.index == 0:
                return self._induction(parent)
            case scf.ForOp():
                return self._carried(parent, value.index - 1)
            case FuncOp():
                return _of_argument(parent, value)
            case _:
                return ANY

    def _induction(self, loop: scf.ForOp) -> Facts:
        """Facts of what a loop counts: from its lower bound on, below its upper one."""
        start, end, step = map(self.of, (loop.lb, loop.ub, loop.step))
        divisor = gcd(start.divisor, step.divisor)
        if step.low is None or step.low <= 0:
            return Facts(divisor=divisor)
        high = None if end.high is None else end.high - 1
        return Facts(start.low, high, divisor)

    def _carried(self, loop: scf.ForOp, number: int) -> Facts:
        """Facts of what a loop carries, before, between and after its rounds."""
        start = self.of(loop.iter_args[number])
        if len(self._assumed) >= MOST_NESTED:
            return ANY
        inside = loop.body.block.args[number + 1]
        last = loop.body.block.last_op
        assert isinstance(last, scf.YieldOp), loop
        found = start
        for _ in range(MOST_ROUNDS):
            below = {x: self._known[x] for x in self._assumed}
            after = ValueFacts({**below, inside: found}).of(last.operands[number])
            wider = found.widened(after)
            if wider == found:
                return found
            found = wider
        return ANY

    def _chosen(self, op: scf.IfOp, number: int) -> Facts:
        found: Facts | None = None
        for region in (op.true_region, op.false_region):
            last = region.block.last_op
            assert isinstance(last, scf.YieldOp), op
            facts = self.of(last.operands[number])
            found = facts if found is None else found.join(facts)
        return found or ANY


def _bound(
    choose: Callable[[int, int], int], ends: tuple[int | None, int | None]
) -> int | None:
    left, right = ends
    return None if left is None or right is None else choose(left, right)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _times(left: int | None, right: int | None) -> int | None:
    if left == 0 or right == 0:
        return 0
    return None if left is None or right is None else left * right


def _ends(facts: Facts) -> tuple[int | None, int | None]:
    return facts.low, facts.high


def _of_argument(func: FuncOp, value: BlockArgument) -> Facts:
    """What the conditions of a kernel say of one of its arguments."""
    found = ANY
    for each in simt.conditions(func):
        if each.what == What.VALUE and each.argument == value.index:
            found = found.meet(_of_condition(each))
    return found


def _of_condition(said: Condition) -> Facts:
    high = None if said.less_than is None else said.less_than - 1
    return Facts(said.at_least, high, said.multiple_of)


_AT_LEAST = {4: 1, 5: 0}
"""By predicate of `arith.cmpi`, sgt and sge: how far above the number the least is."""


def _assumed(value: SSAValue) -> Facts:
    """What a program assumes of a value, in the block where it computes it."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    found = ANY
    for use in value.uses:
        compare = use.operation
        if use.index != 0 or not isinstance(compare, arith.CmpiOp):
            continue
        above = _AT_LEAST.get(compare.predicate.value.data)
        number = _constant(compare.rhs)
        if above is None or number is None:
            continue
        users = (x.operation for x in compare.result.uses)
        if any(isinstance(x, AssumeOp) and x.parent is block for x in users):
            found = found.meet(Facts(low=number + above))
    return found


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    return _of_attribute(owner.value).number


def _of_attribute(attr: Attribute) -> Facts:
    """Facts of a constant: of a number, or of all numbers of a vector or tensor."""
    match attr:
        case IntegerAttr(value=number):
            return Facts.of_number(number.data)
        case DenseIntOrFPElementsAttr() if isinstance(
            attr.get_element_type(), IntegerType | IndexType
        ):
            numbers = {x for x in attr.get_values() if isinstance(x, int)}
            return _joined(map(Facts.of_number, numbers))
        case _:
            return ANY


def _joined(facts: Iterable[Facts]) -> Facts:
    found: Facts | None = None
    for each in facts:
        found = each if found is None else found.join(each)
    return ANY if found is None else found


def _passed(facts: ValueFacts, op: Operation) -> Facts:
    return facts.of(op.operands[0])


def _quotient(facts: ValueFacts, op: arith.DivSIOp) -> Facts:
    left = facts.of(op.lhs)
    if left.is_nonnegative:
        return left // facts.of(op.rhs)
    by = facts.of(op.rhs).number
    exact = by is not None and by > 0 and left.divisor % by == 0
    return left // facts.of(op.rhs) if exact else ANY


def _rounded_up(facts: ValueFacts, op: arith.CeilDivSIOp) -> Facts:
    by = facts.of(op.rhs).number
    if by is None or by <= 0:
        return NATURAL if facts.of(op.lhs).is_nonnegative else ANY
    return -(-facts.of(op.lhs) // Facts.of_number(by))


def _unsigned(rule: Callable[[Facts, Facts], Facts]) -> Rule:
    """A rule for unsigned numbers, which holds where none has its uppermost bit set."""

    def apply(facts: ValueFacts, op: Operation) -> Facts:
        left, right = map(facts.of, op.operands)
        if left.is_nonnegative and right.is_nonnegative:
            return rule(left, right)
        return ANY

    return apply


def _remainder_unsigned(facts: ValueFacts, op: arith.RemUIOp) -> Facts:
    left, right = facts.of(op.lhs), facts.of(op.rhs)
    if left.is_nonnegative and right.is_nonnegative:
        return left.remainder(right)
    by = right.number
    return Facts(0, by - 1) if by is not None and by > 0 else ANY


def _shifted_left(facts: ValueFacts, op: arith.ShLIOp) -> Facts:
    by = facts.of(op.rhs).number
    left = facts.of(op.lhs)
    if by is None or by < 0:
        return Facts(0 if left.is_nonnegative else None, None, left.divisor)
    return left * Facts.of_number(1 << by)


def _shifted_right(facts: ValueFacts, op: arith.ShRSIOp) -> Facts:
    by = facts.of(op.rhs).number
    left = facts.of(op.lhs)
    if by is None or by < 0:
        return NATURAL if left.is_nonnegative else ANY
    return left // Facts.of_number(1 << by)


def _anded(facts: ValueFacts, op: arith.AndIOp) -> Facts:
    left, right = facts.of(op.lhs), facts.of(op.rhs)
    highs = [x.high for x in (left, right) if x.is_nonnegative and x.high is not None]
    if not left.is_nonnegative and not right.is_nonnegative:
        return ANY
    # The lowest bits that are 0 in either are 0 in both together.
    powers = [x.divisor & -x.divisor for x in (left, right) if x.divisor]
    zero = len(powers) < 2
    return Facts(0, min(highs, default=None), 0 if zero else max(powers))


def _least(facts: ValueFacts, op: arith.MinSIOp) -> Facts:
    left, right = facts.of(op.lhs), facts.of(op.rhs)
    highs = [x for x in (left.high, right.high) if x is not None]
    low = _bound(min, (left.low, right.low))
    return Facts(low, min(highs, default=None), gcd(left.divisor, right.divisor))


def _greatest(facts: ValueFacts, op: arith.MaxSIOp) -> Facts:
    left, right = facts.of(op.lhs), facts.of(op.rhs)
    lows = [x for x in (left.low, right.low) if x is not None]
    high = _bound(max, (left.high, right.high))
    return Facts(max(lows, default=None), high, gcd(left.divisor, right.divisor))


def _zero_extended(facts: ValueFacts, op: arith.ExtUIOp) -> Facts:
    found = facts.of(op.input)
    bits = _bits(op.input.type)
    if found.is_nonnegative:
        return found
    low_zeros = found.divisor & -found.divisor
    return Facts(0, None if bits is None else (1 << bits) - 1, low_zeros)


def _truncated(facts: ValueFacts, op: arith.TruncIOp) -> Facts:
    found = facts.of(op.input)
    bits = _bits(op.result.type)
    if bits is None or found.low is None or found.high is None:
        return Facts(divisor=found.divisor & -found.divisor)
    fits = -(1 << (bits - 1)) <= found.low and found.high < 1 << (bits - 1)
    return found if fits else Facts(divisor=found.divisor & -found.divisor)


def _bits(type: Attribute) -> int | None:
    element = type
    if isinstance(type, ContainerType):
        element = cast("ContainerType[Attribute]", type).get_element_type()
    return element.bitwidth if isinstance(element, IntegerType) else None


def _selected(facts: ValueFacts, op: arith.SelectOp) -> Facts:
    return facts.of(op.lhs).join(facts.of(op.rhs))


def _size(facts: ValueFacts, op: memref.DimOp) -> Facts:
    """Facts of a size: a number of the type, or what a kernel's conditions say."""
    dimension = facts.of(op.index).number
    type = op.source.type
    if (
        dimension is None
        or not is_memref(type)
        or not 0 <= dimension < type.get_num_dims()
    ):
        return NATURAL
    if (size := type.get_shape()[dimension]) != DYNAMIC_INDEX:
        return Facts.of_number(size)
    source = op.source
    if not isinstance(source, BlockArgument):
        return NATURAL
    func = source.owner.parent_op()
    if not isinstance(func, FuncOp) or source.owner.parent_block() is not None:
        return NATURAL
    found, place = NATURAL, (What.SIZE, source.index, dimension)
    for each in simt.conditions(func):
        if (each.what, each.argument, each.dimension) == place:
            found = found.meet(_of_condition(each))
    return found


def _range(facts: ValueFacts, op: Operation) -> Facts:
    start, end = op.properties["start"], op.properties["end"]
    assert isinstance(start, IntegerAttr), op
    assert isinstance(end, IntegerAttr), op
    return Facts(start.value.data, end.value.data - 1)


_RULES: Mapping[type[Operation], Rule] = {
    arith.AddiOp: lambda facts, op: facts.of(op.lhs) + facts.of(op.rhs),
    arith.AndIOp: _anded,
    arith.CeilDivSIOp: _rounded_up,
    arith.CeilDivUIOp: _unsigned(lambda x, y: -(-x // y) if y.number else NATURAL),
    arith.ConstantOp: lambda facts, op: _of_attribute(op.value),
    arith.DivSIOp: _quotient,
    arith.DivUIOp: _unsigned(lambda x, y: x // y),
    arith.ExtSIOp: _passed,
    arith.ExtUIOp: _zero_extended,
    arith.FloorDivSIOp: lambda facts, op: facts.of(op.lhs) // facts.of(op.rhs),
    arith.IndexCastOp: _passed,
    arith.MaxSIOp: _greatest,
    arith.MinSIOp: _least,
    arith.MuliOp: lambda facts, op: facts.of(op.lhs) * facts.of(op.rhs),
    arith.RemSIOp: lambda facts, op: facts.of(op.lhs).remainder(facts.of(op.rhs)),
    arith.RemUIOp: _remainder_unsigned,
    arith.SelectOp: _selected,
    arith.ShLIOp: _shifted_left,
    arith.ShRSIOp: _shifted_right,
    arith.SubiOp: lambda facts, op: facts.of(op.lhs) - facts.of(op.rhs),
    memref.DimOp: _size,
    simt.LaneIdOp: lambda facts, op: NATURAL,
    simt.LocalIdOp: lambda facts, op: NATURAL,
    simt.NumSubgroupsOp: lambda facts, op: Facts(low=1),
    simt.NumWorkgroupsOp: lambda facts, op: Facts(low=1),
    simt.SubgroupIdOp: lambda facts, op: NATURAL,
    simt.SubgroupSizeOp: lambda facts, op: Facts(low=1),
    simt.WorkgroupIdOp: lambda facts, op: NATURAL,
    simt.WorkgroupSizeOp: lambda facts, op: Facts(low=1),
    arith.TruncIOp: _truncated,
}
"""What operations give; of all others but those of `_NAMED` nothing is known."""

_NAMED: Mapping[str, Rule] = {
    "tt.broadcast": _passed,
    "tt.expand_dims": _passed,
    "tt.get_num_programs": lambda facts, op: Facts(low=1),
    "tt.get_program_id": lambda facts, op: NATURAL,
    "tt.make_range": _range,
    "tt.splat": _passed,
}
"""By name, so that the dialect is not imported where no program has it."""


def constant_number(value: SSAValue) -> int | None:
    """Return the number that an integer is, where it is a constant."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            return None
