"""What coopc-run says of a program that is wrong, and where it runs what is right."""

from collections.abc import Callable
from pathlib import Path

import pytest

from coopc.tools import coopc_run

Said = Callable[..., tuple[int, str, str]]
HEAD = "attributes {simt.kernel, simt.subgroup_size = 16 : i32"


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """The status of coopc-run on a text, its output and its errors."""

    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        file = tmp_path / "k.mlir"
        file.write_text(text)
        parsed = coopc_run.parser()
        status = coopc_run.run_tool(
            coopc_run.TOOL,
            lambda: coopc_run.body(parsed.read([str(file), *arguments])),
        )
        out, err = capsys.readouterr()
        return status, out, err.replace(f"{tmp_path}/", "")

    return run


def test_input_is_verified(said: Said):
    """On the simulator too, where no pass runs."""
    text = """
func.func @f(%a: memref<8x8xf32>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %m = coopmatrix.load %a[%c0, %c0] packed
      : memref<8x8xf32> -> !coopmatrix.matrix<8x8xf32, acc>
  func.return
}
"""
    status, _, error = said(text)
    assert status == 1
    assert error.startswith("k.mlir:4:3: error: coopmatrix.load: expected use b")


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_kernels_attributes_are_verified(said: Said, on: str):
    text = "func.func @f(%a: memref<8xf32>) " + HEAD.replace("16", "7")
    status, _, error = said(f"{text}}} {{\n  func.return\n}}", "--on", on)
    assert status == 1
    assert error.startswith("k.mlir:1:1: error: ")
    assert "power of two up to 128, got 7" in error


def test_interface_is_refused_with_its_place(said: Said):
    text = HEAD.replace("16", "128")
    status, _, error = said(
        f"func.func @f(%a: memref<8xf32>) {text}}} {{\n  func.return\n}}"
    )
    assert status == 1
    assert error.startswith("k.mlir:1:1: error: func.func: expected a subgroup size")


def test_linalg_runs_on_the_simulator(said: Said):
    text = """
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>)
                outs(%c : memref<?x?xf32>)
  func.return
}
"""
    assert said(text, "--check")[0] == 0


def test_no_kernel(said: Said):
    status, _, error = said("func.func @f() {\n  func.return\n}")
    assert status == 1
    assert "-p says the passes" in error


DIVIDE = f"""
func.func @f(%a: memref<16xi32>, %by: i32)
    {HEAD}, simt.grid = affine_map<() -> (1)>}} {{
  %lane = simt.lane_id : index
  %x = memref.load %a[%lane] : memref<16xi32>
  %q = arith.divsi %x, %by : i32
  memref.store %q, %a[%lane] : memref<16xi32>
  func.return
}}
"""


def test_crash_on_the_processor_is_one_line(said: Said):
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    status, out, error = said(DIVIDE, "--on", "cpu", "--arg", "by=0")
    assert (status, out) == (1, "")
    assert error.startswith("coopc-run: error: the kernel divides an integer by zero")
    assert error.count("\n") == 1
    status, out, _ = said(DIVIDE, "--on", "cpu", "--arg", "by=3", "--check")
    assert status == 0
    assert "a against the simulator: the same" in out
