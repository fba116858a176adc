"""Laws of views of sums: which of them are blocks, and where."""

import pytest

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import Path
from coopc.source import Source
from coopc.universe import everything

VIEWS = {
    "halves": (
        "%a = tt.reshape %x : tensor<8x8xf32> -> tensor<8x2x4xf32>\n"
        "%b = tt.trans %a {order = array<i32: 0, 2, 1>}"
        " : tensor<8x2x4xf32> -> tensor<8x4x2xf32>\n"
        "%c, %d = tt.split %b : tensor<8x4x2xf32> -> tensor<8x4xf32>",
        [(0, 0), (0, 4)],
    ),
    "rows of two": (
        "%a = tt.reshape %x : tensor<8x8xf32> -> tensor<2x4x8xf32>\n"
        "%b = tt.trans %a {order = array<i32: 1, 2, 0>}"
        " : tensor<2x4x8xf32> -> tensor<4x8x2xf32>\n"
        "%c, %d = tt.split %b : tensor<4x8x2xf32> -> tensor<4x8xf32>",
        [(0, 0), (4, 0)],
    ),
    "every other": (
        "%a = tt.reshape %x : tensor<8x8xf32> -> tensor<8x4x2xf32>\n"
        "%c, %d = tt.split %a : tensor<8x4x2xf32> -> tensor<8x4xf32>",
        [None, None],
    ),
    "transposed": (
        "%a = tt.trans %x {order = array<i32: 1, 0>}"
        " : tensor<8x8xf32> -> tensor<8x8xf32>",
        [None],
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_begin(name: str) -> None:
    """A block is found where there is one."""
    text, begins = VIEWS[name]
    whole = f'%x = "test.op"() : () -> tensor<8x8xf32>\n{text}'
    module = parse(new_context(everything()), Source(whole, "views.mlir"))
    *views, last = list(module.walk())[2:]
    path = Path(tuple((op, 0) for op in views))
    ends = [Path((*path.views, (last, n))) for n, _ in enumerate(last.results)]
    assert [x.begin((8, 8)) for x in ends] == begins
