"""Each value of a 2D block arrives in the lane and register that the layout wants."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from support.block_cases import CASES, Case, messages

from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import BlockMode, BlockShape


def sequence(shape: BlockShape) -> list[tuple[int, int]]:
    """Return the elements of a message, (row, column), as hardware sends them."""
    height, width = shape.height, shape.width
    match shape.mode:
        case BlockMode.TRANSPOSE:
            return [(r, c) for c in range(width) for r in range(height)]
        case BlockMode.PLAIN:
            group = 1
        case BlockMode.TRANSFORM:
            group = 32 // shape.bits
    return [
        (r + q, b * width + c)
        for b in range(shape.count)
        for r in range(0, height, group)
        for c in range(width)
        for q in range(group)
    ]


def arrived(found: BlockPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column in the tensor of each value and lane of a message."""
    lanes, per_slot = found.lanes, found.slot_bits // found.shape.bits
    values: list[list[tuple[int, int]]] = [[] for _ in range(lanes)]
    for at, (row, col) in enumerate(sequence(found.shape)):
        lane = at // per_slot % lanes
        for part in range(found.packed):
            values[lane].append((row * found.row_step, col * found.packed + part))
    for lane_bit, value_bit in found.swaps:
        old = [list(each) for each in values]
        for lane, value in product(range(lanes), range(found.values)):
            if lane >> lane_bit & 1 != value >> value_bit & 1:
                other = old[lane ^ 1 << lane_bit][value ^ 1 << value_bit]
                values[lane][value] = other
    tags = np.array(values).transpose(1, 0, 2)
    return tags[..., 0], tags[..., 1]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_placement(case: Case) -> None:
    found, layout = messages(case), case.layout
    rows, cols = arrived(found)
    warps = layout.in_sizes["warp"]
    origins = np.array(
        [[found.origin(x, y) for y in range(warps)] for x in found.firsts]
    )
    message, value = np.array(found.sources).T
    for number, wanted in enumerate(layout.table().values()):
        have = np.repeat(origins[message][:, None, :, number], found.lanes, axis=1)
        if number == found.rows:
            have = have + rows[value][:, :, None]
        if number == found.cols:
            have = have + cols[value][:, :, None]
        assert (have == wanted.reshape(have.shape)).all()
