"""tile-matmul-khr: lowers products to kernels that stage tiles in work-group memory.

Before:  a func.func with one linalg.matmul, or an equivalent linalg.generic, on memref
         arguments, optionally after a linalg.fill of the output, and before
         linalg.generic operations that use its sums element by element.
After:   a kernel with a grid. Each work-group copies tiles of A and B to work-group
         memory, and its subgroups multiply them; where C has few tiles, several
         subgroups share K. Edges of C, what is left of K after whole steps, and rows
         that are not a multiple of the copied vectors, are checked.
Fails:   where such a function has an operation that cannot be fused, naming it; where
         the tiles do not suit the device or exceed its work-group memory. With an
         epilogue, such a function stays, with a remark.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from coopc.device import Device, GemmTiles
from coopc.dialects import simt
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_of
from coopc.ir.transaction import Refused, transaction
from coopc.remarks import remark
from coopc.rounding import PrecisionName


@dataclass(frozen=True)
class TileMatmulKhrPass(ModulePass):
    name = "tile-matmul-khr"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    group: tuple[int, ...] = ()
    """M and N of a work-group; without it and `subgroup`, the device's tiles."""
    subgroup: tuple[int, ...] = ()
    """M and N of a subgroup."""
    step: int = 0
    """K of the tiles in work-group memory; 0 for the device's tiles."""
    stages: int = 2
    """1 or 2 tiles of A and of B in work-group memory."""
    gaps: bool = True
    """Whether rows in work-group memory have gaps, against bank conflicts."""
    band: int = 0
    """Rows of tiles in which work-groups go column by column; 0 for row by row."""
    unroll: bool = False
    """Whether to ask the driver to unroll the loop along K, or not to."""
    sliced: bool = False
    """Whether B comes in slices of the K of one multiplication; with 1 stage."""
    split: int = 1
    """Subgroups that share K, each a part of a step."""
    remark: bool = False
    """Whether functions stay as they are, and a remark says which would be faster."""
    precision: PrecisionName = "ieee"
    """Any but ieee leaves products of f32 to `split-f32-products`."""

    def __post_init__(self) -> None:
        given = (self.group, self.subgroup)
        some, every = any((*given, self.step)), [len(x) for x in given] == [2, 2]
        if some and (not every or self.step < 1):
            raise ValueError(
                "expected group and subgroup of m and n, and a step, or none of "
                f"them, got {self.group}, {self.subgroup} and {self.step}"
            )
        if self.band < 0:
            raise ValueError(f"expected a band of at least 0, got {self.band}")

    @property
    def tiles(self) -> GemmTiles | None:
        if not self.group:
            return None
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        return GemmTiles(
            (m, n),
            (sub_m, sub_n),
            self.step,
            self.stages,
            self.gaps,
            self.band,
            self.unroll,
            self.sliced,
            self.split,
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        if not uses_dialect(op, "linalg"):
            return
        if self.remark:
            self._remark(op, device)
            return
        # Most kernels need none of these.
        from coopc.passes.linalg.kernel_text import become_kernel
        from coopc.passes.linalg.match import multiplications
        from coopc.passes.linalg.staged_kernel import staged_kernel
        from coopc.plan.gemm import in_precision, plan_staged_gemm

        with transaction(op) as draft:
            for func, found in multiplications(draft):
                plan = plan_staged_gemm(found.problem, device, self.tiles)
                split = in_precision(found.problem, self.precision) != found.problem
                if isinstance(plan, str) and (split or found.problem.epilogue):
                    reason = "one subgroup a work-group multiplies, not several"
                    remark(func, f"{reason}: {plan}")
                    continue
                if isinstance(plan, str):
                    raise Refused(found.op, plan)
                text = staged_kernel(found.problem, plan)
                become_kernel(func, found, plan, text, ctx)
                group = plan.work_items, 1, 1
                simt.set_sizes(func, device.subgroup_size, group)

    def _remark(self, op: ModuleOp, device: Device) -> None:
        """Say of which functions the kernel would be faster."""
        from coopc.passes.linalg.match import matched
        from coopc.plan.gemm import plan_staged_gemm

        for func in op.ops:
            if not isinstance(func, FuncOp) or not device.shares_gemm:
                continue
            with suppress(Refused):
                found = matched(func)
                if found is None or isinstance(
                    plan_staged_gemm(found.problem, device, self.tiles), str
                ):
                    continue
                remark(
                    func,
                    "one subgroup a work-group multiplies; with staged=true several "
                    "share tiles in work-group memory, which is far faster on "
                    f"{device.name}",
                )
