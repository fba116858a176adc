"""What the README says to run runs, and what it says to write works."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^    (coopc-.*)$", README, re.MULTILINE)
(PROGRAM,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
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


def test_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(PROGRAM, names)
    assert "artifact" in names


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
