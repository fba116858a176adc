"""Triton's buffers in shared memory: work-group memory, in row-major order.

    %m = ttg.local_alloc %v      barrier, stores of what each lane has, barrier
    %r = ttg.local_load %m       loads

How Triton swizzles a buffer nobody sees.  A buffer is there from the entry on, and each
`ttg.local_alloc` has its own; one in a loop has the same in all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt, tt, ttg
from coopc.dialects.tt.layouts import transposed
from coopc.passes.xe.convert_to_xe.block_access import spread_of_value
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.group_memory import (
    LIMIT_BYTES,
    GroupMemory,
    bytes_of,
    row_major,
    stored_type,
)
from coopc.passes.xe.convert_to_xe.registers import packed, unpacked
from coopc.passes.xe.register_layout import Spread
from coopc.rewrite.one_to_many import Splitter

BufferOp = ttg.LocalLoadOp | ttg.LocalStoreOp | ttg.MemDescTransOp


def buffer_type(type: ttg.MemDescType) -> MemRefType:
    """Return the type of the work-group memory of a buffer."""
    space = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
    return MemRefType(
        stored_type(type.element), (prod(type.shape),), memory_space=space
    )


def order_of(buffer: SSAValue) -> tuple[int, ...] | None:
    """Return which dimension of its allocation each one of a buffer is.

    None where it is no whole buffer of `ttg.local_alloc`.
    """
    assert isinstance(buffer.type, ttg.MemDescType), buffer
    match buffer.owner:
        case ttg.LocalAllocOp():
            return tuple(range(len(buffer.type.shape)))
        case ttg.MemDescTransOp() as op:
            inner = order_of(op.src)
            order = (int(dim) for dim in op.order.get_values())
            return None if inner is None else tuple(inner[dim] for dim in order)
        case _:
            return None


def why_not_buffer(op: BufferOp) -> str | None:
    """Return why an operation on a buffer cannot be converted, or None."""
    buffer = op.dst if isinstance(op, ttg.LocalStoreOp) else op.src
    if order_of(buffer) is not None:
        return None
    return "expected a whole buffer of ttg.local_alloc, got a part or one of several"


def why_not_alloc(op: ttg.LocalAllocOp) -> str | None:
    """Return why a buffer cannot be allocated, or None: with those before it."""
    top: Operation = op
    while not isinstance(top, tt.FuncOp):
        parent = top.parent_op()
        assert parent is not None, op
        top = parent
    size = 0
    for each in top.walk():
        if isinstance(each, ttg.LocalAllocOp):
            assert isinstance(each.result.type, ttg.MemDescType), each
            size += bytes_of(each.result.type.element, prod(each.result.type.shape))
        if each is op:
            break
    if size <= LIMIT_BYTES:
        return None
    return (
        f"expected at most {LIMIT_BYTES} bytes of work-group memory for the buffers of "
        f"a kernel, got {size} so far"
    )


@dataclass(slots=True)
class Buffers:
    """The rules."""

    entry: Entry
    memory: GroupMemory

    def alloc(self, op: ttg.LocalAllocOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Give a buffer memory; store its initial value."""
        assert isinstance(op.result.type, ttg.MemDescType), op
        type = buffer_type(op.result.type)

        def make() -> Operation:
            return memref.AllocaOp.build(
                operands=[[], []], result_types=[type], properties={}
            )

        memory = self.entry.once(("buffer", op), make, "buffer")
        if op.init is not None:
            self._store(op.init, memory, range(len(op.result.type.shape)), s)
        return [(memory,)]

    def store(self, op: ttg.LocalStoreOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Store when all have loaded what they want; wait."""
        (memory,) = s.parts(op.dst)
        self._store(op.src, memory, self._order(op.dst), s)
        return ()

    def load(self, op: ttg.LocalLoadOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Load what a lane is to have."""
        (memory,) = s.parts(op.src)
        spread = spread_of_value(op.result)
        places = row_major(self.entry, of_memory(spread, self._order(op.src)))
        return [packed(s, spread, self.memory.load(s, memory, spread, places))]

    def trans(
        self, op: ttg.MemDescTransOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """The same memory."""
        return [s.parts(op.src)]

    def _order(self, buffer: SSAValue) -> Sequence[int]:
        order = order_of(buffer)
        assert order is not None, buffer  # whatever is not is refused
        return order

    def _store(
        self, tensor: SSAValue, memory: SSAValue, order: Sequence[int], s: Splitter
    ) -> None:
        spread = spread_of_value(tensor)
        vectors = unpacked(s, spread, s.parts(tensor))
        places = row_major(self.entry, of_memory(spread, order))
        self.memory.barrier(s)
        self.memory.store(s, memory, vectors, places, spread.layout)
        self.memory.barrier(s)


def of_memory(spread: Spread, order: Sequence[int]) -> Spread:
    """Return how what is in memory is spread, by the dimensions that it has there."""
    back = [order.index(dim) for dim in range(len(order))]
    return replace(spread, layout=transposed(spread.layout, back))
