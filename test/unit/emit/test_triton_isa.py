"""Kernels for Xe through both emitters: Intel's compiler makes what was planned."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Operation

from coopc.compiler import emit, new_context, read_target
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import compile_kernel
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

INPUTS = Path(__file__).parents[2] / "inputs"
TRITON = (
    "gemm_axb",
    "gemm_axb_32x32",
    "gemm_axbt",
    "gemm_axbt_32x32",
    "gemm_bf16",
    "gemm_i8",
    "gemm_tf32",
    "gemm_bias_relu",
    "gemm_ptr",
    "flash_attention_fwd",
)
MATRICES = ("gemm_axb", "gemm_axbt", "gemm_bf16", "gemm_i8")
KERNELS = (
    *(f"ttgir/{name}.ttgir" for name in TRITON),
    *(f"coopmatrix/{name}.mlir" for name in MATRICES),
)


def back_end() -> Callable[[str], bytes]:
    """Return what makes SPIR-V of LLVM IR, as another test has it."""
    path = Path(__file__).parent / "test_llvm_spir64.py"
    spec = spec_from_file_location("test_llvm_spir64", path)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found.spirv


@cache
def converted(name: str, device: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source((INPUTS / name).read_text(), name)
    module = parse(ctx, source)
    passes = read_passes(f"coopc-xe{{device={device}}}", universe.all_passes)
    Run(ctx, source).apply(module, passes)
    return module


def emitted(module: ModuleOp, target: str) -> bytes:
    universe = everything()
    writer = read_target(target, universe.all_targets)
    return emit(new_context(universe), module, writer, Source("", "kernel"))


def counted(ops: Any) -> dict[str, int]:
    """Return how many DPAS and messages there are, as Intel's compiler is asked."""
    found = Counter(op.name for op in ops)
    return {
        "dpas": found["xe.dpas"],
        "load2d": found["xe.block_load_2d"] + found["xe.payload_load"],
        "store2d": found["xe.block_store_2d"],
    }


def planned(module: ModuleOp) -> tuple[dict[str, int], dict[str, int]]:
    """Return what the kernel and its innermost loop have."""
    (loop,) = (op for op in module.walk() if isinstance(op, ForOp))
    inner: list[Operation] = list(loop.body.walk())
    return counted(module.walk()), counted(inner)


@pytest.mark.parametrize("device", ["bmg", "pvc"])
@pytest.mark.parametrize("name", KERNELS)
def test_both_emitters_give_what_was_planned(
    name: str, device: str, tool: Callable[[str], Path]
) -> None:
    tool("ocloc")
    module = converted(name, device)
    whole, inner = planned(module)
    assert inner["dpas"] >= 16
    assert inner["load2d"] >= 2
    assert whole["store2d"] >= 8
    expected = {**CLEAN, "simd": 16, **whole}
    expected |= {f"inner.{key}": value for key, value in inner.items()}
    llvm = emitted(module, f"llvm-ir{{device={device}}}").decode()
    for binary in (
        emitted(module, f"spirv-binary{{device={device}}}"),
        back_end()(llvm),
    ):
        isa = compile_kernel(binary, device, registers=256)
        assert isa.check(expected, {}) == ()


STEP = 64
"""Instructions of a step along K, of 32 DPAS, at most."""


@pytest.mark.parametrize(
    "name",
    [
        *("matmul", "matmul_abt", "matmul_batched", "matmul_bf16"),
        *("matmul_device_descriptor", "matmul_int8", "matmul_persistent"),
        *("matmul_runtime_strides", "matmul_split_k"),
    ],
)
def test_products_without_layouts(name: str, tool: Callable[[str], Path]) -> None:
    """Products of Triton's IR, with pointers and masks, become as good as by hand."""
    tool("ocloc")
    module = converted(f"triton/{name}.ttir", "bmg")
    isa = compile_kernel(emitted(module, "spirv-binary"), "bmg", registers=256)
    (kernel,) = isa.kernels.values()
    expected = {**CLEAN, "simd": 16, "inner.dpas": 32}
    most = {"inner.total": STEP, "inner.load2d": 9, "inner.send": 0}
    assert isa.check(expected, most) == ()
    assert kernel.inner is not None
    assert kernel.inner.load2d >= 3
    assert kernel.inner.prefetch2d >= 2


WITHOUT_PRODUCTS = (
    "argmax",
    "cross_entropy",
    "cumsum",
    "dropout",
    "embedding",
    "layer_norm_backward",
    "layer_norm_backward_sum",
    "layer_norm_forward",
    "linear_recurrence",
    "rms_norm_rope",
    "softmax",
    "top_k",
)


@pytest.mark.parametrize(
    "name",
    [
        *(f"{x}.ttir" for x in WITHOUT_PRODUCTS),
        *(f"{x}.bmg.ttgir" for x in ("cumsum", "linear_recurrence", "masked_copy")),
    ],
)
def test_kernels_are_as_short_as_those_of_triton(
    name: str, tool: Callable[[str], Path]
) -> None:
    """Whole kernels of at most 1.2 times as many instructions, with any layouts."""
    tool("ocloc")
    module = converted(f"triton/{name}", "bmg")
    kernel = name.partition(".")[0]
    given = (INPUTS / "triton" / f"{kernel}.bmg.spv").read_bytes()
    ours, theirs = (
        max(x.whole.total for x in compile_kernel(each, "bmg").kernels.values())
        for each in (emitted(module, "spirv-binary"), given)
    )
    assert ours <= 1.2 * theirs
