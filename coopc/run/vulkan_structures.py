"""The C structures of the Vulkan API that running a compute shader takes.

Field names say what a field is for us; order and types are those of vulkan_core.h.
`Chained` structures begin with sType and pNext; `TYPE` is their sType.
"""

import ctypes
import re
from typing import Any, ClassVar

U32, U64, POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
HANDLE = ctypes.c_uint64
"""A handle of an object that is not dispatchable."""
NAME = ctypes.c_char * 256


class Chained(ctypes.Structure):
    """A structure that others can be chained to."""

    TYPE: ClassVar[int] = 0
    _fields_ = (("sType", U32), ("pNext", POINTER))

    def __init__(self, chain: "Chained | None" = None, **values: Any) -> None:
        super().__init__(sType=self.TYPE, **values)
        if chain is not None:
            self.pNext = ctypes.addressof(chain)
            self.chain = chain  # keeps it alive


def _fields(names: str, types: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Fields in order: pName and ppName are pointers, others 32 bits, unless given."""
    pointer = re.compile("pp?[A-Z]")
    default = {n: POINTER if pointer.match(n) else U32 for n in names.split()}
    return tuple((default | types).items())


def _chained(structure_type: int, names: str, **types: Any) -> Any:
    attributes = {"TYPE": structure_type, "_fields_": _fields(names, types)}
    return type("Chained", (Chained,), attributes)


def _plain(names: str, **types: Any) -> Any:
    return type("Plain", (ctypes.Structure,), {"_fields_": _fields(names, types)})


# Instance and device.
ApplicationInfo = _chained(
    0,
    "pApplicationName applicationVersion pEngineName engineVersion apiVersion",
    pApplicationName=ctypes.c_char_p,
)
InstanceCreateInfo = _chained(
    1,
    "flags pApplicationInfo layerCount ppLayerNames extensionCount ppExtensionNames",
)
DeviceQueueCreateInfo = _chained(2, "flags family count pPriorities")
DeviceCreateInfo = _chained(
    3,
    "flags queueCount pQueues layerCount ppLayerNames extensionCount ppExtensionNames"
    " pFeatures",
)
SubmitInfo = _chained(
    4,
    "waitCount pWaits pWaitStages commandCount pCommands signalCount pSignals",
)

# Memory, pipelines and descriptors.
MemoryAllocateInfo = _chained(5, "size memoryType", size=U64)
QueryPoolCreateInfo = _chained(11, "flags kind count statistics")
BufferCreateInfo = _chained(
    12, "flags size usage sharing familyCount pFamilies", size=U64
)
ShaderModuleCreateInfo = _chained(16, "flags codeSize pCode", codeSize=ctypes.c_size_t)
ShaderStageCreateInfo = _chained(
    18,
    "flags stage module pName pSpecialization",
    module=HANDLE,
    pName=ctypes.c_char_p,
)
ComputePipelineCreateInfo = _chained(
    29,
    "flags stage layout base baseIndex",
    stage=ShaderStageCreateInfo,
    layout=HANDLE,
    base=HANDLE,
)
PipelineLayoutCreateInfo = _chained(
    30, "flags setCount pSets pushConstantCount pPushConstants"
)
SetLayoutCreateInfo = _chained(32, "flags bindingCount pBindings")
DescriptorPoolCreateInfo = _chained(33, "flags maxSets sizeCount pSizes")
DescriptorSetAllocateInfo = _chained(34, "pool count pLayouts", pool=HANDLE)
WriteDescriptorSet = _chained(
    35,
    "set binding element count type pImages pBuffers pTexelBuffers",
    set=HANDLE,
)

# Commands.
CommandPoolCreateInfo = _chained(39, "flags family")
CommandBufferAllocateInfo = _chained(40, "pool level count", pool=HANDLE)
CommandBufferBeginInfo = _chained(42, "flags pInheritance")
MemoryBarrier = _chained(46, "sources destinations")

# Features and properties.
Vulkan11Features = _chained(49, "features", features=U32 * 12)
Vulkan12Features = _chained(51, "features", features=U32 * 47)
Vulkan13Features = _chained(53, "features", features=U32 * 15)
Features2 = _chained(1000059000, "features", features=U32 * 55)
Properties2 = _chained(
    1000059001,
    "apiVersion driverVersion vendor device kind name cacheId limits sparse",
    name=NAME,
    cacheId=ctypes.c_ubyte * 16,
    limits=U64 * 63,
    sparse=U32 * 5,
)
SubgroupProperties = _chained(1000094000, "size stages operations quads")
Bfloat16Features = _chained(1000141000, "type dotProduct matrix")
DriverProperties = _chained(
    1000196000, "id name info conformance", name=NAME, info=NAME
)
SubgroupSizeProperties = _chained(1000225000, "smallest largest count stages")
RequiredSubgroupSize = _chained(1000225001, "size")
MemoryAllocateFlagsInfo = _chained(1000060000, "flags mask")
BufferDeviceAddressInfo = _chained(1000244001, "buffer", buffer=HANDLE)
CooperativeMatrixFeatures = _chained(1000506000, "matrix robustBufferAccess")
CooperativeMatrixProperties = _chained(1000506001, "m n k a b c result sat scope")

# Structures without sType.
Extension = _plain("name version", name=NAME)
MemoryType = _plain("flags heap")
MemoryHeap = _plain("size flags", size=U64)
MemoryProperties = _plain(
    "typeCount types heapCount heaps", types=MemoryType * 32, heaps=MemoryHeap * 16
)
MemoryRequirements = _plain("size alignment types", size=U64, alignment=U64)
QueueFamily = _plain("flags count timestampBits granularity", granularity=U32 * 3)
LayoutBinding = _plain("binding type count stages pSamplers")
PushConstantRange = _plain("stages offset size")
PoolSize = _plain("type count")
BufferInfo = _plain("buffer offset size", buffer=HANDLE, offset=U64, size=U64)
SpecializationEntry = _plain("id offset size", size=ctypes.c_size_t)
SpecializationInfo = _plain("count pEntries size pData", size=ctypes.c_size_t)
