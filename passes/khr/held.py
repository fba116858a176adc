"""Matrices that stay in work-group memory: those of types that a device does not have.

Such are the M x 1 results of reductions, matrices of use `none`, and f64 on most
devices.  Each value has its own piece, and each operation is a loop of the lanes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Axis, MatrixType, matrix_type
from coopc.passes.khr.code import Code
from coopc.passes.khr.elements import fill_value
from coopc.passes.khr.scalar_forms import combined, elementwise
from coopc.passes.khr.scratch import Piece, Scratch
from coopc.passes.khr.staged_memory import Access, fetch, scatter


@dataclass(slots=True)
class Held:
    """The matrices of one function that stay in memory."""

    scratch: Scratch
    is_held: Callable[[MatrixType], bool]
    """Whether matrices of a type stay in memory."""
    pieces: dict[SSAValue, Piece] = field(default_factory=dict[SSAValue, Piece])

    def lower(self, op: Operation, code: Code) -> SSAValue | None:
        """Insert an operation of which some matrix stays in memory.

        Returns:
            The result, if it is a matrix that does not.
        """
        match op:
            case coopmatrix.StoreOp():
                piece = self._given(op.value, code)
                scatter(code, Access(op), piece, self.scratch)
                return None
            case coopmatrix.LoadOp():
                piece = self._new(op.matrix)
                fetch(code, op, piece, self.scratch)
            case coopmatrix.FillOp():
                piece = self._fill(op, code)
            case coopmatrix.ReduceOp():
                piece = self._reduce(op, code)
            case _:
                piece = self._elementwise(op, code)
        (result,) = op.results
        matrix = matrix_type(result)
        if not self.is_held(matrix):
            return self.scratch.take(code, piece, matrix)
        self.scratch.barrier(code)
        self.pieces[result] = piece
        return None

    def _new(self, matrix: MatrixType) -> Piece:
        return self.scratch.new(matrix.element_type, *matrix.shape)

    def _given(self, value: SSAValue, code: Code) -> Piece:
        """Where the elements of an operand are; all lanes see them."""
        if (found := self.pieces.get(value)) is not None:
            return found
        piece = self._new(matrix_type(value))
        self.scratch.barrier(code)
        code.do(coopmatrix.StoreOp(value, piece.memory, piece.places(code)))
        self.scratch.barrier(code)
        return piece

    def _fill(self, op: coopmatrix.FillOp, code: Code) -> Piece:
        matrix = matrix_type(op.result)
        value = fill_value(op, matrix.element_type, code)
        piece = self._new(matrix)
        self.scratch.barrier(code)
        self.scratch.each(
            code, *matrix.shape, lambda code, i, j: piece.store(code, value, i, j)
        )
        return piece

    def _elementwise(self, op: Operation, code: Code) -> Piece:
        """A loop over all elements; what is no matrix is the same for each."""
        pieces = {
            value: self._given(value, code)
            for value in op.operands
            if isinstance(value.type, MatrixType)
        }
        matrix = matrix_type(op.results[0])
        piece = self._new(matrix)

        def one(code: Code, row: SSAValue, col: SSAValue) -> None:
            values = [
                pieces[value].load(code, row, col) if value in pieces else value
                for value in op.operands
            ]
            piece.store(code, elementwise(op, values, code.get), row, col)

        self.scratch.barrier(code)
        self.scratch.each(code, *matrix.shape, one)
        return piece

    def _reduce(self, op: coopmatrix.ReduceOp, code: Code) -> Piece:
        """Each lane reduces whole rows or columns, in order."""
        source = self._given(op.value, code)
        matrix = matrix_type(op.result)
        piece = self._new(matrix)
        by_row = op.axis.data == Axis.ROWS
        count = source.cols if by_row else source.rows

        def one(code: Code, row: SSAValue, col: SSAValue) -> None:
            first = source.load(code, row, col)

            def step(code: Code, at: SSAValue, sum: SSAValue) -> SSAValue:
                place = (row, at) if by_row else (at, col)
                return combined(op, sum, source.load(code, *place), code.get)

            piece.store(code, code.fold(count, first, step, start=1), row, col)

        self.scratch.barrier(code)
        self.scratch.each(code, *matrix.shape, one)
        return piece
