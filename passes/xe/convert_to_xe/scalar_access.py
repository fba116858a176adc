"""Accesses of tensors and matrices element by element, each at an address of its own.

What cannot be moved by messages is moved so: right for every layout, order and mask,
and slow.  Elements that are not accessed, as a mask or the edge of memory says, are 0,
or what `other` is.  Many elements are accessed in loops, which is little code:

    scf.for %at = 0 to 8 { memory[offsets[at]] = vector[at] where mask[at] }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from xdsl.dialects.arith import AndIOp, ConstantOp, IndexCastOp
from xdsl.dialects.builtin import IndexType, VectorType, i1, i64
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.dialects.vector import BroadcastOp, ExtractOp, InsertOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coopc.ir.builder import constant_attr
from coopc.ir.split_values import Splitter
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory
from coopc.passes.xe.convert_to_xe.pointers import cast
from coopc.passes.xe.convert_to_xe.registers import (
    length_of,
    packed,
    unpacked,
    zeros,
)
from coopc.passes.xe.register_layout import RegisterLayout

Values: TypeAlias = Sequence[SSAValue]
Flag: TypeAlias = SSAValue | bool
Read: TypeAlias = Callable[[Values], Operation]
"""From the indices of an element to its load."""
Write: TypeAlias = Callable[[SSAValue, Values], Operation]
"""From an element and its indices to its store, or its update."""

MOST_UNROLLED = 128
"""Elements of a lane that are accessed each by itself; more would be too much code."""


class Places(Protocol):
    """Where the elements of a lane are in memory."""

    @property
    def element(self) -> Attribute:
        """The type of an element in memory."""
        ...

    def of(self, s: Splitter, number: int) -> tuple[Flag, Values]:
        """Return whether the element of a number is accessed, and its indices."""
        ...


@dataclass(frozen=True, slots=True)
class VectorPlaces:
    """Places that are vectors: elements from the start of memory on, and masks."""

    element: Attribute
    offsets: Values
    """Vectors of i64."""
    masks: Values | None
    """Vectors of i1; None where all are there."""
    flag: SSAValue | None = None
    """Whether a lane accesses any, where there are no masks; None if all lanes do."""

    def of(self, s: Splitter, number: int) -> tuple[Flag, Values]:
        """Return whether the element of a number is accessed, and its index."""
        vector, at = divmod(number, length_of(self.offsets[0]))
        one = s.insert(ExtractOp(self.offsets[vector], [at], i64)).result
        index = s.insert(IndexCastOp(one, IndexType())).result
        if self.masks is None:
            return True if self.flag is None else self.flag, [index]
        flag = s.insert(ExtractOp(self.masks[vector], [at], i1)).result
        return flag, [index]

    def in_loop(
        self, number: int, at: SSAValue
    ) -> tuple[list[Operation], SSAValue | None, SSAValue]:
        """Return the same for an element of a vector, as operations in no block yet.

        Returns:
            Operations, whether the element is accessed (None where it always is), and
            its index.
        """
        offset = ExtractOp(self.offsets[number], [at], i64)
        index = IndexCastOp(offset.result, IndexType())
        if self.masks is None:
            return [offset, index], self.flag, index.result
        flag = ExtractOp(self.masks[number], [at], i1)
        return [flag, offset, index], flag.result, index.result

    def where(self, entry: Entry, s: Splitter, flag: SSAValue | None) -> VectorPlaces:
        """Return them for lanes in which a flag is true; None for all lanes."""
        if flag is None or self.masks is None:
            return replace(self, flag=flag)
        type = VectorType(i1, [length_of(self.offsets[0])])
        all = entry.once(("all", flag, type), lambda: BroadcastOp(flag, type))
        both = [s.insert(AndIOp(mask, all)).result for mask in self.masks]
        return replace(self, masks=both)


@dataclass(slots=True)
class ScalarAccess:
    """The accesses of one kernel."""

    entry: Entry
    in_loops: bool = False
    """Whether elements are accessed in loops even where they are few."""

    def load(
        self,
        s: Splitter,
        registers: RegisterLayout,
        places: Places,
        read: Read,
        other: Values | None = None,
    ) -> list[SSAValue]:
        """Load a tensor or a matrix; return its pieces.

        Args:
            s: in front of the access.
            registers: what a lane holds of it.
            places: where its elements are.
            read: makes the load of an element.
            other: vectors of what elements are that are not loaded; None for 0.
        """
        kept = places.element
        starts = [zeros(self.entry, VectorType(kept, [registers.length]))]
        starts *= registers.vectors
        if other is not None:
            starts = [cast(s, each, kept) for each in other]

        def make(number: int, at: SSAValue | int, where: Values) -> list[Operation]:
            return [read(where)]

        found = self._gathered(s, registers, places, starts, make, other is not None)
        return packed(s, registers, [cast(s, x, registers.element) for x in found])

    def update(
        self,
        s: Splitter,
        registers: RegisterLayout,
        pieces: Values,
        places: Places,
        change: Write,
    ) -> list[SSAValue]:
        """Change memory by each element; return the vectors of what was there, or 0."""
        vectors = unpacked(s, registers, pieces)

        def make(number: int, at: SSAValue | int, where: Values) -> list[Operation]:
            one = ExtractOp(vectors[number], [at], registers.element)
            return [one, change(one.result, where)]

        starts = [zeros(self.entry, registers.vector)] * registers.vectors
        return self._gathered(s, registers, places, starts, make, is_kept=False)

    def store(
        self,
        s: Splitter,
        registers: RegisterLayout,
        pieces: Values,
        places: Places,
        write: Write,
    ) -> None:
        """Store a tensor or a matrix, each element once.

        Of several that have an element others may have loaded it again, from where it
        is stored, after it was.
        """
        kept, places = places.element, self.by_the_first(s, registers, places)
        vectors = [cast(s, x, kept) for x in unpacked(s, registers, pieces)]
        for number, vector in enumerate(vectors):

            def make(at: SSAValue | int, where: Values, vector: SSAValue = vector):
                one = ExtractOp(vector, [at], kept)
                return [one, write(one.result, where)]

            if (loop := self._loop_over(registers, places)) is not None:
                self._store_in_loop(s, loop, number, make)
                continue
            for at in range(registers.length):
                flag, where = places.of(s, number * registers.length + at)
                guarded(s, flag, make(at, where))

    def by_the_first(
        self, s: Splitter, registers: RegisterLayout, places: Places
    ) -> Places:
        """Return places for the first lanes only that have an element."""
        flag = GroupMemory(self.entry).is_first(registers.layout)
        if flag is None:
            return places
        assert isinstance(places, VectorPlaces), places
        return places.where(self.entry, s, flag)

    def _gathered(
        self,
        s: Splitter,
        registers: RegisterLayout,
        places: Places,
        starts: Values,
        make: Callable[[int, SSAValue | int, Values], list[Operation]],
        is_kept: bool,
    ) -> list[SSAValue]:
        """Return vectors of what the last operation that is made for an element gives.

        Args:
            s: in front of the access.
            registers: what a lane holds.
            places: where the elements are.
            starts: vectors that elements are put into.
            make: from the vector, the place in it and indices to operations.
            is_kept: whether what is not accessed is that of `starts`, not 0.
        """
        found: list[SSAValue] = []
        for number, vector in enumerate(starts):
            if (loop := self._loop_over(registers, places)) is not None:
                found.append(self._found_in_loop(s, loop, number, vector, make))
                continue
            start, type = vector, places.element
            for at in range(registers.length):
                flag, where = places.of(s, number * registers.length + at)
                otherwise = ExtractOp(start, [at], type) if is_kept else None
                value = guarded(
                    s,
                    flag,
                    make(number, at, where),
                    otherwise or self._zero(type),
                )
                assert value is not None, s.op
                vector = s.insert(InsertOp(value, vector, [at])).result
            found.append(vector)
        return found

    def _zero(self, type: Attribute) -> SSAValue:
        """Return a scalar 0."""
        zero = constant_attr(type, 0)
        return self.entry.once(("zero", type), lambda: ConstantOp(zero))

    def _loop_over(
        self, registers: RegisterLayout, places: Places
    ) -> VectorPlaces | None:
        """Return places to loop over; None where each element is accessed by itself."""
        is_short = len(registers.distinct) <= MOST_UNROLLED
        if not isinstance(places, VectorPlaces) or (is_short and not self.in_loops):
            return None
        return places

    def _found_in_loop(
        self,
        s: Splitter,
        places: VectorPlaces,
        number: int,
        start: SSAValue,
        make: Callable[[int, SSAValue | int, Values], list[Operation]],
    ) -> SSAValue:
        """Return a vector with what the last operation gives where a mask is true."""
        block = Block(arg_types=[IndexType(), start.type])
        at, before = block.args
        ops, flag, index = places.in_loop(number, at)
        made = make(number, at, [index])
        put = InsertOp(made[-1].results[0], before, [at])
        if flag is None:
            block.add_ops([*ops, *made, put, YieldOp(put.result)])
        else:
            then = Region(Block([*made, put, YieldOp(put.result)]))
            otherwise = Region(Block([YieldOp(before)]))
            choose = IfOp(flag, [start.type], then, otherwise)
            block.add_ops([*ops, choose, YieldOp(choose.results[0])])
        return self._loop(s, length_of(start), [start], block).results[0]

    def _store_in_loop(
        self,
        s: Splitter,
        places: VectorPlaces,
        number: int,
        make: Callable[[SSAValue | int, Values], list[Operation]],
    ) -> None:
        """Store a vector where a mask is true."""
        block = Block(arg_types=[IndexType()])
        (at,) = block.args
        ops, flag, index = places.in_loop(number, at)
        made = make(at, [index])
        if flag is None:
            block.add_ops([*ops, *made, YieldOp()])
        else:
            then = Region(Block([*made, YieldOp()]))
            block.add_ops([*ops, IfOp(flag, [], then), YieldOp()])
        self._loop(s, length_of(places.offsets[number]), [], block)

    def _loop(
        self, s: Splitter, count: int, starts: list[SSAValue], block: Block
    ) -> ForOp:
        """Insert a loop over the elements of a vector."""
        zero, end, one = (self.entry.number(x, IndexType()) for x in (0, count, 1))
        for op in block.walk():
            op.location = s.op.location
        return s.insert(ForOp(zero, end, one, starts, block))


def guarded(
    s: Splitter,
    flag: Flag,
    ops: Sequence[Operation],
    otherwise: Operation | SSAValue | None = None,
) -> SSAValue | None:
    """Put operations where a flag is true; return what the last one gives, else other.

    Args:
        s: in front of the access.
        flag: whether they are executed.
        ops: in no block yet.
        otherwise: what is given where they are not: a value, or an operation that is
            executed only there.
    """
    if flag is True:
        for op in ops:
            s.insert(op)
        return ops[-1].results[0] if ops[-1].results else None
    apart = [otherwise] if isinstance(otherwise, Operation) else []
    other = otherwise.results[0] if isinstance(otherwise, Operation) else otherwise
    if flag is False:
        for op in reversed(ops):
            op.erase()
        for op in apart:
            s.insert(op)
        return other
    results = list[SSAValue](ops[-1].results)
    then = Region(Block([*ops, YieldOp(*results)]))
    if not results:
        new = IfOp(flag, [], then)
    else:
        assert other is not None, s.op
        new = IfOp(
            flag,
            [x.type for x in results],
            then,
            Region(Block([*apart, YieldOp(other)])),
        )
    for op in new.walk():
        op.location = s.op.location
    s.insert(new)
    return new.results[0] if new.results else None
