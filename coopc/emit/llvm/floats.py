"""Floats: bf16 is computed in f32, and what the IR allows to be relaxed is said.

An operation on bf16 extends its operands to f32, computes there, and rounds: exactly
the bf16 operation for +, -, *, / and sqrt, since f32 has more than twice the bits and
two.  LLVM's own bfloat arithmetic does the same through library calls, which need not
be there, so on x86-64 the bits are moved here; Intel GPUs have instructions, as
builtins.

A number of more bits than f32 is first rounded to odd: what is cut off is remembered in
the last bit, so that rounding once more gives the nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue

from coopc.emit.elements import element_of
from coopc.emit.llvm.emission import PURE, Emission
from coopc.emit.llvm.mangling import builtin
from coopc.llvm.types import DOUBLE, FLOAT, HALF, I16, I32, Type, like
from coopc.llvm.values import Value, integer

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
