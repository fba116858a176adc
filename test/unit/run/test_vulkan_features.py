"""Features and structures of Vulkan are those of its registry; what a driver has."""

import ctypes
import re
from pathlib import Path
from typing import Any

import pytest

from coopc.run import generate_vulkan_features, toolchain, vulkan, vulkan_features
from coopc.run import vulkan_structures as vk
from coopc.run.generate_vulkan_features import Registry
from coopc.run.vulkan_features import FEATURES

PLACES = {
    "VkPhysicalDeviceFeatures2": {"shaderFloat64": 39, "inheritedQueries": 54},
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


PLAIN = {
    "Extension": "VkExtensionProperties",
    "MemoryType": "VkMemoryType",
    "MemoryHeap": "VkMemoryHeap",
    "MemoryProperties": "VkPhysicalDeviceMemoryProperties",
    "MemoryRequirements": "VkMemoryRequirements",
    "QueueFamily": "VkQueueFamilyProperties",
    "LayoutBinding": "VkDescriptorSetLayoutBinding",
    "PushConstantRange": "VkPushConstantRange",
    "PoolSize": "VkDescriptorPoolSize",
    "BufferInfo": "VkDescriptorBufferInfo",
    "SpecializationEntry": "VkSpecializationMapEntry",
    "SpecializationInfo": "VkSpecializationInfo",
}
"""The structures without sType by what Vulkan calls them."""

C_TYPES: dict[str, Any] = {
    "char": ctypes.c_char,
    "uint8_t": ctypes.c_uint8,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
}


@pytest.fixture(scope="module")
def vk_xml() -> Path:
    """The registry of `toolchain.lock`."""
    if not toolchain.is_locked("libvulkan-dev"):
        pytest.skip("no libvulkan-dev of toolchain.lock: run `make toolchain`")
    return toolchain.toolchain() / "root/usr/share/vulkan/registry/vk.xml"


def c_type(registry: Registry, name: str) -> Any:
    """A type of the registry as one of ctypes."""
    if name in C_TYPES:
        return C_TYPES[name]
    element = registry.types[name]
    match element.get("category"):
        case "enum":
            return ctypes.c_uint32
        case "handle":
            return ctypes.c_uint64  # or a pointer, of the same size
        case "struct":
            fields = [
                (member.findtext("name"), member_type(registry, member))
                for member in registry.members(name)
            ]
            return type(name, (ctypes.Structure,), {"_fields_": fields})
        case _:
            return c_type(registry, element.findtext("type", ""))


def member_type(registry: Registry, member: Any) -> Any:
    for comment in member.findall("comment"):
        member.remove(comment)
    declaration = "".join(member.itertext())
    if "*" in declaration:
        return ctypes.c_void_p
    found = c_type(registry, member.findtext("type"))
    sizes: list[str] = re.findall(r"\[(\w+)\]", declaration)
    for size in sizes:
        found *= int(registry.constants.get(size, size))
    return found


def offsets(structure: Any) -> set[int]:
    return {getattr(structure, name).offset for name, _ in structure._fields_}


def flat(structure: Any, base: int = 0) -> set[int]:
    """The offsets of the fields of a structure, and of the structures in it."""
    found: set[int] = set()
    for name, type in structure._fields_:
        at = base + getattr(structure, name).offset
        found.add(at)
        if issubclass(type, ctypes.Structure):
            found |= flat(type, at)
    return found


def test_places() -> None:
    assert PLACES.keys() == FEATURES.keys()
    for name, places in PLACES.items():
        members = FEATURES[name][1].split()
        assert {x: members.index(x) for x in places} == places
        assert max(places.values()) == len(members) - 1


def test_features_are_generated(vk_xml: Path) -> None:
    """The generator and the registry give the module to the byte."""
    source = Path(vulkan_features.__file__).read_text()
    assert generate_vulkan_features.generate(vk_xml) == source


def test_structures_are_laid_out_as_in_the_registry(vk_xml: Path) -> None:
    """Size and offsets; where several members are one field here, of its first."""
    registry = Registry(vk_xml)
    by_type = {
        registry.structure_type(name): name
        for name, each in registry.types.items()
        if name and each.get("category") == "struct" and registry.members(name)
    }
    checked = 0
    for name, ours in vars(vk).items():
        if not (isinstance(ours, type) and issubclass(ours, ctypes.Structure)):
            continue
        if ours is vk.Chained:
            continue
        if issubclass(ours, vk.Chained):
            theirs = c_type(registry, by_type[ours.TYPE])
            found = {0, 8} | offsets(ours)
        else:
            theirs = c_type(registry, PLAIN[name])
            found = offsets(ours)
        assert ctypes.sizeof(ours) == ctypes.sizeof(theirs), name
        assert found <= flat(theirs), name
        checked += 1
    assert checked > 40


def test_lavapipe(lavapipe: vulkan.Session) -> None:
    """What Vulkan 1.3 demands is on, what no processor has is off; nothing robust."""
    features = lavapipe.info.features
    assert features >= {"vulkanMemoryModel", "bufferDeviceAddress", "maintenance4"}
    assert features >= {"variablePointersStorageBuffer", "variablePointers"}
    assert not features & {"protectedMemory", "robustBufferAccess"}
