"""The encodings of `ttg`, as attributes around frozen values of `coopc.layout`.

    #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1],
                  order = [1, 0]}>
    #ttg.slice<{dim = 1, parent = #blocked}>
    #ttg.linear<{register = [[0, 1]], lane = [[0, 2]], warp = [], block = []}>
    #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>

`attr.data` is the encoding, `attr.layout(shape)` the layout of a tensor; equal
encodings are equal attributes, however they were spelled.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from coopc.dialects.tt.layouts import linear
from coopc.dialects.ttg.fields import (
    parse_fields,
    read_bases,
    read_encoding,
    read_integer,
    read_integers,
    table_of,
)
from coopc.dialects.ttg.spelling import spell, spell_fields
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encoding import Bases, Encoding, cga_bases
from coopc.layout.encodings import (
    BlockedEncoding,
    DotOperandEncoding,
    LinearEncoding,
    SliceEncoding,
)
from coopc.layout.linear import LinearLayout

EncodingT = TypeVar("EncodingT", bound=Encoding)


class EncodingAttr(Data[EncodingT], ABC, Generic[EncodingT]):
    """How tensors are kept: what the encodings have in common."""

    def layout(self, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of a tensor.

        Raises:
            ValueError: there is none for this shape.
        """
        return linear(self.data, tuple(shape))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> EncodingT:
        """Parse the dictionary; what contradicts itself is an error there."""
        position = parser.pos
        try:
            return cls.read(parser)
        except ValueError as error:
            parser.raise_error(f"{error} in #{cls.name}", position, parser.pos)

    @classmethod
    def read(cls, parser: AttrParser) -> EncodingT:
        """Parse the dictionary.

        Raises:
            ValueError: its values contradict each other.
        """
        raise NotImplementedError(cls.name)

    def print_parameter(self, printer: Printer) -> None:
        """Print the dictionary."""
        printer.print_string(spell_fields(self.data))


GRID = {
    "CTAsPerCGA": read_integers,
    "CTASplitNum": read_integers,
    "CTAOrder": read_integers,
}
"""How work-groups share a tensor, until 2025."""


def read_cga(parser: AttrParser) -> Bases:
    """Parse `[[1, 0]]`, or the older `#ttg.cga<{CTAsPerCGA = [..], ..}>`."""
    kind, position = MLIRTokenKind.HASH_IDENT, parser.pos
    token = parser._parse_optional_token(kind)  # pyright: ignore[reportPrivateUsage]
    if token is None:
        return read_bases(parser)
    if token.text != "#ttg.cga":
        parser.raise_error(f"expected bases or #ttg.cga, got {token.text}", position)
    return cga_of(parse_fields(parser, "#ttg.cga", GRID))


SHARING = {**GRID, "CGALayout": read_cga}
"""The keys that say how work-groups share a tensor; without them they do not."""


def cga_of(found: dict[str, Any]) -> Bases:
    """Return the bases that the keys of `SHARING` stand for.

    Raises:
        ValueError: some of them are missing.
    """
    if "CGALayout" in found:
        return found["CGALayout"]
    given = [key for key in GRID if key in found]
    if not given:
        return ()
    if len(given) != len(GRID):
        raise ValueError(f"expected all of {', '.join(GRID)}, got {', '.join(given)}")
    return cga_bases(*(found[key] for key in GRID))


@irdl_attr_definition
class BlockedEncodingAttr(EncodingAttr[BlockedEncoding]):
    """Registers, then lanes, then subgroups walk over the tensor."""

    name = "ttg.blocked"

    @classmethod
    def read(cls, parser: AttrParser) -> BlockedEncoding:
        """Parse `<{sizePerThread = [..], threadsPerWarp = [..], ..}>`."""
        keys = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")
        table = table_of(read_integers, *keys) | SHARING
        found = parse_fields(parser, "#ttg.blocked", table, SHARING)
        values = [found[key] for key in keys]
        return BlockedEncoding(*values, cga=cga_of(found))


@irdl_attr_definition
class SliceEncodingAttr(EncodingAttr[SliceEncoding]):
    """What is left of the parent's layout without one dimension."""

    name = "ttg.slice"

    @classmethod
    def read(cls, parser: AttrParser) -> SliceEncoding:
        """Parse `<{dim = 1, parent = #blocked}>`."""
        table = {"dim": read_integer, "parent": read_encoding}
        return SliceEncoding(**parse_fields(parser, "#ttg.slice", table))


@irdl_attr_definition
class LinearEncodingAttr(EncodingAttr[LinearEncoding]):
    """The bases themselves."""

    name = "ttg.linear"

    @classmethod
    def read(cls, parser: AttrParser) -> LinearEncoding:
        """Parse `<{register = [[0, 1]], lane = [..], warp = [..], block = []}>`."""
        table = table_of(read_bases, "register", "lane", "warp", "block")
        return LinearEncoding.of(**parse_fields(parser, "#ttg.linear", table))


@irdl_attr_definition
class DotOperandEncodingAttr(EncodingAttr[DotOperandEncoding]):
    """The operand of a dot whose result has the parent's layout."""

    name = "ttg.dot_op"

    @classmethod
    def read(cls, parser: AttrParser) -> DotOperandEncoding:
        """Parse `<{opIdx = 0, parent = #dpas, kWidth = 1}>`."""
        table = {
            "opIdx": read_integer,
            "parent": read_encoding,
            "kWidth": read_integer,
        }
        found = parse_fields(parser, "#ttg.dot_op", table, ("kWidth",))
        parent = found["parent"]
        if not isinstance(parent, DpasEncoding | BlockedEncoding):
            raise ValueError(
                f"expected a parent that is #ttig.dpas or #ttg.blocked, "
                f"got {spell(parent)}"
            )
        return DotOperandEncoding(found["opIdx"], parent, found.get("kWidth", 0))
