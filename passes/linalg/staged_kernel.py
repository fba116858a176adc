"""The kernel of several subgroups, whose tiles go through work-group memory.

What a work-group does in a step along K is a schedule of `coopc.plan.gemm_schedule`;
here each action of it becomes text.  There are two loops along K, one for work-groups
whose tiles are inside of memory, and one that checks each element:

    if inside:                             else:
      the beginning of the pipeline          for k:
      for k:                                   a step with checked copies
        a step of it                         store C, checked
      store C

Piece number p of a tile is copied by work-item p modulo the work-items of the
work-group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from coopc.passes.linalg.kernel_text import Memory, Operands, kernel, size, zero
from coopc.plan.gemm import AXES, Axis, GemmPlan, Panel, Problem, Source
from coopc.plan.gemm_schedule import (
    Actions,
    Barrier,
    Copy,
    Fetch,
    Multiply,
    Read,
    Store,
    edge_schedule,
    pipelined_schedule,
    slot,
)

WORD_BYTES = 4
SPACE = "#simt.memory<workgroup>"
SOURCES: tuple[Source, Source] = ("a", "b")


def staged_kernel(problem: Problem, plan: GemmPlan) -> str:
    """Return the kernel by which several subgroups multiply."""
    return StagedKernel(Operands(problem), plan).text()


@dataclass(slots=True)
class Lines:
    """A part of a kernel: what was written there, and names of values for it."""

    numbers: count[int]
    text: list[str] = field(default_factory=list[str])

    def do(self, line: str) -> None:
        """Add an operation, or a part of one."""
        self.text.append(f"\n  {line}")

    def let(self, name: str, operation: str) -> str:
        """Add an operation with one result, and return the name of that."""
        result = f"%{name}{next(self.numbers)}"
        self.do(f"{result} = {operation}")
        return result

    def index(self, operation: str, *operands: str) -> str:
        """Add arithmetic on indices."""
        return self.let("i", f"arith.{operation} {', '.join(operands)} : index")

    def __str__(self) -> str:
        return "".join(self.text)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a tile that a work-item copies."""

    rows: Sequence[str]
    """The row of each in the tile."""
    pieces: Sequence[str]
    """The number of each in its row."""
    outer: Sequence[str]
    """Where each begins in memory, along the dimension that is not K."""
    inner: Sequence[str]
    """How far behind the tile's first k each begins."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The tiles of A or B: where they come from, and where they are."""

    source: Source
    memory: Memory
    panel: Panel
    work_items: int
    products: int
    """Products of a step that a tile is for, and K of it in `depth`."""
    depth: int

    @property
    def k(self) -> int:
        """K of a tile."""
        return self.products * self.depth

    @property
    def words(self) -> str:
        """The type of a piece in work-group memory: words of 32 bits."""
        count = self.panel.width // WORD_BYTES
        return "i32" if count == 1 else f"vector<{count}xi32>"

    @property
    def vector(self) -> str:
        """The type of a piece in registers."""
        return f"vector<{self.panel.per_piece}x{self.memory.element}>"

    @property
    def type(self) -> str:
        """The type of work-group memory: copies x rows x pieces and gap."""
        panel = self.panel
        shape = f"{panel.copies}x{panel.rows}x{panel.stride}"
        return f"memref<{shape}x{self.words}, {SPACE}>"

    @property
    def along_rows(self) -> bool:
        """Whether its rows go along K, so that subgroups share out the rows."""
        return (self.source == "a") != self.memory.matrix.transposed

    @property
    def turns(self) -> int:
        """Pieces that each work-item copies."""
        return self.panel.rows * self.panel.pieces // self.work_items

    def view_type(self, size: int) -> str:
        """Return the type of a subgroup's part, of `size` along M or N."""
        panel = self.panel
        shape = f"{panel.rows}x{size // panel.per_piece}"
        if self.along_rows:
            shape = f"{size}x{panel.pieces}"
        strides = f"strided<[{panel.stride}, 1], offset: ?>"
        return f"memref<{shape}x{self.words}, {strides}, {SPACE}>"


@dataclass(slots=True)
class State:
    """What the loop along K carries, by name."""

    totals: list[str]
    """The parts of C."""
    now: list[str] = field(default_factory=list[str])
    """The matrices of the product that is next: A, parts of B."""
    words: dict[Source, list[list[str]]] = field(
        default_factory=lambda: {"a": [], "b": []}
    )
    """The pieces of tiles in registers, the oldest first."""
    following: list[str] = field(default_factory=list[str])
    """The matrices of the product behind that; read in its midst."""
    done: int = 0
    """Parts of the next product that are done."""

    def values(self) -> list[str]:
        """Return all that is carried."""
        assert not self.following, self
        words = [x for of in SOURCES for tile in self.words[of] for x in tile]
        return [*self.totals, *self.now, *words]

    def renamed(self, new: Callable[[int], str]) -> State:
        """Return the same under other names, by number."""
        names = iter([new(number) for number in range(len(self.values()))])
        return State(
            [next(names) for _ in self.totals],
            [next(names) for _ in self.now],
            {of: [[next(names) for _ in x] for x in self.words[of]] for of in SOURCES},
        )


class StagedKernel:
    """Writes the kernel; what does not change along K is in `head`."""

    def __init__(self, its: Operands, plan: GemmPlan) -> None:
        self.its, self.plan = its, plan
        self.names: dict[tuple[str, ...], str] = {}
        self.pieces: dict[Source, Pieces] = {}
        numbers = count()
        self.head, self.lines = Lines(numbers), Lines(numbers)
        panels = zip(SOURCES, plan.panels, strict=True)
        self.tiles = {
            of: Tile(
                of,
                its.of(of),
                panel,
                plan.work_items,
                1 if of == "b" and plan.sliced else plan.products,
                plan.depth,
            )
            for of, panel in panels
        }
        m, n = plan.subgroup
        self.sizes = {"a": m, "b": n}
        self.stage = "%c0"
        """In which of two stages the tiles of a step are."""

    def add(self, lines: Lines, x: str, y: int) -> str:
        """Add a number to an index."""
        if x == "%c0":
            return f"%c{y}"
        return lines.index("addi", x, f"%c{y}") if y else x

    def mul(self, lines: Lines, x: str, y: int) -> str:
        """Multiply an index by a number."""
        return x if y == 1 else lines.index("muli", x, f"%c{y}")

    def div_mod(self, lines: Lines, x: str, y: int) -> tuple[str, str]:
        """Divide an index that is not negative: quotient and rest."""
        if y == 1:
            return x, "%c0"
        by = f"%c{y}"
        return lines.index("divui", x, by), lines.index("remui", x, by)

    # --- the whole -----------------------------------------------------------------

    def text(self) -> str:
        """Return the kernel."""
        self._place()
        for tile in self.tiles.values():
            self.head.do(f"%{tile.source}_tiles = memref.alloca() : {tile.type}")
        self.head.do(size(self.its.a, "cols", "%k_end"))
        inside = self._inside()
        ways = {True: self._fast, False: self._slow}
        if isinstance(inside, bool):
            ways[inside]()
        else:
            self.lines.do(f"scf.if {inside} {{")
            self._fast()
            self.lines.do("} else {")
            self._slow()
            self.lines.do("}")
        return kernel(self.its.arguments, f"{self.head}{self.lines}")

    def _place(self) -> None:
        """Write where a work-item is, and its work-group in C."""
        head, (m, n) = self.head, self.plan.group
        row, col = self._tile_numbers()
        if self.its.problem.batched:
            head.do("%batch = simt.workgroup_id z : index")
        head.do("%item = simt.local_id x : index")
        head.do("%subgroup = simt.subgroup_id : index")
        across = n // self.plan.subgroup[1]
        down, right = self.div_mod(head, "%subgroup", across)
        self.part = {"a": down, "b": right}
        """The part of the work-group's tile that the subgroup computes."""
        self.first = {"a": self.mul(head, row, m), "b": self.mul(head, col, n)}
        """The first row and column of C of the work-group."""

    def _tile_numbers(self) -> tuple[str, str]:
        """Write which tile of C the work-group computes: its row and column of tiles.

        In bands of some rows of tiles, work-groups follow each other column by column.
        """
        head, height = self.head, self.plan.band
        head.do("%group_x = simt.workgroup_id x : index")
        head.do("%group_y = simt.workgroup_id y : index")
        if not height:
            return "%group_y", "%group_x"
        head.do(f"""%cols = simt.num_workgroups x : index
  %rows = simt.num_workgroups y : index
  %before = arith.muli %group_y, %cols : index
  %number = arith.addi %before, %group_x : index
  %band_size = arith.muli %cols, %c{height} : index
  %band = arith.divui %number, %band_size : index
  %within = arith.remui %number, %band_size : index
  %band_row = arith.muli %band, %c{height} : index
  %rows_left = arith.subi %rows, %band_row : index
  %height = arith.minsi %rows_left, %c{height} : index
  %down = arith.remui %within, %height : index
  %tile_row = arith.addi %band_row, %down : index
  %tile_col = arith.divui %within, %height : index""")
        return "%tile_row", "%tile_col"

    def _inside(self) -> str | bool:
        """Write whether all that a work-group copies are whole pieces inside."""
        (m, n), step, head = self.plan.group, self.plan.step, self.head
        problem = self.its.problem
        answers: list[str | bool] = [
            self._ends_inside("rows", self.first["a"], m),
            self._ends_inside("cols", self.first["b"], n),
            self._is_multiple(self.its.a, "cols", step, 1),
        ]
        for tile, matrix in zip(
            self.tiles.values(), (problem.a, problem.b), strict=True
        ):
            per_piece = tile.panel.per_piece
            answers.append(matrix.row_alignment % per_piece == 0)
            if matrix.row_alignment == 0:
                # Rows follow each other: their length says where they begin.
                axis = AXES[not matrix.transposed]
                if not tile.along_rows or step % per_piece:
                    answers.append(self._is_multiple(tile.memory, axis, per_piece, 0))
        if False in answers:
            return False
        found: str | bool = True
        for answer in answers:
            if isinstance(answer, str):
                both = f"arith.andi {found}, {answer} : i1"
                found = head.let("in", both) if isinstance(found, str) else answer
        return found

    def _ends_inside(self, axis: Axis, start: str, size: int) -> str | bool:
        """Write whether a tile ends inside of C along an axis."""
        whole = self.its.c.matrix.shape[AXES.index(axis)]
        if whole is not None and whole % size == 0:
            return True
        end, all = self.add(self.head, start, size), self._size(self.its.c, axis)
        return self.head.let("in", f"arith.cmpi sle, {end}, {all} : index")

    def _is_multiple(
        self, memory: Memory, axis: Axis, of: int, least: int
    ) -> str | bool:
        """Write whether a size is a multiple, and that of at least some number."""
        known = memory.matrix.shape[AXES.index(axis)]
        if known is not None:
            return known % of == 0 and known >= least * of
        number = self._size(memory, axis)
        _, rest = self.div_mod(self.head, number, of)
        whole = self.head.let("in", f"arith.cmpi eq, {rest}, %c0 : index")
        if not least:
            return whole
        most = f"%c{least * of - 1}"
        enough = self.head.let("in", f"arith.cmpi slt, {most}, {number} : index")
        return self.head.let("in", f"arith.andi {whole}, {enough} : i1")

    def _size(self, memory: Memory, axis: Axis) -> str:
        """Return a size of a matrix, which is written once."""
        if memory.name == "%a" and axis == "cols":
            return "%k_end"
        key = (memory.name, axis)
        if key not in self.names:
            self.names[key] = f"{memory.name}_{axis}"
            self.head.do(size(memory, axis, self.names[key]))
        return self.names[key]

    # --- C -------------------------------------------------------------------------

    @property
    def acc(self) -> str:
        """The type of a part of C."""
        return self.its.matrix("acc", *self._product)

    @property
    def _product(self) -> tuple[int, int, int]:
        """M, N and K of a product of a part."""
        return self.plan.subgroup[0], self.plan.part_cols, self.plan.depth

    @property
    def _every_part(self) -> range:
        return range(sum(self.plan.parts))

    def _parts_of_c(self) -> list[tuple[str, str]]:
        """Return where the parts of the subgroup are in C."""
        head, (m, n) = self.head, self.plan.subgroup
        if ("c",) not in self.names:
            row = self.mul(head, self.part["a"], m)
            row = head.index("addi", row, self.first["a"])
            col = self.mul(head, self.part["b"], n)
            col = head.index("addi", col, self.first["b"])
            self.names["c",] = row
            for part in self._every_part:
                at = self.add(head, col, part * self.plan.part_cols)
                self.names["c", str(part)] = at
        return [(self.names["c",], self.names["c", str(x)]) for x in self._every_part]

    def _initial(self, checked: tuple[Axis, ...] = ()) -> State:
        """Write what the sums begin with."""
        found: list[str] = []
        for at in self._parts_of_c():
            result = f"%init{next(self.lines.numbers)}"
            self.lines.do(self.its.initial(result, at, self.acc, checked))
            found.append(result)
            if self.its.problem.fill != "nothing":
                return State(found * len(self._every_part))
        return State(found)

    def _finish(self, totals: Sequence[str], checked: tuple[Axis, ...] = ()) -> None:
        """Write the stores of C."""
        for total, at in zip(totals, self._parts_of_c(), strict=True):
            self.lines.do(self.its.c.store(total, at, self.acc, checked))

    # --- along K -------------------------------------------------------------------

    def _slow(self) -> None:
        """Write the way across edges."""
        schedule = edge_schedule(self.plan)
        # Written out, it slows down the way inside of memory.
        totals = self._loop(self._initial(AXES), schedule, unroll=False)
        self._finish(totals, AXES)

    def _fast(self) -> None:
        """Write the way inside of memory; there is at least one step along K."""
        begin, step = pipelined_schedule(self.plan)
        state = self._initial()
        self._write(state, begin, "%c0")
        state.now, state.following = state.following, []
        self._finish(self._loop(state, step, self.plan.unroll))

    def _loop(self, first: State, step: Actions, unroll: bool) -> Sequence[str]:
        """Write the loop along K, and return the sums."""
        lines, number = self.lines, next(self.lines.numbers)
        state = first.renamed(lambda at: f"%x{number}_{at}_")
        types = self._types(first)
        stages, given, yields = self._stages(first), first.values(), state.values()
        if stages:
            given, yields, types = (
                [*given, "%c0"],
                [*yields, "%stage"],
                [*types, "index"],
            )
        carried = zip(yields, given, strict=True)
        lines.do(
            f"%sums{number}:{len(types)} = scf.for %k = %c0 to %k_end step "
            f"%c{self.plan.step} "
            f"iter_args({', '.join(f'{x} = {y}' for x, y in carried)}) "
            f"-> ({', '.join(types)}) {{"
        )
        if stages:
            self.stage = "%stage"
            lines.do("%other = arith.subi %c1, %stage : index")
        self._write(state, step, "%k")
        ends = [*state.values(), *(["%other"] if stages else [])]
        self.stage = "%c0"
        lines.do(f"scf.yield {', '.join(ends)} : {', '.join(types)}")
        lines.do(f"}} {{simt.unroll = {str(unroll).lower()}}}")
        return [f"%sums{number}#{x}" for x in self._every_part]

    def _stages(self, first: State) -> bool:
        """Return whether the steps of a loop take two stages by turns."""
        return bool(first.now) and self.plan.panels[0].copies == 2

    def _types(self, state: State) -> list[str]:
        """Return the types of what a loop carries."""
        a, b = (self.its.matrix(use, *self._product) for use in SOURCES)
        found = [self.acc] * len(state.totals)
        if state.now:
            found += [a, *[b] * len(self._every_part)]
        for of in SOURCES:
            found += [self.tiles[of].words] * sum(map(len, state.words[of]))
        return found

    def _write(self, state: State, actions: Actions, k: str) -> None:
        """Write what is done in a step that begins at `k`."""
        for action in actions:
            match action:
                case Fetch(of, tile):
                    state.words[of].append(self._fetch(self.tiles[of], k, tile))
                case Store(of, tile):
                    self._store(of, tile, state.words[of].pop(0))
                case Copy(of, tile):
                    self._copy(self.tiles[of], k, tile)
                case Read(product):
                    state.following = self._read(product)
                case Multiply(first, end):
                    self._multiply(state, range(first, end))
                case Barrier():
                    # One that is for all memory waits for all loads.
                    self.lines.do("simt.barrier workgroup memory = <workgroup>")

    def _multiply(self, state: State, parts: Sequence[int]) -> None:
        """Write the products of some parts along N."""
        if not state.now:
            state.now, state.following = state.following, []
        a, *b = state.now
        for part in parts:
            result = f"%sum{next(self.lines.numbers)}"
            total = state.totals[part]
            self.lines.do(self.its.multiply(result, a, b[part], total, self._product))
            state.totals[part] = result
        state.done += len(parts)
        if state.done == len(self._every_part):
            state.now, state.following, state.done = state.following, [], 0

    # --- from work-group memory to matrices ------------------------------------------

    def _slot(self, of: Source, tile: int) -> str:
        """Return in which copy a tile is."""
        if self.tiles[of].panel.copies == 2 and self.stage != "%c0":
            return "%other" if tile else self.stage
        return f"%c{slot(self.plan, of, tile)}"

    def _read(self, product: int) -> list[str]:
        """Write the loads of the matrices of a product: A, parts of B."""
        found: list[str] = []
        cols = self.plan.part_cols
        for tile in self.tiles.values():
            number, within = divmod(product, tile.products)
            size, per_piece = self.sizes[tile.source], tile.panel.per_piece
            view = self._view(tile, self._slot(tile.source, number))
            type = self.its.matrix(tile.source, *self._product)
            parts = self._every_part if tile.source == "b" else range(1)
            for part in parts:
                k, at = within * tile.depth, part * cols
                places = (
                    (at, k // per_piece) if tile.along_rows else (k, at // per_piece)
                )
                place = ", ".join(f"%c{x}" for x in places)
                load = f"coopmatrix.load {view}[{place}] {tile.memory.layout}"
                types = f"{tile.view_type(size)} -> {type}"
                found.append(self.lines.let(tile.source, f"{load} : {types}"))
        return found

    def _view(self, tile: Tile, slot: str) -> str:
        """Return the subgroup's part of a copy of a tile, which is written once."""
        key = (tile.source, slot)
        if key in self.names:
            return self.names[key]
        is_known = slot.startswith("%c")
        lines, panel = self.head if is_known else self.lines, tile.panel
        size = self.sizes[tile.source]
        part = self.part[tile.source]
        if tile.along_rows:
            at = self.mul(self.head, part, size)
            places, sizes = f"{slot}, {at}, 0", f"1, {size}, {panel.pieces}"
        else:
            pieces = size // panel.per_piece
            at = self.mul(self.head, part, pieces)
            places, sizes = f"{slot}, 0, {at}", f"1, {panel.rows}, {pieces}"
        types = f"{tile.type} to {tile.view_type(size)}"
        view = f"memref.subview %{tile.source}_tiles[{places}] [{sizes}] [1, 1, 1]"
        self.names[key] = lines.let(f"{tile.source}_part", f"{view} : {types}")
        return self.names[key]

    # --- from memory to work-group memory --------------------------------------------

    def _first_k(self, tile: Tile, k: str, number: int) -> str:
        """Write where a tile begins along K; that behind the last is the last again."""
        key, last = (k, str(number), str(tile.k)), ("last", str(tile.k))
        if key not in self.names:
            found = self.add(self.lines, k, number * tile.k)
            if number * tile.k >= self.plan.step:
                if last not in self.names:
                    self.names[last] = self.head.index("subi", "%k_end", f"%c{tile.k}")
                found = self.lines.index("minsi", found, self.names[last])
            self.names[key] = found
        return self.names[key]

    def _numbered(self, lines: Lines, tile: Tile, number: str) -> tuple[str, str]:
        """Write the row, and the piece of it, of a number.

        With `interleaved` rows, eight numbers are the pieces of some rows that are
        `pieces` apart, and after as many times eight numbers come eight more rows.
        """
        pieces = tile.panel.pieces
        if tile.panel.interleaved == 1:
            return self.div_mod(lines, number, pieces)
        eight, within = self.div_mod(lines, number, tile.panel.period)
        first, within = self.div_mod(lines, within, 8)
        across, piece = self.div_mod(lines, within, pieces)
        down = lines.index("addi", first, self.mul(lines, across, pieces))
        return lines.index("addi", self.mul(lines, eight, 8), down), piece

    def _pieces(self, tile: Tile) -> Pieces:
        """Write which pieces of a tile the work-item copies, in `head`."""
        head, turns = self.head, range(tile.turns)
        if tile.work_items % tile.panel.period == 0:
            row, piece = self._numbered(head, tile, "%item")
            down = tile.work_items // tile.panel.pieces
            found = [(self.add(head, row, turn * down), piece) for turn in turns]
        else:
            numbers = (self.add(head, "%item", x * tile.work_items) for x in turns)
            found = [self._numbered(head, tile, number) for number in numbers]
        rows, pieces = [x for x, _ in found], [x for _, x in found]
        cols = {
            x: self.mul(head, x, tile.panel.per_piece) for x in dict.fromkeys(pieces)
        }
        places, first = (rows, [cols[x] for x in pieces]), self.first[tile.source]
        inner, outer = places[tile.along_rows], places[not tile.along_rows]
        at = {x: head.index("addi", first, x) for x in dict.fromkeys(outer)}
        return Pieces(rows, pieces, [at[x] for x in outer], inner)

    def _of_item(self, tile: Tile) -> Pieces:
        """Return the pieces of a tile that the work-item copies, written once."""
        if tile.source not in self.pieces:
            self.pieces[tile.source] = self._pieces(tile)
        return self.pieces[tile.source]

    def _fetch(self, tile: Tile, k: str, number: int) -> list[str]:
        """Write the loads of the pieces of a tile that is inside of memory."""
        lines, mine = self.lines, self._of_item(tile)
        start = self._first_k(tile, k, number)
        at = {x: lines.index("addi", start, x) for x in dict.fromkeys(mine.inner)}
        found: list[str] = []
        for outer, inner in zip(mine.outer, mine.inner, strict=True):
            place = self._place_of(tile, outer, at[inner])
            load = f"vector.load {tile.memory.name}[{place}]"
            aligned = f"{{alignment = {tile.panel.width} : i64}}"
            type = f"{tile.memory.matrix.type}, {tile.vector}"
            piece = lines.let("piece", f"{load} {aligned} : {type}")
            found.append(self._words(tile, piece))
        return found

    def _place_of(self, tile: Tile, outer: str, inner: str) -> str:
        """Return a position in memory, from that along K and the other one."""
        pair = (outer, inner) if tile.along_rows else (inner, outer)
        lead = ("%batch",) if tile.memory.batched else ()
        return ", ".join((*lead, *pair))

    def _words(self, tile: Tile, piece: str) -> str:
        """Write a piece as what work-group memory holds."""
        count = tile.panel.width // WORD_BYTES
        cast = f"vector.bitcast {piece} : {tile.vector} to vector<{count}xi32>"
        words = self.lines.let("words", cast)
        if count > 1:
            return words
        return self.lines.let(
            "word", f"vector.extract {words}[0] : i32 from vector<1xi32>"
        )

    def _store(self, of: Source, number: int, words: Sequence[str]) -> None:
        """Write the stores of pieces to work-group memory."""
        tile, slot = self.tiles[of], self._slot(of, number)
        mine = self._of_item(tile)
        for word, row, piece in zip(words, mine.rows, mine.pieces, strict=True):
            self._store_piece(tile, word, (slot, row, piece))

    def _store_piece(self, tile: Tile, words: str, place: Sequence[str]) -> None:
        where = f"%{tile.source}_tiles[{', '.join(place)}]"
        self.lines.do(f"memref.store {words}, {where} : {tile.type}")

    def _copy(self, tile: Tile, k: str, number: int) -> None:
        """Write a copy of a tile, zeros beyond the edges."""
        lines, slot = self.lines, self._slot(tile.source, number)
        count, vector = tile.panel.per_piece, tile.vector
        start = self.add(lines, k, number * tile.k)
        lines.do(f"scf.for %turn = %c0 to %c{tile.turns} step %c1 {{")
        at = lines.index("muli", "%turn", f"%c{tile.work_items}")
        row, piece = self._numbered(lines, tile, lines.index("addi", at, "%item"))
        ends = (row, self.mul(lines, piece, tile.panel.per_piece))
        firsts = (self.first[tile.source], start)
        first, second = firsts if tile.along_rows else firsts[::-1]
        outer = lines.index("addi", first, ends[0])
        inner = lines.index("addi", second, ends[1])
        axes = AXES if not tile.memory.matrix.transposed else AXES[::-1]
        rows, cols = (self._size(tile.memory, axis) for axis in axes)
        left = lines.index("subi", cols, inner)
        there = lines.let("in", f"arith.cmpi slt, {outer}, {rows} : index")
        left = lines.let("left", f"arith.select {there}, {left}, %c0 : index")
        mask = lines.let("mask", f"vector.create_mask {left} : vector<{count}xi1>")
        nothing = f"dense<{zero(tile.memory.element)}>"
        none = lines.let("none", f"arith.constant {nothing} : {vector}")
        lead = ("%batch",) if tile.memory.batched else ()
        place = ", ".join((*lead, outer, inner))
        piece_there = lines.let(
            "piece",
            f"vector.maskedload {tile.memory.name}[{place}], {mask}, {none} : "
            f"{tile.memory.matrix.type}, vector<{count}xi1>, {vector} into {vector}",
        )
        self._store_piece(tile, self._words(tile, piece_there), (slot, row, piece))
        lines.do("} {simt.unroll = false}")
