"""Remarks go where the caller of the passes wants them, and nowhere else."""

import threading

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

import coopc
from coopc.remarks import remark, remarks_to

SLOW = """
func.func @f(%m: memref<?x?xf32, strided<[?, 2]>>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %at = arith.constant 0 : index
  %v = coopmatrix.load %m[%at, %at] row_major
    : memref<?x?xf32, strided<[?, 2]>> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %v, %m[%at, %at] row_major
    : !coopmatrix.matrix<8x8xf32, acc>, memref<?x?xf32, strided<[?, 2]>>
  func.return
}
"""


def located() -> ModuleOp:
    op = ModuleOp([])
    op.location = FileLineColLoc(StringAttr("a.mlir"), IntAttr(3), IntAttr(5))
    return op


def test_standard_error_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    remark(located(), "slow")
    assert capsys.readouterr().err == "a.mlir:3:5: remark: builtin.module: slow\n"


def test_the_innermost_sink_of_the_thread(capsys: pytest.CaptureFixture[str]) -> None:
    outer: list[str] = []
    inner: list[str] = []
    other = threading.Thread(target=remark, args=(ModuleOp([]), "elsewhere"))
    with remarks_to(outer.append):
        with remarks_to(inner.append):
            remark(ModuleOp([]), "one", by="a-pass")
            other.start()
            other.join()
        remark(ModuleOp([]), "two")
    assert inner == ["remark: a-pass: builtin.module: one"]
    assert outer == ["remark: builtin.module: two"]
    assert capsys.readouterr().err == "remark: builtin.module: elsewhere\n"


def test_an_artifact_has_the_remarks_of_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    heard: list[str] = []
    pipeline = "coopc-khr{device=lavapipe}"
    found = coopc.compile(SLOW, pipeline, name="f.mlir", on_remark=heard.append)
    assert found.remarks == tuple(heard)
    assert heard[0].startswith("f.mlir:5:3: remark: coopmatrix.load: ")
    assert capsys.readouterr().err == ""


def test_remarks_of_a_failure_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Unless the caller has them already."""
    pipeline = "coopc-khr{device=lavapipe},convert-coopmatrix-to-xe{device=bmg}"
    heard: list[str] = []
    for on_remark in (None, heard.append):
        with pytest.raises(coopc.CompileError):
            coopc.compile(SLOW, pipeline, on_remark=on_remark)
    (line,) = capsys.readouterr().err.splitlines()
    assert heard == [line]


def test_remarks_end_with_the_compilation(capsys: pytest.CaptureFixture[str]) -> None:
    """Also of one that fails."""
    with pytest.raises(coopc.CompileError):
        coopc.compile("func.func @f() { func.return }", "", "no-such-target")
    remark(ModuleOp([]), "later")
    assert "later" in capsys.readouterr().err
