"""How numbers are computed: plainly, each with the rounding of its type.

Everything that the simulator does with floats goes through a `Numerics`.  This one
computes floats as they are; `coopc.sim.tracked` gives each one a bound of its error
beside it, and overrides what has to know.

A product of matrices of floats is `c`, to which the products of elements are added one
after the other, by ascending k, in f32 (in f64 if any of the four types is f64), and is
then rounded to the type of the result.  Products of f16 and bf16 are exact in f32.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float64Type
from xdsl.ir import Attribute

from coopc.sim import formats
from coopc.sim.float_functions import FLOAT_FUNCTIONS, FloatFunction
from coopc.sim.fused import fused_multiply_add_f64
from coopc.sim.shadow import StoredErrors
from coopc.sim.values import (
    Array,
    DType,
    FloatType,
    bits_of,
    is_float,
    value_dtype,
    wrapped,
)


class Numerics:
    """Floats as they are."""

    def value_dtype(self, type: Attribute) -> DType:
        """Return how values of a type are kept in arrays."""
        return value_dtype(type)

    def from_memory(self, array: Array, type: Attribute) -> Array:
        """Return the values that memory holds."""
        if isinstance(type, BFloat16Type):
            return formats.bf16_from_bits(array)
        return array if is_float(type) else wrapped(array, type)

    def to_memory(self, array: Array, type: Attribute) -> Array:
        """Return values as memory holds them."""
        return (
            formats.bits_from_bf16(array) if isinstance(type, BFloat16Type) else array
        )

    def with_stored_errors(
        self,
        values: Array,
        type: Attribute,
        errors: StoredErrors,
        cells: Array,
        active: Array | None,
    ) -> Array:
        """Return values from memory with the bounds of their errors there.

        Args:
            values: the elements, without bounds.
            type: of them.
            errors: of memory.
            cells: (..., parts), where the elements are in it.
            active: which elements are read; all if it is None.
        """
        return values

    def errors(self, array: Array, type: Attribute) -> Array | None:
        """Return bounds of the errors of values, as f64; None where there are none."""
        return None

    def plain(self, array: Array, type: Attribute) -> Array:
        """Return values without anything beside them."""
        return array

    def compared(self, x: Array, y: Array, type: Attribute) -> tuple[Array, Array]:
        """Return floats of a type to compare with each other."""
        return self.plain(x, type), self.plain(y, type)

    def given(self, array: Array, type: Attribute) -> Array:
        """Return plain values as values: constants, and what is exact."""
        return array

    def constant(self, value: Any, type: Attribute) -> Array:
        """Return Python numbers as values of a type: rounded, or wrapped around."""
        if is_float(type):
            floats = np.asarray(value, dtype=np.float64)
            return self.given(formats.rounded(floats, type), type)
        bits = (1 << bits_of(type)) - 1
        if isinstance(value, np.generic):
            value = cast("Any", value).item()  # whose width `bits` may not fit
        integers = np.asarray(value, dtype=object) & bits
        return wrapped(np.asarray(integers, dtype=np.uint64), type)

    def poison(self, type: Attribute) -> Array:
        """Return what is read where nothing was written: NaN, or a pattern of bits."""
        value = float("nan") if is_float(type) else 0x5A5A5A5A5A5A5A5A
        return self.constant(value, type)

    def apply(self, function: FloatFunction, type: Attribute, *args: Array) -> Array:
        """Return a function of floats of a type, rounded to it."""
        if function.name == "fma" and isinstance(type, Float64Type):
            return fused_multiply_add_f64(*args)
        if function.wide:
            args = tuple(x.astype(np.float64) for x in args)
        found = function.compute(*args)
        if function.exact:
            return found.astype(value_dtype(type), copy=False)
        return formats.rounded(found, type)

    def call(self, name: str, type: Attribute, *args: Array) -> Array:
        """Return the function of that name in the table."""
        return self.apply(FLOAT_FUNCTIONS[name], type, *args)

    def convert(self, array: Array, source: Attribute, result: Attribute) -> Array:
        """Return floats as floats of another type."""
        return formats.rounded(array, result)

    def of_integers(self, array: Array, result: Attribute) -> Array:
        """Return integers, signed or unsigned as their arrays are, as floats."""
        return self.given(formats.rounded_integers(array, result), result)

    def to_integers(
        self, array: Array, source: Attribute, result: Attribute, is_signed: bool
    ) -> Array:
        """Return floats as integers of a type, rounded towards zero."""
        plain = self.plain(array, source)
        return wrapped(formats.truncated(plain, result, is_signed), result)

    def bitcast(self, array: Array, source: Attribute, result: Attribute) -> Array:
        """Return the values of another type of the same width that have these bits."""
        bits = array
        if is_float(source):
            assert isinstance(source, FloatType)
            bits = formats.float_bits(self.plain(array, source), source)
        if is_float(result):
            return self.given(formats.float_of_bits(bits, result), result)
        return wrapped(bits, result)

    def cut(self, array: Array, bits: int) -> Array:
        """Return f32 with so many low bits zero."""
        return (array.view(np.int32) & np.int32(-1 << bits)).view(np.float32)

    def multiply_add(
        self,
        matrices: tuple[Array, Array, Array],
        types: tuple[Attribute, Attribute, Attribute, Attribute],
    ) -> Array:
        """Return `a * b + c` of matrices of floats: see the module.

        Args:
            matrices: a, b and c, their last two axes rows and columns.
            types: the element types of a, b, c and the result.
        """
        dtype = accumulator(types)
        a, b, c = (x.astype(dtype, copy=False) for x in matrices)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
        total = np.empty((*batch, *c.shape[-2:]), dtype)
        total[...] = c
        product = np.empty_like(total)
        for k in range(a.shape[-1]):
            np.multiply(a[..., :, k, None], b[..., None, k, :], out=product)
            total += product
        return formats.rounded(total, types[3])

    def product(
        self,
        result: Array,
        matrices: tuple[Array, Array, Array],
        types: tuple[Attribute, Attribute, Attribute, Attribute],
        least: float = 0.0,
    ) -> Array:
        """Return a product that hardware sums in a way of its own, given its result.

        Args:
            result: `a * b + c` of the plain matrices.
            matrices: a, b and c, their last two axes rows and columns.
            types: the element types of a, b, c and the result.
            least: what is smaller, of operands, products or sums, may count as zero.
        """
        return result


def accumulator(types: tuple[Attribute, ...]) -> DType:
    """Return what a product of matrices of such floats is summed in."""
    wide = any(isinstance(type, Float64Type) for type in types)
    return np.dtype(np.float64 if wide else np.float32)
