"""tile-matmul-amx: lowers products to packed and blocked AMX kernels.

Before:  a func.func with one linalg.matmul on memref arguments of types that AMX
         multiplies, optionally after a linalg.fill of the output with a constant.
After:   two kernels in its place, @f.pack and @f.multiply. A and B are packed in two
         more arguments. The module attribute `cpu.kernels` tells how to run them.
Fails:   never; other multiplications, such as transposed or batched ones, stay, with a
         remark where AMX multiplies the types.

See `coopc.passes.cpu.stages`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineConstantExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.ir.control_flow import free_name
from coopc.ir.transaction import Refused
from coopc.passes.cpu.stages import KERNELS, Stages, map_of_sizes
from coopc.passes.linalg.amx_kernel import AmxKernel, multiplying, packing
from coopc.passes.linalg.kernel_text import functions
from coopc.passes.linalg.match import (
    Multiplication,
    constant_text,
    extent,
    matched,
)
from coopc.plan.gemm import (
    PANEL,
    STEP_BYTES,
    Block,
    GemmPlan,
    Packed,
    check_block,
    is_of_amx,
    plan_amx_gemm,
)
from coopc.remarks import remark

PACK, MULTIPLY = ".pack", ".multiply"
"""What the names of the kernels end in."""
UNKNOWN = 1 << 40
"""A size of memory that is larger than any, where its own cannot be said."""


@dataclass(frozen=True)
class TileMatmulAmxPass(ModulePass):
    """Make kernels for tiles of multiplications."""

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
        made: dict[str, Attribute] = {}
        for func in [x for x in op.ops if isinstance(x, FuncOp)]:
            with suppress(Refused):
                found = matched(func)
                if found is not None and is_of_amx(found.problem):
                    made |= self._tile(ctx, op, func, found)
        if made:
            op.attributes[KERNELS] = DictionaryAttr(made)

    def _tile(
        self, ctx: Context, module: ModuleOp, func: FuncOp, found: Multiplication
    ) -> dict[str, Attribute]:
        """Put kernels in the place of a function; return how they are run, by name."""
        block = self._block if self.block else None
        plan = plan_amx_gemm(found.problem, self.threads, block)
        if isinstance(plan, str):
            remark(func, f"not packed and blocked for the caches: {plan}")
            return {}
        name = free_name(module, func.sym_name.data, PACK, MULTIPLY)
        fill = None if found.fill is None else constant_text(found.fill)
        kernel = AmxKernel(found.problem, plan, fill)
        text = packing(kernel) + multiplying(kernel)
        for each, ending in zip(functions(ctx, text), (PACK, MULTIPLY), strict=True):
            each.sym_name = StringAttr(name + ending)
            for inner in each.walk():
                inner.location = func.location
            Rewriter.insert_op(each, InsertPoint.before(func))
        made: dict[str, Attribute] = {
            func.sym_name.data: how_to_run(func, name, found, plan).attr
        }
        Rewriter.erase_op(func)
        return made


def how_to_run(
    func: FuncOp, name: str, found: Multiplication, plan: GemmPlan
) -> Stages:
    a, _, c = found.memories
    rows, cols = (extent(func, c, x).ceil_div(PANEL) for x in (0, 1))
    steps = extent(func, a, 1).ceil_div(plan.depth)
    of_a = rows if isinstance(plan.a, Packed) else AffineConstantExpr(0)
    multiply = (
        cols.ceil_div(plan.group[1] // PANEL),
        rows.ceil_div(plan.group[0] // PANEL),
    )
    of = partial(map_of_sizes, func)
    # No affine map is the size of what is packed: checks of bounds leave it to others.
    packed_a, packed_b = (
        (of(panels, steps, STEP_BYTES * PANEL), of(UNKNOWN)) for panels in (of_a, cols)
    )
    return Stages(
        ((f"{name}{PACK}", of(of_a + steps)), (f"{name}{MULTIPLY}", of(*multiply))),
        (packed_a, packed_b),
    )
