"""`vector` in any target: masked accesses component by component, under a branch each.

So go all of SPIR-V, and on spir64 of LLVM IR; x86-64 has instructions.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import vector

from coopc.dialects.narrow import is_vector
from coopc.emit.emission import AnyEmission
from coopc.emit.walker import Refusal, count_of


def repeats_of(op: vector.BroadcastOp) -> int:
    """How often the components of what is broadcast follow each other in the result.

    Raises:
        Refusal: the last sizes of the result are others.
    """
    type, source = op.vector.type, op.source.type
    last = source.get_shape() if is_vector(source) else ()
    shape = type.get_shape()
    if tuple(shape[len(shape) - len(last) :]) != tuple(last):
        raise Refusal(
            f"expected the last sizes of {type} to be those of the source, got {source}"
        )
    return count_of(type) // count_of(source)


def masked_load(e: AnyEmission, op: vector.MaskedLoadOp) -> None:
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


def masked_store(e: AnyEmission, op: vector.MaskedStoreOp) -> None:
    view = e.view(op.base)
    at = e.index.consecutive(view, e.nums(op.indices), op.value_to_store.type)
    pairs = zip(e.scalars(op.mask), e.scalars(op.value_to_store), strict=True)
    for plus, (condition, value) in enumerate(pairs):
        place = e.index.add(at, plus)
        e.chosen(condition, partial(e.store, view, place, value), None)
