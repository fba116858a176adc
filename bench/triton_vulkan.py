"""How fast kernels of Triton are under Vulkan: a product, and flash attention.

On the first GPU of the system's Vulkan loader; nothing is measured without one.  The
kernels are dumps of Triton in `test/inputs/triton`, so that Triton is not needed.  The
tutorial's product is compared with coopc's own product of the same sizes in the same
run, of which 60% are wanted; attention with PyTorch's `scaled_dot_product_attention`,
if that is installed, of which a quarter is.  Some rows of results are checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import coopc
from bench.harness import ROOT, Row, cuda_milliseconds, pytorch
from bench.vulkan_gemm import (
    MEASURED,
    PIPELINE,
    SIZE,
    WARM,
    Array,
    Case,
    error,
    matrix_gpu,
    milliseconds,
    ours,
)
from coopc.generate.gemms import Gemm
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session

FOLDER = ROOT / "test" / "inputs" / "triton"
HEADS, LENGTH, DEPTH = 64, 4096, 128
CHECKED = slice(64), slice(-64, None)
"""Rows, of the product or of a head, that are compared with numpy."""
HALF_ERROR = 1e-3
"""Of results in f16, relative, in the Frobenius norm."""


def run(
    session: Session,
    path: Path,
    arguments: list[Any],
    grid: tuple[int, int, int],
    repeats: int,
) -> tuple[float, tuple[Array, ...]]:
    """Return the milliseconds of a kernel of Triton, and its arrays."""
    artifact = coopc.compile(path.read_text(), PIPELINE, "spirv-binary", name=path.name)
    call = pack(artifact.interface[0], arguments, grid)
    found = on_vulkan(artifact.bytes, call, session, repeats=repeats + MEASURED)
    return median(found.milliseconds[repeats:]), found.arrays


def product(session: Session) -> Iterator[Row]:
    """Yield the tutorial's product next to coopc's own."""
    case = Case("f16 -> f32", Gemm((SIZE, SIZE, SIZE)), None)
    arrays = case.gemm.arrays(random=True)
    best, _ = ours(session, case, arrays)
    (a, b, _), c = arrays, np.zeros((SIZE, SIZE), np.float16)
    sizes = [SIZE] * 6  # M, N, K and pitches
    grid = ((SIZE // 128) ** 2, 1, 1)
    path = FOLDER / "matmul.ttir"
    time, after = run(session, path, [a, b, c, *sizes], grid, WARM)
    for rows in CHECKED:
        want = a[rows].astype(np.float64) @ b.astype(np.float64)
        wrong = error(after[2].reshape(c.shape)[rows], want)
        assert wrong <= HALF_ERROR, (rows, wrong)
    rate = f"{milliseconds(case.gemm, time):.0f} TF/s"
    own = f"{milliseconds(case.gemm, best):.0f} TF/s"
    yield Row(f"matmul, f16, {SIZE}^3: {rate}", time, "ms")
    yield Row(f"  coopc's own product: {own}", best, "ms")
    yield Row("  of its speed", best / time * 100, "%", least=60)


@dataclass(frozen=True)
class Attention:
    """A kernel of attention, and how many rows of Q a program has."""

    name: str
    rows: int
    causal: bool


KERNELS = (
    Attention("flash_attention_f16", 128, False),
    Attention("flash_attention_f16_causal", 128, True),
)


def expected(head: list[Array], causal: bool, rows: slice) -> Array:
    """Return rows of attention of one head, in f64."""
    q, k, v = (x.astype(np.float64) for x in head)
    scores = q[rows] @ k.T / sqrt(DEPTH)
    if causal:
        number = np.arange(LENGTH)
        scores[number[rows, None] < number] = -np.inf
    p = np.exp(scores - scores.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ v


def pytorch_attention(arrays: list[Array], causal: bool) -> float | None:
    """Return the milliseconds of `scaled_dot_product_attention`."""
    if (torch := pytorch()) is None:
        return None
    given = [torch.from_numpy(x).cuda()[None] for x in arrays]
    attend = torch.nn.functional.scaled_dot_product_attention
    run = partial(attend, *given, is_causal=causal)
    return median(cuda_milliseconds(torch, run, 100 + MEASURED)[100:])


def attention(session: Session, kernel: Attention) -> Iterator[Row]:
    """Yield a kernel of attention next to PyTorch's."""
    rng, shape = np.random.default_rng(0), (HEADS, LENGTH, DEPTH)
    q, k, v = (rng.standard_normal(shape, np.float32).astype(np.float16) for _ in "qkv")
    numbers = [1 / sqrt(DEPTH), LENGTH, 1, LENGTH * DEPTH, DEPTH]
    grid = LENGTH // kernel.rows, HEADS, 1
    path = FOLDER / f"{kernel.name}.ttir"
    arguments = [q, k, v, np.zeros(shape, np.float16), *numbers]
    time, after = run(session, path, arguments, grid, WARM // 30)
    found = after[3].reshape(shape)
    for head in (0, HEADS - 1):
        for rows in CHECKED:
            want = expected([x[head] for x in (q, k, v)], kernel.causal, rows)
            wrong = error(found[head, rows], want)
            assert wrong <= HALF_ERROR, (kernel.name, head, rows, wrong)
    work = 4.0 * HEADS * LENGTH * LENGTH * DEPTH / (2 if kernel.causal else 1)
    yield Row(f"{kernel.name}: {work / time * 1e-9:.0f} TF/s", time, "ms")
    if (theirs := pytorch_attention([q, k, v], kernel.causal)) is not None:
        yield Row(f"  PyTorch: {work / theirs * 1e-9:.0f} TF/s", theirs, "ms")
        yield Row("  of its speed", theirs / time * 100, "%", least=25)


def measure() -> Iterator[Row]:
    """Yield the rows; none where there is no GPU with the extension."""
    if (session := matrix_gpu()) is None:
        return
    with session:
        yield from product(session)
        for kernel in KERNELS:
            yield from attention(session, kernel)
