"""What is parsed knows where it stands, and what is too large is refused."""

import pytest
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from coopc.compiler import new_context
from coopc.diagnostic import CompileError, Kind
from coopc.parsing import (
    MAX_CONSTANT_ELEMENTS,
    MAX_INTEGER_BITS,
    MAX_NESTED_REGIONS,
    parse,
)
from coopc.source import Source
from coopc.universe import everything

KERNEL = """\
func.func @f(%n : index, %c : i1) {
  %zero = arith.constant 0 : index
  %one = "arith.constant"() <{value = 1 : index}> : () -> index
  scf.for %i = %zero to %n step %one {
    scf.if %c {
      %two = arith.constant 2 : index
    }
  }
  func.return
}
"""


def read(text: str, line_offset: int = 0) -> Operation:
    source = Source(text, "f.mlir", line_offset)
    return parse(new_context(everything()), source)


def where(op: Operation) -> tuple[int, int]:
    assert isinstance(op.location, FileLineColLoc)
    assert op.location.filename.data == "f.mlir"
    return op.location.line.data, op.location.column.data


def test_operations_stand_where_their_text_begins() -> None:
    lines = KERNEL.split("\n")
    for op in read(KERNEL).walk():
        if op.name == "builtin.module":  # it is nowhere in the text
            continue
        line, column = where(op)
        text = lines[line - 1][column - 1 :]
        if op.name == "scf.yield":  # implied by the end of its region
            continue
        if op.results:
            assert text.startswith(f"%{op.results[0].name_hint} = ")
        else:
            assert text.startswith(op.name)


def test_arguments_stand_where_they_are_named() -> None:
    lines = KERNEL.split("\n")
    for block in read(KERNEL).walk_blocks():
        for arg in block.args:
            assert isinstance(arg.location, FileLineColLoc)
            line, column = arg.location.line.data, arg.location.column.data
            assert lines[line - 1][column - 1 :].startswith(f"%{arg.name_hint} ")


def test_lines_of_a_piece_are_those_of_its_file() -> None:
    (op,) = read('\n"test.op"() : () -> ()', line_offset=7).regions[0].block.ops
    assert where(op) == (9, 1)


def test_a_given_location_stays() -> None:
    (op,) = read('"test.op"() : () -> () loc("g.py":3:4)').regions[0].block.ops
    assert str(op.location) == 'loc("g.py":3:4)'


def nested(depth: int) -> str:
    return '"test.op"() ({\n' * depth + "}) : () -> ()\n" * depth


def test_nesting_up_to_the_limit() -> None:
    text = nested(MAX_NESTED_REGIONS)
    assert sum(1 for _ in read(text).walk()) == MAX_NESTED_REGIONS + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '"test.op"() : () -> memref<4xf17>',
            "1:30: error: expected an element type, got f17",
        ),
        (
            '"test.op"() : () -> !coopmatrix.matrix<4x4xf17, a>',
            "1:44: error: expected a size or an element type, got f17",
        ),
        (nested(65), "65:14: error: expected at most 64 regions inside each other"),
        (nested(5000), "65:14: error: expected at most 64 regions inside each other"),
        (
            f'"test.op"() {{a = dense<0> : tensor<{MAX_CONSTANT_ELEMENTS + 1}xi8>}}',
            "1:29: error: expected a constant of at most 2^24 = 16777216 elements, "
            "got 16777217",
        ),
        (
            f'"test.op"() {{a = 0 : i{MAX_INTEGER_BITS + 1}}} : () -> ()',
            "1:22: error: expected an integer of at most 16777215 bits, got 16777216",
        ),
        ("", "1:1: error: expected an operation, got an empty file"),
        (
            'func.func @f() {\n  "test.op"(%a, %b) : (i8, i8) -> ()\n}',
            "2:13: error: expected a definition of %a, got only uses",
        ),
        (
            "arith.constnat",
            "1:1: error: unknown operation 'arith.constnat', "
            "did you mean 'arith.constant'?",
        ),
        (
            "arit.constant",
            "1:1: error: unknown dialect 'arit' of operation 'arit.constant', "
            "did you mean 'arith'?",
        ),
        (
            "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n^a:\n}",
            "5:1: error: expected one block ^a, got another one",
        ),
        (
            '#a = #b\n#b = #a\n"test.op"() {c = #b} : () -> ()',
            "2:1: error: expected a definition of #b without #b in it",
        ),
        (
            'linalg.generic {indexing_maps = [], iterator_types = ["a"]}',
            "1:1: error: expected linalg.generic as xDSL reads it: ValueError: 'a' is "
            "not a valid IteratorType",
        ),
        (
            '"test.op"() {a = !test.typ} : () -> ()',
            "1:18: error: unknown type '!test.typ', did you mean 'test.type'?",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(CompileError) as error:
        read(text)
    assert str(error.value).split("\n")[0] == f"f.mlir:{message}"
    assert error.value.diagnostic.kind is Kind.PARSE


def test_deep_brackets() -> None:
    with pytest.raises(CompileError) as error:
        read('"test.op"() {a = ' + "[" * 5000)
    assert ("brackets are nested too deeply") in str(error.value)


def test_a_wrong_type_is_found_where_it_begins() -> None:
    with pytest.raises(CompileError) as error:
        read('%a = "test.op"() : () -> !coopmatrix.matrix<0x8xf16, a>')
    assert error.value.diagnostic.kind is Kind.VERIFY
    assert str(error.value).startswith("f.mlir:1:26: error: ")


def test_constants_up_to_the_limit() -> None:
    text = f'"test.op"() {{a = dense<0> : tensor<{MAX_CONSTANT_ELEMENTS}xi8>}}'
    (op,) = read(f"{text} : () -> ()").regions[0].block.ops
    assert len(op.attributes) == 1


def test_aliases_in_any_order() -> None:
    text = '#b = [#d]\n#c = 1 : i8\n"test.op"() {a = [#b, #c]} : () -> ()\n#d = #c\n'
    (op,) = read(text).regions[0].block.ops
    assert str(op.attributes["a"]) == "[[1 : i8], 1 : i8]"


def test_one_module_and_nothing_around_it() -> None:
    ctx = new_context(everything())
    module = parse(ctx, Source("#a = 1\nbuiltin.module {\n}"), implicit_module=False)
    assert not module.ops
    for text in ("builtin.module {\n}\nbuiltin.module {\n}", "arith.constant 1 : i8"):
        with pytest.raises(CompileError, match=r"expected one builtin\.module"):
            parse(ctx, Source(text), implicit_module=False)


def test_two_definitions_of_a_late_alias() -> None:
    with pytest.raises(CompileError) as error:
        read('"test.op"() : () -> () loc(#loc)\n' + "#loc = loc(unknown)\n" * 2)
    assert "re-declaration of alias '#loc'" in str(error.value)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("vector<4xf32>", "vector<4xf32>"),
        ("memref<4xf32>", "memref<4xf32, affine_map<(d0) -> (d0)>>"),
        ("memref<4xf32, affine_map<(d0) -> (d0)>>", "memref<4xf32>"),
        ("memref<2xvector<4xi32>, 1 : i32>", "memref<2xvector<4xi32>, 3 : i32>"),
        ("memref<?x4xf32, strided<[4, 1], offset: ?>>", "memref<?x4xf32>"),
        ("!coopmatrix.matrix<8x8xf16, a>", "!coopmatrix.matrix<8x8xf16, b>"),
        ("f32", "f64"),
        ("!late", "vector<2xi8>"),
        ("(index, tensor<4xf32>) -> tensor<4xf32>", "tensor<4xf32>"),
        ("memref<4xf32, // of >\n 1 : i32>", "memref<4xf32>"),
    ],
)
def test_types_are_read_as_if_alone(first: str, then: str) -> None:
    types = (first, then, first, then)
    end = "\n!late = vector<2xi8>\n"
    alone = [read(f'"test.op"() {{a = {x}}} : () -> (){end}') for x in types]
    expected = [str(op.attributes["a"]) for x in alone for op in x.regions[0].block.ops]
    lines = "".join(f'"test.op"() {{a = {x}}} : () -> ()\n' for x in types)
    found = [str(op.attributes["a"]) for op in read(lines + end).regions[0].block.ops]
    assert found == expected
