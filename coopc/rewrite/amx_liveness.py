"""Which tiles live at once, in structured code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xdsl.dialects.scf import ForOp, IfOp
from xdsl.ir import Block, Operation, SSAValue

from coopc.dialects import amx
from coopc.dialects.amx import TileType, tile_type
from coopc.plan.amx_registers import Shape

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
