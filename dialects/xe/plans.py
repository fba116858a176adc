"""Plans of 2D block messages as attributes: what `plan-block-io` decides, in the IR.

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

from coopc.dialects.layout.syntax import (
    basis_text,
    named_text,
    numbers_text,
    parse_basis,
    parse_list,
    parse_named,
)
from coopc.dialects.xe.attributes import parse_shape, print_shape
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.prefetch import PrefetchPlan

PLAN = "xe.plan"
"""The attribute of an access that is moved by 2D block messages."""
REFUSAL = "xe.no_plan"
"""The attribute of one that is not: the reason, a string."""

_NUMBERS = ("element_bits", "rows", "cols", "row_step")


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
        """Print what `parse_parameter` reads."""
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
            text = f", bits = {basis_text(plan.bits)}, {numbers_text(numbers)}"
            if plan.swaps:
                text += f", swaps = [{', '.join(map(basis_text, plan.swaps))}]"
            text += f", {_layout_text(plan.layout)}"
            printer.print_string(text)


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
        """Print what `parse_parameter` reads."""
        with printer.in_angle_brackets():
            print_shape(printer, self.data.shape)
            printer.print_string(f", {_layout_text(self.data.layout)}")


def _layout_text(layout: LinearLayout) -> str:
    """Return `of (register = [..], ..) -> (dim0 = 4, ..)`."""
    bases = {x: [*map(basis_text, layout.bases(x))] for x in layout.in_names}
    return f"of {named_text(bases)} -> ({numbers_text(layout.out_sizes)})"


def _parse_layout(parser: AttrParser) -> LinearLayout:
    """Parse `(register = [..], ..) -> (dim0 = 4, ..)`."""
    position = parser.pos
    bases = parse_named(parser, lambda: parse_list(parser, lambda: parse_basis(parser)))
    parser.parse_punctuation("->")
    sizes = parse_named(parser, lambda: parser.parse_integer(allow_boolean=False))
    try:
        return LinearLayout.of(bases, sizes)
    except ValueError as error:
        parser.raise_error(str(error), position, parser.pos)
