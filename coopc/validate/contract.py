"""What the caller of a function promises, and the sizes that its tiles are made for.

Both come from the forms of a function before and after a pass: conditions of the
interface and sizes that are the same; the tiles of its grid and of its loops.

The memory of some kernels is behind pointers: Triton's, and what they become.  A
pointer says nothing of how much memory there is: each gets the same amount.  Integers
are sizes and pitches there, and get numbers as dynamic sizes do, of which the
conditions of the kernel hold: a program that has them says that it is called for no
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TypeGuard

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
from coopc.emit.interface import conditions_of
from coopc.interface import Buffer, Condition, Interface, Scalar
from coopc.interface_call import violated_condition
from coopc.ir.facts import constant_number
from coopc.sim.launch import Argument
from coopc.sim.values import bits_of, is_integer
from coopc.validate.forms import Form

MOST_TILE = 512
"""Elements along a dimension: larger tiles are not filled."""
LEAST_BITS = 32
"""Of an integer that is a size, beside pointers."""


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
    """A number that `Sizes` has for a function."""

    what: str
    """size or value, as in `Condition`."""
    argument: int
    dimension: int = 0


def slots_of(func: FuncOp) -> list[Slot]:
    """Return what the numbers of `Sizes` are, in order."""
    found: list[Slot] = []
    for position, type in enumerate(func.function_type.inputs):
        if isa(type, MemRefType):
            found += [
                Slot("size", position, dimension)
                for dimension, size in enumerate(type.get_shape())
                if size == DYNAMIC_INDEX
            ]
        elif is_size(func, type):
            found.append(Slot("value", position))
    return found


@dataclass(frozen=True)
class Contract:
    """What holds of the arguments of every call of a function."""

    func: FuncOp
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, origin: FuncOp, forms: Iterable[Form], any_memory: bool) -> Contract:
        """Return what the kernels of some forms ask for.

        Args:
            origin: whose arguments it is about.
            forms: of the origin.
            any_memory: whether only what keeps the meaning holds, not what makes
                memory fast: sizes that are the same, rows that do not overlap.
        """
        found: list[Condition] = []
        kernels = [s.kernel or s.func for form in forms for s in form.stages]
        for func in [origin, *kernels]:
            if simt.KERNEL in func.attributes:
                found += conditions_of(simt.kernel_of(func))
        if any_memory:
            found = [x for x in found if x.like_argument is not None or _apart(x)]
            found = [
                Condition(x.what, x.argument, at_least_argument=x.at_least_argument)
                if _apart(x)
                else x
                for x in found
            ]
        return cls(origin, tuple(dict.fromkeys(found)))

    def groups(self) -> list[set[int]]:
        """Return, for each size, the numbers of those that are the same."""
        places = {slot: place for place, slot in enumerate(slots_of(self.func))}
        found = [{place} for place in range(len(places))]
        for condition in self.conditions:
            here, like = _compared(condition)
            one, two = places.get(here), None if like is None else places.get(like)
            if one is not None and two is not None:
                together = found[one] | found[two]
                for each in together:
                    found[each] = together
        return found

    def fitted(self, values: Sequence[int]) -> tuple[int, ...]:
        """Return sizes near given ones that keep the conditions on sizes."""
        slots = slots_of(self.func)
        places = {slot: place for place, slot in enumerate(slots)}
        steps, least = [1] * len(slots), [0] * len(slots)
        known: dict[int, int] = {}
        for condition in self.conditions:
            here, like = _compared(condition)
            if (place := places.get(here)) is not None:
                steps[place] = lcm(steps[place], condition.multiple_of)
                least[place] = max(least[place], condition.at_least or 0)
                if like is not None and like not in places:
                    known[place] = self._size(like)
            elif like is not None and like in places:
                known[places[like]] = self._size(here)
        found: list[int] = []
        for group in self.groups():
            step = lcm(*(steps[place] for place in group))
            wanted = max(values[min(group)], *(least[place] for place in group))
            fixed = [known[place] for place in group if place in known]
            found.append(fixed[0] if fixed else -(-wanted // step) * step)
        return tuple(found)

    def _size(self, slot: Slot) -> int:
        """Return a size that the type of an argument has."""
        type = self.func.function_type.inputs.data[slot.argument]
        assert isa(type, MemRefType), type
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
        pairs = zip(self.func.function_type.inputs, arguments, strict=True)
        known = tuple(
            Buffer(f"argument {n}", "i8", ())
            if isinstance(given, np.ndarray)
            else Scalar(f"argument {n}", "index")
            for n, (_, given) in enumerate(pairs)
        )
        interface = Interface(
            self.func.sym_name.data,
            "opencl",
            known,
            (),
            (1, 1, 1),
            None,
            None,
            conditions=self.conditions,
        )
        return violated_condition(interface, arguments)


def _compared(condition: Condition) -> tuple[Slot, Slot | None]:
    """Return what a condition is about, and the size that it has to be."""
    here = Slot(condition.what, condition.argument, condition.dimension)
    if condition.like_argument is None:
        return here, None
    return here, Slot("size", condition.like_argument, condition.like_dimension)


def _apart(condition: Condition) -> bool:
    """Whether a condition says that rows do not overlap."""
    return condition.at_least_argument is not None


def tiles_of(contract: Contract, forms: Iterable[Form]) -> dict[int, int]:
    """Return how many elements of a size a work-group, or a step of a loop, takes.

    A size is divided by its tile in the map from sizes to work-groups; or it bounds a
    loop of that step.  Sizes are numbered as in `slots_of`; those without are left out.
    """
    slots, groups = slots_of(contract.func), contract.groups()
    found: dict[int, int] = {}
    for form in forms:
        for slot, tile in _tiles(contract.func, form):
            if slot in slots and 1 < tile <= MOST_TILE:
                for each in groups[slots.index(slot)]:
                    found[each] = max(found.get(each, 1), tile)
    return found


def _tiles(origin: FuncOp, form: Form) -> Iterator[tuple[Slot, int]]:
    """Yield sizes, and what a form divides them by or steps through them in."""
    # The sizes of a grid are those of memrefs and indices, not of other integers.
    sizes = [slot for slot in slots_of(origin) if _of_grid(origin, slot)]
    for map in form.maps():
        for expr in map.results:
            for dim, tile in _divided(expr, 1):
                yield sizes[dim], tile
    for stage in form.stages:
        for loop in stage.func.walk():
            step = constant_number(loop.step) if isinstance(loop, scf.ForOp) else None
            if isinstance(loop, scf.ForOp) and step is not None:
                for slot, factor in _bounds(loop.ub, 1):
                    yield slot, step * factor


def _of_grid(origin: FuncOp, slot: Slot) -> bool:
    type = origin.function_type.inputs.data[slot.argument]
    return slot.what == "size" or isinstance(type, IndexType)


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
    op = value.owner
    match op:
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
