"""Code of one work-item that stands for several lanes: values, masks, lane by lane.

A varying value is a vector with a component for each lane; a uniform one is as before.
The *mask* says which lanes are active where not all are: a vector of i1.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    LocationAttr,
    VectorType,
    i1,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects.narrow import is_vector
from coopc.ir.builder import constant_attr

INDEX = IndexType()


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes that one work-item stands for."""

    count: int
    """All of them."""
    subgroup_size: int
    """Those of a subgroup; `count` is a multiple."""
    work_group_size: tuple[int, int, int]
    """Work-items along x, y, z, as the kernel had them."""

    @property
    def is_whole_group(self) -> bool:
        """Whether one work-item stands for a work-group of several subgroups."""
        return self.count > self.subgroup_size


@dataclass(slots=True)
class Code:
    """The code that is being written."""

    lanes: Lanes
    varying: set[SSAValue]
    """Of the old values, those that become vectors."""
    block: Block
    """Operations go to its end."""
    location: LocationAttr
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """From old values to new ones."""
    strides: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Of old indices that vary evenly: by how much they grow from lane to lane."""
    mask: SSAValue | None = None
    """Active lanes; all if it is None."""

    def add(self, op: Operation) -> SSAValue:
        """Put an operation here and return its first result."""
        self.effect(op)
        return op.results[0]

    def effect(self, op: Operation) -> None:
        """Put an operation here."""
        op.location = self.location
        self.block.add_op(op)

    # Values

    def wide(self, type: Attribute) -> VectorType:
        """Return the type of a varying value."""
        return VectorType(type, [self.lanes.count])

    def type_of(self, old: SSAValue) -> Attribute:
        """Return the type that a value will have."""
        return self.wide(old.type) if old in self.varying else old.type

    def of(self, old: SSAValue) -> SSAValue:
        """Return what a value is now."""
        return self.values[old]

    def spread(self, old: SSAValue) -> SSAValue:
        """Return a value as a vector; a uniform one is the same in all lanes."""
        new = self.values[old]
        if old in self.varying:
            return new
        if isinstance(old.owner, arith.ConstantOp) and isinstance(
            attr := old.owner.value, IntegerAttr | FloatAttr
        ):
            number = attr.value.data
            return self.add(
                arith.ConstantOp(constant_attr(self.wide(old.type), number))
            )
        return self.add(vector.BroadcastOp(new, self.wide(old.type)))

    def as_target(self, old: SSAValue, target: SSAValue) -> SSAValue:
        """Return a value in the form of another: a vector if that is one."""
        return self.spread(old) if target in self.varying else self.values[old]

    def name(self, old: Iterable[SSAValue], new: Iterable[SSAValue]) -> None:
        """Say what old values are now."""
        for before, after in zip(old, new, strict=True):
            self.values[before] = after
            if after.name_hint is None:
                after.name_hint = before.name_hint

    # Numbers

    def constant(self, value: float, type: Attribute = INDEX) -> SSAValue:
        """Return a constant, in all components of a vector."""
        return self.add(arith.ConstantOp(constant_attr(type, value)))

    def numbers(self, values: Sequence[int]) -> SSAValue:
        """Return an index for each lane."""
        type = VectorType(INDEX, [len(values)])
        attr = DenseIntOrFPElementsAttr.from_list(type, values)
        return self.add(arith.ConstantOp(attr))

    def component(self, value: SSAValue, position: SSAValue | int) -> SSAValue:
        """Return one component of a vector."""
        assert is_vector(value.type), value
        element = value.type.get_element_type()
        return self.add(vector.ExtractOp(value, [position], element))

    def any_of(self, mask: SSAValue) -> SSAValue:
        """Return whether there is an active lane."""
        return self.reduced(mask, CombiningKindFlag.OR)

    def reduced(self, value: SSAValue, kind: CombiningKindFlag) -> SSAValue:
        """Return the components of a vector reduced to one number."""
        assert is_vector(value.type), value
        # The constructor of xDSL 0.74 gives the result the type of the vector.
        op = vector.ReductionOp.create(
            operands=[value],
            result_types=[value.type.get_element_type()],
            properties={
                "kind": CombiningKindAttr(kind),
                "fastmath": arith.FastMathFlagsAttr("none"),
            },
        )
        return self.add(op)

    def both(self, mask: SSAValue | None, condition: SSAValue) -> SSAValue:
        """Return the lanes of a mask for which a condition holds."""
        return condition if mask is None else self.add(arith.AndIOp(mask, condition))

    def negated(self, condition: SSAValue) -> SSAValue:
        """Return the lanes for which a condition does not hold."""
        ones = self.constant(1, self.wide(i1))
        return self.add(arith.XOrIOp(condition, ones))

    # Blocks

    @contextmanager
    def within(self, block: Block, mask: SSAValue | None) -> Generator[None]:
        """Write into another block, for the lanes of a mask."""
        before = self.block, self.mask
        self.block, self.mask = block, mask
        try:
            yield
        finally:
            self.block, self.mask = before

    def if_any(
        self,
        mask: SSAValue,
        types: Sequence[Attribute],
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
    ) -> tuple[SSAValue, ...]:
        """Run `then` for the lanes of a mask if there are any, else `otherwise`."""
        return self.branch(self.any_of(mask), mask, types, then, otherwise)

    def branch(
        self,
        condition: SSAValue,
        mask: SSAValue | None,
        types: Sequence[Attribute],
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
    ) -> tuple[SSAValue, ...]:
        """Run `then` under a condition that is the same for all, else `otherwise`."""
        blocks: list[Block] = []
        for body, own in ((then, mask), (otherwise, self.mask)):
            blocks.append(block := Block())
            with self.within(block, own):
                self.effect(scf.YieldOp(*body()))
        rest = Region(blocks[1]) if types else None
        op = scf.IfOp(condition, types, Region(blocks[0]), rest)
        self.effect(op)
        return tuple(op.results)

    def each_lane(
        self,
        types: Sequence[Attribute],
        body: Callable[[SSAValue], Sequence[SSAValue]],
    ) -> tuple[SSAValue, ...]:
        """Run a body for each active lane, in order; 0 is what others get.

        Args:
            types: of what the body gives, numbers.
            body: from the number of the lane to numbers.
        """

        def one(lane: SSAValue, found: Sequence[SSAValue]) -> list[SSAValue]:
            pairs = zip(body(lane), found, strict=True)
            return [self.add(vector.InsertOp(x, old, [lane])) for x, old in pairs]

        return self.lane_by_lane([self.constant(0, self.wide(x)) for x in types], one)

    def lane_by_lane(
        self,
        start: Sequence[SSAValue],
        body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> tuple[SSAValue, ...]:
        """Run a body for each active lane, in order, on what the one before it gave.

        Args:
            start: what the first gets.
            body: from the number of the lane and what it gets to what it gives on.
        """
        first, end, step = (self.constant(x) for x in (0, self.lanes.count, 1))
        types = [x.type for x in start]
        block = Block(arg_types=[INDEX, *types])
        lane, *found = block.args
        lane.name_hint = "lane"
        mask = self.mask
        with self.within(block, None):
            if mask is None:
                results = body(lane, found)
            else:
                active = self.component(mask, lane)
                results = self.branch(
                    active, None, types, lambda: body(lane, found), lambda: found
                )
            self.effect(scf.YieldOp(*results))
        loop = scf.ForOp(first, end, step, start, block)
        self.effect(loop)
        return tuple(loop.results)


def refuse(op: Operation, reason: str) -> NoReturn:
    """Say that an operation is not vectorised, and why.

    Raises:
        PassFailedException: always.
    """
    op.emit_error(reason, PassFailedException(reason))
