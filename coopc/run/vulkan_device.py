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
BFLOAT16_EXTENSION = "VK_KHR_shader_bfloat16"
ATOMIC_FLOAT_EXTENSION = "VK_EXT_shader_atomic_float"
ATOMIC_FLOAT_2_EXTENSION = "VK_EXT_shader_atomic_float2"
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
class Limits:
    storage_buffer_bytes: int
    """Size of a buffer."""
    push_constant_bytes: int
    """Size of the block of push constants."""
    shared_memory_bytes: int
    """Size of the memory of a work-group."""
    group_counts: tuple[int, int, int]
    """Numbers of work-groups."""
    invocations: int
    """Invocations in a work-group."""
    group_sizes: tuple[int, int, int]
    """Invocations in a work-group along each axis."""


@dataclass(frozen=True)
class DeviceInfo:
    """A Vulkan device and what it can do."""

    name: str
    """The device's own name."""
    driver: str
    """Name and version of the driver."""
    api_version: tuple[int, int]
    """The Vulkan version, such as (1, 4)."""
    subgroup_sizes: tuple[int, int]
    """The smallest and the largest subgroup, in invocations."""
    extensions: frozenset[str]
    """The extensions of the device."""
    features: frozenset[str]
    """Its features, by their names in the specification: shaderFloat16."""
    matrix_shapes: tuple[MatrixProduct, ...]
    """The cooperative matrix multiplications that it lists."""
    limits: Limits
    """The sizes that it allows."""


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
        info = vk.InstanceCreateInfo(pApplicationInfo=ctypes.addressof(about))
        instance = vk.POINTER()
        created = ctypes.byref(instance)
        self.check("vkCreateInstance", ctypes.byref(info), None, created)
        self.instance = instance

    def call(self, name: str, *args: Any, result: Any = ctypes.c_int) -> int:
        """Call a function; the value means nothing if it returns void."""
        function = self._functions.get(name)
        if function is None:
            address = self._resolve(self.instance, name.encode())
            if not address:
                raise VulkanError(f"{self.library} has no {name}")
            function = self._functions[name] = ctypes.CFUNCTYPE(result)(address)
        return function(*args)

    def check(self, name: str, *args: Any) -> None:
        """Call a function and raise VulkanError unless it succeeds."""
        result = self.call(name, *args)
        if result:
            meaning = RESULTS.get(result, f"VkResult {result}")
            raise VulkanError(f"{name} failed: {meaning}")

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
    def __init__(self, driver: Driver, handle: ctypes.c_void_p) -> None:
        self.driver = driver
        self.handle = handle
        found = driver.enumerate(
            "vkEnumerateDeviceExtensionProperties", vk.Extension, handle, None
        )
        self.extensions = {x.name.decode() for x in found}
        sizes = vk.SubgroupSizeProperties()
        self._version = vk.DriverProperties(vk.SubgroupProperties(sizes))
        self._properties = vk.Properties2(self._version)
        driver.call(
            "vkGetPhysicalDeviceProperties2", handle, ctypes.byref(self._properties)
        )
        self.subgroup_sizes = (int(sizes.smallest), int(sizes.largest))
        self.can_require_size = bool(sizes.stages & COMPUTE_STAGE)
        self.api_version = int(self._properties.apiVersion)
        limits = bytes(self._properties.limits)
        (period,) = struct.unpack_from("<f", limits, TIMESTAMP_PERIOD_OFFSET)
        self.timestamp_nanoseconds = float(period)
        self.matrix = vk.CooperativeMatrixFeatures()
        self.bfloat16 = vk.Bfloat16Features()
        self.atomic_float = vk.AtomicFloatFeatures()
        self.atomic_float_2 = vk.AtomicFloat2Features()
        self._optional = (
            (MATRIX_EXTENSION, self.matrix),
            (BFLOAT16_EXTENSION, self.bfloat16),
            (ATOMIC_FLOAT_EXTENSION, self.atomic_float),
            (ATOMIC_FLOAT_2_EXTENSION, self.atomic_float_2),
        )
        self.features = self._query_features()

    @property
    def name(self) -> str:
        return self._properties.name.decode()

    def usable_extensions(self) -> list[str]:
        """The extensions that a kernel can use here and that coopc turns on."""
        return [name for name, _ in self._optional if name in self.extensions]

    def _query_features(self) -> Any:
        """A chain of structures that turns on every feature that is asked for here."""
        chain = None
        for name, structure in self._optional:
            if name not in self.extensions:
                continue
            if chain is not None:
                structure.pNext = ctypes.addressof(chain)
            chain = structure
        self._in13 = vk.Vulkan13Features(chain)
        self._in12 = vk.Vulkan12Features(self._in13)
        self._in11 = vk.Vulkan11Features(self._in12)
        features = vk.Features2(self._in11)
        self.driver.call(
            "vkGetPhysicalDeviceFeatures2", self.handle, ctypes.byref(features)
        )
        # It makes every access slower.
        features.features[features.FEATURES.index("robustBufferAccess")] = 0
        return features

    def feature_names(self) -> frozenset[str]:
        found = [x for _, x in self._optional]
        found += [self.features, self._in11, self._in12, self._in13]
        return frozenset(
            name
            for structure in found
            for name, value in zip(structure.FEATURES, structure.features, strict=True)
            if value
        )

    def matrix_shapes(self) -> tuple[MatrixProduct, ...]:
        if MATRIX_EXTENSION not in self.extensions:
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

    def describe(self) -> DeviceInfo:
        version = self.api_version
        limits = bytes(self._properties.limits)
        values: dict[str, Any] = {
            name: struct.unpack_from(form, limits, at) for name, at, form in LIMITS
        }
        return DeviceInfo(
            name=self.name,
            driver=f"{self._version.name.decode()} {self._version.info.decode()}",
            api_version=(version >> 22 & 127, version >> 12 & 1023),
            subgroup_sizes=self.subgroup_sizes,
            extensions=frozenset(self.extensions),
            features=self.feature_names(),
            matrix_shapes=self.matrix_shapes(),
            limits=Limits(**{n: v if len(v) > 1 else v[0] for n, v in values.items()}),
        )


# --- Devices. ---

WHOLE_SIZE = 2**64 - 1
WORD_BYTES = 4
COMPUTE_QUEUE = 0x2
STORAGE_BUFFER_USAGE, ADDRESS_USAGE = 0x20, 0x20000
ALLOCATE_ADDRESS = 0x2
DEVICE_LOCAL, HOST_VISIBLE, HOST_COHERENT = 0x1, 0x2, 0x4


class Device:
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
        where = (vk.U32(self.family), vk.U32(0))
        self.call("vkGetDeviceQueue", *where, ctypes.byref(self.queue))
        self.memory = vk.MemoryProperties()
        self.driver.call(
            "vkGetPhysicalDeviceMemoryProperties",
            physical.handle,
            ctypes.byref(self.memory),
        )

    def _create(self) -> ctypes.c_void_p:
        names = [x.encode() for x in self.physical.usable_extensions()]
        extensions = (ctypes.c_char_p * len(names))(*names)
        priority = ctypes.c_float(1.0)
        queue = vk.DeviceQueueCreateInfo(
            family=self.family, count=1, pPriorities=ctypes.addressof(priority)
        )
        info = vk.DeviceCreateInfo(
            self.physical.features,
            queueCount=1,
            pQueues=ctypes.addressof(queue),
            extensionCount=len(names),
            ppExtensionNames=ctypes.addressof(extensions),
        )
        handle = vk.POINTER()
        created = (ctypes.byref(info), None, ctypes.byref(handle))
        self.driver.check("vkCreateDevice", self.physical.handle, *created)
        return handle

    def call(self, name: str, *args: Any) -> int:
        return self.driver.call(name, self.handle, *args)

    def check(self, name: str, *args: Any) -> None:
        """Call a function of the device and raise VulkanError unless it succeeds."""
        self.driver.check(name, self.handle, *args)

    def make(self, stack: ExitStack, kind: str, info: Any) -> ctypes.c_uint64:
        """Create an object that is destroyed with the stack."""
        handle = vk.HANDLE()
        created = (ctypes.byref(info), None, ctypes.byref(handle))
        self.check(f"vkCreate{kind}", *created)
        stack.callback(self.call, f"vkDestroy{kind}", handle, None)
        return handle

    def buffer(
        self, stack: ExitStack, data: bytes, *, addressed: bool = False
    ) -> tuple[ctypes.c_uint64, int]:
        """A buffer with these contents, and the address it is mapped at.

        It is whole words of 4 bytes, which is what atomic instructions access.

        Args:
            stack: which destroys it.
            data: its contents.
            addressed: whether the device may ask for its own address of it.
        """
        usage = STORAGE_BUFFER_USAGE | (ADDRESS_USAGE if addressed else 0)
        flags = vk.MemoryAllocateFlagsInfo(flags=ALLOCATE_ADDRESS)
        size = -(-len(data) // WORD_BYTES) * WORD_BYTES
        info = vk.BufferCreateInfo(size=size, usage=usage)
        buffer = self.make(stack, "Buffer", info)
        needs = vk.MemoryRequirements()
        self.call("vkGetBufferMemoryRequirements", buffer, ctypes.byref(needs))
        wanted = self._memory_type(needs.types)
        info = vk.MemoryAllocateInfo(
            flags if addressed else None, size=needs.size, memoryType=wanted
        )
        memory = vk.HANDLE()
        self.check("vkAllocateMemory", ctypes.byref(info), None, ctypes.byref(memory))
        stack.callback(self.call, "vkFreeMemory", memory, None)
        self.check("vkBindBufferMemory", buffer, memory, vk.U64(0))
        address = vk.POINTER()
        whole = (vk.U64(0), vk.U64(WHOLE_SIZE), vk.U32(0))
        self.check("vkMapMemory", memory, *whole, ctypes.byref(address))
        if address.value is None:
            raise VulkanError("vkMapMemory gave no address")
        ctypes.memmove(address.value, data, len(data))
        return buffer, address.value

    def address(self, buffer: ctypes.c_uint64) -> int:
        info = ctypes.byref(vk.BufferDeviceAddressInfo(buffer=buffer.value))
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
    """The SPIR-V module."""
    entry: str
    """The name of its entry point."""
    groups: tuple[int, int, int]
    """Numbers of work-groups."""
    push_constants: bytes
    """The block of push constants."""
    specialization: dict[int, bytes]
    """Values of specialization constants by SpecId."""
    subgroup_size: int | None
    """The subgroup size to require, in invocations."""
    full_subgroups: bool
    """Whether to require that no subgroup has idle invocations."""
    addresses: tuple[int, ...] = ()
    """Where in the push constants the address of each buffer goes, in bytes."""


def dispatch(
    device: Device, shader: Shader, buffers: Sequence[bytes], repeats: int
) -> tuple[list[bytes], list[float]]:
    """Dispatch a shader and read its buffers.

    Args:
        device: where.
        shader: what.
        buffers: the contents of binding 0, 1, ... of set 0 before the first dispatch.
        repeats: number of dispatches, each after the one before, at least 1.

    Returns:
        The contents of each buffer after the first dispatch; and the time of each, in
        milliseconds, by the device's clock where it has one.
    """
    with ExitStack() as stack:
        addressed = bool(shader.addresses)
        mapped = [device.buffer(stack, x, addressed=addressed) for x in buffers]
        shader = _addressed(device, shader, [handle for handle, _ in mapped])
        set_layout, layout = _layouts(device, stack, len(buffers), shader)
        pipeline = _pipeline(device, stack, shader, layout)
        handles = [handle for handle, _ in mapped]
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
    device: Device, shader: Shader, buffers: Sequence[ctypes.c_uint64]
) -> Shader:
    constants = bytearray(shader.push_constants)
    for at, buffer in zip(shader.addresses, buffers, strict=False):
        constants[at : at + 8] = device.address(buffer).to_bytes(8, "little")
    return replace(shader, push_constants=bytes(constants))


class _Timer:
    """Times submissions: by timestamps of the device, else by the host's clock."""

    def __init__(self, device: Device, stack: ExitStack) -> None:
        self.device = device
        self.pool: ctypes.c_uint64 | None = None
        if device.timestamp_bits:
            info = vk.QueryPoolCreateInfo(kind=TIMESTAMP_QUERY, count=2)
            self.pool = device.make(stack, "QueryPool", info)

    def begin(self, commands: ctypes.c_void_p) -> None:
        if self.pool is not None:
            call = self.device.driver.call
            call("vkCmdResetQueryPool", commands, self.pool, vk.U32(0), vk.U32(2))
            at = (vk.U32(TOP_STEP), self.pool, vk.U32(0))
            call("vkCmdWriteTimestamp", commands, *at)

    def end(self, commands: ctypes.c_void_p) -> None:
        if self.pool is not None:
            at = (vk.U32(BOTTOM_STEP), self.pool, vk.U32(1))
            self.device.driver.call("vkCmdWriteTimestamp", commands, *at)

    def run(self, commands: ctypes.c_void_p) -> float:
        """Submit recorded commands, wait for them, and return their milliseconds."""
        device = self.device
        info = vk.SubmitInfo(commandCount=1, pCommands=ctypes.addressof(commands))
        submit = (device.queue, vk.U32(1), ctypes.byref(info), vk.HANDLE(0))
        start = time.perf_counter()
        device.driver.check("vkQueueSubmit", *submit)
        device.driver.check("vkQueueWaitIdle", device.queue)
        seconds = time.perf_counter() - start
        if self.pool is None:
            return seconds * 1e3
        values = (vk.U64 * 2)()
        which = (self.pool, vk.U32(0), vk.U32(2))
        into = (ctypes.c_size_t(16), values, vk.U64(8), vk.U32(WAIT_64_BIT))
        device.check("vkGetQueryPoolResults", *which, *into)
        ticks = (values[1] - values[0]) % 2**device.timestamp_bits
        return ticks * device.physical.timestamp_nanoseconds * 1e-6


def _layouts(
    device: Device, stack: ExitStack, buffers: int, shader: Shader
) -> tuple[ctypes.c_uint64, ctypes.c_uint64]:
    bindings = (vk.LayoutBinding * buffers)(
        *((i, STORAGE_DESCRIPTOR, 1, COMPUTE_STAGE, None) for i in range(buffers))
    )
    info = vk.SetLayoutCreateInfo(
        bindingCount=buffers, pBindings=ctypes.addressof(bindings)
    )
    set_layout = device.make(stack, "DescriptorSetLayout", info)
    constants = vk.PushConstantRange(COMPUTE_STAGE, 0, len(shader.push_constants))
    info = vk.PipelineLayoutCreateInfo(
        setCount=1,
        pSets=ctypes.addressof(set_layout),
        pushConstantCount=int(bool(shader.push_constants)),
        pPushConstants=ctypes.addressof(constants),
    )
    return set_layout, device.make(stack, "PipelineLayout", info)


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
    device: Device, stack: ExitStack, shader: Shader, layout: ctypes.c_uint64
) -> ctypes.c_uint64:
    code = ctypes.create_string_buffer(shader.code, len(shader.code))
    info = vk.ShaderModuleCreateInfo(
        codeSize=len(shader.code), pCode=ctypes.addressof(code)
    )
    module = device.make(stack, "ShaderModule", info)
    constants, kept_alive = _specialization(shader.specialization)
    required = None
    if shader.subgroup_size is not None and device.physical.can_require_size:
        required = vk.RequiredSubgroupSize(size=shader.subgroup_size)
    stage = vk.ShaderStageCreateInfo(
        required,
        flags=FULL_SUBGROUPS if shader.full_subgroups else 0,
        stage=COMPUTE_STAGE,
        module=module.value,
        pName=shader.entry.encode(),
        pSpecialization=ctypes.addressof(constants),
    )
    info = vk.ComputePipelineCreateInfo(stage=stage, layout=layout.value)
    pipeline = vk.HANDLE()
    created = (ctypes.byref(info), None, ctypes.byref(pipeline))
    device.check("vkCreateComputePipelines", vk.U64(0), vk.U32(1), *created)
    del kept_alive
    stack.callback(device.call, "vkDestroyPipeline", pipeline, None)
    return pipeline


def _descriptors(
    device: Device,
    stack: ExitStack,
    layout: ctypes.c_uint64,
    buffers: Sequence[ctypes.c_uint64],
) -> ctypes.c_uint64:
    """A descriptor set that binds buffer n at binding n."""
    sizes = vk.PoolSize(STORAGE_DESCRIPTOR, max(len(buffers), 1))
    info = vk.DescriptorPoolCreateInfo(
        maxSets=1, sizeCount=1, pSizes=ctypes.addressof(sizes)
    )
    pool = device.make(stack, "DescriptorPool", info)
    info = vk.DescriptorSetAllocateInfo(
        pool=pool.value, count=1, pLayouts=ctypes.addressof(layout)
    )
    descriptors = vk.HANDLE()
    allocated = (ctypes.byref(info), ctypes.byref(descriptors))
    device.check("vkAllocateDescriptorSets", *allocated)
    for i, buffer in enumerate(buffers):
        whole = vk.BufferInfo(buffer.value, 0, WHOLE_SIZE)
        write = vk.WriteDescriptorSet(
            set=descriptors.value,
            binding=i,
            count=1,
            type=STORAGE_DESCRIPTOR,
            pBuffers=ctypes.addressof(whole),
        )
        one_write = (vk.U32(1), ctypes.byref(write), vk.U32(0), None)
        device.call("vkUpdateDescriptorSets", *one_write)
    return descriptors


def _record(
    device: Device,
    stack: ExitStack,
    shader: Shader,
    pipeline: ctypes.c_uint64,
    layout: ctypes.c_uint64,
    descriptors: ctypes.c_uint64,
    timer: _Timer,
) -> ctypes.c_void_p:
    info = vk.CommandPoolCreateInfo(family=device.family)
    pool = device.make(stack, "CommandPool", info)
    info = vk.CommandBufferAllocateInfo(pool=pool.value, count=1)
    commands = vk.POINTER()
    allocated = (ctypes.byref(info), ctypes.byref(commands))
    device.check("vkAllocateCommandBuffers", *allocated)
    call, check = device.driver.call, device.driver.check
    check("vkBeginCommandBuffer", commands, ctypes.byref(vk.CommandBufferBeginInfo()))
    timer.begin(commands)
    bind = vk.U32(BIND_COMPUTE)
    call("vkCmdBindPipeline", commands, bind, pipeline)
    sets = (vk.U32(0), vk.U32(1), ctypes.byref(descriptors), vk.U32(0), None)
    call("vkCmdBindDescriptorSets", commands, bind, layout, *sets)
    if shader.push_constants:
        size = len(shader.push_constants)
        where = (vk.U32(COMPUTE_STAGE), vk.U32(0), vk.U32(size))
        call("vkCmdPushConstants", commands, layout, *where, shader.push_constants)
    call("vkCmdDispatch", commands, *(vk.U32(count) for count in shader.groups))
    timer.end(commands)
    _barrier(device, commands)
    check("vkEndCommandBuffer", commands)
    return commands


def _barrier(device: Device, commands: ctypes.c_void_p) -> None:
    """Let the next dispatch and the host see what the last dispatch wrote."""
    info = vk.MemoryBarrier(
        sources=SHADER_WRITE, destinations=SHADER_READ | SHADER_WRITE | HOST_READ
    )
    steps = (vk.U32(SHADER_STEP), vk.U32(SHADER_STEP | HOST_STEP), vk.U32(0))
    one_barrier = (vk.U32(1), ctypes.byref(info))
    none = (vk.U32(0), None)
    device.driver.call(
        "vkCmdPipelineBarrier", commands, *steps, *one_barrier, *none, *none
    )


# --- Calls of the parent. ---


class _Calls:
    device: Device | None = None

    def list(self, library: str) -> tuple[DeviceInfo, ...]:
        return tuple(x.describe() for x in Driver(library).devices())

    def open(self, library: str, index: int | None) -> DeviceInfo:
        physical = select(Driver(library).devices(), index)
        self.device = Device(physical)
        return physical.describe()

    def run(
        self, shader: Shader, buffers: Sequence[bytes], repeats: int
    ) -> tuple[Sequence[bytes], Sequence[float]]:
        assert self.device is not None, "expected the device to be open"
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
        found = next((x for x in devices if x.matrix_shapes()), devices[0])
    else:
        found = devices[index]
    if found.api_version < API_VERSION:
        raise VulkanError(f"{found.name} has no Vulkan 1.3")
    return found


def main() -> None:
    calls = _Calls()
    serve({"list": calls.list, "open": calls.open, "run": calls.run})
