"""What passes on Triton GPU IR write on kernels and accesses, for later passes."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from coopc.plan.refusal import Reason, Refusal

LANE_BY_LANE = "xe.lane_by_lane"
"""On a kernel: its tensors are moved lane by lane, whatever memory is like (unit)."""

NO_MATRIX = "xe.no_matrix"
"""On an access through pointers: why what they point to is no matrix (string)."""
NO_PROMISE = "xe.no_promise"
"""On an access that was found to be of a matrix: without Triton's promise (unit)."""

FOR_ANY = Refusal(Reason.UNKNOWN_MEMORY, "this entry point is for any")
"""Why accesses of such a kernel have no plan."""


def why_no_matrix(op: Operation, otherwise: str) -> str:
    """Return why an access through pointers is about no matrix, if that was asked."""
    found = op.attributes.get(NO_MATRIX)
    return found.data if isinstance(found, StringAttr) else otherwise
