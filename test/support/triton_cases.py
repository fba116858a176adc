"""The kernels of test/inputs/triton: their launches, and what engines make of them.

`python test/support/triton_cases.py` prints docs/triton.md.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import compile, new_context
from coopc.diagnostic import CompileError
from coopc.interface_call import Addresses
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.source import Source
from coopc.universe import everything

ROOT = Path(__file__).parents[2]
INPUTS = ROOT / "test" / "inputs" / "triton"
DOCUMENT = ROOT / "docs" / "triton.md"

ENGINES = {
    "cpu": ("coopc-cpu", "llvm-ir", "vectors"),
    "amx": ("coopc-amx", "llvm-ir", "vectors"),
    "lanes": ("coopc-lanes{device=intel-cpu}", "spirv", "lanes"),
    "khr": ("coopc-khr{device=nvidia}", "spirv", "lanes"),
    "xe": ("coopc-xe{device=bmg}", "spirv", "lanes"),
}
"""By engine: the pipeline, the target, what does all that its matrix engine does not.
"""
MATRIX_ENGINES = {
    "amx.tile_mulf": "AMX tiles",
    "amx.tile_muli": "AMX tiles",
    "coopmatrix.mul_add": "KHR matrices",
    "xe.dpas": "DPAS",
}
"""What an operation that is left shows."""

HEAD = """\
# Triton kernels on each engine

How each pipeline compiles the kernels in `test/inputs/triton` with default options:
the unit that computes matrix products (or everything, if there are none), or why the
kernel is refused. Kernels are Triton 3.9 IR without layouts. Regenerate with `python
test/support/triton_cases.py`; `test/unit/pipelines/test_triton_kernels.py` checks this
page.

"""


def cases() -> dict[str, Any]:
    """Return what makes the launch of each kernel, by name."""
    if str(INPUTS) not in sys.path:
        sys.path.append(str(INPUTS))
    return importlib.import_module("references").CASES


def source_of(kernel: str, layouts: bool = False) -> Source | None:
    """Return the IR of a kernel, of Triton 3.9 or with the layouts of 3.3."""
    names = [f"{kernel}.bmg.ttgir"]
    if not layouts:
        names = [f"{kernel}.ttir", f"{kernel}.bmg.ttir"]
    for name in names:
        if (path := INPUTS / name).exists():
            return Source(path.read_text(), name)
    return None


def compiled(source: Source, passes: str) -> ModuleOp:
    """Return what passes make of a kernel."""
    module = parse(new_context(everything()), source)
    steps = read_passes(passes, everything().all_passes)
    Run(new_context(everything()), source).apply(module, steps)
    return module


def arrays_of(case: Any) -> dict[str, Any]:
    """Return the arguments of a launch that are given by name: arrays and numbers."""
    found: dict[str, Any] = {}
    for name, value in case.arguments.items():
        if hasattr(value, "buffers"):
            found[name] = Addresses(tuple(x.data.copy() for x in value.buffers))
            continue
        data: Any = getattr(getattr(value, "base", value), "data", value)
        found[name] = data.copy() if hasattr(data, "dtype") else data
    return found


def wrong(case: Any, after: dict[str, Any]) -> list[str]:
    """Return where arrays are not what is expected of a launch."""
    decode = importlib.import_module("launch").decode
    known = dict(after)
    for name, value in after.items():
        if isinstance(value, Addresses):
            known |= {f"{name}[{n}]": x for n, x in enumerate(value.arrays)}
    found = (
        case.check(name, decode(case.buffer(name).type, known[name]))
        for name in case.expected
    )
    return [x for x in found if x is not None]


def given_in_files(name: str, value: Any, folder: Path) -> str:
    """Return what `--arg` says of an argument, whose arrays are put into files."""
    if isinstance(value, Addresses):
        parts = enumerate(value.arrays)
        return ",".join(given_in_files(f"{name}{n}", x, folder) for n, x in parts)
    if hasattr(value, "dtype"):
        np.save(folder / f"{name}.npy", value)
        return str(folder / f"{name}.npy")
    return str(value)


def cell(kernel: str, engine: str) -> str:
    """Return what an engine makes of a kernel, in a few words."""
    passes, target, otherwise = ENGINES[engine]
    source = source_of(kernel)
    assert source is not None, kernel
    try:
        module = compiled(source, passes)
        compile(source.text, passes, target, name=source.name)  # emission refuses, too
    except CompileError as error:
        # Types, whose text differs between kernels, end the reason.
        return f"refused: {error.diagnostic.message.partition(', got !')[0]}"
    left = {op.name for op in module.walk()}
    return next((x for op, x in MATRIX_ENGINES.items() if op in left), otherwise)


def row(kernel: str) -> str:
    """Return the line of a kernel."""
    return f"| {' | '.join([kernel, *(cell(kernel, x) for x in ENGINES)])} |\n"


def document(kernels: Sequence[str]) -> str:
    """Return the table of some kernels."""
    lines = [f"| {' | '.join(['kernel', *ENGINES])} |\n", f"|{'---|' * 6}\n"]
    return HEAD + "".join([*lines, *map(row, kernels)])


if __name__ == "__main__":
    sys.stdout.write(document([*cases()]))
