"""Products in parts along K: what numpy computes, and when there are parts."""

from dataclasses import replace

import numpy as np
import pytest
from support.epilogues import Fused
from support.linalg_gemms import STAGED, check_product

import coopc
from coopc.device import LAVAPIPE, NVIDIA
from coopc.generate.gemms import Gemm
from coopc.passes.linalg import split_product_k
from coopc.plan.gemm import GemmOperand, Problem, parts_along_k

GEMMS = {
    "whole": Gemm((32, 32, 64)),
    "ragged": Gemm((19, 40, 36)),
    "added": Gemm((16, 24, 32), fill=False),
    "transposed": Gemm((24, 40, 36), b="nk"),
    "all_transposed": Gemm((32, 16, 36), "km", "nk", "nm"),
    "integers": Gemm((16, 40, 32), types=("i8", "i32")),
}


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(*_: object) -> int:
        return 2

    monkeypatch.setattr(split_product_k, "parts_along_k", two)


@pytest.mark.usefixtures("halves")
@pytest.mark.parametrize("on", ["sim", "vulkan"])
@pytest.mark.parametrize("name", GEMMS)
def test_products_are_what_numpy_computes(name: str, on: str) -> None:
    check_product(GEMMS[name], on)


@pytest.mark.usefixtures("halves")
def test_one_kernel_multiplies_and_one_adds() -> None:
    for name in ("whole", "ragged", "transposed", "integers"):
        artifact = coopc.compile(GEMMS[name].text, STAGED, "spirv")
        (sequence,) = (x for x in artifact.interface if x.steps)
        assert len(sequence.steps) == 2, name


@pytest.mark.usefixtures("halves")
def test_an_epilogue_is_behind_the_sum() -> None:
    its = Fused(Gemm((19, 24, 32)), "bias_relu", "f16")
    arrays = its.arrays()
    expected = its.expected(*arrays)
    coopc.launch(its.text, *arrays, on="vulkan", device="lavapipe", pipeline=STAGED)
    np.testing.assert_allclose(arrays[2], expected, rtol=2e-3)


def product(m: int, n: int, k: int) -> Problem:
    def operand(rows: int, cols: int, element: str) -> GemmOperand:
        return GemmOperand("memref", element, (rows, cols), (cols, 1))

    return Problem(operand(m, k, "f16"), operand(k, n, "f16"), operand(m, n, "f32"))


@pytest.mark.parametrize(
    ("sizes", "has_parts"),
    [
        ((64, 64, 8192), True),
        ((633, 512, 5312), True),
        ((4096, 4096, 4096), False),
        ((64, 64, 256), False),
        ((64, 64, 8191), False),  # a prime
    ],
)
def test_few_tiles_and_a_long_k(sizes: tuple[int, int, int], has_parts: bool) -> None:
    parts = parts_along_k(product(*sizes), NVIDIA)
    assert (parts > 1) == has_parts
    assert sizes[2] % parts == 0


def test_devices_without_costs_and_batches_stay() -> None:
    problem = product(64, 64, 8192)
    assert parts_along_k(problem, LAVAPIPE) == 1
    batched = replace(problem, c=replace(problem.c, batched=True))
    assert parts_along_k(batched, NVIDIA) == 1
