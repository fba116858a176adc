"""The pipelines that coopc names: tuples of passes, a reason where order matters.

`coopc-opt --help NAME` prints their steps.  Each ends with a check that it has left
nothing that it is to lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass

from coopc.device import DEVICES, Flavour, device
from coopc.passes.coopmatrix.split_coopmatrix.split_coopmatrix import (
    SplitCoopmatrixPass,
)
from coopc.passes.generic.check_lowered import CheckLoweredPass
from coopc.passes.generic.expand_exchanges import ExpandExchangesPass
from coopc.passes.generic.normalize import NormalizePass
from coopc.passes.generic.set_target import SetTargetPass
from coopc.passes.khr.legalize_coopmatrix_khr.legalize_coopmatrix_khr import (
    LegalizeCoopmatrixKhrPass,
)
from coopc.passes.linalg.pack_coopmatrix_b import PackCoopmatrixBPass
from coopc.pipeline import Pipeline


@dataclass(frozen=True)
class CoopcKhrPass(Pipeline):
    """Compile for SPV_KHR_cooperative_matrix, for `-t spirv`.

    Before: linalg.matmul on memrefs, or coopmatrix operations on matrices of any size.
    After:  kernels of the operations on matrices that the device has as instructions,
            with loops over elements and work-group memory for the rest.
    Fails:  naming an operation that the device cannot do; for unknown devices.
    """

    name = "coopc-khr"

    device: str | None = None
    """A device of `--list devices`; the module's `simt.target` without it."""
    flavour: Flavour | None = None
    """The environment of SPIR-V; the device's, if it has only one."""
    tile: tuple[int, ...] = ()
    """m, n and k that a subgroup computes of a linalg.matmul; else the device's."""
    pack_b: bool = False
    """Whether a kernel of its own packs B where the device wants it packed, rather than
    each work-group what it needs."""
    staged: bool = False
    """Whether a linalg.matmul becomes a kernel of work-groups of several subgroups,
    with tiles in work-group memory that suit the device."""

    def __post_init__(self) -> None:
        self.steps()  # checks the device's name

    def steps(self) -> tuple[ModulePass, ...]:
        """Choose the device, make kernels, cut to its shapes, clean up."""
        from coopc.passes.linalg.convert_linalg_to_coopmatrix import (
            ConvertLinalgToCoopmatrixPass,
        )
        from coopc.passes.linalg.tile_matmul_khr import TileMatmulKhrPass

        return (
            SetTargetPass.of(self.name, self.device, self.flavour),
            TileMatmulKhrPass(remark=not self.staged),  # for the target
            ConvertLinalgToCoopmatrixPass(self.tile),  # what is left of them
            *((PackCoopmatrixBPass(kernel=True),) if self.pack_b else ()),
            CanonicalizePass(),  # what is dead or constant need not be cut
            LegalizeCoopmatrixKhrPass(products_only=True),  # else not to be split
            SplitCoopmatrixPass(),  # for the target
            PackCoopmatrixBPass(),  # of tiles
            LegalizeCoopmatrixKhrPass(),  # of tiles: what is whole has no instruction
            NormalizePass(),
            CheckLoweredPass(matrices=True),
        )


@dataclass(frozen=True)
class CoopcXePass(Pipeline):
    """Compile for Intel Xe: 2D block messages, shuffles and DPAS.

    Before: Triton GPU IR, linalg.matmul on memrefs, or coopmatrix operations.
    After:  kernels of one lane: loads and stores are messages of 2D blocks where there
            is a plan, lane by lane where there is none; products are `xe.dpas`.
    Fails:  naming an operation that cannot be converted; for devices without DPAS.
    """

    name = "coopc-xe"

    device: str | None = None
    """dg2, pvc, bmg, lnl or ptl; the module's `simt.target` without it."""
    explain: bool = False
    """Whether the plan of each access is printed, or the reason against one."""
    prefetch: int = 0
    """How many steps of a loop ahead tiles are prefetched; 0 for no more than is."""
    barriers: bool = False
    """Whether subgroups go through the steps of such loops together."""
    fallback: bool = False
    """Whether kernels that have conditions get a second entry point, `.fallback`."""
    any: bool | None = None
    """The old name of `fallback`."""
    payload: Literal["none", "prefetch", "all"] = "none"
    """Which addresses of messages are held in payloads, builtins of the compiler."""
    split: bool = False
    """Whether pairs of subgroups share A in split DPAS, as dg2 can; which two are a
    pair is only assumed there."""
    emulate: bool = False
    """Whether what the device does is then written out as code for any device, and the
    target is the CPU; the plans are those for `device`."""

    def __post_init__(self) -> None:
        if self.device is not None and device(self.device).dpas is None:
            *most, last = (each.name for each in DEVICES.values() if each.dpas)
            raise ValueError(
                f"expected a device with DPAS, {', '.join(most)} or {last}, "
                f"got {self.device}"
            )
        if self.fallback and self.any is False:
            raise ValueError("expected fallback=true or any=false, its old name")
        self.steps()

    def steps(self) -> tuple[ModulePass, ...]:
        """Choose the device, plan, convert by the plans, clean up; perhaps emulate."""
        # Triton's dialects are too much to import for the other pipelines.
        from coopc.passes.linalg.convert_linalg_to_coopmatrix import (
            ConvertLinalgToCoopmatrixPass,
        )
        from coopc.passes.triton.add_fallback_entry import AddFallbackEntryPass
        from coopc.passes.triton.convert_tt_pointers_to_descriptors import (
            ConvertTtPointersToDescriptorsPass,
        )
        from coopc.passes.triton.expand_tt_math import ExpandTtMathPass
        from coopc.passes.triton.inline_tt_calls import InlineTtCallsPass
        from coopc.passes.triton.normalize_tt_descriptors import (
            NormalizeTtDescriptorsPass,
        )
        from coopc.passes.triton.unwrap_tt_offsets import UnwrapTtOffsetsPass
        from coopc.passes.xe.convert_to_xe.convert_coopmatrix_to_xe import (
            ConvertCoopmatrixToXePass,
        )
        from coopc.passes.xe.convert_to_xe.convert_ttgir_to_xe import (
            ConvertTtgirToXePass,
        )
        from coopc.passes.xe.emulate.emulate_xe import EmulateXePass
        from coopc.passes.xe.fuse_split_dpas import FuseSplitDpasPass
        from coopc.passes.xe.plan_block_io import PlanBlockIoPass
        from coopc.passes.xe.prefetch_block_io import PrefetchBlockIoPass

        fallback = self.fallback or self.any is True
        second = (AddFallbackEntryPass(),) if fallback else ()
        fetch = PrefetchBlockIoPass(max(1, self.prefetch), self.barriers)
        ahead = (fetch,) if self.prefetch else ()
        shared = FuseSplitDpasPass(assumed=True, explain=self.explain)
        emulated = (EmulateXePass(), NormalizePass(), SetTargetPass("intel-cpu"))
        return (
            SetTargetPass.of(self.name, self.device, "opencl" if self.device else None),
            ConvertLinalgToCoopmatrixPass(),
            InlineTtCallsPass(),
            ExpandTtMathPass(),
            UnwrapTtOffsetsPass(),  # before pointers are looked at
            *second,  # which needs no prefetches, nor has it plans
            ConvertTtPointersToDescriptorsPass(),  # not of `.fallback`
            NormalizeTtDescriptorsPass(),
            NormalizePass(),  # one descriptor of a matrix, in front of loops
            *ahead,  # they are planned, too
            PlanBlockIoPass(explain=self.explain),  # for the target
            ConvertTtgirToXePass(self.payload),
            ConvertCoopmatrixToXePass(explain=self.explain, fallback=fallback),
            ExpandExchangesPass(),
            NormalizePass(),
            *((shared, NormalizePass()) if self.split else ()),  # what is the same
            CheckLoweredPass(),
            *(emulated if self.emulate else ()),
        )


@dataclass(frozen=True)
class CoopcLanesPass(Pipeline):
    """Compile to plain code of lanes, for any device with subgroups.

    Before: linalg.matmul on memrefs, or coopmatrix operations on matrices of a
            subgroup.
    After:  kernels in which matrices are the vectors that each lane holds; no matrix
            engine is used.
    Fails:  for matrices of other scopes or of specialisation constants as sizes, and
            for elements of other than 8, 16, 32 or 64 bits, naming the operation.
    """

    name = "coopc-lanes"

    subgroup_size: int | None = None
    """Lanes; what kernels say, or else the device, without it."""
    device: str | None = None
    """A device of `--list devices`; the module's `simt.target` without it."""
    flavour: Flavour | None = None
    """The environment of SPIR-V; the device's, if it has only one."""
    unroll: bool = False
    """Whether loops over what a lane holds are written out."""
    explain: bool = False
    """Whether standard error says how each access to memory is done, and why."""

    def __post_init__(self) -> None:
        self.steps()  # checks the device's name and the subgroup size

    def steps(self) -> tuple[ModulePass, ...]:
        """Choose the device, spread matrices over lanes, clean up."""
        from coopc.passes.lanes.converge_subgroup import ConvergeSubgroupPass
        from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
            DistributeCoopmatrixPass,
        )
        from coopc.passes.linalg.convert_linalg_to_coopmatrix import (
            ConvertLinalgToCoopmatrixPass,
        )

        return (
            SetTargetPass.of(self.name, self.device, self.flavour),
            ConvertLinalgToCoopmatrixPass(),
            CanonicalizePass(),  # what is dead or constant need not be spread
            DistributeCoopmatrixPass(
                self.subgroup_size, self.unroll, explain=self.explain
            ),
            ExpandExchangesPass(),
            NormalizePass(),
            ConvergeSubgroupPass(),  # loops and calls that are left
            CheckLoweredPass(),
        )


CPU_TILE = (32, 32)
"""Rows and columns that a work-group computes of a linalg.matmul on a processor."""


@dataclass(frozen=True)
class CoopcAmxPass(Pipeline):
    """Compile to functions on tiles of AMX, for `-t llvm-ir`.

    Before: linalg.matmul on memrefs, or coopmatrix operations on matrices of a
            subgroup.
    After:  functions that loop over a part of the work-groups of a grid; matrices are
            tiles of AMX.
    Fails:  naming an operation on types that AMX does not hold or multiply, or one that
            has no form of vectors over lanes.
    """

    name = "coopc-amx"

    subgroup_size: int | None = None
    """Lanes; what kernels say, or else 16, without it."""
    block: tuple[int, ...] = ()
    """Of a linalg.matmul: panels of A and of B, and steps of K, at a time."""
    threads: int = 1
    """Threads that share a linalg.matmul."""

    def __post_init__(self) -> None:
        self.steps()  # checks the subgroup size, the block and the threads

    def steps(self) -> tuple[ModulePass, ...]:
        """Vectorise what work-items do, cut matrices into tiles, loop over the grid."""
        from coopc.passes.coopmatrix.inline_matrix_calls import InlineMatrixCallsPass
        from coopc.passes.cpu.convert_coopmatrix_to_amx import (
            ConvertCoopmatrixToAmxPass,
        )
        from coopc.passes.cpu.convert_simt_to_loops import ConvertSimtToLoopsPass
        from coopc.passes.cpu.fit_amx_tiles import FitAmxTilesPass
        from coopc.passes.linalg.convert_linalg_to_coopmatrix import (
            ConvertLinalgToCoopmatrixPass,
        )
        from coopc.passes.linalg.pack_b_amx import PackBAmxPass
        from coopc.passes.linalg.tile_matmul_amx import TileMatmulAmxPass

        return (
            TileMatmulAmxPass(self.block, self.threads),
            ConvertLinalgToCoopmatrixPass((*CPU_TILE, 64)),  # what it has left
            InlineMatrixCallsPass(),  # tiles are of one function
            PackBAmxPass(),
            *vectorising(self.subgroup_size),
            ConvertCoopmatrixToAmxPass(),
            NormalizePass(),
            FitAmxTilesPass(),
            ConvertSimtToLoopsPass(),
            CheckLoweredPass(),
        )


@dataclass(frozen=True)
class CoopcCpuPass(Pipeline):
    """Compile to vector code for x86-64 processors, for `-t llvm-ir`.

    Before: linalg.matmul on memrefs, or coopmatrix operations on matrices of a
            subgroup.
    After:  functions that loop over a part of the work-groups of a grid; matrices are
            vectors.
    Fails:  naming an operation that has no form of vectors over lanes.
    """

    name = "coopc-cpu"

    subgroup_size: int | None = None
    """Lanes; what kernels say, or else 16, without it."""

    def __post_init__(self) -> None:
        self.steps()  # checks the subgroup size

    def steps(self) -> tuple[ModulePass, ...]:
        """Vectorise what work-items do, then let one work-item hold each matrix."""
        from coopc.passes.cpu.convert_simt_to_loops import ConvertSimtToLoopsPass
        from coopc.passes.cpu.stage_row_slices import StageRowSlicesPass
        from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
            DistributeCoopmatrixPass,
        )
        from coopc.passes.linalg.convert_linalg_to_coopmatrix import (
            ConvertLinalgToCoopmatrixPass,
        )

        return (
            ConvertLinalgToCoopmatrixPass((*CPU_TILE, 16)),
            *vectorising(self.subgroup_size),
            StageRowSlicesPass(),  # lanes have none
            DistributeCoopmatrixPass(1, max_vector=16, block_access=False),
            ExpandExchangesPass(),  # of one lane: other orders
            NormalizePass(),
            ConvertSimtToLoopsPass(),
            CheckLoweredPass(),
        )


def vectorising(subgroup_size: int | None) -> tuple[ModulePass, ...]:
    """The steps from work-items to one work-item with row slices of matrices."""
    from coopc.passes.cpu.infer_kernel_sizes import InferKernelSizesPass
    from coopc.passes.cpu.resolve_matrix_fill import ResolveMatrixFillPass
    from coopc.passes.cpu.resolve_matrix_wi_slice import ResolveMatrixWiSlicePass
    from coopc.passes.cpu.resolve_subgroup_wi_call import ResolveSubgroupWiCallPass
    from coopc.passes.cpu.vectorize_subgroup.vectorize_subgroup import (
        VectorizeSubgroupPass,
    )

    return (
        InferKernelSizesPass(subgroup_size=subgroup_size),
        CanonicalizePass(),  # a zero may be known only then
        ResolveMatrixFillPass(),
        ResolveMatrixWiSlicePass(),
        VectorizeSubgroupPass(whole_groups=True),  # one core has each
        ResolveSubgroupWiCallPass(),
        CanonicalizePass(),  # offsets that are known need no masks
    )
