"""tile-matmul-amx: lowers products to packed and blocked AMX kernels.

Before:  a func.func with one linalg.matmul, or an equivalent linalg.generic, on memref
         arguments of types that AMX supports; a linalg.fill of the output with a
         constant may precede it, and elementwise linalg.generic operations on its
         result may follow. A and B may be transposed, and there may be a batch.
After:   two kernels, @f.pack and @f.multiply. A and B are packed in two additional
         arguments. The module attribute `cpu.kernels` says how to run them.
Fails:   never; other products are unchanged, with a remark if AMX supports their types.
         Products with few rows of C are left to `tile-matmul-cpu`, without one.

    @pack      a work-group packs a panel of A, or as much of a step of K of B, or all
               of it where K is not known
    @multiply  a work-group computes a block of C, panel by panel

If a column of work-groups has all rows of C, or the plan says so (`packs_own_b`), each
work-group packs its panels of B, some steps at a time.  If A is also read in place,
there is no @pack; a partial last panel or step of A is copied to the stack and padded
with zeros.

In packed A and B, a step of a panel is two tiles, 32 rows of 64 bytes, or one tile if A
has 16 rows or fewer; rows of B are interleaved along K (VNNI).  The steps that a
work-group computes at a time, of all panels, are a slab.  Slabs follow each other: of
the one that begins with step s0 and has n steps, step s of panel p is at offset
(s0 * panels + p * n + s - s0) times the size of a step.  The memref type lets any
element start a 32-row tile, so one register addresses a tile.  Batches are stored one
after the other.

A panel of B stays in the first cache while those of A stream past it: they are loaded
as `nontemporal`.  The next slab is prefetched to the second cache, and the rows of C
that a tile is stored to, to the first.  If C is larger than the second caches of all
threads and its rows are whole cache lines, tiles are stored through %edge by
nontemporal stores, which read no line of C, so that nothing of it is prefetched.  The
kernel checks that C begins with a line; if it does not, tiles are stored as usual.

If memory rows run along K for A, or along N for B (after interleaving), rows are copied
as they are.  Otherwise tiles are transposed in registers, as 16 x 16 words of 32 bits.

Accumulators of a panel of A and a panel of B are loaded, accumulated along K, and
stored.  They start as C or its fill value and end in C; between slabs they are in
scratch memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.passes import ModulePass

from coopc.device import ELEMENT_BITS, signless
from coopc.dialects.narrow import memref_type
from coopc.passes.linalg.kernel_text import Memory, zero
from coopc.passes.linalg.match import Multiplication, dots_of, extent, matches
from coopc.passes.linalg.staged_by_packing import (
    MULTIPLY,
    PACK,
    Groups,
    Operand,
    PackedKernel,
    Shares,
    become_stages,
    with_packed_b,
)
from coopc.plan.core_gemm import (
    PANEL,
    STEP_BYTES,
    UNROLL,
    Block,
    check_block,
    is_of_amx,
    is_thin,
    plan_amx_gemm,
    stores_past_cache,
)
from coopc.plan.gemm import AXES, Direct, GemmOperand, GemmPlan, Packed
from coopc.remarks import remark

HALF = PANEL // 2
"""Columns of a tile of B."""
STREAMED = 12
"""Steps of a panel, of 2 KiB each, that half of the first cache of 48 KiB holds."""


class AmxKernel(PackedKernel):
    def __init__(self, found: Multiplication, plan: GemmPlan) -> None:
        assert isinstance(plan.b, Packed), plan
        problem = found.problem
        self.element = signless(problem.a.element)
        """Of A and B: bf16, f16 or i8."""
        self.step = plan.depth
        """Elements of K in a product: those of a row of a tile of A."""
        packed = f"memref<{PANEL}x?x{self.element}, strided<[{self.step}, 1]>>"
        super().__init__(found, plan, packed)
        self.packs_b = not plan.b.before
        """Whether a work-group packs its panels of B, some steps at a time."""
        if self.packs_b:
            self.scratch = ("%pa",)
        edges = plan.a.checked if isinstance(plan.a, Direct) else ()
        self.last_panel, self.last_step = "rows" in edges, "cols" in edges
        """Whether the last panel, or the last step, of an A that is read in place is
        partial: a work-group copies it and pads it with zeros."""
        self.types = problem.a.type, problem.b.type, problem.c.type
        """Of the memrefs."""
        packed_before = ("a", "i0", self.packs_a), ("b", "j0", not self.packs_b)
        self.packed_before = {of: first for of, first, is_it in packed_before if is_it}
        """Which of A and B is packed by kernels before, and its first panel."""
        self.unit = self.rows * self.step if self.packs_a else self.step
        """Elements of A from a step to the next one: packed, or along a row."""
        k = problem.a.size("cols")
        steps = plan.products + 1 if k is None else -(-k // self.step)
        self.is_zero = self.fill == zero(self.sum) and steps <= plan.products
        """Whether sums begin with zero, and are not loaded again."""
        self.prefetches_slabs = steps > plan.products and self.panels[0] > 1
        """Whether there is a next slab, and B is not only read once, in its order."""
        whole = steps - self.last_step  # a partial last step is one by itself
        self.prefetches_rows = whole < UNROLL and stores_past_cache(problem)
        """Whether a tile of C prefetches the rows of the next one, as it has too few
        steps to prefetch its own."""
        self.streams_a = self.panels[0] * min(steps, plan.products) > STREAMED
        """Whether panels of A would leave no room in the first cache for one of B."""
        self.panels_of_step = None if k is None else max(1, -(-k // self.step))
        """Panels of B of which a work-group packs a step of K, as much as a panel of A
        has; None for all."""
        self.panel = f"memref<{self.rows}x?x{self.element}, strided<[?, 1], offset: ?>>"
        """The type of memory with a panel of A that may be the last one."""
        self.row = f"vector<{self.step}x{self.element}>"
        """The type of a row of a tile, packed: 64 bytes."""
        self.tile = self.rows, HALF, self.step
        """M, N and K of a product: half a panel of B."""

    def as_packed(self, name: str) -> str:
        rest = (PANEL - 1) * self.step  # in all but the first row
        return f"""
  %pb_size = memref.dim {name}, %c0 : {self.prepacked}
  %pb_some = arith.maxui %pb_size, %c{rest} : index
  %pb_cols = arith.subi %pb_some, %c{rest} : index
  %pb = memref.reinterpret_cast {name} to offset: [0], sizes: [{PANEL}, %pb_cols],
    strides: [{self.step}, 1] : {self.prepacked} to {self.packed}"""

    def lines(self, of: str) -> int:
        """Return the lines of 64 bytes of A or B that a step of a tile of C prefetches.

        All tiles of a work-group prefetch the work-group's part of the next slab.
        """
        panel, tiles = self.rows_of(of), self.panels["ba".index(of)]
        return -(-panel // tiles)

    def rows_of(self, of: str) -> int:
        """Return the rows of a packed step of A or B, of 64 bytes each."""
        return self.rows if of == "a" else PANEL

    def place_of_a(self, at: str) -> tuple[str, str]:
        """Return where a panel of A is from element `at` on, and the memory's type."""
        if self.packs_a:
            return f"%pa[%c0, {at}]", self.packed
        if self.last_panel:
            return f"%panel[%c0, {at}]", self.panel
        return f"%a[%row, {at}]", self.types[0]

    def text_of_panels(self, name: str, axis: str, body: str) -> str:
        steps = f"""
  %steps = arith.ceildivui %k, %c{self.step} : index"""
        return self.text(name, steps + self.matrix_of_batch(axis), body)


# --- the kernel that multiplies ------------------------------------------------------


def multiplying(g: AmxKernel) -> str:
    size, unrolled = PANEL * g.step, g.plan.products // UNROLL * UNROLL
    of_b = """
      %from_j = arith.muli %j, %some : index
      %sb = arith.addi %slab_b, %from_j : index"""
    if g.packs_b:
        of_b = f"""
      %nth = arith.subi %j, %j0 : index
      %sb = arith.muli %nth, %c{g.plan.products} : index"""
    sa, of_a = "%s0", ""
    if g.packs_a:
        sa = "%sa"
        of_a = """
      %from_i = arith.muli %i, %some : index
      %sa = arith.addi %slab_a, %from_i : index"""
    to_a = f"""
      %first_a = arith.muli {sa}, %c{g.unit} : index"""
    if g.last_panel:
        to_a = of_panel(g)
    first = f"""{to_a}
      %first_b = arith.muli %sb, %c{size} : index"""
    # What sums begin with.
    begin = f"""
        %filled = "memref.cast"(%fill) : ({g.own}) -> ({g.part})
        scf.yield %filled : {g.part}"""
    if g.fill is None:
        begin = f"""
        scf.if %outside {{{g.left}{g.from_edge("%value")}
        }}{of_c(g)}"""
    source = f"""
      %source = scf.if %is_first -> ({g.part}) {{{begin}
      }} else {{{of_block(g)}
      }}"""
    done = of_c(g)
    end = f"""
      %copy = arith.andi %is_last, %apart : i1
      scf.if %copy {{{finish(g) if g.plan.streams else g.left + g.to_edge}
      }}"""
    if g.outputs:
        done = f"""
        %of_tile = "memref.cast"(%edge) : ({g.own}) -> ({g.part})
        scf.yield %of_tile : {g.part}"""
        end = f"""
      scf.if %is_last {{{finish(g)}
      }}"""
    target = f"""
      %target = scf.if %is_last -> ({g.part}) {{{done}
      }} else {{{of_block(g)}
      }}"""
    body = f"""
  %kept = memref.alloca() {{alignment = 64 : i64}} : {g.block_type}
  %edge = memref.alloca() {{alignment = 64 : i64}} : {g.own}
  %fill = memref.alloca() {{alignment = 64 : i64}} : {g.own}
  %value = arith.constant dense<{g.fill or zero(g.sum)}> : {g.sums}
  scf.for %r = %c0 to %c{g.rows} step %c1 {{
    vector.store %value, %fill[%r, %c0] : {g.own}, {g.sums}
    vector.store %value, %edge[%r, %c0] : {g.own}, {g.sums}
  }}{of_slab(g)}{memory_of_edges(g)}{g.lines_of_c}{g.block}
  %last = arith.maxui %steps, %c1 : index
  scf.for %s0 = %c0 to %last step %c{g.plan.products} {{
    %s_end = arith.addi %s0, %c{g.plan.products} : index
    %s1 = arith.minui %s_end, %steps : index{packing_slab(g) if g.packs_b else ""}
    %is_first = arith.cmpi eq, %s0, %c0 : index
    %is_last = arith.cmpi eq, %s1, %steps : index
    %some = arith.subi %s1, %s0 : index{slabs(g)}
    %ones = arith.constant -1 : index
    %if_last = arith.select %is_last, %ones, %c0 : index{edges(g)}
    %rest = arith.remui %full, %c{UNROLL} : index
    %whole = arith.subi %full, %rest : index
    scf.for %j = %j0 to %j1 step %c1 {{ scf.for %i = %i0 to %i1 step %c1 {{{g.tile_of_c}
      %apart = arith.ori %outside, %streams : i1
      %ii = arith.subi %i, %i0 : index{g.kept_row}{"" if g.is_zero else source}{target}{
        of_b
    }{of_a}{first}
      %steps_before = arith.muli %number, %c{unrolled} : index{
        stored_to_caches(g, prefetch_rows(g)) if g.prefetches_rows else ""
    }{sums(g)}{end}
    }} }}
  }}"""
    return g.text_of_panels("multiply", "z", body)


def finish(g: AmxKernel) -> str:
    """Return the epilogue of a tile of C, whose sums are in %edge, row by row."""

    def rows(*, masked: bool = False, hint: str = "") -> str:
        return f"""
        scf.for %r = %c0 to %rows_here step %c1 {{
          %at = arith.addi %row, %r : index
          %total = vector.load %edge[%r, %c0]
            : {g.own}, {g.sums}{g.finished(masked=masked, hint=hint)}
        }}"""

    return f"""{g.left}
        scf.if %col_in {{{g.past_caches(lambda hint: rows(hint=hint))}
        }} else {{{rows(masked=True)}
        }}"""


def stored_to_caches(g: AmxKernel, lines: str) -> str:
    """Return operations, under the condition that stores of C are not nontemporal."""
    if not g.plan.streams:
        return lines
    return f"""
      scf.if %streams {{
      }} else {{{lines}
      }}"""


def of_slab(g: AmxKernel) -> str:
    """Return the memory of what a work-group packs of B, if it does."""
    if not g.packs_b:
        return ""
    size = PANEL * g.step
    rows = g.panels[1] * g.plan.products * PANEL
    buffer = f"memref<{rows}x{g.step}x{g.element}>"
    cols = rows * g.step - size + g.step  # from an element of the first row on
    return f"""
  %slab = memref.alloca() {{alignment = 64 : i64}} : {buffer}
  %pb = memref.reinterpret_cast %slab to offset: [0], sizes: [{PANEL}, %c{cols}],
    strides: [{g.step}, 1] : {buffer} to {g.packed}{turned_of(g, g.problem.b)}"""


def packing_slab(g: AmxKernel) -> str:
    """Return what packs a work-group's panels of B, in steps from %s0 to %s1."""
    base = f"""
      %nth = arith.subi %j, %j0 : index
      %before_j = arith.muli %nth, %c{g.plan.products} : index
      %ss = arith.subi %s, %s0 : index
      %at = arith.addi %before_j, %ss : index"""
    return f"""
    scf.for %s = %s0 to %s1 step %c1 {{ scf.for %j = %j0 to %j1 step %c1 {{
      %col0 = arith.muli %j, %c{PANEL} : index{step(g, g.b, "%col0", "%n", "%pb", base)}
    }} }}"""


def memory_of_edges(g: AmxKernel) -> str:
    """Return the buffers for a partial last panel and a partial last step of A."""
    lines, size = "", PANEL * g.step
    if g.last_panel:
        lines += f"""
  %tail = memref.alloca() {{alignment = 64 : i64}} : {tail_of(g)}"""
    if g.last_step:
        rows = max(PANEL, g.panels[0] * g.rows)
        buffer = f"memref<{rows}x{g.step}x{g.element}>"
        lines += f"""
  %beyond = memref.alloca() {{alignment = 64 : i64}} : {buffer}
  %last_step = memref.reinterpret_cast %beyond to offset: [0],
    sizes: [{PANEL}, %c{rows * g.step - size + g.step}], strides: [{g.step}, 1]
    : {buffer} to {g.packed}"""
    return lines


def tail_of(g: AmxKernel) -> str:
    """Return the type of memory for a slab of the last panel of A."""
    return f"memref<{g.rows}x{g.plan.products * g.step}x{g.element}>"


def edges(g: AmxKernel) -> str:
    """Return %full, the whole steps of a slab, and what copies partial ones."""
    lines = """
    %full = arith.subi %s1, %s0 : index"""
    if g.last_step:
        at = """
      %at = arith.subi %i, %i0 : index"""
        lines = f"""
    %k_full = arith.divui %k, %c{g.step} : index
    %s_full = arith.minui %s1, %k_full : index
    %full = arith.subi %s_full, %s0 : index
    scf.for %s = %s_full to %s1 step %c1 {{ scf.for %i = %i0 to %i1 step %c1 {{
      %row0 = arith.muli %i, %c{g.rows} : index{
            step(g, g.a, "%row0", "%m", "%last_step", at)
        }
    }} }}"""
    if g.last_panel:
        to = f"%tail[%row_, %at] : {tail_of(g)}"
        lines += f"""
    %base = arith.muli %s0, %c{g.step} : index
    %i_full = arith.divui %m, %c{g.rows} : index
    scf.for %i = %i_full to %i1 step %c1 {{ scf.for %s = %c0 to %full step %c1 {{
      %row0 = arith.muli %i, %c{g.rows} : index
      %at = arith.muli %s, %c{g.step} : index
      %k0 = arith.addi %base, %at : index{rows_along_k(g, g.a, "%row0", "%m", to)}
    }} }}"""
    return lines


def of_panel(g: AmxKernel) -> str:
    """Return %panel, a panel of A or its copy, and where the slab begins in it."""
    tail, stride = tail_of(g), g.problem.a.strides[0]
    part = f"memref<{g.rows}x?x{g.element}, strided<[{stride}, 1], offset: ?>>"
    return f"""
      %panel = scf.if %row_in -> ({g.panel}) {{
        %of_a = memref.subview %a[%row, 0] [{g.rows}, %k] [1, 1]
          : {g.types[0]} to {part}
        %of_a_ = "memref.cast"(%of_a) : ({part}) -> ({g.panel})
        scf.yield %of_a_ : {g.panel}
      }} else {{
        %tail_ = "memref.cast"(%tail) : ({tail}) -> ({g.panel})
        scf.yield %tail_ : {g.panel}
      }}
      %slab_at = arith.muli %s0, %c{g.step} : index
      %first_a = arith.select %row_in, %slab_at, %c0 : index"""


def of_c(g: AmxKernel) -> str:
    """Return the end of a region that gives a part of C, or %edge for tiles %apart.

    Those are at an edge of C, or stored by nontemporal stores.
    """
    inside = g.part_of(g.problem.c.strides[0])
    ones = "1, " * g.problem.batched
    return f"""
        %of_c = scf.if %apart -> ({g.part}) {{
          %at_edge = "memref.cast"(%edge) : ({g.own}) -> ({g.part})
          scf.yield %at_edge : {g.part}
        }} else {{
          %there = memref.subview %c[{g.c.place("%row", "%col")}]
            [{ones}{g.rows}, {PANEL}] [{ones}1, 1] : {g.types[2]} to {inside}
          %there_ = "memref.cast"(%there) : ({inside}) -> ({g.part})
          scf.yield %there_ : {g.part}
        }}
        scf.yield %of_c : {g.part}"""


def of_block(g: AmxKernel) -> str:
    """Return the end of a region that gives the place among the sums of the block."""
    return f"""{g.in_block("%kept_")}
        scf.yield %kept_ : {g.part}"""


def sums(g: AmxKernel) -> str:
    """Return the loops along K: some steps at a time, then the rest."""
    acc = g.matrix("acc", *g.tile)
    lines, last = "", "%e"
    if g.last_step:
        last = "%f"
        lines = f"""
      %f:2 = scf.for %s = %full to %some step %c1
          iter_args(%t0 = %e#0, %v0 = %e#1) -> ({acc}, {acc}) {{
        %at_ii = arith.muli %ii, %c{g.rows * g.step} : index{
            products(g, 1, ("%last_step[%c0, %at_ii]", g.packed))
        }
        scf.yield %t1, %v1 : {acc}, {acc}
      }}"""
    begin = f"""
      %left = coopmatrix.load %source[%c0, %c0] row_major : {g.part} -> {acc}
      %right = coopmatrix.load %source[%c0, %c{HALF}] row_major : {g.part} -> {acc}"""
    if g.is_zero:
        begin = f"""
      %nothing = arith.constant {g.fill} : {g.sum}
      %left = coopmatrix.fill %nothing : {g.sum} -> {acc}
      %right = coopmatrix.fill %nothing : {g.sum} -> {acc}"""
    return f"""{begin}
      %l:2 = scf.for %s = %c0 to %whole step %c{UNROLL}
          iter_args(%t0 = %left, %v0 = %right) -> ({acc}, {acc}) {{{products(g, UNROLL)}
        scf.yield %t{UNROLL}, %v{UNROLL} : {acc}, {acc}
      }}
      %e:2 = scf.for %s = %whole to %full step %c1
          iter_args(%t0 = %l#0, %v0 = %l#1) -> ({acc}, {acc}) {{{products(g, 1)}
        scf.yield %t1, %v1 : {acc}, {acc}
      }}{lines}
      coopmatrix.store {last}#0, %target[%c0, %c0] row_major : {acc}, {g.part}
      coopmatrix.store {last}#1, %target[%c0, %c{HALF}] row_major : {acc}, {g.part}"""


def slabs(g: AmxKernel) -> str:
    """Return where the slab is, and what a work-group prefetches of the next one."""
    lines = f"""
    %n0 = arith.select %is_last, %s0, %s1 : index
    %n_left = arith.subi %steps, %n0 : index
    %n_some = arith.minui %n_left, %c{g.plan.products} : index
    %next_row = arith.muli %i0, %c{g.rows} : index
    %next_col = arith.muli %n0, %c{g.step} : index"""
    for of, first in g.packed_before.items():
        size = g.rows_of(of) * g.step
        lines += slab_at(of, "%s0") + slab_at(of, "%n0", "next")
        lines += f"""
    %next_to_{first} = arith.muli %{first}, %n_some : index
    %next_at_{first} = arith.addi %next_{of}, %next_to_{first} : index
    %prefetched_{of} = arith.muli %next_at_{first}, %c{size} : index"""
    return lines


def prefetch(g: AmxKernel, number: int) -> str:
    """Return what a step of an iteration prefetches: of the next slab, and of C."""
    n, lines = number, ""
    if g.prefetches_slabs:
        lines = f"""
        %before{n} = arith.addi %steps_before, %s : index
        %step{n} = arith.addi %before{n}, %c{n} : index"""
        for of in g.packed_before:
            rows = g.lines(of)
            lines += f"""
        %past{n}_{of} = arith.muli %step{n}, %c{rows * g.step} : index
        %q{n}_{of} = arith.addi %prefetched_{of}, %past{n}_{of} : index
        coopmatrix.prefetch %p{of}[%c0, %q{n}_{of}] row_major level = 2
          : {g.packed}, {g.matrix("a", rows, HALF, g.step)}"""
        if not g.packs_a:
            # A row has a line for each step of a slab: as many of them at a time.
            row = g.plan.products
            counts = [x for x in range(g.lines("a"), row) if row % x == 0]
            count = min(counts, default=row)
            lines += f"""
        %far{n} = arith.divui %step{n}, %c{row // count} : index
        %in{n} = arith.remui %step{n}, %c{row // count} : index
        %past{n} = arith.muli %in{n}, %c{count * g.step} : index
        %q_row{n} = arith.addi %next_row, %far{n} : index
        %q_col{n} = arith.addi %next_col, %past{n} : index
        coopmatrix.prefetch %a[%q_row{n}, %q_col{n}] row_major level = 2
          : {g.types[0]}, {g.matrix("a", 1, HALF, count * g.step)}"""
    return lines + prefetch_c(g, n)


def prefetch_rows(g: AmxKernel) -> str:
    """Return the prefetches of the rows of C that are below a tile: of the next one."""
    lines = """
      %m_last = arith.subi %m, %c1 : index"""
    for row in range(g.rows):
        lines += f"""
      %below{row} = arith.addi %row, %c{row + g.rows} : index
      %clamped{row} = arith.minui %below{row}, %m_last : index"""
        for memory in g.stored:
            lines += prefetch_row(memory, f"%clamped{row}", str(row))
    return lines


def prefetch_row(memory: Memory, row: str, name: str) -> str:
    """Return the prefetches of a row of a tile of C, from column %col on."""
    lines, line = "", 8 * STEP_BYTES // ELEMENT_BITS[memory.matrix.element]
    for col in range(0, PANEL, line):
        at = f"{memory.name}{name}_{col}"
        lines += f"""
        {at} = arith.addi %col, %c{col} : index
        memref.prefetch {memory.name}[{memory.place(row, at)}], write, locality<3>, data
          : {memory.matrix.type}"""
    return lines


def prefetch_c(g: AmxKernel, number: int) -> str:
    """Return the prefetches of rows that the sums of a tile are stored to."""
    rows = -(-g.rows // g.plan.products)
    lines = f"""
        %r{number} = arith.muli %s, %c{rows} : index"""
    for row in range(rows):
        at = f"{number}_{row}"
        lines += f"""
        %at{at} = arith.addi %r{number}, %c{number * rows + row} : index"""
        if not g.outputs:
            for col in (0, HALF):
                lines += f"""
        memref.prefetch %target[%at{at}, %c{col}], write, locality<3>, data
          : {g.part}"""
            continue
        # Before the last slab, only the first row.
        lines += f"""
        %in{at} = arith.andi %at{at}, %if_last : index
        %r{at} = arith.addi %row, %in{at} : index"""
        of_rows = (prefetch_row(memory, f"%r{at}", at) for memory in g.stored)
        lines += stored_to_caches(g, "".join(of_rows))
    return lines


def products(g: AmxKernel, unroll: int, of_a: tuple[str, str] | None = None) -> str:
    """Return some steps: two tiles of A, or one of few rows, by two of B.

    In `of_a` is where A is, and the type of that memory, if not by `place_of_a`.
    """
    a, b = (g.matrix(use, *g.tile) for use in ("a", "b"))
    hint = " nontemporal" * g.streams_a
    lines = f"""
        %from_a = arith.muli %s, %c{g.unit} : index
        %from_b = arith.muli %s, %c{PANEL * g.step} : index
        %at_a = arith.addi %first_a, %from_a : index
        %at_b = arith.addi %first_b, %from_b : index"""
    for u in range(unroll):
        at, memory = of_a or g.place_of_a(f"%ra{u}")
        lines += f"""
        %ra{u} = arith.addi %at_a, %c{u * g.unit} : index
        %rb{u} = arith.addi %at_b, %c{u * PANEL * g.step} : index
        %p{u} = coopmatrix.load {at} row_major{hint} : {memory} -> {a}
        %q{u} = coopmatrix.load %pb[%c0, %rb{u}] packed : {g.packed} -> {b}
        %o{u} = coopmatrix.load %pb[%c{HALF}, %rb{u}] packed : {g.packed} -> {b}
        {g.multiply(f"%t{u + 1}", f"%p{u}", f"%q{u}", f"%t{u}", g.tile)}
        {g.multiply(f"%v{u + 1}", f"%p{u}", f"%o{u}", f"%v{u}", g.tile)}{
            prefetch(g, u) if unroll > 1 else ""
        }"""
    return lines


# --- the kernel that packs -----------------------------------------------------------


def packing(g: AmxKernel, what: str = "ab") -> str:
    """Return the kernel that packs A, if that is packed, and B; or one of them."""
    turned = turned_of(g, g.problem.a, g.problem.b)
    of_a = f"""
    %first_row = arith.muli %group, %c{g.rows} : index
    scf.for %s = %c0 to %steps step %c1 {{{
        step(g, g.a, "%first_row", "%m", "%pa", in_order(g, "%group", "a"))
    }
    }}"""
    of_b, some = "", "%c0 to %panels_b"
    if g.panels_of_step is not None:
        some = "%p0 to %p1"
        of_b = f"""
    %part = arith.divui %number, %steps : index
    %p0 = arith.muli %part, %c{g.panels_of_step} : index
    %p_end = arith.addi %p0, %c{g.panels_of_step} : index
    %p1 = arith.minui %p_end, %panels_b : index"""
    of_b = f"""
    %number = arith.subi %group, %of_a : index{of_b}
    %s = arith.remui %number, %steps : index
    scf.for %p = {some} step %c1 {{
      %col0 = arith.muli %p, %c{PANEL} : index{
        step(g, g.b, "%col0", "%n", "%pb", in_order(g, "%p", "b"))
    }
    }}"""
    return g.packing(of_a, of_b, what, turned)


def turned_of(g: AmxKernel, *matrices: GemmOperand) -> str:
    """Return memory for a step of a panel, if one of some matrices is transposed."""
    if not any(x.transposed for x in matrices):
        return ""
    buffer = f"memref<{PANEL}x{g.step}x{g.element}>"
    return f"""
  %turned = memref.alloca() {{alignment = 64 : i64}} : {buffer}"""


def in_order(g: AmxKernel, panel: str, of: str) -> str:
    """Return which step %s of a panel is, in memory of all of A, or of B."""
    return f"""
      %in_slab = arith.remui %s, %c{g.plan.products} : index
      %s0 = arith.subi %s, %in_slab : index
      %s_left = arith.subi %steps, %s0 : index
      %some = arith.minui %s_left, %c{g.plan.products} : index{slab_at(of, "%s0")}
      %from_p = arith.muli {panel}, %some : index
      %before = arith.addi %slab_{of}, %from_p : index
      %at = arith.addi %before, %in_slab : index"""


def slab_at(of: str, step: str, name: str = "slab") -> str:
    """Return which step of a panel a slab of A or B begins with, in memory of all."""
    return f"""
      %{name}_of_{of} = arith.muli %before_{of}, %steps : index
      %{name}_to_{of} = arith.muli {step}, %panels_{of} : index
      %{name}_{of} = arith.addi %{name}_of_{of}, %{name}_to_{of} : index"""


def step(g: AmxKernel, memory: Memory, first: str, end: str, to: str, at: str) -> str:
    """Return what packs step %s of rows or columns from `first` on, as step %at."""
    along_k = memory.matrix.transposed != (memory is g.a)
    pack = rows_along_k if along_k else channels
    rows = g.rows_of("a" if memory is g.a else "b")
    where = f"""
      %k0 = arith.muli %s, %c{g.step} : index{at}
      %base = arith.muli %at, %c{rows * g.step} : index"""
    if along_k == (memory is g.a):
        return where + pack(g, memory, first, end, f"{to}[%row_, %base] : {g.packed}")
    buffer = f"memref<{PANEL}x{g.step}x{g.element}>"
    turned = pack(g, memory, first, end, f"%turned[%row_, %c0] : {buffer}")
    return where + turned + turning(g, to, buffer)


def rows_along_k(g: AmxKernel, memory: Memory, first: str, end: str, to: str) -> str:
    """Return what packs rows that are along K: as they are, and zeros beyond."""
    mask, type = f"vector<{g.step}xi1>", memory.matrix.type
    rows = g.rows_of("a" if memory is g.a else "b")
    return f"""
      %none = arith.constant dense<{zero(g.element)}> : {g.row}
      %left = arith.subi %k, %k0 : index
      %whole = arith.cmpi uge, %left, %c{g.step} : index
      scf.for %row_ = %c0 to %c{rows} step %c1 {{
        %line = arith.addi {first}, %row_ : index
        %there = arith.cmpi ult, %line, {end} : index
        %inside = arith.andi %there, %whole : i1
        %v = scf.if %inside -> ({g.row}) {{
          %v0 = vector.load {g.element_at(memory, "%line", "%k0")} : {type}, {g.row}
          scf.yield %v0 : {g.row}
        }} else {{
          %rest = arith.select %there, %left, %c0 : index
          %near = arith.select %there, %line, %c0 : index
          %mask = vector.create_mask %rest : {mask}
          %v1 = vector.maskedload {g.element_at(memory, "%near", "%k0")}, %mask, %none
            : {type}, {mask}, {g.row} into {g.row}
          scf.yield %v1 : {g.row}
        }}
        vector.store %v, {to}, {g.row}
      }}"""


def channels(g: AmxKernel, memory: Memory, first: str, end: str, to: str) -> str:
    """Return what packs rows that are along M or N, a row of two tiles at a time.

    Rows that share a row are loaded each, then interleaved.
    """
    row = f"vector<{PANEL}x{g.element}>"
    casts = "".join(
        f"""
        %in{t}_ = vector.bitcast %v#{t} : {row} to vector<{PANEL}xi{32 // g.channel}>"""
        for t in range(g.channel)
    )
    stores = "".join(
        f"""
        %row_{half} = arith.addi %r, %c{half * HALF} : index
        vector.store %row{half}, {to.replace("%row_", f"%row_{half}")}, {g.row}"""
        for half in range(2)
    )
    return f"""
      %nothing = arith.constant dense<{zero(g.element)}> : {row}
      %left = arith.subi {end}, {first} : index
      %rows_in = arith.cmpi uge, %left, %c{PANEL} : index
      scf.for %r = %c0 to %c{HALF} step %c1 {{
        %rk = arith.muli %r, %c{g.channel} : index
        %kr = arith.addi %k0, %rk : index{g.read_at_edges(memory, PANEL, first, "%kr")}{
        casts
    }{interleaved(g)}{stores}
      }}"""


def turning(g: AmxKernel, to: str, buffer: str) -> str:
    """Return what transposes the words of each tile of %turned, and stores them.

    Rows d apart exchange their words d apart, for d = 8, 4, 2 and 1.
    """
    words, numbers = f"vector<{HALF}xi32>", range(HALF)
    loads = "".join(
        f"""
        %in{n} = arith.addi %half, %c{n} : index
        %v{n} = vector.load %turned[%in{n}, %c0] : {buffer}, {g.row}
        %t16_{n} = vector.bitcast %v{n} : {g.row} to {words}"""
        for n in numbers
    )
    lines, size = "", HALF
    for apart in (8, 4, 2, 1):
        for n in numbers:
            high = bool(n & apart)
            pair = n & ~apart, n | apart
            mask = ", ".join(
                str((c | apart if high else c & ~apart) + HALF * bool(c & apart))
                for c in numbers
            )
            lines += f"""
        %t{apart}_{n} = vector.shuffle %t{size}_{pair[0]}, %t{size}_{pair[1]} [{mask}]
          : {words}, {words}"""
        size = apart
    stores = "".join(
        f"""
        %w{n} = vector.bitcast %t1_{n} : {words} to {g.row}
        vector.store %w{n}, {to}[%in{n}, %base] : {g.packed}, {g.row}"""
        for n in numbers
    )
    return f"""
      scf.for %half = %c0 to %c{PANEL} step %c{HALF} {{{loads}{lines}{stores}
      }}"""


def shuffle(result: str, a: str, b: str, type: str, components: range) -> str:
    """Return the interleaving of some components of two vectors of one type."""
    length = int(type.split("<")[1].split("x")[0])
    mask = ", ".join(f"{n}, {n + length}" for n in components)
    return f"""
        %{result} = vector.shuffle %{a}, %{b} [{mask}] : {type}, {type}"""


def interleaved(g: AmxKernel) -> str:
    """Return how %in0_, %in1_, .. become %row0 and %row1, of two tiles side by side."""
    words, bytes = f"vector<{PANEL}xi16>", f"vector<{PANEL}xi8>"
    wide = f"vector<{HALF}xi16>"
    lines = ""
    for tile in range(2):
        columns = range(tile * HALF, (tile + 1) * HALF)
        if g.channel == 2:
            lines += shuffle(f"words{tile}", "in0_", "in1_", words, columns)
        else:
            for name, a, b in (("low", "in0_", "in1_"), ("high", "in2_", "in3_")):
                lines += shuffle(f"{name}{tile}", a, b, bytes, columns)
                lines += f"""
        %{name}{tile}_ = vector.bitcast %{name}{tile} : {bytes} to {wide}"""
            pair = f"low{tile}_", f"high{tile}_"
            lines += shuffle(f"words{tile}", *pair, wide, range(HALF))
        lines += f"""
        %row{tile} = vector.bitcast %words{tile} : {words} to {g.row}"""
    return lines


# --- the pass ------------------------------------------------------------------------


@dataclass(frozen=True)
class TileMatmulAmxPass(ModulePass):
    name = "tile-matmul-amx"

    block: tuple[int, ...] = ()
    """Cache block: panels of A, panels of B, and steps along K."""
    threads: int = 1
    """Threads that share the work."""
    prepack: Operand = "none"
    """Let the caller pack B, by a separate kernel."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"expected 1 thread or more, got {self.threads}")
        if self.block and len(self.block) != 3:
            found = ",".join(map(str, self.block))
            raise ValueError(
                "expected a block of 3 numbers, panels of A, panels of B and steps of "
                f"K, got {found}"
            )
        if self.block:
            check_block(self._block)

    @property
    def _block(self) -> Block:
        rows, cols, steps = self.block
        return rows, cols, steps

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func, found in matches(op):
            asked = self.block or found.tuned or self.prepack == "b"
            few = is_thin(found.problem) or dots_of(func, found) is not None
            if is_of_amx(found.problem) and (asked or not few):
                self._tile(ctx, func, found)

    def _tile(self, ctx: Context, func: FuncOp, found: Multiplication) -> None:
        """Put kernels in the place of a function, if there is a plan."""
        block = self._block if self.block else None
        if block is None and found.tuned:
            block = found.tuned.block
        plan = plan_amx_gemm(found.problem, self.threads, block, self.prepack == "b")
        if isinstance(plan, str):
            remark(func, f"not packed and blocked for the caches: {plan}")
            return
        if self.prepack == "b":
            element = memref_type(found.memories[1]).element_type
            found = with_packed_b(func, found, element)
        made = AmxKernel(found, plan)
        problem, (a, _, c) = found.problem, found.memories
        rows, cols = (
            extent(func, c, problem.c.dimension(axis)).ceil_div(size)
            for axis, size in zip(AXES, plan.subgroup, strict=True)
        )
        steps = extent(func, a, problem.a.dimension("cols")).ceil_div(plan.depth)
        of_a = rows if isinstance(plan.a, Packed) else AffineConstantExpr(0)
        batch = (extent(func, c, 0),) if problem.batched else ()
        blocks = (
            cols.ceil_div(made.panels[1]),
            rows.ceil_div(made.panels[0]),
        )

        def parts(panels: AffineExpr) -> AffineExpr:
            per = made.panels_of_step
            return AffineConstantExpr(1) if per is None else panels.ceil_div(per)

        size_a, size_b = (STEP_BYTES * rows for rows in plan.subgroup)
        packed = [(*batch, of_a, steps, size_a), (*batch, cols, steps, size_b)]
        before = "ab" if len(made.scratch) == 2 else "a" * made.packs_a
        stages: Groups = {MULTIPLY: (*blocks, *batch)}
        text = multiplying(made)
        if before:
            of_b = steps * parts(cols) if "b" in before else AffineConstantExpr(0)
            stages = {PACK: (of_a + of_b, *batch), **stages}
            text = packing(made, before) + text
        if made.prepacked:
            text += packing(made, "b")

        def shares_of_b(k: AffineExpr, n: AffineExpr) -> Shares:
            panels, steps = n.ceil_div(PANEL), k.ceil_div(plan.depth)
            return steps * parts(panels), (panels, steps, PANEL * plan.depth)

        packed = packed[: len(made.scratch)]
        of_caller = shares_of_b if made.prepacked else None
        become_stages(func, found, text, ctx, stages, packed, of_caller)
