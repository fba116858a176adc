"""Products of odd sizes: operands are copied once, and nothing reads what is beyond."""

from typing import Any

import numpy as np
import pytest
from support.linalg_gemms import STAGED, check_product

import coopc
from coopc.generate.gemms import Gemm
from coopc.passes.linalg import pad_product_rows
from coopc.run import executable

GEMMS = {
    "odd": Gemm((33, 35, 37)),
    "added": Gemm((40, 35, 24), fill=False),
    "b_transposed": Gemm((24, 40, 37), b="nk"),
    "all_transposed": Gemm((35, 33, 37), "km", "nk", "nm"),
    "batched": Gemm((24, 37, 19), "bmk", "bkn", "bmn"),
    "u8": Gemm((33, 35, 37), types=("i8", "i32"), extended=("extui", "extui")),
    "whole_rows": Gemm((33, 40, 32)),
}
COPIES = {"whole_rows": 0, "added": 2, "b_transposed": 2, "all_transposed": 3}
"""Launches besides that of the product; else 3, of A, B and C."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pad_product_rows, "LEAST_WORK", 1)
    monkeypatch.setattr(pad_product_rows, "LEAST_READ", 1)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("on", ["sim", "vulkan"])
@pytest.mark.parametrize("name", GEMMS)
def test_products_are_what_numpy_computes(name: str, on: str) -> None:
    check_product(GEMMS[name], on)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", GEMMS)
def test_only_what_is_misaligned_is_copied(name: str) -> None:
    artifact = coopc.compile(GEMMS[name].text, STAGED, "spirv")
    steps = [step for each in artifact.interface for step in each.steps]
    assert max(len(steps) - 1, 0) == COPIES.get(name, 3)


def test_small_products_stay() -> None:
    artifact = coopc.compile(Gemm((33, 35, 37)).text, STAGED, "spirv")
    assert [each.name for each in artifact.interface] == ["gemm"]


@pytest.mark.usefixtures("small")
def test_what_is_beyond_a_row_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary memory that holds NaN changes nothing."""
    gemm = GEMMS["odd"]
    arrays = gemm.arrays()
    expected, zeros = gemm.expected(*arrays), vars(executable)["_temporaries"]

    def poisoned(*given: Any) -> Any:
        found = zeros(*given)
        for each in found:
            each.fill(np.nan)
        return found

    monkeypatch.setattr(executable, "_temporaries", poisoned)
    coopc.launch(gemm.text, *arrays, on="vulkan", device="lavapipe", pipeline=STAGED)
    np.testing.assert_array_equal(arrays[2], expected)
