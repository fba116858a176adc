"""How large a matrix may be that a subgroup holds in registers, or in tiles.

What a lowering writes for a matrix grows with it.  The largest register file of a
subgroup among the devices that coopc knows is 32 KiB (NVIDIA: 255 registers of 4 bytes
for each of 32 lanes; Intel: 256 of 64 bytes), so that a matrix over the bound would
spill everywhere, after a compilation of minutes.
"""

from __future__ import annotations

from coopc.dialects.coopmatrix import MatrixType

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
