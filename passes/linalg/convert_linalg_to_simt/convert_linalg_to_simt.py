"""convert-linalg-to-simt: lowers linalg without matrix products to loops over rows.

Before:  a linalg function on memrefs without a matrix product, whose operations share
         their parallel loops; it may have temporaries (memref.alloc).
After:   a kernel with a grid. A work-item computes some iterations of the shared loops
         (a row each), or a subgroup does, whose lanes share the reductions of a row and
         combine them by simt.reduce. On a GPU, work-items or subgroups share the
         reductions of few rows and combine them in work-group memory; under Vulkan,
         aligned neighbours in memory are loaded as a vector. Loads that are contiguous
         along another loop than stores are staged in tiles. On a CPU, some rows are
         reduced at once if they share loads, and costly values that several operations
         of a row compute are stored in work-group memory. Nothing else is allocated:
         values per row stay in registers, others are recomputed where they are read.
Fails:   if such a function has an operation that cannot be computed by rows, naming it.

Float sums and products of a row are reassociated over lanes or work-items, since linalg
prescribes no order.  The maximum of 0.0 and -0.0 (`maximumf`) may be either; NaN is
kept.  `coopc.plan.rows` decides, and `coopc.passes.linalg.rows` defines a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from coopc.device import Device
from coopc.device.cpu import VECTOR_TILE
from coopc.dialects import simt
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_of
from coopc.ir.transaction import transaction
from coopc.passes.linalg.convert_linalg_to_simt.row_kernel import RowKernel
from coopc.passes.linalg.convert_linalg_to_simt.row_problem import (
    bytes_reduced,
    element_bytes,
    loads_along,
    problem_of,
    reads_stored,
)
from coopc.passes.linalg.convert_linalg_to_simt.row_reuse import Reuse, reused
from coopc.passes.linalg.convert_linalg_to_simt.row_vectors import MOST_ELEMENTS
from coopc.passes.linalg.rows import Nest, rows_of
from coopc.plan.rows import NOT_SHARED, RowPlan, RowProblem, Sharing, plan_rows
from coopc.remarks import remark

GPUS = ("vulkan", "xe")
"""Families of devices whose work-items may share rows."""
GPU_ITEMS, GPU_BLOCK = 256, 8
"""Work-items of a work-group, at most, and rows where there are few work-groups."""
GPU_SHARES = 1024
"""Work-items of a work-group, at most, that share rows."""
GPU_TILE = 32
"""The fewest lanes of a GPU for which tiles, and rows in its caches, are measured."""
GPU_CACHE = 128 << 10
"""Bytes of rows in the first cache of a compute unit: on an H200, a softmax of 4096 x
4096 in f32 took 76 us by one subgroup a row, and 41 us by eight, as long as a copy."""
GPU_UNITS = 128
"""Compute units of a device that does not say how many it has."""
CPU_EACH, CPU_BLOCK, CPU_WIDE = 64, 4, 4
"""What a work-item of a processor computes, to make up for starting a work-group, and
how many vectors of a register's length are reduced together."""
CPU_STEPS, CPU_STORED = 8, 256
"""Steps of a reduction that these rows do together, of so many rows of memory, and how
many a work-item has of rows that only reduce and store.  Sums of 4096 columns of f32
were as fast as a copy with whole rows of memory, and 0.7 of it with quarters."""


@dataclass(frozen=True)
class ConvertLinalgToSimtPass(ModulePass):
    name = "convert-linalg-to-simt"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    subgroup_size: int | None = None
    """Subgroup size, instead of the device's."""
    explain: bool = False
    """Print a remark for each kernel that says how its loops are shared, and why."""
    threads: int = 1
    """CPU threads that share column reductions."""
    tile: tuple[int, ...] = VECTOR_TILE
    """Rows and columns of accumulators in registers of a CPU; 12,32 suits AVX-512."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"expected 1 thread or more, got {self.threads}")
        if len(self.tile) != 2 or min(self.tile) < 1:
            found = ",".join(map(str, self.tile))
            raise ValueError(f"expected 1 or more rows and columns, got tile={found}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not uses_dialect(op, "linalg"):
            return
        device = device_of(self.device, op, self.name)
        with transaction(op) as draft:
            for func in list(draft.ops):
                if not isinstance(func, FuncOp) or not uses_dialect(func, "linalg"):
                    continue
                self.convert(func, rows_of(func), device)

    def convert(self, func: FuncOp, nest: Nest, device: Device) -> None:
        """Make a kernel of a function that is a nest."""
        problem = problem_of(nest, vectors=device.family == "vulkan")
        plan = self._plan(problem, device, nest)
        is_slow = plan.loop is None and plan.kind == "work-items"
        if self.explain or (is_slow and problem.reduction is not None):
            remark(func, str(plan))
        is_cpu = device.family == "amx"
        reuses = (
            values_to_store(nest, plan, device.limits.local_bytes) if is_cpu else ()
        )
        RowKernel(func, nest, plan, is_cpu, reuses).write()

    def _plan(self, problem: RowProblem, device: Device, nest: Nest) -> RowPlan:
        lanes = self.subgroup_size or device.subgroup_size
        stages = bytes_staged(nest, problem, lanes) <= device.limits.local_bytes
        if device.family == "amx":
            wide = 1 if self.subgroup_size else CPU_WIDE
            each, its = CPU_EACH, problem.reduction
            if its is not None and its.stored:
                each = max(each, CPU_STORED // self.threads)
            rows, columns = self.tile[0], min(self.tile[1], simt.MAX_SUBGROUP_SIZE)
            if (size := sum(bytes_reduced(nest))) > 4:
                rows = max(1, rows * 4 // size)
            return plan_rows(
                *(problem, lanes, lanes, each, CPU_BLOCK, wide),
                steps=CPU_STEPS,
                stages=stages,
                tile=(1 if self.subgroup_size else rows, columns),
            )
        limits = device.limits
        items = max(lanes, min(GPU_ITEMS, limits.work_items) // lanes * lanes)
        many = limits.work_groups or (2**31,)
        block = GPU_BLOCK if many[0] < 2**16 else 1
        limited = limits.work_groups is not None
        gpu = NOT_SHARED
        if device.family in GPUS and not reads_stored(nest):
            reduced = bytes_reduced(nest)
            # Results take registers: subgroups of a row have those of one reduction at
            # a time, work-items those of all.
            most = GPU_SHARES if len(reduced) == 1 else GPU_ITEMS
            at_once = max(len(x.maps) - x.inputs for x in nest.loops)
            of_row = GPU_SHARES if at_once == 1 else GPU_ITEMS
            room = limits.local_bytes // (MOST_ELEMENTS * max(1, sum(reduced)))
            units = device.compute_units or GPU_UNITS
            most, of_row = (min(x, limits.work_items, room) for x in (most, of_row))
            cache = GPU_CACHE if lanes >= GPU_TILE else 0
            gpu = Sharing(most, units, of_row if cache else most, cache)
        return plan_rows(
            *(problem, lanes, items),
            block=block,
            rows_on_x=limited,
            gpu=gpu,
            stages=stages and lanes >= GPU_TILE and device.family == "vulkan",
        )


def bytes_staged(nest: Nest, problem: RowProblem, lanes: int) -> int:
    """Return the bytes of a tile of each load that would be staged."""
    if problem.crossed is None:
        return 0
    stored, staged = problem.crossed
    loads = loads_along(nest, staged, stored)
    return sum(lanes * (lanes + 1) * element_bytes(memory) for memory, _ in loads)


def values_to_store(nest: Nest, plan: RowPlan, room: int) -> Sequence[Reuse]:
    """Return what work-items store of a row, in so many bytes of work-group memory.

    Parts of a value that has no room are not tried.
    """
    found = list[Reuse]()
    if plan.tile > 1:
        return found
    rows = 1 if plan.kind == "subgroup" else plan.items
    for value in reused(nest):
        if rows * value.bytes <= room:
            room -= rows * value.bytes
            found.append(value)
    return found
