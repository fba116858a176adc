"""Devices of options: what is guaranteed, and what mistakes are told."""

import pytest

from coopc.device import device
from coopc.device.vulkan import GUARANTEED


def test_any_device_has_what_vulkan_guarantees():
    found = device("any{flavour=vulkan subgroup-size=32}")
    assert (found.flavours, found.subgroup_sizes) == (("vulkan",), (32,))
    assert found.limits.local_bytes == GUARANTEED.local_bytes == 16384
    assert found.limits.work_items == GUARANTEED.work_items == 128
    assert found.limits.binding_bytes == GUARANTEED.binding_bytes == 1 << 27
    assert found.limits.buffers is None
    assert found.unknown == ("matrix_shapes",)
    assert not found.atomics


def test_any_device_under_opencl_has_one_subgroup():
    found = device("any{subgroup-size=16 flavour=opencl}")
    assert found.limits.work_group_size == (16, 1, 1)
    assert found.limits.binding_bytes is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("any", "any: expected option subgroup-size"),
        ("any{}", "any: expected option subgroup-size"),
        ("any{subgroup-size}", "subgroup-size: expected a whole number, got none"),
        ("any{subgroup-size=x}", "subgroup-size: expected a whole number, got x"),
        ("any{subgroup-size=48}", "sizes that are powers of two, got 48"),
        ("any{subgroup-size=256}", "128 work-items to hold a subgroup, got 256"),
        ("any{subgroup-size=8 subgroup-size=8}", "expected option subgroup-size once"),
        ("any{sub-size=8}", "unknown option 'sub-size', did you mean 'subgroup-size'"),
        ("any{flavour=metal}", "flavour: expected opencl or vulkan, got metal"),
        ("driver{loader=mesa}", "loader: expected lavapipe or system, got mesa"),
        ("driver{index=-1}", "index: expected a whole number, got -1"),
        ("any{subgroup-size=8", "unknown device 'any{subgroup-size=8'"),
        ("e.mlir", "unknown device 'e.mlir': a file is named .toml or .json"),
        ("an{subgroup-size=8}", "unknown device 'an{subgroup-size=8}'"),
    ],
)
def test_mistakes(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        device(text)
