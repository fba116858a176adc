"""Matrices in variables of a function of `spirv` become values of its blocks.

Lanes address their elements of a matrix in a variable.  An element is then extracted
from, or inserted into, the value of the matrix, which blocks pass on as an argument
where it is used before it is stored.
"""

from __future__ import annotations

from xdsl.dialects import cf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import spirv
from coopc.dialects.spirv import OPERATIONS, SpirvOp
from coopc.ir.transaction import Refused


def promote_matrix_variables(region: Region) -> None:
    """Replace variables in a graph of blocks with branches of `cf`.

    Raises:
        Refused: one is used otherwise than by loads, stores and element pointers.
    """
    for op in list(region.walk()):
        if isinstance(op, SpirvOp) and op.name == "spirv.Variable":
            type = op.results[0].type
            assert isinstance(type, spirv.PointerType), op
            if isinstance(type.pointee, spirv.CooperativeMatrixType):
                _promote(op, type.pointee, region)


def _promote(
    variable: SpirvOp, type: spirv.CooperativeMatrixType, region: Region
) -> None:
    accesses = _accesses(variable)
    entry = region.blocks[0]
    live = _live(accesses, region)
    arguments: dict[Block, SSAValue] = {
        block: block.insert_arg(type, len(block.args))
        for block in region.blocks
        if block in live and block is not entry
    }
    undefined = OPERATIONS["spirv.Undef"].create(result_types=[type])
    Rewriter.insert_op(undefined, InsertPoint.before(variable))
    first = variable.operands[0] if variable.operands else undefined.results[0]
    for block in region.blocks:
        value: SSAValue = arguments.get(block, first)
        for op in list(block.ops):
            if op in accesses:
                value = _replace(op, accesses[op], value)
            elif op is block.last_op:
                _pass_on(op, value, arguments)
    for use in list(variable.results[0].uses):
        Rewriter.erase_op(use.operation)
    Rewriter.erase_op(variable)


def _accesses(variable: SpirvOp) -> dict[Operation, SSAValue | None]:
    """The loads and stores of a variable, each with the index of its element, if any.

    Raises:
        Refused: it has another use.
    """
    found: dict[Operation, SSAValue | None] = {}
    (pointer,) = variable.results
    for use in pointer.uses:
        op = use.operation
        if op.name == "spirv.AccessChain" and len(op.operands) == 2:
            for inner in op.results[0].uses:
                found[inner.operation] = op.operands[1]
        else:
            found[op] = None
    for op in found:
        if op.name not in ("spirv.Load", "spirv.Store"):
            raise Refused(op, "expected a load or a store of a matrix in a variable")
    return found


def _live(accesses: dict[Operation, SSAValue | None], region: Region) -> set[Block]:
    """The blocks that need the value that the variable has at their start."""
    found: set[Block] = set()
    written: set[Block] = set()
    for block in region.blocks:
        first = next((op for op in block.ops if op in accesses), None)
        if first is None:
            continue
        is_whole = first.name == "spirv.Store" and accesses[first] is None
        (written if is_whole else found).add(block)
    todo = list(found)
    while todo:
        for before in todo.pop().predecessors():
            if before not in found and before not in written:
                found.add(before)
                todo.append(before)
    return found


def _replace(op: Operation, index: SSAValue | None, matrix: SSAValue) -> SSAValue:
    """Replace an access, and return the matrix after it."""
    match op.name, index:
        case "spirv.Load", None:
            Rewriter.replace_op(op, [], [matrix])
            return matrix
        case "spirv.Load", _:
            assert index is not None, op
            made = OPERATIONS["spirv.VectorExtractDynamic"].create(
                operands=[matrix, index], result_types=op.result_types
            )
            Rewriter.replace_op(op, made)
            return matrix
        case _, None:
            stored = op.operands[1]
            Rewriter.erase_op(op)
            return stored
        case _:
            made = OPERATIONS["spirv.VectorInsertDynamic"].create(
                operands=[matrix, op.operands[1], index], result_types=[matrix.type]
            )
            Rewriter.replace_op(op, made, [])
            return made.results[0]


def _pass_on(end: Operation, value: SSAValue, arguments: dict[Block, SSAValue]) -> None:
    """Pass a value to the blocks that have it as an argument."""

    def more(block: Block) -> list[SSAValue]:
        return [value] if block in arguments else []

    match end:
        case cf.BranchOp(successor=to):
            made = cf.BranchOp(to, *end.arguments, *more(to))
        case cf.ConditionalBranchOp(then_block=yes, else_block=no):
            made = cf.ConditionalBranchOp(
                end.cond,
                yes,
                [*end.then_arguments, *more(yes)],
                no,
                [*end.else_arguments, *more(no)],
            )
        case _:
            return
    made.location = end.location
    Rewriter.replace_op(end, made, [])
