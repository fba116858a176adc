"""Products of drawn shapes on tiles of AMX, beside oneDNN through PyTorch.

Shapes that nothing is tuned for, those of `bench.vulkan_shapes`: bf16 and i8 by turns,
in one thread and on all cores.  How it is measured says `bench.cpu_gemm`.

    python -m bench.amx_shapes
"""

from collections.abc import Iterator
from statistics import geometric_mean

from bench.amx_gemm import STORED
from bench.cpu_gemm import PROCESSES, Case, rows
from bench.harness import Row, line
from bench.vulkan_shapes import DRAWN, drawn
from coopc.run.cpu import cores
from coopc.run.tiles import Tiles, best

MEAN, WORST = 1.0, 0.8
"""The least speed over oneDNN's: the geometric mean, and of each shape."""


def measure(processes: int = PROCESSES) -> Iterator[Row]:
    if best() is not Tiles.AMX:
        return
    elements = [*STORED.items()]
    for threads in sorted({1, len(cores())}):
        cases = [
            Case(*elements[n % 2], shape, threads, passes="coopc-amx", tiles=Tiles.AMX)
            for n, shape in enumerate(drawn(DRAWN))
        ]
        found = [*rows(cases, processes)]
        yield from found
        ratios = [x.value for x in found if "speed / oneDNN's" in x.name]
        if ratios:
            what = f"{len(ratios)} drawn shapes, {threads} threads, speed / oneDNN's"
            yield Row(f"{what}: mean", geometric_mean(ratios), "", least=MEAN)
            yield Row(f"{what}: worst", min(ratios), "", least=WORST)


if __name__ == "__main__":
    for row in measure():
        print(line(row), flush=True)
