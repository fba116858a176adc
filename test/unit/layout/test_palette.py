"""The laws that coopc/layout/picture.py states."""

from itertools import pairwise

import pytest

from coopc.layout.picture import MOST, colours, hexadecimal, luminance

LANES = (1, 2, 4, 8, 16, 32, 64)


@pytest.mark.parametrize("lanes", LANES)
def test_different(lanes: int) -> None:
    found = colours(lanes)
    assert len(found) == lanes
    assert len({hexadecimal(colour) for colour in found}) == min(lanes, MOST)
    for one, other in pairwise(found):
        lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 1.35


@pytest.mark.parametrize("lanes", LANES)
def test_readable(lanes: int) -> None:
    assert min((luminance(colour) + 0.05) / 0.05 for colour in colours(lanes)) >= 4.5
