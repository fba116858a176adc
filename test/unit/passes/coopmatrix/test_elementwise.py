"""The table of what operations on matrices do to elements."""

import pytest
from xdsl.dialects.builtin import (
    UnitAttr,
    UnknownLoc,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Use
from coopc.ir.builder import Builder
from coopc.passes.coopmatrix.elementwise import converted, elementwise

ELEMENTWISE = [
    op for op in coopmatrix.OPERATIONS if issubclass(op, coopmatrix.ElementwiseOp)
]
INTEGERS_ONLY = (
    coopmatrix.AndOp,
    coopmatrix.NotOp,
    coopmatrix.OrOp,
    coopmatrix.ShlOp,
    coopmatrix.ShrOp,
    coopmatrix.XorOp,
)


def built(op: type[Operation], signed: bool, type: Attribute, element: Attribute):
    """What the table makes of an operation, on values of a type."""
    count = 1 if issubclass(op, coopmatrix.UnaryOp) else 2
    block = Block(arg_types=[type] * count)
    matrix = MatrixType.of(8, 8, element, Use.ACC)
    whole = op.create(
        operands=Block(arg_types=[matrix] * count).args,
        result_types=[matrix],
        properties={"signed": UnitAttr()} if signed else {},
    )
    value = elementwise(Builder.at_end(block, UnknownLoc()), whole, block.args)
    block.verify()
    return value


@pytest.mark.parametrize("op", ELEMENTWISE)
@pytest.mark.parametrize("element", [f32, f16, i8, i32])
def test_every_operation_has_a_row_for_numbers_and_for_vectors(
    op: type[Operation], element: Attribute
):
    if issubclass(op, INTEGERS_ONLY) and element in (f32, f16):
        return
    for type in (element, VectorType(element, [4])):
        assert built(op, False, type, element).type == type
        if issubclass(op, coopmatrix.SignedBinaryOp):
            assert built(op, True, type, element).type == type


@pytest.mark.parametrize(
    ("op", "signed", "name"),
    [
        (coopmatrix.DivOp, True, "arith.divsi"),
        (coopmatrix.DivOp, False, "arith.divui"),
        (coopmatrix.ShrOp, True, "arith.shrsi"),
        (coopmatrix.MaxOp, False, "arith.maxui"),
        (coopmatrix.AddOp, False, "arith.addi"),
    ],
)
def test_the_sign_of_integers_chooses(op: type[Operation], signed: bool, name: str):
    owner = built(op, signed, i32, i32).owner
    assert isinstance(owner, Operation)
    assert owner.name == name


@pytest.mark.parametrize(
    ("source", "target", "names"),
    [
        (f16, bf16, ["arith.extf", "arith.truncf"]),
        (f64, f16, ["arith.truncf"]),
        (i8, i32, ["arith.extsi"]),
        (i32, i8, ["arith.trunci"]),
        (i8, f32, ["arith.sitofp"]),
        (f32, i8, ["arith.fptosi"]),
        (f32, f32, []),
    ],
)
def test_conversions(source: Attribute, target: Attribute, names: list[str]):
    block = Block(arg_types=[VectorType(source, [2])])
    b = Builder.at_end(block, UnknownLoc())
    found = converted(b, block.args[0], target, signed=True)
    assert found.type == VectorType(target, [2])
    assert [op.name for op in block.ops] == names
