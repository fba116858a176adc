"""Emulate DPAS: each lane computes what it holds of the result, from shuffles.

With S lanes and N columns, number i S + l is register i of lane l, and counts

    a           units of its type (u bits)     row after row, U = 256 / u of them
    b           channels of 32 bits            row after row, N of them
    c, result   elements                       row after row, N of them

so that the channel k of row m of a is at m U + k U / 8, and that of column n of b at
k N + n.  Products are added to c by ascending k, in f32 or in i32, and the sum is then
rounded to the type of the result: what `coopc.sim` computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    IntegerType,
    MemRefType,
    VectorType,
    f16,
    f32,
    i16,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt, xe
from coopc.dialects.narrow import length_of
from coopc.dialects.simt import bits_of
from coopc.dialects.xe import CHANNEL_BITS, SYSTOLIC_DEPTH
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.number import Num
from coopc.passes.xe.emulate.blocks import joined

TF32_MASK = -(1 << 13)
"""The bits of an f32 that a tf32 has."""


@dataclass(frozen=True, slots=True)
class DpasShape:
    """What decides on the function of a DPAS."""

    precisions: tuple[xe.Precision, xe.Precision]
    repeat: int
    lanes: int
    a: VectorType
    b: VectorType
    c: VectorType

    @property
    def n(self) -> int:
        """Columns."""
        return min(self.lanes, 16)

    @property
    def name(self) -> str:
        """Of its function."""
        a, b = self.precisions
        type = self.c.get_element_type()
        return f"xe_dpas_{a}_{b}_{type}_repeat_{self.repeat}_lanes_{self.lanes}"


def multiply(
    b: Builder, x: DpasShape, a: SSAValue, other: SSAValue, c: SSAValue
) -> SSAValue:
    """Return a * other + c."""
    element = x.c.get_element_type()
    total: Attribute = i32 if x.precisions[0].is_integer else f32

    def one(i: BoundedIndex, now: Sequence[SSAValue]) -> Sequence[SSAValue]:
        start = converted(b, b.extract(c, i), total, signed=True)

        def step(k: BoundedIndex, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left, right = _left(b, x, a, i, k), _right(b, x, other, k)
            (found,) = sums
            for number in range(x.precisions[0].ops_per_channel):
                p = _number(b, left, x.precisions[0], number)
                q = _number(b, right, x.precisions[1], number)
                found = _added(b, found, p, q)
            return (found,)

        (found,) = b.loop(SYSTOLIC_DEPTH, (start,), step, name="k")
        whole = converted(b, found, element, signed=True)
        return (b.insert(now[0], i, whole),)

    zero = b.constant(x.c, 0)
    (found,) = b.loop(x.c.get_shape()[0], (zero,), one, name="i")
    return found


def _left(
    b: Builder, x: DpasShape, a: SSAValue, i: BoundedIndex, k: BoundedIndex
) -> SSAValue:
    """Return the channel k of the row of register i of the result."""
    bits = bits_of(x.a.get_element_type())
    units = SYSTOLIC_DEPTH * CHANNEL_BITS // bits
    per = CHANNEL_BITS // bits
    row_in_register = b.divided(b.lane(x.lanes), x.n)
    # Register i has the rows from i S / N on; where they begin all lanes agree on.
    start = b.times(i, x.lanes // x.n * units)
    register = b.divided(start, x.lanes)
    value = b.extract(a, register)
    within = b.add(b.remainder(start, x.lanes), b.times(row_in_register, units))
    parts: list[SSAValue] = []
    for part in range(per):
        lane = b.add(within, b.add(b.times(k, per), BoundedIndex(part)))
        unit = converted(b, value, i32, signed=False)
        parts.append(b.from_lane(unit, b.remainder(lane, x.lanes)))
    return joined(b, parts, bits)


def _right(b: Builder, x: DpasShape, other: SSAValue, k: BoundedIndex) -> SSAValue:
    """Return the channel k of the column of this lane."""
    start = b.times(k, x.n)
    value = b.extract(other, b.divided(start, x.lanes))
    if x.lanes == x.n:
        return value
    column = b.remainder(b.lane(x.lanes), x.n)
    return b.from_lane(value, b.add(b.remainder(start, x.lanes), column))


def _number(
    b: Builder, channel: SSAValue, precision: xe.Precision, at: int
) -> SSAValue:
    """Return an element of a channel, as f32 or i32."""
    bits, x = precision.bits, Num(b, channel)
    if precision is xe.Precision.F16:
        half = (x >> at * bits) if at else x
        return half.cast(arith.TruncIOp, i16).bits(f16).to(f32).value
    if precision is xe.Precision.TF32:
        return (x & TF32_MASK).bits(f32).value
    if (above := CHANNEL_BITS - bits * (at + 1)) > 0:
        x = x << above
    if precision is xe.Precision.BF16:
        return (x & -(1 << 16)).bits(f32).value
    signed = precision in (xe.Precision.S8, xe.Precision.S4)
    shift = arith.ShRSIOp if signed else arith.ShRUIOp
    return x.apply(shift, CHANNEL_BITS - bits).value


def _added(b: Builder, total: SSAValue, p: SSAValue, q: SSAValue) -> SSAValue:
    if isinstance(total.type, IntegerType):
        return b.pure(arith.AddiOp, total, b.pure(arith.MuliOp, p, q))
    return b.pure(arith.AddfOp, total, b.pure(arith.MulfOp, p, q))


def gathered(b: Builder, half: SSAValue, scratch: SSAValue, lanes: int) -> SSAValue:
    """Return all rows of a that a pair of subgroups holds, each one half of them.

    Subgroups 2 i and 2 i + 1 are a pair.  All subgroups of a work-group exchange
    together, through work-group memory.

    The i32 of `scratch` are one for each component of `half` of each work-item.
    """
    rows = length_of(half)
    own = b.pure(simt.SubgroupIdOp)
    first = b.pure(arith.AndIOp, own, b.constant(INDEX, -2))

    def place(subgroup: SSAValue, row: BoundedIndex) -> SSAValue:
        start = b.pure(arith.MuliOp, subgroup, b.constant(INDEX, lanes * rows))
        within = b.add(b.times(row, lanes), b.lane(lanes))
        return b.pure(arith.AddiOp, start, b.index(within))

    def give(row: BoundedIndex, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        value = b.extract(half, row)
        b.effect(memref.StoreOp.get(value, scratch, [place(own, row)]))
        return ()

    def take(row: BoundedIndex, now: Sequence[SSAValue]) -> Sequence[SSAValue]:
        giver = b.pure(arith.AddiOp, first, b.index(b.divided(row, rows)))
        at = place(giver, b.remainder(row, rows))
        op = b.effect(memref.LoadOp.get(scratch, [at]))
        return (b.insert(now[0], row, op.results[0]),)

    b.effect(simt.BarrierOp())  # the last exchange has been read
    b.loop(rows, (), give)
    b.effect(simt.BarrierOp())
    whole = b.constant(VectorType(i32, [2 * rows]), 0)
    return b.loop(2 * rows, (whole,), take)[0]


def scratch_type(kernel: simt.Kernel, rows: int) -> MemRefType:
    """Return the work-group memory in which pairs exchange so many rows of a lane."""
    space = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
    return MemRefType(i32, [kernel.work_items * rows], memory_space=space)
