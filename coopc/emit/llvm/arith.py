"""`arith`, `math` and `ub`: instructions, intrinsics, and functions of a library.

On x86-64 LLVM calls the C library for most intrinsics, for a vector once a component;
on spir64 they are OpenCL's builtins of the same names.
"""

from __future__ import annotations

from xdsl.dialects import arith, math, ub, vector
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from coopc.dialects.math_forms import ErfcOp
from coopc.dialects.narrow import is_memref
from coopc.emit import arith as shared
from coopc.emit.arith import check_same_bits, is_bf16, unwrapped
from coopc.emit.llvm.emission import PURE, Emission, Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.walker import NoForm, refuse_i1
from coopc.llvm.values import (
    FLOAT,
    I1,
    I32,
    Float,
    Int,
    Type,
    component,
    integer,
    like,
    width,
)
from coopc.llvm.values import poison as any_value

handlers = Handlers(shared.handlers)


@handlers.on(*shared.INSTRUCTIONS)
def instruction(e: Emission, op: Operation) -> None:
    _, opcode = shared.INSTRUCTIONS[type(op)]
    xs, flags = e.values(op.operands), " ".join(unwrapped(op))
    if isinstance(op, arith.FloatingPointLikeBinaryOperation):
        flags = _fast(op.fastmath)
    e.set(op.results[0], e.f.arithmetic(opcode, *xs, flags=flags))


@handlers.on(arith.CmpiOp)
def compare_integers(e: Emission, op: arith.CmpiOp) -> None:
    _, predicate = shared.INTEGER_PREDICATES[op.predicate.value.data]
    e.set(op.result, e.f.compare(f"icmp {predicate}", *e.values((op.lhs, op.rhs))))


@handlers.on(arith.CmpfOp)
def compare_floats(e: Emission, op: arith.CmpfOp) -> None:
    _, predicate = shared.FLOAT_PREDICATES[op.predicate.value.data]
    e.set(op.result, e.f.compare(f"fcmp {predicate}", *e.values((op.lhs, op.rhs))))


@handlers.on(arith.SelectOp)
def select(e: Emission, op: arith.SelectOp) -> None:
    """One of two values, by an i1."""
    if is_memref(op.result.type):
        raise NoForm("expected numbers or vectors: choose memrefs with scf.if")
    e.set(op.result, e.f.select(*e.values((op.cond, op.lhs, op.rhs))))


@handlers.on(arith.MulUIExtendedOp, arith.MulSIExtendedOp)
def mul_extended(e: Emission, op: arith.MulExtendedBase) -> None:
    """The high half of a product is a builtin of OpenCL, or of twice the bits."""
    refuse_i1(op)
    signed = isinstance(op, arith.MulSIExtendedOp)
    a, b = e.values((op.lhs, op.rhs))
    e.set(op.low, e.f.arithmetic("mul", a, b))
    if e.facts.gpu:
        name = f"__spirv_ocl_{'s' if signed else 'u'}_mul_hi"
        full = builtin(name, (a.type, b.type), unsigned=() if signed else (0, 1))
        e.set(op.high, e.call(full, a.type, [a, b], attributes=PURE))
        return
    element = component(a.type)
    assert isinstance(element, Int), a
    wide = like(a.type, Int(2 * element.bits))
    x, y = (e.f.cast("sext" if signed else "zext", each, wide) for each in (a, b))
    high = e.f.arithmetic(
        "lshr", e.f.arithmetic("mul", x, y), integer(wide, element.bits)
    )
    e.set(op.high, e.f.cast("trunc", high, a.type))


# Functions.

_STRICT_EXTREMES: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
}
"""Of a number and a NaN the NaN, and -0 below +0."""

_INTRINSICS = (
    *(arith.MinUIOp, arith.MaxUIOp, arith.MinSIOp, arith.MaxSIOp),
    *(arith.MaxnumfOp, arith.MinnumfOp, math.AbsFOp, math.CeilOp, math.CopySignOp),
    *(math.FloorOp, math.FmaOp, math.RoundEvenOp, math.RoundOp, math.SqrtOp),
    *(math.TruncOp, vector.FMAOp, *_STRICT_EXTREMES),
)
"""What every target has an instruction for."""

_FROM_LIBRARY = (
    *(math.AcoshOp, math.AsinhOp, math.AtanhOp, math.CbrtOp, math.ErfOp),
    *(math.ExpM1Op, math.Log1pOp, math.RsqrtOp, ErfcOp),
)
"""What LLVM has no intrinsic for; the C library has all but rsqrt."""


@handlers.on(*shared.FUNCTIONS, *_STRICT_EXTREMES)
def function(e: Emission, op: Operation) -> None:
    strict = _STRICT_EXTREMES.get(type(op), "")
    name = strict or shared.FUNCTIONS[type(op)][2]
    xs = e.values(op.operands)
    type_ = xs[0].type
    if e.facts.gpu and not isinstance(op, _INTRINSICS):
        full = builtin(f"__spirv_ocl_{name}", [x.type for x in xs])
        found = e.call(full, type_, xs, attributes=PURE)
    elif not isinstance(op, _FROM_LIBRARY):
        found = e.intrinsic(name, type_, xs)
    else:
        element = component(type_)
        full = f"{name}f" if element == FLOAT else name
        rows = zip(*map(e.components, xs), strict=True)
        each = [e.call(full, element, row, attributes=PURE) for row in rows]
        found = e.composed(type_, each)
    e.set(op.results[0], found)


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    """A float to the power of an integer of 32 bits."""
    x, n = e.values((op.lhs, op.rhs))
    if component(n.type) != I32:
        raise NoForm(f"expected an exponent of 32 bits, got {op.rhs.type}")
    name = builtin("__spirv_ocl_pown", (x.type, n.type))
    e.set(op.result, e.call(name, x.type, [x, n], attributes=PURE))


@handlers.on(*shared.COUNTS)
def count(e: Emission, op: Operation) -> None:
    """An intrinsic, mostly with a flag that says that no operand is excluded."""
    refuse_i1(op)
    _, name = shared.COUNTS[type(op)]
    x = e.value(op.operands[0])
    flag = () if name == "ctpop" else (integer(I1, 0),)
    e.set(op.results[0], e.intrinsic(name, x.type, [x, *flag]))


# Conversions: between widths, between integers and floats, of bits.


_RESIZED = {
    "sext": ("sext", "trunc"),
    "zext": ("zext", "trunc"),
    "fpext": ("fpext", "fptrunc"),
    "fptrunc": ("fpext", "fptrunc"),
}
"""What a cast is where the result does not have fewer bits, and where it has: an index
cast may do either, and xDSL lets `arith.extf` shrink a float."""


@handlers.on(*shared.CASTS)
def cast(e: Emission, op: Operation) -> None:
    """A number of another type; of bf16 by Intel's builtins."""
    (source,), (result,) = op.operands, op.results
    x, to, opcode = e.value(source), e.type(result.type), shared.CASTS[type(op)][1]
    if is_bf16(source.type) or is_bf16(result.type):
        end = "BF16ToF" if is_bf16(source.type) else "FToBF16"
        name = builtin(f"__spirv_Convert{end}INTEL", (x.type,))
        e.set(result, e.call(name, to, [x], attributes=PURE))
        return
    if opcode in _RESIZED:
        opcode = _RESIZED[opcode][_bits(to) < _bits(x.type)]
    e.set(result, e.f.cast(opcode, x, to))


def same_bits(e: Emission, op: Operation) -> None:
    (source,), (result,) = op.operands, op.results
    check_same_bits(op, *map(_bits, (e.type(source.type), e.type(result.type))))
    e.set(result, e.f.cast("bitcast", e.value(source), e.type(result.type)))


handlers.add(arith.BitcastOp, same_bits)


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


def _fast(flags: arith.FastMathFlagsAttr | None) -> str:
    """What `fastmath` allows, in LLVM's words."""
    found = set(flags.data) if flags is not None else set[FastMathFlag]()
    words = [word for flag, word in _FLAGS.items() if flag in found]
    return "fast" if len(words) == len(_FLAGS) else " ".join(words)


# `ub`: a value of which nothing is known.


@handlers.on(ub.PoisonOp)
def poison(e: Emission, op: ub.PoisonOp) -> None:
    e.set(op.result, any_value(e.type(op.result.type)))
