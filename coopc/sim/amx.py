"""Simulation of `amx`: a tile is a matrix that one work-item, a core, holds.

Sums are those of the hardware.  Bytes wrap around.  Products of halves are summed in
two chains of fused multiply-adds from zero, one for the even and one for the odd
elements of the pairs; the chains are added up, and then to the accumulator.  Denormal
numbers count as zero, in operands of bf16 and after every step, which is exactly what
`coopc/run/amxemu.c` does and a processor was seen to do.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute

from coopc.dialects import amx
from coopc.dialects.amx import tile_type
from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef
from coopc.sim.values import AXES, Array, trailing, value_dtype

LEAST_NORMAL = np.float32(2.0**-126)


@register_impls
class AmxFunctions(SimulatorFunctions):
    """Tiles in registers, of any number."""

    def _places(
        self, memory: MemRef, indices: tuple[Array, ...], shape: tuple[int, int]
    ) -> list[Array]:
        """Return the coordinates of the elements of a tile."""
        where = [trailing(index, 2) for index in indices]
        rows, cols = np.indices(shape, dtype=np.int64, sparse=True)
        where[-1] = where[-1] + cols.reshape((1,) * AXES + cols.shape)
        if len(where) > 1:
            where[-2] = where[-2] + rows.reshape((1,) * AXES + rows.shape)
        return where

    def _active(self) -> Array | None:
        """Return who is active, with the axes of a tile."""
        mask = self.machine.mask
        return None if mask is None else trailing(mask, 2)

    @impl(amx.TileZeroOp)
    def zero(
        self, interpreter: Interpreter, op: amx.TileZeroOp, args: PythonValues
    ) -> PythonValues:
        """Give zeros."""
        tile = tile_type(op.result)
        dtype = value_dtype(tile.element_type)
        zeros = np.zeros((1,) * AXES + tile.shape, dtype)
        return (self.machine.numerics.given(zeros, tile.element_type),)

    @impl(amx.TileLoadOp)
    def load(
        self, interpreter: Interpreter, op: amx.TileLoadOp, args: PythonValues
    ) -> PythonValues:
        """Read rows."""
        memory, *indices = interpreter.get_values((op.base, *op.indices))
        refuse_stride(op)
        shape = tile_type(op.result).shape
        where = self._places(memory, tuple(indices), shape)
        return (self.machine.load(memory, where, self._active()),)

    @impl(amx.TileStoreOp)
    def store(
        self, interpreter: Interpreter, op: amx.TileStoreOp, args: PythonValues
    ) -> PythonValues:
        """Write rows."""
        operands = (op.val, op.base, *op.indices)
        value, memory, *indices = interpreter.get_values(operands)
        refuse_stride(op)
        where = self._places(memory, tuple(indices), tile_type(op.val).shape)
        self.machine.store(memory, where, value, self._active())
        return ()

    @impl(amx.TileMulFOp)
    def mulf(
        self, interpreter: Interpreter, op: amx.TileMulFOp, args: PythonValues
    ) -> PythonValues:
        """Multiply floats."""
        numerics, element = self.machine.numerics, tile_type(op.lhs).element_type
        lhs, rhs, acc = args
        a, b = (numerics.plain(x, element) for x in (lhs, rhs))
        found = multiplied_floats(a, b, numerics.plain(acc, f32), element)
        matrices, types = (lhs, unpacked(rhs, 2), acc), (element, element, f32, f32)
        return (numerics.product(found, matrices, types, float(LEAST_NORMAL)),)

    @impl(amx.TileMulIOp)
    def muli(
        self, interpreter: Interpreter, op: amx.TileMulIOp, args: PythonValues
    ) -> PythonValues:
        """Multiply bytes."""
        signed = op.is_zext_lhs is None, op.is_zext_rhs is None
        lhs, rhs, acc = args
        return (multiplied_bytes(lhs, rhs, acc, *signed),)


def refuse_stride(op: amx.TileLoadOp | amx.TileStoreOp) -> None:
    """Refuse an access whose rows are elsewhere than those of the memref.

    Raises:
        SimulationError: it has a stride of its own.
    """
    if op.stride is not None:
        raise SimulationError("no simulation of tiles with a stride of their own")


def unpacked(rhs: Array, packed: int) -> Array:
    """Return the matrix (..., K, N) that a tile (..., K/w, N*w) of channels is."""
    *batch, channels, cols = rhs.shape
    split = rhs.reshape(*batch, channels, cols // packed, packed)
    return split.swapaxes(-1, -2).reshape(*batch, channels * packed, cols // packed)


def flushed(values: Array) -> Array:
    """Return f32 with zeros, of the same sign, for denormal numbers."""
    return np.where(
        np.abs(values) < LEAST_NORMAL, np.copysign(np.float32(0), values), values
    )


def multiplied_floats(lhs: Array, rhs: Array, acc: Array, element: Attribute) -> Array:
    """Return `lhs * rhs + acc` of halves, rounded as the hardware rounds.

    Products of halves are exact in f64, and so is their sum with an f32 for all that
    matters to one rounding: it is that of a fused multiply-add.
    """
    left = lhs.astype(np.float32)
    right = unpacked(rhs, 2).astype(np.float32)
    if not is_half(element):
        left, right = flushed(left), flushed(right)
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2], acc.shape[:-2])
    chains = np.zeros((2, *shape, *acc.shape[-2:]), np.float32)
    for k in range(left.shape[-1]):
        column, row = left[..., :, k, None], right[..., None, k, :]
        product = column.astype(np.float64) * row.astype(np.float64)
        chains[k % 2] = flushed(added(product, chains[k % 2]))
    return flushed(flushed(acc) + flushed(chains[0] + chains[1]))


def added(product: Array, total: Array) -> Array:
    """Return an exact product plus an f32, rounded once.

    The sum in f64 is rounded to odd, so that rounding it again loses nothing.
    """
    wide = total.astype(np.float64)
    found = product + wide
    part = found - product
    lost = (product - (found - part)) + (wide - part)
    bits = found.view(np.int64)
    inexact = np.isfinite(found) & (lost != 0) & (bits & 1 == 0)
    step = np.where((lost > 0) == (found > 0), 1, -1)
    return np.where(inexact, bits + step, bits).view(np.float64).astype(np.float32)


def is_half(element: Attribute) -> bool:
    """Whether a type is f16, whose denormal numbers count."""
    return value_dtype(element) == np.float16


def multiplied_bytes(
    lhs: Array, rhs: Array, acc: Array, lhs_signed: bool, rhs_signed: bool
) -> Array:
    """Return `lhs * rhs + acc` of bytes, which wraps around."""
    left, right = widened(lhs, lhs_signed), widened(rhs, rhs_signed)
    return np.matmul(left, unpacked(right, 4)) + acc


def widened(values: Array, signed: bool) -> Array:
    """Return bytes as i32, signed or unsigned."""
    return values.view(np.int8 if signed else np.uint8).astype(np.int32)
