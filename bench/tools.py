"""How long the tools take: start-up, the example, and modules of many operations."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.emit import module_of
from bench.harness import Row, command, interleaved, seconds


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.mlir"
        empty.write_text("builtin.module {}\n")
        ours, theirs = interleaved(
            (command("coopc-opt", str(empty)), command("xdsl-opt", str(empty)))
        )
        yield Row("coopc-opt / xdsl-opt on an empty module", ours / theirs, "x", 1.3)

        device = "coopc-khr{device=lavapipe}"
        gemm = command("coopc-opt", "examples/gemm.mlir", "-p", device, "-t", "spirv")
        yield Row("examples/gemm.mlir to SPIR-V", seconds(gemm), "s", 0.6)

        times: list[float] = []
        for operations in (1_000, 10_000):
            path = Path(folder) / f"{operations}.mlir"
            path.write_text(module_of(operations))
            many = command("coopc-opt", str(path), "-p", device, "-t", "spirv")
            times.append(seconds(many, repeats=3))
            yield Row(f"{operations} operations to SPIR-V", times[-1], "s")
        yield Row("10,000 operations / 1,000", times[1] / times[0], "x", 11)
