"""The kernel that multiplies what is packed: see `coopc.rewrite.amx_gemm`.

It is written as text, as it would be by hand.  The sums of a panel of A and one of B
are loaded, grow along K, and are stored.  At first they come from C or what it is
filled with, at last they go to C, at its edges through memory of their own; in between
they are in memory of the function.
"""

from __future__ import annotations

from coopc.plan.amx_gemm import PANEL, UNROLL
from coopc.rewrite.amx_gemm import ATTRIBUTES, Gemm, zero


def multiplying(g: Gemm) -> str:
    """Return the kernel, as text."""
    return f"""
func.func @multiply({g.arguments}) attributes {{{ATTRIBUTES}}} {{{g.sizes}
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


def own_type(g: Gemm) -> str:
    """Return the type of memory for the sums of two panels."""
    return f"memref<{PANEL}x{PANEL}x{g.sum}>"


def sums_type(g: Gemm) -> str:
    """Return the type of memory for the sums of a block."""
    panels = g.block.rows * g.block.cols
    return f"memref<{panels * PANEL}x{PANEL}x{g.sum}>"


def part_type(g: Gemm, stride: int | None = None) -> str:
    """Return the type of a part of memory, of rows of a stride."""
    known = "?" if stride is None else stride
    return f"memref<{PANEL}x{PANEL}x{g.sum}, strided<[{known}, 1], offset: ?>>"


def row_type(g: Gemm) -> str:
    """Return the type of a row of sums."""
    return f"vector<{PANEL}x{g.sum}>"


def beginning(g: Gemm) -> str:
    """Return the constants, the memory of the function, and where its block is."""
    return f"""\
  %cu = arith.constant {UNROLL} : index
  %cunit = arith.constant {g.unit} : index
  %cstride = arith.constant {UNROLL * g.unit} : index
  %cols = arith.constant {g.block.cols} : index
  %rows = arith.constant {g.block.rows} : index
  %depth = arith.constant {g.block.steps} : index
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


def place(g: Gemm) -> str:
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


def of_c(g: Gemm) -> str:
    """Return the end of a region that gives a part of C."""
    c, inside, part = g.types[2], part_type(g, g.row_stride), part_type(g)
    return f"""
        %there = memref.subview %c[%row, %col] [{PANEL}, {PANEL}] [1, 1]
          : {c} to {inside}
        %there_ = "memref.cast"(%there) : ({inside}) -> ({part})
        scf.yield %there_ : {part}"""


def of_own(g: Gemm, name: str) -> str:
    """Return the end of a region that gives memory for two panels, all of it."""
    return f"""
        %all_of = "memref.cast"(%{name}) : ({own_type(g)}) -> ({part_type(g)})
        scf.yield %all_of : {part_type(g)}"""


def of_matrix(g: Gemm, name: str) -> str:
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


def of_sums(g: Gemm) -> str:
    """Return the end of a region that gives the place among the sums of the block."""
    inside, part = part_type(g, PANEL), part_type(g)
    return f"""
        %kept = memref.subview %sums[%place, 0] [{PANEL}, {PANEL}] [1, 1]
          : {sums_type(g)} to {inside}
        %kept_ = "memref.cast"(%kept) : ({inside}) -> ({part})
        scf.yield %kept_ : {part}"""


def source(g: Gemm) -> str:
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


def target(g: Gemm) -> str:
    """Return to where sums are stored."""
    part = part_type(g)
    return f"""\
      %target = scf.if %is_last -> ({part}) {{{of_matrix(g, "end")}
      }} else {{{of_sums(g)}
      }}"""


def sums(g: Gemm) -> str:
    """Return the loops along K: some steps at a time, then the rest."""
    acc = f"!coopmatrix.matrix<{PANEL}x{PANEL // 2}x{g.sum}, acc>"
    part = part_type(g)
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


def products(g: Gemm, unroll: int) -> str:
    """Return some steps: two tiles of A, two of B, four products."""
    half = PANEL // 2
    a = f"!coopmatrix.matrix<{PANEL}x{g.step}x{g.element}, a>"
    b = f"!coopmatrix.matrix<{g.step}x{half}x{g.element}, b>"
    acc = f"!coopmatrix.matrix<{PANEL}x{half}x{g.sum}, acc>"
    types = f"{g.signed} : {a}, {b}, {acc}"
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
        %t{u + 1} = coopmatrix.mul_add %p{u}, %q{u}, %t{u} {types}
        %v{u + 1} = coopmatrix.mul_add %p{u}, %o{u}, %v{u} {types}"""
    return lines


def bounds(g: Gemm) -> str:
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


def edge_rows(g: Gemm, is_load: bool) -> str:
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
