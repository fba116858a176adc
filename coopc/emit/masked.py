"""Masked accesses to vectors in memory, component by component under a branch each.

So go all of SPIR-V, and on spir64 of LLVM IR; x86-64 has instructions.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import vector

from coopc.emit.emission import AnyEmission


def load(e: AnyEmission, op: vector.MaskedLoadOp) -> None:
    """The elements that a mask chooses, and components of another vector."""
    view, type = e.view(op.base), op.result.type
    at = e.index.consecutive(view, e.nums(op.indices), type)
    found = [
        e.chosen(condition, partial(e.load, view, e.index.add(at, plus)), other)
        for plus, (condition, other) in enumerate(
            zip(e.scalars(op.mask), e.scalars(op.pass_thru), strict=True)
        )
    ]
    e.set(op.result, e.gathered(type, found))


def store(e: AnyEmission, op: vector.MaskedStoreOp) -> None:
    view = e.view(op.base)
    at = e.index.consecutive(view, e.nums(op.indices), op.value_to_store.type)
    pairs = zip(e.scalars(op.mask), e.scalars(op.value_to_store), strict=True)
    for plus, (condition, value) in enumerate(pairs):
        place = e.index.add(at, plus)
        e.chosen(condition, partial(e.store, view, place, value), None)
