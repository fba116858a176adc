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


def lane_kernel(type: str, size: int) -> str:
    """A kernel whose lanes exchange vectors."""
    whole = f"vector<{size}x{type}>" if size > 1 else type
    made = f"vector.broadcast %x : {type} to {whole}"
    sum = "" if type == "i1" else f"%a = simt.reduce add %v3 : {whole}"
    first = f"vector.extract %v3[0] : {type} from {whole}"
    return f"""
func.func @{type}_{size}(%m: memref<?x{type}>, %at: index, %n: i32)
    attributes {{simt.kernel, simt.subgroup_size = 16 : i32}} {{
  %x = memref.load %m[%at] : memref<?x{type}>
  %v0 = {made if size > 1 else f"arith.select %b, %x, %x : {type}"}
  %v1 = simt.shuffle xor %v0, %at : {whole}
  %v2 = simt.shuffle idx %v1, %at : {whole}
  %v3 = simt.broadcast %v2, %at : {whole}
  {sum}
  %e = {first if size > 1 else f"arith.select %b, %v3, %v3 : {type}"}
  memref.store %e, %m[%at] : memref<?x{type}>
  func.return
}}
""".replace("  %v0 = arith.select", "  %b = arith.constant true\n  %v0 = arith.select")


def test_lanes_exchange_every_type(tool: Tool) -> None:
    """There are functions for all that is called."""
    tool("ocloc")
    types = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
    names = [(type, size) for type in types for size in (1, 2, 4, 8, 16)]
    text = "".join(lane_kernel(*each) for each in names)
    binary = coopc.compile(text, "", "spirv-binary{device=bmg}").bytes
    isa = compile_kernel(binary, "bmg")
    assert isa.check({f"{type}_{size}:calls": 0 for type, size in names}) == ()


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
