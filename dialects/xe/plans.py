"""Shapes of blocks, and plans of 2D block messages, as attributes.

What `plan-block-io` decides is in the IR:

    #xe.block_load_plan<<16, 32x16x2>, bits = [0, 1, 2, 3, 4, 5], element_bits = 16,
      rows = 0, cols = 1, of (register = [[1, 0], ..], lane = [..], warp = [..])
      -> (dim0 = 256, dim1 = 32)>

`row_step` and `swaps` are left out where they are 1 and nothing.  A plan proves itself
whenever it is read; a text that is no plan is an error where it stands.
"""

from __future__ import annotations

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from coopc.dialects.layout import (
    linear_text,
    list_text,
    numbers_text,
    parse_basis,
    parse_linear,
    parse_list,
)
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import BlockMode, BlockShape
from coopc.plan.prefetch import PrefetchPlan

PLAN = "xe.plan"
"""The attribute of an access that is moved by 2D block messages."""
REFUSAL = "xe.no_plan"
"""The attribute of one that is not: the reason, a string."""

_NUMBERS = ("element_bits", "rows", "cols", "row_step")


class ShapeAttr(Data[BlockShape]):
    """A `BlockShape`, as in `<16, 32x16x2, transform>`: bits, shape, mode."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> BlockShape:
        return parse_shape(parser)

    def print_parameter(self, printer: Printer) -> None:
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
    for mode in BlockMode:
        if parser.parse_optional_keyword(mode.value) is not None:
            return mode
    names = " or ".join(mode.value for mode in BlockMode)
    parser.raise_error(f"expected {names}")


def print_shape(printer: Printer, shape: BlockShape) -> None:
    with printer.in_angle_brackets():
        size = f"{shape.height}x{shape.width}x{shape.count}"
        printer.print_string(f"{shape.bits}, {size}")
        if shape.mode is not BlockMode.PLAIN:
            printer.print_string(f", {shape.mode.value}")


class PlanAttr(Data[BlockPlan]):
    """A `BlockPlan`: what plans of loads and of stores have in common."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> BlockPlan:
        """Parse `<<16, 32x16x2>, bits = [..], .., of (..) -> (..)>`."""
        position = parser.pos
        with parser.in_angle_brackets():
            shape = parse_shape(parser)
            bits: tuple[int, ...] = ()
            swaps: tuple[tuple[int, ...], ...] = ()
            numbers = {"row_step": 1}
            while True:
                parser.parse_punctuation(",")
                name = parser.parse_identifier()
                if name == "of":
                    break
                parser.parse_punctuation("=")
                if name == "bits":
                    bits = parse_basis(parser)
                elif name == "swaps":
                    swaps = parse_list(parser, lambda: parse_basis(parser))
                elif name in _NUMBERS:
                    numbers[name] = parser.parse_integer(allow_boolean=False)
                else:
                    parser.raise_error(f"expected a part of a plan, got '{name}'")
            layout = _parse_layout(parser)
        try:
            return BlockPlan(
                layout=layout,
                shape=shape,
                bits=bits,
                swaps=tuple((swap[0], swap[1]) for swap in swaps),
                **numbers,
            )
        except (ValueError, TypeError, IndexError, AssertionError) as error:
            what = f"expected a plan that is right, got one that is not: {error}"
            parser.raise_error(what, position, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        plan = self.data
        with printer.in_angle_brackets():
            print_shape(printer, plan.shape)
            numbers = {
                "element_bits": plan.element_bits,
                "rows": plan.rows,
                "cols": plan.cols,
            }
            if plan.row_step != 1:
                numbers["row_step"] = plan.row_step
            text = f", bits = {list_text(plan.bits)}, {numbers_text(numbers)}"
            if plan.swaps:
                text += f", swaps = {list_text(plan.swaps)}"
            printer.print_string(f"{text}, of {linear_text(plan.layout)}")


@irdl_attr_definition
class BlockLoadPlanAttr(PlanAttr):
    """The messages that load a tensor: `#xe.block_load_plan<..>`."""

    name = "xe.block_load_plan"


@irdl_attr_definition
class BlockStorePlanAttr(PlanAttr):
    """The messages that store a tensor: `#xe.block_store_plan<..>`."""

    name = "xe.block_store_plan"


@irdl_attr_definition
class BlockPrefetchPlanAttr(Data[PrefetchPlan]):
    """The messages that fetch a tile: `#xe.block_prefetch_plan<..>`."""

    name = "xe.block_prefetch_plan"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PrefetchPlan:
        """Parse `<<16, 8x32x1>, of (..) -> (..)>`."""
        position = parser.pos
        with parser.in_angle_brackets():
            shape = parse_shape(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("of")
            layout = _parse_layout(parser)
        try:
            return PrefetchPlan(layout, shape)
        except ValueError as error:
            parser.raise_error(str(error), position, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_shape(printer, self.data.shape)
            printer.print_string(f", of {linear_text(self.data.layout)}")


def _parse_layout(parser: AttrParser) -> LinearLayout:
    """Parse `(register = [..], ..) -> (dim0 = 4, ..)`."""
    position = parser.pos
    try:
        return parse_linear(parser)
    except ValueError as error:
        parser.raise_error(str(error), position, parser.pos)
