"""Simulation of `coopmatrix`: the elements that a work-item owns, and row slices."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Scope, matrix_type
from coopc.sim.coopmatrix_memory import agreed, together
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.values import AXES, Array, choose, number, shape_of, trailing


@register_impls
class CoopmatrixElementFunctions(SimulatorFunctions):
    """What depends on the distribution, and row slices, which do not."""

    def _owner(self, matrix: MatrixType) -> Array:
        """Return the number by which a distribution knows each work-item."""
        machine = self.machine
        match machine.matrices.scope(matrix):
            case Scope.WORKGROUP:
                lanes = machine.launch.subgroup_size
                return machine.subgroup * lanes + machine.lane
            case Scope.INVOCATION:
                return number(0)
            case _:
                return machine.lane

    def _slots(
        self, matrix: MatrixType, index: Array, strict: bool
    ) -> tuple[Array, Array]:
        """Return row and column in a slot of each work-item; M and N of padding.

        Raises:
            UndefinedBehaviour: `strict`, and somebody has no such slot.
        """
        ownership = self.machine.matrices.ownership(matrix)
        wrong = (index < 0) | (index >= ownership.components)
        if wrong.any():
            active = self.machine.mask
            if strict and (wrong if active is None else wrong & active).any():
                raise UndefinedBehaviour(
                    f"expected a slot below {ownership.components}, the length of "
                    f"{matrix}, got {index[wrong].flat[0]}"
                )
            index = np.where(wrong, 0, index)
        owner = self._owner(matrix)
        return ownership.rows[index, owner], ownership.cols[index, owner]

    def _at(self, value: Array, row: Array, col: Array) -> tuple[Array, ...]:
        """Return the indices of elements in the array of a matrix."""
        places = [
            np.arange(size, dtype=np.int64).reshape(
                [-1 if each == axis else 1 for each in range(AXES)]
            )
            for axis, size in enumerate(value.shape[:AXES])
        ]
        return *places, row, col

    @impl(coopmatrix.LengthOp)
    def length(
        self, interpreter: Interpreter, op: coopmatrix.LengthOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of slots."""
        matrix = op.matrix_type
        return (number(self.machine.matrices.ownership(matrix).components),)

    @impl(coopmatrix.ExtractOp)
    def extract(
        self, interpreter: Interpreter, op: coopmatrix.ExtractOp, args: PythonValues
    ) -> PythonValues:
        """Give the element in a slot; 0 of padding."""
        value, index = interpreter.get_values((op.matrix, op.index))
        matrix = matrix_type(op.matrix)
        row, col = self._slots(matrix, index, strict=True)
        inside = row < value.shape[-2]
        here = self._at(value, np.where(inside, row, 0), np.where(inside, col, 0))
        found: Array = value[here]
        return (choose(inside, found, np.zeros_like(found)),)

    @impl(coopmatrix.InsertOp)
    def insert(
        self, interpreter: Interpreter, op: coopmatrix.InsertOp, args: PythonValues
    ) -> PythonValues:
        """Replace the element in a slot; padding stays what it is."""
        machine = self.machine
        machine.refuse_in_element()
        operands = (op.value, op.matrix, op.index)
        element, value, index = interpreter.get_values(operands)
        matrix = matrix_type(op.matrix)
        row, col = self._slots(matrix, index, strict=True)
        chosen = row < value.shape[-2]
        if machine.mask is not None:
            chosen = chosen & machine.mask
        element, row, col, chosen = np.broadcast_arrays(element, row, col, chosen)
        scope = machine.matrices.scope(matrix)
        kept = {Scope.WORKGROUP: 1, Scope.SUBGROUP: 2}.get(scope, 3)
        sizes = chosen.shape[:kept] + (1,) * (AXES - kept)
        lead = np.broadcast_shapes(value.shape[:AXES], sizes)
        found = np.array(np.broadcast_to(value, (*lead, *value.shape[AXES:])))
        groups, subgroups, lanes, row, col, chosen, element = np.broadcast_arrays(
            *self._at(found, row, col), chosen, element
        )
        here = groups, subgroups, lanes, row, col
        found[tuple(x[chosen] for x in here)] = element[chosen]
        return (found,)

    @impl(coopmatrix.CoordOp)
    def coord(
        self, interpreter: Interpreter, op: coopmatrix.CoordOp, args: PythonValues
    ) -> PythonValues:
        """Give row and column of a slot."""
        (index,) = interpreter.get_values((op.index,))
        return self._slots(matrix_type(op.matrix), index, strict=False)

    @impl(coopmatrix.ExtractRowSliceOp)
    def extract_row_slice(
        self,
        interpreter: Interpreter,
        op: coopmatrix.ExtractRowSliceOp,
        args: PythonValues,
    ) -> PythonValues:
        """Give consecutive elements, 0 beyond the matrix."""
        value, offset = interpreter.get_values((op.matrix, op.offset))
        matrix = matrix_type(op.matrix)
        together(self.machine, matrix)
        offset = agreed(self.machine, matrix, offset, "the offset of a row slice")
        index, inside = _slice(value, offset, shape_of(op.result.type)[0])
        lead = np.broadcast_shapes(value.shape[:AXES], index.shape[:AXES])
        flat = value.reshape(*value.shape[:AXES], -1)
        flat = np.broadcast_to(flat, (*lead, flat.shape[-1]))
        found = np.take_along_axis(
            flat, np.broadcast_to(index, (*lead, index.shape[-1])), AXES
        )
        return (np.where(inside, found, found.dtype.type(0)),)

    @impl(coopmatrix.InsertRowSliceOp)
    def insert_row_slice(
        self,
        interpreter: Interpreter,
        op: coopmatrix.InsertRowSliceOp,
        args: PythonValues,
    ) -> PythonValues:
        """Replace consecutive elements that the matrix has and the mask allows."""
        machine, matrix = self.machine, matrix_type(op.matrix)
        together(machine, matrix)
        operands = (op.value, op.matrix, op.offset)
        slice, value, offset = interpreter.get_values(operands)
        offset = agreed(machine, matrix, offset, "the offset of a row slice")
        slice = agreed(machine, matrix, slice, "a row slice")
        index, chosen = _slice(value, offset, slice.shape[-1])
        if op.mask is not None:
            (mask,) = interpreter.get_values((op.mask,))
            chosen = chosen & agreed(machine, matrix, mask, "the mask of a row slice")
        lead = np.broadcast_shapes(
            *(x.shape[:AXES] for x in (value, index, chosen, slice))
        )
        flat = value.reshape(*value.shape[:AXES], -1)
        found = np.array(np.broadcast_to(flat, (*lead, flat.shape[-1])))
        groups, subgroups, lanes, index, chosen, slice = np.broadcast_arrays(
            *(trailing(x, 1) for x in self._at(found, index, index)[:AXES]),
            index,
            chosen,
            slice,
        )
        here = (groups, subgroups, lanes, index)
        found[tuple(x[chosen] for x in here)] = slice[chosen]
        return (found.reshape(*lead, *value.shape[AXES:]),)


def _slice(value: Array, offset: Array, length: int) -> tuple[Array, Array]:
    """Return where a row slice is in a matrix, and which of it is in the matrix."""
    index = trailing(offset, 1) + np.arange(length, dtype=np.int64)
    inside = (index >= 0) & (index < value.shape[-2] * value.shape[-1])
    return np.where(inside, index, 0), inside
