"""Simulation of `coopmatrix`: arithmetic on each element, conversion, reduction."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Operation

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Axis, Reduction, matrix_type
from coopc.dialects.simt import ReduceKind
from coopc.sim import integers
from coopc.sim.arith import Run, convert_number
from coopc.sim.coopmatrix_memory import agreed, together
from coopc.sim.integers import IntegerFunction
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.simt import reduce_axis
from coopc.sim.values import Array, is_float, signed, trailing, wrapped
from coopc.sim.values import integers as by_sign

_REDUCTIONS = {
    Reduction.ADD: ReduceKind.ADD,
    Reduction.MAX: ReduceKind.MAX,
    Reduction.MIN: ReduceKind.MIN,
}


def binary(
    op_type: type[coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp],
    name: str,
    compute: IntegerFunction,
    *,
    is_division: bool = False,
    is_shift: bool = False,
) -> Run:
    """Return the simulation of an operation on the elements of two matrices.

    Args:
        op_type: the operation.
        name: the function on floats; empty if it has none.
        compute: the function on integers.
        is_division: whether integers must not be divided by 0.
        is_shift: whether integers must not be shifted by their width.
    """

    @impl(op_type)
    def run(
        self: SimulatorFunctions, _: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        assert isinstance(op, coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp)
        together(self.machine, op.matrix)
        type = op.matrix.element_type
        if is_float(type):
            return (self.machine.numerics.call(name, type, *args),)
        is_signed = isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None
        x, y = (by_sign(arg, type, is_signed) for arg in args)
        if is_division:
            y = integers.check_division(self.machine, x, y, type)
        if is_shift:
            integers.check_shift(self.machine.refuse, args[1], type)
        return (wrapped(compute(x, y), type),)

    return run


@register_impls
class CoopmatrixElementwiseFunctions(SimulatorFunctions):
    """The same for each element, whoever owns it."""

    add = binary(coopmatrix.AddOp, "add", np.add)
    sub = binary(coopmatrix.SubOp, "sub", np.subtract)
    mul = binary(coopmatrix.MulOp, "mul", np.multiply)
    div = binary(coopmatrix.DivOp, "div", integers.divide, is_division=True)
    rem = binary(coopmatrix.RemOp, "rem", integers.remainder, is_division=True)
    min = binary(coopmatrix.MinOp, "minnum", np.minimum)
    max = binary(coopmatrix.MaxOp, "maxnum", np.maximum)
    and_ = binary(coopmatrix.AndOp, "", np.bitwise_and)
    or_ = binary(coopmatrix.OrOp, "", np.bitwise_or)
    xor = binary(coopmatrix.XorOp, "", np.bitwise_xor)
    shl = binary(coopmatrix.ShlOp, "", integers.shift_left, is_shift=True)
    shr = binary(coopmatrix.ShrOp, "", integers.shift_right, is_shift=True)

    @impl(coopmatrix.NegOp)
    def neg(
        self, interpreter: Interpreter, op: coopmatrix.NegOp, args: PythonValues
    ) -> PythonValues:
        """Change the sign."""
        together(self.machine, op.matrix)
        type = op.matrix.element_type
        if is_float(type):
            return (self.machine.numerics.call("neg", type, *args),)
        return (wrapped(-signed(args[0]), type),)

    @impl(coopmatrix.AbsOp)
    def abs(
        self, interpreter: Interpreter, op: coopmatrix.AbsOp, args: PythonValues
    ) -> PythonValues:
        """Drop the sign."""
        together(self.machine, op.matrix)
        type = op.matrix.element_type
        if is_float(type):
            return (self.machine.numerics.call("abs", type, *args),)
        return (wrapped(np.abs(signed(args[0])), type),)

    @impl(coopmatrix.NotOp)
    def not_(
        self, interpreter: Interpreter, op: coopmatrix.NotOp, args: PythonValues
    ) -> PythonValues:
        """Invert all bits."""
        together(self.machine, op.matrix)
        return (~args[0],)

    @impl(coopmatrix.ScaleOp)
    def scale(
        self, interpreter: Interpreter, op: coopmatrix.ScaleOp, args: PythonValues
    ) -> PythonValues:
        """Multiply by a number, with which each lane multiplies what it owns."""
        machine, matrix = self.machine, op.matrix
        together(machine, matrix)
        value, scalar = interpreter.get_values((op.value, op.scalar))
        scalar = trailing(agreed(machine, matrix, scalar, "the scalar"), 2)
        type = matrix.element_type
        if is_float(type):
            return (machine.numerics.call("mul", type, value, scalar),)
        return (wrapped(signed(value) * signed(scalar), type),)

    @impl(coopmatrix.ConvertOp)
    def convert(
        self, interpreter: Interpreter, op: coopmatrix.ConvertOp, args: PythonValues
    ) -> PythonValues:
        """Convert the elements; the use is nothing that a value has."""
        source, result = matrix_type(op.value), matrix_type(op.result)
        together(self.machine, source)
        types = source.element_type, result.element_type
        is_signed = op.signed is not None
        return (convert_number(self.machine, args[0], *types, is_signed),)

    @impl(coopmatrix.BitcastOp)
    def bitcast(
        self, interpreter: Interpreter, op: coopmatrix.BitcastOp, args: PythonValues
    ) -> PythonValues:
        """Take the bits as another type."""
        source, result = matrix_type(op.value), matrix_type(op.result)
        together(self.machine, source)
        types = source.element_type, result.element_type
        return (self.machine.numerics.bitcast(args[0], *types),)

    @impl(coopmatrix.ReduceOp)
    def reduce(
        self, interpreter: Interpreter, op: coopmatrix.ReduceOp, args: PythonValues
    ) -> PythonValues:
        """Reduce rows or columns, in ascending order."""
        matrix = matrix_type(op.value)
        together(self.machine, matrix)
        value: Array = args[0]
        axis = value.ndim - (1 if op.axis.data == Axis.ROWS else 2)
        kind, type = _REDUCTIONS[op.kind.data], matrix.element_type
        is_signed = op.signed is not None
        numerics = self.machine.numerics
        return (reduce_axis(numerics, kind, value, axis, type, is_signed),)
