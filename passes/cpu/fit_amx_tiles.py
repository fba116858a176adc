"""fit-amx-tiles: functions need no more registers for tiles than LLVM can give them.

Before:  tiles of any number and of any shapes
After:   loads of tiles stand in front of their first use; tiles that control flow only
         chooses among are loaded where they are chosen; a function in which too many
         tiles of different shapes live at once keeps all in memory on the stack
Fails:   where such a function passes tiles through other control flow than scf.for and
         scf.if, or its accesses have strides of their own.  Nothing is changed then

Tiles that control flow does nothing with but choose among others.

    %t = scf.if %c {                          %t = scf.if %c {
      scf.yield %x                              scf.yield %x
    } else {                                  } else {
      scf.yield %y                              store %y, %slot
    }                                           %z = load %slot
                                                scf.yield %z
                                              }

LLVM makes a selection of such a choice, which x86 has none of for tiles: it aborts.
So but for one of them they are loaded where they are chosen, and loads stay there.  Of
what a loop carries, that one is what it begins with.

Which tiles live at once, in structured code.

Tiles in memory: each is a slot on the stack, as large as a tile can be.

    %t = amx.tile_mulf %x, %y, %s     load %x_slot, %y_slot, %s_slot; multiply;
                                      store into %t_slot

All registers then have one shape, 16 rows of 64 bytes, and three are enough.  Beyond
the tile a slot is zero: products of zeros add nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, VectorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, IndexSwitchOp, WhileOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import amx
from coopc.dialects.amx import (
    MAX_ROW_BYTES,
    MAX_ROWS,
    TileType,
    element_bytes,
    tile_type,
)
from coopc.dialects.narrow import is_memref
from coopc.plan.amx_registers import Shape, why_in_memory

ALIGNMENT = 64

"""Of slots, in bytes."""


def copy_choices(func: FuncOp) -> None:
    """Load tiles where they are chosen, as far as nothing is computed there."""
    for op in tuple(func.walk()):
        if isinstance(op, ForOp | IfOp | IndexSwitchOp | WhileOp):
            for end, place in _chosen(op):
                _copy(func.body.block, end, place)


def _chosen(op: Operation) -> Iterator[tuple[YieldOp, int]]:
    """Yield the terminators that give on tiles which are to be loaded, and which."""
    is_loop = isinstance(op, ForOp | WhileOp)
    ends = _ends(op)
    for place in range(len(ends[0].operands) if ends else 0):
        if not isinstance(ends[0].operands[place].type, TileType):
            continue
        given = [
            end
            for end in ends
            if not _is_computed(value := end.operands[place], op)
            and not _is_carried(value, op, place)
        ]
        for end in given if is_loop else given[1:]:
            yield end, place


def _ends(op: Operation) -> list[YieldOp]:
    """Return the terminators by which a branch or a loop gives on values."""
    ends = (block.last_op for region in op.regions for block in region.blocks)
    return [end for end in ends if isinstance(end, YieldOp)]


def _is_computed(value: SSAValue, op: Operation) -> bool:
    """Whether something in an operation makes a tile, and not only chooses it."""
    made = value.owner
    if not isinstance(made, Operation) or not op.is_ancestor(made):
        return False
    if made.dialect_name() == "amx":
        return True
    return any(
        _is_computed(inner, made)
        for end in _ends(made)
        for inner in end.operands
        if isinstance(inner.type, TileType)
    )


def _is_carried(value: SSAValue, op: Operation, place: int) -> bool:
    """Whether a loop gives on what it got in the same place."""
    if not isinstance(value, BlockArgument) or value.block.parent_op() is not op:
        return False
    return value.index == place + (1 if isinstance(op, ForOp) else 0)


def _copy(start: Block, end: YieldOp, place: int) -> None:
    """Store a tile to the stack in front of a terminator, and load it again."""
    tile = end.operands[place]
    type = tile_type(tile)
    zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
    slot = memref.AllocaOp.get(type.element_type, ALIGNMENT, type.shape)
    slot.alignment = IntegerAttr(ALIGNMENT, i64)
    first = start.first_op
    assert first is not None
    for op in (zero, slot):
        op.location = first.location
        Rewriter.insert_op(op, InsertPoint.before(first))
    at = [zero.result, zero.result]
    store = amx.TileStoreOp(slot.memref, at, tile)
    load = amx.TileLoadOp(slot.memref, at, type)
    for op in (store, load):
        op.location = end.location
        Rewriter.insert_op(op, InsertPoint.before(end))
    load.result.name_hint = tile.name_hint
    end.operands[place] = load.result


Live = frozenset[SSAValue]


def tiles(values: Iterable[SSAValue]) -> Live:
    """Return those values that are tiles."""
    return frozenset(x for x in values if isinstance(x.type, TileType))


def shape_of(value: SSAValue) -> Shape:
    """Return the rows of a tile, and the bytes of one."""
    tile = tile_type(value)
    return tile.shape[0], tile.row_bytes


class Liveness:
    """How many tiles of each shape live at once, at most."""

    def __init__(self) -> None:
        self.most: Counter[Shape] = Counter()

    def block(self, block: Block, after: Live) -> Live:
        """Go through a block backwards.

        Args:
            block: of structured code.
            after: tiles that live when it ends, beside what its terminator takes.

        Returns:
            Tiles that live when it begins.
        """
        live = after
        for op in reversed(list(block.ops)):
            live = self._before(op, live)
            self._note(live)
        return live - tiles(block.args)

    def _before(self, op: Operation, after: Live) -> Live:
        """Return the tiles that live before an operation, from those after it."""
        results = tiles(op.results)
        self._note(after | results)
        live = (after - results) | tiles(op.operands)
        if not op.regions:
            return live
        inside = outer_tiles(op)
        # A loop needs what is from outside in each of its steps.
        through = after - results
        if not isinstance(op, IfOp):
            through |= inside
        for region in op.regions:
            for block in region.blocks:
                self.block(block, through)
        return live | inside

    def _note(self, live: Live) -> None:
        for shape, number in Counter(map(shape_of, live)).items():
            self.most[shape] = max(self.most[shape], number)


def outer_tiles(op: Operation) -> Live:
    """Return the tiles from outside that are used in an operation's regions."""
    used: set[SSAValue] = set()
    own: set[SSAValue] = set()
    for region in op.regions:
        for inner in region.walk():
            used |= tiles(inner.operands)
            own |= set(inner.results)
        own |= {x for block in region.blocks for x in block.args}
        for inner in region.walk():
            own |= {x for r in inner.regions for b in r.blocks for x in b.args}
    return frozenset(used - own)


def most_live(block: Block) -> Counter[Shape]:
    """Return how many tiles of each shape live at once in a function's block."""
    found = Liveness()
    found.block(block, frozenset())
    return found.most


def sink_loads(block: Block) -> None:
    """Move loads of tiles down to their first use, where nothing is written between.

    What is carried round a loop, or used in one, is not moved into it.
    """
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                sink_loads(inner)
        if isinstance(op, amx.TileLoadOp) and (target := _first_use(op)) is not None:
            op.detach()
            block.insert_op_before(op, target)


def _first_use(op: amx.TileLoadOp) -> Operation | None:
    """Return before what a load can stand; None if it stays where it is."""
    users = {use.operation for use in op.result.uses}
    following = op.next_op
    while following is not None:
        if following in users or following.regions or _writes(following):
            break
        following = following.next_op
    return None if following is op.next_op else following


def _writes(op: Operation) -> bool:
    if op.dialect_name() in ("amx", "vector", "memref"):
        return not op.results or op.name.startswith("memref.atomic")
    return op.dialect_name() not in ("arith", "math")


def is_plain_loop(op: Operation) -> bool:
    """Whether an operation passes tiles on in a way that memory can, too."""
    return isinstance(op, ForOp | IfOp)


INDEX = IndexType()


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


@dataclass(frozen=True)
class FitAmxTilesPass(ModulePass):
    """Keep tiles in as many registers as there are."""

    name = "fit-amx-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fit all functions of `op`."""
        functions = [
            each
            for each in op.walk()
            if isinstance(each, FuncOp)
            and len(each.body.blocks) == 1
            and any(inner.dialect_name() == "amx" for inner in each.walk())
        ]
        for func in functions:
            sink_loads(func.body.block)
            copy_choices(func)
        crowded: list[FuncOp] = []
        for func in functions:
            reason = why_in_memory(most_live(func.body.block), may_call(func))
            if reason is None:
                continue
            _check(func, reason)
            crowded.append(func)
        for func in crowded:
            MemoryForm(func.body.block).rewrite()


def may_call(func: FuncOp) -> bool:
    """Whether a function calls others, or LLVM may call a library's."""
    return any(
        op.name == "func.call"
        or op.name == "arith.remf"
        or (op.dialect_name() == "math" and op.name not in INSTRUCTIONS)
        for op in func.walk()
    )


INSTRUCTIONS = ("math.absf", "math.absi", "math.sqrt", "math.copysign")

"""Of math, what every processor with AMX has."""


def _check(func: FuncOp, reason: str) -> None:
    """Refuse what has no form in memory."""
    for op in func.walk():
        why = _unsupported(op)
        if why is not None:
            whole = f"{reason}: {why}"
            op.emit_error(whole, PassFailedException(whole))


def _unsupported(op: Operation) -> str | None:
    """Return why an operation on tiles has no form in memory, or None."""
    if isinstance(op, amx.TileLoadOp | amx.TileStoreOp):
        return None if op.stride is None else "expected the stride of the memref"
    values = tiles((*op.operands, *op.results))
    if not values or op.dialect_name() == "amx" or op.name == "scf.yield":
        return None
    return None if is_plain_loop(op) else "expected tiles in scf.for and scf.if alone"
