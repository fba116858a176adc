"""Memory on the stack that tiles, row slices and factors of products go through.

Every buffer is allocated once, at the start of its function, so that loops do not grow
the stack, and is aligned to 64 bytes, a row of a tile.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.dialects.memref import AllocaOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects.coopmatrix import matrix_type
from coopc.ir.builder import INDEX, Builder
from coopc.ir.control_flow import function_around

ALIGNMENT = 64
"""Of a buffer, in bytes."""


def stack_buffer(
    b: Builder,
    shape: tuple[int, int],
    element: Attribute,
    name: str | None = "scratch",
) -> SSAValue:
    """Return memory that nobody else uses."""
    new = AllocaOp.get(element, ALIGNMENT, shape)
    assert new.memref.type == MemRefType(element, shape), new
    new.alignment = IntegerAttr(ALIGNMENT, i64)
    new.memref.name_hint = name
    new.location = b.location
    Rewriter.insert_op(new, InsertPoint.at_start(_start(b)))
    return new.memref


def _start(b: Builder) -> Block:
    """Return the first block of the function that is built in."""
    around = b.block.parent_op()
    assert around is not None, b.block
    return function_around(around).body.blocks[0]


def origin(b: Builder) -> tuple[SSAValue, SSAValue]:
    """Return the position of the first element."""
    zero = b.constant(INDEX, 0)
    return zero, zero


@dataclass(slots=True)
class StackBuffers:
    """Buffers that others use for the same purpose, before and after."""

    known: dict[tuple[Block, Attribute, str], SSAValue] = field(
        default_factory=dict[tuple[Block, Attribute, str], SSAValue]
    )

    def get(
        self, b: Builder, shape: tuple[int, int], element: Attribute, purpose: str
    ) -> SSAValue:
        """Return the buffer of a shape for a purpose in the function built in."""
        key = _start(b), MemRefType(element, shape), purpose
        if (found := self.known.get(key)) is None:
            found = self.known[key] = stack_buffer(b, shape, element)
        return found

    def of_matrix(self, b: Builder, matrix: SSAValue, purpose: str) -> SSAValue:
        type = matrix_type(matrix)
        return self.get(b, type.shape, type.element_type, purpose)
