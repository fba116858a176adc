"""Positions in a text, and texts that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.diagnostic import CompileError
from coopc.source import Source, decode, read_source


@given(st.text(alphabet="ab\n\r\té", max_size=40), st.data())
def test_position_inverse(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    line, column = Source(text).position(offset)
    assert sum(len(each) + 1 for each in text.split("\n")[: line - 1]) == (
        offset - column + 1
    )


@given(st.lists(st.text(alphabet="ab\n", max_size=9), min_size=1, max_size=5))
def test_split_keeps_line_numbers(pieces: list[str]) -> None:
    whole = Source("// -----".join(pieces), "f")
    start = 0
    for piece in whole.split():
        assert piece.position(0)[0] == whole.position(start)[0]
        start += len(piece.text) + len("// -----")


def test_place_shows_its_line() -> None:
    place = Source("one\r\n  two\n", "f", line_offset=10).place(7, 3)
    assert (place.line, place.column, place.text) == (12, 3, "  two")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x03\x02\x23\x07\0\0", "expected text of MLIR, got a SPIR-V binary"),
        (b"ML\xefR\x01", "expected text of MLIR, got MLIR bytecode"),
        (b"ab\0", "expected text of MLIR, got a zero byte at byte 2"),
        (b"ab\xff", "expected text in UTF-8, got byte 0xff at byte 2"),
    ],
)
def test_no_text(content: bytes, message: str) -> None:
    with pytest.raises(CompileError) as error:
        decode(content, "f.mlir")
    assert str(error.value) == f"f.mlir: error: {message}"


def test_no_file() -> None:
    with pytest.raises(CompileError) as error:
        read_source("no/such.mlir")
    assert str(error.value) == (
        "no/such.mlir: error: cannot read the file: No such file or directory"
    )
