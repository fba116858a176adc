"""What the measurement of acceptance counts, and random programs on its devices."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import coopc
from bench import acceptance
from bench.acceptance import PIPELINES, Finding, Summary
from coopc.device import DEVICES, LAVAPIPE, NVIDIA
from coopc.diagnostic import CompileError, Diagnostic, Kind, Place
from coopc.generate.random_programs import RandomProduct, RandomProgram

COUNT = 100
ASKED = [name for name in PIPELINES if name in DEVICES]
GOOD = Finding(0, "lavapipe", ("for",), text_bytes=8)


def test_random_programs_are_valid() -> None:
    """Each on one device, in turn: accepted ones are valid, small and not slow."""
    found = [
        acceptance.measured(ASKED[seed % len(ASKED)], None, seed)
        for seed in range(COUNT)
    ]
    for summary in acceptance.summaries(found):
        assert list(summary.faults()) == []
        assert summary.kept_percent >= acceptance.MIN_KEPT
    accepted = sum(x.refused is None for x in found)
    assert accepted >= COUNT // 2


def test_kept_findings_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept.jsonl"
    first = list(acceptance.all_findings(["lavapipe"], range(3), kept=file))
    whole = file.read_text()
    assert whole.count("\n") == 3
    file.write_text(whole[:-20])  # a run that was stopped
    measured: list[int] = []

    def note(name: str, on: str | None, seed: int) -> Finding:
        measured.append(seed)
        return replace(first[seed], device=name)

    monkeypatch.setattr(acceptance, "measured", note)
    again = acceptance.all_findings(["lavapipe"], range(3), kept=file)
    assert list(again) == first
    assert measured == [2]
    assert list(acceptance.all_findings(["lavapipe"], range(3), kept=file)) == first
    assert measured == [2]


def test_figures() -> None:
    refused = replace(GOOD, axes=("for", "if"), refused="no")
    some = replace(GOOD, products=4, kept=3)
    summary = Summary("lavapipe", (GOOD, some, replace(GOOD, axes=("if",)), refused))
    assert summary.accepted_percent == 75
    assert summary.axis_percent("for") == pytest.approx(200 / 3)
    assert summary.axis_percent("if") == 50
    assert summary.axis_percent("while") == 100
    assert summary.reasons() == [("no", 25)]
    assert summary.kept_percent == 75
    expected = ["accepted", "for", "if", "no", "multiply instructions"]
    assert summary.misses() == expected
    assert list(summary.faults()) == []


@pytest.mark.parametrize(
    "bad",
    [
        replace(GOOD, invalid="x"),
        replace(GOOD, refused="x", mistake=True),
        replace(GOOD, text_bytes=acceptance.MAX_TEXT_BYTES + 1),
        replace(GOOD, slow="x"),
        replace(GOOD, ran="here", wrong="x"),
    ],
)
def test_faults(bad: Finding) -> None:
    assert [seed for seed, _ in Summary("lavapipe", (GOOD, bad)).faults()] == [0]


@pytest.mark.parametrize(
    ("product", "lavapipe", "nvidia"),
    [
        (RandomProduct(8, 16, 32, "f16", "f32", "subgroup"), 1, 0),
        (RandomProduct(16, 16, 32, "i8", "i32", "subgroup"), 1, 1),
        (RandomProduct(16, 16, 16, "bf16", "f32", "subgroup"), 0, 1),
        (RandomProduct(16, 16, 16, "f16", "f32", "workgroup"), 0, 0),
        (RandomProduct(16, 16, 16, "f64", "f64", "subgroup"), 0, 0),
    ],
)
def test_listed(product: RandomProduct, lavapipe: int, nvidia: int) -> None:
    program = RandomProgram("", (), frozenset({"product"}), (product,))
    assert acceptance.listed(program, LAVAPIPE) == lavapipe
    assert acceptance.listed(program, NVIDIA) == nvidia
    assert acceptance.listed(program, acceptance.device_of("any")) == 1


def test_slow_ways() -> None:
    program = RandomProgram(
        "", (), frozenset(), (RandomProduct(8, 8, 8, "f16", "f32", ""),)
    )
    types = Counter({acceptance.OP_TYPE_MATRIX: 1})
    both = types + Counter({acceptance.OP_MUL_ADD: 1})
    assert acceptance.slow_way(program, Counter()) == "no matrix of the device"
    assert acceptance.slow_way(program, types) == "no multiply instruction"
    assert acceptance.slow_way(program, both) is None
    assert acceptance.slow_way(replace(program, products=()), types) is None


def test_what_is_no_refusal_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass refuses, and an emitter; a legal program breaks nothing else."""

    def wrong(kind: Kind) -> Finding:
        def fail(*_: object, **__: object) -> None:
            raise CompileError(Diagnostic(kind, "no 8", Place("here")))

        monkeypatch.setattr(coopc, "compile", fail)
        return acceptance.measured("lavapipe", None, 0)

    assert wrong(Kind.PASS).refused == wrong(Kind.INTERNAL).refused == "no N"
    assert not wrong(Kind.PASS).mistake
    assert wrong(Kind.INTERNAL).mistake
    assert wrong(Kind.VERIFY).mistake


def test_reasons_have_no_names_or_numbers() -> None:
    """Programs that are refused for one reason are counted together."""
    one = acceptance.reason_of(
        "coopmatrix.load: nvidia has no 16 x 8 matrices of f16 as acc, got "
        "!coopmatrix.matrix<@M x @N x i32, acc, scope = workgroup>\nmore"
    )
    other = acceptance.reason_of(
        "scf.if: dg2 has no 8 x 24 matrices of i8 as acc, got "
        "!coopmatrix.matrix<8x24xi8, a>"
    )
    assert one == other == "DEVICE has no N x N matrices of T as acc, got TYPE"


def test_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables name the devices; one that is not known is left out, and named."""
    pipelines = {"lavapipe": PIPELINES["lavapipe"], "nobody": "coopc-lanes"}
    monkeypatch.setattr(acceptance, "PIPELINES", pipelines)
    arguments = ["--count", "3", "--jobs", "1", "--device", "lavapipe", "nobody"]
    assert acceptance.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "nobody is left out: unknown device" in printed
    assert "accepted %" in printed
    assert "work-group" in printed


def test_a_command_runs_programs(lavapipe: object) -> None:
    """What lavapipe runs is what the simulator gives; jobs are processes."""
    found = list(acceptance.all_findings(["lavapipe"], range(4), runs=True, jobs=1))
    ran = [x for x in found if x.ran is not None]
    assert ran
    assert all(x.wrong is None for x in ran)
