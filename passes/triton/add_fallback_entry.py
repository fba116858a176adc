"""add-fallback-entry: adds an entry point for arguments that violate conditions.

Before:  Triton kernels with layouts.
After:   each kernel @f has a copy, @f.fallback, that accesses all tensors per lane, for
         any pitch, width and base. The host calls it if a condition of @f fails. It is
         a copy because a second loop in @f would slow down the first.
Fails:   never
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt
from coopc.interface import SECOND_ENTRY
from coopc.passes.triton.access_attributes import LANE_BY_LANE


@dataclass(frozen=True)
class AddFallbackEntryPass(ModulePass):
    name = "add-fallback-entry"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {x.sym_name.data for x in op.ops if isinstance(x, tt.FuncOp)}
        for kernel in list(op.ops):
            if not isinstance(kernel, tt.FuncOp) or not kernel.is_kernel:
                continue
            name = kernel.sym_name.data + SECOND_ENTRY
            if name in names or LANE_BY_LANE in kernel.attributes:
                continue
            copy = kernel.clone()
            copy.sym_name = StringAttr(name)
            copy.attributes[LANE_BY_LANE] = UnitAttr()
            Rewriter.insert_op(copy, InsertPoint.after(kernel))
