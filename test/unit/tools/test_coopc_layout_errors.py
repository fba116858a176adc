"""Everything that coopc-layout refuses, with its message."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coopc.tools.coopc_layout import TOOL, USAGE, main

MATRIX = "!coopmatrix.matrix<4x4xf16, a>"
BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 4], "
    "warpsPerCTA = [1, 1], order = [1, 0]}>"
)
DPAS = (
    "#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, "
    "opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [1, 1], repCluster = [1, 1]}>"
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


def fails(capsys: Capture, *args: str) -> list[str]:
    """The lines of the standard error; nothing else is written."""
    assert main([*args, "-o", "out.txt"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert not Path("out.txt").exists()
    return err.splitlines()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            [MATRIX, "--distribution", "row_slices"],
            "--distribution: expected a type or a layout, got 'row_slices', did you "
            "mean 'row_slice'?",
        ),
        (
            [MATRIX, "--compare", "dpas", "x"],
            "--compare: expected a type or a layout, got 'x', as in coopmatrix, "
            "row_slice, dpas",
        ),
        (
            [MATRIX, "--device", "nonsense"],
            "expected --device only with --plan, got it without",
        ),
        (
            [MATRIX, "--order", "row_major"],
            "expected --order only with --plan, got it without",
        ),
        (
            [MATRIX, "--warp", "0"],
            "expected --warp only with --use-hw-view, got it without",
        ),
        (
            ["-t", "tensor<4x4xf16>", "--plan", "--format", "png"],
            "expected --format table of --plan, which is text, got png",
        ),
        (
            [MATRIX, "--plan", "--compare", "dpas", "dpas"],
            "expected --plan or --compare, got both",
        ),
        (
            [MATRIX, "--plan", "--use-hw-view"],
            "expected --plan or --use-hw-view, got both",
        ),
        (
            [MATRIX, "--use-hw-vew"],
            "unknown argument '--use-hw-vew', did you mean '--use-hw-view'?",
        ),
        (
            [MATRIX, "--format", "gif"],
            "argument --format: invalid choice: 'gif'",
        ),
        (
            [MATRIX, "--subgroup-size", "sixteen"],
            "argument --subgroup-size: expected a number, 1 or more, got 'sixteen'",
        ),
        (
            [MATRIX, "--subgroup-size", "0"],
            "argument --subgroup-size: expected a number, 1 or more, got '0'",
        ),
        (
            [MATRIX, "-t", "tensor<4x4xf16>"],
            "expected one type, got two: of -t and without an option",
        ),
        (
            [MATRIX, "-l", "#layout.dpas", "--distribution", "dpas"],
            "expected one of -l and --distribution, got both",
        ),
        (
            ["-t", "tensor<4x4xf16>", "--alias-names", "a"],
            "expected a file (-i) for --alias-names, got none",
        ),
        (
            ["-t", "tensor<4x4xf16>"],
            "expected a layout (-l or -i) of tensor<4x4xf16>, got none",
        ),
        (
            ["-t", "tensor<4x4xf16>", "-l", "42 : i32"],
            "-l: expected a layout, got 42 : i32",
        ),
        (
            ["-t", "tensor<4x4xf16>", "-l", "#ttg.nonsense<{}>"],
            "-l: expected a layout, got #ttg.nonsense<{}>",
        ),
        (
            ["-t", "tensor<4x4xf16>", "--compare", "#layout.row_slice", "#ttg.no<{}>"],
            "--compare: expected a layout, got #ttg.no<{}>",
        ),
        (
            [MATRIX, "--compare", "dpas", "row_slice", "--format", "bases"],
            "expected table, json, svg or png of --compare, got bases",
        ),
        (
            ["nonsense"],
            "MATRIX: expected a type or a layout, got 'nonsense'",
        ),
        (
            [],
            "expected a type or a layout, got neither",
        ),
    ],
)
def test_wrong_call(here: Path, capsys: Capture, args: list[str], message: str) -> None:
    """The reason, then the usage."""
    first, *usage = fails(capsys, *args)
    assert first.startswith(f"{TOOL}: error: {message}")
    expected = f"note: {USAGE}".splitlines()
    assert [line.split() for line in usage] == [line.split() for line in expected]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["#layout.row_slice"],
            "coopc-layout: error: expected a tensor or a matrix for "
            "#layout.row_slice, got none",
        ),
        (
            ["-t", "tensor<4x4xf16", "-l", "#layout.dpas"],
            "-t:1:15: error: Expected '>' after builtin parameter list",
        ),
        (
            ["-t", "tensor<4x4xf16> more", "-l", "#layout.dpas"],
            "-t:1:17: error: expected the end of the text",
        ),
        (
            ["-t", "tensor<8x16xf16>", "-l", DPAS.replace("Depth = 8", "Depth = 4")],
            "-l:1:11: error: expected systolicDepth 8, got 4 in #ttig.dpas",
        ),
        (
            ["-t", "i32", "-l", "#layout.dpas"],
            "coopc-layout: error: expected a tensor or a matrix, got i32",
        ),
        (
            ["-t", "tensor<16xf16>", "-l", BLOCKED],
            "coopc-layout: error: expected a tensor of rank 2, got 1 in 16",
        ),
        (
            ["!coopmatrix.matrix<4x15xf16, acc>", "--format", "bases"],
            "coopc-layout: error: expected the size of columns to be a power of "
            "two, got 15",
        ),
        (
            ["!coopmatrix.matrix<2x4xf16, acc>", "--format", "bases"],
            "coopc-layout: error: expected a matrix without padding, got 2 x 4 "
            "over 16 lanes with 8 places of it",
        ),
        (
            ["!coopmatrix.matrix<4x15xf16, acc>", "--subgroup-size", "12"],
            "coopc-layout: error: expected a subgroup size that is a power of two, "
            "got 12",
        ),
        (
            ["-t", "tensor<4x4xf16>", "--subgroup-size", "32", "-l", BLOCKED],
            "coopc-layout: error: expected 16 lanes, as the layout has, got 32",
        ),
        (
            [
                "-t",
                "tensor<8x16xf32>",
                "-l",
                f"#ttg.dot_op<{{opIdx = 0, parent = {DPAS}, kWidth = 1}}>",
            ],
            "coopc-layout: error: expected elements of at most 16 bits, as "
            "opsPerChan = 2 packs them, got 32",
        ),
        (
            ["-t", "tensor<2x8xf16>", "-i", "aliases.mlir"],
            "coopc-layout: error: #rows: expected a matrix of 2 x 4, as the layout "
            "is, got 2 x 8",
        ),
        (
            [
                "-t",
                "tensor<2x8xf16>",
                "-l",
                "#layout.linear<(lane = [[0, 1]]) -> (dim0 = 1, dim1 = 2)>",
            ],
            "coopc-layout: error: expected a tensor of 1x2, as the layout is, got 2x8",
        ),
        (
            ["-t", "tensor<2x2x2xf16>", "-l", "#layout.coopmatrix"],
            "coopc-layout: error: expected a tensor of rank 2, got 3 in "
            "tensor<2x2x2xf16>",
        ),
        (
            ["-t", "tensor<2x?xf16>", "-l", "#layout.coopmatrix"],
            "coopc-layout: error: expected a tensor of static sizes, got "
            "tensor<2x?xf16>",
        ),
        (
            ["!coopmatrix.matrix<@M x 4 x f16, a>"],
            "coopc-layout: error: expected a matrix whose sizes are numbers, got "
            "!coopmatrix.matrix<@M x 4 x f16, a>",
        ),
        (
            ["!coopmatrix.matrix<65536x65536xf16, a>"],
            "coopc-layout: error: expected at most 4194304 places, got 4294967296",
        ),
        (
            ["!coopmatrix.matrix<65536x1xf16, acc>", "--format", "svg"],
            "coopc-layout: error: expected at most 32768 elements to draw, and 8192 in "
            "a row or a column, got 65536 x 1: tables and JSON hold more",
        ),
        (
            ["#layout.row_slice<4x4, lanes = 4>", "--use-hw-view", "--warp", "1"],
            "coopc-layout: error: expected --warp below 1, got 1",
        ),
        (
            [
                "--compare",
                "#layout.row_slice<4x4, lanes = 4>",
                "#layout.row_slice<4x4, lanes = 8>",
            ],
            "coopc-layout: error: expected two layouts over the same lanes, got 4 "
            "and 8",
        ),
        (
            [
                "--compare",
                "#layout.row_slice<4x4, lanes = 4>",
                "#layout.row_slice<4x5, lanes = 4>",
            ],
            "coopc-layout: error: expected a target of 4 x 4 over 4 lanes, got 4 x "
            "5 over 4",
        ),
        (
            ["-t", "tensor<2x4xf16>", "-i", "no.mlir"],
            "no.mlir: error: cannot read the file: No such file or directory",
        ),
        (
            ["-t", "tensor<2x4xf16>", "-i", "aliases.mlir", "--alias-names", "row"],
            "aliases.mlir: error: expected an alias of the file, got #row, did you "
            "mean '#rows'?",
        ),
        (
            ["-t", "tensor<2x4xf16>", "-i", "aliases.mlir", "--alias-names", "loc"],
            'aliases.mlir: error: expected #loc to be a layout, got loc("k.py":1:2)',
        ),
    ],
)
def test_does_not_fit(
    here: Path, capsys: Capture, args: list[str], message: str
) -> None:
    """One diagnostic with both numbers, without the usage."""
    first, *excerpt = fails(capsys, *args)
    assert first.startswith(message)
    assert not any("usage" in line for line in excerpt)
    assert bool(excerpt) == first.startswith("-")  # text has an excerpt


GOOD = [
    "!coopmatrix.matrix<4x15xf16, acc>",
    "tensor<4x8xf16>",
    BLOCKED,
    f"#ttg.slice<{{dim = 0, parent = {BLOCKED}}}>",
    "#layout.linear<(register = [[1, 0]], lane = [[0, 1]]) -> (dim0 = 2, dim1 = 2)>",
    "#layout.strided<(lane = [4 : [1, 0]], component = [3 : [0, 1]]) "
    "-> (row = 4, col = 3)>",
    "#layout.coopmatrix<4x15, lanes = 16>",
    "dpas",
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 4))
        text = (
            text[:start] + draw(st.text("#<>[]{}(),=x0173 a", max_size=3)) + text[end:]
        )
    return text


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(mutated(), mutated(), st.sampled_from(["table", "json", "bases"]))
def test_never_internal(capsys: Capture, type: str, layout: str, format: str) -> None:
    """Whatever the text is, it is shown, or one error with status 1."""
    status = main(["-t", type, "-l", layout, "--format", format])
    out, err = capsys.readouterr()
    assert status == (1 if err else 0)
    assert "internal error" not in err
    assert bool(out) != bool(err)
