"""Some draws of `python -m support.random_gemms`, which draws more and larger ones."""

import pytest
from support.random_gemms import difference, drawn, possible

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")


@pytest.mark.parametrize(("on", "most"), [("cpu", 150), ("amx", 70), ("lavapipe", 40)])
@pytest.mark.parametrize("seed", range(10))
def test_draws(on: str, most: int, seed: int) -> None:
    draw = drawn(on, seed, most)
    if not possible(draw):
        pytest.skip(f"no tiles for {draw.gemm.types[0]}")
    assert difference(draw) is None, draw


@pytest.mark.parametrize("seed", range(6))
def test_draws_of_known_sizes(seed: int) -> None:
    draw = drawn("amx", seed, 100, static=True)
    if not possible(draw):
        pytest.skip(f"no tiles for {draw.gemm.types[0]}")
    assert difference(draw) is None, draw
