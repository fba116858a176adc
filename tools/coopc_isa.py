"""coopc-isa: what Intel's compiler makes of a module, counted; no GPU is needed.

    coopc-isa gemm.mlir -p 'coopc-xe{device=bmg}' --device bmg,pvc --registers 256
    coopc-isa gemm.spvasm --clean --expect dpas=16 load2d=2 simd=16 'inner.total<=26'

The module is IR, SPIR-V text or a SPIR-V binary.  The status is 1, and each difference
a line, where the counts are not those that are expected.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from coopc.compiler import compile
from coopc.device import DEVICES
from coopc.diagnostic import CompileError, Diagnostic, Kind, Note, Place
from coopc.explain import usage_errors, wrong_call
from coopc.remarks import print_remark
from coopc.run.isa import CLEAN, Isa, KernelIsa
from coopc.run.offline_compiler import CompilerRefused, compile_kernel, options
from coopc.run.toolchain import ToolMissing, assemble_spirv, validate_spirv
from coopc.source import decode, read_bytes
from coopc.tools.driver import FAILED, ArgumentParser, run_tool, whole_number
from coopc.tools.help import add_about

if TYPE_CHECKING:
    from rich.table import Table

TOOL = "coopc-isa"
MAGIC = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")
"""How a SPIR-V binary begins, in either byte order."""
TEXT = re.compile(rb"\s*(;|Op[A-Z]|%\w+ = Op)")
"""How SPIR-V text begins."""
PIPE_COLUMNS = 160
"""Width of the table where it is not for a terminal."""


def main(args: Sequence[str] | None = None) -> int:
    differences: list[Diagnostic] = []
    status = run_tool(TOOL, lambda: differences.extend(body(parser().read(args))))
    for difference in differences:
        print(difference, file=sys.stderr)
    return FAILED if differences else status


def parser() -> ArgumentParser:
    found = ArgumentParser(
        prog=TOOL,
        description="Count the instructions that Intel's offline compiler, ocloc, "
        "emits for a module.",
        epilog="KEY is a column of the table or a kind of instruction, such as "
        "load_block2d.d16. inner.KEY counts only the innermost loop, NAME:KEY only "
        "kernel NAME.",
    )
    add = found.add_argument
    add("file", help="IR, SPIR-V text or binary; - for the standard input")
    add(
        "--device",
        default="bmg",
        metavar="NAMES",
        help="devices, as in dg2,pvc (default: bmg)",
    )
    add_about(add, "devices", fits=lambda device: device.dpas is not None)
    add("-p", "--passes", default="", help="passes to run, as with coopc-opt")
    add("-t", "--target", help="a target that gives SPIR-V (default: spirv-binary)")
    add(
        "--registers",
        type=whole_number(1),
        help="general registers per thread: 128, 256, ...",
    )
    add(
        "--expect",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=NUMBER",
        help="fail unless these are the counts; KEY<=NUMBER is an upper limit",
    )
    add(
        "--clean",
        action="store_true",
        help="fail if there are calls, spills or private memory",
    )
    add("--json", action="store_true", help="print all figures as JSON")
    add("--asm", action="store_true", help="print the disassembly, too")
    return found


def body(args: argparse.Namespace) -> list[Diagnostic]:
    """Do what the arguments ask for; return what is not as expected."""
    exactly = dict(CLEAN) if args.clean else {}
    at_most: dict[str, int] = {}
    for text in args.expect:
        match = re.fullmatch(r"([^=<]+)(<?=)(\d+)", text)
        if match is None:
            reason = f"expected --expect KEY=NUMBER or KEY<=NUMBER, got {text!r}"
            raise wrong_call(TOOL, reason)
        (exactly if match[2] == "=" else at_most)[match[1]] = int(match[3])
    devices = tuple(dict.fromkeys(args.device.split(",")))
    with usage_errors(TOOL):
        for device in devices:
            options(device, args.registers)
    content = read_bytes(args.file)
    isas = [
        compiled(args, binary_for(args, content, device), device) for device in devices
    ]
    with usage_errors(TOOL):
        reasons = [x for isa in isas for x in isa.check(exactly, at_most)]
    show(isas, args)
    return [Diagnostic(Kind.EMIT, reason, Place(args.file)) for reason in reasons]


def binary_for(args: argparse.Namespace, content: bytes, device: str) -> bytes:
    if content[:4] not in MAGIC and TEXT.match(content) is None:
        content = emitted(args, content, device)
        if content[:4] not in MAGIC and TEXT.match(content) is None:
            what = f"expected a target that gives SPIR-V, got {args.target}"
            raise wrong_call(TOOL, what)
    if content[:4] in MAGIC:
        return content
    text = decode(content, args.file).text
    version = re.search(r";\s*Version:\s*(\d+\.\d+)", text)
    with usage_errors(args.file, ToolMissing):
        return assemble_spirv(text, f"spv{version[1] if version else '1.4'}")


def emitted(args: argparse.Namespace, content: bytes, device: str) -> bytes:
    target = args.target or f"spirv-binary{{device={device}}}"
    text = decode(content, args.file).text
    try:
        return compile(
            text, args.passes, target, name=args.file, on_remark=print_remark
        ).bytes
    except CompileError as error:
        if args.passes or "tt.func" not in text:
            raise
        note = Note(f"Triton's IR is compiled by -p 'coopc-xe{{device={device}}}'")
        found = error.diagnostic
        raise CompileError(replace(found, notes=(*found.notes, note))) from error


def compiled(args: argparse.Namespace, binary: bytes, device: str) -> Isa:
    if (size := len(binary)) < 20:
        reason = f"expected a SPIR-V header, 20 bytes, got {size} bytes"
        raise CompileError(Diagnostic(Kind.INPUT, reason, Place(args.file)))
    environment = f"spv{binary[6]}.{binary[5]}"
    with usage_errors(TOOL, ToolMissing):
        reason = validate_spirv(binary, environment)
        if reason is not None:
            reason = f"spirv-val ({environment}): {reason}"
            raise CompileError(Diagnostic(Kind.EMIT, reason, Place(args.file)))
        try:
            return compile_kernel(binary, device, registers=args.registers)
        except CompilerRefused as error:
            reason = f"{device}: {error}"
            found = Diagnostic(Kind.EMIT, reason, Place(args.file))
            raise CompileError(found) from error


# --- Output. ---


def show(isas: Sequence[Isa], args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps([as_json(isa, assembly=args.asm) for isa in isas], indent=1))
        return
    if args.asm:
        for isa in isas:
            for name, kernel in isa.kernels.items():
                print(f"// {isa.device}: {name}\n{kernel.assembly}")
    print_table(isas)


def as_json(isa: Isa, *, assembly: bool) -> dict[str, Any]:
    kernels: dict[str, Any] = {}
    for name, kernel in isa.kernels.items():
        found = kernels[name] = asdict(kernel)
        found["inner"] = None if kernel.inner is None else asdict(kernel.inner)
        if not assembly:
            del found["assembly"]
    return {"device": isa.device, "kernels": kernels, "warnings": isa.warnings}


COLUMNS = (
    *("dpas", "dpasw", "load2d", "prefetch2d", "store2d", "send"),
    *("mov", "alu", "sync", "control", "calls", "total"),
)
KERNEL_COLUMNS = ("simd", "registers", "spill", "private")
BAD = ("calls", "spill", "private")
"""Columns in which anything but 0 is bad."""


def print_table(isas: Sequence[Isa]) -> None:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_COLUMNS)
    lines = [
        [isa.device, name, *row]
        for isa in isas
        for name, kernel in isa.kernels.items()
        for row in rows(kernel)
    ]
    wide = table_of(lines)
    fits = Console(width=PIPE_COLUMNS).measure(wide).maximum <= console.width
    console.print(wide if fits else table_of(lines, upright=True))
    for isa in isas:
        for warning in isa.warnings:
            console.print(f"{isa.device}: {warning}", markup=False)
        most = max(DEVICES[isa.device].registers, default=0)
        of_kernels = [kernel.resources for kernel in isa.kernels.values()]
        if any(x.spill and x.registers < most for x in of_kernels):
            hint = f"--registers {most} gives threads more registers"
            console.print(f"{isa.device}: {hint}", markup=False)


def table_of(lines: Sequence[Sequence[str]], *, upright: bool = False) -> Table:
    """Return a table with a line, or for narrow terminals a column, for each line."""
    from rich.table import Table

    words = ("device", "kernel", "of")
    cells = [(*words, *COLUMNS, *KERNEL_COLUMNS), *lines]
    heads, *rows = zip(*cells, strict=True) if upright else cells
    table = Table(box=None, pad_edge=False)
    for number, head in enumerate(heads):
        is_word = number < (1 if upright else len(words))
        table.add_column(head, justify="left" if is_word else "right")
    for row in rows:
        table.add_row(*row)
    return table


def rows(kernel: KernelIsa) -> list[list[str]]:
    """Return the rows of a kernel: its innermost loop, if there is one, and all."""
    found: list[list[str]] = []
    if kernel.inner is not None:
        loop = [cell(name, getattr(kernel.inner, name)) for name in COLUMNS]
        found.append(["loop", *loop, *[""] * len(KERNEL_COLUMNS)])
    whole = [cell(name, getattr(kernel.whole, name)) for name in COLUMNS]
    own = [cell(name, getattr(kernel.resources, name)) for name in KERNEL_COLUMNS]
    return [*found, ["kernel", *whole, *own]]


def cell(name: str, number: int) -> str:
    return f"[bold red]{number}[/]" if number and name in BAD else str(number)


if __name__ == "__main__":
    sys.exit(main())
