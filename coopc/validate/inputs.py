"""Inputs for kernels and functions: sizes that they accept, and what is in the arrays.

Sizes are found by trying: dynamic sizes and `index` arguments get one small number, or
the arguments, which may be positions, 0; the first for which the program does nothing
undefined is taken.  Then sizes that differ from each other are tried; for programs
with checked accesses, sizes that no tile divides; and, where the program has tiles, a
whole tile, a tile and one more, two tiles and a part of one.  Sizes keep the conditions
of the kernel (`coopc.validate.contract`).  Whatever a program accepts is a fair input,
even if nobody would call it so.

Contents are of two kinds (`coopc.sim.tracked.Inputs`): small integers, so that sums of
products are exact, and any numbers.  Outputs are filled too: what a program leaves as
it is is compared as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    IndexType,
    MemRefType,
    NoneAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.dialects.coopmatrix import AccessOp
from coopc.sim.launch import Argument
from coopc.sim.numerics import to_bf16
from coopc.sim.tracked import Inputs
from coopc.sim.values import (
    Array,
    bits_of,
    element_of,
    is_float,
    is_integer,
    memory_dtype,
    scalar_of,
    shape_of,
)
from coopc.validate.contract import (
    Contract,
    has_pointers,
    is_pointer,
    is_size,
    slots_of,
)

SIZES = (16, 32, 64, 128, 8, 4, 1)
"""Numbers that dynamic sizes are tried with, in elements."""
POINTER_ELEMENTS = 1 << 16
"""That each pointer points to."""
MAX_ELEMENTS = 1 << 22
"""Of all arrays together: with more, a function is not run."""
EXACT_VALUES = ((-2, 3), (1, 4))
"""Ranges of exact inputs, the end excluded; the second has no zero to divide by."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers for the dynamic sizes and the index arguments of a function."""

    values: tuple[int, ...]
    """In the order of the arguments."""

    def __str__(self) -> str:
        """As a list."""
        return ", ".join(map(str, self.values)) or "none"


def unsuitable(func: FuncOp) -> str | None:
    """Say why a function cannot be run by itself; None where it can."""
    if not func.body.blocks:
        return "it has no body"
    for position, type in enumerate(func.function_type.inputs):
        element = scalar_of(element_of(type)) if isa(type, MemRefType) else type
        if not (is_float(element) or is_integer(element)):
            return f"argument {position} is a {type}"
        if isa(type, MemRefType) and not _can_be_made(type):
            return f"argument {position} has a layout that no array has, {type}"
    elements = sum(
        int(np.prod([size for size in _shape(type) if size != DYNAMIC_INDEX]))
        for type in func.function_type.inputs
        if isa(type, MemRefType)
    )
    if elements > MAX_ELEMENTS:
        return f"its arrays have {elements} elements, more than {MAX_ELEMENTS}"
    return None


def _can_be_made(type: MemRefType) -> bool:
    """Whether there are arrays of a type."""
    return isinstance(type.layout, NoneAttr) or type.get_strides() is not None


def _shape(type: MemRefType) -> tuple[int, ...]:
    """Return the shape of arrays of a type, whose elements may be vectors."""
    return (*type.get_shape(), *shape_of(element_of(type)))


def positions(func: FuncOp) -> list[bool]:
    """Return, for each number that `Sizes` has for a function, if it is an argument."""
    types = func.function_type.inputs.data
    return [isinstance(types[slot.argument], IndexType) for slot in slots_of(func)]


def first_sizes(func: FuncOp) -> Iterator[Sizes]:
    """Yield sizes to try, all of them the same but for positions."""
    is_position = positions(func)
    for size in SIZES if is_position else (1,):
        yield Sizes((size,) * len(is_position))
        if any(is_position):
            yield Sizes(tuple(0 if position else size for position in is_position))


def more_sizes(
    func: FuncOp, found: Sizes, random: np.random.Generator
) -> Iterator[Sizes]:
    """Yield sizes to try that differ from each other, given some that do not.

    They are multiples, so that loops and grids make several steps.
    """
    for _ in range(24 if found.values else 0):
        factors = random.integers(2, 5, len(found.values))
        steps = random.permutation(len(found.values))
        yield Sizes(
            tuple(
                int(factor * size if size else step)
                for factor, size, step in zip(factors, found.values, steps, strict=True)
            )
        )
    yield Sizes(tuple(2 * x for x in found.values))


def ragged_sizes(
    func: FuncOp, found: Sizes, random: np.random.Generator
) -> Iterator[Sizes]:
    """Yield sizes to try that no tile divides, for programs that check accesses."""
    accesses = (op for op in func.walk() if isinstance(op, AccessOp))
    if not has_pointers(func) and not any(op.checked is not None for op in accesses):
        return
    for _ in range(24 if found.values else 0):
        extra = random.integers(-7, 8, len(found.values))
        if has_pointers(func):
            extra *= 8  # a pitch has to be a multiple of 16 bytes
        yield Sizes(tuple(max(1, int(x)) for x in found.values + extra))


def tiled_sizes(found: Sizes, tiles: Mapping[int, int]) -> Iterator[tuple[Sizes, ...]]:
    """Yield sizes by the tiles of a program, in groups of which one is enough.

    Args:
        found: sizes that the program accepts; those without a tile stay as they are.
        tiles: of a size, by its number.
    """

    def sizes(times: int, more: int) -> Sizes:
        numbers = enumerate(found.values)
        return Sizes(
            tuple(times * tiles[n] + more if n in tiles else x for n, x in numbers)
        )

    if tiles:
        yield (sizes(1, 0),)
        yield (sizes(1, 1), sizes(2, 0))
        yield (sizes(2, 3), sizes(3, 0))


def make_arguments(
    contract: Contract, sizes: Sizes, inputs: Inputs, seed: Sequence[int]
) -> list[Argument]:
    """Return arguments of a function.

    Args:
        contract: of a function for which `unsuitable` says nothing.
        sizes: as many as it has.
        inputs: which kind.
        seed: of the contents; the same seed gives the same arguments.
    """
    func = contract.func
    random = np.random.default_rng(seed)
    rest = iter(sizes.values)
    low, high = EXACT_VALUES[seed[-1] % len(EXACT_VALUES)]
    found: list[Argument] = []
    for position, type in enumerate(func.function_type.inputs):
        if has_pointers(func) and is_pointer(type):
            element, shape = type.get_element_type(), (POINTER_ELEMENTS,)
            found.append(_contents(element, shape, inputs, random, (low, high)))
        elif isa(type, MemRefType):
            shape = [
                next(rest) if size == DYNAMIC_INDEX else size for size in _shape(type)
            ]
            steps = [contract.row_step(position, n) for n in range(len(shape))]
            array = _empty(type, shape, steps)
            element = scalar_of(element_of(type))
            array[...] = _contents(element, array.shape, inputs, random, (low, high))
            found.append(array)
        elif is_size(func, type):
            found.append(next(rest))
        else:
            found.append(_number(type, inputs, random, (low, high)))
    return found


def _empty(type: MemRefType, shape: Sequence[int], steps: Sequence[int]) -> Array:
    """Return an array with the strides of a type; dynamic ones leave gaps.

    Args:
        type: of a memref.
        shape: of the array, the components of vectors last.
        steps: what each stride is a multiple of where it is dynamic.
    """
    element = element_of(type)
    dtype = memory_dtype(scalar_of(element))
    if isinstance(type.layout, NoneAttr):
        return np.zeros(shape, dtype)
    strides_of_type = type.get_strides()
    assert strides_of_type is not None, type
    width = int(np.prod(shape_of(element)))
    fixed = [stride and width * stride for stride in strides_of_type]
    fixed += [1] * len(shape_of(element))
    strides: list[int] = [0] * len(shape)
    step = 1
    for axis in reversed(range(len(shape))):
        stride = fixed[axis]
        multiple = width * steps[axis]
        strides[axis] = -(-step // multiple) * multiple if stride is None else stride
        step = max(step, strides[axis] * shape[axis]) + (1 if axis else 0)
    elements = 1 + sum(
        (size - 1) * stride for size, stride in zip(shape, strides, strict=True)
    )
    memory = np.zeros(max(elements, 0), dtype)
    return np.lib.stride_tricks.as_strided(
        memory, shape, [stride * dtype.itemsize for stride in strides]
    )


def _contents(
    type: Attribute,
    shape: tuple[int, ...],
    inputs: Inputs,
    random: np.random.Generator,
    exact: tuple[int, int],
) -> Array:
    """Return the contents of an array."""
    if is_float(type):
        if inputs == Inputs.EXACT:
            floats = random.integers(*exact, shape).astype(np.float64)
        else:
            floats = random.standard_normal(shape)
        if isinstance(type, BFloat16Type):
            return to_bf16(floats)
        return floats.astype(memory_dtype(type))
    bits = bits_of(type)
    if bits == 1:
        return random.integers(0, 2, shape).astype(np.bool_)
    if inputs == Inputs.EXACT:
        return random.integers(*exact, shape).astype(memory_dtype(type))
    low = -(1 << (bits - 1))
    return random.integers(low, -low, shape).astype(memory_dtype(type))


def _number(
    type: Attribute,
    inputs: Inputs,
    random: np.random.Generator,
    exact: tuple[int, int],
) -> float | int:
    """Return a number of a type."""
    if is_float(type):
        if inputs == Inputs.EXACT:
            return float(random.integers(*exact))
        return float(random.standard_normal())
    return int(random.integers(2) if bits_of(type) == 1 else random.integers(*exact))
