"""Products of other shapes under Vulkan, beside cuBLAS: few rows, and drawn ones.

On both sides 20 products follow each other, as dispatches of one command buffer and as
calls of one CUDA graph; each reads the next of several B, or A if that is larger, of
256 MB together, so that it comes from memory even if the caches could hold it.  f16 to
f32, through `coopc-khr{device=nvidia staged=true}`; a sequence of kernels is timed
whole.

With few rows or columns a product takes as long as it takes to read the other matrix:
that is compared with a copy of the same bytes.  Shapes that nothing is tuned for are
drawn: M, N and K are from 64 to 8192, half of them as drawn, and half rounded to
multiples of 64.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log, prod
from random import Random
from statistics import fmean, median
from typing import Any

import numpy as np

import coopc
from bench.harness import Row, cuda_milliseconds, pytorch
from bench.vulkan_gemm import FLOAT_ERROR, PIPELINE, Array, error, matrix_gpu
from coopc.generate.gemms import Gemm
from coopc.interface_call import Call
from coopc.run.arrays import Outcome
from coopc.run.executable import Executable
from coopc.run.execute import on_vulkan, shader_of
from coopc.run.vulkan import Session

FEW = (
    Gemm((1, 4096, 4096)),
    Gemm((1, 4096, 4096), b="nk"),
    Gemm((4096, 1, 4096)),
    Gemm((16, 4096, 4096)),
    Gemm((128, 4096, 4096)),
)
DRAWN = 20
TOGETHER = 20
"""Products of a command buffer, or of a graph."""
ROTATED_BYTES = 256 << 20
WARM_SECONDS, MEASURED = 0.3, 31
"""How long command buffers run until the clocks are up, and how many are measured."""
OF_COPY = {1: 0.6, 16: 0.6}
"""The least bytes of the matrix that is read once a second, over those that a copy
reads and writes, by rows or columns."""
MEAN, WORST = 0.55, 0.35
"""The least speed over cuBLAS's of drawn shapes: the geometric mean, and of each."""


def drawn(count: int = DRAWN) -> Iterator[tuple[int, int, int]]:
    """Yield shapes, the same each time."""
    random = Random(0)

    def size() -> int:
        found = round(exp(random.uniform(log(64), log(8192))))
        return found if random.random() < 0.5 else max(64, found // 64 * 64)

    for _ in range(count):
        yield size(), size(), size()


@dataclass
class Recorder:
    """What a call runs on a device: kernels, and memory that stays there."""

    session: Session
    binary: bytes
    calls: Sequence[Call] = ()
    places: Sequence[Sequence[int]] = ()
    memories: Sequence[Array] = ()

    def run(
        self,
        calls: Sequence[Call],
        places: Sequence[Sequence[int]],
        memories: Sequence[Array],
        read: int,
    ) -> Outcome:
        """Run kernels once, as `Executable` asks for it."""
        self.calls, self.places, self.memories = calls, places, memories
        shaders = self.shaders(places)
        return self.session.run_sequence(shaders, memories, read)

    def shaders(self, places: Sequence[Sequence[int]]) -> list[Any]:
        both = zip(self.calls, places, strict=True)
        return [shader_of(self.session, self.binary, *each) for each in both]

    def times(self, others: Sequence[Array], of: int) -> list[float]:
        """Return the milliseconds of command buffers of `TOGETHER` products.

        In the place of memory `of`, it and others follow each other.
        """
        memories, shaders = [*self.memories, *others], list[Any]()
        each = [of, *range(len(self.memories), len(memories))]
        for number in range(TOGETHER):
            now = each[number % len(each)]
            there = [[now if x == of else x for x in at] for at in self.places]
            shaders += self.shaders(there)
        run = partial(self.session.run_sequence, shaders, memories, 0, together=True)
        once = run(repeats=3).milliseconds[-1]
        warm = 1 + round(WARM_SECONDS * 1000 / once)
        return [*run(repeats=warm + MEASURED).milliseconds[-MEASURED:]]


def ours(session: Session, gemm: Gemm, arrays: list[Array]) -> float:
    """Return the milliseconds of a product, one of many.

    Raises:
        ValueError: it is wrong.
    """
    artifact = coopc.compile(gemm.text, PIPELINE, "spirv-binary")
    recorder = Recorder(session, artifact.bytes)
    run = partial(on_vulkan, artifact.bytes, session=session)
    whole = Executable(artifact.interface, run, execute_sequence=recorder.run)
    call = whole.call(arrays)
    if call.interface.steps:
        found = whole.execute(call).arrays[2]
    else:
        every = range(len(arrays))
        found = recorder.run([call], [[*every]], arrays, len(arrays)).arrays[2]
    if not (wrong := error(found, gemm.expected(*arrays))) <= FLOAT_ERROR:
        raise ValueError(f"{gemm.sizes}: expected what numpy computes, off by {wrong}")
    once = arrays[read_once(arrays)]
    found = (n for n, x in enumerate(recorder.memories) if x is once or same(x, once))
    return median(recorder.times(copies(once), next(found))) / TOGETHER


def same(memory: Array, array: Array) -> bool:
    alike = memory.size == array.size and memory.dtype == array.dtype
    return alike and np.array_equal(memory.ravel(), array.ravel())


def copies(b: Array) -> list[Array]:
    """Return more of an array: with it as many as are `ROTATED_BYTES`, or products."""
    return [b.copy() for _ in range(min(TOGETHER, -(-ROTATED_BYTES // b.nbytes)) - 1)]


def graph(torch: Any, actions: Sequence[Callable[[], object]]) -> float:
    """Return the milliseconds of each of some calls of PyTorch, in a CUDA graph."""
    for action in actions:
        action()
    torch.cuda.synchronize()
    whole = torch.cuda.CUDAGraph()
    with torch.cuda.graph(whole):
        kept = [action() for action in actions]
    run = partial(cuda_milliseconds, torch, whole.replay)
    warm = 1 + round(WARM_SECONDS * 1000 / min(run(3)))
    times = run(warm + MEASURED)[-MEASURED:]
    del kept
    return median(times) / len(actions)


def theirs(gemm: Gemm, arrays: list[Array]) -> float | None:
    """Return the milliseconds of a product by cuBLAS."""
    if (torch := pytorch()) is None:
        return None
    given = [torch.from_numpy(x).cuda() for x in arrays[:2]]
    at = read_once(arrays)
    each = [given[at], *(torch.from_numpy(x).cuda() for x in copies(arrays[at]))]
    mm = partial(torch.mm, out_dtype=torch.float32)

    def product(number: int) -> Callable[[], object]:
        a, b = (each[number % len(each)] if n == at else x for n, x in enumerate(given))
        return partial(mm, a, b.t() if gemm.b == "nk" else b)

    return graph(torch, [product(n) for n in range(TOGETHER)])


def read_once(arrays: list[Array]) -> int:
    """Return which of A and B is read from memory: the larger one."""
    return int(arrays[1].nbytes >= arrays[0].nbytes)


def copied(bytes: int) -> float | None:
    """Return the milliseconds in which a GPU copies so many bytes."""
    if (torch := pytorch()) is None:
        return None
    count = max(2, -(-ROTATED_BYTES // bytes))
    each = [torch.zeros(bytes, dtype=torch.int8).cuda() for _ in range(count)]
    pairs = [(each[n % count], each[(n + 1) % count]) for n in range(TOGETHER)]
    return graph(torch, [partial(x.copy_, y) for x, y in pairs])


def rows(
    session: Session, gemm: Gemm, least: float | None
) -> Iterator[tuple[Row, float | None]]:
    """Yield rows of a product, the last with the speed over that of cuBLAS."""
    arrays, sizes = gemm.arrays(random=True), gemm.sizes
    time, name = ours(session, gemm, arrays), "x".join(map(str, sizes))
    name += ", B transposed" if gemm.b == "nk" else ""
    rate = 2e-9 * prod(sizes) / time
    yield Row(f"f16 {name}: {rate:.1f} TF/s", 1000 * time, "us"), None
    if (peer := theirs(gemm, arrays)) is None:
        return
    yield (
        Row(f"  cuBLAS: {2e-9 * prod(sizes) / peer:.1f} TF/s", 1000 * peer, "us"),
        None,
    )
    yield Row("  speed / cuBLAS's", peer / time, "", least=least), peer / time


def measure() -> Iterator[Row]:
    """Yield the rows; none where there is no GPU with the extension."""
    if (session := matrix_gpu()) is None:
        return
    with session:
        for gemm in FEW:
            m, n, k = gemm.sizes
            few = min(m, n)
            for row, _ in rows(session, gemm, None if few == 1 else 1.0):
                yield row
                time = row.value / 1000 if row.unit == "us" else 0
                if row.name.startswith("f16") and few in OF_COPY:
                    bytes = 2 * max(m, n) * k
                    if (copy := copied(bytes)) is not None:
                        name = f"  bytes read / s: {1e-6 * bytes / time:.0f} GB/s"
                        name += f", of a copy {2e-6 * bytes / copy:.0f}, ratio"
                        ratio = copy / 2 / time
                        yield Row(name, ratio, "", least=OF_COPY[few])
        ratios: list[float] = []
        for sizes in drawn():
            for row, ratio in rows(session, Gemm(sizes), WORST):
                yield row
                ratios += [] if ratio is None else [ratio]
        if ratios:
            mean = exp(fmean(map(log, ratios)))
            yield Row("drawn shapes: speed / cuBLAS's, mean", mean, "", least=MEAN)
            yield Row("drawn shapes: the worst", min(ratios), "", least=WORST)
        else:
            print("PyTorch is not installed: no cuBLAS", file=sys.stderr)
