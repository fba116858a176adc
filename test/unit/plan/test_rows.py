"""Laws of `coopc.plan.rows`."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from coopc.plan.rows import (
    AXES,
    RowPlan,
    RowProblem,
    RowReduction,
    Sharing,
    plan_rows,
)

SIZE = st.one_of(st.none(), st.integers(0, 400))
LANES = st.sampled_from([1, 8, 16, 32, 64])
WIDTH = st.sampled_from([1, 2, 4, 8])
GPUS = st.builds(
    Sharing, st.sampled_from([0, 1, 128, 256, 1000, 1024]), st.sampled_from([20, 132])
)
Case = tuple[RowProblem, RowPlan, Sharing]


@st.composite
def problems(draw: st.DrawFn) -> RowProblem:
    sizes = draw(st.lists(SIZE, max_size=6))
    weights = draw(
        st.lists(st.integers(0, 4), min_size=len(sizes), max_size=len(sizes))
    )
    reason = st.one_of(st.none(), st.just("the steps follow one another"))
    reduction = st.builds(
        RowReduction,
        *(SIZE, st.integers(0, 4), reason, st.booleans(), WIDTH, st.booleans()),
    )
    widths = [draw(WIDTH) if x and x % 8 == 0 else 1 for x in sizes]
    reduces, loops = draw(st.one_of(st.none(), reduction)), range(len(sizes))
    crossed = None
    if reduces is None and len(sizes) > 1 and draw(st.booleans()):
        first, second, *_ = draw(st.permutations(loops))
        crossed = first, second
    return RowProblem(
        tuple(sizes),
        tuple(weights),
        reduces,
        tuple(widths),
        tuple(
            tuple(draw(st.integers(0, 2)) * (n != other) for other in loops)
            for n in loops
        ),
        crossed,
    )


@st.composite
def plans(draw: st.DrawFn) -> Case:
    problem, lanes = draw(problems()), draw(LANES)
    items = lanes * draw(st.integers(1, 8))
    each, block, wide = (draw(st.sampled_from([1, 4])) for _ in range(3))
    how = lanes, items, each, block, wide, draw(st.booleans())
    gpu = draw(GPUS)
    tile = draw(st.sampled_from([(1, 1), (6, 16), (12, 32), (4, 48), (3, 256)]))
    stages = draw(st.booleans())
    plan = plan_rows(problem, *how, steps=8, gpu=gpu, tile=tile, stages=stages)
    return problem, plan, gpu


@given(plans())
def test_tiles_are_of_crossed_loops(case: Case) -> None:
    """Lanes store along one loop, and copy along the innermost loop of an axis."""
    problem, plan, _ = case
    if plan.staged is not None:
        assert problem.crossed == (plan.loop, plan.staged)
        assert plan.axes[0][-1] == plan.staged
        assert plan.chunk == plan.items == plan.lanes
        assert plan.block % plan.lanes == 0


@given(plans())
def test_each_loop_is_somewhere(case: Case) -> None:
    problem, plan, _ = case
    own = () if plan.loop is None else (plan.loop,)
    found = sorted([*own, *(n for axis in plan.axes for n in axis), *plan.serial])
    assert found == list(range(len(problem.sizes)))
    assert len(own) + len(plan.axes) <= AXES


@given(plans())
def test_an_axis_is_affine(case: Case) -> None:
    """A grid is an affine map of sizes, so no axis has the product of two of them."""
    problem, plan, _ = case
    for axis in plan.axes:
        assert sum(problem.sizes[n] is None for n in axis) <= 1
        apart = plan.tile > 1 or plan.staged is not None
        rows = axis[-1:] if apart and axis is plan.axes[0] else ()
        rest = axis[: len(axis) - len(rows)]
        assert list(rest) == sorted(rest)


@given(plans())
def test_rows_at_once_are_of_a_block_and_share_loads(case: Case) -> None:
    problem, plan, _ = case
    if plan.tile == 1:
        return
    assert plan.loop is not None
    assert plan.block % plan.tile == 0
    assert plan.parts == 1
    assert plan.steps is None
    rows, size = plan.axes[0][-1], problem.sizes[plan.axes[0][-1]]
    assert problem.reuse[plan.loop][rows] > 0
    assert plan.tile <= 12
    assert plan.lanes & (plan.lanes - 1) == 0
    if size is not None and size % plan.tile:
        assert all(size % x for x in range(plan.tile // 2 + 1, plan.tile))


@given(plans())
def test_work_groups_are_whole(case: Case) -> None:
    _, plan, _ = case
    assert plan.items % plan.lanes == 0
    if plan.kind == "work-items":
        assert plan.chunk % plan.neighbours == 0
    else:
        assert plan.loop is None


@given(plans())
def test_a_subgroup_only_combines_what_has_no_order(
    case: Case,
) -> None:
    problem, plan, _ = case
    if plan.kind == "subgroup":
        assert problem.reduction is not None
        assert problem.reduction.sequential is None
        size = problem.reduction.size
        assert size is None or size >= plan.lanes


@given(plans())
def test_steps_are_of_reductions_that_are_stored(
    case: Case,
) -> None:
    problem, plan, _ = case
    if plan.steps is not None:
        assert problem.reduction is not None
        assert problem.reduction.stored
        assert plan.kind == "work-items"
        assert plan.chunk > plan.items


@given(plans())
def test_rows_are_shared_where_all_can_meet(case: Case) -> None:
    """Each work-item has one row or vector of rows, and some columns to combine."""
    problem, plan, gpu = case
    assert plan.items == plan.neighbours * plan.parts
    if plan.parts > 1:
        assert plan.items <= gpu.items
        assert plan.kind == "work-items"
        assert plan.loop is not None
        assert problem.reduction is not None
        assert problem.reduction.sequential is None
        assert plan.chunk == plan.neighbours * plan.width <= plan.items
        assert plan.parts % plan.width == 0
        assert plan.width in (1, problem.widths[plan.loop])
        assert plan.block == 1
        assert plan.steps is None


@given(plans())
def test_lanes_load_vectors_of_a_reduction(case: Case) -> None:
    problem, plan, gpu = case
    if plan.kind == "subgroup":
        assert problem.reduction is not None
        size = problem.reduction.size
        assert plan.width in (1, problem.reduction.width)
        assert plan.width == 1 or size is None or size >= plan.lanes * plan.width
        if plan.items > plan.lanes:
            assert plan.items <= gpu.items
            assert plan.block == 1
            assert None not in problem.sizes
            assert size is None or size >= 4 * plan.items * plan.width
    elif plan.parts == 1 and plan.width > 1:
        assert gpu.items
        assert problem.reduction is not None
        assert plan.loop is not None
        assert plan.width == problem.widths[plan.loop]
        assert plan.chunk == plan.items * plan.width
        size = problem.sizes[plan.loop]
        assert size is not None
        assert plan.chunk < size + plan.lanes * plan.width


def test_few_rows_occupy_a_gpu() -> None:
    """4096 columns are a work-group for each unit, of 64 bytes of a row of memory."""
    gpu = Sharing(1024, 128)
    columns = RowProblem((4096,), (2,), RowReduction(4096, 0), (8,))
    plan = plan_rows(columns, 32, gpu=gpu)
    assert (plan.neighbours, plan.parts, plan.chunk) == (4, 256, 32)
    many = RowProblem((1 << 17,), (2,), RowReduction(4096, 0), (8,))
    assert plan_rows(many, 32, gpu=gpu).parts == 1
    unknown = RowProblem((None,), (2,), RowReduction(None, 0))
    assert plan_rows(unknown, 32, gpu=gpu).parts == 8
    # On axes of at most 65535, a work-group of more rows may be needed.
    assert plan_rows(unknown, 32, block=8, gpu=gpu).parts == 1
    batch = RowProblem((None, None), (0, 2), RowReduction(None, 0))
    assert plan_rows(batch, 32, rows_on_x=True, gpu=gpu).parts == 1


def test_rows_that_are_read_again_stay_in_the_cache() -> None:
    """Subgroups of one row are more, so that fewer rows are in flight."""
    gpu = Sharing(256, 132, row_items=1024, cache=128 << 10)
    for columns, subgroups in ((1024, 2), (4096, 8), (16384, 32), (65536, 32)):
        its = RowReduction(columns, 4, width=4, again=4 * columns)
        plan = plan_rows(RowProblem((4096,), (0,), its), 32, gpu=gpu)
        assert plan.kind == "subgroup"
        assert plan.items == 32 * subgroups
        its = replace(its, again=0)
        once = plan_rows(RowProblem((4096,), (0,), its), 32, gpu=gpu)
        assert once.items == 32 * min(4, subgroups)
        many = RowProblem((8192,), (0,), its)
        assert plan_rows(many, 32, gpu=gpu).items == 32


def test_work_items_have_vectors_of_narrow_rows() -> None:
    """Where as many subgroups as a unit needs are left, and lanes are not idle."""
    gpu = Sharing(1024, 128)

    def width(rows: int, columns: int, width: int) -> int:
        its = RowReduction(64, 0)
        problem = RowProblem((rows, columns), (0, 2), its, (1, width))
        return plan_rows(problem, 32, gpu=gpu).width

    assert width(1024, 4096, 8) == 8
    assert width(1024, 4096, 4) == 1
    assert width(1024, 128, 8) == 1
    assert width(128, 1024, 8) == 1
