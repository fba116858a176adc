"""Which element a work-item holds, asked of the driver by matrices that know.

At the entry of a function a matrix is made whose elements are their rows, and one of
their columns, through work-group memory:

    %r, %c = coopmatrix.coord %m[%i]
->  %r = coopmatrix.extract %rows[%i], %c = coopmatrix.extract %cols[%i]

A driver spreads all matrices of one type alike.  Every element type holds the numbers
below 128, and no matrix of a device has more rows or columns (`test_khr_table.py`).
"""

from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import converted
from coopc.passes.khr.scratch import Scratch


@dataclass(slots=True)
class Coordinates:
    """The matrices of rows and of columns of one function."""

    scratch: Scratch
    _made: dict[MatrixType, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[MatrixType, tuple[SSAValue, SSAValue]]
    )

    def lower(self, op: coopmatrix.CoordOp, code: Code) -> None:
        """Insert the coordinates of an element."""
        for result, matrix in zip(op.results, self._of(op), strict=True):
            number = code.get(coopmatrix.ExtractOp(matrix, op.index))
            place = _index(number, code)
            place.name_hint = result.name_hint
            result.replace_all_uses_with(place)

    def _of(self, op: coopmatrix.CoordOp) -> tuple[SSAValue, SSAValue]:
        matrix = matrix_type(op.matrix)
        if (found := self._made.get(matrix)) is None:
            alloca = self.scratch.of(matrix).memory.owner
            assert isinstance(alloca, Operation), alloca
            code = Code(InsertPoint.after(alloca))
            found = self._made[matrix] = (
                self._filled(code, matrix, by_row=True),
                self._filled(code, matrix, by_row=False),
            )
        return found

    def _filled(self, code: Code, matrix: MatrixType, *, by_row: bool) -> SSAValue:
        piece = self.scratch.of(matrix)

        def one(code: Code, row: SSAValue, col: SSAValue) -> None:
            place = row if by_row else col
            number = code.get(arith.IndexCastOp(place, i32))
            if not is_integer(matrix.element_type):
                number = converted(number, f32, False, code.get)
            number = converted(number, matrix.element_type, False, code.get)
            piece.store(code, number, row, col)

        self.scratch.barrier(code)
        self.scratch.each(code, *matrix.shape, one)
        result = self.scratch.take(code, piece, matrix)
        result.name_hint = "rows" if by_row else "cols"
        return result


def _index(number: SSAValue, code: Code) -> SSAValue:
    """An element as an index."""
    if not is_integer(number.type):
        number = converted(number, f32, False, code.get)
    number = converted(number, i32, False, code.get)
    return code.get(arith.IndexCastOp(number, IndexType()))
