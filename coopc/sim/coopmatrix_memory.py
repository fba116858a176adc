"""Simulation of `coopmatrix`: matrices and memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import CHANNEL_BITS, Axis, Layout, MatrixType, Scope
from coopc.sim.arith import convert_number
from coopc.sim.atomic import ACQUIRING, combination, update
from coopc.sim.coopmatrix_pointees import in_elements
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef, check_aligned, linear_index
from coopc.sim.values import (
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    element_of,
    is_float,
    trailing,
)


def collective_axes(machine: Machine, matrix: MatrixType) -> tuple[int, ...]:
    """Return the axes along which work-items hold a matrix together."""
    match machine.matrices.scope(matrix):
        case Scope.WORKGROUP:
            return (LANE_AXIS, SUBGROUP_AXIS)
        case Scope.SUBGROUP:
            return (LANE_AXIS,)
        case _:
            return ()


def together(machine: Machine, matrix: MatrixType) -> Array | None:
    """Return who executes an operation on a whole matrix, with axes for its elements.

    Raises:
        UndefinedBehaviour: only some of those who hold it do.
    """
    axes = collective_axes(machine, matrix)
    if axes:
        machine.refuse_in_element()
    mask = machine.uniform_mask(*axes)
    return None if mask is None else trailing(mask, 2)


def agreed(machine: Machine, matrix: MatrixType, value: Array, what: str) -> Array:
    """Return a number that those who hold a matrix agree on.

    Raises:
        UndefinedBehaviour: they do not agree.
    """
    for axis in collective_axes(machine, matrix):
        if value.shape[axis] == 1:
            continue
        first = value.take([0], axis)
        # NaN is the same as NaN here.
        wrong = (value != first) & ~((value != value) & (first != first))
        if machine.mask is not None:
            wrong = wrong & machine.mask
        if wrong.any():
            raise UndefinedBehaviour(
                f"expected {what} to be the same for all who hold the matrix"
            )
        value = first
    return value


@dataclass(frozen=True, slots=True)
class Access:
    """Where in memory the elements of a matrix are."""

    coordinates: list[Array]
    active: Array | None
    """Which elements are accessed; all if it is None."""


def access(
    machine: Machine, interpreter: Interpreter, op: coopmatrix.AccessOp
) -> Access:
    """Return where the elements of the matrix of an access are.

    Raises:
        UndefinedBehaviour: those who hold the matrix do not agree on the positions.
    """
    matrix = op.matrix
    active = together(machine, matrix)
    memory, *positions = interpreter.get_values((op.memory, *op.positions))
    assert isinstance(memory, MemRef)
    starts = [
        trailing(agreed(machine, matrix, position, "a position"), 2)
        for position in positions
    ]
    rows, cols = machine.matrices.shape(matrix)
    row = np.arange(rows, dtype=np.int64).reshape(1, 1, 1, rows, 1)
    col = np.arange(cols, dtype=np.int64).reshape(1, 1, 1, 1, cols)
    match machine.matrices.layout(op):
        case Layout.ROW_MAJOR:
            steps, axes = (row, col), (Axis.ROWS, Axis.COLS)
        case Layout.COL_MAJOR:
            steps, axes = (col, row), (Axis.COLS, Axis.ROWS)
        case Layout.PACKED:
            channels = CHANNEL_BITS // matrix.element_bits
            steps = (row // channels, col * channels + row % channels)
            axes = (Axis.ROWS, Axis.COLS)
    along: list[Array] = []
    if op.memory_type.element_type != matrix.element_type:
        # What is contiguous follows its first element, see `coopmatrix_pointees`.
        along, steps = [steps[1]], (steps[0], np.zeros_like(steps[1]))
    last = [start + step for start, step in zip(starts[-2:], steps, strict=True)]
    checked = () if op.checked is None else op.checked.data
    for axis, position, size in zip(axes, last, memory.sizes[-2:], strict=True):
        if axis in checked:
            inside = (position >= 0) & (position < trailing(size, 2))
            active = inside if active is None else active & inside
    return Access([*starts[:-2], *last, *along], active)


def _check_apart(memory: MemRef, where: Access) -> None:
    """Check that the elements of a matrix that is stored are in places of their own.

    Raises:
        UndefinedBehaviour: two are in one: the strides are too small.
    """
    index = linear_index(memory, where.coordinates, where.active)
    places = index[0, 0, 0].reshape(-1)
    if where.active is not None:
        active = np.broadcast_to(where.active, index.shape)
        places = places[active[0, 0, 0].reshape(-1)]
    ordered = np.sort(places)  # np.unique would import numpy.ma
    if np.any(ordered[1:] == ordered[:-1]):
        raise UndefinedBehaviour(
            "overlapping strides: expected a place for each element that is stored to "
            f"{memory}, got several elements in one"
        )


@register_impls
class CoopmatrixMemoryFunctions(SimulatorFunctions):
    """Loads, stores, prefetches, fills and atomic accesses."""

    @impl(coopmatrix.LoadOp)
    def load(
        self, interpreter: Interpreter, op: coopmatrix.LoadOp, args: PythonValues
    ) -> PythonValues:
        """Read a matrix."""
        return (self._loaded(interpreter, op, is_atomic=False),)

    @impl(coopmatrix.AtomicLoadOp)
    def atomic_load(
        self, interpreter: Interpreter, op: coopmatrix.AtomicLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read a matrix."""
        found = self._loaded(interpreter, op, is_atomic=True)
        self._acquire(interpreter, op)
        return (found,)

    def _acquire(self, interpreter: Interpreter, op: coopmatrix.AtomicOp) -> None:
        """Note an ordering that waits for others."""
        (memory,) = interpreter.get_values((op.memory,))
        if op.ordering.data in ACQUIRING:
            self.machine.acquire(memory.buffer)

    def _loaded(
        self, interpreter: Interpreter, op: coopmatrix.AccessOp, *, is_atomic: bool
    ) -> Array:
        """Return the elements in memory, 0 where a check fails."""
        (memory,) = interpreter.get_values((op.memory,))
        if op.memory_type.element_type != op.matrix.element_type:
            memory = in_elements(memory, op.matrix.element_type)
        where = access(self.machine, interpreter, op)
        together = collective_axes(self.machine, op.matrix)
        self._check_aligned(op, memory, where)
        return self.machine.load(
            memory, where.coordinates, where.active, together, is_atomic=is_atomic
        )

    @impl(coopmatrix.StoreOp)
    def store(
        self, interpreter: Interpreter, op: coopmatrix.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write a matrix."""
        self._stored(interpreter, op, op.value, is_atomic=False)
        return ()

    @impl(coopmatrix.AtomicStoreOp)
    def atomic_store(
        self, interpreter: Interpreter, op: coopmatrix.AtomicStoreOp, args: PythonValues
    ) -> PythonValues:
        """Write a matrix."""
        self._stored(interpreter, op, op.value, is_atomic=True)
        return ()

    def _stored(
        self,
        interpreter: Interpreter,
        op: coopmatrix.AccessOp,
        stored: SSAValue,
        *,
        is_atomic: bool,
    ) -> None:
        """Write the elements for which no check fails."""
        value, memory = interpreter.get_values((stored, op.memory))
        if op.memory_type.element_type != op.matrix.element_type:
            memory = in_elements(memory, op.matrix.element_type)
        where = access(self.machine, interpreter, op)
        together = collective_axes(self.machine, op.matrix)
        coordinates, active = where.coordinates, where.active
        self._check_aligned(op, memory, where)
        _check_apart(memory, where)
        self.machine.store(
            memory, coordinates, value, active, together, is_atomic=is_atomic
        )

    def _check_aligned(
        self, op: coopmatrix.AccessOp, memory: MemRef, where: Access
    ) -> None:
        """Check the address of the first element, if the operation says something."""
        if isinstance(op, coopmatrix.PlainAccessOp) and op.alignment is not None:
            first = [x[..., :1, :1] for x in where.coordinates]
            here = None if where.active is None else where.active[..., :1, :1]
            check_aligned(memory, first, here, op.alignment.value.data)

    @impl(coopmatrix.PrefetchOp)
    def prefetch(
        self, interpreter: Interpreter, op: coopmatrix.PrefetchOp, args: PythonValues
    ) -> PythonValues:
        """Do nothing, but check that the lanes agree."""
        access(self.machine, interpreter, op)
        return ()

    @impl(coopmatrix.AtomicAddOp)
    def atomic_add(
        self, interpreter: Interpreter, op: coopmatrix.AtomicAddOp, args: PythonValues
    ) -> PythonValues:
        """Add to memory."""
        return (self._updated(interpreter, op, "add", is_signed=True),)

    @impl(coopmatrix.AtomicMaxOp)
    def atomic_max(
        self, interpreter: Interpreter, op: coopmatrix.AtomicMaxOp, args: PythonValues
    ) -> PythonValues:
        """Leave the greater element in memory."""
        return (self._updated(interpreter, op, "max", op.signed is not None),)

    @impl(coopmatrix.AtomicMinOp)
    def atomic_min(
        self, interpreter: Interpreter, op: coopmatrix.AtomicMinOp, args: PythonValues
    ) -> PythonValues:
        """Leave the smaller element in memory."""
        return (self._updated(interpreter, op, "min", op.signed is not None),)

    def _updated(
        self,
        interpreter: Interpreter,
        op: coopmatrix.AtomicUpdateOp,
        name: str,
        is_signed: bool,
    ) -> Array:
        """Update memory, once for each matrix, and return what was there."""
        value, memory = interpreter.get_values((op.value, op.memory))
        machine, type = self.machine, op.matrix.element_type
        where = access(machine, interpreter, op)
        if name != "add" and is_float(type):
            name += "num"
        combine = combination(machine.numerics, name, is_signed, type)
        together_axes = collective_axes(machine, op.matrix)
        executions = tuple(
            1 if axis in together_axes else size
            for axis, size in zip(
                (GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS), machine.shape, strict=True
            )
        )
        found = update(
            machine,
            memory,
            where.coordinates,
            value,
            where.active,
            combine,
            (*executions, 1, 1),
            together_axes,
        )
        self._acquire(interpreter, op)
        return found

    @impl(coopmatrix.FillOp)
    def fill(
        self, interpreter: Interpreter, op: coopmatrix.FillOp, args: PythonValues
    ) -> PythonValues:
        """Make a matrix of one number, which may be in memory."""
        (value,) = args
        machine, result = self.machine, op.result.type
        assert isinstance(result, MatrixType)
        together(machine, result)
        source = op.value.type
        if isinstance(value, MemRef):
            if isa(source, MemRefType):
                source = element_of(source)
                coordinates = ()
            else:
                source = value.element_type
                coordinates = (np.zeros_like(value.offset),) * len(value.sizes)
            value = machine.load(value, coordinates, machine.mask)
        value = agreed(machine, result, value, "the value of a fill")
        found = convert_number(machine, value, source, result.element_type)
        shape = machine.matrices.shape(result)
        return (np.broadcast_to(trailing(found, 2), (*found.shape, *shape)),)
