"""coopc-tune: what it prints and writes, and what it refuses."""

from pathlib import Path

import pytest

from coopc import tuner
from coopc.generate.gemms import Gemm
from coopc.plan.gemm import Problem
from coopc.plan.tuning import Choice, Engine, read_tuning
from coopc.run.machine import HostMachine
from coopc.tools import coopc_opt
from coopc.tools.coopc_tune import main

Capture = pytest.CaptureFixture[str]
CHOICES = tuple(Choice(block=(2, 2, x), registers=(6, 16)) for x in (64, 128))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product with few candidates, timed for a moment."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

    def few(problem: Problem, engine: Engine) -> tuple[Choice, ...]:
        return CHOICES if engine.pipeline == "coopc-cpu" else ()

    monkeypatch.setattr(tuner, "candidates", few)
    monkeypatch.setattr(tuner, "MEASURED_SECONDS", 1e-4)
    monkeypatch.setattr(tuner, "TURNS", 1)
    found = tmp_path / "gemm.mlir"
    found.write_text(Gemm((8, 16, 24), types=("f32", "f32"), dynamic=True).text)
    return found


def test_a_file_is_written_and_used(program: Path, capsys: Capture) -> None:
    shapes = [
        "--arg",
        "a=exact:8x24",
        "--arg",
        "b=exact:24x16",
        "--arg",
        "c=exact:8x16",
    ]
    assert main([str(program), "--on", "cpu", *shapes]) == 0
    file = program.with_suffix(".tuning.toml")
    (product,) = read_tuning(str(file)).products
    assert product.product == "?x?x? f32 f32 f32"
    assert product.choice in CHOICES
    printed = capsys.readouterr().out
    assert "2 candidates, 0 failed" in printed
    assert "(built in)" in printed
    passes = f'coopc-cpu{{threads=1 tuning="{file}"}}'
    assert f"-p '{passes}'" in printed
    assert coopc_opt.main([str(program), "-p", passes]) == 0
    assert f"planned by {file}: {product.choice}" in capsys.readouterr().err
    assert main([str(program), "--on", "cpu", *shapes]) == 0
    assert "continues after 2 candidates of " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "coopc-tune: error: the following arguments are required: --on"),
        (["--on", "sim"], "invalid choice: 'sim'"),
        (["--on", "cpu", "-o", "x.txt"], "expected a .toml file, got x.txt"),
        (["--on", "vulkan", "--threads", "2"], "expected --on cpu with --threads, got"),
        (["--on", "cpu", "-o", "{folder}"], "expected a file to write, got the folder"),
        (["--on", "cpu", "--dask", "tcp://127.0.0.1:1"], "expected "),
        (["--on", "cpu", "--seconds", "0"], "expected a number, 1 or more, got '0'"),
        (["--on", "cpu", "--arg", "x=1"], "expected an argument of gemm, one of a, b"),
    ],
)
def test_refused(args: list[str], message: str, program: Path, capsys: Capture) -> None:
    (folder := program.parent / "x.toml").mkdir()
    args = [x.format(folder=folder) for x in args]
    assert main([str(program), *args]) == 1
    assert message in capsys.readouterr().err


def test_an_unknown_device_opens_no_driver(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def machine_of(on: str, target: str) -> HostMachine:
        raise AssertionError("a driver is opened")

    monkeypatch.setattr(tuner, "machine_of", machine_of)
    assert main([str(program), "--on", "vulkan", "--device", "bgm"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("coopc-tune: error: unknown device 'bgm', did you mean")


def test_no_product(program: Path, capsys: Capture) -> None:
    assert main(["examples/gemm.mlir", "--on", "cpu", "-o", f"{program}.toml"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(
        "coopc-tune: error: examples/gemm.mlir: expected a linalg matmul whose plan"
    )


def test_help(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    assert all(len(line) <= 90 for line in printed.splitlines())
    assert "--seconds SECONDS" in printed
    assert "(default: 300)" in printed
    assert "Candidates that are wrong, crash or hang" in printed
