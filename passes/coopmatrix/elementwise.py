"""What operations on matrices do to elements: the one table, for every engine.

    coopmatrix.max %x, %y signed      arith.maxsi %e, %f

An engine takes matrices apart, gives an element of each (or a vector of elements) to
`elementwise`, and puts the results together.  Where the elements are is its own matter.

| operation                | of floats           | of integers                       |
|--------------------------|---------------------|-----------------------------------|
| add, sub, mul, scale     | that of `arith`     | that of `arith`                   |
| div, rem                 | `divf`, `remf`      | of signed or of unsigned numbers  |
| min, max                 | take the number of a number and a NaN | the same        |
| neg, abs, not            | `negf`, `absf`      | 0 - x, `absi`, x xor -1           |
| and, or, xor, shl, shr   |                     | `shr` of signed numbers or not    |
| convert                  | of one width by way of f32 | extended by the sign     |
| apply                    | its body            | its body                          |

`rem` has the sign of the dividend, as in `coopc.sim`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from xdsl.dialects import arith, memref
from xdsl.dialects.arith import SelectOp
from xdsl.dialects.builtin import IndexType, f32, i64
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Reduction, matrix_type
from coopc.dialects.narrow import is_integer, is_memref
from coopc.dialects.shaped_arith import RemfOp, element_of, shaped
from coopc.ir.builder import INDEX, Builder, Values
from coopc.ir.transaction import Refused

Make = Callable[..., Operation]

_Kind = type[Operation]
_BINARY: dict[_Kind, tuple[_Kind | None, _Kind, _Kind]] = {
    # of floats, of signed integers, of unsigned ones
    coopmatrix.AddOp: (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    coopmatrix.SubOp: (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    coopmatrix.MulOp: (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    coopmatrix.ScaleOp: (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    coopmatrix.DivOp: (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
    coopmatrix.RemOp: (RemfOp, arith.RemSIOp, arith.RemUIOp),
    coopmatrix.MinOp: (arith.MinnumfOp, arith.MinSIOp, arith.MinUIOp),
    coopmatrix.MaxOp: (arith.MaxnumfOp, arith.MaxSIOp, arith.MaxUIOp),
    coopmatrix.AndOp: (None, arith.AndIOp, arith.AndIOp),
    coopmatrix.OrOp: (None, arith.OrIOp, arith.OrIOp),
    coopmatrix.XorOp: (None, arith.XOrIOp, arith.XOrIOp),
    coopmatrix.ShlOp: (None, arith.ShLIOp, arith.ShLIOp),
    coopmatrix.ShrOp: (None, arith.ShRSIOp, arith.ShRUIOp),
}

ELEMENT_BY_ELEMENT = (
    coopmatrix.ElementwiseOp,
    coopmatrix.ConvertOp,
    coopmatrix.BitcastOp,
)
"""Operations that do the same to every element, wherever it is."""

REDUCTIONS: dict[Reduction, type[coopmatrix.BinaryOp]] = {
    Reduction.ADD: coopmatrix.AddOp,
    Reduction.MAX: coopmatrix.MaxOp,
    Reduction.MIN: coopmatrix.MinOp,
}


def elementwise(
    b: Builder, op: Operation, values: Sequence[SSAValue], place: Values = ()
) -> SSAValue:
    """Return what an operation does to an element.

    Args:
        b: the builder.
        op: an operation of the table, or `arith.select` of matrices.
        values: for each operand an element, or a vector of elements; a scalar operand
            as it is, or a vector of it.
        place: row and column of the element, for `apply`, whose body is copied.
    """
    match op:
        case coopmatrix.ApplyOp():
            return copied(b, op.body.block, (*place, *values))
        case coopmatrix.ConvertOp():
            target = matrix_type(op.result).element_type
            return converted(b, values[0], target, op.signed is not None)
        case coopmatrix.BitcastOp():
            type = shaped(values[0].type, matrix_type(op.result).element_type)
            same = values[0].type == type
            return values[0] if same else b.pure(arith.BitcastOp, values[0], type)
        case SelectOp():
            return b.pure(SelectOp, *values)
        case coopmatrix.UnaryOp():
            return _unary(b, op, values[0])
        case _:
            signed = isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None
            element = element_of(values[0].type)
            return b.pure(of_elements(op.__class__, element, signed), *values)


def of_elements(
    op: type[Operation], element: Attribute, signed: bool
) -> type[Operation]:
    """Return what a binary operation is on two elements."""
    of_floats, of_signed, of_unsigned = _BINARY[op]
    if is_integer(element):
        return of_signed if signed else of_unsigned
    assert of_floats is not None, op
    return of_floats


def _unary(b: Builder, op: coopmatrix.UnaryOp, x: SSAValue) -> SSAValue:
    whole = is_integer(element_of(x.type))
    match op:
        case coopmatrix.NegOp() if whole:
            return b.pure(arith.SubiOp, b.constant(x.type, 0), x)
        case coopmatrix.NegOp():
            return b.pure(arith.NegfOp, x)
        case coopmatrix.AbsOp():
            from xdsl.dialects import math  # many operations, of which this needs two

            return b.pure(math.AbsIOp if whole else math.AbsFOp, x)
        case _:
            assert isinstance(op, coopmatrix.NotOp), op
            return b.pure(arith.XOrIOp, x, b.constant(x.type, -1))


def copied(
    b: Builder,
    body: Block,
    arguments: Sequence[SSAValue],
    replace: Callable[[Operation], Values | None] = lambda _: None,
) -> SSAValue:
    """Copy the body of an `apply`, and return what it yields.

    The arguments are row, column and element. `replace` is given each operation of the
    copy, and replaces it or not.
    """
    found: dict[SSAValue, SSAValue] = dict(zip(body.args, arguments, strict=True))
    for each in body.ops:
        if isinstance(each, coopmatrix.YieldOp):
            return found.get(each.value, each.value)
        copy = b.effect(each.clone(found))
        copy.location = each.location
        for inner in tuple(copy.walk()):
            new = replace(inner)
            if inner is copy and new is not None:
                found.update(zip(each.results, new, strict=True))
    raise AssertionError(body)


Body: TypeAlias = Callable[[SSAValue, SSAValue, SSAValue], SSAValue]
"""From row, column and element to another element."""


def applied(b: Builder, matrix: SSAValue, body: Body) -> SSAValue:
    """Return what a body makes of each element of a matrix."""
    block = Block(arg_types=[INDEX, INDEX, matrix_type(matrix).element_type])
    with b.inside(block):
        b.effect(coopmatrix.YieldOp(body(*block.args)))
    return b.effect(coopmatrix.ApplyOp(matrix, Region(block))).result


# Reductions


def reduction(op: coopmatrix.ReduceOp) -> Make:
    element = matrix_type(op.value).element_type
    return of_elements(REDUCTIONS[op.kind.data], element, op.signed is not None)


def neutral(op: coopmatrix.ReduceOp) -> float:
    """Return the number that changes no other one in a reduction."""
    element, kind = matrix_type(op.value).element_type, op.kind.data
    if not is_integer(element):
        # -0 + -0 is -0; of a number and a NaN, the extremes take the number.
        return -0.0 if kind == Reduction.ADD else float("nan")
    bits, signed = element.width.data, op.signed is not None
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, -1)
    return {Reduction.ADD: 0, Reduction.MAX: low, Reduction.MIN: high}[kind]


# Conversions


class Inserts(Protocol):
    """What inserts operations without effects: a builder, or the code of expansions."""

    def pure(self, make: Make, *operands: Any) -> SSAValue: ...

    def constant(self, type: Attribute, value: float) -> SSAValue: ...


def converted(
    b: Inserts, value: SSAValue, target: Attribute, signed: bool = True
) -> SSAValue:
    """Return a number, or a vector of numbers, as one of another type.

    An index counts as i64. Integers are signed or not: those of the value, or else of
    the target.
    """
    source = element_of(value.type)
    if isinstance(source, IndexType):
        value = b.pure(arith.IndexCastOp, value, shaped(value.type, i64))
        source = i64
    if source == target:
        return value
    for to, make in _conversions(source, target, signed):
        value = b.pure(make, value, shaped(value.type, to))
    return value


def _conversions(
    source: Attribute, target: Attribute, signed: bool
) -> list[tuple[Attribute, Make]]:
    """Return the conversions on the way from a type to another."""
    match is_integer(source), is_integer(target):
        case True, False:
            return [(target, arith.SIToFPOp if signed else arith.UIToFPOp)]
        case False, True:
            return [(target, arith.FPToSIOp if signed else arith.FPToUIOp)]
        case False, False if _bits(source) == _bits(target):
            return [(f32, arith.ExtFOp), (target, arith.TruncFOp)]
        case is_whole, _:
            longer: Make = arith.ExtSIOp if signed else arith.ExtUIOp
            if not is_whole:
                longer = arith.ExtFOp
            shorter: Make = arith.TruncIOp if is_whole else arith.TruncFOp
            return [(target, longer if _bits(target) > _bits(source) else shorter)]


def _bits(type: Any) -> int:
    return type.bitwidth


# Fills, and the elements that a work-item owns


def fill_value(b: Builder, op: coopmatrix.FillOp) -> SSAValue:
    """Return the number that a matrix is filled with; what a memref points to.

    Raises:
        Refused: the operation fills from another pointer.
    """
    value = op.value
    if is_memref(value.type):
        value = b.effect(memref.LoadOp.get(value, [])).results[0]
    elif op.is_pointer:
        raise Refused(op, f"expected a memref to fill from, got {value.type}")
    return converted(b, value, matrix_type(op.result).element_type, signed=True)


def filled(b: Builder, type: MatrixType, value: SSAValue) -> SSAValue:
    """Return a matrix of a number in every slot, over zeros: any distribution has it.

    %n = coopmatrix.length M
    %m = scf.for %i = 0 to %n step 1 iter_args(%it = %zero) {
      scf.yield (coopmatrix.insert %value, %it[%i]) }
    """
    zero = b.constant(type.element_type, 0)
    start = b.effect(coopmatrix.FillOp(zero, type)).results[0]
    start.name_hint = "zero"
    return over_slots(b, start, lambda i, it: b.pure(coopmatrix.InsertOp, value, it, i))


def over_slots(
    b: Builder, start: SSAValue, body: Callable[[SSAValue, SSAValue], SSAValue]
) -> SSAValue:
    """Return a matrix that a loop over the slots of a work-item makes of another.

    It begins with `start`; from a slot and the matrix so far, `body` makes the matrix
    with that slot replaced.
    """
    type = start.type
    first, step = b.constant(INDEX, 0), b.constant(INDEX, 1)
    length = b.pure(coopmatrix.LengthOp, type)
    length.name_hint = "length"
    block = Block(arg_types=[INDEX, type])
    loop = b.effect(ForOp(first, length, step, [start], block))
    index, carried = block.args
    index.name_hint, carried.name_hint = "i", "it"
    with b.inside(block):
        b.effect(YieldOp(body(index, carried)))
    return loop.results[0]
