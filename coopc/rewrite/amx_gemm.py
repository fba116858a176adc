"""The kernels of a multiplication on tiles: as they would be written by hand.

    @f.pack      a work-group packs a panel of A, or a step of K of all panels of B
    @f.multiply  a work-group computes a block of C, see `coopc.plan.amx_gemm`

Packed, step s of panel p of either is 32 rows of 64 bytes at (p * steps + s) * 2 KiB:
the rows of two tiles, those of B with rows of K by turns.  What is beyond the matrices
is zero, so that only C has edges.  The memref of it has 32 rows of 64 bytes from each
element on: a tile is named by its first element alone, which one register counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from coopc.plan.amx_gemm import PANEL, STEP_BYTES, UNROLL, Block

ATTRIBUTES = (
    "simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>"
)


@dataclass(frozen=True, slots=True)
class Gemm:
    """What is multiplied: `C = fill + A * B`, or `C += A * B`."""

    name: str
    element: str
    """Of A and B: bf16, f16 or i8."""
    types: tuple[str, str, str]
    """Of the memrefs."""
    row_stride: int | None
    """Of C, in elements; None where it is dynamic."""
    signed: str
    """What of the product is signed, as coopmatrix.mul_add says it."""
    fill: str | None
    """A constant that C is filled with first; None to add to what is there."""
    block: Block
    packs_a: bool = True
    """Whether A is packed, too: else it is whole panels and steps, read as it is."""

    @property
    def sum(self) -> str:
        """The type of an element of C."""
        return "i32" if self.element == "i8" else "f32"

    @property
    def step(self) -> int:
        """Elements of K in a step."""
        return STEP_BYTES // self.bytes

    @property
    def unit(self) -> int:
        """What the innermost loop counts a step as."""
        return PANEL * self.step if self.packs_a else self.step

    @property
    def bytes(self) -> int:
        """Of an element of A and B."""
        return 1 if self.element == "i8" else 2

    @property
    def packed(self) -> int:
        """Rows of B that share a row of its tile."""
        return 4 // self.bytes

    @property
    def arguments(self) -> str:
        """Of both kernels."""
        a, b, c = self.types
        return f"%a: {a}, %b: {b}, %c: {c}, %pa: {self.rows}, %pb: {self.rows}"

    @property
    def rows(self) -> str:
        """The type of A and of B, packed."""
        return f"memref<{PANEL}x?x{self.element}, strided<[{self.step}, 1]>>"

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


def text(gemm: Gemm) -> str:
    """Return the two kernels."""
    return f"{packing(gemm)}\n{multiplying(gemm)}"


def packing(g: Gemm) -> str:
    """Return the kernel that packs A and B."""
    a, b, _ = g.types
    row = f"vector<{g.step}x{g.element}>"
    return f"""
func.func @{g.name}.pack({g.arguments}) attributes {{{ATTRIBUTES}}} {{{g.sizes}
  %group = simt.workgroup_id x : index
  %of_a = arith.muli %panels_a, %c{int(g.packs_a)} : index
  %is_a = arith.cmpi ult, %group, %of_a : index
  scf.if %is_a {{
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
    }}
  }} else {{
    %s = arith.subi %group, %of_a : index
    %k0 = arith.muli %s, %cstep : index
    scf.for %p = %c0 to %panels_b step %c1 {{
      %n0 = arith.muli %p, %c32 : index
      %left = arith.subi %n, %n0 : index
      %whole = arith.cmpi uge, %left, %c32 : index
      %before = arith.muli %p, %steps : index
      %at = arith.addi %before, %s : index
      %base = arith.muli %at, %csize : index
      scf.for %r = %c0 to %c16 step %c1 {{{rows_of_b(g, b)}
      }}
    }}
  }}
  func.return
}}"""


def zero(element: str) -> str:
    """Return how a type writes zero."""
    return "0" if element.startswith("i") else "0.0"


def rows_of_b(g: Gemm, b: str) -> str:
    """Return what packs rows of B that share a row: load each, then interleave."""
    row = f"vector<{PANEL}x{g.element}>"
    bits = 8 * g.bytes
    numbers = range(g.packed)
    many = ", ".join([row] * g.packed)
    plain = "".join(
        f"""
          %x{t} = vector.load %b[%k{t}_, %n0] : {b}, {row}"""
        for t in numbers
    )
    masked = "".join(
        f"""
          %in{t} = arith.cmpi ult, %k{t}_, %k : index
          %rest{t} = arith.select %in{t}, %left, %c0 : index
          %near{t} = arith.select %in{t}, %k{t}_, %c0 : index
          %mask{t} = vector.create_mask %rest{t} : vector<{PANEL}xi1>
          %y{t} = vector.maskedload %b[%near{t}, %n0], %mask{t}, %none
            : {b}, vector<{PANEL}xi1>, {row} into {row}"""
        for t in numbers
    )
    places = "".join(
        f"""
        %o{t} = arith.constant {t} : index
        %k{t}_ = arith.addi %kr, %o{t} : index"""
        for t in numbers
    )
    casts = "".join(
        f"""
        %i{t} = vector.bitcast %v#{t} : {row} to vector<{PANEL}xi{bits}>"""
        for t in numbers
    )
    return f"""
        %cp = arith.constant {g.packed} : index
        %none = arith.constant dense<{zero(g.element)}> : {row}
        %rk = arith.muli %r, %cp : index
        %kr = arith.addi %k0, %rk : index{places}
        %end = arith.cmpi ult, %k{g.packed - 1}_, %k : index
        %all = arith.andi %end, %whole : i1
        %v:{g.packed} = scf.if %all -> ({many}) {{{plain}
          scf.yield {", ".join(f"%x{t}" for t in numbers)} : {many}
        }} else {{{masked}
          scf.yield {", ".join(f"%y{t}" for t in numbers)} : {many}
        }}{casts}{interleaved(g)}
        %r_at = arith.muli %r, %cstep : index
        %to = arith.addi %base, %r_at : index
        %beside = arith.addi %to, %chalf : index
        vector.store %row0, %pb[%c0, %to] : {g.rows}, vector<{g.step}x{g.element}>
        vector.store %row1, %pb[%c0, %beside]
          : {g.rows}, vector<{g.step}x{g.element}>"""


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


def interleaved(g: Gemm) -> str:
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


def multiplying(g: Gemm) -> str:
    """Return the kernel that multiplies what is packed."""
    c, block = g.types[2], g.block
    sums = f"memref<{block.rows * block.cols * PANEL}x{PANEL}x{g.sum}>"
    own = f"memref<{PANEL}x{PANEL}x{g.sum}>"
    part = f"memref<{PANEL}x{PANEL}x{g.sum}, strided<[?, 1], offset: ?>>"
    stride = "?" if g.row_stride is None else g.row_stride
    in_c = f"memref<{PANEL}x{PANEL}x{g.sum}, strided<[{stride}, 1], offset: ?>>"
    in_sums = f"memref<{PANEL}x{PANEL}x{g.sum}, strided<[{PANEL}, 1], offset: ?>>"
    acc = f"!coopmatrix.matrix<{PANEL}x{PANEL // 2}x{g.sum}, acc>"
    row = f"vector<{PANEL}x{g.sum}>"
    of_c = f"""
        %there = memref.subview %c[%row, %col] [{PANEL}, {PANEL}] [1, 1] : {c} to {in_c}
        %there_ = "memref.cast"(%there) : ({in_c}) -> ({part})
        scf.yield %there_ : {part}"""
    of_edge = f"""
        %near = "memref.cast"(%edge) : ({own}) -> ({part})
        scf.yield %near : {part}"""
    of_sums = f"""
        %kept = memref.subview %sums[%place, 0] [{PANEL}, {PANEL}] [1, 1]
          : {sums} to {in_sums}
        %kept_ = "memref.cast"(%kept) : ({in_sums}) -> ({part})
        scf.yield %kept_ : {part}"""
    if g.fill is None:
        begin = f"""
        scf.if %outside {{{edge_rows(g, c, own, row, True)}
        }}
        %begin = scf.if %inside -> ({part}) {{{of_c}
        }} else {{{of_edge}
        }}
        scf.yield %begin : {part}"""
    else:
        begin = f"""
        %filled = "memref.cast"(%fill) : ({own}) -> ({part})
        scf.yield %filled : {part}"""
    return f"""
func.func @{g.name}.multiply({g.arguments}) attributes {{{ATTRIBUTES}}} {{{g.sizes}
  %cu = arith.constant {UNROLL} : index
  %cunit = arith.constant {g.unit} : index
  %cstride = arith.constant {UNROLL * g.unit} : index
  %cols = arith.constant {block.cols} : index
  %rows = arith.constant {block.rows} : index
  %depth = arith.constant {block.steps} : index
  %sums = memref.alloca() {{alignment = 64 : i64}} : {sums}
  %edge = memref.alloca() {{alignment = 64 : i64}} : {own}
  %fill = memref.alloca() {{alignment = 64 : i64}} : {own}
  %value = arith.constant dense<{g.fill or zero(g.sum)}> : {row}
  scf.for %r = %c0 to %c32 step %c1 {{
    vector.store %value, %fill[%r, %c0] : {own}, {row}
  }}
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %j0 = arith.muli %x, %cols : index
  %i0 = arith.muli %y, %rows : index
  %j_end = arith.addi %j0, %cols : index
  %i_end = arith.addi %i0, %rows : index
  %j1 = arith.minui %j_end, %panels_b : index
  %i1 = arith.minui %i_end, %panels_a : index
  %all = arith.maxui %steps, %c1 : index
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
      %place = arith.muli %number, %c32 : index
      %source = scf.if %is_first -> ({part}) {{{begin}
      }} else {{{of_sums}
      }}
      %target = scf.if %is_last -> ({part}) {{
        %end = scf.if %inside -> ({part}) {{{of_c}
        }} else {{{of_edge}
        }}
        scf.yield %end : {part}
      }} else {{{of_sums}
      }}
{bounds(g)}
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
      coopmatrix.store %e#1, %target[%c0, %c16] row_major : {acc}, {part}
      %copy = arith.andi %is_last, %outside : i1
      scf.if %copy {{{edge_rows(g, c, own, row, False)}
      }}
    }} }}
  }}
  func.return
}}"""


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


def edge_rows(g: Gemm, c: str, own: str, row: str, is_load: bool) -> str:
    """Return the copying of a part of C at an edge, in or out, row by row."""
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
