"""Structures of Vulkan are those of its registry; what of its features a driver has."""

import ctypes
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.toolchain import is_locked

from coopc.run import toolchain, vulkan
from coopc.run import vulkan_structures as vk

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
    "BufferCopy": "VkBufferCopy",
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
    "int64_t": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


class Registry:
    def __init__(self, path: Path) -> None:
        root = ElementTree.parse(path).getroot()
        self.copyright = root.findtext("comment", "").strip()
        self.types = {
            each.get("name") or each.findtext("name"): each
            for each in root.iterfind("types/type")
            if is_vulkan(each)
        }
        self.constants = {
            each.attrib["name"]: each.attrib["value"]
            for each in root.iter("enum")
            if "value" in each.attrib and "name" in each.attrib
        }
        for block in [
            *root.iterfind("feature"),
            *root.iterfind("extensions/extension"),
        ]:
            for each in block.iterfind("require/enum[@offset]"):
                number = int(each.get("extnumber") or block.attrib["number"])
                value = 1000000000 + (number - 1) * 1000 + int(each.attrib["offset"])
                self.constants[each.attrib["name"]] = str(value)

    def members(self, name: str) -> list[ElementTree.Element]:
        return [*filter(is_vulkan, self.types[name].iterfind("member"))]

    def structure_type(self, name: str) -> int | None:
        """What its sType is; None if it has none."""
        value = self.members(name)[0].get("values")
        return None if value is None else int(self.constants[value])


def is_vulkan(element: ElementTree.Element) -> bool:
    """Whether it is of Vulkan itself, not of Vulkan SC."""
    return element.get("api", "vulkan") != "vulkansc"


@pytest.fixture(scope="module")
def registry() -> Registry:
    """The registry of `toolchain.lock`."""
    if not is_locked("libvulkan-dev"):
        pytest.skip("no libvulkan-dev of toolchain.lock: run `make toolchain`")
    return Registry(toolchain.toolchain() / "root/usr/share/vulkan/registry/vk.xml")


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
        case "struct" | "union" as category:
            fields = [
                (member.findtext("name"), member_type(registry, member))
                for member in registry.members(name)
            ]
            base = ctypes.Structure if category == "struct" else ctypes.Union
            return type(name, (base,), {"_fields_": fields})
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


def test_structures_are_laid_out_as_in_the_registry(registry: Registry) -> None:
    """Size and offsets; where several members are one field here, of its first."""
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
            if names := getattr(ours, "NAMES", []):
                after = registry.members(by_type[ours.TYPE])[2:]  # sType and pNext
                if ours is vk.Features2:
                    after = registry.members("VkPhysicalDeviceFeatures")
                known = [each.findtext("name") for each in after]
                pairs = zip(names, known, strict=False)
                assert all(x in (y, vk.UNNAMED) for x, y in pairs), name
        else:
            theirs = c_type(registry, PLAIN[name])
            found = offsets(ours)
        assert ctypes.sizeof(ours) == ctypes.sizeof(theirs), name
        assert found <= flat(theirs), name
        checked += 1
    assert checked > 40


def test_robust_access_is_the_first_feature(registry: Registry) -> None:
    (first, *_) = registry.members("VkPhysicalDeviceFeatures")
    assert first.findtext("name") == "robustBufferAccess"


def test_lavapipe(lavapipe: vulkan.Session) -> None:
    """What Vulkan 1.3 demands is on; what it has not is off."""
    features = lavapipe.info.features
    assert features >= {"computeFullSubgroups", "subgroupSizeControl"}
    assert "shaderBufferFloat64AtomicMinMax" not in features
