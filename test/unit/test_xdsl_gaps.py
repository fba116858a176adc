"""Each gap is there in xDSL, and mended: when the first fails, remove the mend."""

import json
import struct
import subprocess
import sys
from contextlib import nullcontext
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    StructPackableType,
    i32,
)
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.traits import (
    AlwaysSpeculatable,
    ConditionallySpeculatable,
    MemoryEffect,
    MemoryReadEffect,
    OpTrait,
    Pure,
    SymbolTable,
    is_speculatable,
)
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass
from xdsl.utils.exceptions import (
    ParseError,
    PyRDLOpDefinitionError,
    VerifyException,
)
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

from coopc import xdsl_gaps
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.dialects import effects
from coopc.parsing import parse
from coopc.pipeline import verify
from coopc.source import Source
from coopc.universe import everything
from coopc.xdsl_gaps import (
    Lexer,
    blamed,
    blaming,
    float_of_hex,
    keeping_locations,
    locate_by_neighbour,
)


def values(module: ModuleOp) -> tuple[float, ...]:
    (op,) = module.body.block.ops
    assert isinstance(op, arith.ConstantOp)
    assert isinstance(op.value, builtin.DenseIntOrFPElementsAttr)
    return tuple(map(float, op.value.iter_values()))  # pyright: ignore[reportArgumentType]


HEX = "%a = arith.constant dense<[0xFF800000, 1.0, 0x3f800000]> : tensor<3xf32>"


def test_hex_floats_gap() -> None:
    module = Parser(new_context(everything()), HEX).parse_module()
    assert values(module)[0] == float(0xFF800000)


def test_hex_floats() -> None:
    module = parse(new_context(everything()), Source(HEX))
    assert values(module) == (float("-inf"), 1.0, 1.0)


@given(st.integers(0, 2**32 - 1))
def test_hex_floats_are_their_bits(bits: int) -> None:
    (expected,) = struct.unpack("<f", struct.pack("<I", bits))
    found = float_of_hex(f"0x{bits:08x}", builtin.f32)
    assert found is not None
    assert struct.pack("<d", found) == struct.pack("<d", expected)


@pytest.mark.parametrize("literal", ["0x1FFFFFFFF", "-0x1"])
def test_hex_floats_that_are_no_bits(literal: str) -> None:
    with pytest.raises(ValueError, match="bits"):
        float_of_hex(literal, builtin.f32)


LARGE = [
    ("f16", "65520.0", "0x7c00"),
    ("f16", "-65520.0", "0xfc00"),
    ("f32", "1.0e39", "0x7f800000"),
    ("vector<2xf32>", "dense<[-1.0e39, 1.0]>", "dense<[0xff800000, 1.000000e+00]>"),
]


@pytest.mark.parametrize(("type", "written", "read"), LARGE)
def test_large_floats(type: str, written: str, read: str) -> None:
    with pytest.raises(OverflowError):  # the gap
        StructPackableType.pack(builtin.f16, [65520.0])  # pyright: ignore[reportUnknownMemberType]
    text = f"%a = arith.constant {written} : {type}"
    (op,) = parse(new_context(everything()), Source(text)).body.block.ops
    assert str(op).lower() == f"%a = arith.constant {read} : {type}"


SPLATS = """
from importlib import import_module
from math import nan
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32
import_module({!r} or "sys")
for numbers in ([nan, nan], [0.0, -0.0], [1.0, 1.0], [1.0, 2.0]):
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2]), numbers)
    print(int(dense.is_splat()), end="")
"""


@pytest.mark.parametrize(("module", "found"), [("", "0110"), ("coopc.parsing", "1010")])
def test_splats_of_floats(module: str, found: str) -> None:
    """They are compared as numbers by xDSL, and by their bits with coopc."""
    program = [sys.executable, "-c", SPLATS.format(module)]
    assert subprocess.check_output(program, text=True) == found


COMPARED = """
from importlib import import_module
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, bf16, f16
import_module({!r} or "sys")
one, other = (ModuleOp([test.TestOp(result_types=[x])]) for x in (f16, bf16))
print(int(one.is_structurally_equivalent(other)), end="")
print(int(one.is_structurally_equivalent(one.clone())), end="")
"""


@pytest.mark.parametrize(("module", "found"), [("", "11"), ("coopc.parsing", "01")])
def test_untyped_comparisons(module: str, found: str) -> None:
    program = [sys.executable, "-c", COMPARED.format(module)]
    assert subprocess.check_output(program, text=True) == found


def test_folds_of_large_floats() -> None:
    text = """
%a = arith.constant 60000.0 : f16
%b = arith.addf %a, %a : f16
"test.op"(%b) : (f16) -> ()"""
    module = parse(new_context(everything()), Source(text))
    CanonicalizePass().apply(new_context(everything()), module)
    assert "arith.constant 0x7c00 : f16" in str(module)


LATE = '"test.op"() : () -> () loc(#loc1)\n#loc = loc(unknown)\n#loc1 = loc("x":1:2)\n'


def test_late_aliases_gap() -> None:
    with pytest.raises(ParseError):
        Parser(new_context(everything()), LATE).parse_module()


def test_late_aliases() -> None:
    (op,) = parse(new_context(everything()), Source(LATE)).body.block.ops
    assert str(op.location) == 'loc("x":1:2)'


LOCATIONS = (
    ('fused<"why">["a":1:2, unknown]', 'loc(fused<"why">["a":1:2, unknown])'),
    ('"a":1:2 to :8', 'loc("a":1:2)'),
    ('"a":1:2 to 3:8', 'loc("a":1:2)'),
)


@pytest.mark.parametrize(("written", "read"), LOCATIONS)
def test_locations(written: str, read: str) -> None:
    text = f'"test.op"() : () -> () loc({written})'
    with pytest.raises(ParseError):  # the gap
        Parser(new_context(everything()), text).parse_module()
    (op,) = parse(new_context(everything()), Source(text)).body.block.ops
    assert str(op.location) == read


ONE_RESULT = (
    "scf.if %b -> i32 {\nscf.yield %j : i32\n} else {\nscf.yield %j : i32\n}",
    "scf.for %k = %i to %i step %i iter_args(%x = %j) -> i32 {\nscf.yield %x : i32\n}",
    "scf.while : () -> i32 {\nscf.condition(%b) %j : i32\n} do {\n^bb0(%x: i32):\n"
    "scf.yield\n}",
)


@pytest.mark.parametrize("written", ONE_RESULT)
def test_one_result(written: str) -> None:
    text = (
        f"func.func @f(%b: i1, %i: index, %j: i32) {{\n%v = {written}\nfunc.return\n}}"
    )
    with pytest.raises(ParseError):  # the gap
        Parser(new_context(everything()), text).parse_module()
    module = parse(new_context(everything()), Source(text))
    verify(module)
    (op,) = (op for op in module.walk() if op.results)
    assert list(op.result_types) == [builtin.i32]


def test_gpu_barrier() -> None:
    (op,) = parse(new_context(everything()), Source("gpu.barrier {a}")).body.block.ops
    assert str(op) == "gpu.barrier {a}"


def test_remainders_gap() -> None:
    from xdsl.dialects.arith import Arith

    names = {op.name for op in Arith.operations}
    assert not {"arith.remf", "arith.index_castui"} & names


def test_kinds_of_floats_gap() -> None:
    from coopc.dialects.math_forms import Math

    ours = {"math.isfinite", "math.isinf", "math.isnan", "math.isnormal", "math.clampf"}
    assert not ours & {op.name for op in math.Math.operations}
    assert ours < {op.name for op in Math.operations}


def test_generated_tensors_gap() -> None:
    from xdsl.dialects.tensor import Tensor

    assert "tensor.generate" not in {op.name for op in Tensor.operations}


def test_truncations_with_overflow_flags() -> None:
    """The flags are promises, which nothing needs; xDSL has no such property."""
    assert "overflowFlags" not in arith.TruncIOp.get_irdl_definition().properties
    for text in (
        "%1 = arith.trunci %0 overflow<nsw, nuw> {a = 1 : i32} : i32 to i8",
        '%1 = "arith.trunci"(%0) <{overflowFlags = #arith.overflow<nsw>}> '
        "{a = 1 : i32} : (i32) -> i8",
    ):
        given = Source(f"%0 = arith.constant 1 : i32\n{text}")
        module = parse(new_context(everything()), given)
        module.verify()
        assert "arith.trunci %0 {a = 1 : i32} : i32 to i8" in str(module)


def test_assumptions_gap() -> None:
    from xdsl.dialects.llvm import LLVM

    assert "llvm.intr.assume" not in {op.name for op in LLVM.operations}


def test_assumptions() -> None:
    text = '%c = "test.op"() : () -> i1\nllvm.intr.assume %c {note} : i1\n'
    module = parse(new_context(everything()), Source(text))
    module.verify()
    assert "llvm.intr.assume %c {note} : i1" in str(module)


def test_open_strings_gap() -> None:
    pattern = MLIRLexer._unescaped_characters_regex  # pyright: ignore[reportPrivateUsage]
    assert "++" not in pattern.pattern  # without it, each character doubles the time


@given(st.text(alphabet='ab"\\n0g', max_size=12))
def test_strings_are_those_of_xdsl(text: str) -> None:
    ours = Lexer._unescaped_characters_regex.match(f'"{text}')  # pyright: ignore[reportPrivateUsage]
    xdsl = MLIRLexer._unescaped_characters_regex.match(f'"{text}')  # pyright: ignore[reportPrivateUsage]
    assert (ours and ours[0]) == (xdsl and xdsl[0])


class AddToTwo(RewritePattern):
    """Makes two additions of one, the second inside a function."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /) -> None:
        """Replace an addition once."""
        if "done" not in op.attributes:
            new = arith.AddiOp(op.lhs, op.rhs, result_type=op.result.type)
            new.attributes["done"] = builtin.UnitAttr()
            rewriter.replace(op, new)


def located_add() -> tuple[ModuleOp, FileLineColLoc]:
    location = FileLineColLoc(StringAttr("f"), IntAttr(2), IntAttr(3))
    one = arith.ConstantOp.from_int_and_width(1, 8)
    add = arith.AddiOp(one, one)
    add.location = location
    return ModuleOp([one, add]), location


def test_no_locations_gap() -> None:
    module, location = located_add()
    PatternRewriteWalker(AddToTwo()).rewrite_module(module)
    assert all(op.location != location for op in module.walk())


def test_keeping_locations() -> None:
    module, location = located_add()
    insert = PatternRewriter.insert
    with keeping_locations():
        PatternRewriteWalker(AddToTwo()).rewrite_module(module)
    assert module.body.block.last_op is not None
    assert module.body.block.last_op.location == location
    assert PatternRewriter.insert is insert


def test_replacing_in_threads() -> None:
    """What one thread replaces is as it was in others, in any order of their ends."""
    insert, first, second = PatternRewriter.insert, Event(), Event()
    module, location = located_add()

    def hold() -> None:
        with keeping_locations():
            first.set()
            assert second.wait(60)

    thread = Thread(target=hold)
    thread.start()
    assert first.wait(60)
    PatternRewriteWalker(AddToTwo()).rewrite_module(module)
    assert all(op.location != location for op in module.walk())
    with keeping_locations():
        second.set()
        thread.join()
        other, location = located_add()
        PatternRewriteWalker(AddToTwo()).rewrite_module(other)
        assert other.body.block.last_op is not None
        assert other.body.block.last_op.location == location
    assert PatternRewriter.insert is insert


def test_locate_by_neighbour() -> None:
    module, location = located_add()
    new = arith.ConstantOp.from_int_and_width(2, 8)
    module.body.block.add_op(new)
    locate_by_neighbour(module)
    assert new.location == location


def test_blaming() -> None:
    op = func.ReturnOp()
    module = ModuleOp([op])
    with blaming(), pytest.raises(VerifyException) as error:
        op.emit_error("first", VerifyException("why"))
    assert blamed(error.value) == (op, "first")
    assert not getattr(error.value, "__notes__", ())
    with blaming(), pytest.raises(VerifyException):
        module.emit_error("second", error.value)
    assert blamed(error.value) == (op, "first")


def test_error_dumps_gap() -> None:
    op: Operation = func.ReturnOp()
    with pytest.raises(VerifyException) as error:
        op.emit_error("first", VerifyException("why"))
    assert "func.return" in str(error.value.__notes__)


def in_xdsl(op: type[IRDLOperation], trait: type) -> bool:
    """Whether xDSL itself gives an operation a trait of a kind."""
    return any(isinstance(each, trait) for each in op.traits.gen_traits())


@pytest.mark.parametrize("op", effects.PURE)
def test_pure_operations(op: type[IRDLOperation]) -> None:
    assert not in_xdsl(op, ConditionallySpeculatable)  # the gap
    assert op.has_trait(Pure)


UNKNOWN = (
    arith.ExtSIOp,
    arith.RemUIOp,
    vector.BitcastOp,
    vector.CreateMaskOp,
    vector.ReductionOp,
    *effects.READING,
)


@pytest.mark.parametrize("op", UNKNOWN)
def test_unknown_effects(op: type[IRDLOperation]) -> None:
    assert not in_xdsl(op, MemoryEffect)  # the gap
    assert op.has_trait(MemoryEffect)
    assert op.has_trait(MemoryReadEffect) == (op in effects.READING)


@pytest.mark.parametrize(
    ("mark", "stays"),
    [
        ("simt.volatile", True),
        ('simt.ordering = "acquire"', True),
        ('simt.ordering = "seq_cst"', True),
        ('simt.ordering = "relaxed"', False),
        ("", False),
    ],
)
def test_loads_that_stay(mark: str, stays: bool) -> None:
    """An unused load goes, unless it is volatile or orders other accesses."""
    text = f"""func.func @f(%m: memref<f32>) {{
      %x = memref.load %m[] {{{mark}}} : memref<f32>
      func.return
    }}"""
    ctx = new_context(everything())
    module = parse(ctx, Source(text))
    CanonicalizePass().apply(ctx, module)
    assert any(op.name == "memref.load" for op in module.walk()) == stays


@pytest.mark.parametrize("op", effects.MENDED_DIVISIONS)
def test_divisions(op: type[IRDLOperation]) -> None:
    by_divisor = in_xdsl(op, ConditionallySpeculatable)
    assert in_xdsl(op, AlwaysSpeculatable) or not by_divisor  # the gap
    assert op.has_trait(effects.NeverTraps)


DIVISORS = [
    ("arith.constant 3 : i32", True, True),
    ("arith.constant 0 : i32", False, False),
    ("arith.constant -1 : i32", False, True),
    ('"test.op"() : () -> i32', False, False),
    ("arith.constant dense<2> : vector<2xi32>", True, True),
    ("arith.constant dense<[2, 0]> : vector<2xi32>", False, False),
    ("arith.constant dense<[-1, 2]> : vector<2xi32>", False, True),
]


@pytest.mark.parametrize(("divisor", "signed", "unsigned"), DIVISORS)
def test_guarded_divisions(divisor: str, signed: bool, unsigned: bool) -> None:
    """xDSL's own `licm` leaves in a loop what may trap, and moves what does not."""
    type = divisor.rsplit(maxsplit=1)[1]
    text = f"""func.func @f(%x: {type}, %n: index) {{
      %d = {divisor}
      scf.for %i = %n to %n step %n {{
        %s = arith.remsi %x, %d : {type}
        %u = arith.remui %x, %d : {type}
        "test.op"(%s, %u) : ({type}, {type}) -> ()
      }}
      func.return
    }}"""
    ctx = new_context(everything())
    module = parse(ctx, Source(text))
    LoopInvariantCodeMotionPass().apply(ctx, module)
    loop = next(op for op in module.walk() if op.name == "scf.for")
    inside = {op.name for op in loop.walk()}
    assert ("arith.remsi" not in inside) == signed
    assert ("arith.remui" not in inside) == unsigned


@pytest.mark.parametrize("dimension", [-1, 0, 1, 2, None])
def test_dimensions(dimension: int | None) -> None:
    """A size that a memref has is read wherever the program reads it."""
    number = "" if dimension is None else f"%d = arith.constant {dimension} : index"
    argument = "%d" if dimension is None else "%other"
    text = f"""func.func @f(%m: memref<?x?xf32>, {argument}: index) {{
      {number}
      %n = memref.dim %m, %d : memref<?x?xf32>
      func.return
    }}"""
    module = parse(new_context(everything()), Source(text))
    op = next(op for op in module.walk() if isinstance(op, memref.DimOp))
    assert not in_xdsl(memref.DimOp, ConditionallySpeculatable)  # the gap
    assert is_speculatable(op) == (dimension in (0, 1))


YIELDS = (
    ("scf.if %b -> (i32) {\n}", "expected an else, since there are results"),
    (
        "scf.if %b -> (i32) {\nscf.yield %i : index\n} else {\nscf.yield %j : i32\n}",
        "expected i32 to be yielded, got index",
    ),
    (
        "scf.execute_region -> i32 {\nscf.yield\n}",
        "expected i32 to be yielded, got nothing",
    ),
)


@pytest.mark.parametrize(("body", "message"), YIELDS)
def test_unchecked_yields(body: str, message: str) -> None:
    text = f"func.func @f(%b: i1, %i: index, %j: i32) {{\n%v = {body}\nfunc.return\n}}"
    module = parse(new_context(everything()), Source(text))
    module.verify()  # the gap
    with pytest.raises(VerifyException, match=message):
        verify(module)


UPDATES = {
    "i32": (
        *("addi", "assign", "maxs", "maxu", "mins", "minu"),
        *("muli", "ori", "andi", "xori"),
    ),
    "f16": ("addf", "assign", "maximumf", "minimumf", "mulf", "maxnumf", "minnumf"),
}


def update(type: str, kind: int, indices: str = "%i") -> ModuleOp:
    positions, types = (f", {x}" if indices else "" for x in (indices, "index"))
    text = f"""func.func @f(%m: memref<?x{type}>, %x: {type}, %i: index) {{
      %old = "memref.atomic_rmw"(%x, %m{positions}) <{{kind = {kind} : i64}}>
        : ({type}, memref<?x{type}>{types}) -> {type}
      func.return
    }}"""
    module = parse(new_context(everything()), Source(text))
    module.verify()  # the gap
    return module


@pytest.mark.parametrize("type", UPDATES)
def test_unchecked_updates(type: str) -> None:
    """Kinds are of floats or of integers, and there is an index for each dimension."""
    for number, kind in [*enumerate(xdsl_gaps.UPDATES), (16, "16"), (-1, "-1")]:
        if kind in UPDATES[type]:
            verify(update(type, number))
        else:
            with pytest.raises(VerifyException, match=f"for {type}, got {kind}$"):
                verify(update(type, number))
    with pytest.raises(VerifyException, match="1 indices, one a dimension, got 0"):
        verify(update(type, 2, ""))


@pytest.mark.parametrize("type", ["i32", "f16"])
def test_unchecked_reductions(type: str) -> None:
    """Kinds are of floats or of integers."""
    of_floats = type.startswith("f")
    for kind in map(str, vector.CombiningKindFlag):
        text = f"""func.func @f(%v: vector<4x{type}>) {{
          %r = "vector.reduction"(%v) <{{kind = #vector.kind<{kind}>,
            fastmath = #arith.fastmath<none>}}> : (vector<4x{type}>) -> {type}
          func.return
        }}"""
        module = parse(new_context(everything()), Source(text))
        module.verify()  # the gap
        if kind in ("add", "mul") or kind.endswith("f") == of_floats:
            verify(module)
        else:
            with pytest.raises(VerifyException, match=f"for {type}, got {kind}$"):
                verify(module)


@pytest.mark.parametrize(
    "access",
    [
        "%r = vector.load %m[] : memref<f32>, vector<1xf32>",
        "vector.store %v, %m[] : memref<f32>, vector<1xf32>",
        "%r = vector.maskedload %m[], %b, %v : memref<f32>, vector<1xi1>, "
        "vector<1xf32> into vector<1xf32>",
        "vector.maskedstore %m[], %b, %v : memref<f32>, vector<1xi1>, vector<1xf32>",
    ],
)
def test_unchecked_ranks(access: str) -> None:
    """A vector lies along dimensions of memory."""
    for memory in ("memref<f32>", "memref<4xf32>"):
        line = access.replace("memref<f32>", memory)
        line = line.replace("[]", "[%i]" if memory != "memref<f32>" else "[]")
        arguments = f"%m: {memory}, %i: index, %v: vector<1xf32>, %b: vector<1xi1>"
        text = f"func.func @f({arguments}) {{\n{line}\nfunc.return\n}}"
        module = parse(new_context(everything()), Source(text))
        module.verify()  # the gap
        if memory == "memref<f32>":
            message = "the dimensions of vector<1x(f32|i1)>, got memref<f32>"
            with pytest.raises(VerifyException, match=message):
                verify(module)
        else:
            verify(module)


@pytest.mark.parametrize(
    "line",
    [
        "vector.load %m[%i] {alignment = # : i64} : memref<4xf32>, vector<4xf32>",
        "memref.load %m[%i] {alignment = # : i64} : memref<4xf32>",
        "memref.alloca() {alignment = # : i64} : memref<4xf32>",
        "memref.assume_alignment %m, # : memref<4xf32>",
    ],
)
def test_unchecked_alignments(line: str) -> None:
    for bytes in (4, -8, 0, 3, *[1 << 40] * ("i64" in line)):
        aligned = line.replace("#", str(bytes))
        text = f"func.func @f(%m: memref<4xf32>, %i: index) {{\n%r = {aligned}\n"
        text = f"{text}func.return\n}}"
        module = parse(new_context(everything()), Source(text))
        if bytes == 4:
            verify(module)
        else:
            with pytest.raises(VerifyException, match=rf"lignment.* {bytes}\b"):
                verify(module)


def test_alignments_of_types() -> None:
    """In LLVM's dialect, 0 stands for that of the type."""
    text = """
func.func @f(%n: i32) {
  %p = "llvm.alloca"(%n) <{alignment = 0 : i64, elem_type = f32}> : (i32) -> !llvm.ptr
  func.return
}
"""
    verify(parse(new_context(everything()), Source(text)))
    module = parse(new_context(everything()), Source(text.replace("0 :", "3 :")))
    with pytest.raises(VerifyException, match=r"a power of two.* got 3"):
        verify(module)


def test_unplaced_symbols() -> None:
    text = "func.func @f() {\nfunc.return\n}\n" * 2
    module = parse(new_context(everything()), Source(text))
    with pytest.raises(VerifyException) as without:  # the gap
        module.verify()
    assert xdsl_gaps.blamed(without.value) is None
    with pytest.raises(VerifyException, match="redefinition of symbol 'f'") as error:
        verify(module)
    first, second = module.ops
    blamed = xdsl_gaps.blamed(error.value)
    assert blamed is not None
    assert blamed[0] is second
    assert [op for op, _ in xdsl_gaps.notes_at(error.value)] == [first]


STALE = """
func.func @f(%n: index, %b: i1) {
  %a = scf.while (%w = %i) : (index) -> (index) {
    scf.condition(%b) %w : index
  } do {
  ^bb0(%w: index):
    scf.for %i = %n to %n step %n {
    }
    scf.yield %w : index
  }
  func.return
}"""


def test_stale_operands() -> None:
    module = Parser(new_context(everything()), STALE).parse_module()
    with pytest.raises(ValueError, match="Forward declared values do not have"):
        module.verify()
    with pytest.raises(CompileError, match=r"while: expected operand 0 to be"):
        parse(new_context(everything()), Source(STALE))


def test_plain_exceptions() -> None:
    text = """func.func @f(%m: memref<4xi32>, %i: index) {
      %x = memref.load %m[%i, %i] : memref<4xi32>
      func.return
    }"""
    module = parse(new_context(everything()), Source(text))
    with pytest.raises(VerifyException, match="expected an index for each dimension"):
        verify(module)


def test_slow_symbols() -> None:
    text = "func.func @f() {\n  func.call @g() : () -> ()\n  func.return\n}\n"
    module = Parser(new_context(everything()), text).parse_module()
    call = next(op for op in module.walk() if op.name == "func.call")
    with xdsl_gaps.finding_symbols_once():
        assert SymbolTable.lookup_symbol(call, "f") is call.parent_op()
        assert SymbolTable().lookup_symbol(call, StringAttr("f")) is call.parent_op()
        assert SymbolTable.lookup_symbol(call, "g") is None
    assert SymbolTable().lookup_symbol(call, "f") is call.parent_op()
    with pytest.raises(VerifyException, match="could not be found"):
        verify(module)


def wrong_op() -> type[IRDLOperation]:
    """Define an operation whose format is wrong."""

    class WrongOp(IRDLOperation):
        name = "t.wrong"
        assembly_format = "$x attr-dict"

    return irdl_op_definition(WrongOp)


def test_eager_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        parsed: list[str] = []
        patch.setattr(FormatProgram, "from_str", lambda x, _: parsed.append(x))  # pyright: ignore
        wrong_op()
        assert parsed == ["$x attr-dict"]  # the gap
    op = wrong_op().create()
    with pytest.raises(PyRDLOpDefinitionError, match=r"format of t\.wrong: "):
        str(op)


FORMS = (
    "linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%a, %b : !a, !a) outs(%c : !c)",
    "linalg.batch_matmul ins(%x, %x : memref<2x4x4xf32>, memref<2x4x4xf32>) "
    "outs(%x : memref<2x4x4xf32>)",
    "linalg.div ins(%a, %a : !a, !a) outs(%b : !a)",
    "linalg.softmax dimension(1) ins(%a : !a) outs(%b : !a)",
    "linalg.reduce { arith.addf } ins(%a : !a) outs(%r : memref<4xf32>) "
    "dimensions = [1]",
    "linalg.reduce ins(%a, %a : !a, !a) outs(%r, %r : memref<4xf32>, memref<4xf32>) "
    "dimensions = [1] (%p: f32, %q: f32, %s: f32, %t: f32) {\n"
    "linalg.yield %p, %q : f32, f32\n}",
    "linalg.map { math.exp } ins(%a : !a) outs(%b : !a)",
    "linalg.conv_2d_nhwc_hwcf ins(%n, %n : memref<1x1x1x1xf32>, memref<1x1x1x1xf32>) "
    "outs(%n : memref<1x1x1x1xf32>)",
    "%p, %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = "
    '["parallel"]} outs(%u, %u : tensor<4xf32>, tensor<4xf32>) {\n'
    "^bb0(%i: f32, %j: f32):\nlinalg.yield %i, %j : f32, f32\n"
    "} -> (tensor<4xf32>, tensor<4xf32>)",
    "memref.copy %a, %b : !a to !a",
    '"memref.copy"(%y, %z) : (memref<?x2xf32>, memref<16x?xf32>) -> ()',
    "%d = memref.cast %a : !a to memref<?x8xf32>",
    "scf.forall (%i) in (4) {\n}",
    "%v = bufferization.to_tensor %g : memref<4xf32, strided<[2]>> to tensor<4xf32>",
    "%v = bufferization.to_buffer %u : tensor<4xf32> to memref<4xf32, strided<[2]>>",
    "bufferization.materialize_in_destination %u in restrict writable %g : "
    "(tensor<4xf32>, memref<4xf32, strided<[2]>>) -> ()",
)
FORM = """
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(n) -> (n)>
!a = memref<4x8xf32>
!c = memref<4x4xf32>
func.func @f(%a: !a, %b: !a, %c: !c, %x: memref<2x4x4xf32>, %r: memref<4xf32>,
    %n: memref<1x1x1x1xf32>, %f: f32, %h: memref<4xf16>, %u: tensor<4xf32>,
    %g: memref<4xf32, strided<[2]>>, %y: memref<?x2xf32>, %z: memref<16x?xf32>) {
  OPERATION
  func.return
}
memref.global "private" constant @w : memref<2xf32> = dense<1.0>
"""
IN_XDSL = """
import json, sys
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.universe import XDSL_UNIVERSE
for text in json.load(sys.stdin):
    context = Context()
    for name, dialect in XDSL_UNIVERSE.all_dialects.items():
        context.register_dialect(name, dialect)
    try:
        Parser(context, text).parse_module().verify()
    except Exception as error:
        print(type(error).__name__)
    else:
        print("read")
"""


def test_forms_gap() -> None:
    """Each line by itself, by xDSL without coopc."""
    *alone, world = FORM.splitlines()
    texts = ["\n".join(alone).replace("OPERATION", each) for each in FORMS]
    texts.append(world)
    done = subprocess.run(
        [sys.executable, "-c", IN_XDSL],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(zip((*FORMS, world), done.stdout.split(), strict=True))
    assert "read" not in found.values(), found


def test_narrowing_fills() -> None:
    """In xDSL, the body yields the f32."""
    fill = "linalg.fill ins(%f : f32) outs(%h : memref<4xf16>)"
    module = parse(new_context(everything()), Source(FORM.replace("OPERATION", fill)))
    assert any(isinstance(op, arith.TruncFOp) for op in module.walk())


MAXIMUM = """
from importlib import import_module
from xdsl.dialects.linalg.ops import PoolingNchwMaxOp
from xdsl.dialects.test import TestOp
from xdsl.dialects.builtin import TensorType, f32
import_module({0!r} or "sys")
x = TestOp(result_types=[TensorType(f32, [1] * 4)]).results
body = PoolingNchwMaxOp.get_hidden_region([*x, *x], x).block
assert [*body.first_op.operands] == [body.args[{1}], body.args[{2}]]
"""


def test_pooling_nchw_max() -> None:
    """In xDSL, the maximum of an element and one of the window."""
    subprocess.run([sys.executable, "-c", MAXIMUM.format("", 0, 1)], check=True)
    ours = MAXIMUM.format("coopc.dialects.linalg_forms", 2, 0)
    subprocess.run([sys.executable, "-c", ours], check=True)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    """A form is read, and what is printed of it is read as the same."""
    module = parse(new_context(everything()), Source(FORM.replace("OPERATION", form)))
    verify(module)
    again = parse(new_context(everything()), Source(str(module)))
    verify(again)
    assert str(again) == str(module)


NAMES = """
func.func @f(%a: i32, %a_2: i32, %a_1_5: i32) {
  func.return
}
"""


def test_numbered_names() -> None:
    printed = str(parse(new_context(everything()), Source(NAMES)))
    assert str(parse(new_context(everything()), Source(printed))) == printed


def test_gap_numbered_names() -> None:
    program = f"""
from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.parser import Parser
ctx = Context()
ctx.load_dialect(builtin.Builtin)
ctx.load_dialect(func.Func)
assert str(Parser(ctx, {NAMES!r}).parse_module()).count("%a_1: i32") == 2
"""
    subprocess.run([sys.executable, "-c", program], check=True)


NESTED = """
func.func @f(%c: i1) {
  scf.if %c {
    scf.if %c {
      "test.op"() : () -> ()
    } else {
      "test.op"() ({}, {
        "test.op"() : () -> ()
      ^bb1:
        "test.op"() : () -> ()
      }) : () -> ()
    }
    "test.op"() : () -> ()
  }
  func.return
}
"""


@given(st.text("/ \n%a1$.-_#!^@:,(){}[]<>=+*?|x9e\té→", max_size=40))
def test_slow_tokens(text: str) -> None:
    """They are those of xDSL, up to the first that is none."""

    def tokens(lexer: MLIRLexer) -> list[object]:
        found: list[object] = []
        try:
            while not found or lexer.pos < len(text):
                token = lexer.lex()
                found.append((token.kind, token.span.start, token.span.end))
        except ParseError as error:
            found.append((error.msg, error.span.start, error.span.end))
        return found

    ours, theirs = (make(Input(text, "")) for make in (xdsl_gaps.Lexer, MLIRLexer))
    assert tokens(ours) == tokens(theirs)


def test_slow_walks() -> None:
    """The order is that of xDSL, which goes on behind an operation that is erased."""
    module = parse(new_context(everything()), Source(NESTED))

    def nested(op: Operation) -> list[Operation]:
        inner = (
            x for region in op.regions for block in region.blocks for x in block.ops
        )
        return [op, *(x for each in inner for x in nested(each))]

    assert list(module.walk()) == nested(module)
    assert [*module.body.block.walk()] == nested(module)[1:]
    assert list(module.walk(reverse=True, region_first=True)) == nested(module)[::-1]
    for op in module.walk():
        if op.name == "test.op":
            op.detach()
    assert "test.op" not in str(module)


@pytest.mark.parametrize(
    ("inside", "stays"),
    [
        ("%x = arith.addi %c, %c : i32", False),
        ("%x = memref.load %m[] : memref<i32>", False),
        ("%x = memref.alloc() : memref<i32>", True),
        ("memref.store %c, %m[] : memref<i32>", True),
        ('"test.op"() : () -> ()', True),
    ],
)
def test_slow_effects(inside: str, stays: bool) -> None:
    """Loops that only compute are dead, however deep they are."""
    text = f"""
func.func @f(%m: memref<i32>, %c: i32, %n: index) {{
  scf.for %i = %n to %n step %n {{
    scf.for %j = %n to %n step %n {{
      %y = arith.muli %c, %c : i32
      {inside}
    }}
  }}
  func.return
}}
"""
    ctx = new_context(everything())
    module = parse(ctx, Source(text))
    loop = next(op for op in module.walk() if op.name == "scf.for")
    assert would_be_trivially_dead(loop) is not stays
    CanonicalizePass().apply(ctx, module)
    assert ("scf.for" in str(module)) is stays


def test_slow_traits() -> None:
    class Mark(OpTrait):
        pass

    @irdl_op_definition
    class MarkedOp(IRDLOperation):
        name = "test.marked"
        traits = traits_def(Pure())

    assert not MarkedOp.has_trait(Mark)
    assert isinstance(MarkedOp.get_trait(MemoryEffect), Pure)
    MarkedOp.traits.add_trait(mark := Mark())
    assert MarkedOp.has_trait(Mark)
    assert MarkedOp.get_trait(mark) is mark
    assert MarkedOp.get_traits_of_type(MemoryEffect) == [Pure()]


def test_canonicalize_deletes_loops() -> None:
    """What loops hand on to nothing is dead, and so are blocks that cannot run."""
    text = """
func.func @f(%n: index, %m: memref<i32>) {
  %one = arith.constant 1 : i32
  %x = scf.for %i = %n to %n step %n iter_args(%y = %one) -> i32 {
    %z = arith.addi %y, %one : i32
    scf.yield %z : i32
  }
  %two = arith.addi %one, %one : i32
  %is_two = arith.cmpi eq, %two, %one : i32
  scf.if %is_two {
    %four = arith.addi %two, %x : i32
  }
  cf.br ^end
^never:
  memref.store %one, %m[] : memref<i32>
  cf.br ^end
^end:
  func.return
}
"""
    module = parse(new_context(everything()), Source(text))
    CanonicalizePass().apply(new_context(everything()), module)
    assert [op.name for op in module.walk()][2:] == ["func.return"]


@pytest.mark.parametrize(("used", "fits"), [("%c", False), ("%own", True)])
def test_slow_isolation(used: str, fits: bool) -> None:
    text = f"""
%c = arith.constant 1 : i32
func.func @f() {{
  %own = arith.constant 1 : i32
  %n = arith.constant true
  scf.if %n {{
    "test.op"({used}) : (i32) -> ()
  }}
  func.return
}}
"""
    ctx = new_context(everything())
    module = parse(ctx, Source(text))
    with nullcontext() if fits else pytest.raises(VerifyException, match="Isolated"):
        module.verify()


def test_slow_builders() -> None:
    """Lists of operands and attributes that are not given are as xDSL has them."""
    number = arith.ConstantOp.from_int_and_width(1, i32)
    built = scf.YieldOp(number, number.result)
    assert list(built.operands) == [number.result] * 2
    assert arith.AddiOp(number, number).overflow_flags.data == frozenset()
    with pytest.raises(ValueError, match="Expected 2 operand, but got 1"):
        arith.AddiOp.build(operands=[number], result_types=[i32])
    with pytest.raises(ValueError, match="Sequence to non-variadic"):
        arith.AddiOp.build(operands=[number, [number] * 2], result_types=[i32])
