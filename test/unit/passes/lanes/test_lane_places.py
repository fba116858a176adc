"""The coopmatrix layout in code is the coopmatrix layout: every lane and component."""

from dataclasses import dataclass
from itertools import product

import pytest
from support.index_values import value_of
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, SSAValue

from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.layout.coopmatrix import CoopmatrixLayout, Use
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    Element,
    component,
    digits,
    element,
    inside,
    owner,
)

USES: tuple[tuple[Use, int], ...] = (("a", 8), ("a", 16), ("b", 8), ("acc", 32))
SIZES = product((1, 3, 4, 8, 16, 24), (1, 3, 4, 8), USES, (4, 8))
LAYOUTS = list(
    dict.fromkeys(
        CoopmatrixLayout.of(m, n, bits, use, lanes)
        for m, n, (use, bits), lanes in SIZES
    )
)


@dataclass
class Counted:
    """A builder, and a component: known when compiling, or an argument."""

    x: CoopmatrixLayout
    known: int | None

    def __post_init__(self) -> None:
        self.block = Block(arg_types=[INDEX, INDEX])
        self.b = Builder.at_end(self.block, UnknownLoc())
        most = self.x.components - 1
        self.at = BoundedIndex(0, self.block.args[0], most)
        if self.known is not None:
            self.at = BoundedIndex(self.known)

    def value(
        self, number: BoundedIndex, component: int, lane: int, other: int = 0
    ) -> int:
        """What a number is for a lane."""
        first, second = self.block.args
        known: dict[SSAValue, int] = {first: component, second: other}
        return value_of(self.b.index(number), known, lane)

    def components(self) -> range:
        """Those to try."""
        if self.known is None:
            return range(self.x.components)
        return range(self.known, self.known + 1)


def counted(x: CoopmatrixLayout) -> list[Counted]:
    """The component as an argument; the first and the last one as numbers."""
    return [Counted(x, known) for known in (None, 0, x.components - 1)]


@pytest.mark.parametrize("x", LAYOUTS, ids=str)
def test_elements(x: CoopmatrixLayout) -> None:
    """`element` is the table, `inside` says where there is one."""
    rows, cols = x.table()
    for c in counted(x):
        place = element(c.b, x, digits(c.b, x, c.at))
        is_inside = inside(c.b, x, place)
        for number, lane in product(c.components(), range(x.lanes)):
            row, col = (c.value(n, number, lane) for n in (place.row, place.col))
            real = row < x.rows and col < x.cols
            assert real == (x.element(lane, number) != x.shape)
            if real:
                assert (row, col) == (rows[number, lane], cols[number, lane])
            if isinstance(is_inside, bool):
                assert is_inside == real
            else:
                found = value_of(is_inside, {c.block.args[0]: number}, lane)
                assert bool(found) == real


@pytest.mark.parametrize("x", LAYOUTS, ids=str)
def test_digits(x: CoopmatrixLayout) -> None:
    """`component` undoes `digits`."""
    for c in counted(x):
        again = component(c.b, x, digits(c.b, x, c.at))
        for number in c.components():
            assert c.value(again, number, 0) == number


@pytest.mark.parametrize("x", LAYOUTS, ids=str)
def test_owners(x: CoopmatrixLayout) -> None:
    """`owner` is the inverse of the layout, of rows and columns that are arguments."""
    c = Counted(x, None)
    row = BoundedIndex(0, c.block.args[0], x.rows - 1)
    col = BoundedIndex(0, c.block.args[1], x.cols - 1)
    lane, number = owner(c.b, x, Element(row, col))
    for i, j in product(range(x.rows), range(x.cols)):
        found = c.value(lane, i, 0, j), c.value(number, i, 0, j)
        assert x.element(*found) == (i, j)


def test_only_padding_is_masked() -> None:
    """No comparison where every component is an element."""
    for x in LAYOUTS:
        c = Counted(x, None)
        found = inside(c.b, x, element(c.b, x, digits(c.b, x, c.at)))
        padded = x.needs_mask or x.needs_row_mask
        assert isinstance(found, bool) == (not padded)
