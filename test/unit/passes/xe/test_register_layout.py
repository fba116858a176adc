"""Which lane has which element of a matrix that is operands of DPAS."""

from __future__ import annotations

from itertools import product

import numpy as np
from xdsl.dialects.builtin import f16, f32, i8, i32

from coopc.device import DEVICES
from coopc.dialects.coopmatrix import MatrixType, Use
from coopc.passes.xe.register_layout import DpasTiling, tiling_of


def test_one_lane_has_an_element() -> None:
    """Of every operand of DPAS, so that an atomic update happens once."""
    seen = 0
    for name, element, use in product(
        ("dg2", "pvc", "bmg"), (f16, f32, i8, i32), (Use.A, Use.B, Use.ACC)
    ):
        device = DEVICES[name]
        for rows, cols, lanes in product(
            (1, 2, 4, 8, 16, 24, 32), (8, 16, 32, 48, 64), device.subgroup_sizes
        ):
            type = MatrixType.of(rows, cols, element, use)
            tiling = tiling_of(type, device, lanes)
            if isinstance(tiling, DpasTiling):
                seen += 1
                held = tiling.registers.elements(lanes).reshape(-1, 2)
                wanted = np.argwhere(np.ones((rows, cols)))
                assert sorted(held.tolist()) == wanted.tolist(), type
    assert seen > 800


def test_parts_are_tiles() -> None:
    """A part of a matrix has the elements of the tiles that are in it, in a lane."""
    type = MatrixType.of(24, 48, f16, Use.A)
    tiling = tiling_of(type, DEVICES["bmg"], 16)
    assert isinstance(tiling, DpasTiling)
    whole, part = tiling.registers, tiling.over((16, 32))
    tiles = {whole.first(piece) for piece in range(whole.pieces)}
    assert {part.first(piece) for piece in range(part.pieces)} < tiles
    assert set(part.position) < set(whole.position)
    assert part.layout.bases("lane") == whole.layout.bases("lane")
    assert tiling.parts.suffixes[:4] == ("_0x0", "_0x1", "_0x2", "_1x0")
