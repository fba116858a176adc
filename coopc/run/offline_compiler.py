"""Compiles SPIR-V for Intel GPUs with Intel's offline compiler, and counts the result.

    isa = compile_kernel(binary, "bmg", registers=256)
    assert not isa.check({**CLEAN, "simd": 16, "dpas": 16, "load2d": 2})

No GPU is needed.  Each call is a process of its own, under a limit of time and memory:
the compiler crashes on some modules, and takes all memory on others.
"""

import subprocess
import tempfile
from pathlib import Path

from coopc.device import DEVICES
from coopc.run.isa import Isa, Resources, analyse, read_ze_info
from coopc.run.toolchain import tool

TIME_LIMIT_S = 120
MEMORY_LIMIT_KIB = 16 << 20
_NO_CODE = ("Intel_Symbol_Table",)
"""Sections with text that is no kernel."""
_NOISE = ("Command was:", "Compilation from IR", "Build failed")
"""How lines begin that say nothing."""


class CompilerRefused(Exception):
    """Intel's compiler did not take a module, or did not survive it."""


def devices() -> tuple[str, ...]:
    """The names of the devices that it compiles for."""
    return tuple(name for name, device in DEVICES.items() if device.family == "xe")


def compile_kernel(binary: bytes, device: str, *, registers: int | None = None) -> Isa:
    """Compile a module of OpenCL's flavour, of one kernel or several, for a device.

    `registers` are those of a thread, one of `Device.registers`; None for what the
    compiler chooses by itself.

    Raises:
        ValueError: no such device, or it has no such number of registers.
        ToolMissing: there is no ocloc.
        CompilerRefused: with what the compiler said.
    """
    flags = options(device, registers)
    with tempfile.TemporaryDirectory(prefix="coopc-isa-") as name:
        folder = Path(name)
        source = folder / "module.spv"
        source.write_bytes(binary)
        log = _run(
            "compile",
            *("-file", str(source), "-spirv_input", "-device", device),
            *("-output", "kernel", "-out_dir", str(folder / "out"), *flags),
            folder=folder,
        )
        made = sorted((folder / "out").glob("*.bin")) or sorted(
            (folder / "out").glob("*.ar")
        )
        if not made:
            raise CompilerRefused(f"ocloc wrote no binary\n{log}".rstrip())
        dump = folder / "dump"
        _run(
            "disasm",
            *("-file", str(made[0]), "-device", device, "-dump", str(dump)),
            folder=folder,
        )
        info = dump / ".ze_info"
        resources = read_ze_info(info.read_text()) if info.exists() else {}
        kernels = {
            name: analyse(path.read_text(), resources.get(name, Resources()))
            for path in sorted(dump.glob(".text.*.asm"))
            if (name := path.name.removeprefix(".text.").removesuffix(".asm"))
            not in _NO_CODE
        }
    if not kernels:
        raise CompilerRefused("ocloc wrote a binary without kernels")
    warnings = (line for line in log.splitlines() if "warning" in line.lower())
    return Isa(device, kernels, tuple(warnings))


def options(device: str, registers: int | None = None) -> list[str]:
    """The options of ocloc that ask for a number of registers.

    Raises:
        ValueError: no such device, or it has no such number of registers.
    """
    if device not in devices():
        raise ValueError(
            f"expected a device of {', '.join(devices())}, which Intel's compiler "
            f"knows, got {device!r}"
        )
    # The compiler crashes where it is asked for another number.
    has = DEVICES[device].registers
    if registers is None:
        return []
    if registers not in has:
        raise ValueError(
            f"expected {' or '.join(map(str, sorted(has)))} registers, which {device} "
            f"has, got {registers}"
        )
    return ["-options", f"-ze-exp-register-file-size={registers}"]


def _run(*arguments: str, folder: Path) -> str:
    """Run ocloc and return what it printed.

    Raises:
        ToolMissing: there is no ocloc.
        CompilerRefused: it failed, with what it printed.
    """
    limited = f'ulimit -v {MEMORY_LIMIT_KIB}; exec "$@"'
    try:
        done = subprocess.run(
            ["sh", "-c", limited, "sh", str(tool("ocloc")), *arguments],
            check=False,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise CompilerRefused(f"ocloc: no result in {TIME_LIMIT_S} s") from None
    lines = (line.strip() for line in done.stdout.splitlines())
    output = "\n".join(x for x in lines if x and not x.startswith(_NOISE))
    if status := done.returncode:
        end = f"crashed, signal {-status}"
        if status > 0:
            end = f"failed with status {status}"
        raise CompilerRefused(f"ocloc {end}\n{output}".rstrip())
    return output
