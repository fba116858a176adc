"""What LLVM IR is emitted for: a triple, from a device."""

from __future__ import annotations

from dataclasses import dataclass

from coopc.device import Device

TRIPLES = {"xe": "spir64-unknown-unknown", "amx": "x86_64-unknown-linux-gnu"}
"""By the family of the device."""

SPIR64_LAYOUT = (
    "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
)
"""The data layout of spir64, as OpenCL's front end has it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a module is emitted for."""

    device: Device
    cpu: str | None = None
    """What the functions say as target-cpu; None to leave it to who compiles them."""
    prefix: str = ""
    """What the names of functions that are defined begin with."""
    matrix: bool = False
    """Whether matrices are vectors, and operations on them calls: the IR of the SYCL
    matrix design, which work-items and vectorised code share."""

    def __post_init__(self) -> None:
        if self.device.family not in TRIPLES:
            raise ValueError(
                "expected an Intel GPU or amx, for which LLVM IR is emitted, got "
                f"{self.device.name}"
            )
        if self.matrix and self.gpu:
            raise ValueError(
                "expected amx with matrix=true, whose compiler knows "
                f"llvm.experimental.matrix, got {self.device.name}"
            )

    @property
    def gpu(self) -> bool:
        """Whether it is spir64 rather than x86-64."""
        return self.device.family == "xe"

    @property
    def triple(self) -> str:
        """The target triple."""
        return TRIPLES[self.device.family]

    @property
    def layout(self) -> str:
        """The data layout; empty where LLVM's own is right."""
        return SPIR64_LAYOUT if self.gpu else ""
