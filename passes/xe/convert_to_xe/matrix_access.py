"""Loads, stores and prefetches of matrices: by 2D block messages, or lane by lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, i32
from xdsl.dialects.memref import DimOp, ExtractStridedMetaDataOp
from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix, xe
from coopc.dialects.narrow import is_memref
from coopc.passes.xe.convert_to_xe.block_access import BlockAccess, slot_vector
from coopc.passes.xe.convert_to_xe.entry import Entry, constant_of
from coopc.passes.xe.convert_to_xe.layout_to_arith import origin
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces, Tile
from coopc.passes.xe.convert_to_xe.matrix_plans import (
    Moves,
    Part2D,
    element_bytes,
    is_plain,
)
from coopc.passes.xe.convert_to_xe.registers import gathered, joined, unpacked
from coopc.passes.xe.convert_to_xe.surface import Surface
from coopc.passes.xe.register_layout import Spread
from coopc.passes.xe.strided_rows import place
from coopc.plan.block2d import BlockPlan
from coopc.plan.prefetch import PrefetchPlan
from coopc.rewrite.one_to_many import Splitter

Values: TypeAlias = Sequence[SSAValue]

CACHES = {
    1: xe.CacheAttr.of(xe.CacheControl.CACHED, xe.CacheControl.CACHED),
    2: xe.CacheAttr.of(xe.CacheControl.UNCACHED, xe.CacheControl.CACHED),
}
"""What is filled by a prefetch for a level: from there on outwards.  There is no third
level, and a hint for it is ignored."""


def surface_of(entry: Entry, memory: SSAValue) -> Surface:
    """Return the surface that a memref of a kernel is."""
    type = memory.type
    assert is_memref(type), type
    size = element_bytes(type)
    rows, cols = (_size(entry, memory, dimension) for dimension in (0, 1))
    width = entry.times(cols, size)
    strides = type.get_strides()
    assert strides is not None, type
    if strides[0] not in (None, DYNAMIC_INDEX):
        pitch = entry.number(strides[0] * size)
    else:
        pitch = width if is_plain(type) else entry.times(_stride(entry, memory), size)
    return Surface(memory, width, rows, pitch)


def _size(entry: Entry, memory: SSAValue, dimension: int) -> SSAValue:
    """Return a size of a memref, as i32."""
    assert is_memref(memory.type), memory
    known = memory.type.get_shape()[dimension]
    if known != DYNAMIC_INDEX:
        return entry.number(known)
    number = entry.number(dimension, IndexType())
    key = ("size", memory, dimension)
    size = entry.once(key, lambda: DimOp(memory, number))
    return entry.once((*key, i32), lambda: IndexCastOp(size, i32))


def _stride(entry: Entry, memory: SSAValue) -> SSAValue:
    """Return the first stride of a memref, as i32."""
    key = ("strides", memory)
    found = entry.once(key, lambda: ExtractStridedMetaDataOp(memory)).owner
    assert isinstance(found, ExtractStridedMetaDataOp), found
    stride = found.strides[0]
    return entry.once((*key, i32), lambda: IndexCastOp(stride, i32))


@dataclass(slots=True)
class MatrixBlocks:
    """Accesses that have plans."""

    entry: Entry
    surfaces: dict[SSAValue, Surface] = field(default_factory=dict[SSAValue, Surface])

    def load(
        self, op: coopmatrix.LoadOp, s: Splitter, pieces: Pieces, moves: Moves
    ) -> list[SSAValue]:
        """Load a matrix; return its tiles."""
        found: dict[Tile, SSAValue] = {}
        access = BlockAccess(self.entry)
        for part in moves:
            plan, spread = part.plan, pieces.spread_over(part.shape)
            assert isinstance(plan, BlockPlan), plan
            type = slot_vector(plan, spread.run)
            count = plan.values * plan.element_bits // plan.slot_bits
            count //= type.get_shape()[0]
            messages: list[Values] = []
            for first in plan.firsts:
                block = xe.BlockLoad2DOp(
                    *self._where(op, s, part, plan, first),
                    xe.BlockAttr(plan.shape),
                    [type] * count,
                )
                messages.append(s.insert(block).pieces)
            tiles = access.arranged(s, plan, spread, messages)
            found |= dict(zip(places(spread, part), tiles, strict=True))
        return [found[tile] for tile in pieces.tiles]

    def store(
        self, op: coopmatrix.StoreOp, s: Splitter, pieces: Pieces, moves: Moves
    ) -> None:
        """Store the tiles of a matrix."""
        held = dict(zip(pieces.tiles, s.parts(op.value), strict=True))
        for part in moves:
            plan, spread = part.plan, pieces.spread_over(part.shape)
            assert isinstance(plan, BlockPlan), plan
            tiles = [held[place] for place in places(spread, part)]
            vectors = unpacked(s, spread, tiles)
            at = {register: place for place, register in enumerate(spread.registers)}
            known = {plan.sources[register]: place for register, place in at.items()}
            type = slot_vector(plan, spread.run)
            length = min(spread.length, plan.values)
            for message, first in enumerate(plan.firsts):
                wanted = [known[message, value] for value in range(plan.values)]
                stored = joined(s, gathered(s, vectors, wanted, length), type)
                where = self._where(op, s, part, plan, first)
                s.insert(xe.BlockStore2DOp(stored, *where, xe.BlockAttr(plan.shape)))

    def prefetch(self, op: coopmatrix.PrefetchOp, s: Splitter, moves: Moves) -> None:
        """Fetch a matrix into the caches, if there is one of that level."""
        cache = CACHES.get(1 if op.level is None else op.level.value.data)
        for part in moves if cache is not None else ():
            plan = part.plan
            assert isinstance(plan, PrefetchPlan), plan
            y, x = self._start(op, part)
            surface = self._surface(op)
            for register in range(plan.messages):
                at = (
                    origin(self.entry, plan.layout, 1, register, x),
                    origin(self.entry, plan.layout, 0, register, y),
                )
                shape = xe.BlockAttr(plan.shape)
                s.insert(
                    xe.BlockPrefetch2DOp(surface.base, at, surface.sizes, shape, cache)
                )

    def _where(
        self,
        op: coopmatrix.AccessOp,
        s: Splitter,
        part: Part2D,
        plan: BlockPlan,
        first: int,
    ) -> tuple[
        SSAValue, tuple[SSAValue, SSAValue], tuple[SSAValue, SSAValue, SSAValue]
    ]:
        """Return base, position and sizes of a message, by its first register."""
        start, surface = self._start(op, part), self._surface(op)
        where, at = place(self.entry, s, plan, surface, first, start)
        return where.base, at, where.sizes

    def _surface(self, op: coopmatrix.AccessOp) -> Surface:
        memory = op.memory
        if memory not in self.surfaces:
            self.surfaces[memory] = surface_of(self.entry, memory)
        return self.surfaces[memory]

    def _start(
        self, op: coopmatrix.AccessOp, part: Part2D
    ) -> tuple[SSAValue, SSAValue]:
        """Return row and column in memory where a part begins, as i32."""
        outer, inner = op.positions
        return (
            self.entry.plus(self._narrow(outer), part.offset[0]),
            self.entry.plus(self._narrow(inner), part.offset[1]),
        )

    def _narrow(self, value: SSAValue) -> SSAValue:
        """Return an index as i32: surfaces have less than 2^24 rows and columns."""
        if (known := constant_of(value)) is not None:
            return self.entry.number(known)
        return self.entry.after(value, i32, lambda: IndexCastOp(value, i32))


def places(spread: Spread, part: Part2D) -> list[Tile]:
    """Return where in the matrix the pieces of a part begin."""
    row, col = part.origin
    found = (spread.first(piece) for piece in range(spread.pieces))
    return [(row + each[0], col + each[1]) for each in found]
