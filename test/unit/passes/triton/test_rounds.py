"""Laws of views of sums: which of them are blocks, and where."""

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType

from coopc.compiler import new_context
from coopc.dialects import tt
from coopc.dialects.tt.types import shape_of
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
    """An element of a view is that of numpy's, a block is found where there is one."""
    text, begins = VIEWS[name]
    whole = f'%x = "test.op"() : () -> tensor<8x8xf32>\n{text}'
    module = parse(new_context(everything()), Source(whole, "views.mlir"))
    places = np.arange(64).reshape(8, 8)
    path = Path()
    for op in list(module.walk())[2:]:
        paths = [Path((*path.views, (op, n))) for n, _ in enumerate(op.results)]
        path = paths[0]
        match op:
            case tt.ReshapeOp():
                found = [places.reshape(shape_of(op.results[0].type))]
            case tt.TransOp():
                found = [places.transpose(op.permutation)]
            case _:
                found = [places[..., 0], places[..., 1]]
        places = found[0]
        for result, one, expected in zip(op.results, paths, found, strict=True):
            assert isinstance(result.type, TensorType)
            for at in np.ndindex(expected.shape):
                row, col = one.origin(at)
                assert 8 * row + col == expected[at]
        last = zip(op.results, paths, strict=True)
        if not any(x.uses for x in op.results):
            assert [x.begin(shape_of(r.type)) for r, x in last] == begins
