"""Counts the functions that an operation visits on its way to an instruction.

    python -m support.walks [-v]

Counted are functions of the package that are called with the operation, with one that
stands where it stood (by location) or with a result of these, as an argument or in a
sequence.  Not counted are passes after which these operations are as before, checks and
verification, and what looks at every operation of a module whatever it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import cast
from unittest.mock import patch

from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    ModuleOp,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

import coopc
from coopc.pipeline import Observer, Run

ROOT = Path(coopc.__file__).resolve().parent.parent
WHOLE_MODULES = (
    "coopc/pipeline.py",
    "coopc/xdsl_gaps.py",
    "coopc/xdsl_speed.py",
    "coopc/parsing.py",
    "coopc/explain.py",
    "coopc/ir/transaction.py",
    "coopc/ir/uniformity.py",
)
"""Files that look at every operation."""

Function = tuple[str, str]
"""A file of the package, and the name of a function there."""

POINTERS = """
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4],
                   order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @copy(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                       %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #b>
    %px = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #b>
    %py = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #b>
    %qx = tt.addptr %px, %r : tensor<64x!tt.ptr<f32>, #b>, tensor<64xi32, #b>
    %qy = tt.addptr %py, %r : tensor<64x!tt.ptr<f32>, #b>, tensor<64xi32, #b>
    %v = tt.load %qx : tensor<64x!tt.ptr<f32>, #b>
    tt.store %qy, %v : tensor<64x!tt.ptr<f32>, #b>
    tt.return
  }
}
"""
BLOCKS = """
#dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16,
  opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [1, 1], repCluster = [1, 1]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#b = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @dot(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32},
                      %y: !tt.ptr<f16> {tt.divisibility = 16 : i32},
                      %z: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                      %m: i32 {tt.divisibility = 16 : i32}) {
    %one = arith.constant 1 : i64
    %i = arith.constant 0 : i32
    %s = arith.constant 1024 : i64
    %acc = arith.constant dense<0.0> : tensor<8x16xf32, #dpas>
    %dx = tt.make_tensor_descriptor %x, [%m, %m], [%s, %one] : <f16>, <8x16xf16>
    %dy = tt.make_tensor_descriptor %y, [%m, %m], [%s, %one] : <f16>, <16x16xf16>
    %dz = tt.make_tensor_descriptor %z, [%m, %m], [%s, %one] : <f32>, <8x16xf32>
    %a = tt.descriptor_load %dx[%i, %i] {ttig.block_io = "row_major"}
      : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16, #a>
    %b = tt.descriptor_load %dy[%i, %i] {ttig.block_io = "row_major"}
      : !tt.tensordesc<16x16xf16> -> tensor<16x16xf16, #b>
    %c = tt.dot %a, %b, %acc : tensor<8x16xf16, #a> * tensor<16x16xf16, #b>
      -> tensor<8x16xf32, #dpas>
    tt.descriptor_store %dz[%i, %i], %c {ttig.block_io = "row_major"}
      : !tt.tensordesc<8x16xf32>, tensor<8x16xf32, #dpas>
    tt.return
  }
}
"""


def product(m: int, n: int, k: int, factor: str) -> str:
    """A kernel that multiplies matrices of a type into one of f32."""
    x, y, z = f"{m}x{k}x{factor}", f"{k}x{n}x{factor}", f"{m}x{n}xf32"
    matrix = "!coopmatrix.matrix"
    return f"""
func.func @f(%a: memref<{x}>, %b: memref<{y}>, %c: memref<{z}>)
    attributes {{simt.kernel}} {{
  %z = arith.constant 0 : index
  %x = coopmatrix.load %a[%z, %z] row_major : memref<{x}> -> {matrix}<{x}, a>
  %y = coopmatrix.load %b[%z, %z] row_major : memref<{y}> -> {matrix}<{y}, b>
  %w = coopmatrix.load %c[%z, %z] row_major : memref<{z}> -> {matrix}<{z}, acc>
  %d = coopmatrix.mul_add %x, %y, %w
    : {matrix}<{x}, a>, {matrix}<{y}, b>, {matrix}<{z}, acc>
  coopmatrix.store %d, %c[%z, %z] row_major : {matrix}<{z}, acc>, memref<{z}>
  return
}}
"""


@dataclass(frozen=True)
class Case:
    """An operation that is followed: the one in a line that begins so."""

    text: str
    line: str
    passes: str
    target: str


KHR = "coopc-khr{device=lavapipe}"
XE = "coopc-xe{device=bmg}"
MATRIX = "  %x = coopmatrix.load"
CASES = {
    "pointers": Case(POINTERS, "    %v = tt.load", XE, "spirv"),
    "blocks": Case(BLOCKS, "    %a = tt.descriptor_load", XE, "spirv"),
    "khr": Case(product(8, 8, 8, "f16"), MATRIX, KHR, "spirv"),
    "khr-split": Case(product(16, 16, 16, "f16"), MATRIX, KHR, "spirv"),
    "amx": Case(product(16, 16, 32, "bf16"), MATRIX, "coopc-amx", "llvm-ir"),
}
"""A load of a tensor through pointers and by 2D blocks; of a matrix that the device has
as it is, of one that is split, and of one that is a tile."""


@dataclass
class Walk(Observer):
    """The functions that an operation visits, by step."""

    line: int
    """Where the operation is in the text."""
    steps: dict[str, list[Function]] = field(default_factory=dict[str, list[Function]])
    current: dict[Function, None] = field(default_factory=dict[Function, None])
    before: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith(("<", "verify", "__init__")):
            return
        if code.co_filename.startswith("<"):
            return
        path = Path(code.co_filename).resolve()
        if not path.is_relative_to(ROOT) or "site-packages" in path.parts:
            return
        file = path.relative_to(ROOT).as_posix()
        caller = "" if frame.f_back is None else frame.f_back.f_code.co_filename
        if file.startswith("test/") or file in WHOLE_MODULES:
            return
        if "/check_" in file or "/check_" in caller:
            return
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
        names, given = code.co_varnames[:count], frame.f_locals
        if any(self.is_followed(given.get(name)) for name in names):
            self.current[file, code.co_qualname] = None

    def is_followed(self, found: object) -> bool:
        if isinstance(found, SSAValue):
            found = found.owner
        if isinstance(found, Operation):
            return self.is_here(found.location)
        if type(found) not in (tuple, list):
            return False
        return any(map(self.is_followed, cast("Sequence[object]", found)))

    def is_here(self, location: LocationAttr) -> bool:
        if isinstance(location, FusedLoc):
            assert isa(location.locations, ArrayAttr[LocationAttr]), location
            return any(map(self.is_here, location.locations))
        return isinstance(location, FileLineColLoc) and location.line.data == self.line

    def state(self, module: ModuleOp) -> list[tuple[str, ...]]:
        """The operations that are followed, but for the numbers of values."""
        return [
            (
                op.name,
                *map(str, (*op.operand_types, *op.result_types)),
                str(op.properties),
                str(op.attributes),
            )
            for op in module.walk()
            if self.is_here(op.location)
        ]

    def start(self, module: ModuleOp) -> None:
        self.before = self.state(module)
        self.current.clear()

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        sys.setprofile(None)
        now = self.state(module)
        if now != self.before and not step.name.startswith("check-"):
            self.steps[str(step)] = list(self.current)
        self.before = now
        self.current.clear()
        sys.setprofile(self.profile)

    @property
    def functions(self) -> set[Function]:
        return {each for found in self.steps.values() for each in found}


def walk(case: Case) -> Walk:
    """Compile a program, and follow its operation."""
    lines = enumerate(case.text.splitlines(), 1)
    found = Walk(next(n for n, each in lines if each.startswith(case.line)))
    coopc.compile(case.text, case.passes, case.target)  # imports
    with patch.object(Run, "_verify"):
        sys.setprofile(found.profile)
        try:
            coopc.compile(case.text, case.passes, case.target, observers=(found,))
        finally:
            sys.setprofile(None)
    found.steps[case.target] = list(found.current)
    return found


def report(name: str, found: Walk, verbose: bool) -> Iterator[str]:
    functions = found.functions
    files = {file for file, _ in functions}
    yield f"{name}: {len(functions)} functions in {len(files)} files"
    for step, visited in found.steps.items() if verbose else ():
        yield f"  {step}"
        yield from (f"    {file} {function}" for file, function in visited)


if __name__ == "__main__":
    for name, case in CASES.items():
        for line in report(name, walk(case), "-v" in sys.argv):
            print(line)
