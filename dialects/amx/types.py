"""The type of `amx`: a tile, at most 16 rows of at most 64 bytes.

The limits are those of palette 1 in Intel's Architecture Instruction Set Extensions,
the only palette that processors have.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    IntAttr,
    i8,
    i32,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

MAX_ROWS = 16
"""Rows of a tile, at most."""
MAX_ROW_BYTES = 64
"""Bytes of a row of a tile, at most."""
CHANNEL_BYTES = 4
"""The bytes that an accumulator takes in k for each of its elements."""


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A tile of `rows` by `cols` elements: `!amx.tile<16x32xbf16>`.

    A row is a multiple of 4 bytes.
    """

    name = "amx.tile"

    rows: IntAttr
    """1 to `MAX_ROWS`."""
    cols: IntAttr
    """In elements; `MAX_ROW_BYTES` at most."""
    element_type: Attribute
    """f32, f16, bf16, i32 or i8."""

    @classmethod
    def of(cls, rows: int, cols: int, element_type: Attribute) -> "TileType":
        """Return the type from plain values."""
        return TileType(IntAttr(rows), IntAttr(cols), element_type)

    @property
    def shape(self) -> tuple[int, int]:
        """The (rows, columns), in elements."""
        return self.rows.data, self.cols.data

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return self.cols.data * element_bytes(self.element_type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<16x32xbf16>`."""
        with parser.in_angle_brackets():
            position = parser.pos
            sizes, element_type = parser.parse_ranked_shape()
            if len(sizes) != 2:
                parser.raise_error(
                    f"expected a tile of rank 2, got {len(sizes)}", position, parser.pos
                )
        return *(IntAttr(size) for size in sizes), element_type

    def print_parameters(self, printer: Printer) -> None:
        """Print `<16x32xbf16>`."""
        rows, cols = self.shape
        with printer.in_angle_brackets():
            printer.print_string(f"{rows}x{cols}x")
            printer.print_attribute(self.element_type)

    def verify(self) -> None:
        """Check the element type and the limits of tiles."""
        if not is_tile_element(self.element_type):
            raise VerifyException(
                f"expected elements of f32, f16, bf16, i32 or i8, which tiles hold, "
                f"got {self.element_type}"
            )
        if not 1 <= (rows := self.rows.data) <= MAX_ROWS:
            raise VerifyException(
                f"expected 1 to {MAX_ROWS} rows, which a tile has, got {rows}"
            )
        size = self.row_bytes
        if not 1 <= size <= MAX_ROW_BYTES or size % CHANNEL_BYTES:
            raise VerifyException(
                f"expected a row of at most {MAX_ROW_BYTES} bytes, a multiple of "
                f"{CHANNEL_BYTES}, got {size}"
            )


def is_tile_element(type: Attribute) -> bool:
    """Whether tiles have elements of a type.

    >>> from xdsl.dialects.builtin import f64
    >>> is_tile_element(i8), is_tile_element(f64)
    (True, False)
    """
    return isinstance(type, BFloat16Type | Float16Type | Float32Type) or type in (
        i8,
        i32,
    )


def element_bytes(type: Attribute) -> int:
    """Return the bytes of an element of a tile."""
    assert isinstance(type, FixedBitwidthType), type
    return type.bitwidth // 8


def tile_type(value: SSAValue) -> TileType:
    """Return the type of a value that an op definition constrains to be a tile."""
    assert isinstance(value.type, TileType), value.type
    return value.type
