"""`arith` on integers and index values: constants, arithmetic, comparison, select."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from coopc.dialects.narrow import is_memref
from coopc.emit.elements import count_of, element_of
from coopc.emit.llvm.emission import PURE, Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.structured import Refusal
from coopc.llvm.types import I1, Int, Vector, component, like
from coopc.llvm.values import Constant, Value, composite, integer

handlers = Handlers()

Division: TypeAlias = arith.FloorDivSIOp | arith.CeilDivSIOp

_BINARY: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.DivUIOp: "udiv",
    arith.DivSIOp: "sdiv",
    arith.RemUIOp: "urem",
    arith.RemSIOp: "srem",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
    arith.ShLIOp: "shl",
    arith.ShRUIOp: "lshr",
    arith.ShRSIOp: "ashr",
}

_EXTREMES: dict[type[Operation], str] = {
    arith.MinUIOp: "umin",
    arith.MaxUIOp: "umax",
    arith.MinSIOp: "smin",
    arith.MaxSIOp: "smax",
}

_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""In the order of arith's numbers."""


@handlers.on(arith.ConstantOp)
def constant(e: Emission, op: arith.ConstantOp) -> None:
    """A number, or a vector of numbers."""
    type = op.result.type
    match op.value:
        case IntegerAttr(value=number):
            e.set(op.result, e.types.constant(type, number.data))
        case FloatAttr(value=number):
            e.set(op.result, e.types.constant(type, number.data))
        case DenseIntOrFPElementsAttr() as dense:
            e.set(op.result, _dense(e, type, dense))
        case other:
            raise Refusal(f"expected numbers, got {other}")


def _dense(e: Emission, type: Attribute, dense: DenseIntOrFPElementsAttr) -> Constant:
    """A vector of constants."""
    values = dense.get_values()
    element = element_of(type)
    if dense.is_splat():
        values = values[:1] * count_of(type)
    numbers: list[Constant] = []
    for value in values:
        if isinstance(value, tuple):
            raise Refusal(f"expected a vector of real numbers, got {dense.type}")
        numbers.append(e.types.constant(element, value))
    to = e.type(type)
    return composite(to, numbers) if isinstance(to, Vector) else numbers[0]


def _binary(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    flags = ""
    if isinstance(op, arith.SignlessIntegerBinaryOperationWithOverflow):
        found = op.overflow_flags.data
        named = (
            (arith.IntegerOverflowFlag.NSW, "nsw"),
            (arith.IntegerOverflowFlag.NUW, "nuw"),
        )
        flags = " ".join(word for flag, word in named if flag in found)
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.f.binary(_BINARY[type(op)], a, b, flags))


for _op in _BINARY:
    handlers.add(_op, _binary)


def _extreme(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    """The smaller or the greater of two."""
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.intrinsic(_EXTREMES[type(op)], a.type, [a, b]))


for _op in _EXTREMES:
    handlers.add(_op, _extreme)


def _rounded_division(up: bool) -> Callable[[Emission, Division], None]:
    """Signed division that rounds up, or down: the quotient, corrected by one."""

    def handler(e: Emission, op: Division) -> None:
        no_i1(op)
        a, b = e.value(op.lhs), e.value(op.rhs)
        zero, one = integer(a.type, 0), integer(a.type, 1)
        quotient = e.f.binary("sdiv", a, b)
        rest = e.f.binary("srem", a, b)
        inexact = e.f.compare("icmp ne", rest, zero)
        # The rest has the sign of the dividend.
        signs = e.f.binary("xor", rest, b)
        wrong = e.f.compare("icmp sge" if up else "icmp slt", signs, zero)
        by = e.f.select(e.f.binary("and", inexact, wrong), one, zero)
        e.set(op.result, e.f.binary("add" if up else "sub", quotient, by))

    return handler


handlers.add(arith.FloorDivSIOp, _rounded_division(up=False))
handlers.add(arith.CeilDivSIOp, _rounded_division(up=True))


@handlers.on(arith.CeilDivUIOp)
def ceil_div_unsigned(e: Emission, op: arith.CeilDivUIOp) -> None:
    """Unsigned division that rounds up."""
    no_i1(op)
    a, b = e.value(op.lhs), e.value(op.rhs)
    zero, one = integer(a.type, 0), integer(a.type, 1)
    inexact = e.f.compare("icmp ne", e.f.binary("urem", a, b), zero)
    by = e.f.select(inexact, one, zero)
    e.set(op.result, e.f.binary("add", e.f.binary("udiv", a, b), by))


@handlers.on(arith.CmpiOp)
def compare(e: Emission, op: arith.CmpiOp) -> None:
    """A comparison."""
    opcode = f"icmp {_PREDICATES[op.predicate.value.data]}"
    e.set(op.result, e.f.compare(opcode, e.value(op.lhs), e.value(op.rhs)))


@handlers.on(arith.SelectOp)
def select(e: Emission, op: arith.SelectOp) -> None:
    """One of two values, by an i1."""
    if is_memref(op.result.type):
        raise Refusal("expected numbers or vectors: choose memrefs with scf.if")
    condition = e.value(op.cond)
    e.set(op.result, e.f.select(condition, e.value(op.lhs), e.value(op.rhs)))


@handlers.on(arith.AddUIExtendedOp)
def add_extended(e: Emission, op: arith.AddUIExtendedOp) -> None:
    """The sum, and whether it wrapped around: it is then less than either operand."""
    no_i1(op)
    a = e.value(op.lhs)
    sum = e.f.binary("add", a, e.value(op.rhs))
    e.set(op.sum, sum)
    e.set(op.overflow, e.f.compare("icmp ult", sum, a))


@handlers.on(arith.MulUIExtendedOp, arith.MulSIExtendedOp)
def mul_extended(e: Emission, op: arith.MulExtendedBase) -> None:
    """The low and the high half of the product."""
    no_i1(op)
    signed = isinstance(op, arith.MulSIExtendedOp)
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.low, e.f.binary("mul", a, b))
    e.set(op.high, _high(e, a, b, signed))


def _high(e: Emission, a: Value, b: Value, signed: bool) -> Value:
    """The high half of a product: a builtin of OpenCL, or of twice the bits."""
    if e.facts.gpu:
        name = f"__spirv_ocl_{'s' if signed else 'u'}_mul_hi"
        unsigned = () if signed else (0, 1)
        full = builtin(name, (a.type, b.type), unsigned=unsigned)
        return e.call(full, a.type, [a, b], attributes=PURE)
    element = component(a.type)
    assert isinstance(element, Int), a
    wide = like(a.type, Int(2 * element.bits))
    extend = "sext" if signed else "zext"
    x, y = (e.f.cast(extend, each, wide) for each in (a, b))
    high = e.f.binary("lshr", e.f.binary("mul", x, y), integer(wide, element.bits))
    return e.f.cast("trunc", high, a.type)


def no_i1(op: Operation) -> None:
    """Refuse an operation on i1."""
    if str(element_of(op.operands[0].type)) == str(I1):
        raise Refusal("expected integers of 8 bits or more, got i1")
