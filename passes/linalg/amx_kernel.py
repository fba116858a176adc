"""The two kernels of a multiplication by tiles of AMX: one packs, one multiplies.

    @pack      a work-group packs a panel of A, or a step of K of all panels of B
    @multiply  a work-group computes a block of C, panel by panel

Packed, step s of panel p of either is 32 rows of 64 bytes at (p * steps + s) * 2 KiB:
the rows of two tiles, those of B with rows of K by turns.  What is beyond the matrices
is zero, so that only C has edges.  The memref of it has 32 rows of 64 bytes from each
element on: a tile is named by its first element alone, which one register counts.

The sums of a panel of A and one of B are loaded, grow along K, and are stored.  At
first they come from C or what it is filled with, at last they go to C, at its edges
through memory of their own; in between they are in memory of the function.
"""

from __future__ import annotations

from dataclasses import dataclass

from coopc.passes.linalg.kernel_text import Operands, zero
from coopc.plan.gemm import PANEL, UNROLL, GemmPlan, Packed, Problem

ATTRIBUTES = (
    "simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>"
)


@dataclass(frozen=True, slots=True)
class AmxKernel(Operands):
    """`C = fill + A * B`, or `C += A * B`, by a plan."""

    problem: Problem
    plan: GemmPlan
    fill: str | None
    """A constant that C is filled with first; None to add to what is there."""

    @property
    def packs_a(self) -> bool:
        """Whether A is packed, too: else it is whole panels and steps."""
        return isinstance(self.plan.a, Packed)

    @property
    def element(self) -> str:
        """Of A and B: bf16, f16 or i8."""
        return self.a.element

    @property
    def sum(self) -> str:
        """The type of an element of C."""
        return self.c.element

    @property
    def types(self) -> tuple[str, str, str]:
        """Of the memrefs."""
        return self.problem.a.type, self.problem.b.type, self.problem.c.type

    @property
    def step(self) -> int:
        """Elements of K in a product."""
        return self.plan.depth

    @property
    def unit(self) -> int:
        """What the innermost loop counts a product as."""
        return PANEL * self.step if self.packs_a else self.step

    @property
    def packed(self) -> int:
        """Rows of B that share a row of its tile."""
        assert isinstance(self.plan.b, Packed), self.plan
        return self.plan.b.channel

    @property
    def panels(self) -> tuple[int, int]:
        """Panels of A, and of B, of a work-group."""
        return self.plan.group[0] // PANEL, self.plan.group[1] // PANEL

    @property
    def rows(self) -> str:
        """The type of A and of B, packed."""
        return f"memref<{PANEL}x?x{self.element}, strided<[{self.step}, 1]>>"

    @property
    def head(self) -> str:
        """The arguments and attributes of both kernels."""
        a, b, c = self.types
        memory = f"%a: {a}, %b: {b}, %c: {c}, %pa: {self.rows}, %pb: {self.rows}"
        return f"({memory}) attributes {{{ATTRIBUTES}}}"

    @property
    def sizes(self) -> str:
        """What both kernels begin with: M, N, K, and how many panels and steps."""
        a, _, c = self.types
        return f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant {PANEL} : index
  %cstep = arith.constant {self.step} : index
  %csize = arith.constant {PANEL * self.step} : index
  %chalf = arith.constant {PANEL * self.step // 2} : index
  %m = memref.dim %c, %c0 : {c}
  %n = memref.dim %c, %c1 : {c}
  %k = memref.dim %a, %c1 : {a}
  %panels_a = arith.ceildivui %m, %c32 : index
  %panels_b = arith.ceildivui %n, %c32 : index
  %steps = arith.ceildivui %k, %cstep : index"""


# --- the kernel that multiplies ------------------------------------------------------


def multiplying(g: AmxKernel) -> str:
    """Return the kernel, as text."""
    return f"""
func.func @multiply{g.head} {{{g.sizes}
{beginning(g)}
  scf.for %s0 = %c0 to %all step %depth {{
    %s_end = arith.addi %s0, %depth : index
    %s1 = arith.minui %s_end, %steps : index
    %is_first = arith.cmpi eq, %s0, %c0 : index
    %is_last = arith.cmpi eq, %s1, %steps : index
    %some = arith.subi %s1, %s0 : index
    %rest = arith.remui %some, %cu : index
    %whole = arith.subi %some, %rest : index
    %length = arith.muli %some, %cunit : index
    %whole_length = arith.muli %whole, %cunit : index
    scf.for %j = %j0 to %j1 step %c1 {{ scf.for %i = %i0 to %i1 step %c1 {{
{place(g)}
{source(g)}
{target(g)}
{bounds(g)}
{sums(g)}
      %copy = arith.andi %is_last, %outside : i1
      scf.if %copy {{{edge_rows(g, False)}
      }}
    }} }}
  }}
  func.return
}}"""


def own_type(g: AmxKernel) -> str:
    """Return the type of memory for the sums of two panels."""
    return f"memref<{PANEL}x{PANEL}x{g.sum}>"


def sums_type(g: AmxKernel) -> str:
    """Return the type of memory for the sums of a block."""
    panels = g.panels[0] * g.panels[1]
    return f"memref<{panels * PANEL}x{PANEL}x{g.sum}>"


def part_type(g: AmxKernel, stride: int | None = None) -> str:
    """Return the type of a part of memory, of rows of a stride."""
    known = "?" if stride is None else stride
    return f"memref<{PANEL}x{PANEL}x{g.sum}, strided<[{known}, 1], offset: ?>>"


def row_type(g: AmxKernel) -> str:
    """Return the type of a row of sums."""
    return f"vector<{PANEL}x{g.sum}>"


def beginning(g: AmxKernel) -> str:
    """Return the constants, the memory of the function, and where its block is."""
    return f"""\
  %cu = arith.constant {UNROLL} : index
  %cunit = arith.constant {g.unit} : index
  %cstride = arith.constant {UNROLL * g.unit} : index
  %cols = arith.constant {g.panels[1]} : index
  %rows = arith.constant {g.panels[0]} : index
  %depth = arith.constant {g.plan.products} : index
  %sums = memref.alloca() {{alignment = 64 : i64}} : {sums_type(g)}
  %edge = memref.alloca() {{alignment = 64 : i64}} : {own_type(g)}
  %fill = memref.alloca() {{alignment = 64 : i64}} : {own_type(g)}
  %value = arith.constant dense<{g.fill or zero(g.sum)}> : {row_type(g)}
  scf.for %r = %c0 to %c32 step %c1 {{
    vector.store %value, %fill[%r, %c0] : {own_type(g)}, {row_type(g)}
    vector.store %value, %edge[%r, %c0] : {own_type(g)}, {row_type(g)}
  }}
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %j0 = arith.muli %x, %cols : index
  %i0 = arith.muli %y, %rows : index
  %j_end = arith.addi %j0, %cols : index
  %i_end = arith.addi %i0, %rows : index
  %j1 = arith.minui %j_end, %panels_b : index
  %i1 = arith.minui %i_end, %panels_a : index
  %all = arith.maxui %steps, %c1 : index"""


def place(g: AmxKernel) -> str:
    """Return where the sums of two panels are in C, and among those of the block."""
    return """\
      %row = arith.muli %i, %c32 : index
      %col = arith.muli %j, %c32 : index
      %row_end = arith.addi %row, %c32 : index
      %col_end = arith.addi %col, %c32 : index
      %row_in = arith.cmpi ule, %row_end, %m : index
      %col_in = arith.cmpi ule, %col_end, %n : index
      %inside = arith.andi %row_in, %col_in : i1
      %yes = arith.constant true
      %outside = arith.xori %inside, %yes : i1
      %jj = arith.subi %j, %j0 : index
      %ii = arith.subi %i, %i0 : index
      %jr = arith.muli %jj, %rows : index
      %number = arith.addi %jr, %ii : index
      %place = arith.muli %number, %c32 : index"""


def of_c(g: AmxKernel) -> str:
    """Return the end of a region that gives a part of C."""
    c, inside, part = g.types[2], part_type(g, g.problem.c.strides[0]), part_type(g)
    return f"""
        %there = memref.subview %c[%row, %col] [{PANEL}, {PANEL}] [1, 1]
          : {c} to {inside}
        %there_ = "memref.cast"(%there) : ({inside}) -> ({part})
        scf.yield %there_ : {part}"""


def of_own(g: AmxKernel, name: str) -> str:
    """Return the end of a region that gives memory for two panels, all of it."""
    return f"""
        %all_of = "memref.cast"(%{name}) : ({own_type(g)}) -> ({part_type(g)})
        scf.yield %all_of : {part_type(g)}"""


def of_matrix(g: AmxKernel, name: str) -> str:
    """Return the end of a region that gives a part of C, or memory for one at an edge.

    Args:
        g: the multiplication.
        name: of what is given.
    """
    part = part_type(g)
    return f"""
        %{name} = scf.if %inside -> ({part}) {{{of_c(g)}
        }} else {{{of_own(g, "edge")}
        }}
        scf.yield %{name} : {part}"""


def of_sums(g: AmxKernel) -> str:
    """Return the end of a region that gives the place among the sums of the block."""
    inside, part = part_type(g, PANEL), part_type(g)
    return f"""
        %kept = memref.subview %sums[%place, 0] [{PANEL}, {PANEL}] [1, 1]
          : {sums_type(g)} to {inside}
        %kept_ = "memref.cast"(%kept) : ({inside}) -> ({part})
        scf.yield %kept_ : {part}"""


def source(g: AmxKernel) -> str:
    """Return from where sums are loaded."""
    part = part_type(g)
    begin = of_own(g, "fill")
    if g.fill is None:
        begin = f"""
        scf.if %outside {{{edge_rows(g, True)}
        }}{of_matrix(g, "begin")}"""
    return f"""\
      %source = scf.if %is_first -> ({part}) {{{begin}
      }} else {{{of_sums(g)}
      }}"""


def target(g: AmxKernel) -> str:
    """Return to where sums are stored."""
    part = part_type(g)
    return f"""\
      %target = scf.if %is_last -> ({part}) {{{of_matrix(g, "end")}
      }} else {{{of_sums(g)}
      }}"""


def tile(g: AmxKernel) -> tuple[int, int, int]:
    """Return M, N and K of a product: half a panel of B."""
    return PANEL, PANEL // 2, g.step


def sums(g: AmxKernel) -> str:
    """Return the loops along K: some steps at a time, then the rest."""
    acc, part = g.matrix("acc", *tile(g)), part_type(g)
    return f"""\
      %left = coopmatrix.load %source[%c0, %c0] row_major : {part} -> {acc}
      %right = coopmatrix.load %source[%c0, %c16] row_major : {part} -> {acc}
      %l:2 = scf.for %s = %from to %middle step %cstride
          iter_args(%t0 = %left, %v0 = %right) -> ({acc}, {acc}) {{{products(g, UNROLL)}
        scf.yield %t{UNROLL}, %v{UNROLL} : {acc}, {acc}
      }}
      %e:2 = scf.for %s = %middle to %to step %cunit
          iter_args(%t0 = %l#0, %v0 = %l#1) -> ({acc}, {acc}) {{{products(g, 1)}
        scf.yield %t1, %v1 : {acc}, {acc}
      }}
      coopmatrix.store %e#0, %target[%c0, %c0] row_major : {acc}, {part}
      coopmatrix.store %e#1, %target[%c0, %c16] row_major : {acc}, {part}"""


def products(g: AmxKernel, unroll: int) -> str:
    """Return some steps: two tiles of A, two of B, four products."""
    half = PANEL // 2
    a, b = (g.matrix(use, *tile(g)) for use in ("a", "b"))
    lines = """
        %far = arith.muli %s, %c32 : index
        %r = arith.addi %far, %to_b : index"""
    if g.packs_a:
        lines = """
        %r = arith.addi %s, %to_b : index"""
    at, memory = ("%c0", g.rows) if g.packs_a else ("%row", g.types[0])
    name = "pa" if g.packs_a else "a"
    for u in range(unroll):
        lines += f"""
        %ua{u} = arith.constant {u * g.unit} : index
        %u{u} = arith.constant {u * PANEL * g.step} : index
        %w{u} = arith.constant {(u * PANEL + half) * g.step} : index
        %ra{u} = arith.addi %s, %ua{u} : index
        %rb{u} = arith.addi %r, %u{u} : index
        %rc{u} = arith.addi %r, %w{u} : index
        %p{u} = coopmatrix.load %{name}[{at}, %ra{u}] row_major : {memory} -> {a}
        %q{u} = coopmatrix.load %pb[%c0, %rb{u}] packed : {g.rows} -> {b}
        %o{u} = coopmatrix.load %pb[%c0, %rc{u}] packed : {g.rows} -> {b}
        {g.multiply(f"%t{u + 1}", f"%p{u}", f"%q{u}", f"%t{u}", tile(g))}
        {g.multiply(f"%v{u + 1}", f"%p{u}", f"%o{u}", f"%v{u}", tile(g))}"""
    return lines


def bounds(g: AmxKernel) -> str:
    """Return from where to where the innermost loop counts.

    It counts elements of A: as it is packed, or along its rows.
    """
    if not g.packs_a:
        return """
      %from = arith.muli %s0, %cunit : index
      %jb = arith.muli %j, %steps : index
      %to_b = arith.muli %jb, %csize : index
      %middle = arith.addi %from, %whole_length : index
      %to = arith.addi %from, %length : index"""
    return """
      %ja = arith.muli %i, %steps : index
      %jb = arith.muli %j, %steps : index
      %sa = arith.addi %ja, %s0 : index
      %apart = arith.subi %jb, %ja : index
      %from = arith.muli %sa, %csize : index
      %to_b = arith.muli %apart, %csize : index
      %middle = arith.addi %from, %whole_length : index
      %to = arith.addi %from, %length : index"""


def edge_rows(g: AmxKernel, is_load: bool) -> str:
    """Return the copying of a part of C at an edge, in or out, row by row."""
    c, own, row = g.types[2], own_type(g), row_type(g)
    mask = f"vector<{PANEL}xi1>"
    if is_load:
        copy = f"""
          %old = vector.maskedload %c[%at, %col], %mask, %value : {c}, {mask}, {row}
            into {row}
          vector.store %old, %edge[%r, %c0] : {own}, {row}"""
    else:
        copy = f"""
          %new = vector.load %edge[%r, %c0] : {own}, {row}
          vector.maskedstore %c[%at, %col], %mask, %new : {c}, {mask}, {row}"""
    return f"""
        %rows_left = arith.subi %m, %row : index
        %rows_here = arith.minui %rows_left, %c32 : index
        %cols_left = arith.subi %n, %col : index
        %mask = vector.create_mask %cols_left : {mask}
        scf.for %r = %c0 to %rows_here step %c1 {{
          %at = arith.addi %row, %r : index{copy}
        }}"""


# --- the kernel that packs -----------------------------------------------------------


def packing(g: AmxKernel) -> str:
    """Return the kernel that packs A and B, as text."""
    return f"""
func.func @pack{g.head} {{{g.sizes}
  %group = simt.workgroup_id x : index
  %of_a = arith.muli %panels_a, %c{int(g.packs_a)} : index
  %is_a = arith.cmpi ult, %group, %of_a : index
  scf.if %is_a {{{panel_of_a(g)}
  }} else {{{step_of_b(g)}
  }}
  func.return
}}"""


def panel_of_a(g: AmxKernel) -> str:
    """Return what packs a panel of A: rows as they are, and zeros beyond."""
    a = g.types[0]
    row = f"vector<{g.step}x{g.element}>"
    return f"""
    %none = arith.constant dense<{zero(g.element)}> : {row}
    %row0 = arith.muli %group, %c32 : index
    %first = arith.muli %group, %steps : index
    scf.for %s = %c0 to %steps step %c1 {{
      %k0 = arith.muli %s, %cstep : index
      %left = arith.subi %k, %k0 : index
      %whole = arith.cmpi uge, %left, %cstep : index
      %at = arith.addi %first, %s : index
      %base = arith.muli %at, %csize : index
      scf.for %r = %c0 to %c32 step %c1 {{
        %row = arith.addi %row0, %r : index
        %r_at = arith.muli %r, %cstep : index
        %to = arith.addi %base, %r_at : index
        %there = arith.cmpi ult, %row, %m : index
        %inside = arith.andi %there, %whole : i1
        %v = scf.if %inside -> ({row}) {{
          %v0 = vector.load %a[%row, %k0] : {a}, {row}
          scf.yield %v0 : {row}
        }} else {{
          %rest = arith.select %there, %left, %c0 : index
          %near = arith.select %there, %row, %c0 : index
          %mask = vector.create_mask %rest : vector<{g.step}xi1>
          %v1 = vector.maskedload %a[%near, %k0], %mask, %none
            : {a}, vector<{g.step}xi1>, {row} into {row}
          scf.yield %v1 : {row}
        }}
        vector.store %v, %pa[%c0, %to] : {g.rows}, {row}
      }}
    }}"""


def step_of_b(g: AmxKernel) -> str:
    """Return what packs a step of K of all panels of B."""
    return f"""
    %s = arith.subi %group, %of_a : index
    %k0 = arith.muli %s, %cstep : index
    scf.for %p = %c0 to %panels_b step %c1 {{
      %n0 = arith.muli %p, %c32 : index
      %left = arith.subi %n, %n0 : index
      %whole = arith.cmpi uge, %left, %c32 : index
      %before = arith.muli %p, %steps : index
      %at = arith.addi %before, %s : index
      %base = arith.muli %at, %csize : index
      scf.for %r = %c0 to %c16 step %c1 {{{rows_of_b(g)}
      }}
    }}"""


def rows_of_b(g: AmxKernel) -> str:
    """Return what packs rows of B that share a row: load each, then interleave."""
    row = f"vector<{PANEL}x{g.element}>"
    numbers = range(g.packed)
    many = ", ".join([row] * g.packed)
    places = "".join(
        f"""
        %o{t} = arith.constant {t} : index
        %k{t}_ = arith.addi %kr, %o{t} : index"""
        for t in numbers
    )
    bits = 32 // g.packed
    casts = "".join(
        f"""
        %i{t} = vector.bitcast %v#{t} : {row} to vector<{PANEL}xi{bits}>"""
        for t in numbers
    )
    out = f"{g.rows}, vector<{g.step}x{g.element}>"
    return f"""
        %cp = arith.constant {g.packed} : index
        %none = arith.constant dense<{zero(g.element)}> : {row}
        %rk = arith.muli %r, %cp : index
        %kr = arith.addi %k0, %rk : index{places}
        %end = arith.cmpi ult, %k{g.packed - 1}_, %k : index
        %all = arith.andi %end, %whole : i1
        %v:{g.packed} = scf.if %all -> ({many}) {{{loads(g, masked=False)}
        }} else {{{loads(g, masked=True)}
        }}{casts}{interleaved(g)}
        %r_at = arith.muli %r, %cstep : index
        %to = arith.addi %base, %r_at : index
        %beside = arith.addi %to, %chalf : index
        vector.store %row0, %pb[%c0, %to] : {out}
        vector.store %row1, %pb[%c0, %beside] : {out}"""


def loads(g: AmxKernel, masked: bool) -> str:
    """Return the loads of rows of B that share a row, with zeros beyond if masked."""
    b, row = g.types[1], f"vector<{PANEL}x{g.element}>"
    mask = f"vector<{PANEL}xi1>"
    lines: list[str] = []
    for t in range(g.packed):
        plain = f"""
          %x{t} = vector.load %b[%k{t}_, %n0] : {b}, {row}"""
        edge = f"""
          %in{t} = arith.cmpi ult, %k{t}_, %k : index
          %rest{t} = arith.select %in{t}, %left, %c0 : index
          %near{t} = arith.select %in{t}, %k{t}_, %c0 : index
          %mask{t} = vector.create_mask %rest{t} : {mask}
          %x{t} = vector.maskedload %b[%near{t}, %n0], %mask{t}, %none
            : {b}, {mask}, {row} into {row}"""
        lines.append(edge if masked else plain)
    names = ", ".join(f"%x{t}" for t in range(g.packed))
    types = ", ".join([row] * g.packed)
    return (
        "".join(lines)
        + f"""
          scf.yield {names} : {types}"""
    )


def shuffle(result: str, a: str, b: str, type: str, first: int, count: int) -> str:
    """Return the interleaving of some components of two vectors.

    Args:
        result: its name.
        a: the name of one.
        b: the name of the other.
        type: of both.
        first: the first component of each that is taken.
        count: how many are.
    """
    length = int(type.split("<")[1].split("x")[0])
    numbers = range(first, first + count)
    mask = ", ".join(f"{n}, {n + length}" for n in numbers)
    return f"""
        %{result} = vector.shuffle %{a}, %{b} [{mask}] : {type}, {type}"""


def interleaved(g: AmxKernel) -> str:
    """Return how %i0, %i1, .. become %row0 and %row1, of two tiles side by side."""
    half = PANEL // 2
    lines = ""
    for tile in range(2):
        first = tile * half
        if g.packed == 2:
            type = f"vector<{PANEL}xi16>"
            lines += shuffle(f"words{tile}", "i0", "i1", type, first, half)
        else:
            type, wide = f"vector<{PANEL}xi8>", f"vector<{half}xi16>"
            for name, a, b in (("low", "i0", "i1"), ("high", "i2", "i3")):
                lines += shuffle(f"{name}{tile}", a, b, type, first, half)
                lines += f"""
        %{name}{tile}_ = vector.bitcast %{name}{tile} : {type} to {wide}"""
            lines += shuffle(
                f"words{tile}", f"low{tile}_", f"high{tile}_", wide, 0, half
            )
        lines += f"""
        %row{tile} = vector.bitcast %words{tile} : vector<{PANEL}xi16>
          to vector<{g.step}x{g.element}>"""
    return lines
