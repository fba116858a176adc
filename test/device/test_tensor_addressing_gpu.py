"""Checked accesses by tensor addressing, on a GPU whose driver has that.

Run it where there is one: `pytest test/device/test_tensor_addressing_gpu.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from support.checked_kernels import CHECKED, CheckedKernel, with_tensor_addressing

import coopc
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session


@pytest.mark.parametrize("case", CHECKED, ids=str)
def test_checked_on_gpu(case: CheckedKernel, gpu: Session, tmp_path: Path) -> None:
    if "cooperativeMatrixTensorAddressing" not in gpu.info.features:
        pytest.skip(f"{gpu.info.name} has no tensor addressing")
    artifact = coopc.compile(
        case.text, f"coopc-khr{{{with_tensor_addressing(tmp_path)}}}"
    )
    call = pack(artifact.interface[0], case.arrays, (1, 1, 1))
    found = on_vulkan(artifact.bytes, call, gpu).arrays
    np.testing.assert_array_equal(found[1], case.expected)
