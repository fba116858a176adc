"""Loads and stores of tensors lane by lane: each element through its own address.

What cannot be moved by 2D blocks is moved so: right for every layout, order and mask,
and slow.  Where a mask is false nothing is read or written, and the value is `other`,
or 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.arith import (
    AddiOp,
    AndIOp,
    CmpiOp,
    ConstantOp,
    ExtSIOp,
    IndexCastOp,
    MuliOp,
    OrIOp,
)
from xdsl.dialects.builtin import (
    IndexType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.dialects.vector import BroadcastOp, ExtractOp, InsertOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coopc.dialects import tt
from coopc.dialects.narrow import is_memref
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.types import bits_of
from coopc.passes.xe.convert_to_xe.block_access import spread_of_value
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory
from coopc.passes.xe.convert_to_xe.lane_loops import LaneLoops
from coopc.passes.xe.convert_to_xe.layout_to_arith import coordinates
from coopc.passes.xe.convert_to_xe.pointer_casts import cast
from coopc.passes.xe.convert_to_xe.pointers import Pointers
from coopc.passes.xe.convert_to_xe.registers import (
    not_a_number,
    packed,
    unpacked,
    vector_type,
    zeros,
)
from coopc.passes.xe.convert_to_xe.surface import Surface
from coopc.passes.xe.convert_to_xe.tensors import widened
from coopc.passes.xe.register_layout import Spread
from coopc.rewrite.one_to_many import Splitter

Values = Sequence[SSAValue]

MOST_UNROLLED = 128
"""Elements of a lane that are accessed each by itself; more would be too much code."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where the elements of a lane are in memory."""

    memory: SSAValue
    """A memref of rank 1."""
    offsets: Values
    """Vectors of i64."""
    masks: Values | None
    """Vectors of i1; None where all are there."""


@dataclass(slots=True)
class LaneAccess:
    """The rules for accesses without a plan."""

    entry: Entry
    pointers: Pointers
    bases: dict[Operation, SSAValue]
    """The scalar pointer that the pointers of an access count from."""
    in_loops: bool = False
    """Whether elements are accessed in loops even where they are few."""

    def _loops(self, spread: Spread) -> LaneLoops | None:
        """Return how elements are accessed in loops; None where each by itself."""
        is_short = len(spread.registers) <= MOST_UNROLLED
        return None if is_short and not self.in_loops else LaneLoops(self.entry)

    def through_pointers(self, op: tt.LoadOp | tt.StoreOp, s: Splitter) -> Where:
        """Return where the elements of a tensor of pointers are."""
        (memref,) = s.parts(self.bases[op])
        masks = None
        if op.mask is not None:
            masks = unpacked(s, spread_of_value(op.mask), s.parts(op.mask))
        return Where(self.pointers.view(memref), s.parts(op.ptr), masks)

    def through_descriptor(
        self,
        op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
        spread: Spread,
        s: Splitter,
    ) -> Where:
        """Return where the elements of a block of a descriptor are."""
        if len(op.indices) != 2:
            return self._through_any_rank(op, spread, s)
        surface = Surface(*s.parts(op.desc))
        rank = len(spread.layout.outs)
        col = rank - 2 if block_io(op) == "column_major" else rank - 1
        y, x = op.indices
        rows = self._along(s, spread, 2 * rank - 3 - col, y)
        cols = self._along(s, spread, col, x)
        bytes = (bits_of(spread.element) or 8) // 8
        shift = bytes.bit_length() - 1
        width = self.entry.divided(surface.width, shift)
        pitch = self.entry.divided(surface.pitch, shift)
        wide = VectorType(i64, [spread.length])
        offsets: list[SSAValue] = []
        masks: list[SSAValue] = []
        pitches = self._wide(s, pitch, wide)
        for row, column in zip(rows, cols, strict=True):
            start = s.insert(MuliOp(widened(s, row, wide), pitches)).result
            along = widened(s, column, wide)
            offsets.append(s.insert(AddiOp(start, along)).result)
            low = self._below(s, row, surface.height)
            left = self._below(s, column, width)
            masks.append(s.insert(AndIOp(low, left)).result)
        return Where(self.pointers.view(surface.base), offsets, masks)

    def _through_any_rank(
        self,
        op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
        spread: Spread,
        s: Splitter,
    ) -> Where:
        """Return the same for a descriptor of another rank than 2."""
        base, *numbers = s.parts(op.desc)
        rank = len(op.indices)
        sizes, strides = numbers[:rank], numbers[rank:]
        dims = list(range(rank))
        if block_io(op) == "column_major":
            dims[-2:] = dims[:-3:-1]
        missing = rank - len(spread.layout.outs)
        wide = VectorType(i64, [spread.length])
        count = len(spread.registers) // spread.length
        offsets: list[SSAValue] = []
        masks: list[SSAValue] = []
        for dim in range(rank):
            start = op.indices[dim]
            if dims[dim] < missing:
                one = BroadcastOp(start, VectorType(i32, [spread.length]))
                places = [s.insert(one).vector] * count
            else:
                places = self._along(s, spread, dims[dim] - missing, start)
            all = s.insert(BroadcastOp(strides[dim], wide)).vector
            for at, place in enumerate(places):
                along = s.insert(MuliOp(widened(s, place, wide), all)).result
                below = self._below(s, place, sizes[dim])
                if dim == 0:
                    offsets.append(along)
                    masks.append(below)
                else:
                    offsets[at] = s.insert(AddiOp(offsets[at], along)).result
                    masks[at] = s.insert(AndIOp(masks[at], below)).result
        return Where(self.pointers.view(base), offsets, masks)

    def not_a_number(self, spread: Spread) -> SSAValue:
        """Return a vector of NaNs."""
        dense = not_a_number(spread.vector)
        return self.entry.once((dense,), lambda: ConstantOp(dense))

    def _along(
        self, s: Splitter, spread: Spread, dimension: int, index: SSAValue
    ) -> list[SSAValue]:
        """Return the coordinates of what a lane holds, from an index on."""
        start = s.insert(BroadcastOp(index, VectorType(i32, [spread.length]))).vector
        found = coordinates(self.entry, spread, dimension)
        return [s.insert(AddiOp(start, each)).result for each in found]

    def _below(self, s: Splitter, value: SSAValue, limit: SSAValue) -> SSAValue:
        """Return which coordinates are at least 0 and less than a limit."""
        limits = s.insert(BroadcastOp(limit, vector_type(value))).vector
        return s.insert(CmpiOp(value, limits, "ult")).result

    def _wide(self, s: Splitter, value: SSAValue, type: VectorType) -> SSAValue:
        """Return an i32 in all components of a vector of i64."""
        wide = s.insert(ExtSIOp(value, i64)).result
        return s.insert(BroadcastOp(wide, type)).vector

    def load_scalar(self, op: tt.LoadOp, s: Splitter) -> SSAValue:
        """Load one element, all lanes the same."""
        (memref,) = s.parts(op.ptr)
        read = LoadOp.get(memref, [])
        if op.mask is None:
            return cast(s, s.insert(read).res, op.result.type)
        type = read.res.type
        other = None if op.other is None else cast(s, op.other, type)
        keep: list[Operation] = []
        if other is None:
            zero = zeros(self.entry, VectorType(type, [1]))
            keep.append(first := ExtractOp(zero, [0], type))
            other = first.result
        then = Region(Block([read, YieldOp(read.res)]))
        otherwise = Region(Block([*keep, YieldOp(other)]))
        found = s.insert(IfOp(op.mask, [type], then, otherwise)).results[0]
        return cast(s, found, op.result.type)

    def store_scalar(self, op: tt.StoreOp, s: Splitter) -> None:
        """Store one element, the first lane for all."""
        (memref,) = s.parts(op.ptr)
        flag = is_first_of_all(self.entry)
        if op.mask is not None:
            flag = s.insert(AndIOp(flag, op.mask)).result
        value = cast(s, op.value, element_type(memref))
        write = StoreOp.get(value, memref, [])
        s.insert(IfOp(flag, [], Region(Block([write, YieldOp()]))))

    def load(
        self, result: SSAValue, where: Where, other: Values | None, s: Splitter
    ) -> Values:
        """Load a tensor; return its pieces."""
        spread = spread_of_value(result)
        loops = self._loops(spread)
        kept = element_type(where.memory)
        zero = zeros(self.entry, VectorType(kept, [spread.length]))
        found: list[SSAValue] = []
        for number, offsets in enumerate(where.offsets):
            start = zero if other is None else cast(s, other[number], kept)
            mask = None if where.masks is None else where.masks[number]
            if loops is not None:
                memory = where.memory
                found.append(loops.load(s, memory, offsets, mask, start))
                continue
            vector = start
            for at in range(spread.length):
                index = element_index(s, offsets, at)
                value = self._load_one(s, where.memory, index, mask, start, at)
                vector = s.insert(InsertOp(value, vector, [at])).result
            found.append(vector)
        return packed(s, spread, [cast(s, each, spread.element) for each in found])

    def _load_one(
        self,
        s: Splitter,
        memory: SSAValue,
        index: SSAValue,
        mask: SSAValue | None,
        start: SSAValue,
        at: int,
    ) -> SSAValue:
        """Load one element, where a mask is true."""
        read = LoadOp.get(memory, [index])
        if mask is None:
            return s.insert(read).res
        type = read.res.type
        keep = ExtractOp(start, [at], type)
        flag = s.insert(ExtractOp(mask, [at], element_type(mask))).result
        then = Region(Block([read, YieldOp(read.res)]))
        otherwise = Region(Block([keep, YieldOp(keep.result)]))
        return s.insert(IfOp(flag, [type], then, otherwise)).results[0]

    def _by_the_first(self, s: Splitter, where: Where, spread: Spread) -> Where:
        """Return masks that are true in the first lanes that have an element."""
        flag = GroupMemory(self.entry).is_first(spread.layout)
        if flag is None:
            return where
        type = VectorType(i1, [spread.length])
        first = self.entry.once(
            ("all", flag, spread.length), lambda: BroadcastOp(flag, type)
        )
        if where.masks is None:
            return replace(where, masks=[first] * len(where.offsets))
        both = [s.insert(AndIOp(mask, first)).result for mask in where.masks]
        return replace(where, masks=both)

    def store(self, value: SSAValue, where: Where, s: Splitter) -> None:
        """Store a tensor, each element once.

        Of several that have an element others may have loaded it again, from where it
        is stored, after it was.
        """
        spread = spread_of_value(value)
        loops = self._loops(spread)
        where = self._by_the_first(s, where, spread)
        kept = element_type(where.memory)
        vectors = [cast(s, x, kept) for x in unpacked(s, spread, s.parts(value))]
        for number, (vector, offsets) in enumerate(
            zip(vectors, where.offsets, strict=True)
        ):
            if loops is not None:
                flags = None if where.masks is None else where.masks[number]
                loops.store(s, where.memory, offsets, flags, vector)
                continue
            for at in range(spread.length):
                index = element_index(s, offsets, at)
                one = s.insert(ExtractOp(vector, [at], kept)).result
                write = StoreOp.get(one, where.memory, [index])
                if where.masks is None:
                    s.insert(write)
                    continue
                mask = where.masks[number]
                flag = s.insert(ExtractOp(mask, [at], element_type(mask))).result
                s.insert(IfOp(flag, [], Region(Block([write, YieldOp()]))))


def element_index(s: Splitter, offsets: SSAValue, at: int) -> SSAValue:
    """Return one of a vector of offsets as an index."""
    one = s.insert(ExtractOp(offsets, [at], i64)).result
    return s.insert(IndexCastOp(one, IndexType())).result


def element_type(value: SSAValue) -> Attribute:
    """Return the element type of a vector or a memref."""
    if is_memref(value.type):
        return value.type.get_element_type()
    return vector_type(value).get_element_type()


def is_first_of_all(entry: Entry) -> SSAValue:
    """Return whether this is the first lane of the first subgroup."""
    lane, subgroup, zero = entry.lane(), entry.subgroup(), entry.number(0)
    either = entry.once("first of all", lambda: OrIOp(lane, subgroup))
    return entry.once("is first of all", lambda: CmpiOp(either, zero, "eq"))
