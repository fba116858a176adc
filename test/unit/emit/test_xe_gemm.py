"""The K loops of the GEMMs in test/emit/xe are as short as they were.

What they hold, DPAS and messages, is checked there under any compiler; how many
instructions that takes depends on its version.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.toolchain import is_locked

import coopc
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import compile_kernel

KERNELS = Path(__file__).parents[2] / "emit" / "xe"

TOTALS = {
    ("gemm_ab_32x32", "bmg"): 26,
    ("gemm_ab_32x32", "pvc"): 26,
    ("gemm_ab_32x64", "bmg"): 43,
    ("gemm_ab_32x64", "pvc"): 44,
    ("gemm_abt_32x32", "bmg"): 30,
    ("gemm_abt_32x32", "pvc"): 36,
    ("gemm_abt_32x64", "bmg"): 49,
    ("gemm_abt_32x64", "pvc"): 66,
    ("gemm_abt_payload_32x32", "bmg"): 30,
    ("gemm_abt_payload_32x64", "bmg"): 50,
    ("gemm_abt_payloads_32x32", "pvc"): 32,
    ("gemm_abt_payloads_32x64", "pvc"): 56,
    ("gemm_ab_prefetch_32x32", "bmg"): 30,
    ("gemm_ab_prefetch_32x32", "pvc"): 35,
    ("gemm_ab_prefetch_32x64", "bmg"): 49,
    ("gemm_ab_prefetch_32x64", "pvc"): 55,
}
"""Instructions of a step."""


@pytest.mark.parametrize(("name", "device"), TOTALS)
def test_loop_is_short(name: str, device: str, tool: Callable[[str], Path]) -> None:
    tool("ocloc")
    if not is_locked("intel-ocloc", "libigc2"):
        pytest.skip("the compiler is not the one of toolchain.lock")
    text = (KERNELS / f"{name}.mlir").read_text()
    binary = coopc.compile(text, "", f"spirv-binary{{device={device}}}").bytes
    isa = compile_kernel(binary, device, registers=256)
    bound = {"inner.total": TOTALS[name, device]}
    assert isa.check({**CLEAN, "simd": 16}, bound) == ()
