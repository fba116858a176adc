"""Devices that a user describes in a file, TOML or JSON.

The keys are the fields of `coopc.device.Device`, and `version`, which is 1:

    version = 1
    family = "vulkan"
    source = "the engine's manual, section 3"
    flavours = ["vulkan"]
    subgroup_sizes = [32]
    matrix_shapes = ["16x16x32 f16 f16 f32", "16x16x32 s8 s8 s32"]

    [limits]
    work_items = 1024
    ...

A multiplication is a string, M x N x K and the element types of A, B, C and, if it
differs from C's, of the result; or a table of the fields of `MatrixShape`.  With
`extends = "nvidia"`, or another file, other keys are inherited from that device.
Otherwise the keys in `REQUIRED` must be given; the name is that of the file, the
preferred subgroup size the first of `subgroup_sizes`, and matrices are accessed in
row-major or column-major order.

Law (test/unit/device/test_file.py):
  written   a device that `written` writes is read again as it is
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from coopc.device.model import Device
from coopc.device.shape import MatrixShape
from coopc.diagnostic import near_match
from coopc.source import not_utf8

SUFFIXES = (".toml", ".json")
VERSION = 1
REQUIRED = (
    "family",
    "flavours",
    "source",
    "subgroup_sizes",
    "matrix_shapes",
    "limits",
)
"""What a file says that extends no device."""
DEFAULTS: Mapping[str, Any] = {
    "spirv_version": [1, 4],
    "accesses": [
        {"use": use, "layouts": ["row_major", "col_major"]} for use in ("a", "b", "acc")
    ],
}
"""Fields that `Device` has no default for; SPIR-V 1.4 is what all environments of
cooperative matrices take."""
Read = TypeVar("Read")
_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)((?: \w+){3,4}?)( saturating)?")


def read_device(
    path: Path, known: Callable[[str], Device], extended_by: tuple[Path, ...] = ()
) -> Device:
    """Return the device of a file.

    `known` finds a device that is not in a file, by its name.

    Raises:
        ValueError: the file cannot be read, or is wrong: where, and what was expected.
    """

    def made(given: dict[str, Any]) -> Device:
        given.setdefault("name", path.stem)
        match given.pop("extends", None):
            case None:
                return record(Device, _with_defaults(given))
            case str(name) if name.endswith(SUFFIXES):
                seen = (*extended_by, path.resolve())
                if (base := path.parent / name).resolve() in seen:
                    raise ValueError(f"extends: {name} extends this file")
                return record(Device, given, base=read_device(base, known, seen))
            case str(name):
                return record(Device, given, base=known(name))
            case other:
                expected = "the name of a device or of a file"
                raise ValueError(f"extends: expected {expected}, got {other!r}")

    return read_file(path, made)


def read_file(path: Path, made: Callable[[dict[str, Any]], Read]) -> Read:
    """Return what is made of the keys of a file, without its version.

    Raises:
        ValueError: the file cannot be read, or is wrong: where, and what was expected.
    """
    try:
        text = path.read_text(encoding="utf-8")
        given = _table(_loaded(path, text), "the file")
        version = given.pop("version", "none")
        if type(version) is not int or version != VERSION:
            raise ValueError(f"expected version = {VERSION}, got {version}")
        return made(given)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {not_utf8(error)}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _loaded(path: Path, text: str) -> object:
    is_toml = path.suffix == ".toml"
    try:
        return tomllib.loads(text) if is_toml else json.loads(text)
    except ValueError as error:
        kind = "TOML" if is_toml else "JSON"
        raise ValueError(f"expected {kind}, got other text: {error}") from error


def _with_defaults(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a device that extends none."""
    if missing := [key for key in REQUIRED if key not in given]:
        raise ValueError(f"expected {', '.join(missing)}, or a device that it extends")
    first = next(iter(_list(given["subgroup_sizes"], "subgroup_sizes")), 0)
    return {**DEFAULTS, "title": given["name"], "subgroup_size": first, **given}


def _table(data: object, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ValueError(f"expected {where} to be a table, got {data!r}")
    return dict(cast("dict[str, Any]", data))


def _list(data: object, where: str) -> list[object]:
    if not isinstance(data, list):
        raise ValueError(f"{where}: expected a list, got {data!r}")
    return cast("list[object]", data)


def record(
    kind: type[Read], data: object, where: str = "", base: Read | None = None
) -> Read:
    """Return a record with the fields of a table, and those of `base` beside them.

    Raises:
        ValueError: a key is unknown or missing, or has another type: which, and where.
    """
    made: Any = kind
    given, types = _table(data, where or "the file"), get_type_hints(kind)
    names = [each.name for each in fields(made)]
    begin = f"{where}." if where else ""
    for key in given:
        if key not in names:
            near = near_match(key, names) or f" (has {', '.join(names)})"
            raise ValueError(f"{begin}{key}: unknown key{near}")
    values = {
        key: _value(types[key], value, f"{begin}{key}", getattr(base, key, None))
        for key, value in given.items()
    }
    try:
        return made(**values) if base is None else replace(cast(Any, base), **values)
    except TypeError as error:  # which names the arguments that are missing
        missing = re.findall(r"'(\w+)'", str(error))
        reason = f"expected {', '.join(missing)}"
        raise ValueError(f"{where}: {reason}" if where else reason) from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}" if where else str(error)) from error


def _value(kind: Any, data: object, where: str, base: object) -> Any:
    """Return what a value of a file is as a value of a type."""
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (kind,) = (each for each in of if each is not NoneType)
        return None if data is None else _value(kind, data, where, base)
    if origin is Literal:
        if data not in of:
            near = near_match(str(data), of)
            expected = " or ".join(map(str, of))
            raise ValueError(f"{where}: expected {expected}, got {data!r}{near}")
        return data
    if origin is tuple:
        return tuple(_items(of, data, where))
    if origin is frozenset:
        return frozenset(_items(of, data, where))
    if kind is MatrixShape and isinstance(data, str):
        return _shape(data, where)
    if is_dataclass(kind):
        return record(cast("type[Any]", kind), data, where, base)
    if kind is float and type(data) is int:
        return float(data)
    if type(data) is not kind:
        names = {int: "an integer", float: "a number", bool: "true or false"}
        name = names.get(kind, "a text")
        raise ValueError(f"{where}: expected {name}, got {data!r}")
    return data


def _items(of: tuple[Any, ...], data: object, where: str) -> list[Any]:
    """Return the items of a list, of one type or of one type each."""
    found = _list(data, where)
    kinds = of if len(of) > 1 and of[1] is not Ellipsis else of[:1] * len(found)
    if len(kinds) != len(found):
        raise ValueError(f"{where}: expected {len(kinds)} items, got {len(found)}")
    return [
        _value(kind, item, f"{where}[{number}]", None)
        for number, (kind, item) in enumerate(zip(kinds, found, strict=True))
    ]


def _shape(text: str, where: str) -> MatrixShape:
    """Return the multiplication that a text says."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        example = '"16x16x32 f16 f16 f32"'
        raise ValueError(
            f"{where}: expected M x N x K and types, {example}, got {text!r}"
        )
    m, n, k = (int(found[number]) for number in (1, 2, 3))
    a, b, c, *rest = found[4].split()
    try:
        return MatrixShape(m, n, k, a, b, c, *(rest or [c]), saturating=bool(found[5]))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def written(made: object) -> str:
    """Return the TOML of a device, or of another record of a file of its own.

    Fields that have their default are left out.
    """
    tables: list[str] = []
    lines = [f"version = {VERSION}"]
    for key, value in _given(made):
        if is_dataclass(value):
            rows = (f"{name} = {_toml(each)}" for name, each in _given(value))
            tables.append("\n".join(("", f"[{key}]", *rows)))
        else:
            lines.append(f"{key} = {_toml(value)}")
    return "\n".join((*lines, *tables, ""))


def _given(record: Any) -> list[tuple[str, Any]]:
    """Return the fields of a record and their values, without those by default."""
    found = ((x, getattr(record, x.name)) for x in fields(record))
    return [
        (each.name, value)
        for each, value in found
        if value != each.default or each.default is MISSING
    ]


def _toml(value: Any) -> str:
    if isinstance(value, MatrixShape):
        elements = value.elements[:3] if value.c == value.result else value.elements
        saturating = " saturating" if value.saturating else ""
        sizes = f"{value.m}x{value.n}x{value.k}"
        return f'"{sizes} {" ".join(elements)}{saturating}"'
    if is_dataclass(value):
        rows = (f"{name} = {_toml(each)}" for name, each in _given(value))
        return f"{{ {', '.join(rows)} }}"
    if isinstance(value, frozenset):
        value = tuple(sorted(cast("frozenset[str]", value)))
    if isinstance(value, tuple):
        items = [_toml(each) for each in cast("tuple[object, ...]", value)]
        line = ", ".join(items)
        return f"[{line}]" if len(line) < 72 else "[\n  " + ",\n  ".join(items) + ",\n]"
    return json.dumps(value)  # texts, numbers and truth values are written alike
