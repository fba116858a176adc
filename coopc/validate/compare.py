"""Whether two arrays are the same, or as near as rounding lets them be.

The one place where floats are compared.  There are two kinds of input:

    exact   small integers, chosen so that every sum of products is exact: same bits
    real    any numbers: |found - expected| <= bound

The bound comes from a simulation that tracks errors (`coopc.sim.tracked`), which for a
product of matrices is (K + 2) eps_acc (|A| |B|) + eps_out |C|, for each of the two that
are compared.  Where a run asks for f32 to be multiplied by parts in narrower floats,
products of f32 have eps_split (|A| |B|) more: 2^-15 for bf16x3, 2^-20 for f16x3, the
rounding of both operands for bf16, f16 and tf32, and nothing otherwise.  There is no
other tolerance.  Integers are always compared exactly, NaN
is where NaN is, and bits are the same but for those of a NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coopc.sim.numerics import decoded
from coopc.sim.values import CODED, Array


@dataclass(frozen=True, slots=True)
class Difference:
    """How two arrays differ."""

    wrong: int
    """Elements that differ by more than they may."""
    elements: int
    """All of them."""
    unbounded: int
    """Elements without a bound, which may differ by anything."""
    largest: float
    """The largest |found - expected|, of elements that are numbers in both."""
    index: tuple[int, ...] | None = None
    """Of the first wrong element; None if there is none."""
    found: Any = None
    """At that index."""
    expected: Any = None
    bound: float = 0.0
    """At that index."""

    @property
    def ok(self) -> bool:
        return self.wrong == 0

    def __str__(self) -> str:
        if self.index is None:
            exact = "the same" if self.largest == 0 else "within rounding"
            text = f"{exact}, largest error {self.largest:.3g}"
            if not self.unbounded or self.largest == 0:
                return text
            return f"{text}; {self.unbounded} of {self.elements} may differ by anything"
        place = ", ".join(map(str, self.index))
        return (
            f"at [{place}] expected {self.expected}, to within {self.bound:.3g}, "
            f"got {self.found}; {self.wrong} of {self.elements} elements are wrong"
        )


def compare(
    found: Array,
    expected: Array,
    *,
    bound: Array | float | None = None,
    element: str | None = None,
) -> Difference:
    """Return how two arrays of one shape and type differ.

    Args:
        found: what is judged.
        expected: what it is judged by.
        bound: how far elements may be from each other; where it is 0, or None, the
            bits are the same.  Infinite where nothing is known.  Not for integers.
        element: the type of which numpy's integers may be the bits: bf16, f8E5M2.

    Raises:
        ValueError: the arrays differ in shape or type.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise ValueError(
            f"expected an array of {expected.shape} {expected.dtype}, "
            f"got {found.shape} {found.dtype}"
        )
    if element in CODED:
        found, expected = decoded(found, element), decoded(expected, element)
    if found.dtype == np.bool_:
        found, expected = found.astype(np.int8), expected.astype(np.int8)
    limit = np.broadcast_to(np.float64(0 if bound is None else bound), found.shape)
    with np.errstate(all="ignore"):
        error = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    if found.dtype.kind == "f":
        nan = np.isnan(found) & np.isnan(expected)
        same = nan | (_bits(found) == _bits(expected))
        wrong = ~(same | ((limit > 0) & ((error <= limit) | np.isinf(limit))))
    else:
        wrong, limit = found != expected, np.zeros(found.shape)
    largest = float(np.where(np.isfinite(error), error, 0.0).max(initial=0.0))
    summary = Difference(
        int(wrong.sum()), found.size, int(np.isinf(limit).sum()), largest
    )
    if summary.ok:
        return summary
    first: Array = np.argwhere(wrong.reshape(found.shape))[0]
    index = tuple(int(x) for x in first)
    return replace(
        summary,
        index=index,
        found=found[index].item(),
        expected=expected[index].item(),
        bound=float(limit[index]),
    )


def _bits(array: Array) -> Array:
    """Return floats as integers with the same bits."""
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))
