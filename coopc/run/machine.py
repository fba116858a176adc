"""What machine this is: a device and its driver, by the names that they give."""

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coopc.run.toolchain import ToolMissing
from coopc.run.worker import RunFailed


@dataclass(frozen=True, slots=True)
class HostMachine:
    device: str
    driver: str
    """With its version."""


@cache
def machine_of(flavour: str, device: str) -> HostMachine:
    """Return what runs kernels that are compiled for a device.

    The flavour is vulkan, opencl, or cpu for this processor.

    Raises:
        ValueError: there is none, or it cannot be asked.
    """
    try:
        if flavour == "vulkan":
            from coopc.run.execute import vulkan_session

            with vulkan_session(device) as session:
                return HostMachine(session.info.name, session.info.driver)
        if flavour == "opencl":
            from coopc.run.execute import kept
            from coopc.run.opencl import Session

            with kept(Session.start, amx=False) as session:
                return HostMachine(session.info.name, session.info.driver)
        from coopc.run.native import version

        return HostMachine(processor(), version())
    except (RunFailed, ToolMissing) as error:
        raise ValueError(str(error)) from error


def processor(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of this processor, as Linux has it."""
    lines = path.read_text().splitlines() if path.exists() else []
    names = (x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
    return next(names, sys.platform)
