"""Laws of the plans that a tuner tries."""

import json
from dataclasses import asdict, replace

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.gemm_problems import problem

from coopc.device import DEVICES, NVIDIA
from coopc.device.cpu import WIDE_VECTOR_TILE
from coopc.device.file import record
from coopc.plan.candidates import candidates, distance, next_choice
from coopc.plan.gemm import (
    GemmPlan,
    Packed,
    Panel,
    Problem,
)
from coopc.plan.tuning import (
    Choice,
    Engine,
    built_in_plan,
    choice_of,
    plan_by,
)

TYPES = [
    (ab, ab, c)
    for ab, c in (
        ("f16", "f32"),
        ("f16", "f16"),
        ("bf16", "f32"),
        ("s8", "s32"),
        ("f32", "f32"),
    )
]
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
SIZES = st.one_of(st.none(), st.integers(1, 5000), st.sampled_from([8, 16, 512, 4096]))


PROBLEMS = st.builds(
    problem,
    st.tuples(SIZES, SIZES, SIZES),
    st.sampled_from(TYPES),
    st.tuples(st.booleans(), st.booleans()),
)


FEW_ROWS = problem((8, None, None), ("f16", "f16", "f32"), (False, False))


@settings(max_examples=60)
@given(PROBLEMS, st.sampled_from(ENGINES))
@example(FEW_ROWS, Engine("coopc-amx", threads=4))
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
        ab = "bf16" if engine.pipeline == "coopc-amx" else "f32"
        multiplied = problem((1000, 1000, 1000), (ab, ab, "f32"))
        found = candidates(multiplied, engine)
        assert len(found) > 50
        plans = [plan_by(x, multiplied, engine) for x in found]
        assert all(isinstance(x, GemmPlan) and isinstance(x.b, Packed) for x in plans)
