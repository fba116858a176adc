"""Finds the programs that check and run what coopc emits, and tells their versions.

A program is looked for in this order:

1. `$COOPC_TOOLCHAIN/bin`, a directory that `tools/get_toolchain.sh` unpacked;
2. `.toolchain/bin` of the checkout, where `make toolchain` unpacks;
3. `$PATH`, last because a distribution's own spirv-val may be years older.

`toolchain.lock` holds the versions that figures in the tests were measured with, one
`name version` a line; `VERSIONS` in the toolchain holds those that are unpacked.
"""

import functools
import os
import shutil
import subprocess
from array import array
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CHECKOUT = PACKAGE.resolve().parent
SCRIPT = PACKAGE / "tools" / "get_toolchain.sh"
LIBRARIES = Path("root/usr/lib/x86_64-linux-gnu")
"""Where a toolchain keeps its loader and its libraries."""
JOINT_MATRIX = "SPV_INTEL_joint_matrix"


class ToolMissing(Exception):
    """What is needed is not there; `how` says in a sentence how to get it."""

    def __init__(self, name: str, how: str) -> None:
        super().__init__(f"{name} is missing: {how}")
        self.name = name
        self.how = how


def how_to_get_toolchain() -> str:
    if (CHECKOUT / "Makefile").exists():
        return "run `make toolchain`"
    return f"run `sh {SCRIPT} DIRECTORY` and set COOPC_TOOLCHAIN=DIRECTORY"


def find_toolchain() -> Path | None:
    named = os.environ.get("COOPC_TOOLCHAIN")
    for directory in (Path(named) if named else None, CHECKOUT / ".toolchain"):
        if directory is not None and (directory / "VERSIONS").exists():
            return directory.absolute()
    return None


def toolchain() -> Path:
    """The directory of an unpacked toolchain.

    Raises:
        ToolMissing: there is none.
    """
    found = find_toolchain()
    if found is None:
        raise ToolMissing("the toolchain", how_to_get_toolchain())
    return found


def find_tool(name: str) -> Path | None:
    directory = find_toolchain()
    if directory is not None and (directory / "bin" / name).exists():
        return directory / "bin" / name
    found = shutil.which(name)
    return None if found is None else Path(found)


def tool(name: str) -> Path:
    """The path of a program, such as `spirv-val`.

    Raises:
        ToolMissing: it is neither in the toolchain nor on the path.
    """
    found = find_tool(name)
    if found is None:
        raise ToolMissing(name, how_to_get_toolchain())
    return found


# --- Versions. ---


def parse_versions(text: str) -> dict[str, str]:
    r"""The versions by package name of a VERSIONS or lock file.

    >>> parse_versions("spirv-tools 2026.4-1\nlibc6 2.43-7\n")
    {'spirv-tools': '2026.4-1', 'libc6': '2.43-7'}
    """
    pairs = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def versions() -> dict[str, str]:
    """The versions of the unpacked packages by name; empty without a toolchain."""
    directory = find_toolchain()
    if directory is None:
        return {}
    return parse_versions((directory / "VERSIONS").read_text())


def locked_versions() -> dict[str, str]:
    """The versions of `toolchain.lock` by name; empty outside a checkout."""
    lock = CHECKOUT / "toolchain.lock"
    return parse_versions(lock.read_text()) if lock.exists() else {}


def version_report() -> tuple[str, ...]:
    """The lines about the toolchain that `coopc-opt --version` prints."""
    present = versions()
    if not present:
        return (f"no toolchain: {how_to_get_toolchain()}",)
    lines = [f"{name} {version}" for name, version in present.items()]
    locked = locked_versions()
    if locked:
        others = [
            f"{name} is {version}, locked {locked[name]}"
            for name, version in present.items()
            if locked.get(name, version) != version
        ]
        same = "the same versions"
        lines.append(f"toolchain.lock: {', '.join(others) or same}")
    return tuple(lines)


# --- SPIR-V tools. ---


def run_filter(name: str, *arguments: str, data: bytes) -> tuple[bytes, str | None]:
    """What a program makes of its input, and its message if it refused the input."""
    done = subprocess.run(
        [tool(name), *arguments], input=data, capture_output=True, check=False
    )
    if done.returncode == 0:
        return done.stdout, None
    message = (done.stderr or done.stdout).decode(errors="replace").strip()
    return b"", message or f"{name} ended with status {done.returncode}"


@functools.lru_cache(maxsize=256)
def validate_spirv(binary: bytes, target_env: str) -> str | None:
    """What spirv-val has against a module for a `--target-env`, or None if it is valid.

    It sees what SPV_INTEL_joint_matrix adds, which it does not know, as what
    SPV_KHR_cooperative_matrix has in its place.

    Raises:
        ToolMissing: there is no spirv-val.
    """
    if JOINT_MATRIX.encode() in binary:
        binary = _without_joint_matrix(binary)
    return run_filter("spirv-val", "--target-env", target_env, "-", data=binary)[1]


def _without_joint_matrix(binary: bytes) -> bytes:
    """Return a module of accesses without checks, and products without flags."""
    from coopc.spirv import facts
    from coopc.spirv.grammar import enumeration, instruction_facts

    load, store = (
        instruction_facts(f"OpCooperativeMatrix{x}CheckedINTEL").opcode
        for x in ("Load", "Store")
    )
    flags = enumeration("CooperativeMatrixOperands").members.values()
    signs = sum(each.value for each in flags if not each.name.endswith("INTEL"))
    capabilities = enumeration("Capability").members.values()
    own = {x.value for x in capabilities if x.needs.extension == JOINT_MATRIX}
    words = array("I", binary)
    at = facts.HEADER_WORDS
    result = words[:at]
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        operands = words[at + 1 : at + length]
        at += length or 1
        if opcode == load:
            opcode = facts.OP_MATRIX_LOAD
            del operands[6:8], operands[3:5]  # height and width, x and y
        elif opcode == store:
            opcode = facts.OP_MATRIX_STORE
            del operands[5:7], operands[1:3]
        elif opcode == facts.OP_MUL_ADD and len(operands) > 5:
            operands[5] &= signs
        text = operands.tobytes().rstrip(b"\0").decode(errors="replace")
        if (opcode, text) == (facts.OP_EXTENSION, JOINT_MATRIX):
            continue
        if not (opcode == facts.OP_CAPABILITY and operands[0] in own):
            result.append(len(operands) + 1 << 16 | opcode)
            result.extend(operands)
    return result.tobytes()


def why_invalid(binary: bytes, target_env: str) -> str | None:
    """The same as `validate_spirv`, but None where there is no spirv-val.

    It is a check of what drivers do not check, and not needed to run a module.
    """
    return (
        None if find_tool("spirv-val") is None else validate_spirv(binary, target_env)
    )


def assemble_spirv(text: str, target_env: str, *, keep_ids: bool = False) -> bytes:
    """The binary that spirv-as makes of a text; perhaps with ids that are numbers kept.

    Raises:
        ToolMissing: there is no spirv-as.
        ValueError: the text is not SPIR-V assembly.
    """
    flags = ["--preserve-numeric-ids"] if keep_ids else []
    binary, message = run_filter(
        "spirv-as",
        *("--target-env", target_env, *flags, "-o", "-", "-"),
        data=text.encode(),
    )
    if message is not None:
        raise ValueError(message.removeprefix("error: "))
    return binary
