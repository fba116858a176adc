"""Operands of DPAS as words of 32 bits, and their product on numpy.

Words are what lanes hold, register after register, lane after lane: see
`coopc.passes.xe.emulate.dpas`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from coopc.dialects import xe
from coopc.dialects.xe import SYSTOLIC_DEPTH
from coopc.sim.numerics import from_bf16, to_bf16

Array: TypeAlias = npt.NDArray[Any]
P = xe.Precision


def numbers(bits: Array, precision: xe.Precision, shape: tuple[int, ...]) -> Array:
    """Return the elements of packed bits, low ones first."""
    match precision:
        case P.F16:
            found = bits.view(np.float16).astype(np.float32)
        case P.BF16:
            found = from_bf16(bits.view(np.uint16))
        case P.TF32:
            found = (bits.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        case P.S8 | P.U8:
            found = bits.view(np.int8 if precision is P.S8 else np.uint8)
        case P.S4 | P.U4:
            bytes = bits.view(np.uint8)
            found = np.stack([bytes & 15, bytes >> 4], -1).astype(np.int32)
            found = found - 16 * (found >> 3) if precision is P.S4 else found
    return found.reshape(shape)


def some(random: np.random.Generator, precision: xe.Precision, words: int) -> Array:
    """Return words of bits that hold numbers of a precision."""
    if precision.is_integer:
        return random.integers(-(2**31), 2**31, words).astype(np.int32)
    values = random.normal(size=words * precision.ops_per_channel).astype(np.float32)
    if precision is P.TF32:
        return values.view(np.int32)
    halves = values.astype(np.float16) if precision is P.F16 else to_bf16(values)
    return halves.view(np.int32)


def product(
    precisions: tuple[xe.Precision, xe.Precision],
    shape: tuple[int, int],
    type: str,
    words: tuple[Array, Array, Array],
) -> Array:
    """Return the words of a * b + c, summed by ascending k.

    Args:
        precisions: of a and b.
        shape: M and N.
        type: of c and the result: i32, f32, f16 or bf16.
        words: of a, b and c.
    """
    a, b, c = words
    (rows, columns), pack = shape, precisions[0].ops_per_channel
    left = numbers(a, precisions[0], (rows, SYSTOLIC_DEPTH * pack))
    right = numbers(b, precisions[1], (SYSTOLIC_DEPTH, columns, pack))
    right = right.swapaxes(1, 2).reshape(-1, columns)
    if type == "i32":
        wide = left.astype(np.int64) @ right.astype(np.int64) + c.reshape(shape)
        return wide.astype(np.int32).ravel()
    element = {"f16": P.F16, "bf16": P.BF16}.get(type)
    total = c.view(np.float32) if element is None else numbers(c, element, (-1,))
    total = total.reshape(shape)
    for k in range(SYSTOLIC_DEPTH * pack):
        total = total + left[:, k, None] * right[None, k]
    if type == "f16":
        return total.astype(np.float16).ravel().view(np.int32)
    if type == "bf16":
        return to_bf16(total).ravel().view(np.int32)
    return total.ravel().view(np.int32)
