"""Simulation of `affine`: maps of indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import affine
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.values import Array, number


@register_impls
class AffineFunctions(SimulatorFunctions):
    """`affine.apply` and `affine.min`."""

    @impl(affine.ApplyOp)
    def apply(
        self, interpreter: Interpreter, op: affine.ApplyOp, args: PythonValues
    ) -> PythonValues:
        """Give the one result of a map."""
        (found,) = evaluate(op.map.data, args)
        return (found,)

    @impl(affine.MinOp)
    def min(
        self, interpreter: Interpreter, op: affine.MinOp, args: PythonValues
    ) -> PythonValues:
        """Give the least result of a map."""
        first, *rest = evaluate(op.map.data, args)
        for each in rest:
            first = np.minimum(first, each)
        return (first,)


def evaluate(map: AffineMap, args: Sequence[Array]) -> list[Array]:
    """Return the results of a map of dimensions, then symbols."""
    dims, symbols = args[: map.num_dims], args[map.num_dims :]
    return [_expression(expr, dims, symbols) for expr in map.results]


def _expression(
    expr: AffineExpr, dims: Sequence[Array], symbols: Sequence[Array]
) -> Array:
    """Return the value of an expression."""
    match expr:
        case AffineConstantExpr(value=value):
            return number(value)
        case AffineDimExpr(position=position):
            return dims[position]
        case AffineSymExpr(position=position):
            return symbols[position]
        case AffineBinaryOpExpr():
            x = _expression(expr.lhs, dims, symbols)
            y = _expression(expr.rhs, dims, symbols)
            return _binary(expr.kind, x, y)
        case _:
            raise SimulationError(f"no simulation of {expr}")


def _binary(kind: AffineBinaryOpKind, x: Array, y: Array) -> Array:
    """Return the value of an operation on two indices.

    Raises:
        UndefinedBehaviour: a divisor is not positive.
    """
    match kind:
        case AffineBinaryOpKind.Add:
            return x + y
        case AffineBinaryOpKind.Mul:
            return x * y
        case _:
            if (y <= 0).any():
                raise UndefinedBehaviour(f"expected a positive divisor, got {y.min()}")
    match kind:
        case AffineBinaryOpKind.FloorDiv:
            return x // y
        case AffineBinaryOpKind.CeilDiv:
            return -(-x // y)
        case _:
            return x % y
