"""Kernels before and after `vectorize-subgroup`: what they compute is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from support.programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from coopc.passes.cpu.resolve_matrix_wi_slice import ResolveMatrixWiSlicePass
from coopc.passes.cpu.resolve_subgroup_wi_call import ResolveSubgroupWiCallPass
from coopc.passes.cpu.vectorize_subgroup.vectorize_subgroup import VectorizeSubgroupPass
from coopc.passes.generic.check_dominance import CheckDominancePass
from coopc.sim.simulate import simulate

Array: TypeAlias = npt.NDArray[Any]

LANES = 8


def kernel(
    arguments: str, body: str, group: Sequence[int] = (LANES,), more: str = ""
) -> ModuleOp:
    """Return a module of a kernel, @f, on two work-groups of subgroups of 8.

    Args:
        arguments: names and types.
        body: operations, which may use %c0, %c1, %c2 and %lane.
        group: work-items of a work-group along x, y, z.
        more: functions that the kernel calls.
    """
    sizes = ", ".join(map(str, group))
    return module_of(
        f"""{more}
        func.func @f({arguments}) attributes {{
            simt.kernel, simt.subgroup_size = {LANES} : i32,
            simt.work_group_size = array<i32: {sizes}>,
            simt.grid = affine_map<() -> (2)>,
            coopmatrix.distribution = #layout.row_slice}} {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %lane = simt.lane_id : index
          {body}
          func.return
        }}"""
    )


def vectorized(module: ModuleOp) -> ModuleOp:
    """Vectorise and resolve a copy of a module."""
    module = module.clone()
    for each in (
        ResolveMatrixWiSlicePass(),
        VectorizeSubgroupPass(),
        CheckDominancePass(),
        ResolveSubgroupWiCallPass(),
    ):
        each.apply(Context(), module)
        module.verify()
    left = {x.name for x in module.walk()}
    assert not left & {"simt.lane_id", "simt.shuffle", "simt.reduce"}
    return module


def run(module: ModuleOp, arguments: Sequence[Any]) -> list[Array]:
    """Return the arrays after @f, of copies of the arguments."""
    copies: list[Any] = [
        x.copy() if isinstance(x, np.ndarray) else x for x in arguments
    ]
    simulate(module, "f", copies, races=False)
    return [x for x in copies if isinstance(x, np.ndarray)]


def same(module: ModuleOp, *arguments: Any) -> tuple[ModuleOp, Array]:
    """Check that it computes what it did; return it, and the last array."""
    after = vectorized(module)
    before, found = run(module, arguments), run(after, arguments)
    for one, other in zip(before, found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (before[-1] != arguments[-1]).any(), "nothing is computed"
    return after, found[-1]
