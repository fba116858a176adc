"""fit-amx-tiles: spills AMX tiles where LLVM's register allocator cannot.

Before:  any number of tiles of any shapes.
After:   loads sink to the first use of their tile; tiles that control flow only selects
         are loaded where they are selected; a function with too many live tiles of
         different shapes keeps all of its tiles on the stack.
Fails:   if such a function passes tiles through control flow other than scf.for and
         scf.if, or its accesses have strides other than their memref. The module is
         then unchanged.

Each function goes through four steps:

1. Loads sink to their first use (`sink_loads`), so that fewer tiles are live at once.

2. Tiles that control flow only selects are loaded where they are selected, except for
   one of them (`reload_choices`):

       %t = scf.if %c {                          %t = scf.if %c {
         scf.yield %x                              scf.yield %x
       } else {                                  } else {
         scf.yield %y                              store %y, %slot
       }                                           %z = load %slot
                                                   scf.yield %z
                                                 }

LLVM would turn such a choice into a select, which x86 does not have for tiles, and
abort.  Of the values that a loop carries, the initial one stays.

3. `most_live` counts the live tiles of each shape; `why_spill_tiles` decides.

4. `TileSpiller` gives each tile a slot on the stack, as large as a tile can be:

       %t = amx.tile_mulf %x, %y, %s     load %x_slot, %y_slot, %s_slot; multiply;
                                         store into %t_slot

All registers then have one shape, 16 rows of 64 bytes, and three are enough.  A slot is
zero outside of its tile, so products of the padding add nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, IndexSwitchOp, WhileOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from coopc.dialects import amx
from coopc.dialects.amx import (
    MAX_ROW_BYTES,
    MAX_ROWS,
    TileType,
    element_bytes,
    tile_type,
)
from coopc.dialects.memref_forms import PrefetchOp
from coopc.dialects.narrow import memref_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.control_flow import defined_by
from coopc.ir.split_values import Parts, Rule, Splitter, split_values
from coopc.ir.stack_buffer import stack_buffer
from coopc.ir.transaction import Refused, transaction
from coopc.plan.amx_tiles import AMX

Shape = tuple[int, int]
"""Rows of a tile, and bytes of a row."""
Live = frozenset[SSAValue]


@dataclass(frozen=True)
class FitAmxTilesPass(ModulePass):
    name = "fit-amx-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            for func in tuple(draft.walk()):
                if (
                    isinstance(func, FuncOp)
                    and len(func.body.blocks) == 1
                    and any(x.dialect_name() == "amx" for x in func.walk())
                ):
                    sink_loads(func.body.block)
                    reload_choices(func)
                    most = most_live(func.body.block)
                    if reason := why_spill_tiles(most, may_call(func)):
                        TileSpiller(func, reason).run()


# When to spill


def why_spill_tiles(most: Mapping[Shape, int], calls: bool = False) -> str | None:
    """Return why the tiles of a function are kept in memory, or None.

    LLVM configures tiles once a function: a register has one shape from beginning to
    end.  So what counts is the sum over all shapes of how many tiles of that shape live
    at once.  Of a single shape LLVM spills what is too many, and what a call would
    destroy.  Of several it stops, or reloads into registers of other shapes; and its
    choice is not always the best, so that one register is left over.

    Args:
        most: how many tiles of each shape live at once, at most.
        calls: whether the function may call others.

    >>> why_spill_tiles({(16, 64): 12})
    >>> why_spill_tiles({(16, 64): 4, (5, 64): 3})
    >>> why_spill_tiles({(16, 64): 6, (5, 64): 3})
    'tiles of 2 shapes need 9 registers, 7 are for several shapes'
    >>> why_spill_tiles({(16, 64): 1, (5, 64): 1}, calls=True)
    'tiles of 2 shapes may live across a call'
    """
    needed = sum(most.values())
    room = AMX.tiles - 1
    if len(most) < 2:
        return None
    if calls:
        return f"tiles of {len(most)} shapes may live across a call"
    if needed <= room:
        return None
    return (
        f"tiles of {len(most)} shapes need {needed} registers, "
        f"{room} are for several shapes"
    )


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


# Liveness


def tiles(values: Iterable[SSAValue]) -> Live:
    return frozenset(x for x in values if isinstance(x.type, TileType))


def shape_of(value: SSAValue) -> Shape:
    """Return the rows of a tile, and the bytes of one."""
    tile = tile_type(value)
    return tile.shape[0], tile.row_bytes


def live_before(block: Block, after: Live, most: Counter[Shape]) -> Live:
    """Go through a block of structured code backwards.

    Args:
        block: the block.
        after: tiles that live when it ends, beside what its terminator takes.
        most: how many tiles of each shape live at once; raised to what lives here.

    Returns:
        Tiles that live when it begins.
    """
    live = after
    for op in reversed(list(block.ops)):
        results = tiles(op.results)
        most |= Counter(map(shape_of, live | results))
        # A loop needs what is from outside in each of its steps.
        inside, through = outer_tiles(op), live - results
        inner = through if isinstance(op, IfOp) else through | inside
        for each in (x for region in op.regions for x in region.blocks):
            live_before(each, inner, most)
        live = through | tiles(op.operands) | inside
        most |= Counter(map(shape_of, live))
    return live - tiles(block.args)


def outer_tiles(op: Operation) -> Live:
    """Return the tiles from outside that are used in an operation's regions."""
    inside = [inner for region in op.regions for inner in region.walk()]
    used = {x for inner in inside for x in tiles(inner.operands)}
    return frozenset(used.difference(*map(defined_by, (op, *inside))))


def most_live(block: Block) -> Counter[Shape]:
    """Return how many tiles of each shape live at once in a function's block."""
    most: Counter[Shape] = Counter()
    live_before(block, frozenset(), most)
    return most


# Loads


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
        is_hint = isinstance(op, PrefetchOp)
        return not (op.results or is_hint) or op.name.startswith("memref.atomic")
    return op.dialect_name() not in ("arith", "math")


# Choices


def reload_choices(func: FuncOp) -> None:
    """Load tiles where they are chosen, as far as nothing is computed there."""
    start = _start(func)
    for op in tuple(func.walk()):
        if isinstance(op, ForOp | IfOp | IndexSwitchOp | WhileOp):
            for end, place in _chosen(op):
                tile, b = end.operands[place], Builder.at(end)
                type = tile_type(tile)
                slot = stack_buffer(start, type.shape, type.element_type, None)
                at = [start.constant(INDEX, 0)] * 2
                b.effect(amx.TileStoreOp(slot, at, tile))
                (new,) = b.effect(amx.TileLoadOp(slot, at, type)).results
                new.name_hint = tile.name_hint
                end.operands[place] = new


def _start(func: FuncOp) -> Builder:
    """Return a builder at the start of a function, for constants and slots."""
    first = func.body.block.first_op
    assert first is not None, func
    return Builder.at(first)


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


# Memory


def whole(element: Attribute) -> TileType:
    """Return the largest tile of an element type."""
    return TileType.of(MAX_ROWS, MAX_ROW_BYTES // element_bytes(element), element)


class TileSpiller:
    """Puts the tiles of one function into memory.

    Control flow first copies slots to where it passes tiles on; then it passes none.
    """

    def __init__(self, func: FuncOp, reason: str) -> None:
        self.func = func
        self.reason = reason
        """Why they go there."""
        self.start = _start(func)
        self.slots: dict[SSAValue, SSAValue] = {}
        """Where tiles are."""

    def run(self) -> None:
        """Rewrite the function.

        Raises:
            Refused: an operation on tiles has no form in memory.
        """
        for op in self.func.walk():
            self._give_slots(op)
        removed = {value: Parts(()) for value in self.slots}
        for op in tuple(self.func.walk()):
            if isinstance(op, ForOp):
                self._copy(op, op.iter_args, op.res)
            if isinstance(op, ForOp | IfOp):
                for end in _ends(op):
                    self._copy(end, end.operands, op.results)
        rules: dict[type[Operation], Rule] = {
            amx.TileZeroOp: self._zero,
            amx.TileLoadOp: self._load,
            amx.TileStoreOp: self._store,
            amx.TileMulFOp: self._product,
            amx.TileMulIOp: self._product,
        }
        split_values(self.func, removed, rules)

    def _give_slots(self, op: Operation) -> None:
        """Give the tiles of an operation memory; all rounds of a loop have the same."""
        passes_on = isinstance(op, ForOp | IfOp | YieldOp)
        is_known = op.dialect_name() == "amx" or passes_on
        if not is_known and tiles((*op.operands, *defined_by(op))):
            what = f"{self.reason}: expected tiles in scf.for and scf.if alone"
            raise Refused(op, what)
        for value in op.results:
            if isinstance(value.type, TileType):
                self.slots[value] = self._slot(tile_type(value), value.name_hint)
        if isinstance(op, ForOp):
            for value, result in zip(op.body.block.args[1:], op.res, strict=True):
                if result in self.slots:
                    self.slots[value] = self.slots[result]

    def _slot(self, type: TileType, name: str | None) -> SSAValue:
        element = type.element_type
        return stack_buffer(self.start, whole(element).shape, element, name)

    def _get(self, b: Builder, slot: SSAValue) -> SSAValue:
        zero = self.start.constant(INDEX, 0)
        tile = whole(memref_type(slot).get_element_type())
        return b.effect(amx.TileLoadOp(slot, [zero, zero], tile)).results[0]

    def _put(self, b: Builder, tile: SSAValue, slot: SSAValue) -> None:
        zero = self.start.constant(INDEX, 0)
        b.effect(amx.TileStoreOp(slot, [zero, zero], tile))

    def _copy(
        self, where: Operation, given: Sequence[SSAValue], targets: Sequence[SSAValue]
    ) -> None:
        """Copy the slots of some tiles to those of others, as if at once."""
        b = Builder.at(where)
        moving = [
            (self.slots[x], self.slots[y])
            for x, y in zip(given, targets, strict=True)
            if y in self.slots and self.slots[x] is not self.slots[y]
        ]
        if {source for source, _ in moving} & {target for _, target in moving}:
            through: list[tuple[SSAValue, SSAValue]] = []
            for source, target in moving:
                tile = self._get(b, source)
                between = self._slot(tile_type(tile), tile.name_hint)
                self._put(b, tile, between)
                through.append((between, target))
            moving = through
        for source, target in moving:
            self._put(b, self._get(b, source), target)

    def _zero(
        self, op: amx.TileZeroOp | amx.TileLoadOp, b: Splitter
    ) -> Sequence[Values]:
        type = whole(tile_type(op.result).element_type)
        tile = b.effect(amx.TileZeroOp(type)).result
        self._put(b, tile, self.slots[op.result])
        return [()]

    def _load(self, op: amx.TileLoadOp, b: Splitter) -> Sequence[Values]:
        tile = tile_type(op.result)
        if tile != whole(tile.element_type):
            self._zero(op, b)
        self._copy_rows(op, op.result)
        return [()]

    def _store(self, op: amx.TileStoreOp, b: Splitter) -> Sequence[Values]:
        self._copy_rows(op, op.val)
        return []

    def _product(
        self, op: amx.TileMulFOp | amx.TileMulIOp, b: Splitter
    ) -> Sequence[Values]:
        operands = [self._get(b, self.slots[x]) for x in op.operands]
        result = whole(tile_type(op.result).element_type)
        new = b.like(op, operands, [result])
        self._put(b, new.results[0], self.slots[op.result])
        return [()]

    def _copy_rows(self, op: amx.TileLoadOp | amx.TileStoreOp, value: SSAValue) -> None:
        """Copy the rows of a tile between memory and its slot, each as a vector."""
        if op.stride is not None:
            what = f"{self.reason}: expected the stride of the memref"
            raise Refused(op, what)
        (rows, cols), b = tile_type(value).shape, Builder.at(op, self.start.built)

        def copy(row: BoundedIndex) -> None:
            outer = b.pure(arith.AddiOp, op.indices[-2], b.index(row))
            there = op.base, [*op.indices[:-2], outer, op.indices[-1]]
            here = self.slots[value], [b.index(row), self.start.constant(INDEX, 0)]
            is_load = isinstance(op, amx.TileLoadOp)
            source, target = (there, here) if is_load else (here, there)
            type = VectorType(tile_type(value).element_type, [cols])
            (elements,) = b.effect(vector.LoadOp(*source, type)).results
            b.effect(vector.StoreOp(elements, *target))

        b.repeat(rows, copy, "row")
