"""Simulation of `tt`: tensors whole, one of each work-group.

Encodings say where elements are, not what they are: nothing here looks at them.  A
scalar pointer is a memref of rank 0, a tensor of pointers one whose offset is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import Float32Type
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    impl,
    register_impls,
)

from coopc.dialects import tt
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.enums import InputPrecision, ProgramAxis
from coopc.dialects.tt.types import shape_of
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import SimulatorFunctions, ending
from coopc.sim.memory import MemRef
from coopc.sim.values import AXES, Array, is_float, wrapped
from coopc.sim.xe_multiply import TF32_DROPPED

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
