"""Loops: which sums they keep in matrices where they stand, or around statements.

    %acc = arith.mulf %old, f(rows)         in each round, of matrices:
    yield tt.dot %a, %b, %acc                 old * (rows in each column) + a * b

What a loop does to such sums is to scale rows of them and to add products.  Sums of two
loops are the same matrices if the second one begins with what the first one ends with.
Behind the loops sums are stored element by element, a tile at a time, through a buffer.
Sums that nothing else is done with in a loop go in rounds instead (rounds.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, tt
from coopc.dialects.tt.types import shape_of
from coopc.ir.builder import INDEX, Values
from coopc.ir.control_flow import yielded
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import (
    Change,
    rewritten,
    steps,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import Rounds, TtKernel
from coopc.passes.triton.convert_tt_to_coopmatrix.products import (
    TileTypes,
    add_whole_products,
    factor,
    filled,
    is_multiplied,
    staged,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    RoundsPlan,
    is_splat,
    plan_rounds,
    pointwise_users,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.shared_rounds import LANE_SUMS


@dataclass(frozen=True, slots=True)
class KeptSums:
    """Sums that a loop keeps in matrices."""

    number: int
    """Of the sums among what the loop carries."""
    scales: Mapping[Operation, SSAValue]
    """What rows of them are multiplied by, before products are added."""
    dot: tt.DotOp


def plan_kept(loop: scf.ForOp, most: int) -> KeptSums | None:
    """Return the sums that a loop can keep in matrices, if there are some.

    Args:
        loop: the loop.
        most: the number of sums at most.
    """
    for number, result in enumerate(loop.results):
        if prod(shape_of(result.type)) > most:
            continue
        found = scaled_sums(loop, number)
        if found is not None and begins(loop, number) and ends(loop, number):
            return found
    return None


def scaled_sums(loop: scf.ForOp, number: int) -> KeptSums | None:
    """Return the sums that a loop carries with a number, if it does no more to them."""
    value: SSAValue = loop.body.block.args[1 + number]
    end = yielded(loop.body)[number].owner
    scales: dict[Operation, SSAValue] = {}
    while value.has_one_use():
        (use,) = value.uses
        op = use.operation
        if op.parent is not loop.body.block:
            return None
        if op is end and isinstance(op, tt.DotOp):
            is_sum = op.c is value and op.d.has_one_use()
            is_sum = is_sum and len(shape_of(op.d.type)) == 2
            return KeptSums(number, scales, op) if is_sum else None
        others = [x for x in op.operands if x is not value]
        if not isinstance(op, arith.MulfOp) or [*map(is_repeated, others)] != [True]:
            return None
        (scales[op],) = others
        value = op.result
    return None


def begins(loop: scf.ForOp, number: int) -> bool:
    """Whether sums begin with the same number, or as those of a loop before."""
    value = loop.iter_args[number]
    before = value.owner
    if not isinstance(before, scf.ForOp):
        return is_splat(value)
    index = before.results.index(value)
    is_kept = before.parent is loop.parent and scaled_sums(before, index) is not None
    return is_kept and value.has_one_use() and begins(before, index)


def ends(loop: scf.ForOp, number: int) -> bool:
    """Whether sums are stored, element by element, or are those of a loop behind."""
    value = loop.results[number]
    uses = [*value.uses]
    if len(uses) == 1 and isinstance(after := uses[0].operation, scf.ForOp):
        index = uses[0].index - 3
        is_kept = index >= 0 and after.parent is loop.parent
        is_kept = is_kept and scaled_sums(after, index) is not None
        return is_kept and ends(after, index)
    users = pointwise_users(value)
    return bool(users) and all(not path.views for _, path in users.values())


def is_repeated(value: SSAValue) -> bool:
    """Whether all elements of a row are the same."""
    owner = value.owner
    is_column = isinstance(owner, tt.BroadcastOp)
    return is_splat(value) or (is_column and shape_of(owner.src.type)[1:] == (1,))


# --- the kernel ---


def loop(k: TtKernel, op: scf.ForOp) -> None:
    """Write a loop anew, where it stands or around what uses its sums."""
    if k.options.block is None or op in k.in_place:
        rewritten(k, op, set())
        return
    plans = plan_rounds(op, set(steps(op)), k.options.block)
    if not isinstance(plans, str):
        # The sums first: a view of them may be what is used.
        values = [op.results[plans[0].number], *(x.source for x in plans)]
        all_rounds = [Rounds(plans[0]), *map(Rounds, plans)]
        for value, each in zip(values, all_rounds, strict=True):
            k.rounds[each.plan.statement] = each
            k.values[value] = each.sums(k.elements, shape_of(value.type))
        return
    kept = plan_kept(op, LANE_SUMS * k.options.lanes)
    if kept is None or not is_multiplied(kept.dot, k.options.device):
        rewritten(k, op, set())
        return
    keep(k, op, kept)


def keep(k: TtKernel, op: scf.ForOp, plan: KeptSums) -> None:
    """Write a loop anew, where it stands, that keeps sums in matrices."""
    b, init, result = k.b, op.iter_args[plan.number], op.results[plan.number]
    types, shape = TileTypes.of(k, plan.dot, k.options.tile[1]), shape_of(result.type)
    (rows, cols), (m, n) = shape, types.d.shape
    if (sums := k.kept.get(init)) is None:
        sums = filled(k, init, types.d, rows // m * (cols // n))

    def add(sums: Values) -> Values:
        factors = factor(k, plan.dot.a), factor(k, plan.dot.b)
        at = (b.constant(INDEX, 0),) * 2
        return add_whole_products(k, types, factors, at, sums, cols // n)

    changes: dict[Operation, Change] = {plan.dot: add}
    for scale, by in plan.scales.items():
        changes[scale] = partial(scaled, k, by, types, cols // n)
    sums = k.kept[result] = rewritten(k, op, {plan.number}, sums, changes)
    at = RoundsPlan(op, plan.number, plan.dot, op, result, (0, 0), (m, n))
    rounds = Rounds(at, tiles=sums)
    k.rounds |= dict.fromkeys(pointwise_users(result) or (), rounds)
    k.values[result] = rounds.sums(k.elements, shape)


def scaled(
    k: TtKernel, by: SSAValue, types: TileTypes, across: int, sums: Values
) -> Values:
    """Multiply tiles, of which so many are beside each other, by what a row has."""
    b, d, found = k.b, types.d, list[SSAValue]()
    for first in range(0, len(sums), across):
        at = b.constant(INDEX, first // across * d.shape[0]), b.constant(INDEX, 0)
        stage, zeros = staged(k, k.tensor(by), at, d.shape, d.element_type)
        assert stage.buffer is not None, stage
        row = b.effect(coopmatrix.LoadOp(stage.buffer, zeros, d)).result
        for each in sums[first : first + across]:
            found.append(b.effect(coopmatrix.MulOp(each, row)).result)
    return tuple(found)
