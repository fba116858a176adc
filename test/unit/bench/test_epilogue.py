"""What is measured of epilogues is right."""

import numpy as np
import pytest

from bench.epilogue import arrays, by_vulkan, check, kernels, medians, rows
from coopc.run.vulkan import Session


def test_on_lavapipe(lavapipe: Session) -> None:
    """Each kernel is compared with numpy, and has its time."""
    times = by_vulkan(lavapipe, "coopc-khr{device=lavapipe}", 24, 1, 2)
    assert [*times] == [*kernels()]
    (plain, *_) = medians([[*rows("", {x: n for x in times})] for n in (3, 1, 2)])
    assert (plain.value, plain.unit) == (2, "ms")


def test_wrong_results_are_found() -> None:
    """One wrong element of the rows that are compared is enough."""
    sums, residual, _ = arrays("residual", "alone", "f16", 64)
    check("residual", "alone", "f16", 64, sums + residual)
    wrong = (sums + residual).copy()
    wrong[-1, 5] *= np.float32(1.001)
    with pytest.raises(ValueError, match="residual, alone: expected what numpy"):
        check("residual", "alone", "f16", 64, wrong)
