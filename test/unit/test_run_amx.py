"""The AMX emulator: where it works, and that it is built once."""

import shutil
from pathlib import Path

import pytest

from coopc.run import amx
from coopc.run.toolchain import ToolMissing

ALL = frozenset(amx.AVX512)


@pytest.mark.parametrize("missing", sorted(ALL))
def test_every_feature_is_needed(missing: str):
    assert amx.why_impossible(ALL | {"avx2"}) is None
    assert amx.why_impossible(ALL - {missing}) == f"this CPU has no {missing}"


def test_cpu_flags(tmp_path: Path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nflags\t\t: fpu avx512f\nbugs\t\t: none\n")
    assert amx.cpu_flags(info) == {"fpu", "avx512f"}
    assert amx.cpu_flags(tmp_path / "nowhere") == frozenset()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "coopc"


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)
    monkeypatch.setattr(amx.importlib.util, "find_spec", nothing)


@pytest.fixture
def failing_compiler(tmp_path: Path) -> str:
    script = tmp_path / "failing-cc"
    script.write_text("#!/bin/sh\necho no such flag >&2\nexit 1\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.usefixtures("c_compiler")
def test_built_once(
    cache: Path, failing_compiler: str, monkeypatch: pytest.MonkeyPatch
):
    library = amx.emulator()
    assert list(cache.iterdir()) == [library]
    monkeypatch.setenv("CC", failing_compiler)
    assert amx.emulator() == library


@pytest.mark.usefixtures("cache", "no_compiler")
def test_missing_compiler():
    with pytest.raises(ToolMissing, match="a C compiler is missing: install cc"):
        amx.emulator()


def test_failing_compiler(
    cache: Path, failing_compiler: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CC", failing_compiler)
    with pytest.raises(ToolMissing, match="it does not build: no such flag"):
        amx.emulator()
    assert list(cache.iterdir()) == []
