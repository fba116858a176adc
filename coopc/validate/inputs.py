"""Inputs for kernels and functions: sizes that they accept, and what is in the arrays.

Sizes are found by trying: dynamic sizes and `index` arguments get one small number, or
the arguments, which may be positions, 0; the first for which the program does nothing
undefined is taken.  Then sizes that differ from each other are tried; for programs
with checked accesses, sizes that no tile divides; and, where the program has tiles, a
whole tile, a tile and one more, two tiles and a part of one.  Sizes keep the conditions
of the kernel, a `Contract`: what its forms before and after a pass ask for.  Whatever a
program accepts is a fair input, even if nobody would call it so.

The memory of some kernels is behind pointers: Triton's, and what they become.  A
pointer says nothing of how much memory there is: each gets the same amount.  Integers
are sizes and pitches there, and get numbers as dynamic sizes do, of which the
conditions of the kernel hold: a program that has them says that it is called for no
others.

Contents are of two kinds (`coopc.sim.tracked.Inputs`): small integers, so that sums of
products are exact, and any numbers.  Outputs are filled too: what a program leaves as
it is is compared as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm, prod
from typing import TypeAlias, TypeGuard

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.dialects.coopmatrix import AccessOp
from coopc.dialects.narrow import as_bytes, is_memref, is_tensor
from coopc.dialects.shaped_arith import element_of
from coopc.emit.interface import conditions_of
from coopc.interface import Buffer, Condition, Interface, Scalar
from coopc.interface_call import strided_zeros, violated_condition
from coopc.ir.facts import constant_number
from coopc.rounding import is_scale
from coopc.sim.launch import Argument
from coopc.sim.numerics import encoded
from coopc.sim.tracked import Inputs
from coopc.sim.values import (
    CODED,
    Array,
    bits_of,
    is_float,
    is_integer,
    memory_dtype,
    shape_of,
)
from coopc.validate.forms import FunctionForm

Sizes: TypeAlias = tuple[int, ...]
"""Numbers for what `slots_of` a function are, in order."""

SIZES = (16, 32, 64, 128, 8, 4, 1)
"""Numbers that dynamic sizes are tried with, in elements."""
MOST_TILE = 512
"""Elements along a dimension: larger tiles are not filled."""
POINTER_ELEMENTS = 1 << 16
"""That each pointer points to."""
MAX_ELEMENTS = 1 << 22
"""Of all arrays together: with more, a function is not run."""
LEAST_BITS = 32
"""Of an integer that is a size, beside pointers."""
EXACT_VALUES = ((-2, 3), (1, 4))
"""Ranges of exact inputs, the end excluded; the second has no zero to divide by."""


def unsuitable(func: FuncOp) -> str | None:
    """Say why a function cannot be run by itself; None where it can."""
    if not func.body.blocks:
        return "it has no body"
    elements = 0
    for position, type in enumerate(func.function_type.inputs):
        try:
            element = type = array_type(type)
        except ValueError as error:
            return str(error)
        if isa(type, MemRefType):
            element = element_of(type.get_element_type())
            elements += prod(size for size in _shape(type) if size != DYNAMIC_INDEX)
        if not (is_float(element) or is_integer(element)):
            return f"argument {position} is a {type}"
        has_strides = isa(type, MemRefType) and type.get_strides() is not None
        if isa(type, MemRefType) and not has_strides:
            return f"argument {position} has a layout that no array has, {type}"
    if elements > MAX_ELEMENTS:
        return f"its arrays have {elements} elements, more than {MAX_ELEMENTS}"
    return None


def array_type(type: Attribute) -> Attribute:
    """Return the memref that an argument's array is like, or the type as it is.

    Raises:
        ValueError: see `as_bytes`.
    """
    if is_tensor(type):
        type = MemRefType(type.element_type, type.get_shape())
    return as_bytes(type)


def _shape(type: MemRefType) -> tuple[int, ...]:
    """Return the shape of arrays of a type, whose elements may be vectors."""
    return (*type.get_shape(), *shape_of(type.get_element_type()))


def is_pointer(type: Attribute) -> TypeGuard[MemRefType]:
    """Whether an argument is a pointer: a memref of rank 0."""
    return (
        isa(type, MemRefType)
        and not type.get_shape()
        and isinstance(type.layout, NoneAttr)
    )


def has_pointers(func: FuncOp) -> bool:
    """Whether the memory of a kernel is behind pointers."""
    return simt.KERNEL in func.attributes and any(
        map(is_pointer, func.function_type.inputs)
    )


def is_size(func: FuncOp, type: Attribute) -> bool:
    """Whether an argument is a size or a pitch, or else a position."""
    if isinstance(type, IndexType):
        return True
    return is_integer(type) and bits_of(type) >= LEAST_BITS and has_pointers(func)


@dataclass(frozen=True, slots=True)
class Slot:
    """What a number of `Sizes` is for."""

    what: str
    """size or value, as in `Condition`."""
    argument: int
    dimension: int = 0


def slots_of(func: FuncOp) -> list[Slot]:
    """Return what the numbers of `Sizes` are, in order."""
    found: list[Slot] = []
    for position, type in enumerate(func.function_type.inputs):
        if is_memref(type) or is_tensor(type):
            found += [
                Slot("size", position, dimension)
                for dimension, size in enumerate(type.get_shape())
                if size == DYNAMIC_INDEX
            ]
        elif is_size(func, type):
            found.append(Slot("value", position))
    return found


def _is_index(func: FuncOp, slot: Slot) -> bool:
    return isinstance(func.function_type.inputs.data[slot.argument], IndexType)


@dataclass(frozen=True)
class Contract:
    """What holds of the arguments of every call of a function."""

    func: FuncOp
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(
        cls, origin: FuncOp, forms: Iterable[FunctionForm], any_memory: bool
    ) -> Contract:
        """Return what the kernels of some forms ask for.

        With any memory, only what keeps the meaning holds, not what makes memory fast:
        sizes that are the same, rows that do not overlap.
        """
        found: list[Condition] = []
        for func in [origin, *(s.started for form in forms for s in form.stages)]:
            if simt.KERNEL in func.attributes:
                found += conditions_of(simt.kernel_of(func))
        if any_memory:
            equal = [x for x in found if x.like_argument is not None]
            found = equal + [
                Condition(x.what, x.argument, at_least_argument=x.at_least_argument)
                for x in found
                if x.at_least_argument is not None
            ]
        return cls(origin, tuple(dict.fromkeys(found)))

    def equal(self) -> dict[Slot, set[Slot]]:
        """Return, for each size, those that are the same, also static ones."""
        found = {slot: {slot} for slot in slots_of(self.func)}
        for x in self.conditions:
            if x.like_argument is not None:
                like = Slot("size", x.like_argument, x.like_dimension)
                pair = (Slot(x.what, x.argument, x.dimension), like)
                together = set[Slot]().union(*(found.get(y, {y}) for y in pair))
                found |= dict.fromkeys(together, together)
        return found

    def fitted(self, values: Sizes) -> Sizes:
        """Return sizes near given ones that keep the conditions on sizes."""
        given = dict(zip(slots_of(self.func), values, strict=True))
        found: list[int] = []
        equal = self.equal()
        for slot in given:
            same = equal[slot]
            if fixed := [self._size(x) for x in same if x not in given]:
                found.append(fixed[0])
                continue
            mine = [
                x
                for x in self.conditions
                if Slot(x.what, x.argument, x.dimension) in same
            ]
            step = lcm(*(x.multiple_of for x in mine))
            first = next(given[x] for x in given if x in same)
            wanted = max(first, *(x.at_least or 0 for x in mine), 0)
            found.append(-(-wanted // step) * step)
        return tuple(found)

    def _size(self, slot: Slot) -> int:
        """Return a size that the type of an argument has."""
        type = self.func.function_type.inputs.data[slot.argument]
        assert is_memref(type) or is_tensor(type), type
        return type.get_shape()[slot.dimension]

    def row_step(self, argument: int, dimension: int) -> int:
        """Return what the stride of a memref has to be a multiple of, in elements."""
        return lcm(
            *(
                condition.multiple_of
                for condition in self.conditions
                if (condition.what, condition.argument, condition.dimension)
                == ("stride", argument, dimension)
            )
        )

    def violated(self, arguments: Sequence[Argument]) -> str | None:
        """Return which condition arguments violate, or None."""
        known = tuple(
            Buffer(f"argument {n}", "i8", ())
            if isinstance(given, np.ndarray)
            else Scalar(f"argument {n}", "index")
            for n, given in enumerate(arguments)
        )
        name, sizes = self.func.sym_name.data, (1, 1, 1)
        interface = Interface(
            name, "opencl", known, (), sizes, None, None, conditions=self.conditions
        )
        return violated_condition(interface, arguments)


def tiles_of(contract: Contract, forms: Iterable[FunctionForm]) -> dict[int, int]:
    """Return how many elements of a size a work-group, or a step of a loop, takes.

    A size is divided by its tile in the map from sizes to work-groups; or it bounds a
    loop of that step.  Sizes are numbered as in `slots_of`; those without are left out.
    """
    slots, equal = slots_of(contract.func), contract.equal()
    found: dict[int, int] = {}
    for form in forms:
        for slot, tile in _tiles(contract.func, form):
            if slot in slots and 1 < tile <= MOST_TILE:
                for each in (slots.index(x) for x in equal[slot] if x in slots):
                    found[each] = max(found.get(each, 1), tile)
    return found


def _tiles(origin: FuncOp, form: FunctionForm) -> Iterator[tuple[Slot, int]]:
    """Yield sizes, and what a form divides them by or steps through them in."""
    # The sizes of a grid are those of memrefs and indices, not of other integers.
    sizes = [x for x in slots_of(origin) if x.what == "size" or _is_index(origin, x)]
    for map in (stage.map for stage in form.stages):
        for expr in () if map is None else map.results:
            for dim, tile in _divided(expr, 1):
                yield sizes[dim], tile
    for stage in form.stages:
        for loop in stage.func.walk():
            step = constant_number(loop.step) if isinstance(loop, scf.ForOp) else None
            if isinstance(loop, scf.ForOp) and step is not None:
                for slot, factor in _bounds(loop.ub, 1):
                    yield slot, step * factor


def _divided(expr: AffineExpr, by: int) -> Iterator[tuple[int, int]]:
    """Yield sizes and what an expression divides them by."""
    match expr:
        case AffineDimExpr():
            yield expr.position, by
        case AffineBinaryOpExpr(
            AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.CeilDiv,
            lhs,
            AffineConstantExpr(value),
        ):
            yield from _divided(lhs, by * value)
        case AffineBinaryOpExpr(_, lhs, rhs):
            yield from _divided(lhs, by)
            yield from _divided(rhs, by)
        case _:
            pass


def _bounds(value: SSAValue, by: int) -> Iterator[tuple[Slot, int]]:
    """Yield sizes that a bound is computed from, and what they are divided by."""
    if isinstance(value, BlockArgument):
        if isinstance(value.block.parent_op(), FuncOp):
            yield Slot("value", value.index), by
        return
    match op := value.owner:
        case memref.DimOp():
            source, dimension = op.source, constant_number(op.index)
            if isinstance(source, BlockArgument) and dimension is not None:
                yield Slot("size", source.index, dimension), by
        case arith.DivSIOp() | arith.DivUIOp() | arith.CeilDivSIOp():
            divisor = constant_number(op.rhs)
            if divisor is not None and divisor > 0:
                yield from _bounds(op.lhs, by * divisor)
        case arith.AddiOp() | arith.SubiOp() | arith.IndexCastOp() | arith.ExtSIOp():
            for operand in op.operands:
                yield from _bounds(operand, by)
        case _:
            pass


# Sizes to try.


def first_sizes(func: FuncOp) -> Iterator[Sizes]:
    """Yield sizes to try, all of them the same but for positions."""
    is_position = [_is_index(func, slot) for slot in slots_of(func)]
    for size in SIZES if is_position else (1,):
        yield (size,) * len(is_position)
        if any(is_position):
            yield tuple(0 if position else size for position in is_position)


def more_sizes(found: Sizes, random: np.random.Generator) -> Iterator[Sizes]:
    """Yield sizes to try that differ from each other, given some that do not.

    They are multiples, so that loops and grids make several steps.
    """
    for _ in range(24 if found else 0):
        factors = random.integers(2, 5, len(found))
        steps = random.permutation(len(found))
        triples = zip(factors, found, steps, strict=True)
        yield tuple(int(x * size if size else step) for x, size, step in triples)
    yield tuple(2 * x for x in found)


def ragged_sizes(
    func: FuncOp, found: Sizes, random: np.random.Generator
) -> Iterator[Sizes]:
    """Yield sizes to try that no tile divides, for programs that check accesses."""
    accesses = (op for op in func.walk() if isinstance(op, AccessOp))
    if not has_pointers(func) and not any(op.checked is not None for op in accesses):
        return
    for _ in range(24 if found else 0):
        extra = random.integers(-7, 8, len(found))
        if has_pointers(func):
            extra *= 8  # a pitch has to be a multiple of 16 bytes
        yield tuple(max(1, int(x)) for x in found + extra)


def tiled_sizes(found: Sizes, tiles: Mapping[int, int]) -> Iterator[tuple[Sizes, ...]]:
    """Yield sizes by the tiles of a program, in groups of which one is enough.

    Sizes without a tile stay as they are.
    """

    def sizes(times: int, more: int) -> Sizes:
        numbers = enumerate(found)
        return tuple(times * tiles[n] + more if n in tiles else x for n, x in numbers)

    if tiles:
        yield (sizes(1, 0),)
        yield (sizes(1, 1), sizes(2, 0))
        yield (sizes(2, 3), sizes(3, 0))


# Contents.


@dataclass(frozen=True, slots=True)
class Contents:
    """Where numbers for arguments come from."""

    inputs: Inputs
    random: np.random.Generator
    exact: tuple[int, int]
    """The range of exact ones, the end excluded."""

    def numbers(self, type: Attribute, shape: Sequence[int]) -> Array:
        """Return numbers for a type, floats as f64."""
        is_exact = self.inputs == Inputs.EXACT
        if is_float(type):
            numbers = self.random.standard_normal(shape)
            if is_exact:
                numbers = self.random.integers(*self.exact, shape).astype(np.float64)
            return np.asarray(2.0**numbers if is_scale(type.name) else numbers)
        low, high = (0, 2) if (bits := bits_of(type)) == 1 else self.exact
        if bits > 1 and not is_exact:
            low, high = -(1 << (bits - 1)), 1 << (bits - 1)
        return self.random.integers(low, high, shape)

    def stored(self, type: Attribute, shape: Sequence[int]) -> Array:
        """Return numbers as memory holds them."""
        found = self.numbers(type, shape)
        if type.name in CODED:
            return encoded(found, type.name)
        return found.astype(memory_dtype(type))


def make_arguments(
    contract: Contract, sizes: Sizes, inputs: Inputs, seed: Sequence[int]
) -> list[Argument]:
    """Return arguments of a function.

    The same seed gives the same arguments.
    """
    func, rest = contract.func, iter(sizes)
    random, exact = np.random.default_rng(seed), EXACT_VALUES[seed[-1]]
    contents, small = (Contents(x, random, exact) for x in (inputs, Inputs.EXACT))
    found: list[Argument] = []
    for position, type in enumerate(func.function_type.inputs):
        type = array_type(type)
        if has_pointers(func) and is_pointer(type):
            found.append(contents.stored(type.get_element_type(), (POINTER_ELEMENTS,)))
        elif isa(type, MemRefType):
            shape = [
                next(rest) if size == DYNAMIC_INDEX else size for size in _shape(type)
            ]
            steps = [contract.row_step(position, n) for n in range(len(shape))]
            array = _empty(type, shape, steps)
            array[...] = contents.stored(element_of(type.get_element_type()), shape)
            found.append(array)
        elif is_size(func, type):
            found.append(next(rest))
        else:
            chosen = contents if is_float(type) else small
            found.append(chosen.numbers(type, ()).item())
    return found


def _empty(type: MemRefType, shape: Sequence[int], steps: Sequence[int]) -> Array:
    """Return an array with the strides of a type; dynamic ones leave gaps.

    `steps` are what strides are multiples of; the components of vectors are the last
    dimension.
    """
    element = type.get_element_type()
    dtype = memory_dtype(element_of(element))
    if isinstance(type.layout, NoneAttr):
        return np.zeros(shape, dtype)
    strides_of_type = type.get_strides()
    assert strides_of_type is not None, type
    width = prod(shape_of(element))
    fixed = [stride and width * stride for stride in strides_of_type]
    fixed += [1] * len(shape_of(element))
    strides: list[int] = [0] * len(shape)
    step = 1
    for axis in reversed(range(len(shape))):
        stride = fixed[axis]
        multiple = width * steps[axis]
        strides[axis] = -(-step // multiple) * multiple if stride is None else stride
        step = max(step, strides[axis] * shape[axis]) + (1 if axis else 0)
    return strided_zeros(shape, strides, dtype)
