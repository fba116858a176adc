"""What is built of an index is its lower 32 bits, computed as far out as it can be."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.ir.builder import INDEX, Builder
from coopc.ir.polynomial import Polynomial
from coopc.parsing import parse
from coopc.passes.generic.normalize import NormalizePass
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

LEAVES = st.sampled_from(["%i", "%k", "%wide"]) | st.integers(-(1 << 20), 1 << 20)
OPS = st.sampled_from(["addi", "subi", "muli", "shli"])
TREES = st.recursive(
    LEAVES,
    lambda each: st.tuples(
        st.sampled_from(["addi", "subi", "muli", "shli"]), each, each
    ),
    max_leaves=8,
)


def lines_of(tree: Any, lines: list[str]) -> str:
    """Add operations that compute a tree; return the name of its value."""
    name = f"%v{len(lines)}"
    if isinstance(tree, str):
        return tree
    if isinstance(tree, int):
        lines.append(f"{name} = arith.constant {tree} : index")
        return name
    op, one, other = tree
    left = lines_of(one, lines)
    right = "%three" if op == "shli" else lines_of(other, lines)
    name = f"%v{len(lines)}"
    lines.append(f"{name} = arith.{op} {left}, {right} : index")
    return name


def module_of(tree: Any) -> ModuleOp:
    """Return a function that stores a value in a loop, once of each %k."""
    lines: list[str] = []
    name = lines_of(tree, lines)
    body = "\n".join(lines)
    text = f"""
    func.func @f(%i: index, %j: i32, %out: memref<?xindex>) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %three = arith.constant 3 : index
      %end = arith.constant 3 : index
      %jw = arith.extsi %j : i32 to i64
      %wide = arith.index_cast %jw : i64 to index
      scf.for %k = %zero to %end step %one {{
        {body}
        memref.store {name}, %out[%k] : memref<?xindex>
      }}
      func.return
    }}"""
    return parse(new_context(everything()), Source(text))


@settings(max_examples=40)
@given(TREES, st.integers(0, 1 << 20), st.integers(-(1 << 31), (1 << 31) - 1))
def test_lower_bits_are_the_same(tree: Any, i: int, j: int) -> None:
    module = module_of(tree)
    expected = np.zeros(3, np.int64)
    simulate(module, "f", [i, j, expected])
    (store,) = (op for op in module.walk() if isinstance(op, memref.StoreOp))
    b = Builder.at(store)
    built = Polynomial.of(store.value).build(b)
    cast = arith.IndexCastOp(built, store.value.type)
    b.effect(cast)
    store.operands[0] = cast.result
    module.verify()
    found = np.zeros(3, np.int64)
    simulate(module, "f", [i, j, found])
    assert (found.astype(np.int32) == expected.astype(np.int32)).all()


def test_only_what_changes_is_in_the_loop() -> None:
    module = module_of(
        ("addi", ("muli", ("addi", "%i", 5), 16), ("addi", ("muli", "%k", 64), "%wide"))
    )
    (store,) = (op for op in module.walk() if isinstance(op, memref.StoreOp))
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    before = set(loop.body.block.ops)
    b = Builder.at(store)
    cast = arith.IndexCastOp(Polynomial.of(store.value).build(b), INDEX)
    b.effect(cast)
    store.operands[0] = cast.result
    NormalizePass().apply(new_context(everything()), module)
    new = [op.name for op in loop.body.block.ops if op not in before]
    # %k * 64, and the sum with 16 %i + 80 + %j, as an index.
    wanted = ["arith.index_cast", "arith.muli", "arith.addi", "arith.index_cast"]
    assert new == wanted
