"""Laws of the cache of artifacts: what is found is what was stored, or nothing is."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import coopc
from coopc import cache, compiler
from coopc.generate.gemms import Gemm
from coopc.run import machine
from coopc.tools.coopc_opt import main

TEXT = Path("examples/gemm.mlir").read_text()
PASSES, TARGET = "coopc-khr{device=lavapipe}", "spirv-binary"
SLOW = "coopc-lanes{device=intel-cpu explain=true}"
"""With remarks."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    found = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(found))
    return found


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passes of what is compiled, not found."""
    found: list[str] = []
    compiles: Callable[..., compiler.Artifact] = getattr(compiler, "_compiled")  # noqa: B009

    def counted(text: str, pipeline: str, *rest: object) -> compiler.Artifact:
        found.append(pipeline)
        return compiles(text, pipeline, *rest)

    monkeypatch.setattr(compiler, "_compiled", counted)
    return found


def test_same(folder: Path, compiled: list[str]) -> None:
    """What is found is what was stored: bytes, interface, plans, remarks."""
    for passes in (PASSES, SLOW):
        heard: list[list[str]] = [[], []]
        first, second = (
            coopc.compile(TEXT, passes, TARGET, on_remark=lines.append)
            for lines in heard
        )
        assert first == second
        assert first.device is not None
        assert second.device is not None
        assert heard[0] == heard[1]
    assert heard[0]
    assert compiled == [PASSES, SLOW]
    assert len(list(folder.iterdir())) == 2


def test_plans(folder: Path, compiled: list[str]) -> None:
    text = Path("examples/triton_gemm.ttgir").read_text()
    first, second = (coopc.compile(text, "coopc-xe{device=bmg}") for _ in "ab")
    assert first == second
    assert first.plans
    assert len(compiled) == 1


@pytest.mark.parametrize("at", range(4))
def test_arguments(at: int, folder: Path, compiled: list[str]) -> None:
    """Another text, pipeline, target or name is a miss."""
    given = [TEXT, PASSES, TARGET, "<input>"]
    changed = [f"{TEXT} ", "coopc-khr{device=nvidia}", "spirv", "other.mlir"]
    other = [*given[:at], changed[at], *given[at + 1 :]]
    for text, passes, target, name in (given, other):
        coopc.compile(text, passes, target, name=name)
    assert len(compiled) == 2


def test_versions(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of anything that the output depends on is a miss."""
    coopc.compile(TEXT, PASSES)
    versions: Callable[[], tuple[str, ...]] = getattr(cache, "_versions")  # noqa: B009
    before = versions()
    for at in range(len(before)):
        new = (*before[:at], before[at] + "1", *before[at + 1 :])
        monkeypatch.setattr(cache, "_versions", partial(tuple[str, ...], new))
        coopc.compile(TEXT, PASSES)
    assert len(compiled) == 1 + len(before)


DEVICE = 'version = 1\nextends = "lavapipe"\nmatrix2 = []\n'


def test_device_file(folder: Path, compiled: list[str], tmp_path: Path) -> None:
    """A device is what its file, and the file that it extends, say now."""
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(DEVICE)
    second.write_text(f'version = 1\nextends = "{first}"\n')
    passes = f'coopc-khr{{device="{second}"}}'
    for _ in range(2):
        coopc.compile(TEXT, passes)
    assert len(compiled) == 1
    first.write_text(DEVICE + "stride_bits = 64\n")
    coopc.compile(TEXT, passes)
    assert len(compiled) == 2
    first.unlink()
    with pytest.raises(coopc.CompileError):
        coopc.compile(TEXT, passes)


TUNING = """version = 1
coopc = "0.1.0"
pipeline = "coopc-lanes"
target = "intel-cpu"
device = "{}"
driver = "{}"
products = [{{ product = "8x8x8 f16 f16 f32", choice = {{ tile = [8, 8, 8] }} }}]
"""


def test_tuning_file(
    folder: Path,
    compiled: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a tuning file says decides, and the machine that it is for."""
    here = [machine.HostMachine("a CPU", "a driver")]
    monkeypatch.setattr(machine, "machine_of", lambda *_: here[0])  # pyright: ignore
    file, text = tmp_path / "tuning.toml", Gemm((8, 8, 8)).text
    file.write_text(TUNING.format("a CPU", "a driver"))
    passes = f'coopc-lanes{{device=intel-cpu tuning="{file}"}}'
    first, second = (coopc.compile(text, passes) for _ in "ab")
    assert first == second
    assert len(compiled) == 1
    assert any(f"planned by {file}: tile 8x8x8" in x for x in first.remarks)
    file.write_text(file.read_text().replace("[8, 8, 8]", "[8, 8, 16]"))
    assert coopc.compile(text, passes).bytes != first.bytes
    assert len(compiled) == 2
    here[0] = machine.HostMachine("a CPU", "another driver")
    with pytest.raises(coopc.CompileError, match="driver: expected 'another driver'"):
        coopc.compile(text, passes)
    file.unlink()
    with pytest.raises(coopc.CompileError, match="No such file"):
        coopc.compile(text, passes)


def test_damaged(folder: Path, compiled: list[str]) -> None:
    """Whatever one byte of an entry becomes, or where it ends, it is a miss."""
    first = coopc.compile(TEXT, PASSES)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    places = (0, 70, len(whole) // 2, len(whole) - 1)
    damaged = [whole[:at] + b"#" + whole[at + 1 :] for at in places]
    for content in (*damaged, whole[:100], b"", b"\xff"):
        path.write_bytes(content)
        assert cache.find(path) is None
        assert coopc.compile(TEXT, PASSES) == first
        assert path.read_bytes() == whole
    assert len(compiled) == 8


def test_failures_are_not_stored(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(coopc.CompileError, match="unknown pass"):
            coopc.compile(TEXT, "no-such")
    assert not list(folder.iterdir())


def test_nothing_is_left_of_what_cannot_be_stored(folder: Path) -> None:
    name = cache.entry_path(TEXT, PASSES, TARGET, "<input>")
    name.mkdir()
    coopc.compile(TEXT, PASSES, TARGET)
    assert list(folder.iterdir()) == [name]


def test_no_folder(folder: Path) -> None:
    folder.write_text("")
    with pytest.raises(coopc.CompileError, match=r"COOPC_CACHE.*expected a folder"):
        coopc.compile(TEXT, PASSES)


def test_tool(
    folder: Path, compiled: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """coopc-opt finds what `compile` stores, and prints its remarks again."""
    said: list[str] = []
    for number in range(2):
        output = tmp_path / f"{number}.spv"
        words = ["examples/gemm.mlir", "-p", SLOW, "-t", TARGET, "-o", str(output)]
        assert main(words) == 0
        said.append(capfd.readouterr().err)
        expected = coopc.compile(TEXT, SLOW, TARGET, name="examples/gemm.mlir")
        assert output.read_bytes() == expected.bytes
    assert said[0] == said[1]
    assert "remark" in said[0]
    assert len(compiled) == 1


def test_two_processes(folder: Path, compiled: list[str]) -> None:
    """Both store; one whole entry is left, and nothing else."""
    code = f"import coopc; coopc.compile({TEXT!r}, {PASSES!r})"
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [x.wait() for x in both] == [0, 0]
    (path,) = folder.iterdir()
    assert json.loads(path.read_text().partition("\n")[2])
    coopc.compile(TEXT, PASSES)
    assert not compiled


def test_off(compiled: list[str]) -> None:
    assert cache.VARIABLE not in os.environ
    for _ in range(2):
        coopc.compile(TEXT, PASSES)
    assert len(compiled) == 2
