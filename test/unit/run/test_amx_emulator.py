"""The AMX emulator: where it works, and that it is built once."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from coopc.run import tiles
from coopc.run.toolchain import ToolMissing

ALL = frozenset(tiles.AVX512)


@pytest.mark.parametrize("missing", sorted(ALL))
def test_every_feature_is_needed(missing: str):
    assert tiles.why_impossible(ALL | {"avx2"}) is None
    assert tiles.why_impossible(ALL - {missing}) == f"this CPU has no {missing}"


def test_f16_is_computed_by_its_own_feature():
    """Beside tiles, Intel's runtime does arithmetic of f16 by AVX512-FP16."""
    reason = tiles.why_impossible(ALL, computes_f16=True)
    assert reason == "this CPU has no avx512_fp16"
    flags = ALL | {"avx512_fp16"}
    assert tiles.why_impossible(flags, computes_f16=True) is None


def test_cpu_flags(tmp_path: Path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nflags\t\t: fpu avx512f\nbugs\t\t: none\n")
    assert tiles.cpu_flags(info) == {"fpu", "avx512f"}
    assert tiles.cpu_flags(tmp_path / "nowhere") == frozenset()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "coopc"


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)
    monkeypatch.setattr(tiles.importlib.util, "find_spec", nothing)


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
    library = tiles.emulator()
    assert list(cache.iterdir()) == [library]
    monkeypatch.setenv("CC", failing_compiler)
    assert tiles.emulator() == library


@pytest.mark.usefixtures("cache", "no_compiler")
def test_missing_compiler():
    with pytest.raises(ToolMissing, match="a C compiler is missing: install cc"):
        tiles.emulator()


def test_failing_compiler(
    cache: Path, failing_compiler: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CC", failing_compiler)
    with pytest.raises(ToolMissing, match="it does not build: no such flag"):
        tiles.emulator()
    assert list(cache.iterdir()) == []


MOVES = """
.globl move
move:
  vpternlogd $255, %zmm1, %zmm1, %zmm1
  vpternlogd $255, %zmm17, %zmm17, %zmm17
  vpternlogd $255, %zmm5, %zmm5, %zmm5
  vpternlogd $255, %zmm6, %zmm6, %zmm6
  .byte 0x62, 0xf5, 0x7e, 0x08, 0x10, 0x4f, 0x01  # vmovsh 2(%rdi), %xmm1
  .byte 0x62, 0xe5, 0x7e, 0x08, 0x10, 0x4f, 0x02  # vmovsh 4(%rdi), %xmm17
  .byte 0x62, 0xf5, 0x7e, 0x08, 0x11, 0x4e, 0x01  # vmovsh %xmm1, 2(%rsi)
  .byte 0x62, 0xe5, 0x7e, 0x08, 0x11, 0x4e, 0x02  # vmovsh %xmm17, 4(%rsi)
  movl $0x12345678, %eax
  .byte 0x62, 0xf5, 0x7d, 0x08, 0x6e, 0xd0        # vmovw %eax, %xmm2
  .byte 0x62, 0xf5, 0x7d, 0x08, 0x7e, 0xd1        # vmovw %xmm2, %ecx
  movl %ecx, 8(%rsi)
  .byte 0x62, 0xf5, 0x7d, 0x08, 0x6e, 0x5f, 0x03  # vmovw 6(%rdi), %xmm3
  .byte 0x62, 0xf5, 0x7d, 0x08, 0x7e, 0x5e, 0x03  # vmovw %xmm3, 6(%rsi)
  .byte 0x62, 0xf5, 0x76, 0x00, 0x10, 0xe1        # vmovsh %xmm1, %xmm17, %xmm4
  xorl %eax, %eax
  kmovw %eax, %k1
  .byte 0x62, 0xf5, 0x7e, 0x89, 0x10, 0x6f, 0x01  # vmovsh 2(%rdi), %xmm5{%k1}{z}
  .byte 0x62, 0xf5, 0x7e, 0x09, 0x10, 0x77, 0x01  # vmovsh 2(%rdi), %xmm6{%k1}
  vmovdqu64 %zmm1, 64(%rsi)
  vmovdqu64 %zmm17, 128(%rsi)
  vmovdqu64 %zmm4, 192(%rsi)
  vmovdqu64 %zmm5, 256(%rsi)
  vmovdqu64 %zmm6, 320(%rsi)
  ret
.section .note.GNU-stack, "", @progbits
"""

MAIN = """
#include <stdint.h>
#include <stdio.h>
void move(const uint16_t *from, uint16_t *to);
int main(void) {
  static uint16_t from[4] = {0x1111, 0x2222, 0x3333, 0x4444}, to[192] = {9, 9, 9, 9};
  move(from, to);
  return fwrite(to, sizeof to, 1, stdout) != 1;
}
"""


def test_single_halves_move(c_compiler: list[str], tmp_path: Path):
    """vmovsh and vmovw, which a CPU with AVX512-FP16 has: the rest becomes 0."""
    if (reason := tiles.why_impossible(tiles.cpu_flags())) is not None:
        pytest.skip(reason)
    (tmp_path / "move.s").write_text(MOVES)
    (tmp_path / "main.c").write_text(MAIN)
    program = tmp_path / "program"
    sources = [str(tmp_path / name) for name in ("main.c", "move.s")]
    subprocess.run([*c_compiler, *sources, "-o", str(program)], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(tiles.emulator())}
    done = subprocess.run([program], env=environment, capture_output=True, check=True)
    words = np.frombuffer(done.stdout, np.uint16)
    assert [hex(x) for x in words[:6]] == [
        "0x9",
        "0x2222",
        "0x3333",
        "0x4444",
        "0x5678",
        "0x0",
    ]
    registers = words[32:].reshape(5, 32)
    expected = np.zeros((5, 32), np.uint16)
    expected[:, 0] = 0x2222, 0x3333, 0x2222, 0, 0xFFFF
    np.testing.assert_array_equal(registers, expected)
