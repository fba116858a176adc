"""Simulation of `avx512`: the same bits as a processor's."""

from typing import Any

import numpy as np
import pytest

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.run.cpu import Program
from coopc.run.tiles import Tiles, cpu_flags, lacking
from coopc.sim.numerics import from_bf16
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

LENGTH = 32
KINDS = {"avx512bf16": ("bf16", "f32", 2), "avx512vnni": ("i8", "i32", 4)}


def source(feature: str) -> str:
    element, sum, channels = KINDS[feature]
    factor, sums = f"vector<{LENGTH * channels}x{element}>", f"vector<{LENGTH}x{sum}>"
    memory, total = f"memref<{LENGTH * channels}x{element}>", f"memref<{LENGTH}x{sum}>"
    return f"""func.func @f(%a: {memory}, %b: {memory}, %c: {total}) {{
      %i = arith.constant 0 : index
      %x = vector.load %a[%i] : {memory}, {factor}
      %y = vector.load %b[%i] : {memory}, {factor}
      %z = vector.load %c[%i] : {total}, {sums}
      %r = avx512.dot %x, %y, %z : {factor}, {sums}
      vector.store %r, %c[%i] : {total}, {sums}
      func.return
    }}"""


def numbers(feature: str, seed: int) -> list[Any]:
    """Any bytes; or bf16 and f32 of exponents at which all of it rounds and flushes."""
    rng, (_, _, channels) = np.random.default_rng(seed), KINDS[feature]
    size = LENGTH * channels
    if feature == "avx512vnni":
        a, b = rng.integers(-128, 128, (2, size)).astype(np.int8)
        return [a, b, rng.integers(-(2**31), 2**31, LENGTH).astype(np.int32)]
    exponents = rng.choice([0, 1, 60, 64, 66, 68, 125, 126, 127, 128, 129], (3, size))
    bits = rng.integers(0, 128, (3, size)) | exponents << 7
    a, b, c = (bits | rng.integers(0, 2, (3, size)) << 15).astype(np.uint16)
    return [a, b, from_bf16(c[:LENGTH]).astype(np.float32) * np.float32(1.0009765625)]


@pytest.mark.parametrize("feature", KINDS)
def test_the_bits_of_a_processor(feature: str) -> None:
    if missing := lacking([feature], cpu_flags()):
        pytest.skip(f"this processor has no {missing[0]}")
    ctx = new_context(everything())
    module = parse(ctx, Source(source(feature), "test"))
    program = Program.of(module, Tiles.NONE)
    for seed in range(50):
        given = numbers(feature, seed)
        ours, theirs = ([x.copy() for x in given] for _ in "ab")
        simulate(module, "f", ours)
        program.code.call("program.f", theirs)
        np.testing.assert_array_equal(
            ours[2].view(np.uint32), theirs[2].view(np.uint32)
        )


def test_bytes_of_the_left_are_not_signed() -> None:
    module = parse(new_context(everything()), Source(source("avx512vnni"), "test"))
    a, b = np.full(128, -1, np.int8), np.full(128, -2, np.int8)
    c = np.full(LENGTH, 7, np.int32)
    simulate(module, "f", [a, b, c])
    assert set(c) == {7 - 4 * 255 * 2}


ROUND = """func.func @f(%a: memref<32xf32>, %c: memref<32xbf16>) {
  %i = arith.constant 0 : index
  %x = vector.load %a[%i] : memref<32xf32>, vector<32xf32>
  %r = avx512.truncf %x : vector<32xf32> -> vector<32xbf16>
  vector.store %r, %c[%i] : memref<32xbf16>, vector<32xbf16>
  func.return
}"""


@pytest.mark.parametrize("denormal", [0, 1, 32])
def test_numbers_are_rounded(denormal: int) -> None:
    """Denormal numbers, too, infinities, and NaN of any bits."""
    if missing := lacking(["avx512bf16", "avx512dq"], cpu_flags()):
        pytest.skip(f"this processor has no {missing[0]}")
    rng = np.random.default_rng(denormal)
    module = parse(new_context(everything()), Source(ROUND, "test"))
    program = Program.of(module, Tiles.NONE)
    special = np.array([0x7F800000, 0x7F800001, 0x7FFFFFFF, 0x7F7FFFFF, 0x3F808000])
    for _ in range(50):
        bits = rng.integers(1 << 23, 1 << 31, 32)
        bits[rng.choice(32, len(special), replace=False)] = special
        small = rng.choice(32, denormal, replace=False)
        bits[small] = rng.integers(0, 1 << 23, denormal)
        bits |= rng.integers(0, 2, 32) << 31
        a = bits.astype(np.uint32).view(np.float32)
        ours, theirs = np.zeros((2, 32), np.uint16)
        simulate(module, "f", [a.copy(), ours])
        program.code.call("program.f", [a.copy(), theirs])
        high = bits >> 16
        near = (bits + 0x7FFF + (high & 1)) >> 16
        is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
        wanted = np.where(is_nan, high | 0x40, near).astype(np.uint16)
        np.testing.assert_array_equal(theirs, wanted)
        np.testing.assert_array_equal(ours[~is_nan], wanted[~is_nan])
