"""Where tensors of Triton are in memory: surfaces, messages, and single elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.arith import (
    AddiOp,
    AndIOp,
    ConstantOp,
    ExtSIOp,
    ExtUIOp,
    MuliOp,
    TruncIOp,
)
from xdsl.dialects.builtin import i32, i64
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import tt, ttig, xe
from coopc.dialects.narrow import is_memref
from coopc.dialects.tt.types import bits_of, block_io, is_tensor
from coopc.ir.builder import Builder
from coopc.ir.facts import constant_number
from coopc.ir.polynomial import Polynomial
from coopc.ir.split_values import Splitter
from coopc.ir.transaction import Refused
from coopc.passes.triton.access_attributes import why_no_matrix
from coopc.passes.triton.convert_tt_pointers_to_descriptors import is_block_pointer
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.conditions import refuse_steps
from coopc.passes.xe.convert_to_xe.block_access import (
    BlockMessages,
    BlockMove,
    ChannelPlace,
    Surface,
    load_channels,
)
from coopc.passes.xe.convert_to_xe.layout_to_arith import (
    coordinates,
    divided,
    is_first_of_all,
    part,
    times,
)
from coopc.passes.xe.convert_to_xe.pointers import Pointers, cast
from coopc.passes.xe.convert_to_xe.scalar_access import (
    ScalarAccess,
    Values,
    VectorPlaces,
    Write,
)
from coopc.passes.xe.convert_to_xe.tensors import Rule, widened
from coopc.passes.xe.convert_to_xe.vectors import (
    constant_i32,
    not_a_number,
    splat,
    unpacked,
)
from coopc.passes.xe.register_layout import RegisterLayout, registers_of
from coopc.plan.block2d import BlockPlan
from coopc.plan.channels import SlotLoad

MOST_BYTES = 1 << 31
"""Of a row of a matrix, and from one to the next: as i32."""


def plan_of(op: Operation) -> BlockPlan | None:
    """Return the plan that an access has, if it has one."""
    found = op.attributes.get(xe.PLAN)
    return found.data if isinstance(found, xe.PlanAttr) else None


@dataclass(slots=True)
class TensorMemory:
    """The rules for descriptors, and for accesses to tensors."""

    pointers: Pointers
    blocks: BlockMessages
    elements: ScalarAccess
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
            tt.MakeTensorDescriptorOp: make_descriptor,
            tt.StoreOp: self.store,
            ttig.DescriptorPrefetchOp: self.prefetch,
            ttig.PrefetchOp: lambda op, s, b: (),
        }

    def load_block(
        self, op: tt.DescriptorLoadOp, s: Splitter, b: Builder
    ) -> Sequence[Values]:
        """By blocks, by channels, or each element by itself."""
        registers = registers_of(op.result)
        if (plan := self._checked_plan(op)) is not None:
            y, x = op.indices
            surface, move = Surface(*s.parts(op.desc)), BlockMove(plan, registers)
            return [self.blocks.load(b, registers, [move], surface, (y, x))]
        if (channels := self.channels.get(op)) is not None:
            surface = Surface(*s.parts(op.desc))
            place, name = _channel_place(b, op, surface), op.result.name_hint
            return [load_channels(b, channels, registers, surface.base, place, name)]
        other = None
        if op in self.padded:
            nan = b.pure(ConstantOp, not_a_number(registers.vector))
            other = [nan] * registers.vectors
        memory, places = self._through_descriptor(op, registers, s, b)
        read = partial(LoadOp.get, memory)
        return [self.elements.load(b, registers, places, read, other)]

    def store_block(
        self, op: tt.DescriptorStoreOp, s: Splitter, b: Builder
    ) -> Sequence[Values]:
        """By blocks, or each element by itself."""
        registers, pieces = registers_of(op.src), s.parts(op.src)
        if (plan := self._checked_plan(op)) is not None:
            (y, x), move = op.indices, BlockMove(plan, registers)
            surface = Surface(*s.parts(op.desc))
            self.blocks.store(b, registers, pieces, [move], surface, (y, x))
            return ()
        memory, places = self._through_descriptor(op, registers, s, b)
        self.elements.store(b, registers, pieces, places, _store_to(memory))
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
            raise Refused(op, f"{what}: normalize-tt-descriptors")
        refusal = refuse_steps(plan, op.indices[-2], op.indices[-1])
        if refusal is not None:
            raise Refused(op, str(refusal))
        return plan

    def prefetch(
        self, op: ttig.DescriptorPrefetchOp, s: Splitter, b: Builder
    ) -> Sequence[Values]:
        """The share of each subgroup; nothing where there is no plan: it is a hint."""
        attr = op.attributes.get(xe.PLAN)
        if isinstance(attr, xe.BlockPrefetchPlanAttr):
            y, x = op.indices
            surface = Surface(*s.parts(op.desc))
            self.blocks.prefetch(b, attr.data, surface, (y, x))
        return ()

    def load(self, op: tt.LoadOp, s: Splitter, b: Builder) -> Sequence[Values]:
        """Each element by itself; a scalar by all lanes."""
        _refuse_block_pointer(op)
        if not is_tensor(op.ptr.type):
            return [(_load_scalar(op, s, b),)]
        registers = registers_of(op.result)
        memory, places = self.through_pointers(op, s, b)
        other = None
        if op.other is not None:
            other = unpacked(b, registers_of(op.other), s.parts(op.other))
        read = partial(LoadOp.get, memory)
        return [self.elements.load(b, registers, places, read, other)]

    def store(self, op: tt.StoreOp, s: Splitter, b: Builder) -> Sequence[Values]:
        """Each element by itself; a scalar by the first lane."""
        _refuse_block_pointer(op)
        if not is_tensor(op.ptr.type):
            _store_scalar(op, s, b)
            return ()
        registers, pieces = registers_of(op.value), s.parts(op.value)
        memory, places = self.through_pointers(op, s, b)
        self.elements.store(b, registers, pieces, places, _store_to(memory))
        return ()

    def base(self, op: tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp) -> SSAValue:
        """Return the scalar pointer that a tensor of pointers counts from."""
        found = self.bases[op]
        if found is None:
            raise Refused(op, "expected pointers that count from one scalar pointer")
        return found

    def through_pointers(
        self, op: tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp, s: Splitter, b: Builder
    ) -> tuple[SSAValue, VectorPlaces]:
        """Return memory of rank 1, and where elements behind pointers are in it."""
        (memref,) = s.parts(self.base(op))
        masks = None
        if op.mask is not None:
            masks = unpacked(b, registers_of(op.mask), s.parts(op.mask))
        memory = self.pointers.view(b, memref)
        return memory, VectorPlaces(element_of_memory(memory), s.parts(op.ptr), masks)

    def _through_descriptor(
        self,
        op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
        registers: RegisterLayout,
        s: Splitter,
        b: Builder,
    ) -> tuple[SSAValue, VectorPlaces]:
        """Return memory of rank 1, and where in it the elements of a block are."""
        base, sizes, strides = _in_elements(op, registers, s, b)
        rank = len(op.indices)
        dims = list(range(rank))
        if block_io(op) == "column_major":
            dims[-2:] = dims[:-3:-1]
        missing = rank - len(registers.layout.outs)
        length = registers.length
        offsets: list[SSAValue] = []
        masks: list[SSAValue] = []
        for dim, index in enumerate(op.indices):
            start = splat(b, index, length)
            places = [start] * registers.vectors
            if dims[dim] >= missing:
                own = coordinates(b, registers, dims[dim] - missing)
                places = [b.pure(AddiOp, start, each) for each in own]
            along = [widened(b, each) for each in places]
            if (stride := strides[dim]) is not None:
                step = splat(b, stride, length)
                along = [b.pure(MuliOp, each, step) for each in along]
            limit = splat(b, sizes[dim], length)
            below = [b.compare("ult", each, limit) for each in places]
            if dim == 0:
                offsets, masks = along, below
                continue
            offsets = [
                b.pure(AddiOp, x, y) for x, y in zip(offsets, along, strict=True)
            ]
            masks = [b.pure(AndIOp, x, y) for x, y in zip(masks, below, strict=True)]
        memory = self.pointers.view(b, base)
        return memory, VectorPlaces(element_of_memory(memory), offsets, masks)


def make_descriptor(
    op: tt.MakeTensorDescriptorOp, s: Splitter, b: Builder
) -> Sequence[Values]:
    """Width and pitch in bytes; sizes are of 32 bits, as the hardware has them.

    Of ranks other than 2: the base, sizes and strides, in elements.
    """
    _refuse_descriptor(op)
    if op.type.rank != 2:
        return [(*s.parts(op.base), *op.shape, *op.strides)]
    width = bits_of(op.type.tensor)
    assert width is not None, op
    (base,) = s.parts(op.base)
    rows, cols = op.shape[-2:]
    pitch = _narrow(b, op.strides[-2])
    return [(base, times(b, cols, width // 8), rows, times(b, pitch, width // 8))]


def _refuse_descriptor(op: tt.MakeTensorDescriptorOp) -> None:
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


def _refuse_block_pointer(op: tt.LoadOp | tt.StoreOp) -> None:
    if is_block_pointer(op):
        otherwise = "one as it was: convert-tt-pointers-to-descriptors"
        what = why_no_matrix(op, otherwise)
        raise Refused(op, f"expected a block pointer that is understood, got {what}")


def _narrow(b: Builder, value: SSAValue) -> SSAValue:
    """Return an i64 that is a stride as the i32 that it was, or is cut to."""
    if (known := constant_number(value)) is not None:
        return constant_i32(b, known)
    owner = value.owner
    if isinstance(owner, ExtSIOp | ExtUIOp) and owner.input.type == i32:
        return owner.input
    return b.pure(TruncIOp, value, i32)


def _in_elements(
    op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
    registers: RegisterLayout,
    s: Splitter,
    b: Builder,
) -> tuple[SSAValue, Values, Sequence[SSAValue | None]]:
    """Return base, sizes (i32) and strides (i64, None for 1) of a descriptor."""
    base, *numbers = s.parts(op.desc)
    rank = len(op.indices)
    if rank != 2:
        return base, numbers[:rank], numbers[rank:]
    surface = Surface(base, *numbers)
    shift = ((bits_of(registers.element) or 8) // 8).bit_length() - 1
    width, pitch = (divided(b, x, shift) for x in (surface.width, surface.pitch))
    return base, (surface.height, width), (b.pure(ExtSIOp, pitch, i64), None)


def _channel_place(
    b: Builder, op: tt.DescriptorLoadOp, surface: Surface
) -> ChannelPlace:
    """Return where the messages of a load begin, and whether that is inside."""
    size = Polynomial.number((bits_of(op.result.type) or 8) // 8)
    layout = registers_of(op.result).layout
    starts: list[Polynomial] = []
    for dimension, index in enumerate(op.indices):
        warp = part(b, layout, "warp", dimension).value
        of_warp = Polynomial() if warp is None else Polynomial.of(warp)
        starts.append(Polynomial.of(index) + of_warp)
    y, x = starts

    def place(message: SlotLoad) -> tuple[SSAValue, SSAValue]:
        row = y + Polynomial.number(message.line)
        byte = x * size + Polynomial.number(message.byte)
        offset = (row * Polynomial.of(surface.pitch) + byte).build(b)
        guard = b.both(
            b.compare("ult", row.build(b), surface.height),
            b.compare("ult", byte.build(b), surface.width),
        )
        assert isinstance(guard, SSAValue), op
        return offset, guard

    return place


def _load_scalar(op: tt.LoadOp, s: Splitter, b: Builder) -> SSAValue:
    """Load one element, all lanes the same."""
    (memory,) = s.parts(op.ptr)
    type = element_of_memory(memory)
    other = b.constant(type, 0) if op.other is None else cast(b, op.other, type)
    flag = True if op.mask is None else op.mask
    (found,) = b.effect_where(flag, lambda: LoadOp.get(memory, []), [other])
    return cast(b, found, op.result.type)


def _store_scalar(op: tt.StoreOp, s: Splitter, b: Builder) -> None:
    """Store one element, the first lane for all."""
    (memory,) = s.parts(op.ptr)
    flag = is_first_of_all(b)
    if op.mask is not None:
        flag = b.pure(AndIOp, flag, op.mask)
    value = cast(b, op.value, element_of_memory(memory))
    b.effect_where(flag, lambda: StoreOp.get(value, memory, []))


def element_of_memory(memory: SSAValue) -> Attribute:
    """Return the element type of a memref."""
    assert is_memref(memory.type), memory
    return memory.type.get_element_type()


def _store_to(memory: SSAValue) -> Write:
    return lambda value, indices: StoreOp.get(value, memory, indices)
