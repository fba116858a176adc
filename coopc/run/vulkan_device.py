"""A Vulkan device, by ctypes: what the worker process of `coopc.run.vulkan` owns.

It needs nothing beside the standard library, because for lavapipe it runs in a python
that is started through the toolchain's loader.
"""

import ctypes
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from coopc.run import vulkan_structures as vk
from coopc.run.spirv_facts import MATRIX_EXTENSION, MATRIX_SCOPES, MatrixProduct
from coopc.run.worker import RunFailed, serve

# --- Drivers. ---

API_VERSION = 1 << 22 | 3 << 12
OPTIONAL = {
    MATRIX_EXTENSION: vk.CooperativeMatrixFeatures,
    "VK_KHR_shader_bfloat16": vk.Bfloat16Features,
    "VK_EXT_shader_atomic_float": vk.AtomicFloatFeatures,
    "VK_EXT_shader_atomic_float2": vk.AtomicFloat2Features,
}
"""The extensions that are turned on where a device has them."""
FEATURES = (
    vk.Vulkan13Features,
    vk.Vulkan12Features,
    vk.Vulkan11Features,
    vk.Features2,
)
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
) | {1000141000: "bf16", 1000491002: "e4m3", 1000491003: "e5m2"}
# VkPhysicalDeviceLimits: name here, offset in bytes, format.
LIMITS = (
    ("storage_buffer_bytes", 28, "<I"),
    ("push_constant_bytes", 32, "<I"),
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
    """The smallest and the largest subgroup, in invocations."""
    extensions: frozenset[str]
    features: frozenset[str]
    """Its features, by their names in the specification: shaderFloat16."""
    matrix_shapes: tuple[MatrixProduct, ...]
    """The cooperative matrix multiplications that it lists."""
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

    def devices(self) -> list["PhysicalDevice"]:
        handles = self.enumerate(
            "vkEnumeratePhysicalDevices", vk.POINTER, self.instance
        )
        return [PhysicalDevice(self, vk.POINTER(handle)) for handle in handles]


class PhysicalDevice:
    info: VulkanInfo
    features: Any
    """A chain of structures that turns on every feature that is asked for here."""

    def __init__(self, driver: Driver, handle: ctypes.c_void_p) -> None:
        self.driver = driver
        self.handle = handle
        found = driver.enumerate(
            "vkEnumerateDeviceExtensionProperties", vk.Extension, handle, None
        )
        extensions = frozenset(x.name.decode() for x in found)
        self.usable_extensions = [x for x in OPTIONAL if x in extensions]
        sizes = vk.SubgroupSizeProperties()
        about = vk.DriverProperties(vk.SubgroupProperties(sizes))
        properties = vk.Properties2(about)
        driver.call("vkGetPhysicalDeviceProperties2", handle, properties)
        self.can_require_size = bool(sizes.stages & COMPUTE_STAGE)
        self.api_version = int(properties.apiVersion)
        limits = bytes(properties.limits)
        (period,) = struct.unpack_from("<f", limits, TIMESTAMP_PERIOD_OFFSET)
        self.timestamp_nanoseconds = float(period)
        values: dict[str, Any] = {
            name: struct.unpack_from(form, limits, at) for name, at, form in LIMITS
        }
        self.info = VulkanInfo(
            name=properties.name.decode(),
            driver=f"{about.name.decode()} {about.info.decode()}",
            api_version=(self.api_version >> 22 & 127, self.api_version >> 12 & 1023),
            subgroup_sizes=(int(sizes.smallest), int(sizes.largest)),
            extensions=extensions,
            features=self._query_features(),
            matrix_shapes=self._matrix_shapes(),
            limits=VulkanLimits(
                **{n: v if len(v) > 1 else v[0] for n, v in values.items()}
            ),
        )

    def _query_features(self) -> frozenset[str]:
        """Set `features`, and return the names of those that the device has."""
        optional = (OPTIONAL[name] for name in self.usable_extensions)
        structures: list[Any] = []
        for kind in (*optional, *FEATURES):
            structures.append(kind(structures[-1] if structures else None))
        features = self.features = structures[-1]
        self.driver.call("vkGetPhysicalDeviceFeatures2", self.handle, features)
        # It makes every access slower.
        features.features[features.FEATURES.index("robustBufferAccess")] = 0
        return frozenset(
            name
            for structure in structures
            for name, value in zip(structure.FEATURES, structure.features, strict=True)
            if value
        )

    def _matrix_shapes(self) -> tuple[MatrixProduct, ...]:
        if MATRIX_EXTENSION not in self.usable_extensions:
            return ()
        listed = self.driver.enumerate(
            "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
            vk.CooperativeMatrixProperties,
            self.handle,
        )
        return tuple(
            MatrixProduct(
                *(int(x.m), int(x.n), int(x.k)),
                *(COMPONENTS.get(t, f"type {t}") for t in (x.a, x.b, x.c, x.result)),
                saturating=bool(x.sat),
                scope=MATRIX_SCOPES.get(x.scope, f"scope {x.scope}"),
            )
            for x in listed
        )


# --- Devices. ---

WHOLE_SIZE = 2**64 - 1
WORD_BYTES = 4
COMPUTE_QUEUE = 0x2
STORAGE_BUFFER_USAGE, ADDRESS_USAGE = 0x20, 0x20000
ALLOCATE_ADDRESS = 0x2
DEVICE_LOCAL, HOST_VISIBLE, HOST_COHERENT = 0x1, 0x2, 0x4


class LogicalDevice:
    """A logical device with one compute queue and every feature turned on."""

    def __init__(self, physical: PhysicalDevice) -> None:
        self.physical = physical
        self.driver = physical.driver
        families = self.driver.enumerate(
            "vkGetPhysicalDeviceQueueFamilyProperties", vk.QueueFamily, physical.handle
        )
        self.family = next(i for i, f in enumerate(families) if f.flags & COMPUTE_QUEUE)
        self.timestamp_bits = int(families[self.family].timestampBits)
        self.handle = self._create()
        self.queue = vk.POINTER()
        self.call("vkGetDeviceQueue", self.family, 0, ctypes.byref(self.queue))
        self.memory = vk.MemoryProperties()
        self.driver.call(
            "vkGetPhysicalDeviceMemoryProperties", physical.handle, self.memory
        )

    def _create(self) -> ctypes.c_void_p:
        names = [x.encode() for x in self.physical.usable_extensions]
        queue = vk.DeviceQueueCreateInfo(
            family=self.family, count=1, pPriorities=ctypes.c_float(1.0)
        )
        info = vk.DeviceCreateInfo(
            self.physical.features,
            queueCount=1,
            pQueues=queue,
            extensionCount=len(names),
            ppExtensionNames=(ctypes.c_char_p * len(names))(*names),
        )
        where = self.physical.handle
        return self.driver.make("vkCreateDevice", where, info, None, kind=vk.POINTER)

    def call(self, name: str, *args: Any) -> int:
        return self.driver.call(name, self.handle, *args)

    def check(self, name: str, *args: Any) -> None:
        """Call a function of the device and raise VulkanError unless it succeeds."""
        self.driver.check(name, self.handle, *args)

    def make(self, name: str, *args: Any, kind: Any = vk.HANDLE) -> Any:
        """Call a function of the device that gives a handle by its last argument."""
        return self.driver.make(name, self.handle, *args, kind=kind)

    def create(self, stack: ExitStack, kind: str, info: Any) -> ctypes.c_uint64:
        """Create an object that is destroyed with the stack."""
        handle = self.make(f"vkCreate{kind}", info, None)
        stack.callback(self.call, f"vkDestroy{kind}", handle, None)
        return handle

    def buffer(
        self, stack: ExitStack, data: bytes, *, addressed: bool = False
    ) -> tuple[ctypes.c_uint64, int]:
        """A buffer with these contents, and the address it is mapped at.

        It is whole words of 4 bytes, which is what atomic instructions access.
        `addressed` ones have an address on the device, too.
        """
        usage = STORAGE_BUFFER_USAGE | (ADDRESS_USAGE if addressed else 0)
        flags = vk.MemoryAllocateFlagsInfo(flags=ALLOCATE_ADDRESS)
        size = -(-len(data) // WORD_BYTES) * WORD_BYTES
        info = vk.BufferCreateInfo(size=size, usage=usage)
        buffer = self.create(stack, "Buffer", info)
        needs = vk.MemoryRequirements()
        self.call("vkGetBufferMemoryRequirements", buffer, needs)
        info = vk.MemoryAllocateInfo(
            flags if addressed else None,
            size=needs.size,
            memoryType=self._memory_type(needs.types),
        )
        memory = self.make("vkAllocateMemory", info, None)
        stack.callback(self.call, "vkFreeMemory", memory, None)
        self.check("vkBindBufferMemory", buffer, memory, vk.U64(0))
        whole = (vk.U64(0), vk.U64(WHOLE_SIZE), 0)
        address = self.make("vkMapMemory", memory, *whole, kind=vk.POINTER)
        if address.value is None:
            raise VulkanError("vkMapMemory gave no address")
        ctypes.memmove(address.value, data, len(data))
        return buffer, address.value

    def address(self, buffer: ctypes.c_uint64) -> int:
        info = vk.BufferDeviceAddressInfo(buffer=buffer)
        name = "vkGetBufferDeviceAddress"
        return self.driver.call(name, self.handle, info, result=vk.U64)

    def _memory_type(self, allowed: int) -> int:
        """Host-visible memory, on the device if it has such."""
        visible = HOST_VISIBLE | HOST_COHERENT
        for flags in (visible | DEVICE_LOCAL, visible):
            for i in range(self.memory.typeCount):
                if allowed >> i & 1 and self.memory.types[i].flags & flags == flags:
                    return i
        raise VulkanError("the device has no host-visible memory")


# --- Dispatches. ---

STORAGE_DESCRIPTOR = 7
BIND_COMPUTE = 1
TOP_STEP, SHADER_STEP, BOTTOM_STEP, HOST_STEP = 0x1, 0x800, 0x2000, 0x4000
SHADER_READ, SHADER_WRITE, HOST_READ = 0x20, 0x40, 0x2000
FULL_SUBGROUPS = 0x2
TIMESTAMP_QUERY = 2
WAIT_64_BIT = 0x1 | 0x2


@dataclass(frozen=True)
class Shader:
    code: bytes
    entry: str
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


def dispatch(
    device: LogicalDevice, shader: Shader, buffers: Sequence[bytes], repeats: int
) -> tuple[list[bytes], list[float]]:
    """Dispatch a shader so many times, each after the one before.

    Buffers are the contents of binding 0, 1, ... of set 0 before the first dispatch.

    Returns:
        The contents of each buffer after the first dispatch; and the time of each, in
        milliseconds, by the device's clock where it has one.
    """
    with ExitStack() as stack:
        addressed = bool(shader.addresses)
        mapped = [device.buffer(stack, x, addressed=addressed) for x in buffers]
        handles = [handle for handle, _ in mapped]
        shader = _addressed(device, shader, handles)
        set_layout, layout = _layouts(device, stack, len(buffers), shader)
        pipeline = _pipeline(device, stack, shader, layout)
        descriptors = _descriptors(device, stack, set_layout, handles)
        timer = _Timer(device, stack)
        commands = _record(device, stack, shader, pipeline, layout, descriptors, timer)
        times = [timer.run(commands)]
        contents = [
            ctypes.string_at(address, len(data))
            for (_, address), data in zip(mapped, buffers, strict=True)
        ]
        times += [timer.run(commands) for _ in range(repeats - 1)]
    return contents, times


def _addressed(
    device: LogicalDevice, shader: Shader, buffers: Sequence[ctypes.c_uint64]
) -> Shader:
    constants = bytearray(shader.push_constants)
    for at, buffer in zip(shader.addresses, buffers, strict=False):
        constants[at : at + 8] = device.address(buffer).to_bytes(8, "little")
    return replace(shader, push_constants=bytes(constants))


class _Timer:
    """Times submissions: by timestamps of the device, else by the host's clock."""

    def __init__(self, device: LogicalDevice, stack: ExitStack) -> None:
        self.device = device
        self.pool: ctypes.c_uint64 | None = None
        if device.timestamp_bits:
            info = vk.QueryPoolCreateInfo(kind=TIMESTAMP_QUERY, count=2)
            self.pool = device.create(stack, "QueryPool", info)

    def begin(self, commands: ctypes.c_void_p) -> None:
        if self.pool is not None:
            call = self.device.driver.call
            call("vkCmdResetQueryPool", commands, self.pool, 0, 2)
            call("vkCmdWriteTimestamp", commands, TOP_STEP, self.pool, 0)

    def end(self, commands: ctypes.c_void_p) -> None:
        if self.pool is not None:
            call = self.device.driver.call
            call("vkCmdWriteTimestamp", commands, BOTTOM_STEP, self.pool, 1)

    def run(self, commands: ctypes.c_void_p) -> float:
        """Submit recorded commands, wait for them, and return their milliseconds."""
        device = self.device
        info = vk.SubmitInfo(commandCount=1, pCommands=commands)
        start = time.perf_counter()
        device.driver.check("vkQueueSubmit", device.queue, 1, info, vk.HANDLE(0))
        device.driver.check("vkQueueWaitIdle", device.queue)
        seconds = time.perf_counter() - start
        if self.pool is None:
            return seconds * 1e3
        values = (vk.U64 * 2)()
        into = (ctypes.c_size_t(16), values, vk.U64(8), WAIT_64_BIT)
        device.check("vkGetQueryPoolResults", self.pool, 0, 2, *into)
        ticks = (values[1] - values[0]) % 2**device.timestamp_bits
        return ticks * device.physical.timestamp_nanoseconds * 1e-6


def _layouts(
    device: LogicalDevice, stack: ExitStack, buffers: int, shader: Shader
) -> tuple[ctypes.c_uint64, ctypes.c_uint64]:
    """The layouts of the descriptor set and of the pipeline."""
    bindings = (vk.LayoutBinding * buffers)(
        *((i, STORAGE_DESCRIPTOR, 1, COMPUTE_STAGE, None) for i in range(buffers))
    )
    info = vk.SetLayoutCreateInfo(bindingCount=buffers, pBindings=bindings)
    set_layout = device.create(stack, "DescriptorSetLayout", info)
    constants = vk.PushConstantRange(COMPUTE_STAGE, 0, len(shader.push_constants))
    info = vk.PipelineLayoutCreateInfo(
        setCount=1,
        pSets=set_layout,
        pushConstantCount=int(bool(shader.push_constants)),
        pPushConstants=constants,
    )
    return set_layout, device.create(stack, "PipelineLayout", info)


def _specialization(values: dict[int, bytes]) -> tuple[Any, Any]:
    """The structure that specializes a shader, and what it points to."""
    data = ctypes.create_string_buffer(b"".join(values.values()))
    entries = (vk.SpecializationEntry * len(values))()
    offset = 0
    for entry, (spec_id, value) in zip(entries, values.items(), strict=True):
        entry.id, entry.offset, entry.size = spec_id, offset, len(value)
        offset += len(value)
    info = vk.SpecializationInfo(
        len(values), ctypes.addressof(entries), offset, ctypes.addressof(data)
    )
    return info, (data, entries)


def _pipeline(
    device: LogicalDevice, stack: ExitStack, shader: Shader, layout: ctypes.c_uint64
) -> ctypes.c_uint64:
    code = ctypes.create_string_buffer(shader.code, len(shader.code))
    info = vk.ShaderModuleCreateInfo(codeSize=len(shader.code), pCode=code)
    module = device.create(stack, "ShaderModule", info)
    constants, kept_alive = _specialization(shader.specialization)
    required = None
    if shader.subgroup_size is not None and device.physical.can_require_size:
        required = vk.RequiredSubgroupSize(size=shader.subgroup_size)
    stage = vk.ShaderStageCreateInfo(
        required,
        flags=FULL_SUBGROUPS if shader.full_subgroups else 0,
        stage=COMPUTE_STAGE,
        module=module,
        pName=shader.entry.encode(),
        pSpecialization=constants,
    )
    info = vk.ComputePipelineCreateInfo(stage=stage, layout=layout)
    pipeline = device.make("vkCreateComputePipelines", vk.U64(0), 1, info, None)
    del kept_alive
    stack.callback(device.call, "vkDestroyPipeline", pipeline, None)
    return pipeline


def _descriptors(
    device: LogicalDevice,
    stack: ExitStack,
    layout: ctypes.c_uint64,
    buffers: Sequence[ctypes.c_uint64],
) -> ctypes.c_uint64:
    """A descriptor set that binds buffer n at binding n."""
    sizes = vk.PoolSize(STORAGE_DESCRIPTOR, max(len(buffers), 1))
    info = vk.DescriptorPoolCreateInfo(maxSets=1, sizeCount=1, pSizes=sizes)
    pool = device.create(stack, "DescriptorPool", info)
    info = vk.DescriptorSetAllocateInfo(pool=pool, count=1, pLayouts=layout)
    descriptors = device.make("vkAllocateDescriptorSets", info)
    for i, buffer in enumerate(buffers):
        write = vk.WriteDescriptorSet(
            set=descriptors,
            binding=i,
            count=1,
            type=STORAGE_DESCRIPTOR,
            pBuffers=vk.BufferInfo(buffer.value, 0, WHOLE_SIZE),
        )
        device.call("vkUpdateDescriptorSets", 1, write, 0, None)
    return descriptors


def _record(
    device: LogicalDevice,
    stack: ExitStack,
    shader: Shader,
    pipeline: ctypes.c_uint64,
    layout: ctypes.c_uint64,
    descriptors: ctypes.c_uint64,
    timer: _Timer,
) -> ctypes.c_void_p:
    """A command buffer with one timed dispatch.

    The next dispatch and the host see what it wrote.
    """
    info = vk.CommandPoolCreateInfo(family=device.family)
    pool = device.create(stack, "CommandPool", info)
    info = vk.CommandBufferAllocateInfo(pool=pool, count=1)
    commands = device.make("vkAllocateCommandBuffers", info, kind=vk.POINTER)
    call, check = device.driver.call, device.driver.check
    check("vkBeginCommandBuffer", commands, vk.CommandBufferBeginInfo())
    timer.begin(commands)
    call("vkCmdBindPipeline", commands, BIND_COMPUTE, pipeline)
    sets = (0, 1, ctypes.byref(descriptors), 0, None)
    call("vkCmdBindDescriptorSets", commands, BIND_COMPUTE, layout, *sets)
    if constants := shader.push_constants:
        where = (COMPUTE_STAGE, 0, len(constants))
        call("vkCmdPushConstants", commands, layout, *where, constants)
    call("vkCmdDispatch", commands, *shader.groups)
    timer.end(commands)
    seen = vk.MemoryBarrier(
        sources=SHADER_WRITE, destinations=SHADER_READ | SHADER_WRITE | HOST_READ
    )
    steps = (SHADER_STEP, SHADER_STEP | HOST_STEP, 0)
    call("vkCmdPipelineBarrier", commands, *steps, 1, seen, 0, None, 0, None)
    check("vkEndCommandBuffer", commands)
    return commands


# --- Calls of the parent. ---


def devices(library: str) -> tuple[VulkanInfo, ...]:
    """Load a driver and describe every device."""
    return tuple(x.info for x in Driver(library).devices())


class VulkanServer:
    """What the process holds between calls: a device, from the first one on."""

    device: LogicalDevice

    def open(self, library: str, index: int | None) -> VulkanInfo:
        physical = select(Driver(library).devices(), index)
        self.device = LogicalDevice(physical)
        return physical.info

    def run(
        self, shader: Shader, buffers: Sequence[bytes], repeats: int
    ) -> tuple[Sequence[bytes], Sequence[float]]:
        return dispatch(self.device, shader, buffers, repeats)


def select(devices: Sequence[PhysicalDevice], index: int | None) -> PhysicalDevice:
    """The device of an index, else the first with cooperative matrices, else the first.

    Raises:
        VulkanError: there is none, or it is older than Vulkan 1.3.
    """
    if not devices:
        raise VulkanError("the driver has no device")
    if index is not None and not 0 <= index < len(devices):
        raise VulkanError(f"expected a device index below {len(devices)}, got {index}")
    if index is None:
        found = next((x for x in devices if x.info.matrix_shapes), devices[0])
    else:
        found = devices[index]
    if found.api_version < API_VERSION:
        raise VulkanError(f"{found.info.name} has no Vulkan 1.3")
    return found


def main() -> None:
    server = VulkanServer()
    serve({"list": devices, "open": server.open, "run": server.run})
