"""Simulation of `arith`: integers wrap around, floats round to their type."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, llvm, ub
from xdsl.dialects.arith import IntegerOverflowFlag as OverflowFlag
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.interpreter import (
    Interpreter,
    OpImplResult,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects.llvm_target import AssumeOp
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.machine import Machine
from coopc.sim.numerics import Numerics, fits
from coopc.sim.values import (
    AXES,
    Array,
    as_integers,
    bits_of,
    choose,
    is_float,
    scalar_of,
    shape_of,
    signed,
    unsigned,
    wrapped,
)
from coopc.sim.values import as_integers as by_sign

IntegerFunction: TypeAlias = Callable[[Array, Array], Array]
Refuse: TypeAlias = Callable[[Array, str], None]
"""What is done about something wrong: `Machine.refuse`, or `Machine.poison`."""


def check_division(machine: Machine, x: Array, y: Array, type: Attribute) -> Array:
    """Return a divisor with 1 where nobody divides who is active.

    Raises:
        UndefinedBehaviour: somebody divides by 0, or the least signed integer by -1.
    """
    zero = y == 0
    machine.refuse(zero, "division by zero")
    if x.dtype.kind == "i":
        least = -(1 << (bits_of(type) - 1))
        wrong = (y == -1) & (x == least)
        machine.refuse(wrong, f"overflow: {least}, the least {type}, divided by -1")
    return np.where(zero, y.dtype.type(1), y)


def check_shift(refuse: Refuse, y: Array, type: Attribute) -> None:
    """Refuse to shift integers of a type by as many bits as there are, or more."""
    bits, amount = bits_of(type), unsigned(y, type)
    if (wrong := amount >= bits).any():
        refuse(wrong, f"shift of {type} by {amount[wrong].flat[0]} bits")


def check_overflow(
    refuse: Refuse,
    compute: Callable[[Any, Any], Any],
    args: tuple[Array, Array],
    type: Attribute,
    flags: Sequence[OverflowFlag],
) -> None:
    """Check that a result fits where an operation says that it does.

    Args:
        refuse: called with who is wrong, and why.
        compute: the operation, on numbers of any kind.
        args: its operands.
        type: of them and of the result.
        flags: what the operation says: without signed, or unsigned, overflow.
    """
    bits = bits_of(type)
    for flag in flags:
        is_signed = flag is OverflowFlag.NSW
        x, y = (as_integers(arg, type, is_signed) for arg in args)
        rough = compute(x.astype(np.float64), y.astype(np.float64))
        is_inside = is_signed or (rough >= 0).all()
        if is_inside and (np.abs(rough) < 2.0 ** (bits - 2)).all():
            continue
        exact: Array = np.asarray(compute(x.astype(object), y.astype(object)))
        low = -(1 << (bits - 1)) if is_signed else 0
        wrong = np.asarray((exact < low) | (exact >= low + (1 << bits)), np.bool_)
        if wrong.any():
            found = exact[wrong].flat[0]
            refuse(wrong, f"overflow in spite of {flag}: {found} is no {type}")


def shifted(x: Any, y: Any) -> Any:
    """Return x * 2^y of numbers of any kind."""
    return x * 2**y


def divide(x: Array, y: Array) -> Array:
    """Return x / y rounded towards zero; y is not 0."""
    quotient = x // y
    if x.dtype.kind == "u":
        return quotient
    inexact = quotient * y != x
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def floor_divide(x: Array, y: Array) -> Array:
    """Return x / y rounded down; y is not 0."""
    return x // y


def ceil_divide(x: Array, y: Array) -> Array:
    """Return x / y rounded up; y is not 0."""
    quotient = x // y
    return quotient + (quotient * y != x).astype(x.dtype)


def remainder(x: Array, y: Array) -> Array:
    """Return what is left of x / y, with the sign of x; y is not 0."""
    return np.fmod(x, y)


def shift_left(x: Array, y: Array) -> Array:
    """Return x * 2^y of unsigned integers."""
    return x << y


def shift_right(x: Array, y: Array) -> Array:
    """Return x / 2^y rounded down, by the sign of x; y counts as unsigned."""
    amount = y.view(np.dtype(f"u{y.dtype.itemsize}"))
    if x.dtype.kind == "u":
        return x >> amount
    most = amount.dtype.type(8 * x.dtype.itemsize - 1)
    return x >> np.minimum(amount, most).astype(x.dtype)


def high_product(x: Array, y: Array, bits: int) -> Array:
    """Return the bits of x * y above the low ones, as signed integers."""
    product: Array = np.multiply(x.astype(object), y.astype(object))
    high = np.right_shift(product, bits) & ((1 << 64) - 1)
    return high.astype(np.uint64).view(np.int64)


def power(x: Array, y: Array) -> Array:
    """Return x^y of signed integers; x^-n is 1 / x^n rounded towards zero."""
    one = x.dtype.type(1)
    base, exponent = x.copy(), np.maximum(y, 0)
    found = np.ones_like(np.broadcast_arrays(x, y)[0])
    while exponent.any():
        found = np.where(exponent & 1, found * base, found)
        base, exponent = base * base, exponent >> one
    unit = np.where(np.abs(x) == 1, np.where(y & 1, x, one), x.dtype.type(0))
    return np.where(y < 0, unit, found)


def count_ones(x: Array) -> Array:
    """Return how many bits of unsigned integers are 1."""
    return np.bitwise_count(x).astype(x.dtype)


def count_leading_zeros(x: Array, bits: int) -> Array:
    """Return how many of the `bits` of unsigned integers are 0 above the highest 1."""
    spread = x.copy()
    for step in (1, 2, 4, 8, 16, 32):
        if step < 8 * x.dtype.itemsize:
            spread |= spread >> x.dtype.type(step)
    return x.dtype.type(bits) - count_ones(spread)


def count_trailing_zeros(x: Array, bits: int) -> Array:
    """Return how many of the `bits` of unsigned integers are 0 below the lowest 1."""
    below = (x & (~x + x.dtype.type(1))) - x.dtype.type(1)
    return np.where(x == 0, x.dtype.type(bits), count_ones(below))


def saturating_add(x: Array, y: Array, low: int, high: int) -> Array:
    """Return x + y, kept within bounds, of integers of one dtype that are within them.

    Args:
        x: integers in [low, high].
        y: the same.
        low: least value of the type, of which the arrays are or are wider.
        high: greatest value.
    """
    dtype = x.dtype.type
    total = x + y
    if x.dtype.kind == "u":
        return np.where((total < x) | (total > high), dtype(high), total)
    wrong: Array = ((x ^ total) & (y ^ total)) < 0
    limit = np.where(x < 0, np.full_like(x, low), np.full_like(x, high))
    total = np.where(wrong, limit, total)
    return np.clip(total, dtype(low), dtype(high))


# Simulation of `arith`: integers wrap around, floats round to their type.
#
# Division by zero, and of the least integer by -1, is undefined and an error.  So is
# what
# gives poison in MLIR, once something depends on it (`coopc.sim.undefined`): shifts by
# too
# much, conversions to integers that do not fit, overflow where there is said to be
# none.

Run: TypeAlias = Callable[[Any, Interpreter, Any, PythonValues], OpImplResult]
Check: TypeAlias = Callable[[Machine, Any, PythonValues], None]
"""Of the operands of an operation."""

COMPARISONS: tuple[tuple[np.ufunc, bool], ...] = (
    (np.equal, True),
    (np.not_equal, True),
    (np.less, True),
    (np.less_equal, True),
    (np.greater, True),
    (np.greater_equal, True),
    (np.less, False),
    (np.less_equal, False),
    (np.greater, False),
    (np.greater_equal, False),
)
"""By predicate of `arith.cmpi`: the comparison, and whether it is signed."""

FLOAT_COMPARISONS: tuple[tuple[np.ufunc | None, bool], ...] = (
    (None, False),
    (np.equal, False),
    (np.greater, False),
    (np.greater_equal, False),
    (np.less, False),
    (np.less_equal, False),
    (np.not_equal, False),
    (None, False),
    (np.equal, True),
    (np.greater, True),
    (np.greater_equal, True),
    (np.less, True),
    (np.less_equal, True),
    (np.not_equal, True),
    (None, True),
    (None, True),
)
"""By predicate of `arith.cmpf`: the comparison, and the result where one is NaN."""

ORDERED, ALWAYS = 7, 15


def constant(numerics: Numerics, attribute: Attribute, type: Attribute) -> Array:
    """Return the value that an attribute gives to a number or a vector.

    Raises:
        SimulationError: for other attributes.
    """
    element = scalar_of(type)
    match attribute:
        case IntegerAttr() | FloatAttr():
            values: Any = attribute.value.data
        case DenseIntOrFPElementsAttr():
            values = list(attribute.get_values())
            if len(values) == 1:
                values = values * int(np.prod(shape_of(type), dtype=np.int64))
        case _:
            raise SimulationError(f"no values for constants like {attribute}")
    found = numerics.constant(values, element)
    return found.reshape((1,) * AXES + shape_of(type))


def element_type(value: SSAValue) -> Attribute:
    """Return the type of a number, or of the elements of a vector."""
    return scalar_of(value.type)


def integer_function(
    op_type: type[Operation],
    compute: IntegerFunction,
    is_signed: bool = True,
    check: Check | None = None,
) -> Run:
    """Return the simulation of an operation on two integers."""

    @impl(op_type)
    def run(
        self: SimulatorFunctions, _: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        type = element_type(op.results[0])
        if check is not None:
            check(self.machine, op, args)
        x, y = (by_sign(arg, type, is_signed) for arg in args)
        return (wrapped(compute(x, y), type),)

    return run


def overflow(compute: Callable[[Any, Any], Any]) -> Check:
    """Return the check of what an operation says of its overflow."""

    def check(machine: Machine, op: Any, args: PythonValues) -> None:
        if flags := op.overflow_flags.data:
            type = element_type(op.result)
            both = args[0], args[1]
            check_overflow(machine.poison, compute, both, type, flags)

    return check


def shift(machine: Machine, op: Any, args: PythonValues) -> None:
    """Check the number of bits."""
    check_shift(machine.poison, args[1], element_type(op.result))


def left_shift(machine: Machine, op: Any, args: PythonValues) -> None:
    """Check the number of bits, and the overflow."""
    shift(machine, op, args)
    amount: Array = args[1]
    inside = unsigned(amount, type := element_type(op.result)) < bits_of(type)
    amount = np.where(inside, amount, np.zeros_like(amount))
    overflow(shifted)(machine, op, (args[0], amount))


def division(
    op_type: type[Operation], compute: IntegerFunction, is_signed: bool
) -> Run:
    """Return the simulation of a division or a remainder."""

    @impl(op_type)
    def run(
        self: SimulatorFunctions, _: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        type = element_type(op.results[0])
        x, y = (by_sign(arg, type, is_signed) for arg in args)
        y = check_division(self.machine, x, y, type)
        return (wrapped(compute(x, y), type),)

    return run


def float_function(op_type: type[Operation], name: str) -> Run:
    """Return the simulation of an operation on floats of one type."""

    @impl(op_type)
    def run(
        self: SimulatorFunctions, _: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        type = element_type(op.results[0])
        return (self.machine.numerics.call(name, type, *args),)

    return run


@register_impls
@dataclass
class ArithFunctions(SimulatorFunctions):
    """Numbers and vectors of them."""

    constants: dict[Operation, Array] = field(default_factory=dict[Operation, Array])

    addi = integer_function(arith.AddiOp, np.add, check=overflow(operator.add))
    subi = integer_function(arith.SubiOp, np.subtract, check=overflow(operator.sub))
    muli = integer_function(arith.MuliOp, np.multiply, check=overflow(operator.mul))
    minsi = integer_function(arith.MinSIOp, np.minimum)
    maxsi = integer_function(arith.MaxSIOp, np.maximum)
    minui = integer_function(arith.MinUIOp, np.minimum, is_signed=False)
    maxui = integer_function(arith.MaxUIOp, np.maximum, is_signed=False)
    andi = integer_function(arith.AndIOp, np.bitwise_and)
    ori = integer_function(arith.OrIOp, np.bitwise_or)
    xori = integer_function(arith.XOrIOp, np.bitwise_xor)
    shli = integer_function(arith.ShLIOp, shift_left, False, left_shift)
    shrui = integer_function(arith.ShRUIOp, shift_right, False, shift)
    shrsi = integer_function(arith.ShRSIOp, shift_right, True, shift)

    divui = division(arith.DivUIOp, divide, is_signed=False)
    divsi = division(arith.DivSIOp, divide, is_signed=True)
    floordivsi = division(arith.FloorDivSIOp, floor_divide, is_signed=True)
    ceildivsi = division(arith.CeilDivSIOp, ceil_divide, is_signed=True)
    ceildivui = division(arith.CeilDivUIOp, ceil_divide, is_signed=False)
    remui = division(arith.RemUIOp, remainder, is_signed=False)
    remsi = division(arith.RemSIOp, remainder, is_signed=True)

    addf = float_function(arith.AddfOp, "add")
    subf = float_function(arith.SubfOp, "sub")
    mulf = float_function(arith.MulfOp, "mul")
    divf = float_function(arith.DivfOp, "div")
    negf = float_function(arith.NegfOp, "neg")
    minimumf = float_function(arith.MinimumfOp, "minimum")
    maximumf = float_function(arith.MaximumfOp, "maximum")
    minnumf = float_function(arith.MinnumfOp, "minnum")
    maxnumf = float_function(arith.MaxnumfOp, "maxnum")

    @impl(arith.ConstantOp)
    def constant(
        self, interpreter: Interpreter, op: arith.ConstantOp, args: PythonValues
    ) -> PythonValues:
        """Give the value of the attribute."""
        if (found := self.constants.get(op)) is None:
            found = constant(self.machine.numerics, op.value, op.result.type)
            self.constants[op] = found
        return (found,)

    @impl(arith.AddUIExtendedOp)
    def addui_extended(
        self, interpreter: Interpreter, op: arith.AddUIExtendedOp, args: PythonValues
    ) -> PythonValues:
        """Add, and say whether the sum wrapped around."""
        type = element_type(op.sum)
        x, y = (unsigned(arg, type) for arg in args)
        total = wrapped(x + y, type)
        return total, unsigned(total, type) < x

    @impl(arith.MulUIExtendedOp)
    def mului_extended(
        self, interpreter: Interpreter, op: arith.MulUIExtendedOp, args: PythonValues
    ) -> PythonValues:
        """Give the low and the high half of an unsigned product."""
        return _product(element_type(op.lhs), args, is_signed=False)

    @impl(arith.MulSIExtendedOp)
    def mulsi_extended(
        self, interpreter: Interpreter, op: arith.MulSIExtendedOp, args: PythonValues
    ) -> PythonValues:
        """Give the low and the high half of a signed product."""
        return _product(element_type(op.lhs), args, is_signed=True)

    @impl(arith.CmpiOp)
    def cmpi(
        self, interpreter: Interpreter, op: arith.CmpiOp, args: PythonValues
    ) -> PythonValues:
        """Compare integers."""
        compare, is_signed = COMPARISONS[op.predicate.value.data]
        type = element_type(op.lhs)
        x, y = (by_sign(arg, type, is_signed) for arg in args)
        found: Array = compare(x, y)
        return (found,)

    @impl(arith.CmpfOp)
    def cmpf(
        self, interpreter: Interpreter, op: arith.CmpfOp, args: PythonValues
    ) -> PythonValues:
        """Compare floats."""
        type = element_type(op.lhs)
        x, y = self.machine.numerics.compared(args[0], args[1], type)
        predicate = op.predicate.value.data
        compare, if_nan = FLOAT_COMPARISONS[predicate]
        ordered = ~(np.isnan(x) | np.isnan(y))
        if compare is not None:
            return (np.where(ordered, compare(x, y), if_nan),)
        always = np.full_like(ordered, predicate in (ORDERED, ALWAYS))
        return (np.where(ordered, always, if_nan),)

    @impl(arith.SelectOp)
    def select(
        self, interpreter: Interpreter, op: arith.SelectOp, args: PythonValues
    ) -> PythonValues:
        """Choose one of two values."""
        condition, x, y = args
        # In the region of a `tt.reduce` elements are the tensors that they are of.
        if shape_of(op.cond.type) or condition.ndim > AXES:
            return (choose(condition, x, y),)
        return (self.machine.merge(op.result.type, condition, x, y),)

    @impl(arith.BitcastOp)
    def bitcast(
        self, interpreter: Interpreter, op: arith.BitcastOp, args: PythonValues
    ) -> PythonValues:
        """Take the bits as another type."""
        source, result = element_type(op.input), element_type(op.result)
        return (self.machine.numerics.bitcast(args[0], source, result),)

    @impl(arith.IndexCastOp)
    def index_cast(
        self, interpreter: Interpreter, op: arith.IndexCastOp, args: PythonValues
    ) -> PythonValues:
        """Extend by the sign, or wrap around."""
        return (wrapped(signed(args[0]), element_type(op.result)),)

    @impl(arith.TruncIOp)
    def trunci(
        self, interpreter: Interpreter, op: arith.TruncIOp, args: PythonValues
    ) -> PythonValues:
        """Wrap around."""
        return (wrapped(args[0], element_type(op.result)),)

    @impl(arith.ExtSIOp)
    def extsi(
        self, interpreter: Interpreter, op: arith.ExtSIOp, args: PythonValues
    ) -> PythonValues:
        """Extend by the sign."""
        return (wrapped(signed(args[0]), element_type(op.result)),)

    @impl(arith.ExtUIOp)
    def extui(
        self, interpreter: Interpreter, op: arith.ExtUIOp, args: PythonValues
    ) -> PythonValues:
        """Extend by zeros."""
        value = unsigned(args[0], element_type(op.input))
        return (wrapped(value, element_type(op.result)),)

    @impl(arith.ExtFOp)
    def extf(
        self, interpreter: Interpreter, op: arith.ExtFOp, args: PythonValues
    ) -> PythonValues:
        """Give the same number in a wider type."""
        return (self._converted(op.input, op.result, args[0]),)

    @impl(arith.TruncFOp)
    def truncf(
        self, interpreter: Interpreter, op: arith.TruncFOp, args: PythonValues
    ) -> PythonValues:
        """Round to nearest even."""
        return (self._converted(op.input, op.result, args[0]),)

    def _converted(self, source: SSAValue, result: SSAValue, value: Array) -> Array:
        """Return floats of another type."""
        types = element_type(source), element_type(result)
        return self.machine.numerics.convert(value, *types)

    @impl(arith.SIToFPOp)
    def sitofp(
        self, interpreter: Interpreter, op: arith.SIToFPOp, args: PythonValues
    ) -> PythonValues:
        """Round signed integers to floats."""
        numerics = self.machine.numerics
        return (numerics.of_integers(signed(args[0]), element_type(op.result)),)

    @impl(arith.UIToFPOp)
    def uitofp(
        self, interpreter: Interpreter, op: arith.UIToFPOp, args: PythonValues
    ) -> PythonValues:
        """Round unsigned integers to floats."""
        value = unsigned(args[0], element_type(op.input))
        return (self.machine.numerics.of_integers(value, element_type(op.result)),)

    @impl(arith.FPToSIOp)
    def fptosi(
        self, interpreter: Interpreter, op: arith.FPToSIOp, args: PythonValues
    ) -> PythonValues:
        """Round floats towards zero, to signed integers."""
        return (self._to_integers(op, args[0], is_signed=True),)

    @impl(arith.FPToUIOp)
    def fptoui(
        self, interpreter: Interpreter, op: arith.FPToUIOp, args: PythonValues
    ) -> PythonValues:
        """Round floats towards zero, to unsigned integers."""
        return (self._to_integers(op, args[0], is_signed=False),)

    def _to_integers(
        self, op: arith.FPToSIOp | arith.FPToUIOp, value: Array, is_signed: bool
    ) -> Array:
        """Return floats as integers; what does not fit is poison."""
        types = element_type(op.input), element_type(op.result)
        machine = self.machine
        return convert_number(machine, value, *types, is_signed, machine.poison)


def _product(type: Attribute, args: PythonValues, is_signed: bool) -> PythonValues:
    """Return the low and the high half of a product."""
    x, y = (by_sign(arg, type, is_signed) for arg in args)
    high = high_product(x, y, bits_of(type))
    return wrapped(x * y, type), wrapped(high, type)


def convert_number(
    machine: Machine,
    value: Array,
    source: Attribute,
    result: Attribute,
    is_signed: bool = True,
    refuse: Refuse | None = None,
) -> Array:
    """Return numbers of any type as numbers of any other.

    Args:
        machine: the state.
        value: numbers of the source type.
        source: their type.
        result: the type to convert to.
        is_signed: whether the integers among them are signed.
        refuse: what is done where a float does not fit; `machine.refuse` if None.

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
        if (wrong := ~fits(plain, result, is_signed)).any():
            sign = "a signed" if is_signed else "an unsigned"
            found = plain[wrong].flat[0]
            reason = f"conversion of {found} to {sign} {result}"
            (refuse or machine.refuse)(wrong, reason)
        return numerics.to_integers(value, source, result, is_signed)
    plain = by_sign(value, source, is_signed)
    if is_float(result):
        return numerics.of_integers(plain, result)
    return wrapped(plain, result)


# Simulation of what `arith` lacks: the remainder of floats, and assumptions.


@register_impls
class LlvmFunctions(SimulatorFunctions):
    """The remainder, with the sign of the dividend; promises."""

    frem = float_function(llvm.FRemOp, "rem")

    @impl(AssumeOp)
    def assume(
        self, interpreter: Interpreter, op: AssumeOp, args: PythonValues
    ) -> PythonValues:
        """Check a promise, wherever somebody makes it."""
        broken = self.machine.and_active(~args[0])
        if broken is not None and broken.any():
            raise UndefinedBehaviour("expected what is assumed to be true, got false")
        return ()


# Simulation of `ub`.


@register_impls
class UbFunctions(SimulatorFunctions):
    """Poison is NaN, or a pattern of bits."""

    @impl(ub.PoisonOp)
    def poison(
        self, interpreter: Interpreter, op: ub.PoisonOp, args: PythonValues
    ) -> PythonValues:
        """Give poison."""
        value = self.machine.numerics.poison(element_type(op.result))
        return (np.broadcast_to(value, (1,) * AXES + shape_of(op.result.type)),)
