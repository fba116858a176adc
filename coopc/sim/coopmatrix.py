"""Simulation of `coopmatrix`: matrices, memory, elements, arithmetic and products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import (
    CHANNEL_BITS,
    Axis,
    Layout,
    MatrixType,
    Operand,
    Scope,
    Use,
    matrix_type,
)
from coopc.dialects.narrow import is_integer, is_nibble
from coopc.sim.arith import (
    SHIFTS,
    call,
    check_shift,
    convert_number,
    outside,
    reduce_axis,
    saturating_add,
)
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import end_region, implements, run_region
from coopc.sim.machine import Machine
from coopc.sim.matrices import MatrixTypes
from coopc.sim.memory import MemRef, check_aligned, in_elements, linear_index
from coopc.sim.values import (
    AXES,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    as_integers,
    bits_of,
    components,
    is_float,
    leading,
    nibbles,
    number,
    shape_of,
    trailing,
    wrapped,
)


def together(machine: Machine, matrix: MatrixType) -> Array | None:
    """Return who executes an operation on a whole matrix, with axes for its elements.

    Raises:
        UndefinedBehaviour: only some of those who hold it do.
    """
    mask = machine.uniform_mask(*machine.matrices.axes(matrix))
    return None if mask is None else trailing(mask, 2)


def agreed(machine: Machine, matrix: MatrixType, value: Array, what: str) -> Array:
    """Return a number that those who hold a matrix agree on.

    Raises:
        UndefinedBehaviour: they do not agree.
    """
    return machine.agreed(value, what, *machine.matrices.axes(matrix))


# Memory.


def access(
    machine: Machine, op: coopmatrix.AccessOp
) -> tuple[MemRef, list[Array], Array | None]:
    """Return memory, the coordinates there of elements, and which are accessed.

    Raises:
        UndefinedBehaviour: those who hold the matrix do not agree on the positions, or
            the memory is not aligned as the operation says.
    """
    matrix = op.matrix
    active = together(machine, matrix)
    memory: MemRef = machine.environment[op.memory]
    starts = [
        trailing(agreed(machine, matrix, machine.environment[x], "a position"), 2)
        for x in op.positions
    ]
    row, col = components(machine.matrices.shape(matrix))
    match machine.matrices.layout(op):
        case Layout.ROW_MAJOR:
            steps, axes = (row, col), (Axis.ROWS, Axis.COLS)
        case Layout.COL_MAJOR:
            steps, axes = (col, row), (Axis.COLS, Axis.ROWS)
        case Layout.PACKED:
            channels = CHANNEL_BITS // matrix.element_bits
            steps = (row // channels, col * channels + row % channels)
            axes = (Axis.ROWS, Axis.COLS)
        case Layout.ROW_BLOCKED | Layout.COL_BLOCKED:
            assert isinstance(op, coopmatrix.PlainAccessOp), op
            steps, axes = op.in_blocks(row, col), (Axis.ROWS, Axis.COLS)
    sizes, along = memory.sizes[-2:], list[Array]()
    if _is_packed(op):
        steps = steps[0], steps[1] // 2
    elif op.memory_type.element_type != matrix.element_type:
        # What is contiguous follows its first element, see `coopmatrix_pointees`.
        along, steps = [steps[1]], (steps[0], np.zeros_like(steps[1]))
        memory = in_elements(memory, matrix.element_type)
    last = [start + step for start, step in zip(starts[-2:], steps, strict=True)]
    checked = () if op.checked is None else op.checked.data
    for axis, position, size in zip(axes, last, sizes, strict=True):
        if axis in checked:
            inside = (position >= 0) & (position < trailing(size, 2))
            active = inside if active is None else active & inside
    coordinates = [*starts[:-2], *last, *along]
    if isinstance(op, coopmatrix.LoadOp | coopmatrix.StoreOp) and op.alignment:
        first = [x[..., :1, :1] for x in coordinates]
        here = None if active is None else active[..., :1, :1]
        check_aligned(memory, first, here, op.alignment.value.data)
    return memory, coordinates, active


def _is_packed(op: coopmatrix.AccessOp) -> bool:
    """Whether memory of other numbers holds two elements of 4 bits in a byte."""
    element = op.matrix.element_type
    return is_nibble(element) and op.memory_type.element_type != element


def _packed_axis(machine: Machine, op: coopmatrix.AccessOp) -> int:
    return -1 if machine.matrices.layout(op) is Layout.ROW_MAJOR else -2


def _halves(array: Array, axis: int) -> tuple[Array, Array]:
    """Return the even and the odd elements along an axis, unless they are the same."""
    if array.shape[axis] == 1:
        return array, array
    if axis == -1:
        return array[..., ::2], array[..., 1::2]
    return array[..., ::2, :], array[..., 1::2, :]


def _check_apart(
    memory: MemRef, coordinates: list[Array], active: Array | None
) -> None:
    """Check that the elements of a matrix that is stored are in places of their own.

    Raises:
        UndefinedBehaviour: two are in one: the strides are too small.
    """
    index = linear_index(memory, coordinates, active)
    places = index[0, 0, 0].reshape(-1)
    if active is not None:
        active = np.broadcast_to(active, index.shape)
        places = places[active[0, 0, 0].reshape(-1)]
    ordered = np.sort(places)  # np.unique would import numpy.ma
    if np.any(ordered[1:] == ordered[:-1]):
        raise UndefinedBehaviour(
            "overlapping strides: expected a place for each element that is stored to "
            f"{memory}, got several elements in one"
        )


@implements(coopmatrix.LoadOp, coopmatrix.AtomicLoadOp)
def load(machine: Machine, op: coopmatrix.AccessOp, *_: Any) -> Array:
    """Read a matrix, 0 where a check fails."""
    memory, coordinates, active = access(machine, op)
    axes = machine.matrices.axes(op.matrix)
    is_atomic = isinstance(op, coopmatrix.AtomicLoadOp)
    numbers = None if _is_packed(op) else machine.matrices.elements(op.matrix)
    found = machine.load(
        memory, coordinates, active, axes, elements=numbers, is_atomic=is_atomic
    )
    if _is_packed(op):
        axis = _packed_axis(machine, op)
        first = found[..., ::2] if axis == -1 else found[..., ::2, :]
        element = op.matrix.element_type
        codes = nibbles(first, axis, is_integer(element))
        codes = codes[..., : found.shape[-2], : found.shape[-1]]
        found = machine.numerics.from_memory(codes, element)
    if isinstance(op, coopmatrix.AtomicLoadOp):
        machine.acquire(memory.buffer, op.ordering.data)
    return found


@implements(coopmatrix.StoreOp, coopmatrix.AtomicStoreOp)
def store(
    machine: Machine, op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp, *_: Any
) -> None:
    """Write the elements of a matrix for which no check fails."""
    memory, coordinates, active = access(machine, op)
    axes = machine.matrices.axes(op.matrix)
    is_atomic = isinstance(op, coopmatrix.AtomicStoreOp)
    value = machine.environment[op.value]
    if _is_packed(op):
        axis = _packed_axis(machine, op)
        if value.shape[axis] % 2:
            raise UndefinedBehaviour(
                "expected whole bytes to be stored, got half of one"
            )
        codes = machine.numerics.to_memory(value, op.matrix.element_type)
        low, high = _halves(codes.view(np.uint8), axis)
        value = (low & np.uint8(15) | high << np.uint8(4)).view(np.int8)
        coordinates = [_halves(x, axis)[0] for x in coordinates]
    _check_apart(memory, coordinates, active)
    numbers = None if _is_packed(op) else machine.matrices.elements(op.matrix)
    machine.store(
        memory, coordinates, value, active, axes, elements=numbers, is_atomic=is_atomic
    )


@implements(coopmatrix.PrefetchOp)
def prefetch(machine: Machine, op: coopmatrix.PrefetchOp, *_: Any) -> None:
    """Do nothing, but check that the lanes agree."""
    access(machine, op)


@implements(coopmatrix.AtomicAddOp, coopmatrix.AtomicMaxOp, coopmatrix.AtomicMinOp)
def atomic_update(
    machine: Machine,
    op: coopmatrix.AtomicAddOp | coopmatrix.AtomicMaxOp | coopmatrix.AtomicMinOp,
    *_: Any,
) -> Array:
    """Update memory, once for each matrix, and give what was there."""
    memory, coordinates, active = access(machine, op)
    axes, type = machine.matrices.axes(op.matrix), op.matrix.element_type
    name = op.name.removeprefix("coopmatrix.atomic_")
    is_signed = isinstance(op, coopmatrix.AtomicAddOp) or op.signed is not None

    def combine(old: Array, value: Array) -> Array:
        return call(machine, name, type, old, value, is_signed=is_signed)

    sizes = (1 if axis in axes else size for axis, size in enumerate(machine.shape))
    value = machine.environment[op.value]
    found = machine.update(
        memory,
        coordinates,
        value,
        active,
        combine,
        (*sizes, 1, 1),
        axes,
        machine.matrices.elements(op.matrix),
    )
    machine.acquire(memory.buffer, op.ordering.data)
    return found


@implements(coopmatrix.FillOp)
def fill(machine: Machine, op: coopmatrix.FillOp, value: Array | MemRef) -> Array:
    result, source = matrix_type(op.result), op.value.type
    together(machine, result)
    if isinstance(value, MemRef):
        coordinates: tuple[Array, ...] = ()
        if isa(source, MemRefType):
            source = source.get_element_type()
        else:
            source = value.element_type
            coordinates = (np.zeros_like(value.offset),) * len(value.sizes)
        value = machine.load(value, coordinates, machine.mask)
    value = agreed(machine, result, value, "the value of a fill")
    found = convert_number(machine, value, source, result.element_type)
    shape = machine.matrices.shape(result)
    return np.broadcast_to(trailing(found, 2), (*found.shape, *shape))


# The elements that a work-item owns, and row slices, which do not depend on owners.


def elements_at(machine: Machine, type: Attribute, value: Array, index: Array) -> Array:
    """Return elements of matrices by their row-major numbers; 0 where there are none.

    Values are (G, T, L, M, N), with an index for each work-item, or several.
    """
    flat = value.reshape(*value.shape[:AXES], -1)
    inside = (index >= 0) & (index < flat.shape[-1])
    here = leading(flat, index.ndim - AXES)
    found: Array = flat[(*here, np.where(inside, index, 0))]
    zero = machine.numerics.constant(0, type)
    return np.where(inside, found, zero.astype(found.dtype))


def with_elements(
    machine: Machine,
    matrix: MatrixType,
    value: Array,
    index: Array,
    elements: Array,
    chosen: Array | None = None,
) -> Array:
    """Return matrices with other elements, where somebody is active who sets them.

    Numbers that the matrix does not have are left out; all are set if `chosen` is None.
    """
    shape = value.shape[AXES:]
    inside = (index >= 0) & (index < shape[0] * shape[1])
    allowed = machine.and_active(inside if chosen is None else inside & chosen)
    assert allowed is not None
    sizes = np.broadcast_shapes(index.shape, elements.shape, allowed.shape)
    shared = machine.matrices.axes(matrix)
    own = (1 if axis in shared else sizes[axis] for axis in range(AXES))
    lead = np.broadcast_shapes(value.shape[:AXES], tuple(own))
    found = np.array(np.broadcast_to(value, lead + shape)).reshape(*lead, -1)
    *here, allowed, elements = np.broadcast_arrays(
        *leading(found, index.ndim - AXES), index, allowed, elements
    )
    found[tuple(x[allowed] for x in here)] = elements[allowed]
    return found.reshape(lead + shape)


def _slots(
    machine: Machine, matrix: MatrixType, index: Array, strict: bool
) -> tuple[Array, Array]:
    """Return row and column in a slot of each work-item; M and N of padding.

    Raises:
        UndefinedBehaviour: `strict`, and somebody has no such slot.
    """
    ownership = machine.matrices.ownership(matrix)
    wrong = (index < 0) | (index >= ownership.components)
    if strict:
        what = f"a slot below {ownership.components}, the length of {matrix}"
        machine.refuse(wrong, f"expected {what}", index)
    _, owner = machine.holder(matrix)
    index = np.where(wrong, 0, index)
    return ownership.rows[index, owner], ownership.cols[index, owner]


def _number_of_slot(machine: Machine, matrix: MatrixType, index: Array) -> Array:
    """Return the row-major number of the element in a slot, too large for padding."""
    row, col = _slots(machine, matrix, index, strict=True)
    return row * machine.matrices.shape(matrix)[1] + col


@implements(coopmatrix.SpecValueOp)
def spec_value(machine: Machine, op: coopmatrix.SpecValueOp) -> Array:
    return number(machine.matrices.constants[op.constant.root_reference.data])


@implements(coopmatrix.LengthOp)
def length(machine: Machine, op: coopmatrix.LengthOp) -> Array:
    return number(machine.matrices.ownership(op.matrix_type).components)


@implements(coopmatrix.ExtractOp)
def extract(
    machine: Machine, op: coopmatrix.ExtractOp, value: Array, index: Array
) -> Array:
    matrix = matrix_type(op.matrix)
    number = _number_of_slot(machine, matrix, index)
    return elements_at(machine, matrix.element_type, value, number)


@implements(coopmatrix.InsertOp)
def insert(
    machine: Machine,
    op: coopmatrix.InsertOp,
    element: Array,
    value: Array,
    index: Array,
) -> Array:
    """Replace the element in a slot; padding stays what it is."""
    machine.refuse_in_element()
    matrix = matrix_type(op.matrix)
    place = _number_of_slot(machine, matrix, index)
    return with_elements(machine, matrix, value, place, element)


@implements(coopmatrix.CoordOp)
def coord(
    machine: Machine, op: coopmatrix.CoordOp, _: Array, index: Array
) -> tuple[Array, Array]:
    return _slots(machine, matrix_type(op.matrix), index, strict=False)


@implements(coopmatrix.ExtractRowSliceOp)
def extract_row_slice(
    machine: Machine, op: coopmatrix.ExtractRowSliceOp, value: Array, offset: Array
) -> Array:
    """Give consecutive elements, 0 beyond the matrix."""
    matrix = matrix_type(op.matrix)
    together(machine, matrix)
    offset = agreed(machine, matrix, offset, "the offset of a row slice")
    (step,) = components(shape_of(op.result.type))
    return elements_at(machine, matrix.element_type, value, trailing(offset, 1) + step)


@implements(coopmatrix.InsertRowSliceOp)
def insert_row_slice(
    machine: Machine,
    op: coopmatrix.InsertRowSliceOp,
    slice: Array,
    value: Array,
    offset: Array,
    mask: Array | None = None,
) -> Array:
    """Replace consecutive elements that the matrix has and the mask allows."""
    matrix = matrix_type(op.matrix)
    together(machine, matrix)
    offset = agreed(machine, matrix, offset, "the offset of a row slice")
    slice = agreed(machine, matrix, slice, "a row slice")
    if mask is not None:
        mask = agreed(machine, matrix, mask, "the mask of a row slice")
    index = trailing(offset, 1) + components(slice.shape[AXES:])[0]
    return with_elements(machine, matrix, value, index, slice, mask)


# Arithmetic on each element, conversion, reduction.


@implements(
    *(
        op
        for op in coopmatrix.Coopmatrix.operations
        if issubclass(op, coopmatrix.ElementwiseOp)
    )
)
def elementwise(machine: Machine, op: coopmatrix.ElementwiseOp, *args: Array) -> Array:
    """Do the same for each element, whoever owns it."""
    together(machine, op.matrix)
    name, type = op.name.removeprefix("coopmatrix."), op.matrix.element_type
    if isinstance(op, coopmatrix.ScaleOp):
        scalar = agreed(machine, op.matrix, args[1], "the scalar")
        name, args = "mul", (args[0], trailing(scalar, 2))
    if name in SHIFTS:
        check_shift(machine.refuse, args[1], type)
    is_signed = isinstance(op, coopmatrix.AbsOp) or (
        isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None
    )
    return call(machine, name, type, *args, is_signed=is_signed)


@implements(coopmatrix.ConvertOp)
def convert(machine: Machine, op: coopmatrix.ConvertOp, value: Array) -> Array:
    """Convert the elements; the use is nothing that a value has."""
    source, result = matrix_type(op.value), matrix_type(op.result)
    together(machine, source)
    types = source.element_type, result.element_type
    return convert_number(machine, value, *types, op.signed is not None)


@implements(coopmatrix.BitcastOp)
def bitcast(machine: Machine, op: coopmatrix.BitcastOp, value: Array) -> Array:
    source, result = matrix_type(op.value), matrix_type(op.result)
    together(machine, source)
    return machine.numerics.bitcast(value, source.element_type, result.element_type)


@implements(coopmatrix.ReduceOp)
def reduce(machine: Machine, op: coopmatrix.ReduceOp, value: Array) -> Array:
    """Reduce each row of a window, then its column, in ascending order."""
    matrix = matrix_type(op.value)
    together(machine, matrix)
    *lanes, rows, cols = value.shape
    height, width = op.axis.data.window(rows, cols)
    windows = *lanes, rows // height, height, cols // width, width
    found = value.reshape(windows)
    kind, is_signed = op.kind.data, op.signed is not None
    for axis in (found.ndim - 1, found.ndim - 3):
        found = reduce_axis(
            machine, kind, matrix.element_type, found, axis, is_signed=is_signed
        )
    if op.broadcast is not None:
        return np.broadcast_to(found, windows).reshape(value.shape)
    return found.reshape(*lanes, rows // height, cols // width)


@implements(coopmatrix.TransposeOp)
def transpose(machine: Machine, op: coopmatrix.TransposeOp, value: Array) -> Array:
    together(machine, matrix_type(op.value))
    return value.swapaxes(-1, -2)


# Products: of floats see `coopc.sim.numerics`, of integers below.


@implements(coopmatrix.MulAddOp)
def mul_add(
    machine: Machine, op: coopmatrix.MulAddOp, a: Array, b: Array, c: Array
) -> Array:
    types = {key: type.element_type for key, type in op.matrices.items()}
    together(machine, op.matrices[Operand.A])
    verify_specialised(machine.matrices, op)
    if is_float(types[Operand.RESULT]):
        of_a, of_b, of_c = types[Operand.A], types[Operand.B], types[Operand.C]
        of_all = (of_a, of_b, of_c, types[Operand.RESULT])
        return machine.numerics.multiply_add((a, b, c), of_all)
    # Integers are extended to the width of the result by their own signs; a product is
    # its low bits; only the addition of c saturates, by the sign of the result.
    if op.saturating is not None:
        check_product(machine, op, a, b)
    result = types[Operand.RESULT]
    a, b, c = (
        wrapped(as_integers(value, types[key], op.is_signed(key)), result)
        for value, key in ((a, Operand.A), (b, Operand.B), (c, Operand.C))
    )
    product = wrapped(np.matmul(a, b), result)
    if op.saturating is None:
        return wrapped(product + c, result)
    return saturating_add(product, c, result, op.is_signed(Operand.RESULT))


def verify_specialised(matrices: MatrixTypes, op: coopmatrix.MulAddOp) -> None:
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
    x, y = (
        as_integers(value, op.matrices[key].element_type, op.is_signed(key))
        for value, key in ((a, Operand.A), (b, Operand.B))
    )
    result = op.matrices[Operand.RESULT].element_type
    is_signed = op.is_signed(Operand.RESULT)
    sizes = np.matmul(*(np.abs(z.astype(np.float64)) for z in (x, y)))
    is_small = bool((sizes < 2.0 ** (bits_of(result) - 1)).all())
    if is_small and (is_signed or min(x.min(), y.min()) >= 0):
        return
    exact: Array = np.matmul(x.astype(object), y.astype(object))
    if (wrong := outside(exact, result, is_signed)).any():
        found = exact[wrong].flat[0]
        reason = f"overflow of a product whose sum saturates: {found} is no {result}"
        machine.refuse(wrong, reason)


# `coopmatrix.apply`: elements take the place of lanes.
#
# The body runs once, on an axis of all elements where otherwise the lanes are.  What it
# uses from outside is what the owner of each element has.

implements(coopmatrix.YieldOp)(end_region)


@implements(coopmatrix.ApplyOp)
def apply(machine: Machine, op: coopmatrix.ApplyOp, value: Array, *_: Any) -> Array:
    """Run the body for all elements at once."""
    matrix = matrix_type(op.value)
    together(machine, matrix)
    if machine.matrices.scope(matrix) == Scope.INVOCATION:
        # One of each work-item's own: with all lanes on their axis.
        shape = list(value.shape)
        shape[LANE_AXIS] = machine.launch.subgroup_size
        value = np.broadcast_to(value, shape)
    rows, cols = machine.matrices.shape(matrix)
    subgroup, lane = _owners(machine, matrix)
    outside = {
        outer: machine.environment[outer]
        for inner in op.body.walk()
        for outer in inner.operands
        if not op.body.is_ancestor(outer.owner)
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
        for outer, seen in outside.items():
            machine.environment[outer] = _of_owners(seen, subgroup, lane)
        (found,) = run_region(machine, op.body, *arguments)
    finally:
        machine.environment.update(outside)
        machine.subgroup, machine.lane = before
        machine.in_element, machine.mask = False, mask
    groups, subgroups, _lanes = found.shape
    whole = np.broadcast_to(found, (groups, subgroups, lane.shape[LANE_AXIS]))
    return whole.reshape(groups, subgroups, -1, rows, cols)


def _owners(machine: Machine, matrix: MatrixType) -> tuple[Array, Array]:
    """Return subgroup and lane of the owner of each element, on the lanes' axis."""
    rows, cols = machine.matrices.shape(matrix)
    owners = machine.matrices.ownership(matrix).lanes.reshape(1, 1, -1)
    match machine.matrices.scope(matrix):
        case Scope.WORKGROUP:
            lanes = machine.launch.subgroup_size
            return owners // lanes, owners % lanes
        case Scope.INVOCATION:
            return machine.subgroup, np.repeat(machine.lane, rows * cols, LANE_AXIS)
        case _:
            return machine.subgroup, owners


def _of_owners(value: Any, subgroup: Array, lane: Array) -> Any:
    """Return a value with elements on the axis of lanes: what their owners have."""
    if isinstance(value, MemRef):
        return replace(
            value,
            offset=_of_owners(value.offset, subgroup, lane),
            sizes=tuple(_of_owners(x, subgroup, lane) for x in value.sizes),
            strides=tuple(_of_owners(x, subgroup, lane) for x in value.strides),
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
