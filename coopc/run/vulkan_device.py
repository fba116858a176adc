"""A logical Vulkan device: one compute queue, its memory, objects and their release."""

import ctypes
from contextlib import ExitStack
from typing import Any

from coopc.run import vulkan_structures as vk
from coopc.run.vulkan_driver import PhysicalDevice, VulkanError

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
        """Call a function of the device."""
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
        """The address that the device has of a buffer."""
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
