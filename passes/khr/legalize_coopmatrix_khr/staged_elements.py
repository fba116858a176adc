"""Operations on matrices as loops over the elements that a work-item owns.

    %n = coopmatrix.length M
    %r = scf.for %i = 0 to %n step 1 iter_args(%m = %x) {
      %e = coopmatrix.extract %x[%i], ...
      %f = ...
      %p = coopmatrix.insert %f, %m[%i]
      scf.yield %p
    }

Which elements those are does not matter: all matrices are of one type.

Single elements where a device has no access to them: those of memory.

A matrix in work-group memory is spread over the S lanes in row-major order, so slot i
of a lane is element i S + lane; the length is ceil(M N / S), and what is beyond the
matrix is padding.

    %n = coopmatrix.length M      ->  a constant
    %e = coopmatrix.extract %m[%i]  ->  memref.load %m_in_memory[row, col]

Multiplications of types that a device does not multiply, by its lanes.

Each lane computes whole elements of the result, from operands in work-group memory.

Row slices: read from and written to a matrix in work-group memory.

All lanes agree on a slice: each reads all of it, and one writes it.

    %v = extract_row_slice %m[%k]    ->  element j: load [(k + j) / N, (k + j) % N]
    %n = insert_row_slice %v, %m[%k] ->  one lane stores each element that is inside

Conversions of the use and `apply`, through work-group memory.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IndexType, f32, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.dialects.narrow import is_integer, is_memref, is_vector
from coopc.passes.khr.legalize_coopmatrix_khr.code import Code
from coopc.passes.khr.legalize_coopmatrix_khr.scalar_forms import (
    constant,
    converted,
    elementwise,
)
from coopc.passes.khr.legalize_coopmatrix_khr.scratch import Piece, Scratch


def length(matrix: MatrixType, lanes: int) -> int:
    """The slots of a lane."""
    rows, cols = matrix.shape
    return -(-rows * cols // lanes)


def extract(
    op: coopmatrix.ExtractOp, code: Code, scratch: Scratch, piece: Piece
) -> SSAValue:
    """Insert the load of an element; 0 where the slot holds none."""
    row, col, inside = _place(op.index, code, scratch, matrix_type(op.matrix))
    if inside is None:
        return piece.load(code, row, col)
    return code.choose(
        inside,
        piece.element,
        lambda code: piece.load(code, row, col),
        lambda code: constant(piece.element, 0, code.get),
    )


def insert(op: coopmatrix.InsertOp, code: Code, scratch: Scratch, piece: Piece) -> None:
    """Insert the store of an element, if the slot holds one."""
    row, col, inside = _place(op.index, code, scratch, matrix_type(op.matrix))
    scratch.barrier(code)
    code.when(inside, lambda code: piece.store(code, op.value, row, col))


def coord(op: coopmatrix.CoordOp, code: Code, scratch: Scratch) -> None:
    """Insert where an element is; (rows, columns) of the matrix where there is none."""
    matrix = matrix_type(op.matrix)
    row, col, inside = _place(op.index, code, scratch, matrix)
    found = zip(op.results, (row, col), matrix.shape, strict=True)
    for result, place, size in found:
        if inside is not None:
            place = code.get(arith.SelectOp(inside, place, code.index(size)))
        place.name_hint = result.name_hint
        result.replace_all_uses_with(place)


def _place(
    slot: SSAValue, code: Code, scratch: Scratch, matrix: MatrixType
) -> tuple[SSAValue, SSAValue, SSAValue | None]:
    """Row and column of a slot, and whether it holds an element, unless all do."""
    rows, cols = matrix.shape
    number = code.add(code.mul(slot, scratch.lanes), scratch.lane)
    full = rows * cols % scratch.lanes == 0
    inside = None if full else code.less(number, rows * cols)
    return *code.div_mod(number, cols), inside


def multiply(
    op: coopmatrix.MulAddOp,
    code: Code,
    scratch: Scratch,
    given: tuple[Piece, Piece, Piece],
    target: Piece,
) -> None:
    """Insert a multiplication, element by element of the result.

    Args:
        op: the multiplication.
        code: where.
        scratch: the work-group memory of the function.
        given: the elements of the operands, which all lanes see.
        target: where those of the result go.
    """
    a, b, c = given
    result = matrix_type(op.result)
    wide = _wide(result.element_type)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        def step(code: Code, at: SSAValue, sum: SSAValue) -> SSAValue:
            x = _as(op, Operand.A, a.load(code, row, at), wide, code)
            y = _as(op, Operand.B, b.load(code, at, col), wide, code)
            if is_integer(wide):
                product = code.get(arith.MuliOp(x, y))
                return code.get(arith.AddiOp(sum, product))
            return code.get(arith.AddfOp(sum, code.get(arith.MulfOp(x, y))))

        first = c.load(code, row, col)
        if is_integer(wide):
            zero = constant(wide, 0, code.get)
            product = code.fold(a.cols, zero, step)
            found = _sum(op, product, first, code)
        else:
            start = _as(op, Operand.C, first, wide, code)
            sum = code.fold(a.cols, start, step)
            found = converted(sum, result.element_type, False, code.get)
        target.store(code, found, row, col)

    scratch.each(code, *result.shape, one)


def _wide(type: Attribute) -> Attribute:
    """What sums are computed in."""
    if is_integer(type) or type == f64:
        return type
    return f32


def _as(
    op: coopmatrix.MulAddOp, operand: Operand, x: SSAValue, to: Attribute, code: Code
) -> SSAValue:
    """An element of an operand, extended by the sign of the operand."""
    return converted(x, to, op.is_signed(operand), code.get)


def _sum(
    op: coopmatrix.MulAddOp, product: SSAValue, c: SSAValue, code: Code
) -> SSAValue:
    """The addition of c, which may saturate: then it is done in 64 bits."""
    type = product.type
    if op.saturating is None:
        return code.get(arith.AddiOp(product, _as(op, Operand.C, c, type, code)))
    assert is_integer(type)
    signed = op.is_signed(Operand.RESULT)
    bits: int = type.bitwidth
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - signed)) - 1
    wide = converted(product, i64, signed, code.get)
    sum = code.get(arith.AddiOp(wide, _as(op, Operand.C, c, i64, code)))
    sum = code.get(arith.MaxSIOp(sum, constant(i64, low, code.get)))
    sum = code.get(arith.MinSIOp(sum, constant(i64, high, code.get)))
    return converted(sum, type, False, code.get)


Slice = coopmatrix.ExtractRowSliceOp | coopmatrix.InsertRowSliceOp


def extracted(op: coopmatrix.ExtractRowSliceOp, code: Code, piece: Piece) -> SSAValue:
    """Insert the reading of a slice from a matrix that all lanes see."""
    type = op.result.type
    assert is_vector(type), type
    element = piece.element
    zero = constant(element, 0, code.get)
    found = code.get(vector.BroadcastOp(zero, type))
    for at in range(type.element_count()):
        row, col, inside = _slice_place(op, at, code, piece)

        def read(code: Code, row: SSAValue = row, col: SSAValue = col) -> SSAValue:
            return piece.load(code, row, col)

        value = code.choose(
            inside, element, read, lambda c: constant(element, 0, c.get)
        )
        found = code.get(vector.InsertOp(value, found, [at]))
    return found


def insert_row_slice(
    op: coopmatrix.InsertRowSliceOp, code: Code, scratch: Scratch, piece: Piece
) -> None:
    """Insert the writing of a slice to a matrix that all lanes have read or written."""
    first = code.get(arith.CmpiOp(scratch.lane, code.index(0), "eq"))

    def write(code: Code) -> None:
        type = op.value.type
        assert is_vector(type), type
        for at in range(type.element_count()):
            row, col, wanted = _slice_place(op, at, code, piece)
            if op.mask is not None:
                bit = code.get(vector.ExtractOp(op.mask, [at], i1))
                wanted = code.get(arith.AndIOp(wanted, bit))

            def store(
                code: Code, at: int = at, row: SSAValue = row, col: SSAValue = col
            ) -> None:
                value = code.get(vector.ExtractOp(op.value, [at], piece.element))
                piece.store(code, value, row, col)

            code.when(wanted, store)

    scratch.barrier(code)
    code.when(first, write)


def copied(code: Code, scratch: Scratch, source: Piece, target: Piece) -> None:
    """Insert the copy of a matrix that all lanes see, for other elements to come."""

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        target.store(code, source.load(code, row, col), row, col)

    scratch.each(code, source.rows, source.cols, one)


def _slice_place(
    op: Slice, at: int, code: Code, piece: Piece
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Row and column of an element of a slice, and whether the matrix has it."""
    number = code.add(op.offset, at)
    count = code.index(piece.rows * piece.cols)
    # A negative number is a great one without sign.
    inside = code.get(arith.CmpiOp(number, count, "ult"))
    row, col = code.div_mod(number, piece.cols)
    return row, col, inside


def staged_conversion(
    op: coopmatrix.ConvertOp | coopmatrix.BitcastOp, code: Code, scratch: Scratch
) -> SSAValue:
    """Insert a conversion; of the use alone, only the way to memory and back."""
    result = matrix_type(op.result)
    piece = scratch.put(code, op.value)
    target = scratch.of(result)
    if target is piece:
        return scratch.take(code, piece, result)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        value = elementwise(op, [piece.load(code, row, col)], code.get)
        target.store(code, value, row, col)

    scratch.each(code, piece.rows, piece.cols, one)
    return scratch.take(code, target, result)


def staged_apply(op: coopmatrix.ApplyOp, code: Code, scratch: Scratch) -> SSAValue:
    """Insert the body once an element, by the lane that its turn is."""
    matrix = matrix_type(op.result)
    piece = scratch.put(code, op.value)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        given = row, col, piece.load(code, row, col)
        piece.store(code, inlined(op, given, code), row, col)

    scratch.each(code, piece.rows, piece.cols, one)
    return scratch.take(code, piece, matrix)


def inlined(
    op: coopmatrix.ApplyOp, given: tuple[SSAValue, SSAValue, SSAValue], code: Code
) -> SSAValue:
    """Insert the body of `apply`; what it yields."""
    values = dict(zip(op.body.block.args, given, strict=True))
    mapping: dict[SSAValue, SSAValue] = {**values}
    last: Operation | None = None
    for inner in op.body.block.ops:
        if isinstance(inner, coopmatrix.YieldOp):
            last = inner
            break
        code.do(inner.clone(value_mapper=mapping))
    assert isinstance(last, coopmatrix.YieldOp), op
    return mapping.get(last.value, last.value)


def element_loop(op: Operation, code: Code) -> SSAValue:
    """Insert the loop for an operation of which all matrices have one type."""
    matrix = matrix_type(op.results[0])
    first = op.operands[0]

    def one(code: Code, i: SSAValue, made: SSAValue) -> SSAValue:
        values = [
            code.get(coopmatrix.ExtractOp(value, i))
            if isinstance(value.type, MatrixType)
            else value
            for value in op.operands
        ]
        found = elementwise(op, values, code.get)
        return code.get(coopmatrix.InsertOp(found, made, i))

    length = code.get(coopmatrix.LengthOp(matrix))
    return code.fold(length, first, one)


def fill_loop(op: coopmatrix.FillOp, code: Code) -> SSAValue:
    """Insert zeros, and a loop that writes the value over them."""
    matrix = matrix_type(op.result)
    value = fill_value(op, matrix.element_type, code)
    zero = constant(matrix.element_type, 0, code.get)
    first = code.get(coopmatrix.FillOp(zero, matrix))
    length = code.get(coopmatrix.LengthOp(matrix))
    return code.fold(
        length,
        first,
        lambda code, i, made: code.get(coopmatrix.InsertOp(value, made, i)),
    )


def fill_value(op: coopmatrix.FillOp, type: Attribute, code: Code) -> SSAValue:
    """Insert the number that a matrix is filled with."""
    value = op.value
    if is_memref(value.type):
        value = code.get(memref.LoadOp.get(value, []))
    if isinstance(value.type, IndexType):
        value = code.get(arith.IndexCastOp(value, i64))
    return converted(value, type, True, code.get)
