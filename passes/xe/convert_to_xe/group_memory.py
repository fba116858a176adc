"""Work-group memory: where subgroups leave what others need.

Every use is a barrier, stores, a barrier, loads: so all uses share the memory, whatever
they keep there.  What several lanes or subgroups have alike is stored by the first.

Triton's buffers in shared memory: work-group memory, in row-major order.

    %m = ttg.local_alloc %v      barrier, stores of what each lane has, barrier
    %r = ttg.local_load %m       loads

How Triton swizzles a buffer nobody sees.  A buffer is there from the entry on, and each
`ttg.local_alloc` has its own; one in a loop has the same in all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.arith import ConstantOp, ExtUIOp, IndexCastOp, TruncIOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i1, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt, ttg
from coopc.dialects.narrow import length_of
from coopc.dialects.tt.types import bits_of, in_memory, transposed
from coopc.ir.builder import Builder, allocate
from coopc.ir.split_values import Results, Rule, Splitter
from coopc.ir.transaction import Refused
from coopc.passes.xe.convert_to_xe.layout_to_arith import is_first, row_major
from coopc.passes.xe.convert_to_xe.vectors import packed, vectors_of
from coopc.passes.xe.register_layout import RegisterLayout, registers_of

MOST_GROUP_BYTES = 1 << 16
"""Work-group memory that every device has."""

Values = Sequence[SSAValue]


def bytes_of(element: Attribute, count: int) -> int:
    return count * max(8, bits_of(in_memory(element)) or 64) // 8


def refuse_too_large(op: Operation, elements: Sequence[Attribute], count: int) -> None:
    """Refuse to exchange so many elements that they do not fit work-group memory.

    `count` elements of each of these types are there at a time.
    """
    size = sum(bytes_of(each, count) for each in elements)
    if size > MOST_GROUP_BYTES:
        raise Refused(
            op,
            f"expected at most {MOST_GROUP_BYTES} bytes in work-group memory, through "
            f"which subgroups exchange, got {size}",
        )


def in_group_memory(element: Attribute, count: int) -> MemRefType:
    """Return the type of work-group memory for so many elements."""
    space = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
    return MemRefType(in_memory(element), (count,), memory_space=space)


@dataclass(slots=True)
class GroupMemory:
    """The work-group memory of a kernel."""

    block: Block
    """The body of the kernel."""
    made: dict[tuple[MemRefType, int], SSAValue] = field(default_factory=lambda: {})
    """By type, and number within a use."""
    buffer_bytes: int = 0
    """Of all of Triton's buffers so far."""

    def of(self, element: Attribute, count: int, number: int = 0) -> SSAValue:
        """Return memory for so many elements, the same one each time.

        Where a use has several at a time, they have numbers from 0 on.
        """
        key = in_group_memory(element, count), number
        if key not in self.made:
            self.made[key] = allocate(self.block, key[0], "scratch")
        return self.made[key]

    def share(self) -> None:
        """Let uses of several types or sizes have the same bytes."""
        if len(self.made) < 2:
            return
        sizes: dict[int, int] = {}
        for type, number in self.made:
            size = bytes_of(type.element_type, type.element_count())
            # Elements of any type begin where one of 8 bytes can.
            sizes[number] = max(sizes.get(number, 0), -(-size // 8) * 8)
        whole = allocate(
            self.block, in_group_memory(i8, sum(sizes.values())), "scratch"
        )
        last = whole.owner
        assert isinstance(last, memref.AllocaOp), last
        last.properties["alignment"] = IntegerAttr(8, 64)
        for (type, number), old in self.made.items():
            at = sum(size for other, size in sizes.items() if other < number)
            start = ConstantOp.from_int_and_width(at, IndexType())
            view = memref.ViewOp(whole, start.result, [], type)
            view.result.name_hint = old.name_hint
            Rewriter.insert_op([start, view], InsertPoint.after(last))
            assert isinstance(old.owner, Operation), old
            Rewriter.replace_op(old.owner, [], [view.result])

    def store(
        self,
        b: Builder,
        memory: SSAValue,
        vectors: Values,
        places: Values,
        flag: SSAValue | bool,
    ) -> None:
        """Store vectors, each element at its own place, between barriers.

        Memory has rank 1, and places are vectors of i32; lanes store whose flag is
        true.
        """

        def stored() -> Values:
            for vector, place in zip(vectors, places, strict=True):
                for at in range(length_of(vector)):
                    value = b.extract(vector, at)
                    if value.type == i1:
                        value = b.pure(ExtUIOp, value, i8)
                    index = b.pure(IndexCastOp, b.extract(place, at), IndexType())
                    b.effect(memref.StoreOp.get(value, memory, [index]))
            return ()

        b.branch(flag, stored)

    def load(
        self, b: Builder, memory: SSAValue, registers: RegisterLayout, places: Values
    ) -> list[SSAValue]:
        """Load vectors of elements, each from its own place."""
        vectors: list[SSAValue] = []
        for place in places:
            vector = b.constant(registers.vector, 0)
            for at in range(registers.length):
                index = b.pure(IndexCastOp, b.extract(place, at), IndexType())
                value = b.effect(memref.LoadOp.get(memory, [index])).results[0]
                if registers.element == i1:
                    value = b.pure(TruncIOp, value, i1)
                vector = b.insert(vector, at, value)
            vectors.append(vector)
        return vectors

    def exchanged(
        self,
        b: Builder,
        vectors: Values,
        source: RegisterLayout,
        target: RegisterLayout,
    ) -> list[SSAValue]:
        """Return what lanes want of what all lanes of the work-group have."""
        memory = self.of(source.element, 1 << source.layout.out_bits)
        barrier(b)
        flag = is_first(b, source.layout)
        self.store(b, memory, vectors, row_major(b, source), flag)
        barrier(b)
        return self.load(b, memory, target, row_major(b, target))

    # The rules for Triton's buffers

    def rules(self) -> dict[type[Operation], Rule]:
        return {
            ttg.LocalAllocOp: self.alloc_buffer,
            ttg.LocalDeallocOp: lambda op, b: (),
            ttg.LocalLoadOp: self.load_buffer,
            ttg.LocalStoreOp: self.store_buffer,
            ttg.MemDescTransOp: self.trans_buffer,
        }

    def alloc_buffer(self, op: ttg.LocalAllocOp, b: Splitter) -> Results:
        """Give a buffer memory; store its initial value."""
        assert isinstance(op.result.type, ttg.MemDescType), op
        self.buffer_bytes += bytes_of(
            op.result.type.element, prod(op.result.type.shape)
        )
        if self.buffer_bytes > MOST_GROUP_BYTES:
            raise Refused(
                op,
                f"expected at most {MOST_GROUP_BYTES} bytes of work-group memory for "
                f"the buffers of a kernel, got {self.buffer_bytes} so far",
            )
        memory = allocate(self.block, buffer_type(op.result.type), "buffer")
        if op.init is not None:
            order = range(len(op.result.type.shape))
            self._fill(op.init, memory, order, b)
        return [(memory,)]

    def store_buffer(self, op: ttg.LocalStoreOp, b: Splitter) -> Results:
        """Store when all have loaded what they want; wait."""
        (memory,) = b.parts(op.dst)
        self._fill(op.src, memory, order_of(op, op.dst), b)
        return ()

    def load_buffer(self, op: ttg.LocalLoadOp, b: Splitter) -> Results:
        """Load what a lane is to have."""
        (memory,) = b.parts(op.src)
        registers = registers_of(op.result)
        places = row_major(b, of_memory(registers, order_of(op, op.src)))
        return [packed(b, registers, self.load(b, memory, registers, places))]

    def trans_buffer(self, op: ttg.MemDescTransOp, b: Splitter) -> Results:
        """The same memory."""
        order_of(op, op.src)
        return [b.parts(op.src)]

    def _fill(
        self,
        tensor: SSAValue,
        memory: SSAValue,
        order: Sequence[int],
        b: Splitter,
    ) -> None:
        registers = registers_of(tensor)
        vectors = vectors_of(tensor, b)
        places = row_major(b, of_memory(registers, order))
        barrier(b)
        self.store(b, memory, vectors, places, is_first(b, registers.layout))
        barrier(b)


def barrier(b: Builder) -> None:
    b.effect(simt.BarrierOp(simt.FenceScope.WORKGROUP))


def buffer_type(type: ttg.MemDescType) -> MemRefType:
    return in_group_memory(type.element, prod(type.shape))


def order_of(op: Operation, buffer: SSAValue) -> tuple[int, ...]:
    """Return which dimension of its allocation each one of a whole buffer is."""
    assert isinstance(buffer.type, ttg.MemDescType), buffer
    match buffer.owner:
        case ttg.LocalAllocOp():
            return tuple(range(len(buffer.type.shape)))
        case ttg.MemDescTransOp() as trans:
            inner = order_of(op, trans.src)
            return tuple(inner[int(dim)] for dim in trans.order.get_values())
        case _:
            what = "expected a whole buffer of ttg.local_alloc"
            raise Refused(op, f"{what}, got a part or one of several")


def of_memory(registers: RegisterLayout, order: Sequence[int]) -> RegisterLayout:
    """Return how what is in memory is spread, by the dimensions that it has there."""
    back = [order.index(dim) for dim in range(len(order))]
    return replace(registers, layout=transposed(registers.layout, back))
