"""`arith` on integers and index values: constants, arithmetic, comparison, select."""

from __future__ import annotations

from xdsl.dialects import arith, ub
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from coopc.dialects.narrow import is_memref
from coopc.emit import arith as shared
from coopc.emit.arith import check_same_bits, is_bf16, no_i1, unwrapped
from coopc.emit.llvm.emission import PURE, Emission, Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.walker import Refusal
from coopc.llvm.types import (
    Float,
    Int,
    Type,
    component,
    like,
    width,
)
from coopc.llvm.values import Value, integer
from coopc.llvm.values import poison as any_value

handlers = Handlers(shared.handlers)

_INTEGER_OPCODES: dict[type[Operation], str] = {
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

_INTEGER_PREDICATES = (
    "eq",
    "ne",
    "slt",
    "sle",
    "sgt",
    "sge",
    "ult",
    "ule",
    "ugt",
    "uge",
)
"""In the order of arith's numbers."""


def _integer_binary(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    a, b, flags = e.value(op.lhs), e.value(op.rhs), " ".join(unwrapped(op))
    e.set(op.result, e.f.binary(_INTEGER_OPCODES[type(op)], a, b, flags))


for _op in _INTEGER_OPCODES:
    handlers.add(_op, _integer_binary)


def _integer_extreme(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.intrinsic(_EXTREMES[type(op)], a.type, [a, b]))


for _op in _EXTREMES:
    handlers.add(_op, _integer_extreme)


@handlers.on(arith.CmpiOp)
def compare_integers(e: Emission, op: arith.CmpiOp) -> None:
    opcode = f"icmp {_INTEGER_PREDICATES[op.predicate.value.data]}"
    e.set(op.result, e.f.compare(opcode, e.value(op.lhs), e.value(op.rhs)))


@handlers.on(arith.SelectOp)
def select(e: Emission, op: arith.SelectOp) -> None:
    """One of two values, by an i1."""
    if is_memref(op.result.type):
        raise Refusal("expected numbers or vectors: choose memrefs with scf.if")
    condition = e.value(op.cond)
    e.set(op.result, e.f.select(condition, e.value(op.lhs), e.value(op.rhs)))


@handlers.on(arith.MulUIExtendedOp, arith.MulSIExtendedOp)
def mul_extended(e: Emission, op: arith.MulExtendedBase) -> None:
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


# `arith` on floats: arithmetic, extremes and comparison.

_FLOAT_OPCODES: dict[type[Operation], str] = {
    arith.AddfOp: "fadd",
    arith.SubfOp: "fsub",
    arith.MulfOp: "fmul",
    arith.DivfOp: "fdiv",
}

_FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
"""In the order of arith's numbers."""


def _float_binary(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
    opcode, flags = _FLOAT_OPCODES[type(op)], fast(op.fastmath)
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.f.binary(opcode, a, b, flags))


for _op in _FLOAT_OPCODES:
    handlers.add(_op, _float_binary)


@handlers.on(arith.NegfOp)
def negate(e: Emission, op: arith.NegfOp) -> None:
    """The sign changed, of zeros and NaNs too."""
    e.set(op.result, e.f.unary("fneg", e.value(op.operand)))


@handlers.on(arith.CmpfOp)
def compare_floats(e: Emission, op: arith.CmpfOp) -> None:
    """A comparison; an ordered one is false of a NaN, an unordered one true."""
    a, b = e.value(op.lhs), e.value(op.rhs)
    opcode = f"fcmp {_FLOAT_PREDICATES[op.predicate.value.data]}"
    e.set(op.result, e.f.compare(opcode, a, b))


_FLOAT_EXTREMES: dict[type[Operation], str] = {
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
}
"""Of a number and a NaN, the number; or the NaN, and -0 below +0."""


def _float_extreme(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.intrinsic(_FLOAT_EXTREMES[type(op)], a.type, [a, b]))


for _op in _FLOAT_EXTREMES:
    handlers.add(_op, _float_extreme)


# `arith` conversions: between widths, between integers and floats, of bits.


@handlers.on(
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.IndexCastOp,
)
def resize(e: Emission, op: Operation) -> None:
    x, to = e.value(op.operands[0]), e.type(op.results[0].type)
    found, wanted = component(x.type), component(to)
    assert isinstance(found, Int), op
    assert isinstance(wanted, Int), op
    unsigned = isinstance(op, arith.ExtUIOp)
    extend = "zext" if unsigned else "sext"
    opcode = "trunc" if wanted.bits < found.bits else extend
    e.set(op.results[0], e.f.cast(opcode, x, to))


_CONVERSIONS: dict[type[Operation], str] = {
    arith.SIToFPOp: "sitofp",
    arith.UIToFPOp: "uitofp",
    arith.FPToSIOp: "fptosi",
    arith.FPToUIOp: "fptoui",
}


def _converted(e: Emission, op: Operation) -> None:
    """An integer to nearest even, or a float rounded towards zero."""
    (x,), (result,) = op.operands, op.results
    opcode = _CONVERSIONS[type(op)]
    e.set(result, e.f.cast(opcode, e.value(x), e.type(result.type)))


for _op in _CONVERSIONS:
    handlers.add(_op, _converted)


@handlers.on(arith.ExtFOp, arith.TruncFOp)
def resize_float(e: Emission, op: arith.ExtFOp | arith.TruncFOp) -> None:
    """A float in another width, to nearest even; of bf16 by Intel's builtins."""
    x, to = e.value(op.input), e.type(op.result.type)
    if is_bf16(op.input.type) or is_bf16(op.result.type):
        end = "BF16ToF" if is_bf16(op.input.type) else "FToBF16"
        name = builtin(f"__spirv_Convert{end}INTEL", (x.type,))
        e.set(op.result, e.call(name, to, [x], attributes=PURE))
        return
    source, target = component(x.type), component(to)
    assert isinstance(source, Float), op
    assert isinstance(target, Float), op
    opcode = "fpext" if source.bits < target.bits else "fptrunc"
    e.set(op.result, e.f.cast(opcode, x, to))


@handlers.on(arith.BitcastOp)
def bitcast(e: Emission, op: arith.BitcastOp) -> None:
    same_bits(e, op)


def same_bits(e: Emission, op: Operation) -> None:
    (source,), (result,) = op.operands, op.results
    check_same_bits(op, *map(_bits, (e.type(source.type), e.type(result.type))))
    e.set(result, e.f.cast("bitcast", e.value(source), e.type(result.type)))


def _bits(type: Type) -> int:
    element = component(type)
    assert isinstance(element, Int | Float), type
    return element.bits * width(type)


# Floats: what the IR allows to be relaxed is said.

_FLAGS = {
    FastMathFlag.NO_NANS: "nnan",
    FastMathFlag.NO_INFS: "ninf",
    FastMathFlag.NO_SIGNED_ZEROS: "nsz",
    FastMathFlag.ALLOW_RECIP: "arcp",
    FastMathFlag.ALLOW_CONTRACT: "contract",
    FastMathFlag.APPROX_FUNC: "afn",
    FastMathFlag.REASSOC: "reassoc",
}


def fast(flags: arith.FastMathFlagsAttr | None) -> str:
    """What `fastmath` allows, in LLVM's words."""
    found = set(flags.data) if flags is not None else set[FastMathFlag]()
    words = [word for flag, word in _FLAGS.items() if flag in found]
    return "fast" if len(words) == len(_FLAGS) else " ".join(words)


# `ub`: a value of which nothing is known.


@handlers.on(ub.PoisonOp)
def poison(e: Emission, op: ub.PoisonOp) -> None:
    e.set(op.result, any_value(e.type(op.result.type)))
