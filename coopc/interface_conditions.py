"""Which entry point of a kernel takes some arguments: its conditions, on the host.

chosen = entry_for(interfaces, first, [a, b, c])    # `.fallback`, if they ask for it
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from coopc.interface import SECOND_ENTRY, Condition, Field, Interface, What
from coopc.interface_fields import Given, value_of


def entry_for(
    known: Sequence[Interface], first: Interface, given: Sequence[Given]
) -> Interface:
    """Return the entry point of a kernel that takes some arguments.

    The first, or its second one where a condition of the first is violated.
    """
    names = {each.name: each for each in known}
    second = names.get(first.name + SECOND_ENTRY)
    if second is None or violated_condition(first, given) is None:
        return first
    return second


def violated_condition(interface: Interface, given: Sequence[Given]) -> str | None:
    """Return which condition arguments violate, that the host can check, or None.

    Addresses are the run-time's.
    """
    for condition in interface.conditions:
        if condition.what == "address":
            continue
        reason = _why_violated(interface, given, condition)
        if reason is not None:
            argument = interface.arguments[condition.argument]
            return (
                f"{condition.what} {condition.dimension} of {argument.name}: {reason}"
            )
    return None


def _why_violated(
    interface: Interface, given: Sequence[Given], condition: Condition
) -> str | None:
    """Return why arguments violate a condition, or None."""
    value = _demanded(interface, given, condition)
    if (other := condition.at_least_argument) is not None:
        name, why = interface.arguments[other].name, condition.why
        if value < int(_scalar(given[other])):
            return f"expected at least {name} = {given[other]} ({why}), got {value}"
    if (other := condition.like_argument) is not None:
        dimension, name = condition.like_dimension, interface.arguments[other].name
        if value != (wanted := np.asarray(given[other]).shape[dimension]):
            return (
                f"expected {wanted}, which is size {dimension} of {name}, got {value}"
            )
    return condition.violated(value)


def _scalar(given: Given) -> Any:
    """Return an argument that is a number."""
    return np.asarray(given).item()


def _demanded(
    interface: Interface, given: Sequence[Given], condition: Condition
) -> int:
    """Return the number that a condition is about."""
    if condition.what == "bytes":
        array = np.asarray(given[condition.argument])
        steps = zip(array.shape, array.strides, strict=True)
        return array.itemsize + sum((size - 1) * step for size, step in steps)
    field = Field(What(condition.what), condition.argument, condition.dimension, "", 0)
    return int(value_of(interface, given, field))
