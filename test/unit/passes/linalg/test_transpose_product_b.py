"""Products whose B is transposed before: what numpy computes, and when they are."""

import numpy as np
import pytest
from support.epilogues import Fused
from support.linalg_gemms import STAGED, check_product

import coopc
from coopc.generate.gemms import Gemm
from coopc.passes.linalg import transpose_product_b

GEMMS = {
    "whole": Gemm((32, 48, 64), b="nk"),
    "ragged": Gemm((19, 41, 35), b="nk"),
    "added": Gemm((16, 24, 32), b="nk", fill=False),
    "all_transposed": Gemm((32, 16, 36), "km", "nk", "nm"),
    "batched": Gemm((24, 40, 32), "bmk", "bnk", "bmn", batch=3),
    "integers": Gemm((16, 40, 32), b="nk", types=("i8", "i32")),
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    def yes(*_: object) -> bool:
        return True

    monkeypatch.setattr(transpose_product_b, "transposes_b", yes)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("on", ["sim", "vulkan"])
@pytest.mark.parametrize("name", GEMMS)
def test_products_are_what_numpy_computes(name: str, on: str) -> None:
    check_product(GEMMS[name], on)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", GEMMS)
def test_one_kernel_transposes_and_one_multiplies(name: str) -> None:
    artifact = coopc.compile(GEMMS[name].text, STAGED, "spirv")
    (sequence,) = (x for x in artifact.interface if x.steps)
    assert len(sequence.steps) == 2


@pytest.mark.usefixtures("always")
def test_an_epilogue_stays_in_the_product() -> None:
    its = Fused(Gemm((19, 24, 32), b="nk"), "bias_relu", "f16")
    arrays = its.arrays()
    expected = its.expected(*arrays)
    coopc.launch(its.text, *arrays, on="vulkan", device="lavapipe", pipeline=STAGED)
    np.testing.assert_allclose(arrays[2], expected, rtol=2e-3)
    artifact = coopc.compile(its.text, STAGED, "spirv")
    assert [len(x.steps) for x in artifact.interface if x.steps] == [2]


@pytest.mark.parametrize(
    ("gemm", "kernels"),
    [
        (Gemm((4096, 4096, 4096), b="nk"), 2),
        (Gemm((2048, 4096, 4096), b="nk", types=("bf16", "f32")), 2),
        (Gemm((1024, 4096, 4096), b="nk"), 1),  # gains less than a transpose takes
        (Gemm((4096, 4096, 4096), a="km"), 1),  # as fast as along K
        (Gemm((4096, 4096, 4096), a="km", b="nk"), 1),
        (Gemm((4096, 4096, 4096), b="nk", types=("i8", "i32")), 1),
        (Gemm((4096, 4096, 4096), b="nk", dynamic=True), 1),
        (Gemm((4096, 4096, 4104), b="nk"), 1),  # tiles with slices need whole ones
        (Gemm((4096, 64, 65536), b="nk"), 2),  # in parts along K, and not transposed
    ],
)
def test_where_it_is_faster(gemm: Gemm, kernels: int) -> None:
    text = gemm.text
    artifact = coopc.compile(text, "coopc-khr{device=nvidia staged=true}", "spirv")
    steps = [step for each in artifact.interface for step in each.steps]
    assert max(len(steps), 1) == kernels
