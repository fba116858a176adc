"""resolve-matrix-wi-slice: the elements of a work-item become those of row slices.

Before:  coopmatrix.length, extract, insert and coord
After:   operations of row_slice, and arithmetic in place of coord; kernels with them
         have the distribution #layout.row_slice
Fails:   for specialisation constants as sizes or scopes, matrices that neither a
         subgroup nor a work-group holds, kernels of another distribution.  Nothing is
         changed then

    %e = coopmatrix.extract %m[%i] : !M      %t = row_slice.id %m[%i] : !M
                                             %e = row_slice.extract_element %t : i32
    %n = coopmatrix.insert %v, %m[%i] : !M   %u = row_slice.id %m[%i] : !M
                                             row_slice.insert_element %v, %u : i32
                                             %n = row_slice.insert_to_matrix %u : !M

Slot i of lane p of S is element e = i * S + p, and `coord` (e / columns, e % columns),
or (rows, columns) where e is beyond the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, layout, row_slice, simt
from coopc.dialects.coopmatrix import MatrixType, Scope
from coopc.layout.family import RowSliceFamily

SliceOp = (
    coopmatrix.LengthOp
    | coopmatrix.ExtractOp
    | coopmatrix.InsertOp
    | coopmatrix.CoordOp
)


@dataclass(frozen=True)
class ResolveMatrixWiSlicePass(ModulePass):
    """Make operations on row slices of those on a work-item's elements."""

    name = "resolve-matrix-wi-slice"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all of `op`, then rewrite it."""
        found = [x for x in op.walk() if isinstance(x, SliceOp)]
        for each in found:
            if (reason := refused(matrix_of(each))) is not None:
                each.emit_error(reason, PassFailedException(reason))
        kernels = [x.func for x in simt.kernels(op)] if found else []
        for func in kernels:
            _check_distribution(func)
        for func in kernels:
            func.attributes[coopmatrix.DISTRIBUTION] = layout.RowSliceAttr(
                RowSliceFamily()
            )
        for each in found:
            _resolve(each)


def matrix_of(op: SliceOp) -> MatrixType:
    """Return the type of the matrix that an operation is about."""
    if isinstance(op, coopmatrix.LengthOp):
        return op.matrix_type
    return coopmatrix.matrix_type(op.matrix)


def refused(type: MatrixType) -> str | None:
    """Return why matrices of a type have no row slices here; None if they do."""
    if not type.is_static:
        return f"expected numbers for sizes and scope, got {type}"
    if scope_of(type) not in (Scope.SUBGROUP, Scope.WORKGROUP):
        return f"expected a matrix of a subgroup or a work-group, got {type}"
    return None


def scope_of(type: MatrixType) -> Scope:
    """Return who holds matrices of a type, which is no name of a constant."""
    assert isinstance(type.scope, coopmatrix.ScopeAttr), type
    return type.scope.data


def _check_distribution(func: FuncOp) -> None:
    """Refuse a kernel whose elements are elsewhere."""
    found = func.attributes.get(coopmatrix.DISTRIBUTION)
    if found is None or str(found) in ("#layout.row_slice", '"row_slices"'):
        return
    reason = (
        f"expected {coopmatrix.DISTRIBUTION} to be absent or #layout.row_slice, "
        f"got {found}"
    )
    func.emit_error(reason, PassFailedException(reason))


def _resolve(op: SliceOp) -> None:
    """Replace one operation."""
    match op:
        case coopmatrix.LengthOp():
            length = row_slice.LengthOp(op.matrix_type)
            new: Sequence[Operation] = [length]
            results: Sequence[SSAValue] = [length.result]
        case coopmatrix.ExtractOp():
            token = row_slice.IdOp(op.matrix, op.index)
            element = row_slice.ExtractElementOp(token.result, op.result.type)
            new, results = [token, element], [element.result]
        case coopmatrix.InsertOp():
            token = row_slice.IdOp(op.matrix, op.index)
            put = row_slice.InsertElementOp(op.value, token.result)
            whole = row_slice.InsertToMatrixOp(token.result, op.result.type)
            new, results = [token, put, whole], [whole.result]
        case coopmatrix.CoordOp():
            new, results = _coordinates(op)
    for each in new:
        each.location = op.location
        if isinstance(each, row_slice.IdOp):
            each.result.name_hint = "id"
    for result, old in zip(results, op.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, new, results)


def _coordinates(op: coopmatrix.CoordOp) -> tuple[list[Operation], list[SSAValue]]:
    """Return operations that compute row and column of an element, and these."""
    new: list[Operation] = []

    def add(make: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        new.append(made := make(*operands))
        return made.results[0]

    def number(value: int) -> SSAValue:
        return add(lambda: arith.ConstantOp(IntegerAttr(value, IndexType())))

    type = coopmatrix.matrix_type(op.matrix)
    rows, cols = (number(size) for size in type.shape)
    lanes, own = add(simt.SubgroupSizeOp), add(simt.LaneIdOp)
    if scope_of(type) == Scope.WORKGROUP:
        first = add(arith.MuliOp, add(simt.SubgroupIdOp), lanes)
        own = add(arith.AddiOp, first, own)
        lanes = add(arith.MuliOp, add(simt.NumSubgroupsOp), lanes)
    element = add(arith.AddiOp, add(arith.MuliOp, op.index, lanes), own)
    row = add(arith.DivUIOp, element, cols)
    col = add(arith.RemUIOp, element, cols)
    inside = add(lambda: arith.CmpiOp(row, rows, "ult"))
    rows.name_hint, cols.name_hint, lanes.name_hint = "rows", "cols", "lanes"
    own.name_hint, element.name_hint, inside.name_hint = "own", "element", "inside"
    return new, [
        add(arith.SelectOp, inside, row, rows),
        add(arith.SelectOp, inside, col, cols),
    ]
