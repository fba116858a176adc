"""convert-linalg-to-coopmatrix: lowers products to kernels of one tile per subgroup.

Before:  a func.func with one linalg.matmul, or an equivalent linalg.generic, on memref
         arguments; a linalg.fill of the output may precede it, and elementwise
         linalg.generic operations on its result may follow.
After:   a kernel with a grid. Each work-group computes one tile of C in a loop over K
         with coopmatrix operations; accesses that may be out of bounds are checked.
         linalg functions without a product stay, for `convert-linalg-to-simt`; so do
         products of types that DPAS or AMX does not support, as generics, and under
         Vulkan products of one row or column.
Fails:   if a function is neither, or has an operation that cannot be fused, naming it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from coopc.dialects import simt
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_for
from coopc.ir.transaction import transaction
from coopc.remarks import remark
from coopc.rounding import PrecisionName

if TYPE_CHECKING:
    from coopc.passes.linalg.match import Multiplication


def _leave(found: Multiplication, unit: str) -> None:
    """Leave a product that a unit does not multiply to rows, as a generic operation."""
    from xdsl.dialects.linalg import ops as linalg

    from coopc.passes.linalg.generalize_linalg import generalize

    what = "each element by a work-item" if unit == "DPAS" else "each row by vectors"
    elements = ", ".join(found.problem.elements)
    remark(found.op, f"{what}: {unit} does not multiply {elements}")
    if not isinstance(found.op, linalg.GenericOp):
        generalize(found.op)


@dataclass(frozen=True)
class ConvertLinalgToCoopmatrixPass(ModulePass):
    name = "convert-linalg-to-coopmatrix"

    tile: tuple[int, ...] = ()
    """m, n and k of a work-group's tile; default: the device's."""
    amx: bool = False
    """Use AMX tiles, and leave products that AMX does not support."""
    lanes: bool = False
    """Compute all products on lanes, even if the device has instructions for them."""
    precision: PrecisionName = "ieee"
    """How f32 is multiplied, as for `split-f32-products`."""

    def __post_init__(self) -> None:
        if self.tile and (len(self.tile) != 3 or min(self.tile) < 1):
            raise ValueError(f"expected a tile of m, n and k, got {self.tile}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not uses_dialect(op, "linalg"):
            return
        # Most kernels need none of these.
        from coopc.device import AMX
        from coopc.passes.linalg.kernel_text import become_kernel, direct_kernel
        from coopc.passes.linalg.match import is_vector_product, multiplications
        from coopc.plan.core_gemm import unit_without
        from coopc.plan.gemm import direct_tile, in_precision, plan_direct_gemm

        m, n, k = self.tile or (0, 0, 0)
        target = simt.target_of(op)
        wanted = device_for(target.device.data, op) if target else None
        with transaction(op) as draft:
            for func, found in multiplications(draft):
                problem = found.problem
                seen = in_precision(problem, self.precision)
                if unit := unit_without(seen, AMX if self.amx else wanted):
                    _leave(found, unit)
                    continue
                tile = (m, n, k) if m else None
                if found.tuned and found.tuned.tile:
                    tile = found.tuned.tile
                if tile is None and is_vector_product(func, found, wanted):
                    continue  # convert-linalg-to-simt does it
                if wanted is not None and (self.lanes or seen is not problem):
                    by = None if self.lanes else wanted
                    tile = tile or direct_tile(by, seen.elements, problem.c.shape)
                plan = plan_direct_gemm(problem, wanted, tile)
                text = direct_kernel(problem, plan)
                become_kernel(func, found, plan, text, ctx)
