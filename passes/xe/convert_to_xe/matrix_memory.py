"""Where matrices are in memory, and which messages move them.

A matrix whose sizes are no powers of two is moved in blocks whose sizes are:

    24 x 48    16 x 32    16 x 16
                8 x 32     8 x 16

The memref is the surface: its last dimension a row of it.  What is known of it when
the kernel is compiled is checked; sizes that are arguments give conditions for the
host.  Loads by channels need no surface: memory may have more than two dimensions, as
where a matrix lies in tiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import ExtractStridedMetaDataOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from coopc.device import BlockIO, Device
from coopc.diagnostic import either
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout, MatrixType, Use
from coopc.dialects.narrow import memref_type
from coopc.dialects.simt import bits_of
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.ir.control_flow import function_around
from coopc.ir.element_access import (
    Element,
    checks_of,
    memory_offset,
    positions_of,
    refuse_blocks,
    size_of,
)
from coopc.ir.facts import ValueFacts
from coopc.ir.polynomial import NOTHING, ONE, Polynomial
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.channel_plans import ChannelPlan, demand_reach, plan_channels
from coopc.passes.xe.conditions import Demands, HostNumber, known_multiple, refuse_steps
from coopc.passes.xe.convert_to_xe.block_access import (
    BlockMove,
    ChannelPlace,
    SurfaceValues,
)
from coopc.passes.xe.convert_to_xe.layout_to_arith import (
    IndexSums,
    fields,
    narrowed,
    times,
)
from coopc.passes.xe.convert_to_xe.vectors import constant_i32
from coopc.passes.xe.register_layout import DpasTiling, RegisterLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import Part, Rule, refuse_surface, rules
from coopc.plan.channels import ALIGNMENT, ChannelReason, MemoryLines, SlotLoad
from coopc.plan.prefetch import PrefetchPlan, plan_prefetch
from coopc.plan.refusal import Reason, Refusal
from coopc.plan.search import Request, plan

T = TypeVar("T")
Pair: TypeAlias = tuple[int, int]
Moves: TypeAlias = tuple[BlockMove, ...]
PrefetchMove: TypeAlias = tuple[PrefetchPlan, Pair]
"""A plan, and where in memory what it fetches begins, from where the matrix does."""


def cuts(size: int) -> Iterator[tuple[int, int]]:
    """Yield starts and lengths of powers of two that make up a size.

    >>> list(cuts(24)), list(cuts(32))
    ([(0, 16), (16, 8)], [(0, 32)])
    """
    start = 0
    while start < size:
        length = 1 << ((size - start).bit_length() - 1)
        yield start, length
        start += length


def decide_matrix_blocks(
    op: coopmatrix.LoadOp | coopmatrix.StoreOp, tiling: DpasTiling, device: Device
) -> Moves | Refusal:
    """Return how a matrix is moved, or why not by block messages."""

    def moved(origin: Pair, shape: Pair, io: BlockIO) -> BlockMove | Refusal:
        registers = tiling.over(shape)
        found = _planned(op, registers, io)
        if isinstance(found, Refusal):
            return found
        offset = memory_offset(op.layout.data, *origin, tiling.type.element_bits)
        return BlockMove(found, registers, origin, offset)

    return _by_parts(op, device, moved)


def decide_matrix_prefetch(
    op: coopmatrix.PrefetchOp, device: Device
) -> tuple[PrefetchMove, ...] | Refusal:
    """Return how a matrix is fetched, or why not by block messages."""
    bits, order = op.matrix.element_bits, op.layout.data

    def fetched(origin: Pair, shape: Pair, io: BlockIO) -> PrefetchMove | Refusal:
        found = plan_prefetch(*memory_offset(order, *shape, bits), bits, 1, io)
        if isinstance(found, Refusal):
            return found
        return found, memory_offset(order, *origin, bits)

    return _by_parts(op, device, fetched)


def _by_parts(
    op: coopmatrix.AccessOp,
    device: Device,
    decide: Callable[[Pair, Pair, BlockIO], T | Refusal],
) -> tuple[T, ...] | Refusal:
    """Return what is decided of each part of a matrix, or the first refusal."""
    io = device.block_io
    if io is None:
        return Refusal(Reason.NO_BLOCK_IO, "it moves matrices lane by lane")
    if (refusal := refuse_memory(op, io)) is not None:
        return refusal
    found: list[T] = []
    for origin, shape in parts_of(op.matrix):
        one = decide(origin, shape, io)
        if isinstance(one, Refusal):
            return one
        found.append(one)
    return tuple(found)


def parts_of(type: MatrixType) -> Iterator[tuple[Pair, Pair]]:
    """Yield where the parts of a matrix begin, and their sizes, powers of two."""
    rows, cols = (tuple(cuts(size)) for size in type.shape)
    for (row, height), (col, width) in itertools.product(rows, cols):
        yield (row, col), (height, width)


def _planned(
    op: coopmatrix.LoadOp | coopmatrix.StoreOp, registers: RegisterLayout, io: BlockIO
) -> BlockPlan | Refusal:
    """Return the plan of a part of a matrix."""
    bits, order = op.matrix.element_bits, op.layout.data
    layout, packed = registers.layout, registers.packed
    if order == Layout.PACKED:
        layout = unpacked_layout(layout, bits)
    channel = 0 if packed is None else bits_of(packed.get_element_type())
    found = plan(
        Request(
            layout,
            0 if order == Layout.COL_MAJOR else 1,
            bits,
            store=isinstance(op, coopmatrix.StoreOp),
            run=registers.run,
            channel_bits=channel,
            column=known_multiple(op.positions[-1]),
        ),
        io,
    )
    if isinstance(found, Refusal):
        return found
    rows = op.memory_type.get_shape()[-2]
    if is_stack(op.memory_type) and rows % found.row_step:
        what = f"expected {found.row_step} to divide the rows of a matrix, got {rows}"
        return Refusal(Reason.POSITION, what)
    return refuse_steps(found, *op.positions[-2:]) or found


def unpacked_layout(layout: LinearLayout, bits: int) -> LinearLayout:
    """Return a layout of B as one of memory where its rows are packed in channels."""

    def moved(basis: tuple[int, ...]) -> tuple[int, int]:
        row, col = basis
        return memory_offset(Layout.PACKED, row, col, bits)

    sizes = moved(tuple(layout.out_sizes.values()))
    ins = {name: [moved(x) for x in layout.bases(name)] for name in layout.in_names}
    return LinearLayout.of(ins, dict(zip(layout.out_names, sizes, strict=True)))


def refuse_memory(op: coopmatrix.AccessOp, io: BlockIO) -> Refusal | None:
    """Return why the memory of an access is no surface, as far as is known."""
    refuse_blocks(op)
    type = op.memory_type
    if not is_global(type):
        return Refusal(Reason.UNKNOWN_MEMORY, f"{type.memory_space}, not global")
    outer = "cols" if op.layout.data is Layout.COL_MAJOR else "rows"
    checked = () if op.checked is None else op.checked.data
    if type.get_num_dims() != 2 and (not is_stack(type) or outer in checked):
        return Refusal(Reason.RANK, f"a memref of rank {type.get_num_dims()}")
    if (inner := op.matrix_strides[1]) != 1:
        return Refusal(Reason.STRIDE, f"{type} has an inner stride of {inner}")
    if kernel_argument(op.memory) is None or type.get_offset() != 0:
        what = "only the start of a kernel's argument can be checked by the host"
        return Refusal(Reason.BASE, what)
    bits = op.matrix.element_bits
    if (known := ValueFacts().divisor(op.positions[-1])) * bits % CHANNEL_BITS:
        return Refusal(
            Reason.POSITION,
            f"a column that is a multiple of {known} elements of {bits} bits, expected "
            "one of 4 bytes",
        )
    return refuse_surface(io, known_numbers(type))


def why_not_checked(op: coopmatrix.PlainAccessOp, device: Device) -> str | None:
    """Return why a KHR matrix is not accessed with checks, as a 2D block, or None."""
    rows = op.matrix.sizes[0]
    if rows not in device.checked_rows:
        has = either(device.checked_rows)
        return f"expected {has} rows, which {device.name} checks, got {rows}"
    is_b, layout = op.matrix.use.data is Use.B, op.layout_in_memory
    if isinstance(op, coopmatrix.StoreOp) and (is_b or layout is not Layout.ROW_MAJOR):
        return (
            f"expected a row_major matrix of a or acc, as {device.name} stores no "
            f"other with checks, got {op.matrix} in {layout}"
        )
    assert device.block_io is not None, device
    if (refusal := refuse_memory(op, device.block_io)) is not None:
        return str(refusal)
    demands, promised = Demands(), simt.conditions(function_around(op))
    demand_surface(demands, op.memory, device.block_io)
    for number, rule in demands.rules.items():
        if number.what != "address" and not any(
            number.is_of(each) and rule.follows_from(each) for each in promised
        ):
            return (
                f"expected memory of known sizes, or {simt.CONDITIONS} of them as for "
                f"2D blocks, got {op.memory_type}"
            )
    return None


def known_numbers(type: MemRefType) -> dict[Part, int]:
    """Return what is known of the surface that a memref is, in bytes and rows."""
    *rows, cols = type.get_shape()
    strides = type.get_strides()
    assert strides is not None, type
    size = element_bytes(type)
    found: dict[Part, int] = {}
    if DYNAMIC_INDEX not in rows:
        found["height"] = prod(rows)
    if cols != DYNAMIC_INDEX:
        found["width"] = cols * size
    if strides[-2] not in (None, DYNAMIC_INDEX):
        found["pitch"] = strides[-2] * size
    return found


def is_stack(type: MemRefType) -> bool:
    """Whether memory is matrices of a known size, one below the other.

    They are one surface, and a block reads the next one's rows beyond a matrix.
    """
    has_rows = type.get_num_dims() > 2
    return has_rows and is_plain(type) and DYNAMIC_INDEX not in type.get_shape()


def is_global(type: MemRefType) -> bool:
    """Whether memory is that of all work-items."""
    space = simt.MemoryAttr(simt.MemorySpace.GLOBAL)
    return type.memory_space in (NoneAttr(), space)


def is_plain(type: MemRefType) -> bool:
    """Whether rows lie one behind the other: the pitch is the last size."""
    return isinstance(type.layout, NoneAttr)


def element_bytes(type: MemRefType) -> int:
    return bits_of(type.element_type) // 8


def kernel_argument(memory: SSAValue) -> int | None:
    """Return which argument of a kernel a memref is; None if it is none."""
    if not isinstance(memory, BlockArgument):
        return None
    func = memory.block.parent_op()
    if not isinstance(func, FuncOp) or simt.KERNEL not in func.attributes:
        return None
    return memory.index if memory.block is func.body.block else None


def demand_surface(
    demands: Demands, memory: SSAValue, io: BlockIO, step: int = 1
) -> None:
    """Demand what must hold of the memref that is a surface of every step-th row."""
    type, argument = memref_type(memory), kernel_argument(memory)
    assert argument is not None, memory
    pitch = ("size", 1) if is_plain(type) else ("stride", 0)
    numbers: dict[Part, tuple[str, int]] = {
        "base": ("address", 0),
        "height": ("size", 0),
        "width": ("size", 1),
        "pitch": pitch,
    }
    for rule in rules(io, step):
        if rule.part not in known_numbers(type):
            if rule.part in ("width", "pitch"):
                rule = rule.in_units(element_bytes(type))
            demands.add(HostNumber(argument, *numbers[rule.part]), rule)


def surface_of(b: Builder, memory: SSAValue) -> SurfaceValues:
    """Return the surface that a memref of a kernel is."""
    type = memref_type(memory)
    size, strides = element_bytes(type), type.get_strides()
    assert strides is not None, type
    if is_stack(type):
        *rows, cols = type.get_shape()
        width = constant_i32(b, cols * size)
        return SurfaceValues(memory, width, constant_i32(b, prod(rows)), width)
    rows, cols = (narrowed(b, size_of(b, memory, dimension)) for dimension in (0, 1))
    pitch = width = times(b, cols, size)
    if strides[0] not in (None, DYNAMIC_INDEX):
        pitch = constant_i32(b, strides[0] * size)
    elif not is_plain(type):
        metadata = b.pure(ExtractStridedMetaDataOp, memory).owner
        assert isinstance(metadata, ExtractStridedMetaDataOp), memory
        pitch = times(b, narrowed(b, metadata.strides[0]), size)
    return SurfaceValues(memory, width, rows, pitch)


def start_of(
    known: IndexSums, b: Builder, op: coopmatrix.AccessOp
) -> tuple[SSAValue, SSAValue]:
    """Return row and column of the surface where a matrix begins, as i32."""
    outer, *places = (narrowed(known.at(b, x), x) for x in op.positions)
    for place, size in zip(places[:-1], op.memory_type.get_shape()[1:], strict=False):
        outer = b.pure(arith.AddiOp, times(b, outer, size), place)
    return outer, places[-1]


def decide_matrix_channels(
    op: coopmatrix.LoadOp, tiling: DpasTiling
) -> ChannelPlan | Refusal:
    """Return how a matrix is loaded, or why not as slots that follow each other."""
    if (refusal := _refused_access(op) or _refused_alignment(op)) is not None:
        return refusal
    return plan_channels(tiling.registers, tiling.type.element_bits, lines_of(op))


def lines_of(op: coopmatrix.LoadOp) -> MemoryLines:
    """Return how the matrix of a load lies in memory."""
    size, outer = op.matrix.element_bits // 8, op.matrix_strides[0]
    order = op.layout.data
    return MemoryLines(
        row_bytes=None if outer in (None, DYNAMIC_INDEX) else outer * size,
        across=1 if order is Layout.COL_MAJOR else 0,
        element_bytes=size,
        packed=CHANNEL_BITS // 8 // size if order is Layout.PACKED else 1,
    )


def _refused_access(op: coopmatrix.LoadOp) -> Refusal | None:
    refuse_blocks(op)
    type = op.memory_type
    if not is_global(type):
        return Refusal(ChannelReason.SPACE, f"it is in {type.memory_space}")
    if op.volatile is not None or op.nontemporal is not None:
        return Refusal(ChannelReason.SPECIAL, "it is one of them")
    if op.checked is not None:
        axes = (x for x in coopmatrix.Axis if x in op.checked.data)
        return Refusal(ChannelReason.CHECKED, "along " + ", ".join(axes))
    if type.element_type != op.matrix.element_type:
        return Refusal(ChannelReason.POINTEE, str(type.element_type))
    if op.matrix_strides[1] != 1:
        return Refusal(ChannelReason.STRIDE, f"{type} has no last stride of 1")
    if kernel_argument(op.memory) is None:
        what = "only an argument of a kernel can be checked by the host"
        return Refusal(ChannelReason.ALIGNMENT, what)
    return None


def _refused_alignment(op: coopmatrix.LoadOp) -> Refusal | None:
    """Refuse memory whose lines may begin in the middle of 4 bytes."""
    type, size = op.memory_type, op.matrix.element_bits // 8
    strides = type.get_strides()
    assert strides is not None, type
    if not isinstance(type.layout, NoneAttr):
        for stride in strides[:-1]:
            unknown = stride in (None, DYNAMIC_INDEX)
            if unknown or (stride or 0) * size % ALIGNMENT:
                what = "not known" if unknown else f"{stride} elements"
                return Refusal(ChannelReason.ALIGNMENT, f"a stride is {what}")
    elif (last := type.get_shape()[-1]) != DYNAMIC_INDEX and (
        len(strides) > 1 and last * size % ALIGNMENT
    ):
        return Refusal(ChannelReason.ALIGNMENT, f"rows are of {last} elements")
    said = 1 if op.alignment is None else op.alignment.value.data
    known = ValueFacts().divisor(op.positions[-1])
    if said % ALIGNMENT and known * size % ALIGNMENT:
        return Refusal(ChannelReason.ALIGNMENT, f"a position is a multiple of {known}")
    return None


def demand_matrix_channels(demands: Demands, op: coopmatrix.LoadOp) -> None:
    """Demand what must hold of the memref of a load by channels."""
    argument = kernel_argument(op.memory)
    assert argument is not None, op
    demands.add(HostNumber(argument, "address"), Rule("base", ALIGNMENT))
    demand_reach(demands, argument)
    type, size = op.memory_type, op.matrix.element_bits // 8
    last = len(type.get_shape()) - 1
    is_open = type.get_shape()[last] == DYNAMIC_INDEX
    if is_open and isinstance(type.layout, NoneAttr) and size < ALIGNMENT:
        number = HostNumber(argument, "size", last)
        demands.add(number, Rule("pitch", ALIGNMENT // size))


def place_of(b: Builder, op: coopmatrix.LoadOp) -> ChannelPlace:
    """Return where the messages of a load begin; nothing is checked."""
    size = op.matrix.element_bits // 8
    strides = strides_of(b, op.memory)
    start = NOTHING
    for position, stride in zip(op.positions, strides, strict=True):
        start += Polynomial.of(position) * stride
    bytes = Polynomial.number(size)

    def place(message: SlotLoad) -> tuple[SSAValue, None]:
        line = strides[-2] * Polynomial.number(message.line)
        place = (start + line) * bytes + Polynomial.number(message.byte)
        return place.build(b), None

    return place


def strides_of(b: Builder, memory: SSAValue) -> list[Polynomial]:
    """Return the strides of a memref, in elements."""
    type = memref_type(memory)
    if not isinstance(type.layout, NoneAttr):
        known = type.get_strides()
        assert known is not None, type
        return [Polynomial.number(x or 0) for x in known]
    found = [ONE]
    for dimension in range(len(type.get_shape()) - 1, 0, -1):
        size = Polynomial.of(size_of(b, memory, dimension))
        found.insert(0, found[0] * size)
    return found


@dataclass(frozen=True, slots=True)
class MatrixPlaces:
    """Where the elements of a matrix are, each at an address of its own.

    Where an axis is checked and an element is outside of it, it is not accessed.
    """

    op: coopmatrix.AccessOp
    registers: RegisterLayout

    @property
    def element(self) -> Attribute:
        return self.registers.element

    def of(
        self, b: Builder, vector: int, at: SSAValue | int
    ) -> tuple[SSAValue | bool, Values]:
        """Return whether an element of a lane is accessed, and its positions."""
        assert isinstance(at, int), at  # only vectors of places are looped over
        element = element_of_lane(b, self.registers, vector, at)
        positions = positions_of(b, self.op, element)
        return b.both(*checks_of(b, self.op, positions)), positions


def element_of_lane(
    b: Builder, registers: RegisterLayout, vector: int, at: int
) -> Element:
    """Return which element of a matrix a component of a lane's vectors holds."""
    number = registers.distinct[vector * registers.length + at]

    def coordinate(dimension: int, start: int) -> BoundedIndex:
        found = BoundedIndex(start)
        bases = [x[dimension] for x in registers.layout.bases("lane")]
        for each in fields(bases):
            part = b.divided(b.lane(1 << len(bases)), 1 << each.start)
            part = b.remainder(part, 1 << each.width)
            found = b.add(found, b.times(part, 1 << each.to))
        return found

    row, col = registers.coordinates[number]
    return Element(coordinate(0, row), coordinate(1, col))
