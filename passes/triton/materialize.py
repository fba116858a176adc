"""Polynomials as operations, each as far out of loops as what it is made of allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from xdsl.dialects.arith import AddiOp, ConstantOp, ExtSIOp, MuliOp, TruncIOp
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects.narrow import is_integer
from coopc.passes.triton.polynomial import Polynomial


@dataclass(slots=True)
class Materializer:
    """What has been written already is not written again."""

    entry: Block
    """Of the function."""
    near: Operation
    """Whose location new operations have."""
    made: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])

    def value(self, number: Polynomial, type: IntegerType) -> SSAValue:
        """Return a polynomial as a value."""
        depths = {value: depth_of(value) for value in number.values}

        def order(factors: tuple[SSAValue, ...]) -> tuple[tuple[int, int], ...]:
            return tuple(sorted((depths[x] for x in factors), reverse=True))

        # What changes least is added up first.
        terms = sorted(number.terms, key=order)
        sums = [self.product(x, number.terms[x], type, depths) for x in terms]
        if not sums:
            return self.constant(0, type)
        return reduce(lambda x, y: self.binary(AddiOp, x, y), sums)

    def product(
        self,
        factors: tuple[SSAValue, ...],
        size: int,
        type: IntegerType,
        depths: dict[SSAValue, tuple[int, int]],
    ) -> SSAValue:
        ordered = sorted(factors, key=lambda x: depths[x])
        values = [self.cast(x, type) for x in ordered]
        if size != 1 or not values:
            values.insert(0, self.constant(size, type))
        return reduce(lambda x, y: self.binary(MuliOp, x, y), values)

    def constant(self, number: int, type: IntegerType) -> SSAValue:
        """Return a number, at the entry."""
        key = number, type
        if (found := self.made.get(key)) is None:
            new = ConstantOp(IntegerAttr(number, type))
            new.location = self.near.location
            new.result.name_hint = f"c{number}" if number >= 0 else f"cm{-number}"
            Rewriter.insert_op(new, InsertPoint.at_start(self.entry))
            found = self.made[key] = new.result
        return found

    def binary(self, kind: type[AddiOp | MuliOp], x: SSAValue, y: SSAValue) -> SSAValue:
        return self.once((kind, x, y), [x, y], lambda: kind(x, y))

    def cast(self, value: SSAValue, type: IntegerType) -> SSAValue:
        """Return an integer in another width; a wider one is sign extended."""
        if value.type == type:
            return value
        have = value.type
        assert is_integer(have), value
        make = ExtSIOp if type.bitwidth > have.bitwidth else TruncIOp
        return self.once((make, value, type), [value], lambda: make(value, type))

    def once(
        self, key: object, uses: list[SSAValue], make: Callable[[], Operation]
    ) -> SSAValue:
        """Return the result of an operation right behind what it uses."""
        if (found := self.made.get(key)) is None:
            new = make()
            new.location = self.near.location
            Rewriter.insert_op(new, place_after(uses))
            found = self.made[key] = new.results[0]
        return found


def depth_of(value: SSAValue) -> tuple[int, int]:
    """Return how many blocks a value is in, and its place in the innermost one."""
    if isinstance(value, BlockArgument):
        block, place = value.block, value.index - len(value.block.args)
    else:
        owner = value.owner
        assert isinstance(owner, Operation), value
        assert owner.parent is not None, owner
        block, place = owner.parent, owner.parent.get_operation_index(owner)
    depth = 0
    around = block.parent_block()
    while around is not None:
        depth += 1
        around = around.parent_block()
    return depth, place


def place_after(values: list[SSAValue]) -> InsertPoint:
    """Return the first place where all values are known, one inside of the other."""
    last = max(values, key=depth_of).owner
    if isinstance(last, Block):
        return InsertPoint.at_start(last)
    return InsertPoint.after(last)
