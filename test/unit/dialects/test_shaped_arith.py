"""`arith` takes vectors and tensors; what xDSL does with scalars stays."""

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IntegerType,
    TensorType,
    VectorType,
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from coopc.compiler import new_context
from coopc.dialects.shaped_arith import shaped
from coopc.parsing import parse
from coopc.pipeline import verify
from coopc.source import Source
from coopc.universe import everything

REMAINDER = "arith.remf %x, %x fastmath<nnan> : vector<4xf32>"
SHAPES = [i32, VectorType(i32, [8]), TensorType(i32, [4, 8], IntegerType(7))]


def test_remainder_prints_as_mlir_does() -> None:
    text = f'%x = "test.op"() : () -> vector<4xf32>\n%y = {REMAINDER}'
    module = parse(new_context(everything()), Source(text))
    verify(module)
    assert f"%y = {REMAINDER}" in str(module)


@pytest.mark.parametrize("type", SHAPES, ids=str)
def test_comparison_has_the_shape_of_its_operands(type: Attribute) -> None:
    value = create_ssa_value(type)
    op = arith.CmpiOp(value, value, "slt")
    op.verify()
    assert op.result.type == shaped(type, i1)
    assert round_trip(op).results[0].type == op.result.type


@pytest.mark.parametrize("type", SHAPES, ids=str)
def test_float_comparison(type: Attribute) -> None:
    value = create_ssa_value(shaped(type, f32))
    op = arith.CmpfOp(value, value, "olt")
    op.verify()
    assert round_trip(op).results[0].type == shaped(type, i1)


@pytest.mark.parametrize("type", SHAPES, ids=str)
@pytest.mark.parametrize("scalar", [True, False])
def test_selection(type: Attribute, scalar: bool) -> None:
    condition = create_ssa_value(i1 if scalar else shaped(type, i1))
    value = create_ssa_value(type)
    op = arith.SelectOp(condition, value, value)
    op.verify()
    again = round_trip(op)
    assert again.operands[0].type == condition.type
    assert again.results[0].type == type


CASTS: list[tuple[type[Operation], Attribute, Attribute]] = [
    (arith.ExtSIOp, i32, i64),
    (arith.ExtUIOp, i8, i32),
    (arith.TruncIOp, i32, i8),
    (arith.SIToFPOp, i32, f16),
    (arith.UIToFPOp, i32, f32),
    (arith.FPToSIOp, f16, i32),
    (arith.FPToUIOp, f32, i8),
]


@pytest.mark.parametrize("type", SHAPES, ids=str)
@pytest.mark.parametrize(("op", "src", "dst"), CASTS)
def test_cast(
    op: type[Operation], src: Attribute, dst: Attribute, type: Attribute
) -> None:
    made = op.create(
        operands=[create_ssa_value(shaped(type, src))],
        result_types=[shaped(type, dst)],
    )
    made.verify()
    assert round_trip(made).results[0].type == shaped(type, dst)


@pytest.mark.parametrize(("op", "src", "dst"), CASTS)
def test_cast_keeps_the_shape(
    op: type[Operation], src: Attribute, dst: Attribute
) -> None:
    made = op.create(
        operands=[create_ssa_value(VectorType(src, [8]))],
        result_types=[VectorType(dst, [4])],
    )
    with pytest.raises(VerifyException, match="expected the result to be vector<8x"):
        made.verify()


@pytest.mark.parametrize(
    ("op", "src", "dst", "message"),
    [
        (arith.ExtSIOp, i32, i32, "expected more than 32 bits, got 32"),
        (arith.ExtUIOp, i32, i8, "expected more than 32 bits, got 8"),
        (arith.TruncIOp, i8, i32, "expected less than 8 bits, got 32"),
        (arith.IndexCastOp, i8, i32, "expected integers and indices, got"),
    ],
)
def test_refused(
    op: type[Operation], src: Attribute, dst: Attribute, message: str
) -> None:
    made = op.create(operands=[create_ssa_value(src)], result_types=[dst])
    with pytest.raises(VerifyException, match=message):
        made.verify()


def test_selection_is_of_one_shape() -> None:
    condition = create_ssa_value(VectorType(i1, [4]))
    value = create_ssa_value(VectorType(i32, [8]))
    with pytest.raises(VerifyException, match="expected cond to be vector<8xi1>"):
        arith.SelectOp(condition, value, value).verify()


def test_only_scalars_compared_with_themselves_fold() -> None:
    text = """
    %x, %v = "test.op"() : () -> (i32, vector<4xi32>)
    %a = arith.cmpi eq, %x, %x : i32
    %b = arith.cmpi eq, %v, %v : vector<4xi32>
    "test.op"(%a, %b) : (i1, vector<4xi1>) -> ()
    """
    ctx = new_context(everything())
    module = parse(ctx, Source(text))
    CanonicalizePass().apply(ctx, module)
    verify(module)
    names = [op.name for op in module.ops]
    assert names == ["test.op", "arith.constant", "arith.cmpi", "test.op"]


def round_trip(op: Operation) -> Operation:
    """Print an operation on values of its operands' types, and parse it."""
    types = ", ".join(str(value.type) for value in op.operands)
    names = ", ".join(f"%v{position}" for position in range(len(op.operands)))
    sources = Source(f'{names} = "test.op"() : () -> ({types})')
    module = parse(new_context(everything()), sources)
    (source,) = module.ops
    op.operands = source.results
    module.body.block.add_op(op)
    again = parse(new_context(everything()), Source(str(module)))
    verify(again)
    last = again.body.block.last_op
    assert last is not None
    return last
