"""Where tensors of Triton are in memory: surfaces, messages, and single elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.arith import (
    AddiOp,
    AndIOp,
    CmpiOp,
    ConstantOp,
    ExtSIOp,
    ExtUIOp,
    MuliOp,
    OrIOp,
    TruncIOp,
)
from xdsl.dialects.builtin import (
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.dialects.vector import BroadcastOp, ExtractOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coopc.dialects import tt, ttig, xe
from coopc.dialects.narrow import is_memref
from coopc.dialects.tt.types import bits_of, block_io, is_tensor
from coopc.ir.builder import Builder, Built
from coopc.ir.facts import constant_number
from coopc.ir.split_values import Rule, Splitter
from coopc.ir.transaction import Refused
from coopc.passes.triton.access_attributes import why_no_matrix
from coopc.passes.triton.convert_tt_pointers_to_descriptors import is_block_pointer
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.conditions import refuse_steps
from coopc.passes.xe.convert_to_xe.block_access import BlockAccess, BlockMove, Surface
from coopc.passes.xe.convert_to_xe.channels import Place, load_channels
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.index_polynomial import Polynomial
from coopc.passes.xe.convert_to_xe.layout_to_arith import coordinates, part
from coopc.passes.xe.convert_to_xe.pointers import Pointers, cast
from coopc.passes.xe.convert_to_xe.registers import (
    not_a_number,
    unpacked,
    vector_type,
    zeros,
)
from coopc.passes.xe.convert_to_xe.scalar_access import (
    ScalarAccess,
    Values,
    VectorPlaces,
    Write,
)
from coopc.passes.xe.convert_to_xe.tensors import widened
from coopc.passes.xe.register_layout import RegisterLayout, registers_of
from coopc.plan.block2d import BlockPlan
from coopc.plan.channels import Message

MOST_BYTES = 1 << 31
"""Of a row of a matrix, and from one to the next: as i32."""


def plan_of(op: Operation) -> BlockPlan | None:
    """Return the plan that an access has, if it has one."""
    found = op.attributes.get(xe.PLAN)
    return found.data if isinstance(found, xe.PlanAttr) else None


@dataclass(slots=True)
class TensorMemory:
    """The rules for descriptors, and for accesses to tensors."""

    entry: Entry
    pointers: Pointers
    blocks: BlockAccess
    elements: ScalarAccess
    built: Built
    channels: Mapping[Operation, ChannelPlan]
    """The loads that are done so."""
    bases: Mapping[Operation, SSAValue | None]
    """The scalar pointer that the pointers of an access count from, if it is one."""
    padded: frozenset[Operation]
    """The accesses through descriptors that read NaN outside."""

    def rules(self) -> dict[type[Operation], Rule]:
        """Return them, by operation."""
        return {
            tt.DescriptorLoadOp: self.load_block,
            tt.DescriptorStoreOp: self.store_block,
            tt.LoadOp: self.load,
            tt.MakeTensorDescriptorOp: self.make,
            tt.StoreOp: self.store,
            ttig.DescriptorPrefetchOp: self.prefetch,
            ttig.PrefetchOp: lambda op, s: (),
        }

    def make(
        self, op: tt.MakeTensorDescriptorOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """Width and pitch in bytes; sizes are of 32 bits, as the hardware has them.

        Of ranks other than 2: the base, sizes and strides, in elements.
        """
        self._refuse_descriptor(op)
        if op.type.rank != 2:
            return [(*s.parts(op.base), *op.shape, *op.strides)]
        width = bits_of(op.type.tensor)
        assert width is not None, op
        (base,) = s.parts(op.base)
        rows, cols = op.shape[-2:]
        pitch = self._narrow(op.strides[-2])
        return [
            (
                base,
                self.entry.times(cols, width // 8),
                rows,
                self.entry.times(pitch, width // 8),
            )
        ]

    def _refuse_descriptor(self, op: tt.MakeTensorDescriptorOp) -> None:
        """Refuse a descriptor that is no matrix."""
        width = bits_of(op.type.tensor)
        if width == 1:
            what = f"expected elements of whole bytes in memory, got {op.type}"
            raise Refused(op, what)
        bytes = (width or 8) // 8
        numbers = [*op.shape[-1:], *op.strides[-2:-1]] if op.type.rank == 2 else []
        for known in map(constant_number, numbers):
            if known is not None and abs(known * bytes) >= MOST_BYTES:
                what = f"expected rows of less than 2 GiB, got one of {known} elements"
                raise Refused(op, what)
        stride = constant_number(op.strides[-1])
        if stride not in (None, 1):
            what = "expected a last stride of 1, as descriptors have"
            raise Refused(op, f"{what}, got {stride}")

    def _narrow(self, value: SSAValue) -> SSAValue:
        """Return an i64 that is a stride as the i32 that it was, or is cut to."""
        if (known := constant_number(value)) is not None:
            return self.entry.number(known)
        owner = value.owner
        if isinstance(owner, ExtSIOp | ExtUIOp) and owner.input.type == i32:
            return owner.input
        return self.entry.after(value, "i32", lambda: TruncIOp(value, i32))

    def load_block(self, op: tt.DescriptorLoadOp, s: Splitter) -> Sequence[Values]:
        """By blocks, by channels, or each element by itself."""
        registers = registers_of(op.result)
        if (plan := self._checked_plan(op)) is not None:
            y, x = op.indices
            surface, move = Surface(*s.parts(op.desc)), BlockMove(plan, registers)
            return [self.blocks.load(s, registers, [move], surface, (y, x))]
        if (channels := self.channels.get(op)) is not None:
            surface, b = (
                Surface(*s.parts(op.desc)),
                Builder.at(op, self.built, unroll=True),
            )
            place = self._place(b, op, surface)
            name = op.result.name_hint
            return [load_channels(b, channels, registers, surface.base, place, name)]
        other = None
        if op in self.padded:
            dense = not_a_number(registers.vector)
            nan = self.entry.once((dense,), lambda: ConstantOp(dense))
            other = [nan] * registers.vectors
        memory, places = self._through_descriptor(op, registers, s)
        read = partial(LoadOp.get, memory)
        return [self.elements.load(s, registers, places, read, other)]

    def store_block(self, op: tt.DescriptorStoreOp, s: Splitter) -> Sequence[Values]:
        """By blocks, or each element by itself."""
        registers, pieces = registers_of(op.src), s.parts(op.src)
        if (plan := self._checked_plan(op)) is not None:
            (y, x), move = op.indices, BlockMove(plan, registers)
            surface = Surface(*s.parts(op.desc))
            self.blocks.store(s, registers, pieces, [move], surface, (y, x))
            return ()
        memory, places = self._through_descriptor(op, registers, s)
        self.elements.store(s, registers, pieces, places, _store_to(memory))
        return ()

    def _checked_plan(
        self, op: tt.DescriptorLoadOp | tt.DescriptorStoreOp
    ) -> BlockPlan | None:
        """Return the plan of an access; None where there is a reason against one."""
        plan = plan_of(op)
        if plan is None:
            if xe.REFUSAL not in op.attributes:
                what = "a plan of plan-block-io, or a reason why there is none"
                raise Refused(op, f"expected {what}")
            return None
        if op in self.padded:
            what = "expected zeros outside of a descriptor, got NaN"
            raise Refused(op, f"{what}: settle-tt-descriptors")
        refusal = refuse_steps(plan, op.indices[-2], op.indices[-1])
        if refusal is not None:
            raise Refused(op, str(refusal))
        return plan

    def prefetch(self, op: ttig.DescriptorPrefetchOp, s: Splitter) -> Sequence[Values]:
        """The share of each subgroup; nothing where there is no plan: it is a hint."""
        attr = op.attributes.get(xe.PLAN)
        if isinstance(attr, xe.BlockPrefetchPlanAttr):
            y, x = op.indices
            surface = Surface(*s.parts(op.desc))
            self.blocks.prefetch(s, attr.data, surface, (y, x))
        return ()

    def load(self, op: tt.LoadOp, s: Splitter) -> Sequence[Values]:
        """Each element by itself; a scalar by all lanes."""
        self._refuse_block_pointer(op)
        if not is_tensor(op.ptr.type):
            return [(self._load_scalar(op, s),)]
        registers = registers_of(op.result)
        memory, places = self.through_pointers(op, s)
        other = None
        if op.other is not None:
            other = unpacked(s, registers_of(op.other), s.parts(op.other))
        read = partial(LoadOp.get, memory)
        return [self.elements.load(s, registers, places, read, other)]

    def store(self, op: tt.StoreOp, s: Splitter) -> Sequence[Values]:
        """Each element by itself; a scalar by the first lane."""
        self._refuse_block_pointer(op)
        if not is_tensor(op.ptr.type):
            self._store_scalar(op, s)
            return ()
        registers, pieces = registers_of(op.value), s.parts(op.value)
        memory, places = self.through_pointers(op, s)
        self.elements.store(s, registers, pieces, places, _store_to(memory))
        return ()

    def _refuse_block_pointer(self, op: tt.LoadOp | tt.StoreOp) -> None:
        if is_block_pointer(op):
            otherwise = "one as it was: convert-tt-pointers-to-descriptors"
            what = why_no_matrix(op, otherwise)
            raise Refused(
                op, f"expected a block pointer that is understood, got {what}"
            )

    def base(self, op: tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp) -> SSAValue:
        """Return the scalar pointer that a tensor of pointers counts from."""
        found = self.bases[op]
        if found is None:
            raise Refused(op, "expected pointers that count from one scalar pointer")
        return found

    def _place(self, b: Builder, op: tt.DescriptorLoadOp, surface: Surface) -> Place:
        """Return where the messages of a load begin, and whether that is inside."""
        size = Polynomial.constant((bits_of(op.result.type) or 8) // 8)
        y, x = self._starts(op)

        def place(message: Message) -> tuple[SSAValue, SSAValue]:
            row = y + Polynomial.constant(message.line)
            byte = x * size + Polynomial.constant(message.byte)
            offset = (row * Polynomial.of(surface.pitch) + byte).build(b)
            guard = b.both(
                b.compare("ult", row.build(b), surface.height),
                b.compare("ult", byte.build(b), surface.width),
            )
            assert isinstance(guard, SSAValue), op
            return offset, guard

        return place

    def _starts(self, op: tt.DescriptorLoadOp) -> Iterator[Polynomial]:
        """Yield row and column at which the part of a subgroup begins."""
        layout = registers_of(op.result).layout
        for dimension, index in enumerate(op.indices):
            found = Polynomial.of(index)
            warp = part(self.entry, layout, "warp", dimension)
            if warp.value is not None:
                found += Polynomial.of(warp.value)
            yield found

    def through_pointers(
        self, op: tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp, s: Splitter
    ) -> tuple[SSAValue, VectorPlaces]:
        """Return memory of rank 1, and where elements behind pointers are in it."""
        (memref,) = s.parts(self.base(op))
        masks = None
        if op.mask is not None:
            masks = unpacked(s, registers_of(op.mask), s.parts(op.mask))
        memory = self.pointers.view(memref)
        return memory, VectorPlaces(element_of_memory(memory), s.parts(op.ptr), masks)

    def _through_descriptor(
        self,
        op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
        registers: RegisterLayout,
        s: Splitter,
    ) -> tuple[SSAValue, VectorPlaces]:
        """Return memory of rank 1, and where in it the elements of a block are."""
        if len(op.indices) != 2:
            return self._through_any_rank(op, registers, s)
        surface = Surface(*s.parts(op.desc))
        rank = len(registers.layout.outs)
        col = rank - 2 if block_io(op) == "column_major" else rank - 1
        y, x = op.indices
        rows = self._along(s, registers, 2 * rank - 3 - col, y)
        cols = self._along(s, registers, col, x)
        bytes = (bits_of(registers.element) or 8) // 8
        shift = bytes.bit_length() - 1
        width = self.entry.divided(surface.width, shift)
        pitch = self.entry.divided(surface.pitch, shift)
        wide = VectorType(i64, [registers.length])
        offsets: list[SSAValue] = []
        masks: list[SSAValue] = []
        pitches = self._wide(s, pitch, wide)
        for row, column in zip(rows, cols, strict=True):
            start = s.insert(MuliOp(widened(s, row, wide), pitches)).result
            along = widened(s, column, wide)
            offsets.append(s.insert(AddiOp(start, along)).result)
            low = self._below(s, row, surface.height)
            left = self._below(s, column, width)
            masks.append(s.insert(AndIOp(low, left)).result)
        memory = self.pointers.view(surface.base)
        return memory, VectorPlaces(element_of_memory(memory), offsets, masks)

    def _through_any_rank(
        self,
        op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
        registers: RegisterLayout,
        s: Splitter,
    ) -> tuple[SSAValue, VectorPlaces]:
        """Return the same for a descriptor of another rank than 2."""
        base, *numbers = s.parts(op.desc)
        rank = len(op.indices)
        sizes, strides = numbers[:rank], numbers[rank:]
        dims = list(range(rank))
        if block_io(op) == "column_major":
            dims[-2:] = dims[:-3:-1]
        missing = rank - len(registers.layout.outs)
        wide = VectorType(i64, [registers.length])
        count = len(registers.distinct) // registers.length
        offsets: list[SSAValue] = []
        masks: list[SSAValue] = []
        for dim in range(rank):
            start = op.indices[dim]
            if dims[dim] < missing:
                one = BroadcastOp(start, VectorType(i32, [registers.length]))
                places = [s.insert(one).vector] * count
            else:
                places = self._along(s, registers, dims[dim] - missing, start)
            all = s.insert(BroadcastOp(strides[dim], wide)).vector
            for at, place in enumerate(places):
                along = s.insert(MuliOp(widened(s, place, wide), all)).result
                below = self._below(s, place, sizes[dim])
                if dim == 0:
                    offsets.append(along)
                    masks.append(below)
                else:
                    offsets[at] = s.insert(AddiOp(offsets[at], along)).result
                    masks[at] = s.insert(AndIOp(masks[at], below)).result
        memory = self.pointers.view(base)
        return memory, VectorPlaces(element_of_memory(memory), offsets, masks)

    def _along(
        self, s: Splitter, registers: RegisterLayout, dimension: int, index: SSAValue
    ) -> list[SSAValue]:
        """Return the coordinates of what a lane holds, from an index on."""
        start = s.insert(BroadcastOp(index, VectorType(i32, [registers.length]))).vector
        found = coordinates(self.entry, registers, dimension)
        return [s.insert(AddiOp(start, each)).result for each in found]

    def _below(self, s: Splitter, value: SSAValue, limit: SSAValue) -> SSAValue:
        """Return which coordinates are at least 0 and less than a limit."""
        limits = s.insert(BroadcastOp(limit, vector_type(value))).vector
        return s.insert(CmpiOp(value, limits, "ult")).result

    def _wide(self, s: Splitter, value: SSAValue, type: VectorType) -> SSAValue:
        """Return an i32 in all components of a vector of i64."""
        wide = s.insert(ExtSIOp(value, i64)).result
        return s.insert(BroadcastOp(wide, type)).vector

    def _load_scalar(self, op: tt.LoadOp, s: Splitter) -> SSAValue:
        """Load one element, all lanes the same."""
        (memref,) = s.parts(op.ptr)
        read = LoadOp.get(memref, [])
        if op.mask is None:
            return cast(s, s.insert(read).res, op.result.type)
        type = read.res.type
        other = None if op.other is None else cast(s, op.other, type)
        keep: list[Operation] = []
        if other is None:
            zero = zeros(self.entry, VectorType(type, [1]))
            keep.append(first := ExtractOp(zero, [0], type))
            other = first.result
        then = Region(Block([read, YieldOp(read.res)]))
        otherwise = Region(Block([*keep, YieldOp(other)]))
        found = s.insert(IfOp(op.mask, [type], then, otherwise)).results[0]
        return cast(s, found, op.result.type)

    def _store_scalar(self, op: tt.StoreOp, s: Splitter) -> None:
        """Store one element, the first lane for all."""
        (memref,) = s.parts(op.ptr)
        flag = is_first_of_all(self.entry)
        if op.mask is not None:
            flag = s.insert(AndIOp(flag, op.mask)).result
        value = cast(s, op.value, element_of_memory(memref))
        write = StoreOp.get(value, memref, [])
        s.insert(IfOp(flag, [], Region(Block([write, YieldOp()]))))


def element_of_memory(memory: SSAValue) -> Attribute:
    """Return the element type of a memref."""
    assert is_memref(memory.type), memory
    return memory.type.get_element_type()


def _store_to(memory: SSAValue) -> Write:
    """Return what stores an element."""
    return lambda value, indices: StoreOp.get(value, memory, indices)


def is_first_of_all(entry: Entry) -> SSAValue:
    """Return whether this is the first lane of the first subgroup."""
    lane, subgroup, zero = entry.lane(), entry.subgroup(), entry.number(0)
    either = entry.once("first of all", lambda: OrIOp(lane, subgroup))
    return entry.once("is first of all", lambda: CmpiOp(either, zero, "eq"))
