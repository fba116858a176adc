"""Accesses through pointers as vectors: what a lane has that lies in a row in memory.

    tt.load %p, %m : tensor<1024x!tt.ptr<f16>, #blocked>    8 f16 a lane: one vector

Elements of a lane are one vector where their addresses follow each other, the first is
a multiple of the vector, and the mask is the same for all of them: it compares
coordinates with a bound that is a multiple of the vector, too, or does not vary along
that dimension.  Pointers and integers of the kernel are such multiples where Triton
says so, in `tt.divisibility`; that they are becomes a condition of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, SSAValue

from coopc.dialects import tt
from coopc.dialects.tt.types import PtrType, bits_of, in_memory
from coopc.ir.polynomial import ONE, Polynomial
from coopc.passes.triton.affine_tensors import (
    Affine,
    Indices,
    Mask,
    NotAffine,
    indivisible,
    mask_of,
)
from coopc.passes.xe.register_layout import RegisterLayout, register_layout

MOST_BYTES = 16
"""Of a vector: what a message loads or stores for a lane at once."""
DIVISIBILITY = "tt.divisibility"


Need: TypeAlias = tuple[int, str, int]
"""An argument of the kernel, its address or its value, and what divides that."""


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """How the elements of a lane are moved."""

    length: int
    """Elements of a vector, a power of two."""
    needs: tuple[Need, ...]
    """Addresses in bytes, integers in elements."""


def plan_vector(op: tt.LoadOp | tt.StoreOp) -> VectorPlan | None:
    """Return the longest vectors that an access is made of; None if it is of none."""
    if not tt.is_tensor(pointers := op.ptr.type):
        return None
    registers = register_layout(pointers)
    for dim, plan in vectors_along(op):
        if 1 < plan.length <= registers.length and _follow(registers, dim, plan.length):
            return plan
    return None


def vectors_along(op: tt.LoadOp | tt.StoreOp) -> Iterator[tuple[int, VectorPlan]]:
    """Yield the vectors that memory behind pointers has, whatever lanes hold.

    By the dimension along which addresses follow each other, the longest first; the
    last has one element.
    """
    indices = Indices(through=True, partial=True)
    try:
        pointers = indices.of(op.ptr)
    except NotAffine:
        return
    base = pointers.base
    if not isinstance(base, BlockArgument) or not isinstance(base.type, PtrType):
        return
    mask = Mask() if op.mask is None else mask_of(op.mask, indices)
    size, rest = divmod(bits_of(in_memory(base.type.pointee)) or 8, 8)
    if rest:  # which memory does not have one by one
        return
    for dim in (x for x, step in enumerate(pointers.steps) if step == ONE):
        length = MOST_BYTES // size
        while length > 1:
            needs = _needs(pointers, mask, dim, length)
            if needs is not None and _divisibility(base) % (length * size) == 0:
                aligned = base.index, "address", length * size
                yield dim, VectorPlan(length, (aligned, *needs))
            length //= 2
        yield dim, VectorPlan(1, ())


def _needs(pointers: Affine, mask: Mask, dim: int, length: int) -> list[Need] | None:
    """Return what has to be for elements along a dimension to be vectors, or None."""
    if any(x.steps[dim] for x in mask.others):
        return None
    to_divide = [pointers]
    for each in mask.negative:
        step = each.steps[dim].constant
        if step == 0:
            continue
        if step not in (1, -1):
            return None
        # Of n - 1 - i < 0, which is i >= n, n is to be a multiple.
        to_divide.append(each if step == 1 else replace(each, start=each.start + ONE))
    found: list[Need] = []
    steps = ((x.start, *x.steps[:dim], *x.steps[dim + 1 :]) for x in to_divide)
    for number in chain(*steps):
        needs = _to_be_multiple(number, length)
        if needs is None:
            return None
        found += needs
    return found


def _follow(registers: RegisterLayout, dim: int, length: int) -> bool:
    """Whether runs of a lane's elements are neighbours along a dimension, and aligned.

    Lanes and subgroups then have other runs.
    """
    layout = registers.layout
    if any(x[dim] % length for name in ("lane", "warp") for x in layout.bases(name)):
        return False
    own = [registers.coordinates[x] for x in registers.distinct]
    return all(
        first[dim] % length == 0
        and element == (*first[:dim], first[dim] + at % length, *first[dim + 1 :])
        for at, element in enumerate(own)
        for first in (own[at - at % length],)
    )


def _to_be_multiple(number: Polynomial, of: int) -> list[Need] | None:
    """Return what arguments must be for a sum to be a multiple; None if none can."""
    found: list[Need] = []
    for factors, _, wanted in indivisible(number, of):
        told = [x for x in factors if _divisibility(x) % wanted == 0]
        if not told:
            return None
        assert isinstance(told[0], BlockArgument), told
        found.append((told[0].index, "value", wanted))
    return found


def _divisibility(value: SSAValue) -> int:
    """Return what Triton says that an argument of the kernel is a multiple of."""
    func = value.block.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(func, tt.FuncOp) or not isinstance(value, BlockArgument):
        return 1
    told = func.argument_attributes(value.index).get(DIVISIBILITY)
    return told.value.data if isinstance(told, IntegerAttr) else 1
