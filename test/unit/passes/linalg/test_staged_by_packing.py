"""Kernels of packed operands, on tiles and in vectors: what both of them share."""

import numpy as np
import pytest
from support.native import best_or_emulated

from coopc.compiler import new_context
from coopc.device.cpu import WIDE_VECTOR_TILE
from coopc.generate.gemms import Gemm
from coopc.parsing import parse
from coopc.pipeline import Pipeline, Run, flatten
from coopc.pipelines import CoopcAmxPass, CoopcCpuPass
from coopc.plan.core_gemm import LINE_BYTES
from coopc.run.arguments import encode
from coopc.run.arrays import aligned
from coopc.run.cpu import Program, llvm_ir
from coopc.run.tiles import Tiles
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

STREAMED = [
    Gemm((1041, 1024, 40), types=("bf16", "f32"), stored="bf16"),
    Gemm((531, 1024, 70), types=("bf16", "f32")),
    Gemm((270, 1024, 64), "bmk", "bnk", "bmn", ("i8", "i32")),
    Gemm((16, 40000, 32), types=("i8", "i32")),
]
"""With a C that is larger than the second cache, of rows that are whole lines."""
SLABS = Gemm((270, 2048, 1100), types=("i8", "i32"))
"""The same with several slabs along K, of which only the last one stores to C."""


ON_TILES = [(CoopcAmxPass(), gemm) for gemm in (*STREAMED, SLABS)]
IN_VECTORS = [
    (CoopcCpuPass(tile=WIDE_VECTOR_TILE), gemm)
    for gemm in (
        *STREAMED,
        Gemm((531, 1024, 70), types=("f32", "f32")),
        Gemm((6, 90112, 8), types=("f32", "f32")),  # nothing is packed
    )
]


@pytest.mark.parametrize(("how", "gemm"), [*ON_TILES, *IN_VECTORS], ids=str)
@pytest.mark.parametrize("shift", [0, 16])
def test_lines_of_c_past_the_caches(how: Pipeline, gemm: Gemm, shift: int) -> None:
    """Rows of tiles as whole lines, and as before where C begins within a line."""
    on_tiles = isinstance(how, CoopcAmxPass)
    tiles = best_or_emulated() if on_tiles else Tiles.NONE
    if on_tiles and tiles is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    ctx, source = new_context(everything()), Source(gemm.text, "gemm")
    module = parse(ctx, source)
    Run(ctx, source).apply(module, flatten([how]))
    stores = [x for x in llvm_ir(module).splitlines() if x.startswith("  store ")]
    assert any("align 64, !nontemporal" in x for x in stores)
    a, b, c = gemm.arrays()
    memory = aligned(c.nbytes + 2 * LINE_BYTES)
    memory[:] = 0xA5
    inside = memory[LINE_BYTES + shift :][: c.nbytes]
    inside[:] = c.view(np.uint8).reshape(-1)
    given = [a, b, inside.view(c.dtype).reshape(c.shape)]
    expected = gemm.expected(*given)
    if gemm.stored is not None:
        total = gemm.expected(a, b, np.zeros(c.shape, np.float32))
        expected = encode(total, gemm.stored)
    program = Program.of(module, tiles, level=2)
    program.prepared("gemm", given, (1, 1, 1), threads=2)()
    np.testing.assert_array_equal(given[2], expected)
    around = np.delete(memory, slice(LINE_BYTES + shift, LINE_BYTES + shift + c.nbytes))
    assert (around == 0xA5).all()
