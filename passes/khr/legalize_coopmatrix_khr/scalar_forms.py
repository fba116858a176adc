"""What an operation on matrices does to one element, as operations of `arith`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import FloatElement
from coopc.dialects.narrow import is_integer

Insert = Callable[[Operation], SSAValue]

"""Inserts an operation and gives its result."""

_BINARY: dict[type[Operation], tuple[type[Operation] | None, ...]] = {
    # of floats, of signed integers, of unsigned ones
    coopmatrix.AddOp: (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    coopmatrix.SubOp: (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    coopmatrix.MulOp: (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    coopmatrix.ScaleOp: (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    coopmatrix.DivOp: (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    coopmatrix.RemOp: (None, arith.RemSIOp, arith.RemUIOp),
    coopmatrix.MinOp: (arith.MinnumfOp, arith.MinSIOp, arith.MinUIOp),
    coopmatrix.MaxOp: (arith.MaxnumfOp, arith.MaxSIOp, arith.MaxUIOp),
    coopmatrix.AndOp: (None, arith.AndIOp, arith.AndIOp),
    coopmatrix.OrOp: (None, arith.OrIOp, arith.OrIOp),
    coopmatrix.XorOp: (None, arith.XOrIOp, arith.XOrIOp),
    coopmatrix.ShlOp: (None, arith.ShLIOp, arith.ShLIOp),
    coopmatrix.ShrOp: (None, arith.ShRSIOp, arith.ShRUIOp),
}

_REDUCTIONS: dict[coopmatrix.Reduction, type[Operation]] = {
    coopmatrix.Reduction.ADD: coopmatrix.AddOp,
    coopmatrix.Reduction.MAX: coopmatrix.MaxOp,
    coopmatrix.Reduction.MIN: coopmatrix.MinOp,
}


def constant(type: Attribute, number: int, insert: Insert) -> SSAValue:
    """Insert a number of an element type."""
    if is_integer(type):
        return insert(arith.ConstantOp(IntegerAttr(number, type)))
    assert isinstance(type, FloatElement), type
    return insert(arith.ConstantOp(FloatAttr(float(number), type)))


def binary(
    op: type[Operation], signed: bool, x: SSAValue, y: SSAValue, insert: Insert
) -> SSAValue:
    """Insert what an operation on two matrices does to two elements."""
    of_floats, of_signed, of_unsigned = _BINARY[op]
    kind = of_floats
    if is_integer(x.type):
        kind = of_signed if signed else of_unsigned
    assert kind is not None, op
    return insert(kind.create(operands=[x, y], result_types=[x.type]))


def combined(
    op: coopmatrix.ReduceOp, x: SSAValue, y: SSAValue, insert: Insert
) -> SSAValue:
    """Insert how a reduction makes one element of two."""
    kind = _REDUCTIONS[op.kind.data]
    return binary(kind, op.signed is not None, x, y, insert)


def elementwise(op: Operation, values: Sequence[SSAValue], insert: Insert) -> SSAValue:
    """Insert what an operation does to the elements of its matrices, in order.

    The scalar of `scale` is among the values.
    """
    match op:
        case coopmatrix.NegOp():
            return _negated(values[0], insert)
        case coopmatrix.RemOp() if not is_integer(values[0].type):
            from xdsl.dialects.llvm import FRemOp  # which is large

            x, y = values
            return insert(FRemOp(x, y))
        case coopmatrix.AbsOp():
            (x,) = values
            integer = is_integer(x.type)
            return insert(math.AbsIOp(x) if integer else math.AbsFOp(x))
        case coopmatrix.NotOp():
            (x,) = values
            ones = constant(x.type, -1, insert)
            return insert(arith.XOrIOp(x, ones))
        case coopmatrix.ConvertOp():
            type = coopmatrix.matrix_type(op.result).element_type
            return converted(values[0], type, op.signed is not None, insert)
        case coopmatrix.BitcastOp():
            type = coopmatrix.matrix_type(op.result).element_type
            (x,) = values
            return x if x.type == type else insert(arith.BitcastOp(x, type))
        case arith.SelectOp():
            return insert(arith.SelectOp(*values))
        case _:
            x, y = values
            signed = isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None
            return binary(type_of(op), signed, x, y, insert)


def type_of(op: Operation) -> type[Operation]:
    """The class of an operation."""
    return op.__class__


def _negated(x: SSAValue, insert: Insert) -> SSAValue:
    if not is_integer(x.type):
        return insert(arith.NegfOp(x))
    zero = constant(x.type, 0, insert)
    return insert(arith.SubiOp(zero, x))


def converted(x: SSAValue, to: Attribute, signed: bool, insert: Insert) -> SSAValue:
    """Insert the conversion of an element."""
    source = x.type
    if source == to:
        return x
    match is_integer(source), is_integer(to):
        case True, True:
            return _resized(x, to, signed, insert)
        case True, False:
            kind = arith.SIToFPOp if signed else arith.UIToFPOp
        case False, True:
            kind = arith.FPToSIOp if signed else arith.FPToUIOp
        case _:
            return _rounded(x, to, insert)
    return insert(kind.create(operands=[x], result_types=[to]))


def _resized(x: SSAValue, to: Attribute, signed: bool, insert: Insert) -> SSAValue:
    assert is_integer(x.type)
    assert is_integer(to)
    if to.width.data < x.type.width.data:
        kind: type[Operation] = arith.TruncIOp
    else:
        kind = arith.ExtSIOp if signed else arith.ExtUIOp
    return insert(kind.create(operands=[x], result_types=[to]))


def _rounded(x: SSAValue, to: Attribute, insert: Insert) -> SSAValue:
    """Floats; f16 and bf16 by way of f32, which holds both."""
    bits = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
    before, after = bits[str(x.type)], bits[str(to)]
    if before == after:
        x, before = _rounded(x, f32, insert), 32
    kind = arith.ExtFOp if after > before else arith.TruncFOp
    return insert(kind.create(operands=[x], result_types=[to]))
