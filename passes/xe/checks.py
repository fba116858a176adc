"""What `convert-ttgir-to-xe` refuses, operation by operation, with the reason."""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from coopc.dialects import tt, ttg
from coopc.dialects.tt.layouts import encoding_of
from coopc.dialects.tt.names import NUM_CTAS, NUM_WARPS, ModuleFacts
from coopc.dialects.tt.types import is_tensor
from coopc.passes.xe.block_access import plan_of
from coopc.passes.xe.products import why_not_dot
from coopc.passes.xe.tensors import view_sources

KNOWN = (
    tt.AddPtrOp,
    tt.FpToFpOp,
    tt.GetNumProgramsOp,
    tt.GetProgramIdOp,
    tt.MakeRangeOp,
    tt.ReturnOp,
    tt.SplatOp,
)
"""Operations of Triton that are converted whatever they are."""
TRITON = ("tt", "ttg", "ttig")


def why_not(op: Operation) -> str | None:
    """Return why an operation cannot be converted, or None."""
    for value in op.results:
        if is_tensor(value.type) and encoding_of(value.type) is None:
            return f"expected a tensor with a known encoding, got {value.type}"
    match op:
        case tt.FuncOp():
            return _function(op)
        case tt.DotOp():
            return why_not_dot(op)
        case (
            tt.ExpandDimsOp() | tt.BroadcastOp() | tt.TransOp() | ttg.ConvertLayoutOp()
        ):
            if view_sources(op) is None:
                return (
                    f"expected elements to stay in their lanes, which those of "
                    f"{op.src.type} do not in {op.result.type}"
                )
        case tt.MakeTensorDescriptorOp():
            if op.type.rank != 2:
                return f"expected a descriptor of rank 2, got {op.type}"
        case tt.DescriptorLoadOp() | tt.DescriptorStoreOp():
            return _block_access(op)
        case ConstantOp():
            return _constant(op)
        case _ if op.dialect_name() in TRITON and not isinstance(op, KNOWN):
            return f"{op.name} is not converted to xe"
        case _:
            pass
    return None


def _function(op: tt.FuncOp) -> str | None:
    """Return why a function is no kernel that can be converted."""
    if not op.is_kernel:
        return f"expected a kernel, got @{op.sym_name.data}: inline what is called"
    facts = ModuleFacts.of(op)
    if facts.num_warps is None:
        return f"expected {NUM_WARPS} on the module, got none"
    if facts.num_ctas != 1:
        return f"expected {NUM_CTAS} = 1, got {facts.num_ctas}"
    if len(op.body.blocks) != 1:
        return f"expected structured control flow, got {len(op.body.blocks)} blocks"
    return None


def _block_access(op: tt.DescriptorLoadOp | tt.DescriptorStoreOp) -> str | None:
    """Return why an access through a descriptor cannot be converted."""
    plan = plan_of(op)
    if plan is None:
        return "expected a plan of plan-block-io, got none"
    if plan.row_step != 1:
        return f"expected messages of neighbouring rows, got every {plan.row_step}nd"
    return None


def _constant(op: ConstantOp) -> str | None:
    """Return why a constant cannot be converted."""
    if not is_tensor(op.result.type):
        return None
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        return "expected a constant that is the same for all elements"
    return None
