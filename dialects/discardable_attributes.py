"""Attributes of `simt` and `coopmatrix` on operations of other dialects, verified.

A misspelt attribute of a kernel would be ignored: the kernel would run, with other
sizes than were meant.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from xdsl.dialects.builtin import BoolAttr, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from coopc.diagnostic import near_match
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.rounding import PRECISIONS


def verify_attributes(op: Operation) -> None:
    """Check the attributes of an operation, and those of a kernel together.

    Raises:
        VerifyException: there is no attribute of a name, or it has another value.
    """
    for name, value in op.attributes.items():
        if not name.startswith(("simt.", "coopmatrix.")):
            continue
        if name not in KNOWN:
            raise VerifyException(
                f"unknown attribute '{name}'{near_match(name, KNOWN)}"
            )
        check, wanted = KNOWN[name]
        if not check(value):
            raise VerifyException(f"expected {name} to be {wanted}, got {value}")
    if isinstance(op, FuncOp) and simt.KERNEL in op.attributes:
        simt.verify_kernel(op)


Check = tuple[Callable[[Attribute], bool], str]
"""Whether a value is one, and what is wanted."""


def word(known: type[Ordering | Scope]) -> Check:
    """A member of an enumeration, as a string."""
    names = [str(each) for each in known]
    return (
        lambda value: isinstance(value, StringAttr) and value.data in names,
        f"a string, one of {', '.join(names)}",
    )


def is_distribution(value: Attribute) -> bool:
    """Whether a value may say who owns which element."""
    from coopc.dialects.layout import rule_in  # most kernels have none

    return isinstance(value, StringAttr) or rule_in(value) is not None


def is_choice(value: Attribute) -> bool:
    """Whether a value says what is free of a plan."""
    from coopc.plan.tuning import read_choice  # what is tuned is rare

    with suppress(ValueError):
        return isinstance(value, StringAttr) and bool(read_choice(value.data))
    return False


OF_KERNEL: Check = (lambda value: True, "")
"""What the kernel checks itself."""

KNOWN: dict[str, Check] = {
    **dict.fromkeys(
        (
            simt.KERNEL,
            simt.WORK_GROUP_SIZE,
            simt.SUBGROUP_SIZE,
            simt.CONDITIONS,
            simt.EQUAL_SIZES,
            simt.GRID,
        ),
        OF_KERNEL,
    ),
    simt.TARGET: (
        lambda value: isinstance(value, simt.TargetAttr),
        "a flavour and a device, as in #simt.target<vulkan, lavapipe>",
    ),
    simt.ORDERING: word(Ordering),
    simt.ORDERING_SCOPE: word(Scope),
    simt.VOLATILE: (lambda value: isinstance(value, UnitAttr), "a unit attribute"),
    simt.UNROLL: (
        lambda value: value in (BoolAttr.from_bool(False), BoolAttr.from_bool(True)),
        "true or false",
    ),
    coopmatrix.DISTRIBUTION: (is_distribution, "an attribute of layout"),
    coopmatrix.PRECISION: (
        lambda value: isinstance(value, StringAttr) and value.data in PRECISIONS,
        f"a string, one of {', '.join(PRECISIONS)}",
    ),
    coopmatrix.TUNED: (
        is_choice,
        'tiles, a tile or a block in JSON, as in "{\\"tile\\": [16, 16, 8]}"',
    ),
}
"""What is known of the attributes, by name."""
