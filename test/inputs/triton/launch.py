"""One launch of a kernel: its arguments in memory, its grid, and what it must do. numpy only.

case.arguments      # name -> Buffer, Descriptor, Addresses, int or float; without constexprs
case.grid           # programs along x, y, z
case.expected       # name of a buffer -> the values it must hold at the end
case.check(name, values)    # None, or in words where it is wrong
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

STORAGE = {
    "fp32": np.float32,
    "fp16": np.float16,
    "bf16": np.uint16,
    "fp8e4nv": np.uint8,
    "fp8e5": np.uint8,
    "i8": np.int8,
    "u8": np.uint8,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
}


def decode(type_: str, data: np.ndarray) -> np.ndarray:
    """The values of stored elements, as float32 where they are floats, else as they are."""
    if type_ == "bf16":
        return (data.astype(np.uint32) << 16).view(np.float32)
    if type_ == "fp8e5":
        return (data.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    if type_ == "fp8e4nv":
        exponent, mantissa = (data >> 3) & 15, (data & 7).astype(np.float32)
        size = np.where(
            exponent == 0, mantissa / 512, np.exp2(exponent - 10.0) * (8 + mantissa)
        )
        value = np.where(data & 128, -size, size).astype(np.float32)
        return np.where((data & 127) == 127, np.float32("nan"), value)
    return data.astype(np.float32) if type_.startswith("fp") else data


def encode(type_: str, values: np.ndarray) -> np.ndarray:
    """Values in the nearest elements of a type, ties to even (8-bit floats: exact values only)."""
    if type_ == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    if type_.startswith("fp8"):
        table = decode(type_, np.arange(256, dtype=np.uint8))
        order = np.argsort(np.where(np.isfinite(table), table, np.inf), kind="stable")
        found = order[np.searchsorted(table[order[np.isfinite(table[order])]], values)]
        if not np.array_equal(table[found], values):
            raise ValueError(f"not all values are exact in {type_}")
        return found.astype(np.uint8)
    return np.asarray(values).astype(STORAGE[type_])


@dataclass(frozen=True)
class Buffer:
    """Elements in memory: a Triton type, and an array of its storage type (uint16 for bf16)."""

    type: str
    data: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """The elements as numbers."""
        return decode(self.type, self.data)


@dataclass(frozen=True)
class Descriptor:
    """A descriptor that the caller makes of a whole row-major matrix."""

    base: Buffer
    block: tuple[int, ...]


@dataclass(frozen=True)
class Addresses:
    """An array of the addresses of buffers; a buffer's own name is `NAME[i]` in `expected`."""

    buffers: tuple[Buffer, ...]


@dataclass(frozen=True)
class Case:
    """One launch of one kernel and what it must do."""

    arguments: dict[str, Any]
    grid: tuple[int, int, int]
    expected: dict[str, np.ndarray]
    relative: float = 1e-3
    absolute: float = 1e-3

    def buffer(self, name: str) -> Buffer:
        """The buffer of this name, through descriptors and arrays of addresses."""
        if name.endswith("]"):
            name, _, index = name[:-1].partition("[")
            return self.arguments[name].buffers[int(index)]
        argument = self.arguments[name]
        return argument.base if isinstance(argument, Descriptor) else argument

    def check(self, name: str, values: np.ndarray) -> str | None:
        """Where `values` of a buffer differs from what is expected; None if nowhere."""
        want = self.expected[name]
        got = values.reshape(want.shape)
        if np.issubdtype(want.dtype, np.integer):
            good = got == want
        else:
            with np.errstate(invalid="ignore"):  # of infinities
                most = self.absolute + self.relative * np.abs(want)
                close = np.abs(got - want) <= most
            good = close | (got == want)
            if self.relative == self.absolute == 0:  # signs of zeros, too
                good &= np.signbit(got) == np.signbit(want)
            good |= np.isnan(got) & np.isnan(want)
        if good.all():
            return None
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        return f"{name}{list(at)} is {got[at]}, expected {want[at]}; {np.sum(~good)} of {good.size} wrong"


UNTOUCHED = 77
"""What a buffer that is only written starts with: exact in every type."""


def empty(type_: str, *shape: int) -> Buffer:
    """A buffer for results."""
    return Buffer(type_, encode(type_, np.full(shape, UNTOUCHED)))


def zeros(type_: str, *shape: int) -> Buffer:
    """A buffer of zeros."""
    return Buffer(type_, np.zeros(shape, STORAGE[type_]))


class Random:
    """Reproducible inputs for a case."""

    def __init__(self, name: str) -> None:
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, type_: str, *shape: int, scale: float = 1.0) -> Buffer:
        """Normally distributed values; of 8-bit floats, any of those up to 8."""
        if type_.startswith("fp8"):
            table = decode(type_, np.arange(256, dtype=np.uint8))
            with np.errstate(invalid="ignore"):
                codes = np.flatnonzero(np.abs(table) <= 8).astype(np.uint8)
            return Buffer(type_, self.rng.choice(codes, shape))
        return Buffer(type_, encode(type_, self.rng.standard_normal(shape) * scale))

    def integers(self, type_: str, low: int, high: int, *shape: int) -> Buffer:
        """Integers from `low` to `high` without `high`."""
        return Buffer(type_, self.rng.integers(low, high, shape).astype(STORAGE[type_]))


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


HALF = {"relative": 2e-3, "absolute": 2e-3}
"""What may be lost by rounding results to f16."""
BFLOAT = {"relative": 1e-2, "absolute": 1e-2}
"""What may be lost by rounding results to bf16."""
