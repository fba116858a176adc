"""Kernels made from the part that matters."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from coopc.generate.random_programs import module_of as module_of


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
