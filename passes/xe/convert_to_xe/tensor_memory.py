"""Where tensors of Triton are in memory: pointers, surfaces, and what accesses them.

Pointers: scalars as memrefs of rank 0, tensors as offsets from one of those.

    %q = tt.addptr %p, %n      memref.reinterpret_cast to offset: [%n] of what %p is in
    tensor of pointers         vectors of i64, elements from the base on

The base of a tensor of pointers is the scalar that was splat; it is found by looking
back, through loops too, and is not carried.  Where offsets may be negative they count
from what that pointer is in: no index of a memref is negative.

`tt.bitcast` of pointers: memory stays of what it is, values are cast.  What is updated
is a view of the memory.

    %q = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>      %q is what %p is
    %x = tt.load %q : !tt.ptr<i32>                         memref.load, arith.bitcast

Elements must have as many bits: then offsets count the same.  A boolean is a byte in
memory, of which the lowest bit counts.

`tt.atomic_rmw`: each element is updated once, by the first lane that has it.

    %old = tt.atomic_rmw fadd, relaxed, gpu, %p, %x, %m
    scf.if %first and %m { memref.atomic_rmw .. }    for each element of a lane

What was there before goes through work-group memory to the other lanes that have the
element; where nobody asks for it, nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan

from xdsl.dialects.arith import AddiOp, AndIOp, ExtSIOp, IndexCastOp, MuliOp
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from coopc.dialects import tt, ttig, xe_plans
from coopc.dialects.narrow import is_tensor, length_of, memref_type
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import PtrType, bits_of, block_io, in_memory
from coopc.ir.builder import INDEX, Builder
from coopc.ir.facts import ValueFacts, constant_number
from coopc.ir.polynomial import NOTHING, Polynomial
from coopc.ir.split_values import Results, Rule, Splitter
from coopc.ir.transaction import Refused
from coopc.passes.triton.access_attributes import why_no_matrix
from coopc.passes.triton.convert_tt_pointers_to_descriptors import is_block_pointer
from coopc.passes.triton.memory import (
    MANY,
    AtomicOp,
    cast_memory,
    in_elements,
    update_by,
)
from coopc.passes.triton.origins import base_of, offsets_of
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.conditions import refuse_steps
from coopc.passes.xe.convert_to_xe.block_access import (
    BlockMessages,
    BlockMove,
    ChannelPlace,
    SurfaceValues,
    load_channels,
)
from coopc.passes.xe.convert_to_xe.group_memory import (
    GroupMemory,
    barrier,
    refuse_too_large,
)
from coopc.passes.xe.convert_to_xe.layout_to_arith import (
    coordinates,
    divided,
    is_first_of_all,
    narrowed,
    part,
    times,
    zero_masks,
)
from coopc.passes.xe.convert_to_xe.scalar_access import (
    ScalarAccess,
    Values,
    VectorPlaces,
    Write,
    by_the_first,
)
from coopc.passes.xe.convert_to_xe.tensors import widened
from coopc.passes.xe.convert_to_xe.vectors import cast, packed, splat, vectors_of
from coopc.passes.xe.register_layout import RegisterLayout, registers_of
from coopc.plan.block2d import BlockPlan
from coopc.plan.channels import SlotLoad
from coopc.plan.search import unaligned

MOST_BYTES = 1 << 31
"""Of a row of a matrix, and from one to the next: as i32."""


@dataclass(slots=True)
class TensorMemory:
    """The rules for pointers, descriptors and accesses to memory, in one kernel."""

    group: GroupMemory
    blocks: BlockMessages
    elements: ScalarAccess
    channels: Mapping[Operation, ChannelPlan]
    """The loads that are done so."""
    bases: Mapping[Operation, SSAValue]
    """The scalar pointer that the pointers of an access count from."""
    backward: frozenset[Operation]
    """The accesses that may be of what is before that pointer."""
    padded: frozenset[Operation]
    """The accesses through descriptors that read NaN outside."""
    columns: Mapping[Operation, int]
    """Of those with plans: a power of two that the column is a multiple of."""
    moved: dict[SSAValue, tuple[SSAValue, SSAValue]] = field(default_factory=lambda: {})
    """For each memref that was moved, what it is in and the index of its start."""

    def rules(self) -> dict[type[Operation], Rule]:
        return {
            tt.AddPtrOp: self.add_pointer,
            **dict.fromkeys((tt.AtomicRMWOp, tt.AtomicCASOp), self.update),
            tt.BitcastOp: same_pointer,
            tt.DescriptorLoadOp: self.load_block,
            tt.DescriptorStoreOp: self.store_block,
            tt.LoadOp: self.load,
            tt.MakeTensorDescriptorOp: make_descriptor,
            tt.StoreOp: self.store,
            ttig.DescriptorPrefetchOp: self.prefetch,
            ttig.PrefetchOp: lambda op, b: (),
        }

    def add_pointer(self, op: tt.AddPtrOp, b: Splitter) -> Results:
        """A scalar pointer, moved; of a tensor offsets and offsets, in 64 bits."""
        if is_tensor(op.result.type):
            pairs = zip(b.parts(op.ptr), vectors_of(op.offset, b), strict=True)
            return [[b.pure(AddiOp, x, widened(b, y)) for x, y in pairs]]
        (base,) = b.parts(op.ptr)
        offset = b.pure(IndexCastOp, op.offset, IndexType())
        if base in self.moved:
            base, before = self.moved[base]
            offset = b.pure(AddiOp, before, offset)
        result = b.pure(cast_memory, base, offset, None)
        self.moved[result] = base, offset
        return [(result,)]

    def view(self, b: Builder, memref: SSAValue) -> SSAValue:
        """Return all elements behind a pointer, as a memref of rank 1."""
        return b.pure(cast_memory, *self.moved.get(memref, (memref, 0)), MANY)

    def load_block(self, op: tt.DescriptorLoadOp, b: Splitter) -> Results:
        """By blocks, by channels, or each element by itself."""
        registers = registers_of(op.result)
        if (plan := self._checked_plan(op)) is not None:
            y, x = op.indices
            surface, move = SurfaceValues(*b.parts(op.desc)), BlockMove(plan, registers)
            return [self.blocks.load(b, registers, [move], surface, (y, x))]
        if (channels := self.channels.get(op)) is not None:
            surface = SurfaceValues(*b.parts(op.desc))
            place, name = _channel_place(b, op, surface), op.result.name_hint
            return [load_channels(b, channels, registers, surface.base, place, name)]
        other = None
        if op in self.padded:
            other = [b.constant(registers.vector, nan)] * registers.vectors
        places = self._through_descriptor(op, registers, b)
        read = partial(LoadOp.get, places.memory)
        return [self.elements.load(b, registers, places, read, other)]

    def store_block(self, op: tt.DescriptorStoreOp, b: Splitter) -> Results:
        """By blocks, or each element by itself."""
        registers, pieces = registers_of(op.src), b.parts(op.src)
        if (plan := self._checked_plan(op)) is not None:
            (y, x), move = op.indices, BlockMove(plan, registers)
            surface = SurfaceValues(*b.parts(op.desc))
            self.blocks.store(b, registers, pieces, [move], surface, (y, x))
            return ()
        places = self._through_descriptor(op, registers, b)
        self.elements.store(b, registers, pieces, places, _store_to(places))
        return ()

    def _checked_plan(
        self, op: tt.DescriptorLoadOp | tt.DescriptorStoreOp
    ) -> BlockPlan | None:
        """Return the plan of an access; None where there is a reason against one."""
        plan = op.attributes.get(xe_plans.PLAN)
        if not isinstance(plan, xe_plans.PlanAttr):
            if xe_plans.REFUSAL not in op.attributes:
                what = "a plan of plan-block-io, or a reason why there is none"
                raise Refused(op, f"expected {what}")
            return None
        if op in self.padded:
            what = "expected zeros outside of a descriptor, got NaN"
            raise Refused(op, f"{what}: normalize-tt-descriptors")
        decided = plan.data
        refusal = unaligned(decided.shape, decided.packed, self.columns[op])
        if refusal := refusal or refuse_steps(decided, *op.indices):
            raise Refused(op, str(refusal))
        return decided

    def prefetch(self, op: ttig.DescriptorPrefetchOp, b: Splitter) -> Results:
        """The share of each subgroup; nothing where there is no plan: it is a hint."""
        attr = op.attributes.get(xe_plans.PLAN)
        if isinstance(attr, xe_plans.BlockPrefetchPlanAttr):
            y, x = op.indices
            surface = SurfaceValues(*b.parts(op.desc))
            self.blocks.prefetch(b, attr.data, surface, (y, x))
        return ()

    def load(self, op: tt.LoadOp, b: Splitter) -> Results:
        """Each element or vector by itself; a scalar by all lanes."""
        if not is_tensor(op.ptr.type):
            return [(_load_scalar(op, b),)]
        registers, places = registers_of(op.result), self.through_pointers(op, b)
        other = None if op.other is None else vectors_of(op.other, b)
        read = partial(LoadOp.get, places.memory)
        return [self.elements.load(b, registers, places, read, other)]

    def store(self, op: tt.StoreOp, b: Splitter) -> Results:
        """Each element or vector by itself; a scalar by the first lane."""
        if not is_tensor(op.ptr.type):
            _store_scalar(op, b)
            return ()
        registers, pieces = registers_of(op.value), b.parts(op.value)
        places = self.through_pointers(op, b)
        self.elements.store(b, registers, pieces, places, _store_to(places))
        return ()

    def update(self, op: AtomicOp, b: Splitter) -> Results:
        """Update what a tensor of pointers points to, or one element for all lanes."""
        if not is_tensor(op.ptr.type):
            return [(self._update_scalar(op, b),)]
        registers = registers_of(op.val)
        places = self.through_pointers(op, b)
        target = in_elements(b, places.memory, registers.element)
        places = replace(places, memory=target)
        is_shared = _refuse_repeats(op)
        if op.result.uses and is_shared:
            refuse_too_large(op, [registers.element], 1 << registers.layout.out_bits)
        places = by_the_first(b, registers, places)

        def change(values: Sequence[SSAValue], where: Sequence[SSAValue]) -> Operation:
            return update_by(op, lambda _: values[0])(target, values[-1], where)

        is_exchange = isinstance(op, tt.AtomicCASOp)
        parts = [b.parts(x) for x in ((op.cmp, op.val) if is_exchange else (op.val,))]
        found = self.elements.update(b, registers, parts, places, change)
        if op.result.uses and is_shared:
            found = self.group.exchanged(b, found, registers, registers)
        return [packed(b, registers, found)]

    def _update_scalar(self, op: AtomicOp, b: Splitter) -> SSAValue:
        """Update one element, the first lane for all; others may wait for it.

        All wait before and after an exchange.
        """
        memory, at = self._updated(op, b)
        is_exchange = isinstance(op, tt.AtomicCASOp)
        if is_exchange or op.order in (tt.Order.RELEASE, tt.Order.ACQ_REL):
            barrier(b)
        flag = is_first_of_all(b)
        if not is_exchange and op.mask is not None:
            flag = b.pure(AndIOp, flag, op.mask)
        new = partial(update_by(op, lambda x: x), memory, op.val, at)
        (found,) = b.effect_where(flag, new, [b.constant(op.val.type, 0)])
        if is_exchange or op.result.uses:
            found = self._of_the_first(b, found)
        if is_exchange:
            barrier(b)
        return found

    def _updated(
        self, op: AtomicOp, b: Splitter
    ) -> tuple[SSAValue, Sequence[SSAValue]]:
        """Return memory of what is updated, an element, and its indices."""
        (memory,) = b.parts(op.ptr)
        if element_of_memory(memory) == op.val.type:
            return memory, []
        whole = in_elements(b, self.view(b, memory), op.val.type)
        return whole, [b.constant(INDEX, 0)]

    def _of_the_first(self, b: Builder, value: SSAValue) -> SSAValue:
        """Give all lanes the value of the first one."""
        memory, first = self.group.of(value.type, 1), b.constant(INDEX, 0)
        barrier(b)
        flag = is_first_of_all(b)
        b.effect_where(flag, lambda: StoreOp.get(value, memory, [first]))
        barrier(b)
        return b.effect(LoadOp.get(memory, [first])).results[0]

    def through_pointers(
        self, op: tt.LoadOp | tt.StoreOp | AtomicOp, b: Splitter
    ) -> VectorPlaces:
        """Return where elements behind pointers are."""
        (memref,) = b.parts(self.bases[op])
        mask = None if isinstance(op, tt.AtomicCASOp) else op.mask
        masks = None if mask is None else vectors_of(mask, b)
        planned = op.attributes.get(xe_plans.VECTOR)
        length = planned.value.data if isinstance(planned, IntegerAttr) else 1
        offsets = b.parts(op.ptr)
        if op in self.backward and memref in self.moved:
            memref, start = self.moved[memref]
            number = b.pure(IndexCastOp, start, i64)
            offsets = [
                b.pure(AddiOp, x, splat(b, number, length_of(x))) for x in offsets
            ]
        memory = self.view(b, memref)
        return VectorPlaces(memory, offsets, masks, together=length)

    def _through_descriptor(
        self,
        op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
        registers: RegisterLayout,
        b: Splitter,
    ) -> VectorPlaces:
        """Return where the elements of a block are."""
        base, sizes, strides = _in_elements(op, registers, b)
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
        return VectorPlaces(self.view(b, base), offsets, masks)


def make_descriptor(op: tt.MakeTensorDescriptorOp, b: Splitter) -> Results:
    """Width and pitch in bytes; sizes are of 32 bits, as the hardware has them.

    Of ranks other than 2: the base, sizes and strides, in elements.
    """
    width = op.type.element_bits
    if width == 1:
        what = f"expected elements of whole bytes in memory, got {op.type}"
        raise Refused(op, what)
    numbers = [*op.shape[-1:], *op.strides[-2:-1]] if op.type.rank == 2 else []
    for known in map(constant_number, numbers):
        if known is not None and abs(known * width // 8) >= MOST_BYTES:
            what = f"expected rows of less than 2 GiB, got one of {known} elements"
            raise Refused(op, what)
    stride = constant_number(op.strides[-1])
    if stride not in (None, 1):
        what = "expected a last stride of 1, as descriptors have"
        raise Refused(op, f"{what}, got {stride}")
    if op.type.rank != 2:
        return [(*b.parts(op.base), *op.shape, *op.strides)]
    (base,) = b.parts(op.base)
    rows, cols = op.shape[-2:]
    pitch = narrowed(b, op.strides[-2])
    return [(base, times(b, cols, width // 8), rows, times(b, pitch, width // 8))]


def pointer_base(op: tt.LoadOp | tt.StoreOp | AtomicOp) -> SSAValue:
    """Return the scalar pointer that the pointers of an access count from.

    Raises:
        Refused: there are several, or it accesses a block pointer.
    """
    if is_tensor(op.ptr.type):
        if (base := base_of(op.ptr)) is None:
            raise Refused(op, "expected pointers that count from one scalar pointer")
        return base
    if is_block_pointer(op.ptr):
        otherwise = "one as it was: convert-tt-pointers-to-descriptors"
        what = why_no_matrix(op, otherwise)
        raise Refused(op, f"expected a block pointer that is understood, got {what}")
    return op.ptr


def may_be_before(pointers: SSAValue) -> bool:
    """Whether pointers may be before the scalar pointer that they count from."""
    known = ValueFacts()
    return not all(map(known.is_known_nonnegative, offsets_of(pointers)))


def _in_elements(
    op: tt.DescriptorLoadOp | tt.DescriptorStoreOp,
    registers: RegisterLayout,
    b: Splitter,
) -> tuple[SSAValue, Values, Sequence[SSAValue | None]]:
    """Return base, sizes (i32) and strides (i64, None for 1) of a descriptor."""
    base, *numbers = b.parts(op.desc)
    rank = len(op.indices)
    if rank != 2:
        return base, numbers[:rank], numbers[rank:]
    surface = SurfaceValues(base, *numbers)
    shift = ((bits_of(registers.element) or 8) // 8).bit_length() - 1
    width, pitch = (divided(b, x, shift) for x in (surface.width, surface.pitch))
    return base, (surface.height, width), (b.pure(ExtSIOp, pitch, i64), None)


def _channel_place(
    b: Builder, op: tt.DescriptorLoadOp, surface: SurfaceValues
) -> ChannelPlace:
    """Return where the messages of a load begin, and whether that is inside."""
    size = (bits_of(op.result.type) or 8) // 8
    layout = registers_of(op.result).layout
    starts: list[Polynomial] = []
    for dimension, index in enumerate(op.indices):
        warp = part(b, layout, "warp", dimension).value
        own = NOTHING if warp is None else Polynomial.of(warp)
        starts.append(Polynomial.of(index) + own)
    (y, x), bytes = starts, Polynomial.number(size)
    pitch = Polynomial.of(surface.pitch)

    def place(message: SlotLoad) -> tuple[SSAValue, SSAValue]:
        row = y + Polynomial.number(message.line)
        byte = x * bytes + Polynomial.number(message.byte)
        offset = (row * pitch + byte).build(b)
        guard = b.both(
            b.compare("ult", row.build(b), surface.height),
            b.compare("ult", byte.build(b), surface.width),
        )
        assert isinstance(guard, SSAValue), op
        return offset, guard

    return place


def _load_scalar(op: tt.LoadOp, b: Splitter) -> SSAValue:
    """Load one element, all lanes the same."""
    (memory,) = b.parts(op.ptr)
    type = element_of_memory(memory)
    other = b.constant(type, 0) if op.other is None else cast(b, op.other, type)
    flag = True if op.mask is None else op.mask
    (found,) = b.effect_where(flag, lambda: LoadOp.get(memory, []), [other])
    return cast(b, found, op.result.type)


def _store_scalar(op: tt.StoreOp, b: Splitter) -> None:
    """Store one element, the first lane for all."""
    (memory,) = b.parts(op.ptr)
    flag = is_first_of_all(b)
    if op.mask is not None:
        flag = b.pure(AndIOp, flag, op.mask)
    value = cast(b, op.value, element_of_memory(memory))
    b.effect_where(flag, lambda: StoreOp.get(value, memory, []))


def element_of_memory(memory: SSAValue) -> Attribute:
    return memref_type(memory).get_element_type()


def _store_to(places: VectorPlaces) -> Write:
    return lambda value, indices: StoreOp.get(value, places.memory, indices)


# Pointers


def memref_of(value: SSAValue) -> Attribute:
    """Return the type of the memref that a scalar pointer becomes."""
    if isinstance(value.owner, tt.BitcastOp):
        return memref_of(value.owner.src)
    plain = isinstance(value, BlockArgument) and not isinstance(
        value.block.parent_op(), ForOp
    )
    layout = NoneAttr() if plain else StridedLayoutAttr([], None)
    return MemRefType(memory_of(value), [], layout)


def same_pointer(op: tt.BitcastOp, b: Splitter) -> Results:
    """What the pointer is that was cast."""
    source, result = element_of(op.src.type), element_of(op.result.type)
    if not isinstance(source, PtrType) or not isinstance(result, PtrType):
        raise Refused(op, "expected pointers, got numbers: expand-tt-math")
    widths = [bits_of(in_memory(x.pointee)) for x in (source, result)]
    if None in widths or widths[0] != widths[1]:
        what = f"expected pointers to elements of as many bits, got {source}"
        raise Refused(op, f"{what} to {result}")
    return [b.parts(op.src)]


def memory_of(value: SSAValue) -> Attribute:
    """Return what the memory behind a scalar pointer is of, before casts."""
    while isinstance(value.owner, tt.BitcastOp | tt.AddPtrOp):
        value = value.owner.operands[0]
    assert isinstance(value.type, PtrType), value
    return in_memory(value.type.pointee)


# Atomic updates


def _refuse_repeats(op: AtomicOp) -> bool:
    """Whether several lanes have an element; refuse where the first is not known."""
    layout = registers_of(op.val).layout
    zero, free = zero_masks(layout), layout.free_masks()
    of_lanes = [x for x in layout.in_names if x != "register"]
    if any(zero[x] != free[x] for x in of_lanes):
        raise Refused(
            op,
            "expected elements that several lanes have to be the same by zero bases, "
            f"got {op.val.type}",
        )
    return any(zero[x] for x in of_lanes)
