"""resolve-subgroup-wi-call: lowers vectorized row slices to slices of matrices.

Before:  row_slice operations on S lanes, as vectorize-subgroup leaves them.
After:   constants in place of lengths; row slices are extracted from matrices and
         inserted into them at offset index * S.
Fails:   for row_slice operations that are not vectorized, or with another subgroup
         size, and for a token used outside the block that defines it.

    %t = row_slice.id %m[%i] : !M
    %v = row_slice.extract_element %t : vector<16xi32>

    %offset = arith.muli %i, %c16 : index
    %v = coopmatrix.extract_row_slice %m[%offset] : !M -> vector<16xi32>

The elements of the last row slice beyond the matrix need no mask: by their definition
`extract_row_slice` reads them as 0, and `insert_row_slice` drops them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix, row_slice
from coopc.ir.builder import INDEX, Builder
from coopc.ir.transaction import Refused, transaction


@dataclass(frozen=True)
class ResolveSubgroupWiCallPass(ModulePass):
    name = "resolve-subgroup-wi-call"

    subgroup_size: int | None = None
    """Subgroup size, which operations are checked against; by default theirs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            for each in tuple(draft.walk()):
                if isinstance(each, row_slice.LengthOp):
                    lanes = None if each.lanes is None else each.lanes.value.data
                    rows, cols = each.matrix_type.shape
                    slots = -(-rows * cols // self._lanes(each, lanes))
                    count = Builder.at(each).constant(INDEX, slots)
                    count.name_hint = each.result.name_hint
                    Rewriter.replace_op(each, [], [count])
                elif isinstance(each, row_slice.IdOp):
                    self._resolve_token(each)
            for each in draft.walk():
                if each.dialect_name() == "row_slice":
                    raise Refused(
                        each,
                        "expected a token of row_slice.id, got one that comes from "
                        "elsewhere",
                    )

    def _resolve_token(self, op: row_slice.IdOp) -> None:
        """Replace a token by what its matrix is after each insertion."""
        users = {use.operation for use in op.result.uses}
        block = op.parent
        if block is None or any(user.parent is not block for user in users):
            raise Refused(
                op, "expected a token to be used in the block that it is made in"
            )
        b, matrix = Builder.at(op), op.matrix
        offsets: set[SSAValue] = set()
        for each in [x for x in block.ops if x in users]:
            if isinstance(each, row_slice.InsertToMatrixOp):
                if matrix.name_hint is None:
                    matrix.name_hint = each.result.name_hint
                Rewriter.replace_op(each, [], [matrix])
                continue
            assert isinstance(
                each, row_slice.ExtractElementOp | row_slice.InsertElementOp
            ), each
            is_read = isinstance(each, row_slice.ExtractElementOp)
            type = each.result.type if is_read else each.value.type
            lanes = self._lanes(each, row_slice.lanes_of(type))
            offset = b.pure(arith.MuliOp, op.index, b.constant(INDEX, lanes))
            offset.name_hint = "offset"
            offsets.add(offset)
            if is_read:
                new = coopmatrix.ExtractRowSliceOp(matrix, offset, type)
                new.location = each.location
                Rewriter.replace_op(each, new)
            else:
                new = coopmatrix.InsertRowSliceOp(each.value, matrix, offset, each.mask)
                Builder.at(each).effect(new)
                Rewriter.erase_op(each)
                matrix = new.result
        if len(offsets) > 1:
            raise Refused(
                op,
                "expected uses of a token for as many lanes each, got several numbers",
            )
        Rewriter.erase_op(op)

    def _lanes(self, op: Operation, lanes: int | None) -> int:
        """Return the lanes of an operation, as many as are expected."""
        if lanes is None:
            raise Refused(
                op, "expected an operation on all lanes, as vectorize-subgroup makes it"
            )
        if self.subgroup_size not in (None, lanes):
            raise Refused(
                op, f"expected vectors of {self.subgroup_size} lanes, got {lanes}"
            )
        return lanes
