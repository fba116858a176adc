"""Devices that are made from options, as in `any{flavour=vulkan subgroup-size=32}`.

A factory is a function whose parameters are the options, with the types `int` and
`Literal`; what has no default has to be given.
"""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, get_args, get_type_hints

from coopc.device.model import Device
from coopc.diagnostic import either, near_match

FACTORIES = {
    "any": "coopc.device.vulkan:any_device",
    "driver": "coopc.run.driver_device:driver_device",
}
"""Where factories are, by name: the core imports nothing that runs drivers."""
SUMMARIES = {
    "any": "what the API guarantees of any device; abi-json lists what else is needed",
    "driver": "what a Vulkan driver of this machine says of itself",
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
    kinds = _kinds(_factory(name))
    forms = (f"{x}={'N' if k is int else '|'.join(get_args(k))}" for x, k in kinds)
    return " ".join(forms)


def _kinds(factory: Any) -> list[tuple[str, Any]]:
    """Return the options of a factory and their types, without the text before them."""
    types = get_type_hints(factory)
    _, *names = inspect.signature(factory).parameters
    # Of an optional integer only the integer can be given.
    kinds = (int if int in get_args(types[x]) else types[x] for x in names)
    return [(x.replace("_", "-"), kind) for x, kind in zip(names, kinds, strict=True)]


def _options(device: str, factory: Any, given: list[str]) -> Mapping[str, Any]:
    kinds, values = dict(_kinds(factory)), dict[str, Any]()
    for each in given:
        key, _, value = each.partition("=")
        if key not in kinds:
            near = near_match(key, kinds) or f" (has {', '.join(kinds)})"
            raise ValueError(f"{device}: unknown option {key!r}{near}")
        kind, name = kinds[key], key.replace("-", "_")
        if name in values:
            raise ValueError(f"{device}: expected option {key} once")
        if kind is int and value.isdecimal():
            values[name] = int(value)
        elif kind is not int and value in get_args(kind):
            values[name] = value
        else:
            wanted = "a whole number" if kind is int else either(get_args(kind))
            got = value or "none"
            raise ValueError(f"{device}: option {key}: expected {wanted}, got {got}")
    for name, each in inspect.signature(factory).parameters.items():
        option = name.replace("_", "-")
        if option in kinds and each.default is each.empty and name not in values:
            raise ValueError(f"{device}: expected option {option}")
    return values
