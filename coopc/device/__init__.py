"""What a device can do, and the devices, as checked data with the sources named.

A device is one of `DEVICES`, described in a file (`coopc.device.file`), or made from
options (`coopc.device.factory`).

>>> device("lavapipe").matrix_shapes[1]
MatrixShape(m=8, n=8, k=8, a='f16', b='f16', c='f32', result='f32', saturating=False)
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from coopc.device.block_io import *
from coopc.device.cpu import AMX, INTEL_CPU
from coopc.device.factory import FACTORIES, made_device
from coopc.device.model import *
from coopc.device.shape import *
from coopc.device.vulkan import (
    ADA,
    AMPERE,
    ARC,
    BLACKWELL,
    LAVAPIPE,
    NVIDIA,
    RDNA3,
    RDNA4,
    XE2,
)
from coopc.device.xe import BMG, DG2, LNL, PTL, PVC
from coopc.diagnostic import near_match

DEVICES = {
    device.name: device
    for device in (
        *(LAVAPIPE, NVIDIA, AMPERE, ADA, BLACKWELL, RDNA3, RDNA4, ARC, XE2),
        *(DG2, PVC, BMG, LNL, PTL, INTEL_CPU, AMX),
    )
}


def device(name: str) -> Device:
    """Return the device of a name, of a file if it ends as a file's, or of options.

    Packages add devices by entry points of the group `coopc.devices`: the name of one,
    and where the `Device` is.

    Raises:
        ValueError: where there is none, with the one that is spelt nearly so.

    >>> device("bgm")
    Traceback (most recent call last):
    ...
    ValueError: unknown device 'bgm', did you mean 'bmg'? (have lavapipe, nvidia, \
ampere, ada, blackwell, rdna3, rdna4, arc, xe2, dg2, pvc, bmg, lnl, ptl, intel-cpu, \
amx, any, driver)
    """
    if (found := DEVICES.get(name)) is not None:
        return found
    found = _found(name)
    note_asked("device", name, lambda: _written(found))
    return found


Asked: TypeAlias = Literal["device", "tuning", "machine"]
"""What a compilation asks for that is not in its text: devices that are not `DEVICES`,
tuning files, and the machine that these are for."""
_asked: ContextVar[dict[tuple[Asked, str], str] | None] = ContextVar(
    "asked", default=None
)


def note_asked(kind: Asked, name: str, answer: Callable[[], str]) -> None:
    if (asked := _asked.get()) is not None:
        asked[kind, name] = answer()


@contextmanager
def noting_asked() -> Generator[dict[tuple[Asked, str], str]]:
    """While this holds, note what is asked for, and the answers as text."""
    found: dict[tuple[Asked, str], str] = {}
    token = _asked.set(found)
    try:
        yield found
    finally:
        _asked.reset(token)


def _written(found: Device) -> str:
    from coopc.device.file import written  # reads no files where none is asked for

    return written(found)


def packaged_devices() -> dict[str, Callable[[], Device]]:
    """Return what imports the devices of other packages, which may raise ValueError."""
    from importlib.metadata import EntryPoint, entry_points

    def load(point: EntryPoint) -> Device:
        where = f"the entry point {point.value} of {point.name!r}"
        try:
            found: object = point.load()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{where} cannot be loaded: {reason}") from error
        if isinstance(found, Device):
            return found
        raise ValueError(f"expected {where} to be a Device, got {found!r}")

    return {x.name: partial(load, x) for x in entry_points(group="coopc.devices")}


def _found(name: str) -> Device:
    if name.endswith((".toml", ".json")):
        from coopc.device.file import read_device

        return read_device(Path(name), device)
    if (made := made_device(name)) is not None:
        return made
    if name in (packaged := packaged_devices()):
        return packaged[name]()
    known = [*DEVICES, *FACTORIES, *packaged]
    near = near_match(name.lower(), known)
    if not near and Path(name).suffix:
        near = ": a file is named .toml or .json"
    raise ValueError(f"unknown device {name!r}{near} (have {', '.join(known)})")
