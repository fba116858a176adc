"""Simulation of `tt`: tensors whole, one of each work-group.

Encodings say where elements are, not what they are: nothing here looks at them.  A
scalar pointer is a memref of rank 0, a tensor of pointers one whose offset is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation

from coopc.dialects import tt, ttig
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.arithmetic import function_of
from coopc.dialects.tt.types import (
    InputPrecision,
    Padding,
    ProgramAxis,
    PropagateNan,
    TensorDescType,
    block_io,
    member,
    shape_of,
)
from coopc.dialects.tt.types import bits_of as element_bits
from coopc.sim.arith import high_product
from coopc.sim.atomic import combination, update
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions, ending
from coopc.sim.memory import MemRef
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    bits_of,
    is_float,
    trailing,
    unsigned,
    wrapped,
)
from coopc.sim.xe import TF32_DROPPED

_AXES = {ProgramAxis.X: 0, ProgramAxis.Y: 1, ProgramAxis.Z: 2}


@register_impls
class TtFunctions(SimulatorFunctions):
    """Programs, shapes, products and reductions."""

    leave = ending(tt.ReturnOp)
    give = ending(tt.ReduceReturnOp)
    give_scanned = ending(tt.ScanReturnOp)

    @impl(tt.CallOp)
    def call(
        self, interpreter: Interpreter, op: tt.CallOp, args: PythonValues
    ) -> PythonValues:
        """Run the function that is called: it is one of `func` by then."""
        callee = interpreter.get_op_for_symbol(op.callee)
        assert isinstance(callee, FuncOp), op  # the operation's verifier has looked
        return interpreter.run_ssacfg_region(callee.body, args)

    @impl(tt.GetProgramIdOp)
    def program_id(
        self, interpreter: Interpreter, op: tt.GetProgramIdOp, args: PythonValues
    ) -> PythonValues:
        """Give the position of the work-group, x fastest."""
        axis, grid = _AXES[op.program_axis], self.machine.launch.grid
        before = int(np.prod(grid[:axis], dtype=np.int64))
        found = self.machine.group // before % grid[axis]
        return (found.astype(np.int32),)

    @impl(tt.GetNumProgramsOp)
    def num_programs(
        self, interpreter: Interpreter, op: tt.GetNumProgramsOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of work-groups along an axis."""
        size = self.machine.launch.grid[_AXES[op.program_axis]]
        return (np.full((1,) * AXES, size, np.int32),)

    @impl(tt.MakeRangeOp)
    def make_range(
        self, interpreter: Interpreter, op: tt.MakeRangeOp, args: PythonValues
    ) -> PythonValues:
        """Count."""
        found = np.arange(op.start.value.data, op.end.value.data, dtype=np.int32)
        return (found.reshape((1,) * AXES + found.shape),)

    @impl(tt.SplatOp)
    def splat(
        self, interpreter: Interpreter, op: tt.SplatOp, args: PythonValues
    ) -> PythonValues:
        """One value everywhere."""
        (value,) = args
        shape = shape_of(op.result.type)
        if isinstance(value, MemRef):
            return (moved(value, filled(value.offset, shape)),)
        return (filled(value, shape),)

    @impl(tt.ExpandDimsOp)
    def expand_dims(
        self, interpreter: Interpreter, op: tt.ExpandDimsOp, args: PythonValues
    ) -> PythonValues:
        """Put in a dimension."""
        axis = AXES + op.axis.value.data
        return (each(args[0], lambda x: np.expand_dims(x, axis)),)

    @impl(tt.BroadcastOp)
    def broadcast(
        self, interpreter: Interpreter, op: tt.BroadcastOp, args: PythonValues
    ) -> PythonValues:
        """Repeat along dimensions of size 1."""
        shape = shape_of(op.result.type)
        return (each(args[0], lambda x: np.broadcast_to(x, x.shape[:AXES] + shape)),)

    @impl(tt.ReshapeOp)
    def reshape(
        self, interpreter: Interpreter, op: tt.ReshapeOp, args: PythonValues
    ) -> PythonValues:
        """Take the elements in row-major order."""
        shape = shape_of(op.result.type)
        return (each(args[0], lambda x: x.reshape(x.shape[:AXES] + shape)),)

    @impl(tt.JoinOp)
    def join(
        self, interpreter: Interpreter, op: tt.JoinOp, args: PythonValues
    ) -> PythonValues:
        """Put elements side by side."""
        return (np.stack(np.broadcast_arrays(*args), axis=-1),)

    @impl(tt.SplitOp)
    def split(
        self, interpreter: Interpreter, op: tt.SplitOp, args: PythonValues
    ) -> PythonValues:
        """Take elements apart."""
        return args[0][..., 0], args[0][..., 1]

    @impl(tt.CatOp)
    def cat(
        self, interpreter: Interpreter, op: tt.CatOp, args: PythonValues
    ) -> PythonValues:
        """Put one tensor behind the other."""
        return (np.concatenate(np.broadcast_arrays(*args), axis=AXES),)

    @impl(tt.UnsplatOp)
    def unsplat(
        self, interpreter: Interpreter, op: tt.UnsplatOp, args: PythonValues
    ) -> PythonValues:
        """Take the only element."""
        return (each(args[0], lambda x: x.reshape(x.shape[:AXES])),)

    @impl(tt.GatherOp)
    def gather(
        self, interpreter: Interpreter, op: tt.GatherOp, args: PythonValues
    ) -> PythonValues:
        """Pick elements by number.

        Raises:
            UndefinedBehaviour: there is no element of a number.
        """
        src, indices = args
        axis = AXES + op.axis.value.data
        size = src.shape[axis]
        if ((indices < 0) | (indices >= size)).any():
            raise UndefinedBehaviour(f"expected indices of 0 to {size - 1}")
        shape = np.broadcast_shapes(src.shape[:AXES], indices.shape[:AXES])
        indices = np.broadcast_to(indices, shape + indices.shape[AXES:])
        kept = (slice(0, n) for n in indices.shape[AXES:axis])
        rest = (slice(0, n) for n in indices.shape[axis + 1 :])
        src = np.broadcast_to(src, shape + src.shape[AXES:])
        src = src[..., *kept, slice(None), *rest]
        return (np.take_along_axis(src, indices.astype(np.int64), axis),)

    @impl(tt.TransOp)
    def trans(
        self, interpreter: Interpreter, op: tt.TransOp, args: PythonValues
    ) -> PythonValues:
        """Put the dimensions in another order."""
        order = (*range(AXES), *(AXES + dim for dim in op.permutation))
        return (each(args[0], lambda x: x.transpose(order)),)

    @impl(tt.FpToFpOp)
    def fp_to_fp(
        self, interpreter: Interpreter, op: tt.FpToFpOp, args: PythonValues
    ) -> PythonValues:
        """Round to another format."""
        source, result = element_of(op.src.type), element_of(op.result.type)
        return (self.machine.numerics.convert(args[0], source, result),)

    @impl(tt.DotOp)
    def dot(
        self, interpreter: Interpreter, op: tt.DotOp, args: PythonValues
    ) -> PythonValues:
        """Multiply; f32 as tf32 where that is asked for."""
        a, b, c = args
        types = [element_of(value.type) for value in (op.a, op.b, op.c, op.d)]
        if not is_float(types[3]):
            wide = (x.astype(c.dtype) for x in (a, b))
            return (wrapped(np.matmul(*wide) + c, types[3]),)
        numerics = self.machine.numerics
        as_tf32 = op.precision is InputPrecision.TF32
        if isinstance(types[0], Float32Type) and as_tf32:
            a, b = (numerics.cut(x, TF32_DROPPED) for x in (a, b))
        of_four = (types[0], types[1], types[2], types[3])
        return (numerics.multiply_add((a, b, c), of_four),)

    @impl(tt.ReduceOp)
    def reduce(
        self, interpreter: Interpreter, op: tt.ReduceOp, args: PythonValues
    ) -> PythonValues:
        """Combine along an axis, halves with each other."""
        axis = AXES + op.axis.value.data
        values = list(args)
        while (size := values[0].shape[axis]) > 1:
            half = size // 2
            low = [x.take(range(half), axis) for x in values]
            high = [x.take(range(half, 2 * half), axis) for x in values]
            found = interpreter.run_ssacfg_region(op.combine, (*low, *high))
            rest = [x.take(range(2 * half, size), axis) for x in values]
            pairs = zip(found, rest, strict=True)
            values = [np.concatenate(pair, axis) for pair in pairs]
        return tuple(x.take(0, axis) for x in values)

    @impl(tt.ScanOp)
    def scan(
        self, interpreter: Interpreter, op: tt.ScanOp, args: PythonValues
    ) -> PythonValues:
        """Combine along an axis, each element with what is before it."""
        axis, values = AXES + op.axis.value.data, list(args)
        if is_reversed := bool(op.reverse.value.data):
            values = [np.flip(x, axis) for x in values]
        sums = [x.take([0], axis) for x in values]
        found = [[x] for x in sums]
        for at in range(1, values[0].shape[axis]):
            new = [x.take([at], axis) for x in values]
            sums = interpreter.run_ssacfg_region(op.combine, (*sums, *new))
            for parts, sum in zip(found, sums, strict=True):
                parts.append(sum)
        whole = [np.concatenate(parts, axis) for parts in found]
        return tuple(np.flip(x, axis) if is_reversed else x for x in whole)

    @impl(tt.AddPtrOp)
    def addptr(
        self, interpreter: Interpreter, op: tt.AddPtrOp, args: PythonValues
    ) -> PythonValues:
        """Move by elements."""
        pointer, offset = args
        assert isinstance(pointer, MemRef), pointer
        return (moved(pointer, pointer.offset + offset.astype(np.int64)),)


def filled(value: Array, shape: tuple[int, ...]) -> Array:
    """Return a tensor of one value."""
    wide = value.reshape(value.shape + (1,) * len(shape))
    return np.broadcast_to(wide, value.shape + shape)


def moved(pointer: MemRef, offset: Array) -> MemRef:
    """Return pointers into the same memory."""
    return MemRef(pointer.buffer, pointer.element_type, offset, (), ())


def each(value: Array | MemRef, change: Callable[[Array], Array]) -> Array | MemRef:
    """Return a tensor, or the offsets of one of pointers, changed in shape."""
    if isinstance(value, MemRef):
        return moved(value, change(value.offset))
    return change(value)


# Simulation of `tt`: arithmetic on each element, and the same bits as another type.

NAMES: dict[type[Operation], str] = {
    math.AbsFOp: "abs",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
}
"""What functions are called here, where it is not as in `math`."""


@register_impls
class TtMathFunctions(SimulatorFunctions):
    """Casts, and arithmetic that `arith` lacks."""

    @impl(tt.BitcastOp)
    def bitcast(
        self, interpreter: Interpreter, op: tt.BitcastOp, args: PythonValues
    ) -> PythonValues:
        """Take the bits as another type; pointers stay: see `coopc.sim.tt`."""
        (value,) = args
        if isinstance(value, MemRef):
            return (value,)
        source, result = element_of(op.src.type), element_of(op.result.type)
        return (self.machine.numerics.bitcast(value, source, result),)

    @impl(tt.ClampFOp)
    def clampf(
        self, interpreter: Interpreter, op: tt.ClampFOp, args: PythonValues
    ) -> PythonValues:
        """Keep between two numbers: NaN is NaN where it propagates, else the least."""
        x, low, high = args
        is_kept = member(PropagateNan, op.propagate_nan) is PropagateNan.ALL
        at_least, at_most = ("maximum", "minimum") if is_kept else ("maxnum", "minnum")
        found = self._call(op, at_least, x, low)
        return (self._call(op, at_most, found, high),)

    @impl(tt.PreciseSqrtOp)
    def sqrt(
        self, interpreter: Interpreter, op: tt.PreciseSqrtOp, args: PythonValues
    ) -> PythonValues:
        """Take the root, rounded correctly."""
        return (self._call(op, "precise_sqrt", *args),)

    @impl(tt.PreciseDivFOp)
    def divf(
        self, interpreter: Interpreter, op: tt.PreciseDivFOp, args: PythonValues
    ) -> PythonValues:
        """Divide, rounded correctly."""
        return (self._call(op, "precise_div", *args),)

    @impl(tt.MulhiUIOp)
    def mulhiui(
        self, interpreter: Interpreter, op: tt.MulhiUIOp, args: PythonValues
    ) -> PythonValues:
        """Give the high half of an unsigned product."""
        type = element_of(op.result.type)
        x, y = (unsigned(arg, type) for arg in args)
        return (wrapped(high_product(x, y, bits_of(type)), type),)

    @impl(tt.ExternElementwiseOp)
    def function(
        self, interpreter: Interpreter, op: tt.ExternElementwiseOp, args: PythonValues
    ) -> PythonValues:
        """Call a function of a library."""
        found = function_of(op.symbol.data)
        if found is None:
            raise SimulationError(f"expected a known function, got {op.symbol.data}")
        name = NAMES.get(found, found.name.partition(".")[2])
        return (self._call(op, name, *args),)

    def _call(self, op: Operation, name: str, *args: Array) -> Array:
        """Return a function of floats, of the type of the result."""
        return self.machine.numerics.call(name, element_of(op.results[0].type), *args)


# Simulation of `tt`: memory through pointers and descriptors.

UPDATES: dict[tt.Update, tuple[str, bool]] = {
    tt.Update.AND: ("and", True),
    tt.Update.OR: ("or", True),
    tt.Update.XOR: ("xor", True),
    tt.Update.ADD: ("add", True),
    tt.Update.FADD: ("add", True),
    tt.Update.MAX: ("max", True),
    tt.Update.MIN: ("min", True),
    tt.Update.UMAX: ("max", False),
    tt.Update.UMIN: ("min", False),
    tt.Update.EXCH: ("assign", True),
}
"""What an update does, and whether integers are signed."""


AS_ONE = (GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS)
"""A program is executed as if by one work-item."""


@dataclass(frozen=True, eq=False, slots=True)
class Descriptor:
    """A tensor in memory."""

    base: MemRef
    shape: tuple[Array, ...]
    """In elements, as the strides."""
    strides: tuple[Array, ...]
    padding: Padding
    """What is read outside."""


@dataclass(frozen=True, eq=False, slots=True)
class BlockPointer:
    """A block of a tensor in memory."""

    tensor: Descriptor
    offsets: tuple[Array, ...]
    """Where the block begins."""
    shape: tuple[int, ...]
    """Of the block."""

    def pointers(self, checked: Sequence[int]) -> tuple[MemRef, Array]:
        """Return pointers to the block, and which of them are inside of the tensor.

        Raises:
            UndefinedBehaviour: some are outside where that is not checked.
        """
        pointers, inside = block(self.tensor, self.shape, self.offsets)
        if not inside.all() and len(checked) < len(self.shape):
            for axis in range(len(self.shape)):
                within = along(self.tensor, self.shape, self.offsets, axis)
                if axis not in checked and not within.all():
                    raise UndefinedBehaviour(
                        f"expected a block that is inside of its tensor along "
                        f"dimension {axis}, which boundaryCheck does not have"
                    )
        return pointers, inside


class WholeMemoryFunctions(SimulatorFunctions):
    """Accesses to many elements at once, by the work-groups that are active."""

    def _load(self, pointers: MemRef, mask: Array | None) -> Array:
        """Read where a mask is true; elsewhere is 0."""
        active = self._active(pointers, mask)
        return self.machine.load(pointers, (), active, AS_ONE)

    def _store(self, pointers: MemRef, value: Array, mask: Array | None) -> None:
        """Write where a mask is true."""
        active = self._active(pointers, mask)
        self.machine.store(pointers, (), value, active, AS_ONE)

    def _active(self, pointers: MemRef, mask: Array | None) -> Array | None:
        """Return where a mask is true in work-groups that are active."""
        if (here := self.machine.mask) is None:
            return mask
        here = trailing(here, pointers.offset.ndim - AXES)
        return here if mask is None else mask & here


@register_impls
class TtMemoryFunctions(WholeMemoryFunctions):
    """Loads and stores of tensors."""

    @impl(tt.LoadOp)
    def load(
        self, interpreter: Interpreter, op: tt.LoadOp, args: PythonValues
    ) -> PythonValues:
        """Read where the mask is true."""
        pointer, mask, other = (*args, None, None)[:3]
        if isinstance(pointer, BlockPointer):
            pointers, inside = pointer.pointers(op.boundary_check.get_values())
            found = self._load(pointers, inside)
            if op.padding_option is Padding.NAN:
                found = self._padded(found, inside, op.result.type)
            return (found,)
        assert isinstance(pointer, MemRef), pointer
        found = self._load(pointer, mask)
        found = self._as(found, pointer.element_type, element_of(op.result.type))
        if mask is None or other is None:
            return (found,)
        return (np.where(mask, found, other),)

    @impl(tt.StoreOp)
    def store(
        self, interpreter: Interpreter, op: tt.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write where the mask is true."""
        pointer, value, *masks = args
        if isinstance(pointer, BlockPointer):
            pointers, inside = pointer.pointers(op.boundary_check.get_values())
            self._store(pointers, value, inside)
            return ()
        assert isinstance(pointer, MemRef), pointer
        mask = masks[0] if masks else None
        value = self._as(value, element_of(op.value.type), pointer.element_type)
        self._store(pointer, value, mask)
        return ()

    @impl(tt.AtomicRMWOp)
    def atomic_rmw(
        self, interpreter: Interpreter, op: tt.AtomicRMWOp, args: PythonValues
    ) -> PythonValues:
        """Update where the mask is true, one element after the other."""
        pointer, value, *masks = args
        assert isinstance(pointer, MemRef), pointer
        type, kept = element_of(op.result.type), pointer.element_type
        numerics = self.machine.numerics
        mask = self._active(pointer, masks[0] if masks else None)
        combine = combination(numerics, *UPDATES[op.kind], type)
        old = update(
            self.machine,
            pointer,
            (),
            value,
            mask,
            lambda x, y: self._as(combine(self._as(x, kept, type), y), type, kept),
            self.machine.shape[:1] + (1,) * (pointer.offset.ndim - 1),
            AS_ONE,
        )
        if op.order in (tt.Order.ACQUIRE, tt.Order.ACQ_REL):
            self.machine.acquire(pointer.buffer)
        return (self._as(old, kept, type),)

    @impl(tt.AtomicCASOp)
    def atomic_cas(
        self, interpreter: Interpreter, op: tt.AtomicCASOp, args: PythonValues
    ) -> PythonValues:
        """Replace what is equal bit for bit, one element after the other."""
        pointer, expected, value = args
        assert isinstance(pointer, MemRef), pointer
        type, kept = element_of(op.result.type), pointer.element_type
        numerics = self.machine.numerics
        expected, value = (self._as(x, type, kept) for x in (expected, value))
        shape = np.broadcast_shapes(expected.shape, value.shape)
        pairs = np.empty(shape, [("if", expected.dtype), ("then", value.dtype)])
        pairs["if"], pairs["then"] = expected, value

        number = IntegerType(element_bits(kept) or 8)

        def bits(x: Array) -> Array:
            return numerics.bitcast(x, kept, number) if is_float(kept) else x

        def replaced(old: Array, pair: Array) -> Array:
            return np.where(bits(old) == bits(pair["if"]), pair["then"], old)

        mask = self._active(pointer, None)
        executions = self.machine.shape[:1] + (1,) * (pointer.offset.ndim - 1)
        old = update(
            self.machine, pointer, (), pairs, mask, replaced, executions, AS_ONE
        )
        if member(tt.Order, op.sem) in (tt.Order.ACQUIRE, tt.Order.ACQ_REL):
            self.machine.acquire(pointer.buffer)
        return (self._as(old, kept, type),)

    def _as(self, value: Array, source: Attribute, result: Attribute) -> Array:
        """Return what memory holds as what a pointer that was cast points to.

        Raises:
            SimulationError: elements have another width.
        """
        if source == result:
            return value
        widths = [element_bits(x) or 0 for x in (source, result)]
        if widths in ([1, 8], [8, 1]):
            return wrapped(value, result)
        if widths[0] != widths[1]:
            raise SimulationError(
                f"expected elements of {source} through a pointer, got {result}"
            )
        return self.machine.numerics.bitcast(value, source, result)

    def _padded(self, found: Array, inside: Array, type: Attribute) -> Array:
        """Return what was read, and NaN outside."""
        nan = self.machine.numerics.constant(float("nan"), element_of(type))
        return np.where(inside, found, nan)

    @impl(tt.MakeTensorPtrOp)
    def make_block_pointer(
        self, interpreter: Interpreter, op: tt.MakeTensorPtrOp, args: PythonValues
    ) -> PythonValues:
        """Keep what describes a block."""
        base, *rest = args
        rank = len(rest) // 3
        sizes = tuple(x.astype(np.int64) for x in rest)
        tensor = Descriptor(base, sizes[:rank], sizes[rank : 2 * rank], Padding.ZERO)
        return (BlockPointer(tensor, sizes[2 * rank :], shape_of(op.block)),)

    @impl(tt.AdvanceOp)
    def advance(
        self, interpreter: Interpreter, op: tt.AdvanceOp, args: PythonValues
    ) -> PythonValues:
        """Move a block."""
        pointer, *steps = args
        assert isinstance(pointer, BlockPointer), pointer
        pairs = zip(pointer.offsets, steps, strict=True)
        offsets = tuple(x + y.astype(np.int64) for x, y in pairs)
        return (BlockPointer(pointer.tensor, offsets, pointer.shape),)

    @impl(tt.MakeTensorDescriptorOp)
    def make_descriptor(
        self,
        interpreter: Interpreter,
        op: tt.MakeTensorDescriptorOp,
        args: PythonValues,
    ) -> PythonValues:
        """Keep what describes a tensor."""
        base, *rest = args
        rank = len(rest) // 2
        sizes = tuple(x.astype(np.int64) for x in rest)
        return (Descriptor(base, sizes[:rank], sizes[rank:], op.padding_option),)

    @impl(tt.DescriptorLoadOp)
    def descriptor_load(
        self, interpreter: Interpreter, op: tt.DescriptorLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read a block; outside of the tensor is zero, or NaN."""
        descriptor, *indices = args
        pointers, inside = block(descriptor, block_of(op.desc.type), indices)
        found = self._load(pointers, inside)
        if descriptor.padding is Padding.NAN:
            found = self._padded(found, inside, op.result.type)
        if block_io(op) == "column_major":
            found = found.swapaxes(-1, -2)
        shape = found.shape[:AXES] + shape_of(op.result.type)
        return (found.reshape(shape),)

    @impl(tt.DescriptorStoreOp)
    def descriptor_store(
        self, interpreter: Interpreter, op: tt.DescriptorStoreOp, args: PythonValues
    ) -> PythonValues:
        """Write what is inside of the tensor."""
        descriptor, value, *indices = args
        if block_io(op) == "column_major":
            value = value.swapaxes(-1, -2)
        pointers, inside = block(descriptor, block_of(op.desc.type), indices)
        value = value.reshape(value.shape[:AXES] + inside.shape[AXES:])
        self._store(pointers, value, inside)
        return ()


@register_impls
class TtigMemoryFunctions(WholeMemoryFunctions):
    """Loads of 2D blocks, and what descriptors are made of."""

    @impl(ttig.ExtractDescOp)
    def extract(
        self, interpreter: Interpreter, op: ttig.ExtractDescOp, args: PythonValues
    ) -> PythonValues:
        """Give one of the numbers of a descriptor."""
        descriptor: Descriptor = args[0]
        fields = (*descriptor.shape, *descriptor.strides, descriptor.base)
        return (fields[op.index.value.data],)

    @impl(ttig.BlockLoad2DOp)
    def load(
        self, interpreter: Interpreter, op: ttig.BlockLoad2DOp, args: PythonValues
    ) -> PythonValues:
        """Read a block of a matrix; outside of it is zero, or NaN."""
        base, width, height, pitch, x, y = args
        size = (element_bits(op.result.type) or 8) // 8
        numbers = [each.astype(np.int64) for each in (width, height, pitch)]
        cols, rows, step = numbers[0] // size, numbers[1], numbers[2] // size
        one = np.ones_like(step)
        matrix = Descriptor(base, (rows, cols), (step, one), Padding.ZERO)
        shape = shape_of(op.result.type)
        is_columns = op.layout is ttig.MemoryLayout.COLUMN_MAJOR
        tile = shape[::-1] if is_columns else shape
        pointers, inside = block(matrix, tile, (y, x))
        found = self._load(pointers, inside)
        if op.pad_nan is not None:
            nan = self.machine.numerics.constant(
                float("nan"), element_of(op.result.type)
            )
            found = np.where(inside, found, nan)
        return (found.swapaxes(-1, -2) if is_columns else found,)

    @impl(ttig.BlockLoad2DFromPtrOp)
    def load_from(
        self,
        interpreter: Interpreter,
        op: ttig.BlockLoad2DFromPtrOp,
        args: PythonValues,
    ) -> PythonValues:
        """Read where the mask is true."""
        pointer, _, *masked = args
        if not masked:
            return (self._load(pointer, None),)
        mask, other = masked
        return (np.where(mask, self._load(pointer, mask), other),)


def block_of(type: object) -> tuple[int, ...]:
    """Return the shape of the blocks of a descriptor."""
    assert isinstance(type, TensorDescType), type
    return type.shape


def along(
    tensor: Descriptor, shape: Sequence[int], indices: Sequence[Array], axis: int
) -> Array:
    """Return which coordinates of a block are inside along one dimension."""
    place = trailing(indices[axis].astype(np.int64), 1) + np.arange(shape[axis])
    return (place >= 0) & (place < trailing(tensor.shape[axis], 1))


def block(
    descriptor: Descriptor, shape: Sequence[int], indices: Sequence[Array]
) -> tuple[MemRef, Array]:
    """Return pointers to a block, and which of them are inside of the tensor."""
    rank = len(shape)
    offset = trailing(descriptor.base.offset, rank)
    inside = np.ones((1,) * (AXES + rank), np.bool_)
    for axis, size in enumerate(shape):
        steps = np.arange(size).reshape([-1 if x == axis else 1 for x in range(rank)])
        place = trailing(indices[axis].astype(np.int64), rank) + steps
        limit = trailing(descriptor.shape[axis], rank)
        inside = inside & (place >= 0) & (place < limit)
        offset = offset + place * trailing(descriptor.strides[axis], rank)
    inside = np.broadcast_to(inside, np.broadcast_shapes(inside.shape, offset.shape))
    return moved(descriptor.base, offset), inside
