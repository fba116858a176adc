"""The encodings of `ttg` and `ttig`: attributes around frozen values of `coopc.layout`.

    #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4, 1],
                  order = [1, 0]}>
    #ttg.slice<{dim = 1, parent = #blocked}>
    #ttg.linear<{register = [[0, 1]], lane = [[0, 2]], warp = [], block = []}>
    #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>

`attr.data` is the encoding, `attr.layout(shape)` the layout of a tensor; equal
encodings are equal attributes, however they were spelled.  Keys are printed in Triton's
order, with those that follow from the others: A, B and C of `#ttig.dpas` are the shapes
of a subgroup's clusters.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from coopc.diagnostic import near_match
from coopc.dialects.layout import list_text, parse_basis, parse_list, parse_number
from coopc.dialects.tt.types import encoding_in, linear
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import (
    Bases,
    BlockedEncoding,
    Encoding,
    LinearEncoding,
    SliceEncoding,
    cga_bases,
)
from coopc.layout.linear import LinearLayout

ValueT = TypeVar("ValueT")
EncodingT = TypeVar("EncodingT", bound=Encoding)


@dataclass(frozen=True, slots=True)
class Key:
    """How the value of a key is read, and what it is of the attribute's value."""

    read: Callable[[AttrParser], Any]
    field: str | None = None
    """The field that it is; without one, it is read and not kept."""
    show: Callable[[Any], Any] | None = None
    """What is printed where it is no field."""
    optional: bool = False
    """Whether it can be missing, and is not printed where it says nothing."""

    def shown(self, value: object) -> Any:
        if self.show is not None:
            return self.show(value)
        found = None if self.field is None else getattr(value, self.field)
        return found if found or not self.optional else None


def read_bases(parser: AttrParser) -> Bases:
    """Parse `[[0, 1], [0, 2]]`."""
    return parse_list(parser, lambda: parse_basis(parser))


def read_encoding(parser: AttrParser) -> Encoding:
    """Parse an attribute that holds an encoding."""
    position = parser.pos
    found = parser.parse_attribute()
    if (held := encoding_in(found)) is None:
        parser.raise_error(f"expected an encoding, got {found}", position, parser.pos)
    return held


def parse_fields(
    parser: AttrParser, name: str, keys: Mapping[str, Key]
) -> dict[str, Any]:
    """Parse a dictionary in angle brackets, that of an attribute of some name.

    Raises:
        ParseError: a key is unknown, there twice, or missing.
    """
    found: dict[str, Any] = {}

    def read_field() -> None:
        start = parser.pos
        key = parser.parse_identifier()
        if key not in keys:
            expected = f"expected one of {', '.join(keys)} in {name}, got '{key}'"
            parser.raise_error(expected + near_match(key, keys), start)
        if key in found:
            parser.raise_error(f"expected {key} once in {name}", start)
        parser.parse_punctuation("=")
        try:
            found[key] = keys[key].read(parser)
        except ValueError as error:
            parser.raise_error(f"{error} in {key} of {name}", start, parser.pos)

    with parser.in_angle_brackets():
        position = parser.pos
        parser.parse_comma_separated_list(parser.Delimiter.BRACES, read_field)
        for key, how in keys.items():
            if key not in found and not how.optional:
                parser.raise_error(f"expected {key} in {name}", position, parser.pos)
    return found


class KeysAttr(Data[ValueT], ABC, Generic[ValueT]):
    """An attribute that is printed as a dictionary: `<{dim = 1, parent = #slice}>`."""

    KEYS: ClassVar[Mapping[str, Key]]
    VALUE: ClassVar[Callable[..., Any]]
    """From fields to the value; a `ValueError` if they contradict each other."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ValueT:
        position = parser.pos
        found = parse_fields(parser, f"#{cls.name}", cls.KEYS)
        try:
            fields = {
                key.field: found[name]
                for name, key in cls.KEYS.items()
                if key.field is not None and name in found
            }
            if "CGALayout" in cls.KEYS:
                fields["cga"] = cga_of(found)
            return cls.VALUE(**fields)
        except ValueError as error:
            parser.raise_error(f"{error} in #{cls.name}", position, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        shown = ((name, key.shown(self.data)) for name, key in self.KEYS.items())
        items = (f"{name} = {_text(x)}" for name, x in shown if x is not None)
        printer.print_string(f"<{{{', '.join(items)}}}>")


def _text(value: object) -> str:
    if isinstance(value, Encoding):
        return spell(value)
    if isinstance(value, tuple):
        return list_text(cast("tuple[object, ...]", value))
    return str(value)


class EncodingAttr(KeysAttr[EncodingT], ABC, Generic[EncodingT]):
    """How tensors are kept: what the encodings have in common."""

    def layout(self, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of a tensor.

        Raises:
            ValueError: there is none for this shape.
        """
        return linear(self.data, tuple(shape))


GRID: Mapping[str, Key] = dict.fromkeys(
    ("CTAsPerCGA", "CTASplitNum", "CTAOrder"), Key(parse_basis, optional=True)
)
"""How work-groups share a tensor, until 2025."""


def read_cga(parser: AttrParser) -> Bases:
    """Parse `[[1, 0]]`, or the older `#ttg.cga<{CTAsPerCGA = [..], ..}>`."""
    kind, position = MLIRTokenKind.HASH_IDENT, parser.pos
    token = parser._parse_optional_token(kind)  # pyright: ignore[reportPrivateUsage]
    if token is None:
        return read_bases(parser)
    if token.text != "#ttg.cga":
        parser.raise_error(f"expected bases or #ttg.cga, got {token.text}", position)
    keys = {key: Key(parse_basis) for key in GRID}
    return cga_of(parse_fields(parser, "#ttg.cga", keys))


SHARING = {**GRID, "CGALayout": Key(read_cga, "cga", optional=True)}
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

    KEYS: ClassVar[Mapping[str, Key]] = {
        "sizePerThread": Key(parse_basis, "size_per_thread"),
        "threadsPerWarp": Key(parse_basis, "threads_per_warp"),
        "warpsPerCTA": Key(parse_basis, "warps_per_cta"),
        "order": Key(parse_basis, "order"),
        **SHARING,
    }
    VALUE: ClassVar[Callable[..., Any]] = BlockedEncoding


@irdl_attr_definition
class SliceEncodingAttr(EncodingAttr[SliceEncoding]):
    """What is left of the parent's layout without one dimension."""

    name = "ttg.slice"

    KEYS: ClassVar[Mapping[str, Key]] = {
        "dim": Key(parse_number, "dim"),
        "parent": Key(read_encoding, "parent"),
    }
    VALUE: ClassVar[Callable[..., Any]] = SliceEncoding


def _bases_of(name: str) -> Key:
    return Key(read_bases, name, lambda encoding: encoding.layout.bases(name))


@irdl_attr_definition
class LinearEncodingAttr(EncodingAttr[LinearEncoding]):
    """The bases themselves."""

    name = "ttg.linear"

    KEYS: ClassVar[Mapping[str, Key]] = {
        name: _bases_of(name) for name in ("register", "lane", "warp", "block")
    }
    VALUE: ClassVar[Callable[..., Any]] = LinearEncoding.of


def _operand_of(parent: Encoding, **numbers: int) -> DotOperandEncoding:
    if not isinstance(parent, DpasEncoding | BlockedEncoding):
        raise ValueError(
            f"expected a parent that is #ttig.dpas or #ttg.blocked, got {spell(parent)}"
        )
    return DotOperandEncoding(parent=parent, **numbers)


@irdl_attr_definition
class DotOperandEncodingAttr(EncodingAttr[DotOperandEncoding]):
    """The operand of a dot whose result has the parent's layout."""

    name = "ttg.dot_op"

    KEYS: ClassVar[Mapping[str, Key]] = {
        "opIdx": Key(parse_number, "op_idx"),
        "parent": Key(read_encoding, "parent"),
        "kWidth": Key(parse_number, "k_width", optional=True),
    }

    VALUE: ClassVar[Callable[..., Any]] = _operand_of


def _cluster_of(operand: str) -> Key:
    return Key(parse_basis, None, lambda x: x.cluster_shape(operand), optional=True)


@irdl_attr_definition
class DpasEncodingAttr(EncodingAttr[DpasEncoding]):
    """How tensors of a product are spread for DPAS; see `coopc.layout.dpas`."""

    name = "ttig.dpas"

    KEYS: ClassVar[Mapping[str, Key]] = {
        "repeatCount": Key(parse_number, "repeat_count"),
        "systolicDepth": Key(parse_number, "systolic_depth"),
        "executionSize": Key(parse_number, "execution_size"),
        "opsPerChan": Key(parse_number, "ops_per_chan"),
        "fp4KPack": Key(parse_number, "fp4_k_pack", optional=True),
        "threadsPerWarp": Key(parse_number, "threads_per_warp"),
        "warpsPerCTA": Key(parse_basis, "warps_per_cta"),
        "repCluster": Key(parse_basis, "rep_cluster"),
        **{operand.upper(): _cluster_of(operand) for operand in "abc"},
    }
    VALUE: ClassVar[Callable[..., Any]] = DpasEncoding


@dataclass(frozen=True, slots=True)
class Warp:
    """`#ttig.warp`: a tile of each lane, and of a subgroup. It has no layout here."""

    size_per_thread: tuple[int, ...]
    """Elements along each dimension that a lane holds together."""
    threads_per_warp: tuple[int, ...]
    """Lanes along each dimension."""
    order: tuple[int, ...]
    """The dimensions, fastest first."""


@irdl_attr_definition
class WarpEncodingAttr(KeysAttr[Warp]):
    """A `Warp`."""

    name = "ttig.warp"

    KEYS: ClassVar[Mapping[str, Key]] = {
        "sizePerThread": Key(parse_basis, "size_per_thread"),
        "threadsPerWarp": Key(parse_basis, "threads_per_warp"),
        "order": Key(parse_basis, "order"),
    }
    VALUE: ClassVar[Callable[..., Any]] = Warp


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
class Subgroup2DBlockEncodingAttr(KeysAttr[Subgroup2DBlock]):
    """A `Subgroup2DBlock`."""

    name = "ttig.subgroup_2d_block"

    KEYS: ClassVar[Mapping[str, Key]] = {
        "warpsPerCTA": Key(parse_basis, "warps_per_cta"),
        "instrShape": Key(parse_basis, "instr_shape"),
        "numBlocks": Key(parse_number, "num_blocks"),
        "order": Key(parse_basis, "order"),
        "kWidth": Key(parse_number, "k_width"),
        "threadsPerWarp": Key(parse_number, "threads_per_warp"),
    }
    VALUE: ClassVar[Callable[..., Any]] = Subgroup2DBlock


@dataclass(frozen=True, slots=True)
class SwizzledShared:
    """Rows of memory whose vectors are exchanged against bank conflicts.

    Vector v of row r is at v XOR (r / perPhase mod maxPhase).
    """

    vec: int
    """Elements that stay together."""
    per_phase: int
    """Rows that are swizzled alike."""
    max_phase: int
    """Number of different swizzles; 1 is none."""
    order: tuple[int, ...]
    """The dimensions, that with the least stride first."""
    cga: Bases = ()
    """How work-groups share it: see `BlockedEncoding`."""

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.order))):
            raise ValueError(
                f"expected order to permute {len(self.order)} dimensions, "
                f"got {list(self.order)}"
            )
        for name, size in (
            ("vec", self.vec),
            ("perPhase", self.per_phase),
            ("maxPhase", self.max_phase),
        ):
            if size < 1:
                raise ValueError(f"expected {name} of at least 1, got {size}")


@irdl_attr_definition
class SwizzledSharedAttr(KeysAttr[SwizzledShared]):
    """A `SwizzledShared`; until 2025 it was called `#ttg.shared`."""

    name = "ttg.swizzled_shared"

    KEYS: ClassVar[Mapping[str, Key]] = {
        "vec": Key(parse_number, "vec"),
        "perPhase": Key(parse_number, "per_phase"),
        "maxPhase": Key(parse_number, "max_phase"),
        "order": Key(parse_basis, "order"),
        **SHARING,
        "hasLeadingOffset": Key(AttrParser.parse_boolean, optional=True),
    }
    VALUE: ClassVar[Callable[..., Any]] = SwizzledShared


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


def spell(encoding: Encoding) -> str:
    """Return an encoding as the attribute that holds it is printed.

    >>> spell(BlockedEncoding((1, 2), (2, 2), (1, 1), (1, 0)))[:40]
    '#ttg.blocked<{sizePerThread = [1, 2], th'
    """
    return str(attribute_of(encoding))
