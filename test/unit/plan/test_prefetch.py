"""Laws of prefetches: together the subgroups fetch a tile, each an equal share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.device import device
from coopc.layout.linear import LinearLayout
from coopc.plan.block_message import BlockShape
from coopc.plan.prefetch import PrefetchPlan, plan_prefetch
from coopc.plan.refusal import Reason, Refusal

powers = st.sampled_from


@given(
    rows=powers([1, 8, 32, 64, 256]),
    cols=powers([16, 32, 64, 256]),
    bits=powers([8, 16, 32]),
    warps=powers([1, 4, 8, 32]),
    name=powers(["bmg", "pvc"]),
)
def test_covers(rows: int, cols: int, bits: int, warps: int, name: str) -> None:
    io = device(name).block_io
    plan = plan_prefetch(rows, cols, bits, warps, io)
    assert isinstance(plan, PrefetchPlan), plan
    shape = plan.shape
    assert io is not None
    assert io.has("prefetch", shape.bits, shape.width, shape.height, shape.count)
    found = plan.layout.table()
    assert found["dim0"].shape == (plan.messages, warps)
    fetched = np.zeros((rows, cols), int)
    for row, col in zip(found["dim0"].flat, found["dim1"].flat, strict=True):
        tile = fetched[row : row + shape.height, col : col + shape.columns]
        assert tile.shape == (shape.height, shape.columns)
        tile += 1
    # Once, or where there are subgroups to spare, equally often.
    assert (
        fetched.min()
        == fetched.max()
        == max(1, plan.messages * warps * shape.elements // (rows * cols))
    )


def test_rows_of_64_bytes() -> None:
    plan = plan_prefetch(32, 256, 16, 32, device("bmg").block_io)
    assert isinstance(plan, PrefetchPlan)
    assert (plan.shape, plan.messages) == (BlockShape(16, 8, 32), 1)


def test_refused_without_messages() -> None:
    refusal = plan_prefetch(32, 256, 16, 32, device("dg2").block_io)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.NO_BLOCK_IO


def test_a_plan_that_misses_elements_is_wrong() -> None:
    layout = LinearLayout.of({"register": [], "warp": []}, {"dim0": 8, "dim1": 32})
    with pytest.raises(ValueError, match="cover a tile of"):
        PrefetchPlan(layout, BlockShape(16, 8, 16))
