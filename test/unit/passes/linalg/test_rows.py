"""Which operations a kernel of rows can do: asked before there is memory for them."""

import pytest
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.ir.transaction import Refused
from coopc.parsing import parse
from coopc.passes.linalg.rows import nest_of
from coopc.source import Source
from coopc.universe import everything

MAPS = """
#p = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>
"""
MATRIX, ROW = "tensor<?x?xf32>", "tensor<?xf32>"


def generic(result: str, maps: str, ins: str, types: str, out: str, of: str) -> str:
    """A sum where the last loop is no dimension of the output, else a difference."""
    kinds = '["parallel", "reduction"]' if of == ROW else '["parallel", "parallel"]'
    count = len(ins.split(","))
    names = ", ".join(f"%v{n}: f32" for n in range(count + 1))
    body = "arith.addf %v0, %v1"
    if of == MATRIX:
        body = f"arith.subf %v{max(0, count - 2)}, %v{count - 1}"
    return f"""
  {result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = {kinds}}}
      ins({ins} : {types}) outs({out} : {of}) {{
  ^bb0({names}):
    %x = {body} : f32
    linalg.yield %x : f32
  }} -> {of}"""


SUM = generic("%s", "#p, #r", "%a", MATRIX, "%v", ROW)


def reason(body: str) -> str | None:
    text = f"""{MAPS}
func.func @f(%a: {MATRIX}, %v: {ROW}, %e: {MATRIX}) -> {MATRIX} {{{body}
  func.return %o : {MATRIX}
}}"""
    return of_function(text)


def of_function(text: str) -> str | None:
    module = parse(new_context(everything()), Source(text))
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    *ops, _ = func.body.block.ops
    try:
        nest_of(ops)
    except Refused as error:
        return f"{error.op.name}: {error.reason}"
    return None


@pytest.mark.parametrize("map", ["#p", "#t"])
def test_elementwise(map: str) -> None:
    assert reason(generic("%o", f"{map}, #p", "%a", MATRIX, "%e", MATRIX)) is None


def test_a_sum_of_the_row() -> None:
    types = f"{MATRIX}, {ROW}"
    assert reason(SUM + generic("%o", "#p, #r, #p", "%a, %s", types, "%e", MATRIX)) is (
        None
    )


def test_a_sum_of_another_row() -> None:
    types = f"{MATRIX}, {ROW}, {ROW}"
    maps = "#p, #r, #c, #p"
    found = reason(SUM + generic("%o", maps, "%a, %s, %s", types, "%e", MATRIX))
    assert found == (
        "linalg.generic: expected what a row has reduced to be read by the same row, "
        "got index d1 for d0"
    )


def test_sums_of_sums() -> None:
    """What is reduced over rows is known after all rows only."""
    first = generic("%s", "#p, #r", "%a", MATRIX, "%v", ROW)
    again = """
  %z = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%z : f32) outs(%t : tensor<f32>) -> tensor<f32>
  %o = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
      affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%s : tensor<?xf32>) outs(%i : tensor<f32>) {
  ^bb0(%x: f32, %y: f32):
    %w = arith.addf %x, %y : f32
    linalg.yield %w : f32
  } -> tensor<f32>"""
    text = f"""{MAPS}
func.func @f(%a: {MATRIX}, %v: {ROW}) -> tensor<f32> {{{first}{again}
  func.return %o : tensor<f32>
}}"""
    found = of_function(text)
    assert found is not None
    assert "expected the parallel loops of the first reduction" in found
