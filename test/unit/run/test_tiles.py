"""Which tiles there are, and what is said where they are not what code needs."""

from pathlib import Path

import pytest

from coopc.run import tiles
from coopc.run.native import Native, needed_features, optimised
from coopc.run.tiles import Tiles
from coopc.run.worker import RunFailed
from coopc.tools.coopc_run import parser, prepare

INT8 = frozenset({"amx-tile", "amx-int8"})
EMERALD = frozenset({"avx512f", "amx_tile", "amx_int8", "amx_bf16"})


def without(monkeypatch: pytest.MonkeyPatch, flags: frozenset[str]) -> None:
    def given() -> frozenset[str]:
        return flags

    monkeypatch.setattr(tiles, "cpu_flags", given)


def test_the_processor_goes_first() -> None:
    assert tiles.best(EMERALD) is Tiles.AMX
    assert tiles.best(frozenset()) is Tiles.NONE, "traps are asked for"


def test_features(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, EMERALD)
    with pytest.raises(ValueError, match="with amx-fp16, which the kernel needs"):
        tiles.prepare(Tiles.AMX, {"amx-tile", "amx-fp16"})
    with pytest.raises(ValueError, match="this CPU has AMX"):
        tiles.prepare(Tiles.EMULATED, INT8)
    with pytest.raises(ValueError, match="got some that needs amx-tile"):
        tiles.prepare(Tiles.NONE, {"amx-tile"})
    with pytest.raises(ValueError, match="the emulator has no amx-fp8"):
        tiles.prepare(Tiles.EMULATED, {"amx-fp8"})
    for each in Tiles:
        tiles.prepare(each, ())  # nothing is needed


def test_code() -> None:
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    text = 'define void @f() "target-features"="+amx-tile,+avx2" { ret void }'
    assert needed_features(text) == {"amx-tile", "avx2"}
    with pytest.raises(RunFailed, match="LLVM does not take its input"):
        optimised("define void @f() { ret i32 0 }")
    code = Native.compile("define void @f(ptr %a, i64 %n) { ret void }")
    assert code.types("f") == ["ptr", "i64"]
    with pytest.raises(ValueError, match="expected a function, got 'g'"):
        code.types("g")


MATMUL = """
func.func @f(%a: memref<16x32x{0}>, %b: memref<32x16x{0}>, %c: memref<16x16x{1}>) {{
  linalg.matmul ins(%a, %b : memref<16x32x{0}>, memref<32x16x{0}>)
                outs(%c : memref<16x16x{1}>)
  func.return
}}"""
SUM = """
func.func @f(%a: memref<5x9x{0}>)
    attributes {{simt.kernel, simt.grid = affine_map<() -> (1)>}} {{
  %zero = arith.constant 0 : index
  %m = coopmatrix.load %a[%zero, %zero] row_major
    : memref<5x9x{0}> -> !coopmatrix.matrix<5x9x{0}, acc>
  %n = coopmatrix.add %m, %m : !coopmatrix.matrix<5x9x{0}, acc>
  coopmatrix.store %n, %a[%zero, %zero] row_major
    : !coopmatrix.matrix<5x9x{0}, acc>, memref<5x9x{0}>
  func.return
}}"""
VECTORS = "remark: linalg.matmul: computed by vectors, not by AMX tiles: "


@pytest.mark.parametrize(
    ("kernel", "types", "flags", "expected", "remark"),
    [
        (MATMUL, "bf16 f32", EMERALD, Tiles.AMX, ""),
        (MATMUL, "f16 f32", EMERALD | {"amx_fp16"}, Tiles.AMX, ""),
        (MATMUL, "f16 f32", EMERALD, Tiles.NONE, "this CPU has no amx-fp16\n"),
        (MATMUL, "f32 f32", EMERALD, Tiles.AMX, "AMX does not multiply f32 and f32"),
        (MATMUL, "f64 f64", EMERALD, Tiles.AMX, "AMX does not multiply f64 and f64"),
        (MATMUL, "bf16 f32", {"avx2"}, Tiles.NONE, "this CPU has no AMX; "),
        (SUM, "f32", EMERALD, Tiles.AMX, ""),
        (SUM, "i16", EMERALD, Tiles.NONE, ""),
        (SUM, "i64", EMERALD, Tiles.NONE, ""),
    ],
)
def test_the_default(
    kernel: str,
    types: str,
    flags: frozenset[str],
    expected: Tiles,
    remark: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Tiles where the processor has what a kernel needs; else a remark on products."""
    without(monkeypatch, frozenset(flags))
    path = tmp_path / "f.mlir"
    path.write_text(kernel.format(*types.split()))
    job = prepare(parser().read([str(path), "--on", "cpu"]))
    assert job.build.tiles is expected
    assert job.build.tiles is Tiles.AMX or "amx." not in str(job.build.program)
    said = capsys.readouterr().err
    assert VECTORS in said if remark else said == ""
    assert remark in said
    job = prepare(parser().read([str(path), "--on", "cpu", "--tiles", "none"]))
    assert job.build.tiles is Tiles.NONE
    assert capsys.readouterr().err == "", "without tiles, as was asked for"


def test_emulated_tiles_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(MATMUL.format("f16", "f32"))
    job = prepare(parser().read([str(path), "--on", "cpu", "--tiles", "emulated"]))
    assert job.build.tiles is Tiles.EMULATED
    assert "amx.tile_mulf" in str(job.build.program)
