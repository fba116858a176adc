"""The option `device` of passes: a device by its name, or what the module says."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import simt


def device_of(name: str | None, module: ModuleOp, who: str) -> devices.Device:
    """Return the device of an option, or the one that the module is compiled for.

    Args:
        name: what the option says, if anything.
        module: whose `simt.target` counts without it.
        who: the name of the pass, for the message.

    Raises:
        PassFailedException: neither names one that there is.
    """
    if name is None:
        target = simt.target_of(module)
        if target is None:
            raise PassFailedException(
                f"{who}: expected a device, {who}{{device=..}}, or {simt.TARGET} on "
                "the module, got neither"
            )
        name = target.device.data
    try:
        return devices.device(name)
    except ValueError as error:
        raise PassFailedException(f"{who}: {error}") from error
