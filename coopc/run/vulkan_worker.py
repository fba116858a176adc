"""The worker process that owns a Vulkan device; `coopc.run.vulkan` starts it.

It needs nothing beside the standard library, because for lavapipe it runs in a python
that is started through the toolchain's loader.
"""

from collections.abc import Sequence

from coopc.run.frame import Blob, Header
from coopc.run.service import serve
from coopc.run.vulkan_device import Device
from coopc.run.vulkan_dispatch import Shader, dispatch
from coopc.run.vulkan_driver import API_VERSION, Driver, PhysicalDevice, VulkanError


class VulkanWorker:
    """What the process holds between requests."""

    def __init__(self) -> None:
        self.driver: Driver | None = None
        self.device: Device | None = None

    def list(
        self, request: Header, blobs: Sequence[bytes]
    ) -> tuple[Header, Sequence[Blob]]:
        """Load the driver and describe every device."""
        self.driver = Driver(request["library"])
        return {"devices": [x.describe() for x in self.driver.devices()]}, ()

    def open(
        self, request: Header, blobs: Sequence[bytes]
    ) -> tuple[Header, Sequence[Blob]]:
        """Load the driver, open one device and describe it."""
        self.driver = Driver(request["library"])
        physical = select(self.driver.devices(), request["index"])
        self.device = Device(physical)
        return physical.describe(), ()

    def run(
        self, request: Header, blobs: Sequence[bytes]
    ) -> tuple[Header, Sequence[Blob]]:
        """Dispatch a shader: the blobs are code, push constants, constants, buffers."""
        assert self.device is not None, "expected an open request first"
        code, push_constants, *rest = blobs
        spec_ids: list[int] = request["spec_ids"]
        count = len(spec_ids)
        x, y, z = request["groups"]
        shader = Shader(
            code=code,
            entry=request["entry"],
            groups=(x, y, z),
            push_constants=push_constants,
            specialization=dict(zip(spec_ids, rest[:count], strict=True)),
            subgroup_size=request["subgroup_size"],
            full_subgroups=request["full_subgroups"],
            addresses=tuple(request["addresses"]),
        )
        result = dispatch(self.device, shader, rest[count:], request["repeats"])
        return {"milliseconds": result.milliseconds}, result.buffers


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
    """Serve requests until standard input ends."""
    worker = VulkanWorker()
    serve({"list": worker.list, "open": worker.open, "run": worker.run})
