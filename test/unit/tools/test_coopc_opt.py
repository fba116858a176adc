"""What coopc-opt does between passes."""

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass

from coopc.compiler import new_context
from coopc.diagnostic import CompileError, Kind
from coopc.parsing import parse
from coopc.pipeline import Observer, Run
from coopc.source import Source
from coopc.tools.coopc_opt import PrintIR, Time, Validate
from coopc.universe import everything

TEXT = """
func.func @f(%x : i32, %m : memref<1xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %y = arith.addi %x, %one : i32
  memref.store %y, %m[%zero] : memref<1xi32>
  func.return
}
"""


class WrongPass(ModulePass):
    """Subtracts where it should add."""

    name = "wrong"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change the operation."""
        for each in op.walk():
            if isinstance(each, arith.AddiOp):
                new = arith.SubiOp(each.lhs, each.rhs)
                assert each.parent is not None
                each.parent.insert_op_before(new, each)
                each.result.replace_all_uses_with(new.result)
                each.detach()


def run(observer: Observer, *steps: ModulePass) -> None:
    ctx = new_context(everything())
    source = Source(TEXT, "f.mlir")
    Run(ctx, source, observers=(observer,)).apply(parse(ctx, source), steps)


def test_validate_names_the_pass_that_is_wrong() -> None:
    run(Validate(0), CanonicalizePass())
    with pytest.raises(CompileError) as error:
        run(Validate(0), CanonicalizePass(), WrongPass())
    assert error.value.diagnostic.kind is Kind.PASS
    assert str(error.value).startswith(
        "f.mlir:2:1: error: func.func: pass wrong changed"
    )


def test_print_ir_after_all_but_the_last() -> None:
    output: list[str | bytes] = []
    run(PrintIR(output), CanonicalizePass(), WrongPass())
    (text,) = output
    assert isinstance(text, str)
    assert text.startswith("IR after canonicalize:\nbuiltin.module {\n")
    assert "arith.addi" in text


def test_time_prints_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    run(Time(), CanonicalizePass(), WrongPass())
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line.split(" took ")[0] for line in err.splitlines()]
    assert lines == ["Pass canonicalize", "Pass wrong"]
