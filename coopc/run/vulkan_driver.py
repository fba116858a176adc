"""A Vulkan driver loaded by ctypes: its functions, its devices and what they can do."""

import ctypes
import struct
from typing import Any

from coopc.run import vulkan_structures as vk
from coopc.run.matrix_shape import EXTENSION as MATRIX_EXTENSION
from coopc.run.service import Refusal

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
SCOPES = {1: "device", 2: "workgroup", 3: "subgroup", 5: "queue family"}
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


class VulkanError(Refusal):
    """A Vulkan call failed, or there is no usable driver or device."""


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
        """Every device of the driver."""
        handles = self.enumerate(
            "vkEnumeratePhysicalDevices", vk.POINTER, self.instance
        )
        return [PhysicalDevice(self, vk.POINTER(handle)) for handle in handles]


class PhysicalDevice:
    """A device and what it can do."""

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
        """The device's own name."""
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

    def feature_names(self) -> list[str]:
        """The features that it has, of the structures that are asked for."""
        found = [x for _, x in self._optional]
        found += [self.features, self._in11, self._in12, self._in13]
        return sorted(
            name
            for structure in found
            for name, value in zip(structure.FEATURES, structure.features, strict=True)
            if value
        )

    def matrix_shapes(self) -> list[dict[str, Any]]:
        """The fields of the MatrixShape of each multiplication that it lists."""
        if MATRIX_EXTENSION not in self.extensions:
            return []
        listed = self.driver.enumerate(
            "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
            vk.CooperativeMatrixProperties,
            self.handle,
        )
        return [
            {name: int(getattr(x, name)) for name in ("m", "n", "k")}
            | {
                name: COMPONENTS.get(getattr(x, name), f"type {getattr(x, name)}")
                for name in ("a", "b", "c", "result")
            }
            | {
                "saturating": bool(x.sat),
                "scope": SCOPES.get(x.scope, f"scope {x.scope}"),
            }
            for x in listed
        ]

    def describe(self) -> dict[str, Any]:
        """The fields of its DeviceInfo."""
        version = self.api_version
        limits = bytes(self._properties.limits)
        values = {
            name: list(struct.unpack_from(form, limits, at))
            for name, at, form in LIMITS
        }
        return {
            "name": self.name,
            "driver": f"{self._version.name.decode()} {self._version.info.decode()}",
            "api_version": [version >> 22 & 127, version >> 12 & 1023],
            "subgroup_sizes": list(self.subgroup_sizes),
            "extensions": sorted(self.extensions),
            "features": self.feature_names(),
            "matrix_shapes": self.matrix_shapes(),
            "limits": {n: v if len(v) > 1 else v[0] for n, v in values.items()},
        }
