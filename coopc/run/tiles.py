"""What tiles of AMX are for the code of this process: a processor's, or emulated ones.

    tiles = best()          # Tiles.AMX or NONE
    prepare(tiles, needed)  # before code with tiles runs

The kernel lets a process use the tiles of a processor when it asks for them.  On others
the emulator, `amxemu.c`, executes the instructions that trap; it is built once for each
version of its source, into the user's cache directory.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

from coopc.run.toolchain import ToolMissing

ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18
"""Of Linux: the system call, what is asked for, and the number of the tiles' state."""
EMULATED = frozenset({"amx-tile", "amx-int8", "amx-bf16", "amx-fp16"})
"""What the emulator executes."""
SOURCE = Path(__file__).with_name("amxemu.c")
FLAGS = ("-O2", "-mavx2", "-mfma", "-mf16c", "-shared", "-fPIC")
LIBRARIES = ("-ldl", "-lm")
COMPILERS = ("cc", "gcc", "clang")
AVX512 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


class Tiles(StrEnum):
    AMX = "amx"
    EMULATED = "emulated"
    NONE = "none"


def best(flags: Collection[str] | None = None) -> Tiles:
    """The tiles of this processor, or of one with such flags of Linux; or none."""
    has_tiles = "amx_tile" in (cpu_flags() if flags is None else flags)
    return Tiles.AMX if has_tiles else Tiles.NONE


def lacking(needed: Collection[str], flags: Collection[str]) -> list[str]:
    """What code needs and a processor has not, as LLVM names it.

    >>> lacking({"amx-tile", "amx-fp16"}, {"avx2", "amx_tile", "amx_bf16"})
    ['amx-fp16']
    >>> lacking({"avx512vnni"}, {"avx512f", "avx512_vnni"})
    []
    """
    known = {x.replace("_", "") for x in flags}
    return sorted(x for x in needed if x.replace("-", "") not in known)


def prepare(tiles: Tiles, needed: Collection[str]) -> None:
    """Make ready for code that needs features, as LLVM names them: of AMX or others.

    Raises:
        ValueError: the processor or its tiles have not what is needed, or the kernel
            refuses them.
        ToolMissing: the emulator cannot be built.
    """
    vectors = {x for x in needed if not x.startswith("amx-")}
    if missing := lacking(vectors, cpu_flags()):
        raise ValueError(
            f"expected a CPU with {', '.join(missing)}, which the kernel needs"
        )
    needed = {*needed} - vectors
    if not needed:
        return
    match tiles:
        case Tiles.AMX:
            if missing := lacking(needed, cpu_flags()):
                raise ValueError(
                    f"expected a CPU with {', '.join(missing)}, which the kernel "
                    "needs, got one without; --tiles none does without tiles"
                )
            library = ctypes.CDLL(None, use_errno=True)
            if library.syscall(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA):
                raise ValueError(
                    "expected the kernel to let this process use AMX tiles, got "
                    f"error {ctypes.get_errno()}; --tiles none does without"
                )
        case Tiles.EMULATED:
            if missing := sorted(set(needed) - EMULATED):
                raise ValueError(f"the emulator has no {', '.join(missing)}")
            if "amx_tile" in cpu_flags():
                raise ValueError(
                    "tiles can be emulated only where their instructions trap, "
                    "but this CPU has AMX"
                )
            emulation().amxemu_install()
        case Tiles.NONE:
            raise ValueError(
                "expected code without tiles, got some that needs "
                f"{', '.join(sorted(needed))}; --tiles emulated runs it on any "
                "CPU, slowly"
            )


@functools.cache
def emulation() -> ctypes.CDLL:
    """The emulator, loaded.

    Raises:
        ToolMissing: it cannot be built.
    """
    return ctypes.CDLL(str(emulator()))


# --- The processor, and the emulator. ---


def cpu_flags(path: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """The features of this machine's CPU, as Linux names them; empty elsewhere."""
    if not path.exists():
        return frozenset()
    lines = path.read_text().splitlines()
    flags = next((x for x in lines if x.startswith("flags")), ":")
    return frozenset(flags.partition(":")[2].split())


def why_impossible(flags: Collection[str], *, computes_f16: bool = False) -> str | None:
    """Why OpenCL code for AMX cannot run on a CPU, emulated or not, or None.

    Intel's runtime compiles the code around the tiles for AVX-512, and what it
    `computes_f16` for AVX512-FP16, as a CPU has whose tiles have f16.

    >>> why_impossible({"avx2", "avx512f", "avx512bw", "avx512cd", "avx512dq"})
    'this CPU has no avx512vl'
    """
    needed = (*AVX512, "avx512_fp16") if computes_f16 else AVX512
    missing = [x for x in needed if x not in flags]
    return f"this CPU has no {', '.join(missing)}" if missing else None


def emulator() -> Path:
    """The emulator's library, built if it is not yet.

    Raises:
        ToolMissing: there is no C compiler, or it cannot compile the emulator.
    """
    key = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()
    base = os.environ.get("XDG_CACHE_HOME")
    directory = (Path(base) if base else Path.home() / ".cache") / "coopc"
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
