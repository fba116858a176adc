"""Which matrices live in a variable while work-items change single elements of them.

A chain of insertions through loops and branches, each of which replaces the matrix that
it was made from, is one variable, changed in place:

    %r = scf.for ... iter_args(%m = %a) {        W := %a
      %n = coopmatrix.insert %e, %m[%i]          W[%i] := %e
      scf.yield %n                               %r is what W holds after the loop
    }

So no matrix *object* is made in control flow that differs between lanes, which the
extension forbids, and no loop copies a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType


@dataclass(slots=True)
class Chain:
    """Values that are one variable, one after the other."""

    root: SSAValue
    """What the variable holds at first."""
    inserts: list[coopmatrix.InsertOp] = field(
        default_factory=list[coopmatrix.InsertOp]
    )
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    """Results and block arguments that the variable is."""


def chains(op: scf.ForOp | scf.IfOp) -> list[tuple[SSAValue, Chain]]:
    """The chains that an operation carries, each with the result that it ends in."""
    found: list[tuple[SSAValue, Chain]] = []
    for position, result in enumerate(op.results):
        if not isinstance(result.type, MatrixType):
            continue
        root = _root(op, position)
        if root is None:
            continue
        chain = Chain(root)
        if _follow(result, root, chain) and chain.inserts and _in_order(chain):
            found.append((result, chain))
    return found


def _root(op: scf.ForOp | scf.IfOp, position: int) -> SSAValue | None:
    """What a result is made from: a value from before the operation."""
    if isinstance(op, scf.ForOp):
        return op.iter_args[position]
    roots = {_outside(_yielded(region, position), op) for region in op.regions}
    (root,) = roots if len(roots) == 1 else (None,)
    return root


def _outside(value: SSAValue, op: Operation) -> SSAValue | None:
    """The value from before `op` that a chain in it begins with."""
    while _is_inside(value, op):
        match value.owner:
            case coopmatrix.InsertOp() as insert:
                value = insert.matrix
            case scf.ForOp() as loop:
                value = loop.iter_args[_position(value, loop)]
            case scf.IfOp() as branch:
                value = _yielded(branch.true_region, _position(value, branch))
            case _:
                return None
    return value


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    around = owner.parent_op() if isinstance(owner, Block) else owner
    return around is not None and around is not op and op.is_ancestor(around)


def _position(value: SSAValue, op: Operation) -> int:
    return list(op.results).index(value)  # pyright: ignore[reportArgumentType]


def _yielded(region: Region, position: int) -> SSAValue:
    last = region.block.last_op
    assert last is not None, region
    return last.operands[position]


def _follow(value: SSAValue, root: SSAValue, chain: Chain) -> bool:
    """Add what lies between a value and the root; whether that is a chain."""
    if value is root or value in chain.values:
        return True
    chain.values.append(value)
    match value.owner:
        case coopmatrix.InsertOp() as insert:
            chain.inserts.append(insert)
            return _follow(insert.matrix, root, chain)
        case scf.IfOp() as branch if branch.false_region.blocks:
            at = _position(value, branch)
            return all(
                _follow(_yielded(region, at), root, chain) for region in branch.regions
            )
        case scf.ForOp() as loop:
            at = _position(value, loop)
            argument = loop.body.block.args[at + 1]
            chain.values.append(argument)
            return _follow(_yielded(loop.body, at), argument, chain) and _follow(
                loop.iter_args[at], root, chain
            )
        case _:
            return False


def _in_order(chain: Chain) -> bool:
    """Whether nobody reads a matrix after an insertion has replaced it."""
    passing = (scf.YieldOp, scf.ForOp, coopmatrix.InsertOp)
    for insert in chain.inserts:
        if insert.matrix is chain.root:
            continue
        for use in insert.matrix.uses:
            reader = use.operation
            if isinstance(reader, coopmatrix.ExtractOp):
                if not _precedes(reader, insert):
                    return False
            elif not isinstance(reader, passing) or (
                reader is not insert and not _exclusive(reader, insert)
            ):
                return False
    return True


def _meeting(one: Operation, other: Operation) -> tuple[Operation, Operation] | None:
    """The operations of one block that hold two operations; None if there are none."""
    above: dict[Block | None, Operation] = {}
    at: Operation | None = one
    while at is not None:
        above[at.parent] = at
        at = at.parent_op()
    at = other
    while at is not None:
        if (found := above.get(at.parent)) is not None:
            return found, at
        at = at.parent_op()
    return None


def _precedes(reader: Operation, insert: Operation) -> bool:
    """Whether a reader ran before an insertion, or never runs with it."""
    met = _meeting(reader, insert)
    if met is None:
        return False
    first, second = met
    if first is second:
        return isinstance(first, scf.IfOp)
    return first.is_before_in_block(second)


def _exclusive(one: Operation, other: Operation) -> bool:
    """Whether two operations are in different branches."""
    met = _meeting(one, other)
    return met is not None and met[0] is met[1] and isinstance(met[0], scf.IfOp)
