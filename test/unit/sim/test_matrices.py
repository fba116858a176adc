"""Distributions that a driver might have are distributions."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f32

from coopc.dialects.coopmatrix import MatrixType, Use
from coopc.sim.matrices import reversed_layout


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize(("rows", "cols"), [(8, 8), (7, 9), (1, 1)])
@pytest.mark.parametrize("use", [Use.A, Use.B, Use.ACC])
def test_reversed_is_a_distribution(rows: int, cols: int, use: Use, lanes: int) -> None:
    """Each element has an owner, whose place has it; a lane's first place has none."""
    type = MatrixType.of(rows, cols, f16 if use is Use.A else f32, use)
    found = reversed_layout(type, lanes)
    row, col = np.indices((rows, cols))
    again = found.coordinate(*found.owners(row, col))
    np.testing.assert_array_equal(again, (row, col))
    held, _ = found.table()
    assert (held[0] == rows).all()
    assert (held < rows).sum() >= rows * cols
