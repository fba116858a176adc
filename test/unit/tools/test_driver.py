"""How coopc-opt ends: one diagnostic, status 1, nothing written; or all of it."""

import importlib.metadata
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coopc.tools import driver
from coopc.tools.coopc_opt import main
from coopc.universe import installed

ROOT = Path(__file__).resolve().parents[3]

VALID = """\
func.func @f(%a : memref<?xf32>, %n : index) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant 0.0 : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %init) -> (f32) {
    %x = memref.load %a[%i] : memref<?xf32>
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  }
  func.return %sum : f32
}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where names of files are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


Capture = pytest.CaptureFixture[str]


def fails(capsys: Capture, *args: str) -> str:
    """What the tool says when it fails; it writes nothing else."""
    assert main([*args]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    return err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "f.mlir:1:1: error: expected an operation, got an empty file\n"),
        (
            b"\x03\x02\x23\x07",
            "f.mlir: error: expected text of MLIR, got a SPIR-V binary\n",
        ),
        (b"\xff", "f.mlir: error: expected text in UTF-8, got byte 0xff at byte 0\n"),
        (
            VALID[:150].encode(),
            "f.mlir:4:28: error: expected an operation, a block or '}', got the end "
            "of the text\n"
            "    %init = arith.constant 0.\n"
            "                             ^\n",
        ),
        (
            VALID.replace("-> f32 {", "-> f64 {").encode(),
            "f.mlir:10:3: error: func.return: Expected arguments to have the same "
            "types as the function output types: expected [f64], got [f32]\n"
            "    func.return %sum : f32\n"
            "    ^\n",
        ),
        (
            VALID.replace("%s, %x", "%t, %x").encode(),
            "f.mlir:7:5: error: arith.addf: expected operand 0 %t to be defined "
            "before its use on every way to it\n"
            "      %t = arith.addf %t, %x : f32\n"
            "      ^\n",
        ),
    ],
    ids=["empty", "binary", "latin-1", "truncated", "invalid", "order"],
)
def test_bad_file(here: Path, capsys: Capture, content: bytes, expected: str) -> None:
    (here / "f.mlir").write_bytes(content)
    assert fails(capsys, "f.mlir", "-o", "out.mlir") == expected
    assert not (here / "out.mlir").exists()


CANONICALIZE = "  canonicalise\n  ^^^^^^^^^^^^\n"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            ["no.mlir"],
            "no.mlir: error: cannot read the file: No such file or directory\n",
        ),
        (
            ["."],
            "coopc-opt: error: expected a file named .mlir, .ttgir, .ttir "
            "(or -f mlir), got '.'\n",
        ),
        ([".", "-f", "mlir"], ".: error: cannot read the file: Is a directory\n"),
        (
            ["-p", "canonicalise"],
            "pass-pipeline:1:1: error: unknown pass 'canonicalise', "
            "did you mean 'canonicalize'?\n" + CANONICALIZE,
        ),
        (
            ["-p", "cse,dce{deep=1}"],
            "pass-pipeline:1:5: error: unknown option 'deep' of dce, which has none\n"
            "  cse,dce{deep=1}\n"
            "      ^^^\n",
        ),
        (
            ["-p", "cse,,"],
            "pass-pipeline:1:5: error: Expected pass name here\n  cse,,\n      ^\n",
        ),
        (
            ["-p", "cse{a"],
            "pass-pipeline:1:6: error: Expected equals, space or end of arguments "
            "here\n"
            "  cse{a\n"
            "       ^\n",
        ),
        (
            ["-p", "cse}"],
            "pass-pipeline:1:4: error: Expected a comma or pass arguments here\n"
            "  cse}\n"
            "     ^\n",
        ),
        (
            ["-t", "mlirr"],
            "target:1:1: error: unknown target 'mlirr', did you mean 'mlir'?\n"
            "  mlirr\n"
            "  ^^^^^\n",
        ),
        (
            ["-t", "mlir,mlir"],
            "target:1:1: error: expected one target, got 2\n  mlir,mlir\n  ^\n",
        ),
        (
            ["--validat"],
            "coopc-opt: error: ambiguous option: --validat could match --validate, "
            "--validate-seed\n",
        ),
        (
            ["--print-op-generik"],
            "coopc-opt: error: unknown argument '--print-op-generik', "
            "did you mean '--print-op-generic'?\n",
        ),
        (
            ["--validate-seed", "x"],
            "coopc-opt: error: argument --validate-seed: expected a number, 0 or more, "
            "got 'x'\n",
        ),
    ],
    ids=str,
)
def test_bad_arguments(
    here: Path, capsys: Capture, args: list[str], expected: str
) -> None:
    assert fails(capsys, *args) == expected


def test_output_is_whole(here: Path, capsys: Capture) -> None:
    (here / "f.mlir").write_text(VALID)
    assert main(["f.mlir", "-o", "out.mlir"]) == 0
    assert capsys.readouterr() == ("", "")
    first = (here / "out.mlir").read_text()
    assert main(["out.mlir"]) == 0
    assert capsys.readouterr().out == first
    (here / "f.mlir").write_text("arith.")
    assert main(["f.mlir", "-o", "out.mlir"]) == 1
    assert (here / "out.mlir").read_text() == first
    assert sorted(os.listdir()) == ["f.mlir", "out.mlir"]


def test_output_that_cannot_be_written(here: Path, capsys: Capture) -> None:
    (here / "f.mlir").write_text(VALID)
    assert fails(capsys, "f.mlir", "-o", "no/out.mlir") == (
        "no/out.mlir: error: cannot write the file: No such file or directory\n"
    )
    (here / "folder").mkdir()
    assert fails(capsys, "f.mlir", "-o", "folder") == (
        "folder: error: cannot write the file: Is a directory\n"
    )


def test_replace_file_keeps_what_was_there(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: str) -> None:
        raise OSError(28, "No space left on device")

    (here / "out").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        driver.replace_file("out", b"new")
    assert (here / "out").read_bytes() == b"old"
    assert os.listdir() == ["out"]


def test_replace_file_follows_links_and_keeps_modes(here: Path) -> None:
    (here / "out").write_bytes(b"old")
    (here / "out").chmod(0o640)
    (here / "link").symlink_to("out")
    driver.write_output("link", b"new")
    assert (here / "link").is_symlink()
    assert (here / "out").read_bytes() == b"new"
    assert (here / "out").stat().st_mode & 0o777 == 0o640


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def test_a_mistake_of_coopc(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COOPC_DEBUG", "0")
    assert driver.run_tool("tool", raising(KeyError("x"))) == 1
    expected = (
        "tool: internal error: KeyError: 'x'\n"
        "note: this is a mistake in coopc, please report it; "
        "COOPC_DEBUG=1 shows where\n"
    )
    assert capsys.readouterr().err == expected
    monkeypatch.setenv("COOPC_DEBUG", "1")
    assert driver.run_tool("tool", raising(KeyError("x"))) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith(expected)


def test_too_little_memory(capsys: Capture) -> None:
    assert driver.run_tool("tool", raising(MemoryError())) == 1
    assert capsys.readouterr().err == ("tool: error: out of memory\n")


def test_interrupt(capsys: Capture) -> None:
    assert driver.run_tool("tool", raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_left() -> None:
    command = [sys.executable, "-m", "coopc.tools.coopc_opt"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(VALID.encode())
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.parametrize("stream", ["input", "output"])
def test_closed_streams(here: Path, capsys: Capture, stream: str) -> None:
    """Python has None for a stream that is closed when it begins."""
    (here / "f.mlir").write_text(VALID)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, {"input": "stdin", "output": "stdout"}[stream], None)
        assert main([] if stream == "input" else ["f.mlir"]) == 1
    assert capsys.readouterr().err == (
        f"the standard {stream}: error: expected the standard {stream} to be open, "
        "got a closed one\n"
    )


def test_passes_of_several_options(here: Path, capsys: Capture) -> None:
    """They run in order, and spaces around commas are nothing."""
    (here / "f.mlir").write_text("scf.execute_region {\n  scf.yield\n}")
    for args in (["-p", "cse", "-p", "canonicalize"], ["-p", " cse , canonicalize "]):
        assert main(["f.mlir", *args, "--print-between-passes"]) == 0
        between, final = capsys.readouterr().out.rsplit("builtin.module", 1)
        assert between.startswith("IR after cse")
        assert "scf.execute_region" in between
        assert "scf.execute_region" not in final


def test_an_option_given_twice(capsys: Capture) -> None:
    assert fails(capsys, "-t", "mlir", "-t", "spirv") == (
        "coopc-opt: error: expected -t/--target once, got it twice\n"
    )


def test_pieces_that_fail(here: Path, capsys: Capture) -> None:
    """The others are written, each error is said, and the status is 1."""
    good = "func.func @{}() {{\n  func.return\n}}\n"
    bad = "func.func @bad( {\n}\n"
    pieces = [good.format("first"), bad, good.format("third"), bad]
    (here / "f.mlir").write_text("// -----\n".join(pieces))
    assert main(["f.mlir", "--split-input-file"]) == 1
    out, err = capsys.readouterr()
    assert [x in out for x in ("@first", "@third", "@bad")] == [True, True, False]
    assert out.count("// -----") == 3
    lines = [line for line in err.split("\n") if "error: " in line]
    assert [line.split(" ")[0] for line in lines] == ["f.mlir:5:17:", "f.mlir:12:17:"]
    (here / "out.mlir").write_text("as before")
    assert main(["f.mlir", "--split-input-file", "-o", "out.mlir"]) == 1
    assert (here / "out.mlir").read_text() == "as before"


def test_a_byte_order_mark(here: Path, capsys: Capture) -> None:
    """UTF-8's is skipped, UTF-16's is named."""
    (here / "f.mlir").write_bytes(VALID.encode("utf-8-sig"))
    assert main(["f.mlir"]) == 0
    assert "@f" in capsys.readouterr().out
    (here / "f.mlir").write_bytes(VALID.encode("utf-16"))
    assert fails(capsys, "f.mlir") == (
        "f.mlir: error: expected text of MLIR, got text in UTF-16, by its byte order "
        "mark\n"
    )


def test_a_bare_checkout(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not the installed package: no entry point leads to coopc's dialects and passes.
    found = importlib.metadata.entry_points

    def without_coopc(group: str) -> list[importlib.metadata.EntryPoint]:
        return [each for each in found(group=group) if each.name != "coopc"]

    monkeypatch.setattr(importlib.metadata, "entry_points", without_coopc)
    installed.cache_clear()
    example = str(ROOT / "examples" / "gemm.mlir")
    assert main([example, "-p", "coopc-khr{device=lavapipe}", "-t", "spirv"]) == 0
    installed.cache_clear()
    assert capsys.readouterr().out.startswith("; SPIR-V")


MUTATION = st.tuples(
    st.floats(0, 1),
    st.integers(0, 20),
    st.sampled_from(["", '"', "<", "{", "(", "%", "-1", "99999999999", "i99999999"])
    | st.text(max_size=3),
)


GEMM = (ROOT / "examples" / "gemm.mlir").read_text()
TO_SPIRV = ("-p", "coopc-khr{device=lavapipe}", "-t", "spirv")


@pytest.mark.parametrize(
    ("valid", "args"),
    [(VALID, ("-p", "canonicalize")), (GEMM, TO_SPIRV)],
    ids=["loop", "gemm"],
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(
    mutations=st.lists(MUTATION, min_size=1, max_size=3),
    end=st.floats(0, 1) | st.just(1.0),
)
def test_no_text_makes_a_traceback(
    valid: str,
    args: tuple[str, ...],
    mutations: list[tuple[float, int, str]],
    end: float,
) -> None:
    text = valid
    for where, length, new in mutations:
        start = int(where * len(text))
        text = text[:start] + new + text[start + length :]
    text = text[: max(1, int(len(text) * end))]

    written, err = io.BytesIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "replace")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", stdin)
        patch.setattr(sys, "stdout", stdout := io.TextIOWrapper(written))
        patch.setattr(sys, "stderr", err)
        status = main(args)
    errors = [line for line in err.getvalue().split("\n") if "error: " in line]
    assert status == len(errors)
    assert "Traceback" not in err.getvalue()
    assert "internal error" not in err.getvalue()
    stdout.flush()
    assert bool(written.getvalue()) == (status == 0)
