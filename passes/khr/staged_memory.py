"""Accesses to memory by the lanes, element by element, and matrices staged by them.

A checked load whose matrix is inside of memory is a plain load; at the edge the lanes
bring what is there to work-group memory, and zeros for the rest:

    %r = scf.if %inside -> M { load } else { barrier; lanes write; barrier; load }
"""

from collections.abc import Iterator
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Axis, Layout, matrix_type
from coopc.passes.khr.code import Code
from coopc.passes.khr.layouts import (
    layouts_of,
    memory_shape,
    places,
)
from coopc.passes.khr.scalar_forms import constant
from coopc.passes.khr.scratch import Piece, Scratch

Step: TypeAlias = int | SSAValue
"""How far something is from a position."""
Pair: TypeAlias = tuple[Step, Step]
"""The same along two dimensions of memory."""


class Access:
    """Where in memory the elements of the matrix of an access are.

    In the packed layout w rows share a place of the first dimension, w elements in a
    channel, and a column is w places of the second.
    """

    def __init__(self, op: coopmatrix.AccessOp) -> None:
        """Read what an access says."""
        self.memory = op.memory
        self.rank = op.memory_type.get_num_dims()
        *self.lead, self.first, self.second = op.positions
        self.rows, self.cols = op.matrix.shape
        self.layout = op.layout.data
        self.bits = op.matrix.element_bits
        checked = () if op.checked is None else op.checked.data
        self.checked_rows = Axis.ROWS in checked
        self.checked_cols = Axis.COLS in checked

    @property
    def is_checked(self) -> bool:
        """Whether some axis is."""
        return self.checked_rows or self.checked_cols

    def _axes(self, steps: Pair) -> Iterator[tuple[SSAValue, Step, int, bool]]:
        """Position, step, dimension and check of the last two dimensions."""
        checks = [self.checked_rows, self.checked_cols]
        if self.layout is Layout.COL_MAJOR:
            checks.reverse()
        for at, start, step, checked in zip(
            (self.rank - 2, self.rank - 1),
            (self.first, self.second),
            steps,
            checks,
            strict=True,
        ):
            yield start, step, at, checked

    def inside(self, code: Code) -> SSAValue:
        """Insert whether no check fails."""
        conditions: list[SSAValue] = []
        extent = memory_shape(self.layout, self.bits, self.rows, self.cols)
        for start, size, at, checked in self._axes(extent):
            if not checked:
                continue
            end = code.add(start, size)
            size_in_memory = self._size(code, at)
            conditions.append(code.less(code.index(-1), start))
            conditions.append(code.less(end, code.add(size_in_memory, 1)))
        found = code.every(conditions)
        assert found is not None, "an access without checks"
        return found

    def _size(self, code: Code, at: int) -> SSAValue:
        return code.get(memref.DimOp(self.memory, code.index(at)))

    def at(
        self, code: Code, row: SSAValue, col: SSAValue
    ) -> tuple[list[SSAValue], SSAValue | None]:
        """Insert the positions of an element, and whether its checks hold."""
        found: list[SSAValue] = [*self.lead]
        conditions: list[SSAValue] = []
        steps = places(code, self.layout, self.bits, row, col)
        for start, step, at, checked in self._axes(steps):
            place = code.add(start, step)
            found.append(place)
            if checked:
                conditions.append(code.less(code.index(-1), place))
                conditions.append(code.less(place, self._size(code, at)))
        return found, code.every(conditions)


def gather(
    code: Code, access: Access, element: Attribute, row: SSAValue, col: SSAValue
) -> SSAValue:
    """Insert the load of one element from memory, 0 where a check fails."""
    at, ok = access.at(code, row, col)

    def found(code: Code) -> SSAValue:
        return code.get(memref.LoadOp.get(access.memory, at))

    if ok is None:
        return found(code)
    return code.choose(ok, element, found, lambda c: constant(element, 0, c.get))


def scatter(code: Code, access: Access, piece: Piece, scratch: Scratch) -> None:
    """Insert what brings a matrix in work-group memory to memory."""

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        at, ok = access.at(code, row, col)

        def store(code: Code) -> None:
            value = piece.load(code, row, col)
            code.do(memref.StoreOp.get(value, access.memory, at))

        code.when(ok, store)

    scratch.each(code, access.rows, access.cols, one)


def fetch(code: Code, op: coopmatrix.LoadOp, piece: Piece, scratch: Scratch) -> None:
    """Insert what brings a matrix from memory to work-group memory, with a barrier."""
    access = Access(op)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        value = gather(code, access, op.matrix.element_type, row, col)
        piece.store(code, value, row, col)

    scratch.barrier(code)
    scratch.each(code, access.rows, access.cols, one)


def staged_load(op: coopmatrix.LoadOp, code: Code, scratch: Scratch) -> SSAValue:
    """Insert a load through work-group memory; a plain one where nothing is amiss."""
    matrix = matrix_type(op.result)

    def slow(code: Code) -> SSAValue:
        piece = scratch.of(matrix)
        fetch(code, op, piece, scratch)
        return scratch.take(code, piece, matrix)

    def fast(code: Code) -> SSAValue:
        new = op.clone()
        new.properties.pop("checked")
        return code.get(new)

    access = Access(op)
    device = scratch.device
    known = op.layout_in_memory in layouts_of(matrix, device)
    if not (access.is_checked and known and device.branched_matrices):
        return slow(code)
    return code.choose(access.inside(code), matrix, fast, slow)


def staged_store(op: coopmatrix.StoreOp, code: Code, scratch: Scratch) -> None:
    """Insert a store through work-group memory; a plain one where nothing is amiss."""
    access = Access(op)

    def slow(code: Code) -> None:
        scatter(code, access, scratch.put(code, op.value), scratch)

    def fast(code: Code) -> None:
        new = op.clone()
        new.properties.pop("checked")
        code.do(new)

    known = op.layout_in_memory in layouts_of(op.matrix, scratch.device)
    if not access.is_checked or not known:
        slow(code)
        return
    code.branch(access.inside(code), fast, slow)
