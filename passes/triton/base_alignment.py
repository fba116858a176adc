"""Bases of surfaces: whether a pointer that was moved is still aligned.

A kernel's pointers are aligned, which is a condition.  One that is moved by

    head * stride + step * 24

is aligned too if each product is a multiple of what a surface wants: by its number, by
a loop that counts in steps, or by an argument, of which that becomes a condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import BlockArgument, SSAValue

from coopc.dialects import tt
from coopc.ir.polynomial import NOTHING, Polynomial
from coopc.passes.triton.affine_tensors import Indices, NotAffine, indivisible

SURFACE_ALIGNMENT = 64
"""Of a base, in bytes, on all devices that have surfaces."""

ALIGNED = "xe.aligned"
"""On a `tt.addptr`: it moves an aligned pointer by a multiple of that (unit)."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """What is known of a pointer that was moved."""

    base: SSAValue
    """Where it was moved from."""
    moved: Polynomial
    """How far, in elements."""
    needs: tuple[tuple[int, int], ...] = ()
    """An argument of the kernel, by number, and what it has to be a multiple of."""
    rest: Polynomial = NOTHING
    """What no argument can make a multiple."""


def alignment_of(base: SSAValue, element_bytes: int) -> Alignment | None:
    """Return what has to be for a pointer to be aligned; None if nobody knows."""
    owner = base.owner
    if isinstance(owner, tt.AddPtrOp) and ALIGNED in owner.attributes:
        return Alignment(owner.ptr, NOTHING)
    try:
        found = Indices(through=True).of(base)
    except NotAffine:
        return None
    if found.base is None:
        return None
    unit = SURFACE_ALIGNMENT // gcd(SURFACE_ALIGNMENT, element_bytes)
    needs: list[tuple[int, int]] = []
    rest: dict[tuple[SSAValue, ...], int] = {}
    for factors, number, wanted in indivisible(found.start, unit):
        arguments = [
            x.index
            for x in factors
            if isinstance(x, BlockArgument)
            and isinstance(x.type, IntegerType)
            and isinstance(x.block.parent_op(), tt.FuncOp)
        ]
        if arguments:
            needs.append((arguments[0], wanted))
        else:
            rest[factors] = number
    return Alignment(found.base, found.start, tuple(needs), Polynomial(rest))
