"""The kernel of a multiplication whose tiles go through work-group memory.

Where the tiles of a work-group are inside of memory:

    copy the first tiles of A and B to work-group memory, load the pieces of the second
    for k:
        multiply what is in work-group memory, every subgroup its part,
            each time with the matrices of the next multiplication loaded before
        of the last multiplication of the step:
            barrier, with one stage only: all have loaded their matrices
            half of it
            store the pieces that registers hold, load those of the step after the next
            a quarter of it
            barrier: all have stored their pieces
            load the first matrices of the next step
            the last quarter
    store C

The parts of the last multiplication hide the time that the others take.  Where tiles
reach over an edge: a copy that checks each element, a barrier, the multiplications, a
barrier; and a checked store of C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import BoolAttr, IndexType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.dialects import coopmatrix, simt
from coopc.passes.khr.code import Code
from coopc.passes.khr.gemm_panel import Tile, size_of
from coopc.plan.khr_gemm import GemmPlan
from coopc.rewrite.multiplication import Multiplication, Operand

Values: TypeAlias = list[SSAValue]
Piece: TypeAlias = tuple[SSAValue, SSAValue]
"""The row of a tile, and the number of the piece in it."""
Pieces: TypeAlias = list[tuple[Tile, Piece]]
Loaded: TypeAlias = list[tuple[Tile, Piece, SSAValue]]
"""Pieces in registers."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a work-item is, and its work-group in C."""

    item: SSAValue
    """The number of the work-item in its work-group."""
    sub_row: SSAValue
    """The part of the work-group's tile that its subgroup computes."""
    sub_col: SSAValue
    row: SSAValue
    """The first row of C of the work-group."""
    col: SSAValue
    batch: SSAValue | None


@dataclass(frozen=True, slots=True)
class GemmKernel:
    """What the body of a kernel is made from."""

    found: Multiplication
    plan: GemmPlan
    a: Tile
    b: Tile
    place: Place
    first: SSAValue | None
    """What C is before; None where it is what it was."""
    signed: coopmatrix.SignedAttr | None

    @property
    def depth(self) -> int:
        """K of one multiplication."""
        return self.plan.shape.k

    @property
    def tiles(self) -> tuple[tuple[Tile, SSAValue, int], ...]:
        """The tiles, with the subgroup's part of each and its size."""
        m, n = self.plan.tiles.subgroup
        place = self.place
        return (self.a, place.sub_row, m), (self.b, place.sub_col, n)

    @property
    def parts(self) -> int:
        """Parts along N of what a subgroup computes."""
        return sum(self.plan.parts)

    # --- C -------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """N of the parts in which a subgroup computes."""
        return self.plan.tiles.subgroup[1] // self.parts

    @property
    def c_type(self) -> coopmatrix.MatrixType:
        """What a subgroup computes in one part."""
        element: Attribute = self.found.c.type.get_element_type()
        shape = self.plan.tiles.subgroup[0], self.columns
        return coopmatrix.MatrixType.of(*shape, element, coopmatrix.Use.ACC)

    def _c_positions(self, code: Code) -> list[tuple[coopmatrix.Layout, Values]]:
        place, (m, n) = self.place, self.plan.tiles.subgroup
        row = code.add(code.mul(place.sub_row, m), place.row)
        col = code.add(code.mul(place.sub_col, n), place.col)
        cols = [code.add(col, at * self.columns) for at in range(self.parts)]
        return [placed(self.found.c, row, x, place.batch) for x in cols]

    def initial(
        self, code: Code, checked: coopmatrix.CheckedAttr | None = None
    ) -> Values:
        """Insert what the sums begin with."""
        type = self.c_type
        if self.first is not None:
            return [code.get(coopmatrix.FillOp(self.first, type))] * self.parts
        memory = self.found.c.memory
        return [
            code.get(coopmatrix.LoadOp(memory, at, type, layout, checked))
            for layout, at in self._c_positions(code)
        ]

    def finish(
        self,
        code: Code,
        totals: Sequence[SSAValue],
        checked: coopmatrix.CheckedAttr | None = None,
    ) -> None:
        """Insert the stores of C."""
        memory = self.found.c.memory
        for total, (layout, at) in zip(totals, self._c_positions(code), strict=True):
            code.do(coopmatrix.StoreOp(total, memory, at, layout, checked))

    # --- one step along K ----------------------------------------------------------

    def origin(self, tile: Tile, k: SSAValue) -> Values:
        """Return where in memory a tile begins."""
        place = self.place
        pair = (place.row, k) if tile is self.a else (k, place.col)
        _, found = placed(tile.operand, *pair, place.batch)
        return found

    def pieces(self, code: Code) -> Pieces:
        """Insert which pieces of both tiles the work-item copies."""
        item = self.place.item
        return [(x, at) for x in (self.a, self.b) for at in x.pieces(code, item)]

    def load(self, code: Code, pieces: Pieces, k: SSAValue) -> Loaded:
        """Insert the loads of the pieces of both tiles."""
        origins = {id(x): self.origin(x, k) for x in (self.a, self.b)}
        return [
            (tile, at, tile.load(code, tile.position(code, origins[id(tile)], *at)))
            for tile, at in pieces
        ]

    def store(self, code: Code, loaded: Loaded, stage: SSAValue | int) -> None:
        """Insert the stores of pieces to work-group memory."""
        for tile, at, words in loaded:
            tile.store(code, words, (stage, *at))

    def copy_checked(self, code: Code, k: SSAValue) -> None:
        """Insert a copy of both tiles to the first stage, zeros beyond the edges."""
        for tile in (self.a, self.b):
            self.copy_tile(code, tile, k)

    def copy_tile(self, code: Code, tile: Tile, k: SSAValue, stage: int = 0) -> None:
        """Insert a copy of a tile to a stage, zeros beyond the edges."""
        origin = self.origin(tile, k)

        def turn(code: Code, n: SSAValue, _: Values) -> Values:
            at = tile.piece(code, self.place.item, n)
            position = tile.position(code, origin, *at)
            tile.store(code, tile.load_checked(code, position), (stage, *at))
            return []

        bounds = code.index(0), code.index(tile.passes), code.index(1)
        loop(code, bounds, [], turn, unroll=False)

    def views(self, code: Code, stage: SSAValue | int) -> Values:
        """Insert the views of what the subgroup multiplies."""
        return [tile.part(code, stage, at, size) for tile, at, size in self.tiles]

    def matrices(self, code: Code, views: Values, k: int) -> Values:
        """Insert the loads of the matrices of one multiplication: A, parts of B."""
        a_part, b_part = views
        m, n = self.plan.tiles.subgroup[0], self.columns
        found = [self.a.matrix(code, a_part, k, self.depth, 0, m)]
        for at in range(self.parts):
            b = self.b.matrix(code, b_part, k, self.depth, at * n, n)
            found.append(b)
        return found

    def multiply(
        self, code: Code, matrices: Values, totals: Values, chosen: Sequence[int]
    ) -> Values:
        """Insert the multiplications of some parts; return all totals."""
        a, *b = matrices
        found = [*totals]
        for at in chosen:
            op = coopmatrix.MulAddOp(a, b[at], found[at], signed=self.signed)
            found[at] = code.get(op)
        return found

    def multiply_stage(self, code: Code, totals: Values) -> Values:
        """Insert all multiplications of the first stage."""
        views, every = self.views(code, 0), range(self.parts)
        for k in range(0, self.plan.tiles.step, self.depth):
            matrices = self.matrices(code, views, k)
            totals = self.multiply(code, matrices, totals, every)
        return totals

    def k_end(self, code: Code) -> SSAValue:
        """Insert the size along K."""
        return size_of(code, self.found.a, self.found.a.dimensions[1])

    # --- the ways ------------------------------------------------------------------

    def slow(self, code: Code) -> None:
        """Insert the way across edges."""
        checked = coopmatrix.CheckedAttr(frozenset(coopmatrix.Axis))
        bounds = code.index(0), self.k_end(code), code.index(self.plan.tiles.step)
        first = self.initial(code, checked)
        # Written out, it slows down the way inside of memory.
        found = loop(code, bounds, first, self.slow_step, unroll=False)
        self.finish(code, found, checked)

    def slow_step(self, code: Code, k: SSAValue, totals: Values) -> Values:
        """Insert a step along K across edges."""
        self.copy_checked(code, k)
        barrier(code)
        totals = self.multiply_stage(code, totals)
        barrier(code)
        return totals

    def fast(self, code: Code) -> None:
        """Insert the way inside of memory; there is at least one step along K."""
        step = self.plan.tiles.step
        zero, end = code.index(0), self.k_end(code)
        last = code.get(arith.SubiOp(end, code.index(step)))
        pieces = self.pieces(code)

        def loaded(code: Code, k: SSAValue) -> Values:
            # After the last step there is no next one: its tiles are loaded again.
            k = code.get(arith.MinSIOp(k, last))
            return [words for *_, words in self.load(code, pieces, k)]

        totals = self.initial(code)
        self.store(code, self.load(code, pieces, zero), 0)
        words = loaded(code, code.index(step))
        barrier(code)
        matrices = self.matrices(code, self.views(code, 0), 0)
        state = State(totals, zero, matrices, words)

        def body(code: Code, k: SSAValue, carried: Values) -> Values:
            now = state.of(carried)
            following = code.add(k, 2 * step)
            self._step(code, now, pieces, lambda: loaded(code, following))
            return now.values

        bounds = zero, end, code.index(step)
        unroll = self.plan.tiles.unroll
        self.finish(code, loop(code, bounds, state.values, body, unroll)[: self.parts])

    def _step(
        self, code: Code, now: State, pieces: Pieces, load: Callable[[], Values]
    ) -> None:
        """Insert a step; see the top of the file."""
        views, every = self.views(code, now.stage), range(self.parts)
        for k in range(self.depth, self.plan.tiles.step, self.depth):
            matrices = self.matrices(code, views, k)
            now.totals = self.multiply(code, now.matrices, now.totals, every)
            now.matrices = matrices
        first, second, _ = self.plan.parts
        before, between = every[:first], every[first : first + second]
        other = self._other(code, now.stage)
        if self.plan.tiles.stages == 1:
            barrier(code)
        now.totals = self.multiply(code, now.matrices, now.totals, before)
        held = [(*x, words) for x, words in zip(pieces, now.words, strict=True)]
        self.store(code, held, other)
        now.words = load()
        now.totals = self.multiply(code, now.matrices, now.totals, between)
        barrier(code)
        matrices = self.matrices(code, self.views(code, other), 0)
        after = every[first + second :]
        now.totals = self.multiply(code, now.matrices, now.totals, after)
        now.stage, now.matrices = other, matrices

    def _other(self, code: Code, stage: SSAValue) -> SSAValue:
        """Insert the number of the stage that the next tiles go to."""
        if self.plan.tiles.stages == 1:
            return stage
        return code.get(arith.SubiOp(code.index(1), stage))


@dataclass(slots=True)
class State:
    """What the loop along K carries."""

    totals: Values
    """The parts of C."""
    stage: SSAValue
    """What is multiplied in this step."""
    matrices: Values
    """Those of the first multiplication of the step."""
    words: Values
    """The pieces of the next step's tiles."""

    @property
    def values(self) -> Values:
        """All of it."""
        return [*self.totals, self.stage, *self.matrices, *self.words]

    def of(self, values: Values) -> State:
        """The same from other values."""
        count, more = len(self.totals), len(self.matrices)
        stage, *rest = values[count:]
        return State(values[:count], stage, rest[:more], rest[more:])


def placed(
    operand: Operand, row: SSAValue, col: SSAValue, batch: SSAValue | None
) -> tuple[coopmatrix.Layout, Values]:
    """Return the layout, and the position in memory of element (row, col)."""
    layouts = coopmatrix.Layout
    pair = [col, row] if operand.transposed else [row, col]
    lead = [] if batch is None else [batch]
    layout = layouts.COL_MAJOR if operand.transposed else layouts.ROW_MAJOR
    return layout, [*lead, *pair]


def barrier(code: Code) -> None:
    """Insert a barrier of the work-group, for its own memory.

    One that is for all memory waits for all loads.
    """
    memory = simt.MemorySpace.WORKGROUP
    code.do(simt.BarrierOp(simt.FenceScope.WORKGROUP, memory))


def loop(
    code: Code,
    bounds: Sequence[SSAValue],
    first: Values,
    body: Callable[[Code, SSAValue, Values], Values],
    unroll: bool | None = None,
) -> Sequence[SSAValue]:
    """Insert a loop that carries values, and return what they are in the end."""
    block = Block(arg_types=[IndexType(), *(x.type for x in first)])
    k, *carried = block.args
    inner = Code(InsertPoint.at_end(block))
    results = body(inner, k, [*carried])
    inner.do(scf.YieldOp(*results))
    start, end, step = bounds
    op: Operation = scf.ForOp(start, end, step, first, block)
    if unroll is not None:
        op.attributes[simt.UNROLL] = BoolAttr.from_bool(unroll)
    code.do(op)
    return op.results
