"""resolve-subgroup-wi-call: widened operations of row_slice become those on matrices.

Before:  row_slice operations widened to S lanes, as vectorize-subgroup leaves them
After:   no row_slice operations: lengths are constants, and row slices are extracted
         from matrices and inserted into them at offset index * S
Fails:   for operations that are not widened, or for other lanes than S; a token that
         is used in another block than it is made in.  Nothing is changed then

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
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, row_slice
from coopc.ir.builder import INDEX, Builder


@dataclass(frozen=True)
class ResolveSubgroupWiCallPass(ModulePass):
    """Make row slices of matrices of widened tokens."""

    name = "resolve-subgroup-wi-call"

    subgroup_size: int | None = None
    """S, which operations are checked against; what they say if it is absent."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all of `op`, then rewrite it."""
        found = [x for x in op.walk() if x.dialect_name() == "row_slice"]
        for each in found:
            if (reason := self._refused(each)) is not None:
                each.emit_error(reason, PassFailedException(reason))
        for each in found:
            if isinstance(each, row_slice.LengthOp):
                _resolve_length(each)
            elif isinstance(each, row_slice.IdOp):
                _resolve_token(each)

    def _refused(self, op: Operation) -> str | None:
        """Return why an operation is not resolved; None if it is."""
        token: SSAValue | None = None
        match op:
            case row_slice.LengthOp():
                lanes = None if op.lanes is None else op.lanes.value.data
            case row_slice.ExtractElementOp():
                lanes, token = row_slice.lanes_of(op.result.type), op.token
            case row_slice.InsertElementOp():
                lanes, token = row_slice.lanes_of(op.value.type), op.token
            case row_slice.IdOp():
                return _misused(op)
            case _:
                lanes, token = self.subgroup_size or 1, op.operands[0]
        if lanes is None:
            return "expected an operation on all lanes, as vectorize-subgroup makes it"
        if token is not None and not isinstance(token.owner, row_slice.IdOp):
            return "expected a token of row_slice.id, got one that comes from elsewhere"
        if self.subgroup_size not in (None, lanes):
            return f"expected vectors of {self.subgroup_size} lanes, got {lanes}"
        return None


def _misused(op: row_slice.IdOp) -> str | None:
    """Return why the uses of a token cannot be followed; None if they can."""
    if any(use.operation.parent is not op.parent for use in op.result.uses):
        return "expected a token to be used in the block that it is made in"
    widths = {
        row_slice.lanes_of(
            user.result.type
            if isinstance(user, row_slice.ExtractElementOp)
            else user.value.type
        )
        for user in (use.operation for use in op.result.uses)
        if isinstance(user, row_slice.ExtractElementOp | row_slice.InsertElementOp)
    }
    if len(widths) > 1:
        return "expected uses of a token for as many lanes each, got several numbers"
    return None


def _resolve_length(op: row_slice.LengthOp) -> None:
    assert op.lanes is not None, op
    rows, cols = op.matrix_type.shape
    count = Builder.at(op).constant(INDEX, -(-rows * cols // op.lanes.value.data))
    count.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [], [count])


def _resolve_token(op: row_slice.IdOp) -> None:
    """Replace a token by what its matrix is after each insertion."""
    users = {use.operation for use in op.result.uses}
    matrix, start = op.matrix, Builder.at(op)
    for each in [x for x in _following(op) if x in users]:
        match each:
            case row_slice.ExtractElementOp():
                offset, type = _offset(start, op, each.result.type), each.result.type
                new = coopmatrix.ExtractRowSliceOp(matrix, offset, type)
                Builder.at(each).effect(new)
                new.result.name_hint = each.result.name_hint
                Rewriter.replace_op(each, [], new.results)
            case row_slice.InsertElementOp():
                offset = _offset(start, op, each.value.type)
                put = coopmatrix.InsertRowSliceOp(each.value, matrix, offset, each.mask)
                Builder.at(each).effect(put)
                Rewriter.erase_op(each)
                matrix = put.result
            case _:
                if matrix.name_hint is None:
                    matrix.name_hint = each.results[0].name_hint
                Rewriter.replace_op(each, [], [matrix])
    Rewriter.erase_op(op)


def _following(op: Operation) -> list[Operation]:
    """Return the operations of the block behind one."""
    found: list[Operation] = []
    while (following := op.next_op) is not None:
        found.append(following)
        op = following
    return found


def _offset(b: Builder, op: row_slice.IdOp, type: Attribute) -> SSAValue:
    """Insert the number of the first element of a row slice."""
    lanes = row_slice.lanes_of(type)
    assert lanes is not None, op
    offset = b.pure(arith.MuliOp, op.index, b.constant(INDEX, lanes))
    offset.name_hint = "offset"
    return offset
