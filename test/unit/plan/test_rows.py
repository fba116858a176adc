"""Laws of `coopc.plan.rows`."""

from hypothesis import given
from hypothesis import strategies as st

from coopc.plan.rows import AXES, RowPlan, RowProblem, RowReduction, plan_rows

SIZE = st.one_of(st.none(), st.integers(0, 400))
LANES = st.sampled_from([1, 8, 16, 32])


@st.composite
def problems(draw: st.DrawFn) -> RowProblem:
    sizes = draw(st.lists(SIZE, max_size=6))
    weights = draw(
        st.lists(st.integers(0, 4), min_size=len(sizes), max_size=len(sizes))
    )
    reason = st.one_of(st.none(), st.just("the steps follow one another"))
    reduction = st.builds(RowReduction, SIZE, st.integers(0, 4), reason, st.booleans())
    return RowProblem(
        tuple(sizes), tuple(weights), draw(st.one_of(st.none(), reduction))
    )


@st.composite
def plans(draw: st.DrawFn) -> tuple[RowProblem, RowPlan]:
    problem, lanes = draw(problems()), draw(LANES)
    items = lanes * draw(st.integers(1, 8))
    each, block, wide = (draw(st.sampled_from([1, 4])) for _ in range(3))
    return problem, plan_rows(
        problem, lanes, items, each, block, wide, draw(st.booleans()), steps=8
    )


@given(plans())
def test_each_loop_is_somewhere(case: tuple[RowProblem, RowPlan]) -> None:
    problem, plan = case
    own = () if plan.loop is None else (plan.loop,)
    found = sorted([*own, *(n for axis in plan.axes for n in axis), *plan.serial])
    assert found == list(range(len(problem.sizes)))
    assert len(own) + len(plan.axes) <= AXES


@given(plans())
def test_an_axis_is_affine(case: tuple[RowProblem, RowPlan]) -> None:
    """A grid is an affine map of sizes, so no axis has the product of two of them."""
    problem, plan = case
    for axis in plan.axes:
        assert sum(problem.sizes[n] is None for n in axis) <= 1
        assert list(axis) == sorted(axis)


@given(plans())
def test_work_groups_are_whole(case: tuple[RowProblem, RowPlan]) -> None:
    _, plan = case
    assert plan.items % plan.lanes == 0
    if plan.kind == "work-items":
        assert plan.chunk % plan.items == 0
    else:
        assert plan.items == plan.lanes
        assert plan.loop is None


@given(plans())
def test_a_subgroup_only_combines_what_has_no_order(
    case: tuple[RowProblem, RowPlan],
) -> None:
    problem, plan = case
    if plan.kind == "subgroup":
        assert problem.reduction is not None
        assert problem.reduction.sequential is None
        size = problem.reduction.size
        assert size is None or size >= plan.lanes


@given(plans())
def test_steps_are_of_reductions_that_are_stored(
    case: tuple[RowProblem, RowPlan],
) -> None:
    problem, plan = case
    if plan.steps is not None:
        assert problem.reduction is not None
        assert problem.reduction.stored
        assert plan.kind == "work-items"
        assert plan.chunk > plan.items
