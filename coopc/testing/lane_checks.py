"""Checks of `distribute-coopmatrix` on the simulator: the same bits as before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, VectorType

from coopc.dialects import coopmatrix
from coopc.passes.lanes.distribute_coopmatrix import DistributeCoopmatrixPass
from coopc.sim.simulate import simulate
from coopc.testing.lane_cases import Case
from coopc.testing.lane_programs import kernel
from coopc.testing.programs import module_of
from coopc.validate.compare import compare


def spread(module: ModuleOp, lanes: int, **options: Any) -> ModuleOp:
    """A module after the pass, which leaves no matrix and no long vector.

    Nor a user of a value that is in no block: later passes would come across it.
    """
    new = module.clone()
    DistributeCoopmatrixPass(lanes, **options).apply(Context(), new)
    new.verify()
    for op in new.walk():
        assert not isinstance(op, tuple(coopmatrix.OPERATIONS)), op
        for type in op.result_types:
            if isinstance(type, VectorType):
                assert type.element_count() <= 16
        for use in (use for result in op.results for use in result.uses):
            assert use.operation.parent_block() is not None, use.operation
    return new


def check(case: Case, only: Sequence[str] | None = None, **options: Any) -> None:
    """Run a kernel before and after the pass."""
    text = kernel(case, only)
    module = module_of(text.text)
    before, after = text.copies(), text.copies()
    simulate(module, "k", before, subgroup_size=case.lanes)
    simulate(spread(module, case.lanes, **options), "k", after)
    for name, x, y in zip(text.arguments, after, before, strict=True):
        difference = compare(x, y)
        assert difference.ok, f"{name}: {difference}"
