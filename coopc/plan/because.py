"""A reason of an enumeration, and what was found: why there is no plan."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

R = TypeVar("R", bound=Enum)


@dataclass(frozen=True, slots=True)
class Because(Generic[R]):
    """Why there is no plan; each kind of plan has its own reasons.

    >>> from coopc.plan.refusal import Reason, Refusal
    >>> str(Refusal(Reason.RANK, "got rank 4"))
    'a message has two dimensions: got rank 4'
    """

    reason: R
    """Its value is the rule, for people."""
    detail: str
    """What was found: numbers, for people."""

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}"
