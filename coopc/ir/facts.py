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
from dataclasses import dataclass, replace
from functools import reduce
from math import gcd, inf, isinf, lcm, prod
from typing import TypeAlias, cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyDenseElement,
    Builtin,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FixedBitwidthType,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref, is_tensor
from coopc.dialects.shaped_arith import IndexCastUIOp, element_of
from coopc.interface import What
from coopc.ir.control_flow import block_of, yielded

MOST_ROUNDS = 4
"""Of a loop, after which nothing is known of what it carries."""
MOST_BOUND = 1 << 128
"""Beyond this a bound says nothing, so that all of them are within those of floats."""
MOST_NESTED = 3
"""Loop-carried values that are followed through each other."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an integer, or of each of several.

    >>> Facts(0, 48, 16).join(Facts.of_number(8))
    Facts(low=0, high=48, divisor=8)
    """

    low: float = -inf
    """The least that it can be."""
    high: float = inf
    """The most that it can be."""
    divisor: int = 1
    """It is a multiple of this, which is at least 0; only 0 is a multiple of 0."""

    @classmethod
    def within(cls, low: float, high: float, divisor: int) -> Facts:
        """Facts with bounds no further than `MOST_BOUND`."""
        return cls(
            -inf if low < -MOST_BOUND else min(low, MOST_BOUND),
            inf if high > MOST_BOUND else max(high, -MOST_BOUND),
            divisor,
        )

    @classmethod
    def of_number(cls, number: int) -> Facts:
        """All there is to know of a number."""
        return cls.within(number, number, abs(number))

    @property
    def number(self) -> int | None:
        """The number, if there is one only."""
        return int(self.low) if self.low == self.high else None

    @property
    def is_nonnegative(self) -> bool:
        return self.low >= 0

    def join(self, other: Facts) -> Facts:
        """What holds of both."""
        return Facts(
            min(self.low, other.low),
            max(self.high, other.high),
            gcd(self.divisor, other.divisor),
        )

    def meet(self, other: Facts) -> Facts:
        """What holds of a value of which both hold."""
        return Facts(
            max(self.low, other.low),
            min(self.high, other.high),
            lcm(self.divisor, other.divisor),
        )

    def widened(self, newer: Facts) -> Facts:
        """A join whose bounds grow to 0 or without end: a chain of such joins ends."""
        joined = self.join(newer)
        low, high = joined.low, joined.high
        if low != self.low:
            low = 0 if low >= 0 else -inf
        if high != self.high:
            high = 0 if high <= 0 else inf
        return Facts(low, high, joined.divisor)

    def __add__(self, other: Facts) -> Facts:
        divisor = gcd(self.divisor, other.divisor)
        return Facts.within(self.low + other.low, self.high + other.high, divisor)

    def __neg__(self) -> Facts:
        return Facts(-self.high, -self.low, self.divisor)

    def __sub__(self, other: Facts) -> Facts:
        return self + -other

    def __mul__(self, other: Facts) -> Facts:
        ends = [
            0 if 0 in (x, y) else x * y
            for x in (self.low, self.high)
            for y in (other.low, other.high)
        ]
        return Facts.within(min(ends), max(ends), self.divisor * other.divisor)

    def __floordiv__(self, other: Facts) -> Facts:
        """The quotient, rounded to minus infinity; of what is at least 0, to 0 as well.

        A divisor that is not known is taken to be above 0 where the dividend is at
        least 0: in index arithmetic it counts tiles, or those of a group.
        """
        by = other.number
        if by is not None and by <= 0:
            return Facts()
        if by is None:
            high = max(self.high, -1) if other.low > 0 else inf
            return Facts(0 if self.is_nonnegative else -inf, high)
        exact = self.divisor // by if self.divisor % by == 0 else 1
        low, high = (x if isinf(x) else x // by for x in (self.low, self.high))
        return Facts(low, high, exact)

    def remainder(self, other: Facts) -> Facts:
        """The remainder of a division that rounds to 0: its sign is the dividend's."""
        divisor = gcd(self.divisor, other.divisor)
        most = max(abs(other.low), abs(other.high)) - 1
        if most < 0:
            return Facts()  # by 0: undefined
        if self.is_nonnegative:
            return Facts(0, min(self.high, most), divisor)
        return Facts(-most, most, divisor)


ANY = Facts()
"""What is known of an integer of which nothing is."""
NATURAL = Facts(low=0)
"""At least 0."""

Binary: TypeAlias = Callable[[Facts, Facts], Facts]
Rule: TypeAlias = Callable[..., Facts]
"""From an operation, and the facts of each operand, to those of the result."""


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
        if (known := _KNOWN.get(owner.name)) is not None:
            return known
        operands = map(self.of, owner.operands)
        if (binary := _BINARY.get(type(owner))) is not None:
            return binary(*operands)
        rule = _RULES.get(owner.name)
        return ANY if rule is None else rule(owner, *operands)

    def _argument(self, value: BlockArgument, parent: Operation | None) -> Facts:
        match parent:
            case scf.ForOp() if value.index == 0:
                return self._induction(parent)
            case scf.ForOp():
                return self._carried(parent, value.index - 1)
            case FuncOp():
                return _conditioned(parent, What.VALUE, value.index)
            case _:
                return ANY

    def _induction(self, loop: scf.ForOp) -> Facts:
        """Facts of what a loop counts: from its lower bound on, below its upper one."""
        start, end, step = map(self.of, (loop.lb, loop.ub, loop.step))
        divisor = gcd(start.divisor, step.divisor)
        if step.low <= 0:
            return Facts(divisor=divisor)
        return Facts(start.low, end.high - 1, divisor)

    def _carried(self, loop: scf.ForOp, number: int) -> Facts:
        """Facts of what a loop carries, before, between and after its rounds."""
        start = self.of(loop.iter_args[number])
        if len(self._assumed) >= MOST_NESTED:
            return ANY
        inside = loop.body.block.args[number + 1]
        found = start
        for _ in range(MOST_ROUNDS):
            below = {x: self._known[x] for x in self._assumed}
            after = ValueFacts({**below, inside: found}).of(yielded(loop.body)[number])
            wider = found.widened(after)
            if wider == found:
                return found
            found = wider
        return ANY

    def _chosen(self, op: scf.IfOp, number: int) -> Facts:
        return _joined(self.of(yielded(region)[number]) for region in op.regions)


def _conditioned(func: FuncOp, *place: What | int, found: Facts = ANY) -> Facts:
    """What the conditions of a kernel say of one of its arguments, or of a size.

    Args:
        func: the kernel.
        place: what is asked, the number of the argument, the dimension of a size.
        found: what is known without them.
    """
    for each in simt.conditions(func):
        if (each.what, each.argument, each.dimension)[: len(place)] == place:
            low = -inf if each.at_least is None else each.at_least
            high = inf if each.less_than is None else each.less_than - 1
            found = found.meet(Facts(low, high, each.multiple_of))
    return found


_AT_LEAST = {4: 1, 5: 0}
"""By predicate of `arith.cmpi`, sgt and sge: how far above the number the least is."""


def _assumed(value: SSAValue) -> Facts:
    """What a program assumes of a value, in the block where it computes it."""
    block, found = block_of(value), ANY
    for use in value.uses:
        compare = use.operation
        if use.index != 0 or not isinstance(compare, arith.CmpiOp):
            continue
        above = _AT_LEAST.get(compare.predicate.value.data)
        number = constant_number(compare.rhs)
        if above is None or number is None:
            continue
        users = (x.operation for x in compare.result.uses)
        if any(x.name == _ASSUME and x.parent is block for x in users):
            found = found.meet(Facts(low=number + above))
    return found


_ASSUME = "llvm.intr.assume"
"""Named, so that the dialect is not imported without need."""


def _joined(facts: Iterable[Facts]) -> Facts:
    return reduce(Facts.join, found) if (found := list(facts)) else ANY


def _passed(op: Operation, x: Facts) -> Facts:
    return x


def _quotient(x: Facts, y: Facts) -> Facts:
    by = y.number
    exact = by is not None and by > 0 and x.divisor % by == 0
    return x // y if x.is_nonnegative or exact else ANY


def _rounded_up(x: Facts, y: Facts) -> Facts:
    if y.number is None or y.number <= 0:
        return NATURAL if x.is_nonnegative else ANY
    return -(-x // y)


def _unsigned(rule: Binary) -> Binary:
    """A rule for unsigned numbers, which holds where none has its uppermost bit set."""
    return lambda x, y: rule(x, y) if x.is_nonnegative and y.is_nonnegative else ANY


def _remainder_unsigned(x: Facts, y: Facts) -> Facts:
    if x.is_nonnegative and y.is_nonnegative:
        return x.remainder(y)
    return Facts(0, y.number - 1) if y.number is not None and y.number > 0 else ANY


def _shifted_left(x: Facts, y: Facts) -> Facts:
    if y.number is None or y.number < 0:
        return Facts(0 if x.is_nonnegative else -inf, inf, x.divisor)
    return x * Facts.of_number(1 << y.number)


def _shifted_right(x: Facts, y: Facts) -> Facts:
    if y.number is None or y.number < 0:
        return NATURAL if x.is_nonnegative else ANY
    return x // Facts.of_number(1 << y.number)


def _anded(x: Facts, y: Facts) -> Facts:
    natural = [each for each in (x, y) if each.is_nonnegative]
    if not natural:
        return ANY
    # The lowest bits that are 0 in either are 0 in both together.
    powers = [_low_zeros(each) for each in (x, y)]
    divisor = 0 if 0 in powers else max(powers)
    high = min(each.high for each in natural)
    if divisor and not isinf(high):
        high -= high % divisor
    return Facts(0, high, divisor)


def _low_zeros(x: Facts) -> int:
    """Return the power of 2 that a number is a multiple of; 0 for 0."""
    return x.divisor & -x.divisor


def _constant(op: arith.ConstantOp) -> Facts:
    """Facts of a number, or of all numbers of a vector or tensor."""
    match op.value:
        case IntegerAttr(value=number):
            return Facts.of_number(number.data)
        case DenseIntOrFPElementsAttr() as dense:
            numbers = {x for x in dense.get_values() if isinstance(x, int)}
            return _joined(map(Facts.of_number, numbers))
        case _:
            return ANY


def _selected(op: arith.SelectOp, condition: Facts, x: Facts, y: Facts) -> Facts:
    return x.join(y)


def _zero_extended(op: arith.ExtUIOp | IndexCastUIOp, x: Facts) -> Facts:
    bits = _bits(op.input.type)
    if x.is_nonnegative or bits is None:
        return x
    return Facts.within(0, (1 << bits) - 1, _low_zeros(x))


def _truncated(op: arith.TruncIOp, x: Facts) -> Facts:
    bits = _bits(op.result.type)
    if bits is not None and -(1 << bits - 1) <= x.low and x.high < 1 << bits - 1:
        return x
    return Facts(divisor=_low_zeros(x))


def _bits(type: Attribute) -> int | None:
    element = element_of(type)
    return element.bitwidth if isinstance(element, IntegerType) else None


def _size(op: memref.DimOp, source: Facts, index: Facts) -> Facts:
    """Facts of a size: a number of the type, or what a kernel's conditions say."""
    type, dimension, memory = op.source.type, index.number, op.source
    assert is_memref(type), op
    if dimension is None or not 0 <= dimension < type.get_num_dims():
        return NATURAL
    if (size := type.get_shape()[dimension]) != DYNAMIC_INDEX:
        return Facts.of_number(size)
    func = memory.owner.parent_op() if isinstance(memory, BlockArgument) else None
    if not isinstance(memory, BlockArgument) or not isinstance(func, FuncOp):
        return NATURAL
    return _conditioned(func, What.SIZE, memory.index, dimension, found=NATURAL)


def _range(op: Operation) -> Facts:
    start, end = op.properties["start"], op.properties["end"]
    assert isinstance(start, IntegerAttr), op
    assert isinstance(end, IntegerAttr), op
    return Facts(start.value.data, end.value.data - 1)


_BINARY: Mapping[type[Operation], Binary] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.AndIOp: _anded,
    arith.CeilDivSIOp: _rounded_up,
    arith.CeilDivUIOp: _unsigned(lambda x, y: -(-x // y) if y.number else NATURAL),
    arith.DivSIOp: _quotient,
    arith.DivUIOp: _unsigned(lambda x, y: x // y),
    arith.FloorDivSIOp: lambda x, y: x // y,
    arith.MaxSIOp: lambda x, y: replace(x.join(y), low=max(x.low, y.low)),
    arith.MinSIOp: lambda x, y: replace(x.join(y), high=min(x.high, y.high)),
    arith.MuliOp: lambda x, y: x * y,
    arith.RemSIOp: lambda x, y: x.remainder(y),
    arith.RemUIOp: _remainder_unsigned,
    arith.ShLIOp: _shifted_left,
    arith.ShRSIOp: _shifted_right,
    arith.SubiOp: lambda x, y: x - y,
}
"""What two integers give."""

_KNOWN: Mapping[str, Facts] = {
    simt.LaneIdOp.name: NATURAL,
    simt.LocalIdOp.name: NATURAL,
    simt.NumSubgroupsOp.name: Facts(low=1),
    simt.NumWorkgroupsOp.name: Facts(low=1),
    simt.SubgroupIdOp.name: NATURAL,
    simt.SubgroupSizeOp.name: Facts(low=1),
    simt.WorkgroupIdOp.name: NATURAL,
    simt.WorkgroupSizeOp.name: Facts(low=1),
    "coopmatrix.spec_value": NATURAL,
    "tt.get_num_programs": Facts(low=1),
    "tt.get_program_id": NATURAL,
}
"""What operations give whatever they take."""

_RULES: Mapping[str, Rule] = {
    arith.ConstantOp.name: _constant,
    arith.ExtSIOp.name: _passed,
    arith.ExtUIOp.name: _zero_extended,
    arith.IndexCastOp.name: _passed,
    IndexCastUIOp.name: _zero_extended,
    arith.SelectOp.name: _selected,
    arith.TruncIOp.name: _truncated,
    memref.DimOp.name: _size,
    "tt.broadcast": _passed,
    "tt.expand_dims": _passed,
    "tt.make_range": _range,
    "tt.splat": _passed,
}
"""What other operations give, from the facts of their operands; of all others nothing
is known. Those of `tt` are named, so that the dialect is not imported without need."""


def splat_number(value: SSAValue) -> float | None:
    """Return the number that a constant is, or all its components are; else None."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() | FloatAttr() as attr):
            return attr.value.data
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense):
            number = dense.get_values()[0] if dense.is_splat() else None
            assert not isinstance(number, tuple | complex), dense
            return number
        case _:
            return None


def elements_of_resource(attr: DenseResourceAttr) -> DenseIntOrFPElementsAttr:
    """Return the elements that `dialect_resources` of a module have for a constant.

    A resource is hexadecimal: 4 bytes of its alignment, then the elements.

    Raises:
        ValueError: it is missing, malformed, or of another size than the constant, or
            the constant is no tensor.
    """
    type, key = attr.type, attr.resource_handle.data
    if not is_tensor(type):
        raise ValueError(f"expected a tensor of resource {key}, got {type}")
    resources = Builtin.get_interface(OpAsmDialectInterface)
    blob = resources and resources.lookup(key)
    try:
        data = bytes.fromhex((blob or "").removeprefix("0x"))[4:]
    except ValueError as error:
        raise ValueError(f"expected hexadecimal digits in resource {key}") from error
    element = type.element_type
    if not isinstance(element, FixedBitwidthType):
        raise ValueError(f"expected elements of a fixed width, got {type}")
    wanted = prod(type.get_shape()) * element.size
    if len(data) != wanted:
        raise ValueError(f"expected {wanted} bytes in resource {key}, got {len(data)}")
    known = cast("TensorType[AnyDenseElement]", type)
    return DenseIntOrFPElementsAttr(known, BytesAttr(data))


def constant_number(value: SSAValue) -> int | None:
    """Return the number that an integer is, where it is a constant."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            return None
