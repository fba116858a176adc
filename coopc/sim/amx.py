"""Simulation of `amx` and `avx512`: instructions of processors.

A tile is a matrix that one work-item, a core, holds.

Sums are those of the hardware.  Bytes wrap around.  Products of halves are summed in
two chains of fused multiply-adds from zero, one for the even and one for the odd
elements of the pairs; the chains are added up, and then to the accumulator.  Denormal
numbers count as zero, in operands of bf16 and after every step, which is exactly what
`coopc/run/amxemu.c` does and a processor was seen to do.  `vdpbf16ps` multiplies
the second of a pair first, in fused multiply-adds without denormal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import Float16Type, f32, i8
from xdsl.ir import Attribute

from coopc.dialects import amx, avx512
from coopc.dialects.amx import tile_type
from coopc.sim.arith import cast
from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import implements
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef
from coopc.sim.numerics import fused_multiply_add
from coopc.sim.values import AXES, Array, value_dtype, with_steps

LEAST_NORMAL = np.float32(2.0**-126)


@implements(amx.TileZeroOp)
def zero(machine: Machine, op: amx.TileZeroOp) -> Array:
    tile = tile_type(op.result)
    zeros = np.zeros((1,) * AXES + tile.shape, value_dtype(tile.element_type))
    return machine.numerics.given(zeros, tile.element_type)


@implements(amx.TileLoadOp)
def load(
    machine: Machine, op: amx.TileLoadOp, memory: MemRef, *indices: Array
) -> Array:
    where = _places(op, indices, tile_type(op.result).shape)
    return machine.load(memory, where, machine.active(2))


@implements(amx.TileStoreOp)
def store(machine: Machine, op: amx.TileStoreOp, memory: MemRef, *rest: Array) -> None:
    *indices, value = rest
    where = _places(op, indices, tile_type(op.val).shape)
    machine.store(memory, where, value, machine.active(2))


def _places(
    op: amx.TileLoadOp | amx.TileStoreOp,
    indices: Sequence[Array],
    shape: tuple[int, int],
) -> list[Array]:
    """Return the coordinates of the elements of a tile.

    Raises:
        SimulationError: it has a stride of its own, not that of the memref's rows.
    """
    if op.stride is not None:
        raise SimulationError("no simulation of tiles with a stride of their own")
    return with_steps(indices, shape)


@implements(amx.TileMulFOp)
def mulf(
    machine: Machine, op: amx.TileMulFOp, lhs: Array, rhs: Array, acc: Array
) -> Array:
    numerics, element = machine.numerics, tile_type(op.lhs).element_type
    a, b = (numerics.plain(x, element) for x in (lhs, rhs))
    found = multiplied_floats(a, b, numerics.plain(acc, f32), element)
    matrices, types = (lhs, unpacked(rhs, 2), acc), (element, element, f32, f32)
    return numerics.product(found, matrices, types, float(LEAST_NORMAL))


@implements(amx.TileMulIOp)
def muli(
    machine: Machine, op: amx.TileMulIOp, lhs: Array, rhs: Array, acc: Array
) -> Array:
    signed = op.is_zext_lhs is None, op.is_zext_rhs is None
    return multiplied_bytes(lhs, rhs, acc, *signed)


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

    Products of halves are exact in f64.
    """
    left = lhs.astype(np.float32)
    right = unpacked(rhs, 2).astype(np.float32)
    if not isinstance(element, Float16Type):  # whose denormal numbers count
        left, right = flushed(left), flushed(right)
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2], acc.shape[:-2])
    chains = np.zeros((2, *shape, *acc.shape[-2:]), np.float32)
    for k in range(left.shape[-1]):
        column, row = left[..., :, k, None], right[..., None, k, :]
        wide = (x.astype(np.float64) for x in (column, row, chains[k % 2]))
        chains[k % 2] = flushed(fused_multiply_add(*wide).astype(np.float32))
    return flushed(flushed(acc) + flushed(chains[0] + chains[1]))


def multiplied_bytes(
    lhs: Array, rhs: Array, acc: Array, lhs_signed: bool, rhs_signed: bool
) -> Array:
    """Return `lhs * rhs + acc` of bytes, which wraps around."""
    left, right = widened(lhs, lhs_signed), widened(rhs, rhs_signed)
    return np.matmul(left, unpacked(right, 4)) + acc


def widened(values: Array, signed: bool) -> Array:
    """Return bytes as i32, signed or unsigned."""
    return values.view(np.int8 if signed else np.uint8).astype(np.int32)


implements(avx512.TruncFOp)(cast)


@implements(avx512.DotOp)
def dot(
    machine: Machine, op: avx512.DotOp, lhs: Array, rhs: Array, acc: Array
) -> Array:
    channels = lhs.shape[-1] // op.length
    rows, cols = (x.reshape(*x.shape[:-1], op.length, channels) for x in (lhs, rhs))
    if op.element == i8:
        return (widened(rows, False) * widened(cols, True)).sum(-1, np.int32) + acc
    numerics, element = machine.numerics, op.element
    plain = (numerics.plain(x, element) for x in (rows, cols))
    a, b = (flushed(x.astype(np.float32)) for x in plain)
    found = flushed(numerics.plain(acc, f32))
    for at in reversed(range(channels)):
        wide = (x.astype(np.float64) for x in (a[..., at], b[..., at], found))
        found = flushed(fused_multiply_add(*wide).astype(np.float32))
    matrices = rows[..., None, :], cols[..., None], acc[..., None, None]
    types = element, element, f32, f32
    product = numerics.product(
        found[..., None, None], matrices, types, float(LEAST_NORMAL)
    )
    return product[..., 0, 0]
