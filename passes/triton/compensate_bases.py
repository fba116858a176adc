"""Bases that are not aligned: the surface begins at the last address before that is.

    base + moved          columns from x on, of width w
    base + (moved - r)    columns from x + r on, of width w + r

where r is what `moved` is beyond a multiple of 64 bytes.

Only of matrices that are as wide as a tile, which is known: of others nobody could say
before that they are not wider than their pitch then.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.arith import AddiOp, AndIOp, ConstantOp, SubiOp, TruncIOp
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Block

from coopc.dialects import tt
from coopc.dialects.tt.types import bits_of
from coopc.passes.triton.base_alignment import (
    ALIGNED,
    SURFACE_ALIGNMENT,
    alignment_of,
)
from coopc.passes.triton.descriptor_forms import BlockOp, Writing
from coopc.passes.triton.materialize import Writer
from coopc.passes.xe.convert_to_xe.entry import constant_of


def compensate(
    entry: Block, made: tt.MakeTensorDescriptorOp, blocks: Sequence[BlockOp]
) -> None:
    """Make the base of a descriptor aligned, where that is needed and possible.

    Args:
        entry: of the function.
        made: the descriptor, of rank 2.
        blocks: all that is accessed through it.
    """
    width = constant_of(made.shape[-1])
    columns = [constant_of(op.indices[-1]) for op in blocks]
    if width is None or any(x is None or x < 0 for x in columns):
        return
    bits = bits_of(made.type.tensor)
    assert bits is not None, made
    found = alignment_of(made.base, bits // 8)
    if found is None or not found.rest:
        return
    unit = SURFACE_ALIGNMENT * 8 // bits
    before = Writing.before(made)
    moved = Writer(entry, made).value(found.moved, i64)
    mask = before.value(ConstantOp(IntegerAttr(unit - 1, i64)))
    rest = before.value(AndIOp(moved, mask))
    start = before.value(SubiOp(moved, rest))
    aligned = tt.AddPtrOp(found.base, start)
    aligned.attributes[ALIGNED] = UnitAttr()
    base = before.value(aligned)
    shift = before.value(TruncIOp(rest, i32))
    wide = before.value(ConstantOp(IntegerAttr(width + unit, i32)))
    made.operands[0] = base
    made.operands[len(made.shape)] = wide
    for op in blocks:
        column = Writing.before(op).value(AddiOp(op.indices[-1], shift))
        op.operands[len(op.operands) - 1] = column
