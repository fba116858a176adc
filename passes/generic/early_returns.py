"""Structures functions of Triton that return early: branches become `scf.if`.

The same with bodies of `tt.map_elementwise`.

    cf.cond_br %c, ^end, ^rest      scf.if %c {
    ^end:                           } else {
      tt.return                       ..
    ^rest:                          }
      ..                            tt.return
      tt.return

Triton writes loops and conditions as `scf`; blocks are left where a condition returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from xdsl.dialects import cf, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from coopc.dialects import tt
from coopc.ir.transaction import Refused

MOST_COPIES = 64
"""Of blocks: one that is behind several conditions is behind each of their branches."""


RETURNS = (tt.ReturnOp, tt.MapElementwiseReturnOp)


def return_at_the_end(func: tt.FuncOp) -> None:
    """Let a function be one block, which returns at its end.

    Likewise the bodies of its `tt.map_elementwise`.

    Raises:
        Refused: branches form a loop, too many copies of blocks are behind them, or a
            block ends otherwise; the region is then as it was.
    """
    mapped = [x for x in func.body.walk() if isinstance(x, tt.MapElementwiseOp)]
    for op, region in (*((x, x.scalar_op) for x in mapped), (func, func.body)):
        if len(region.blocks) < 2:
            continue
        first, *rest = region.blocks
        if sum(1 for _ in _copies(first, ())) > MOST_COPIES:
            what = f"at most {MOST_COPIES} blocks behind conditions that return"
            raise Refused(op, f"expected {what}, got more")
        _end(first, {})
        for block in rest:
            region.detach_block(block).drop_all_references()


def _copies(block: Block, path: tuple[Block, ...]) -> Iterator[Block]:
    """Yield the blocks behind a block, each as often as paths lead there.

    Raises:
        Refused: a path leads back to a block, or ends without returning.
    """
    last, path = block.last_op, (*path, block)
    assert last is not None, block
    if not isinstance(last, (cf.BranchOp, cf.ConditionalBranchOp, *RETURNS)):
        what = "cf.br, cf.cond_br or a return at the end of a block"
        raise Refused(last, f"expected {what}, got {last.name}")
    for to in last.successors:
        if to in path:
            raise Refused(
                last, "expected branches without loops, got one to a block before"
            )
        yield to
        yield from islice(_copies(to, path), MOST_COPIES)


def _end(block: Block, known: Mapping[SSAValue, SSAValue]) -> None:
    """Let a block end by returning, with what its branches lead to inside."""
    last = block.last_op
    match last:
        case cf.BranchOp():
            to, given = last.successor, [*last.arguments]
            Rewriter.erase_op(last)
            _copy(to, given, block, known)
        case cf.ConditionalBranchOp():
            regions = Region(Block()), Region(Block())
            given = last.then_arguments, last.else_arguments
            for region, to, each in zip(regions, last.successors, given, strict=True):
                _copy(to, each, region.block, known)
            (kind, returned), _ = map(_yielded, regions)
            either = scf.IfOp(last.cond, [x.type for x in returned], *regions)
            end = kind.create(operands=either.results)
            for new in (either, end):
                new.location = last.location
            Rewriter.replace_op(last, [either, end], [])
        case _:
            pass  # it returns


def _copy(
    source: Block,
    given: Sequence[SSAValue],
    into: Block,
    known: Mapping[SSAValue, SSAValue],
) -> None:
    """Add the operations of a block of the function to another one."""
    mapper = {**known, **dict(zip(source.args, given, strict=True))}
    for op in source.ops:
        into.add_op(op.clone(mapper))
    _end(into, mapper)


def _yielded(region: Region) -> tuple[type[Operation], Sequence[SSAValue]]:
    """Let a region yield what it returns; give its old end's type and operands."""
    last = region.block.last_op
    assert isinstance(last, RETURNS), last
    values = [*last.operands]
    Rewriter.replace_op(last, [scf.YieldOp(*values)], [])
    return type(last), values
