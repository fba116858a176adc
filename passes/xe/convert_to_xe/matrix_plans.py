"""Which 2D block messages move a matrix between memory and the lanes.

A matrix whose sizes are no powers of two is moved in blocks whose sizes are:

    24 x 48    16 x 32    16 x 16
                8 x 32     8 x 16

The memref is the surface: its last dimension a row of it.  What is known of it when
the kernel is compiled is checked; sizes that are arguments give conditions for the
host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from coopc.device import BlockIO, Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout
from coopc.dialects.narrow import is_memref
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces
from coopc.passes.xe.strided_rows import refuse_steps
from coopc.plan.block2d import BlockPlan
from coopc.plan.prefetch import PrefetchPlan, plan_prefetch
from coopc.plan.refusal import Reason, Refusal
from coopc.plan.search import Request, plan
from coopc.plan.surface import Part, Rule, refuse_surface, rules
from coopc.rewrite.lane_facts import multiple_of
from coopc.rewrite.matrix_cutting import memory_offset


@dataclass(frozen=True)
class Part2D:
    """A part of a matrix, and how it is moved."""

    origin: tuple[int, int]
    """Its first row and column."""
    offset: tuple[int, int]
    """The same in memory: along the last two dimensions."""
    shape: tuple[int, int]
    plan: BlockPlan | PrefetchPlan


Moves = tuple[Part2D, ...]


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


def decide(op: coopmatrix.AccessOp, pieces: Pieces, device: Device) -> Moves | Refusal:
    """Return how a matrix is moved, or why not by block messages."""
    io = device.block_io
    if io is None:
        return Refusal(Reason.NO_BLOCK_IO, "it moves matrices lane by lane")
    if (refusal := _refuse_memory(op, io)) is not None:
        return refusal
    rows, cols = (tuple(cuts(size)) for size in pieces.type.shape)
    moves: list[Part2D] = []
    for (row, height), (col, width) in product(rows, cols):
        shape = height, width
        found = _planned(op, pieces, shape, io)
        if isinstance(found, Refusal):
            return found
        offset = memory_offset(op.layout.data, row, col, pieces.type.element_bits)
        moves.append(Part2D((row, col), offset, shape, found))
    return tuple(moves)


def _planned(
    op: coopmatrix.AccessOp, pieces: Pieces, shape: tuple[int, int], io: BlockIO
) -> BlockPlan | PrefetchPlan | Refusal:
    """Return the plan of a part of a matrix."""
    bits, order = pieces.type.element_bits, op.layout.data
    if isinstance(op, coopmatrix.PrefetchOp):
        sizes = memory_sizes(order, shape, bits)
        return plan_prefetch(*sizes, bits, 1, io)
    layout = pieces.linear(shape)
    if order == Layout.PACKED:
        layout = unpacked_layout(layout, bits)
    channel = 0
    packed = pieces.spread.packed
    if packed is not None:
        channel = getattr(packed.get_element_type(), "bitwidth", 0)
    found = plan(
        Request(
            layout,
            0 if order == Layout.COL_MAJOR else 1,
            bits,
            store=isinstance(op, coopmatrix.StoreOp),
            run=pieces.spread.run,
            channel_bits=channel,
        ),
        io,
    )
    if isinstance(found, BlockPlan):
        return refuse_steps(found, *op.positions) or found
    return found


def memory_sizes(order: Layout, shape: tuple[int, int], bits: int) -> tuple[int, int]:
    """Return rows and columns of a matrix as memory has them."""
    rows, cols = shape
    match order:
        case Layout.ROW_MAJOR:
            return rows, cols
        case Layout.COL_MAJOR:
            return cols, rows
        case Layout.PACKED:
            return rows * bits // CHANNEL_BITS, cols * CHANNEL_BITS // bits


def unpacked_layout(layout: LinearLayout, bits: int) -> LinearLayout:
    """Return a layout of B as one of memory where its rows are packed in channels."""
    w = CHANNEL_BITS // bits

    def moved(basis: tuple[int, ...]) -> tuple[int, int]:
        row, col = basis
        return row // w, col * w + row % w

    rows, cols = layout.out_sizes.values()
    sizes = memory_sizes(Layout.PACKED, (rows, cols), bits)
    ins = {name: [moved(x) for x in layout.bases(name)] for name in layout.in_names}
    return LinearLayout.of(ins, dict(zip(layout.out_names, sizes, strict=True)))


def _refuse_memory(op: coopmatrix.AccessOp, io: BlockIO) -> Refusal | None:
    """Return why the memory of an access is no surface, as far as is known."""
    type = op.memory_type
    if type.memory_space not in (
        NoneAttr(),
        simt.MemoryAttr.of(simt.MemorySpace.GLOBAL),
    ):
        return Refusal(Reason.UNKNOWN_MEMORY, f"{type.memory_space}, not global")
    if type.get_num_dims() != 2:
        return Refusal(Reason.RANK, f"a memref of rank {type.get_num_dims()}")
    if (inner := op.matrix_strides[1]) != 1:
        return Refusal(Reason.STRIDE, f"{type} has an inner stride of {inner}")
    if kernel_argument(op.memory) is None or not is_at_start(type):
        what = "only the start of a kernel's argument can be checked by the host"
        return Refusal(Reason.BASE, what)
    bits = op.matrix.element_bits
    if (known := multiple_of(op.positions[-1])) * bits % CHANNEL_BITS:
        return Refusal(
            Reason.POSITION,
            f"a column that is a multiple of {known} elements of {bits} bits, expected "
            "one of 4 bytes",
        )
    return refuse_surface(io, known_numbers(type))


def known_numbers(type: MemRefType) -> dict[Part, int]:
    """Return what is known of the surface that a memref is, in bytes and rows."""
    rows, cols = type.get_shape()
    strides = type.get_strides()
    assert strides is not None, type
    size = element_bytes(type)
    found: dict[Part, int] = {}
    if rows != DYNAMIC_INDEX:
        found["height"] = rows
    if cols != DYNAMIC_INDEX:
        found["width"] = cols * size
    if strides[0] not in (None, DYNAMIC_INDEX):
        found["pitch"] = strides[0] * size
    return found


def is_plain(type: MemRefType) -> bool:
    """Whether rows lie one behind the other: the pitch is the last size."""
    return isinstance(type.layout, NoneAttr)


def is_at_start(type: MemRefType) -> bool:
    """Whether element (0, 0) is at the address of the argument."""
    if not isinstance(layout := type.layout, StridedLayoutAttr):
        return is_plain(type)
    return layout.get_offset() == 0


def element_bytes(type: MemRefType) -> int:
    """Return the bytes of an element of a memref."""
    width = getattr(type.element_type, "bitwidth", None)
    assert isinstance(width, int), type
    return width // 8


def kernel_argument(memory: SSAValue) -> int | None:
    """Return which argument of a kernel a memref is; None if it is none."""
    if not isinstance(memory, BlockArgument):
        return None
    func = memory.block.parent_op()
    if not isinstance(func, FuncOp) or simt.KERNEL not in func.attributes:
        return None
    return memory.index if memory.block is func.body.block else None


@dataclass(frozen=True, slots=True)
class Where:
    """A number that the host can check: of an argument, a size or its address."""

    argument: int
    what: str
    """address, size or bytes."""
    dimension: int


def conditions(
    memory: SSAValue, io: BlockIO, step: int = 1
) -> Iterator[tuple[Where, Rule]]:
    """Yield what must hold of the memref that is a surface of every step-th row."""
    type, argument = memory.type, kernel_argument(memory)
    assert is_memref(type), memory
    assert argument is not None, memory
    size, shape = element_bytes(type), type.get_shape()
    for rule in rules(io, step):
        match rule.part:
            case "base":
                yield Where(argument, "address", 0), rule
            case "height" if shape[0] == DYNAMIC_INDEX:
                yield Where(argument, "size", 0), rule
            case "width" if shape[1] == DYNAMIC_INDEX:
                yield Where(argument, "size", 1), rule.in_units(size)
            case "pitch" if known_numbers(type).get("pitch") is None:
                what = ("size", 1) if is_plain(type) else ("stride", 0)
                yield Where(argument, *what), rule.in_units(size)
            case _:
                pass
