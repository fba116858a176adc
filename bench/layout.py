"""How long layouts take: building and showing one."""

from collections.abc import Callable, Iterator

from bench.harness import Row, command, seconds
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding

A = DotOperandEncoding(0, DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2)), 1)
"""Of 256 x 32 elements over 32 subgroups of 16 lanes, in 64 registers."""
A_TEXT = (
    "#ttg.dot_op<{opIdx = 0, parent = #triton_intel_gpu.dpas<{repeatCount = 8, "
    "systolicDepth = 8, executionSize = 16, opsPerChan = 2, threadsPerWarp = 16, "
    "warpsPerCTA = [8, 4], repCluster = [4, 2]}>, kWidth = 1}>"
)
REPEATS = 100


def milliseconds(action: Callable[[], object]) -> float:
    return 1_000 * seconds(action, REPEATS)


def measure() -> Iterator[Row]:
    built = milliseconds(lambda: A.linear((256, 32)).table())
    yield Row("layout of A, 256 x 32: build, materialise", built, "ms", 1)

    show = ("coopc-layout", "-t", "tensor<256x32xf16>", "-l", A_TEXT)
    hardware = seconds(command(*show, "--use-hw-view"))
    yield Row("coopc-layout --use-hw-view of A", hardware, "s", 0.5)
    picture = seconds(command(*show, "--format", "png", "-o", "/dev/null"))
    yield Row("coopc-layout --format png of A", picture, "s")
