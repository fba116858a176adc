"""Numpy arrays as the buffers of a kernel, and what a kernel made of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pickle import PickleBuffer
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = Array | np.generic


@dataclass(frozen=True)
class RunResult:
    buffers: tuple[Array, ...]
    """The arrays after the first dispatch, with the shapes and types they came with."""
    milliseconds: tuple[float, ...]
    """The time of each dispatch; compiling may be part of the first."""

    @classmethod
    def of(
        cls,
        given: Sequence[Array],
        contents: Iterable[bytes],
        milliseconds: Iterable[float],
    ) -> Self:
        """What a worker answered: the bytes of the arrays given, and the times."""
        arrays = (
            np.frombuffer(bytearray(each), like.dtype).reshape(like.shape)
            for each, like in zip(contents, given, strict=True)
        )
        return cls(tuple(arrays), tuple(milliseconds))


def check_run(sizes: Sequence[int], what: str, repeats: int) -> None:
    """Refuse sizes of a dispatch that are not positive; `what` names them.

    Raises:
        ValueError: one of them is below 1.
    """
    if min(sizes) < 1:
        raise ValueError(f"expected {what} of at least 1, got {tuple(sizes)}")
    if repeats < 1:
        raise ValueError(f"expected at least 1 repeat, got {repeats}")


def to_buffer(array: Array, position: int) -> PickleBuffer:
    """The bytes of an array in row-major order, for a worker: there they are bytes.

    Raises:
        ValueError: it has no elements; its binding or place among the arguments is in
            the message.
    """
    if array.nbytes == 0:
        raise ValueError(f"expected elements in buffer {position}, got {array.shape}")
    return PickleBuffer(np.ascontiguousarray(array).data)
