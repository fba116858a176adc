"""Masks of Triton: comparisons of coordinates, as bounds along each dimension.

    row + i < m  and  j < k - step        dimension 0: i < m - row, 1: j < k - step

`Masks.of` takes a mask apart into what must be below 0, and scalar conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.arith import AndIOp, CmpiOp, ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue

from coopc.dialects import tt, ttg
from coopc.dialects.tt.types import is_tensor, shape_of
from coopc.passes.triton.affine_tensors import Affine, Indices, NotAffine, named
from coopc.rewrite.polynomial import NOTHING, ONE, Polynomial

_EQ, _NE, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = range(10)


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask that is true where all of it is."""

    negative: tuple[Affine, ...] = ()
    """What must be less than 0."""
    flags: tuple[SSAValue, ...] = ()
    """Scalars, i1."""

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.negative + other.negative, self.flags + other.flags)

    def changed(self, change: Callable[[Affine], Affine]) -> Mask:
        """Return it in another shape."""
        return Mask(tuple(map(change, self.negative)), self.flags)


@dataclass(slots=True)
class Masks:
    """What masks are made of."""

    indices: Indices

    def of(self, value: SSAValue) -> Mask:
        """Return what a mask is.

        Raises:
            NotAffine: it is more than comparisons of coordinates.
        """
        if not is_tensor(value.type):
            return Mask(flags=(value,))
        owner = value.owner
        rule = None if isinstance(owner, Block) else _RULES.get(type(owner))
        if rule is None:
            raise NotAffine(f"a mask comes from {named(value)}")
        return rule(self, owner)


def _constant(masks: Masks, op: ConstantOp) -> Mask:
    value = op.value
    if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat():
        if next(iter(value.get_values())):
            return Mask()
        return Mask((Affine(NOTHING, (NOTHING,) * len(shape_of(op.result.type))),))
    raise NotAffine("a mask is a constant of several values")


def _compare(masks: Masks, op: CmpiOp) -> Mask:
    one, other = masks.indices.of(op.lhs), masks.indices.of(op.rhs)
    kind = op.predicate.value.data
    if kind in (_SGT, _SGE, _UGT, _UGE):
        one, other = other, one
    if kind in (_EQ, _NE):
        raise NotAffine("a mask is where coordinates are equal, or are not")
    difference = one + -other
    if kind in (_SLE, _SGE, _ULE, _UGE):
        difference = Affine(difference.start - ONE, difference.steps)
    found = [difference]
    if kind in (_ULT, _ULE, _UGT, _UGE):
        found.append(Affine(-one.start - ONE, (-one).steps))
    return Mask(tuple(found))


def _expand(masks: Masks, op: tt.ExpandDimsOp) -> Mask:
    axis = op.axis.value.data
    return masks.of(op.src).changed(
        lambda x: Affine(x.start, (*x.steps[:axis], NOTHING, *x.steps[axis:]))
    )


def _broadcast(masks: Masks, op: tt.BroadcastOp) -> Mask:
    sizes = shape_of(op.src.type)

    def change(x: Affine) -> Affine:
        pairs = zip(x.steps, sizes, strict=True)
        return Affine(x.start, tuple(NOTHING if n == 1 else s for s, n in pairs))

    return masks.of(op.src).changed(change)


def _trans(masks: Masks, op: tt.TransOp) -> Mask:
    order = op.permutation
    return masks.of(op.src).changed(
        lambda x: Affine(x.start, tuple(x.steps[dim] for dim in order))
    )


_RULES: Mapping[type[Operation], Callable[[Masks, Any], Mask]] = {
    AndIOp: lambda masks, op: masks.of(op.lhs) & masks.of(op.rhs),
    CmpiOp: _compare,
    ConstantOp: _constant,
    tt.BroadcastOp: _broadcast,
    tt.ExpandDimsOp: _expand,
    tt.SplatOp: lambda masks, op: Mask(flags=(op.src,)),
    tt.TransOp: _trans,
    ttg.ConvertLayoutOp: lambda masks, op: masks.of(op.src),
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which coordinates along one dimension are inside."""

    below: Polynomial | None = None
    """They are less than this; None where that is not asked."""
    above: Polynomial | None = None
    """They are at least this."""


def bounds(mask: Mask, rank: int) -> tuple[Bounds, ...]:
    """Return what a mask asks of each coordinate.

    Raises:
        NotAffine: it asks something of several together, or two things of one.
    """
    found = [Bounds() for _ in range(rank)]
    for each in mask.negative:
        dims = [dim for dim, step in enumerate(each.steps) if step]
        if len(dims) != 1:
            raise NotAffine(f"a mask compares {len(dims)} coordinates at once")
        (dim,) = dims
        step = each.steps[dim].constant
        have = found[dim]
        if step == 1:
            new = Bounds(-each.start, have.above)
            clash = have.below is not None and have.below != new.below
        elif step == -1:
            new = Bounds(have.below, each.start + ONE)
            clash = have.above is not None and have.above != new.above
        else:
            raise NotAffine("a mask compares a multiple of a coordinate")
        if clash:
            raise NotAffine("a mask bounds one dimension twice")
        found[dim] = new
    return tuple(found)
