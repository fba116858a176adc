"""Simulation of `row_slice`: a token is a matrix that insertions change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute

from coopc.dialects import row_slice
from coopc.dialects.coopmatrix import MatrixType, Scope, matrix_type
from coopc.sim.coopmatrix import agreed, together
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.values import AXES, Array, number, trailing


@dataclass(slots=True)
class Token:
    """A row slice of a matrix."""

    type: MatrixType
    value: Array
    """The matrix, with what was inserted."""
    index: Array
    """Of the row slice."""


@register_impls
class RowSliceFunctions(SimulatorFunctions):
    """Elements of row slices, of each lane or as vectors of all lanes."""

    def _sharing(self, matrix: MatrixType) -> tuple[int, Array]:
        """Return how many work-items share a matrix, and which of them each one is."""
        machine = self.machine
        lanes = machine.launch.subgroup_size
        match machine.matrices.scope(matrix):
            case Scope.WORKGROUP:
                count = machine.launch.subgroups * lanes
                return count, machine.subgroup * lanes + machine.lane
            case Scope.INVOCATION:
                return 1, number(0)
            case _:
                return lanes, machine.lane

    def _elements(self, token: Token, type: Attribute) -> Array:
        """Return the row-major numbers of elements; widened ones on one more axis.

        Raises:
            UndefinedBehaviour: who shares the matrix does not agree on the row slice.
        """
        lanes = row_slice.lanes_of(type)
        shared, own = self._sharing(token.type)
        if lanes is None:
            found = token.index * shared + own
        else:
            together(self.machine, token.type)
            index = agreed(self.machine, token.type, token.index, "a row slice")
            found = trailing(index * lanes, 1) + np.arange(lanes, dtype=np.int64)
        rows, cols = self.machine.matrices.shape(token.type)
        wrong = token.index < 0
        wrong = wrong | (token.index * (lanes or shared) >= rows * cols)
        active = self.machine.mask
        if (wrong if active is None else wrong & active).any():
            raise UndefinedBehaviour(
                f"expected a row slice of {token.type}, got number "
                f"{token.index[wrong].flat[0]}"
            )
        return found

    @impl(row_slice.LengthOp)
    def length(
        self, interpreter: Interpreter, op: row_slice.LengthOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of row slices."""
        rows, cols = self.machine.matrices.shape(op.matrix_type)
        shared, _ = self._sharing(op.matrix_type)
        lanes = shared if op.lanes is None else op.lanes.value.data
        return (number(-(-rows * cols // lanes)),)

    @impl(row_slice.IdOp)
    def id(
        self, interpreter: Interpreter, op: row_slice.IdOp, args: PythonValues
    ) -> PythonValues:
        """Give a token."""
        value, index = args
        return (Token(matrix_type(op.matrix), value, index),)

    @impl(row_slice.ExtractElementOp)
    def extract_element(
        self,
        interpreter: Interpreter,
        op: row_slice.ExtractElementOp,
        args: PythonValues,
    ) -> PythonValues:
        """Give elements, 0 beyond the matrix."""
        (token,) = args
        elements = self._elements(token, op.result.type)
        flat = token.value.reshape(*token.value.shape[:AXES], -1)
        inside = (elements >= 0) & (elements < flat.shape[-1])
        places = _places(flat, elements)
        found: Array = flat[(*places, np.where(inside, elements, 0))]
        return (np.where(inside, found, found.dtype.type(0)),)

    @impl(row_slice.InsertElementOp)
    def insert_element(
        self,
        interpreter: Interpreter,
        op: row_slice.InsertElementOp,
        args: PythonValues,
    ) -> PythonValues:
        """Replace elements of the matrix that the mask and control flow allow."""
        self.machine.refuse_in_element()
        element, token, *masks = args
        elements = self._elements(token, op.value.type)
        cells = token.value.shape[-2] * token.value.shape[-1]
        chosen = (elements >= 0) & (elements < cells)
        for mask in masks:
            chosen = chosen & mask
        if self.machine.mask is not None:
            chosen = chosen & trailing(self.machine.mask, chosen.ndim - AXES)
        elements, chosen, element = np.broadcast_arrays(elements, chosen, element)
        scope = self.machine.matrices.scope(token.type)
        kept = {Scope.WORKGROUP: 1, Scope.SUBGROUP: 2}.get(scope, 3)
        sizes = chosen.shape[:kept] + (1,) * (AXES - kept)
        lead = np.broadcast_shapes(token.value.shape[:AXES], sizes)
        shape = token.value.shape[AXES:]
        found = np.array(np.broadcast_to(token.value, lead + shape)).reshape(*lead, -1)
        places = np.broadcast_arrays(*_places(found, elements), elements)
        found[tuple(place[chosen] for place in places)] = element[chosen]
        token.value = found.reshape(lead + shape)
        return ()

    @impl(row_slice.InsertToMatrixOp)
    def insert_to_matrix(
        self,
        interpreter: Interpreter,
        op: row_slice.InsertToMatrixOp,
        args: PythonValues,
    ) -> PythonValues:
        """Give the matrix."""
        (token,) = args
        return (token.value,)


def _places(flat: Array, elements: Array) -> list[Array]:
    """Return indices of the three leading axes, to index together with elements."""
    return [
        np.arange(size, dtype=np.int64).reshape(
            [-1 if each == axis else 1 for each in range(elements.ndim)]
        )
        for axis, size in enumerate(flat.shape[:AXES])
    ]
