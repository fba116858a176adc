"""Single elements where a device has no access to them: those of memory.

A matrix in work-group memory is spread over the S lanes in row-major order, so slot i
of a lane is element i S + lane; the length is ceil(M N / S), and what is beyond the
matrix is padding.

    %n = coopmatrix.length M      ->  a constant
    %e = coopmatrix.extract %m[%i]  ->  memref.load %m_in_memory[row, col]
"""

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant
from coopc.passes.khr.scratch import Piece, Scratch


def length(matrix: MatrixType, lanes: int) -> int:
    """The slots of a lane."""
    rows, cols = matrix.shape
    return -(-rows * cols // lanes)


def extract(
    op: coopmatrix.ExtractOp, code: Code, scratch: Scratch, piece: Piece
) -> SSAValue:
    """Insert the load of an element; 0 where the slot holds none."""
    row, col, inside = _place(op.index, code, scratch, matrix_type(op.matrix))
    if inside is None:
        return piece.load(code, row, col)
    return code.choose(
        inside,
        piece.element,
        lambda code: piece.load(code, row, col),
        lambda code: constant(piece.element, 0, code.get),
    )


def insert(op: coopmatrix.InsertOp, code: Code, scratch: Scratch, piece: Piece) -> None:
    """Insert the store of an element, if the slot holds one."""
    row, col, inside = _place(op.index, code, scratch, matrix_type(op.matrix))
    scratch.barrier(code)
    code.when(inside, lambda code: piece.store(code, op.value, row, col))


def coord(op: coopmatrix.CoordOp, code: Code, scratch: Scratch) -> None:
    """Insert where an element is; (rows, columns) of the matrix where there is none."""
    matrix = matrix_type(op.matrix)
    row, col, inside = _place(op.index, code, scratch, matrix)
    found = zip(op.results, (row, col), matrix.shape, strict=True)
    for result, place, size in found:
        if inside is not None:
            place = code.get(arith.SelectOp(inside, place, code.index(size)))
        place.name_hint = result.name_hint
        result.replace_all_uses_with(place)


def _place(
    slot: SSAValue, code: Code, scratch: Scratch, matrix: MatrixType
) -> tuple[SSAValue, SSAValue, SSAValue | None]:
    """Row and column of a slot, and whether it holds an element, unless all do."""
    rows, cols = matrix.shape
    number = code.add(code.mul(slot, scratch.lanes), scratch.lane)
    full = rows * cols % scratch.lanes == 0
    inside = None if full else code.less(number, rows * cols)
    return *code.div_mod(number, cols), inside
