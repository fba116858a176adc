"""Simulation of `math`: computed in f64 and rounded to the type."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import math
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.sim import arith
from coopc.sim.arith import element_type, float_function
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.values import (
    bits_of,
    shape_of,
    signed,
    trailing,
    unsigned,
    wrapped,
)


@register_impls
class MathFunctions(SimulatorFunctions):
    """Functions of floats and of integers, and of vectors of them."""

    absf = float_function(math.AbsFOp, "abs")
    acos = float_function(math.AcosOp, "acos")
    acosh = float_function(math.AcoshOp, "acosh")
    asin = float_function(math.AsinOp, "asin")
    asinh = float_function(math.AsinhOp, "asinh")
    atan = float_function(math.AtanOp, "atan")
    atan2 = float_function(math.Atan2Op, "atan2")
    atanh = float_function(math.AtanhOp, "atanh")
    cbrt = float_function(math.CbrtOp, "cbrt")
    ceil = float_function(math.CeilOp, "ceil")
    copysign = float_function(math.CopySignOp, "copysign")
    cos = float_function(math.CosOp, "cos")
    cosh = float_function(math.CoshOp, "cosh")
    erf = float_function(math.ErfOp, "erf")
    exp = float_function(math.ExpOp, "exp")
    exp2 = float_function(math.Exp2Op, "exp2")
    expm1 = float_function(math.ExpM1Op, "expm1")
    floor = float_function(math.FloorOp, "floor")
    fma = float_function(math.FmaOp, "fma")
    log = float_function(math.LogOp, "log")
    log10 = float_function(math.Log10Op, "log10")
    log1p = float_function(math.Log1pOp, "log1p")
    log2 = float_function(math.Log2Op, "log2")
    powf = float_function(math.PowFOp, "powf")
    round = float_function(math.RoundOp, "round")
    roundeven = float_function(math.RoundEvenOp, "roundeven")
    rsqrt = float_function(math.RsqrtOp, "rsqrt")
    sin = float_function(math.SinOp, "sin")
    sinh = float_function(math.SinhOp, "sinh")
    sqrt = float_function(math.SqrtOp, "sqrt")
    tan = float_function(math.TanOp, "tan")
    tanh = float_function(math.TanhOp, "tanh")
    trunc = float_function(math.TruncOp, "trunc")

    @impl(math.AbsIOp)
    def absi(
        self, interpreter: Interpreter, op: math.AbsIOp, args: PythonValues
    ) -> PythonValues:
        """Drop the sign; the least integer stays as it is."""
        return (wrapped(np.abs(signed(args[0])), element_type(op.result)),)

    @impl(math.IPowIOp)
    def ipowi(
        self, interpreter: Interpreter, op: math.IPowIOp, args: PythonValues
    ) -> PythonValues:
        """Raise an integer to the power of an integer."""
        type = element_type(op.result)
        base, exponent = (signed(arg) for arg in args)
        wrong = (base == 0) & (exponent < 0)
        if (mask := self.machine.mask) is not None:
            wrong = wrong & trailing(mask, len(shape_of(op.result.type)))
        if wrong.any():
            raise UndefinedBehaviour("expected no negative power of 0")
        return (wrapped(arith.power(base, exponent), type),)

    @impl(math.FPowIOp)
    def fpowi(
        self, interpreter: Interpreter, op: math.FPowIOp, args: PythonValues
    ) -> PythonValues:
        """Raise a float to the power of an integer."""
        numerics, type = self.machine.numerics, element_type(op.result)
        exponent = numerics.of_integers(signed(args[1]), type)
        return (numerics.call("powf", type, args[0], exponent),)

    @impl(math.CountLeadingZerosOp)
    def ctlz(
        self, interpreter: Interpreter, op: math.CountLeadingZerosOp, args: PythonValues
    ) -> PythonValues:
        """Count the zeros above the highest one."""
        type = element_type(op.result)
        bits = bits_of(type)
        found = arith.count_leading_zeros(unsigned(args[0], type), bits)
        return (wrapped(found, type),)

    @impl(math.CountTrailingZerosOp)
    def cttz(
        self,
        interpreter: Interpreter,
        op: math.CountTrailingZerosOp,
        args: PythonValues,
    ) -> PythonValues:
        """Count the zeros below the lowest one."""
        type = element_type(op.result)
        found = arith.count_trailing_zeros(unsigned(args[0], type), bits_of(type))
        return (wrapped(found, type),)

    @impl(math.CtPopOp)
    def ctpop(
        self, interpreter: Interpreter, op: math.CtPopOp, args: PythonValues
    ) -> PythonValues:
        """Count the ones."""
        type = element_type(op.result)
        return (wrapped(arith.count_ones(unsigned(args[0], type)), type),)
