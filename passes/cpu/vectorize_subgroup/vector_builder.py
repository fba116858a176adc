"""Builds the code of one work-item that stands for several lanes.

A varying value is a vector with a component for each lane; a uniform one is as before.
The *mask* says which lanes are active where not all are: a vector of i1.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    VectorType,
)
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, SSAValue

from coopc.dialects import coopmatrix, row_slice, simt
from coopc.dialects.narrow import is_memref, is_vector, memref_type, vector_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.passes.generic.expand_vector import reduction

ORDERED = {
    CombiningKindFlag.ADD: arith.AddfOp,
    CombiningKindFlag.MUL: arith.MulfOp,
}
"""Float operations whose reduction LLVM does in order."""


def is_shared(type: Attribute) -> bool:
    """Whether values of a type are one for all lanes that hold it."""
    return isinstance(type, coopmatrix.MatrixType | row_slice.TokenType)


@dataclass(frozen=True, slots=True)
class LaneGroup:
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


@dataclass(slots=True, kw_only=True)
class VectorBuilder(Builder):
    """A place in the new code, and what the values of the old code are there."""

    lanes: LaneGroup
    varying: AbstractSet[SSAValue]
    """Of the old values, those that become vectors."""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """From old values to new ones."""
    strides: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Of old indices that vary evenly: by how much they grow from lane to lane."""
    mask: SSAValue | None = None
    """Active lanes; all if it is None."""

    # Values

    def wide(self, type: Attribute) -> VectorType:
        """Return the type of a varying value."""
        return VectorType(type, [self.lanes.count])

    def type_of(self, old: SSAValue) -> Attribute:
        """Return the type that a value will have."""
        return self.wide(old.type) if old in self.varying else old.type

    def as_vector(self, old: SSAValue) -> SSAValue:
        """Return a value as a vector; a uniform one is the same in all lanes."""
        new = self.values[old]
        if old in self.varying:
            return new
        if isinstance(old.owner, arith.ConstantOp) and isinstance(
            attr := old.owner.value, IntegerAttr | FloatAttr
        ):
            return self.constant(self.wide(old.type), attr.value.data)
        return self.pure(vector.BroadcastOp, new, self.wide(old.type))

    def as_targets(
        self, given: Sequence[SSAValue], targets: Sequence[SSAValue]
    ) -> Values:
        """Return values as what they are passed on as: vectors, where those are."""
        return tuple(
            self.as_vector(x) if target in self.varying else self.values[x]
            for x, target in zip(given, targets, strict=True)
        )

    def define(self, old: Iterable[SSAValue], new: Iterable[SSAValue]) -> None:
        """Say what old values are now."""
        for before, after in zip(old, new, strict=True):
            self.values[before] = after
            if after.name_hint is None:
                after.name_hint = before.name_hint

    def by_lane(self, number: Callable[[int], int]) -> SSAValue:
        """Return an index for each lane, by the number of the lane."""
        type = VectorType(INDEX, [self.lanes.count])
        numbers = [number(lane) for lane in range(self.lanes.count)]
        attr = DenseIntOrFPElementsAttr.from_list(type, numbers)
        return self.pure(arith.ConstantOp, attr)

    def in_lane(self, old: SSAValue, lane: SSAValue | int) -> SSAValue:
        """Return what a value is in one lane; private memory as it is.

        Of memory at an address of each lane that is known.
        """
        new = self.values[old]
        if isinstance(old.owner, simt.MemoryAtOp) and old in self.varying:
            address = self.extract(new, lane)
            return self.pure(simt.MemoryAtOp, address, memref_type(old))
        if old not in self.varying or is_memref(old.type):
            return new
        found = self.component(new, lane) if isinstance(lane, int) else None
        return self.extract(new, lane) if found is None else found

    def component(self, value: SSAValue, at: int, terms: int = 8) -> SSAValue | None:
        """Return a component of a vector without extracting it; None if that fails.

        The vector is a broadcast, constant integers, or sums and products of at most
        `terms` of these.
        """
        match owner := value.owner:
            case vector.BroadcastOp(source=source) if not is_vector(source.type):
                return source
            case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as attr):
                number, element = attr.get_values()[at], attr.get_element_type()
                if isinstance(number, int):
                    return self.constant(element, number)
                return None
            case arith.AddiOp() | arith.MuliOp() if terms > 1:
                parts = [self.component(x, at, terms // 2) for x in owner.operands]
                return None if None in parts else self.pure(owner.__class__, *parts)
            case _:
                return None

    def reduced(self, value: SSAValue, kind: CombiningKindFlag) -> SSAValue:
        """Return the components of a vector reduced to one number.

        Sums and products of floats are computed by halves, not in LLVM's order.
        """
        combine, element = ORDERED.get(kind), vector_type(value).get_element_type()
        if combine is None or not isinstance(element, AnyFloat):
            return self.pure(reduction, value, kind)
        return self.extract(self.halved(combine, value), 0)

    # Masks

    def active(self, condition: SSAValue) -> SSAValue:
        """Return the active lanes for which a condition holds."""
        if self.mask is None:
            return condition
        return self.pure(arith.AndIOp, self.mask, condition)

    def any_of(self, mask: SSAValue) -> SSAValue:
        """Return whether there is an active lane."""
        return self.reduced(mask, CombiningKindFlag.OR)

    @contextmanager
    def masked(self, mask: SSAValue | None) -> Generator[None]:
        """Build for the lanes of a mask."""
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before

    @contextmanager
    def within(self, block: Block, mask: SSAValue | None) -> Generator[None]:
        """Build at the end of another block, for the lanes of a mask."""
        with self.inside(block), self.masked(mask):
            yield

    # Lane by lane

    def each_lane(
        self,
        types: Sequence[Attribute],
        body: Callable[[SSAValue], Sequence[SSAValue]],
    ) -> Values:
        """Run a body for each active lane, in order; 0 is what others get.

        Args:
            types: of what the body gives, numbers.
            body: from the number of the lane to numbers.
        """

        def one(lane: SSAValue, found: Values) -> Values:
            pairs = zip(body(lane), found, strict=True)
            return tuple(self.insert(old, lane, x) for x, old in pairs)

        return self.lane_by_lane([self.constant(self.wide(x), 0) for x in types], one)

    def lane_by_lane(
        self,
        start: Sequence[SSAValue],
        body: Callable[[SSAValue, Values], Values],
    ) -> Values:
        """Run a body for each active lane, in order, on what the one before it gave.

        Args:
            start: what the first gets.
            body: from the number of the lane and what it gets to what it gives on.
        """
        mask = self.mask

        def one(counter: BoundedIndex, found: Values) -> Values:
            lane = self.index(counter)
            if mask is None:
                return body(lane, found)
            active = self.extract(mask, lane)
            return self.branch(active, lambda: body(lane, found), found)

        with self.masked(None):
            return self.loop(self.lanes.count, start, one, "lane")
