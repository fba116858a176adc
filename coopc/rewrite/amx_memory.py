"""Tiles in memory: each is a slot on the stack, as large as a tile can be.

    %t = amx.tile_mulf %x, %y, %s     load %x_slot, %y_slot, %s_slot; multiply;
                                      store into %t_slot

All registers then have one shape, 16 rows of 64 bytes, and three are enough.  Beyond
the tile a slot is zero: products of zeros add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, i64
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import amx
from coopc.dialects.amx import (
    MAX_ROW_BYTES,
    MAX_ROWS,
    TileType,
    element_bytes,
    tile_type,
)
from coopc.dialects.narrow import is_memref

INDEX = IndexType()
ALIGNMENT = 64
"""Of slots, in bytes."""


def whole(element: Attribute) -> TileType:
    """Return the largest tile of an element type."""
    return TileType.of(MAX_ROWS, MAX_ROW_BYTES // element_bytes(element), element)


@dataclass
class MemoryForm:
    """One function whose tiles go into memory."""

    start: Block
    """Of the function."""
    slots: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Where tiles are."""
    constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    dead: list[Operation] = field(default_factory=list[Operation])
    """What is replaced, as long as others still name its results."""

    def rewrite(self) -> None:
        """Rewrite the function."""
        self.block(self.start)
        for op in reversed(self.dead):
            Rewriter.erase_op(op, safe_erase=False)

    def block(self, block: Block) -> None:
        """Rewrite the operations of a block."""
        for op in list(block.ops):
            self._operation(op)

    def _operation(self, op: Operation) -> None:
        match op:
            case amx.TileZeroOp():
                type = whole(tile_type(op.result).element_type)
                zero = self._before(op, amx.TileZeroOp(type))
                self._put(op, zero, self.slot(op.result))
                self.dead.append(op)
            case amx.TileLoadOp():
                self._copy_in(op)
                self.dead.append(op)
            case amx.TileStoreOp():
                self._rows(op, tile_type(op.val), self.slots[op.val], False)
                self.dead.append(op)
            case amx.TileMulFOp() | amx.TileMulIOp():
                self._product(op)
            case ForOp():
                self._loop(op)
            case IfOp():
                self._branch(op)
            case _:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)

    def slot(self, value: SSAValue) -> SSAValue:
        """Return new memory for a tile."""
        element = tile_type(value).element_type
        new = memref.AllocaOp.get(element, ALIGNMENT, whole(element).shape)
        new.alignment = IntegerAttr(ALIGNMENT, i64)
        new.memref.name_hint = value.name_hint
        self._at_start(new)
        self.slots[value] = new.memref
        return new.memref

    def index(self, number: int) -> SSAValue:
        """Return a constant, at the start of the function."""
        if number not in self.constants:
            op = arith.ConstantOp(IntegerAttr(number, INDEX))
            op.result.name_hint = f"c{number}"
            self._at_start(op)
            self.constants[number] = op.result
        return self.constants[number]

    def _at_start(self, op: Operation) -> None:
        first = self.start.first_op
        assert first is not None
        op.location = first.location
        Rewriter.insert_op(op, InsertPoint.before(first))

    def _before(self, where: Operation, op: Operation) -> SSAValue:
        op.location = where.location
        Rewriter.insert_op(op, InsertPoint.before(where))
        return op.results[0]

    def _get(self, where: Operation, slot: SSAValue) -> SSAValue:
        zero = self.index(0)
        type = slot.type
        assert is_memref(type), type
        load = amx.TileLoadOp(slot, [zero, zero], whole(type.get_element_type()))
        return self._before(where, load)

    def _put(self, where: Operation, tile: SSAValue, slot: SSAValue) -> None:
        zero = self.index(0)
        store = amx.TileStoreOp(slot, [zero, zero], tile)
        store.location = where.location
        Rewriter.insert_op(store, InsertPoint.before(where))

    def _copy_in(self, op: amx.TileLoadOp) -> None:
        tile = tile_type(op.result)
        full = whole(tile.element_type)
        slot = self.slot(op.result)
        if tile != full:
            self._put(op, self._before(op, amx.TileZeroOp(full)), slot)
        self._rows(op, tile, slot, True)

    def _rows(
        self,
        op: amx.TileLoadOp | amx.TileStoreOp,
        tile: TileType,
        slot: SSAValue,
        is_load: bool,
    ) -> None:
        """Copy the rows of a tile between memory and a slot, each as a vector."""
        rows, cols = tile.shape
        type = VectorType(tile.element_type, [cols])
        body = Block(arg_types=[INDEX])
        row = body.args[0]
        row.name_hint = "row"
        place = arith.AddiOp(op.indices[-2], row)
        there = [*op.indices[:-2], place.result, op.indices[-1]]
        here = [row, self.index(0)]
        source, target = (op.base, there), (slot, here)
        if not is_load:
            source, target = target, source
        load = vector.LoadOp(*source, type)
        body.add_ops([place, load, vector.StoreOp(load.result, *target), YieldOp()])
        loop = ForOp(self.index(0), self.index(rows), self.index(1), [], Region(body))
        for new in (loop, *body.ops):
            new.location = op.location
        Rewriter.insert_op(loop, InsertPoint.before(op))

    def _product(self, op: amx.TileMulFOp | amx.TileMulIOp) -> None:
        operands = [self._get(op, self.slots[x]) for x in op.operands]
        if isinstance(op, amx.TileMulFOp):
            new: Operation = amx.TileMulFOp(*operands)
        else:
            signs = op.is_zext_lhs is not None, op.is_zext_rhs is not None
            new = amx.TileMulIOp(operands[0], operands[1], operands[2], *signs)
        self._put(op, self._before(op, new), self.slot(op.result))
        self.dead.append(op)

    def _copies(self, where: Operation, pairs: list[tuple[SSAValue, SSAValue]]) -> None:
        """Copy slots to others, as if at once."""
        targets = {target for _, target in pairs}
        moving = [(source, target) for source, target in pairs if source is not target]
        if any(source in targets for source, _ in moving):
            through: list[tuple[SSAValue, SSAValue]] = []
            for source, target in moving:
                tile = self._get(where, source)
                between = self.slot(tile)
                self._put(where, tile, between)
                through.append((between, target))
            moving = through
        for source, target in moving:
            self._put(where, self._get(where, source), target)

    def _loop(self, op: ForOp) -> None:
        places = _tiles_at(op.iter_args)
        body = op.body.block
        end = body.last_op
        assert isinstance(end, YieldOp), op
        carried = {place: self.slot(body.args[1 + place]) for place in places}
        self._copies(
            op, [(self.slots[op.iter_args[p]], slot) for p, slot in carried.items()]
        )
        self.block(body)
        self._copies(
            end, [(self.slots[end.operands[p]], slot) for p, slot in carried.items()]
        )
        kept = [n for n in range(len(op.iter_args)) if n not in carried]
        Rewriter.replace_op(end, _yield(end, kept))
        for place in sorted(carried, reverse=True):
            body.erase_arg(body.args[1 + place], safe_erase=False)
        new = ForOp(
            op.lb,
            op.ub,
            op.step,
            [op.iter_args[n] for n in kept],
            op.detach_region(op.body),
        )
        new.attributes = dict(op.attributes)
        self._replace(op, new, kept, carried)

    def _branch(self, op: IfOp) -> None:
        if not (places := _tiles_at(op.results)):
            for region in op.regions:  # one, where there is no `else`
                for block in region.blocks:
                    self.block(block)
            return
        found = {place: self.slot(op.results[place]) for place in places}
        kept = [n for n in range(len(op.results)) if n not in found]
        for region in op.regions:
            for block in region.blocks:
                self.block(block)
                end = block.last_op
                assert isinstance(end, YieldOp), op
                self._copies(
                    end, [(self.slots[end.operands[p]], s) for p, s in found.items()]
                )
                Rewriter.replace_op(end, _yield(end, kept))
        then, otherwise = [op.detach_region(region) for region in tuple(op.regions)]
        new = IfOp(op.cond, [op.results[n].type for n in kept], then, otherwise)
        new.attributes = dict(op.attributes)
        self._replace(op, new, kept, found)

    def _replace(
        self,
        op: Operation,
        new: Operation,
        kept: list[int],
        slots: dict[int, SSAValue],
    ) -> None:
        """Put an operation without tiles in place of one with them."""
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
        for place, slot in slots.items():
            self.slots[op.results[place]] = slot
        for result, place in zip(new.results, kept, strict=True):
            result.name_hint = op.results[place].name_hint
            op.results[place].replace_all_uses_with(result)
        self.dead.append(op)


def _tiles_at(values: Sequence[SSAValue]) -> list[int]:
    return [n for n, x in enumerate(values) if isinstance(x.type, TileType)]


def _yield(end: YieldOp, kept: list[int]) -> YieldOp:
    new = YieldOp(*(end.operands[n] for n in kept))
    new.location = end.location
    return new
