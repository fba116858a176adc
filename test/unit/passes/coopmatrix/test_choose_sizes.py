"""Laws of the choice of tile sizes: it is right, and it is found where there is one."""

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.passes.coopmatrix.split_coopmatrix.choose_sizes import (
    Constraint,
    choose,
)

SIZES = (1, 2, 4, 8)
AXES = 4


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    """A constraint on one to three of a few axes; an axis may stand twice."""
    axes = draw(st.lists(st.integers(0, AXES - 1), min_size=1, max_size=3))
    sizes = st.tuples(*(st.sampled_from(SIZES) for _ in axes))
    options = draw(st.lists(sizes, max_size=5, unique=True))
    return Constraint(tuple(axes), tuple(options), draw(st.integers(1, 9)))


def meets(sizes: Mapping[int, int], constraint: Constraint) -> bool:
    return tuple(sizes[axis] for axis in constraint.axes) in constraint.options


def solutions(wanted: list[Constraint]) -> list[Mapping[int, int]]:
    """All sizes that meet all constraints, by trying."""
    tried = (dict(enumerate(sizes)) for sizes in product(SIZES, repeat=AXES))
    return [sizes for sizes in tried if all(meets(sizes, x) for x in wanted)]


@given(st.lists(constraints(), max_size=5))
def test_sizes_meet_all_constraints_wherever_some_do(wanted: list[Constraint]):
    found = choose(wanted)
    if isinstance(found, Constraint):
        assert any(found is x for x in wanted)
        assert not solutions(wanted)
        return
    assert set(found) == {axis for x in wanted for axis in x.axes}
    assert all(meets(found, constraint) for constraint in wanted)


@given(st.lists(constraints(), min_size=1, max_size=4))
def test_the_heaviest_gets_its_first_option_that_is_possible(wanted: list[Constraint]):
    first, *rest = wanted
    heavy = Constraint(first.axes, first.options, weight=100)
    found = choose([*rest, heavy])
    if isinstance(found, Constraint):
        return
    possible = {
        tuple(sizes[axis] for axis in heavy.axes) for sizes in solutions([*rest, heavy])
    }
    chosen = tuple(found[axis] for axis in heavy.axes)
    assert chosen == next(x for x in heavy.options if x in possible)


def test_weight_decides_and_not_the_place():
    wanted = [Constraint((0,), ((4,), (8,))), Constraint((0,), ((8,), (4,)), weight=2)]
    assert choose(wanted) == choose(wanted[::-1]) == {0: 8}


@given(st.lists(constraints(), max_size=4))
def test_a_repetition_changes_nothing(wanted: list[Constraint]):
    assert choose(wanted) == choose([*wanted, *wanted])


def test_many_programs_beside_one_that_cannot_be():
    """Each of 300 has three options; what fails beside them is not tried with all."""
    free = [Constraint((i,), ((4,), (2,), (1,)), weight=2) for i in range(300)]
    pairs = [Constraint((1000, 1001), ((1, 2), (2, 1)))]
    pairs += [Constraint((1001, 1002), ((1, 2), (2, 1)))]
    pairs += [Constraint((1002, 1000), ((1, 2), (2, 1)))]
    assert choose([*free, *pairs]) in pairs


def test_a_long_chain():
    """A sum over 3,000 products shares M and N, and each has a K of its own."""
    wanted = [
        Constraint((0, 1, 2 + i), ((16, 16, 16), (16, 8, 16), (16, 8, 8)))
        for i in range(3000)
    ]
    found = choose([*wanted, Constraint((1,), ((8,),))])
    assert found == {0: 16, 1: 8, **{2 + i: 16 for i in range(3000)}}


def test_an_option_has_a_size_for_each_axis():
    with pytest.raises(ValueError, match=r"each of 2 axes, got \(8,\)"):
        Constraint((0, 1), ((8,),))
