"""Floats with a bound of their error beside them: how far right programs may differ.

A float is a complex number: its real part is the value, exactly as it is computed
without tracking, its imaginary part is a bound of the difference to what exact
arithmetic gives.  Whatever moves values moves bounds with them.  For a function f with
operands x and bounds e, the bound of the result r is

    spread(x, e)      how far f moves when its operands do (`coopc.sim.numerics`)
    + 2 u eps |r|     its own rounding: u units in the last place, eps half of one of 1

and of a product of matrices, c being a term of the sum as any other,

    |A| Eb + Ea |B| + Ea Eb + Ec + (K + 2) eps_acc (|A| |B| + |c|) + eps_out |r|

Where a run asks for f32 to be multiplied by parts (`coopc.rounding.PRECISIONS`),
products of f32 have eps_split |A| |B| more.  What is converted from exact numbers, and
the exact difference of such, is then exact by definition, as every device gets the same
bits: else hi and lo would be as inexact as the roundings that lo makes up for.

Two programs that compute the same in another order lie within the sum of both bounds.

With exact inputs, small integers, a result that was not rounded adds nothing to the
bound: where it is 0, every order of the sum gives the same bits.  Bounds get lost where
floats go on as bits, and where another integer or another result of a comparison is
within them: `lost` tells.
"""

from __future__ import annotations

from enum import StrEnum, auto
from functools import reduce
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Attribute

from coopc.rounding import FORMATS, PRECISIONS, FloatFormat
from coopc.sim import values
from coopc.sim.numerics import FLOAT_FUNCTIONS, Matrices, Numerics, Types
from coopc.sim.undefined import StoredErrors
from coopc.sim.values import Array, DType, is_float

Complex: TypeAlias = npt.NDArray[np.complex128]

LEAST = 1e-300
"""A bound of a zero whose sign is open, which products with it do not lose."""
TRACKED = np.dtype(np.complex128)


class Inputs(StrEnum):
    """The two kinds of input that programs are compared on."""

    EXACT = auto()
    """Small integers: sums of products are exact."""
    REAL = auto()
    """Any numbers."""


def errors_of(array: Array) -> Array:
    return cast(Complex, array).imag


def format_of(type: Attribute) -> FloatFormat:
    return FORMATS[type.name]


def product_bound(
    terms: int,
    magnitude: Array,
    result: Array,
    accumulator_epsilon: float,
    result_epsilon: float,
    split_epsilon: float = 0.0,
) -> Array:
    """Return how far a sum of products may be from the exact one, in any order.

    Args:
        terms: K, the products that are summed.
        magnitude: the sum of |a| |b| over all terms, with |c| if there is a c.
        result: what was computed.
        accumulator_epsilon: half a unit in the last place of 1, where it is summed.
        result_epsilon: the same of the type of the result.
        split_epsilon: what a product of parts is off by, in units of |a| |b|.
    """
    relative = (terms + 2) * accumulator_epsilon + split_epsilon
    return relative * magnitude + result_epsilon * abs(result)


class Tracked(Numerics):
    """Floats with bounds of their errors."""

    def __init__(self, inputs: Inputs, precision: str = "ieee") -> None:
        self.inputs = inputs
        self.split = PRECISIONS.get(precision)
        """How f32 is multiplied; None for as it is."""
        self.lost = False
        """Whether a value with an error went on without its bound."""

    def _lose(self, where: Array) -> None:
        """Note which values with an error go on without its bound."""
        self.lost = self.lost or bool(where.any())

    def value_dtype(self, type: Attribute) -> DType:
        return TRACKED if is_float(type) else super().value_dtype(type)

    def from_memory(self, array: Array, type: Attribute) -> Array:
        """Return the values that memory holds, as exact ones."""
        return self.given(super().from_memory(array, type), type)

    def to_memory(self, array: Array, type: Attribute) -> Array:
        """Return values as memory holds them, without bounds."""
        return super().to_memory(self.plain(array, type), type)

    def with_stored_errors(
        self,
        values: Array,
        type: Attribute,
        errors: StoredErrors,
        cells: Array,
        active: Array | None,
    ) -> Array:
        """Return values from memory with the bounds of their errors there.

        Of what was stored as another type, bounds are lost.
        """
        if errors.is_exact:
            return values
        bounds, lost = errors.load(cells, type)
        self._lose(lost if active is None else lost & active)
        return _joined(cast(Complex, values).real, bounds) if is_float(type) else values

    def errors(self, array: Array, type: Attribute) -> Array | None:
        return errors_of(array).copy() if is_float(type) else None

    def plain(self, array: Array, type: Attribute) -> Array:
        if not is_float(type):
            return array
        return cast(Complex, array).real.astype(values.value_dtype(type))

    def given(self, array: Array, type: Attribute) -> Array:
        """Return plain values as exact ones."""
        return array.astype(TRACKED) if is_float(type) else array

    def call(self, name: str, type: Attribute, *args: Array) -> Array:
        """Return a function of floats and the bound of its error."""
        function = FLOAT_FUNCTIONS[name]
        plain = [self.plain(arg, type) for arg in args]
        result = super().call(name, type, *plain)
        wide = [x.astype(np.float64) for x in plain]
        errors = [errors_of(arg) for arg in args]
        exact: Array = reduce(np.maximum, errors) == 0
        # How far the result moves when the operands do.
        spread = np.zeros(exact.shape)
        if not exact.all():
            spread = np.where(exact, 0.0, function.spread(wide, errors))
        if function.either_zero:
            x, y = wide
            either = (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
            spread = np.where(either, np.maximum(spread, LEAST), spread)
        if function.exact:
            return _joined(result, spread)
        unrounded = function.compute(*wide)
        own = self._rounding(result, unrounded, type, function.ulps)
        if self.split is not None:
            own = self._split_rounding(own, name, exact, result, unrounded, wide)
        return _joined(result, spread + own)

    def _split_rounding(
        self,
        own: Array,
        name: str,
        exact: Array,
        result: Array,
        unrounded: Array,
        wide: list[Array],
    ) -> Array:
        """Return the bound of what one function is off by, where f32 is split."""
        assert self.split is not None
        if self.in_product and name in ("mul", "fma"):
            x, y = np.abs(wide[0]), np.abs(wide[1])
            return own + self.split.error * x * y + self.split.least * (1 + x + y)
        r = result.astype(np.float64)
        if name == "sub":
            exact = exact & (wide[0] - r == wide[1]) & (r + wide[1] == wide[0])
        elif name == "mul":
            exact = exact & (r == unrounded)
        return np.where(exact, 0.0, own) if name in ("sub", "mul") else own

    def _rounding(
        self, result: Array, unrounded: Array, type: Attribute, ulps: float = 0.5
    ) -> Array:
        """Return the bound of the error that one rounding makes."""
        format = format_of(type)
        exactly = result.astype(np.float64)
        least = 2.0 ** max(format.min_exponent - format.fraction_bits, -1074)
        bound = 2 * ulps * format.epsilon * np.abs(exactly) + least
        # What was infinite before it was rounded is not off.
        endless = np.isinf(exactly) & (exactly == unrounded)
        bound = np.where(np.isnan(exactly) | endless, 0.0, bound)
        if self.inputs == Inputs.REAL:
            return bound
        same = (exactly == unrounded) | (np.isnan(exactly) & np.isnan(unrounded))
        if isinstance(type, Float64Type):
            whole = np.rint(exactly) == exactly
            same = same & whole & (np.abs(exactly) <= 2.0**53)
        return np.where(same, 0.0, bound)

    def convert(self, array: Array, source: Attribute, result: Attribute) -> Array:
        """Return floats of another type; narrowing ones are rounded."""
        plain = self.plain(array, source)
        found = super().convert(plain, source, result)
        to, of = format_of(result), format_of(source)
        if to.fraction_bits >= of.fraction_bits and to.max_exponent >= of.max_exponent:
            return _joined(found, errors_of(array))
        own = self._rounding(found, plain.astype(np.float64), result)
        if self.split is not None:
            own = np.where(errors_of(array) == 0, 0.0, own)
        return _joined(found, errors_of(array) + own)

    def of_integers(self, array: Array, result: Attribute) -> Array:
        found = super().of_integers(array, result)
        plain = self.plain(found, result)
        own = self._rounding(plain, array.astype(np.float64), result)
        own = np.where(plain.astype(np.float64) == array, 0.0, own)
        return _joined(plain, own)

    def to_integers(
        self, array: Array, source: Attribute, result: Attribute, is_signed: bool
    ) -> Array:
        """Return floats as integers: bounds are lost where they reach another one."""
        value, error = cast(Complex, array).real, errors_of(array)
        moved = np.trunc(value - error) != np.trunc(value + error)
        self._lose(moved & (error > 0))
        return super().to_integers(array, source, result, is_signed)

    def compared(self, x: Array, y: Array, type: Attribute) -> tuple[Array, Array]:
        """Return floats to compare: bounds are lost where another result is near."""
        error = errors_of(x) + errors_of(y)
        near = np.abs(cast(Complex, x).real - cast(Complex, y).real) <= error
        self._lose(near & (error > 0))
        return super().compared(x, y, type)

    def bitcast(self, array: Array, source: Attribute, result: Attribute) -> Array:
        """Return the bits as another type: bounds are lost."""
        if is_float(source) and source != result:
            self._lose(errors_of(array) > 0)
        return array if source == result else super().bitcast(array, source, result)

    def cut(self, array: Array, bits: int) -> Array:
        """Return f32 without low bits; what is off may be cut to another number."""
        plain = cast(Complex, array).real.astype(np.float32)
        found, errors = super().cut(plain, bits), errors_of(array)
        unit = 2.0**bits * 2 * FORMATS["f32"].epsilon
        dropped = np.abs(plain.astype(np.float64) - found)
        own = np.where(errors > 0, unit * np.abs(plain), dropped)
        return _joined(found, errors + own)

    def _all_plain(self, matrices: Matrices, types: Types) -> Matrices:
        pairs = zip(matrices, types[:3], strict=True)
        a, b, c = (self.plain(x, type) for x, type in pairs)
        return a, b, c

    def multiply_add(self, matrices: Matrices, types: Types) -> Array:
        """Return `a * b + c` and the bound of its error: see the module."""
        result = super().multiply_add(self._all_plain(matrices, types), types)
        return self.product(result, matrices, types)

    def product(
        self, result: Array, matrices: Matrices, types: Types, least: float = 0.0
    ) -> Array:
        """Return a computed `a * b + c` with the bound of its error."""
        a, b, c = self._all_plain(matrices, types)
        size_a, size_b, size_c = (np.abs(x).astype(np.float64) for x in (a, b, c))
        error_a, error_b, error_c = (errors_of(x) for x in matrices)
        magnitude = np.matmul(size_a, size_b) + size_c
        spread = np.matmul(size_a + error_a, error_b) + np.matmul(error_a, size_b)
        # The simulator sums in f32; a device that multiplies f16 into f16 need not, and
        # a product that is cut along K is rounded to f16 between its parts.
        acc = min((format_of(type) for type in types[2:]), key=lambda x: x.epsilon)
        exactly = result.astype(np.float64)
        error = 0.0
        if self.split is not None and isinstance(types[0], Float32Type):
            error, least = self.split.error, max(least, self.split.least)
        own = product_bound(
            a.shape[-1],
            magnitude,
            exactly,
            acc.epsilon,
            format_of(types[3]).epsilon,
            error,
        )
        if least:
            rows, cols = size_a.sum(-1, keepdims=True), size_b.sum(-2, keepdims=True)
            own = own + least * (a.shape[-1] + 2 + rows + cols)
        if self.inputs == Inputs.EXACT and not (error and self._loses(a, b)):
            unrounded = np.matmul(a.astype(np.float64), b.astype(np.float64)) + c
            small = magnitude <= 2.0 ** (acc.fraction_bits + 1)
            own = np.where(small & (exactly == unrounded), 0.0, own)
        errors = np.where(np.isnan(exactly), 0.0, spread + error_c + own)
        return _joined(result, errors)

    def _loses(self, *matrices: Array) -> bool:
        """Whether elements may have more bits than a part."""
        assert self.split is not None
        most = 2.0**self.split.bits
        return any((abs(x) > most).any() or (x % 1 != 0).any() for x in matrices)


def _joined(value: Array, error: Array) -> Array:
    """Return values with bounds; a bound that is no number is no bound."""
    value, error = np.broadcast_arrays(value, error)
    found = np.empty(value.shape, TRACKED)
    found.real = value
    found.imag = np.where(np.isnan(error), np.inf, error)
    return found
