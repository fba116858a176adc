"""Numbers of 4 bits as the host has them: two in a byte, the lower bits first."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def packed(numbers: Array) -> Array:
    """Return the bytes of numbers along the last axis; zero follows an odd one."""
    pairs = np.zeros((*numbers.shape[:-1], -(-numbers.shape[-1] // 2) * 2), np.uint8)
    pairs[..., : numbers.shape[-1]] = numbers.astype(np.int8).view(np.uint8) & 15
    return pairs[..., ::2] | pairs[..., 1::2] << 4


def halves(bytes: Array) -> Array:
    """Return the 4 bits of bytes along the last axis."""
    return np.stack([bytes & 15, bytes >> 4], -1).reshape(*bytes.shape[:-1], -1)


def signed(codes: Array) -> Array:
    return (codes ^ 8).astype(np.int32) - 8
