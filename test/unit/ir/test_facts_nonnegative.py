"""`ValueFacts.is_known_nonnegative`, operation by operation."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from coopc.compiler import new_context
from coopc.ir.facts import ValueFacts
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything

TEXT = """
tt.func public @k(%n: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %minus = arith.constant -8 : i32
  %pid = tt.get_program_id x : i32
  %count = tt.get_num_programs x : i32
  %group = simt.workgroup_id x : index
  %left = arith.subi %n, %pid : i32
  %found = VALUE
  "test.op"(%found) : (i32) -> ()
  tt.return
}
"""


def found_in(module: ModuleOp) -> SSAValue:
    (used,) = (op for op in module.walk() if op.name == "test.op")
    return used.operands[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("arith.constant 3 : i32", True),
        ("arith.constant -3 : i32", False),
        ("arith.addi %pid, %eight : i32", True),
        ("arith.addi %pid, %minus : i32", False),
        ("arith.addi %pid, %n : i32", False),
        ("arith.subi %pid, %eight : i32", False),
        ("arith.muli %pid, %count : i32", True),
        ("arith.muli %n, %count : i32", False),
        ("arith.divsi %pid, %left : i32", True),
        ("arith.divsi %pid, %minus : i32", False),
        ("arith.divsi %n, %eight : i32", False),
        ("arith.remsi %pid, %left : i32", True),
        ("arith.remsi %n, %eight : i32", False),
        ("arith.minsi %pid, %eight : i32", True),
        ("arith.minsi %pid, %n : i32", False),
        ("arith.maxsi %n, %zero : i32", True),
        ("arith.andi %n, %eight : i32", True),
        ("arith.shli %pid, %eight : i32", True),
        ("arith.shli %n, %eight : i32", False),
        ("arith.index_cast %group : index to i32", True),
        ("arith.extui %c : i1 to i32", True),
        ("arith.extsi %c : i1 to i32", False),
    ],
)
def test_is_known_nonnegative(value: str, expected: bool) -> None:
    module = parse(
        new_context(everything()), Source(TEXT.replace("VALUE", value), "kernel")
    )
    assert ValueFacts().is_known_nonnegative(found_in(module)) is expected


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("%zero to %n step %eight", True),
        ("%pid to %n step %eight", True),
        ("%n to %eight step %eight", False),
        ("%zero to %n step %count", True),
    ],
)
def test_counters(bounds: str, expected: bool) -> None:
    loop = f"""arith.constant 1 : i32
  scf.for %i = {bounds} : i32 {{
    "test.op"(%i) : (i32) -> ()
  }}
"""
    text = TEXT.replace('  "test.op"(%found) : (i32) -> ()\n', "")
    module = parse(
        new_context(everything()), Source(text.replace("VALUE", loop), "kernel")
    )
    assert ValueFacts().is_known_nonnegative(found_in(module)) is expected


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        ("sge, %n, %zero", True),
        ("sgt, %n, %minus_one", True),
        ("sge, %n, %minus_one", False),
        ("slt, %n, %zero", False),
        ("sge, %zero, %n", False),
    ],
)
def test_assumptions(comparison: str, expected: bool) -> None:
    assumed = f"""arith.addi %n, %zero : i32
  %minus_one = arith.constant -1 : i32
  %holds = arith.cmpi {comparison.replace("%n", "%found")} : i32
  llvm.intr.assume %holds : i1
"""
    module = parse(
        new_context(everything()), Source(TEXT.replace("VALUE", assumed), "kernel")
    )
    assert ValueFacts().is_known_nonnegative(found_in(module)) is expected


def test_an_assumption_in_a_branch() -> None:
    assumed = """arith.addi %n, %zero : i32
  scf.if %c {
    %holds = arith.cmpi sge, %found, %zero : i32
    llvm.intr.assume %holds : i1
  }
"""
    module = parse(
        new_context(everything()), Source(TEXT.replace("VALUE", assumed), "kernel")
    )
    assert not ValueFacts().is_known_nonnegative(found_in(module))
