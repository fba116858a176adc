"""Simulation of `arith`: integers wrap around, floats round to their type.

Division by zero, and of the least integer by -1, is undefined and an error.  So is what
gives poison in MLIR, once something depends on it (`coopc.sim.poison`): shifts by too
much, conversions to integers that do not fit, overflow where there is said to be none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.interpreter import (
    Interpreter,
    OpImplResult,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.sim import formats, integers
from coopc.sim.errors import SimulationError
from coopc.sim.integers import IntegerFunction
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.machine import Machine
from coopc.sim.numerics import Numerics
from coopc.sim.values import (
    AXES,
    Array,
    bits_of,
    choose,
    is_float,
    scalar_of,
    shape_of,
    signed,
    unsigned,
    wrapped,
)
from coopc.sim.values import integers as by_sign

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
            integers.check_overflow(machine.poison, compute, both, type, flags)

    return check


def shift(machine: Machine, op: Any, args: PythonValues) -> None:
    """Check the number of bits."""
    integers.check_shift(machine.poison, args[1], element_type(op.result))


def left_shift(machine: Machine, op: Any, args: PythonValues) -> None:
    """Check the number of bits, and the overflow."""
    shift(machine, op, args)
    amount: Array = args[1]
    inside = unsigned(amount, type := element_type(op.result)) < bits_of(type)
    amount = np.where(inside, amount, np.zeros_like(amount))
    overflow(integers.shifted)(machine, op, (args[0], amount))


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
        y = integers.check_division(self.machine, x, y, type)
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
    shli = integer_function(arith.ShLIOp, integers.shift_left, False, left_shift)
    shrui = integer_function(arith.ShRUIOp, integers.shift_right, False, shift)
    shrsi = integer_function(arith.ShRSIOp, integers.shift_right, True, shift)

    divui = division(arith.DivUIOp, integers.divide, is_signed=False)
    divsi = division(arith.DivSIOp, integers.divide, is_signed=True)
    floordivsi = division(arith.FloorDivSIOp, integers.floor_divide, is_signed=True)
    ceildivsi = division(arith.CeilDivSIOp, integers.ceil_divide, is_signed=True)
    ceildivui = division(arith.CeilDivUIOp, integers.ceil_divide, is_signed=False)
    remui = division(arith.RemUIOp, integers.remainder, is_signed=False)
    remsi = division(arith.RemSIOp, integers.remainder, is_signed=True)

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
    high = integers.high_product(x, y, bits_of(type))
    return wrapped(x * y, type), wrapped(high, type)


def convert_number(
    machine: Machine,
    value: Array,
    source: Attribute,
    result: Attribute,
    is_signed: bool = True,
    refuse: integers.Refuse | None = None,
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
        if (wrong := ~formats.fits(plain, result, is_signed)).any():
            sign = "a signed" if is_signed else "an unsigned"
            found = plain[wrong].flat[0]
            reason = f"conversion of {found} to {sign} {result}"
            (refuse or machine.refuse)(wrong, reason)
        return numerics.to_integers(value, source, result, is_signed)
    plain = by_sign(value, source, is_signed)
    if is_float(result):
        return numerics.of_integers(plain, result)
    return wrapped(plain, result)
