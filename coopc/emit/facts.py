"""A flavour on a device: what emission asks before it says something."""

from __future__ import annotations

from dataclasses import dataclass

from coopc.device import Device
from coopc.device.model import Bfloat16, Flavour


@dataclass(frozen=True, slots=True)
class Facts:
    """What a module is emitted for."""

    flavour: Flavour
    device: Device
    addresses: bool = False
    """Whether kernels get addresses of physical storage buffers under Vulkan, not
    bound ones."""

    def __post_init__(self) -> None:
        if self.addresses and self.flavour != "vulkan":
            raise ValueError(
                "expected the flavour vulkan, which has physical storage buffers, "
                f"got {self.flavour}"
            )
        if self.flavour not in self.device.flavours:
            has = " or ".join(self.device.flavours) or "no flavour of SPIR-V"
            raise ValueError(
                f"expected {has}, which {self.device.name} has, got {self.flavour}"
            )

    @property
    def vulkan(self) -> bool:
        """Whether it is Vulkan's flavour: Logical addressing, 32-bit index."""
        return self.flavour == "vulkan"

    @property
    def bf16(self) -> Bfloat16 | None:
        """What the device has for bf16: a type, conversions of 16 bits, or nothing."""
        return self.device.bfloat16


def as_flavour(name: str) -> Flavour:
    """A flavour by its name.

    Raises:
        ValueError: there is none of that name.
    """
    match name:
        case "vulkan":
            return "vulkan"
        case "opencl":
            return "opencl"
        case _:
            raise ValueError(f"expected the flavour vulkan or opencl, got {name!r}")
