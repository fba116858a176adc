"""convert-attention-to-coopmatrix: makes one kernel of attention.

Before:  a function on memrefs of two products of matrices with a softmax between them,
         as `outline-linalg-kernels` makes it.
After:   a kernel with a grid.  Each work-group is a subgroup that computes rows of the
         result in a loop over the rows of K and V.
Fails:   never; other functions stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from coopc.dialects import simt
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_for


@dataclass(frozen=True)
class ConvertAttentionToCoopmatrixPass(ModulePass):
    name = "convert-attention-to-coopmatrix"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not uses_dialect(op, "linalg"):
            return
        # Most programs have none.
        from coopc.passes.linalg.attention import (
            attention_in,
            become_attention,
            plan_attention,
        )

        target = simt.target_of(op)
        name = None if target is None else target.device.data
        plan = plan_attention(None if name is None else device_for(name, op))
        for func in op.ops:
            if isinstance(func, FuncOp) and (found := attention_in(func)) is not None:
                become_attention(func, found, plan, ctx)
