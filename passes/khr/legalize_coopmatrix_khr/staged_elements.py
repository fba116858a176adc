"""What lanes do with matrices in work-group memory: slots, slices, products.

A matrix in work-group memory is spread over the S lanes in row-major order, so slot i
of a lane is element i S + lane; the length is ceil(M N / S), and what is beyond the
matrix is padding.

    %n = coopmatrix.length M        ->  a constant
    %e = coopmatrix.extract %m[%i]  ->  memref.load %m_in_memory[row, col]

All lanes agree on a row slice: each reads all of it, and one writes it.

    %v = extract_row_slice %m[%k]    ->  element j: load [(k + j) / N, (k + j) % N]
    %n = insert_row_slice %v, %m[%k] ->  one lane stores each element that is inside

Of a multiplication of types that the device does not multiply, each lane computes whole
elements of the result: floats in f32 or f64, integers in the type of the result.
"""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.dialects.narrow import is_integer, is_vector
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.element_access import Element
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.khr.legalize_coopmatrix_khr.shared_memory import (
    SharedBuffer,
    SharedMemory,
)


def length(matrix: MatrixType, lanes: int) -> int:
    """The slots of a lane."""
    rows, cols = matrix.shape
    return -(-rows * cols // lanes)


def extract(
    b: Builder, op: coopmatrix.ExtractOp, shared: SharedMemory, buffer: SharedBuffer
) -> SSAValue:
    """Return an element; 0 where the slot holds none."""
    at, inside = _element_of(b, op.index, shared, matrix_type(op.matrix))
    zero = b.constant(buffer.element, 0)
    return b.branch(inside, lambda: (buffer.load(b, at),), (zero,))[0]


def insert(
    b: Builder, op: coopmatrix.InsertOp, shared: SharedMemory, buffer: SharedBuffer
) -> None:
    """Set an element, if the slot holds one."""
    at, inside = _element_of(b, op.index, shared, matrix_type(op.matrix))
    shared.barrier(b)
    _store_where(b, inside, buffer, op.value, at)


def coord(b: Builder, op: coopmatrix.CoordOp, shared: SharedMemory) -> None:
    """Replace where an element is; (M, N) where the slot holds none."""
    matrix = matrix_type(op.matrix)
    at, inside = _element_of(b, op.index, shared, matrix)
    found = zip(op.results, (at.row, at.col), matrix.shape, strict=True)
    for result, number, size in found:
        place = b.select(inside, b.index(number), b.constant(INDEX, size))
        place.name_hint = result.name_hint
        result.replace_all_uses_with(place)


def _element_of(
    b: Builder, slot: SSAValue, shared: SharedMemory, matrix: MatrixType
) -> tuple[Element, SSAValue | bool]:
    """Return the element in a slot, and whether there is one."""
    rows, cols = matrix.shape
    most = length(matrix, shared.lanes) - 1
    number = b.add(
        b.times(BoundedIndex(0, slot, most, varies=True), shared.lanes), shared.lane
    )
    inside = b.below(number, rows * cols)
    return Element(b.divided(number, cols), b.remainder(number, cols)), inside


def _store_where(
    b: Builder,
    condition: SSAValue | bool,
    buffer: SharedBuffer,
    value: SSAValue,
    at: Element,
) -> None:
    def store() -> Values:
        buffer.store(b, value, at)
        return ()

    b.branch(condition, store)


def extract_row_slice(
    b: Builder, op: coopmatrix.ExtractRowSliceOp, buffer: SharedBuffer
) -> SSAValue:
    """Return a slice of a matrix that all lanes see."""
    type = op.result.type
    assert is_vector(type), type
    zero = b.constant(buffer.element, 0)
    found = b.pure(vector.BroadcastOp, zero, type)
    for number in range(type.element_count()):
        at, inside = _slice_element(b, op.offset, number, buffer)
        (value,) = b.branch(inside, lambda at=at: (buffer.load(b, at),), (zero,))
        found = b.effect(vector.InsertOp(value, found, [number])).results[0]
    return found


def insert_row_slice(
    b: Builder,
    op: coopmatrix.InsertRowSliceOp,
    shared: SharedMemory,
    buffer: SharedBuffer,
) -> None:
    """Write a slice to a matrix that all lanes have read or written."""

    def write() -> Values:
        type = op.value.type
        assert is_vector(type), type
        for number in range(type.element_count()):
            at, wanted = _slice_element(b, op.offset, number, buffer)
            if op.mask is not None:
                bit = b.effect(vector.ExtractOp(op.mask, [number], i1)).results[0]
                wanted = b.pure(arith.AndIOp, wanted, bit)

            def store(number: int = number, at: Element = at) -> Values:
                value = vector.ExtractOp(op.value, [number], buffer.element)
                buffer.store(b, b.effect(value).results[0], at)
                return ()

            b.branch(wanted, store)
        return ()

    shared.barrier(b)
    b.branch(b.equal(shared.lane, 0), write)


def _slice_element(
    b: Builder, offset: SSAValue, number: int, buffer: SharedBuffer
) -> tuple[Element, SSAValue]:
    """Return an element of a slice, and whether the matrix has it."""
    rows, cols = buffer.shape
    if number:
        offset = b.pure(arith.AddiOp, offset, b.constant(INDEX, number))
    # A negative number is a great one without sign.
    inside = b.compare("ult", offset, b.constant(INDEX, rows * cols))
    place = BoundedIndex(0, offset, rows * cols - 1)
    return Element(b.divided(place, cols), b.remainder(place, cols)), inside


def multiply(
    b: Builder,
    op: coopmatrix.MulAddOp,
    shared: SharedMemory,
    given: tuple[SharedBuffer, SharedBuffer, SharedBuffer],
    target: SharedBuffer,
) -> None:
    """Multiply, element by element of the result.

    Args:
        b: the builder.
        op: the multiplication.
        shared: the work-group memory of the function.
        given: the elements of the operands, which all lanes see.
        target: where those of the result go.
    """
    x, y, z = given
    element = target.element
    wide = element if is_integer(element) or element == f64 else f32

    def one(at: Element) -> None:
        def step(k: BoundedIndex, now: Values) -> Values:
            p = _extended(b, op, Operand.A, x.load(b, Element(at.row, k)), wide)
            q = _extended(b, op, Operand.B, y.load(b, Element(k, at.col)), wide)
            if is_integer(wide):
                return (b.pure(arith.AddiOp, now[0], b.pure(arith.MuliOp, p, q)),)
            return (b.pure(arith.AddfOp, now[0], b.pure(arith.MulfOp, p, q)),)

        c = z.load(b, at)
        start = b.constant(wide, 0)
        if not is_integer(wide):
            start = _extended(b, op, Operand.C, c, wide)
        (total,) = b.loop(x.shape[1], (start,), step)
        if is_integer(wide):
            total = _sum(b, op, total, c)
        target.store(b, converted(b, total, element, signed=False), at)

    shared.each(b, target.shape, one)


def _extended(
    b: Builder, op: coopmatrix.MulAddOp, operand: Operand, x: SSAValue, to: Attribute
) -> SSAValue:
    """Return an element of an operand, extended by the sign of the operand."""
    return converted(b, x, to, op.is_signed(operand))


def _sum(
    b: Builder, op: coopmatrix.MulAddOp, product: SSAValue, c: SSAValue
) -> SSAValue:
    """Return the sum with c, which may saturate: then it is done in 64 bits."""
    type = product.type
    if op.saturating is None:
        return b.pure(arith.AddiOp, product, _extended(b, op, Operand.C, c, type))
    assert is_integer(type)
    signed = op.is_signed(Operand.RESULT)
    bits: int = type.bitwidth
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - signed)) - 1
    wide = converted(b, product, i64, signed)
    total = b.pure(arith.AddiOp, wide, _extended(b, op, Operand.C, c, i64))
    total = b.pure(arith.MaxSIOp, total, b.constant(i64, low))
    total = b.pure(arith.MinSIOp, total, b.constant(i64, high))
    return converted(b, total, type, signed=False)
