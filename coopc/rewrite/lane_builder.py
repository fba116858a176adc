"""Build per-lane code: no operation twice, and each as far out as its operands allow.

A builder has levels: the start of the function, the operation that is replaced, and
each loop and branch that is open.  `pure` puts an operation on the deepest level of its
operands, so that what does not change in a loop is before it, and gives the same values
for the same operation on the same operands.  `effect` puts it where the builder is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    LocationAttr,
    VectorType,
)
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import is_vector
from coopc.rewrite.lane_numbers import Num

Values: TypeAlias = tuple[SSAValue, ...]
Key: TypeAlias = tuple[Any, ...]

INDEX = IndexType()


@dataclass(slots=True)
class Level:
    """Where operations go, and which are there."""

    block: Block
    before: Operation | None = None
    """Operations go before this one; at the end of the block if it is None."""
    after: Operation | None = None
    """At the start of a function: the last operation that was put there."""
    is_start: bool = False
    seen: dict[Key, Values] = field(default_factory=dict[Key, Values])

    def insert(self, op: Operation) -> None:
        """Put an operation here."""
        if self.is_start:
            point = (
                InsertPoint.at_start(self.block)
                if self.after is None
                else InsertPoint.after(self.after)
            )
            self.after = op
        elif self.before is None:
            point = InsertPoint.at_end(self.block)
        else:
            point = InsertPoint.before(self.before)
        Rewriter.insert_op(op, point)


@dataclass(slots=True)
class LaneBuilder:
    """Builds code in place of one operation, or in a function that is being made."""

    levels: list[Level]
    """The start of the function first."""
    location: LocationAttr
    """Of the operations that are made."""
    unroll: bool = False
    """Whether loops are written out."""
    depth: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The levels of the values of this builder; others are at the operation."""

    @classmethod
    def at(cls, op: Operation, start: Level, unroll: bool) -> LaneBuilder:
        """Return a builder in front of an operation."""
        block = op.parent_block()
        assert block is not None, op
        return cls([start, Level(block, before=op)], op.location, unroll)

    @classmethod
    def in_function(
        cls, block: Block, location: LocationAttr, unroll: bool
    ) -> LaneBuilder:
        """Return a builder that fills the block of a new function."""
        return cls([Level(block, is_start=True), Level(block)], location, unroll)

    def effect(self, op: Operation) -> Operation:
        """Put an operation where the builder is."""
        op.location = self.location
        self.levels[-1].insert(op)
        for result in op.results:
            self.depth[result] = len(self.levels) - 1
        return op

    def pure(self, make: Callable[..., Operation], *operands: Any) -> SSAValue:
        """Return the result of an operation without effects.

        Args:
            make: a class, or a function, from the operands to the operation.
            operands: values, and whatever hashable thing else `make` takes.
        """
        values: list[SSAValue] = [x for x in operands if isinstance(x, SSAValue)]
        level = max(map(self.level_of, values), default=0)
        key = (make, *operands)
        seen = self.levels[level].seen
        if (found := seen.get(key)) is None:
            op: Operation = make(*operands)
            op.location = self.location
            self.levels[level].insert(op)
            result: SSAValue = op.results[0]
            found = seen[key] = (result,)
        self.depth[found[0]] = level
        return found[0]

    def level_of(self, value: SSAValue) -> int:
        """Return the level on which a value is known."""
        return self.depth.get(value, 1)

    def constant(self, type: Attribute, value: float) -> SSAValue:
        """Return a constant of a type, in every component of a vector."""
        # -0.0 == 0.0, and a NaN is not itself.
        key = (Level, type, repr(value))
        start = self.levels[0]
        if (found := start.seen.get(key)) is None:
            op = arith.ConstantOp(constant_attr(type, value))
            op.location = self.location
            if type == INDEX:
                op.result.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
            start.insert(op)
            found = start.seen[key] = (op.result,)
        self.depth[found[0]] = 0
        return found[0]

    def lane(self, lanes: int) -> Num:
        """Return the number of the lane."""
        start = self.levels[0]
        if (found := start.seen.get(key := (simt.LaneIdOp,))) is None:
            op = simt.LaneIdOp()
            op.location, op.result.name_hint = self.location, "lane"
            start.insert(op)
            found = start.seen[key] = (op.result,)
        self.depth[found[0]] = 0
        return Num(0, found[0], lanes - 1, varies=True)

    # Numbers

    def index(self, number: Num) -> SSAValue:
        """Return a number as a value."""
        if number.part is None:
            return self.constant(INDEX, number.constant)
        if number.constant == 0:
            return number.part
        return self._two(arith.AddiOp, number.part, number.constant)

    def add(self, a: Num, b: Num) -> Num:
        """Return the sum of two numbers."""
        parts = [x for x in (a, b) if x.part is not None]
        if len(parts) < 2:
            part = parts[0].part if parts else None
            most = parts[0].part_most if parts else 0
        else:
            # First what is known further out.
            parts.sort(key=lambda x: self.level_of(x.part) if x.part else 0)
            one, other = parts[0].part, parts[1].part
            assert one is not None
            assert other is not None
            part = self.pure(arith.AddiOp, one, other)
            most = a.part_most + b.part_most
        return Num(a.constant + b.constant, part, most, a.varies or b.varies)

    def times(self, a: Num, factor: int) -> Num:
        """Return a multiple of a number."""
        if factor == 0:
            return Num()
        if a.part is None or factor == 1:
            return Num(a.constant * factor, a.part, a.part_most, a.varies)
        part = self._two(arith.MuliOp, a.part, factor)
        return Num(a.constant * factor, part, a.part_most * factor, a.varies)

    def divided(self, a: Num, by: int) -> Num:
        """Return the quotient, rounded down."""
        quotient, rest = divmod(a.constant, by)
        if rest + a.part_most < by:
            return Num(quotient)
        if by == 1:
            return a
        whole, add = (a.part, quotient) if rest == 0 else (self.index(a), 0)
        assert whole is not None
        part = self._two(arith.DivUIOp, whole, by)
        return Num(add, part, a.most // by - add, a.varies)

    def remainder(self, a: Num, by: int) -> Num:
        """Return the remainder of a division."""
        rest = a.constant % by
        if rest + a.part_most < by:
            return Num(rest, a.part, a.part_most, a.varies)
        if by == 1:
            return Num()
        whole = a.part if rest == 0 else self.index(a)
        assert whole is not None
        part = self._two(arith.RemUIOp, whole, by)
        return Num(0, part, min(by - 1, a.most), a.varies)

    def below(self, a: Num, end: int) -> SSAValue | bool:
        """Return whether a number is below another one."""
        if a.most < end:
            return True
        if a.constant >= end:
            return False
        return self.compare("ult", self.index(a), self.constant(INDEX, end))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return an i1: `a predicate b`, as in `arith.cmpi`."""
        return self.pure(_compare, a, b, predicate)

    def equal(self, a: Num, b: int) -> SSAValue | bool:
        """Return whether a number is another one."""
        if a.part is None:
            return a.constant == b
        if not a.constant <= b <= a.most:
            return False
        part = self.constant(INDEX, b - a.constant)
        return self.compare("eq", a.part, part)

    def both(self, *conditions: SSAValue | bool) -> SSAValue | bool:
        """Return whether all conditions hold."""
        if any(x is False for x in conditions):
            return False
        unknown = [x for x in conditions if isinstance(x, SSAValue)]
        if not unknown:
            return True
        unknown.sort(key=self.level_of)
        found = unknown[0]
        for other in unknown[1:]:
            found = self.pure(arith.AndIOp, found, other)
        return found

    def select(self, chosen: SSAValue | bool, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return a where a condition holds, else b."""
        if isinstance(chosen, bool):
            return a if chosen else b
        return a if a is b else self.pure(arith.SelectOp, chosen, a, b)

    def _two(
        self, make: Callable[..., Operation], value: SSAValue, number: int
    ) -> SSAValue:
        return self.pure(make, value, self.constant(INDEX, number))

    # Control flow

    def loop(
        self,
        count: int,
        carried: Sequence[SSAValue],
        body: Callable[[Num, Values], Sequence[SSAValue]],
        name: str = "t",
    ) -> Values:
        """Return what values are after `count` rounds of a body."""
        if count == 1 or self.unroll:
            values = tuple(carried)
            for number in range(count):
                values = tuple(body(Num(number), values))
            return values
        bounds = [self.constant(INDEX, x) for x in (0, count, 1)]
        types = [value.type for value in carried]
        block = Block(arg_types=[INDEX, *types])
        op = ForOp(bounds[0], bounds[1], bounds[2], carried, block)
        block.args[0].name_hint = name
        with_block = self._open(op, block)
        counter = Num(0, block.args[0], count - 1)
        results = body(counter, tuple(block.args[1:]))
        self._close(with_block, results)
        return self._results(op)

    def branch(
        self,
        condition: SSAValue | bool,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Sequence[SSAValue] = (),
    ) -> Values:
        """Return what `then` gives where a condition holds, else other values."""
        if isinstance(condition, bool):
            return tuple(then()) if condition else tuple(otherwise)
        block = Block()
        op = IfOp(condition, [], Region(block))
        before = self._open(op, block)
        results = tuple(then())
        self._close(before, results)
        if not results:
            return ()
        end = YieldOp(*otherwise)
        end.location = self.location
        full = IfOp(
            condition,
            [x.type for x in results],
            op.detach_region(op.true_region),
            Region(Block([end])),
        )
        full.location = self.location
        Rewriter.insert_op(full, InsertPoint.before(op))
        Rewriter.erase_op(op)
        return self._results(full)

    def effect_where(
        self,
        condition: SSAValue | bool,
        make: Callable[[], Operation],
        otherwise: Sequence[SSAValue] = (),
    ) -> Values:
        """Put an operation where a condition holds; return its results, else others.

        It is made only there: an operation that is in no block would still be a user of
        its operands.
        """
        return self.branch(condition, lambda: self.effect(make()).results, otherwise)

    def _open(self, op: Operation, block: Block) -> Operation | None:
        """Put an operation here, and build in its block; return where we were."""
        op.location = self.location
        level = self.levels[-1]
        level.insert(op)
        before = level.before
        level.before = op
        self.levels.append(Level(block))
        for argument in block.args:
            self.depth[argument] = len(self.levels) - 1
        return before

    def _close(self, before: Operation | None, results: Sequence[SSAValue]) -> None:
        """End the block, and build behind its operation again."""
        end = YieldOp(*results)
        end.location = self.location
        self.levels[-1].insert(end)
        self.levels.pop()
        self.levels[-1].before = before

    def _results(self, op: Operation) -> Values:
        for result in op.results:
            self.depth[result] = len(self.levels) - 1
        return tuple(op.results)


def constant_attr(
    type: Attribute, value: float
) -> IntegerAttr[Any] | FloatAttr | DenseIntOrFPElementsAttr:
    """Return the attribute of a constant; of a vector, the same in every component."""
    if is_vector(type):
        element: Any = type.get_element_type()
        return DenseIntOrFPElementsAttr.from_list(
            VectorType(element, type.get_shape()), [value]
        )
    if isinstance(type, IndexType) or type.name == "integer_type":
        return IntegerAttr(int(value), type)  # pyright: ignore
    return FloatAttr(float(value), type)  # pyright: ignore


def _compare(a: SSAValue, b: SSAValue, predicate: str) -> Operation:
    return arith.CmpiOp(a, b, predicate)
