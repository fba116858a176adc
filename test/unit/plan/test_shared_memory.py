"""Laws of buffers that share memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.plan.shared_memory import Lifetime, share

TIMES = st.integers(0, 30)


def lifetime(one: int, other: int, size: int) -> Lifetime:
    return Lifetime(min(one, other), max(one, other), size)


LIFETIMES = st.lists(st.builds(lifetime, TIMES, TIMES, st.integers(1, 40)), max_size=12)
ALIGNMENTS = st.sampled_from([1, 4, 16])


@given(LIFETIMES, ALIGNMENTS)
def test_live_buffers_do_not_overlap(lifetimes: list[Lifetime], alignment: int) -> None:
    plan = share(lifetimes, alignment)
    for time in range(31):
        taken: set[int] = set()
        for each, offset in zip(lifetimes, plan.offsets, strict=True):
            if each.first <= time <= each.last:
                cells = set(range(offset, offset + each.size))
                assert not taken & cells
                taken |= cells
    assert all(offset % alignment == 0 for offset in plan.offsets)


@given(LIFETIMES)
def test_size_is_between_the_peak_and_the_sum(lifetimes: list[Lifetime]) -> None:
    size = share(lifetimes).size
    peaks = (
        sum(x.size for x in lifetimes if x.first <= time <= x.last)
        for time in range(31)
    )
    assert max(peaks) <= size <= sum(x.size for x in lifetimes)


@given(LIFETIMES)
def test_is_reused(lifetimes: list[Lifetime]) -> None:
    """What is not reused has cells that no other buffer has."""
    plan = share(lifetimes)
    cells = [
        set(range(offset, offset + x.size))
        for x, offset in zip(lifetimes, plan.offsets, strict=True)
    ]
    for number, own in enumerate(cells):
        others = set[int]().union(*(x for n, x in enumerate(cells) if n != number))
        assert plan.is_reused(number) == bool(own & others)


@pytest.mark.parametrize(("first", "last", "size"), [(3, 2, 1), (0, 0, 0)])
def test_what_is_no_lifetime(first: int, last: int, size: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        Lifetime(first, last, size)
