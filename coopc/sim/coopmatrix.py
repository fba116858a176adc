"""Simulation of `coopmatrix`: matrices, memory, elements, arithmetic and products."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Operation, Region, SSAValue
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import (
    CHANNEL_BITS,
    Axis,
    Layout,
    MatrixType,
    Operand,
    Reduction,
    Scope,
    Use,
    matrix_type,
)
from coopc.dialects.simt import ReduceKind
from coopc.sim import arith
from coopc.sim.arith import IntegerFunction, Run, convert_number, saturating_add
from coopc.sim.atomic import ACQUIRING, combination, update
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import Simulator, SimulatorFunctions, ending
from coopc.sim.machine import Machine
from coopc.sim.matrices import Matrices
from coopc.sim.memory import MemRef, check_aligned, in_elements, linear_index
from coopc.sim.simt import reduce_axis
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    as_integers,
    bits_of,
    choose,
    element_of,
    is_float,
    number,
    shape_of,
    signed,
    trailing,
    unsigned,
    value_dtype,
    wrapped,
)
from coopc.sim.values import as_integers as by_sign


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


# Simulation of `coopmatrix`: the elements that a work-item owns, and row slices.


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


# Simulation of `coopmatrix`: arithmetic on each element, conversion, reduction.

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
            y = arith.check_division(self.machine, x, y, type)
        if is_shift:
            arith.check_shift(self.machine.refuse, args[1], type)
        return (wrapped(compute(x, y), type),)

    return run


@register_impls
class CoopmatrixElementwiseFunctions(SimulatorFunctions):
    """The same for each element, whoever owns it."""

    add = binary(coopmatrix.AddOp, "add", np.add)
    sub = binary(coopmatrix.SubOp, "sub", np.subtract)
    mul = binary(coopmatrix.MulOp, "mul", np.multiply)
    div = binary(coopmatrix.DivOp, "div", arith.divide, is_division=True)
    rem = binary(coopmatrix.RemOp, "rem", arith.remainder, is_division=True)
    min = binary(coopmatrix.MinOp, "minnum", np.minimum)
    max = binary(coopmatrix.MaxOp, "maxnum", np.maximum)
    and_ = binary(coopmatrix.AndOp, "", np.bitwise_and)
    or_ = binary(coopmatrix.OrOp, "", np.bitwise_or)
    xor = binary(coopmatrix.XorOp, "", np.bitwise_xor)
    shl = binary(coopmatrix.ShlOp, "", arith.shift_left, is_shift=True)
    shr = binary(coopmatrix.ShrOp, "", arith.shift_right, is_shift=True)

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


# Simulation of `coopmatrix`: products of matrices.


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
        as_integers(value, types[key], op.is_signed(key))
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
        wrapped(as_integers(value, types[key], op.is_signed(key)), result).astype(dtype)
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


# Simulation of `coopmatrix.apply`: elements take the place of lanes.
#
# The body runs once, on an axis of all elements where otherwise the lanes are.  What it
# uses from outside is what the owner of each element has.


@register_impls
class CoopmatrixWholeFunctions(SimulatorFunctions):
    """`apply` and its end."""

    yield_element = ending(coopmatrix.YieldOp)

    @impl(coopmatrix.ApplyOp)
    def apply(
        self, interpreter: Interpreter, op: coopmatrix.ApplyOp, args: PythonValues
    ) -> PythonValues:
        """Run the body for all elements at once."""
        assert isinstance(interpreter, Simulator)
        machine, matrix = self.machine, matrix_type(op.value)
        together(machine, matrix)
        value = self._with_own_elements(matrix, args[0])
        rows, cols = machine.matrices.shape(matrix)
        subgroup, lane = self._owners(matrix)
        outside = captured_values(op.body)
        captured = {
            name: _of_owners(found, subgroup, lane)
            for name, found in zip(
                outside, interpreter.get_values(outside), strict=True
            )
        }
        number = np.arange(lane.shape[LANE_AXIS], dtype=np.int64) % (rows * cols)
        arguments = (
            (number // cols).reshape(1, 1, -1),
            (number % cols).reshape(1, 1, -1),
            value.reshape(*value.shape[:LANE_AXIS], -1),
        )
        before = machine.subgroup, machine.lane
        mask = machine.mask
        machine.subgroup, machine.lane, machine.in_element = subgroup, lane, True
        machine.mask = None if mask is None else _of_owners(mask, subgroup, lane)
        try:
            with interpreter.replacing(captured):
                (found,) = interpreter.run_ssacfg_region(op.body, arguments)
        finally:
            machine.subgroup, machine.lane = before
            machine.in_element, machine.mask = False, mask
        groups, subgroups, _ = found.shape
        whole = np.broadcast_to(found, (groups, subgroups, lane.shape[LANE_AXIS]))
        return (whole.reshape(groups, subgroups, -1, rows, cols),)

    def _with_own_elements(self, matrix: MatrixType, value: Array) -> Array:
        """Return a matrix; one of each work-item's own with all lanes on their axis."""
        if self.machine.matrices.scope(matrix) != Scope.INVOCATION:
            return value
        shape = list(value.shape)
        shape[LANE_AXIS] = self.machine.launch.subgroup_size
        return np.broadcast_to(value, shape)

    def _owners(self, matrix: MatrixType) -> tuple[Array, Array]:
        """Return subgroup and lane of the owner of each element, on the lanes' axis."""
        machine = self.machine
        rows, cols = machine.matrices.shape(matrix)
        owners = machine.matrices.ownership(matrix).lanes.reshape(1, 1, -1)
        match machine.matrices.scope(matrix):
            case Scope.WORKGROUP:
                lanes = machine.launch.subgroup_size
                return owners // lanes, owners % lanes
            case Scope.INVOCATION:
                lane = np.repeat(machine.lane, rows * cols, LANE_AXIS)
                return machine.subgroup, lane
            case _:
                return machine.subgroup, owners


def captured_values(region: Region) -> list[SSAValue]:
    """Return what a region uses from outside."""
    inside: set[SSAValue] = set()
    blocks = [*region.blocks]
    for op in region.walk():
        inside.update(op.results)
        blocks += (block for nested in op.regions for block in nested.blocks)
    for block in blocks:
        inside.update(block.args)
    used = (value for op in region.walk() for value in op.operands)
    return list(dict.fromkeys(value for value in used if value not in inside))


def _of_owners(value: Any, subgroup: Array, lane: Array) -> Any:
    """Return a value with elements on the axis of lanes: what their owners have."""
    if isinstance(value, MemRef):
        return replace(
            value,
            offset=_of_owners(value.offset, subgroup, lane),
            sizes=_all_of_owners(value.sizes, subgroup, lane),
            strides=_all_of_owners(value.strides, subgroup, lane),
        )
    array: Array = value
    if array.shape[LANE_AXIS] == 1 and (
        array.shape[SUBGROUP_AXIS] == 1 or subgroup.shape[LANE_AXIS] == 1
    ):
        return array
    if subgroup.shape[LANE_AXIS] == 1:
        return array[:, :, lane[0, 0]]
    own = lane[0, 0] if array.shape[LANE_AXIS] > 1 else np.zeros_like(lane[0, 0])
    one = subgroup[0, 0] if array.shape[SUBGROUP_AXIS] > 1 else np.zeros_like(own)
    return array[:, one, own][:, None]


def _all_of_owners(
    values: Iterable[Array], subgroup: Array, lane: Array
) -> tuple[Array, ...]:
    return tuple(_of_owners(value, subgroup, lane) for value in values)
