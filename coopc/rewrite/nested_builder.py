"""Build code in front of operations, each part as far out of loops as it can be.

A `LaneBuilder` knows the start of the function and one place.  Here each block around
the place is a level: what is made of values of a block goes there, before the operation
that the place is in.

    scf.for %i {            a + b: here, before the loop     if a and b are known here
      x                     a + %i: before x
    }

Builders of one function share what they made, so operations have to be visited in
their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from coopc.rewrite.lane_builder import LaneBuilder, Level


class NestedBuilder(LaneBuilder):
    """A builder that knows on which level each value is."""

    def level_of(self, value: SSAValue) -> int:
        """Return the level on which a value is known: 0 is the start."""
        if (known := self.depth.get(value)) is not None:
            return known
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent_block()
        assert block is not None, value
        blocks = blocks_around(block)
        is_argument = len(blocks) == 1 and isinstance(owner, Block)
        return 0 if is_argument and block.prev_block is None else len(blocks)


@dataclass(slots=True)
class Builders:
    """The builders of one function."""

    start: Level
    levels: dict[Block, Level] = field(default_factory=dict[Block, Level])
    depth: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    @classmethod
    def of(cls, func: FuncOp) -> Builders:
        """Return the builders of a function, which has made nothing yet."""
        return cls(Level(func.body.blocks[0], is_start=True))

    def at(self, op: Operation) -> NestedBuilder:
        """Return a builder in front of an operation."""
        block = op.parent_block()
        assert block is not None, op
        levels: list[Level] = []
        place = op
        for each in reversed(blocks_around(block)):
            level = self.levels.setdefault(each, Level(each))
            level.before = place
            levels.insert(0, level)
            around = each.parent_op()
            assert around is not None, each
            place = around
        return NestedBuilder([self.start, *levels], op.location, True, self.depth)


def blocks_around(block: Block) -> list[Block]:
    """Return a block and those around it in its function, the outermost first."""
    found = [block]
    while (op := found[0].parent_op()) is not None and not isinstance(op, FuncOp):
        outer = op.parent_block()
        if outer is None:
            break
        found.insert(0, outer)
    return found
