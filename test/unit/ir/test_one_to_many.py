"""Laws of the splitting of values: what it leaves, what it keeps, what it refuses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import arith, func, scf, test
from xdsl.dialects.builtin import (
    Builtin,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    i1,
    i32,
    i64,
)
from xdsl.interpreter import Interpreter
from xdsl.interpreters import register_implementations
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from coopc.ir.split_values import Parts, Splitter, split_values

FEW = settings(max_examples=40)
"""A program takes 50 ms to parse, verify and run."""
TWICE = Parts((i32, i32))


def context() -> Context:
    ctx = Context()
    for dialect in (Builtin, arith.Arith, func.Func, scf.Scf, test.Test):
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def values(module: ModuleOp) -> list[SSAValue]:
    """All values of a module, the arguments of blocks included."""
    found: list[SSAValue] = []
    for op in module.walk():
        found += op.results
        for region in op.regions:
            for block in region.blocks:
                found += block.args
    return found


def integers(module: ModuleOp) -> list[SSAValue]:
    return [value for value in values(module) if value.type == i64]


def narrow(op: Operation, b: Splitter) -> Sequence[Sequence[SSAValue]]:
    """An operation on i64, once for each part of its operands."""
    parts = [b.parts(operand) for operand in op.operands]
    assert isinstance(op, arith.AddiOp)
    pairs = zip(*parts, strict=True)
    return [[b.effect(arith.AddiOp(x, y)).result for x, y in pairs]]


def constant(op: arith.ConstantOp, b: Splitter) -> Sequence[Sequence[SSAValue]]:
    """A constant, made for each part."""
    value = op.value
    return [[b.effect(arith.ConstantOp(value)).result for _ in range(2)]]


RULES: dict[type[Operation], Callable[..., Sequence[Sequence[SSAValue]]]] = {
    arith.AddiOp: narrow,
    arith.ConstantOp: constant,
}


@dataclass
class Program:
    """A random program on i64, with control flow."""

    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def line(self, text: str) -> None:
        self.lines.append(text)

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A function @main of two i64 to one that calls @other, of random statements."""
    program = Program()
    for name in ("other", "main"):
        program.line(f"func.func @{name}(%x: i64, %y: i64, %n: i1) -> (i64, i64) {{")
        program.line("%c0 = arith.constant 0 : index")
        program.line("%c1 = arith.constant 1 : index")
        program.line("%c3 = arith.constant 3 : index")
        known = block(draw, program, ["%x", "%y"], depth=2, calls=name == "main")
        program.line(f"func.return {known[-1]}, {known[-2]} : i64, i64 }}")
    return "\n".join(program.lines)


def block(
    draw: st.DrawFn, program: Program, known: list[str], depth: int, calls: bool
) -> list[str]:
    """Add a few statements, and return the names of the values that are known."""
    known = list(known)
    for _ in range(draw(st.integers(1, 3))):
        a, b = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        kinds = ["add", "select"]
        if depth:
            kinds += ["for", "if", "while"]
        if calls:
            kinds.append("call")
        kind = draw(st.sampled_from(kinds))
        name = program.name()
        if kind == "add":
            program.line(f"{name} = arith.addi {a}, {b} : i64")
        elif kind == "select":
            program.line(f"{name} = arith.select %n, {a}, {b} : i64")
        elif kind == "call":
            other = program.name()
            program.line(f"{name}, {other} = func.call @other({a}, {b}, %n)")
            program.line(": (i64, i64, i1) -> (i64, i64)")
            known.append(other)
        else:
            nested(draw, program, known, kind, name, (a, b), depth - 1, calls)
        known.append(name)
    return known


def nested(
    draw: st.DrawFn,
    program: Program,
    known: list[str],
    kind: str,
    name: str,
    pair: tuple[str, str],
    depth: int,
    calls: bool,
) -> None:
    """Add a statement with regions, whose first result is `name`."""
    a, b = pair
    other, i, x, y = (program.name() for _ in range(4))
    if kind == "for":
        program.line(f"{name}, {other} = scf.for {i} = %c0 to %c3 step %c1")
        program.line(f"iter_args({x} = {a}, {y} = {b}) -> (i64, i64) {{")
        inner = block(draw, program, [*known, x, y], depth, calls)
        program.line(f"scf.yield {inner[-1]}, {x} : i64, i64 }}")
    elif kind == "if":
        program.line(f"{name}, {other} = scf.if %n -> (i64, i64) {{")
        inner = block(draw, program, known, depth, calls)
        program.line(f"scf.yield {inner[-1]}, {a} : i64, i64 }} else {{")
        inner = block(draw, program, known, depth, calls)
        program.line(f"scf.yield {b}, {inner[-1]} : i64, i64 }}")
    else:
        z, w = program.name(), program.name()
        program.line(f"{name}, {other}, {i} = scf.while ({x} = {a}, {y} = {b},")
        program.line(f"{z} = %n) : (i64, i64, i1) -> (i64, i64, i1) {{")
        program.line(f"scf.condition({z}) {y}, {x}, {z} : i64, i64, i1 }} do {{")
        program.line(f"^bb0({w}: i64, {w}b: i64, {w}c: i1):")
        inner = block(draw, program, [*known, w, f"{w}b"], depth, calls)
        program.line(f"{w}d = arith.constant false")
        program.line(f"scf.yield {inner[-1]}, {w}, {w}d : i64, i64, i1 }}")


def run(module: ModuleOp, *arguments: int) -> tuple[int, ...]:
    interpreter = Interpreter(module)
    register_implementations(interpreter, context())
    return interpreter.call_op("main", arguments)


@FEW
@given(programs(), st.booleans())
def test_each_part_computes_what_the_value_was(text: str, branch: bool):
    module = parse(text)
    expected = run(module, 3, 5, branch)
    parts = {value: Parts((i64, i64)) for value in integers(module)}
    split_values(module, parts, RULES)
    module.verify()
    found = run(module, 3, 3, 5, 5, branch)
    assert found == tuple(value for value in expected for _ in range(2))


@FEW
@given(programs())
def test_parts_that_are_the_value_leave_the_ir(text: str):
    module = parse(text)
    before = str(module)
    split_values(module, {x: Parts((x.type,)) for x in values(module)}, {})
    assert str(module) == before


@FEW
@given(programs())
def test_one_part_of_another_type_keeps_the_structure(text: str):
    """i64 becomes i32 everywhere: the text is the same but for the types."""
    module = parse(text)
    names = {value.name_hint for value in values(module)}

    def constant32(op: arith.ConstantOp, b: Splitter):
        raise AssertionError(op)

    parts = {value: Parts((i32,)) for value in integers(module)}
    expected = str(module).replace("i64", "i32")
    split_values(module, parts, {**RULES, arith.ConstantOp: constant32})
    assert str(module) == expected
    assert {value.name_hint for value in values(module)} == names


@FEW
@given(programs())
def test_a_refusal_leaves_the_ir(text: str):
    module = parse(
        text
        + '\n"test.op"() ({ ^bb0(%q: i64): "test.termop"() : () -> () }) : () -> ()'
    )
    before = str(module)
    parts = {value: TWICE for value in integers(module)}
    with pytest.raises(PassFailedException, match=r"cannot split .* here"):
        split_values(module, parts, RULES)
    assert str(module) == before


def test_names_and_locations_are_kept():
    module = parse(
        """
        func.func @f(%a: i64, %c: i1) -> i64 {
          %sum = arith.addi %a, %a : i64
          %r = scf.if %c -> (i64) { scf.yield %sum : i64 }
            else { scf.yield %a : i64 }
          func.return %r : i64
        }
        """
    )
    for line, op in enumerate(module.walk()):
        op.location = FileLineColLoc(StringAttr("f"), IntAttr(line), IntAttr(0))
    before = [(op.name, op.location) for op in module.walk()]
    parts = {value: Parts((i32, i32), ("_lo", "_hi")) for value in integers(module)}
    split_values(module, parts, {arith.AddiOp: narrow})
    hints = {value.name_hint for value in values(module)}
    assert hints == {
        *("a_lo", "a_hi", "c", "sum_lo", "sum_hi", "r_lo", "r_hi"),
    }
    after = [(op.name, op.location) for op in module.walk()]
    assert list(dict.fromkeys(after)) == before


def test_attributes_of_arguments_are_repeated():
    module = parse(
        """
        func.func @f(%a: i64 {test.x}, %b: i1 {test.y}) -> (i1, i64 {test.z}) {
          func.return %b, %a : i1, i64
        }
        """
    )
    split_values(module, {value: TWICE for value in integers(module)}, {})
    assert "(%a_p0: i32 {test.x}, %a_p1: i32 {test.x}, %b: i1 {test.y})" in str(module)
    assert "-> (i1, i32 {test.z}, i32 {test.z})" in str(module)


def test_a_call_of_a_function_without_a_body_is_refused():
    module = parse(
        """
        func.func private @extern(i64)
        func.func @f(%a: i64) {
          func.call @extern(%a) : (i64) -> ()
          func.return
        }
        """
    )
    parts = {value: TWICE for value in integers(module)}
    with pytest.raises(PassFailedException, match="passed to @extern: no body"):
        split_values(module, parts, RULES)


def test_a_function_of_the_same_name_in_another_module_is_not_called():
    module = parse(
        """
        func.func @g(%a: i1) {
          func.return
        }
        module {
          func.func private @g(i64)
          func.func @f(%a: i64) {
            func.call @g(%a) : (i64) -> ()
            func.return
          }
        }
        """
    )
    parts = {value: TWICE for value in integers(module)}
    with pytest.raises(PassFailedException, match="passed to @g: no body"):
        split_values(module, parts, RULES)


def test_a_value_may_become_none():
    module = parse(
        """
        func.func @f(%a: i64, %b: i1) -> (i1, i64) {
          func.return %b, %a : i1, i64
        }
        """
    )
    split_values(module, {value: Parts(()) for value in integers(module)}, {})
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    assert function.function_type.inputs.data == (i1,)
    assert function.function_type.outputs.data == (i1,)


def test_suffixes_are_one_a_part():
    with pytest.raises(ValueError, match="a suffix for each of 2 parts, got 1"):
        Parts((i32, i32), ("_lo",))
