"""expand-arith: expands rounding divisions, i1 arithmetic, strict extrema, negations.

Before:  operations of `arith` for which targets have no instruction.
After:   operations of `arith` that the target has.
Fails:   never; an operation without an expansion is unchanged.

    %c = arith.floordivsi %a, %b : i32      a quotient, corrected by one where the rest
                                            is not 0 and has another sign than %b

An i1 is a bool in SPIR-V, so its arithmetic, which wraps around at 2, becomes logic:
unsigned x < y is !x & y; signed, where 1 is -1, it is x & !y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IntegerType, i1, i32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import constant, is_zero
from coopc.dialects.narrow import is_memref
from coopc.dialects.shaped_arith import IndexCastUIOp
from coopc.dialects.simt import ReduceKind, bits_of
from coopc.emit.walker import NoForm, element_of, is_i1, refuse_i1
from coopc.ir.facts import splat_number
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.expansion import Code, ExpandPass, Expansions, Target
from coopc.passes.generic.number import Num, nums

table = Expansions()

FREE = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
"""Of operations whose rounding is accounted for, or that do not round."""

NO_NAN = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS])
"""Of operations whose result for a NaN is not used."""


# Integers.


@table.on(arith.RemSIOp, when=lambda op, to: to.language == "vulkan")
def rem_signed(code: Code, op: arith.RemSIOp) -> Num:
    """The remainder with the sign of the dividend.

    Vulkan leaves OpSRem of negative numbers undefined.
    """
    refuse_i1(op)
    a, b = nums(code, op.lhs, op.rhs)
    return a - a.apply(arith.DivSIOp, b) * b


@table.on(arith.FloorDivSIOp, arith.CeilDivSIOp)
def rounded_div(code: Code, op: arith.FloorDivSIOp | arith.CeilDivSIOp) -> Num:
    """A quotient, corrected by 1 where it is inexact and has the sign to round it."""
    refuse_i1(op)
    down = isinstance(op, arith.FloorDivSIOp)
    a, b = nums(code, op.lhs, op.rhs)
    quotient, rest = a.apply(arith.DivSIOp, b), a.apply(arith.RemSIOp, b)
    zero = a.like(0)
    inexact = rest.compare("ne", zero)
    # The rest has the sign of the dividend.
    wrong = (rest ^ b).compare("slt" if down else "sge", zero)
    by = (inexact & wrong).select(a.like(1), zero)
    return quotient - by if down else quotient + by


@table.on(arith.CeilDivUIOp)
def ceil_div_unsigned(code: Code, op: arith.CeilDivUIOp) -> Num:
    refuse_i1(op)
    a, b = nums(code, op.lhs, op.rhs)
    inexact = a.apply(arith.RemUIOp, b).compare("ne", 0)
    return a.apply(arith.DivUIOp, b) + inexact.select(a.like(1), 0)


@table.on(arith.AddUIExtendedOp)
def add_extended(code: Code, op: arith.AddUIExtendedOp) -> tuple[SSAValue, SSAValue]:
    """The sum, and whether it wrapped around: it is then less than either operand."""
    refuse_i1(op)
    a, b = nums(code, op.lhs, op.rhs)
    sum = a + b
    return sum.value, sum.compare("ult", a).value


# i1.

LOGIC: dict[type[Operation], Callable[[SSAValue, SSAValue], Operation]] = {
    arith.AddiOp: arith.XOrIOp,
    arith.SubiOp: arith.XOrIOp,
    arith.MuliOp: arith.AndIOp,
    arith.MinUIOp: arith.AndIOp,
    arith.MaxUIOp: arith.OrIOp,
    arith.MinSIOp: arith.OrIOp,
    arith.MaxSIOp: arith.AndIOp,
}
"""What arithmetic on i1 is, of which -1 is the least signed value."""

ORDERS: dict[int, tuple[Callable[[SSAValue, SSAValue], Operation], int]] = {
    2: (arith.AndIOp, 1),  # slt: 1 is -1
    3: (arith.OrIOp, 1),
    4: (arith.AndIOp, 0),
    5: (arith.OrIOp, 0),
    6: (arith.AndIOp, 0),  # ult
    7: (arith.OrIOp, 0),
    8: (arith.AndIOp, 1),
    9: (arith.OrIOp, 1),
}
"""By the number of a predicate: what a comparison of i1 is, with one inverted."""


def of_bools(op: Operation, target: Target) -> bool:
    """Whether all operands are bools of SPIR-V."""
    return target.is_spirv and all(is_i1(x.type) for x in op.operands)


def casts_bool(op: Operation, target: Target) -> bool:
    """Whether a number becomes a bool of SPIR-V, or a bool a number."""
    source, result = op.operands[0].type, op.results[0].type
    return target.is_spirv and is_i1(source) is not is_i1(result)


@table.on(*LOGIC, when=of_bools)
def logic(code: Code, op: Operation) -> SSAValue:
    """Arithmetic that wraps around at 2."""
    return code(LOGIC[type(op)](*op.operands))


@table.on(
    arith.CmpiOp,
    when=lambda op, to: op.predicate.value.data in ORDERS and of_bools(op, to),
)
def compare_bools(code: Code, op: arith.CmpiOp) -> SSAValue:
    """Which of two bools is less: one is set and the other is not, or may be, too."""
    make, inverted = ORDERS[op.predicate.value.data]
    pair = [op.lhs, op.rhs]
    pair[inverted] = code(arith.XOrIOp(pair[inverted], code.like(op.lhs, -1)))
    return code(make(*pair))


@table.on(
    *(arith.ExtUIOp, arith.UIToFPOp, arith.ExtSIOp, arith.SIToFPOp, arith.TruncIOp),
    *(arith.IndexCastOp, IndexCastUIOp),
    when=casts_bool,
)
def cast_bool(code: Code, op: Operation) -> SSAValue | Num:
    """1 or 0; -1 or 0 with a sign.  Of an integer, whether it is odd."""
    (value,), type = op.operands, op.results[0].type
    if is_i1(type):
        return (Num(code, value) & 1).compare("ne", 0)
    is_unsigned = isinstance(op, arith.ExtUIOp | arith.UIToFPOp | IndexCastUIOp)
    yes = 1 if is_unsigned else -1
    return code.select(value, code.constant(type, yes), code.constant(type, 0))


@table.on(arith.FPToSIOp, arith.FPToUIOp, when=casts_bool)
def whole_as_bool(code: Code, op: arith.FPToSIOp | arith.FPToUIOp) -> Num:
    """Whether a float is not 0, rounded towards zero."""
    return Num(code, op.input).cast(type(op), i32).compare("ne", 0)


# Floats.


@table.on(
    arith.CmpfOp,
    when=lambda op, to: to.is_spirv and op.predicate.value.data in (0, 15),
)
def settled(code: Code, op: arith.CmpfOp) -> SSAValue:
    """A comparison that is false or true of everything needs no operands."""
    return code.constant(op.result.type, -(op.predicate.value.data // 15))


def is_minus_one(value: SSAValue) -> bool:
    """Whether a number, or all components of a vector, are the constant -1.0."""
    type = value.type
    while isinstance(value.owner, vector.BitcastOp):
        value = value.owner.source
    return value.type == type and splat_number(value) == -1


@table.on(
    arith.MulfOp,
    when=lambda op, to: (
        not to.device.keeps_negations and any(map(is_minus_one, op.operands))
    ),
)
def negated(code: Code, op: arith.MulfOp) -> SSAValue:
    """A product with -1.0, of which LLVM makes a negation."""
    return code(arith.NegfOp(op.rhs if is_minus_one(op.lhs) else op.lhs))


@table.on(arith.NegfOp, when=lambda op, to: not to.device.keeps_negations)
def negate(code: Code, op: arith.NegfOp) -> Num:
    """-0.0 for 0.0, and otherwise the number with the other sign.

    LLVM makes `fneg` of an xor of the sign, and of -0.0 - x, but not of a choice.
    """
    element = element_of(op.operand.type)
    sign = 1 << bits_of(element) - 1
    (x,) = nums(code, op.operand)
    bits = x.bits(IntegerType(bits_of(element)))
    return bits.compare("eq", 0).select(x.like(-0.0), (bits ^ sign).bits(element))


def has_no_strict_extreme(op: Operation, target: Target) -> bool:
    """Whether a target has no extreme that takes a NaN.

    LLVM has, but its SPIR-V back end takes it for OpenCL's fmax.
    """
    return target.language != "x86"


@table.on(arith.MaximumfOp, arith.MinimumfOp, when=has_no_strict_extreme)
def strict_extreme(code: Code, op: arith.MaximumfOp | arith.MinimumfOp) -> Num:
    """Of two floats the greater or the smaller, -0 below +0, or a NaN of either.

    Equal operands differ at most in the sign of a zero: the bits of both together are
    the smaller, those that both have the greater.  What the extreme of a NaN is does
    not matter, as it is not selected.
    """
    greater, element = isinstance(op, arith.MaximumfOp), element_of(op.lhs.type)
    a, b = nums(code, op.lhs, op.rhs)
    x, y = (each.bits(IntegerType(bits_of(element))) for each in (a, b))
    merged = (x & y if greater else x | y).bits(element)
    number = arith.MaxnumfOp if greater else arith.MinnumfOp
    equal, extreme = a.compare("oeq", b), code(number(op.lhs, op.rhs, NO_NAN))
    ordered = equal.select(merged, Num(code, extreme))
    nan = replace(a, flags=(FREE,)) + b
    return a.compare("uno", b).select(nan, ordered)


# What `coopmatrix.fill` says beside filling: a load, and a conversion.


@table.on(
    coopmatrix.FillOp,
    when=lambda op, to: (
        to.is_spirv and op.value.type != coopmatrix.matrix_type(op.result).element_type
    ),
)
def fill(code: Code, op: coopmatrix.FillOp) -> SSAValue:
    """Load the number, or convert it to the element type, and fill."""
    type, value = coopmatrix.matrix_type(op.result), op.value
    if is_memref(value.type):
        value = code(memref.LoadOp.get(value, []))
    elif op.is_pointer:
        raise NoForm(f"expected a number or a memref of rank 0, got {value.type}")
    if is_zero(
        constant(value)
    ):  # which needs no conversion, and is filled with in its own ways
        value = code.constant(type.element_type, 0)
    else:
        value = converted(code, value, type.element_type)
    return code(op.create(operands=[value], result_types=[type]))


REDUCED_BITS: dict[ReduceKind, tuple[ReduceKind, ReduceKind]] = {
    ReduceKind.ADD: (ReduceKind.XOR, ReduceKind.XOR),
    ReduceKind.MUL: (ReduceKind.AND, ReduceKind.AND),
    ReduceKind.MAX: (ReduceKind.OR, ReduceKind.AND),
    ReduceKind.MIN: (ReduceKind.AND, ReduceKind.OR),
}
"""What a reduction of i1 is: of unsigned ones, and of signed ones, where 1 is -1."""


@table.on(simt.ReduceOp, when=lambda op, to: to.is_spirv and is_i1(op.value.type))
def reduce_bits(code: Code, op: simt.ReduceOp) -> SSAValue:
    """Logic, of integers of 32 bits."""
    kind = op.kind.data
    unsigned, signed = REDUCED_BITS.get(kind, (kind, kind))
    wide = code.cast(arith.ExtUIOp, op.value, i32)
    found = simt.ReduceOp(unsigned if op.signed is None else signed, wide)
    return code.cast(arith.TruncIOp, code(found), i1)


class ExpandArithPass(ExpandPass):
    name = "expand-arith"
    table = table
