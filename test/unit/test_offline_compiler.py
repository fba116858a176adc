"""Intel's compiler as a process: what it is given, and how it may end."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import coopc
from coopc.run import offline_compiler
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import CompilerRefused, compile_kernel
from coopc.run.toolchain import ToolMissing

Tool = Callable[[str], Path]

TEXT = """
func.func @one(%m: memref<?xf32, strided<[1]>>, %at: index)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %v = simt.block_read %m[%at] : memref<?xf32, strided<[1]>> -> vector<8xf32>
  simt.block_write %v, %m[%at] : vector<8xf32>, memref<?xf32, strided<[1]>>
  func.return
}
"""


@pytest.fixture(scope="module")
def binary() -> bytes:
    return coopc.compile(TEXT, "", "spirv-binary{device=bmg}").bytes


@pytest.mark.parametrize("device", offline_compiler.devices())
def test_every_device(device: str, binary: bytes, tool: Tool) -> None:
    tool("ocloc")
    isa = compile_kernel(binary, device, registers=256)
    assert isa.device == device
    assert isa.check({**CLEAN, "simd": 16, "registers": 256, "dpas": 0}) == ()


def test_wrong_calls(binary: bytes) -> None:
    with pytest.raises(
        ValueError, match="expected a device of dg2, pvc, bmg, lnl, ptl"
    ):
        compile_kernel(binary, "lavapipe")
    with pytest.raises(
        ValueError, match="expected 128 or 256 registers, which bmg has"
    ):
        compile_kernel(binary, "bmg", registers=192)


def test_refused_module(tool: Tool) -> None:
    tool("ocloc")
    with pytest.raises(CompilerRefused, match="ocloc"):
        compile_kernel(b"no module at all", "bmg")


def test_missing_compiler(binary: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> Path:
        raise ToolMissing(name, "run `make toolchain`")

    monkeypatch.setattr(offline_compiler, "tool", nowhere)
    with pytest.raises(ToolMissing, match="ocloc is missing: run `make toolchain`"):
        compile_kernel(binary, "bmg")


def program(folder: Path, script: str) -> Callable[[str], Path]:
    """A program that takes the place of ocloc."""
    path = folder / "ocloc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return lambda name: path


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo bad shape; exit 245", "ocloc failed with status 245\nbad shape"),
        ("kill -SEGV $$", "ocloc crashed, signal 11"),
        ("true", "ocloc wrote no binary"),
    ],
)
def test_ways_to_fail(
    script: str,
    message: str,
    binary: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offline_compiler, "tool", program(tmp_path, script))
    with pytest.raises(CompilerRefused) as caught:
        compile_kernel(binary, "bmg")
    assert str(caught.value) == message


def test_time_limit(
    binary: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offline_compiler, "tool", program(tmp_path, "exec sleep 60"))
    monkeypatch.setattr(offline_compiler, "TIME_LIMIT_S", 0.1)
    with pytest.raises(CompilerRefused, match=r"no result in 0\.1 s"):
        compile_kernel(binary, "bmg")


def test_nothing_is_left_behind(
    binary: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Tool
) -> None:
    tool("ocloc")
    monkeypatch.setattr(offline_compiler.tempfile, "tempdir", str(tmp_path))
    compile_kernel(binary, "bmg")
    with pytest.raises(CompilerRefused):
        compile_kernel(b"no module at all", "bmg")
    assert list(tmp_path.iterdir()) == []


def test_memory_is_limited(
    binary: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = program(tmp_path, f"ulimit -v > {tmp_path}/limit")
    monkeypatch.setattr(offline_compiler, "tool", script)
    with pytest.raises(CompilerRefused, match="wrote no binary"):
        compile_kernel(binary, "bmg")
    limit = (tmp_path / "limit").read_text().strip()
    available = subprocess.run(
        ["sh", "-c", "ulimit -v"], capture_output=True, text=True, check=True
    ).stdout.strip()
    expected = str(offline_compiler.MEMORY_LIMIT_KIB)
    assert limit == expected or (available != "unlimited" and limit == available)
