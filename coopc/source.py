"""The text that is compiled: how it is read, and how a position in it is shown.

Whatever is no text is refused here, so that no later part sees it.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from functools import cached_property

from coopc.diagnostic import CompileError, Diagnostic, Kind, Place

MAGIC = {
    b"\x03\x02\x23\x07": "a SPIR-V binary",
    b"\x07\x23\x02\x03": "a SPIR-V binary",
    b"ML\xefR": "MLIR bytecode",
    b"BC\xc0\xde": "LLVM bitcode",
    b"\x7fELF": "an ELF file",
    b"\x1f\x8b": "a gzip file",
    BOM_UTF16_LE: "text in UTF-16, by its byte order mark",
    BOM_UTF16_BE: "text in UTF-16, by its byte order mark",
}
"""How files begin that are taken for IR by mistake."""


@dataclass(frozen=True)
class Source:
    """A piece of a text file."""

    text: str
    name: str = "<unknown>"
    """The file's, as the user gave it."""
    line_offset: int = 0
    """How many lines of the file come before the text."""

    @cached_property
    def _starts(self) -> list[int]:
        """The offsets at which lines begin."""
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        r"""Line and column, both from 1, of the character at `offset`, from 0.

        >>> Source("ab\ncd").position(4)
        (2, 2)
        """
        line = bisect_right(self._starts, offset)
        return line + self.line_offset, offset - self._starts[line - 1] + 1

    def place(self, offset: int, width: int = 1) -> Place:
        """The place of `width` characters from `offset`, both in characters."""
        line, column = self.position(offset)
        return self.place_in_line(line, column, width)

    def place_in_line(self, line: int, column: int, width: int = 1) -> Place:
        """The place at `line` and `column` of the file, with the line if it is here."""
        lines = self.text.split("\n")
        number = line - self.line_offset - 1
        text = lines[number].rstrip("\r") if 0 <= number < len(lines) else None
        return Place(self.name, line, column, text, max(1, width))

    def split(self) -> tuple[Source, ...]:
        """The pieces between lines `// -----`, as lit tests use them."""
        pieces: list[Source] = []
        offset = self.line_offset
        for text in self.text.split("// -----"):
            pieces.append(Source(text, self.name, offset))
            offset += text.count("\n")
        return tuple(pieces)


def read_source(path: str | None) -> Source:
    """Read the file at `path`; None and "-" are the standard input.

    Raises:
        CompileError: There is no such file, it cannot be read, or it is no text.
    """
    name = "<stdin>" if path is None or path == "-" else path
    return decode(read_bytes(path), name)


def read_bytes(path: str | None) -> bytes:
    """Read the file at `path`; None and "-" are the standard input.

    Raises:
        CompileError: There is no such file, or it cannot be read.
    """
    if path is None or path == "-":
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise unreadable(path, f"cannot read the file: {reason}") from error


def decode(content: bytes, name: str) -> Source:
    """The text in `content`, which is that of the file `name`.

    Raises:
        CompileError: It is no text.
    """
    for magic, what in MAGIC.items():
        if content.startswith(magic):
            raise unreadable(name, f"expected text of MLIR, got {what}")
    if (nul := content.find(b"\0")) >= 0:
        raise unreadable(name, f"expected text of MLIR, got a zero byte at byte {nul}")
    try:
        return Source(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        raise unreadable(name, not_utf8(error)) from error


def not_utf8(error: UnicodeDecodeError) -> str:
    """Say which byte of a file is no text."""
    byte = error.object[error.start]
    return f"expected text in UTF-8, got byte 0x{byte:02x} at byte {error.start}"


def unreadable(name: str, message: str) -> CompileError:
    return CompileError(Diagnostic(Kind.INPUT, message, Place(name)))
