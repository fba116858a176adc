"""Simulation of `arith`, `math` and `affine`; functions of numbers for all dialects.

Integers wrap around, floats round to their type (`coopc.sim.numerics`).  Division by
zero, and of the least integer by -1, is undefined and an error.  So is what gives
poison in MLIR, once something depends on it (`coopc.sim.undefined`): shifts by too
much, conversions to integers that do not fit, overflow where there is said to be none.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import affine, arith, math, ub, vector
from xdsl.dialects.arith import IntegerOverflowFlag as OverflowFlag
from xdsl.dialects.arith import (
    SignlessIntegerBinaryOperationWithOverflow as CanOverflow,
)
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineMap

from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.math_forms import (
    ClampFOp,
    ClassifyOp,
    IsFiniteOp,
    IsInfOp,
    IsNaNOp,
    IsNormalOp,
    Math,
)
from coopc.dialects.shaped_arith import IndexCastUIOp, RemfOp, element_of
from coopc.ir.facts import elements_of_resource
from coopc.rounding import FORMATS
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import implements
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef
from coopc.sim.numerics import FLOAT_FUNCTIONS
from coopc.sim.values import (
    AXES,
    INDEX_BITS,
    Array,
    as_integers,
    bits_of,
    bounds,
    is_float,
    number,
    shape_of,
    signed,
    unsigned,
    wrapped,
)

Refuse: TypeAlias = Callable[[Array, str], None]
"""What is done about something wrong: `Machine.refuse`, or `Machine.poison`."""


def function_of(kind: str) -> tuple[str, bool]:
    """Return the function of a kind of MLIR's, and whether its integers are signed.

    >>> [function_of(kind) for kind in ("addf", "minui", "maxs", "xori", "assign")]
    [('add', True), ('min', False), ('max', True), ('xor', True), ('assign', True)]
    """
    found = re.fullmatch("(.+?)([su]?i|f|s|u)?", kind)
    assert found is not None, kind
    return found[1], found[2] not in ("u", "ui")


_ARITH = {op: op.name.removeprefix("arith.") for op in arith.Arith.operations}

INTEGERS: dict[type[Operation], tuple[str, bool]] = {
    math.AbsIOp: ("abs", True),
    math.CtPopOp: ("ctpop", False),
    **{
        op: function_of(name)
        for op, name in _ARITH.items()
        if issubclass(op, arith.SignlessIntegerBinaryOperation)
    },
}
"""Keys of `INTEGER_FUNCTIONS`, and whether the integers are signed."""

FLOATS: dict[type[Operation], str] = {
    RemfOp: "rem",
    math.AbsFOp: "abs",
    vector.FMAOp: "fma",
    **{
        op: function_of(name)[0]
        for op, name in _ARITH.items()
        if issubclass(op, arith.FloatingPointLikeBinaryOperation | arith.NegfOp)
    },
    **{
        op: name
        for op in Math.operations
        if (name := op.name.removeprefix("math.")) in FLOAT_FUNCTIONS
    },
}
"""Keys of `FLOAT_FUNCTIONS`."""


def element_type(value: SSAValue) -> Attribute:
    """Return the type of a number, or of the elements of a vector."""
    return element_of(value.type)


# Functions of integers: arrays of one dtype, which have the sign that they count by.


def divide(x: Array, y: Array) -> Array:
    """Return x / y rounded towards zero; y is not 0."""
    return (x - np.fmod(x, y)) // y


def ceil_divide(x: Array, y: Array) -> Array:
    """Return x / y rounded up; y is not 0."""
    quotient = x // y
    return quotient + (quotient * y != x).astype(x.dtype)


def high_product(x: Array, y: Array, bits: int) -> Array:
    """Return the bits of x * y above the low ones, as signed integers."""
    product: Array = np.multiply(x.astype(object), y.astype(object))
    high = np.right_shift(product, bits) & ((1 << 64) - 1)
    return high.astype(np.uint64).view(np.int64)


def power(x: Array, y: Array) -> Array:
    """Return x^y of signed integers; x^-n is 1 / x^n rounded towards zero."""
    one, zero = x.dtype.type(1), x.dtype.type(0)
    unit = np.where(np.abs(x) == 1, np.where(y & 1, x, one), zero)
    return np.where(y < 0, unit, np.power(x, np.maximum(y, 0)))


def count_ones(x: Array) -> Array:
    """Return how many bits of unsigned integers are 1."""
    return np.bitwise_count(x).astype(x.dtype)


def saturating_add(x: Array, y: Array, type: Attribute, is_signed: bool) -> Array:
    """Return x + y of the integers of a type, kept within its bounds."""
    low, high = bounds(type, is_signed)
    wide = np.dtype(object) if bits_of(type) > INDEX_BITS // 2 else np.dtype(np.int64)
    x, y = (as_integers(z, type, is_signed) for z in (x, y))
    total: Array = np.clip(x.astype(wide) + y.astype(wide), low, high)
    return wrapped(total.astype(x.dtype), type)


INTEGER_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "abs": np.abs,
    "add": np.add,
    "and": np.bitwise_and,
    "ceildiv": ceil_divide,
    "ctpop": count_ones,
    "div": divide,
    "floordiv": np.floor_divide,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "neg": np.negative,
    "not": np.invert,
    "or": np.bitwise_or,
    "rem": np.fmod,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "sub": np.subtract,
    "xor": np.bitwise_xor,
}
DIVISIONS = ("ceildiv", "div", "floordiv", "rem")
SHIFTS = ("shl", "shr")
EXACT: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "shl": lambda x, y: x * 2**y,
}
"""What may overflow, on numbers of any kind."""
OF_NUMBERS = {"min": "minnum", "max": "maxnum"}
"""What these are of floats: of a number and a NaN, the number."""


def call(
    machine: Machine, name: str, type: Attribute, *args: Array, is_signed: bool = True
) -> Array:
    """Return a function of numbers of a type, which is that of the result too.

    Of floats a name may be of `FLOAT_FUNCTIONS`; "assign" gives the second operand.

    Raises:
        UndefinedBehaviour: somebody divides by 0, or the least signed integer by -1.
    """
    if name == "assign":
        return args[1]
    if is_float(type):
        return machine.numerics.call(OF_NUMBERS.get(name, name), type, *args)
    operands = [as_integers(arg, type, is_signed) for arg in args]
    if name in DIVISIONS:
        x, y = operands
        zero = y == 0
        machine.refuse(zero, "division by zero")
        if x.dtype.kind == "i":
            least, _ = bounds(type, is_signed)
            wrong = (y == -1) & (x == least)
            reason = f"overflow: {least}, the least {type}, divided by -1"
            machine.refuse(wrong, reason)
        # Where nobody divides who is active.
        operands[1] = np.where(zero, y.dtype.type(1), y)
    return wrapped(INTEGER_FUNCTIONS[name](*operands), type)


def reduce_axis(
    machine: Machine,
    name: str,
    type: Attribute,
    value: Array,
    axis: int,
    *start: Array,
    is_signed: bool,
) -> Array:
    """Return the reduction of numbers along an axis, which gets size 1.

    They are reduced one after the other, from `start` on, each step rounded.
    """
    combine = partial(call, machine, name, type, is_signed=is_signed)
    return reduce(combine, (*start, *np.split(value, value.shape[axis], axis)))


def check_shift(refuse: Refuse, y: Array, type: Attribute) -> None:
    """Refuse to shift integers of a type by as many bits as there are, or more."""
    bits, amount = bits_of(type), unsigned(y, type)
    if (wrong := amount >= bits).any():
        refuse(wrong, f"shift of {type} by {amount[wrong].flat[0]} bits")


def outside(exact: Array, type: Attribute, is_signed: bool) -> Array:
    """Return which whole numbers, of any size, do not fit a type; NaN does not."""
    low, high = bounds(type, is_signed)
    return np.asarray(~np.asarray((exact >= low) & (exact < high + 1), np.bool_))


def check_overflow(
    refuse: Refuse,
    compute: Callable[[Any, Any], Any],
    args: Sequence[Array],
    type: Attribute,
    flags: Iterable[OverflowFlag],
) -> None:
    """Check that a result fits where an operation says that it does.

    `refuse` is called with who is wrong, and why.
    """
    for flag in flags:
        is_signed = flag is OverflowFlag.NSW
        x, y = (as_integers(arg, type, is_signed) for arg in args)
        rough = compute(x.astype(np.float64), y.astype(np.float64))
        is_inside = is_signed or (rough >= 0).all()
        if is_inside and (np.abs(rough) < 2.0 ** (bits_of(type) - 2)).all():
            continue
        exact: Array = np.asarray(compute(x.astype(object), y.astype(object)))
        if (wrong := outside(exact, type, is_signed)).any():
            found = exact[wrong].flat[0]
            refuse(wrong, f"overflow in spite of {flag}: {found} is no {type}")


def convert_number(
    machine: Machine,
    value: Array,
    source: Attribute,
    result: Attribute,
    is_signed: bool = True,
    refuse: Refuse | None = None,
) -> Array:
    """Return numbers of any type as numbers of any other.

    `refuse` is called where a float does not fit, by default `machine.refuse`.

    Raises:
        UndefinedBehaviour: somebody converts a float to an integer that does not fit.
    """
    numerics = machine.numerics
    if source == result:
        return value
    if is_float(source):
        if is_float(result):
            return numerics.convert(value, source, result)
        plain = numerics.plain(value, source)
        whole = np.trunc(plain.astype(np.float64))
        if (wrong := outside(whole, result, is_signed)).any():
            sign = "a signed" if is_signed else "an unsigned"
            found = plain[wrong].flat[0]
            reason = f"conversion of {found} to {sign} {result}"
            (refuse or machine.refuse)(wrong, reason)
        return numerics.to_integers(value, source, result, is_signed)
    plain = as_integers(value, source, is_signed)
    if is_float(result):
        return numerics.of_integers(plain, result)
    return wrapped(plain, result)


# The operations.


@implements(*FLOATS)
def floats(machine: Machine, op: Operation, *args: Array) -> Array:
    return machine.numerics.call(
        FLOATS[op.__class__], element_type(op.results[0]), *args
    )


@implements(*INTEGERS)
def integers(machine: Machine, op: Operation, *args: Array) -> Array:
    """Compute; shifts by too much, and overflow that is ruled out, are poison."""
    type, (name, is_signed) = element_type(op.results[0]), INTEGERS[op.__class__]
    exact = args
    if name in SHIFTS:
        check_shift(machine.poison, args[1], type)
        inside = unsigned(args[1], type) < bits_of(type)
        exact = args[0], np.where(inside, args[1], np.zeros_like(args[1]))
    if isinstance(op, CanOverflow) and (flags := op.overflow_flags.data):
        check_overflow(machine.poison, EXACT[name], exact, type, flags)
    return call(machine, name, type, *args, is_signed=is_signed)


UNSIGNED_CASTS = (arith.ExtUIOp, arith.UIToFPOp, arith.FPToUIOp, IndexCastUIOp)


@implements(
    *UNSIGNED_CASTS,
    arith.ExtFOp,
    arith.ExtSIOp,
    arith.FPToSIOp,
    arith.IndexCastOp,
    arith.SIToFPOp,
    arith.TruncFOp,
    arith.TruncIOp,
)
def cast(machine: Machine, op: Operation, value: Array) -> Array:
    """Give the same number in another type; a float that does not fit is poison."""
    types = element_type(op.operands[0]), element_type(op.results[0])
    is_signed = not isinstance(op, UNSIGNED_CASTS)
    return convert_number(machine, value, *types, is_signed, machine.poison)


@implements(arith.BitcastOp)
def bitcast(machine: Machine, op: Operation, value: Array) -> Array:
    types = element_type(op.operands[0]), element_type(op.results[0])
    return machine.numerics.bitcast(value, *types)


def from_resource(value: DenseResourceAttr) -> DenseIntOrFPElementsAttr:
    """Return the elements of a constant.

    Raises:
        SimulationError: the module does not have them.
    """
    try:
        return elements_of_resource(value)
    except ValueError as error:
        raise SimulationError(str(error)) from error


@implements(arith.ConstantOp)
def constant(machine: Machine, op: arith.ConstantOp) -> Array:
    """Give the value of the attribute, made the first time.

    Raises:
        SimulationError: for other attributes than numbers and elements.
    """
    if (known := machine.environment.get(op.result)) is not None:
        return known
    shape, value = shape_of(op.result.type), op.value
    if isinstance(value, DenseResourceAttr):
        value = from_resource(value)
    match value:
        case IntegerAttr() | FloatAttr():
            values: Any = value.value.data
        case DenseIntOrFPElementsAttr():
            values = list(value.get_values())
            if len(values) == 1:
                values = values * int(np.prod(shape, dtype=np.int64))
        case _:
            raise SimulationError(f"no values for constants like {op.value}")
    found = machine.numerics.constant(values, element_type(op.result))
    return found.reshape((1,) * AXES + shape)


@implements(arith.AddUIExtendedOp)
def addui_extended(
    machine: Machine, op: arith.AddUIExtendedOp, *args: Array
) -> tuple[Array, Array]:
    """Add, and say whether the sum wrapped around."""
    type = element_type(op.sum)
    x, y = (unsigned(arg, type) for arg in args)
    total = wrapped(x + y, type)
    return total, unsigned(total, type) < x


@implements(arith.MulSIExtendedOp, arith.MulUIExtendedOp)
def mul_extended(machine: Machine, op: Operation, *args: Array) -> tuple[Array, Array]:
    type, is_signed = element_type(op.results[0]), isinstance(op, arith.MulSIExtendedOp)
    x, y = (as_integers(arg, type, is_signed) for arg in args)
    return wrapped(x * y, type), wrapped(high_product(x, y, bits_of(type)), type)


COMPARISONS: Mapping[str, np.ufunc] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""By predicate, without what it says of signs or of NaN."""


@implements(arith.CmpiOp)
def cmpi(machine: Machine, op: arith.CmpiOp, *args: Array) -> Array:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    type, is_signed = element_type(op.lhs), not predicate.startswith("u")
    operands = (as_integers(arg, type, is_signed) for arg in args)
    return COMPARISONS[predicate.lstrip("su")](*operands)


@implements(arith.CmpfOp)
def cmpf(machine: Machine, op: arith.CmpfOp, *args: Array) -> Array:
    x, y = machine.numerics.compared(args[0], args[1], element_type(op.lhs))
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if (compare := COMPARISONS.get(predicate[1:])) is not None:
        holds = compare(x, y)
    else:
        holds = predicate in ("ord", "true")
    if_nan = predicate.startswith("u") or predicate == "true"
    return np.where(np.isnan(x) | np.isnan(y), if_nan, holds)


@implements(arith.SelectOp)
def select(
    machine: Machine,
    op: arith.SelectOp,
    condition: Array,
    x: Array | MemRef,
    y: Array | MemRef,
) -> Any:
    # In the region of a `tt.reduce` elements are the tensors that they are of.
    is_tensor = shape_of(op.cond.type) or condition.ndim > AXES
    if is_tensor and not isinstance(x, MemRef) and not isinstance(y, MemRef):
        return np.where(condition, x, y)
    return machine.merge(op.result.type, condition, x, y)


@implements(IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp)
def classify(machine: Machine, op: ClassifyOp, value: Array) -> Array:
    type = element_type(op.operand)
    x = machine.numerics.plain(value, type)
    least = 2.0 ** FORMATS[type.name].min_exponent
    match op:
        case IsInfOp():
            return np.isinf(x)
        case IsNaNOp():
            return np.isnan(x)
        case IsNormalOp():
            return np.isfinite(x) & (np.abs(x) >= least)
        case _:
            return np.isfinite(x)


@implements(ClampFOp)
def clamp(machine: Machine, op: ClampFOp, x: Array, low: Array, high: Array) -> Array:
    call, type = machine.numerics.call, element_type(op.result)
    return call("minimum", type, call("maximum", type, x, low), high)


@implements(math.IPowIOp)
def ipowi(machine: Machine, op: math.IPowIOp, *args: Array) -> Array:
    base, exponent = (signed(arg) for arg in args)
    machine.refuse(
        (base == 0) & (exponent < 0), "0 cannot be raised to a negative power"
    )
    return wrapped(power(base, exponent), element_type(op.result))


@implements(math.FPowIOp)
def fpowi(machine: Machine, op: math.FPowIOp, base: Array, exponent: Array) -> Array:
    numerics, type = machine.numerics, element_type(op.result)
    floats = numerics.of_integers(signed(exponent), type)
    return numerics.call("powf", type, base, floats)


@implements(math.CountLeadingZerosOp, math.CountTrailingZerosOp)
def count_zeros(machine: Machine, op: Operation, value: Array) -> Array:
    """Count the zeros above the highest 1, or below the lowest 1."""
    type = element_type(op.results[0])
    x = unsigned(value, type)
    bits = x.dtype.type(bits_of(type))
    if isinstance(op, math.CountTrailingZerosOp):
        return wrapped(np.minimum(count_ones(~x & (x - x.dtype.type(1))), bits), type)
    for step in (1, 2, 4, 8, 16, 32):
        if step < 8 * x.dtype.itemsize:
            x = x | (x >> x.dtype.type(step))
    return wrapped(bits - count_ones(x), type)


@implements(ub.PoisonOp)
def poison(machine: Machine, op: ub.PoisonOp) -> Array:
    type = op.result.type
    if isinstance(type, MatrixType):
        element, shape = type.element_type, machine.matrices.shape(type)
    else:
        element, shape = element_type(op.result), shape_of(type)
    value = machine.numerics.poison(element)
    return np.broadcast_to(value, (1,) * AXES + shape)


# Maps of indices.


@implements(affine.ApplyOp)
def apply_map(machine: Machine, op: affine.ApplyOp, *args: Array) -> Array:
    (found,) = evaluate(op.map.data, args)
    return found


@implements(affine.MinOp)
def least(machine: Machine, op: affine.MinOp, *args: Array) -> Array:
    return reduce(np.minimum, evaluate(op.map.data, args))


POSITIVE = (
    AffineBinaryOpKind.FloorDiv,
    AffineBinaryOpKind.CeilDiv,
    AffineBinaryOpKind.Mod,
)


def evaluate(map: AffineMap, args: Sequence[Array]) -> list[Array]:
    """Return the results of a map of dimensions, then symbols.

    Raises:
        UndefinedBehaviour: a divisor is not positive.
    """
    # What xDSL does with integers, it does with arrays of them.
    numbers: Sequence[Any] = args
    places = numbers[: map.num_dims], numbers[map.num_dims :]
    for expr in (each for result in map.results for each in result.dfs()):
        if isinstance(expr, AffineBinaryOpExpr) and expr.kind in POSITIVE:
            least = np.min(expr.rhs.eval(*places))
            if least <= 0:
                raise UndefinedBehaviour(f"expected a positive divisor, got {least}")
    found = map.eval(*places)
    return [x if isinstance(x, np.ndarray) else number(x) for x in found]
