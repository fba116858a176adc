"""Simulation of `avx512`.

`vdpbf16ps` multiplies the second of a pair first, in fused multiply-adds without
denormal numbers.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i8

from coopc.dialects import avx512
from coopc.sim.amx import LEAST_NORMAL, flushed, widened
from coopc.sim.interpreter import implements
from coopc.sim.machine import Machine
from coopc.sim.numerics import fused_multiply_add
from coopc.sim.values import Array


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
