"""Operations that the lanes do in work-group memory, and matrices that stay there.

Those of types that a device does not have stay there: the M x 1 results of reductions,
matrices of use `none`, and f64 on most devices.  Each has its own piece.  Others go
there and come back.  Each operation is a loop of the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Axis, MatrixType, matrix_type
from coopc.passes.khr.legalize_coopmatrix_khr import staged_elements
from coopc.passes.khr.legalize_coopmatrix_khr.code import Code
from coopc.passes.khr.legalize_coopmatrix_khr.scalar_forms import combined, elementwise
from coopc.passes.khr.legalize_coopmatrix_khr.scratch import Piece, Scratch
from coopc.passes.khr.legalize_coopmatrix_khr.staged_elements import (
    copied,
    extracted,
    fill_value,
    inlined,
    insert_row_slice,
    multiply,
)
from coopc.passes.khr.legalize_coopmatrix_khr.staged_memory import (
    Access,
    fetch,
    scatter,
    staged_atomic,
)

CONTROL = (
    scf.ConditionOp,
    scf.ExecuteRegionOp,
    scf.ForOp,
    scf.IfOp,
    scf.IndexSwitchOp,
    scf.WhileOp,
    scf.YieldOp,
)

"""Control flow that passes on matrices which stay in memory."""


@dataclass(slots=True)
class SpilledMatrices:
    """The matrices of one function that stay in memory."""

    scratch: Scratch
    is_held: Callable[[MatrixType], bool]
    """Whether matrices of a type stay in memory."""
    pieces: dict[SSAValue, Piece] = field(default_factory=dict[SSAValue, Piece])

    def lower(self, op: Operation, code: Code) -> SSAValue | None:
        """Insert an operation of which some matrix stays in memory.

        Returns:
            The result, if it is no matrix or one that does not.
        """
        if isinstance(op, CONTROL):
            self._pass_on(op, code)
            return None
        if not any(isinstance(x.type, MatrixType) for x in op.results):
            return self._read(op, code)
        if (piece := self._made(op, code)) is None:
            return None
        (result,) = op.results
        matrix = matrix_type(result)
        if not self.is_held(matrix):
            return self.scratch.take(code, piece, matrix)
        self.scratch.barrier(code)
        self.pieces[result] = piece
        return None

    def _read(self, op: Operation, code: Code) -> SSAValue | None:
        """Insert an operation that makes no matrix; its result, if it has one."""
        match op:
            case coopmatrix.StoreOp():
                scatter(code, Access(op), self._given(op.value, code), self.scratch)
            case coopmatrix.AtomicOp():
                self._atomic(op, code)
            case coopmatrix.LengthOp():
                return code.index(
                    staged_elements.length(op.matrix_type, self.scratch.lanes)
                )
            case coopmatrix.ExtractOp():
                piece = self._given(op.matrix, code)
                return staged_elements.extract(op, code, self.scratch, piece)
            case coopmatrix.CoordOp():
                staged_elements.coord(op, code, self.scratch)
            case coopmatrix.ExtractRowSliceOp():
                return extracted(op, code, self._given(op.matrix, code))
            case _:
                raise AssertionError(f"{op.name} makes no matrix")
        return None

    def _made(self, op: Operation, code: Code) -> Piece | None:
        """Insert an operation; where its matrix is, if anything uses it."""
        match op:
            case coopmatrix.LoadOp():
                piece = self._new(op.matrix, 0)
                fetch(code, op, piece, self.scratch)
            case coopmatrix.FillOp():
                piece = self._fill(op, code)
            case coopmatrix.ReduceOp():
                piece = self._reduce(op, code)
            case coopmatrix.MulAddOp():
                piece = self._multiply(op, code)
            case coopmatrix.InsertOp():
                piece = self._for_writing(op.matrix, code)
                staged_elements.insert(op, code, self.scratch, piece)
            case coopmatrix.InsertRowSliceOp():
                piece = self._for_writing(op.matrix, code)
                insert_row_slice(op, code, self.scratch, piece)
            case coopmatrix.ApplyOp():
                piece = self._apply(op, code)
            case coopmatrix.AtomicOp():
                return self._atomic(op, code)
            case _:
                piece = self._elementwise(op, code)
        return piece

    def _new(self, matrix: MatrixType, number: int) -> Piece:
        """A piece for a matrix: its own where it stays there."""
        if self.is_held(matrix):
            return self.scratch.own(matrix)
        return self.scratch.of(matrix, number)

    def _given(self, value: SSAValue, code: Code, number: int = 0) -> Piece:
        """Where the elements of an operand are; all lanes see them."""
        if (found := self.pieces.get(value)) is not None:
            return found
        piece = self._new(matrix_type(value), number)
        return self.scratch.put(code, value, piece)

    def _fill(self, op: coopmatrix.FillOp, code: Code) -> Piece:
        matrix = matrix_type(op.result)
        value = fill_value(op, matrix.element_type, code)
        piece = self._new(matrix, 0)
        self.scratch.barrier(code)
        self.scratch.each(
            code, *matrix.shape, lambda code, i, j: piece.store(code, value, i, j)
        )
        return piece

    def _atomic(self, op: coopmatrix.AtomicOp, code: Code) -> Piece | None:
        """Element by element; where the result is, if anything uses it."""
        given = None
        if isinstance(op, coopmatrix.AtomicUpdateOp | coopmatrix.AtomicStoreOp):
            given = self._given(op.value, code)
        else:
            self.scratch.barrier(code)
        piece = None
        if op.results and op.results[0].first_use is not None:
            keeps = given is None or self.is_held(op.matrix)
            piece = self._new(op.matrix, 0) if keeps else given
        staged_atomic(op, code, self.scratch, given, piece)
        return piece

    def _for_writing(self, value: SSAValue, code: Code) -> Piece:
        """A copy of a matrix, of which elements can be changed."""
        source = piece = self._given(value, code)
        matrix = matrix_type(value)
        if self.is_held(matrix):
            piece = self._new(matrix, 0)
            copied(code, self.scratch, source, piece)
        return piece

    def _apply(self, op: coopmatrix.ApplyOp, code: Code) -> Piece:
        """The body once an element."""
        source = self._given(op.value, code)
        piece = self._new(matrix_type(op.result), 1)

        def one(code: Code, row: SSAValue, col: SSAValue) -> None:
            given = row, col, source.load(code, row, col)
            piece.store(code, inlined(op, given, code), row, col)

        self.scratch.barrier(code)
        self.scratch.each(code, source.rows, source.cols, one)
        return piece

    def _multiply(self, op: coopmatrix.MulAddOp, code: Code) -> Piece:
        """By the lanes, as the device does not multiply such matrices."""
        a, b, c = (
            self._given(value, code, number)
            for number, value in enumerate((op.a, op.b, op.c))
        )
        piece = self._new(matrix_type(op.result), 3)
        self.scratch.barrier(code)
        multiply(op, code, self.scratch, (a, b, c), piece)
        return piece

    # --- control flow ---------------------------------------------------------------

    def _pass_on(self, op: Operation, code: Code) -> None:
        """Insert copies by which matrices go through control flow.

        What a loop carries and what a branch gives has a piece of its own: they are
        copied there before the loop, and where a region ends.
        """
        match op:
            case scf.ForOp():
                self._share(op.body.block.args[1:], op.results)
                self._move(op.iter_args, op.results, code)
            case scf.WhileOp():
                before, after = (region.block.args for region in op.regions)
                self._share(before)
                self._share(after, op.results)
                self._move(op.arguments, before, code)
            case scf.YieldOp():
                around = op.parent_op()
                assert around is not None, op
                targets: Sequence[SSAValue] = around.results
                if isinstance(around, scf.WhileOp):
                    targets = around.before_region.block.args
                self._move(op.operands, targets, code)
            case scf.ConditionOp():
                around = op.parent_op()
                assert isinstance(around, scf.WhileOp), op
                self._move(op.args, around.results, code)
            case _:
                self._share(op.results)

    def _share(self, *groups: Sequence[SSAValue]) -> None:
        """Make a piece for what values of several groups have in common, each."""
        for values in zip(*groups, strict=True):
            if self._stays(values[0]):
                piece = self._new(matrix_type(values[0]), 0)
                self.pieces |= dict.fromkeys(values, piece)

    def _stays(self, value: SSAValue) -> bool:
        return isinstance(value.type, MatrixType) and self.is_held(value.type)

    def _move(
        self, values: Sequence[SSAValue], to: Sequence[SSAValue], code: Code
    ) -> None:
        """Insert copies of matrices, all at once: one may go where another was."""
        moves = [
            (self._given(value, code), self.pieces[target])
            for value, target in zip(values, to, strict=True)
            if self._stays(target)
        ]
        moves = [(source, target) for source, target in moves if source != target]
        if not moves:
            return
        self.scratch.barrier(code)
        targets = [target for _, target in moves]
        for at, (source, target) in enumerate(moves):
            if source in targets:
                moves[at] = self._aside(source, code), target
        for source, target in moves:
            copied(code, self.scratch, source, target)
        self.scratch.barrier(code)

    def _aside(self, source: Piece, code: Code) -> Piece:
        """A copy of what will be overwritten; all lanes see it."""
        rows, cols = source.rows, source.cols
        piece = self.scratch.new(source.element, rows, cols, source.layout)
        copied(code, self.scratch, source, piece)
        self.scratch.barrier(code)
        return piece

    def _elementwise(self, op: Operation, code: Code) -> Piece:
        """A loop over all elements; what is no matrix is the same for each."""
        pieces = {
            value: self._given(value, code, number)
            for number, value in enumerate(dict.fromkeys(op.operands))
            if isinstance(value.type, MatrixType)
        }
        matrix = matrix_type(op.results[0])
        piece = self._new(matrix, len(op.operands))

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
        piece = self._new(matrix, 1)
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
