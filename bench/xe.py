"""GEMMs from Triton to Intel GPUs: instructions of a step of K, and compile time.

The bounds are what experts get by hand, per 32 of K in the innermost loop.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import ROOT, Row, command, seconds

INPUTS = ROOT / "test" / "inputs" / "ttgir"
KERNELS = {
    # name, options: at most on bmg, on pvc
    ("gemm_axb_32x32", ""): (26, 26),
    ("gemm_axb", ""): (43, 44),
    ("gemm_axbt_32x32", ""): (31, 36),
    ("gemm_axbt", ""): (52, 68),
    ("gemm_axbt_32x32", "payload=all"): (30, 33),
    ("gemm_axbt", "payload=all"): (50, 57),
    ("gemm_axb_32x32", "prefetch=3 payload=prefetch"): (32, 35),
    ("gemm_axb", "prefetch=3 payload=prefetch"): (51, 55),
}


def counts(name: str, device: str, options: str) -> int:
    tool = Path(sys.executable).parent / "coopc-isa"
    passes = f"coopc-xe{{device={device} {options}}}".replace(" }", "}")
    arguments = [str(INPUTS / f"{name}.ttgir"), "-p", passes, "--device", device]
    found = subprocess.run(
        [tool, *arguments, "--registers", "256", "--clean", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    ((kernel,),) = (each["kernels"].values() for each in json.loads(found.stdout))
    return int(kernel["inner"]["total"])


def measure() -> Iterator[Row]:
    for (name, options), bounds in KERNELS.items():
        for device, bound in zip(("bmg", "pvc"), bounds, strict=True):
            what = f"{name} {options or 'payload=none'}, {device}"
            total = counts(name, device, options)
            yield Row(what, total, "instructions", bound)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "gemm.spvasm"
        device = "coopc-xe{device=bmg}"
        gemm = str(INPUTS / "gemm_axb.ttgir")
        action = command("coopc-opt", gemm, "-p", device, "-t", "spirv", "-o", str(out))
        yield Row("gemm_axb.ttgir to SPIR-V", seconds(action), "s", 1.0)
        # Two entry points, each with its own.
        products = out.read_text().count(" = OpSubgroupMatrixMultiplyAccumulateINTEL")
        size = out.stat().st_size / products * 32 / 1000
        yield Row("its text, a 32 DPAS of both entry points", size, "kB", 60)
