"""What nobody needs goes, what something needs stays."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.triton.dead_values import remove_dead
from coopc.source import Source
from coopc.universe import everything

LOOP = """
func.func @f(%m: memref<8xi32>, %n: index, %a: i32, %b: i32) -> i32 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b, %z = %b)
      -> (i32, i32, i32) {{
    %x1 = arith.addi %x, %x : i32
    %y1 = arith.muli %y, %y : i32
    %z1 = arith.subi %z, %y : i32
    {use}
    scf.yield %x1, %y1, %z1 : i32, i32, i32
  }}
  func.return {result} : i32
}}
"""


def module(text: str) -> ModuleOp:
    return parse(new_context(everything()), Source(text, "test"))


def names(found: ModuleOp) -> list[str]:
    return [op.name for op in found.walk()]


@pytest.mark.parametrize(
    ("use", "result", "kept"),
    [
        ("", "%a", []),
        ("", "%r#0", ["arith.addi"]),
        ("", "%r#1", ["arith.muli"]),
        ("", "%r#2", ["arith.muli", "arith.subi"]),
        (
            "memref.store %y, %m[%i] : memref<8xi32>",
            "%r#0",
            ["arith.addi", "arith.muli"],
        ),
        (
            "memref.store %z1, %m[%i] : memref<8xi32>",
            "%a",
            ["arith.muli", "arith.subi"],
        ),
    ],
)
def test_loops_carry_what_is_needed(use: str, result: str, kept: list[str]) -> None:
    found = module(LOOP.format(use=use, result=result))
    remove_dead(found)
    found.verify()
    assert [
        x for x in names(found) if x in ("arith.addi", "arith.muli", "arith.subi")
    ] == kept
    (loop,) = (op for op in found.walk() if op.name == "scf.for")
    assert len(loop.results) == len(kept)


CHAINED = """
func.func @f(%m: memref<8xi32>, %n: index, %a: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> (i32, i32) {
    %x1 = arith.addi %x, %x : i32
    %y1 = arith.muli %y, %y : i32
    scf.yield %x1, %y1 : i32, i32
  }
  %s:2 = scf.for %i = %c0 to %n step %c1
      iter_args(%x = %r#0, %y = %r#1) -> (i32, i32) {
    %in = scf.for %j = %c0 to %n step %c1 iter_args(%z = %x) -> (i32) {
      %z1 = arith.subi %z, %z : i32
      scf.yield %z1 : i32
    }
    memref.store %y, %m[%i] : memref<8xi32>
    scf.yield %in, %y : i32, i32
  }
  func.return
}
"""


def test_loops_that_go_on_with_what_others_carry() -> None:
    """One behind the other, and inside of each other."""
    found = module(CHAINED)
    remove_dead(found)
    found.verify()
    assert "arith.muli" in names(found)
    assert not {"arith.addi", "arith.subi"} & set(names(found))
    carried = [len(op.results) for op in found.walk() if op.name == "scf.for"]
    assert carried == [1, 1, 0]
