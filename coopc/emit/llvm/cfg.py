"""Bodies of several blocks: `cf.br`, `cf.cond_br` and `cf.switch`, as LLVM has them.

Blocks are emitted in reverse postorder, so that what is used was emitted, but for what
comes back around a loop; arguments of blocks are phis.  Blocks that nothing reaches
are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from xdsl.dialects import cf
from xdsl.ir import Block, Operation, Region, SSAValue

from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.flow import Became
from coopc.emit.structured import Refusal
from coopc.llvm import module as llvm

Edge = tuple[llvm.Block, list[Became]]
"""From where a block is reached, and what its arguments are then."""


def body(e: Emission, region: Region, finish: Callable[[Operation], None]) -> None:
    """Emit the body of a function.

    Args:
        e: of which the arguments are set.
        region: its body.
        finish: ends the function, given its terminator.

    Raises:
        Refusal: a block ends otherwise than in a branch or a return.
    """
    if len(region.blocks) == 1:
        finish(e.walker.block(region.block))
    else:
        _Blocks(e, region, finish).emit()


class _Blocks:
    """The blocks of one function."""

    def __init__(
        self, e: Emission, region: Region, finish: Callable[[Operation], None]
    ) -> None:
        self.e = e
        self.finish = finish
        self.order = _reverse_postorder(region.blocks[0])
        self.labels = {block: e.flow.label("block") for block in self.order}
        self.edges: dict[Block, list[Edge]] = defaultdict(list)
        self.phis: dict[Block, list[Became]] = {}
        self.bridges: list[tuple[llvm.Block, Block, Sequence[SSAValue]]] = []
        """Blocks of branches that are still to be emitted."""

    def emit(self) -> None:
        """Emit all blocks."""
        first, *rest = self.order
        self._block(first)
        for block in rest:
            self.e.flow.begin(self.labels[block])
            self._arguments(block)
            self._block(block)

    def _arguments(self, block: Block) -> None:
        """Make the phis of a block that some block before it has reached."""
        edges, flow = self.edges[block], self.e.flow
        _, values = edges[0]
        phis = [
            flow.phi(arg, value) for arg, value in zip(block.args, values, strict=True)
        ]
        for source, arrived in edges:
            for phi, value in zip(phis, arrived, strict=True):
                flow.arrive(phi, value, source)
        for arg, phi in zip(block.args, phis, strict=True):
            self.e.set(arg, phi)
        self.phis[block] = phis

    def _block(self, block: Block) -> None:
        """Emit the operations of a block, and its terminator."""
        flow, last = self.e.flow, self.e.walker.block(block)
        match last:
            case cf.BranchOp():
                self._reach(last.successor, last.arguments)
                flow.jump(self.labels[last.successor])
            case cf.ConditionalBranchOp():
                self._branch(last)
            case cf.SwitchOp():
                self._switch(last)
            case _:
                self.finish(last)

    def _branch(self, op: cf.ConditionalBranchOp) -> None:
        condition = self.e.value(op.cond)
        yes = self._edge(op.then_block, op.then_arguments)
        no = self._edge(op.else_block, op.else_arguments)
        self.e.flow.branch(condition, yes, no)
        self._bridges()

    def _switch(self, op: cf.SwitchOp) -> None:
        values = () if op.case_values is None else op.case_values.get_values()
        cases = [
            (int(value), self._edge(block, arguments))
            for value, block, arguments in zip(
                values, op.case_blocks, op.case_operand, strict=True
            )
        ]
        default = self._edge(op.default_block, op.default_operands)
        self.e.flow.switch(self.e.value(op.flag), cases, default)
        self._bridges()

    def _edge(self, block: Block, values: Sequence[SSAValue]) -> llvm.Block:
        """Where a branch of several goes: arguments pass through a block of their own.

        Two branches of one terminator to one block would arrive in its phis with two
        values from one place.
        """
        if not values:
            self._reach(block, values)
            return self.labels[block]
        bridge = self.e.flow.label("edge")
        self.bridges.append((bridge, block, values))
        return bridge

    def _bridges(self) -> None:
        bridges, self.bridges = self.bridges, []
        for bridge, block, values in bridges:
            self.e.flow.begin(bridge)
            self._reach(block, values)
            self.e.flow.jump(self.labels[block])

    def _reach(self, block: Block, values: Sequence[SSAValue]) -> None:
        """Say that the block being emitted goes to another."""
        if block is self.order[0]:
            raise Refusal("expected no branch to the entry of a function, as LLVM has")
        edge = self.e.flow.here(), self.e.walker.given(values)
        self.edges[block].append(edge)
        for phi, value in zip(self.phis.get(block, ()), edge[1], strict=False):
            self.e.flow.arrive(phi, value, edge[0])


def _reverse_postorder(entry: Block) -> list[Block]:
    """The blocks that are reached, each behind those that dominate it."""
    found: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        following = next((each for each in rest if each not in seen), None)
        if following is None:
            found.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return found[::-1]


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors
