"""Pipelines are their steps, and what goes wrong in a step has a place."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.utils.exceptions import PassFailedException

from coopc import pipeline
from coopc.compiler import new_context
from coopc.diagnostic import CompileError, Kind
from coopc.parsing import parse
from coopc.pipeline import (
    Observer,
    Pipeline,
    Run,
    Snapshot,
    checks,
    flatten,
    read_passes,
)
from coopc.source import Source
from coopc.universe import everything


@dataclass(frozen=True)
class MarkPass(ModulePass):
    """Puts an attribute on each constant; fails on the one that is `forbidden`."""

    name = "mark"
    label: str = "seen"
    forbidden: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark."""
        for each in op.walk():
            if isinstance(each, arith.ConstantOp):
                if str(each.value).startswith(f"{self.forbidden} "):
                    message = f"expected another value than {self.forbidden}"
                    each.emit_error(message, PassFailedException(message))
                each.attributes[self.label] = UnitAttr()


class BreakPass(ModulePass):
    """Leaves what does not verify."""

    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove a property."""
        for each in op.walk():
            each.properties.pop("value", None)


class StumblePass(ModulePass):
    """Has a mistake."""

    name = "stumble"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Raise what no pass should."""
        raise KeyError("x")


@dataclass(frozen=True)
class InnerPipeline(Pipeline):
    """Two steps, the second with its options."""

    name = "inner"
    label: str = "inner"

    def steps(self) -> tuple[ModulePass, ...]:
        """Mark and clean."""
        return (MarkPass(self.label), CommonSubexpressionElimination())


@dataclass(frozen=True)
class OuterPipeline(Pipeline):
    """A pipeline in a pipeline."""

    name = "outer"

    def steps(self) -> tuple[ModulePass, ...]:
        """Mark, then all of the inner one."""
        return (MarkPass("outer"), InnerPipeline("deep"), CanonicalizePass())


KNOWN: dict[str, Callable[[], type[ModulePass]]] = {
    "mark": lambda: MarkPass,
    "inner": lambda: InnerPipeline,
    "outer": lambda: OuterPipeline,
}

TEXT = """\
%a = arith.constant 1 : i32
%b = arith.constant 2 : i32
"test.op"(%a, %b) : (i32, i32) -> ()
"""


def run(
    *steps: ModulePass, observers: tuple[Observer, ...] = (), text: str = ""
) -> ModuleOp:
    ctx = new_context(everything())
    source = Source(text or TEXT, "f.mlir")
    module = parse(ctx, source)
    Run(ctx, source, observers=observers).apply(module, steps)
    return module


def test_flatten() -> None:
    assert flatten((OuterPipeline(), MarkPass())) == (
        *checks(),
        MarkPass("outer"),
        MarkPass("deep"),
        CommonSubexpressionElimination(),
        CanonicalizePass(),
        MarkPass(),
    )


def test_read_passes() -> None:
    assert read_passes("mark{label=../a-1.toml}", KNOWN) == (MarkPass("../a-1.toml"),)
    assert read_passes("mark{label=x},inner{label=y}", KNOWN) == (
        MarkPass("x"),
        *checks(),
        MarkPass("y"),
        CommonSubexpressionElimination(),
    )
    assert read_passes("", KNOWN) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("marc", "1:1: error: unknown pass 'marc', did you mean 'mark'?"),
        (
            "inner,mark{lable=x}",
            "1:7: error: unknown option 'lable' of mark, did you mean 'label'?",
        ),
        (
            "mark{x=1}",
            "1:1: error: unknown option 'x' of mark, expected one of label, forbidden",
        ),
        (
            "mark{label=1}",
            "1:1: error: option label of mark: expected a word, got 1",
        ),
        (
            "inner,mark{label=x label=y}",
            "1:20: error: expected option label once",
        ),
        (
            "mark{label=marc} , marc",
            "1:20: error: unknown pass 'marc', did you mean 'mark'?",
        ),
        ("mark{label=a.txt}", "1:13: error: unexpected . outside of quotes"),
        ('mark{label="a.toml}', "1:12: error: expected the quotes to end"),
        (
            "mark{label}",
            "1:1: error: option label of mark: expected a word, got none",
        ),
    ],
)
def test_read_passes_that_are_none(text: str, message: str) -> None:
    with pytest.raises(CompileError) as error:
        read_passes(text, KNOWN)
    assert str(error.value).split("\n")[0] == f"pass-pipeline:{message}"
    assert error.value.diagnostic.kind is Kind.USAGE


def test_a_pipeline_whole_is_its_steps() -> None:
    ctx = new_context(everything())
    module = parse(ctx, Source(TEXT))
    OuterPipeline().apply(ctx, module)
    assert module.is_structurally_equivalent(run(*flatten((OuterPipeline(),))))


def test_a_pass_that_fails() -> None:
    with pytest.raises(CompileError) as error:
        run(MarkPass(forbidden=2))
    assert error.value.diagnostic.kind is Kind.PASS
    assert str(error.value) == (
        "f.mlir:2:1: error: arith.constant: expected another value than 2\n"
        "  %b = arith.constant 2 : i32\n"
        "  ^"
    )


def test_a_pass_that_breaks_the_module() -> None:
    with pytest.raises(CompileError) as error:
        run(BreakPass())
    assert error.value.diagnostic.kind is Kind.VERIFY
    assert str(error.value) == (
        "f.mlir:1:1: error: arith.constant: property 'value' expected in "
        "operation 'arith.constant'\n"
        "  %a = arith.constant 1 : i32\n"
        "  ^\n"
        "note: after pass 'break', which left it so; this is a mistake in "
        f"{__name__}, not coopc's; COOPC_DEBUG=1 shows where"
    )


def test_a_pass_with_a_mistake() -> None:
    with pytest.raises(CompileError) as error:
        run(StumblePass())
    assert error.value.diagnostic.kind is Kind.FOREIGN
    assert str(error.value) == (
        "f.mlir: error: KeyError: 'x'\n"
        f"note: in pass 'stumble'; this is a mistake in {__name__}, not coopc's; "
        "COOPC_DEBUG=1 shows where"
    )


def test_a_pass_of_coopc_with_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StumblePass, "__module__", "coopc.passes.stumble")
    with pytest.raises(CompileError) as error:
        run(StumblePass())
    assert error.value.diagnostic.kind is Kind.INTERNAL
    assert str(error.value) == (
        "f.mlir: internal error: KeyError: 'x'\n"
        "note: in pass 'stumble'; this is a mistake in coopc, please report it; "
        "COOPC_DEBUG=1 shows where"
    )


def test_what_the_verifier_of_xdsl_meets_with_another_exception(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unchecked(op: Operation) -> None:
        assert op

    monkeypatch.setattr("coopc.pipeline.check_steps", unchecked)
    text = """func.func @f(%i: memref<1x8x8x4xf32>, %o: memref<1x6x6x8xf32>) {
      linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<3xi64>,
        strides = dense<1> : tensor<2xi64>}
        ins(%i, %i : memref<1x8x8x4xf32>, memref<1x8x8x4xf32>)
        outs(%o : memref<1x6x6x8xf32>)
      func.return
    }"""
    source = Source(text, "f.mlir")
    ctx = new_context(everything())
    with pytest.raises(CompileError) as error:
        Run(ctx, source).apply(parse(ctx, source), ())
    assert error.value.diagnostic.kind is Kind.VERIFY
    assert str(error.value).startswith(
        "f.mlir:2:7: error: linalg.conv_2d_nhwc_hwcf: xDSL does not verify it: "
    )


class Record(Observer):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def start(self, module: ModuleOp) -> None:
        """Note that it begins."""
        self.told.append("start")

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        """Note the step."""
        self.told.append(f"{step} last" if last else str(step))


def test_observers_see_each_step() -> None:
    record = Record()
    run(MarkPass("a"), MarkPass("b"), observers=(record,))
    assert record.told == ["start", 'mark{label="a"}', 'mark{label="b"} last']


TWO = """
func.func @one(%x: i32) -> i32 {
  %c = arith.constant 1 : i32
  func.return %c : i32
}
func.func @two(%x: i32) -> i32 {
  %y = func.call @one(%x) : (i32) -> i32
  func.return %y : i32
}
"""


def leave(_: FuncOp, __: FuncOp) -> None:
    pass


def use_argument(one: FuncOp, _: FuncOp) -> None:
    returned = one.body.block.last_op
    assert returned is not None
    returned.operands[0] = one.args[0]


def call_itself(_: FuncOp, two: FuncOp) -> None:
    call = two.body.block.first_op
    assert call is not None
    call.properties["callee"] = SymbolRefAttr("two")


def append_operation(_: FuncOp, two: FuncOp) -> None:
    call = two.body.block.first_op
    assert call is not None
    two.body.block.insert_op_after(call.clone(), call)


def mark(one: FuncOp, _: FuncOp) -> None:
    one.attributes["k"] = UnitAttr()


def change_type(one: FuncOp, _: FuncOp) -> None:
    Rewriter.replace_value_with_new_type(one.args[0], i64)


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (leave, [False, False]),
        (use_argument, [True, False]),
        (change_type, [True, False]),
        (call_itself, [False, True]),
        (append_operation, [False, True]),
        (mark, [True, True]),
    ],
)
def test_what_is_verified_again(
    change: Callable[[FuncOp, FuncOp], None], changed: list[bool]
) -> None:
    module = parse(new_context(everything()), Source(TWO))
    first = Snapshot.of(module)
    assert first.operations == sum(1 for _ in module.walk())
    one, two = module.ops
    assert isinstance(one, FuncOp)
    assert isinstance(two, FuncOp)
    change(one, two)
    second = Snapshot.of(module, first)
    assert second.changed(first) == changed
    assert (second == first) == (changed == [False, False])
    assert (second.verified is first.verified) == (second.head == first.head)


@pytest.mark.parametrize(("asked", "times"), [("all", 3), ("", 2)])
def test_what_no_step_changed_is_verified_on_request(
    asked: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[Sequence[bool] | None] = []

    def record(
        module: ModuleOp, changed: Sequence[bool] | None = None, *_: Snapshot
    ) -> None:
        verified.append(changed)

    monkeypatch.setattr(pipeline, "verify", record)
    monkeypatch.setenv("COOPC_VERIFY", asked)
    run(MarkPass(), MarkPass())
    assert len(verified) == times
    assert asked == "all" or verified == [None, [True, True, True]]


class DoublePass(ModulePass):
    """Puts a copy of each constant and each sum behind it."""

    name = "double"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, arith.ConstantOp | arith.AddiOp) and each.parent:
                each.parent.insert_op_after(each.clone(), each)


def test_what_is_like_something_verified_is_not_verified_after_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    of_one = pipeline._verify_operation  # pyright: ignore[reportPrivateUsage]

    def record(op: Operation) -> None:
        seen.append(op.name)
        of_one(op)

    monkeypatch.setenv("COOPC_VERIFY", "")
    monkeypatch.setattr(pipeline, "_verify_operation", record)
    run(DoublePass(), MarkPass(), text=f"func.func @f() {{{VALID}  func.return\n}}")
    assert seen.count("func.return") == 3
    # Not after the first step, which copies it, nor after the second.
    assert seen.count("arith.addi") == 1


FLAGS = "{overflowFlags = #arith.overflow<none>}"
VALID = """
  %c = arith.constant 0 : i32
  %s = arith.addi %c, %c : i32
"""


@pytest.mark.parametrize(
    "wrong",
    [
        '"arith.addi"(%c, %c) <{overflowFlags = 1 : i32}> : (i32, i32) -> i32',
        f'"arith.addi"(%c, %c) <{FLAGS}> : (i32, i32) -> i64',
        f'"arith.addi"(%c, %d) <{FLAGS}> : (i32, i64) -> i32',
    ],
)
def test_operations_like_others_are_verified_once(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COOPC_VERIFY", "")
    body = f"""func.func @f(%d: i64) {{{VALID}
  %w = {wrong}
  func.return
}}"""
    with pytest.raises(CompileError, match=r"arith\.addi"):
        run(text=body)
    seen: list[str] = []
    of_one = pipeline._verify_operation  # pyright: ignore[reportPrivateUsage]

    def record(op: Operation) -> None:
        seen.append(op.name)
        of_one(op)

    monkeypatch.setattr(pipeline, "_verify_operation", record)
    run(text=f"func.func @f() {{{VALID}{VALID.replace('%', '%x')}  func.return\n}}")
    assert seen.count("arith.addi") == 1
    assert seen.count("func.return") == 1


def test_the_last_of_a_block_is_like_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COOPC_VERIFY", "")
    end = VALID.replace("%", "%x")
    with pytest.raises(CompileError, match="terminates block"):
        run(text=f"func.func @f() {{{VALID}{end}}}")


BRANCH = """
  {result}"scf.if"(%t) ({{
    scf.yield{then}
  }}, {{
    {otherwise}
  }}) : (i1) -> {types}
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"then": " %t : i1"}, "yielded"),
        ({"otherwise": "scf.yield %t : i1"}, "yielded"),
        ({"otherwise": "%c = arith.constant 1 : i32"}, "terminates block"),
        ({"result": "%r = ", "types": "i1"}, "yielded"),
    ],
)
def test_branches_are_like_those_with_the_same_ends(
    changes: dict[str, str], message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COOPC_VERIFY", "")
    plain = {"result": "", "then": "", "otherwise": "scf.yield", "types": "()"}
    both = BRANCH.format(**plain) + BRANCH.format(**plain | changes)
    with pytest.raises(CompileError, match=message) if message else nullcontext():
        run(text=f"func.func @f(%t: i1) {{{both}  func.return\n}}")
