"""Stores past the caches: what they leave in memory, and what else they touch."""

from itertools import product

import numpy as np
import pytest

from coopc.launcher import LaunchTarget, build
from coopc.plan.core_gemm import LINE_BYTES
from coopc.run.arrays import aligned
from coopc.run.cpu import Program, llvm_ir
from coopc.run.tiles import Tiles
from coopc.source import Source

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

PASSES = (
    "convert-linalg-to-simt{device=amx},infer-kernel-sizes,canonicalize,"
    "vectorize-subgroup{streamed=8192},resolve-subgroup-wi-call,normalize,"
    "convert-simt-to-loops"
)
TYPES = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "f64": np.float64}
SIZES = [(4, 1024), (9, 1040), (3, 2064), (5, 1027), (700, 16), (1, 1024)]


def text(sizes: tuple[int, int] | None, element: str) -> str:
    """A program that adds a row to each row of a matrix, of any size if it has none."""
    m, n = sizes or ("?", "?")
    matrix, row = f"memref<{m}x{n}x{element}>", f"memref<{n}x{element}>"
    add = "arith.addi" if element[0] == "i" else "arith.addf"
    return f"""func.func @f(%a: {matrix}, %b: {row}, %c: {matrix}) {{
      linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
          affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
          iterator_types = ["parallel", "parallel"]}}
          ins(%a, %b : {matrix}, {row}) outs(%c : {matrix}) {{
      ^bb0(%x: {element}, %y: {element}, %z: {element}):
        %r = {add} %x, %y : {element}
        linalg.yield %r : {element}
      }}
      func.return
    }}"""


def is_streamed(text: str) -> bool:
    """Whether the code has nontemporal stores."""
    built = build(Source(text, "f"), LaunchTarget("cpu", pipeline=PASSES))
    return "!nontemporal" in llvm_ir(built.program)


@pytest.mark.parametrize("element", ["f32", "f16", "i8", "f64"])
@pytest.mark.parametrize("sizes", [*SIZES, None], ids=str)
def test_rows(element: str, sizes: tuple[int, int] | None) -> None:
    """At any address, for rows of whole vectors and others, long and short."""
    dtype = np.dtype(TYPES[element])
    target = LaunchTarget("cpu", pipeline=PASSES, tiles=Tiles.NONE)
    built = build(Source(text(sizes, element), "f"), target)
    program = Program.of(built.program, Tiles.NONE, level=2)
    rng = np.random.default_rng(0)
    for (m, n), shift in product([sizes] if sizes else SIZES, (0, 16, 8, 1)):
        a = rng.integers(-50, 50, (m, n)).astype(dtype)
        b = rng.integers(-50, 50, n).astype(dtype)
        start = LINE_BYTES + shift * dtype.itemsize
        memory = aligned(a.nbytes + 4 * LINE_BYTES + start)
        memory[:] = 0xA5
        inside = slice(start, start + a.nbytes)
        c = memory[inside].view(dtype).reshape(a.shape)
        call = built.executable.call([a, b, c])
        program.prepared("f", call.opencl_arguments, call.groups)()
        np.testing.assert_array_equal(c, a + b)
        assert (np.delete(memory, inside) == 0xA5).all()


def test_whole_vectors() -> None:
    """Only of rows of whole vectors that are long are stores nontemporal."""
    found = [is_streamed(text(sizes, "f32")) for sizes in (*SIZES, None)]
    assert found == [True, True, True, False, False, False, True]
