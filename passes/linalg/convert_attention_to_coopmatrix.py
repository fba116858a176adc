"""convert-attention-to-coopmatrix: lowers attention to one kernel.

Before:  a function on memrefs of two products of matrices with a softmax between them,
         as `outline-linalg-kernels` makes it.
After:   a kernel with a grid.  Each work-group is a subgroup that computes rows of the
         result in a loop over the rows of K and V.  Where the matrix unit of the device
         does not multiply the types, the kernel states the distribution
         `#layout.coopmatrix`, for distribute-coopmatrix, and a remark says so.
Fails:   for a device that there is not; other functions stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from coopc.dialects import simt
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_of
from coopc.remarks import remark
from coopc.rounding import PrecisionName


@dataclass(frozen=True)
class ConvertAttentionToCoopmatrixPass(ModulePass):
    name = "convert-attention-to-coopmatrix"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    precision: PrecisionName = "ieee"
    """As what `split-f32-products` lets the device multiply f32."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not uses_dialect(op, "linalg"):
            return
        # Most programs have none.
        from coopc.dialects.coopmatrix import DISTRIBUTION
        from coopc.dialects.layout import CoopmatrixAttr
        from coopc.layout.family import CoopmatrixFamily
        from coopc.passes.linalg.attention import (
            attention_in,
            become_attention,
            plan_attention,
            unit_without_products,
        )

        known = self.device is not None or simt.target_of(op) is not None
        device = device_of(self.device, op, self.name) if known else None
        for func in op.ops:
            if not isinstance(func, FuncOp) or (found := attention_in(func)) is None:
                continue
            unit = unit_without_products(found, device, self.precision)
            if unit is not None:
                by = "vectors" if unit == "AMX" else "lanes"
                what = f"attention by {by}: {unit} does not multiply its types"
                remark(found.result, what)
                func.attributes[DISTRIBUTION] = CoopmatrixAttr(CoopmatrixFamily())
            plan = plan_attention(device, by_lanes=unit is not None)
            become_attention(func, found, plan, ctx)
