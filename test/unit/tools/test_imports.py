"""What small runs of the tools do without: importing is most of their time."""

import subprocess
import sys
from pathlib import Path

import pytest

from coopc.ir.uniformity import SOURCES
from coopc.sim.undefined import MOVES, PAYLOADS
from coopc.universe import everything

EXAMPLES = Path(__file__).parents[3] / "examples"
GEMM = str(EXAMPLES / "gemm.mlir")
TRITON = str(EXAMPLES / "triton_gemm.ttgir")
KHR = "coopc-khr{device=lavapipe}"
XE = "coopc-xe{device=bmg}"
LINALG = ("xdsl.dialects.linalg", "xdsl.dialects.tensor", "linalg_forms")
LLVM = "xdsl.dialects.llvm"
SCRIPT = """
import sys
from coopc.tools.{tool} import main
status = main(sys.argv[1:])
loaded = {{name.removeprefix("coopc.dialects.") for name in sys.modules}}
found = {{"{unused}"}} & loaded
sys.exit(status or (str(found) if found else 0))
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "unused"),
    [
        ("coopc_opt", (GEMM, "-p", KHR, "-t", "spirv"), ("numpy", "xe", "tt", *LINALG)),
        ("coopc_opt", (TRITON, "-p", XE, "-t", "spirv"), ("numpy", *LINALG, LLVM)),
        ("coopc_run", (GEMM,), ("rich", "coopc.run.worker", "xe", "tt")),
    ],
)
def test_not_imported(
    tool: str, arguments: tuple[str, ...], unused: tuple[str, ...]
) -> None:
    script = SCRIPT.format(tool=tool, unused='", "'.join(unused))
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def operations() -> set[str]:
    dialects = (load() for load in everything().all_dialects.values())
    return {op.name for dialect in dialects for op in dialect.operations}


def test_tables_by_name_hold_names_of_operations() -> None:
    """So that a table needs no import of the dialects that it names."""
    named = {*MOVES, *PAYLOADS, *SOURCES, "xe.block_load", "xe.split_dpas"}
    assert named <= operations()
