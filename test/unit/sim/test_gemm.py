"""The example, simulated and compared with numpy."""

from pathlib import Path

import numpy as np
import pytest

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

GEMM = Path(__file__).parents[3] / "examples" / "gemm.mlir"


@pytest.mark.parametrize("chunk", [None, 1, 3])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (48, 32, 64)])
def test_gemm(m: int, n: int, k: int, chunk: int | None) -> None:
    module = parse(new_context(everything()), Source(GEMM.read_text(), "gemm.mlir"))
    random = np.random.default_rng(0)
    a = random.integers(-8, 8, (m, k)).astype(np.float16)
    b = random.integers(-8, 8, (k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    simulate(module, "gemm", [a, b, c], chunk=chunk)
    assert (c == a.astype(np.float64) @ b.astype(np.float64)).all()
