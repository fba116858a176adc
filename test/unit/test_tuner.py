"""The search for plans: faults are reported and never chosen, and it resumes."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest

from coopc import launcher, tuner
from coopc.diagnostic import CompileError
from coopc.generate.gemms import Gemm
from coopc.plan.candidates import candidates
from coopc.plan.gemm import Problem
from coopc.plan.tuning import Choice, Engine, described, read_tuning
from coopc.run import tiles, vulkan
from coopc.run.machine import HostMachine
from coopc.source import Source
from coopc.tuner import Found, Log, Measured, Search, Trial, TunedPipeline, TunedProgram

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

GEMM = Gemm((24, 40, 32), types=("f32", "f32"))
WAY = TunedPipeline("coopc-cpu", "threads=1")
PROGRAM = TunedProgram(Source(GEMM.text, "gemm"), "cpu")
CHOICES = tuple(Choice(block=(2, 2, x), registers=(6, 16)) for x in (64, 128, 256, 512))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few candidates, timed for a moment, on vectors."""

    def few(problem: Problem, engine: Engine) -> tuple[Choice, ...]:
        return CHOICES if engine.pipeline == "coopc-cpu" else ()

    monkeypatch.setattr(tuner, "candidates", few)
    monkeypatch.setattr(tuner, "MEASURED_SECONDS", 1e-4)
    monkeypatch.setattr(tuner, "TURNS", 1)
    monkeypatch.setattr(TunedProgram, "ways", (WAY,))


def searched(
    path: Path, program: TunedProgram = PROGRAM, seconds: float = 60
) -> tuple[Found, dict[Trial, Measured], list[Trial]]:
    """Return what is found, all that was measured, and what of it now."""
    machine = program.machine()
    with ThreadPoolExecutor(1) as pool:
        search = Search(program, pool, 1, Log.of(path, program.identity), machine)
        before = {*search.log.measured}
        search.prepare()
        found = search.run(seconds, lambda: None)
    measured = search.log.measured
    return found, measured, [x for x in measured if x not in before]


def choice_in(file: str) -> Choice:
    return read_tuning(file).products[0].choice


Change = Callable[[launcher.Build], object]


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Choice, Change], None]:
    """Change what is compiled for a choice."""
    changes: dict[Choice, Change] = {}
    builds = launcher.build

    def changed(source: Source, target: launcher.LaunchTarget) -> launcher.Build:
        built = builds(source, target)
        if (file := re.search('tuning="(.*)"', target.pipeline or "")) is not None:
            changes.get(choice_in(file[1]), lambda _: None)(built)
        return built

    monkeypatch.setattr(tuner, "build", changed)
    return changes.__setitem__


def begin_with(code: str, extra: str = "") -> Change:
    """Write code at the beginning of the functions of LLVM IR."""

    def write(built: launcher.Build) -> None:
        ir, checks = built.llvm_ir
        text, count = re.subn(r"(?m)^(define .*\{\n\w+:\n)", rf"\1{code}\n", ir)
        assert count, ir
        built.__dict__["llvm_ir"] = f"{text}\n{extra}", checks

    return write


def test_faults(change: Callable[[Choice, Change], None], tmp_path: Path) -> None:
    """Of four candidates one is wrong, one crashes and one hangs."""
    wrong, crashes, hangs, right = CHOICES

    def spoil(built: launcher.Build) -> None:
        ir, checks = built.llvm_ir
        three, four = "0x4008000000000000", "0x4010000000000000"
        assert three in ir
        built.__dict__["llvm_ir"] = ir.replace(three, four), checks

    change(wrong, spoil)
    change(crashes, begin_with("  call void @abort()", "declare void @abort()"))
    change(hangs, begin_with("  %none = call i32 @pause()", "declare i32 @pause()"))
    found, measured, _ = searched(tmp_path / "log", replace(PROGRAM, seconds=2))
    failures = {x.choices[0][1]: y.failure for x, y in measured.items()}
    assert failures[wrong].startswith("computes c wrong: at [0, 0] expected")
    assert "SIGABRT" in failures[crashes]
    assert failures[hangs] == "no answer within 2 s"
    assert failures[right] == ""
    assert found.chosen.choices[0][1] == right
    assert {x.choices[0][1] for x in found.final} == {right}


def test_all_fail(change: Callable[[Choice, Change], None], tmp_path: Path) -> None:
    for choice in CHOICES:
        change(choice, begin_with("  call void @abort()", "declare void @abort()"))
    with pytest.raises(ValueError, match=r"a plan that works, got none: .*SIGABRT"):
        searched(tmp_path / "log")


def test_compile_error(
    change: Callable[[Choice, Change], None], tmp_path: Path
) -> None:
    """Whatever a compilation raises is the failure of one candidate."""

    def fail(built: launcher.Build) -> None:
        raise AssertionError("no such plan")

    change(CHOICES[0], fail)
    found, measured, _ = searched(tmp_path / "log")
    (failure,) = {x.failure for x in measured.values() if x.failure}
    assert "no such plan" in failure
    assert found.chosen.choices[0][1] != CHOICES[0]


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[Choice, float]:
    """How long candidates take that are not run: see what is searched."""
    found = dict(zip(CHOICES, (1.0, 0.995, 0.5, 2.0), strict=True))

    def timed(_: TunedProgram, trial: Trial, __: HostMachine) -> Measured:
        return Measured(sum(found[x] for _, x in trial.choices))

    monkeypatch.setattr(tuner, "measure", timed)
    monkeypatch.setattr(tuner, "prepare", lambda _: None)  # pyright: ignore
    return found


def test_fastest(times: dict[Choice, float], tmp_path: Path) -> None:
    """The fastest is chosen, the built-in plan where nothing is faster by far."""
    found, _, _ = searched(tmp_path / "log")
    assert found.chosen.choices[0][1] == CHOICES[2]
    assert (found.final[found.chosen], found.before) == (0.5, 1.0)
    times[CHOICES[2]] = 3.0
    found, _, _ = searched(tmp_path / "other")
    assert found.chosen.choices[0][1] == CHOICES[0]


def test_resumes(times: dict[Choice, float], tmp_path: Path) -> None:
    """What is in the log is not measured again, even if its last line is cut off."""
    log = tmp_path / "log"
    _, first, reported = searched(log)
    assert reported[0].choices[0][1] == CHOICES[0]
    assert len(reported) == len(CHOICES)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:3]) + lines[3][:30])
    _, second, again = searched(log)
    assert {*again} == {*reported[2:]}
    assert {*second} == {*first}
    _, _, none = searched(log)
    assert not none


def test_another_log(times: dict[Choice, float], tmp_path: Path) -> None:
    log = tmp_path / "log"
    searched(log)
    other = replace(PROGRAM, source=Source(replace(GEMM, fill=False).text, "gemm"))
    for program, name in (
        (other, "program"),
        (replace(PROGRAM, threads=2), "threads"),
        (replace(PROGRAM, words=("a=rand",)), "arguments"),
    ):
        with pytest.raises(
            ValueError, match=f"a search with {name} .*, got .*: remove"
        ):
            Log.of(log, program.identity)


def test_time_is_over(times: dict[Choice, float], tmp_path: Path) -> None:
    """Without time there are the built-in plans."""
    found, _, reported = searched(tmp_path / "log", seconds=0)
    assert not reported
    assert found.chosen.choices[0][1] == CHOICES[0]


def test_several_products(times: dict[Choice, float], tmp_path: Path) -> None:
    """The fastest choices of all products are in one file."""
    text = """
func.func @one(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>)
                outs(%c : memref<8x8xf32>)
  func.return
}
func.func @two(%a: memref<8x4xf32>, %b: memref<4x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %b : memref<8x4xf32>, memref<4x8xf32>)
                outs(%c : memref<8x8xf32>)
  func.return
}"""
    program = TunedProgram(Source(text, "two"), "cpu", kernel="two")
    found, _, reported = searched(tmp_path / "log", program)
    assert len(reported) == 2 * len(CHOICES) - 1
    assert found.chosen.choices == (
        ("8x8x8 f32 f32 f32, added to c", CHOICES[2]),
        ("8x8x4 f32 f32 f32, added to c", CHOICES[2]),
    )


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("func.func @f() { func.return }", (), "f: expected a linalg matmul whose"),
        ("func.func @f( {", (), "f:1:15: error: Expected argument or type"),
        (GEMM.text, ("z=rand",), "expected an argument of .*, one of a, b, c, got 'z'"),
    ],
)
def test_nothing_to_search(
    text: str, words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """It leaves no log, which would be of another search than the next one."""
    program = TunedProgram(Source(text, "f"), "cpu", words=words)
    with pytest.raises((ValueError, CompileError), match=message):
        searched(tmp_path / "log", program)
    assert not (tmp_path / "log").exists()


def test_epilogue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What follows a product is compared, too, with the simulator."""
    relu = """linalg.map { arith.maximumf }
        ins(%c, %c : memref<24x40xf32>, memref<24x40xf32>) outs(%c : memref<24x40xf32>)
  func.return"""
    monkeypatch.setattr(tuner, "candidates", lambda *_: CHOICES[:1])  # pyright: ignore
    source = Source(GEMM.text.replace("func.return", relu), "relu")
    found, measured, _ = searched(tmp_path / "log", TunedProgram(source, "cpu"))
    assert not any(x.failure for x in measured.values())
    assert found.chosen.choices[0][0] == "24x40x32 f32 f32 f32, stores f32"


def test_lavapipe(
    lavapipe: vulkan.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Candidates of both pipelines are right, and the file is followed."""
    monkeypatch.undo()
    monkeypatch.setattr(tuner, "MEASURED_SECONDS", 1e-4)
    monkeypatch.setattr(tuner, "candidates", lambda *x: candidates(*x)[:3])  # pyright: ignore
    gemm = Gemm((40, 24, 56))
    program = TunedProgram(Source(gemm.text, "gemm"), "vulkan")
    found, measured, reported = searched(tmp_path / "log", program)
    assert {x.way.pipeline for x in reported} == {"coopc-khr", "coopc-lanes"}
    assert not any(x.failure for x in measured.values())
    file = tmp_path / "tuning.toml"
    file.write_text(tuner.written(found.chosen.tuning(program, program.machine())))
    a, b, c = gemm.arrays()
    expected = gemm.expected(a, b, c)
    pipeline = found.chosen.way.text(str(file))
    launcher.launch(gemm.text, a, b, c, on="vulkan", pipeline=pipeline)
    assert np.array_equal(c, expected)


def test_pipelines_of_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices are tried where the CPU computes what is around them."""
    monkeypatch.undo()
    gemm = Gemm((40, 24, 56))
    program = TunedProgram(Source(gemm.text, "gemm"), "opencl")
    for flags, names in (
        ((), ["coopc-lanes"]),
        (tiles.AVX512, ["coopc-lanes"]),
        ((*tiles.AVX512, "avx512_fp16"), ["coopc-khr", "coopc-lanes"]),
    ):
        monkeypatch.setattr(tiles, "cpu_flags", lambda flags=flags: flags)
        assert [x.pipeline for x in program.ways] == names


def test_problems() -> None:
    """What is tuned is what a pipeline sees: here with rows that are aligned."""
    gemm = Gemm((1023, 1025, 1027))
    program = TunedProgram(Source(gemm.text, "gemm"), "vulkan", "nvidia")
    way = TunedPipeline("coopc-khr", 'device="nvidia" staged=true')
    engine, problems = program.problems(way)
    assert engine.staged
    assert [*problems] == ["1023x1032x1027 f16 f16 f32, a with strides 1032 1"]
    assert [*map(described, problems.values())] == [*problems]


# --- Dask ---


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed: Any = pytest.importorskip("dask.distributed")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as found,
        distributed.Client(found) as client,
    ):
        yield client


def test_dask(cluster: Any, tmp_path: Path) -> None:
    """A worker is killed, and all candidates are measured."""
    found = Log.of(tmp_path / "log", PROGRAM.identity)
    pids = [*cluster.run(os.getpid).values()]
    executor = cluster.get_executor(pure=False)
    search = Search(PROGRAM, executor, 2, found, PROGRAM.machine())
    search.prepare()
    Timer(1.0, os.kill, (pids[0], signal.SIGKILL)).start()
    result = search.run(60, lambda: None)
    assert len(found.measured) == len(CHOICES)
    assert not any(x.failure for x in found.measured.values())
    assert result.chosen in found.measured
    assert len((tmp_path / "log").read_text().splitlines()) == 1 + len(CHOICES)
    json.loads((tmp_path / "log").read_text().splitlines()[-1])
    assert {*cluster.run(os.getpid).values()} != {*pids}
