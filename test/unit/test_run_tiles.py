"""Which tiles there are, and what is said where they are not what code needs."""

import pytest

from coopc.run import tiles
from coopc.run.native import Native, needed_features, optimised
from coopc.run.tiles import Tiles
from coopc.run.toolchain import ToolMissing
from coopc.run.worker import RunFailed

INT8 = frozenset({"amx-tile", "amx-int8"})
EMERALD = frozenset({"avx512f", "amx_tile", "amx_int8", "amx_bf16"})


def without(monkeypatch: pytest.MonkeyPatch, flags: frozenset[str]) -> None:
    def given() -> frozenset[str]:
        return flags

    monkeypatch.setattr(tiles, "cpu_flags", given)


def test_the_processor_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tiles.best(EMERALD) is Tiles.AMX

    def missing() -> None:
        raise ToolMissing("a C compiler", "install cc")

    monkeypatch.setattr(tiles, "emulator", missing)
    assert tiles.best(frozenset()) is Tiles.NONE
    monkeypatch.setattr(tiles, "emulator", lambda: None)
    assert tiles.best(frozenset()) is Tiles.EMULATED


def test_features(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, EMERALD)
    assert tiles.has(Tiles.AMX, "amx-bf16")
    assert not tiles.has(Tiles.AMX, "amx-fp16")
    assert tiles.has(Tiles.EMULATED, "amx-fp16")
    assert not tiles.has(Tiles.NONE, "amx-tile")
    with pytest.raises(ValueError, match="with amx-fp16, which the kernel needs"):
        tiles.prepare(Tiles.AMX, {"amx-tile", "amx-fp16"})
    with pytest.raises(ValueError, match="got one with tiles of its own"):
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
