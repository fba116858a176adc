"""Attributes that are one word: `#linalg.type_fn<cast_unsigned>`, `#gpu.block<x>`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class InBrackets(Data[str]):
    VALUES: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            start = parser.pos
            value = parser.parse_identifier()
            if value not in cls.VALUES:
                names = ", ".join(cls.VALUES)
                parser.raise_error(f"expected {names}, got {value}", start, parser.pos)
            return value

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)
