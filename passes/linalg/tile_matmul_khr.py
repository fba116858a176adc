"""tile-matmul-khr: lowers products to kernels that stage tiles in work-group memory.

Before:  a func.func with one linalg.matmul, or an equivalent linalg.generic, on memref
         arguments; a linalg.fill of the output may precede it, and elementwise
         linalg.generic operations on its result may follow.
After:   a kernel with a grid. Each work-group copies tiles of A and B to work-group
         memory, and its subgroups multiply them; if C has few tiles, subgroups split K.
         Accesses are checked at the edges of C, in the remainder of K, and in rows
         that are not a multiple of the vector copied. For dynamic sizes without given
         tiles, @f requires multiples of the tiles and checks nothing; @f.fallback
         handles all other sizes.
Fails:   if the function has an operation that cannot be fused, naming it; if given
         tiles do not suit the device or exceed its work-group memory. If the device has
         no suitable tiles, the function is unchanged, with a remark. A product of one
         row or column is unchanged, too: `convert-linalg-to-simt` lowers it.

A work-group's actions in one step along K are a schedule (`coopc.plan.gemm_schedule`);
this pass emits each action as MLIR text.  There are two loops along K: one for pieces
entirely inside or outside of memory, and one that checks each element:

    if pieces are whole:
      the beginning of the pipeline
      for each whole step along K:
        a step of the pipeline
    for what is left of K:
      a step with checked copies
    store C, checked at its edge

Copies for rows and columns beyond C need no checks: they copy the last row of A or
column of B instead, and the results are not stored.

Piece number p of a tile is copied by work-item p modulo the work-items of the
work-group.

With split K, subgroup s computes tile s % T of C, in part s / T of each step, where T
is the number of tiles: with 2 x 2 tiles, subgroup 5 has tile 1 and the second part.
Finally, all partial sums are added to those of part 0, through work-group memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from coopc.device import Device, GemmTiles, is_integer
from coopc.dialects import coopmatrix, simt
from coopc.interface import SECOND_ENTRY, Condition
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_of
from coopc.ir.transaction import Refused, transaction
from coopc.passes.linalg.kernel_text import (
    Memory,
    Operands,
    become_kernel,
    kernel,
    with_constants,
    zero,
)
from coopc.passes.linalg.match import (
    Multiplication,
    is_vector_product,
    matched,
    matches,
    multiplications,
    recognised,
)
from coopc.passes.linalg.staged_tiles import SOURCES, SPACE, Lines, Tile
from coopc.plan.gemm import (
    AXES,
    Axis,
    GemmOperand,
    GemmPlan,
    Problem,
    Source,
    plan_staged_gemm,
    plan_whole_gemm,
)
from coopc.plan.gemm_schedule import (
    Actions,
    Barrier,
    Copy,
    Fetch,
    Multiply,
    Read,
    Store,
    Turn,
    edge_schedule,
    pipelined_schedule,
    slot,
)
from coopc.plan.khr_table import Ability, abilities
from coopc.remarks import remark

CHECKS: frozenset[Ability] = frozenset(("checked accesses", "tensor addressing"))
"""Either of them checks accesses of matrices, without a loop over elements."""


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

    def __init__(
        self,
        problem: Problem,
        plan: GemmPlan,
        checks: bool = False,
        whole: bool = False,
    ) -> None:
        self.its, self.plan = (its := Operands(problem, plan.uses)), plan
        self.whole = whole
        """Whether sizes are multiples of those of tiles, also where none is known."""
        self.checks = checks
        """Whether the device checks accesses of matrices itself."""
        self.head = Lines(count())
        self.lines = self.head.region()
        self.tiles = {of: Tile(of, its, plan) for of in SOURCES}
        self.stage = "%c0"
        """In which of two stages the tiles of a step are."""

    # --- the whole -----------------------------------------------------------------

    def text(self) -> str:
        self._place_subgroup()
        for tile in self.tiles.values():
            self.head.do(f"%{tile.source}_tiles = memref.alloca() : {tile.type}")
        if self.plan.split > 1:
            self.head.do(f"%sums = memref.alloca() : {self._sums}")
        k, (totals, begin) = self._size(self.its.a, "cols"), self._whole_steps()
        if begin != k:
            totals = self._rest(totals, begin, k)
        self._finish(totals)
        return kernel(self.its.arguments, f"{self.head}{self.lines}")

    def _region(self, write: Callable[[], None]) -> Lines:
        """Return what is written in a region of its own."""
        outer, self.lines = self.lines, self.lines.region()
        write()
        found, self.lines = self.lines, outer
        return found

    def _place_subgroup(self) -> None:
        """Write where a work-item is, and its work-group in C."""
        head = self.head
        self.first = self._first_of_group()
        """The first row and column of C of the work-group."""
        if self.its.problem.batched:
            head.do("%batch = simt.workgroup_id z : index")
        head.do("%item = simt.local_id x : index")
        head.do("%subgroup = simt.subgroup_id : index")
        turn, self.place = "%c0", "%subgroup"
        if self.plan.split > 1:
            turn, self.place = head.div_mod("%subgroup", self.plan.places)
            is_first = f"arith.cmpi ult, %subgroup, %c{self.plan.places} : index"
            self.is_first = head.let("first", is_first)
            """Whether the subgroup adds up the sums of a tile."""
        self.turn = turn
        """Which part of a step the subgroup multiplies."""
        across = self.plan.group[1] // self.plan.subgroup[1]
        down, right = head.div_mod(self.place, across)
        self.part = {"a": down, "b": right}
        """The part of the work-group's tile that the subgroup computes."""

    def _first_of_group(self) -> dict[Source, str]:
        (m, n), (row, col) = self.plan.group, self._tile_of_group()
        return {"a": self.head.mul(row, m), "b": self.head.mul(col, n)}

    def _tile_of_group(self) -> tuple[str, str]:
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

    def _has_whole_steps(self) -> str | bool:
        """Write whether pieces are whole, and K has an iteration."""
        if self.whole:
            return True
        return self._all([self._has_iteration(), self._pieces_are_whole()])

    def _pieces_are_whole(self) -> str | bool:
        """Write whether pieces are inside of memory or beyond it."""
        answers: list[str | bool] = []
        for tile in self.tiles.values():
            matrix, per_load = tile.memory.matrix, tile.panel.per_load
            answers.append(matrix.row_alignment % per_load == 0)
            # Where rows follow each other, their length says where they begin.
            if not matrix.row_alignment or tile.cut:
                axis = AXES[not matrix.transposed]
                answers.append(self._is_multiple(tile.memory, axis, per_load))
        return self._all(answers)

    def _all(
        self, answers: Sequence[str | bool], lines: Lines | None = None
    ) -> str | bool:
        if False in answers:
            return False
        found, *others = [x for x in answers if isinstance(x, str)] or [True]
        for answer in others:
            both = f"arith.andi {found}, {answer} : i1"
            found = (lines or self.head).let("in", both)
        return found

    def _inside(self, part: tuple[str, str] | None = None) -> str | bool:
        """Write whether the tile of the work-group, or a part, ends inside of C."""
        if self.whole:
            return True
        lines, at = self.head, (self.first["a"], self.first["b"])
        (m, n), group = self.plan.group, self.plan.group
        if part is not None:  # nothing of it is kept while K goes on
            lines, at, (m, n) = self.lines, part, self._product[:2]
        found: list[str | bool] = []
        for axis, start, size, of in zip(AXES, at, (m, n), group, strict=True):
            whole = self.its.c.matrix.size(axis)
            if whole is None or whole % of:
                end = f"{lines.add(start, size)}, {self._size(self.its.c, axis)}"
                found.append(lines.let("in", f"arith.cmpi sle, {end} : index"))
        return self._all(found, lines)

    def _is_multiple(self, memory: Memory, axis: Axis, of: int) -> str | bool:
        """Write whether a size is a multiple."""
        known = memory.matrix.size(axis)
        if known is not None:
            return known % of == 0
        _, rest = self.head.div_mod(self._size(memory, axis), of)
        return self.head.let("in", f"arith.cmpi eq, {rest}, %c0 : index")

    def _has_iteration(self) -> str | bool:
        """Write whether K has an iteration."""
        known, least = self.its.a.matrix.size("cols"), self.plan.iteration
        if known is not None:
            return known >= least
        size = self._size(self.its.a, "cols")
        return self.head.let("in", f"arith.cmpi sge, {size}, %c{least} : index")

    def _size(self, memory: Memory, axis: Axis) -> str:
        known = memory.matrix.size(axis)
        return (
            self.head.let("size", memory.dim(axis)) if known is None else f"%c{known}"
        )

    # --- C -------------------------------------------------------------------------

    @property
    def acc(self) -> str:
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
        row = head.index("addi", head.mul(self.part["a"], m), self.first["a"])
        col = head.index("addi", head.mul(self.part["b"], n), self.first["b"])
        cols = self.plan.part_cols
        return [(row, head.add(col, part * cols)) for part in self._every_part]

    @property
    def _sums(self) -> str:
        """The type of the sums of all but the first of subgroups that share K."""
        shape = "x".join(map(str, self.plan.sums))
        return f"memref<{shape}x{self.its.c.element}, {SPACE}>"

    @property
    def _is_added_in_the_end(self) -> bool:
        """Whether what C was is added to the sums, which begin with zero."""
        fill = self.its.problem.fill
        return self.plan.split > 1 or (fill == "nothing" and self._inside() is not True)

    def _initial(self) -> State:
        """Write what the sums begin with."""
        if self._is_added_in_the_end:
            element = self.its.c.element
            none = f"arith.constant {zero(element)} : {element}"
            fill = f"coopmatrix.fill {self.head.let('none', none)} : {element}"
            result = self.lines.new("init", f"{fill} -> {self.acc}")
            return State([result] * len(self._every_part))
        found: list[str] = []
        for at in self._parts_of_c():
            result = self.lines.fresh("init")
            self.lines.do(self.its.initial(result, at, self.acc))
            found.append(result)
            if self.its.problem.fill != "nothing":
                return State(found * len(self._every_part))
        return State(found)

    def _finish(self, totals: Sequence[str]) -> None:
        """Write the stores of sums, after those of other subgroups are added."""
        places = zip(totals, self._parts_of_c(), strict=True)
        if self.plan.split == 1:
            for total, at in places:
                self._store(total, at)
            return
        barrier = "simt.barrier workgroup memory = <workgroup>"
        mine = self.head.index("subi", "%subgroup", f"%c{self.plan.places}")
        for number, (total, at) in enumerate(places):
            if number:
                self.lines.do(barrier)
            where = f"%sums[{mine}, %c0, %c0] row_major"
            self.lines.do(f"""scf.if {self.is_first} {{
  }} else {{
    coopmatrix.store {total}, {where} : {self.acc}, {self._sums}
  }}
  {barrier}""")
            added = self._region(partial(self._store_all, total, at))
            self.lines.do(f"scf.if {self.is_first} {{{added}\n  }}")

    def _store_all(self, total: str, at: tuple[str, str]) -> None:
        """Write the store of a part of C, whose other sums are in work-group memory."""
        for other in range(self.plan.split - 1):
            place = self.head.add(self.place, other * self.plan.places)
            load = f"coopmatrix.load %sums[{place}, %c0, %c0] row_major"
            more = self.lines.new("more", f"{load} : {self._sums} -> {self.acc}")
            total = self._sum(total, more)
        self._store(total, at)

    def _sum(self, x: str, y: str) -> str:
        return self.lines.new("sum", f"coopmatrix.add {x}, {y} : {self.acc}")

    def _store(self, total: str, at: tuple[str, str]) -> None:
        """Write the store of a part of C, checked at an edge."""
        within = self._region(partial(self._store_checked, total, at, ()))
        inside = self._inside(at if self._adds_elements else None)
        if inside is True:
            self.lines.text.append(str(within))
            return
        write = partial(self._store_checked, total, at, AXES)
        if self._adds_elements:
            write = partial(self._add_elements, total, at)
        checked = str(self._region(write))
        epilogue = self.its.problem.epilogue
        if epilogue is not None and epilogue.in_place:
            # Elements beyond C read its last row or column, which another subgroup
            # may store, unless it is in the same part.
            checked = f"\n  scf.if {self._begins_inside(at)} {{{checked}\n  }}"
        self.lines.do(f"scf.if {inside} {{{within}\n  }} else {{{checked}\n  }}")

    def _begins_inside(self, at: tuple[str, str]) -> str | bool:
        """Write whether a part of C has elements inside of it."""
        found: list[str | bool] = []
        for axis, start in zip(AXES, at, strict=True):
            place = f"{start}, {self._size(self.its.c, axis)}"
            found.append(self.lines.let("in", f"arith.cmpi slt, {place} : index"))
        return self._all(found, self.lines)

    @property
    def _adds_elements(self) -> bool:
        """Whether lanes add sums to C, element by element, in a part at its edge.

        To check the load of what C was, and then the store, takes two loops.
        """
        problem = self.its.problem
        return problem.fill == "nothing" and not (problem.epilogue or self.checks)

    def _store_checked(
        self, total: str, at: tuple[str, str], checked: tuple[Axis, ...]
    ) -> None:
        if self._is_added_in_the_end:
            first = self.lines.fresh("init")
            self.lines.do(self.its.initial(first, at, self.acc, checked))
            total = self._sum(first, total)
        self.lines.do(self.its.finish(total, at, self.acc, checked))

    def _add_elements(self, total: str, at: tuple[str, str]) -> None:
        """Write a loop over elements, which are added where they are inside of C."""
        c, body = self.its.c, self.lines.region()
        row, col = (
            body.index("addi", start, by)
            for start, by in zip(at, ("%i", "%j"), strict=True)
        )
        ends = (
            body.let("in", f"arith.cmpi ult, {x}, {self._size(c, axis)} : index")
            for x, axis in zip((row, col), AXES, strict=True)
        )
        inside = body.let("in", f"arith.andi {', '.join(ends)} : i1")
        place = f"{c.name}[{c.place(row, col)}] : {c.matrix.type}"
        add = "addi" if is_integer(c.matrix.element) else "addf"
        self.lines.do(f"""{self.lines.fresh("same")} = coopmatrix.apply
    (%i, %j, %sum) in {total} : {self.acc} {{{body}
    scf.if {inside} {{
      %first = memref.load {place}
      %both = arith.{add} %first, %sum : {c.element}
      memref.store %both, {place}
    }}
    coopmatrix.yield %sum : {c.element}
  }}""")

    # --- along K -------------------------------------------------------------------

    def _whole_steps(self) -> tuple[Sequence[str], str]:
        """Write the steps along K whose pieces are whole, if there are any.

        Returns the sums, and the position along K behind these steps.
        """
        first, whole = self._initial(), self._has_whole_steps()
        if whole is False:
            return first.totals, "%c0"
        if whole is True:
            return self._pipelined(first), self._k_of_steps
        outer, self.lines = self.lines, self.lines.region()
        given, count = ", ".join(first.totals), len(first.totals)
        found, types = ", ".join(self._pipelined(first)), ", ".join([self.acc] * count)
        sums = outer.fresh("sums")
        outer.do(f"""{sums}:{count} = scf.if {whole} -> ({types}) {{{self.lines}
    scf.yield {found} : {types}
  }} else {{
    scf.yield {given} : {types}
  }}""")
        self.lines = outer
        begin = f"arith.select {whole}, {self._k_of_steps}, %c0 : index"
        return [f"{sums}#{x}" for x in range(count)], self.head.let("begin", begin)

    def _pipelined(self, first: State) -> Sequence[str]:
        """Write the steps of whole pieces; there is at least one."""
        begin, step = pipelined_schedule(self.plan)
        state = State([*first.totals])
        self._write(state, begin, "%c0")
        state.now, state.following = state.following, []
        unroll, by = self.plan.unroll, self.plan.iteration
        return self._loop(state, step, "%c0", self._k_of_steps, by, unroll)

    def _rest(self, totals: Sequence[str], begin: str, end: str) -> Sequence[str]:
        """Write the steps whose elements are checked when they are copied."""
        if begin != "%c0":  # others may still read the tiles of the last step
            self.lines.do("simt.barrier workgroup memory = <workgroup>")
        schedule = edge_schedule(self.plan)
        # Written out, it slows down the steps before.
        return self._loop(State([*totals]), schedule, begin, end, self.plan.step)

    @property
    def _k_of_steps(self) -> str:
        """Where the last iteration of whole steps along K ends."""
        k, step = self.its.a.matrix.size("cols"), self.plan.iteration
        if k is not None:
            return f"%c{k // step * step}"
        size = self._size(self.its.a, "cols")
        if self.whole:
            return size
        _, rest = self.head.div_mod(size, step)
        return self.head.index("subi", size, rest)

    def _loop(
        self,
        first: State,
        actions: Actions,
        begin: str,
        end: str,
        step: int,
        unroll: bool = False,
    ) -> Sequence[str]:
        """Write a loop along K, and return the sums."""
        outer, self.lines = self.lines, self.lines.region()
        state = first.renamed(lambda _: self.lines.fresh("x"))
        given, names, types = first.values(), state.values(), [self.acc]
        types *= len(first.totals)
        if first.now:
            a, b = (self.its.matrix(use, *self._product) for use in SOURCES)
            types += [a, *[b] * len(self._every_part)]
        for of in SOURCES:
            types += [self.tiles[of].held] * sum(map(len, first.words[of]))
        ends: list[str] = []
        if first.now and self.plan.panels[0].copies == 2 and self.plan.ahead == 1:
            types, given, names = [*types, "index"], [*given, "%c0"], [*names, "%stage"]
            ends, self.stage = ["%other"], "%stage"
            self.lines.do("%other = arith.subi %c1, %stage : index")
        self._write(state, actions, "%k")
        ends = [*state.values(), *ends]
        carried = ", ".join(f"{x} = {y}" for x, y in zip(names, given, strict=True))
        sums, result = outer.fresh("sums"), ", ".join(types)
        outer.do(f"""{sums}:{len(types)} = scf.for %k = {begin} to {end}
    step %c{step} iter_args({carried}) -> ({result}) {{{self.lines}
    scf.yield {", ".join(ends)} : {result}
  }} {{simt.unroll = {str(unroll).lower()}}}""")
        self.lines, self.stage = outer, "%c0"
        return [f"{sums}#{x}" for x in self._every_part]

    def _write(self, state: State, actions: Actions, k: str) -> None:
        """Write what is done in a step that begins at `k`."""
        for action in actions:
            match action:
                case Fetch(of, number):
                    state.words[of].append(self._fetch(self.tiles[of], k, number))
                case Store(of, number):
                    self._store_tile(of, state.words[of].pop(0), number)
                case Turn(of):
                    state.words[of][0] = self._turned(of, state.words[of][0])
                case Copy(of, number):
                    self._copy(self.tiles[of], k, number)
                case Read(product):
                    state.following = self._read(product)
                case Multiply(first, end):
                    self._multiply(state, range(first, end))
                case Barrier():
                    # One that is for all memory waits for all loads.
                    self.lines.do("simt.barrier workgroup memory = <workgroup>")

    def _store_tile(self, of: Source, words: Sequence[str], number: int) -> None:
        """Write the stores of a tile, a piece each."""
        tile, slot, left = self.tiles[of], self._slot(of, number), iter(words)
        for row, piece in tile.pieces(self.head):
            piece = self._beside(self.lines, tile, slot, piece)
            for each in tile.rows_at_once(self.head, row):
                where = f"%{of}_tiles[{each}, {piece}]"
                self.lines.do(f"memref.store {next(left)}, {where} : {tile.type}")

    def _turned(self, of: Source, words: Sequence[str]) -> list[str]:
        """Write the pieces of columns of a tile."""
        tile, many = self.tiles[of], self.tiles[of].panel.loads
        return [
            piece
            for turn, (row, _) in enumerate(tile.pieces(self.head))
            for piece in tile.turned(
                self.lines, self.head, row, words[turn * many : (turn + 1) * many]
            )
        ]

    def _multiply(self, state: State, parts: Sequence[int]) -> None:
        """Write the products of some parts along N."""
        if not state.now:
            state.now, state.following = state.following, []
        a, *b = state.now
        for part in parts:
            result = self.lines.fresh("sum")
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

    def _beside(self, lines: Lines, tile: Tile, slot: str, piece: str) -> str:
        """Return which piece of a row one of a copy is."""
        if slot.startswith("%c"):
            return lines.add(piece, int(slot[2:]) * tile.panel.pieces)
        return lines.index("addi", lines.mul(slot, tile.panel.pieces), piece)

    def _read(self, product: int) -> list[str]:
        """Write the loads of the matrices of a product: A, parts of B."""
        found: list[str] = []
        for tile in self.tiles.values():
            number, within = divmod(product, tile.products)
            # The subgroup's part of a copy of the tile.
            slot, (rows, pieces) = self._slot(tile.source, number), tile.part_shape
            lines = self.head if slot.startswith("%c") else self.lines
            unit = rows if tile.along_rows else pieces
            at = self.head.mul(self.part[tile.source], unit)
            turn = self.head.mul(self.turn, pieces if tile.along_rows else rows)
            row, piece = (at, turn) if tile.along_rows else (turn, at)
            piece = self._beside(lines, tile, slot, piece)
            cut = f"[{row}, {piece}] [{rows}, {pieces}] [1, 1]"
            types = f"{tile.type} to {tile.part_type}"
            subview = f"memref.subview %{tile.source}_tiles{cut} : {types}"
            view = lines.let(f"{tile.source}_part", subview)
            type = self.its.matrix(tile.source, *self._product)
            k, per_piece = within * tile.depth, tile.panel.per_piece
            for part in self._every_part if tile.source == "b" else range(1):
                col = part * self.plan.part_cols
                row, piece = (col, k) if tile.along_rows else (k, col)
                where = f"{view}[%c{row}, %c{piece // per_piece}] {tile.layout}"
                load = f"coopmatrix.load {where} : {tile.part_type} -> {type}"
                found.append(self.lines.new(tile.source, load))
        return found

    # --- from memory to work-group memory --------------------------------------------

    def _fetch(
        self, tile: Tile, k: str, number: int, checked: bool = False
    ) -> list[str]:
        """Write the loads of the pieces of a tile, whole ones.

        It is inside of memory, or `checked`: then pieces beyond the end of K are zeros.
        """
        head, lines, end = self.head, self.lines, self._size(self.its.a, "cols")
        start = lines.add(k, number * tile.k)
        if number * tile.k >= self.plan.step:
            # After the last tile there is no next one: it is loaded again.
            last = head.index("subi", self._k_of_steps, f"%c{tile.k}")
            start = lines.index("minsi", start, last)
        found: list[str] = []
        for row, piece in tile.pieces(head):
            col = head.mul(piece, tile.panel.per_piece)
            along_k, across = (col, row) if tile.along_rows else (row, col)
            at = head.index("addi", self.first[tile.source], across)
            at = self._clamped(tile, at)
            first = lines.index("addi", start, along_k)
            for number in range(tile.panel.loads):
                position = within = lines.add(first, number)
                if checked:
                    last = head.index("subi", end, f"%c{tile.k_of_load}")
                    within = lines.index("minsi", position, last)
                pair = at, within
                place = tile.memory.place(*(pair if tile.source == "a" else pair[::-1]))
                load = f"vector.load {tile.memory.name}[{place}]"
                aligned = f"{{alignment = {tile.alignment} : i64}}"
                types = f"{tile.memory.matrix.type}, {tile.vector}"
                value = lines.new("piece", f"{load} {aligned} : {types}")
                words = tile.in_words(lines, value)
                if checked:
                    compare = f"arith.cmpi ult, {position}, {end} : index"
                    either = f"{lines.let('there', compare)}, {words}"
                    none = head.let("none", tile.no_words)
                    select = f"arith.select {either}, {none} : {tile.held}"
                    words = lines.new("words", select)
                found.append(words)
        return found

    def _clamped(self, tile: Tile, at: str) -> str:
        """Write where the last row or piece is, for those beyond it."""
        axis: Axis = "rows" if tile.source == "a" else "cols"
        size, group = tile.memory.matrix.size(axis), self.plan.group[axis == "cols"]
        if self.whole or (size is not None and size % group == 0):
            return at
        last = tile.panel.per_load if tile.cut else 1
        size = self._size(tile.memory, axis)
        return self.head.index("minsi", at, self.head.index("subi", size, f"%c{last}"))

    def _copy(self, tile: Tile, k: str, number: int) -> None:
        """Write a copy of a tile, zeros beyond the edges."""
        ends = self._is_multiple(self.its.a, "cols", tile.k_of_load)
        if self._all([ends, self._pieces_are_whole()]) is True:
            words = self._fetch(tile, k, number, checked=True)
            if tile.panel.turned:
                words = self._turned(tile.source, words)
            self._store_tile(tile.source, words, number)
        else:
            self._copy_elements(tile, k, number)

    def _copy_elements(self, tile: Tile, k: str, number: int) -> None:
        """Write a loop over pieces, of which some elements may be beyond an edge."""
        start = self.lines.add(k, number * tile.k)
        lines, slot = self.lines.region(), self._slot(tile.source, number)
        turn = lines.index("muli", "%turn", f"%c{tile.work_items}")
        row, piece = tile.numbered(lines, lines.index("addi", turn, "%item"))
        col = lines.mul(piece, tile.panel.per_piece)
        along_k, across = (col, row) if tile.along_rows else (row, col)
        across = lines.index("addi", self.first[tile.source], across)
        along_k = lines.index("addi", start, along_k)
        axes = AXES[::-1] if tile.memory.matrix.transposed else AXES
        rows, cols = (self._size(tile.memory, axis) for axis in axes)
        vector, mask = tile.vector, f"vector<{tile.panel.per_load}xi1>"
        none = lines.let(
            "none", f"arith.constant dense<{zero(tile.memory.element)}> : {vector}"
        )
        words: list[str] = []
        for load in range(tile.panel.loads):
            pair = lines.add(along_k, load), across
            first, second = pair if tile.cut else pair[::-1]
            inside = self._mask(lines, (first, second), (rows, cols), mask)
            place = f"{tile.memory.name}[{tile.memory.index(first, second)}]"
            types = f"{tile.memory.matrix.type}, {mask}, {vector} into {vector}"
            masked = f"vector.maskedload {place}, {inside}, {none}\n    : {types}"
            words.append(tile.in_words(lines, lines.new("piece", masked)))
        if tile.panel.turned:
            words = tile.turned(lines, lines, row, words)
        piece = self._beside(lines, tile, slot, piece)
        for each, word in zip(tile.rows_at_once(lines, row), words, strict=True):
            where = f"%{tile.source}_tiles[{each}, {piece}]"
            lines.do(f"memref.store {word}, {where} : {tile.type}")
        self.lines.do(f"""scf.for %turn = %c0 to %c{tile.turns} step %c1 {{{lines}
  }} {{simt.unroll = false}}""")

    def _mask(
        self, lines: Lines, at: tuple[str, str], sizes: tuple[str, str], type: str
    ) -> str:
        """Write which elements of a load are inside of memory."""
        left = lines.let("left", f"arith.subi {sizes[1]}, {at[1]} : index")
        there = lines.new("there", f"arith.cmpi ult, {at[0]}, {sizes[0]} : index")
        count = lines.new("count", f"arith.select {there}, {left}, %c0 : index")
        return lines.new("mask", f"vector.create_mask {count} : {type}")


class StagedSums(StagedKernel):
    """Writes a function of the sums of one tile of C, for a kernel to store.

    Its arguments are A, B, the first row and column of the tile, whether it is inside
    of C and rows of A and B begin where pieces may, and what the sums begin with.  Its
    results are the parts of a subgroup.  A tile may reach over any edge of C: there,
    sums are those of zeros.
    """

    def text(self) -> str:
        self._place_subgroup()
        for tile in self.tiles.values():
            self.head.do(f"%{tile.source}_tiles = memref.alloca() : {tile.type}")
        k, (totals, begin) = self._size(self.its.a, "cols"), self._whole_steps()
        totals = self._rest(totals, begin, k)
        types = ", ".join([self.acc] * len(totals))
        self.lines.do(f"func.return {', '.join(totals)} : {types}")
        memories = ", ".join(
            f"{x.name}: {x.matrix.type}" for x in (self.its.a, self.its.b)
        )
        places = "%row: index, %col: index, %whole: i1"
        arguments = f"{memories}, {places}, %fill: {self.its.c.element}"
        body = with_constants(f"{self.head}{self.lines}")
        return f"func.func @sums({arguments}) -> ({types}) {{{body}\n}}"

    def _first_of_group(self) -> dict[Source, str]:
        return {"a": "%row", "b": "%col"}

    def _has_whole_steps(self) -> str | bool:
        return self._all([self._has_iteration(), "%whole"])

    def _pieces_are_whole(self) -> str | bool:
        return False

    def _clamped(self, tile: Tile, at: str) -> str:
        return at

    def _mask(
        self, lines: Lines, at: tuple[str, str], sizes: tuple[str, str], type: str
    ) -> str:
        below = super()._mask(lines, at, sizes, type)
        before = lines.let("before", f"arith.subi %c0, {at[1]} : index")
        outside = lines.let("outside", f"vector.create_mask {before} : {type}")
        every = lines.let("every", f"arith.constant dense<true> : {type}")
        inside = lines.let("inside", f"arith.xori {outside}, {every} : {type}")
        return lines.new("mask", f"arith.andi {inside}, {below} : {type}")


# --- the pass ---

RECOGNISE = partial(recognised, inner_batch=True)


def write_kernel(
    ctx: Context,
    func: FuncOp,
    found: Multiplication,
    plan: GemmPlan,
    device: Device,
    whole: bool = False,
) -> None:
    """Put the kernel in place of a function; for `whole` see `StagedKernel`."""
    checks = not CHECKS.isdisjoint(abilities(device))
    text = StagedKernel(found.problem, plan, checks, whole).text()
    become_kernel(func, found, plan, text, ctx)
    simt.set_sizes(func, device.subgroup_size, (plan.work_items, 1, 1))


def write_kernels(
    ctx: Context,
    func: FuncOp,
    found: Multiplication,
    plan: GemmPlan,
    whole: GemmPlan | None,
    device: Device,
) -> None:
    """Put kernels in place of a function: one for `whole` tiles first, if planned."""
    second = None if whole is None else second_entry(func)
    if whole is None or second is None:
        write_kernel(ctx, func, found, plan, device)
        return
    needed = [*conditions(found, whole)]
    write_kernel(ctx, func, found, whole, device, whole=True)
    simt.add_conditions(func, needed)
    write_kernel(ctx, *second, plan, device)


def second_entry(func: FuncOp) -> tuple[FuncOp, Multiplication] | None:
    """Add a copy of a function, for any sizes; None where its name is taken."""
    name = func.sym_name.data + SECOND_ENTRY
    if SymbolTable.lookup_symbol(func, name) is not None:
        return None
    second = func.clone()
    second.sym_name = StringAttr(name)
    Rewriter.insert_op(second, InsertPoint.after(func))
    found = matched(second, RECOGNISE)
    assert found is not None, second
    return second, found


def conditions(found: Multiplication, plan: GemmPlan) -> Iterator[Condition]:
    """Yield that sizes which are not known are multiples of those of tiles."""
    (a, _, c), problem, (m, n) = found.memories, found.problem, plan.group
    sizes: tuple[tuple[SSAValue, GemmOperand, Axis, int], ...] = (
        (c, problem.c, "rows", m),
        (c, problem.c, "cols", n),
        (a, problem.a, "cols", plan.iteration),
    )
    for memory, matrix, axis, of in sizes:
        if matrix.size(axis) is None:
            assert isinstance(memory, BlockArgument), memory
            at = memory.index, matrix.dimension(axis), of
            least = of if memory is a else None
            yield Condition("size", *at, at_least=least, why="whole tiles")


@dataclass(frozen=True)
class TileMatmulKhrPass(ModulePass):
    name = "tile-matmul-khr"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    group: tuple[int, ...] = ()
    """M and N of a work-group; without it and `subgroup`, the device's tiles."""
    subgroup: tuple[int, ...] = ()
    """M and N of a subgroup."""
    step: int = 0
    """K of the tiles in work-group memory; 0 for the device's tiles."""
    stages: int = 2
    """1 or 2 tiles of A and of B in work-group memory."""
    gaps: bool = True
    """Pad rows in work-group memory to avoid bank conflicts."""
    band: int = 0
    """Rows of tiles per band that work-groups traverse column by column (for L2 reuse);
    0 for row-major order."""
    unroll: bool = False
    """Ask the driver to unroll the loop along K; by default, not to."""
    sliced: bool = False
    """Load B in slices of one instruction's K; requires stages=1."""
    split: int = 1
    """Into how many parts subgroups split each step along K."""
    ahead: int = 1
    """How many steps ahead tiles are loaded from global memory into registers."""
    remark: bool = False
    """Convert only functions that `apply-tuning` gave tiles; for others, print a remark
    if this pass would make them faster."""

    def __post_init__(self) -> None:
        given = (self.group, self.subgroup)
        some, every = any((*given, self.step)), [len(x) for x in given] == [2, 2]
        if some and (not every or self.step < 1):
            raise ValueError(
                "expected group and subgroup of m and n, and a step, or none of "
                f"them, got {self.group}, {self.subgroup} and {self.step}"
            )
        if self.band < 0:
            raise ValueError(f"expected a band of at least 0, got {self.band}")

    @property
    def tiles(self) -> GemmTiles | None:
        if not self.group:
            return None
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        return GemmTiles(
            (m, n),
            (sub_m, sub_n),
            self.step,
            self.stages,
            self.gaps,
            self.band,
            self.unroll,
            self.sliced,
            self.split,
            self.ahead,
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        if not uses_dialect(op, "linalg"):
            return
        if self.remark:
            self._remark(op, device)
            if not any(coopmatrix.TUNED in each.attributes for each in op.ops):
                return
        with transaction(op) as draft:
            every = matches if self.remark else multiplications
            for func, found in every(draft, RECOGNISE):
                tuned = found.tuned and found.tuned.tiles
                if not tuned and (self.remark or found.tuned):
                    continue  # one subgroup multiplies it
                chosen = self.tiles or tuned
                if not chosen and is_vector_product(func, found, device):
                    continue  # convert-linalg-to-simt does it
                plan = plan_staged_gemm(found.problem, device, chosen)
                if isinstance(plan, str) and chosen:
                    tuned_plan = "" if self.tiles else "the tuned plan: "
                    raise Refused(found.op, f"{tuned_plan}{plan}")
                if isinstance(plan, str):
                    reason = "one subgroup per work-group multiplies, not several"
                    remark(func, f"{reason}: {plan}")
                    continue
                whole = None if chosen else plan_whole_gemm(found.problem, device)
                write_kernels(ctx, func, found, plan, whole, device)

    def _remark(self, op: ModuleOp, device: Device) -> None:
        """Say of which functions the kernel would be faster."""
        for func, found in matches(op) if device.shares_gemm else ():
            if is_vector_product(func, found, device):
                continue
            plan = plan_staged_gemm(found.problem, device, self.tiles)
            if not found.tuned and not isinstance(plan, str):
                remark(
                    func,
                    "one subgroup per work-group multiplies; with staged=true several "
                    "share tiles in work-group memory, which is far faster on "
                    f"{device.name}",
                )
