"""The functions on integers that operations are made of, on arrays of one type.

They get integers as signed or unsigned arrays and give any integers whose low bits are
right: the caller wraps them around to the type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.arith import IntegerOverflowFlag as OverflowFlag
from xdsl.ir import Attribute

from coopc.sim.machine import Machine
from coopc.sim.values import Array, bits_of, integers, unsigned

IntegerFunction: TypeAlias = Callable[[Array, Array], Array]
Refuse: TypeAlias = Callable[[Array, str], None]
"""What is done about something wrong: `Machine.refuse`, or `Machine.poison`."""


def check_division(machine: Machine, x: Array, y: Array, type: Attribute) -> Array:
    """Return a divisor with 1 where nobody divides who is active.

    Raises:
        UndefinedBehaviour: somebody divides by 0, or the least signed integer by -1.
    """
    zero = y == 0
    machine.refuse(zero, "division by zero")
    if x.dtype.kind == "i":
        least = -(1 << (bits_of(type) - 1))
        wrong = (y == -1) & (x == least)
        machine.refuse(wrong, f"overflow: {least}, the least {type}, divided by -1")
    return np.where(zero, y.dtype.type(1), y)


def check_shift(refuse: Refuse, y: Array, type: Attribute) -> None:
    """Refuse to shift integers of a type by as many bits as there are, or more."""
    bits, amount = bits_of(type), unsigned(y, type)
    if (wrong := amount >= bits).any():
        refuse(wrong, f"shift of {type} by {amount[wrong].flat[0]} bits")


def check_overflow(
    refuse: Refuse,
    compute: Callable[[Any, Any], Any],
    args: tuple[Array, Array],
    type: Attribute,
    flags: Sequence[OverflowFlag],
) -> None:
    """Check that a result fits where an operation says that it does.

    Args:
        refuse: called with who is wrong, and why.
        compute: the operation, on numbers of any kind.
        args: its operands.
        type: of them and of the result.
        flags: what the operation says: without signed, or unsigned, overflow.
    """
    bits = bits_of(type)
    for flag in flags:
        is_signed = flag is OverflowFlag.NSW
        x, y = (integers(arg, type, is_signed) for arg in args)
        rough = compute(x.astype(np.float64), y.astype(np.float64))
        is_inside = is_signed or (rough >= 0).all()
        if is_inside and (np.abs(rough) < 2.0 ** (bits - 2)).all():
            continue
        exact: Array = np.asarray(compute(x.astype(object), y.astype(object)))
        low = -(1 << (bits - 1)) if is_signed else 0
        wrong = np.asarray((exact < low) | (exact >= low + (1 << bits)), np.bool_)
        if wrong.any():
            found = exact[wrong].flat[0]
            refuse(wrong, f"overflow in spite of {flag}: {found} is no {type}")


def shifted(x: Any, y: Any) -> Any:
    """Return x * 2^y of numbers of any kind."""
    return x * 2**y


def divide(x: Array, y: Array) -> Array:
    """Return x / y rounded towards zero; y is not 0."""
    quotient = x // y
    if x.dtype.kind == "u":
        return quotient
    inexact = quotient * y != x
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(x.dtype)


def floor_divide(x: Array, y: Array) -> Array:
    """Return x / y rounded down; y is not 0."""
    return x // y


def ceil_divide(x: Array, y: Array) -> Array:
    """Return x / y rounded up; y is not 0."""
    quotient = x // y
    return quotient + (quotient * y != x).astype(x.dtype)


def remainder(x: Array, y: Array) -> Array:
    """Return what is left of x / y, with the sign of x; y is not 0."""
    return np.fmod(x, y)


def shift_left(x: Array, y: Array) -> Array:
    """Return x * 2^y of unsigned integers."""
    return x << y


def shift_right(x: Array, y: Array) -> Array:
    """Return x / 2^y rounded down, by the sign of x; y counts as unsigned."""
    amount = y.view(np.dtype(f"u{y.dtype.itemsize}"))
    if x.dtype.kind == "u":
        return x >> amount
    most = amount.dtype.type(8 * x.dtype.itemsize - 1)
    return x >> np.minimum(amount, most).astype(x.dtype)


def high_product(x: Array, y: Array, bits: int) -> Array:
    """Return the bits of x * y above the low ones, as signed integers."""
    product: Array = np.multiply(x.astype(object), y.astype(object))
    high = np.right_shift(product, bits) & ((1 << 64) - 1)
    return high.astype(np.uint64).view(np.int64)


def power(x: Array, y: Array) -> Array:
    """Return x^y of signed integers; x^-n is 1 / x^n rounded towards zero."""
    one = x.dtype.type(1)
    base, exponent = x.copy(), np.maximum(y, 0)
    found = np.ones_like(np.broadcast_arrays(x, y)[0])
    while exponent.any():
        found = np.where(exponent & 1, found * base, found)
        base, exponent = base * base, exponent >> one
    unit = np.where(np.abs(x) == 1, np.where(y & 1, x, one), x.dtype.type(0))
    return np.where(y < 0, unit, found)


def count_ones(x: Array) -> Array:
    """Return how many bits of unsigned integers are 1."""
    return np.bitwise_count(x).astype(x.dtype)


def count_leading_zeros(x: Array, bits: int) -> Array:
    """Return how many of the `bits` of unsigned integers are 0 above the highest 1."""
    spread = x.copy()
    for step in (1, 2, 4, 8, 16, 32):
        if step < 8 * x.dtype.itemsize:
            spread |= spread >> x.dtype.type(step)
    return x.dtype.type(bits) - count_ones(spread)


def count_trailing_zeros(x: Array, bits: int) -> Array:
    """Return how many of the `bits` of unsigned integers are 0 below the lowest 1."""
    below = (x & (~x + x.dtype.type(1))) - x.dtype.type(1)
    return np.where(x == 0, x.dtype.type(bits), count_ones(below))


def saturating_add(x: Array, y: Array, low: int, high: int) -> Array:
    """Return x + y, kept within bounds, of integers of one dtype that are within them.

    Args:
        x: integers in [low, high].
        y: the same.
        low: least value of the type, of which the arrays are or are wider.
        high: greatest value.
    """
    dtype = x.dtype.type
    total = x + y
    if x.dtype.kind == "u":
        return np.where((total < x) | (total > high), dtype(high), total)
    wrong: Array = ((x ^ total) & (y ^ total)) < 0
    limit = np.where(x < 0, np.full_like(x, low), np.full_like(x, high))
    total = np.where(wrong, limit, total)
    return np.clip(total, dtype(low), dtype(high))
