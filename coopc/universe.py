"""What coopc adds to xDSL, as tables of names and import paths.

`xdsl-opt` finds `COOPC_UNIVERSE` through the entry point of group `xdsl.universe`, and
loads it for every user of xDSL who has coopc installed.  So nothing is imported here
before its name is used: a factory imports on its first call.  `test_universe.py`
compares the tables with the names of what they lead to.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from xdsl.universe import XDSL_UNIVERSE, Universe

DIALECTS: dict[str, str] = {
    "amx": "coopc.dialects.amx:Amx",
    "coopmatrix": "coopc.dialects.coopmatrix:Coopmatrix",
    "layout": "coopc.dialects.layout:Layout",
    "row_slice": "coopc.dialects.row_slice:RowSlice",
    "simt": "coopc.dialects.simt:Simt",
    "tt": "coopc.dialects.tt:Tt",
    "ttg": "coopc.dialects.ttg:Ttg",
    "ttig": "coopc.dialects.ttig:Ttig",
    "xe": "coopc.dialects.xe:Xe",
}
"""From the name of a dialect to `module:object`."""

PASSES: dict[str, str] = {
    "check-dominance": "coopc.passes.check_dominance:CheckDominancePass",
    "check-bounds": "coopc.passes.check_bounds:CheckBoundsPass",
    "check-uniformity": "coopc.passes.check_uniformity:CheckUniformityPass",
    "check-lowered": "coopc.passes.check_lowered:CheckLoweredPass",
    "set-target": "coopc.passes.set_target:SetTargetPass",
    "normalize": "coopc.passes.generic.normalize:NormalizePass",
    "expand-arith": "coopc.passes.generic.expand_arith:ExpandArithPass",
    "expand-bf16": "coopc.passes.generic.expand_bf16:ExpandBf16Pass",
    "expand-math": "coopc.passes.generic.expand_math:ExpandMathPass",
    "expand-vector": "coopc.passes.generic.expand_vector:ExpandVectorPass",
    "convert-linalg-to-coopmatrix": "coopc.passes.linalg.convert_linalg_to_coopmatrix"
    ":ConvertLinalgToCoopmatrixPass",
    "convert-spirv-calls-to-coopmatrix": "coopc.passes.spirv_calls"
    ".convert_spirv_calls_to_coopmatrix:ConvertSpirvCallsToCoopmatrixPass",
    "tile-matmul-khr": "coopc.passes.linalg.tile_matmul_khr:TileMatmulKhrPass",
    "inline-matrix-calls": "coopc.passes.coopmatrix.inline_matrix_calls"
    ":InlineMatrixCallsPass",
    "split-coopmatrix": "coopc.passes.coopmatrix.split_coopmatrix:SplitCoopmatrixPass",
    "pack-coopmatrix-b": "coopc.passes.linalg.pack_coopmatrix_b:PackCoopmatrixBPass",
    "legalize-coopmatrix-khr": "coopc.passes.khr.legalize_coopmatrix_khr"
    ":LegalizeCoopmatrixKhrPass",
    "inline-tt-calls": "coopc.passes.triton.inline_tt_calls:InlineTtCallsPass",
    "expand-tt-math": "coopc.passes.triton.expand_tt_math:ExpandTtMathPass",
    "unwrap-tt-offsets": "coopc.passes.triton.unwrap_tt_offsets:UnwrapTtOffsetsPass",
    "add-fallback-entry": "coopc.passes.triton.add_fallback_entry:AddFallbackEntryPass",
    "convert-tt-pointers-to-descriptors": "coopc.passes.triton"
    ".convert_tt_pointers_to_descriptors:ConvertTtPointersToDescriptorsPass",
    "settle-tt-descriptors": "coopc.passes.triton.settle_tt_descriptors"
    ":SettleTtDescriptorsPass",
    "prefetch-block-io": ("coopc.passes.xe.prefetch_block_io:PrefetchBlockIoPass"),
    "plan-block-io": "coopc.passes.xe.plan_block_io:PlanBlockIoPass",
    "convert-ttgir-to-xe": "coopc.passes.xe.convert_to_xe.convert_ttgir_to_xe"
    ":ConvertTtgirToXePass",
    "convert-coopmatrix-to-xe": "coopc.passes.xe.convert_to_xe"
    ".convert_coopmatrix_to_xe:ConvertCoopmatrixToXePass",
    "expand-exchanges": "coopc.passes.expand_exchanges:ExpandExchangesPass",
    "fuse-split-dpas": "coopc.passes.xe.fuse_split_dpas:FuseSplitDpasPass",
    "emulate-xe": "coopc.passes.xe.emulate.emulate_xe:EmulateXePass",
    "tile-matmul-amx": "coopc.passes.linalg.tile_matmul_amx:TileMatmulAmxPass",
    "pack-b-amx": "coopc.passes.linalg.pack_b_amx:PackBAmxPass",
    "settle-kernels": "coopc.passes.cpu.settle_kernels:SettleKernelsPass",
    "resolve-matrix-fill": "coopc.passes.cpu.resolve_matrix_fill:ResolveMatrixFillPass",
    "resolve-matrix-wi-slice": "coopc.passes.cpu.resolve_matrix_wi_slice"
    ":ResolveMatrixWiSlicePass",
    "vectorize-subgroup": "coopc.passes.cpu.vectorize_subgroup:VectorizeSubgroupPass",
    "resolve-subgroup-wi-call": "coopc.passes.cpu.resolve_subgroup_wi_call"
    ":ResolveSubgroupWiCallPass",
    "distribute-coopmatrix": "coopc.passes.lanes.distribute_coopmatrix"
    ":DistributeCoopmatrixPass",
    "converge-subgroup": "coopc.passes.lanes.converge_subgroup:ConvergeSubgroupPass",
    "convert-coopmatrix-to-amx": "coopc.passes.cpu.convert_coopmatrix_to_amx"
    ":ConvertCoopmatrixToAmxPass",
    "fit-amx-tiles": "coopc.passes.cpu.fit_amx_tiles:FitAmxTilesPass",
    "stage-row-slices": "coopc.passes.cpu.stage_row_slices:StageRowSlicesPass",
    "convert-simt-to-loops": "coopc.passes.cpu.convert_simt_to_loops"
    ":ConvertSimtToLoopsPass",
    "coopc-khr": "coopc.pipelines:CoopcKhrPass",
    "coopc-xe": "coopc.pipelines:CoopcXePass",
    "coopc-lanes": "coopc.pipelines:CoopcLanesPass",
    "coopc-amx": "coopc.pipelines:CoopcAmxPass",
    "coopc-cpu": "coopc.pipelines:CoopcCpuPass",
}
"""From the name of a pass to `module:class`, in the order of the pipelines."""

PIPELINES: tuple[str, ...] = (
    "coopc-khr",
    "coopc-xe",
    "coopc-lanes",
    "coopc-amx",
    "coopc-cpu",
)
"""Which of the passes are pipelines: what `coopc-opt --list pipelines` lists."""

TARGETS: dict[str, str] = {
    "abi-json": "coopc.emit.targets:AbiJsonTarget",
    "llvm-ir": "coopc.emit.llvm.target:LlvmIrTarget",
    "spirv": "coopc.emit.targets:SpirvTarget",
    "spirv-binary": "coopc.emit.targets:SpirvBinaryTarget",
}
"""From the name of a target (`-t`) to `module:class`."""

REPLACED_DIALECTS: dict[str, str] = {
    "arith": "coopc.dialects.shaped_arith:Arith",
    "gpu": "coopc.dialects.gpu_barrier:Gpu",
    "linalg": "coopc.dialects.mixed_matmul:Linalg",
    "llvm": "coopc.dialects.llvm_target:Llvm",
    "memref": "coopc.dialects.effects:MemRef",
    "vector": "coopc.dialects.effects:Vector",
}
"""The same for dialects of xDSL that coopc mends: see `coopc.xdsl_gaps`."""

REPLACED_TARGETS: dict[str, str] = {"mlir": "coopc.emit.mlir:AliasTarget"}
"""The same for targets of xDSL that coopc's own tools, and no others, replace."""


def factory(path: str) -> Callable[[], Any]:
    """A function that imports the object at `path`, of the form `module:object`."""

    def load() -> Any:
        module, _, name = path.partition(":")
        return getattr(import_module(module), name)

    return load


def factories(table: dict[str, str], taken: dict[str, Any]) -> dict[str, Any]:
    """Factories for `table` without the names in `taken`, which are xDSL's own.

    A name that two universes define stops every xDSL tool at its start.
    """
    return {name: factory(path) for name, path in table.items() if name not in taken}


COOPC_UNIVERSE = Universe(
    all_dialects=factories(DIALECTS, XDSL_UNIVERSE.all_dialects),
    all_passes=factories(PASSES, XDSL_UNIVERSE.all_passes),
    all_targets=factories(TARGETS, XDSL_UNIVERSE.all_targets),
)


@cache
def installed() -> Universe:
    """What all installed universes have, but for those that cannot be loaded.

    Each of these is named on the standard error, once.
    """
    from importlib.metadata import entry_points

    found = Universe()
    plugins = sorted(entry_points(group="xdsl.universe"), key=lambda x: x.name)
    # First those that all need: who clashes with them is left out.
    for plugin in sorted(plugins, key=lambda x: x.name not in ("xdsl", "coopc")):
        try:
            found = joined(found, plugin.load())
        except Exception as error:
            where = f"plug-in {plugin.name} ({plugin.value})"
            reason = f"{type(error).__name__}: {error}"
            print(f"warning: {where} is left out: {reason}", file=sys.stderr)
    return found


def joined(one: Universe, other: object) -> Universe:
    """What two universes have.

    Raises:
        ValueError: the other is none, or both have something of one name.
    """
    if not isinstance(other, Universe):
        raise ValueError(f"expected a Universe, got {other}")
    parts: dict[str, Any] = {}
    for name in ("all_dialects", "all_passes", "all_targets"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if twice := sorted(mine.keys() & theirs.keys()):
            what = name.removeprefix("all_")
            raise ValueError(f"expected {what} of new names, got {', '.join(twice)}")
        parts[name] = {**mine, **theirs}
    return Universe(**parts)


def everything() -> Universe:
    """What all installed universes have, and coopc's also where it is not installed."""
    found = installed()
    return Universe(
        all_dialects={
            **COOPC_UNIVERSE.all_dialects,
            **found.all_dialects,
            **factories(REPLACED_DIALECTS, {}),
        },
        all_passes={**COOPC_UNIVERSE.all_passes, **found.all_passes},
        all_targets={
            **COOPC_UNIVERSE.all_targets,
            **found.all_targets,
            **factories(REPLACED_TARGETS, {}),
        },
    )


def pipelines() -> dict[str, Callable[[], Any]]:
    """Factories of the passes that are pipelines."""
    return {name: factory(PASSES[name]) for name in PIPELINES}
