"""The backend that Triton compiles by: to IR without layouts, then by coopc.

`.asm` of a compiled kernel holds `ttir`, `mlir` (after the passes), and `llir` or
`spirv`; what is launched is `coopc`.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from triton.backends.compiler import BaseBackend, GPUTarget

from coopc.versions import installed, source_hash

if TYPE_CHECKING:
    from coopc.launcher import Build, LaunchTarget

NAME = "coopc"
"""Of the backend, and of what it makes last."""
PLACE = "COOPC_TRITON"
TORCH_DEVICE = "cpu"
"""`GPUTarget.backend`, which libraries use as the type of a PyTorch device."""


@dataclass(frozen=True)
class TritonOptions:
    """What Triton reads of a backend's options, and the keywords of a launch."""

    num_warps: int = 4
    """Subgroups of a program on a GPU; 4, Triton's default, leaves it to coopc."""
    num_ctas: int = 1
    num_stages: int = 2
    warp_size: int = 1
    debug: bool = False
    sanitize_overflow: bool = True
    enable_fp_fusion: bool = False
    launch_cooperative_grid: bool = False
    extern_libs: tuple[tuple[str, str], ...] = ()
    ir_override: str | None = None
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4nv", "fp8e5")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = (
        *("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
    )
    max_num_imprecise_acc_default: int = 0

    def hash(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()


def current_place() -> str:
    return os.environ.get(PLACE) or "cpu"


def place_of(target: GPUTarget) -> str:
    """Return where kernels run: the current place, if the target names none.

    PyTorch's inductor makes such targets.
    """
    return str(target.arch or current_place())


def target_of(place: str) -> LaunchTarget:
    """Return where `COOPC_TRITON` says that kernels run.

    Raises:
        ValueError: there is no such place.
    """
    from coopc.launcher import LaunchTarget
    from coopc.run.cpu import cores

    on, _, device = place.partition(":")
    if on not in ("cpu", "vulkan", "opencl"):
        raise ValueError(f"expected cpu, vulkan or opencl in COOPC_TRITON, got {on}")
    return LaunchTarget(on, device or None, threads=len(cores()) if on == "cpu" else 1)


class CoopcBackend(BaseBackend):
    def __init__(self, target: GPUTarget) -> None:
        super().__init__(target)
        self.binary_ext = NAME

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == TORCH_DEVICE

    def hash(self) -> str:
        """What a cached kernel depends on besides its source: coopc and its engine."""
        place = place_of(self.target)
        target = target_of(place)
        passes = (target.passes("tt", computes_f16=x) for x in (False, True))
        known = f"{NAME}-{installed('coopc')}-{place}-{'-'.join(passes)}"
        return f"{known}-{source_hash()}"

    def parse_options(self, options: dict[str, Any]) -> TritonOptions:
        known = TritonOptions.__dataclass_fields__
        given = {k: v for k, v in options.items() if k in known and v is not None}
        return TritonOptions(**given)

    def pack_metadata(self, metadata: Any) -> Any:
        return metadata

    def get_codegen_implementation(self, options: TritonOptions) -> dict[str, Any]:
        return {"min_dot_size": lambda a, b: (1, 1, 1)}  # pyright: ignore[reportUnknownLambdaType]

    def get_module_map(self) -> dict[str, Any]:
        """Return NVIDIA's library: coopc knows its functions by their names."""
        known = "triton.language.extra.cuda.libdevice"
        return {"triton.language.extra.libdevice": import_module(known)}

    def load_dialects(self, context: Any) -> None:
        """None beside Triton's own."""

    def add_stages(
        self, stages: dict[str, Any], options: TritonOptions, language: Any
    ) -> None:
        place, made = place_of(self.target), list["Build"]()

        def lower(module: Any, metadata: dict[str, Any]) -> str:
            made[:] = [built(str(module), place, metadata)]
            return made[0].lowered

        asked = options.num_warps
        warps = None if asked == TritonOptions.num_warps else asked
        stages["ttir"] = partial(make_ttir, warps=warps)
        stages["mlir"] = lower
        text = "llir" if place.partition(":")[0] == "cpu" else "spirv"
        stages[text] = lambda *_: made[0].text  # pyright: ignore[reportUnknownLambdaType]
        stages[NAME] = lambda *_: made[0].code  # pyright: ignore[reportUnknownLambdaType]


def make_ttir(module: Any, metadata: dict[str, Any], warps: int | None = None) -> Any:
    """Run the passes of Triton that know no target, as its backends do.

    The module says how many subgroups are asked for, if any.
    """
    from triton._C.libtriton import ir, passes

    manager = ir.pass_manager(module.context)
    passes.common.add_inliner(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")
    if warps is not None:
        number = ir.builder(module.context).get_int32_attr(warps)
        module.set_attr("ttg.num-warps", number)
    metadata["name"] = module.get_entry_func_name()
    metadata["shared"] = 1  # byte; hosts divide the memory of a device by it
    return module


def built(text: str, place: str, metadata: dict[str, Any]) -> Build:
    """Compile IR of Triton for a place; note what a launch needs to know.

    Raises:
        CompileError: coopc refuses the kernel; a configuration of an autotuner that is
            refused is not chosen.
    """
    from triton.runtime.errors import OutOfResources

    from coopc.diagnostic import CompileError, Diagnostic
    from coopc.launcher import build
    from coopc.remarks import LEFT_OUT, remarks_to
    from coopc.source import Source

    class RefusedConfig(CompileError, OutOfResources):
        def __init__(self, diagnostic: Diagnostic) -> None:
            Exception.__init__(self, str(diagnostic))
            self.diagnostic = diagnostic

        def __reduce__(self) -> tuple[type[CompileError], tuple[Diagnostic]]:
            return CompileError, (self.diagnostic,)

        __str__ = Exception.__str__

    remarks: list[str] = []
    if (stages := metadata["num_stages"]) != TritonOptions.num_stages:
        remarks.append(f"remark: num_stages={stages}: loops are not pipelined")
    try:
        with remarks_to(remarks.append):
            found = build(Source(text, f"{metadata['name']}.ttir"), target_of(place))
    except CompileError as error:
        raise RefusedConfig(error.diagnostic) from error
    for each in remarks:
        if LEFT_OUT in each:  # a `tl.device_print`, or what debug=True asks for
            warnings.warn(each, stacklevel=2)
    metadata["interface"] = [each.to_json() for each in found.interface]
    metadata["tiles"] = None if found.tiles is None else found.tiles.value
    metadata["remarks"] = remarks
    return found
