"""Structured control flow of `spirv`, as blocks and branches of `cf`.

    spirv.mlir.selection {                    cf.cond_br %c, ^yes, ^done
      spirv.BranchConditional %c, ^yes, ^done   ^yes:
    ^yes:                                       ..
      ..                                        cf.br ^done
      spirv.Branch ^done                      ^done:
    ^done:
      spirv.mlir.merge
    }

`reader` makes `scf` of the blocks, as of those of `llvm`.
"""

from __future__ import annotations

from itertools import islice

from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import Rewriter

from coopc.dialects.spirv import SpirvOp, name_of


def flatten(region: Region) -> None:
    """Inline the regions of loops and selections; branches become those of cf.

    Raises:
        Refused: a branch is not read.
    """
    todo = list(region.blocks)
    while todo:
        block = todo.pop()
        for op in list(block.ops):
            if name_of(op) in ("mlir.loop", "mlir.selection"):
                todo += _inline(op, block)
                break
            _branch(op, block)


def _inline(op: Operation, block: Block) -> list[Block]:
    """Put the blocks of an operation's region behind it; return what is to be read."""
    after = block.split_before(op)
    op.detach()
    for result in op.results:
        result.replace_all_uses_with(after.insert_arg(result.type, len(after.args)))
    region, inner = op.regions[0], list(op.regions[0].blocks)
    assert block.parent is not None, op
    if not inner:
        block.add_op(cf.BranchOp(after))
        op.erase()
        return [after]
    region.move_blocks_before(after)
    for each in inner:
        end = each.last_op
        if end is not None and name_of(end) == "mlir.merge":
            made = cf.BranchOp(after, *end.operands)
            made.location = end.location
            Rewriter.replace_op(end, made, [])
    block.add_op(cf.BranchOp(inner[0]))
    op.erase()
    return [after, *inner]


def _branch(op: Operation, block: Block) -> None:
    """Replace the end of a block."""
    if not isinstance(op, SpirvOp):
        return
    made: Operation
    match name_of(op):
        case "Return":
            made = func.ReturnOp()
        case "Branch":
            made = cf.BranchOp(op.successors[0], *op.operands)
        case "BranchConditional":
            condition, *rest = op.operands
            _, first, _ = op.numbers("operandSegmentSizes")
            yes, no = op.successors
            ways = yes, rest[:first], no, rest[first:]
            made = cf.ConditionalBranchOp(condition, *ways)
        case "Switch":
            _switch(op, block)
            return
        case _:
            return
    made.location = op.location
    Rewriter.replace_op(op, made, [])


def _switch(op: SpirvOp, block: Block) -> None:
    """Replace a switch by branches, one after the other."""
    selector, *rest = op.operands
    _, count, _ = op.numbers("operandSegmentSizes")
    default, *targets = op.successors
    given = iter(rest[count:])
    parent, numbers = block.parent, op.numbers("literals")
    assert parent is not None, op
    op.detach()
    counts = op.numbers("case_operand_segments")
    for literal, target, size in zip(numbers, targets, counts, strict=True):
        number = arith.ConstantOp(IntegerAttr(literal, i32))
        same = arith.CmpiOp(selector, number.result, "eq")
        parent.insert_block_after(other := Block(), block)
        passed = list(islice(given, size))
        branch = cf.ConditionalBranchOp(same.result, target, passed, other, [])
        for each in (number, same, branch):
            each.location = op.location
            block.add_op(each)
        block = other
    block.add_op(cf.BranchOp(default, *rest[:count]))
    op.erase()
