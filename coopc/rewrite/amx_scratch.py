"""Memory on the stack that tiles are staged through, and how it is addressed.

Every piece is allocated once, at the start of its function, so that loops do not grow
the stack, and is aligned to 64 bytes, a row of a tile.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.narrow import is_memref
from coopc.rewrite.lane_builder import INDEX, LaneBuilder, Level

ALIGNMENT = 64
"""Of scratch memory, in bytes."""


@dataclass(slots=True)
class Scratch:
    """The scratch memory of a program."""

    starts: dict[Block, Level] = field(default_factory=dict[Block, Level])
    shared: dict[tuple[Block, Attribute, str], SSAValue] = field(
        default_factory=dict[tuple[Block, Attribute, str], SSAValue]
    )

    def builder(self, op: Operation) -> LaneBuilder:
        """Return what builds in front of an operation."""
        return LaneBuilder.at(op, self.start(op), unroll=False)

    def start(self, op: Operation) -> Level:
        """Return the start of the function that an operation is in."""
        around: Operation | None = op
        while not isinstance(around, FuncOp):
            assert around is not None, op
            around = around.parent_op()
        block = around.body.blocks[0]
        if (found := self.starts.get(block)) is None:
            found = self.starts[block] = Level(block, is_start=True)
        return found

    def own(
        self, b: LaneBuilder, shape: tuple[int, int], element: Attribute
    ) -> SSAValue:
        """Return memory that nobody else uses."""
        type = MemRefType(element, shape)
        new = memref.AllocaOp.get(element, ALIGNMENT, shape)
        assert new.memref.type == type, new
        new.alignment = IntegerAttr(ALIGNMENT, i64)
        new.memref.name_hint = "scratch"
        if (before := b.levels[-1].before) is not None:
            new.location = before.location
        b.levels[0].insert(new)
        return new.memref

    def passing(
        self, b: LaneBuilder, shape: tuple[int, int], element: Attribute, purpose: str
    ) -> SSAValue:
        """Return memory that others use for the same purpose, before and after."""
        key = b.levels[0].block, MemRefType(element, shape), purpose
        if (found := self.shared.get(key)) is None:
            found = self.shared[key] = self.own(b, shape, element)
        b.depth[found] = 0
        return found

    def of_matrix(self, b: LaneBuilder, type: MatrixType, purpose: str) -> SSAValue:
        """Return memory for a whole matrix, that others use before and after."""
        return self.passing(b, type.shape, type.element_type, purpose)


def origin(b: LaneBuilder) -> tuple[SSAValue, SSAValue]:
    """Return the position of the first element."""
    zero = b.constant(INDEX, 0)
    return zero, zero


def flat(b: LaneBuilder, memory: SSAValue) -> SSAValue:
    """Return scratch memory as one row."""
    b.depth[memory] = 0
    return b.pure(_flat, memory)


def _flat(memory: SSAValue) -> Operation:
    type = memory.type
    assert is_memref(type), type
    rows, cols = type.get_shape()
    size = rows * cols
    result = MemRefType(type.get_element_type(), [size])
    return memref.ReinterpretCastOp(memory, [], [], [], [0], [size], [1], result)
