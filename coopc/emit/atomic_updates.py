"""What each kind of atomic update is, by the numbers of MLIR's AtomicRMWKind.

The extremes of floats 13 and 14 are those that take the number of a number and a NaN,
3 and 6 those that take the NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from coopc.plan.atomics import Access

Make = TypeVar("Make")

ACCESS: dict[int, Access] = {
    0: "add",  # addf
    1: "add",  # addi
    2: "bits",  # assign
    3: "other",  # maximumf
    4: "min_max",  # maxs
    5: "min_max",  # maxu
    6: "other",  # minimumf
    7: "min_max",  # mins
    8: "min_max",  # minu
    9: "other",  # mulf
    10: "other",  # muli
    11: "bits",  # ori
    12: "bits",  # andi
    13: "min_max",  # maxnumf
    14: "min_max",  # minnumf
    15: "bits",  # xori
}
"""What `coopc.plan.atomics` decides by."""


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
    assert rows.keys() == ACCESS.keys(), rows.keys() ^ ACCESS.keys()
    return {kind: Update(ACCESS[kind], *row) for kind, row in rows.items()}
