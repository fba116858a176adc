"""The elements of a matrix in memory: where they are, and accesses to each of them.

Element (row, col) of an access to memory[p, q], w elements in a channel of 32 bits:

| layout    | positions                      | sizes of the matrix in memory |
|-----------|--------------------------------|-------------------------------|
| row_major | p + row, q + col               | M x N                         |
| col_major | p + col, q + row               | N x M                         |
| packed    | p + row / w, q + col w + row % w | M / w x N w                 |

An access to an element says what the access to the matrix says: how it is ordered, who
sees it; volatile, nontemporal.  Memory of other numbers than the matrix's elements, or
of vectors, is first viewed as memory of the elements:

    coopmatrix.load %m[%i, %j] row_major : memref<8x2xvector<4xf32>> -> 8x8xf32

    %e = simt.view_elements %m[%i, %j] : memref<8x2xvector<4xf32>>
        -> memref<8x8xf32, strided<[8, 1], offset: ?>>
    coopmatrix.load %e[%c0, %c0] row_major : memref<8x8xf32, ...> -> 8x8xf32
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Axis, Layout
from coopc.dialects.narrow import is_integer, memref_type
from coopc.dialects.simt import per_pointee
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.transaction import Refused


@dataclass(frozen=True, slots=True)
class Element:
    """A place in a matrix, maybe beyond it."""

    row: BoundedIndex
    col: BoundedIndex


def in_layout(
    b: Builder, layout: Layout, element_bits: int, at: Element
) -> tuple[BoundedIndex, BoundedIndex]:
    """Return how far an element is from the first one, along two dimensions."""
    match layout:
        case Layout.ROW_MAJOR:
            return at.row, at.col
        case Layout.COL_MAJOR:
            return at.col, at.row
        case Layout.PACKED:
            count = max(1, CHANNEL_BITS // element_bits)
            within = b.remainder(at.row, count)
            return b.divided(at.row, count), b.add(b.times(at.col, count), within)
        case Layout.ROW_BLOCKED | Layout.COL_BLOCKED:
            raise AssertionError(layout)  # `positions_of` refuses it


def memory_offset(
    layout: Layout, row: int, col: int, element_bits: int
) -> tuple[int, int]:
    """Return how far element (row, col) of a matrix is from its positions in memory.

    Of the sizes of a matrix these are its sizes in memory.

    >>> memory_offset(Layout.COL_MAJOR, 8, 16, 16)
    (16, 8)
    >>> memory_offset(Layout.PACKED, 8, 16, 16)
    (4, 32)
    """
    match layout:
        case Layout.ROW_MAJOR:
            return row, col
        case Layout.COL_MAJOR:
            return col, row
        case Layout.PACKED:
            outer, within = divmod(row, CHANNEL_BITS // element_bits)
            return outer, col * CHANNEL_BITS // element_bits + within
        case Layout.ROW_BLOCKED | Layout.COL_BLOCKED:
            assert row == col == 0, (row, col)  # blocks are never cut
            return 0, 0


def positions_of(b: Builder, op: coopmatrix.AccessOp, at: Element) -> Values:
    """Return where an element is, in the coordinates of the memref."""
    refuse_blocks(op)
    *leading, first, second = op.positions
    outer, inner = in_layout(b, op.layout.data, op.matrix.element_bits, at)
    return (*leading, moved(b, first, outer), moved(b, second, inner))


def refuse_blocks(op: coopmatrix.AccessOp) -> None:
    """Refuse an access to interleaved blocks that is not an instruction as it is.

    Raises:
        Refused: it is one.
    """
    if op.layout.data in coopmatrix.BLOCKED:
        raise Refused(
            op,
            f"expected a device with {op.layout.data} matrices of {op.matrix}: there "
            "is no other way to access interleaved blocks",
        )


def moved(b: Builder, position: SSAValue, by: BoundedIndex) -> SSAValue:
    """Return a position further on; the constant is added first, outside of loops."""
    if by.constant:
        step = b.constant(INDEX, by.constant)
        position = b.pure(arith.AddiOp, position, step)
    return position if by.part is None else b.pure(arith.AddiOp, position, by.part)


def checks_of(
    b: Builder, op: coopmatrix.AccessOp, positions: Sequence[SSAValue]
) -> list[SSAValue]:
    """Return what has to hold of the positions along the axes that are checked."""
    checked = () if op.checked is None else op.checked.data
    axes = [Axis.ROWS, Axis.COLS]
    if op.layout.data == Layout.COL_MAJOR:
        axes.reverse()
    rank = op.memory_type.get_num_dims()
    return [
        # A negative position is a great number without sign.
        b.compare("ult", positions[dimension], size_of(b, op.memory, dimension))
        for axis, dimension in zip(axes, (rank - 2, rank - 1), strict=True)
        if axis in checked
    ]


def size_of(b: Builder, memory: SSAValue, dimension: int) -> SSAValue:
    """Return a size of a memref, an index."""
    size = memref_type(memory).get_shape()[dimension]
    if size != DYNAMIC_INDEX:
        return b.constant(INDEX, size)
    return b.pure(memref.DimOp, memory, b.constant(INDEX, dimension))


def view_elements(root: Operation) -> None:
    """Let all accesses in `root` be to memory that holds the elements of matrices.

    All sizes of these matrices are numbers.

    Raises:
        Refused: memory cannot be seen as elements of a matrix.
    """
    for op in tuple(root.walk()):
        if not isinstance(op, coopmatrix.PlainAccessOp):
            continue
        pointee, element = op.memory_type.element_type, op.matrix.element_type
        if pointee == element:
            continue
        if not per_pointee(pointee, element):
            raise Refused(
                op,
                f"expected memory that holds a whole number of {element}, the element "
                f"type of the matrix, in each element, got {op.memory_type}",
            )
        shape = op.matrix.shape
        if op.layout.data is not Layout.ROW_MAJOR:
            shape = shape[1], shape[0]
        view = simt.ViewElementsOp(op.memory, op.positions, shape, element)
        zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
        for new in (view, zero):
            new.location = op.location
            Rewriter.insert_op(new, InsertPoint.before(op))
        value = [op.value] if isinstance(op, coopmatrix.StoreOp) else []
        op.operands = [*value, view.result, zero.result, zero.result]


_KINDS: dict[type[coopmatrix.AtomicOp], tuple[int, int, int]] = {
    coopmatrix.AtomicAddOp: (0, 1, 1),
    coopmatrix.AtomicMaxOp: (13, 4, 5),
    coopmatrix.AtomicMinOp: (14, 7, 8),
}
"""The numbers of MLIR's AtomicRMWKind: of floats, of signed and of unsigned integers.
The extremes of floats are those that take the number of a number and a NaN."""


def access_element(
    b: Builder,
    op: coopmatrix.AccessOp,
    at: Element,
    value: Callable[[], SSAValue] | None = None,
    wanted: SSAValue | bool = True,
) -> Values:
    """Do of an access what concerns one element, where no check fails.

    Args:
        b: the builder.
        op: the access, to memory that holds elements of the matrix.
        at: the element.
        value: builds what is written, in front of the access.
        wanted: whether the element is to be accessed at all.

    Returns:
        What was read, 0 where nothing is accessed; nothing of what writes only, and of
        an update whose result nobody uses.
    """
    positions = positions_of(b, op, at)
    condition = b.both(wanted, *checks_of(b, op, positions))

    def access() -> Values:
        if value is None:
            new: Operation = load(op, positions)
        elif isinstance(op, coopmatrix.AtomicUpdateOp):
            new = update(op, value(), positions)
        else:
            new = store(op, value(), positions)
        return tuple(b.effect(new).results[: len(otherwise)])

    otherwise: Values = ()
    if value is None or any(x.first_use is not None for x in op.results):
        otherwise = (b.constant(op.matrix.element_type, 0),)
    return b.branch(condition, access, otherwise)


MemoryOpT = TypeVar("MemoryOpT", memref.LoadOp, memref.StoreOp, memref.AtomicRMWOp)


def load(op: coopmatrix.AccessOp, positions: Sequence[SSAValue]) -> memref.LoadOp:
    return _marked(memref.LoadOp.get(op.memory, positions), op)


def store(
    op: coopmatrix.AccessOp, value: SSAValue, positions: Sequence[SSAValue]
) -> memref.StoreOp:
    return _marked(memref.StoreOp.get(value, op.memory, positions), op)


def update(
    op: coopmatrix.AtomicUpdateOp, value: SSAValue, positions: Sequence[SSAValue]
) -> memref.AtomicRMWOp:
    kind, of_signed, of_unsigned = _KINDS[type(op)]
    if is_integer(op.matrix.element_type):
        is_ordered = isinstance(op, coopmatrix.AtomicMaxOp | coopmatrix.AtomicMinOp)
        signed = is_ordered and op.signed is not None
        kind = of_signed if signed else of_unsigned
    found = memref.AtomicRMWOp.build(
        operands=[value, op.memory, list(positions)],
        properties={"kind": IntegerAttr(kind, i64)},
        result_types=[value.type],
    )
    return _marked(found, op)


def _marked(new: MemoryOpT, op: coopmatrix.AccessOp) -> MemoryOpT:
    """Return an access to an element that says how the matrix is accessed."""
    if isinstance(op, coopmatrix.AtomicOp):
        new.attributes[simt.ORDERING] = StringAttr(str(op.ordering.data))
        new.attributes[simt.ORDERING_SCOPE] = StringAttr(str(op.atomic_scope))
    elif isinstance(op, coopmatrix.PlainAccessOp):
        if op.nontemporal is not None:
            new.properties["nontemporal"] = BoolAttr.from_bool(True)
        if op.volatile is not None:
            new.attributes[simt.VOLATILE] = op.volatile
    return new
