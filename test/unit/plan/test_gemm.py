"""Laws of the plans of matrix multiplications, and what is refused."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.gemm_problems import HALVES, problem

from coopc.device import DEVICES, INTEL_CPU, LAVAPIPE, NVIDIA, Device, GemmTiles
from coopc.plan.core_gemm import plan_amx_gemm
from coopc.plan.gemm import (
    LANE_SUMS,
    Direct,
    GemmPlan,
    Panel,
    derived_tiles,
    is_of_vector,
    panel,
    parts_along_k,
    plan_direct_gemm,
    plan_staged_gemm,
    plan_whole_gemm,
)
from coopc.plan.gemm_schedule import (
    Actions,
    Barrier,
    Copy,
    Fetch,
    Multiply,
    Read,
    Store,
    Turn,
    edge_schedule,
    pipelined_schedule,
    slot,
)

BYTES = ("s8", "s8", "s32")
BANKS, BANK_BYTES = 32, 4
TURNING = replace(LAVAPIPE, turns_bytes=True)


def parts(plan: GemmPlan, m: int, n: int) -> Iterator[tuple[range, range]]:
    """The rows and columns of C that each subgroup computes, by the grid."""
    (group_m, group_n), (sub_m, sub_n) = plan.group, plan.subgroup
    groups = product(range(-(-m // group_m)), range(-(-n // group_n)))
    for group_row, group_col in groups:
        inside = product(range(0, group_m, sub_m), range(0, group_n, sub_n))
        for down, across in inside:
            row, col = group_row * group_m + down, group_col * group_n + across
            yield range(row, min(row + sub_m, m)), range(col, min(col + sub_n, n))


@st.composite
def staged_plans(draw: st.DrawFn) -> GemmPlan:
    """Plans of random tiles; of those that are refused, none."""
    device = draw(st.sampled_from([LAVAPIPE, TURNING, NVIDIA]))
    elements = draw(st.sampled_from([HALVES, BYTES]))
    m, n = (16 * draw(st.sampled_from([1, 2, 4])) for _ in "mn")
    down, across = (draw(st.sampled_from([1, 2, 4])) for _ in "mn")
    sliced = draw(st.booleans())
    split = 1 if sliced else draw(st.sampled_from([1, 2, 4]))
    stages = 1 if sliced else draw(st.sampled_from([1, 2]))
    tiles = GemmTiles(
        (m * down, n * across),
        (m, n),
        32 * split * draw(st.integers(1, 5)),
        stages,
        draw(st.booleans()),
        sliced=sliced,
        split=split,
        ahead=1 if sliced else draw(st.sampled_from([1, 2, 3, 4])),
    )
    transposed = draw(st.booleans()), draw(st.booleans())
    found = plan_staged_gemm(problem((64, 64, 64), elements, transposed), device, tiles)
    assume(isinstance(found, GemmPlan))
    assert isinstance(found, GemmPlan)
    return replace(found, late=sliced and draw(st.booleans()))


@st.composite
def plans(draw: st.DrawFn) -> GemmPlan:
    """Plans of all engines."""
    sizes = st.one_of(st.none(), st.integers(0, 3000))
    what = problem((draw(sizes), draw(sizes), draw(sizes)))
    match draw(st.sampled_from(["direct", "staged", "amx"])):
        case "direct":
            device = draw(st.sampled_from([None, *DEVICES.values()]))
            return plan_direct_gemm(what, device)
        case "amx":
            found = plan_amx_gemm(what, draw(st.integers(1, 64)))
            assert isinstance(found, GemmPlan)
            return found
        case _:
            return draw(staged_plans())


@given(plans(), st.integers(0, 100), st.integers(0, 100))
def test_cover(plan: GemmPlan, m: int, n: int) -> None:
    """The tiles of all subgroups have each element of C once, at ragged sizes too."""
    seen = Counter(
        place for rows, cols in parts(plan, m, n) for place in product(rows, cols)
    )
    assert seen == Counter(product(range(m), range(n)))
    assert sum(plan.parts) * plan.part_cols == plan.subgroup[1]


@given(plans(), st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_a_tile_that_may_leave_memory_is_checked(
    plan: GemmPlan, m: int, n: int, k: int
) -> None:
    (tile_m, tile_n), tile_k = plan.group, plan.depth
    found = plan_direct_gemm(problem((m, n, k)), None, (tile_m, tile_n, tile_k))
    for feed, sizes, tile in (
        (found.a, (m, k), (tile_m, tile_k)),
        (found.b, (k, n), (tile_k, tile_n)),
        (found.c, (m, n), (tile_m, tile_n)),
    ):
        assert isinstance(feed, Direct)
        ragged = [size % of != 0 for size, of in zip(sizes, tile, strict=True)]
        assert [axis in feed.checked for axis in ("rows", "cols")] == ragged


def test_what_a_device_has_no_layout_for_is_checked() -> None:
    """Those accesses go through work-group memory, which has any."""
    by_columns = problem((64, 64, 64), transposed=(True, False))
    found = plan_direct_gemm(by_columns, INTEL_CPU)
    assert found.a == Direct(("rows", "cols"))
    assert found.b == Direct()
    assert plan_direct_gemm(by_columns, LAVAPIPE).a == Direct()


# --- panels --------------------------------------------------------------------------


def place(panel: Panel, number: int) -> tuple[int, int]:
    """The first row of pieces, and their number in it, as a kernel counts them."""
    if panel.turned:
        piece, row = divmod(number, panel.rows // panel.rows_at_once)
        return row * panel.rows_at_once, piece
    if panel.interleaved == 1:
        return divmod(number, panel.pieces)
    eight, within = divmod(number, panel.period)
    first, within = divmod(within, 8)
    across, piece = divmod(within, panel.pieces)
    return 8 * eight + first + panel.pieces * across, piece


@given(staged_plans())
def test_copy(plan: GemmPlan) -> None:
    """Work-items copy each piece of a panel once, all of them equally many."""
    for found in plan.panels:
        count, many = found.turns, found.rows_at_once
        assert count % plan.work_items == 0
        places = [place(found, number) for number in range(count)]
        rows = range(0, found.rows, many)
        assert sorted(places) == [*product(rows, range(found.pieces))]
        if plan.work_items % found.period == 0 and not found.turned:
            # What follows a work-item's first piece is in the same column.
            down = plan.work_items // found.pieces
            for number in range(count - plan.work_items):
                (row, piece), later = places[number], places[number + plan.work_items]
                assert later == (row + down, piece)


@pytest.mark.parametrize("pieces", range(1, 40))
def test_eight_rows_begin_in_different_banks(pieces: int) -> None:
    """What a matrix of 8 x 8 of f16 reads at once, 16 bytes of each of 8 rows."""
    found = Panel(64, pieces * 8, 2, 16, gaps=True)
    starts = {row * found.stride * 16 % (BANKS * BANK_BYTES) for row in range(8)}
    assert len(starts) == 8


@pytest.mark.parametrize("pieces", [1, 2, 4, 8, 16, 32])
def test_eight_work_items_write_to_different_banks(pieces: int) -> None:
    """Eight work-items that follow each other store 16 bytes each at once."""
    found = Panel(64, pieces * 8, 2, 16, gaps=True)
    for number in range(0, found.rows * pieces, 8):
        at = [place(found, each) for each in range(number, number + 8)]
        starts = {(row * found.stride + piece) * 16 for row, piece in at}
        assert len({start % (BANKS * BANK_BYTES) for start in starts}) == 8


@pytest.mark.parametrize("k", [16, 32, 64, 128])
def test_turned_pieces_are_stored_to_different_banks(k: int) -> None:
    """Eight work-items, one of four rows at a time, each begins with another."""
    found = Panel(256, k, 1, 16, gaps=True, turned=True)
    for first, turn in product(range(0, 64, 8), range(4)):
        rows = [4 * x + (x // 2 + turn) % 4 for x in range(first, first + 8)]
        starts = {row * found.stride * 16 % (BANKS * BANK_BYTES) for row in rows}
        assert len(starts) == 8


@pytest.mark.parametrize(
    ("sizes", "grain", "element", "items", "width"),
    [
        ((128, 32), 16, "f16", 256, 16),
        ((16, 16), 8, "f16", 32, 16),
        ((8, 8), 8, "f16", 8, 16),
        ((8, 8), 8, "f16", 16, 8),
        ((16, 64), 8, "s8", 32, 8),
        ((8, 8), 8, "s8", 16, 4),
    ],
)
def test_pieces_are_as_wide_as_they_can_be(
    sizes: tuple[int, int], grain: int, element: str, items: int, width: int
) -> None:
    found = panel(sizes, grain, element, items, gaps=True)
    assert found is not None
    assert found.width == width
    assert found.rows * found.pieces % items == 0


# --- schedules -----------------------------------------------------------------------


class WorkGroup:
    """Runs schedules on names of tiles, and fails where a law does not hold."""

    def __init__(self, plan: GemmPlan) -> None:
        self.plan = plan
        self.step = 0
        self.registers: dict[str, list[int]] = {"a": [], "b": []}
        self.memory: dict[tuple[str, int], int] = {}
        self.turned: set[tuple[str, int]] = set()
        self.read: set[tuple[str, int]] = set()
        self.stored: set[tuple[str, int]] = set()
        self.matrices: list[int] = []
        """Of which products the matrices are in registers."""
        self.multiplied: list[tuple[int, int]] = []
        """The products and parts of them that were done, in order."""

    def tiles(self, of: str) -> int:
        """Tiles of a step."""
        return self.plan.products if of == "b" and self.plan.sliced else 1

    def put(self, of: str, tile: int, into: int) -> None:
        where = of, into
        assert where not in self.read, f"{where} is read while {of} {tile} is stored"
        self.stored.add(where)
        self.memory[where] = tile

    def run(self, actions: Actions, edge: bool = False) -> None:
        for action in actions:
            match action:
                case Fetch(of, tile):
                    self.registers[of].append(self.step * self.tiles(of) + tile)
                case Turn(of):
                    self.turned.add((of, self.registers[of][0]))
                case Store(of, tile):
                    number = self.step * self.tiles(of) + tile
                    assert self.registers[of].pop(0) == number
                    turned = self.plan.panel_of[of].turned
                    assert turned == ((of, number) in self.turned)
                    self.put(of, number, slot(self.plan, of, number))
                case Copy(of, tile):
                    number = self.step * self.tiles(of) + tile
                    self.put(of, number, slot(self.plan, of, tile))
                case Read(number):
                    self._read(number, edge)
                case Multiply(first, end):
                    self._multiply(range(first, end))
                case Barrier():
                    self.read.clear()
                    self.stored.clear()

    def _read(self, number: int, edge: bool) -> None:
        for of in ("a", "b"):
            tile = number * self.tiles(of) // self.plan.products
            absolute = self.step * self.tiles(of) + tile
            where = of, slot(self.plan, of, tile if edge else absolute)
            assert where not in self.stored, f"{where} is stored while it is read"
            assert self.memory[where] == absolute
            self.read.add(where)
        self.matrices.append(self.step * self.plan.products + number)
        assert len(self.matrices) <= 2

    def _multiply(self, parts: range) -> None:
        now, count = self.matrices[0], sum(self.plan.parts)
        self.multiplied += [(now, part) for part in parts]
        if parts.stop == count:
            self.matrices.pop(0)

    def check(self, steps: int) -> None:
        """All parts of the products of some steps were done once, in order."""
        products = range(steps * self.plan.products)
        assert self.multiplied == [*product(products, range(sum(self.plan.parts)))]


@given(staged_plans(), st.integers(1, 5))
def test_schedule(plan: GemmPlan, steps: int) -> None:
    """What is multiplied was stored before, inside of memory and across edges."""
    inside = WorkGroup(plan)
    begin, step = pipelined_schedule(plan)
    inside.run(begin)
    for number in range(steps):
        inside.step = number * plan.ahead
        inside.run(step)
    inside.check(steps * plan.ahead)
    assert len(inside.matrices) == 1  # those of the step behind the last
    edge = WorkGroup(plan)
    for number in range(steps):
        edge.step = number
        edge.run(edge_schedule(plan), edge=True)
    edge.check(steps)
    assert not edge.matrices


def without(schedule: Actions, kind: type, number: int) -> Actions:
    """A schedule without one of its actions of a kind."""
    at = [x for x, action in enumerate(schedule) if isinstance(action, kind)]
    return (*schedule[: at[number]], *schedule[at[number] + 1 :])


@pytest.mark.parametrize(
    ("sliced", "late"), [(False, False), (True, False), (True, True)]
)
@pytest.mark.parametrize("kind", [Barrier, Turn, Store, Fetch, Read, Multiply])
def test_the_laws_find_what_is_missing(kind: type, sliced: bool, late: bool) -> None:
    """Without any one of its actions, a schedule breaks a law."""
    tiles = GemmTiles((32, 128), (16, 64), 32, stages=1, sliced=sliced)
    plan = plan_staged_gemm(problem((64, 64, 64), BYTES), TURNING, tiles)
    assert isinstance(plan, GemmPlan)
    plan = replace(plan, late=late)
    begin, step = pipelined_schedule(plan)
    count = sum(isinstance(action, kind) for action in step)
    assert count
    for number in range(count):
        group = WorkGroup(plan)
        group.run(begin)
        with pytest.raises((AssertionError, KeyError, IndexError)):  # noqa: PT012
            for each in range(4):
                group.step = each
                group.run(without(step, kind, number))
            group.check(4)


# --- decisions -----------------------------------------------------------------------


@pytest.mark.parametrize("device", [NVIDIA, LAVAPIPE], ids=["nvidia", "lavapipe"])
@pytest.mark.parametrize("elements", [HALVES, BYTES])
@pytest.mark.parametrize("transposed", [(a, b) for a in (0, 1) for b in (0, 1)])
def test_a_default_suits(
    device: Device, elements: tuple[str, str, str], transposed: tuple[bool, bool]
) -> None:
    found = plan_staged_gemm(problem((4096, 4096, 4096), elements, transposed), device)
    assert isinstance(found, GemmPlan)
    assert sum(x.bytes for x in found.panels) <= device.limits.local_bytes
    assert found.work_items <= device.limits.work_items


def test_nvidia() -> None:
    found = plan_staged_gemm(problem((4096, 4096, 4096)), NVIDIA)
    assert isinstance(found, GemmPlan)
    a, b = found.panels
    assert (found.width, found.depth, found.step) == (16, 16, 64)
    assert a == Panel(128, 64, 2, 16, gaps=True, copies=1)
    assert b == Panel(16, 256, 2, 16, gaps=True, copies=3)
    assert (a.stride, b.stride) == (9, 97)
    assert [slot(found, "b", tile) for tile in range(4)] == [0, 1, 2, 1]
    assert found.parts == (2, 1, 1)
    assert found.work_items == 256


@pytest.mark.parametrize(("elements", "step"), [(HALVES, 32), (BYTES, 64)])
def test_the_step_is_of_as_many_bytes(
    elements: tuple[str, str, str], step: int
) -> None:
    """Of sizes that are not known, without slices."""
    found = plan_staged_gemm(problem(elements=elements), NVIDIA)
    assert isinstance(found, GemmPlan)
    assert (found.step, found.sliced) == (step, False)


@pytest.mark.parametrize(
    ("sizes", "group", "split"),
    [
        ((4096, 4096, 4096), (128, 256), 1),
        ((1024, 1024, 1024), (64, 128), 2),
        ((512, 512, 512), (32, 64), 4),
        ((128, 4096, 4096), (64, 64), 4),
        ((32, 4096, 4096), (32, 32), 4),
        ((16, 4096, 4096), (16, 32), 8),
        ((1, 4096, 4096), (16, 32), 8),
        ((16, 512, 4096), (16, 32), 8),
        ((64, 64, 64), (64, 64), 1),
    ],
)
def test_tiles_by_size(
    sizes: tuple[int, int, int], group: tuple[int, int], split: int
) -> None:
    """Where C has few tiles, these are smaller, and subgroups share K."""
    found = plan_staged_gemm(problem(sizes), NVIDIA)
    assert isinstance(found, GemmPlan)
    assert (found.group, found.split) == (group, split)


def test_matrices_begin_where_they_are_loaded() -> None:
    """Rows of narrow pieces, as their length in memory asks for, have 16 bytes, too."""
    found = plan_staged_gemm(problem((2500, 2500, 2500)), NVIDIA)
    assert isinstance(found, GemmPlan)
    for each in found.panels:
        assert each.width == 8
        assert each.stride * each.width // 16 % 2 == 1


@pytest.mark.parametrize("size", [4096, None])
@pytest.mark.parametrize(
    ("transposed", "group"),
    [
        ((False, False), (256, 128)),
        ((False, True), (128, 256)),
        ((True, True), (128, 256)),
        ((True, False), (128, 256)),
    ],
)
def test_few_bytes_are_turned(
    size: int | None, transposed: tuple[bool, bool], group: tuple[int, int]
) -> None:
    """The operand that is turned has the shorter side of the tile."""
    what = problem((size, size, size), BYTES, transposed)
    found = plan_staged_gemm(what, NVIDIA)
    assert isinstance(found, GemmPlan)
    assert found.group == group
    turned = [x.turned for x in found.panels]
    assert turned == [transposed[0], not transposed[1]]
    assert plan_whole_gemm(what, NVIDIA) == (found if size is None else None)


def test_slices_of_unknown_sizes() -> None:
    """They are for multiples of the tiles; other sizes have no slices."""
    found = plan_whole_gemm(problem(), NVIDIA)
    assert found is not None
    assert found.sliced
    odd = plan_whole_gemm(problem((None, 4100, None)), NVIDIA)
    assert odd is None


TILES = GemmTiles((32, 32), (16, 16), 16)
REFUSED: list[tuple[GemmTiles, Device, str]] = [
    (replace(TILES, subgroup=(12, 16)), LAVAPIPE, "expected the M of a work-group"),
    (replace(TILES, subgroup=(16, 0)), LAVAPIPE, "expected the N of a work-group"),
    (replace(TILES, step=4), LAVAPIPE, "expected a subgroup's tile and a step"),
    (replace(TILES, stages=0), LAVAPIPE, "expected 1 or 2 stages, got 0"),
    (replace(TILES, split=0), LAVAPIPE, "expected 1 or more subgroups that share K"),
    (
        replace(TILES, split=2, stages=1, sliced=True),
        LAVAPIPE,
        "expected 1 or more subgroups that share K, and 1 with slices of B, got 2",
    ),
    (
        replace(TILES, ahead=2, stages=1, sliced=True),
        LAVAPIPE,
        "expected 1 or more steps ahead, and 1 with slices of B, got 2",
    ),
    (replace(TILES, ahead=3), LAVAPIPE, "expected 1 or an even number of steps"),
    (replace(TILES, split=4), LAVAPIPE, "expected a subgroup's tile and a step of"),
    (
        GemmTiles((128, 256), (64, 64), 32),
        NVIDIA,
        "expected at most 49152 bytes of work-group memory on nvidia, got 51712",
    ),
    (
        GemmTiles((48, 16), (8, 16), 8),
        LAVAPIPE,
        "expected a tile of B that 48 work-items copy in equal pieces of 16, 8, 4 "
        "bytes, got 8 x 16 of f16",
    ),
]


@pytest.mark.parametrize(("tiles", "device", "reason"), REFUSED)
def test_refused(tiles: GemmTiles, device: Device, reason: str) -> None:
    found = plan_staged_gemm(problem(), device, tiles)
    assert isinstance(found, str)
    assert found.startswith(reason)


@pytest.mark.parametrize("element", ["f8E8M0FNU", "f4E2M1FN", "f64"])
@pytest.mark.parametrize("tiles", [None, TILES])
def test_types_that_the_device_does_not_multiply(
    element: str, tiles: GemmTiles | None
) -> None:
    found = plan_staged_gemm(problem(elements=(element, element, "f32")), NVIDIA, tiles)
    assert found == f"nvidia does not multiply {element} * {element} + f32 -> f32"


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize("elements", [HALVES, BYTES], ids=["f16", "s8"])
def test_derived_tiles_fit_the_device(
    device: Device, elements: tuple[str, str, str]
) -> None:
    """Shapes, work-items, work-group memory, sums of a lane; largest first."""
    found = [*derived_tiles(problem((64, 64, 64), elements), device)]
    assert bool(found) == (device.family == "vulkan")
    for plan in found:
        assert any(
            (plan.width, plan.depth) == (x.n, x.k) and plan.subgroup[0] % x.m == 0
            for x in device.multiplications(*elements, elements[2])
        )
        assert plan.work_items <= device.limits.work_items
        assert sum(x.bytes for x in plan.panels) <= device.limits.local_bytes // 2
        sums = plan.subgroup[0] * plan.subgroup[1] // device.subgroup_size
        assert sums <= LANE_SUMS
    sums = [x.subgroup[0] * x.subgroup[1] for x in found]
    assert sums == sorted(sums, reverse=True)


@pytest.mark.parametrize("sizes", [(1, 4096, 4096), (4096, 1, 4096), (1, None, None)])
def test_a_product_of_a_vector(sizes: tuple[int, int | None, int | None]) -> None:
    """Under Vulkan it uses no matrices, and is not divided along K."""
    asked = problem(sizes)
    vulkan = [is_of_vector(asked, DEVICES[x]) for x in ("nvidia", "lavapipe", "rdna4")]
    others = [is_of_vector(asked, DEVICES[x]) for x in ("bmg", "intel-cpu")]
    assert (vulkan, others) == ([True] * 3, [False] * 2)
    assert not is_of_vector(asked, None)
    assert parts_along_k(asked, NVIDIA) == 1
    assert not is_of_vector(problem((2, 4096, 4096)), NVIDIA)
