"""tile-matmul-cpu: lowers products to packed and blocked kernels of vectors.

Before:  a func.func with one linalg.matmul, or an equivalent linalg.generic, on memref
         arguments whose sums are f32 or f64, optionally after a linalg.fill of the
         output with a constant, and before linalg.generic operations that use its
         sums element by element.
After:   two kernels in its place, @f.pack and @f.multiply. A and B are packed in two
         more arguments. The module attribute `cpu.kernels` tells how to run them.
Fails:   never; other multiplications stay, with a remark.

See `coopc.passes.linalg.staged_by_packing`.

    @pack      a work-group packs a panel of A or of B
    @multiply  a work-group computes a block of C, tile by tile

A panel of A is as many rows as a tile has, one of B as many columns, with the elements
of each k side by side: element (k, i) of panel p is at (p * K + k) * size + i.
Elements are converted to the type of the sums when they are packed.  The panels of a
batch follow those of the last.

The sums of a tile are one vector a row, in registers along a step of K; between steps
they are in C.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from coopc.passes.linalg.kernel_text import Memory, zero
from coopc.passes.linalg.match import Multiplication, extent, matches
from coopc.passes.linalg.staged_by_packing import PackedKernel, become_stages
from coopc.plan.gemm import (
    AXES,
    VECTOR_TILE,
    GemmPlan,
    in_precision,
    is_of_amx,
    plan_vector_gemm,
)
from coopc.remarks import remark
from coopc.rounding import PrecisionName

UNROLL = 4
"""Steps along K that the innermost loop is unrolled by."""
LENGTH = 16
"""Elements along K that are read at a time, to be packed."""


class VectorKernel(PackedKernel):
    def __init__(self, found: Multiplication, plan: GemmPlan) -> None:
        packed = f"memref<?x{found.problem.c.element}>"
        super().__init__(found, plan, plan.subgroup, packed)

    def text_of_batch(self, name: str, batch: str, body: str) -> str:
        """Return a kernel, as `text` does, of panels of a matrix of the batch.

        Args:
            name: of the function.
            batch: the axis of the grid along which the batch is.
            body: its operations.
        """
        number = "arith.constant 0"
        if self.problem.batched:
            number = f"simt.workgroup_id {batch}"
        before = f"""
  %batch = {number} : index
  %before_a = arith.muli %batch, %panels_a : index
  %before_b = arith.muli %batch, %panels_b : index"""
        return self.text(name, before, body)


# --- the kernel that multiplies ------------------------------------------------------


def multiplying(g: VectorKernel) -> str:
    ones = "1, " * g.problem.batched
    name, own, finish = "edge", g.own, ""
    begin = f"""
      scf.if %outside {{{g.from_edge("%none")}
      }}
      %sums = scf.if %inside -> ({g.part}) {{
        %there = memref.subview {g.c.name}[{g.c.place("%row", "%col")}]
          [{ones}{g.rows}, {g.cols}] [{ones}1, 1] : {g.problem.c.type} to {g.part}
        scf.yield %there : {g.part}
      }} else {{
        %at_edge = "memref.cast"(%edge) : ({g.own}) -> ({g.part})
        scf.yield %at_edge : {g.part}
      }}"""
    end = f"""
      scf.if %outside {{{g.to_edge}
      }}"""
    if g.outputs:
        name, own, finish = "kept", g.block_type, g.finish_block
        begin, end = kept(g), ""
    body = f"""
  %{name} = memref.alloca() {{alignment = 64 : i64}} : {own}
  %none = arith.constant dense<{zero(g.sum)}> : {g.sums}
  scf.for %r = %c0 to %c{g.rows} step %c1 {{
    vector.store %none, %{name}[%r, %c0] : {own}, {g.sums}
  }}{g.block}
  %some = arith.maxui %k, %c1 : index
  scf.for %k0 = %c0 to %some step %c{g.plan.step} {{
    %k_end = arith.addi %k0, %c{g.plan.step} : index
    %k1 = arith.minui %k_end, %k : index
    %depth = arith.subi %k1, %k0 : index
    %is_first = arith.cmpi eq, %k0, %c0 : index
    scf.for %j = %j0 to %j1 step %c1 {{
    scf.for %i = %i0 to %i1 step %c1 {{{g.tile_of_c}{g.left}{begin}
      %panel_a = arith.addi %before_a, %i : index
      %panel_b = arith.addi %before_b, %j : index
      %ik = arith.muli %panel_a, %k : index
      %jk = arith.muli %panel_b, %k : index
      %a_first = arith.addi %ik, %k0 : index
      %b_first = arith.addi %jk, %k0 : index{tile(g)}{end}
    }} }}
  }}{finish}"""
    return g.text_of_batch("multiply", "z", body)


def kept(g: VectorKernel) -> str:
    """Return where the sums of a tile are among those of the work-group.

    Sums that begin with C are copied from there.
    """
    type = g.part_of(g.cols)
    begin = f"""
      %ii = arith.subi %i, %i0 : index{g.kept_row}
      %there = memref.subview %kept[%kept_row, 0] [{g.rows}, {g.cols}] [1, 1]
        : {g.block_type} to {type}
      %sums = "memref.cast"(%there) : ({type}) -> ({g.part})"""
    if g.fill is not None:
        return begin
    return f"""{begin}
      scf.if %is_first {{
        scf.for %r = %c0 to %c{g.rows} step %c1 {{
          vector.store %none, %sums[%r, %c0] : {g.part}, {g.sums}
        }}{g.from_edge("%none", "%sums", g.part)}
      }}"""


def tile(g: VectorKernel) -> str:
    """Return the loops along K of a tile: some steps at a time, then the rest."""
    over = range(g.rows)
    types = ", ".join([g.sums] * g.rows)
    first = "".join(
        f"""
        %o{r} = vector.load %sums[%c{r}, %c0] : {g.part}, {g.sums}"""
        for r in over
    )
    names = [f"%o{r}" for r in over]
    if g.fill is not None:
        first = f"""
      %f:{g.rows} = scf.if %is_first -> ({types}) {{
        %value = arith.constant dense<{g.fill}> : {g.sums}
        scf.yield {", ".join(["%value"] * g.rows)} : {types}
      }} else {{{first}
        scf.yield {", ".join(names)} : {types}
      }}"""
        names = [f"%f#{r}" for r in over]

    def carried(names: Iterable[str]) -> str:
        return ", ".join(f"%t0_{r} = {name}" for r, name in enumerate(names))

    def ends(unroll: int) -> str:
        return ", ".join(f"%t{unroll}_{r}" for r in over)

    stores = "".join(
        f"""
      vector.store %e#{r}, %sums[%c{r}, %c0] : {g.part}, {g.sums}"""
        for r in over
    )
    return f"""{first}
      %rest = arith.remui %depth, %c{UNROLL} : index
      %middle = arith.subi %depth, %rest : index
      %l:{g.rows} = scf.for %s = %c0 to %middle step %c{UNROLL}
          iter_args({carried(names)}) -> ({types}) {{{products(g, UNROLL)}
        scf.yield {ends(UNROLL)} : {types}
      }}
      %e:{g.rows} = scf.for %s = %middle to %depth step %c1
          iter_args({carried(f"%l#{r}" for r in over)}) -> ({types}) {{{products(g, 1)}
        scf.yield {ends(1)} : {types}
      }}{stores}"""


def products(g: VectorKernel, unroll: int) -> str:
    """Return some steps: a row of B by each element of a column of A."""
    lines = f"""
        %at_a = arith.addi %a_first, %s : index
        %at_b = arith.addi %b_first, %s : index
        %from_a = arith.muli %at_a, %c{g.rows} : index
        %from_b = arith.muli %at_b, %c{g.cols} : index"""
    for u in range(unroll):
        lines += f"""
        %q{u} = arith.addi %from_b, %c{u * g.cols} : index
        %b{u} = vector.load %pb[%q{u}] : {g.packed}, {g.sums}"""
        for r in range(g.rows):
            lines += f"""
        %p{u}_{r} = arith.addi %from_a, %c{u * g.rows + r} : index
        %x{u}_{r} = memref.load %pa[%p{u}_{r}] : {g.packed}
        %a{u}_{r} = vector.broadcast %x{u}_{r} : {g.sum} to {g.sums}
        %t{u + 1}_{r} = vector.fma %a{u}_{r}, %b{u}, %t{u}_{r} : {g.sums}"""
    return lines


# --- the kernel that packs -----------------------------------------------------------


def packing(g: VectorKernel) -> str:
    body = f"""
  %group = simt.workgroup_id x : index
  %is_a = arith.cmpi ult, %group, %panels_a : index
  scf.if %is_a {{
    %panel = arith.addi %before_a, %group : index
    %first = arith.muli %group, %c{g.rows} : index
    %left = arith.subi %m, %first : index{panel(g, g.a, g.rows, "%pa")}
  }} else {{
    %number = arith.subi %group, %panels_a : index
    %panel = arith.addi %before_b, %number : index
    %first = arith.muli %number, %c{g.cols} : index
    %left = arith.subi %n, %first : index{panel(g, g.b, g.cols, "%pb")}
  }}"""
    return g.text_of_batch("pack", "y", body)


def panel(g: VectorKernel, memory: Memory, size: int, to: str) -> str:
    """Return what packs the panel of rows of A, or columns of B, from %first on."""
    along_k = memory.matrix.transposed != (memory is g.a)
    pack = lines if along_k else line
    return f"""
    %base = arith.muli %panel, %k : index{pack(g, memory, size, to)}"""


def place(g: VectorKernel, memory: Memory, at: str) -> str:
    """Return where an element of step %s is, of a row of A or a column of B."""
    if memory is g.a:
        return f"{memory.name}[{memory.place(at, '%s')}]"
    return f"{memory.name}[{memory.place('%s', at)}]"


def widened(g: VectorKernel, memory: Memory, length: int = 0) -> tuple[str, str]:
    """Return what makes %v of the type of the sums, and the name of that."""
    if memory.element == g.sum:
        return "", "%v"
    of, to = memory.element, g.sum
    if length:
        of, to = f"vector<{length}x{of}>", f"vector<{length}x{to}>"
    return f"\n      %w = arith.extf %v : {of} to {to}", "%w"


def line(g: VectorKernel, memory: Memory, size: int, to: str) -> str:
    """Return what packs a panel whose elements of one step are consecutive."""
    type, vector = memory.matrix.type, f"vector<{size}x{memory.element}>"
    mask, there = f"vector<{size}xi1>", place(g, memory, "%first")
    convert, made = widened(g, memory, size)
    return f"""
    %all = arith.cmpi uge, %left, %c{size} : index
    %none = arith.constant dense<{zero(memory.element)}> : {vector}
    %mask = vector.create_mask %left : {mask}
    scf.for %s = %c0 to %k step %c1 {{
      %v = scf.if %all -> ({vector}) {{
        %v0 = vector.load {there} : {type}, {vector}
        scf.yield %v0 : {vector}
      }} else {{
        %v1 = vector.maskedload {there}, %mask, %none
          : {type}, {mask}, {vector} into {vector}
        scf.yield %v1 : {vector}
      }}{convert}
      %step = arith.addi %base, %s : index
      %at = arith.muli %step, %c{size} : index
      vector.store {made}, {to}[%at] : {g.packed}, vector<{size}x{g.sum}>
    }}"""


def lines(g: VectorKernel, memory: Memory, size: int, to: str) -> str:
    """Return what packs a panel whose elements along K are consecutive.

    Some steps of a row of A or a column of B are read at a time, then the rest.
    """
    there, type = place(g, memory, "%line"), memory.matrix.type

    def rows(
        steps: str, load: str, of: str, none: str, convert: str, store: str
    ) -> str:
        return f"""
    scf.for %s = {steps} {{
      %step = arith.addi %base, %s : index
      %from = arith.muli %step, %c{size} : index
      %none = arith.constant {none} : {of}
      scf.for %r = %c0 to %c{size} step %c1 {{
        %in = arith.cmpi ult, %r, %left : index
        %line = arith.addi %first, %r : index
        %v = scf.if %in -> ({of}) {{
          %there = {load} {there} : {type}{", " + of if "<" in of else ""}
          scf.yield %there : {of}
        }} else {{
          scf.yield %none : {of}
        }}{convert}
        %at = arith.addi %from, %r : index{store}
      }}
    }}"""

    several, none = f"vector<{LENGTH}x{memory.element}>", zero(memory.element)
    convert, made = widened(g, memory, LENGTH)
    stores = "".join(
        f"""
        %e{n} = vector.extract {made}[{n}] : {g.sum} from vector<{LENGTH}x{g.sum}>
        %p{n} = arith.addi %at, %c{n * size} : index
        memref.store %e{n}, {to}[%p{n}] : {g.packed}"""
        for n in range(LENGTH)
    )
    whole = f"%c0 to %whole step %c{LENGTH}"
    text = f"""
    %rest = arith.remui %k, %c{LENGTH} : index
    %whole = arith.subi %k, %rest : index"""
    text += rows(whole, "vector.load", several, f"dense<{none}>", convert, stores)
    convert, made = widened(g, memory)
    store = f"""
        memref.store {made}, {to}[%at] : {g.packed}"""
    rest = "%whole to %k step %c1"
    return text + rows(rest, "memref.load", memory.element, none, convert, store)


# --- the pass ---


@dataclass(frozen=True)
class TileMatmulCpuPass(ModulePass):
    name = "tile-matmul-cpu"

    block: tuple[int, ...] = ()
    """Panels of A and of B, and K, that a work-group computes at a time."""
    threads: int = 1
    """Threads that share the work."""
    tile: tuple[int, ...] = VECTOR_TILE
    """Rows and columns of sums in registers: 12,32 suits AVX-512."""
    amx: bool = True
    """Whether products of types that AMX multiplies are among them."""
    precision: PrecisionName = "ieee"
    """As what `split-f32-products` lets AMX multiply f32."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"expected 1 thread or more, got {self.threads}")
        if self.block and (len(self.block) != 3 or min(self.block) < 1):
            raise ValueError(
                "expected a block of 3 numbers of 1 or more, panels of A, panels of B "
                f"and K, got {','.join(map(str, self.block))}"
            )
        if len(self.tile) != 2 or min(self.tile) < 1 or self.tile[1] % 2:
            raise ValueError(
                "expected a tile of rows and an even number of columns, "
                f"got {','.join(map(str, self.tile))}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func, found in matches(op):
            self._tile(ctx, func, found)

    def _tile(self, ctx: Context, func: FuncOp, found: Multiplication) -> None:
        """Put kernels in the place of a function, if there is a plan."""
        if is_of_amx(in_precision(found.problem, self.precision)) and not self.amx:
            return
        problem = found.problem
        block = None
        if self.block:
            down, across, step = self.block
            block = down, across, step
        rows, cols = self.tile
        if found.tuned and found.tuned.registers:
            block, (rows, cols) = found.tuned.block, found.tuned.registers
        plan = plan_vector_gemm(problem, self.threads, block, (rows, cols))
        if isinstance(plan, str):
            remark(func, f"not packed and blocked for the caches: {plan}")
            return
        kernel = VectorKernel(found, plan)
        if not self.amx:
            left, right, sums = problem.elements
            reason = f"AMX does not multiply {left} and {right} into {sums}"
            remark(found.op, f"done by vectors, not by tiles of AMX: {reason}")
        a, _, c = found.memories
        m, n = (extent(func, c, problem.c.dimension(axis)) for axis in AXES)
        k = extent(func, a, problem.a.dimension("cols"))
        of_a, of_b = m.ceil_div(kernel.rows), n.ceil_div(kernel.cols)
        batch = (extent(func, c, 0),) if problem.batched else ()
        blocks = n.ceil_div(plan.group[1]), m.ceil_div(plan.group[0])
        size = problem.c.element_bytes
        become_stages(
            func,
            found,
            packing(kernel) + multiplying(kernel),
            ctx,
            ((of_a + of_b, *batch), (*blocks, *batch)),
            (
                (*batch, of_a, k, kernel.rows * size),
                (*batch, of_b, k, kernel.cols * size),
            ),
        )
