"""Laws of `normalize`: the same program, each value once, nothing where it may trap."""

import time
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, func, scf, test
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.traits import is_side_effect_free

from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.generate.random_programs import random_program
from coopc.parsing import parse
from coopc.passes.generic.normalize import NormalizePass
from coopc.pipeline import Run, read_passes, verify
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.step import first_mismatch

UNIVERSE = everything()
Tree: TypeAlias = Any

LEAVES = st.sampled_from(["%a", "%b", "%i", "%j"]) | st.integers(-2, 9)
OPS = st.sampled_from(
    ["addi", "subi", "muli", "divui", "divsi", "remui", "remsi", "shli", "minsi"]
)
TREES = st.recursive(LEAVES, lambda x: st.tuples(OPS, x, x), max_leaves=8)
SUMS = st.recursive(
    st.sampled_from(["%a", "%b", "%i", "%j"]) | st.integers(-100, 100),
    lambda x: st.tuples(st.sampled_from(["addi", "muli"]), x, x),
    max_leaves=12,
)


def module_of(text: str) -> ModuleOp:
    """Parse a module."""
    return parse(new_context(UNIVERSE), Source(text))


def normalized(module: ModuleOp) -> ModuleOp:
    """Return a module after the pass."""
    after = module.clone()
    NormalizePass().apply(new_context(UNIVERSE), after)
    verify(after)
    return after


def written(tree: Tree, lines: list[str]) -> str:
    """Add operations that compute a tree, none shared; return the name of its value."""
    match tree:
        case str():
            return tree
        case int():
            lines.append(f"%v{len(lines)} = arith.constant {tree} : i32")
        case (op, one, other):
            operands = written(one, lines), written(other, lines)
            lines.append(
                f"%v{len(lines)} = arith.{op} {operands[0]}, {operands[1]} : i32"
            )
        case _:
            raise AssertionError(tree)
    return f"%v{len(lines) - 1}"


def program(trees: list[Tree], outer: int, inner: int) -> str:
    """Return a function that stores trees in a branch in two loops.

    With 0 rounds of a loop, or where the branch is not taken, what is in it may be
    undefined, and must not be computed.
    """
    lines: list[str] = []
    names = [written(tree, lines) for tree in trees]
    stores = [
        f"%o{n} = arith.constant {n} : index\n"
        f"memref.store {name}, %out[%o{n}] : memref<4xi32>"
        for n, name in enumerate(names)
    ]
    body = "\n".join((*lines, *stores))
    return f"""func.func @f(%a: i32, %b: i32, %out: memref<4xi32>) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %outer = arith.constant {outer} : i32
      %inner = arith.constant {inner} : i32
      %c = arith.cmpi slt, %a, %b : i32
      scf.for %i = %zero to %outer step %one : i32 {{
        scf.for %j = %zero to %inner step %one : i32 {{
          scf.if %c {{
            {body}
          }}
        }}
      }}
      func.return
    }}"""


def keys(block: Block) -> list[object]:
    """Return what the pure operations of a block compute."""
    return [
        (op.name, op.operands, op.result_types, tuple(op.properties.items()))
        for op in block.ops
        if op.results and not op.regions and is_side_effect_free(op)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(TREES, min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 3))
def test_meaning(trees: list[Tree], outer: int, inner: int) -> None:
    """The same is stored, and what was defined still is: no division is moved."""
    before = module_of(program(trees, outer, inner))
    after = normalized(before)
    assert first_mismatch(before, after, report=lambda _: None) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(SUMS, min_size=1, max_size=4),
    st.sampled_from(["i8", "i16", "i32", "i64", "index"]),
)
def test_regrouped_sums_wrap_around(trees: list[Tree], type: str) -> None:
    """Sums and products in another order are the same modulo the width, and no more."""
    before = module_of(program(trees, 3, 2).replace("i32", type))
    after = normalized(before)
    assert first_mismatch(before, after, report=lambda _: None) is None
    pairs = zip(in_loops(after), in_loops(before), strict=True)
    assert all(now <= then for now, then in pairs)
    assert str(normalized(after)) == str(after)


@settings(max_examples=30, deadline=None)
@given(st.lists(TREES, min_size=1, max_size=4))
def test_once(trees: list[Tree]) -> None:
    """No block computes a value twice, and a second run finds nothing to do."""
    after = normalized(module_of(program(trees, 3, 3)))
    for op in after.walk():
        for region in op.regions:
            for block in region.blocks:
                assert len(keys(block)) == len(set(keys(block)))
    assert str(normalized(after)) == str(after)


PIPELINES = {
    "": 16,
    "distribute-coopmatrix{subgroup-size=8}": 16,
    "coopc-khr{device=lavapipe}": 4,
}


@pytest.mark.parametrize(("pipeline", "seeds"), PIPELINES.items())
def test_random_programs(pipeline: str, seeds: int) -> None:
    """Matrices, lanes, accesses and control flow of all kinds mean what they did."""
    compared = 0
    for seed in range(seeds):
        ctx, source = new_context(UNIVERSE), Source(random_program(seed).text)
        before = parse(ctx, source)
        try:
            Run(ctx, source).apply(before, read_passes(pipeline, UNIVERSE.all_passes))
        except CompileError:
            continue  # refused, as some scopes are
        after = normalized(before)
        assert first_mismatch(before, after, report=lambda _: None) is None, seed
        pairs = zip(in_loops(after), in_loops(before), strict=True)
        assert all(now <= then for now, then in pairs), seed
        compared += 1
    assert compared >= seeds // 2


def in_loops(module: ModuleOp) -> list[int]:
    """Return how many operations are in at least so many loops."""
    found = [0] * 8
    for op in module.walk():
        depth, around = 0, op.parent_op()
        found[0] += 1
        while around is not None:
            if around.name in ("scf.for", "scf.while"):
                depth += 1
                found[depth] += 1
            around = around.parent_op()
    return found


EMPTY = """func.func @f(%a: i32, %b: i32, %n: index, %out: memref<?xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %q = arith.remsi %a, %b : i32
    memref.store %q, %out[%i] : memref<?xi32>
  }
  func.return
}"""


def test_what_a_loop_guards_stays_in_it() -> None:
    """A remainder by 0 in a loop that does not run would trap before it."""
    (loop,) = (op for op in normalized(module_of(EMPTY)).walk() if op.name == "scf.for")
    assert any(op.name == "arith.remsi" for op in loop.walk())


def chain(count: int) -> ModuleOp:
    """Return a loop of so many operations, each of which is there twice."""
    block = Block(arg_types=[IndexType()])
    value: SSAValue = block.args[0]
    for _ in range(count // 3):
        twins = arith.MuliOp(value, value), arith.MuliOp(value, value)
        total = arith.AddiOp(*twins)
        block.add_ops((*twins, total))
        value = total.result
    block.add_ops((test.TestOp([value]), scf.YieldOp()))
    start = Block(arg_types=[IndexType()])
    bound = start.args[0]
    start.add_ops((scf.ForOp(bound, bound, bound, [], block), func.ReturnOp()))
    type = FunctionType.from_lists([IndexType()], [])
    return ModuleOp([func.FuncOp("f", type, Region(start))])


def test_linear() -> None:
    """Seconds for what an unrolled product is; by its square it would be an hour."""
    module = chain(74_000)
    start = time.process_time()
    NormalizePass().apply(new_context(UNIVERSE), module)
    assert time.process_time() - start < 40
    assert sum(1 for _ in module.walk()) < 50_000
