"""tile-matmul-cpu: lowers products to packed and blocked kernels of vectors.

Before:  a func.func with one linalg.matmul, or an equivalent linalg.generic, on memref
         arguments whose sums are f32 or f64, optionally after a linalg.fill of the
         output with a constant, and before linalg.generic operations that use its
         sums element by element.
After:   two kernels in its place, @f.pack and @f.multiply. A and B are packed in two
         more arguments. The module attribute `cpu.kernels` tells how to run them.
Fails:   never; other multiplications stay, with a remark.

See `coopc.passes.linalg.staged_by_packing`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from coopc.ir.control_flow import uses_dialect
from coopc.ir.transaction import Refused
from coopc.plan.gemm import (
    AXES,
    VECTOR_TILE,
    in_precision,
    is_of_amx,
    plan_vector_gemm,
)
from coopc.remarks import remark
from coopc.rounding import PrecisionName


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
        if not uses_dialect(op, "linalg"):
            return
        for func in [x for x in op.ops if isinstance(x, FuncOp)]:
            with suppress(Refused):
                self._tile(ctx, func)

    def _tile(self, ctx: Context, func: FuncOp) -> None:
        """Put kernels in the place of a function, if there is a plan.

        Raises:
            Refused: it has operations of linalg, but is no multiplication.
        """
        # Most kernels need none of these.
        from coopc.passes.linalg.match import extent, matched
        from coopc.passes.linalg.staged_by_packing import become_stages
        from coopc.passes.linalg.vector_kernel import (
            VectorKernel,
            multiplying,
            packing,
        )

        if (found := matched(func)) is None:
            return
        if is_of_amx(in_precision(found.problem, self.precision)) and not self.amx:
            return
        problem = found.problem
        block = None
        if self.block:
            down, across, step = self.block
            block = down, across, step
        rows, cols = self.tile
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
