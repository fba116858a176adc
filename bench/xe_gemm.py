"""How long the K loops of GEMMs at `xe` level are, in instructions of Intel's compiler.

The kernels are those of test/emit/xe/gemm_*.mlir: 32 x 32 and 32 x 64 of C a subgroup,
f16 to f32, 32 of K a step, 256 registers.  The bounds are what experts reach by hand.
"""

from collections.abc import Iterator

import coopc
from bench.harness import ROOT, Row
from coopc.run.offline_compiler import compile_kernel

BOUNDS: tuple[tuple[str, str, int, int], ...] = (
    ("gemm_ab", "bmg", 26, 43),
    ("gemm_ab", "pvc", 26, 44),
    ("gemm_abt", "bmg", 31, 52),
    ("gemm_abt", "pvc", 36, 68),
    ("gemm_abt_payload", "bmg", 30, 50),
    ("gemm_abt_payloads", "pvc", 33, 57),
    ("gemm_ab_prefetch", "bmg", 32, 51),
    ("gemm_ab_prefetch", "pvc", 35, 55),
)
"""Kernel, device, and the instructions of a step at most, for 32 x 32 and 32 x 64."""


def measure() -> Iterator[Row]:
    for name, device, *bounds in BOUNDS:
        for tile, bound in zip(("32x32", "32x64"), bounds, strict=True):
            path = ROOT / "test" / "emit" / "xe" / f"{name}_{tile}.mlir"
            target = f"spirv-binary{{device={device}}}"
            binary = coopc.compile(path.read_text(), "", target, name=path.name).bytes
            kernel = compile_kernel(binary, device, registers=256).kernels["gemm"]
            assert kernel.inner is not None, path
            inner, found = kernel.inner, kernel.inner.total
            what = f"{inner.dpas} DPAS, {inner.load2d} loads, {inner.mov} moves"
            label = f"{name}_{tile} on {device} ({what})"
            yield Row(label, found, "instructions", bound)
