"""tile-matmul-amx: lowers products to packed and blocked AMX kernels.

Before:  a func.func with one linalg.matmul on memref arguments of types that AMX
         multiplies, optionally after a linalg.fill of the output with a constant.
After:   two kernels in its place, @f.pack and @f.multiply. A and B are packed in two
         more arguments. The module attribute `cpu.kernels` tells how to run them.
Fails:   never; other multiplications, such as transposed or batched ones, stay, with a
         remark where AMX multiplies the types.

See `coopc.passes.linalg.staged_by_packing`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineConstantExpr
from xdsl.passes import ModulePass

from coopc.ir.transaction import Refused
from coopc.passes.linalg.amx_kernel import AmxKernel, multiplying, packing
from coopc.passes.linalg.match import Multiplication, constant_text, extent, matched
from coopc.passes.linalg.staged_by_packing import become_stages
from coopc.plan.gemm import (
    PANEL,
    STEP_BYTES,
    Block,
    Packed,
    check_block,
    is_of_amx,
    plan_amx_gemm,
)
from coopc.remarks import remark


@dataclass(frozen=True)
class TileMatmulAmxPass(ModulePass):
    name = "tile-matmul-amx"

    block: tuple[int, ...] = ()
    """Panels of A and of B, and steps of K, that a work-group computes at a time."""
    threads: int = 1
    """Threads that share the work."""

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
        for func in [x for x in op.ops if isinstance(x, FuncOp)]:
            with suppress(Refused):
                found = matched(func)
                if found is not None and is_of_amx(found.problem):
                    self._tile(ctx, func, found)

    def _tile(self, ctx: Context, func: FuncOp, found: Multiplication) -> None:
        """Put kernels in the place of a function, if there is a plan."""
        block = self._block if self.block else None
        plan = plan_amx_gemm(found.problem, self.threads, block)
        if isinstance(plan, str):
            remark(func, f"not packed and blocked for the caches: {plan}")
            return
        fill = None if found.fill is None else constant_text(found.fill)
        kernel = AmxKernel(found.problem, plan, fill)
        a, _, c = found.memories
        rows, cols = (extent(func, c, x).ceil_div(PANEL) for x in (0, 1))
        steps = extent(func, a, 1).ceil_div(plan.depth)
        of_a = rows if isinstance(plan.a, Packed) else AffineConstantExpr(0)
        blocks = (
            cols.ceil_div(plan.group[1] // PANEL),
            rows.ceil_div(plan.group[0] // PANEL),
        )
        become_stages(
            func,
            packing(kernel) + multiplying(kernel),
            ctx,
            ((of_a + steps,), blocks),
            ((of_a, steps, STEP_BYTES * PANEL), (cols, steps, STEP_BYTES * PANEL)),
        )
