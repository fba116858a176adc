"""What Triton's accesses ask for: which tensor, in which order in memory.

A pure look at operations: `request_of` says what the planner is asked, or why it
cannot be asked at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from coopc.dialects import tt
from coopc.dialects.tt.layouts import encoding_of, layout_of
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.types import Tensor, bits_of, is_tensor
from coopc.passes.xe.register_layout import channel_bits
from coopc.plan.refusal import Reason, Refusal
from coopc.plan.search import Request

LANE_BY_LANE = "xe.lane_by_lane"
"""On a kernel: its tensors are moved lane by lane, whatever memory is like (unit)."""

NO_MATRIX = "xe.no_matrix"
"""On an access through pointers: why what they point to is no matrix (string)."""
NO_PROMISE = "xe.no_promise"
"""On an access that was found to be of a matrix: without Triton's promise (unit)."""
MEMORY_SAID = f"{Reason.UNKNOWN_MEMORY.value}: "
"""What need not be said twice."""

LoadOp: TypeAlias = tt.DescriptorLoadOp | tt.LoadOp
StoreOp: TypeAlias = tt.DescriptorStoreOp | tt.StoreOp
AccessOp: TypeAlias = LoadOp | StoreOp


def why_no_matrix(op: Operation, otherwise: str) -> str:
    """Return why an access through pointers is about no matrix, if that was asked."""
    found = op.attributes.get(NO_MATRIX)
    return found.data if isinstance(found, StringAttr) else otherwise


@dataclass(frozen=True, slots=True)
class Access:
    """A tensor that is moved between memory and registers."""

    op: AccessOp
    tensor: SSAValue
    """What is loaded, or stored."""

    @property
    def type(self) -> Tensor:
        """The type of the tensor."""
        assert is_tensor(self.tensor.type), self.tensor
        return self.tensor.type

    @property
    def is_store(self) -> bool:
        """Whether it is written to memory."""
        return isinstance(self.op, tt.DescriptorStoreOp | tt.StoreOp)


def access_of(op: Operation) -> Access | None:
    """Return what an operation moves; None if it is no access of a tensor."""
    match op:
        case tt.DescriptorLoadOp() | tt.LoadOp():
            found = Access(op, op.result)
        case tt.DescriptorStoreOp():
            found = Access(op, op.src)
        case tt.StoreOp():
            found = Access(op, op.value)
        case _:
            return None
    return found if is_tensor(found.tensor.type) else None


def takes_any(op: Operation) -> bool:
    """Whether an operation is in an entry point for any memory."""
    around = op.parent_op()
    while around is not None and not isinstance(around, tt.FuncOp):
        around = around.parent_op()
    return around is not None and LANE_BY_LANE in around.attributes


def is_promised(op: Operation) -> bool:
    """Whether Triton says of an access that 2D blocks can do it."""
    return block_io(op) is not None and NO_PROMISE not in op.attributes


def request_of(access: Access) -> Request | Refusal:
    """Return what the planner is to be asked, or why there is nothing to ask."""
    op, type = access.op, access.type
    if encoding_of(type) is None:
        return Refusal(Reason.LANES_ORDER, f"{type} has no layout")
    rank, order = len(type.get_shape()), block_io(op)
    if takes_any(op):
        return Refusal(Reason.UNKNOWN_MEMORY, "this entry point is for any")
    if isinstance(op, tt.LoadOp | tt.StoreOp):
        what = why_no_matrix(op, "a pointer for each element")
        return Refusal(Reason.UNKNOWN_MEMORY, what.removeprefix(MEMORY_SAID))
    if rank != 2 or len(op.indices) != 2:
        return Refusal(Reason.RANK, f"a tensor of rank {rank} of {len(op.indices)}")
    width = bits_of(type)
    assert width is not None, type
    run, channel = channel_bits(type)
    return Request(
        layout_of(type),
        rank - 2 if order == "column_major" else rank - 1,
        width,
        access.is_store,
        run,
        channel,
    )
