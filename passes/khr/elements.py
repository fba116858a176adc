"""Operations on matrices as loops over the elements that a work-item owns.

    %n = coopmatrix.length M
    %r = scf.for %i = 0 to %n step 1 iter_args(%m = %x) {
      %e = coopmatrix.extract %x[%i], ...
      %f = ...
      %p = coopmatrix.insert %f, %m[%i]
      scf.yield %p
    }

Which elements those are does not matter: all matrices are of one type.
"""

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.dialects.narrow import is_memref
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant, converted, elementwise


def element_loop(op: Operation, code: Code) -> SSAValue:
    """Insert the loop for an operation of which all matrices have one type."""
    matrix = matrix_type(op.results[0])
    first = op.operands[0]

    def one(code: Code, i: SSAValue, made: SSAValue) -> SSAValue:
        values = [
            code.get(coopmatrix.ExtractOp(value, i))
            if isinstance(value.type, MatrixType)
            else value
            for value in op.operands
        ]
        found = elementwise(op, values, code.get)
        return code.get(coopmatrix.InsertOp(found, made, i))

    length = code.get(coopmatrix.LengthOp(matrix))
    return code.fold(length, first, one)


def fill_loop(op: coopmatrix.FillOp, code: Code) -> SSAValue:
    """Insert zeros, and a loop that writes the value over them."""
    matrix = matrix_type(op.result)
    value = fill_value(op, matrix.element_type, code)
    zero = constant(matrix.element_type, 0, code.get)
    first = code.get(coopmatrix.FillOp(zero, matrix))
    length = code.get(coopmatrix.LengthOp(matrix))
    return code.fold(
        length,
        first,
        lambda code, i, made: code.get(coopmatrix.InsertOp(value, made, i)),
    )


def fill_value(op: coopmatrix.FillOp, type: Attribute, code: Code) -> SSAValue:
    """Insert the number that a matrix is filled with."""
    value = op.value
    if is_memref(value.type):
        value = code.get(memref.LoadOp.get(value, []))
    if isinstance(value.type, IndexType):
        value = code.get(arith.IndexCastOp(value, i64))
    return converted(value, type, True, code.get)
