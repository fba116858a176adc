"""Dispatches one compute shader on a Vulkan device: pipeline, descriptors, commands."""

import ctypes
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from coopc.run import vulkan_structures as vk
from coopc.run.vulkan_device import WHOLE_SIZE, Device
from coopc.run.vulkan_driver import COMPUTE_STAGE

STORAGE_DESCRIPTOR = 7
BIND_COMPUTE = 1
TOP_STEP, SHADER_STEP, BOTTOM_STEP, HOST_STEP = 0x1, 0x800, 0x2000, 0x4000
SHADER_READ, SHADER_WRITE, HOST_READ = 0x20, 0x40, 0x2000
FULL_SUBGROUPS = 0x2
TIMESTAMP_QUERY = 2
WAIT_64_BIT = 0x1 | 0x2


@dataclass(frozen=True)
class Shader:
    """What a request says about the shader to dispatch."""

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


@dataclass(frozen=True)
class Result:
    """What a shader did."""

    buffers: list[bytes]
    """The contents of each buffer after the first dispatch."""
    milliseconds: list[float]
    """The time of each dispatch, by the device's clock where it has one."""


def dispatch(
    device: Device, shader: Shader, buffers: Sequence[bytes], repeats: int
) -> Result:
    """Dispatch a shader and read its buffers.

    Args:
        device: where.
        shader: what.
        buffers: the contents of binding 0, 1, ... of set 0 before the first dispatch.
        repeats: number of dispatches, each after the one before, at least 1.
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
    return Result(contents, times)


def _addressed(
    device: Device, shader: Shader, buffers: Sequence[ctypes.c_uint64]
) -> Shader:
    """A shader with the addresses of its buffers among its push constants."""
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
        """Record the first timestamp."""
        if self.pool is not None:
            call = self.device.driver.call
            call("vkCmdResetQueryPool", commands, self.pool, vk.U32(0), vk.U32(2))
            at = (vk.U32(TOP_STEP), self.pool, vk.U32(0))
            call("vkCmdWriteTimestamp", commands, *at)

    def end(self, commands: ctypes.c_void_p) -> None:
        """Record the second timestamp."""
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
    """The layouts of the descriptor set and of the pipeline."""
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
    """A command buffer with one timed dispatch."""
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
