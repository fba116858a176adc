"""tile-matmul-amx: multiplications of whole matrices become kernels for tiles of AMX.

Before:  a func.func of one linalg.matmul on memrefs that are its arguments, of types
         that AMX multiplies, perhaps after a linalg.fill of the output with a constant
After:   two kernels in its place, @f.pack and @f.multiply, which take A and B packed as
         two more arguments; the module's `cpu.kernels` says how they are run
Fails:   never: what it does not know, as transposed or batched operands, it leaves; a
         remark says so where AMX multiplies the types

See `coopc.passes.cpu.stages`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt
from coopc.passes.cpu.stages import KERNELS, Scratch, Stage
from coopc.passes.cpu.stages import stages as staged
from coopc.plan.amx_gemm import PANEL, Block, block_of, packs_a
from coopc.remarks import remark
from coopc.rewrite.amx_gemm import Gemm
from coopc.rewrite.amx_gemm_multiply import multiplying
from coopc.rewrite.amx_gemm_pack import packing
from coopc.rewrite.matmul_plan import Plan, Tile, planned, signs
from coopc.rewrite.multiplication import Operand
from coopc.rewrite.structure import free_name

PACKED_BYTES = 64 * PANEL
"""Of a step of a panel."""
PACK, MULTIPLY = ".pack", ".multiply"
"""What the names of the kernels end in."""
PRODUCTS = (
    ("bf16", "bf16", "f32"),
    ("f16", "f16", "f32"),
    ("i8", "i8", "i32"),
)
UNKNOWN = 1 << 40
"""A size of memory that is larger than any, where its own cannot be said."""


@dataclass(frozen=True)
class TileMatmulAmxPass(ModulePass):
    """Make kernels for tiles of multiplications."""

    name = "tile-matmul-amx"

    block: tuple[int, ...] = ()
    """Panels of A and of B, and steps of K, that a work-group computes at a time."""
    threads: int = 1
    """That share the work."""

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
            Block(*self.block)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the functions that are known."""
        found: dict[str, Attribute] = {}
        for func in [x for x in op.ops if isinstance(x, FuncOp)]:
            plan = (
                planned(func, Tile(PANEL, PANEL, PANEL)) if func.body.blocks else None
            )
            if not isinstance(plan, Plan) or not is_multiplied(plan):
                continue
            if (reason := why_not(plan)) is not None:
                remark(func, f"not packed and blocked for the caches: {reason}")
                continue
            name = free_name(op, func.sym_name.data, PACK, MULTIPLY)
            gemm = self._gemm(plan)
            made = Parser(ctx, packing(gemm) + multiplying(gemm)).parse_module()
            for kernel, ending in zip(list(made.ops), (PACK, MULTIPLY), strict=True):
                assert isinstance(kernel, FuncOp), kernel
                kernel.sym_name = StringAttr(name + ending)
                kernel.detach()
                for inner in kernel.walk():
                    inner.location = func.location
                Rewriter.insert_op(kernel, InsertPoint.before(func))
            found[func.sym_name.data] = stages(func, name, plan, gemm)
            Rewriter.erase_op(func)
        if found:
            op.attributes[KERNELS] = DictionaryAttr(found)

    def _gemm(self, plan: Plan) -> Gemm:
        """Return what is multiplied, and how it is blocked."""
        product = plan.multiplication
        operands = (product.a, product.b, product.c)
        m, n = (None if x == DYNAMIC_INDEX else x for x in product.c.type.get_shape())
        block = Block(*self.block) if self.block else block_of(m, n, self.threads)
        strides = product.c.type.get_strides()
        assert strides is not None, product.c.type
        signed = signs(product)
        names = [str(each) for each in signed.data] if signed else []
        a, b, c = (str(each.type) for each in operands)
        rows, depth = (
            None if x == DYNAMIC_INDEX else x for x in product.a.type.get_shape()
        )
        along = product.a.type.get_strides()
        assert along is not None, product.a.type
        element = str(product.a.type.get_element_type())
        return Gemm(
            element,
            (a, b, c),
            strides[0],
            f"signed({', '.join(sorted(names))})" if names else "",
            None if plan.fill is None else constant_text(plan.fill),
            block,
            packs_a(rows, depth, along[0], 1 if element == "i8" else 2),
        )


def is_multiplied(plan: Plan) -> bool:
    """Whether AMX multiplies the types of a multiplication."""
    product = plan.multiplication
    operands = (product.a, product.b, product.c)
    return tuple(str(x.type.get_element_type()) for x in operands) in PRODUCTS


def why_not(plan: Plan) -> str | None:
    """Return why a multiplication is not one of tiles as a whole, or None."""
    product = plan.multiplication
    operands = (product.a, product.b, product.c)
    if product.batched:
        return "there is a batch"
    if any(x.transposed for x in operands):
        return "an operand is transposed"
    if not all(is_in_rows(x) for x in operands):
        return "elements of a row are not consecutive"
    if plan.fill is not None and constant_text(plan.fill) is None:
        return "C is filled with what is not constant"
    return None


def is_in_rows(operand: Operand) -> bool:
    """Whether the elements of a row are consecutive."""
    strides = operand.type.get_strides()
    return strides is not None and strides[-1] == 1


def constant_text(value: SSAValue) -> str | None:
    """Return a constant as a dense attribute writes it; None for other values."""
    if not isinstance(owner := value.owner, arith.ConstantOp):
        return None
    match owner.value:
        case IntegerAttr() as attr:
            return str(attr.value.data)
        case FloatAttr() as attr:
            return repr(attr.value.data)
        case _:
            assert isinstance(owner.value, DenseIntOrFPElementsAttr), owner
            return None


def stages(func: FuncOp, name: str, plan: Plan, gemm: Gemm) -> DictionaryAttr:
    """Return how the kernels of a multiplication are run."""
    product = plan.multiplication
    rows = extent(func, product.c, 0).ceil_div(PANEL)
    cols = extent(func, product.c, 1).ceil_div(PANEL)
    steps = extent(func, product.a, 1).ceil_div(gemm.step)
    count = len(simt.kernel_sizes(func))
    block = gemm.block

    of_a = rows if gemm.packs_a else AffineConstantExpr(0)
    runs = (
        Stage(f"{name}{PACK}", (of_a + steps,)),
        Stage(
            f"{name}{MULTIPLY}",
            (cols.ceil_div(block.cols), rows.ceil_div(block.rows)),
        ),
    )
    # No affine map is the size of what is packed: checks of bounds leave it to others.
    scratch = [
        Scratch((panels, steps, PACKED_BYTES), (UNKNOWN,)) for panels in (of_a, cols)
    ]
    return staged(count, runs, scratch)


def extent(func: FuncOp, operand: Operand, dimension: int) -> AffineExpr:
    """Return the size of a dimension, as an expression of the sizes of a function."""
    size = operand.type.get_shape()[dimension]
    if size != DYNAMIC_INDEX:
        return AffineConstantExpr(size)
    at = list(func.body.block.args).index(operand.memory)  # pyright: ignore[reportArgumentType]
    for number, each in enumerate(simt.kernel_sizes(func)):
        if (each.argument, each.dimension) == (at, dimension):
            return AffineDimExpr(number)
    raise AssertionError(operand)
