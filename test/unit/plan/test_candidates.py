"""Laws of the plans that a tuner tries, and of the choices that tuning files have."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coopc.device import DEVICES, NVIDIA
from coopc.device.file import record, written
from coopc.plan.candidates import candidates, distance, next_choice
from coopc.plan.gemm import (
    WIDE_VECTOR_TILE,
    GemmOperand,
    GemmPlan,
    Packed,
    Panel,
    Problem,
)
from coopc.plan.tuning import (
    Choice,
    Engine,
    TunedProduct,
    Tuning,
    built_in_plan,
    choice_of,
    described,
    plan_by,
    read_tuning,
)

TYPES = (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("s8", "s32"), ("f32", "f32"))
KHR = [
    Engine("coopc-khr", DEVICES[name], staged)
    for name in ("nvidia", "ada", "lavapipe", "rdna4", "intel-cpu")
    for staged in (True, False)
    if not (staged and name == "intel-cpu")
]
ENGINES = [
    *KHR,
    Engine("coopc-lanes", DEVICES["lavapipe"]),
    Engine("coopc-amx", threads=4),
    Engine("coopc-cpu"),
    Engine("coopc-cpu", threads=8, tile=WIDE_VECTOR_TILE),
]
SIZES = st.one_of(st.none(), st.integers(1, 5000), st.sampled_from([16, 512, 4096]))


def problem(
    sizes: tuple[int | None, int | None, int | None],
    types: tuple[str, str] = ("f16", "f32"),
    transposed: tuple[bool, bool] = (False, False),
) -> Problem:
    m, n, k = sizes
    ab, c = types

    def matrix(
        element: str, rows: int | None, cols: int | None, turned: bool = False
    ) -> GemmOperand:
        strides = (1, rows) if turned else (cols, 1)
        return GemmOperand("memref", element, (rows, cols), strides, transposed=turned)

    return Problem(
        matrix(ab, m, k, transposed[0]),
        matrix(ab, k, n, transposed[1]),
        matrix(c, m, n),
        "constant",
    )


PROBLEMS = st.builds(
    problem,
    st.tuples(SIZES, SIZES, SIZES),
    st.sampled_from(TYPES),
    st.tuples(st.booleans(), st.booleans()),
)


@settings(max_examples=60)
@given(PROBLEMS, st.sampled_from(ENGINES))
def test_valid_and_once(multiplied: Problem, engine: Engine) -> None:
    """Each has a plan inside of the device's limits, and no two have the same."""
    every = candidates(multiplied, engine)
    plans = [plan_by(x, multiplied, engine) for x in every]
    assert len({*plans}) == len(every)
    first = built_in_plan(multiplied, engine)
    assert plans[:1] == ([] if isinstance(first, str) else [first])
    for plan in plans:
        assert isinstance(plan, GemmPlan)
        if engine.device is not None and isinstance(plan.b, Panel):
            limits = engine.device.limits
            assert sum(x.bytes for x in plan.panels) <= limits.local_bytes
            assert plan.work_items <= limits.work_items


@settings(max_examples=60)
@given(PROBLEMS, st.sampled_from(ENGINES), st.data())
def test_choice(multiplied: Problem, engine: Engine, data: st.DataObject) -> None:
    """The plan by the choice of a plan is that plan."""
    every = candidates(multiplied, engine)
    if every:
        plan = plan_by(data.draw(st.sampled_from(every)), multiplied, engine)
        assert isinstance(plan, GemmPlan)
        choice = choice_of(plan, multiplied, engine)
        assert plan_by(choice, multiplied, engine) == plan
        assert record(Choice, json.loads(json.dumps(asdict(choice)))) == choice


@given(st.lists(st.one_of(st.none(), st.floats(0.1, 9)), min_size=18))
def test_all(times: list[float | None]) -> None:
    """`next_choice` gives each candidate once, whatever they take, then None."""
    every = candidates(problem((64, 64, 64)), ENGINES[-4])
    measured: dict[Choice, float | None] = {}
    while (choice := next_choice(every, measured)) is not None:
        assert choice not in measured
        measured[choice] = times[len(measured) % len(times)]
    assert {*measured} == {*every}


def test_nearest() -> None:
    """By turns comes what is the nearest to the fastest."""
    every = [Choice(tile=(x, 16, 16)) for x in (8, 16, 128, 64, 32)]
    measured: dict[Choice, float | None] = {every[0]: 3.0, every[1]: None}
    assert next_choice(every, measured) == every[2]
    measured[every[2]] = 1.0
    assert next_choice(every, measured) == every[3]
    assert distance(every[0], every[1]) == 1
    assert distance(every[0], Choice(NVIDIA.gemm_tiles[0])) > 100


def test_of_the_device_first() -> None:
    """Behind the built-in plan come the device's own tiles: those were measured."""
    engine = ENGINES[0]
    every = candidates(problem((128, 4096, 4096)), engine)
    known = [replace(x, cost=None) for x in NVIDIA.gemm_tiles if not x.sliced]
    begin = [x.tiles and replace(x.tiles, band=0) for x in every[: 2 * len(known)]]
    assert all(replace(x, band=0) in begin for x in known)


def test_packed() -> None:
    for engine in ENGINES[-3:]:
        types = ("bf16", "f32") if engine.pipeline == "coopc-amx" else ("f32", "f32")
        multiplied = problem((1000, 1000, 1000), types)
        found = candidates(multiplied, engine)
        assert len(found) > 50
        plans = [plan_by(x, multiplied, engine) for x in found]
        assert all(isinstance(x, GemmPlan) and isinstance(x.b, Packed) for x in plans)
    assert not candidates(problem((64, 64, 64), ("s8", "s32")), ENGINES[-1])


# --- tuning files ----------------------------------------------------------------

TUNING = Tuning(
    "0.1.0",
    "coopc-khr",
    "a GPU",
    "a driver",
    (
        TunedProduct("1x2x3 f16 f16 f32", Choice(tile=(16, 16, 16))),
        TunedProduct("?x2x3 f16 f16 f32", Choice(NVIDIA.gemm_tiles[0])),
    ),
    "nvidia",
    milliseconds=0.5,
)


def test_written(tmp_path: Path) -> None:
    """What is written is read again as it is, also as JSON."""
    file = tmp_path / "tuning.toml"
    file.write_text(written(TUNING))
    assert read_tuning(str(file)) == TUNING
    file = tmp_path / "tuning.json"
    file.write_text(json.dumps({"version": 1, **asdict(TUNING)}))
    assert read_tuning(str(file)) == TUNING


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 1", "version = 2", "expected version = 1, got 2"),
        ('driver = "a driver"\n', "", "expected driver"),
        ("driver", "drivr", "drivr: unknown key, did you mean 'driver'?"),
        ("tile =", "tyle =", "products[0].choice.tyle: unknown key, did you mean 'ti"),
        (
            "[16, 16, 16]",
            "[16, 16]",
            "products[0].choice.tile: expected 3 items, got 2",
        ),
        (
            "[16, 16, 16]",
            "[16, 16, 0]",
            "products[0].choice: expected tiles, a tile, or",
        ),
        (
            "tile =",
            "block =",
            "products: expected tiles or tile, which coopc-khr takes",
        ),
        ("coopc-khr", "coopc-kh", "pipeline: expected coopc-khr or coopc-lanes or"),
        ("target =", "target", "at line"),
    ],
)
def test_mistakes(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tuning.toml"
    text = written(TUNING)
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=r"tuning\.toml: ") as error:
        read_tuning(str(file))
    assert message in str(error.value)


def test_described() -> None:
    """All that decides a plan is in the name of a product."""
    given = problem((None, 8, 9))
    assert described(given) == "?x8x9 f16 f16 f32"
    others = [
        problem((None, 8, 9), transposed=(True, False)),
        problem((None, 8, 9), transposed=(False, True)),
        problem((None, 8, 9), ("bf16", "f32")),
        problem((4, 8, 9)),
        replace(given, fill="nothing"),
        replace(given, a=replace(given.a, row_alignment=16, strides=(16, 1))),
        replace(given, c=replace(given.c, batched=True)),
    ]
    assert len({described(given), *map(described, others)}) == len(others) + 1
