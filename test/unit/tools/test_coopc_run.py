"""What coopc-run says of a program that is wrong, and where it runs what is right."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.native import why_not_emulated

from coopc.run.arrays import Outcome
from coopc.run.executable import Executable
from coopc.run.tiles import cpu_flags
from coopc.tools import coopc_run
from coopc.tools.coopc_run import Job

Array = np.ndarray[Any, Any]
Said = Callable[..., tuple[int, str, str]]
HEAD = "attributes {simt.kernel, simt.subgroup_size = 16 : i32"


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """The status of coopc-run on a text, its output and its errors."""

    def run(text: str, *arguments: str) -> tuple[int, str, str]:
        file = tmp_path / "k.mlir"
        file.write_text(text)
        status = coopc_run.main([str(file), *arguments])
        out, err = capsys.readouterr()
        return status, out, err.replace(f"{tmp_path}/", "")

    return run


def skip_without(tiles: str) -> None:
    """Skip where a kernel cannot run on tiles of a kind."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    if tiles == "emulated" and "amx_tile" in cpu_flags():
        pytest.skip("tiles are emulated where the processor has none")
    if tiles == "emulated" and (reason := why_not_emulated()) is not None:
        pytest.skip(reason)


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


MATMUL = """
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>)
                outs(%c : memref<?x?xf32>)
  func.return
}
"""


def test_linalg_runs_on_the_simulator(said: Said):
    assert said(MATMUL, "--check")[0] == 0


@pytest.mark.parametrize("tiles", ["none", "emulated"])
def test_what_is_right_is_inside_its_arrays(said: Said, tiles: str):
    """Memory that stages share, too, by pages and by checks."""
    skip_without(tiles)
    sizes = ["--arg=a=exact:70x50", "--arg=b=exact:50x90", "--arg=c=ones:70x90"]
    options = ["--on", "cpu", "--tiles", tiles, "--bounds", "--check", *sizes]
    assert said(MATMUL, *options)[0] == 0


def test_no_kernel(said: Said):
    status, _, error = said("func.func @f() {\n  func.return\n}")
    assert status == 1
    assert (
        "expected a kernel, a function with simt.kernel or of linalg, got none" in error
    )


DOUBLE = """
func.func @"NAME"(%a: memref<4xi32>)
    attributes {simt.kernel, simt.grid = affine_map<() -> (1)>} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xi32>
  %y = arith.addi %x, %x : i32
  memref.store %y, %a[%c0] : memref<4xi32>
  func.return
}
"""


@pytest.mark.parametrize("name", [r"x\22y", r"x\5Cy", "é"])
def test_names_that_llvm_escapes(said: Said, name: str):
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    text = DOUBLE.replace("NAME", name)
    status, out, error = said(text, "--on", "cpu", "--check")
    assert (status, error) == (0, "")
    assert "a against the simulator: the same" in out


@pytest.mark.parametrize("bounds", [[], ["--bounds"]])
def test_called_function_without_a_body(said: Said, bounds: list[str]):
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    text = DOUBLE.replace("arith.addi %x, %x : i32", "func.call @f(%x) : (i32) -> i32")
    text = f"func.func private @f(i32) -> i32\n{text}"
    status, _, error = said(text, "--on", "cpu", *bounds)
    assert status == 1
    assert error.startswith(
        "k.mlir:7:3: error: func.call: expected a function @f with a body in the module"
    )


def test_several_blocks_on_the_simulator(said: Said):
    text = DOUBLE.replace("  func.return", "  cf.br ^end\n^end:\n  func.return")
    status, _, error = said(text)
    assert status == 1
    assert error.startswith(
        "k.mlir:2:1: error: func.func: expected structured control flow, got several"
    )


@pytest.mark.parametrize("passes", ["coopc-cpu", "coopc-amx"])
def test_what_only_the_processor_runs(said: Said, passes: str):
    status, _, error = said(DOUBLE, "--on", "sim", "-p", passes)
    assert status == 1
    assert "expected --on cpu, which runs what coopc-cpu and coopc-amx make" in error


@pytest.mark.parametrize("option", ["--expect", "--save"])
def test_names_are_checked_before_the_run(
    said: Said, option: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr(Executable, "execute")
    status, _, error = said(MATMUL, option, "x=y.npy")
    assert (status, error) == (
        1,
        "coopc-run: error: expected an argument, one of a, b, c, got 'x'\n",
    )


@pytest.mark.parametrize("file", ["y.npy", "x=y.npy"])
def test_a_kernel_without_arrays(said: Said, file: str):
    text = "func.func @f() attributes {simt.kernel} {\n  func.return\n}\n"
    status, _, error = said(text, "--expect", file)
    assert (status, error) == (
        1,
        f"coopc-run: error: expected an array argument for {file!r}, got a kernel of "
        "none\n",
    )


def test_an_unknown_device_of_linalg(said: Said):
    status, _, error = said(MATMUL, "--device", "bgm")
    assert status == 1
    assert "unknown device 'bgm', did you mean 'bmg'?" in error


def test_no_check_of_what_takes_b_packed(said: Said):
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    passes = ["--on", "cpu", "--tiles", "emulated", "-p", "coopc-amx{prepack=b}"]
    status, _, error = said(MATMUL, *passes, "--check")
    assert (status, error) == (
        1,
        "coopc-run: error: expected no --check of f, whose caller packs B "
        "(prepack=b)\n",
    )


NUMBER = """
func.func @f(%a: memref<1xi32>, %n: i32) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  memref.store %n, %a[%zero] : memref<1xi32>
  func.return
}
"""


@pytest.mark.parametrize("name", ["n", "a"])
def test_numbers_that_do_not_fit(said: Said, name: str):
    status, _, error = said(NUMBER, "--arg", f"{name}=0x123456789")
    assert (status, error) == (
        1,
        f"coopc-run: error: expected {name} to be an i32, got 0x123456789: it has more "
        "than 32 bits\n",
    )


def test_numbers_have_no_shape(said: Said):
    status, _, error = said(NUMBER, "--arg", "n=rand:4")
    assert status == 1
    assert error == "coopc-run: error: expected no shape of n, a number, got 4\n"


def test_two_arrays_in_one_file(said: Said, tmp_path: Path):
    one, same = f"a={tmp_path}/x.npy", f"b={tmp_path}/../{tmp_path.name}/x.npy"
    status, _, error = said(MATMUL, "--save", one, "--save", same)
    assert status == 1
    assert "expected one array to --save in " in error
    assert not (tmp_path / "x.npy").exists()


GPU = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @f(%a: memref<16x16xf16>, %c: memref<16x16xf32>) kernel
        attributes {known_block_size = array<i32: 8, 1, 1>} {
      %c0 = arith.constant 0 : index
      %s = gpu.subgroup_mma_load_matrix %c[%c0, %c0] {leadDimension = 16 : index}
          : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
      %x = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index}
          : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
      %y = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index}
          : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
      %n = gpu.subgroup_mma_compute %x, %y, %s : !gpu.mma_matrix<16x16xf16, "AOp">,
          !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
      gpu.subgroup_mma_store_matrix %n, %c[%c0, %c0] {leadDimension = 16 : index}
          : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
      gpu.return
    }
  }
}
"""


@pytest.mark.parametrize("right", [True, False])
def test_kernels_that_a_pass_makes(
    said: Said, monkeypatch: pytest.MonkeyPatch, right: bool
):
    """They are compared with what passes before the pipeline made."""

    def execute(job: Job) -> Outcome:
        a = np.asarray(job.call.given[0], np.float32)
        product: Array = a @ a
        return ran(job, c=lambda c: c + product + (0 if right else 1))

    monkeypatch.setattr(coopc_run, "execute", execute)
    converted = "convert-gpu-mma-to-coopmatrix{subgroup-size=8}"
    passes = f"{converted},coopc-khr{{device=lavapipe}}"
    status, out, error = said(GPU, "--on", "vulkan", "-p", passes, "--check")
    assert f"c against the simulator: {'the same' if right else 'at [0, 0]'}" in out
    assert (status, error) == (
        (0, "") if right else (1, "coopc-run: error: c is not what was expected\n")
    )


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
    names = [each.name for each in job.interface.buffers]
    given = (np.array(x) for x in job.call.given if np.ndim(x))
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

    def execute(job: Job) -> Outcome:
        return ran(job, r=columns, s=(lambda s: s) if right else (lambda s: s + 1))

    monkeypatch.setattr(coopc_run, "execute", execute)
    ones = [f"--arg={name}=ones" for name in "ars"]
    device = {"vulkan": "lavapipe", "opencl": "intel-cpu"}[on]
    passes = f"coopc-khr{{device={device}}}"
    text = OWN_SLOT if on == "vulkan" else OWN_SLOT.replace("8x8", "16x16")
    status, out, error = said(text, "--on", on, "-p", passes, "--check", *ones)
    assert "r depends on which lane holds which element, the driver's choice" in out
    assert "coopmatrix.insert at" in out
    assert "as the simulator's with" not in out
    assert f"s against the simulator: {'the same' if right else 'at [0, 0]'}" in out
    assert status == (0 if right else 1)
    assert error == ("" if right else "coopc-run: error: s is not what was expected\n")


def rows(a: Array) -> Array:
    """100 in the first row: what row slices over 8 lanes make of ones."""
    a[0] = 100
    return a


def test_owners_that_the_driver_has(said: Said, monkeypatch: pytest.MonkeyPatch):
    """Row slices are tried, too."""

    def execute(job: Job) -> Outcome:
        return ran(job, r=rows)

    monkeypatch.setattr(coopc_run, "execute", execute)
    ones = [f"--arg={name}=ones" for name in "ars"]
    passes = ["--on", "vulkan", "-p", "coopc-khr{device=lavapipe}"]
    status, out, _ = said(OWN_SLOT, *passes, "--check", *ones)
    assert status == 0
    assert "the same as the simulator's with row slices" in out


@pytest.mark.usefixtures("lavapipe")
def test_slots_of_a_driver(said: Said):
    passes = "coopc-khr{device=lavapipe}"
    status, out, _ = said(OWN_SLOT, "--on", "vulkan", "-p", passes, "--check")
    assert status == 0
    assert "r depends on which lane holds which element" in out
    assert "s against the simulator: the same" in out


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
    def execute(job: Job) -> Outcome:
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


MASKED = f"""
func.func @f(%a: memref<10xi32>, %o: memref<10xi32>, %n: index, %up: index)
    {HEAD}, simt.grid = affine_map<(n, up) -> (1)>}} {{
  %lane = simt.lane_id : index
  %in = arith.cmpi slt, %lane, %n : index
  scf.if %in {{
    %at = arith.addi %lane, %up : index
    %x = memref.load %a[%at] : memref<10xi32>
    memref.store %x, %o[%lane] : memref<10xi32>
  }}
  func.return
}}
"""
OWN_MEMORY = f"""
func.func @f(%o: memref<4x16xi32>, %at: index)
    {HEAD}, simt.grid = affine_map<(n) -> (1)>}} {{
  %c0 = arith.constant 0 : index
  %lane = simt.lane_id : index
  %m = memref.alloca() : memref<4xi32, #simt.memory<private>>
  %one = arith.constant 1 : i32
  memref.store %one, %m[%at] : memref<4xi32, #simt.memory<private>>
  %x = memref.load %m[%at] : memref<4xi32, #simt.memory<private>>
  memref.store %x, %o[%c0, %lane] : memref<4x16xi32>
  func.return
}}
"""
ATOMIC = f"""
func.func @f(%o: memref<4x16xi32>, %at: index)
    {HEAD}, simt.grid = affine_map<(n) -> (1)>}} {{
  %one = arith.constant 1 : i32
  %lane = simt.lane_id : index
  %x = "memref.atomic_rmw"(%one, %o, %at, %lane) <{{kind = 1 : i64}}>
      : (i32, memref<4x16xi32>, index, index) -> i32
  func.return
}}
"""
PART = """
func.func @f(%o: memref<4x16xi32>, %at: index) attributes {simt.kernel,
    simt.grid = affine_map<(n) -> (1)>} {
  %c2 = arith.constant 2 : index
  %p = memref.subview %o[1, %at] [1, 3] [1, 2]
      : memref<4x16xi32> to memref<3xi32, strided<[2], offset: ?>>
  %q = memref.cast %p : memref<3xi32, strided<[2], offset: ?>>
      to memref<?xi32, strided<[?], offset: ?>>
  %x = memref.load %q[%c2] : memref<?xi32, strided<[?], offset: ?>>
  memref.store %x, %q[%c2] : memref<?xi32, strided<[?], offset: ?>>
  func.return
}
"""
ROW = """
func.func @f(%o: memref<4x16xi32>, %at: index, %n: index) attributes {simt.kernel,
    simt.grid = affine_map<(m, n) -> (1)>} {
  %c0 = arith.constant 0 : index
  %p = memref.subview %o[%at, 0] [1, 16] [1, 1]
      : memref<4x16xi32> to memref<16xi32, strided<[1], offset: ?>>
  %mask = vector.create_mask %n : vector<8xi1>
  %none = arith.constant dense<0> : vector<8xi32>
  %x = vector.maskedload %p[%c0], %mask, %none
      : memref<16xi32, strided<[1], offset: ?>>, vector<8xi1>, vector<8xi32>
      into vector<8xi32>
  vector.maskedstore %p[%c0], %mask, %x
      : memref<16xi32, strided<[1], offset: ?>>, vector<8xi1>, vector<8xi32>
  func.return
}
"""
TILE = """
!m = !coopmatrix.matrix<8x8xi32, acc>
func.func @f(%o: memref<16x32xi32>, %at: index) attributes {simt.kernel,
    simt.grid = affine_map<(n) -> (1)>} {
  %c0 = arith.constant 0 : index
  %m = coopmatrix.load %o[%c0, %at] row_major : memref<16x32xi32> -> !m
  coopmatrix.store %m, %o[%c0, %c0] row_major : !m, memref<16x32xi32>
  func.return
}
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong", "reason"),
    [
        (MASKED, "n=10 up=0", "n=11 up=0", "of %a: expected indices from 0 to 9, got"),
        (MASKED, "n=0 up=99", "n=3 up=8", "of %a: expected indices from 0 to 9, got"),
        (MASKED, "n=9 up=1", "n=3 up=-1", "got -1"),
        (OWN_MEMORY, "at=3", "at=4", "of %m: expected indices from 0 to 3, got 4"),
        (PART, "at=11", "at=12", "in dimension 1 of %o: expected indices from 0 to 15"),
        (ROW, "at=9 n=0", "at=9 n=1", "in dimension 0 of %o: expected indices from 0"),
        (ATOMIC, "at=3", "at=4", "dimension 0 of %o: expected indices from 0 to 3"),
        (ATOMIC, "at=0", "at=-1", "dimension 0 of %o: expected indices from 0 to 3"),
    ],
)
def test_every_access_is_checked(
    said: Said, text: str, right: str, wrong: str, reason: str
):
    """Also those that stay inside the memory of their array, and of a work-item."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

    def run(values: str) -> tuple[int, str, str]:
        given = [f"--arg={value}" for value in values.split()]
        return said(text, "--on", "cpu", "--bounds", *given)

    assert run(right)[0] == 0
    status, _, error = run(wrong)
    assert status == 1
    assert reason in error
    assert error.startswith("k.mlir:"), error


def test_parts_that_a_host_gives_a_kernel_are_checked(said: Said):
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    text = """
func.func @f(%a: tensor<64xf32>, %at: index, %e: tensor<8xf32>) -> tensor<8xf32> {
  %p = tensor.extract_slice %a[%at] [8] [1] : tensor<64xf32> to tensor<8xf32>
  %r = linalg.add ins(%p, %p : tensor<8xf32>, tensor<8xf32>)
                  outs(%e : tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}"""
    assert said(text, "--on", "cpu", "--arg", "at=56")[0] == 0
    status, _, error = said(text, "--on", "cpu", "--arg", "at=57")
    assert status == 1
    assert error == (
        "coopc-run: error: expected a part of the 64 elements of argument 0, got 8 "
        "from 57\n"
    )


@pytest.mark.parametrize("tiles", ["none", "emulated"])
def test_tiles_are_checked(said: Said, tiles: str):
    """Where a row goes on in the next one, no page says so."""
    skip_without(tiles)
    options = ["--on", "cpu", "--tiles", tiles, "--bounds"]
    assert said(TILE, *options, "--arg", "at=24")[0] == 0
    status, _, error = said(TILE, *options, "--arg", "at=25")
    assert status == 1
    assert error.startswith("k.mlir:6:3: error: "), error
    assert "in dimension 1 of %o: expected indices from 0 to 31, got" in error


@pytest.mark.parametrize(
    ("on", "option"),
    [
        ("sim", ["--bounds"]),
        ("opencl", ["--threads", "2"]),
        ("sim", ["--tiles", "none"]),
        ("sim", ["--timeout", "3"]),
        ("cpu", ["--device", "bmg"]),
        ("cpu", ["--spec", "M=3"]),
    ],
)
def test_options_that_would_do_nothing(said: Said, on: str, option: list[str]):
    """They are refused."""
    status, _, error = said(DIVIDE, "--on", on, *option)
    assert status == 1
    assert f"which {option[0]} is for, got --on {on}" in error


def test_a_file_is_compared_whoever_decides(
    said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """What the user expects is not the driver's choice."""

    def execute(job: Job) -> Outcome:
        return ran(job, r=columns)

    monkeypatch.setattr(coopc_run, "execute", execute)
    np.save(tmp_path / "r.npy", np.zeros((8, 8), np.float32))
    ones = [f"--arg={name}=ones" for name in "ars"]
    passes = ["--on", "vulkan", "-p", "coopc-khr{device=lavapipe}"]
    expect = ["--check", "--expect", f"r={tmp_path / 'r.npy'}"]
    status, _, error = said(OWN_SLOT, *passes, *expect, *ones)
    assert (status, error) == (1, "coopc-run: error: r is not what was expected\n")


ENDLESS = """
func.func @f(%o: memref<1xi32>, %n: index) attributes {simt.kernel,
    simt.subgroup_size = 16 : i32, simt.grid = affine_map<(n) -> (1)>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %o[%c0] : memref<1xi32>
    %y = arith.muli %x, %x : i32
    memref.store %y, %o[%c0] : memref<1xi32>
  }
  func.return
}
"""


def test_endless_loop(said: Said):
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    options = ["--on", "cpu", "--arg", f"n={1 << 60}", "--timeout", "1"]
    status, _, error = said(ENDLESS, *options)
    assert (status, error) == (1, "coopc-run: error: no answer within 1 s\n")


def test_interrupt(tmp_path: Path):
    """It ends coopc-run at once, and the process in which the kernel runs."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    file = tmp_path / "k.mlir"
    file.write_text(ENDLESS)
    code = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # who tests may ignore it
from coopc.tools.coopc_run import main
sys.exit(main())"""
    command = [sys.executable, "-c", code, str(file), "--on", "cpu"]
    with subprocess.Popen(
        [*command, "--arg", f"n={1 << 60}"],
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (found := children.read_text().split()):
            assert process.poll() is None
            time.sleep(0.05)
        worker = Path(f"/proc/{found[0]}/stat")
        while int(worker.read_text().rpartition(")")[2].split()[11]) < 100:
            time.sleep(0.05)  # until it has used a second
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=15)
        assert (process.returncode, error) == (130, b"")
        assert not worker.exists()


GEMM = Path(__file__).parents[3] / "examples" / "gemm.mlir"
SUM = """
func.func @sum(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.dot ins(%a, %b : tensor<?xf32>, tensor<?xf32>)
                  outs(%f : tensor<f32>) -> tensor<f32>
  func.return %r : tensor<f32>
}
"""


@pytest.mark.parametrize("place", ["sim", "cpu"])
def test_a_result_of_one_number(said: Said, tmp_path: Path, place: str):
    """Its shape is known: it is no pointer."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    np.save(tmp_path / "a.npy", np.arange(5, dtype=np.float32))
    out = tmp_path / "r.npy"
    given = ["--arg", f"a={tmp_path / 'a.npy'}", "--arg", "b=ones:5"]
    options = ["--on", place, *given, "--save", f"result={out}", "--check"]
    status, text, _ = said(SUM, *options)
    assert (status, text.count("the same")) == (0, 3)
    assert np.load(out) == np.float32(10)
    status, _, error = said(SUM, *options, "--arg", "result=zeros:1")
    assert (status, error) == (
        1,
        "coopc-run: error: expected result to be a number, got 1\n",
    )


def test_a_file_gives_sizes(said: Said, tmp_path: Path):
    """That of A is K of B, and M of C."""
    np.save(tmp_path / "a.npy", np.ones((32, 48), np.float16))
    given = ["--arg", f"a={tmp_path / 'a.npy'}", "--save", f"c={tmp_path / 'c.npy'}"]
    status, _, error = said(GEMM.read_text(), *given)
    assert (status, error) == (0, "")
    assert np.load(tmp_path / "c.npy").shape == (32, 64)


def test_what_is_expected_of_another_shape(said: Said, tmp_path: Path):
    file = tmp_path / "a.npy"
    np.save(file, np.arange(5, dtype=np.float16))
    status, _, error = said(SUM, "--expect", f"a={file}")
    assert (status, error) == (
        1,
        "coopc-run: error: expected a.npy to hold a, float32 of shape (64,), got "
        "float16 of shape (5,)\n",
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--arg", "a=rand:²x4"), "expected a shape as in 256x64xf16, got '²x4'"),
        (("--grid", "²"), "expected --grid X,Y,Z, positive numbers, got '²'"),
        (("--spec", "M=3", "--spec", "M=4"), "expected --spec M once"),
        (
            ("--spec", "M=3"),
            "expected a specialization constant of the module, which has none, got M",
        ),
        (("--arg", "a=rand:-3"), "expected a shape as in 256x64xf16, got '-3'"),
        (
            ("--size", "99999999999999"),
            "expected a to have at most 1099511627776 elements, got 99999999999999",
        ),
        (
            ("--arg", "a=zeros:1000000000000", "--arg", "b=zeros:1000000000000"),
            "out of memory: Unable to allocate 7.28 TiB for an array with shape "
            "(1000000000000,) and data type float64",
        ),
        (("--save", "result"), "expected --save NAME=FILE.npy, got 'result'"),
        (("--save", "result="), "expected --save NAME=FILE.npy, got 'result='"),
        (("--expect", "c="), "expected --expect [NAME=]FILE.npy, got 'c='"),
    ],
)
def test_words_that_are_wrong(said: Said, options: tuple[str, ...], reason: str):
    status, _, error = said(SUM, *options)
    assert (status, error) == (1, f"coopc-run: error: {reason}\n")
