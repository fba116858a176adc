"""SPV_NV_cooperative_matrix2 beside work-group memory, on this machine's GPU.

Each subgroup repeats an operation on a 16 x 16 matrix: by the instruction, and as a
device without the extension does it.  What both compute is compared.
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

import coopc
from bench.harness import Row
from bench.vulkan_gemm import matrix_gpu
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan

F = "!coopmatrix.matrix<16x16xf32, acc>"
A = "!coopmatrix.matrix<16x16xf16, a>"
B = "!coopmatrix.matrix<16x16xf16, b>"
TURNS, GROUPS, WARM, MEASURED = 256, 1024, 3, 9

OPERATIONS = {
    "reduce": f"""
    %m = coopmatrix.reduce max rows broadcast %now : {F} -> {F}
    %y = coopmatrix.add %m, %x : {F}""",
    "apply": f"""
    %y = coopmatrix.apply (%i, %j, %v) in %now : {F} {{
      %inside = arith.cmpi ult, %j, %i : index
      %w = arith.select %inside, %v, %one : f32
      coopmatrix.yield %w : f32
    }}""",
    "convert": f"""
    %a = coopmatrix.convert %now : {F} -> {A}
    %y = coopmatrix.mul_add %a, %b, %x : {A}, {B}, {F}""",
}
"""Operations from a matrix %now, and %x and %b from outside, to a matrix %y."""


def text(body: str) -> str:
    return f"""
func.func @k(%p: memref<16x16xf32>, %q: memref<16x16xf16>, %r: memref<?x16x16xf32>)
    attributes {{simt.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %turns = arith.constant {TURNS} : index
  %one = arith.constant 1.0 : f32
  %group = simt.workgroup_id x : index
  %x = coopmatrix.load %p[%c0, %c0] row_major : memref<16x16xf32> -> {F}
  %b = coopmatrix.load %q[%c0, %c0] row_major : memref<16x16xf16> -> {B}
  %last = scf.for %t = %c0 to %turns step %c1 iter_args(%now = %x) -> ({F}) {{
{body}
    scf.yield %y : {F}
  }}
  coopmatrix.store %last, %r[%group, %c0, %c0] row_major : {F}, memref<?x16x16xf32>
  func.return
}}
"""


def measure() -> Iterator[Row]:
    """Yield the rows; none where there is no GPU with the extension."""
    if (session := matrix_gpu()) is None:
        return
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, (16, 16)).astype(np.float32)
    # A permutation: results stay small.
    b = np.eye(16, dtype=np.float16)[rng.permutation(16)]
    with session, TemporaryDirectory() as folder:
        staged = Path(folder) / "staged.toml"
        staged.write_text('version = 1\nextends = "nvidia"\nmatrix2 = []\n')
        for name, body in OPERATIONS.items():
            found: list[tuple[float, bytes]] = []
            for device in ("nvidia", f'"{staged}"'):
                pipeline = f"coopc-khr{{device={device}}}"
                artifact = coopc.compile(text(body), pipeline, "spirv-binary")
                arrays = [x, b, np.zeros((GROUPS, 16, 16), np.float32)]
                call = pack(artifact.interface[0], arrays, (GROUPS, 1, 1))
                repeats = WARM + MEASURED
                ran = on_vulkan(artifact.bytes, call, session, repeats=repeats)
                time = median(ran.milliseconds[WARM:])
                found.append((time, ran.arrays[2].tobytes()))
            (native, first), (other, second) = found
            assert first == second, name
            yield Row(f"{name}, by the instruction", native, "ms")
            yield Row(f"  through memory: {other / native:.1f} times", other, "ms")
