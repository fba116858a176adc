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
    "avx512": "coopc.dialects.avx512:Avx512",
    "coopmatrix": "coopc.dialects.coopmatrix:Coopmatrix",
    "layout": "coopc.dialects.layout:Layout",
    "row_slice": "coopc.dialects.row_slice:RowSlice",
    "simt": "coopc.dialects.simt:Simt",
    "spirv": "coopc.dialects.spirv:Spirv",
    "tt": "coopc.dialects.tt:Tt",
    "ttg": "coopc.dialects.ttg:Ttg",
    "ttig": "coopc.dialects.ttig:Ttig",
    "xe": "coopc.dialects.xe:Xe",
}
"""From the name of a dialect to `module:object`."""

PIPELINES = ("coopc-khr", "coopc-xe", "coopc-lanes", "coopc-amx", "coopc-cpu")
"""Which of the passes are pipelines: what `coopc-opt --list pipelines` lists."""

PASS_FOLDERS: dict[str, str] = {
    "check-dominance": "generic",
    "check-bounds": "generic",
    "check-uniformity": "generic",
    "check-lowered": "generic",
    "narrow-matrix-scope": "coopmatrix",
    "split-f32-products": "coopmatrix",
    "promote-matrix-arrays": "coopmatrix",
    "expand-nibbles": "coopmatrix",
    "widen-products": "coopmatrix",
    "set-target": "generic",
    "normalize": "generic",
    "expand-arith": "generic",
    "expand-narrow-floats": "generic",
    "expand-math": "generic",
    "expand-vector": "generic",
    "inline-calls": "generic",
    "unroll-loops": "linalg",
    "lift-memrefs-to-tensors": "linalg",
    "generalize-linalg": "linalg",
    "collapse-linalg": "linalg",
    "fuse-linalg": "linalg",
    "transpose-operands": "linalg",
    "transpose-product-b": "linalg",
    "pad-product-rows": "linalg",
    "split-product-k": "linalg",
    "split-reductions": "linalg",
    "split-zero-points": "linalg",
    "apply-tuning": "linalg",
    "outline-linalg-kernels": "linalg.outline_linalg_kernels",
    "convert-attention-to-coopmatrix": "linalg",
    "convert-convolution-to-coopmatrix": "linalg",
    "convert-linalg-to-coopmatrix": "linalg",
    "convert-linalg-to-simt": "linalg.convert_linalg_to_simt",
    "convert-spirv-calls-to-coopmatrix": "spirv_calls",
    "convert-spirv-to-coopmatrix": "spirv_calls",
    "convert-gpu-mma-to-coopmatrix": "coopmatrix",
    "tile-matmul-khr": "linalg",
    "split-coopmatrix": "coopmatrix.split_coopmatrix",
    "pack-coopmatrix-b": "linalg",
    "distribute-unsupported": "khr",
    "legalize-coopmatrix-khr": "khr.legalize_coopmatrix_khr",
    "expand-tt-math": "triton",
    "assign-tt-layouts": "triton",
    "convert-tt-to-coopmatrix": "triton.convert_tt_to_coopmatrix",
    "share-workgroup-memory": "generic",
    "unwrap-tt-offsets": "triton",
    "add-fallback-entry": "triton",
    "drop-fallback-entries": "triton",
    "convert-tt-pointers-to-descriptors": "triton",
    "normalize-tt-descriptors": "triton",
    "prefetch-block-io": "xe",
    "plan-block-io": "xe",
    "convert-ttgir-to-xe": "xe.convert_to_xe",
    "convert-coopmatrix-to-xe": "xe.convert_to_xe",
    "expand-exchanges": "generic",
    "fuse-split-dpas": "xe",
    "emulate-xe": "xe.emulate",
    "tile-matmul-amx": "linalg",
    "tile-matmul-cpu": "linalg",
    "pack-b-amx": "linalg",
    "infer-kernel-sizes": "cpu",
    "resolve-matrix-fill": "cpu",
    "resolve-matrix-wi-slice": "cpu",
    "vectorize-subgroup": "cpu.vectorize_subgroup",
    "resolve-subgroup-wi-call": "cpu",
    "distribute-coopmatrix": "lanes.distribute_coopmatrix",
    "converge-subgroup": "lanes",
    "convert-coopmatrix-to-amx": "cpu",
    "fit-amx-tiles": "cpu",
    "stage-row-slices": "cpu",
    "convert-simt-to-loops": "cpu",
}
"""From the name of a pass to the package below `coopc.passes` that has its file, in the
order of the pipelines."""


def _class_name(name: str) -> str:
    return "".join(map(str.capitalize, name.split("-"))) + "Pass"


PASSES: dict[str, str] = {
    name: f"coopc.passes.{folder}.{name.replace('-', '_')}:{_class_name(name)}"
    for name, folder in PASS_FOLDERS.items()
} | {name: f"coopc.pipelines:{_class_name(name)}" for name in PIPELINES}
"""From the name of a pass to `module:class`, which follow from the name."""

TARGETS: dict[str, str] = {
    "abi-json": "coopc.emit.targets:AbiJsonTarget",
    "llvm-ir": "coopc.emit.targets:LlvmIrTarget",
    "spirv": "coopc.emit.targets:SpirvTarget",
    "spirv-binary": "coopc.emit.targets:SpirvBinaryTarget",
    "mlir-spirv": "coopc.emit.targets:MlirSpirvTarget",
}
"""From the name of a target (`-t`) to `module:class`."""

REPLACED_DIALECTS: dict[str, str] = {
    "arith": "coopc.dialects.shaped_arith:Arith",
    "gpu": "coopc.dialects.gpu_mma:Gpu",
    "linalg": "coopc.dialects.linalg_forms:Linalg",
    "llvm": "coopc.dialects.llvm_target:Llvm",
    "math": "coopc.dialects.math_forms:Math",
    "memref": "coopc.dialects.memref_forms:MemRef",
    "bufferization": "coopc.dialects.tensor_forms:Bufferization",
    "scf": "coopc.dialects.scf_forms:Scf",
    "tensor": "coopc.dialects.tensor_forms:Tensor",
    "vector": "coopc.dialects.effects:Vector",
}
"""The same for dialects of xDSL that coopc mends: see `coopc.xdsl_gaps`."""

REPLACED_TARGETS: dict[str, str] = {"mlir": "coopc.emit.mlir:AliasTarget"}
"""The same for targets of xDSL that coopc's own tools, and no others, replace."""


def factory(path: str) -> Callable[[], Any]:
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
