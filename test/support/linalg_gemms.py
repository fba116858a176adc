"""Products of linalg on an engine, compared with numpy."""

import numpy as np

import coopc
from coopc.generate.gemms import Gemm

STAGED = "coopc-khr{device=lavapipe staged=true}"


def check_product(gemm: Gemm, on: str) -> None:
    """Compare a product whose sums are exact, on `sim` or on lavapipe's `vulkan`."""
    arrays = gemm.arrays()
    expected = gemm.expected(*arrays)
    device = "lavapipe" if on == "vulkan" else None
    coopc.launch(gemm.text, *arrays, on=on, device=device, pipeline=STAGED)
    np.testing.assert_array_equal(arrays[2], expected)
