"""Accesses of tensors and matrices element by element, each at an address of its own.

What cannot be moved by messages is moved so: right for every layout, order and mask,
and slow.  Elements of a lane that `plan-block-io` found in a row in memory are moved as
vectors.  Elements that are not accessed, as a mask or the edge of memory says, are 0,
or what `other` is.  Many elements are accessed in loops, which is little code:

    scf.for %at = 0 to 8 { memory[offsets[at]] = vector[at] where mask[at] }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

from xdsl.dialects import vector as vectors
from xdsl.dialects.arith import AndIOp, IndexCastOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import length_of, memref_type
from coopc.ir.builder import BoundedIndex, Builder
from coopc.passes.xe.convert_to_xe.layout_to_arith import is_first
from coopc.passes.xe.convert_to_xe.vectors import (
    cast,
    concatenated,
    gathered,
    packed,
    splat,
    unpacked,
)
from coopc.passes.xe.register_layout import RegisterLayout

Values: TypeAlias = Sequence[SSAValue]
Flag: TypeAlias = SSAValue | bool
Read: TypeAlias = Callable[[Values], Operation]
"""From the indices of an element to its load."""
Write: TypeAlias = Callable[[SSAValue, Values], Operation]
"""From an element and its indices to its store, or its update."""
Access: TypeAlias = Callable[[SSAValue | int, Values], Operation]
"""From a component of a vector, and its indices, to its load or update."""

MOST_UNROLLED = 128
"""Elements of a lane that are accessed each by itself; more would be too much code."""


class Places(Protocol):
    """Where the elements of a lane are in memory."""

    @property
    def element(self) -> Attribute:
        """The type of an element in memory."""
        ...

    def of(self, b: Builder, vector: int, at: SSAValue | int) -> tuple[Flag, Values]:
        """Return whether a component of a vector is accessed, and its indices."""
        ...


@dataclass(frozen=True, slots=True)
class VectorPlaces:
    """Places that are vectors: elements from the start of memory on, and masks."""

    memory: SSAValue
    """A memref of rank 1."""
    offsets: Values
    """Vectors of i64."""
    masks: Values | None
    """Vectors of i1; None where all are there."""
    flag: Flag = True
    """Whether a lane accesses any, where there are no masks."""
    together: int = 1
    """Elements that follow each other there and are one access, a vector."""

    @property
    def element(self) -> Attribute:
        return memref_type(self.memory).get_element_type()

    def of(self, b: Builder, vector: int, at: SSAValue | int) -> tuple[Flag, Values]:
        offset = b.extract(self.offsets[vector], at)
        index = b.pure(IndexCastOp, offset, IndexType())
        flag = self.flag
        if self.masks is not None:
            flag = b.extract(self.masks[vector], at)
        return flag, [index]

    def where(self, b: Builder, flag: Flag) -> VectorPlaces:
        """Return them for lanes in which a flag is true."""
        if self.masks is None or isinstance(flag, bool):
            return replace(self, flag=flag)
        all = splat(b, flag, length_of(self.offsets[0]))
        return replace(self, masks=[b.pure(AndIOp, x, all) for x in self.masks])


@dataclass(frozen=True, slots=True)
class ScalarAccess:
    """The accesses of one kernel."""

    in_loops: bool = False
    """Whether elements are accessed in loops even where they are few."""

    def load(
        self,
        b: Builder,
        registers: RegisterLayout,
        places: Places,
        read: Read,
        other: Values | None = None,
    ) -> list[SSAValue]:
        """Load a tensor or a matrix; return its pieces.

        What is not loaded is what `other` has for it, vectors; 0 without them.
        """
        if isinstance(places, VectorPlaces) and places.together > 1:
            return self._load_vectors(b, registers, places, other)
        starts: Sequence[SSAValue | None] = [None] * registers.vectors
        if other is not None:
            starts = [cast(b, each, places.element) for each in other]
        found = [
            self._gathered(b, registers, n, places, lambda at, where: read(where), x)
            for n, x in enumerate(starts)
        ]
        return packed(b, registers, [cast(b, x, registers.element) for x in found])

    def update(
        self,
        b: Builder,
        registers: RegisterLayout,
        operands: Sequence[Values],
        places: Places,
        change: Callable[[Values, Values], Operation],
    ) -> list[SSAValue]:
        """Change memory by elements; return the vectors of what was there, or 0.

        The operands are the pieces of tensors or matrices; `change` makes an update of
        an element of each, at a place.
        """

        def changed(vectors: Values, at: SSAValue | int, where: Values) -> Operation:
            return change([b.extract(x, at) for x in vectors], where)

        columns = (unpacked(b, registers, each) for each in operands)
        return [
            self._gathered(b, registers, number, places, partial(changed, vectors))
            for number, vectors in enumerate(zip(*columns, strict=True))
        ]

    def store(
        self,
        b: Builder,
        registers: RegisterLayout,
        pieces: Values,
        places: Places,
        write: Write,
    ) -> None:
        """Store a tensor or a matrix, each element once.

        Of several that have an element others may have loaded it again, from where it
        is stored, after it was.
        """
        places = by_the_first(b, registers, places)
        for number, piece in enumerate(unpacked(b, registers, pieces)):
            vector = cast(b, piece, places.element)
            if isinstance(places, VectorPlaces) and places.together > 1:
                self._store_in_parts(b, vector, number, places)
                continue

            def store(
                vector: SSAValue, number: int, at: SSAValue | int, now: Values
            ) -> Values:
                flag, where = places.of(b, number, at)
                b.effect_where(flag, lambda: write(b.extract(vector, at), where))
                return now

            body = partial(store, vector, number)
            self._for_components(b, registers, places, (), body)

    def _load_vectors(
        self,
        b: Builder,
        registers: RegisterLayout,
        places: VectorPlaces,
        other: Values | None,
    ) -> list[SSAValue]:
        """Load a tensor by vectors that lie in memory as they are."""
        found, length = list[SSAValue](), places.together
        zeros = b.constant(VectorType(places.element, [registers.length]), 0)
        for number in range(registers.vectors):
            start = zeros if other is None else cast(b, other[number], places.element)
            parts: list[SSAValue] = []
            for at in range(0, registers.length, length):
                flag, where = places.of(b, number, at)
                (old,) = gathered(b, [start], range(at, at + length), length)
                load = partial(_load_vector, places, where, length)
                parts += b.effect_where(flag, load, [old])
            found.append(cast(b, concatenated(b, parts), registers.element))
        return packed(b, registers, found)

    def _store_in_parts(
        self, b: Builder, vector: SSAValue, number: int, places: VectorPlaces
    ) -> None:
        """Store a vector by shorter ones."""
        length = places.together
        for at in range(0, length_of(vector), length):
            flag, where = places.of(b, number, at)
            (part,) = gathered(b, [vector], range(at, at + length), length)
            b.effect_where(flag, partial(_store_vector, part, places, where))

    def _gathered(
        self,
        b: Builder,
        registers: RegisterLayout,
        number: int,
        places: Places,
        access: Access,
        start: SSAValue | None = None,
    ) -> SSAValue:
        """Return a vector of what accesses give, and of `start`, or 0, elsewhere.

        `number` is that of the vector among a lane's; `access` makes the access of a
        component, by its number and its indices.
        """

        def put(at: SSAValue | int, now: Values) -> Values:
            (vector,), (flag, where) = now, places.of(b, number, at)

            def accessed() -> SSAValue:
                return b.effect(access(at, where)).results[0]

            if not isinstance(at, int):  # the vector as it is is what else there is
                return b.branch(flag, lambda: [b.insert(vector, at, accessed())], now)
            other = zero if start is None else b.extract(start, at)
            (value,) = b.branch(flag, lambda: [accessed()], [other])
            return [b.insert(vector, at, value)]

        zero = b.constant(places.element, 0)
        zeros = b.constant(VectorType(places.element, [registers.length]), 0)
        carried = [zeros if start is None else start]
        return self._for_components(b, registers, places, carried, put)[0]

    def _for_components(
        self,
        b: Builder,
        registers: RegisterLayout,
        places: Places,
        carried: Values,
        body: Callable[[SSAValue | int, Values], Values],
    ) -> Values:
        """Run a body for all components of a vector, in a loop where they are many."""
        is_short = len(registers.distinct) <= MOST_UNROLLED
        if isinstance(places, VectorPlaces) and (self.in_loops or not is_short):

            def round(at: BoundedIndex, now: Values) -> Values:
                return body(b.size(at), now)

            return b.loop(registers.length, carried, round, name="at")
        for at in range(registers.length):
            carried = body(at, carried)
        return carried


def _load_vector(places: VectorPlaces, where: Values, length: int) -> Operation:
    load = vectors.LoadOp(places.memory, where, VectorType(places.element, [length]))
    return _aligned(load, load.result.type)


def _store_vector(value: SSAValue, places: VectorPlaces, where: Values) -> Operation:
    return _aligned(vectors.StoreOp(value, places.memory, where), value.type)


def _aligned(op: Operation, type: Attribute) -> Operation:
    """Return an access to a vector that is aligned by its size."""
    op.attributes[simt.ALIGNMENT] = IntegerAttr(max(1, simt.bits_of(type) // 8), i64)
    return op


def by_the_first(b: Builder, registers: RegisterLayout, places: Places) -> Places:
    """Return places for the first lanes only that have an element."""
    flag = is_first(b, registers.layout)
    if flag is True:
        return places
    assert isinstance(places, VectorPlaces), places
    return places.where(b, flag)
