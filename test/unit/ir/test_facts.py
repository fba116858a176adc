"""The laws that coopc/ir/facts.py states, on programs of any shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import module_of
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import Test
from xdsl.ir import SSAValue

from coopc.ir.facts import ANY, Facts, ValueFacts
from coopc.sim.simulate import simulate

BINARY = (
    *("addi", "subi", "muli", "andi", "maxsi", "minsi"),
    *("divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui"),
    *("shli", "shrsi"),
)
SIZES = (16, 48)
"""Of the memref's dimensions, as the conditions of the kernel say."""


def holds(facts: Facts, number: int) -> bool:
    """Whether facts hold of a number."""
    low = facts.low <= number
    high = number <= facts.high
    multiple = number % facts.divisor == 0 if facts.divisor else number == 0
    return low and high and multiple


@dataclass
class Writer:
    """Text of operations on index values, of which each value is stored."""

    draw: st.DrawFn
    names: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    stored: int = 0

    def add(self, expression: str) -> str:
        """Add an operation; its name."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def constant(self, number: int) -> str:
        """Add a constant."""
        return self.add(f"arith.constant {number} : index")

    def store(self, name: str, row: str) -> None:
        """Store a value in a column of its own."""
        column = self.constant(self.stored)
        self.lines.append(f"memref.store {name}, %out[{row}, {column}] : {OUT}")
        self.stored += 1

    def any(self) -> str:
        """Choose a value."""
        return self.draw(st.sampled_from(self.names))

    def operation(self) -> str:
        """Add an operation whose operands keep it defined, and small."""
        name = self.draw(st.sampled_from(BINARY))
        left, right = self.any(), self.any()
        if name in ("shli", "shrsi"):
            right = self.constant(self.draw(st.integers(0, 3)))
        elif "div" in name or "rem" in name:
            one = self.constant(1)
            right = self.add(f"arith.maxsi {right}, {one} : index")
        # An unsigned quotient of a number below 0 is too large to go on with.
        if name in ("divui", "ceildivui", "remui"):
            zero = self.constant(0)
            left = self.add(f"arith.maxsi {left}, {zero} : index")
        found = self.add(f"arith.{name} {left}, {right} : index")
        if name in ("muli", "shli"):
            by = self.constant(4096)
            found = self.add(f"arith.remsi {found}, {by} : index")
        return found


OUT = "memref<8x64xindex>"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A kernel that stores what it computes, before a loop and in its rounds."""
    w = Writer(draw)
    w.names += [w.constant(draw(st.integers(-9, 40))) for _ in range(3)]
    w.names += [w.constant(0), w.constant(16)]
    dimension = [w.constant(d) for d in (0, 1)]
    w.names += [w.add(f"memref.dim %m, {d} : memref<?x?xf32>") for d in dimension]
    w.names.append("%n")
    zero = w.constant(0)
    for _ in range(draw(st.integers(1, 5))):
        w.names.append(w.operation())
    for name in w.names:
        w.store(name, zero)
    start, step = draw(st.integers(0, 9)), draw(st.sampled_from((1, 3, 4, 8)))
    rounds = draw(st.integers(0, 4))
    low, high = w.constant(start), w.constant(start + rounds * step)
    by = w.constant(step)
    init = (w.any(), w.any())
    before = len(w.lines)
    w.names += ["%i", "%x", "%y"]
    row = w.add(f"arith.subi %i, {low} : index")
    row = w.add(f"arith.divsi {row}, {by} : index")
    for name in ("%i", "%x", "%y"):
        w.store(name, row)
    for _ in range(draw(st.integers(1, 4))):
        w.names.append(w.operation())
        w.store(w.names[-1], row)
    limit = w.constant(1000)
    carried = [w.add(f"arith.remsi {w.any()}, {limit} : index") for _ in range(2)]
    outside, body = "\n".join(w.lines[:before]), "\n".join(w.lines[before:])
    condition = f"%c = arith.cmpi sgt, {init[0]}, {low} : index"
    return f"""
func.func @f(%m: memref<?x?xf32>, %n: index, %out: {OUT}) attributes {{
    simt.kernel, simt.grid = affine_map<(a, b, c) -> (1)>, simt.conditions = [
      {{what = "size", argument = 0, dimension = 0, multiple_of = 16}},
      {{what = "size", argument = 0, dimension = 1, at_least = 20, less_than = 60}},
      {{what = "value", argument = 1, multiple_of = 4, at_least = 4}}]}} {{
  {outside}
  {condition}
  %chosen = arith.select %c, {init[0]}, {init[1]} : index
  %r:2 = scf.for %i = {low} to {high} step {by} iter_args(%x = %chosen, %y = {init[1]})
      -> (index, index) {{
    {body}
    scf.yield {carried[0]}, {carried[1]} : index, index
  }}
  func.return
}}
"""


def stores(module: ModuleOp) -> list[tuple[int, SSAValue]]:
    """The columns that values are stored in."""
    facts = ValueFacts()
    found: list[tuple[int, SSAValue]] = []
    for op in module.walk():
        if isinstance(op, memref.StoreOp):
            column = facts.of(op.indices[1]).number
            assert column is not None
            found.append((column, op.value))
    return found


@settings(max_examples=150)
@given(programs(), st.sampled_from((4, 8, 24)))
def test_soundness(text: str, n: int) -> None:
    """Loops, too: each round is stored."""
    module = module_of(text)
    out = np.full((8, 64), -(10**15), np.int64)
    simulate(module, "f", [np.zeros(SIZES, np.float32), n, out])
    facts = ValueFacts()
    for column, value in stores(module):
        known = facts.of(value)
        for number in out[:, column].tolist():
            if number != -(10**15):
                assert holds(known, number), (value, known, number)


ENDS = st.integers(-50, 50)
LOWS, HIGHS = st.just(-inf) | ENDS, st.just(inf) | ENDS


@given(*(st.builds(Facts, LOWS, HIGHS, st.integers(0, 12)) for _ in range(2)))
def test_join(one: Facts, other: Facts) -> None:
    """And a meet holds of what both hold of."""
    for number in range(-60, 61):
        if holds(one, number) or holds(other, number):
            assert holds(one.join(other), number)
            assert holds(one.widened(other), number)
        if holds(one, number) and holds(other, number):
            assert holds(one.meet(other), number)


def facts_of(body: str, arguments: str = "", attributes: str = "") -> Facts:
    """Facts of %r, in a function."""
    text = f"""
    func.func @f({arguments}) attributes {{{attributes}}} {{
      {body}
      "test.op"(%r) : (index) -> ()
      func.return
    }}"""
    module = module_of(text, Test)
    last = next(x for x in module.walk() if x.name == "test.op")
    return ValueFacts().of(last.operands[0])


ROUNDS = """
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %r = scf.for %i = %c0 to %n step %c16 iter_args(%x = %c64) -> (index) {{
    %y = {}
    scf.yield %y : index
  }}"""


@pytest.mark.parametrize(
    ("carried", "expected"),
    [
        ("arith.addi %x, %c16 : index", Facts(64, inf, 16)),
        ("arith.subi %x, %c16 : index", Facts(-inf, 64, 16)),
        ("arith.addi %x, %i : index", Facts(64, inf, 16)),
        ("arith.muli %x, %c16 : index", Facts(64, inf, 64)),
        ("arith.minsi %x, %i : index", Facts(0, 64, 16)),
        ("arith.divsi %x, %c16 : index", Facts(0, 64, 1)),
    ],
)
def test_loops(carried: str, expected: Facts) -> None:
    """What a loop carries, after any number of rounds."""
    assert facts_of(ROUNDS.format(carried), "%n: index") == expected


def test_wide_integers() -> None:
    """No float is as great as 10^400, so that it is no bound."""
    for wide in (10**400, -(10**400)):
        facts = Facts.of_number(wide)
        assert holds(facts, wide)
        assert holds(facts + ANY, wide + 1)
        assert holds(facts - facts, 0)
        assert holds(facts * facts, wide * wide)
        assert holds(facts * ANY, 3 * wide)


def test_what_is_not_known() -> None:
    """Arguments without conditions, and quotients that may round."""
    assert facts_of("%r = arith.addi %n, %n : index", "%n: index") == ANY
    text = """
      %c6 = arith.constant 6 : index
      %c4 = arith.constant 4 : index
      %x = arith.muli %n, %c6 : index
      %r = arith.divsi %x, %c4 : index"""
    assert facts_of(text, "%n: index") == ANY


def test_conditions() -> None:
    """What a kernel's callers have to see to."""
    attributes = 'simt.conditions = [{what = "value", argument = 0, multiple_of = 8}]'
    body = "%c3 = arith.constant 3 : index\n %r = arith.muli %n, %c3 : index"
    assert facts_of(body, "%n: index", attributes) == Facts(divisor=24)
