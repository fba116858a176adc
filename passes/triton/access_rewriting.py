"""Accesses of matrices: descriptors, and blocks of them, in place of pointers."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.arith import ConstantOp, SelectOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt, ttig
from coopc.dialects.tt.names import BLOCK_IO, BLOCK_IO_STRIDE
from coopc.dialects.tt.types import PtrType, TensorDescType
from coopc.passes.triton.materialize import Writer, place_after
from coopc.passes.triton.pointer_matrix import AccessOp, Matrix
from coopc.passes.xe.accesses import NO_PROMISE
from coopc.rewrite.polynomial import ONE

Given = ttig.BlockLoad2DFromPtrOp | ttig.BlockLoad2DOp
"""Loads of 2D blocks already, which keep to the rules of those."""


@dataclass(slots=True)
class AccessWriter:
    """Writes the accesses of one function."""

    entry: Block
    made: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    """What has been written already."""

    def rewrite(self, op: AccessOp, matrix: Matrix) -> None:
        """Put an access of a block in the place of one through pointers."""
        writer = Writer(self.entry, op, self.made)
        desc = self.descriptor(writer, matrix)
        indices = self.indices(writer, op, matrix)
        new: Operation
        match op:
            case tt.LoadOp():
                new = tt.DescriptorLoadOp(
                    desc,
                    indices,
                    op.result.type,
                    cache=op.cache_modifier,
                    evict=op.eviction_policy,
                )
            case tt.StoreOp():
                new = tt.DescriptorStoreOp(desc, indices, op.value)
            case ttig.BlockLoad2DFromPtrOp() | ttig.BlockLoad2DOp():
                new = tt.DescriptorLoadOp(desc, indices, op.result.type)
            case ttig.PrefetchOp():
                new = ttig.DescriptorPrefetchOp(desc, indices, op.cache_modifier)
        new.location = op.location
        new.attributes |= op.attributes
        new.attributes.pop(BLOCK_IO_STRIDE, None)
        if not isinstance(op, Given) and BLOCK_IO not in op.attributes:
            new.attributes[NO_PROMISE] = UnitAttr()
        new.attributes[BLOCK_IO] = StringAttr(matrix.order)
        Rewriter.insert_op(new, InsertPoint.before(op))
        results = list[SSAValue](new.results)
        if isinstance(op, tt.LoadOp | ttig.BlockLoad2DFromPtrOp):
            results = [self.chosen(op, new)]
        Rewriter.replace_op(op, [], results)

    def chosen(
        self, op: tt.LoadOp | ttig.BlockLoad2DFromPtrOp, new: Operation
    ) -> SSAValue:
        """Return what was loaded, and `other` where the mask is false."""
        (loaded,) = new.results
        loaded.name_hint = op.result.name_hint
        if op.mask is None or op.other is None or is_zero(op.other):
            return loaded
        select = SelectOp(op.mask, loaded, op.other)
        select.location = op.location
        Rewriter.insert_op(select, InsertPoint.before(op))
        return select.result

    def descriptor(self, writer: Writer, matrix: Matrix) -> SSAValue:
        """Return the descriptor of a matrix, made where all of it is known."""
        base = matrix.base
        if matrix.moved:
            by = writer.value(matrix.moved, i64)
            key = ("moved", base, by)
            uses, start = [base, by], base
            base = writer.once(key, uses, lambda: tt.AddPtrOp(start, by))
        sizes = [writer.value(x, i32) for x in matrix.sizes]
        strides = [writer.value(x, i64) for x in (matrix.pitch, ONE)]
        type = base.type
        assert isinstance(type, PtrType), base
        described = TensorDescType.of(type.pointee, matrix.tile)
        uses = [base, *sizes, *strides]
        return writer.once(
            ("descriptor", *uses, described),
            uses,
            lambda: tt.MakeTensorDescriptorOp(
                base, sizes, strides, described, matrix.padding
            ),
        )

    def indices(self, writer: Writer, op: AccessOp, matrix: Matrix) -> list[SSAValue]:
        """Return where the block begins; behind the last row if a flag is false."""
        row, col = (writer.value(x, i32) for x in matrix.starts)
        for flag in matrix.flags:
            behind = writer.value(matrix.sizes[0], i32)
            chosen = SelectOp(flag, row, behind)
            chosen.location = op.location
            Rewriter.insert_op(chosen, place_after([flag, row, behind]))
            row = chosen.result
        return [row, col]


def is_zero(value: SSAValue) -> bool:
    """Whether all bits of a tensor are known to be 0."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return False
    constant = owner.value
    return isinstance(constant, DenseIntOrFPElementsAttr) and not any(
        constant.data.data
    )
