"""What coopc-run says of a program that is wrong, and where it runs what is right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coopc.run.execute import Outcome
from coopc.tools import coopc_run
from coopc.tools.run_job import Job

Array = np.ndarray[Any, Any]
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


OWN_SLOT = """
!m = !coopmatrix.matrix<8x8xf32, acc>
func.func @f(%a: memref<8x8xf32>, %r: memref<8x8xf32>, %s: memref<8x8xf32>)
    attributes {simt.kernel, simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %hundred = arith.constant 100.0 : f32
  %x = coopmatrix.load %a[%c0, %c0] row_major : memref<8x8xf32> -> !m
  %y = coopmatrix.insert %hundred, %x[%c0] : !m
  coopmatrix.store %y, %r[%c0, %c0] row_major : !m, memref<8x8xf32>
  coopmatrix.store %x, %s[%c0, %c0] row_major : !m, memref<8x8xf32>
  func.return
}
"""
"""Each lane changes the first of its elements, of which a driver does not say where
they are; s does not depend on that."""


def ran(job: Job, **arrays: Callable[[Array], Array]) -> Outcome:
    """What a driver would do that computes other arrays from those given."""
    names = coopc_run.names_of_buffers(job.interface)
    given = (np.array(x) for x in job.given if np.ndim(x))
    after = (
        arrays[name](array) if name in arrays else array
        for name, array in zip(names, given, strict=True)
    )
    return Outcome(tuple(after), (1.0,), "a driver")


def columns(a: Array) -> Array:
    """100 in the last column: what another owner of the elements makes of ones."""
    a[:, -1] = 100
    return a


@pytest.mark.parametrize("on", ["vulkan", "opencl"])
@pytest.mark.parametrize("right", [True, False])
def test_what_depends_on_the_drivers_choice(
    said: Said, monkeypatch: pytest.MonkeyPatch, on: str, right: bool
):
    """It is said, and is not wrong; what does not depend on it is compared."""

    def execute(args: object, job: Job) -> Outcome:
        return ran(job, r=columns, s=(lambda s: s) if right else (lambda s: s + 1))

    monkeypatch.setattr(coopc_run, "execute", execute)
    ones = [f"--arg={name}=ones" for name in "ars"]
    device = {"vulkan": "lavapipe", "opencl": "intel-cpu"}[on]
    passes = f"coopc-khr{{device={device}}}"
    text = OWN_SLOT if on == "vulkan" else OWN_SLOT.replace("8x8", "16x16")
    status, out, error = said(text, "--on", on, "-p", passes, "--check", *ones)
    assert "r depends on which lane holds which element, the driver's choice" in out
    assert "coopmatrix.insert at" in out
    assert f"s against the simulator: {'the same' if right else 'at [0, 0]'}" in out
    assert status == (0 if right else 1)
    assert error == ("" if right else "coopc-run: error: s is not what was expected\n")


@pytest.mark.usefixtures("lavapipe")
def test_slots_of_a_driver(said: Said):
    passes = "coopc-khr{device=lavapipe}"
    assert said(OWN_SLOT, "--on", "vulkan", "-p", passes, "--check")[0] == 0


LANE_TABLE = """
!m = !coopmatrix.matrix<2x3xi32, acc>
func.func @f(%a: memref<2x3xi32>, %table: memref<4xi32>) attributes {simt.kernel,
    simt.subgroup_size = 4 : i32, simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %lane = simt.lane_id : index
  %mine = memref.load %table[%lane] : memref<4xi32>
  %m = coopmatrix.load %a[%c0, %c0] row_major : memref<2x3xi32> -> !m
  %length = coopmatrix.length !m : index
  %n = scf.for %i = %c0 to %length step %c1 iter_args(%it = %m) -> (!m) {
    %e = coopmatrix.extract %it[%i] : !m
    %s = arith.addi %e, %mine : i32
    %next = coopmatrix.insert %s, %it[%i] : !m
    scf.yield %next : !m
  }
  coopmatrix.store %n, %a[%c0, %c0] row_major : !m, memref<2x3xi32>
  func.return
}
"""
"""Each lane adds a number of its own to its elements."""


@pytest.mark.parametrize(
    ("tiles", "passes"),
    [("auto", None), ("none", None), ("none", "coopc-cpu{subgroup-size=8}")],
)
def test_owners_are_those_that_passes_chose(said: Said, tiles: str, passes: str | None):
    """Row slices on the processor, of as many lanes as the passes chose."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    text = LANE_TABLE
    if passes is not None:
        text = text.replace("simt.subgroup_size = 4 : i32,", "")
        text = text.replace("memref<4xi32>", "memref<8xi32>")
    more = [] if passes is None else ["-p", passes]
    arguments = ["--on", "cpu", "--tiles", tiles, "--check", "--arg", "table=iota"]
    status, out, _ = said(text, *arguments, *more)
    assert status == 0, out


def test_undefined_behaviour_is_said_before_anything_runs(
    said: Said, monkeypatch: pytest.MonkeyPatch
):
    def execute(args: object, job: Job) -> Outcome:
        raise AssertionError("it runs")

    monkeypatch.setattr(coopc_run, "execute", execute)
    passes = "coopc-lanes{device=intel-cpu}"
    status, _, error = said(
        DIVIDE, "--on", "opencl", "-p", passes, "--check", "--arg", "by=0"
    )
    assert status == 1
    assert error.startswith("k.mlir:6:3: error: arith.divsi: undefined behaviour: "), (
        error
    )
