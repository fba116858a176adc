"""How long the tools take: start-up, the example, and modules of many operations."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.emit import module_of
from bench.harness import ROOT, Row, command, interleaved, processor_time, seconds
from coopc.compiler import compile

COMPILATIONS = (
    ("gemm.mlir", "coopc-khr{device=lavapipe}", 2.1, 0.03),
    ("triton_gemm.ttgir", "coopc-xe{device=bmg}", 2.8, 0.10),
    ("matmul.mlir", "coopc-khr{device=nvidia staged=true}", 3.5, 0.20),
)
"""Examples, their pipelines, and the most that compiling them to SPIR-V may take: as a
process, in start-ups of xdsl-opt, and in seconds for a program that did it before."""


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.mlir"
        empty.write_text("builtin.module {}\n")
        ours, theirs = interleaved(
            (command("coopc-opt", str(empty)), command("xdsl-opt", str(empty)))
        )
        yield Row("coopc-opt / xdsl-opt on an empty module", ours / theirs, "x", 1.3)

        start = command("xdsl-opt", str(empty))
        for name, pipeline, starts, again in COMPILATIONS:
            path = ROOT / "examples" / name
            run = command("coopc-opt", str(path), "-p", pipeline, "-t", "spirv")
            ours, theirs = interleaved((run, start), 15, processor_time)
            row = f"examples/{name} to SPIR-V / xdsl-opt on an empty module"
            yield Row(f"{row}, processor time", ours / theirs, "x", starts)
            once = partial(compile, path.read_text(), pipeline, "spirv")
            (warm,) = interleaved((once,), 15, processor_time)
            yield Row(f"examples/{name} to SPIR-V, again", warm, "s", again)

        device = "coopc-khr{device=lavapipe}"
        times: list[float] = []
        for operations in (1_000, 3_000):  # 5,000 are more than `MOST_WORK`
            path = Path(folder) / f"{operations}.mlir"
            path.write_text(module_of(operations))
            many = command("coopc-opt", str(path), "-p", device, "-t", "spirv")
            times.append(seconds(many, repeats=3))
            yield Row(f"{operations} operations to SPIR-V", times[-1], "s")
        yield Row("3,000 operations / 1,000", times[1] / times[0], "x", 3.3)
