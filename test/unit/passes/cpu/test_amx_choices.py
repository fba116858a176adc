"""Tiles that control flow chooses among: LLVM compiles them, where it optimises."""

import subprocess
import sys

import pytest

import coopc

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

BRANCH = """
  %t = scf.if %c -> (!amx.tile<9x12xf32>) {
    scf.yield %x : !amx.tile<9x12xf32>
  } else {
    scf.yield %y : !amx.tile<9x12xf32>
  }"""
SWITCH = """
  %t = scf.index_switch %n -> !amx.tile<9x12xf32>
  case 1 {
    scf.yield %x : !amx.tile<9x12xf32>
  }
  default {
    scf.yield %y : !amx.tile<9x12xf32>
  }"""
LOOP = """
  %one = arith.constant 1 : index
  %t = scf.for %k = %i to %n step %one iter_args(%u = %x) -> (!amx.tile<9x12xf32>) {
    scf.yield %y : !amx.tile<9x12xf32>
  }"""
CARRIED = """
  %one = arith.constant 1 : index
  %t, %s = scf.for %k = %i to %n step %one iter_args(%u = %x, %v = %y)
      -> (!amx.tile<9x12xf32>, !amx.tile<9x12xf32>) {
    scf.yield %v, %v : !amx.tile<9x12xf32>, !amx.tile<9x12xf32>
  }"""
COMPILE = """
import sys
from coopc.run.native import Native
text = sys.stdin.read()
for level in (1, 2, 3):
    Native.compile(text, level=level)
"""
"""In a process of its own, as LLVM aborts."""


@pytest.mark.parametrize("choice", [BRANCH, SWITCH, LOOP, CARRIED])
def test_llvm_compiles_a_choice(choice: str) -> None:
    memory = "memref<16x16xf32>"
    text = f"""
func.func @f(%a: {memory}, %b: {memory}, %c: i1, %n: index) {{
  %i = arith.constant 0 : index
  %x = amx.tile_zero : !amx.tile<9x12xf32>
  %y = amx.tile_load %a[%i, %i] : {memory} into !amx.tile<9x12xf32>
  amx.tile_store %a[%i, %i], %x : {memory}, !amx.tile<9x12xf32>
  amx.tile_store %b[%i, %i], %y : {memory}, !amx.tile<9x12xf32>
  {choice}
  amx.tile_store %b[%i, %i], %t : {memory}, !amx.tile<9x12xf32>
  func.return
}}"""
    emitted = coopc.compile(text, "fit-amx-tiles", "llvm-ir{device=amx}").text
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], input=emitted, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
