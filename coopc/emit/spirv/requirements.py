"""What a host has to find before it loads a module: the member `requires` of abi-json.

    capabilities   SPIR-V's, which OpenCL has a list of
    extensions     SPIR-V's; a Vulkan driver that has one has an extension to match
    features       Vulkan's, for those capabilities and for the modes of entry points
    matrices       multiplications that the driver has to list; of scope workgroup,
                   sizes that divide theirs
    matrix_types   matrices that are no operand of those, each to be one of some other
    limits         what is more than Vulkan guarantees, by Vulkan's names

Which subgroup size to require, each kernel says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from math import prod

from coopc.device.vulkan import GUARANTEED
from coopc.emit.interface import least_bytes
from coopc.interface import Interface, Json
from coopc.spirv.facts import SpirvFacts, spirv_facts
from coopc.spirv.grammar import enumeration

ATOMICS = {
    f"AtomicFloat{bits}{kind}EXT": tuple(
        f"shader{where}Float{bits}Atomic{kind}" for where in ("Buffer", "Shared")
    )
    for bits in (16, 32, 64)
    for kind in ("Add", "MinMax")
}
MATRIX2 = {
    f"CooperativeMatrix{name}{vendor}": (f"cooperativeMatrix{name}",)
    for vendor, names in (
        ("NV", "Reductions Conversions PerElementOperations TensorAddressing"),
        ("EXT", "Reductions Conversions PerElementOperations GetCoordinate"),
        ("QCOM", "Conversion"),
    )
    for name in names.split()
}
FEATURES: dict[str, tuple[str, ...]] = {
    "Shader": (),
    "Int8": ("shaderInt8",),
    "Int16": ("shaderInt16",),
    "Int64": ("shaderInt64",),
    "Int64Atomics": ("shaderBufferInt64Atomics", "shaderSharedInt64Atomics"),
    "Float16": ("shaderFloat16",),
    "Float64": ("shaderFloat64",),
    "StorageBuffer8BitAccess": ("storageBuffer8BitAccess",),
    "StorageBuffer16BitAccess": ("storageBuffer16BitAccess",),
    "StoragePushConstant8": ("storagePushConstant8",),
    "StoragePushConstant16": ("storagePushConstant16",),
    "PhysicalStorageBufferAddresses": ("bufferDeviceAddress",),
    "VulkanMemoryModel": ("vulkanMemoryModel",),
    "VulkanMemoryModelDeviceScope": ("vulkanMemoryModelDeviceScope",),
    "GroupNonUniform": ("VK_SUBGROUP_FEATURE_BASIC_BIT",),
    "GroupNonUniformArithmetic": ("VK_SUBGROUP_FEATURE_ARITHMETIC_BIT",),
    "GroupNonUniformBallot": ("VK_SUBGROUP_FEATURE_BALLOT_BIT",),
    "GroupNonUniformShuffle": ("VK_SUBGROUP_FEATURE_SHUFFLE_BIT",),
    "GroupNonUniformShuffleRelative": ("VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT",),
    "CooperativeMatrixKHR": ("cooperativeMatrix",),
    **MATRIX2,
    "BFloat16TypeKHR": ("shaderBFloat16Type",),
    "Float8EXT": ("shaderFloat8",),
    "Float8CooperativeMatrixEXT": ("shaderFloat8CooperativeMatrix",),
    "BFloat16CooperativeMatrixKHR": ("shaderBFloat16CooperativeMatrix",),
    # By the widths of an execution mode, see `_features`.
    "SignedZeroInfNanPreserve": (),
    **ATOMICS,
}
"""The features of Vulkan that a capability needs, as its registry lists them."""


def requirements(binary: bytes, interfaces: Sequence[Interface]) -> dict[str, Json]:
    """Return what a host has to find for a module and its kernels, as JSON."""
    facts = spirv_facts(binary)
    # Of two names of a number, that of an extension of the module.
    known = enumeration("Capability").members.values()
    named = sorted(known, key=lambda each: each.needs.extension in facts.extensions)
    names = {each.value: each.name for each in named}
    capabilities = [names[x] for x in facts.capabilities]
    found: dict[str, Json] = {
        "capabilities": capabilities,
        "extensions": list(facts.extensions),
    }
    if vulkan := any(each.flavour == "vulkan" for each in interfaces):
        found["features"] = list(dict.fromkeys(_features(capabilities, facts)))
    products = sorted(facts.multiplications)
    found["matrices"] = [asdict(each) for each in products]
    found["matrix_types"] = [
        asdict(each)
        for each in sorted(facts.matrix_types)
        if not any(each.is_operand_of(product) for product in products)
    ]
    found["limits"] = dict(_limits(interfaces)) if vulkan else {}
    return found


def _features(capabilities: Iterable[str], facts: SpirvFacts) -> Iterator[str]:
    for each in capabilities:
        yield from FEATURES.get(each, (each,))
    if any(each.scope == "workgroup" for each in facts.matrix_types):
        yield "cooperativeMatrixWorkgroupScope"
        yield "cooperativeMatrixFlexibleDimensions"
    for bits in sorted(facts.preserving_bits):
        yield f"shaderSignedZeroInfNanPreserveFloat{bits}"


def _limits(interfaces: Sequence[Interface]) -> Iterator[tuple[str, Json]]:
    """Yield limits that Vulkan does not guarantee, the most that any kernel needs."""
    least = GUARANTEED
    bound = [x.buffers for x in interfaces if not x.addresses]
    groups = [
        tuple(x if isinstance(x, int) else 0 for x in each.grid or ())
        for each in interfaces
    ]
    sizes = [each.work_group_size for each in interfaces]
    table: tuple[tuple[str, Iterable[tuple[int, ...]], tuple[int | None, ...]], ...] = (
        (
            "maxPerStageDescriptorStorageBuffers",
            [(len(each),) for each in bound],
            (least.buffers,),
        ),
        (
            "maxStorageBufferRange",
            [(least_bytes(x),) for each in bound for x in each],
            (least.binding_bytes,),
        ),
        (
            "maxPushConstantsSize",
            [(each.push_constant_bytes,) for each in interfaces],
            (least.argument_bytes,),
        ),
        (
            "maxComputeSharedMemorySize",
            [(each.work_group_memory_bytes,) for each in interfaces],
            (least.local_bytes,),
        ),
        (
            "maxComputeWorkGroupInvocations",
            [(prod(size),) for size in sizes],
            (least.work_items,),
        ),
        ("maxComputeWorkGroupSize", sizes, least.work_group_size),
        ("maxComputeWorkGroupCount", groups, least.work_groups or ()),
    )
    for name, needs, guaranteed in table:
        most = [max(axis) for axis in zip_longest(*needs, fillvalue=0)]
        if any(x > (y or 0) for x, y in zip(most, guaranteed, strict=False)):
            yield name, most if len(guaranteed) > 1 else most[0]
