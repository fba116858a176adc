"""Definitions come before their uses on every way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.ir import Block, Region
from xdsl.irdl.dominance import DominanceInfo
from xdsl.utils.exceptions import VerifyException

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.generic.check_dominance import check_dominance, dominance
from coopc.source import Source
from coopc.universe import everything


def check(text: str) -> None:
    check_dominance(parse(new_context(everything()), Source(text)))


def in_function(body: str) -> str:
    return f'func.func @f() {{\n{body}\n"test.termop"() : () -> ()\n}}'


USE = '"test.op"(%a) : (i32) -> ()'
DEFINE = '%a = "test.op"() : () -> i32'


@pytest.mark.parametrize(
    "text",
    [
        in_function(f"{DEFINE}\n{USE}"),
        f"{USE}\n{DEFINE}",  # the order in a module means nothing
        in_function(f'{DEFINE}\n"test.op"() ({{ {USE} }}) : () -> ()'),
        in_function(
            f'{DEFINE}\n"test.termop"()[^b] : () -> ()\n^b:\n{USE}\n'
            '"test.termop"()[^c] : () -> ()\n^c:'
        ),
        # What cannot be reached does not matter, even where it leads to.
        in_function(
            f'{DEFINE}\n"test.termop"()[^b] : () -> ()\n^x:\n'
            f'"test.termop"()[^b] : () -> ()\n^b:\n{USE}'
        ),
    ],
    ids=["before", "module", "region", "blocks", "unreachable"],
)
def test_dominates(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        in_function(f"{USE}\n{DEFINE}"),
        in_function('%a = "test.op"(%a) : (i32) -> i32'),
        in_function(f'"test.op"() ({{ {USE} }}) : () -> ()\n{DEFINE}'),
        in_function(
            f'"test.termop"()[^b, ^c] : () -> ()\n^b:\n{DEFINE}\n'
            f'"test.termop"()[^c] : () -> ()\n^c:\n{USE}'
        ),
        in_function(
            f'"test.termop"()[^b] : () -> ()\n^b:\n{USE}\n{DEFINE}\n'
            '"test.termop"()[^b] : () -> ()\n^c:'
        ),
    ],
    ids=["after", "itself", "region", "one way only", "loop"],
)
def test_does_not_dominate(text: str) -> None:
    with pytest.raises(VerifyException, match="expected operand 0 %a to be defined"):
        check(text)


@given(st.lists(st.sets(st.integers(0, 6), max_size=3), min_size=1, max_size=7))
def test_agrees_with_xdsl_where_all_is_reached(edges: list[set[int]]) -> None:
    blocks = [Block() for _ in edges]
    for block, successors in zip(blocks, edges, strict=True):
        to = [blocks[n] for n in successors if n < len(blocks)]
        block.add_ops([test.TestOp(), test.TestTermOp(successors=to)])
    region = Region(blocks)
    found = dominance(region)
    if len(found) < len(blocks):
        return  # there, xDSL lets blocks that no way leads to decide
    expected = DominanceInfo(region)
    for block in blocks:
        strict = {
            other for other in blocks if expected.strictly_dominates(other, block)
        }
        assert found[block] == strict
