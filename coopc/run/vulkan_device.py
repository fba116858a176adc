"""A Vulkan device, by ctypes: what the worker process of `coopc.run.vulkan` owns.

It needs nothing beside the standard library, because for lavapipe it runs in a python
that is started through the toolchain's loader.
"""

import ctypes
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias

from coopc.run import vulkan_structures as vk
from coopc.run.worker import RunFailed, report, serve
from coopc.spirv.facts import MATRIX_EXTENSION, MATRIX_SCOPES, MatrixProduct

# --- Drivers. ---

API_VERSION = 1 << 22 | 3 << 12
MATRIX2 = "VK_NV_cooperative_matrix2"
MAINTENANCE1 = "VK_EXT_cooperative_matrix_maintenance1"
OPTIONAL = {
    MATRIX_EXTENSION: vk.CooperativeMatrixFeatures,
    MATRIX2: vk.CooperativeMatrix2Features,
    MAINTENANCE1: vk.CooperativeMatrixMaintenance1Features,
    "VK_QCOM_cooperative_matrix_conversion": vk.CooperativeMatrixConversionFeatures,
    "VK_KHR_shader_bfloat16": vk.Bfloat16Features,
    "VK_EXT_shader_float8": vk.Float8Features,
    "VK_EXT_shader_atomic_float": vk.AtomicFloatFeatures,
    "VK_EXT_shader_atomic_float2": vk.AtomicFloat2Features,
    "VK_KHR_pipeline_executable_properties": vk.PipelineExecutableFeatures,
}
"""The extensions that are turned on where a device has them."""
LISTS = {
    MATRIX_EXTENSION: (
        "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
        vk.CooperativeMatrixProperties,
    ),
    MATRIX2: (
        "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
        vk.FlexibleDimensions,
    ),
}
"""Which function lists multiplications, and the structure of one."""
FEATURES = (
    vk.Vulkan13Features,
    vk.Vulkan12Features,
    vk.Vulkan11Features,
    vk.Features2,
)
ROBUST_ACCESS = 0
"""Where robustBufferAccess is among the features of the last of these."""
COMPUTE_STAGE = 0x20
RESULTS = {
    -1: "out of host memory",
    -2: "out of device memory",
    -3: "initialization failed",
    -4: "device lost",
    -5: "memory map failed",
    -7: "extension not present",
    -8: "feature not present",
    -9: "incompatible driver",
    -13: "unknown error",
    -1000012000: "invalid shader",
}
# VkComponentTypeKHR.
COMPONENTS = dict(
    enumerate(
        ("f16", "f32", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
    )
) | {1000141000: "bf16", 1000491002: "f8E4M3FN", 1000491003: "f8E5M2"}
# VkPhysicalDeviceLimits: name here, offset in bytes, format.
LIMITS = (
    ("storage_buffer_bytes", 28, "<I"),
    ("push_constant_bytes", 32, "<I"),
    ("storage_buffers", 76, "<I"),
    ("shared_memory_bytes", 216, "<I"),
    ("group_counts", 220, "<3I"),
    ("invocations", 232, "<I"),
    ("group_sizes", 236, "<3I"),
)
TIMESTAMP_PERIOD_OFFSET = 424


class VulkanError(RunFailed):
    """A Vulkan call failed, or there is no usable driver or device."""


@dataclass(frozen=True)
class VulkanLimits:
    storage_buffer_bytes: int
    """Size of a buffer."""
    push_constant_bytes: int
    storage_buffers: int
    """Buffers that a shader binds."""
    shared_memory_bytes: int
    """Size of the memory of a work-group."""
    group_counts: tuple[int, int, int]
    """Numbers of work-groups."""
    invocations: int
    """Invocations in a work-group."""
    group_sizes: tuple[int, int, int]
    """Invocations in a work-group along each axis."""


@dataclass(frozen=True)
class VulkanInfo:
    """A Vulkan device and what it can do."""

    name: str
    driver: str
    """Name and version of the driver."""
    api_version: tuple[int, int]
    """The Vulkan version, such as (1, 4)."""
    subgroup_sizes: tuple[int, int]
    """The smallest and the largest subgroup, in invocations, that can be required."""
    subgroup_size: int
    """That of shaders which require none."""
    extensions: frozenset[str]
    features: frozenset[str]
    """Those of its features that `coopc.run.vulkan_structures` names."""
    matrix_shapes: tuple[MatrixProduct, ...]
    """The cooperative matrix multiplications that it lists."""
    workgroup_shapes: tuple[tuple[int, MatrixProduct], ...]
    """Work-items of work-groups that hold matrices, and a multiplication that divides
    theirs: the flexible dimensions of that scope."""
    limits: VulkanLimits


class Driver:
    """A loaded driver or loader, with one instance.

    Args:
        library: a driver, or the loader `libvulkan.so.1`.
    """

    def __init__(self, library: str) -> None:
        self.library = library
        try:
            loaded = ctypes.CDLL(library)
        except OSError as e:
            raise VulkanError(f"cannot load {library}: {e}") from None
        try:
            version = vk.U32(5)
            loaded.vk_icdNegotiateLoaderICDInterfaceVersion(ctypes.byref(version))
            resolve = loaded.vk_icdGetInstanceProcAddr
        except AttributeError:  # a loader, not a driver
            resolve = loaded.vkGetInstanceProcAddr
        resolve.restype = vk.POINTER
        resolve.argtypes = [vk.POINTER, ctypes.c_char_p]
        self._resolve = resolve
        self._functions: dict[str, Any] = {}
        self.instance = vk.POINTER()
        about = vk.ApplicationInfo(pApplicationName=b"coopc", apiVersion=API_VERSION)
        info = vk.InstanceCreateInfo(pApplicationInfo=about)
        self.instance = self.make("vkCreateInstance", info, None, kind=vk.POINTER)

    def call(self, name: str, *args: Any, result: Any = ctypes.c_int) -> int:
        """Call a function; structures are passed by reference.

        Numbers of more than 32 bits are given as ctypes'.  What a function that returns
        void gives means nothing.
        """
        function = self._functions.get(name)
        if function is None:
            address = self._resolve(self.instance, name.encode())
            if not address:
                raise VulkanError(f"{self.library} has no {name}")
            function = self._functions[name] = ctypes.CFUNCTYPE(result)(address)
        passed = (
            ctypes.byref(x) if isinstance(x, ctypes.Structure) else x for x in args
        )
        return function(*passed)

    def check(self, name: str, *args: Any) -> None:
        """Call a function and raise VulkanError unless it succeeds."""
        result = self.call(name, *args)
        if result:
            meaning = RESULTS.get(result, f"VkResult {result}")
            raise VulkanError(f"{name} failed: {meaning}")

    def make(self, name: str, *args: Any, kind: Any = vk.HANDLE) -> Any:
        """Call a function that gives a handle by its last argument."""
        handle = kind()
        self.check(name, *args, ctypes.byref(handle))
        return handle

    def enumerate(self, name: str, item: Any, *args: Any) -> list[Any]:
        """Call a function that fills an array, once for its size and once for it."""
        count = vk.U32()
        self.call(name, *args, ctypes.byref(count), None)
        items = (item * count.value)()
        if issubclass(item, vk.Chained):
            for x in items:
                x.sType = item.TYPE
        self.call(name, *args, ctypes.byref(count), items)
        return items[: count.value]


# --- Devices. ---

WHOLE_SIZE = 2**64 - 1
WORD_BYTES = 4
COMPUTE_QUEUE = 0x2
STORAGE_BUFFER_USAGE, ADDRESS_USAGE, COPY_USAGE = 0x20, 0x20000, 0x1 | 0x2
ALLOCATE_ADDRESS = 0x2
DEVICE_LOCAL, HOST_VISIBLE, HOST_COHERENT, HOST_CACHED = 0x1, 0x2, 0x4, 0x8

Mapped: TypeAlias = "tuple[ctypes.c_uint64, int, int]"
"""A buffer, the address it is mapped at, and the flags of its memory."""


class VulkanDevice:
    """A device; once `open`, with one compute queue and every feature turned on."""

    info: VulkanInfo

    def __init__(self, driver: Driver, physical: ctypes.c_void_p) -> None:
        self.driver = driver
        self.physical = physical
        found = driver.enumerate(
            "vkEnumerateDeviceExtensionProperties", vk.Extension, physical, None
        )
        extensions = frozenset(x.name.decode() for x in found)
        self._extensions = [x for x in OPTIONAL if x in extensions]
        self._features: list[Any] = []
        """A chain, from its end, of structures with each feature that it has."""
        for kind in (*map(OPTIONAL.__getitem__, self._extensions), *FEATURES):
            self._features.append(kind(self._features[-1] if self._features else None))
        driver.call("vkGetPhysicalDeviceFeatures2", physical, self._features[-1])
        self._features[-1].features[ROBUST_ACCESS] = 0  # it makes every access slower
        sizes = vk.SubgroupSizeProperties()
        subgroups = vk.SubgroupProperties(sizes)
        about = vk.DriverProperties(subgroups)
        properties = vk.Properties2(about)
        driver.call("vkGetPhysicalDeviceProperties2", physical, properties)
        self.can_require_size = bool(sizes.stages & COMPUTE_STAGE)
        version = int(properties.apiVersion)
        limits = bytes(properties.limits)
        (period,) = struct.unpack_from("<f", limits, TIMESTAMP_PERIOD_OFFSET)
        self.timestamp_nanoseconds = float(period)
        values: dict[str, Any] = {
            name: struct.unpack_from(form, limits, at) for name, at, form in LIMITS
        }
        self.info = VulkanInfo(
            name=properties.name.decode(),
            driver=f"{about.name.decode()} {about.info.decode()}",
            api_version=(version >> 22 & 127, version >> 12 & 1023),
            subgroup_sizes=(int(sizes.smallest), int(sizes.largest)),
            subgroup_size=int(subgroups.size),
            extensions=extensions,
            features=frozenset(
                name
                for each in self._features
                for name, value in zip(each.NAMES, each.features, strict=False)
                if value and name != vk.UNNAMED
            ),
            matrix_shapes=tuple(x for x, _ in self._products(MATRIX_EXTENSION)),
            workgroup_shapes=tuple(
                (int(row.invocations), x)
                for x, row in self._products(MATRIX2)
                if x.scope == "workgroup"
            ),
            limits=VulkanLimits(
                **{n: v if len(v) > 1 else v[0] for n, v in values.items()}
            ),
        )

    def _products(self, extension: str) -> Iterator[tuple[MatrixProduct, Any]]:
        """Yield the multiplications that an extension lists, and what else it says."""
        if extension not in self._extensions:
            return
        name, kind = LISTS[extension]
        for x in self.driver.enumerate(name, kind, self.physical):
            made = MatrixProduct(
                *(int(x.m), int(x.n), int(x.k)),
                *(COMPONENTS.get(t, f"type {t}") for t in (x.a, x.b, x.c, x.result)),
                saturating=bool(x.sat),
                scope=MATRIX_SCOPES.get(x.scope, f"scope {x.scope}"),
            )
            yield made, x

    def open(self) -> None:
        """Create the logical device and its queue."""
        families = self.driver.enumerate(
            "vkGetPhysicalDeviceQueueFamilyProperties", vk.QueueFamily, self.physical
        )
        self.family = next(i for i, f in enumerate(families) if f.flags & COMPUTE_QUEUE)
        self.timestamp_bits = int(families[self.family].timestampBits)
        names = [x.encode() for x in self._extensions]
        queue = vk.DeviceQueueCreateInfo(
            family=self.family, count=1, pPriorities=ctypes.c_float(1.0)
        )
        info = vk.DeviceCreateInfo(
            self._features[-1],
            queueCount=1,
            pQueues=queue,
            extensionCount=len(names),
            ppExtensionNames=(ctypes.c_char_p * len(names))(*names),
        )
        self.handle = self.driver.make(
            "vkCreateDevice", self.physical, info, None, kind=vk.POINTER
        )
        self.queue = vk.POINTER()
        self.call("vkGetDeviceQueue", self.family, 0, ctypes.byref(self.queue))
        self.memory = vk.MemoryProperties()
        self.driver.call(
            "vkGetPhysicalDeviceMemoryProperties", self.physical, self.memory
        )

    def call(self, name: str, *args: Any, result: Any = ctypes.c_int) -> int:
        return self.driver.call(name, self.handle, *args, result=result)

    def make(self, name: str, *args: Any, kind: Any = vk.HANDLE) -> Any:
        """Call a function of the device that gives a handle by its last argument."""
        return self.driver.make(name, self.handle, *args, kind=kind)

    def memory_type(self, allowed: int, wanted: int = DEVICE_LOCAL) -> int:
        """Host-visible memory, with the flags that are wanted if there is such."""
        visible = HOST_VISIBLE | HOST_COHERENT
        for flags in (visible | wanted, visible):
            for i in range(self.memory.typeCount):
                if allowed >> i & 1 and self.memory.types[i].flags & flags == flags:
                    return i
        raise VulkanError("the device has no host-visible memory")

    def buffer(
        self,
        data: bytes | int,
        stack: ExitStack,
        addressed: bool = False,
        wanted: int = DEVICE_LOCAL,
    ) -> Mapped:
        """Make a buffer with these contents, or so many zeros, as long as a stack.

        It is whole words of 4 bytes, which is what atomic instructions access.

        It is addressed if shaders ask for its address; `wanted` are flags of its
        memory.
        """
        data = bytes(data) if isinstance(data, int) else data
        usage = STORAGE_BUFFER_USAGE | COPY_USAGE
        usage |= ADDRESS_USAGE if addressed else 0
        flags = vk.MemoryAllocateFlagsInfo(flags=ALLOCATE_ADDRESS)
        size = -(-len(data) // WORD_BYTES) * WORD_BYTES
        info = vk.BufferCreateInfo(size=size, usage=usage)
        buffer = self.make("vkCreateBuffer", info, None)
        stack.callback(self.call, "vkDestroyBuffer", buffer, None)
        needs = vk.MemoryRequirements()
        self.call("vkGetBufferMemoryRequirements", buffer, needs)
        type = self.memory_type(needs.types, wanted)
        info = vk.MemoryAllocateInfo(
            flags if addressed else None, size=needs.size, memoryType=type
        )
        memory = self.make("vkAllocateMemory", info, None)
        stack.callback(self.call, "vkFreeMemory", memory, None)
        bound = (self.handle, buffer, memory, vk.U64(0))
        self.driver.check("vkBindBufferMemory", *bound)
        whole = (vk.U64(0), vk.U64(WHOLE_SIZE), 0)
        address = self.make("vkMapMemory", memory, *whole, kind=vk.POINTER)
        if address.value is None:
            raise VulkanError("vkMapMemory gave no address")
        ctypes.memmove(address.value, data, len(data))
        return buffer, address.value, self.memory.types[type].flags

    def contents(self, buffer: Mapped, size: int) -> bytes:
        """Return what a buffer begins with.

        It is copied to memory that the processor caches: to read what it does not takes
        a hundred times as long.
        """
        handle, address, flags = buffer
        if flags & HOST_CACHED or not size:
            return ctypes.string_at(address, size)
        with ExitStack() as stack:
            copy, address, _ = self.buffer(size, stack, wanted=HOST_CACHED)
            commands = self.begin_commands(stack)
            region = vk.BufferCopy(0, 0, size)
            self.driver.call("vkCmdCopyBuffer", commands, handle, copy, 1, region)
            seen = vk.MemoryBarrier(sources=COPY_WRITE, destinations=HOST_READ)
            steps = (COPY_STEP, HOST_STEP, 0)
            self.driver.call(
                "vkCmdPipelineBarrier", commands, *steps, 1, seen, 0, None, 0, None
            )
            self.driver.check("vkEndCommandBuffer", commands)
            self.submit(commands)
            return ctypes.string_at(address, size)

    def begin_commands(self, stack: ExitStack) -> ctypes.c_void_p:
        """Begin a command buffer that lasts as long as a stack."""
        pool = self.make(
            "vkCreateCommandPool", vk.CommandPoolCreateInfo(family=self.family), None
        )
        stack.callback(self.call, "vkDestroyCommandPool", pool, None)
        info = vk.CommandBufferAllocateInfo(pool=pool, count=1)
        commands = self.make("vkAllocateCommandBuffers", info, kind=vk.POINTER)
        begin = vk.CommandBufferBeginInfo()
        self.driver.check("vkBeginCommandBuffer", commands, begin)
        return commands

    def submit(self, commands: ctypes.c_void_p) -> None:
        """Run a command buffer, and wait for it."""
        info = vk.SubmitInfo(commandCount=1, pCommands=commands)
        self.driver.check("vkQueueSubmit", self.queue, 1, info, vk.HANDLE(0))
        self.driver.check("vkQueueWaitIdle", self.queue)


# --- Dispatches. ---

STORAGE_DESCRIPTOR = 7
BIND_COMPUTE = 1
TOP_STEP, SHADER_STEP, BOTTOM_STEP, HOST_STEP = 0x1, 0x800, 0x2000, 0x4000
SHADER_READ, SHADER_WRITE, COPY_READ, COPY_WRITE = 0x20, 0x40, 0x800, 0x1000
HOST_READ = 0x2000
COPY_STEP = 0x1000
FULL_SUBGROUPS = 0x2
CAPTURE_STATISTICS = 0x40
TIMESTAMP_QUERY = 2
WAIT_64_BIT = 0x1 | 0x2


@dataclass(frozen=True)
class Shader:
    code: bytes
    entry: str
    bound: tuple[int, ...]
    """The numbers of the memories at binding 0, 1, ... of set 0."""
    groups: tuple[int, int, int]
    """Numbers of work-groups."""
    push_constants: bytes
    specialization: dict[int, bytes]
    """Values of specialization constants by SpecId."""
    subgroup_size: int | None
    """The subgroup size to require, in invocations."""
    full_subgroups: bool
    """Whether to require that no subgroup has idle invocations."""
    addresses: tuple[int, ...] = ()
    """Where in the push constants the address of each buffer goes, in bytes."""
    pointers: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: {})
    """For each buffer of addresses, the buffers that these are of."""


@dataclass(frozen=True)
class ShaderStatistics:
    """What a driver tells of a shader that it compiled."""

    milliseconds: float
    """How long it took to compile."""
    numbers: Mapping[str, float]
    """Registers, bytes of spills and the like, by the names that the driver gives them;
    none without VK_KHR_pipeline_executable_properties."""
    cache: bytes
    """What the pipeline cache has of it, in the driver's own form."""


class Dispatch:
    """A recorded dispatch of a shader; all that it needs is destroyed with a stack.

    Buffers are those at binding 0, 1, ... of set 0.
    """

    def __init__(
        self,
        device: VulkanDevice,
        stack: ExitStack,
        shader: Shader,
        buffers: Sequence[Mapped],
        told: bool = False,
    ) -> None:
        self.device = device
        self.stack = stack
        self.shader = shader
        self.told = told and "pipelineExecutableInfo" in device.info.features
        """Whether the driver is asked to keep statistics."""
        info = vk.PipelineCacheCreateInfo()
        self._cache = self._create("PipelineCache", info) if told else vk.HANDLE(0)
        self._handles = [handle for handle, *_ in buffers]
        for number, parts in shader.pointers.items():
            starts = (vk.U64 * len(parts))(*(self._address(x) for x in parts))
            ctypes.memmove(buffers[number][1], starts, ctypes.sizeof(starts))
        set_layout, self._layout = self._layouts()
        self._pipeline = self._make_pipeline(self._layout)
        self._descriptors = self._bind(set_layout)

    def record(self, commands: ctypes.c_void_p) -> None:
        """Add it to a command buffer."""
        call, layout = self.device.driver.call, self._layout
        call("vkCmdBindPipeline", commands, BIND_COMPUTE, self._pipeline)
        sets = (0, 1, ctypes.byref(self._descriptors), 0, None)
        call("vkCmdBindDescriptorSets", commands, BIND_COMPUTE, layout, *sets)
        if constants := self._push_constants():
            where = (COMPUTE_STAGE, 0, len(constants))
            call("vkCmdPushConstants", commands, layout, *where, constants)
        call("vkCmdDispatch", commands, *self.shader.groups)

    def statistics(self) -> ShaderStatistics:
        """Return what the driver tells of the shader."""
        device, found = self.device, dict[str, float]()
        if self.told:
            name, of = "vkGetPipelineExecutable{}KHR", device.handle
            info = vk.PipelineInfo(pipeline=self._pipeline)
            kind = vk.ExecutableProperties
            every = device.driver.enumerate(name.format("Properties"), kind, of, info)
            for index, _ in enumerate(every):
                info = vk.ExecutableInfo(pipeline=self._pipeline, index=index)
                kind = vk.ExecutableStatistic
                rows = device.driver.enumerate(
                    name.format("Statistics"), kind, of, info
                )
                found |= {x.name.decode(): statistic(x.format, x.value) for x in rows}
        size, name = ctypes.c_size_t(), "vkGetPipelineCacheData"
        device.call(name, self._cache, ctypes.byref(size), None)
        cache = ctypes.create_string_buffer(size.value)
        device.call(name, self._cache, ctypes.byref(size), cache)
        return ShaderStatistics(self._milliseconds, found, cache.raw[: size.value])

    def see(self, commands: ctypes.c_void_p, last: bool = False) -> None:
        """Let the next dispatch of a command buffer see what was written before.

        Behind the last one copies and the host see it, too: a barrier for these between
        dispatches would let each wait for more than it needs.
        """
        kinds, step = SHADER_READ | SHADER_WRITE, SHADER_STEP
        if last:
            kinds, step = kinds | COPY_READ | HOST_READ, step | COPY_STEP | HOST_STEP
        seen = vk.MemoryBarrier(sources=SHADER_WRITE, destinations=kinds)
        steps = (SHADER_STEP, step, 0)
        self.device.driver.call(
            "vkCmdPipelineBarrier", commands, *steps, 1, seen, 0, None, 0, None
        )

    def _create(self, kind: str, info: Any) -> ctypes.c_uint64:
        """Create an object that is destroyed with the stack."""
        handle = self.device.make(f"vkCreate{kind}", info, None)
        self.stack.callback(self.device.call, f"vkDestroy{kind}", handle, None)
        return handle

    def _push_constants(self) -> bytes:
        """Those of the shader, with the addresses of the buffers on the device."""
        constants = bytearray(self.shader.push_constants)
        for number, at in enumerate(self.shader.addresses):
            constants[at : at + 8] = self._address(number).to_bytes(8, "little")
        return bytes(constants)

    def _address(self, number: int) -> int:
        """Return the address of a buffer on the device."""
        info = vk.BufferDeviceAddressInfo(buffer=self._handles[number])
        return self.device.call("vkGetBufferDeviceAddress", info, result=vk.U64)

    def _layouts(self) -> tuple[ctypes.c_uint64, ctypes.c_uint64]:
        """The layouts of the descriptor set and of the pipeline."""
        count, size = len(self._handles), len(self.shader.push_constants)
        bindings = (vk.LayoutBinding * count)(
            *((i, STORAGE_DESCRIPTOR, 1, COMPUTE_STAGE, None) for i in range(count))
        )
        info = vk.SetLayoutCreateInfo(bindingCount=count, pBindings=bindings)
        set_layout = self._create("DescriptorSetLayout", info)
        info = vk.PipelineLayoutCreateInfo(
            setCount=1,
            pSets=set_layout,
            pushConstantCount=int(size > 0),
            pPushConstants=vk.PushConstantRange(COMPUTE_STAGE, 0, size),
        )
        return set_layout, self._create("PipelineLayout", info)

    def _make_pipeline(self, layout: ctypes.c_uint64) -> ctypes.c_uint64:
        device, shader = self.device, self.shader
        code = ctypes.create_string_buffer(shader.code, len(shader.code))
        info = vk.ShaderModuleCreateInfo(codeSize=len(shader.code), pCode=code)
        module = self._create("ShaderModule", info)
        required = None
        if shader.subgroup_size is not None and device.can_require_size:
            required = vk.RequiredSubgroupSize(size=shader.subgroup_size)
        values = shader.specialization
        data = ctypes.create_string_buffer(b"".join(values.values()))
        ends = [*accumulate(map(len, values.values()), initial=0)]
        entries = (vk.SpecializationEntry * len(values))(
            *((id, at, len(values[id])) for id, at in zip(values, ends, strict=False))
        )
        stage = vk.ShaderStageCreateInfo(
            required,
            flags=FULL_SUBGROUPS if shader.full_subgroups else 0,
            stage=COMPUTE_STAGE,
            module=module,
            pName=shader.entry.encode(),
            # Of addresses alone: the locals keep what is there.
            pSpecialization=vk.SpecializationInfo(
                len(values), ctypes.addressof(entries), ends[-1], ctypes.addressof(data)
            ),
        )
        info = vk.ComputePipelineCreateInfo(
            flags=CAPTURE_STATISTICS if self.told else 0, stage=stage, layout=layout
        )
        start = time.perf_counter()
        pipeline = device.make("vkCreateComputePipelines", self._cache, 1, info, None)
        self._milliseconds = (time.perf_counter() - start) * 1e3
        self.stack.callback(device.call, "vkDestroyPipeline", pipeline, None)
        return pipeline

    def _bind(self, layout: ctypes.c_uint64) -> ctypes.c_uint64:
        """A descriptor set that binds buffer n at binding n."""
        sizes = vk.PoolSize(STORAGE_DESCRIPTOR, max(len(self._handles), 1))
        info = vk.DescriptorPoolCreateInfo(maxSets=1, sizeCount=1, pSizes=sizes)
        pool = self._create("DescriptorPool", info)
        info = vk.DescriptorSetAllocateInfo(pool=pool, count=1, pLayouts=layout)
        descriptors = self.device.make("vkAllocateDescriptorSets", info)
        for i, buffer in enumerate(self._handles):
            write = vk.WriteDescriptorSet(
                set=descriptors,
                binding=i,
                count=1,
                type=STORAGE_DESCRIPTOR,
                pBuffers=vk.BufferInfo(buffer.value, 0, WHOLE_SIZE),
            )
            self.device.call("vkUpdateDescriptorSets", 1, write, 0, None)
        return descriptors


def statistic(format: int, value: int) -> float:
    """Return a VkPipelineExecutableStatisticValueKHR, of which `value` is the bits.

    Formats are bool, int64, uint64 and double.
    """
    bits = struct.pack("<Q", value)
    kind = "?" if format == 0 else "_qQd"[format]
    return float(struct.unpack_from(f"<{kind}", bits)[0])


class Submission:
    """A command buffer of dispatches, one after the other, which is timed."""

    def __init__(
        self, device: VulkanDevice, stack: ExitStack, dispatches: Sequence[Dispatch]
    ) -> None:
        self.device = device
        self._timer: ctypes.c_uint64 | None = None
        if device.timestamp_bits:
            info = vk.QueryPoolCreateInfo(kind=TIMESTAMP_QUERY, count=2)
            self._timer = device.make("vkCreateQueryPool", info, None)
            stack.callback(device.call, "vkDestroyQueryPool", self._timer, None)
        self._commands = device.begin_commands(stack)
        call, commands = device.driver.call, self._commands
        if self._timer is not None:
            call("vkCmdResetQueryPool", commands, self._timer, 0, 2)
            call("vkCmdWriteTimestamp", commands, TOP_STEP, self._timer, 0)
        *others, last = dispatches
        for each in others:
            each.record(commands)
            each.see(commands)
        last.record(commands)
        if self._timer is not None:
            call("vkCmdWriteTimestamp", commands, BOTTOM_STEP, self._timer, 1)
        last.see(commands, last=True)
        device.driver.check("vkEndCommandBuffer", commands)

    def run(self) -> float:
        """Submit it, wait for it, and return its milliseconds.

        They are by timestamps of the device where it has a clock, else by the host's.
        """
        device, driver = self.device, self.device.driver
        start = time.perf_counter()
        device.submit(self._commands)
        seconds = time.perf_counter() - start
        if self._timer is None:
            return seconds * 1e3
        values = (vk.U64 * 2)()
        into = (ctypes.c_size_t(16), values, vk.U64(8), WAIT_64_BIT)
        where = (device.handle, self._timer, 0, 2)
        driver.check("vkGetQueryPoolResults", *where, *into)
        ticks = (values[1] - values[0]) % 2**device.timestamp_bits
        return ticks * device.timestamp_nanoseconds * 1e-6


# --- Calls of the parent. ---


class VulkanServer:
    """What the process holds between calls: a device, from the first one on."""

    device: VulkanDevice

    def open(self, library: str, index: int | None = None) -> VulkanInfo:
        """Open a device: the first with cooperative matrices, else the first.

        Raises:
            VulkanError: there is none, or it is older than Vulkan 1.3.
        """
        driver = Driver(library)
        handles = driver.enumerate(
            "vkEnumeratePhysicalDevices", vk.POINTER, driver.instance
        )
        devices = [VulkanDevice(driver, vk.POINTER(handle)) for handle in handles]
        if not devices:
            raise VulkanError("the driver has no device")
        if index is not None and index >= len(devices):
            names = ", ".join(x.info.name for x in devices)
            raise VulkanError(
                f"expected the number of a device, 0 to {len(devices) - 1} ({names}), "
                f"got {index}"
            )
        first = next((x for x in devices if x.info.matrix_shapes), devices[0])
        self.device = first if index is None else devices[index]
        info = self.device.info
        if info.api_version < (1, 3):
            raise VulkanError(f"{info.name} has no Vulkan 1.3")
        self.device.open()
        return info

    def run(
        self,
        shaders: Sequence[Shader],
        memories: Sequence[bytes | int],
        read: int,
        repeats: int,
        together: bool = False,
    ) -> tuple[list[bytes], list[float]]:
        """Dispatch shaders, all of them so many times, each after the one before.

        The first `read` memories are returned; a number stands for so many zeros.
        `together`, all times but the first are in one command buffer.

        Returns:
            The contents of memories after the first time; and the time of each
            command buffer, in milliseconds.
        """
        addressed = any(x.addresses or x.pointers for x in shaders)
        with ExitStack() as stack:
            device = self.device
            buffers = [device.buffer(x, stack, addressed) for x in memories]
            dispatches: list[Dispatch] = []
            submissions: list[Submission] = []
            times: list[float] = []
            for shader in shaders:
                # Lavapipe takes longer where all are made before the first runs.
                report(f"compiling {shader.entry}")
                bound = [buffers[n] for n in shader.bound]
                dispatches.append(Dispatch(device, stack, shader, bound))
                submissions.append(Submission(device, stack, dispatches[-1:]))
                report(f"running {shader.entry}")
                times.append(submissions[-1].run())
            pairs = zip(buffers[:read], memories, strict=False)
            contents = [
                device.contents(buffer, x if isinstance(x, int) else len(x))
                for buffer, x in pairs
            ]
            if together:
                submissions = [Submission(device, stack, dispatches)]
            times += [x.run() for _ in range(repeats - 1) for x in submissions]
        return contents, times

    def statistics(self, shader: Shader, sizes: Sequence[int]) -> ShaderStatistics:
        """Compile a shader for memories of so many bytes."""
        with ExitStack() as stack:
            addressed = bool(shader.addresses or shader.pointers)
            buffers = [self.device.buffer(x, stack, addressed) for x in sizes]
            bound = [buffers[n] for n in shader.bound]
            return Dispatch(self.device, stack, shader, bound, told=True).statistics()


def main() -> None:
    server = VulkanServer()
    handlers = {x: getattr(server, x) for x in ("open", "run", "statistics")}
    serve(handlers)
