"""Functions of Triton that return in the middle: branches become `scf.if`.

    cf.cond_br %c, ^end, ^rest      scf.if %c {
    ^end:                           } else {
      tt.return                       ..
    ^rest:                          }
      ..                            tt.return
      tt.return

Triton writes loops and conditions as `scf`; blocks are left where a condition returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import cf, scf
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from coopc.dialects import tt
from coopc.ir.transaction import Refused

MOST_COPIES = 64
"""Of blocks: one that is behind several conditions is behind each of their branches."""


def return_at_the_end(func: tt.FuncOp) -> None:
    """Let a function be one block, which returns at its end.

    Raises:
        Refused: branches form a loop, or too many copies of blocks are behind them.
    """
    if len(func.body.blocks) < 2:
        return
    first, *rest = func.body.blocks
    _Paths(func).end(first, {}, (first,))
    for block in rest:
        func.body.detach_block(block).drop_all_references()


class _Paths:
    def __init__(self, func: tt.FuncOp) -> None:
        self.func = func
        self.copies = 0

    def end(
        self, block: Block, known: dict[SSAValue, SSAValue], path: tuple[Block, ...]
    ) -> None:
        """Let a block end in `tt.return`, with what its branches lead to inside.

        Args:
            block: ends in a branch, or returns.
            known: what values of the function are there.
            path: the blocks of the function that led there.
        """
        last = block.last_op
        assert last is not None, self.func
        match last:
            case cf.BranchOp():
                to, given = last.successor, [*last.arguments]
                Rewriter.erase_op(last)
                self._copy(to, given, block, known, path)
            case cf.ConditionalBranchOp():
                branches: list[Region] = []
                for to, given in (
                    (last.then_block, last.then_arguments),
                    (last.else_block, last.else_arguments),
                ):
                    inside = Block()
                    self._copy(to, given, inside, dict(known), path)
                    branches.append(Region(inside))
                returned = self._yielded(branches[0])
                self._yielded(branches[1])
                either = scf.IfOp(last.cond, [x.type for x in returned], *branches)
                end = tt.ReturnOp.create(operands=either.results)
                for new in (either, end):
                    new.location = last.location
                Rewriter.replace_op(last, [either, end], [])
            case _:
                pass

    def _copy(
        self,
        source: Block,
        given: Sequence[SSAValue],
        into: Block,
        known: Mapping[SSAValue, SSAValue],
        path: tuple[Block, ...],
    ) -> None:
        """Add the operations of a block of the function to another one."""
        if source in path:
            raise Refused(self.func, "expected no loop of branches, got one")
        self.copies += 1
        if self.copies > MOST_COPIES:
            what = f"at most {MOST_COPIES} blocks behind conditions that return"
            raise Refused(self.func, f"expected {what}, got more")
        mapper = {**known, **dict(zip(source.args, given, strict=True))}
        for op in source.ops:
            into.add_op(op.clone(mapper))
        self.end(into, mapper, (*path, source))

    @staticmethod
    def _yielded(region: Region) -> Sequence[SSAValue]:
        """Yield what a region returns."""
        last = region.block.last_op
        assert isinstance(last, tt.ReturnOp), last
        values = [*last.operands]
        Rewriter.replace_op(last, [scf.YieldOp(*values)], [])
        return values
