"""Row slices: read from and written to a matrix in work-group memory.

All lanes agree on a slice: each reads all of it, and one writes it.

    %v = extract_row_slice %m[%k]    ->  element j: load [(k + j) / N, (k + j) % N]
    %n = insert_row_slice %v, %m[%k] ->  one lane stores each element that is inside
"""

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.narrow import is_vector
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant
from coopc.passes.khr.scratch import Piece, Scratch

Slice = coopmatrix.ExtractRowSliceOp | coopmatrix.InsertRowSliceOp


def extracted(op: coopmatrix.ExtractRowSliceOp, code: Code, piece: Piece) -> SSAValue:
    """Insert the reading of a slice from a matrix that all lanes see."""
    type = op.result.type
    assert is_vector(type), type
    element = piece.element
    zero = constant(element, 0, code.get)
    found = code.get(vector.BroadcastOp(zero, type))
    for at in range(type.element_count()):
        row, col, inside = _place(op, at, code, piece)

        def read(code: Code, row: SSAValue = row, col: SSAValue = col) -> SSAValue:
            return piece.load(code, row, col)

        value = code.choose(
            inside, element, read, lambda c: constant(element, 0, c.get)
        )
        found = code.get(vector.InsertOp(value, found, [at]))
    return found


def insert(
    op: coopmatrix.InsertRowSliceOp, code: Code, scratch: Scratch, piece: Piece
) -> None:
    """Insert the writing of a slice to a matrix that all lanes have read or written."""
    first = code.get(arith.CmpiOp(scratch.lane, code.index(0), "eq"))

    def write(code: Code) -> None:
        type = op.value.type
        assert is_vector(type), type
        for at in range(type.element_count()):
            row, col, wanted = _place(op, at, code, piece)
            if op.mask is not None:
                bit = code.get(vector.ExtractOp(op.mask, [at], i1))
                wanted = code.get(arith.AndIOp(wanted, bit))

            def store(
                code: Code, at: int = at, row: SSAValue = row, col: SSAValue = col
            ) -> None:
                value = code.get(vector.ExtractOp(op.value, [at], piece.element))
                piece.store(code, value, row, col)

            code.when(wanted, store)

    scratch.barrier(code)
    code.when(first, write)


def copied(code: Code, scratch: Scratch, source: Piece, target: Piece) -> None:
    """Insert the copy of a matrix that all lanes see, for other elements to come."""

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        target.store(code, source.load(code, row, col), row, col)

    scratch.each(code, source.rows, source.cols, one)


def _place(
    op: Slice, at: int, code: Code, piece: Piece
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Row and column of an element of a slice, and whether the matrix has it."""
    number = code.add(op.offset, at)
    count = code.index(piece.rows * piece.cols)
    # A negative number is a great one without sign.
    inside = code.get(arith.CmpiOp(number, count, "ult"))
    row, col = code.div_mod(number, piece.cols)
    return row, col, inside
