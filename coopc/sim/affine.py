"""Simulation of `affine`: maps of indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np
from xdsl.dialects import affine
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
from coopc.sim.interpreter import implements
from coopc.sim.machine import Machine
from coopc.sim.values import Array, number


@implements(affine.ApplyOp)
def apply(machine: Machine, op: affine.ApplyOp, *args: Array) -> Array:
    (found,) = evaluate(op.map.data, args)
    return found


@implements(affine.MinOp)
def least(machine: Machine, op: affine.MinOp, *args: Array) -> Array:
    return reduce(np.minimum, evaluate(op.map.data, args))


_BINARY: Mapping[AffineBinaryOpKind, Callable[[Array, Array], Array]] = {
    AffineBinaryOpKind.Add: np.add,
    AffineBinaryOpKind.Mul: np.multiply,
    AffineBinaryOpKind.FloorDiv: np.floor_divide,
    AffineBinaryOpKind.CeilDiv: lambda x, y: -(-x // y),
    AffineBinaryOpKind.Mod: np.remainder,
}
_DIVISIONS = {*_BINARY} - {AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul}


def evaluate(map: AffineMap, args: Sequence[Array]) -> list[Array]:
    """Return the results of a map of dimensions, then symbols."""
    dims, symbols = args[: map.num_dims], args[map.num_dims :]
    return [_expression(expr, dims, symbols) for expr in map.results]


def _expression(
    expr: AffineExpr, dims: Sequence[Array], symbols: Sequence[Array]
) -> Array:
    """Return the value of an expression.

    Raises:
        UndefinedBehaviour: a divisor is not positive.
    """
    match expr:
        case AffineConstantExpr(value=value):
            return number(value)
        case AffineDimExpr(position=position):
            return dims[position]
        case AffineSymExpr(position=position):
            return symbols[position]
        case AffineBinaryOpExpr(kind, lhs, rhs):
            x, y = (_expression(each, dims, symbols) for each in (lhs, rhs))
            if kind in _DIVISIONS and (y <= 0).any():
                raise UndefinedBehaviour(f"expected a positive divisor, got {y.min()}")
            return _BINARY[kind](x, y)
        case _:
            raise SimulationError(f"no simulation of {expr}")
