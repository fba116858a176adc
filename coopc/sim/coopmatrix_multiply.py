"""Simulation of `coopmatrix`: products of matrices."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import Operand, Use
from coopc.sim.coopmatrix_memory import together
from coopc.sim.errors import SimulationError
from coopc.sim.integers import saturating_add
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.machine import Machine
from coopc.sim.matrices import Matrices
from coopc.sim.values import (
    Array,
    bits_of,
    integers,
    is_float,
    unsigned,
    value_dtype,
    wrapped,
)


@register_impls
class CoopmatrixMultiplyFunctions(SimulatorFunctions):
    """`mul_add`: of floats see `coopc.sim.numerics`, of integers below."""

    @impl(coopmatrix.MulAddOp)
    def mul_add(
        self, interpreter: Interpreter, op: coopmatrix.MulAddOp, args: PythonValues
    ) -> PythonValues:
        """Multiply and add."""
        a, b, c = interpreter.get_values((op.a, op.b, op.c))
        types = {key: type.element_type for key, type in op.matrices.items()}
        together(self.machine, op.matrices[Operand.A])
        verify_specialised(self.machine.matrices, op)
        if is_float(types[Operand.RESULT]):
            element_types = (
                types[Operand.A],
                types[Operand.B],
                types[Operand.C],
                types[Operand.RESULT],
            )
            return (self.machine.numerics.multiply_add((a, b, c), element_types),)
        if op.saturating is not None:
            check_product(self.machine, op, a, b)
        return (multiply_add_integers(op, a, b, c),)


def verify_specialised(matrices: Matrices, op: coopmatrix.MulAddOp) -> None:
    """Check the matrices, which constants may have made others.

    Raises:
        SimulationError: their sizes, scopes or uses do not fit.
    """
    if all(type.is_static for type in op.matrices.values()):
        return  # checked when the operation was made
    found = {key: matrices.static(type) for key, type in op.matrices.items()}
    (m, k), (depth, n) = found[Operand.A].shape, found[Operand.B].shape
    shapes = [found[key].shape for key in (Operand.C, Operand.RESULT)]
    uses = [type.use.data for type in found.values()]
    if (
        depth != k
        or shapes != [(m, n)] * 2
        or uses != [Use.A, Use.B, Use.ACC, Use.ACC]
        or len({type.scope for type in found.values()}) != 1
    ):
        raise SimulationError(
            "expected constants that make a an M x K, b a K x N, c and the result an "
            f"M x N matrix of one scope, got {', '.join(map(str, found.values()))}"
        )


def check_product(
    machine: Machine, op: coopmatrix.MulAddOp, a: Array, b: Array
) -> None:
    """Check that a product fits, whose sum with c saturates.

    Raises:
        UndefinedBehaviour: it does not.
    """
    types = {key: type.element_type for key, type in op.matrices.items()}
    x, y = (
        integers(value, types[key], op.is_signed(key))
        for value, key in ((a, Operand.A), (b, Operand.B))
    )
    result = types[Operand.RESULT]
    is_signed, bits = op.is_signed(Operand.RESULT), bits_of(result)
    low = -(1 << (bits - 1)) if is_signed else 0
    sizes = np.matmul(*(np.abs(z.astype(np.float64)) for z in (x, y)))
    if (sizes < 2.0 ** (bits - 1)).all() and (is_signed or min(x.min(), y.min()) >= 0):
        return
    exact: Array = np.matmul(x.astype(object), y.astype(object))
    wrong = np.asarray((exact < low) | (exact >= low + (1 << bits)), np.bool_)
    if wrong.any():
        found = exact[wrong].flat[0]
        reason = f"overflow of a product whose sum saturates: {found} is no {result}"
        machine.refuse(wrong, reason)


def multiply_add_integers(
    op: coopmatrix.MulAddOp, a: Array, b: Array, c: Array
) -> Array:
    """Return `a * b + c` of integers.

    a, b and c are extended to the width of the result by their own signs; the product
    is its low bits; only the addition of c saturates, by the sign of the result.
    """
    types = {key: type.element_type for key, type in op.matrices.items()}
    result = types[Operand.RESULT]
    dtype = value_dtype(result)
    a, b, c = (
        wrapped(integers(value, types[key], op.is_signed(key)), result).astype(dtype)
        for value, key in ((a, Operand.A), (b, Operand.B), (c, Operand.C))
    )
    product = wrapped(np.matmul(a, b), result)
    if op.saturating is None:
        return wrapped(product + c, result)
    bits = bits_of(result)
    if op.is_signed(Operand.RESULT):
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        return wrapped(saturating_add(product, c, low, high), result)
    x, y = unsigned(product, result), unsigned(c, result)
    return wrapped(saturating_add(x, y, 0, (1 << bits) - 1), result)
