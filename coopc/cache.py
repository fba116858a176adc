"""A folder of compiled artifacts: `COOPC_CACHE=DIR`, off without it.

An entry is a file of JSON behind its own digest.  Its name is a digest of what is known
before anything is compiled: text, passes, target, the sources of coopc, the versions of
what it stands on and of plug-ins.  What a compilation asks for on the way, devices from
files, of other packages or of the driver, and tuning files, is in the entry, and is
asked for again: an entry is used only if all of it is the same.  A damaged entry is
none.

Laws (test/unit/test_cache.py): what is stored is found as it was, remarks included; a
changed byte of any input is a miss; of two processes that store one entry each leaves a
whole one.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from coopc.device import Asked, device
from coopc.device.file import written
from coopc.explain import wrong_call
from coopc.interface import Interface
from coopc.plan.tuning import machine_answer, read_tuning
from coopc.versions import installed, source_hash

VARIABLE = "COOPC_CACHE"
FORMAT = 3
PLUGINS = ("xdsl.universe", "coopc.devices")
"""Groups of entry points by which other packages add to coopc."""
ANSWERS: Mapping[str, Callable[[str], str]] = {
    "device": lambda name: written(device(name)),
    "tuning": lambda path: written(read_tuning(path)),
    "machine": machine_answer,
}
"""What is asked for while something is compiled, and what answers again."""


def entry_path(*asked: str) -> Path:
    """Return the file of what is asked for.

    Raises:
        CompileError: `COOPC_CACHE` is no folder, and cannot become one.
    """
    folder = os.environ[VARIABLE]
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"expected a folder for compiled artifacts, got '{folder}': {error}"
        raise wrong_call(VARIABLE, message) from error
    return Path(folder) / f"{_digest([*asked, *_versions()])}.json"


def find(path: Path) -> dict[str, Any] | None:
    """Return what is stored, the members of `coopc.compiler.Artifact`.

    None where that is nothing, damaged, or out of date.
    """
    try:
        digest, _, text = path.read_text("utf-8").partition("\n")
        if digest != _digest(text):
            return None
        found = json.loads(text)
        for kind, name, seen in found["asked"]:
            if _digest(ANSWERS[kind](name)) != seen:
                return None
        members: dict[str, Any] = found["entry"]
        for name in ("plans", "remarks", "device"):
            if members[name] is not None:
                members[name] = tuple(members[name])
        return members | {
            "bytes": b64decode(members["bytes"]),
            "interface": tuple(map(Interface.from_json, members["interface"])),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(
    path: Path, entry: Mapping[str, Any], seen: Mapping[tuple[Asked, str], str]
) -> None:
    """Store an entry, whole or not at all; a folder that takes none is no error."""
    members = {
        **entry,
        "bytes": b64encode(entry["bytes"]).decode("ascii"),
        "interface": [x.to_json() for x in entry["interface"]],
    }
    asked = [(*each, _digest(answer)) for each, answer in seen.items()]
    text = json.dumps({"entry": members, "asked": asked})
    folder = path.parent
    with suppress(OSError), NamedTemporaryFile("w", dir=folder, delete=False) as file:
        try:
            file.write(f"{_digest(text)}\n{text}")
            file.close()
            os.replace(file.name, path)
        finally:
            Path(file.name).unlink(missing_ok=True)


@cache
def _versions() -> tuple[str, ...]:
    """Return what decides besides the arguments: it is the same for this process."""
    plugins = [
        f"{x.name} {x.value} {x.dist.name if x.dist else ''} "
        f"{x.dist.version if x.dist else ''}"
        for group in PLUGINS
        for x in sorted(entry_points(group=group), key=lambda x: x.name)
    ]
    used = (f"{name} {installed(name)}" for name in ("xdsl", "llvmlite", "numpy"))
    return (str(FORMAT), sys.version, source_hash(), *plugins, *used)


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
