"""Numpy arrays as the buffers of a kernel, and what a kernel made of them."""

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import Any, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from coopc.interface_call import Addresses, Given, memory_of, overlap, strided

Array: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = Array | np.generic

BITS = {
    "bfloat16": "uint16",
    "float8_e4m3fn": "uint8",
    "float8_e5m2": "uint8",
}
"""What holds the bits of types that numpy does not have."""
PAGE_BYTES = 4096
"""Results up to this size are not aligned: kernels do not stream them."""
_EXPECTED = (
    "expected a number, or an array of numpy, DLPack or PyTorch, or a list of arrays"
)


def to_argument(given: object) -> Given:
    """Return an argument of a kernel as numpy has it: a number, or shared memory.

    A descriptor of Triton is an array with its own sizes and strides; of a list of
    arrays a kernel is given the addresses.

    Raises:
        ValueError: it is neither a number nor an array in this processor's memory.
    """
    if isinstance(given, (np.ndarray, np.generic, int, float, Addresses)):
        return cast("Given", given)
    if isinstance(given, list):
        return addresses_of(cast("list[object]", given))
    form: Any = given
    if parts := getattr(form, "parts", None):
        return addresses_of(parts)
    if hasattr(form, "block_shape"):
        if form.padding != "zero":
            raise ValueError(
                "expected a descriptor padded by zeros, as the kernel does not know "
                f"of another padding of its arguments, got {form.padding!r}"
            )
        base = to_argument(form.base)
        if isinstance(base, np.ndarray):
            steps = [each * base.itemsize for each in form.strides]
            return strided(base, form.shape, steps)
    has_array = hasattr(form, "__array_interface__")
    if not has_array and callable(getattr(form, "data_ptr", None)):
        return _memory_at(form)  # of PyTorch, bf16 as its bits, too
    try:
        if has_array or hasattr(form, "__dlpack__"):
            return np.asarray(form) if has_array else np.from_dlpack(form)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise ValueError(f"cannot share the memory of an array: {error}") from error
    raise ValueError(f"{_EXPECTED}, got {type(form).__name__}")


def addresses_of(arrays: Sequence[object]) -> Addresses:
    """Return arrays of which a kernel gets the addresses.

    Raises:
        ValueError: one is none.
    """
    found = [to_argument(each) for each in arrays]
    if not found:
        raise ValueError(f"{_EXPECTED}, got an empty list")
    for each in found:
        if not isinstance(each, np.ndarray):
            raise ValueError(f"{_EXPECTED}, got a list with {type(each).__name__}")
    return Addresses(tuple(cast("list[Array]", found)))


def _memory_at(tensor: Any) -> Array:
    """Return the memory of what is like a tensor of PyTorch."""
    device = str(getattr(tensor, "device", "cpu"))
    if not device.startswith("cpu"):
        raise ValueError(f"expected a tensor in CPU memory, got {device}")
    name = str(tensor.dtype).rpartition(".")[2]
    try:
        type = np.dtype(BITS.get(name, name))
    except TypeError as error:
        types = f"a type of numpy or {', '.join(BITS)}"
        raise ValueError(f"expected a tensor of {types}, got {name}") from error
    shape = tuple(tensor.shape)
    steps = [int(each) * type.itemsize for each in tensor.stride()]
    reach = [(n - 1) * x for n, x in zip(shape, steps, strict=True)]
    before = -sum(x for x in reach if x < 0) if all(shape) else 0
    size = type.itemsize + sum(map(abs, reach)) if all(shape) else 0
    start = tensor.data_ptr() - before
    memory = memoryview((ctypes.c_char * size).from_address(start))
    return np.ndarray(shape, type, memory, before, steps)


def start_of(array: Array) -> int:
    """Return the address of the first element of an array."""
    return int(array.__array_interface__["data"][0])


def aligned(size: int, alignment: int = 64) -> Array:
    """Return bytes, all zero, whose address is a multiple of an alignment."""
    memory = np.zeros(size + alignment, np.uint8)
    start = -start_of(memory) % alignment
    return memory[start : start + size]


def zeros(shape: Sequence[int], dtype: npt.DTypeLike) -> Array:
    """Return zeros, aligned to a cache line if they are larger than a page.

    Kernels use nontemporal stores only for results that are so aligned, as numpy's own
    arrays are not.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size <= PAGE_BYTES:
        return np.zeros(shape, dtype)
    return aligned(size).view(dtype).reshape(shape)


def homes(arguments: Sequence[Given]) -> list[int]:
    """Return which argument has the memory of each: the longest that begins there."""
    starts: dict[int, int] = {}
    most: dict[int, tuple[int, int]] = {}
    for position, each in enumerate(arguments):
        if isinstance(each, np.ndarray) and each.size:
            start = starts[position] = start_of(each)
            size = memory_of(each).nbytes
            most[start] = max(most.get(start, (0, 0)), (size, -position))
    return [
        -most[starts[position]][1] if position in starts else position
        for position in range(len(arguments))
    ]


def each_array(arguments: Sequence[Given]) -> list[Given]:
    """Return arguments with arrays in place of their addresses."""
    found: list[Given] = []
    for each in arguments:
        found += each.arrays if isinstance(each, Addresses) else [each]
    return found


def copied(arguments: Sequence[Given]) -> list[Given]:
    """Copy arrays with what is between their elements; those that begin together do.

    Numbers are as they were.
    """
    if any(isinstance(each, Addresses) for each in arguments):
        rest = iter(copied(each_array(arguments)))
        return [
            Addresses(tuple(cast("Array", next(rest)) for _ in each.arrays))
            if isinstance(each, Addresses)
            else next(rest)
            for each in arguments
        ]
    memory: dict[int, Array] = {}
    found: list[Given] = []
    for each, home in zip(arguments, homes(arguments), strict=True):
        if not isinstance(each, np.ndarray):
            found.append(each)
            continue
        if home not in memory:
            memory[home] = memory_of(cast("Array", arguments[home])).copy()
        size = memory_of(each).nbytes
        flat = memory[home].view(np.uint8)[:size].view(each.dtype)
        found.append(strided(flat, each.shape, each.strides))
    return found


def check_apart(
    names: Sequence[str],
    given: Sequence[Array],
    taken: Sequence[Array],
    found: Sequence[Array],
) -> None:
    """Refuse what a kernel made of arrays that share memory, if that was not shared.

    It was if what the kernel took of them begins at the same element, or if it ran on
    their memory.  Nothing was lost if it changed none of what they share.

    Args:
        names: of the arguments.
        given: the arrays of the caller.
        taken: the memory that a kernel is given for them, theirs or that of a copy.
        found: the arrays after the kernel.

    Raises:
        ValueError: it did.
    """
    for one, other in permutations(range(len(given)), 2):
        if start_of(taken[one]) == start_of(taken[other]):
            continue
        if not overlap(given[one], given[other]):
            continue
        before, after, changed = changes(given[one], found[one])
        if start_of(before) == start_of(after):
            continue
        at = start_of(before) + np.argwhere(changed) @ np.array(before.strides)
        start, end = np.lib.array_utils.byte_bounds(given[other])
        if ((at + before.itemsize > start) & (at < end)).any():
            is_copy = start_of(given[one]) == start_of(given[other])
            how = "has the same strides" if is_copy else "begins where that does"
            raise ValueError(
                f"expected memory of {names[one]} that is apart from that of "
                f"{names[other]}, or {how}: the kernel changes what they share, and "
                "got it twice"
            )


def changes(before: Array, after: Array) -> tuple[Array, Array, Array]:
    """Return the memory of an array, what it is to be, and where they differ."""
    if before.strides == after.strides:
        before, after = memory_of(before), memory_of(after)
    elif before.shape != after.shape:  # a pointer got all of its memory
        before = memory_of(before)
    bits = np.dtype(f"u{before.itemsize}")
    return before, after, before.view(bits) != after.view(bits)


def write_back(name: str, before: Array, after: Array) -> None:
    """Write what a kernel changed into the array that it was given as an argument.

    Elements that it left alone are not written: another argument may have them, too.

    Raises:
        ValueError: the array is read-only.
    """
    if start_of(before) == start_of(after):
        return  # the kernel ran on this memory
    before, after, changed = changes(before, after)
    if not changed.any():
        return
    if not before.flags.writeable:
        raise ValueError(
            f"expected {name} to be an array that can be written, as the kernel does, "
            "got one that is read-only"
        )
    before[changed] = after[changed]


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
        given: Iterable[np.generic | int],
        contents: Sequence[bytes],
        milliseconds: Iterable[float],
        where: str,
    ) -> Self:
        """What a worker answered: what each of `to_memories` holds, and the times."""
        arrays = (x for x in arguments if isinstance(x, np.ndarray))
        places = (x for x in given if type(x) is int)
        found = (
            np.frombuffer(bytearray(contents[n][: like.nbytes]), like.dtype).reshape(
                like.shape
            )
            for n, like in zip(places, arrays, strict=True)
        )
        return cls(tuple(found), tuple(milliseconds), where)

    @property
    def median_milliseconds(self) -> float:
        """The median time of a run, without the first where there are more."""
        times = sorted(self.milliseconds[1:] or self.milliseconds)
        middle = len(times) // 2
        return (times[middle] + times[~middle]) / 2


def check_run(
    sizes: Sequence[int], what: str, repeats: int, arguments: Sequence[Argument]
) -> None:
    """Refuse what no driver dispatches; `what` names the sizes.

    Raises:
        ValueError: a size, or the number of repeats, is below 1, or an array has no
            elements; its binding or place among the arguments is in the message.
    """
    if min(sizes) < 1:
        raise ValueError(f"expected {what} of at least 1, got {tuple(sizes)}")
    if repeats < 1:
        raise ValueError(f"expected at least 1 repeat, got {repeats}")
    for position, each in enumerate(arguments):
        if isinstance(each, np.ndarray) and each.nbytes == 0:
            raise ValueError(
                f"expected elements in buffer {position}, got {each.shape}"
            )


def to_memories(
    arguments: Sequence[Argument],
) -> tuple[list[bytes], list[np.generic | int]]:
    """Return the memory of arrays, in row-major order, and arguments for a worker.

    An int is the number of the memory that an array has; other numbers are themselves.
    """
    memories: dict[int, tuple[int, bytes]] = {}
    found: list[np.generic | int] = []
    for each, home in zip(arguments, homes(arguments), strict=True):
        if isinstance(each, np.ndarray):
            if home not in memories:
                whole = np.asarray(arguments[home])
                memories[home] = len(memories), whole.tobytes()
            each = memories[home][0]
        found.append(each)
    return [data for _, data in memories.values()], found
