"""A multiplication in two stages: one kernel packs A and B, the next one multiplies.

A function becomes two kernels, @f.pack and @f.multiply.  Both take its arguments, and A
and B packed.  The module attribute `cpu.kernels` says how they run: see
`coopc.passes.cpu.stages`.
"""

from __future__ import annotations

from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.ir.control_flow import free_name
from coopc.passes.cpu.stages import KERNELS, Stages, map_of_sizes
from coopc.passes.linalg.kernel_text import functions

PACK, MULTIPLY = ".pack", ".multiply"
"""What the names of the kernels end in."""
UNKNOWN = 1 << 40
"""A size of memory that is larger than any, where its own cannot be said."""


def become_stages(
    func: FuncOp,
    text: str,
    ctx: Context,
    groups: tuple[tuple[AffineExpr, ...], tuple[AffineExpr, ...]],
    bytes: tuple[tuple[AffineExpr | int, ...], tuple[AffineExpr | int, ...]],
) -> None:
    """Put the kernels that pack and multiply in place of a function.

    Args:
        func: the function, of a module.
        text: the kernels, the one that packs first.
        ctx: with which the function was read.
        groups: the work-groups of each, along x, y, z.
        bytes: factors whose product is what A takes packed, and B.
    """
    module = func.parent_op()
    assert isinstance(module, ModuleOp), module
    name, of = (
        free_name(module, func.sym_name.data, PACK, MULTIPLY),
        partial(map_of_sizes, func),
    )
    for each, ending in zip(functions(ctx, text), (PACK, MULTIPLY), strict=True):
        each.sym_name = StringAttr(name + ending)
        for inner in each.walk():
            inner.location = func.location
        Rewriter.insert_op(each, InsertPoint.before(func))
    pack, multiply = groups
    # No affine map is the size of what is packed: checks of bounds leave it to others.
    stages = Stages(
        ((f"{name}{PACK}", of(*pack)), (f"{name}{MULTIPLY}", of(*multiply))),
        tuple((of(*factors), of(UNKNOWN)) for factors in bytes),
    )
    known = module.attributes.get(KERNELS, DictionaryAttr({}))
    assert isinstance(known, DictionaryAttr), known
    kernels = known.data | {func.sym_name.data: stages.attr}
    module.attributes[KERNELS] = DictionaryAttr(kernels)
    Rewriter.erase_op(func)
