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
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import INDEX, Builder

ALIGNMENT = 64
"""Of scratch memory, in bytes."""


@dataclass(slots=True)
class Scratch:
    """The scratch memory of a program."""

    shared: dict[tuple[Block, Attribute, str], SSAValue] = field(
        default_factory=dict[tuple[Block, Attribute, str], SSAValue]
    )

    def own(self, b: Builder, shape: tuple[int, int], element: Attribute) -> SSAValue:
        """Return memory that nobody else uses."""
        new = memref.AllocaOp.get(element, ALIGNMENT, shape)
        assert new.memref.type == MemRefType(element, shape), new
        new.alignment = IntegerAttr(ALIGNMENT, i64)
        new.memref.name_hint = "scratch"
        new.location = b.location
        Rewriter.insert_op(new, InsertPoint.at_start(_start(b)))
        return new.memref

    def passing(
        self, b: Builder, shape: tuple[int, int], element: Attribute, purpose: str
    ) -> SSAValue:
        """Return memory that others use for the same purpose, before and after."""
        key = _start(b), MemRefType(element, shape), purpose
        if (found := self.shared.get(key)) is None:
            found = self.shared[key] = self.own(b, shape, element)
        return found

    def of_matrix(self, b: Builder, type: MatrixType, purpose: str) -> SSAValue:
        """Return memory for a whole matrix, that others use before and after."""
        return self.passing(b, type.shape, type.element_type, purpose)


def _start(b: Builder) -> Block:
    """Return the first block of the function that is built in."""
    block = b.block
    while not isinstance(around := block.parent_op(), FuncOp):
        assert around is not None, block
        assert around.parent is not None, block
        block = around.parent
    return around.body.blocks[0]


def origin(b: Builder) -> tuple[SSAValue, SSAValue]:
    """Return the position of the first element."""
    zero = b.constant(INDEX, 0)
    return zero, zero


def flat(b: Builder, memory: SSAValue) -> SSAValue:
    """Return scratch memory as one row."""
    return b.pure(_flat, memory)


def _flat(memory: SSAValue) -> Operation:
    type = memory.type
    assert is_memref(type), type
    rows, cols = type.get_shape()
    size = rows * cols
    result = MemRefType(type.get_element_type(), [size])
    return memref.ReinterpretCastOp(memory, [], [], [], [0], [size], [1], result)
