"""Named operations of linalg: what cannot be read, and what their tables say."""

import pytest
from xdsl.dialects.linalg.attrs import IteratorType

from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.dialects.linalg_forms import LOOPS_OF, SCALARS, kinds_of_loops, maps_of
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything

INVALID = {
    "linalg.pack %a": "linalg.pack is not supported: write tensor.pad",
    "linalg.unpack %a": "linalg.unpack is not supported: write linalg.transpose",
    "linalg.elementwise kind=#linalg.elementwise_kind<cosh> ins(%a : tensor<8xf32>)": (
        "expected abs, add, .*, got cosh"
    ),
    "linalg.map { memref.load } ins(%a : tensor<8xf32>)": (
        "expected an operation on numbers, got memref.load"
    ),
    "linalg.exp ins(%a : tensor<8xf32>)": r"expected outs\(\.\.\)",
    "linalg.add indexing_maps = [#id] ins(%a : tensor<8xf32>) outs(%a : tensor<8xf32>)"
    " -> tensor<8xf32>": "expected 2 maps, got",
}


@pytest.mark.parametrize(("operation", "message"), INVALID.items())
def test_cannot_be_read(operation: str, message: str) -> None:
    text = (
        "#id = affine_map<(d0) -> (d0)>\nfunc.func @f(%a: tensor<8xf32>) {\n"
        f"  %r = {operation}\n  func.return\n}}\n"
    )
    with pytest.raises(CompileError, match=message):
        parse(new_context(everything()), Source(text))


@pytest.mark.parametrize("name", LOOPS_OF)
def test_loops_of_products(name: str) -> None:
    """Each loop is a dimension by itself; those of the output come first."""
    maps = maps_of(LOOPS_OF[name])
    kinds = [kind.data for kind in kinds_of_loops(maps)]
    outer = kinds.count(IteratorType.PARALLEL)
    assert kinds == sorted(kinds)
    assert [str(x) for x in maps[2].results] == [f"d{n}" for n in range(outer)]
    alone = {str(x) for map in maps for x in map.results}
    assert {f"d{n}" for n in range(len(kinds))} <= alone


def test_scalars_have_an_operation() -> None:
    assert all(floats or integers for _, floats, integers in SCALARS.values())
