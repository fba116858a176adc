"""Which lane has which element of a matrix that is operands of DPAS."""

from __future__ import annotations

from itertools import product

from xdsl.dialects.builtin import f16, f32, i8, i32

from coopc.device import DEVICES
from coopc.dialects.coopmatrix import MatrixType, Use
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces, pieces_of


def test_one_lane_has_an_element() -> None:
    """Of every operand of DPAS, so that an atomic update happens once."""
    seen = 0
    for name, element, use in product(
        ("dg2", "pvc", "bmg"), (f16, f32, i8, i32), (Use.A, Use.B, Use.ACC)
    ):
        device = DEVICES[name]
        for rows, cols, lanes in product(
            (1, 2, 4, 8, 16, 32), (8, 16, 32, 64), device.subgroup_sizes
        ):
            type = MatrixType.of(rows, cols, element, use)
            pieces = pieces_of(type, device, lanes)
            if isinstance(pieces, Pieces):
                spread, seen = pieces.spread, seen + 1
                coordinates = {spread.coordinates[x] for x in spread.registers}
                each = spread.run * lanes
                assert len(coordinates) == spread.run
                assert each == pieces.tile[0] * pieces.tile[1], type
    assert seen > 500
