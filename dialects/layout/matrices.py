"""Where the elements of a matrix type are, by the attribute of its kernel."""

from __future__ import annotations

from xdsl.ir import Attribute

from coopc.dialects.coopmatrix.types import MatrixType
from coopc.dialects.layout.attributes import rule_in
from coopc.layout.distribution import Distribution
from coopc.layout.family import Matrix, distribution


def matrix_of(type: MatrixType) -> Matrix:
    """Return what of a type decides where its elements are; its sizes are numbers."""
    use = type.use.data.value
    assert use in ("a", "b", "acc", "none"), use
    return Matrix(*type.shape, type.element_bits, use)


def distribution_of(attr: Attribute, type: MatrixType, lanes: int) -> Distribution:
    """Return how the lanes hold a matrix, by a kernel's `coopmatrix.distribution`.

    Args:
        attr: an attribute of `layout`, or an encoding of Triton.
        type: the matrix, of static sizes.
        lanes: that share it.

    Raises:
        ValueError: the attribute is of another kind, or not for such a matrix or so
            many lanes.
    """
    rule = rule_in(attr)
    if rule is None:
        raise ValueError(
            f"expected a distribution, as #layout.coopmatrix is one, got {attr}"
        )
    return distribution(rule, matrix_of(type), lanes)
