"""Numpy arrays as the buffers of a kernel, and what a kernel made of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = Array | np.generic


@dataclass(frozen=True)
class Outcome:
    arrays: tuple[Array, ...]
    """The arrays after the first run, with the shapes and types they came with."""
    milliseconds: tuple[float, ...]
    """The time of each run; compiling may be part of the first."""
    where: str
    """The device and its driver, for people."""

    @classmethod
    def of(
        cls,
        arguments: Iterable[Argument],
        contents: Iterable[bytes],
        milliseconds: Iterable[float],
        where: str,
    ) -> Self:
        """What a worker answered: the bytes of the arrays given, and the times."""
        given = (x for x in arguments if isinstance(x, np.ndarray))
        arrays = (
            np.frombuffer(bytearray(each), like.dtype).reshape(like.shape)
            for each, like in zip(contents, given, strict=True)
        )
        return cls(tuple(arrays), tuple(milliseconds), where)

    @property
    def median_milliseconds(self) -> float:
        """The median time of a run, without the first where there are more."""
        times = sorted(self.milliseconds[1:] or self.milliseconds)
        middle = len(times) // 2
        return (times[middle] + times[~middle]) / 2


def check_run(sizes: Sequence[int], what: str, repeats: int) -> None:
    """Refuse sizes of a dispatch that are not positive; `what` names them.

    Raises:
        ValueError: one of them is below 1.
    """
    if min(sizes) < 1:
        raise ValueError(f"expected {what} of at least 1, got {tuple(sizes)}")
    if repeats < 1:
        raise ValueError(f"expected at least 1 repeat, got {repeats}")


def to_buffers(arguments: Iterable[Argument]) -> list[bytes | np.generic]:
    """Arguments for a worker: the bytes of arrays in row-major order, and numbers.

    Raises:
        ValueError: an array has no elements; its binding or place among the arguments
            is in the message.
    """
    found: list[bytes | np.generic] = []
    for position, each in enumerate(arguments):
        if isinstance(each, np.ndarray) and each.nbytes == 0:
            raise ValueError(
                f"expected elements in buffer {position}, got {each.shape}"
            )
        found.append(each.tobytes() if isinstance(each, np.ndarray) else each)
    return found
