"""What diagnostics look like."""

from hypothesis import given
from hypothesis import strategies as st

from coopc.diagnostic import (
    MAX_SOURCE_COLUMNS,
    Diagnostic,
    Kind,
    Note,
    Place,
    near_match,
)


def test_all_parts() -> None:
    note = Note("defined here", Place("f.mlir", 1, 1, "%a", 2))
    place = Place("f.mlir", 3, 4, "\t%d = %a", 2)
    assert str(Diagnostic(Kind.VERIFY, "expected 16,\ngot 8", place, (note,))) == (
        "f.mlir:3:4: error: expected 16,\n"
        "  got 8\n"
        "  \t%d = %a\n"
        "  \t  ^^\n"
        "f.mlir:1:1: note: defined here\n"
        "  %a\n"
        "  ^^"
    )


def test_no_source() -> None:
    place = Place("coopc-opt")
    assert str(Diagnostic(Kind.INTERNAL, "KeyError", place, (Note("sorry"),))) == (
        "coopc-opt: internal error: KeyError\nnote: sorry"
    )


def test_unprintable_source_is_not_printed() -> None:
    diagnostic = Diagnostic(Kind.PARSE, "bad", Place("f", 1, 2, "a\x1b[31mb"))
    assert "\x1b" not in str(diagnostic)


@given(st.integers(1, 600), st.integers(1, 600), st.integers(1, 600))
def test_caret_marks_its_character(length: int, column: int, width: int) -> None:
    column = min(column, length)
    text = "".join(chr(0x4E00 + i) for i in range(length))  # all different
    source, carets = Place("f", 1, column, text, width).excerpt()
    assert source[carets.index("^")] == text[column - 1]
    assert len(source) <= len("  ......") + MAX_SOURCE_COLUMNS
    assert len(carets) <= len(source)


def test_near_match() -> None:
    assert near_match("lavapip", ["lavapipe", "nvidia"]) == (
        ", did you mean 'lavapipe'?"
    )
    assert near_match("x", ["lavapipe"]) == ""
