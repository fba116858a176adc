"""set-target: sets `simt.target`, the flavour and device to compile for.

Before:  any module.
After:   the same, with `simt.target`.
Fails:   for unknown devices, for a flavour that the device does not have, and if
         neither the options nor the module decide flavour and device.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.device import DEVICES, Flavour
from coopc.device import device as device_named
from coopc.diagnostic import either
from coopc.dialects import simt


def target(device: str, flavour: str | None) -> simt.TargetAttr:
    """The target that is `device`, by name, with its `flavour` or its only one.

    Raises:
        ValueError: There is none.
    """
    known = device_named(device)
    if not known.flavours:
        others = (each.name for each in DEVICES.values() if each.flavours)
        raise ValueError(
            f"expected a device that runs SPIR-V, {either(others)}, got {device}, "
            "which runs none: coopc-amx compiles for it"
        )
    have = " or ".join(known.flavours)
    if flavour is None and len(known.flavours) == 1:
        flavour = known.flavours[0]
    if flavour is None or flavour not in known.flavours:
        asked = "no flavour" if flavour is None else f"'{flavour}'"
        raise ValueError(
            f"expected a flavour of {device}, which has {have}, got {asked}"
        )
    return simt.TargetAttr.of(simt.Flavour(flavour), device)


@dataclass(frozen=True)
class SetTargetPass(ModulePass):
    name = "set-target"

    device: str | None = None
    """A device of `--list devices`; by default that of the module's target."""
    flavour: Flavour | None = None
    """The SPIR-V environment; by default the device's, if it has only one."""
    asked: str = field(default=name, init=False, compare=False, repr=False)
    """Whose option `device` messages name."""

    @classmethod
    def of(
        cls, pipeline: str, device: str | None, flavour: Flavour | None = None
    ) -> SetTargetPass:
        """Return it as a step of a pipeline that has the option `device`."""
        found = cls(device, flavour)
        object.__setattr__(found, "asked", pipeline)
        return found

    def __post_init__(self) -> None:
        if self.device is not None:
            target(self.device, self.flavour)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.device is not None:
            op.attributes[simt.TARGET] = target(self.device, self.flavour)
        elif simt.target_of(op) is None:
            reason = (
                f"expected a device, {self.asked}{{device=..}}, or {simt.TARGET} on "
                "the module, got neither"
            )
            op.emit_error(reason, PassFailedException(reason))
