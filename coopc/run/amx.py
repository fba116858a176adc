"""Builds the emulator that runs AMX code on a CPU without AMX, and says where it works.

The emulator, `amxemu.c`, executes the tile instructions that trap.  It is built once
for each version of its source, into the user's cache directory.
"""

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from coopc.run.toolchain import ToolMissing

SOURCE = Path(__file__).with_name("amxemu.c")
FLAGS = ("-O2", "-mavx2", "-mfma", "-mf16c", "-shared", "-fPIC")
LIBRARIES = ("-ldl", "-lm")
COMPILERS = ("cc", "gcc", "clang")
AVX512 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


def cpu_flags(path: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """The features of this machine's CPU, as Linux names them; empty elsewhere."""
    if not path.exists():
        return frozenset()
    lines = path.read_text().splitlines()
    flags = next((x for x in lines if x.startswith("flags")), ":")
    return frozenset(flags.partition(":")[2].split())


def why_impossible(flags: Collection[str]) -> str | None:
    """Why OpenCL code for AMX cannot run on a CPU, emulated or not, or None.

    Intel's run-time compiles the code around the tiles for AVX-512.

    >>> why_impossible({"avx2", "avx512f", "avx512bw", "avx512cd", "avx512dq"})
    'this CPU has no avx512vl'
    """
    missing = [x for x in AVX512 if x not in flags]
    return f"this CPU has no {', '.join(missing)}" if missing else None


def emulator() -> Path:
    """The emulator's library, built if it is not yet.

    Raises:
        ToolMissing: there is no C compiler, or it cannot compile the emulator.
    """
    key = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()
    directory = cache_directory()
    library = directory / f"amxemu-{key[:16]}.so"
    if library.exists():
        return library
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        built = Path(scratch) / library.name
        command = [*c_compiler(), *FLAGS, str(SOURCE), "-o", str(built), *LIBRARIES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ToolMissing("the AMX emulator", f"it does not build: {done.stderr}")
        built.replace(library)  # whole or not at all, also for a second builder
    return library


def cache_directory() -> Path:
    """The directory of what coopc builds once for a user."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "coopc"


def c_compiler() -> list[str]:
    """The command of a C compiler: $CC, the system's, or that of the package ziglang.

    Raises:
        ToolMissing: there is none.
    """
    named = shlex.split(os.environ.get("CC", ""))
    for command in ([named] if named else []) + [[x] for x in COMPILERS]:
        if shutil.which(command[0]):
            return command
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise ToolMissing("a C compiler", "install cc, or the Python package ziglang")
