"""Which kernels of Triton are lowered by the layouts of their tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from coopc.dialects import tt
from coopc.dialects.tt.types import dpas_of
from coopc.ir.control_flow import defined_by
from coopc.passes.triton.origins import base_of, bases_of, origins_of
from coopc.remarks import remark

UNPLANNED = (
    tt.AssertOp,
    tt.CatOp,
    tt.DescriptorGatherOp,
    tt.DescriptorReduceOp,
    tt.DescriptorScatterOp,
    tt.GatherOp,
    tt.HistogramOp,
    tt.IntToPtrOp,
    tt.MapElementwiseOp,
    tt.PrintOp,
    tt.PtrToIntOp,
)
"""Operations that convert-ttgir-to-xe does not have."""
ACCESSES = tt.AtomicCASOp | tt.AtomicRMWOp | tt.LoadOp | tt.StoreOp
DESCRIBED = tt.DescriptorLoadOp | tt.DescriptorStoreOp


def why_not_by_layouts(module: ModuleOp) -> tuple[Operation, str] | None:
    """Return what keeps kernels from being lowered by layouts, and why; or None."""
    if not tt.ModuleFacts.of(module).says_threads:
        return module, "it has no layouts"
    for op in module.walk():
        if isinstance(op, tt.DotOp) and dpas_of(op.d.type) is None:
            return op, "its result is not in a layout of DPAS"
    return why_not_laid_out(module)


def remark_warps(op: Operation, asked: int | None, found: int) -> None:
    """Say of a kernel that it is not run by as many subgroups as are asked for."""
    if asked not in (None, found):
        run = "one subgroup runs" if found == 1 else f"{found} subgroups run"
        remark(op, f"num_warps={asked} is not possible: {run} a program")


def why_not_laid_out(module: ModuleOp) -> tuple[Operation, str] | None:
    """Return what convert-ttgir-to-xe does not do with any layouts, and why."""
    for op in module.walk():
        if isinstance(op, UNPLANNED):
            return op, "not lowered by layouts"
        if isinstance(op, ACCESSES):
            is_of_one = len(bases_of(op.ptr)) == 1
            if tt.is_tensor(op.ptr.type):
                is_of_one = is_of_one and base_of(op.ptr) is not None
            if not is_of_one:
                return op, "its pointers are not into one argument"
        if isinstance(op, DESCRIBED) and len(origins_of(op.desc)) > 1:
            return op, "its descriptor is made in several places"
        is_flow = op.dialect_name() in ("arith", "scf")
        if is_flow and any(isinstance(x.type, tt.PtrType) for x in defined_by(op)):
            return op, "it chooses or carries a pointer"
    return None
