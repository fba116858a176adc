"""coopc-triton: compile a Triton kernel from Python or Triton IR.

    coopc-triton kernels.py:add --signature "*fp32:16, *fp32:16, i32" --constexpr B=128
    coopc-triton add.ttir -t spirv --on vulkan

Python needs Triton (the extra `coopc[triton]`), but no GPU; a dumped TTIR does not.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import gc
import importlib.util
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coopc.device import device as device_named
from coopc.explain import usage_errors, wrong_call
from coopc.launcher import PLACES, LaunchTarget, build
from coopc.source import Source, read_source
from coopc.tools.driver import ArgumentParser, run_tool, whole_number, write_output
from coopc.tools.help import add_about

TOOL = "coopc-triton"


def main(args: Sequence[str] | None = None) -> int:
    return run_tool(TOOL, lambda: body(parser().read(args)))


def parser() -> ArgumentParser:
    found = ArgumentParser(
        prog=TOOL, description="Compile a Triton kernel from Python or Triton IR."
    )
    add = found.add_argument
    add("kernel", help="FILE.py:FUNCTION, or a file of Triton's IR")
    what = 'argument types, as in "*fp16:16, i32, 3": :16 means divisible by 16, '
    add("--signature", metavar="TYPES", help=f"{what}a number is a constexpr")
    what = "set a constexpr: a number, True, False, None or a string"
    add("--constexpr", metavar="N=VALUE", action="append", default=[], help=what)
    warps = whole_number(1, 64)
    what = "subgroups per program, where several can share one"
    add("--num-warps", type=warps, metavar="N", help=what)
    add(
        "--on",
        choices=[*PLACES],
        help="where the kernel will run (default: where the device is, or cpu)",
    )
    add("--device", metavar="NAME", help="compile for this device, such as lavapipe")
    add_about(add, "devices")
    add("-p", "--pipeline", metavar="PASSES", help="run these passes, not the device's")
    what = "what to print: Triton's IR, the IR after the passes, code, or the "
    kinds = ("ttir", "mlir", "spirv", "llvm-ir", "isa")
    what += "instruction counts of Intel's compiler (default: the code for --on)"
    add("-t", "--target", choices=kinds, help=what)
    add("-o", "--output", metavar="FILE", help="write to this file")
    return found


def body(args: argparse.Namespace) -> int | None:
    source = source_of(args)
    kind, on = args.target, args.on
    if kind == "ttir":
        return write_output(args.output, source.text.encode())
    if kind == "isa":
        return isa(args, source)
    with usage_errors(TOOL, OSError):
        if on is None and args.device is not None:
            flavours = device_named(args.device).flavours
            if not flavours or kind == "llvm-ir":
                what = "expected no --device for code of a CPU, which is this machine's"
                raise ValueError(f"{what}, got {args.device}")
            on = "vulkan" if "vulkan" in flavours else "opencl"
        on = on or ("vulkan" if kind == "spirv" else "cpu")
        if kind == "llvm-ir" and on != "cpu":
            raise ValueError(f"expected --on cpu with -t llvm-ir, got {on}")
        if kind == "spirv" and on not in ("vulkan", "opencl"):
            raise ValueError(f"expected --on vulkan|opencl with -t spirv, got {on}")
        built = build(source, LaunchTarget(on, args.device, args.pipeline))
        text = built.lowered if kind == "mlir" else built.text
    return write_output(args.output, text.encode())


def source_of(args: argparse.Namespace) -> Source:
    """Return the IR of Triton: what a file holds, or what Triton makes of Python."""
    file, _, name = args.kernel.rpartition(":")
    if name.endswith(".py"):
        raise wrong_call(TOOL, f"expected {name}:FUNCTION, got {name}")
    if not file.endswith(".py"):
        if args.signature or args.constexpr:
            what = "expected FILE.py:FUNCTION with --signature or --constexpr, got "
            raise wrong_call(TOOL, f"{what}{args.kernel}")
        return read_source(args.kernel)
    if args.signature is None:
        read_source(file)
        what = f'the types of what {name} takes, as in "*fp16, i32"'
        raise wrong_call(TOOL, f"expected --signature, {what}")
    from coopc.triton.front_end import ttir

    # Triton's bindings report as leaks what is not collected when the process ends.
    atexit.unregister(gc.freeze)
    values = dict(constexpr(each) for each in args.constexpr)
    kernel = function_in(Path(file), name)
    return Source(ttir(kernel, args.signature, values, args.num_warps), f"{name}.ttir")


def constexpr(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise wrong_call(TOOL, f"expected --constexpr NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def function_in(path: Path, name: str) -> Any:
    """Run a file of Python and return what a name is in it.

    What it prints goes to the standard error: the output is the kernel alone.
    """
    read_source(str(path))
    sys.path.insert(0, str(path.parent.absolute()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        what = f"{path} cannot be imported: {type(error).__name__}: {error}"
        raise wrong_call(TOOL, what) from error
    if not hasattr(module, name):
        raise wrong_call(TOOL, f"expected a function {name} in {path}")
    return getattr(module, name)


def isa(args: argparse.Namespace, source: Source) -> int:
    """Let coopc-isa count instructions of the kernel, and write what it prints."""
    from coopc.tools import coopc_isa

    device = args.device or "bmg"
    table = StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(table):
        file = Path(folder) / Path(source.name).name
        file.write_text(source.text)
        passes = args.pipeline or f"coopc-xe{{device={device}}}"
        status = coopc_isa.main([str(file), "-p", passes, "--device", device])
    if status == 0:
        write_output(args.output, table.getvalue().encode())
    return status


if __name__ == "__main__":
    sys.exit(main())
