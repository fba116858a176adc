"""What coopc-layout prints, in each format."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coopc.tools.coopc_layout import main

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 4], "
    "warpsPerCTA = [1, 1], order = [1, 0]}>"
)
ALIASES = """\
#loc = loc("k.py":1:2)
#rows = #layout.row_slice<2x4, lanes = 4>
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of aliases, where names of files are short."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "aliases.mlir").write_text(ALIASES)
    return tmp_path


def prints(capsys: Capture, *args: str) -> str:
    assert main([*args]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def layouts(text: str) -> list[dict[str, Any]]:
    found = json.loads(text)
    assert found.keys() <= {"layouts", "comparison"}
    return found["layouts"]


def test_json(capsys: Capture) -> None:
    """Every field of the schema in the docstring of as_json."""
    (x,) = layouts(
        prints(capsys, "-t", "tensor<4x8xf16>", "-l", BLOCKED, "--format", "json")
    )
    places = np.array(x.pop("places"))
    assert x == {
        "layout": BLOCKED,
        "type": "tensor<4x8xf16>",
        "shape": [4, 8],
        "registers": 2,
        "lanes": 16,
        "warps": 1,
        "blocks": 1,
        "bases": {
            "register": [[0, 4]],
            "lane": [[0, 1], [0, 2], [1, 0], [2, 0]],
            "warp": [],
            "block": [],
        },
    }
    assert places.shape == (1, 1, 2, 16, 2)
    assert places[0, 0, 1, 7].tolist() == [1, 7]


def test_json_of_padding(capsys: Capture) -> None:
    (x,) = layouts(
        prints(capsys, "!coopmatrix.matrix<4x15xf16, acc>", "--format", "json")
    )
    assert x["bases"] is None
    assert x["places"][0][0][3][11:13] == [[3, 14], None]


def test_json_of_files(here: Path, capsys: Capture) -> None:
    text = prints(
        capsys, "-t", "tensor<2x4xf16>", "-i", "aliases.mlir", "--format", "json"
    )
    assert [x["layout"] for x in layouts(text)] == [
        "#rows = #layout.row_slice<2x4, lanes = 4>"
    ]


def test_json_of_comparisons(capsys: Capture) -> None:
    args = ["!coopmatrix.matrix<2x2xf16, acc>", "--subgroup-size", "2"]
    args += ["--compare", "coopmatrix", "row_slice", "--format", "json"]
    text = prints(capsys, *args)
    assert [x["layout"] for x in layouts(text)] == [
        "#layout.coopmatrix",
        "#layout.row_slice",
    ]
    found = json.loads(text)["comparison"]
    plans = found.pop("plans")
    assert found == {
        "kept": 2,
        "renamed": 0,
        "moved": 2,
        "subgroup_size": 2,
        "moves": [[[0, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 1]]],
    }
    assert [x["kind"] for x in plans] == ["shuffle", "memory"]
    swap = {"select": [1, 0], "else": [0, 1], "lanes": [[1], [1]]}
    assert plans[0] == {
        "kind": "shuffle",
        "cost": 8,
        "words": 1,
        "selects": 4,
        "steps": [swap, {"shuffle": [0, 1], "origins": [None, [1, 0]]}, swap],
        "places": [0, 1],
    }


def test_the_name_of_the_file_is_a_format(here: Path, capsys: Capture) -> None:
    matrix = "!coopmatrix.matrix<4x4xf16, acc>"
    for suffix, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("json", b"{")):
        assert prints(capsys, matrix, "-o", f"x.{suffix}") == ""
        assert (here / f"x.{suffix}").read_bytes().startswith(begin)
    assert main([matrix, "--format", "svg", "-o", "other.png"]) == 1
    message = "expected a file for --format svg, got other.png"
    assert message in capsys.readouterr().err
    assert not (here / "other.png").exists()


def test_pictures(here: Path, capsys: Capture) -> None:
    matrix = "!coopmatrix.matrix<4x15xf16, acc>"
    assert prints(capsys, matrix, "--format", "png", "-o", "x.png") == ""
    assert (here / "x.png").read_bytes().startswith(b"\x89PNG")
    prints(capsys, matrix, "--format", "svg", "-o", "x.svg")
    svg = (here / "x.svg").read_text()
    assert ">#layout.coopmatrix<" in svg
    assert ">15:3<" in svg
    prints(capsys, matrix, "--format", "svg", "--use-hw-view", "-o", "y.svg")
    svg = (here / "y.svg").read_text()
    assert ">subgroup 0 of 1<" in svg
    assert ">3,14<" in svg
    four = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [4], "
    four += "warpsPerCTA = [4], order = [0]}>"
    third = ["-t", "tensor<16xf16>", "-l", four, "--use-hw-view", "--warp", "3"]
    prints(capsys, *third, "--format", "svg", "-o", "four.svg")
    assert ">subgroup 3 of 4<" in (here / "four.svg").read_text()
    both = ["--compare", "coopmatrix", "row_slice", "--format", "svg"]
    prints(capsys, matrix, *both, "-o", "z.svg")
    svg = (here / "z.svg").read_text()
    assert ">#layout.coopmatrix<" in svg
    assert ">#layout.row_slice<" in svg


def test_pictures_need_matplotlib(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    args = ["#layout.row_slice<4x4, lanes = 4>", "--format", "png", "-o", "x.png"]
    assert main(args) == 1
    err = capsys.readouterr().err
    assert "expected matplotlib for --format png, as in coopc[pictures], got:" in err
    assert not (here / "x.png").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(
    "args",
    [
        ["!coopmatrix.matrix<4x15xf16, acc>"],
        ["-t", "tensor<8x8xf16>", "-l", BLOCKED],
        ["-t", "tensor<8x8xf16>", "-l", BLOCKED, "--use-hw-view"],
    ],
)
def test_colours(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    """A terminal gets the same characters, in colours."""
    plain = prints(capsys, *args)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal)
        assert main(args) == 0
    coloured = terminal.getvalue()
    assert ESCAPES.sub("", coloured) == plain
    assert len({*ESCAPES.findall(coloured)}) >= 16  # one for each lane
