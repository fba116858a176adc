"""resolve-matrix-wi-slice: expresses the elements of work-items by row slices.

Before:  coopmatrix.length, extract, insert and coord.
After:   row_slice operations, and arithmetic in place of coord. Kernels that contain
         them get the distribution #layout.row_slice.
Fails:   for specialization constants as sizes or scopes, for matrices held by neither a
         subgroup nor a work-group, and for kernels with another distribution. The
         module is then unchanged.

    %e = coopmatrix.extract %m[%i] : !M      %t = row_slice.id %m[%i] : !M
                                             %e = row_slice.extract_element %t : i32
    %n = coopmatrix.insert %v, %m[%i] : !M   %u = row_slice.id %m[%i] : !M
                                             row_slice.insert_element %v, %u : i32
                                             %n = row_slice.insert_to_matrix %u : !M

Slot i of lane p of S is element e = i * S + p, and `coord` (e / columns, e % columns),
or (rows, columns) where e is beyond the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix, layout, row_slice, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.ir.builder import INDEX, Builder
from coopc.ir.control_flow import function_around
from coopc.ir.matrix_size import is_of_lanes
from coopc.ir.transaction import Refused, transaction
from coopc.layout.family import RowSliceFamily
from coopc.passes.coopmatrix.narrow_matrix_scope import SUBGROUP, WORKGROUP

SliceOp = (
    coopmatrix.LengthOp
    | coopmatrix.ExtractOp
    | coopmatrix.InsertOp
    | coopmatrix.CoordOp
)


@dataclass(frozen=True)
class ResolveMatrixWiSlicePass(ModulePass):
    name = "resolve-matrix-wi-slice"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            found = [x for x in draft.walk() if isinstance(x, SliceOp)]
            holders = {function_around(x) for x in found}
            for each in found:
                _resolve(each)
            for kernel in simt.kernels(draft) if found else ():
                if is_of_lanes(kernel.func) and kernel.func not in holders:
                    continue
                attributes = kernel.func.attributes
                said = attributes.get(coopmatrix.DISTRIBUTION)
                if str(said) not in ("None", "#layout.row_slice", '"row_slices"'):
                    raise Refused(
                        kernel.func,
                        f"expected {coopmatrix.DISTRIBUTION} to be absent or "
                        f"#layout.row_slice, got {said}",
                    )
                rule = layout.RowSliceAttr(RowSliceFamily())
                attributes[coopmatrix.DISTRIBUTION] = rule


def _resolve(op: SliceOp) -> None:
    """Replace one operation.

    Raises:
        Refused: its matrix has no row slices here.
    """
    is_length = isinstance(op, coopmatrix.LengthOp)
    type = op.matrix_type if is_length else coopmatrix.matrix_type(op.matrix)
    if not type.is_static:
        raise Refused(op, f"expected numbers for sizes and scope, got {type}")
    if type.scope not in (SUBGROUP, WORKGROUP):
        what = f"expected a matrix of a subgroup or a work-group, got {type}"
        raise Refused(op, what)
    b = Builder.at(op)
    results: Sequence[SSAValue]
    match op:
        case coopmatrix.LengthOp():
            results = [b.pure(row_slice.LengthOp, type)]
        case coopmatrix.CoordOp():
            results = _coordinates(b, op, type)
        case _:
            (token,) = b.effect(row_slice.IdOp(op.matrix, op.index)).results
            token.name_hint = "id"
            if isinstance(op, coopmatrix.ExtractOp):
                new = b.effect(row_slice.ExtractElementOp(token, op.result.type))
            else:
                b.effect(row_slice.InsertElementOp(op.value, token))
                new = b.effect(row_slice.InsertToMatrixOp(token, op.result.type))
            results = new.results
    for result, old in zip(results, op.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, [], results)


def _coordinates(
    b: Builder, op: coopmatrix.CoordOp, type: MatrixType
) -> list[SSAValue]:
    rows, cols = (b.constant(INDEX, size) for size in type.shape)
    lanes, own = b.pure(simt.SubgroupSizeOp), b.pure(simt.LaneIdOp)
    if type.scope == WORKGROUP:
        first = b.pure(arith.MuliOp, b.pure(simt.SubgroupIdOp), lanes)
        own = b.pure(arith.AddiOp, first, own)
        lanes = b.pure(arith.MuliOp, b.pure(simt.NumSubgroupsOp), lanes)
    lanes.name_hint, own.name_hint = "lanes", "own"
    element = b.pure(arith.AddiOp, b.pure(arith.MuliOp, op.index, lanes), own)
    row = b.pure(arith.DivUIOp, element, cols)
    col = b.pure(arith.RemUIOp, element, cols)
    inside = b.compare("ult", row, rows)
    element.name_hint, inside.name_hint = "element", "inside"
    return [b.select(inside, row, rows), b.select(inside, col, cols)]
