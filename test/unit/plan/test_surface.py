"""Rules of surfaces: what is known is checked, in bytes or in units of elements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.device import device
from coopc.plan.refusal import Reason
from coopc.plan.surface import Part, refuse_surface, rules

IO = device("bmg").block_io


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"pitch": 72}, Reason.PITCH),
        ({"pitch": 48}, Reason.PITCH),
        ({"pitch": 1 << 24}, Reason.PITCH),
        ({"width": 32}, Reason.WIDTH),
        ({"width": 1 << 24}, Reason.WIDTH),
        ({"height": 1 << 24}, Reason.WIDTH),
        ({"base": 32}, Reason.BASE),
        ({"width": 256, "pitch": 128}, Reason.PITCH),
    ],
)
def test_refused(known: dict[Part, int], reason: Reason) -> None:
    assert IO is not None
    refusal = refuse_surface(IO, known)
    assert refusal is not None
    assert refusal.reason is reason


def test_what_is_right_or_unknown_is_not_refused() -> None:
    assert IO is not None
    assert refuse_surface(IO, {}) is None
    known: dict[Part, int] = {"base": 64, "width": 200, "height": 7, "pitch": 208}
    assert refuse_surface(IO, known) is None


@given(value=st.integers(0, 1 << 25), size=st.sampled_from([1, 2, 4, 8]))
def test_units(value: int, size: int) -> None:
    assert IO is not None
    for rule in rules(IO):
        in_bytes = rule.violated(value * size) is None
        assert (rule.in_units(size).violated(value) is None) == in_bytes
