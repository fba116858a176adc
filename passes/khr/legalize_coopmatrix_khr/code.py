"""Inserts plain code of work-items: index arithmetic, loops and branches."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint


class Code:
    """A place in a program, and what is inserted there, one after the other."""

    def __init__(self, point: InsertPoint) -> None:
        """Begin to insert at a place."""
        self._builder = Builder(point)

    def do(self, op: Operation) -> None:
        """Insert an operation."""
        self._builder.insert(op)

    def get(self, op: Operation) -> SSAValue:
        """Insert an operation and return its one result."""
        (result,) = self._builder.insert(op).results
        return result

    def index(self, number: int) -> SSAValue:
        """A constant index."""
        return self.get(arith.ConstantOp(IntegerAttr(number, IndexType())))

    def add(self, x: SSAValue, y: SSAValue | int) -> SSAValue:
        """A sum of indices."""
        if y == 0:
            return x
        return self.get(arith.AddiOp(x, self._value(y)))

    def mul(self, x: SSAValue, y: int) -> SSAValue:
        """A multiple of an index."""
        return x if y == 1 else self.get(arith.MuliOp(x, self._value(y)))

    def div_mod(self, x: SSAValue, y: int) -> tuple[SSAValue, SSAValue]:
        """An index that is not negative, divided by a number: quotient and rest."""
        if y == 1:
            return x, self.index(0)
        by = self._value(y)
        return self.get(arith.DivUIOp(x, by)), self.get(arith.RemUIOp(x, by))

    def less(self, x: SSAValue, y: SSAValue | int) -> SSAValue:
        """Whether an index is less than another; both have signs."""
        return self.get(arith.CmpiOp(x, self._value(y), "slt"))

    def every(self, conditions: list[SSAValue]) -> SSAValue | None:
        """Whether all conditions hold; None where there are none."""
        if not conditions:
            return None
        found, *rest = conditions
        for each in rest:
            found = self.get(arith.AndIOp(found, each))
        return found

    def _value(self, number: SSAValue | int) -> SSAValue:
        return self.index(number) if isinstance(number, int) else number

    def loop(
        self,
        count: SSAValue | int,
        body: Callable[[Code, SSAValue], None],
        start: int = 0,
    ) -> None:
        """Insert `for i in start .. count`."""

        def one(code: Code, i: SSAValue, _: SSAValue | None) -> None:
            body(code, i)

        self._for(count, None, one, start)

    def fold(
        self,
        count: SSAValue | int,
        first: SSAValue,
        body: Callable[[Code, SSAValue, SSAValue], SSAValue],
        start: int = 0,
    ) -> SSAValue:
        """Insert a loop that carries one value, and return what that is in the end."""

        def one(code: Code, i: SSAValue, carried: SSAValue | None) -> SSAValue:
            assert carried is not None
            return body(code, i, carried)

        (result,) = self._for(count, first, one, start).results
        return result

    def _for(
        self,
        count: SSAValue | int,
        first: SSAValue | None,
        body: Callable[[Code, SSAValue, SSAValue | None], SSAValue | None],
        start: int,
    ) -> Operation:
        firsts = [] if first is None else [first]
        block = Block(arg_types=[IndexType(), *(x.type for x in firsts)])
        i, *carried = block.args
        code = Code(InsertPoint.at_end(block))
        result = body(code, i, carried[0] if carried else None)
        code.do(scf.YieldOp(*([] if result is None else [result])))
        op = scf.ForOp(
            self.index(start), self._value(count), self.index(1), firsts, block
        )
        self.do(op)
        return op

    def when(self, condition: SSAValue | None, body: Callable[[Code], None]) -> None:
        """Insert code that runs where a condition holds; always without one."""
        if condition is None:
            body(self)
            return
        self.do(scf.IfOp(condition, [], _region(body)))

    def branch(
        self,
        condition: SSAValue,
        yes: Callable[[Code], None],
        no: Callable[[Code], None],
    ) -> None:
        """Insert a branch."""
        self.do(scf.IfOp(condition, [], _region(yes), _region(no)))

    def choose(
        self,
        condition: SSAValue,
        type: Attribute,
        yes: Callable[[Code], SSAValue],
        no: Callable[[Code], SSAValue],
    ) -> SSAValue:
        """Insert a branch that gives one of two values."""
        return self.get(scf.IfOp(condition, [type], _region(yes), _region(no)))


def _region(body: Callable[[Code], SSAValue | None]) -> Region:
    block = Block()
    code = Code(InsertPoint.at_end(block))
    result = body(code)
    code.do(scf.YieldOp(*([] if result is None else [result])))
    return Region(block)
