"""What a host has to find for a module: the member `requires` of abi-json."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.toolchain import is_locked

import coopc
from coopc.diagnostic import CompileError
from coopc.emit.spirv import requirements
from coopc.run import toolchain
from coopc.spirv.grammar import enumeration

KERNEL = """
func.func @k({}) attributes {{simt.kernel{}}} {{
  {}
  func.return
}}
"""
ANY = "abi-json{device=any{subgroup-size=32}}"


def kernel(buffers: int = 0, attributes: str = "", body: str = "") -> str:
    arguments = ", ".join(f"%a{x}: memref<4xf32>" for x in range(buffers))
    return KERNEL.format(arguments, attributes, body)


def requires(text: str, target: str = ANY, pipeline: str = "") -> dict[str, Any]:
    return json.loads(coopc.compile(text, pipeline, target).text)["requires"]


def test_limits_above_the_guaranteed_ones_are_listed():
    assert requires(kernel(4))["limits"] == {}
    assert requires(kernel(5))["limits"] == {"maxPerStageDescriptorStorageBuffers": 5}
    big = kernel(1).replace("4xf32", "67108864xf32")
    assert requires(big, "abi-json{device=nvidia}")["limits"] == {
        "maxStorageBufferRange": 1 << 28
    }


def test_limits_are_those_of_all_kernels():
    size = ", simt.work_group_size = array<i32: 32, 8, 1>"
    first = kernel(0, f"{size}, simt.grid = affine_map<() -> (70000)>")
    second = kernel(5, ", simt.grid = affine_map<() -> (1, 2, 3)>").replace("@k", "@l")
    assert requires(first + second, "abi-json{device=nvidia}")["limits"] == {
        "maxPerStageDescriptorStorageBuffers": 5,
        "maxComputeWorkGroupInvocations": 256,
        "maxComputeWorkGroupCount": [70000, 2, 3],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (kernel(5), "at most 4 buffers, which small binds, got 5"),
        (
            kernel(1).replace("4xf32", "67108864xf32"),
            "a buffer of at most 134217728 bytes, which small binds, got 268435456",
        ),
        (
            kernel(0, ", simt.grid = affine_map<() -> (1, 65536)>"),
            "at most 65535 work-groups along y, which small starts, got 65536",
        ),
        (
            kernel(
                body="%m = memref.alloca() : memref<4097xf32, #simt.memory<workgroup>>"
            ),
            "at most 16384 bytes of work-group memory, which small has, got 16388",
        ),
        (
            kernel(0, ", simt.work_group_size = array<i32: 64, 32, 1>"),
            "a work-group of at most 1024 work-items",
        ),
    ],
)
def test_limits_are_checked(text: str, message: str, tmp_path: Path):
    file = tmp_path / "small.toml"
    file.write_text('version = 1\nextends = "arc"\n[limits]\nbuffers = 4')
    with pytest.raises(CompileError, match=message):
        coopc.compile(text, "", f'spirv{{device="{file}"}}')


MATRICES = """
func.func @k(%c: memref<16x16xf32>) attributes {simt.kernel} {
  %z = arith.constant 0 : index
  %m = coopmatrix.load %c[%z, %z] row_major
      : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %n = coopmatrix.add %m, %m : !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %n, %c[%z, %z] row_major
      : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}
"""


def test_modes_and_matrices_without_a_product():
    found = requires(MATRICES, "abi-json{device=nvidia}")
    assert "shaderSignedZeroInfNanPreserveFloat32" in found["features"]
    assert "cooperativeMatrix" in found["features"]
    assert found["matrices"] == []
    assert [(x["rows"], x["cols"], x["use"]) for x in found["matrix_types"]] == [
        (16, 16, "c")
    ]


def test_opencl_has_capabilities_only():
    found = requires(kernel(9), "abi-json{device=any{flavour=opencl subgroup-size=8}}")
    assert "Kernel" in found["capabilities"]
    assert "features" not in found
    assert found["limits"] == {}


def test_features_are_those_of_the_registry():
    if not is_locked("libvulkan-dev"):
        pytest.skip("no libvulkan-dev of toolchain.lock: run `make toolchain`")
    path = toolchain.toolchain() / "root/usr/share/vulkan/registry/vk.xml"
    table = ElementTree.parse(path).getroot().find("spirvcapabilities")
    assert table is not None
    theirs = {
        each.attrib["name"]: {x.get("feature") or x.get("value") for x in each}
        for each in table
    }
    # The registry has newer names of some.
    for name in ("Reductions", "PerElementOperations"):
        newer = theirs.get(f"CooperativeMatrix{name}EXT", set())
        theirs.setdefault(f"CooperativeMatrix{name}NV", newer)
    checked = 0
    for name, features in requirements.FEATURES.items():
        assert name in enumeration("Capability").members
        assert set(features) <= theirs[name], name
        checked += len(features)
    assert checked > 30
