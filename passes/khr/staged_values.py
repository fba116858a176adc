"""Conversions of the use and `apply`, through work-group memory."""

from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import matrix_type
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import elementwise
from coopc.passes.khr.scratch import Scratch


def staged_conversion(
    op: coopmatrix.ConvertOp | coopmatrix.BitcastOp, code: Code, scratch: Scratch
) -> SSAValue:
    """Insert a conversion; of the use alone, only the way to memory and back."""
    result = matrix_type(op.result)
    piece = scratch.put(code, op.value)
    target = scratch.of(result)
    if target is piece:
        return scratch.take(code, piece, result)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        value = elementwise(op, [piece.load(code, row, col)], code.get)
        target.store(code, value, row, col)

    scratch.each(code, piece.rows, piece.cols, one)
    return scratch.take(code, target, result)


def staged_apply(op: coopmatrix.ApplyOp, code: Code, scratch: Scratch) -> SSAValue:
    """Insert the body once an element, by the lane that its turn is."""
    matrix = matrix_type(op.result)
    piece = scratch.put(code, op.value)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        given = row, col, piece.load(code, row, col)
        piece.store(code, inlined(op, given, code), row, col)

    scratch.each(code, piece.rows, piece.cols, one)
    return scratch.take(code, piece, matrix)


def inlined(
    op: coopmatrix.ApplyOp, given: tuple[SSAValue, SSAValue, SSAValue], code: Code
) -> SSAValue:
    """Insert the body of `apply`; what it yields."""
    values = dict(zip(op.body.block.args, given, strict=True))
    mapping: dict[SSAValue, SSAValue] = {**values}
    last: Operation | None = None
    for inner in op.body.block.ops:
        if isinstance(inner, coopmatrix.YieldOp):
            last = inner
            break
        code.do(inner.clone(value_mapper=mapping))
    assert isinstance(last, coopmatrix.YieldOp), op
    return mapping.get(last.value, last.value)
