"""Simulation of `row_slice`: a token is a matrix that insertions change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute

from coopc.dialects import row_slice
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.sim.coopmatrix import agreed, elements_at, together, with_elements
from coopc.sim.interpreter import implements
from coopc.sim.machine import Machine
from coopc.sim.values import Array, number, trailing


@dataclass(slots=True)
class Token:
    """A row slice of a matrix."""

    type: MatrixType
    value: Array
    """The matrix, with what was inserted."""
    index: Array
    """Of the row slice."""


def _elements(machine: Machine, token: Token, type: Attribute) -> Array:
    """Return the row-major numbers of elements; widened ones on one more axis.

    Raises:
        UndefinedBehaviour: who shares the matrix does not agree on the row slice.
    """
    lanes = row_slice.lanes_of(type)
    shared, own = machine.holder(token.type)
    if lanes is None:
        found = token.index * shared + own
    else:
        together(machine, token.type)
        index = agreed(machine, token.type, token.index, "a row slice")
        found = trailing(index * lanes, 1) + np.arange(lanes, dtype=np.int64)
    rows, cols = machine.matrices.shape(token.type)
    wrong = token.index < 0
    wrong = wrong | (token.index * (lanes or shared) >= rows * cols)
    what = f"expected the number of a row slice of {token.type}"
    machine.refuse(wrong, what, token.index)
    return found


@implements(row_slice.LengthOp)
def length(machine: Machine, op: row_slice.LengthOp) -> Array:
    rows, cols = machine.matrices.shape(op.matrix_type)
    shared, _ = machine.holder(op.matrix_type)
    lanes = shared if op.lanes is None else op.lanes.value.data
    return number(-(-rows * cols // lanes))


@implements(row_slice.IdOp)
def id(machine: Machine, op: row_slice.IdOp, value: Array, index: Array) -> Token:
    return Token(matrix_type(op.matrix), value, index)


@implements(row_slice.ExtractElementOp)
def extract_element(
    machine: Machine, op: row_slice.ExtractElementOp, token: Token
) -> Array:
    """Give elements, 0 beyond the matrix."""
    index = _elements(machine, token, op.result.type)
    return elements_at(machine, token.type.element_type, token.value, index)


@implements(row_slice.InsertElementOp)
def insert_element(
    machine: Machine,
    op: row_slice.InsertElementOp,
    element: Array,
    token: Token,
    mask: Array | None = None,
) -> None:
    """Replace elements of the matrix that the mask and control flow allow."""
    machine.refuse_in_element()
    index = _elements(machine, token, op.value.type)
    token.value = with_elements(machine, token.type, token.value, index, element, mask)


@implements(row_slice.InsertToMatrixOp)
def insert_to_matrix(
    machine: Machine, op: row_slice.InsertToMatrixOp, token: Token
) -> Array:
    return token.value
