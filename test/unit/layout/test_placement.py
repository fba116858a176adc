"""The laws that coopc/layout/placement.py states."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import Distribution
from coopc.layout.encodings import BlockedEncoding
from coopc.layout.placement import Placement
from coopc.layout.row_slice import RowSlices

POWERS = st.sampled_from([1, 2, 4])
PAIRS = st.tuples(POWERS, POWERS)
SIZES = st.integers(1, 30)
LANES = st.sampled_from([4, 8, 16])


@given(st.builds(BlockedEncoding, PAIRS, PAIRS, PAIRS, st.just((1, 0))), PAIRS)
def test_linear(encoding: BlockedEncoding, shape: tuple[int, int]) -> None:
    layout = encoding.linear(shape)
    x = Placement.of_linear(layout)
    assert x.shape == x.extent == shape
    assert x.sizes == layout.in_sizes
    assert x.inside.all()
    for block, warp, register, lane in np.ndindex(x.coordinates.shape[:4]):
        place = layout.at(register=register, lane=lane, warp=warp, block=block)
        found = x.coordinates[block, warp, register, lane]
        assert tuple(found.tolist()) == tuple(place.values())


@given(
    st.one_of(
        st.builds(RowSlices, SIZES, SIZES, LANES),
        st.builds(
            CoopmatrixLayout.of,
            SIZES,
            SIZES,
            st.sampled_from([8, 16, 32]),
            st.sampled_from(["a", "b", "acc"]),
            LANES,
        ),
    )
)
def test_distribution(x: Distribution) -> None:
    placement = Placement.of_distribution(x)
    ((registers,),) = placement.lists()
    for component, row in enumerate(registers):
        for lane, found in enumerate(row):
            row_col = x.element(lane, component)
            assert found == (None if row_col == x.shape else list(row_col))
    assert placement.extent >= x.shape
