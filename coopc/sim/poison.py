"""Poison: results that mean nothing, and of which nothing may depend.

A shift by too much is no mistake where its result is chosen by nobody: programs compute
for all elements and select.  So poison goes through arithmetic and moves within vectors
and tensors, and a select drops it with what it does not choose.  Anything else observes
it, which is undefined: memory, control flow, divisions, what lanes do together, the end
of a region.  Poison is only made where a work-item is active.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.values import AXES, Array, trailing

ELEMENTWISE = ("arith", "math")
"""Dialects whose operations go through each element, but for divisions."""

DIVISIONS: tuple[type[Operation], ...] = (
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.DivSIOp,
    arith.DivUIOp,
    arith.FloorDivSIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)

# By name, so that a program without them does not import their dialects.
MOVES = frozenset(
    (
        "tt.broadcast",
        "tt.cat",
        "tt.expand_dims",
        "tt.join",
        "tt.reshape",
        "tt.splat",
        "tt.split",
        "tt.trans",
        "tt.unsplat",
        "ttg.convert_layout",
        "vector.broadcast",
        "vector.extract",
        "vector.insert",
        "vector.shuffle",
    )
)
"""What gives elements of its operands; where is said by those that are indices."""


@dataclass(frozen=True, slots=True)
class Poison:
    """The part of a value that means nothing."""

    where: Array
    """Broadcasts to the value."""
    error: UndefinedBehaviour
    """What is wrong where it was made."""


@dataclass(slots=True)
class Poisons:
    """The values that are poison now, in part."""

    values: dict[SSAValue, Poison] = field(default_factory=dict[SSAValue, Poison])
    made: Poison | None = None
    """By the operation that runs now."""

    def through(
        self,
        op: Operation,
        environment: Mapping[SSAValue, Any],
        run: Callable[[Mapping[SSAValue, Any]], tuple[Any, ...]],
        mask: Array | None,
    ) -> tuple[Poison | None, ...]:
        """Return the poison of each result of an operation that has some as operand.

        Args:
            op: the operation.
            environment: what values are.
            run: gives the results of the operation for other values of its operands.
            mask: who is active.

        Raises:
            UndefinedBehaviour: the operation observes it.
        """
        found = [self.values[x] for x in op.operands if x in self.values]
        if not found:
            return (None,) * len(op.results)
        error = found[0].error
        if isinstance(op, arith.SelectOp):
            where = self._selected(op, environment)
            return (Poison(where, error) if where.any() else None,)
        if op.name in MOVES and not any(
            isinstance(x.type, IndexType) and x in self.values for x in op.operands
        ):
            wheres = run({x: self._where(x, environment[x]) for x in _moved(op)})
            return tuple(Poison(where.astype(np.bool_), error) for where in wheres)
        where = found[0].where
        for other in found[1:]:
            where = where | other.where
        if op.dialect_name() in ELEMENTWISE and not isinstance(op, DIVISIONS):
            return (Poison(where, error),) * len(op.results)
        if mask is not None:
            where = where & trailing(mask, where.ndim - AXES)
        if where.any():
            raise error
        return (None,) * len(op.results)

    def settle(self, op: Operation, spread: tuple[Poison | None, ...]) -> None:
        """Keep the poison of the results of an operation that has run."""
        made, self.made = self.made, None
        for result, poison in zip(op.results, spread, strict=True):
            if made is not None:
                made.error.op = op
                where = made.where if poison is None else made.where | poison.where
                poison = Poison(where, made.error)
            if poison is None:
                self.values.pop(result, None)
            else:
                self.values[result] = poison

    def _where(self, value: SSAValue, array: Array) -> Array:
        """Return which part of a value is poison, as an array of its shape."""
        poison = self.values.get(value)
        where = np.False_ if poison is None else poison.where
        shape = np.broadcast_shapes(array.shape, where.shape)
        return np.broadcast_to(where, shape)

    def _selected(
        self, op: arith.SelectOp, environment: Mapping[SSAValue, Any]
    ) -> Array:
        """Return which part of the result of a select is poison."""
        condition, x, y = op.operands
        chosen: Array = environment[condition]
        wheres = [self._where(each, environment[each]) for each in (x, y)]
        axes = max(where.ndim for where in wheres) - chosen.ndim
        where = np.where(trailing(chosen, axes), *wheres)
        if condition in self.values:
            where = where | trailing(self.values[condition].where, axes)
        return where


def _moved(op: Operation) -> list[SSAValue]:
    """Return the operands whose elements an operation gives."""
    return [x for x in op.operands if not isinstance(x.type, IndexType)]
