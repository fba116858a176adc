"""The encodings of `ttig`: DPAS, and two that Intel's compiler no longer makes.

    #ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = 2,
                threadsPerWarp = 16, warpsPerCTA = [8, 4], repCluster = [4, 2],
                A = [32, 16], B = [16, 32], C = [32, 32]}>

A, B and C follow from the others: they are printed, and ignored where they are read, as
there are files with stale ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from coopc.dialects.ttg.encodings import (
    BlockedEncodingAttr,
    DotOperandEncodingAttr,
    EncodingAttr,
    LinearEncodingAttr,
    SliceEncodingAttr,
)
from coopc.dialects.ttg.fields import (
    parse_fields,
    read_integer,
    read_integers,
    table_of,
)
from coopc.dialects.ttg.spelling import dictionary, numbers
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encoding import Encoding
from coopc.layout.encodings import (
    BlockedEncoding,
    DotOperandEncoding,
    LinearEncoding,
    SliceEncoding,
)


@irdl_attr_definition
class DpasEncodingAttr(EncodingAttr[DpasEncoding]):
    """How tensors of a product are spread for DPAS; see `coopc.layout.dpas`."""

    name = "ttig.dpas"

    @classmethod
    def read(cls, parser: AttrParser) -> DpasEncoding:
        """Parse `<{repeatCount = 8, ..}>`."""
        keys = ("repeatCount", "systolicDepth", "executionSize", "opsPerChan")
        table = table_of(read_integer, *keys, "threadsPerWarp", "fp4KPack")
        grids = ("warpsPerCTA", "repCluster")
        derived = ("A", "B", "C")
        table |= table_of(read_integers, *grids, *derived)
        optional = (*derived, "fp4KPack")
        found = parse_fields(parser, "#ttig.dpas", table, optional)
        values = [found[key] for key in (*keys, "threadsPerWarp", *grids)]
        return DpasEncoding(*values, fp4_k_pack=found.get("fp4KPack"))


@dataclass(frozen=True, slots=True)
class Warp:
    """`#ttig.warp`: a tile of each lane, and of a subgroup. It has no layout here."""

    size_per_thread: tuple[int, ...]
    """Elements along each dimension that a lane holds together."""
    threads_per_warp: tuple[int, ...]
    """Lanes along each dimension."""
    order: tuple[int, ...]
    """The dimensions, fastest first."""


@dataclass(frozen=True, slots=True)
class Subgroup2DBlock:
    """`#ttig.subgroup_2d_block`: a tile as 2D loads fill it. It has no layout here."""

    warps_per_cta: tuple[int, ...]
    """Subgroups along each dimension."""
    instr_shape: tuple[int, ...]
    """Rows and columns of one block."""
    num_blocks: int
    """Blocks of one load, side by side."""
    order: tuple[int, ...]
    """The dimensions, that with the least stride first."""
    k_width: int
    """Elements packed along K."""
    threads_per_warp: int
    """Lanes of a subgroup."""


@irdl_attr_definition
class WarpEncodingAttr(Data[Warp]):
    """A `Warp`."""

    name = "ttig.warp"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Warp:
        """Parse `<{sizePerThread = [..], threadsPerWarp = [..], order = [..]}>`."""
        keys = ("sizePerThread", "threadsPerWarp", "order")
        table = table_of(read_integers, *keys)
        found = parse_fields(parser, "#ttig.warp", table)
        return Warp(*(found[key] for key in keys))

    def print_parameter(self, printer: Printer) -> None:
        """Print the dictionary."""
        warp = self.data
        items = [
            ("sizePerThread", numbers(warp.size_per_thread)),
            ("threadsPerWarp", numbers(warp.threads_per_warp)),
            ("order", numbers(warp.order)),
        ]
        printer.print_string(dictionary(items))


@irdl_attr_definition
class Subgroup2DBlockEncodingAttr(Data[Subgroup2DBlock]):
    """A `Subgroup2DBlock`."""

    name = "ttig.subgroup_2d_block"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Subgroup2DBlock:
        """Parse `<{warpsPerCTA = [..], instrShape = [..], numBlocks = 2, ..}>`."""
        table: dict[str, Any] = {
            "warpsPerCTA": read_integers,
            "instrShape": read_integers,
            "numBlocks": read_integer,
            "order": read_integers,
            "kWidth": read_integer,
            "threadsPerWarp": read_integer,
        }
        found = parse_fields(parser, "#ttig.subgroup_2d_block", table)
        return Subgroup2DBlock(*(found[key] for key in table))

    def print_parameter(self, printer: Printer) -> None:
        """Print the dictionary."""
        block = self.data
        items = [
            ("warpsPerCTA", numbers(block.warps_per_cta)),
            ("instrShape", numbers(block.instr_shape)),
            ("numBlocks", str(block.num_blocks)),
            ("order", numbers(block.order)),
            ("kWidth", str(block.k_width)),
            ("threadsPerWarp", str(block.threads_per_warp)),
        ]
        printer.print_string(dictionary(items))


ATTRIBUTES: dict[type[Encoding], type[EncodingAttr[Any]]] = {
    BlockedEncoding: BlockedEncodingAttr,
    SliceEncoding: SliceEncodingAttr,
    LinearEncoding: LinearEncodingAttr,
    DotOperandEncoding: DotOperandEncodingAttr,
    DpasEncoding: DpasEncodingAttr,
}
"""The attribute that holds each kind of encoding."""


def attribute_of(encoding: Encoding) -> Attribute:
    """Return the attribute that holds an encoding.

    >>> str(attribute_of(SliceEncoding(0, LinearEncoding.of((), ((0, 1),), ((1, 0),)))))
    '#ttg.slice<{dim = 0, parent = #ttg.linear<{register = [], lane = [[0, 1]], warp = \
[[1, 0]], block = []}>}>'
    """
    return ATTRIBUTES[type(encoding)](encoding)
