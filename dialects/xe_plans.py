"""What `plan-block-io` decides, as attributes of the `xe` dialect.

    #xe.block_load_plan<<16, 32x16x2>, bits = [0, 1, 2, 3, 4, 5], element_bits = 16,
      rows = 0, cols = 1, of (register = [[1, 0], ..], lane = [..], warp = [..])
      -> (dim0 = 256, dim1 = 32)>

`row_step` and `swaps` are left out where they are 1 and nothing.  A plan proves itself
whenever it is read; a text that is no plan is an error where it stands.
"""

from __future__ import annotations

from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

from coopc.dialects.layout import (
    ValueAttr,
    linear_text,
    list_text,
    numbers_text,
    parse_basis,
    parse_linear,
    parse_list,
)
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import BlockMode, BlockShape
from coopc.plan.prefetch import PrefetchPlan

PLAN = "xe.plan"
"""The attribute of an access that is moved by 2D block messages."""
REFUSAL = "xe.no_plan"
"""The attribute of one that is not: the reason, a string."""
VECTOR = "xe.vector"
"""The attribute of one through pointers that moves vectors: their length, an i64."""

_NUMBERS = ("element_bits", "rows", "cols", "row_step")


class ShapeAttr(ValueAttr[BlockShape]):
    """A `BlockShape`, as in `<16, 32x16x2, transform>`: bits, shape, mode."""

    @classmethod
    def parse_body(cls, parser: AttrParser) -> BlockShape:
        """Parse `16, 32x16x2, transform`."""
        bits = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(",")
        sizes = parser.parse_dimension_list()
        mode = BlockMode.PLAIN
        if parser.parse_optional_punctuation(",") is not None:
            mode = _parse_mode(parser)
        if len(sizes) != 3:
            raise ValueError(f"expected height x width x count, got {len(sizes)} sizes")
        return BlockShape(bits, sizes[0], sizes[1], sizes[2], mode)

    def body(self) -> str:
        return shape_text(self.data)


def _parse_mode(parser: AttrParser) -> BlockMode:
    for mode in BlockMode:
        if parser.parse_optional_keyword(mode.value) is not None:
            return mode
    names = " or ".join(mode.value for mode in BlockMode)
    parser.raise_error(f"expected {names}")


def shape_text(shape: BlockShape) -> str:
    """Return `16, 32x16x2, transform`."""
    mode = "" if shape.mode is BlockMode.PLAIN else f", {shape.mode.value}"
    return f"{shape.bits}, {shape.height}x{shape.width}x{shape.count}{mode}"


class PlanAttr(ValueAttr[BlockPlan]):
    """A `BlockPlan`: what plans of loads and of stores have in common."""

    @classmethod
    def parse_body(cls, parser: AttrParser) -> BlockPlan:
        """Parse `<16, 32x16x2>, bits = [..], .., of (..) -> (..)`."""
        shape = ShapeAttr.parse_parameter(parser)
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
        layout = parse_linear(parser)
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
            raise ValueError(what) from error

    def body(self) -> str:
        plan = self.data
        numbers = {name: getattr(plan, name) for name in _NUMBERS}
        if plan.row_step == 1:
            del numbers["row_step"]
        swaps = f", swaps = {list_text(plan.swaps)}" if plan.swaps else ""
        return (
            f"<{shape_text(plan.shape)}>, bits = {list_text(plan.bits)}, "
            f"{numbers_text(numbers)}{swaps}, of {linear_text(plan.layout)}"
        )


@irdl_attr_definition
class BlockLoadPlanAttr(PlanAttr):
    """The messages that load a tensor: `#xe.block_load_plan<..>`."""

    name = "xe.block_load_plan"


@irdl_attr_definition
class BlockStorePlanAttr(PlanAttr):
    """The messages that store a tensor: `#xe.block_store_plan<..>`."""

    name = "xe.block_store_plan"


@irdl_attr_definition
class BlockPrefetchPlanAttr(ValueAttr[PrefetchPlan]):
    """The messages that fetch a tile: `#xe.block_prefetch_plan<..>`."""

    name = "xe.block_prefetch_plan"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> PrefetchPlan:
        """Parse `<16, 8x32x1>, of (..) -> (..)`."""
        shape = ShapeAttr.parse_parameter(parser)
        parser.parse_punctuation(",")
        parser.parse_keyword("of")
        return PrefetchPlan(parse_linear(parser), shape)

    def body(self) -> str:
        shape, layout = self.data.shape, self.data.layout
        return f"<{shape_text(shape)}>, of {linear_text(layout)}"
