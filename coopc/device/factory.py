"""Devices that are made from options, as in `any{flavour=vulkan subgroup-size=32}`.

A factory is a function whose parameters are the options, with the types `int` and
`Literal`; what has no default has to be given.
"""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from coopc.device.model import Device
from coopc.diagnostic import near_match

if TYPE_CHECKING:
    from coopc.options import Option

FACTORIES = {
    "any": "coopc.device.vulkan:any_device",
    "driver": "coopc.run.driver_device:driver_device",
}
"""Where factories are, by name: the core imports nothing that runs drivers."""
SUMMARIES = {
    "any": "the API's guaranteed minimum; -t abi-json lists what else a module needs",
    "driver": "as reported by a Vulkan driver of this machine",
}
"""What they make, for help."""

_CALL = re.compile(r"\s*([\w-]+)\s*(?:\{(.*)\})?\s*", re.DOTALL)


@cache
def made_device(text: str) -> Device | None:
    """Return the device that a factory makes, or None if the text names no factory.

    Raises:
        ValueError: the options are wrong, or the driver cannot be asked.

    >>> made_device("any{subgroup-size=32}").limits.local_bytes
    16384
    >>> made_device("any{lanes=32}")
    Traceback (most recent call last):
    ...
    ValueError: any: unknown option 'lanes' (has subgroup-size, flavour, maintenance1)
    """
    found = _CALL.fullmatch(text)
    if found is None or found[1] not in FACTORIES:
        return None
    return _factory(found[1])(text, **options_of_device(text))


def options_of_device(text: str) -> Mapping[str, Any]:
    """Return the options of a device that a factory makes; none of other devices.

    Raises:
        ValueError: the options are wrong.

    >>> options_of_device("driver{loader=lavapipe index=1}")
    {'loader': 'lavapipe', 'index': 1}
    """
    found = _CALL.fullmatch(text)
    if found is None or found[1] not in FACTORIES:
        return {}
    return _options(found[1], _factory(found[1]), (found[2] or "").split())


def _factory(name: str) -> Any:
    module, _, function = FACTORIES[name].partition(":")
    return getattr(import_module(module), function)


def usage(name: str) -> str:
    """Return the options of a factory, as help has them.

    >>> usage("any")
    'subgroup-size=N flavour=opencl|vulkan maintenance1=no|yes'
    """
    return " ".join(option.usage for option in _known(_factory(name)).values())


def _known(factory: Any) -> dict[str, "Option"]:
    """Return the options of a factory by the names that users write."""
    from coopc.options import Option  # imports xDSL, which few devices need

    types = get_type_hints(factory)
    _, *parameters = inspect.signature(factory).parameters.values()
    found = (Option(x.name, types[x.name], x.default) for x in parameters)
    return {option.name: option for option in found}


def _options(device: str, factory: Any, given: list[str]) -> Mapping[str, Any]:
    known, values = _known(factory), dict[str, Any]()
    for each in given:
        key, _, text = each.partition("=")
        if (option := known.get(key)) is None:
            near = near_match(key, known) or f" (has {', '.join(known)})"
            raise ValueError(f"{device}: unknown option {key!r}{near}")
        if option.field in values:
            raise ValueError(f"{device}: expected option {key} once")
        value = int(text) if text.isdecimal() else text or "none"
        if reason := option.why_not((value,)):
            raise ValueError(f"{device}: option {key}: {reason}")
        values[option.field] = value
    for option in known.values():
        if option.default is inspect.Parameter.empty and option.field not in values:
            raise ValueError(f"{device}: expected option {option.name}")
    return values
