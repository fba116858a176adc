"""What each kind of atomic update is, by the numbers of MLIR's AtomicRMWKind.

The extremes of floats 13 and 14 are those that take the number of a number and a NaN,
3 and 6 those that take the NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from xdsl.ir import Attribute

from coopc.emit.elements import check_combining
from coopc.emit.structured import Refusal
from coopc.plan.atomics import Access

Make = TypeVar("Make")

KINDS: dict[int, tuple[str, Access]] = {
    0: ("addf", "add"),
    1: ("addi", "add"),
    2: ("assign", "bits"),
    3: ("maximumf", "other"),
    4: ("maxs", "min_max"),
    5: ("maxu", "min_max"),
    6: ("minimumf", "other"),
    7: ("mins", "min_max"),
    8: ("minu", "min_max"),
    9: ("mulf", "other"),
    10: ("muli", "other"),
    11: ("ori", "bits"),
    12: ("andi", "bits"),
    13: ("maxnumf", "min_max"),
    14: ("minnumf", "min_max"),
    15: ("xori", "bits"),
}
"""Their names in MLIR, and what `coopc.plan.atomics` decides by."""


@dataclass(frozen=True, slots=True)
class Update(Generic[Make]):
    """One kind of update, as an emitter writes it."""

    access: Access
    make: Make
    """Emits an element from what is there and a value, both of a type that has it."""
    instruction: str = ""
    """The atomic one, where the target has one."""


def updates(rows: Mapping[int, tuple[Make, str]]) -> dict[int, Update[Make]]:
    """Return an emitter's updates: what makes an element, and the instruction or ""."""
    assert rows.keys() == KINDS.keys(), rows.keys() ^ KINDS.keys()
    return {kind: Update(KINDS[kind][1], *row) for kind, row in rows.items()}


def update_of(
    known: Mapping[int, Update[Make]], kind: int, element: Attribute
) -> Update[Make]:
    """Return an emitter's update of a kind.

    Raises:
        Refusal: there is no such kind, or it is not one of the elements.
    """
    if kind not in known:
        raise Refusal(f"expected a kind of atomic update, got {kind}")
    check_combining(KINDS[kind][0], element)
    return known[kind]
