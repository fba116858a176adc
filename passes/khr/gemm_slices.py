"""The kernel of a multiplication of which B comes in slices.

A slice is the K of one multiplication; three of them are in work-group memory, and one
tile of A (see `coopc.plan.khr_gemm`).  Where the tiles of a work-group are inside of
memory, with s slices a step:

    copy the first tile of A and two slices of B, load the pieces of the next
    load the matrices of slice 0
    for k:
        for slice i of 0 .. s - 2:
            load the matrices of slice i + 1
            store slice i + 2 of B from registers, load slice i + 4
            multiply slice i
            barrier: all have loaded slice i + 1, and stored slice i + 2
        store the next tile of A, and slice 1 of the next step; load those after them
        most of the multiplication of slice s - 1
        barrier: all have stored the tile of A
        load the matrices of slice 0 of the next step
        the rest of the multiplication

Behind each barrier but the last, the matrices of the next multiplication are in
registers.  Between two barriers a slot is either read or written: the matrices of
slices 0 and 1 are read while slice 2 goes to the third slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from coopc.passes.khr.code import Code
from coopc.passes.khr.gemm_kernel import GemmKernel, Piece, Values, barrier, loop
from coopc.passes.khr.gemm_panel import Tile

Feeds: TypeAlias = tuple["Feed", "Feed"]
"""Of A and of B."""


@dataclass(frozen=True, slots=True)
class Feed:
    """How a tile comes to work-group memory."""

    tile: Tile
    pieces: list[Piece]
    """Those that the work-item copies."""
    last: SSAValue
    """Where the last tile begins along K."""

    def store(self, code: Code, words: Values, slot: int) -> None:
        """Insert the stores of pieces."""
        for at, each in zip(self.pieces, words, strict=True):
            self.tile.store(code, each, (slot, *at))


@dataclass(slots=True)
class Now:
    """What the loop along K carries."""

    totals: Values
    """The parts of C."""
    matrices: Values
    """Those of the next multiplication."""
    a: Values
    """The pieces of the next tile of A."""
    b: list[Values]
    """The pieces of the next two slices of B that are stored."""

    @property
    def values(self) -> Values:
        """All of it."""
        first, second = self.b
        return [*self.totals, *self.matrices, *self.a, *first, *second]

    def of(self, values: Values) -> Now:
        """The same from other values."""
        left, found = values, list[Values]()
        for each in (self.totals, self.matrices, self.a, *self.b):
            found.append(left[: len(each)])
            left = left[len(each) :]
        totals, matrices, a, *b = found
        return Now(totals, matrices, a, b)


@dataclass(frozen=True, slots=True)
class SlicedKernel(GemmKernel):
    """What the body of a kernel is made from, with B in slices."""

    @property
    def slices(self) -> int:
        """Slices of a step."""
        return self.plan.tiles.step // self.depth

    def slice_matrices(self, code: Code, number: int) -> Values:
        """Insert the loads of the matrices of a slice: A, parts of B."""
        (a, a_at, m), (b, b_at, n) = self.tiles
        a_part = a.part(code, 0, a_at, m)
        b_part = b.part(code, self.plan.slots[number], b_at, n)
        found = [a.matrix(code, a_part, number * self.depth, self.depth, 0, m)]
        for part in range(self.parts):
            at = part * self.columns
            found.append(b.matrix(code, b_part, 0, self.depth, at, self.columns))
        return found

    # --- across edges --------------------------------------------------------------

    def slow_step(self, code: Code, k: SSAValue, totals: Values) -> Values:
        """Insert a step along K across edges."""
        self.copy_tile(code, self.a, k)
        for number, slot in enumerate(self.plan.slots):
            self.copy_tile(code, self.b, code.add(k, number * self.depth), slot)
            barrier(code)
            matrices = self.slice_matrices(code, number)
            totals = self.multiply(code, matrices, totals, range(self.parts))
        barrier(code)
        return totals

    # --- inside --------------------------------------------------------------------

    def fast(self, code: Code) -> None:
        """Insert the way inside of memory; there is at least one step along K."""
        step = self.plan.tiles.step
        zero, end = code.index(0), self.k_end(code)
        feeds = self._feed(code, self.a, end, step), self._feed(code, self.b, end)
        now = self._begin(code, feeds)

        def body(code: Code, k: SSAValue, carried: Values) -> Values:
            state = now.of(carried)
            for number in range(self.slices - 1):
                self._slice(code, state, feeds, k, number)
            self._last_slice(code, state, feeds, k)
            return state.values

        bounds = zero, end, code.index(step)
        found = loop(code, bounds, now.values, body, self.plan.tiles.unroll)
        self.finish(code, found[: self.parts])

    def _feed(
        self, code: Code, tile: Tile, end: SSAValue, size: int | None = None
    ) -> Feed:
        last = code.get(arith.SubiOp(end, code.index(size or self.depth)))
        return Feed(tile, tile.pieces(code, self.place.item), last)

    def _load(self, code: Code, feed: Feed, k: SSAValue) -> Values:
        """Insert the loads of the pieces of a tile that begins at k."""
        # After the last tile there is no next one: it is loaded again.
        tile, k = feed.tile, code.get(arith.MinSIOp(k, feed.last))
        origin = self.origin(tile, k)
        return [tile.load(code, tile.position(code, origin, *at)) for at in feed.pieces]

    def _begin(self, code: Code, feeds: Feeds) -> Now:
        """Insert what is before the loop along K."""
        a, b = feeds
        step, depth = self.plan.tiles.step, self.depth
        totals = self.initial(code)
        a.store(code, self._load(code, a, code.index(0)), 0)
        for number in (0, 1):
            b.store(code, self._load(code, b, code.index(number * depth)), number)
        a_words = self._load(code, a, code.index(step))
        b_words = [self._load(code, b, code.index(n * depth)) for n in (2, 3)]
        barrier(code)
        return Now(totals, self.slice_matrices(code, 0), a_words, b_words)

    def _next_slice(
        self, code: Code, now: Now, feed: Feed, k: SSAValue, number: int
    ) -> None:
        """Insert the store of the slice after the next, the load of a later one."""
        words, following = now.b
        feed.store(code, words, self.plan.slots[(number + 2) % self.slices])
        later = self._load(code, feed, code.add(k, (number + 4) * self.depth))
        now.b = [following, later]

    def _slice(
        self, code: Code, now: Now, feeds: Feeds, k: SSAValue, number: int
    ) -> None:
        """Insert the multiplication of a slice that is not the last of a step."""
        matrices = self.slice_matrices(code, number + 1)
        self._next_slice(code, now, feeds[1], k, number)
        every = range(self.parts)
        now.totals = self.multiply(code, now.matrices, now.totals, every)
        barrier(code)
        now.matrices = matrices

    def _last_slice(self, code: Code, now: Now, feeds: Feeds, k: SSAValue) -> None:
        """Insert the multiplication of the last slice; see the top of the file."""
        a, b = feeds
        *_, after = self.plan.parts
        every = range(self.parts)
        most = self.parts - after
        a.store(code, now.a, 0)
        now.a = self._load(code, a, code.add(k, 2 * self.plan.tiles.step))
        self._next_slice(code, now, b, k, self.slices - 1)
        now.totals = self.multiply(code, now.matrices, now.totals, every[:most])
        barrier(code)
        matrices = self.slice_matrices(code, 0)
        now.totals = self.multiply(code, now.matrices, now.totals, every[most:])
        now.matrices = matrices
