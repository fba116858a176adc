"""Tiles that control flow does nothing with but choose among others.

    %t = scf.if %c {                          %t = scf.if %c {
      scf.yield %x                              scf.yield %x
    } else {                                  } else {
      scf.yield %y                              store %y, %slot
    }                                           %z = load %slot
                                                scf.yield %z
                                              }

LLVM makes a selection of such a choice, which x86 has none of for tiles: it aborts.
So but for one of them they are loaded where they are chosen, and loads stay there.  Of
what a loop carries, that one is what it begins with.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, IndexSwitchOp, WhileOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import amx
from coopc.dialects.amx import TileType, tile_type

ALIGNMENT = 64
"""Of slots, in bytes."""


def copy_choices(func: FuncOp) -> None:
    """Load tiles where they are chosen, as far as nothing is computed there."""
    for op in tuple(func.walk()):
        if isinstance(op, ForOp | IfOp | IndexSwitchOp | WhileOp):
            for end, place in _chosen(op):
                _copy(func.body.block, end, place)


def _chosen(op: Operation) -> Iterator[tuple[YieldOp, int]]:
    """Yield the terminators that give on tiles which are to be loaded, and which."""
    is_loop = isinstance(op, ForOp | WhileOp)
    ends = _ends(op)
    for place in range(len(ends[0].operands) if ends else 0):
        if not isinstance(ends[0].operands[place].type, TileType):
            continue
        given = [
            end
            for end in ends
            if not _is_computed(value := end.operands[place], op)
            and not _is_carried(value, op, place)
        ]
        for end in given if is_loop else given[1:]:
            yield end, place


def _ends(op: Operation) -> list[YieldOp]:
    """Return the terminators by which a branch or a loop gives on values."""
    ends = (block.last_op for region in op.regions for block in region.blocks)
    return [end for end in ends if isinstance(end, YieldOp)]


def _is_computed(value: SSAValue, op: Operation) -> bool:
    """Whether something in an operation makes a tile, and not only chooses it."""
    made = value.owner
    if not isinstance(made, Operation) or not op.is_ancestor(made):
        return False
    if made.dialect_name() == "amx":
        return True
    return any(
        _is_computed(inner, made)
        for end in _ends(made)
        for inner in end.operands
        if isinstance(inner.type, TileType)
    )


def _is_carried(value: SSAValue, op: Operation, place: int) -> bool:
    """Whether a loop gives on what it got in the same place."""
    if not isinstance(value, BlockArgument) or value.block.parent_op() is not op:
        return False
    return value.index == place + (1 if isinstance(op, ForOp) else 0)


def _copy(start: Block, end: YieldOp, place: int) -> None:
    """Store a tile to the stack in front of a terminator, and load it again."""
    tile = end.operands[place]
    type = tile_type(tile)
    zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
    slot = memref.AllocaOp.get(type.element_type, ALIGNMENT, type.shape)
    slot.alignment = IntegerAttr(ALIGNMENT, i64)
    first = start.first_op
    assert first is not None
    for op in (zero, slot):
        op.location = first.location
        Rewriter.insert_op(op, InsertPoint.before(first))
    at = [zero.result, zero.result]
    store = amx.TileStoreOp(slot.memref, at, tile)
    load = amx.TileLoadOp(slot.memref, at, type)
    for op in (store, load):
        op.location = end.location
        Rewriter.insert_op(op, InsertPoint.before(end))
    load.result.name_hint = tile.name_hint
    end.operands[place] = load.result
