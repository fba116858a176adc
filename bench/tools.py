"""How long the tools take: start-up, the example, and modules of many operations."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.emit import module_of
from bench.harness import ROOT, Row, command, interleaved, once, processor_time
from coopc.compiler import compile

COMPILATIONS = (
    ("gemm.mlir", "coopc-khr{device=lavapipe}", 2.1, 0.03),
    ("triton_gemm.ttgir", "coopc-xe{device=bmg}", 2.8, 0.10),
    ("matmul.mlir", "coopc-khr{device=nvidia staged=true}", 3.5, 0.20),
)
"""Examples, their pipelines, and the most that compiling them to SPIR-V may take: as a
process, in start-ups of xdsl-opt, and in seconds for a program that did it before."""

GROWTH = (10_000, 30_000, 100_000)
"""Operations of modules, in kernels of the least of them; the time of a processor is to
be that much more, with a tenth for noise."""
TRITON = "test/inputs/triton/matmul.ttir"


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
            action = partial(compile, path.read_text(), pipeline, "spirv")
            (warm,) = interleaved((action,), 15, processor_time)
            yield Row(f"examples/{name} to SPIR-V, again", warm, "s", again)

        run = command("coopc-opt", TRITON, "-p", "coopc-xe{device=bmg}", "-t", "spirv")
        (whole,) = interleaved((run,), 15, processor_time)
        yield Row(f"{TRITON} to SPIR-V, processor time", whole, "s", 0.7)

        device = "coopc-khr{device=lavapipe}"
        times: list[float] = []
        for operations in GROWTH:
            path = Path(folder) / f"{operations}.mlir"
            kernels = range(operations // GROWTH[0])
            path.write_text("".join(kernel(number) for number in kernels))
            many = command("coopc-opt", str(path), "-p", device, "-t", "spirv")
            times.append(once(many, processor_time))
            yield Row(f"{operations:,} operations to SPIR-V", times[-1], "s")
        for operations, time in zip(GROWTH[1:], times[1:], strict=True):
            most = 1.1 * operations / GROWTH[0]
            row = f"{operations:,} operations / {GROWTH[0]:,}"
            yield Row(row, time / times[0], "x", most)


def kernel(number: int) -> str:
    """Return one of the kernels of a large module."""
    return module_of(GROWTH[0]).replace("@many", f"@many{number}")
