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
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from coopc.device import Device
from coopc.dialects import coopmatrix, tt
from coopc.dialects.tt.types import shape_of
from coopc.ir.builder import INDEX
from coopc.ir.control_flow import yielded
from coopc.passes.triton.convert_tt_to_coopmatrix import in_matrices
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import (
    Change,
    rewritten,
    steps,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import Rounds, Tiles, TtKernel
from coopc.passes.triton.convert_tt_to_coopmatrix.products import (
    TileTypes,
    add_whole_products,
    factor,
    filled,
    is_multiplied,
    load_staged,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    between,
    is_splat,
    plan_rounds,
    pointwise_users,
    statements_of,
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
    statements: frozenset[Operation] = frozenset()
    """What stores them, behind this loop or behind others that go on with them."""


def plan_kept(loop: scf.ForOp, most: int, device: Device | None) -> KeptSums | None:
    """Return the sums that a loop can keep in matrices, if there are some.

    These are `most` at most, of products that the device has matrices for.
    """
    found = scaled_sums(loop, device)
    if found is None or prod(shape_of(found.dot.d.type)) > most:
        return None
    statements = stored_by(loop, found.number, device)
    is_kept = bool(statements) and begins(loop, found.number, device)
    return replace(found, statements=statements) if is_kept else None


def scaled_sums(loop: scf.ForOp, device: Device | None) -> KeptSums | None:
    """Return the only sums that a loop carries to which it does no more."""
    found = [
        sums
        for number in range(len(loop.results))
        if (sums := sums_of(loop, number)) is not None
    ]
    is_one = len(found) == 1 and is_multiplied(found[0].dot, device)
    return found[0] if is_one else None


def sums_of(loop: scf.ForOp, number: int) -> KeptSums | None:
    """Return what a loop carries with a number, if that is scaled and added to."""
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


def begins(loop: scf.ForOp, number: int, device: Device | None) -> bool:
    """Whether sums begin with the same number, or as those of a loop before."""
    value = loop.iter_args[number]
    before = value.owner
    if not isinstance(before, scf.ForOp):
        return is_splat(value)
    index = before.results.index(value)
    is_kept = are_next(before, loop) and is_sums(before, index, device)
    return is_kept and value.has_one_use() and begins(before, index, device)


def stored_by(
    loop: scf.ForOp, number: int, device: Device | None
) -> frozenset[Operation]:
    """Return what stores sums in the end, element by element, if all uses do that."""
    value = loop.results[number]
    uses = [*value.uses]
    if len(uses) == 1 and isinstance(after := uses[0].operation, scf.ForOp):
        index = uses[0].index - 3
        is_kept = are_next(loop, after) and is_sums(after, index, device)
        return stored_by(after, index, device) if is_kept else frozenset()
    return statements_of(value)


def are_next(one: scf.ForOp, other: scf.ForOp) -> bool:
    """Whether a loop follows on another one, with no control flow between them."""
    if one.parent is not other.parent:
        return False
    flow = scf.ForOp | scf.IfOp | scf.WhileOp
    return not any(isinstance(op, flow) for op in between(one, other))


def is_sums(loop: scf.ForOp, number: int, device: Device | None) -> bool:
    found = scaled_sums(loop, device)
    return found is not None and found.number == number


def is_repeated(value: SSAValue) -> bool:
    """Whether all elements of a row are the same."""
    owner = value.owner
    is_column = isinstance(owner, tt.BroadcastOp)
    return is_splat(value) or (is_column and shape_of(owner.src.type)[1:] == (1,))


# --- the kernel ---


def loop(k: TtKernel, op: scf.ForOp) -> None:
    """Write a loop anew, where it stands or around what uses its sums."""
    if k.options.block is None or op in k.in_place:
        rewritten(k, op)
        return
    plans = plan_rounds(op, set(steps(op)), k.options.block)
    if not isinstance(plans, str):
        if any(x.statement in k.rounds for x in plans):  # of the sums of another loop
            rewritten(k, op)
            return
        # The sums first: a view of them may be what is used.
        values = [op.results[plans[0].number], *(x.source for x in plans)]
        all_rounds = [Rounds(plans[0]), *map(Rounds, plans)]
        for value, each in zip(values, all_rounds, strict=True):
            k.rounds[each.plan.statement] = each
            k.values[value] = each.whole(k.elements, shape_of(value.type))
        return
    if in_matrices.loop(k, op):
        return
    kept = plan_kept(op, LANE_SUMS * k.options.lanes, k.options.device)
    if kept is None or not k.rounds.keys().isdisjoint(kept.statements):
        rewritten(k, op)
        return
    keep(k, op, kept)


def keep(k: TtKernel, op: scf.ForOp, plan: KeptSums) -> None:
    """Write a loop anew, where it stands, that keeps sums in matrices."""
    b, init, result = k.b, op.iter_args[plan.number], op.results[plan.number]
    types, shape = TileTypes.of(k, plan.dot, k.options.tile[1]), shape_of(result.type)
    (rows, cols), (m, n) = shape, types.d.shape
    if (sums := k.kept.get(init)) is None:
        sums = filled(k, init, types.d, rows // m * (cols // n))

    def add() -> None:
        factors = factor(k, plan.dot.a), factor(k, plan.dot.b)
        at, old = (b.constant(INDEX, 0),) * 2, k.kept[plan.dot.c]
        found = add_whole_products(k, types, factors, at, old, cols // n)
        k.kept[plan.dot.d] = found

    changes: dict[Operation, Change] = {plan.dot: add}
    for scale, by in plan.scales.items():
        changes[scale] = partial(scaled, k, scale, by, types, cols // n)
    rewritten(k, op, {plan.number: sums}, changes)
    rounds = Tiles(k.kept[result], cols // n)
    if pointwise_users(result):
        k.rounds |= dict.fromkeys(plan.statements, rounds)
        del k.kept[result]  # no loop goes on with them
    k.values[result] = rounds.whole(k.elements, shape)


def scaled(
    k: TtKernel, op: Operation, by: SSAValue, types: TileTypes, across: int
) -> None:
    """Multiply tiles, of which so many are beside each other, by what a row has."""
    b, d, found = k.b, types.d, list[SSAValue]()
    (old,) = (x for x in op.operands if x is not by)
    sums = k.kept[old]
    for first in range(0, len(sums), across):
        at = b.constant(INDEX, first // across * d.shape[0]), b.constant(INDEX, 0)
        row = load_staged(k, k.tensor(by), at, d)
        for each in sums[first : first + across]:
            found.append(b.effect(coopmatrix.MulOp(each, row)).result)
    k.kept[op.results[0]] = tuple(found)
