"""Operations that lanes do in work-group memory, and the matrices that stay there.

Spilled are matrices of types that a device does not have: the M x 1 results of
reductions, matrices of use `none`, and f64 on most devices.  Each has its own buffer,
through loops and branches.  Others go there and come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Axis, MatrixType, matrix_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.element_access import Element
from coopc.passes.coopmatrix.elementwise import elementwise, fill_value, reduction
from coopc.passes.khr.legalize_coopmatrix_khr import staged_elements
from coopc.passes.khr.legalize_coopmatrix_khr.shared_memory import (
    SharedBuffer,
    SharedMemory,
)
from coopc.passes.khr.legalize_coopmatrix_khr.staged_memory import (
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
    """The matrices of one function that are in work-group memory."""

    shared: SharedMemory
    is_spilled: Callable[[MatrixType], bool]
    """Whether matrices of a type stay there."""
    buffers: dict[SSAValue, SharedBuffer] = field(
        default_factory=dict[SSAValue, SharedBuffer]
    )

    def lower(self, b: Builder, op: Operation) -> SSAValue | None:
        """Do an operation in work-group memory.

        Returns:
            The result, if it is no matrix or one that does not stay there.
        """
        if isinstance(op, CONTROL):
            self._pass_on(b, op)
            return None
        if not any(isinstance(x.type, MatrixType) for x in op.results):
            return self._read(b, op)
        if (buffer := self._made(b, op)) is None:
            return None
        (result,) = op.results
        matrix = matrix_type(result)
        if not self.is_spilled(matrix):
            return self.shared.take(b, buffer, matrix)
        self.shared.barrier(b)
        self.buffers[result] = buffer
        return None

    def _read(self, b: Builder, op: Operation) -> SSAValue | None:
        """Do an operation that makes no matrix; its result, if it has one."""
        match op:
            case coopmatrix.StoreOp():
                scatter(b, op, self._given(b, op.value), self.shared)
            case coopmatrix.AtomicOp():
                self._atomic(b, op)
            case coopmatrix.LengthOp():
                length = staged_elements.length(op.matrix_type, self.shared.lanes)
                return b.constant(INDEX, length)
            case coopmatrix.ExtractOp():
                buffer = self._given(b, op.matrix)
                return staged_elements.extract(b, op, self.shared, buffer)
            case coopmatrix.CoordOp():
                staged_elements.coord(b, op, self.shared)
            case coopmatrix.ExtractRowSliceOp():
                buffer = self._given(b, op.matrix)
                return staged_elements.extract_row_slice(b, op, buffer)
            case _:
                raise AssertionError(f"{op.name} makes no matrix")
        return None

    def _made(self, b: Builder, op: Operation) -> SharedBuffer | None:
        """Do an operation; where its matrix is, if anything uses it."""
        match op:
            case coopmatrix.LoadOp():
                buffer = self._new(op.matrix)
                fetch(b, op, buffer, self.shared)
            case coopmatrix.FillOp():
                buffer = self._fill(b, op)
            case coopmatrix.ReduceOp():
                buffer = self._reduce(b, op)
            case coopmatrix.MulAddOp():
                buffer = self._multiply(b, op)
            case coopmatrix.InsertOp():
                buffer = self._for_writing(b, op.matrix)
                staged_elements.insert(b, op, self.shared, buffer)
            case coopmatrix.InsertRowSliceOp():
                buffer = self._for_writing(b, op.matrix)
                staged_elements.insert_row_slice(b, op, self.shared, buffer)
            case coopmatrix.AtomicOp():
                return self._atomic(b, op)
            case _:
                buffer = self._elementwise(b, op)
        return buffer

    def _new(self, matrix: MatrixType, number: int = 0) -> SharedBuffer:
        """A buffer for a matrix: its own where it stays there."""
        if self.is_spilled(matrix):
            return self.shared.own(matrix)
        return self.shared.of(matrix, number)

    def _given(self, b: Builder, value: SSAValue, number: int = 0) -> SharedBuffer:
        """Where the elements of an operand are; all lanes see them."""
        if (found := self.buffers.get(value)) is not None:
            return found
        return self.shared.put(b, value, self._new(matrix_type(value), number))

    def _fill(self, b: Builder, op: coopmatrix.FillOp) -> SharedBuffer:
        value, buffer = fill_value(b, op), self._new(matrix_type(op.result))
        self.shared.barrier(b)
        self.shared.each(b, buffer.shape, lambda at: buffer.store(b, value, at))
        return buffer

    def _elementwise(self, b: Builder, op: Operation) -> SharedBuffer:
        """By elements; what is no matrix is the same for each.

        In the memory of the first operand, if that has the type of the result and
        leaves: each element is read by the lane that writes it.
        """
        matrices = [x for x in op.operands if isinstance(x.type, MatrixType)]
        given = {
            value: self._given(b, value, number)
            for number, value in enumerate(dict.fromkeys(matrices))
        }
        buffer = self._new(matrix_type(op.results[0]))
        is_cast = isinstance(op, coopmatrix.ConvertOp | coopmatrix.BitcastOp)
        if is_cast and buffer in given.values():
            return buffer  # of the use alone

        def one(at: Element) -> None:
            values = [given[x].load(b, at) if x in given else x for x in op.operands]
            place: Values = ()
            if isinstance(op, coopmatrix.ApplyOp):
                place = b.index(at.row), b.index(at.col)
            buffer.store(b, elementwise(b, op, values, place), at)

        self.shared.barrier(b)
        self.shared.each(b, buffer.shape, one)
        return buffer

    def _reduce(self, b: Builder, op: coopmatrix.ReduceOp) -> SharedBuffer:
        """Each lane reduces whole rows or columns, in order."""
        source = self._given(b, op.value)
        buffer = self._new(matrix_type(op.result), 1)
        by_row = op.axis.data == Axis.ROWS
        make = reduction(op)

        def one(at: Element) -> None:
            def step(k: BoundedIndex, now: Values) -> Values:
                place = Element(at.row, k) if by_row else Element(k, at.col)
                return (b.pure(make, *now, source.load(b, place)),)

            first = source.load(b, at)
            (found,) = b.loop(source.shape[by_row], (first,), step, start=1)
            buffer.store(b, found, at)

        self.shared.barrier(b)
        self.shared.each(b, buffer.shape, one)
        return buffer

    def _multiply(self, b: Builder, op: coopmatrix.MulAddOp) -> SharedBuffer:
        """By the lanes, as the device does not multiply such matrices."""
        x, y, z = (
            self._given(b, value, number)
            for number, value in enumerate((op.a, op.b, op.c))
        )
        buffer = self._new(matrix_type(op.result), 3)
        self.shared.barrier(b)
        staged_elements.multiply(b, op, self.shared, (x, y, z), buffer)
        return buffer

    def _atomic(self, b: Builder, op: coopmatrix.AtomicOp) -> SharedBuffer | None:
        """Element by element; where the result is, if anything uses it."""
        given = None
        if isinstance(op, coopmatrix.AtomicUpdateOp | coopmatrix.AtomicStoreOp):
            given = self._given(b, op.value)
        else:
            self.shared.barrier(b)
        buffer = None
        if op.results and op.results[0].first_use is not None:
            keeps = given is None or self.is_spilled(op.matrix)
            buffer = self._new(op.matrix) if keeps else given
        staged_atomic(b, op, self.shared, given, buffer)
        return buffer

    def _for_writing(self, b: Builder, value: SSAValue) -> SharedBuffer:
        """A copy of a matrix, of which elements can be changed."""
        source = self._given(b, value)
        if not self.is_spilled(matrix_type(value)):
            return source
        buffer = self._new(matrix_type(value))
        self._copy(b, source, buffer)
        return buffer

    def _copy(self, b: Builder, source: SharedBuffer, target: SharedBuffer) -> None:
        """Copy a matrix that all lanes see."""
        self.shared.each(
            b, source.shape, lambda at: target.store(b, source.load(b, at), at)
        )

    # Control flow

    def _pass_on(self, b: Builder, op: Operation) -> None:
        """Copy matrices to where control flow passes them on.

        What a loop carries and what a branch gives has a buffer of its own: they are
        copied there before the loop, and where a region ends.
        """
        match op:
            case scf.ForOp():
                self._share(op.body.block.args[1:], op.results)
                self._move(b, op.iter_args, op.results)
            case scf.WhileOp():
                before, after = (region.block.args for region in op.regions)
                self._share(before)
                self._share(after, op.results)
                self._move(b, op.arguments, before)
            case scf.YieldOp():
                around = op.parent_op()
                assert around is not None, op
                targets: Sequence[SSAValue] = around.results
                if isinstance(around, scf.WhileOp):
                    targets = around.before_region.block.args
                self._move(b, op.operands, targets)
            case scf.ConditionOp():
                around = op.parent_op()
                assert isinstance(around, scf.WhileOp), op
                self._move(b, op.args, around.results)
            case _:
                self._share(op.results)

    def _share(self, *groups: Sequence[SSAValue]) -> None:
        """Make a buffer for what values of several groups have in common, each."""
        for values in zip(*groups, strict=True):
            if self._stays(values[0]):
                buffer = self._new(matrix_type(values[0]))
                self.buffers |= dict.fromkeys(values, buffer)

    def _stays(self, value: SSAValue) -> bool:
        return isinstance(value.type, MatrixType) and self.is_spilled(value.type)

    def _move(
        self, b: Builder, values: Sequence[SSAValue], to: Sequence[SSAValue]
    ) -> None:
        """Copy matrices, all at once: one may go where another was."""
        moves = [
            (self._given(b, value), self.buffers[target], matrix_type(target))
            for value, target in zip(values, to, strict=True)
            if self._stays(target)
        ]
        moves = [move for move in moves if move[0] != move[1]]
        if not moves:
            return
        self.shared.barrier(b)
        targets = [target for _, target, _ in moves]
        for at, (source, target, matrix) in enumerate(moves):
            if source in targets:
                aside = self.shared.own(matrix)
                self._copy(b, source, aside)
                self.shared.barrier(b)
                moves[at] = aside, target, matrix
        for source, target, _ in moves:
            self._copy(b, source, target)
        self.shared.barrier(b)
