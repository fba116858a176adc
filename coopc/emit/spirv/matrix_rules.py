"""Which types of matrices a flavour and a device have, and why not others."""

from __future__ import annotations

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute

from coopc.device import Use
from coopc.device.model import Specialised
from coopc.dialects import coopmatrix
from coopc.emit.facts import Facts

DEVICE_USES: dict[coopmatrix.Use, Use] = {
    coopmatrix.Use.A: "a",
    coopmatrix.Use.B: "b",
    coopmatrix.Use.ACC: "acc",
}
"""Names of `coopc.device`."""

USES = {
    coopmatrix.Use.A: 0,
    coopmatrix.Use.B: 1,
    coopmatrix.Use.ACC: 2,
}
"""Numbers of CooperativeMatrixUse in the SPIR-V specification."""


def why_no_matrix(
    type: coopmatrix.MatrixType, default: coopmatrix.MatrixType, facts: Facts
) -> str | None:
    """Why a flavour has no such matrix type, or None.

    Args:
        type: a type, which may name specialisation constants.
        default: what it is with the defaults of these.
        facts: of flavour and device.
    """
    if type.use.data not in USES:
        return (
            f"expected a matrix of use a, b or acc, which SPIR-V has, "
            f"got {type.use.data}"
        )
    if reason := why_not_named(type, facts):
        return reason
    scope = default.scope
    assert isinstance(scope, coopmatrix.ScopeAttr), default
    if scope.data != coopmatrix.Scope.SUBGROUP:
        by_default = "" if type.scope == scope else f", the default of {type.scope}"
        return (
            f"expected a matrix of scope subgroup, which {facts.device.name} has under "
            f"{facts.flavour}, got {scope.data}{by_default}"
        )
    if type.element_bits < 8:
        return f"expected elements of at least 8 bits, got {type.element_type}"
    use, element = DEVICE_USES[type.use.data], str(type.element_type)
    if default.shape not in facts.device.held(use, element):
        rows, cols = default.shape
        by_default = "" if type.is_static else " by default"
        return (
            f"{facts.device.name} has no {rows} x {cols} matrices{by_default} of "
            f"{element} as {use}: split-coopmatrix cuts what divides into such as it "
            "has, legalize-coopmatrix-khr leaves others in memory"
        )
    return None


def why_not_named(type: coopmatrix.MatrixType, facts: Facts) -> str | None:
    """Why a device has no matrix type with such specialisation constants, or None."""
    named: tuple[tuple[Specialised, Attribute], ...] = (
        ("sizes", type.rows),
        ("sizes", type.cols),
        ("scope", type.scope),
        ("use", type.use_name),
    )
    for what, attr in named:
        if isinstance(attr, SymbolRefAttr) and what not in facts.device.specialised:
            return (
                f"{facts.device.name} takes no specialisation constant for the {what} "
                f"of a matrix, got {type}"
            )
    return None
