"""`arith` on integers and index values: constants, arithmetic, comparison, select."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, ub
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects.narrow import is_memref
from coopc.emit.llvm.emission import PURE, Emission, Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.walker import Refusal, count_of, element_of
from coopc.llvm.types import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I16,
    I32,
    Float,
    Int,
    Type,
    Vector,
    component,
    like,
    width,
)
from coopc.llvm.values import Constant, Value, composite, integer
from coopc.llvm.values import poison as any_value

handlers = Handlers()

Division: TypeAlias = arith.FloorDivSIOp | arith.CeilDivSIOp

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


def _integer_binary(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    flags = ""
    if isinstance(op, arith.SignlessIntegerBinaryOperationWithOverflow):
        found = op.overflow_flags.data
        named = (
            (arith.IntegerOverflowFlag.NSW, "nsw"),
            (arith.IntegerOverflowFlag.NUW, "nuw"),
        )
        flags = " ".join(word for flag, word in named if flag in found)
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.f.binary(_INTEGER_OPCODES[type(op)], a, b, flags))


for _op in _INTEGER_OPCODES:
    handlers.add(_op, _integer_binary)


def _integer_extreme(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    """The smaller or the greater of two."""
    a, b = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.intrinsic(_EXTREMES[type(op)], a.type, [a, b]))


for _op in _EXTREMES:
    handlers.add(_op, _integer_extreme)


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
def compare_integers(e: Emission, op: arith.CmpiOp) -> None:
    """A comparison."""
    opcode = f"icmp {_INTEGER_PREDICATES[op.predicate.value.data]}"
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

    def make(a: Value, b: Value) -> Value:
        return e.f.binary(opcode, a, b, flags)

    each_float(e, op.result, (op.lhs, op.rhs), make)


for _op in _FLOAT_OPCODES:
    handlers.add(_op, _float_binary)


@handlers.on(arith.NegfOp)
def negate(e: Emission, op: arith.NegfOp) -> None:
    """The sign changed, of zeros and NaNs too."""

    def make(x: Value) -> Value:
        return e.f.unary("fneg", x)

    each_float(e, op.result, (op.operand,), make)


@handlers.on(arith.CmpfOp)
def compare_floats(e: Emission, op: arith.CmpfOp) -> None:
    """A comparison; an ordered one is false of a NaN, an unordered one true."""
    a, b = e.value(op.lhs), e.value(op.rhs)
    if is_bf16(op.lhs.type):
        a, b = widened(e, a), widened(e, b)
    opcode = f"fcmp {_FLOAT_PREDICATES[op.predicate.value.data]}"
    e.set(op.result, e.f.compare(opcode, a, b))


def number_extreme(e: Emission, a: Value, b: Value, greater: bool) -> Value:
    """The greater or the smaller of two; of a number and a NaN, the number."""
    return e.intrinsic("maxnum" if greater else "minnum", a.type, [a, b])


def strict_extreme(e: Emission, a: Value, b: Value, greater: bool) -> Value:
    """The greater or the smaller of two; a NaN of either, and -0 below +0.

    LLVM has it, but its SPIR-V back end takes it for OpenCL's fmax.  There equal
    operands differ at most in the sign of a zero: the bits of both together are the
    smaller, those that both have the greater.
    """
    if not e.facts.gpu:
        return e.intrinsic("maximum" if greater else "minimum", a.type, [a, b])
    element = component(a.type)
    assert isinstance(element, Float), a
    bits = like(a.type, Int(element.bits))
    x, y = (e.f.cast("bitcast", each, bits) for each in (a, b))
    both = e.f.binary("and" if greater else "or", x, y)
    merged = e.f.cast("bitcast", both, a.type)
    equal = e.f.compare("fcmp oeq", a, b)
    ordered = e.f.select(equal, merged, number_extreme(e, a, b, greater))
    nan = e.f.binary("fadd", a, b)
    return e.f.select(e.f.compare("fcmp uno", a, b), nan, ordered)


def _float_extreme(
    make: Callable[[Emission, Value, Value, bool], Value], greater: bool
) -> Callable[[Emission, arith.FloatingPointLikeBinaryOperation], None]:
    def handler(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
        def extreme(a: Value, b: Value) -> Value:
            return make(e, a, b, greater)

        each_float(e, op.result, (op.lhs, op.rhs), extreme)

    return handler


handlers.add(arith.MaxnumfOp, _float_extreme(number_extreme, greater=True))
handlers.add(arith.MinnumfOp, _float_extreme(number_extreme, greater=False))
handlers.add(arith.MaximumfOp, _float_extreme(strict_extreme, greater=True))
handlers.add(arith.MinimumfOp, _float_extreme(strict_extreme, greater=False))


# `arith` conversions: between widths, between integers and floats, of bits.


@handlers.on(
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.IndexCastOp,
)
def resize(e: Emission, op: Operation) -> None:
    """An integer or an index in another width."""
    x, to = e.value(op.operands[0]), e.type(op.results[0].type)
    found, wanted = component(x.type), component(to)
    assert isinstance(found, Int), op
    assert isinstance(wanted, Int), op
    unsigned = isinstance(op, arith.ExtUIOp)
    extend = "zext" if unsigned else "sext"
    opcode = "trunc" if wanted.bits < found.bits else extend
    e.set(op.results[0], e.f.cast(opcode, x, to))


@handlers.on(arith.SIToFPOp, arith.UIToFPOp)
def integer_to_float(e: Emission, op: arith.SIToFPOp | arith.UIToFPOp) -> None:
    """An integer as a float, rounded to nearest even."""
    opcode = "sitofp" if isinstance(op, arith.SIToFPOp) else "uitofp"
    x, target = e.value(op.input), op.result.type
    if not is_bf16(target):
        e.set(op.result, e.f.cast(opcode, x, e.type(target)))
        return
    element = component(x.type)
    assert isinstance(element, Int), op
    if element.bits > 32:
        # Rounded to f64 and then to bf16, it could be the wrong neighbour.
        raise Refusal(
            f"expected an integer of at most 32 bits as bf16, got {op.input.type}"
        )
    if element.bits == 32:
        number = to_odd(e, e.f.cast(opcode, x, like(x.type, DOUBLE)))
    else:
        number = e.f.cast(opcode, x, like(x.type, FLOAT))
    e.set(op.result, narrowed(e, number))


@handlers.on(arith.FPToSIOp, arith.FPToUIOp)
def float_to_integer(e: Emission, op: arith.FPToSIOp | arith.FPToUIOp) -> None:
    """A float as an integer, rounded towards zero."""
    opcode = "fptosi" if isinstance(op, arith.FPToSIOp) else "fptoui"
    x = e.value(op.input)
    if is_bf16(op.input.type):
        x = widened(e, x)
    e.set(op.result, e.f.cast(opcode, x, e.type(op.result.type)))


@handlers.on(arith.ExtFOp, arith.TruncFOp)
def resize_float(e: Emission, op: arith.ExtFOp | arith.TruncFOp) -> None:
    """A float in another width."""
    source, target = op.input.type, op.result.type
    e.set(op.result, resized(e, e.value(op.input), source, target))


@handlers.on(arith.BitcastOp)
def bitcast(e: Emission, op: arith.BitcastOp) -> None:
    """The same bits as another type of the same width."""
    same_bits(e, op)


def same_bits(e: Emission, op: Operation) -> None:
    """Take the bits of the operand; an i1 has none in memory.

    Raises:
        Refusal: of an i1, or in another number of bits.
    """
    source, result = op.operands[0], op.results[0]
    i1 = IntegerType(1)
    if source.type != result.type and i1 in map(element_of, (source.type, result.type)):
        raise Refusal("expected a type with a place in memory, got i1")
    bits, wanted = map(_bits, (e.type(source.type), e.type(result.type)))
    if bits != wanted:
        raise Refusal(
            f"expected types of one width, got {source.type} of {bits} bits and "
            f"{result.type} of {wanted}"
        )
    e.set(result, e.f.cast("bitcast", e.value(source), e.type(result.type)))


def _bits(type: Type) -> int:
    """Width of a number or a vector, in bits."""
    element = component(type)
    assert isinstance(element, Int | Float), type
    return element.bits * width(type)


# Floats: bf16 is computed in f32, and what the IR allows to be relaxed is said.
#
# An operation on bf16 extends its operands to f32, computes there, and rounds: exactly
# the bf16 operation for +, -, *, / and sqrt, since f32 has more than twice the bits and
# two.  LLVM's own bfloat arithmetic does the same through library calls, which need not
# be there, so on x86-64 the bits are moved here; Intel GPUs have instructions, as
# builtins.
#
# A number of more bits than f32 is first rounded to odd: what is cut off is remembered
# in
# the last bit, so that rounding once more gives the nearest.

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


def is_bf16(type: Attribute) -> bool:
    """Whether a number or the components of a vector are bf16."""
    return isinstance(element_of(type), BFloat16Type)


def widened(e: Emission, x: Value) -> Value:
    """A bf16 as f32, exactly."""
    to = like(x.type, FLOAT)
    if e.facts.gpu:
        name = builtin("__spirv_ConvertBF16ToFINTEL", (x.type,))
        return e.call(name, to, [x], attributes=PURE)
    word = like(x.type, I32)
    bits = e.f.cast("zext", e.f.cast("bitcast", x, like(x.type, I16)), word)
    shifted = e.f.binary("shl", bits, integer(word, 16))
    return e.f.cast("bitcast", shifted, to)


def narrowed(e: Emission, x: Value) -> Value:
    """An f32 as bf16, to nearest even; a NaN stays one."""
    if e.facts.gpu:
        name = builtin("__spirv_ConvertFToBF16INTEL", (x.type,))
        return e.call(name, like(x.type, I16), [x], attributes=PURE)
    word = like(x.type, I32)
    bits = e.f.cast("bitcast", x, word)
    high = e.f.binary("lshr", bits, integer(word, 16))
    odd = e.f.binary("and", high, integer(word, 1))
    up = e.f.binary("add", odd, integer(word, 0x7FFF))
    sum = e.f.binary("add", bits, up)
    rounded = e.f.binary("lshr", sum, integer(word, 16))
    quiet = e.f.binary("or", high, integer(word, 0x40))
    nan = e.f.compare("fcmp uno", x, x)
    short = e.f.cast("trunc", e.f.select(nan, quiet, rounded), like(x.type, I16))
    return e.f.cast("bitcast", short, like(x.type, e.types.number(BFloat16Type())))


def to_odd(e: Emission, x: Value) -> Value:
    """An f64 as f32, rounded to odd."""
    single, word = like(x.type, FLOAT), like(x.type, I32)
    near = e.f.cast("fptrunc", x, single)
    back = e.f.cast("fpext", near, x.type)
    size, wanted = (e.intrinsic("fabs", x.type, [each]) for each in (back, x))
    bits = e.f.cast("bitcast", near, word)
    less = e.f.binary("sub", bits, integer(word, 1))
    cut = e.f.select(e.f.compare("fcmp ogt", size, wanted), less, bits)
    odd = e.f.binary("or", cut, integer(word, 1))
    inexact = e.f.compare("fcmp one", back, x)
    return e.f.cast("bitcast", e.f.select(inexact, odd, bits), single)


def resized(e: Emission, x: Value, source: Attribute, target: Attribute) -> Value:
    """A float in another width, rounded once, to nearest even."""
    if is_bf16(source):
        x = widened(e, x)
    shape = x.type
    if shape == like(shape, DOUBLE) and (is_bf16(target) or _is_half(e, target)):
        x = to_odd(e, x)
    if is_bf16(target):
        return narrowed(e, _changed(e, x, like(shape, FLOAT)))
    return _changed(e, x, like(shape, e.types.number(element_of(target))))


def _is_half(e: Emission, target: Attribute) -> bool:
    """Whether it is f16 where only a library converts f64 to it."""
    return not e.facts.gpu and e.types.number(element_of(target)) == HALF


def _changed(e: Emission, x: Value, to: Type) -> Value:
    bits = {like(to, HALF): 16, like(to, FLOAT): 32, like(to, DOUBLE): 64}
    opcode = "fpext" if bits[x.type] < bits[to] else "fptrunc"
    return e.f.cast(opcode, x, to)


def each_float(
    e: Emission,
    result: SSAValue,
    operands: Sequence[SSAValue],
    make: Callable[..., Value],
) -> None:
    """Set a float result to `make` of its operands; bf16 through f32."""
    values = [e.value(operand) for operand in operands]
    if is_bf16(result.type):
        found = narrowed(e, make(*(widened(e, value) for value in values)))
    else:
        found = make(*values)
    e.set(result, found)


# `ub`: a value of which nothing is known.


@handlers.on(ub.PoisonOp)
def poison(e: Emission, op: ub.PoisonOp) -> None:
    """LLVM's poison."""
    e.set(op.result, any_value(e.type(op.result.type)))
