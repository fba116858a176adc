"""Multiplications of types that a device does not multiply, by its lanes.

Each lane computes whole elements of the result, from operands in work-group memory.
"""

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Operand, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant, converted
from coopc.passes.khr.scratch import Piece, Scratch


def multiply(
    op: coopmatrix.MulAddOp,
    code: Code,
    scratch: Scratch,
    given: tuple[Piece, Piece, Piece],
    target: Piece,
) -> None:
    """Insert a multiplication, element by element of the result.

    Args:
        op: the multiplication.
        code: where.
        scratch: the work-group memory of the function.
        given: the elements of the operands, which all lanes see.
        target: where those of the result go.
    """
    a, b, c = given
    result = matrix_type(op.result)
    wide = _wide(result.element_type)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        def step(code: Code, at: SSAValue, sum: SSAValue) -> SSAValue:
            x = _as(op, Operand.A, a.load(code, row, at), wide, code)
            y = _as(op, Operand.B, b.load(code, at, col), wide, code)
            if is_integer(wide):
                product = code.get(arith.MuliOp(x, y))
                return code.get(arith.AddiOp(sum, product))
            return code.get(arith.AddfOp(sum, code.get(arith.MulfOp(x, y))))

        first = c.load(code, row, col)
        if is_integer(wide):
            zero = constant(wide, 0, code.get)
            product = code.fold(a.cols, zero, step)
            found = _sum(op, product, first, code)
        else:
            start = _as(op, Operand.C, first, wide, code)
            sum = code.fold(a.cols, start, step)
            found = converted(sum, result.element_type, False, code.get)
        target.store(code, found, row, col)

    scratch.each(code, *result.shape, one)


def _wide(type: Attribute) -> Attribute:
    """What sums are computed in."""
    if is_integer(type) or type == f64:
        return type
    return f32


def _as(
    op: coopmatrix.MulAddOp, operand: Operand, x: SSAValue, to: Attribute, code: Code
) -> SSAValue:
    """An element of an operand, extended by the sign of the operand."""
    return converted(x, to, op.is_signed(operand), code.get)


def _sum(
    op: coopmatrix.MulAddOp, product: SSAValue, c: SSAValue, code: Code
) -> SSAValue:
    """The addition of c, which may saturate: then it is done in 64 bits."""
    type = product.type
    if op.saturating is None:
        return code.get(arith.AddiOp(product, _as(op, Operand.C, c, type, code)))
    assert is_integer(type)
    signed = op.is_signed(Operand.RESULT)
    bits: int = type.bitwidth
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - signed)) - 1
    wide = converted(product, i64, signed, code.get)
    sum = code.get(arith.AddiOp(wide, _as(op, Operand.C, c, i64, code)))
    sum = code.get(arith.MaxSIOp(sum, constant(i64, low, code.get)))
    sum = code.get(arith.MinSIOp(sum, constant(i64, high, code.get)))
    return converted(sum, type, False, code.get)
