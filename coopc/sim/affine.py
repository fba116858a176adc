"""Simulation of `affine`: maps of indices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

import numpy as np
from xdsl.dialects import affine
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineMap

from coopc.sim.errors import UndefinedBehaviour
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


DIVISIONS = (
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
    numbers = cast("Sequence[Any]", args)
    places = numbers[: map.num_dims], numbers[map.num_dims :]
    for expr in (each for result in map.results for each in result.dfs()):
        if isinstance(expr, AffineBinaryOpExpr) and expr.kind in DIVISIONS:
            least = np.min(expr.rhs.eval(*places))
            if least <= 0:
                raise UndefinedBehaviour(f"expected a positive divisor, got {least}")
    found = cast("Sequence[Any]", map.eval(*places))
    return [number(x) if isinstance(x, int) else x for x in found]
