"""Features of Vulkan by their names: those of the header, and what a driver has.

Compare with a header other than the system's, and print what `FEATURES` should be:

    python test/unit/test_vulkan_features.py vulkan_core.h
"""

import re
import sys
from pathlib import Path

import pytest

from coopc.run import vulkan
from coopc.run.vulkan_features import FEATURES

HEADER = Path("/usr/include/vulkan/vulkan_core.h")

PLACES = {
    "VkPhysicalDeviceFeatures": {"shaderFloat64": 39, "inheritedQueries": 54},
    "VkPhysicalDeviceVulkan11Features": {
        "storageBuffer16BitAccess": 0,
        "variablePointersStorageBuffer": 7,
        "variablePointers": 8,
        "shaderDrawParameters": 11,
    },
    "VkPhysicalDeviceVulkan12Features": {
        "shaderFloat16": 7,
        "bufferDeviceAddress": 38,
        "subgroupBroadcastDynamicId": 46,
    },
    "VkPhysicalDeviceVulkan13Features": {"subgroupSizeControl": 7, "maintenance4": 14},
    "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT": {"sparseImageFloat32AtomicAdd": 11},
    "VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT": {
        "sparseImageFloat32AtomicMinMax": 11
    },
    "VkPhysicalDeviceCooperativeMatrixFeaturesKHR": {
        "cooperativeMatrixRobustBufferAccess": 1
    },
    "VkPhysicalDeviceShaderBfloat16FeaturesKHR": {"shaderBFloat16CooperativeMatrix": 2},
}
"""Some members and the last of each, as the specification counts them."""


def in_header(text: str) -> dict[str, list[str]]:
    """The members of the structures that a header has."""
    bodies = {
        name: re.search(rf"typedef struct {name} {{(.*?)}}", text, re.DOTALL)
        for name in FEATURES
    }
    return {
        name: re.findall(r"VkBool32\s+(\w+);", body[1])
        for name, body in bodies.items()
        if body is not None
    }


def test_places() -> None:
    assert PLACES.keys() == FEATURES.keys()
    for name, places in PLACES.items():
        members: list[str] = [*FEATURES[name]]
        assert {x: members.index(x) for x in places} == places
        assert max(places.values()) == len(FEATURES[name]) - 1


def test_header() -> None:
    if not HEADER.exists():
        pytest.skip(f"no {HEADER}")
    found = in_header(HEADER.read_text())
    assert found
    assert found == {name: FEATURES[name] for name in found}


def test_lavapipe(lavapipe: vulkan.Session) -> None:
    """What Vulkan 1.3 demands is on, what no processor has is off; nothing robust."""
    features = lavapipe.info.features
    assert features >= {"vulkanMemoryModel", "bufferDeviceAddress", "maintenance4"}
    assert features >= {"variablePointersStorageBuffer", "variablePointers"}
    assert not features & {"protectedMemory", "robustBufferAccess"}


if __name__ == "__main__":
    for structure, members in in_header(Path(sys.argv[1]).read_text()).items():
        same = members == FEATURES[structure]
        print(structure, "the same" if same else " ".join(members))
