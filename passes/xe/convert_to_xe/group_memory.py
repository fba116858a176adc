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
from functools import partial
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.arith import (
    AddiOp,
    AndIOp,
    CmpiOp,
    ConstantOp,
    ExtUIOp,
    IndexCastOp,
    MuliOp,
    TruncIOp,
)
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    i8,
    i32,
)
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.dialects.vector import BroadcastOp, ExtractOp, InsertOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt, ttg
from coopc.dialects.narrow import is_memref
from coopc.dialects.tt.types import bits_of, transposed
from coopc.ir.split_values import Splitter
from coopc.ir.transaction import Refused
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.layout_to_arith import coordinates
from coopc.passes.xe.convert_to_xe.registers import packed, unpacked, vector_type, zeros
from coopc.passes.xe.register_layout import RegisterLayout, registers_of

LIMIT_BYTES = 1 << 16
"""Work-group memory that every device has."""

Values = Sequence[SSAValue]


def stored_type(element: Attribute) -> Attribute:
    """Return what elements are in memory: an i1 is a byte."""
    return i8 if element == IntegerType(1) else element


def bytes_of(element: Attribute, count: int) -> int:
    """Return the bytes of so many elements in memory."""
    return count * max(8, bits_of(stored_type(element)) or 64) // 8


def too_large(elements: Sequence[Attribute], count: int) -> str | None:
    """Return why so many elements do not fit into work-group memory, or None.

    Args:
        elements: of one type or more, which are there at a time.
        count: how many of each.
    """
    size = sum(bytes_of(each, count) for each in elements)
    if size <= LIMIT_BYTES:
        return None
    return (
        f"expected at most {LIMIT_BYTES} bytes in work-group memory, through which "
        f"subgroups exchange, got {size}"
    )


@dataclass(slots=True)
class GroupMemory:
    """The work-group memory of a kernel."""

    entry: Entry
    made: dict[memref.AllocaOp, int] = field(default_factory=dict[memref.AllocaOp, int])
    """The memory of each use, and its number."""

    def of(self, element: Attribute, count: int, number: int = 0) -> SSAValue:
        """Return memory for so many elements, the same one each time.

        Args:
            element: the type of the elements.
            count: how many.
            number: from 0, where a use has several at a time.
        """
        space = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
        type = MemRefType(stored_type(element), (count,), memory_space=space)

        def make() -> Operation:
            new = memref.AllocaOp.build(
                operands=[[], []], result_types=[type], properties={}
            )
            self.made[new] = number
            return new

        return self.entry.once(("scratch", type, number), make, "scratch")

    def share(self) -> None:
        """Let uses of several types or sizes have the same bytes."""
        if len(self.made) < 2:
            return
        sizes: dict[int, int] = {}
        for op, number in self.made.items():
            type = op.memref.type
            assert is_memref(type), op
            size = bytes_of(type.element_type, type.element_count())
            # Elements of any type begin where one of 8 bytes can.
            sizes[number] = max(sizes.get(number, 0), -(-size // 8) * 8)
        space = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
        whole = memref.AllocaOp.build(
            operands=[[], []],
            result_types=[MemRefType(i8, (sum(sizes.values()),), memory_space=space)],
            properties={"alignment": IntegerAttr(8, 64)},
        )
        whole.memref.name_hint = "scratch"
        Rewriter.insert_op(whole, InsertPoint.at_start(self.entry.block))
        last: Operation = whole
        starts: dict[int, SSAValue] = {}
        for number in sorted(sizes):
            at = sum(size for other, size in sizes.items() if other < number)
            constant = ConstantOp.from_int_and_width(at, IndexType())
            Rewriter.insert_op(constant, InsertPoint.after(last))
            starts[number], last = constant.result, constant
        for op, number in self.made.items():
            type = op.memref.type
            assert is_memref(type), op
            view = memref.ViewOp(whole.memref, starts[number], [], type)
            Rewriter.insert_op(view, InsertPoint.after(last))
            view.result.name_hint = op.memref.name_hint
            Rewriter.replace_op(op, [], [view.result])
            last = view

    def barrier(self, s: Splitter) -> None:
        """Wait for all subgroups."""
        s.insert(simt.BarrierOp(simt.FenceScope.WORKGROUP))

    def store(
        self,
        s: Splitter,
        memory: SSAValue,
        vectors: Values,
        places: Values,
        layout: LinearLayout,
    ) -> None:
        """Store vectors, each element at its own place.

        Args:
            s: where to put operations.
            memory: of rank 1.
            vectors: of elements.
            places: for each a vector of i32.
            layout: of the elements: who has what others have does not store it.
        """
        ops: list[Operation] = []
        for vector, place in zip(vectors, places, strict=True):
            type = vector_type(vector)
            for at in range(type.get_shape()[0]):
                one = ExtractOp(vector, [at], type.get_element_type())
                index = ExtractOp(place, [at], i32)
                cast = IndexCastOp(index.result, IndexType())
                ops += [one, index, cast]
                value = one.result
                if type.get_element_type() == IntegerType(1):
                    ops.append(wide := ExtUIOp(value, i8))
                    value = wide.result
                ops.append(memref.StoreOp.get(value, memory, [cast.result]))
        first = self.is_first(layout)
        if first is None:
            for op in ops:
                s.insert(op)
            return
        for op in ops:
            op.location = s.op.location
        s.insert(IfOp(first, [], Region(Block([*ops, YieldOp()]))))

    def load(
        self, s: Splitter, memory: SSAValue, registers: RegisterLayout, places: Values
    ) -> list[SSAValue]:
        """Load vectors of elements, each from its own place."""
        return [
            self.load_vector(s, memory, registers.element, registers.length, place)
            for place in places
        ]

    def load_vector(
        self,
        s: Splitter,
        memory: SSAValue,
        element: Attribute,
        length: int,
        place: SSAValue,
    ) -> SSAValue:
        """Load one vector."""
        vector = zeros(self.entry, VectorType(element, [length]))
        for at in range(length):
            index = s.insert(ExtractOp(place, [at], i32)).result
            cast = s.insert(IndexCastOp(index, IndexType())).result
            value = s.insert(memref.LoadOp.get(memory, [cast])).res
            if element == IntegerType(1):
                value = s.insert(TruncIOp(value, IntegerType(1))).result
            vector = s.insert(InsertOp(value, vector, [at])).result
        return vector

    def is_first(self, layout: LinearLayout) -> SSAValue | None:
        """Return whether a lane is the first that has what it has; None if all are."""
        found: SSAValue | None = None
        for name in ("lane", "warp"):
            bases = layout.bases(name) if name in layout.in_names else ()
            free = sum(1 << bit for bit, basis in enumerate(bases) if not any(basis))
            if not free:
                continue
            flag = self._without(name, free)
            if found is None:
                found = flag
            else:
                one = found
                found = self.entry.once(("and", one, flag), partial(AndIOp, one, flag))
        return found

    def _without(self, name: str, bits: int) -> SSAValue:
        """Return whether an id has none of some bits."""
        entry = self.entry
        id = entry.lane() if name == "lane" else entry.subgroup()
        mask, zero = entry.number(bits), entry.number(0)
        chosen = entry.once((name, "&bits", bits), lambda: AndIOp(id, mask))
        return entry.once((name, "none of", bits), lambda: CmpiOp(chosen, zero, "eq"))


def row_major(
    entry: Entry, registers: RegisterLayout, leave: int | None = None
) -> list[SSAValue]:
    """Return the place of each element of a lane in row-major order, as vectors of i32.

    Args:
        entry: where they are computed.
        registers: of the tensor.
        leave: a dimension that is left out.
    """
    sizes = list(registers.layout.out_sizes.values())
    found: list[SSAValue] = []
    stride = 1
    wide = VectorType(i32, [registers.length])
    for dim in reversed(range(len(sizes))):
        if dim == leave:
            continue
        along = coordinates(entry, registers, dim)
        if stride > 1:
            number = entry.number(stride)
            factor = entry.once(
                ("all", stride, registers.length), partial(BroadcastOp, number, wide)
            )
            along = [
                entry.once(("*", x, stride), partial(MuliOp, x, factor)) for x in along
            ]
        if found:
            pairs = zip(found, along, strict=True)
            along = [entry.once(("+", x, y), partial(AddiOp, x, y)) for x, y in pairs]
        found = along
        stride *= sizes[dim]
    count = len(registers.distinct) // registers.length
    return found or [zeros(entry, wide)] * count


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


@dataclass(slots=True)
class Buffers:
    """The rules."""

    entry: Entry
    memory: GroupMemory
    bytes: int = 0
    """Of all buffers so far."""

    def alloc(self, op: ttg.LocalAllocOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Give a buffer memory; store its initial value."""
        assert isinstance(op.result.type, ttg.MemDescType), op
        type = buffer_type(op.result.type)
        self.bytes += bytes_of(op.result.type.element, prod(op.result.type.shape))
        if self.bytes > LIMIT_BYTES:
            raise Refused(
                op,
                f"expected at most {LIMIT_BYTES} bytes of work-group memory for the "
                f"buffers of a kernel, got {self.bytes} so far",
            )

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
        self._store(op.src, memory, self._order(op, op.dst), s)
        return ()

    def load(self, op: ttg.LocalLoadOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Load what a lane is to have."""
        (memory,) = s.parts(op.src)
        registers = registers_of(op.result)
        places = row_major(self.entry, of_memory(registers, self._order(op, op.src)))
        return [packed(s, registers, self.memory.load(s, memory, registers, places))]

    def trans(
        self, op: ttg.MemDescTransOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """The same memory."""
        self._order(op, op.src)
        return [s.parts(op.src)]

    def _order(self, op: Operation, buffer: SSAValue) -> Sequence[int]:
        """Return the dimensions of a whole buffer."""
        if (order := order_of(buffer)) is None:
            what = "expected a whole buffer of ttg.local_alloc"
            raise Refused(op, f"{what}, got a part or one of several")
        return order

    def _store(
        self, tensor: SSAValue, memory: SSAValue, order: Sequence[int], s: Splitter
    ) -> None:
        registers = registers_of(tensor)
        vectors = unpacked(s, registers, s.parts(tensor))
        places = row_major(self.entry, of_memory(registers, order))
        self.memory.barrier(s)
        self.memory.store(s, memory, vectors, places, registers.layout)
        self.memory.barrier(s)


def of_memory(registers: RegisterLayout, order: Sequence[int]) -> RegisterLayout:
    """Return how what is in memory is spread, by the dimensions that it has there."""
    back = [order.index(dim) for dim in range(len(order))]
    return replace(registers, layout=transposed(registers.layout, back))
