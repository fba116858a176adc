"""Which rows and columns of which matrices are cut in the same places.

Every matrix has two axes, numbers; operations make axes the same:

| operation                       | the same axes                                    |
|---------------------------------|--------------------------------------------------|
| a * b + c -> r                  | rows of a, c, r; columns of a and rows of b;     |
|                                 | columns of b, c, r                               |
| element-wise, convert, apply    | rows of all, columns of all                      |
| reduce rows (columns)           | rows (columns) of both                           |
| loops, branches, calls, selects | rows and columns of what flows through           |
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.rewrite.structure import Functions, links
from coopc.rewrite.tiling import UnionFind

Tile = tuple[int, int]
"""The (rows, columns) of a part of a matrix."""

SLOTS = (
    coopmatrix.CoordOp,
    coopmatrix.ExtractOp,
    coopmatrix.ExtractRowSliceOp,
    coopmatrix.InsertOp,
    coopmatrix.InsertRowSliceOp,
)
"""Operations that say where elements are: their matrices are not cut."""

SAME_AXES = (
    coopmatrix.ElementwiseOp,
    coopmatrix.ConvertOp,
    coopmatrix.BitcastOp,
    coopmatrix.ApplyOp,
    coopmatrix.AtomicUpdateOp,
    *SLOTS,
)
"""Operations whose matrices all have the same axes."""


def is_matrix(value: SSAValue) -> bool:
    """Whether a value is a matrix."""
    return isinstance(value.type, MatrixType)


def is_known(type: MatrixType) -> bool:
    """Whether a matrix is held by a subgroup and its sizes are numbers."""
    scope = type.scope
    return (
        type.is_static
        and isinstance(scope, coopmatrix.ScopeAttr)
        and scope.data == coopmatrix.Scope.SUBGROUP
    )


@dataclass(slots=True)
class MatrixAxes:
    """The axes of the matrices of a program."""

    classes: UnionFind = field(default_factory=UnionFind)
    values: dict[SSAValue, tuple[int, int]] = field(
        default_factory=dict[SSAValue, tuple[int, int]]
    )
    free: set[int] = field(default_factory=set[int])
    """Axes that are left alone: of unknown size, or reduced to one element."""

    def of(self, value: SSAValue) -> tuple[int, int]:
        """Return the axes along the rows and the columns of a matrix."""
        if (found := self.values.get(value)) is None:
            found = self.values[value] = (self.classes.add(), self.classes.add())
            if not is_known(matrix_type(value)):
                self.free.update(found)
        return found

    def visit(self, op: Operation, known: Functions) -> list[SSAValue]:
        """Note what `op` makes the same, and return its matrices."""
        matrices = [x for x in (*op.operands, *op.results) if is_matrix(x)]
        arguments = (x for region in op.regions for b in region.blocks for x in b.args)
        for value in (*matrices, *filter(is_matrix, arguments)):
            self.of(value)
        for group in links(op, known):
            if is_matrix(group[0]):
                self._alike(group)
        if isinstance(op, coopmatrix.MulAddOp):
            self._product(op)
        elif isinstance(op, coopmatrix.ReduceOp):
            self._reduce(op)
        elif isinstance(op, SAME_AXES):
            self._alike(matrices)
        return matrices

    def settle(self) -> None:
        """Let each number stand for its class; nothing is made the same after this."""
        find = self.classes.find
        self.free = {find(axis) for axis in self.free}
        for value, (rows, cols) in self.values.items():
            self.values[value] = (find(rows), find(cols))

    def tiles(self, sizes: Mapping[int, int]) -> Iterator[tuple[SSAValue, Tile]]:
        """Yield the matrices that sizes for axes cut, with their tiles."""
        for value, pair in self.values.items():
            if not is_known(type := matrix_type(value)):
                continue
            rows, cols = (
                size if axis in self.free else sizes.get(axis, size)
                for axis, size in zip(pair, type.shape, strict=True)
            )
            if (rows, cols) != type.shape:
                yield value, (rows, cols)

    def _alike(self, values: Sequence[SSAValue]) -> None:
        """Note that matrices are cut in the same way."""
        for value in values[1:]:
            for one, other in zip(self.of(values[0]), self.of(value), strict=True):
                self.classes.union(one, other)

    def _product(self, op: coopmatrix.MulAddOp) -> None:
        """Note that a is M x K, b is K x N, and c and the result are M x N."""
        (m, k), (b_rows, n) = self.of(op.a), self.of(op.b)
        self.classes.union(k, b_rows)
        for value in (op.c, op.result):
            rows, cols = self.of(value)
            self.classes.union(m, rows)
            self.classes.union(n, cols)

    def _reduce(self, op: coopmatrix.ReduceOp) -> None:
        """Note that one axis stays, and that the other is reduced to one element."""
        kept, gone = (0, 1) if op.axis.data == coopmatrix.Axis.ROWS else (1, 0)
        self.classes.union(self.of(op.value)[kept], self.of(op.result)[kept])
        self.free.add(self.of(op.result)[gone])
