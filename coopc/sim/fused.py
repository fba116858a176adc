"""`x * y + z` with one rounding, on arrays.

The product of two f32 is exact in f64, their sum with a third is not.  Rounded to odd
(to the neighbour whose last bit is 1 where it is inexact) it can be rounded once more,
to a format of at most 51 bits, as if it had been exact.  For f64 itself, fractions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coopc.sim.values import Array


def fused_multiply_add(x: Array, y: Array, z: Array) -> Array:
    """Return `x * y + z` of f64 arrays that hold values of f32 or narrower types.

    The result is rounded to odd: the caller rounds it to the type.
    """
    product = x * y
    total = product + z
    # Two-sum: what the addition lost.
    shadow = total - product
    lost = (product - (total - shadow)) + (z - shadow)
    even = (total.view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & (lost != 0) & even
    return np.where(inexact, np.nextafter(total, np.copysign(np.inf, lost)), total)


def fused_multiply_add_f64(x: Array, y: Array, z: Array) -> Array:
    """Return `x * y + z` of f64 arrays, rounded once, one element at a time."""
    x, y, z = np.broadcast_arrays(x, y, z)
    plain = x * y + z
    usable = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    found = plain.copy()
    for place in zip(*np.nonzero(usable), strict=True):
        found[place] = _exactly(float(x[place]), float(y[place]), float(z[place]))
    return found


def _exactly(x: float, y: float, z: float) -> float:
    """Return `x * y + z` of finite numbers, rounded once."""
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z  # the sign of the zero is that of the float operations
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
