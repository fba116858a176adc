"""What the README says to run runs, and what it says to write works."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from coopc.triton.version import why_not

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^    (coopc-.*)$", README, re.MULTILINE)
PROGRAM, TRITON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
FLAGS = re.MULTILINE | re.DOTALL
(KERNEL,) = re.findall(r"```mlir\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, tool: Callable[[str], Path]) -> None:
    tool("spirv-val")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        command,
        shell=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.DEVNULL,
    )


def test_layout_is_what_is_printed() -> None:
    [(command, block)] = re.findall(
        r"^    (coopc-layout [^\n]*)\n\n```\n(.*?)```", README, FLAGS
    )
    tool = Path(sys.executable).parent / "coopc-layout"
    found = subprocess.run([tool, *shlex.split(command)[1:]], capture_output=True)
    assert found.stdout.decode() == block


def test_program(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(PROGRAM, names)
    assert "artifact" in names
    assert np.array_equal(names["c"], np.full((64, 32), 48))  # pyright: ignore[reportArgumentType]


def test_triton(tmp_path: Path) -> None:
    """In a process and a file of its own: Triton reads the source of kernels."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    file = tmp_path / "program.py"
    file.write_text(f"{TRITON}\nassert (out == 2 * np.arange(1000)).all()\n")
    info = tmp_path / "points-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: points\nVersion: 1\n")
    points = "[triton.backends]\ncoopc = coopc.triton\n"
    (info / "entry_points.txt").write_text(points)
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "TRITON_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, str(file)], check=True, env=environment)


def test_kernel_is_the_example() -> None:
    lines = [" ".join(line.split()) for line in KERNEL.splitlines()]
    example = (ROOT / "examples/gemm.mlir").read_text()
    known = [" ".join(line.split()) for line in example.splitlines()]
    assert [line for line in lines if line not in known] == []


def test_folders() -> None:
    """The table names every folder with modules, and none that is not there."""
    named = set(re.findall(r"`([\w/]+)/`", README.partition("| folder |")[2]))
    assert [name for name in sorted(named) if not (ROOT / name).is_dir()] == []
    packages = {
        str(path.relative_to(ROOT))
        for top in (ROOT, ROOT / "coopc")
        for path in top.iterdir()
        if not path.is_symlink() and any(path.glob("[!_]*.py"))
    }
    assert packages - named - {"coopc"} == set()
