"""A device that a driver describes is that of the table, in what drivers tell."""

from dataclasses import fields, replace

import pytest

from coopc.device import LAVAPIPE, MatrixShape, device
from coopc.device.shape import WorkgroupShapes
from coopc.device.vulkan import UNTOLD
from coopc.run import vulkan
from coopc.run.driver_device import device_of_info
from coopc.spirv.facts import MatrixProduct

OWN = ("name", "title", "source", "unknown", "run")
"""Fields that are not of the driver."""


def test_lavapipe_is_as_its_row(lavapipe: vulkan.Session):
    found = device("driver{loader=lavapipe}")
    assert found.name == "driver{loader=lavapipe}"
    assert lavapipe.info.driver in found.source
    assert found.unknown == tuple(UNTOLD)
    for each in fields(found):
        value = getattr(found, each.name)
        if each.name in UNTOLD:
            assert value == UNTOLD[each.name]
        elif each.name not in OWN:
            assert value == getattr(LAVAPIPE, each.name), each.name


def test_another_device_by_its_number(lavapipe: vulkan.Session):
    assert lavapipe.info.name == device("driver{loader=lavapipe index=0}").title
    with pytest.raises(
        ValueError, match=r"number of a device, 0 to 0 \(llvmpipe.*got 7"
    ):
        device("driver{loader=lavapipe index=7}")


def test_the_extension_that_converts_uses(lavapipe: vulkan.Session):
    """Qualcomm's only where there is no other."""
    own = lavapipe.info.features
    without = frozenset(x for x in own if not x.startswith("cooperativeMatrix"))
    for features, vendor in ((own, "NV"), (without, "QCOM")):
        features |= {"cooperativeMatrixConversion"}
        found = device_of_info("other", replace(lavapipe.info, features=features))
        assert found.matrix2_vendor == vendor
        assert "conversions" in found.matrix2


def test_what_is_not_known_here_is_left_out(lavapipe: vulkan.Session):
    """Other scopes, other element types, bf16 without the feature for it."""
    f16 = ("f16", "f16", "f32", "f32")
    least = MatrixProduct(32, 64, 16, *f16, scope="workgroup")
    info = replace(
        lavapipe.info,
        features=frozenset({"shaderInt8", "shaderBufferFloat32AtomicAdd"}),
        workgroup_shapes=((256, least), (128, least), (128, replace(least, b="?"))),
        subgroup_sizes=(8, 32),
        matrix_shapes=(
            MatrixProduct(16, 16, 16, *f16, scope="workgroup"),
            MatrixProduct(16, 16, 16, "type 7", "f16", "f32", "f32"),
            MatrixProduct(16, 16, 16, "bf16", "bf16", "f32", "f32"),
            MatrixProduct(16, 16, 16, *f16),
        ),
    )
    found = device_of_info("other", info)
    assert found.matrix_shapes == (MatrixShape(16, 16, 16, *f16),)
    group = MatrixShape(32, 64, 16, *f16)
    assert found.workgroups == (
        WorkgroupShapes(128, (group,)),
        WorkgroupShapes(256, (group,)),
    )
    assert found.subgroup_sizes == (8, 16, 32)
    # A type needs arithmetic and memory, an atomic buffers and work-group memory.
    assert not found.scalars
    assert not found.atomics
    assert found.bfloat16 is None
