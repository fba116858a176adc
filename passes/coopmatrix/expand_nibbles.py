"""expand-nibbles: computes 4-bit elements in bytes.

Before:  matrices, scalars and memory of i4 or f4E2M1FN.
After:   i4 is sign-extended to i8; f4E2M1FN becomes f8E4M3FN, which represents all its
         values.  Memory holds two elements per byte, also in the interface of a kernel.
         Loads read the byte of each element; stores pack neighbours by a product with a
         matrix.  Conversions to f4E2M1FN saturate.
Fails:   if rows do not begin at whole bytes, half a byte would be written, or an
         operation has no form on bytes; naming it.

    %x = coopmatrix.load %m[%i, %j] row_major : memref<8x64xi4> -> <8x16xi4, a>
->  %z = coopmatrix.fill %c0 : i8 -> <8x16xi8, a>
    %x = coopmatrix.apply (%r, %c, %v) in %z : <8x16xi8, a> {
      %at = (%j + %c) / 2
      %byte = memref.load %m[%i + %r, %at] : memref<8x32xi8>
      coopmatrix.yield <its lower or upper half>
    }

Products of i4 become products of i8.  With `dpas`, products are kept if their operands
are only loaded, and in the order of DPAS: the two elements of a byte are adjacent along
K, in rows of A and in columns of B.

    %x = coopmatrix.load %m[%i, %k] row_major : memref<8x64xi4> -> <8x64xi4, a>
->  %h = %k / 2
    %x = coopmatrix.load %m[%i, %h] row_major : memref<8x32xi8> -> <8x64xi4, a>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf, ub, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import (
    Axis,
    Layout,
    MatrixType,
    Operand,
    SignedAttr,
    Use,
    matrix_type,
)
from coopc.dialects.narrow import (
    I4,
    as_bytes,
    is_integer,
    is_memref,
    is_nibble,
    is_vector,
    packed_dimension,
)
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values, constant_attr
from coopc.ir.control_flow import defined_by, retype
from coopc.ir.device_option import device_of
from coopc.ir.element_access import Element, in_layout, moved, size_of
from coopc.ir.facts import ValueFacts
from coopc.ir.transaction import Refused, transaction
from coopc.passes.coopmatrix.elementwise import applied, converted
from coopc.passes.generic.number import Num, nums
from coopc.remarks import remark
from coopc.rounding import FORMATS, wrap

F4, F8 = Float4E2M1FNType(), Float8E4M3FNType()
NIBBLE_BITS = 4

Types: TypeAlias = Sequence[Attribute]
"""Of the operands and the results of an operation, as they were."""

MOVES: tuple[type[Operation], ...] = (
    *(func.FuncOp, func.ReturnOp, func.CallOp),
    *(scf.ForOp, scf.WhileOp, scf.IfOp, scf.YieldOp, scf.ConditionOp),
    *(scf.IndexSwitchOp, scf.ExecuteRegionOp, ub.PoisonOp, arith.SelectOp),
    *(coopmatrix.ExtractOp, coopmatrix.InsertOp, coopmatrix.TransposeOp),
    *(coopmatrix.ApplyOp, coopmatrix.YieldOp, coopmatrix.LengthOp, coopmatrix.CoordOp),
    *(memref.CastOp, memref.AssumeAlignmentOp, memref.AllocaOp),
    *(vector.BroadcastOp, vector.ExtractOp, vector.InsertOp),
    *(simt.SequenceOp, simt.LaunchOp, simt.ResultOp, memref.AllocOp),
)
"""Operations that do not look at what they move."""

CONVERSIONS: dict[type[Operation], bool] = {
    arith.ExtSIOp: True,
    arith.ExtUIOp: False,
    arith.TruncIOp: True,
    arith.ExtFOp: True,
    arith.TruncFOp: True,
    arith.SIToFPOp: True,
    arith.UIToFPOp: False,
    arith.FPToSIOp: True,
    arith.FPToUIOp: False,
}
"""And whether integers are signed."""

UNSIGNED = (arith.DivUIOp, arith.RemUIOp, arith.ShRUIOp)
"""Of two signed bytes these are not what they are of 4 bits."""

COMPUTED = (
    *(coopmatrix.ReduceOp, *UNSIGNED, arith.CmpiOp),
    *(arith.CmpfOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp),
    *(arith.OrIOp, arith.XOrIOp, arith.ShLIOp, arith.ShRSIOp, arith.DivSIOp),
    *(arith.RemSIOp, arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp),
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp),
    *(arith.MaxnumfOp, arith.MinnumfOp, arith.MaximumfOp, arith.MinimumfOp),
    math.AbsFOp,
)
"""What is computed in i8 or f32 and rounded."""


def wide(type: Attribute) -> Attribute:
    """Return what a type becomes, itself where nothing of it has 4 bits.

    Raises:
        ValueError: of memory, see `in_bytes`.
    """
    if is_memref(type):
        return as_bytes(type)
    if isinstance(type, MatrixType) or is_vector(type):
        found = wide(type.element_type)
        return type if found is type.element_type else _with_element(type, found)
    return type if not is_nibble(type) else i8 if is_integer(type) else F8


def element(type: Attribute) -> Attribute:
    """Return the type of a number, or of those in a vector, a matrix or memory."""
    if isinstance(type, MatrixType) or is_memref(type):
        return type.element_type
    return element_of(type)


def has_nibbles(types: Types) -> bool:
    return any(is_nibble(element(type)) for type in types)


# Numbers, alone, in vectors or in matrices


def each(b: Builder, x: SSAValue, body: Callable[[Num], Num]) -> SSAValue:
    """Return what a body makes of each number."""
    if not isinstance(x.type, MatrixType):
        return body(Num(b, x)).value
    return applied(b, x, lambda _, __, x: body(Num(b, x)).value)


def cast(b: Builder, x: SSAValue, to: Attribute, signed: bool = True) -> SSAValue:
    """Return numbers of other than 4 bits as those of another type."""
    if not isinstance(x.type, MatrixType):
        return converted(b, x, to, signed)
    if x.type.element_type == to:
        return x
    signed = signed and (is_integer(x.type.element_type) or is_integer(to))
    op = coopmatrix.ConvertOp(x, x.type.with_element(to), signed)
    return b.effect(op).results[0]


def bits(b: Builder, x: SSAValue, to: Attribute) -> SSAValue:
    op = coopmatrix.BitcastOp if isinstance(x.type, MatrixType) else arith.BitcastOp
    return b.pure(op, x, _with_element(x.type, to))


def low_bits(b: Builder, x: SSAValue) -> SSAValue:
    """Return i4 without its sign."""
    return each(b, x, lambda x: x & 15)


def narrowed(b: Builder, x: SSAValue, to: Attribute) -> SSAValue:
    """Return i8 or floats as the numbers of a type of 4 bits, in its wide form."""
    if is_integer(to):
        return each(b, x, lambda x: extended(x << NIBBLE_BITS))
    return cast(b, each(b, x, nearest), F8)


def nearest(x: Num) -> Num:
    """Return the nearest number of f4E2M1FN, in the type of x."""
    format = FORMATS[F4.name]
    size, found = x.apply(math.AbsFOp), x.like(0.0)
    for code in range(1, format.greatest_code + 1):
        below, number = format.decode(code - 1), format.decode(code)
        # Of two as near, the even code; nothing is less than NaN.
        reached = size.compare("ugt" if code % 2 else "uge", (below + number) / 2)
        found = reached.select(x.like(number), found)
    signed = found.apply(math.CopySignOp, x)
    return x.compare("uno", x).select(x.like(format.greatest), signed)


def convert(
    b: Builder, x: SSAValue, source: Attribute, to: Attribute, signed: bool
) -> SSAValue:
    """Return numbers of `source`, in its wide form, as numbers of `to`, in its."""
    if source == to:
        return x
    if source == I4 and not signed:
        x = low_bits(b, x)
    if not is_nibble(to):
        return cast(b, x, to, signed)
    middle = i8 if is_integer(to) else source if source == Float64Type() else f32
    return narrowed(b, cast(b, x, middle, signed), to)


def extended(x: Num) -> Num:
    """Return the upper half of bytes, with its sign."""
    return x.apply(arith.ShRSIOp, NIBBLE_BITS)


HALF, ONE = FORMATS[F8.name].encode(0.5), FORMATS[F8.name].encode(1.0)
FRACTION = FORMATS[F8.name].fraction_bits - FORMATS[F4.name].fraction_bits
"""Codes of f8E4M3FN, and the bits that it has more.

From 1 on, code n of f4E2M1FN is `(n << FRACTION) + HALF`; code 1 is 0.5."""


def of_code(code: Num) -> Num:
    """Return f8E4M3FN of the codes of f4E2M1FN, bytes."""
    size, sign = code & 7, (code & 8) << 4
    normal = (size << FRACTION) + HALF
    found = size.compare("ugt", 1).select(normal, size * HALF)
    return (found | sign).bits(F8)


def code_of(x: Num) -> Num:
    """Return codes of f4E2M1FN of the bytes of f8E4M3FN: see `of_code`."""
    size = x & 127
    normal, small = (size - HALF) >> FRACTION, size >> 5
    found = size.compare("uge", ONE).select(normal, small)
    return found | ((x >> 4) & 8)


def codes(b: Builder, x: SSAValue, of: Attribute) -> SSAValue:
    """Return the 4 bits of numbers in their wide form, as bytes."""
    if is_integer(of):
        return low_bits(b, x)
    return each(b, bits(b, x, i8), code_of)


# Memory


@dataclass(frozen=True, slots=True)
class NibblePlace:
    """Where bytes of a matrix are in memory."""

    type: MemRefType
    """Of the memory as it was."""

    @property
    def is_view(self) -> bool:
        """Whether the memory holds bytes, and elements follow a position."""
        return not is_nibble(self.type.element_type)

    @property
    def packed(self) -> int:
        """The dimension along which two elements are a byte."""
        return (
            self.type.get_num_dims() - 1
            if self.is_view
            else packed_dimension(self.type)
        )

    def byte(
        self, b: Builder, positions: Values, steps: Sequence[BoundedIndex]
    ) -> tuple[Values, Values, SSAValue]:
        """Return the positions of an element, of its byte, and which half it is."""
        *leading, first, second = positions
        outer, packed = moved(b, first, steps[0]), self.packed
        if self.is_view:
            half, at = halved(Num(b, b.index(steps[1])))
            where = (*leading, outer, (Num(b, second) + at).value)
            return where, where, half.value
        elements = (*leading, outer, moved(b, second, steps[1]))
        half, at = halved(Num(b, elements[packed]))
        byte = (*elements[:packed], at.value, *elements[packed + 1 :])
        return elements, byte, half.value

    def size(self, b: Builder, memory: SSAValue, dimension: int) -> SSAValue:
        """Return a size of the memory as it was."""
        size = self.type.get_shape()[dimension]
        if size != DYNAMIC_INDEX:
            return b.constant(INDEX, size)
        found = size_of(b, memory, dimension)
        if dimension != self.packed:
            return found
        return b.pure(arith.MuliOp, found, b.constant(INDEX, 2))


def halved(position: Num) -> tuple[Num, Num]:
    """Return which half an element is in, 0 for the lower one, and of which byte."""
    return position & 1, position.apply(arith.ShRSIOp, 1)


def half_of(b: Builder, byte: SSAValue, half: SSAValue, of: Attribute) -> SSAValue:
    """Return the number in a half of a byte, 0 for the lower one, in its wide form."""
    x, number = Num(b, byte), Num(b, half).cast(arith.IndexCastOp, i8)
    if is_integer(of):
        return extended(x << ((number ^ 1) << 2)).value
    return of_code(x >> (number << 2)).value


def load(op: coopmatrix.LoadOp, operands: Types, results: Types) -> None:
    """Load each element by itself, as what it is converted to.

    Operands of narrower elements are often elsewhere in the lanes, so that a conversion
    afterwards would move them.
    """
    b, type, signed = Builder.at(op), matrix_type(op.result), True
    place, of = place_of(op, operands[0]), element(results[0])
    users = [use.operation for use in op.result.uses]
    done = [x for x in users if isinstance(x, coopmatrix.ConvertOp)]
    targets = {(matrix_type(x.result), x.signed is not None) for x in done}
    if len(done) == len(users) and len(targets) == 1:
        ((to, is_signed),) = targets
        if to.use == type.use:
            type, signed = to, is_signed

    def body(row: SSAValue, col: SSAValue, _: SSAValue) -> SSAValue:
        at = Element(*(BoundedIndex(0, x, MOST, varies=True) for x in (row, col)))
        steps = in_layout(b, op.layout.data, NIBBLE_BITS, at)
        where, byte, half = place.byte(b, op.positions, steps)
        inside = [
            b.compare("ult", where[d], place.size(b, op.memory, d))
            for d in checked_dimensions(op)
        ]

        def read() -> Values:
            found = b.effect(memref.LoadOp.get(op.memory, byte)).results[0]
            number = half_of(b, found, half, of)
            return (convert(b, number, of, type.element_type, signed),)

        otherwise = (b.constant(type.element_type, 0),)
        (found,) = b.branch(b.both(*inside), read, otherwise)
        return found

    remark(op, f"each element of {of} is loaded by itself: two share a byte")
    found = applied(b, zeros(b, type), body)
    if type == op.result.type:
        Rewriter.replace_op(op, [], [found])
        return
    for conversion in done:
        Rewriter.replace_op(conversion, [], [found])
    Rewriter.erase_op(op)


MOST = (1 << 31) - 1


def place_of(op: coopmatrix.PlainAccessOp, memory: Attribute) -> NibblePlace:
    """Return where an access finds bytes.

    Raises:
        Refused: they are not known.
    """
    assert is_memref(memory), memory
    place = NibblePlace(memory)
    if op.layout_name is not None:
        raise Refused(
            op, f"expected a known layout of elements of 4 bits, got {op.layout_name}"
        )
    return place


def checked_dimensions(op: coopmatrix.AccessOp) -> list[int]:
    """Return the dimensions of memory along which an access is checked."""
    axes = [Axis.ROWS, Axis.COLS]
    if op.layout.data is Layout.COL_MAJOR:
        axes.reverse()
    rank, checked = op.memory_type.get_num_dims(), op.checked
    both = zip(axes, (rank - 2, rank - 1), strict=True)
    return [d for axis, d in both if checked is not None and axis in checked.data]


def store(op: coopmatrix.StoreOp, operands: Types, results: Types) -> None:
    """Put neighbours into bytes, by a product of matrices, and store these.

    Neighbours in a row are multiplied from the right by ones and sixteens, those in a
    column from the left.
    """
    b, place = Builder.at(op), place_of(op, operands[1])
    type, of = matrix_type(op.value), element(operands[0])
    last = place.packed == place.type.get_num_dims() - 1
    by_rows = last == (op.layout.data is Layout.ROW_MAJOR)
    rows, cols = type.sizes
    positions, count = whole_bytes(b, op, place, cols if by_rows else rows)

    def weight(row: SSAValue, col: SSAValue, _: SSAValue) -> SSAValue:
        element, byte = nums(b, *((row, col) if by_rows else (col, row)))
        first = byte * 2
        low, high = (element.compare("eq", each) for each in (first, first + 1))
        one, other = Num(b, b.constant(i8, 1)), Num(b, b.constant(i8, 16))
        return low.select(one, high.select(other, 0)).value

    x, whole = codes(b, op.value, of), type.with_element(i8)
    if x.type != (to := whole.with_use(Use.A if by_rows else Use.B)):
        x = b.effect(coopmatrix.ConvertOp(x, to)).results[0]
    shape = (cols, count) if by_rows else (count, rows)
    other = whole.with_shape(*shape).with_use(Use.B if by_rows else Use.A)
    weights = applied(b, zeros(b, other), weight)
    shape = (rows, count) if by_rows else (count, cols)
    sums = zeros(b, type.with_element(i32).with_shape(*shape).with_use(Use.ACC))
    left, right = (x, weights) if by_rows else (weights, x)
    signed = SignedAttr(frozenset(Operand))
    product = b.effect(coopmatrix.MulAddOp(left, right, sums, signed=signed))
    remark(op, f"matrices of {of} are stored by a product that makes bytes of two")
    bytes = cast(b, product.results[0], i8)
    b.like(op, [bytes, op.memory, *positions], []).attributes = dict(op.attributes)
    Rewriter.erase_op(op)


def zeros(b: Builder, type: MatrixType) -> SSAValue:
    zero = b.constant(type.element_type, 0)
    return b.effect(coopmatrix.FillOp(zero, type)).results[0]


def whole_bytes(
    b: Builder, op: coopmatrix.StoreOp, place: NibblePlace, length: int | str
) -> tuple[Values, int]:
    """Return the positions of the bytes that a store writes, and how many are a row.

    Raises:
        Refused: they are not known to be whole.
    """
    of = "elements of 4 bits, two in a byte"
    if isinstance(length, str) or length % 2:
        raise Refused(op, f"expected an even number of {of}, got {length}")
    positions = list(op.positions)
    if place.is_view:
        return tuple(positions), length // 2
    packed = place.packed
    if op.layout.data is Layout.PACKED or packed < len(positions) - 2:
        raise Refused(op, f"expected rows or columns of {of}, got {place.type}")
    if packed in checked_dimensions(op) and place.type.get_shape()[packed] % 2:
        raise Refused(op, f"expected an even size to check {of}, got {place.type}")
    position = positions[packed]
    if ValueFacts().divisor(position) % 2:
        raise Refused(
            op,
            f"expected position {packed} of {of}, to be a multiple of 2, got "
            f"%{position.name_hint or 'one that is not known'}",
        )
    positions[packed] = b.pure(arith.ShRSIOp, position, b.constant(INDEX, 1))
    return tuple(positions), length // 2


# Products of DPAS


def natural(module: ModuleOp, k: int) -> set[Operation]:
    """Return the products of i4 that stay, and the loads of their operands.

    Nothing is changed yet; a product of i4 has `k` of K at a time.
    """
    products = [x for x in module.walk() if isinstance(x, coopmatrix.MulAddOp)]
    found: set[Operation] = {x for x in products if _is_plain(x)}
    loads: set[Operation] = {
        value.owner
        for op in found
        for value in op.operands[:2]
        if isinstance(value.owner, coopmatrix.LoadOp) and _is_along_k(value.owner, k)
    }
    while True:
        alone = {
            x for x in loads if {use.operation for use in x.results[0].uses} - found
        }
        loads -= alone
        fewer = {x for x in found if {y.owner for y in x.operands[:2]} <= loads}
        if fewer == found and not alone:
            return found | loads
        found = fewer


def _is_plain(op: coopmatrix.MulAddOp) -> bool:
    a, b, c, result = (x.element_type for x in op.matrices.values())
    return a == b == I4 and c == result == i32 and op.saturating is None


def _is_along_k(op: coopmatrix.LoadOp, k: int) -> bool:
    """Whether whole bytes are loaded that two neighbours along K share."""
    type, memory = op.matrix, op.memory_type
    layout, length = Layout.ROW_MAJOR, type.sizes[1]
    if type.use.data is Use.B:
        layout, length = Layout.COL_MAJOR, type.sizes[0]
    is_whole = isinstance(length, int) and not length % k
    if not is_whole or op.layout.data is not layout or op.layout_name is not None:
        return False
    if memory.element_type == i8:
        return True
    is_last = tuple(memory.get_strides() or ())[-1:] == (1,)
    is_even = not (op.checked is not None and memory.get_shape()[-1] % 2)
    return is_last and is_even and not ValueFacts().divisor(op.positions[-1]) % 2


def count_bytes(op: Operation, memory: Attribute) -> None:
    """Let the last position of a load from memory of i4 be that of a byte."""
    if isinstance(op, coopmatrix.LoadOp) and is_nibble(memory):
        b, *first, at = Builder.at(op), *op.positions
        half = b.pure(arith.ShRSIOp, at, b.constant(INDEX, 1))
        op.operands = [op.memory, *first, half]


# Operations


def load_number(op: memref.LoadOp, operands: Types, results: Types) -> None:
    b, where = Builder.at(op), [*op.indices]
    packed = packed_dimension(_memref(operands[0]))
    half, at = halved(Num(b, where[packed]))
    where[packed] = at.value
    byte = b.effect(memref.LoadOp.get(op.memref, where)).results[0]
    found = half_of(b, byte, half.value, element(results[0]))
    Rewriter.replace_op(op, [], [found])


def size(op: memref.DimOp, operands: Types, results: Types) -> None:
    if (number := ValueFacts().of(op.index).number) is None:
        raise Refused(op, "expected a constant dimension, got one that varies")
    found = NibblePlace(_memref(operands[0])).size(Builder.at(op), op.source, number)
    Rewriter.replace_op(op, [], [found])


def view(op: memref.ReinterpretCastOp, operands: Types, results: Types) -> None:
    """See other bytes of the same memory."""
    offsets, sizes, strides = (
        [*x.get_values()]
        for x in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    packed = packed_dimension(_memref(results[0]))
    strides[packed] = 2  # of the bytes, 1
    whole = all(x % 2 == 0 for x in (*offsets, *strides))
    if not whole or DYNAMIC_INDEX in (*offsets, *sizes, *strides):
        raise Refused(
            op, "expected constant sizes, and strides and an offset of whole bytes"
        )
    sizes[packed] = -(-sizes[packed] // 2)
    new = memref.ReinterpretCastOp.from_dynamic(
        op.source,
        [x // 2 for x in offsets],
        sizes,
        [x // 2 for x in strides],
        op.result.type,
    )
    Rewriter.replace_op(op, new)


def fill(op: coopmatrix.FillOp, operands: Types, results: Types) -> None:
    if op.is_pointer:
        raise Refused(
            op, "expected a number to fill from, as half a byte has no address"
        )
    b, of = Builder.at(op), element(results[0])
    number = convert(b, op.value, operands[0], of, True)
    Rewriter.replace_op(
        op, [], b.effect(coopmatrix.FillOp(number, op.result.type)).results
    )


def convert_matrix(op: coopmatrix.ConvertOp, operands: Types, results: Types) -> None:
    b, pair = Builder.at(op), (element(operands[0]), element(results[0]))
    x = convert(b, op.value, *pair, op.signed is not None)
    if x.type != op.result.type:
        x = b.effect(coopmatrix.ConvertOp(x, op.result.type)).results[0]
    Rewriter.replace_op(op, [], [x])


def convert_number(op: Operation, operands: Types, results: Types) -> None:
    pair = element(operands[0]), element(results[0])
    found = convert(Builder.at(op), op.operands[0], *pair, CONVERSIONS[type(op)])
    Rewriter.replace_op(op, [], [found])


def _memref(type: Attribute) -> MemRefType:
    assert is_memref(type), type
    return type


def constant(op: arith.ConstantOp, operands: Types, results: Types) -> None:
    match op.value:
        case IntegerAttr(value=number):
            found = constant_attr(op.result.type, wrap(number.data, NIBBLE_BITS, True))
        case FloatAttr(value=number):
            rounded = FORMATS[F4.name].round(number.data)
            found = constant_attr(op.result.type, rounded)
        case value:
            raise Refused(op, f"expected a number of 4 bits, got {value}")
    op.properties["value"] = found


def multiply(op: coopmatrix.MulAddOp, operands: Types, results: Types) -> None:
    """Multiply bytes; an accumulator of 4 bits becomes i32 or f32.

    Raises:
        Refused: a sum saturates in 4 bits.
    """
    b, of = Builder.at(op), [element(type) for type in (*operands, *results)]
    whole = is_integer(of[0])
    sums = of[3] if not is_nibble(of[3]) else i32 if whole else f32
    if op.saturating is not None and sums != of[3]:
        raise Refused(op, "i4 does not saturate: add in i8 or more")
    values = list(op.operands)
    for n, operand in enumerate((Operand.A, Operand.B)):
        if of[n] == I4 and not op.is_signed(operand):
            values[n] = low_bits(b, values[n])
    if is_nibble(of[2]):
        values[2] = convert(b, values[2], of[2], sums, op.is_signed(Operand.C))
    if whole and has_nibbles(of[:2]):
        remark(op, "operands of i4 are multiplied as i8")
    type = matrix_type(op.result).with_element(sums)
    found = b.like(op, values, [type]).results[0]
    Rewriter.replace_op(op, [], [convert(b, found, sums, of[3], True)])


def compute(op: Operation, operands: Types, results: Types) -> None:
    """Compute in i8 or f32, and round to 4 bits."""
    b, signed = Builder.at(op), not isinstance(op, UNSIGNED)
    if isinstance(op, coopmatrix.SignedBinaryOp | coopmatrix.ReduceOp):
        signed = op.signed is not None
    values = [
        convert(b, x, element(type), computed(element(type)), signed)
        if is_nibble(element(type))
        else x
        for x, type in zip(op.operands, operands, strict=True)
    ]
    types = [
        _with_element(x.type, computed(element(type)))
        for x, type in zip(op.results, results, strict=True)
    ]
    found = b.like(op, values, types).results
    pairs = zip(found, results, strict=True)
    new = [convert(b, x, element(x.type), element(type), True) for x, type in pairs]
    Rewriter.replace_op(op, [], new)


def computed(type: Attribute) -> Attribute:
    if not is_nibble(type):
        return type
    return i8 if is_integer(type) else f32


def _with_element(type: Attribute, to: Attribute) -> Attribute:
    return type.with_element(to) if isinstance(type, MatrixType) else shaped(type, to)


ELEMENTWISE = (
    x for x in coopmatrix.OPERATIONS if issubclass(x, coopmatrix.ElementwiseOp)
)


def keep(op: Operation, operands: Types, results: Types) -> None:
    """Leave an operation that does not look at what it moves."""


RULES: dict[type[Operation], Callable[[Any, Types, Types], None]] = {
    **dict.fromkeys(MOVES, keep),
    **dict.fromkeys(CONVERSIONS, convert_number),
    **dict.fromkeys(COMPUTED, compute),
    **dict.fromkeys(ELEMENTWISE, compute),
    arith.ConstantOp: constant,
    memref.LoadOp: load_number,
    memref.DimOp: size,
    memref.ReinterpretCastOp: view,
    coopmatrix.LoadOp: load,
    coopmatrix.StoreOp: store,
    coopmatrix.PrefetchOp: lambda op, operands, results: Rewriter.erase_op(op),
    coopmatrix.MulAddOp: multiply,
    coopmatrix.FillOp: fill,
    coopmatrix.ConvertOp: convert_matrix,
}
"""What is given an operation whose values have been retyped, and the types before."""


@dataclass(frozen=True)
class ExpandNibblesPass(ModulePass):
    name = "expand-nibbles"

    dpas: bool = False
    """Keep products of i4 that the device's DPAS supports."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(has_nibbles([x.type for x in _values(each)]) for each in op.walk()):
            return
        k = None
        if self.dpas:
            dpas = device_of(None, op, self.name).dpas
            has = dpas is not None and {"s4", "u4"} <= set(dpas.operands)
            k = dpas.k(NIBBLE_BITS) if dpas is not None and has else None
        with transaction(op) as draft:
            expand(draft, set() if k is None else natural(draft, k))


def _values(op: Operation) -> list[SSAValue]:
    return [*op.operands, *defined_by(op)]


def _check_arguments(kernel: func.FuncOp) -> None:
    """Check that no number of 4 bits is an argument: callers have none.

    Raises:
        Refused: there is one.
    """
    for type in kernel.function_type.inputs:
        if not is_memref(type) and has_nibbles([type]):
            raise Refused(kernel, f"expected {type} in memory, not as an argument")


def expand(draft: ModuleOp, kept: set[Operation]) -> None:
    """Retype all values but those of `kept`, then rewrite what looks at them."""
    types = {
        op: ([x.type for x in op.operands], [x.type for x in op.results])
        for op in draft.walk()
        if has_nibbles([x.type for x in _values(op)])
    }
    for op in types:
        if op in kept:
            continue
        if isinstance(op, func.FuncOp) and simt.KERNEL in op.attributes:
            _check_arguments(op)
        try:
            retype(op, wide)
        except ValueError as error:
            raise Refused(op, str(error)) from error
    for op, before in types.items():
        if op.parent is None:
            continue  # a conversion that its load has done
        if op in kept:
            count_bytes(op, element(before[0][0]))
            continue
        rule = keep if op.dialect_name() == "cf" else RULES.get(type(op))
        if rule is None:
            raise Refused(op, f"{op.name} is not supported on numbers of 4 bits")
        rule(op, *before)
