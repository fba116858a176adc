"""Small programs: parsed, verified, and made from the part that matters."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import affine, func, llvm, math, memref, scf, ub, vector
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Dialect
from xdsl.parser import Parser

from coopc.dialects.coopmatrix import Coopmatrix
from coopc.dialects.layout import Layout
from coopc.dialects.row_slice import RowSlice
from coopc.dialects.shaped_arith import Arith
from coopc.dialects.simt import Simt

DIALECTS = (
    Builtin,
    affine.Affine,
    Arith,
    func.Func,
    llvm.LLVM,
    math.Math,
    memref.MemRef,
    scf.Scf,
    ub.UB,
    vector.Vector,
    Coopmatrix,
    Layout,
    RowSlice,
    Simt,
)
"""What programs may use."""


def module_of(text: str, *more: Dialect) -> ModuleOp:
    """Return the verified module that a text is, which may use more dialects."""
    context = Context()
    for dialect in (*DIALECTS, *more):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def kernel(
    arguments: str,
    body: str,
    *,
    lanes: int = 16,
    subgroups: int = 1,
    grid: Sequence[int] = (1,),
) -> ModuleOp:
    """Return a module of one kernel, @f.

    Arguments are names and types, as in `%a: memref<16xf32>`, the body operations
    without the return, the grid work-groups along x, y, z, of `subgroups` each.
    """
    groups = ", ".join(map(str, grid))
    return module_of(
        f"""
func.func @f({arguments}) attributes {{
    simt.kernel, simt.subgroup_size = {lanes} : i32,
    simt.work_group_size = array<i32: {lanes * subgroups}>,
    simt.grid = affine_map<() -> ({groups})>}} {{
  {body}
  func.return
}}
"""
    )
