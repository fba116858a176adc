"""The attributes and the type of `xe`: blocks, caches, precisions, payloads."""

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Data,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from coopc.plan.block_shape import BlockMode, BlockShape

CHANNEL_BITS = 32
SYSTOLIC_DEPTH = 8
"""Channels of K that one DPAS multiplies."""


class Precision(StrEnum):
    """What the bits of an operand of DPAS are."""

    S8 = "s8"
    U8 = "u8"
    S4 = "s4"
    U4 = "u4"
    F16 = "f16"
    BF16 = "bf16"
    TF32 = "tf32"

    @property
    def bits(self) -> int:
        """Width of an element."""
        return {"8": 8, "4": 4, "6": 16, "2": 32}[self.value[-1]]

    @property
    def ops_per_channel(self) -> int:
        """Elements that a channel of 32 bits packs."""
        return CHANNEL_BITS // self.bits

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers."""
        return self.value[0] in "su"

    @property
    def k(self) -> int:
        """K of one DPAS."""
        return SYSTOLIC_DEPTH * self.ops_per_channel


class CacheControl(StrEnum):
    """What a cache does with an access, as SPV_INTEL_cache_controls names it."""

    DEFAULT = "default"
    UNCACHED = "uncached"
    CACHED = "cached"
    STREAMING = "streaming"
    INVALIDATE_AFTER_READ = "invalidate_after_read"
    CONST_CACHED = "const_cached"
    WRITE_THROUGH = "write_through"
    WRITE_BACK = "write_back"


LOAD_CONTROLS = (
    CacheControl.DEFAULT,
    CacheControl.UNCACHED,
    CacheControl.CACHED,
    CacheControl.STREAMING,
    CacheControl.INVALIDATE_AFTER_READ,
    CacheControl.CONST_CACHED,
)
STORE_CONTROLS = (
    CacheControl.DEFAULT,
    CacheControl.UNCACHED,
    CacheControl.WRITE_THROUGH,
    CacheControl.WRITE_BACK,
    CacheControl.STREAMING,
)


@irdl_attr_definition
class PrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    """A `Precision`, as in `#xe<precision f16>`."""

    name = "xe.precision"


@irdl_attr_definition
class BlockAttr(Data[BlockShape]):
    """A `BlockShape`, as in `#xe.block<16, 32x16x2, transform>`: bits, shape, mode."""

    name = "xe.block"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> BlockShape:
        """Parse `<16, 32x16x2, transform>`."""
        return parse_shape(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print `<16, 32x16x2, transform>`."""
        print_shape(printer, self.data)


@irdl_attr_definition
class PayloadType(Data[BlockShape], TypeAttribute):
    """The address of blocks of a shape, as in `!xe.payload<32, 16x8x1, transpose>`.

    It is a register that is written in place: whoever holds it sees what `set_x` and
    `set_y` wrote, as with a memref.
    """

    name = "xe.payload"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> BlockShape:
        """Parse `<32, 16x8x1, transpose>`."""
        return parse_shape(parser)

    def print_parameter(self, printer: Printer) -> None:
        """Print `<32, 16x8x1, transpose>`."""
        print_shape(printer, self.data)


def parse_shape(parser: AttrParser) -> BlockShape:
    """Parse `<16, 32x16x2, transform>`: element bits, height x width x count, mode."""
    with parser.in_angle_brackets():
        position = parser.pos
        bits = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(",")
        sizes = parser.parse_dimension_list()
        mode = BlockMode.PLAIN
        if parser.parse_optional_punctuation(",") is not None:
            mode = _parse_mode(parser)
        if len(sizes) != 3:
            parser.raise_error(
                f"expected height x width x count, got {len(sizes)} sizes", position
            )
        try:
            return BlockShape(bits, sizes[0], sizes[1], sizes[2], mode)
        except ValueError as error:
            parser.raise_error(str(error), position)


def _parse_mode(parser: AttrParser) -> BlockMode:
    """Parse `transform` or its kin."""
    for mode in BlockMode:
        if parser.parse_optional_keyword(mode.value) is not None:
            return mode
    names = " or ".join(mode.value for mode in BlockMode)
    parser.raise_error(f"expected {names}")


def print_shape(printer: Printer, shape: BlockShape) -> None:
    """Print `<16, 32x16x2, transform>`."""
    with printer.in_angle_brackets():
        size = f"{shape.height}x{shape.width}x{shape.count}"
        printer.print_string(f"{shape.bits}, {size}")
        if shape.mode is not BlockMode.PLAIN:
            printer.print_string(f", {shape.mode.value}")


@irdl_attr_definition
class CacheAttr(ParametrizedAttribute):
    """What the caches do with an access: `#xe.cache<l1 = cached, l3 = cached>`."""

    name = "xe.cache"

    l1: StringAttr
    l3: StringAttr

    @classmethod
    def of(
        cls,
        l1: CacheControl = CacheControl.DEFAULT,
        l3: CacheControl = CacheControl.DEFAULT,
    ) -> "CacheAttr":
        """Return the attribute from plain values."""
        return CacheAttr(StringAttr(l1.value), StringAttr(l3.value))

    @property
    def levels(self) -> tuple[CacheControl, CacheControl]:
        """The controls of L1 and L3."""
        return CacheControl(self.l1.data), CacheControl(self.l3.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<l1 = cached, l3 = cached>`."""
        with parser.in_angle_brackets():
            parser.parse_keyword("l1")
            parser.parse_punctuation("=")
            l1 = parser.parse_str_enum(CacheControl)
            parser.parse_punctuation(",")
            parser.parse_keyword("l3")
            parser.parse_punctuation("=")
            l3 = parser.parse_str_enum(CacheControl)
        return StringAttr(l1.value), StringAttr(l3.value)

    def print_parameters(self, printer: Printer) -> None:
        """Print `<l1 = cached, l3 = cached>`."""
        with printer.in_angle_brackets():
            printer.print_string(f"l1 = {self.l1.data}, l3 = {self.l3.data}")
