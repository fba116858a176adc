"""Which matrices a subgroup holds in registers, or in tiles, and how large they may be.

What a lowering writes for a matrix grows with it.  The largest register file of a
subgroup among the devices that coopc knows is 32 KiB (NVIDIA: 255 registers of 4 bytes
for each of 32 lanes; Intel: 256 of 64 bytes), so that a matrix over the bound would
spill everywhere, after a compilation of minutes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.layout import rule_in
from coopc.ir.control_flow import has_matrices, why_not_structured
from coopc.layout.family import CoopmatrixFamily

MOST_MATRIX_ELEMENTS = 1 << 16
"""256x256: twice what fits in the largest register file, in elements of one byte."""


def why_matrix_too_large(type: MatrixType) -> str | None:
    """Return why a subgroup does not hold matrices of a type of known sizes, or None.

    Example:
        >>> from xdsl.dialects.builtin import i8
        >>> from coopc.dialects.coopmatrix import Use
        >>> why_matrix_too_large(MatrixType.of(256, 256, i8, Use.ACC))
        >>> why_matrix_too_large(MatrixType.of(257, 256, i8, Use.ACC))
        'expected a matrix of at most 65536 elements, got 257x256: write a \
loop over smaller matrices'
    """
    rows, cols = type.shape
    if rows * cols <= MOST_MATRIX_ELEMENTS:
        return None
    return (
        f"expected a matrix of at most {MOST_MATRIX_ELEMENTS} elements, got "
        f"{rows}x{cols}: write a loop over smaller matrices"
    )


def why_not_held(type: MatrixType, widths: Sequence[int], of: str = "") -> str | None:
    """Return why lanes of a subgroup do not hold matrices of a type, or None.

    Args:
        type: of the matrices.
        widths: that elements have, in bits.
        of: why sizes must be numbers, as the message goes on.
    """
    if not type.is_static:
        names = ", ".join(f"@{name}" for name in type.names)
        return f"expected sizes that are numbers{of}, got {type} with {names}"
    assert isinstance(type.scope, coopmatrix.ScopeAttr)
    if type.scope.data != coopmatrix.Scope.SUBGROUP:
        return f"expected a matrix that a subgroup holds, got scope {type.scope.data}"
    if type.element_bits not in widths:
        *most, last = widths
        known = f"{', '.join(map(str, most))} or {last}"
        return f"expected elements of {known} bits, got {type.element_type}"
    return why_matrix_too_large(type)


def is_of_lanes(op: Operation) -> bool:
    """Whether an operation is a function whose matrices lanes hold, by what it says."""
    found = op.attributes.get(coopmatrix.DISTRIBUTION)
    return found is not None and isinstance(rule_in(found), CoopmatrixFamily)


def why_not_of_lanes(func: FuncOp, lanes: int, of: str = "") -> str | None:
    """Return why a function with matrices is not one of subgroups of so many lanes.

    Args:
        func: a kernel, or what it calls.
        lanes: of every subgroup.
        of: who says so, as the message goes on.
    """
    if has_matrices(func, {}) and (reason := why_not_structured(func)):
        return reason
    if simt.KERNEL not in func.attributes:
        return None
    kernel = simt.kernel_of(func)
    if kernel.subgroup_size not in (None, lanes):
        return f"expected a kernel of {lanes} lanes{of}, got {kernel.subgroup_size}"
    if simt.WORK_GROUP_SIZE in func.attributes and kernel.work_items % lanes:
        return (
            f"expected a work-group size that is a multiple of {lanes}, so that all "
            f"subgroups are full, got {kernel.work_items} work-items"
        )
    return None
