"""Zeros with signs, infinities and NaN on lavapipe, in matrices and in quotients.

Its compiler folds some of what it can see (26.2.6), though modules ask it not to: the
device's data say so, and coopc avoids the forms.
"""

from dataclasses import replace

import numpy as np
import pytest

import coopc
from coopc import device as devices
from coopc.device import LAVAPIPE
from coopc.interface_call import pack
from coopc.run import vulkan
from coopc.run.execute import on_vulkan

FORMS = {
    "scale by 0": "%r0 = coopmatrix.scale %x, %zero : !m, {t}",
    "scale by -0": "%r1 = coopmatrix.scale %x, %minus : !m, {t}",
    "mul": "%r2 = coopmatrix.mul %f, %x : !m",
    "add 0": "%r3 = coopmatrix.add %x, %f : !m",
    "sub from 0": "%r4 = coopmatrix.sub %f, %x : !m",
    "sub": "%r5 = coopmatrix.sub %x, %x : !m",
    "add": "%r6 = coopmatrix.add %x, %n : !m",
    "div": "%r7 = coopmatrix.div %f, %x : !m",
    "neg": "%r8 = coopmatrix.neg %n : !m",
    "quotients": """
  %r9 = coopmatrix.apply (%i, %j, %e) in %x : !m {{
    %q = arith.divf %zero, %e : {t}
    coopmatrix.yield %q : {t}
  }}""",
    "rounded": """
  %h = coopmatrix.convert %x : !m -> !coopmatrix.matrix<8x8xf16, acc>
  %r10 = coopmatrix.convert %h : !coopmatrix.matrix<8x8xf16, acc> -> !m""",
    "quotients by 0": """
  %r11 = coopmatrix.apply (%i, %j, %e) in %x : !m {{
    %q = arith.divf %e, %zero : {t}
    coopmatrix.yield %q : {t}
  }}""",
    "quotients by what becomes 0": """
  %r12 = coopmatrix.apply (%i, %j, %e) in %x : !m {{
    %row = arith.index_cast %i : index to i32
    %by = arith.sitofp %row : i32 to {t}
    %q = arith.divf %e, %by : {t}
    coopmatrix.yield %q : {t}
  }}""",
    "div by 0": "%r13 = coopmatrix.div %x, %f : !m",
}
"""On a matrix %x, of which %n is the negative, %f a matrix of zeros."""

KERNEL = """
!m = !coopmatrix.matrix<8x8x{t}, acc>
func.func @k(%a: memref<8x8x{t}>, {results}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : {t}
  %minus = arith.constant -0.0 : {t}
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8x{t}> -> !m
  %n = coopmatrix.neg %x : !m
  %f = coopmatrix.fill %zero : {t} -> !m
  {body}
  func.return
}}
"""

PRODUCT = """
!c = !coopmatrix.matrix<8x8xf32, acc>
func.func @k(%a: memref<8x8xf16>, %b: memref<8x8xf16>, %r: memref<8x8xf32>,
             %s: memref<8x8xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %half = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%0, %0] row_major
    : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, a>
  %y = coopmatrix.load %b[%0, %0] row_major
    : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, b>
  %f = coopmatrix.fill %half : f16 -> !coopmatrix.matrix<8x8xf16, a>
  %c = coopmatrix.fill %zero : f32 -> !c
  %p = coopmatrix.mul_add %x, %y, %c
    : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !c
  %q = coopmatrix.mul_add %f, %y, %c
    : !coopmatrix.matrix<8x8xf16, a>, !coopmatrix.matrix<8x8xf16, b>, !c
  coopmatrix.store %p, %r[%0, %0] row_major : !c, memref<8x8xf32>
  coopmatrix.store %q, %s[%0, %0] row_major : !c, memref<8x8xf32>
  func.return
}
"""

ROUNDED = """
!c = !coopmatrix.matrix<8x8xf32, acc>
!h = !coopmatrix.matrix<8x8xf16, a>
!s = !coopmatrix.matrix<8x8xf16, acc>
func.func @k(%a: memref<8x8xf32>, %b: memref<8x8xf16>, %r: memref<8x8xf32>,
             %s: memref<8x8xf32>) attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x8xf32> -> !c
  %y = coopmatrix.load %b[%0, %0] row_major
    : memref<8x8xf16> -> !coopmatrix.matrix<8x8xf16, b>
  %h = coopmatrix.convert %x : !c -> !h
  %c = coopmatrix.fill %zero : f32 -> !c
  %p = coopmatrix.mul_add %h, %y, %c : !h, !coopmatrix.matrix<8x8xf16, b>, !c
  coopmatrix.store %p, %r[%0, %0] row_major : !c, memref<8x8xf32>
  %t = coopmatrix.convert %x : !c -> !s
  %g = coopmatrix.convert %t : !s -> !h
  %q = coopmatrix.mul_add %g, %y, %c : !h, !coopmatrix.matrix<8x8xf16, b>, !c
  coopmatrix.store %q, %s[%0, %0] row_major : !c, memref<8x8xf32>
  func.return
}
"""

Array = np.ndarray[tuple[int, int], np.dtype[np.floating]]
NUMBERS = [np.inf, -np.inf, np.nan, -1, 1, -0.0, 0.0, 60000, 0.1]


def run(text: str, arrays: list[Array], session: vulkan.Session) -> list[Array]:
    artifact = coopc.compile(text, "coopc-khr{device=lavapipe}")
    call = pack(artifact.interface[0], arrays, (1, 1, 1))
    return list(on_vulkan(artifact.bytes, call, session).arrays)


def results(type: str, session: vulkan.Session) -> dict[str, tuple[Array, Array]]:
    """What each form gives, and what it should give."""
    stores = "".join(
        f"\n  coopmatrix.store %r{at}, %m{at}[%0, %0] row_major"
        f" : !m, memref<8x8x{type}>"
        for at in range(len(FORMS))
    )
    arguments = (f"%m{at}: memref<8x8x{type}>" for at in range(len(FORMS)))
    body = "\n  ".join(FORMS.values()).format(t=type) + stores
    text = KERNEL.format(t=type, results=", ".join(arguments), body=body)
    dtype = {"f16": np.float16, "f32": np.float32}[type]
    x = np.resize(np.array(NUMBERS, dtype), (8, 8))
    zero = dtype(0)
    with np.errstate(all="ignore"):
        expected = [
            *(x * zero, x * -zero, zero * x, x + zero, zero - x, x - x, x - x),
            *(zero / x, x, zero / x, x.astype(np.float16)),
            *(x / zero, x / np.arange(8, dtype=dtype)[:, None], x / zero),
        ]
    found = run(text, [x, *(np.ones_like(x) for _ in FORMS)], session)[1:]
    return dict(zip(FORMS, zip(found, expected, strict=True), strict=True))


def same(found: Array, expected: Array) -> bool:
    """Whether all numbers are the same, and of zeros the signs."""
    numbers = ~np.isnan(expected)
    return np.array_equal(found, expected, equal_nan=True) and np.array_equal(
        np.signbit(found)[numbers], np.signbit(expected)[numbers]
    )


@pytest.mark.parametrize("type", ["f16", "f32"])
def test_arithmetic(type: str, lavapipe: vulkan.Session) -> None:
    for form, (found, expected) in results(type, lavapipe).items():
        assert same(found, expected), (form, found, expected)


def products(session: vulkan.Session) -> bool:
    """Whether products are right, of 0 with NaN, and of -0 where sums begin with 0."""
    x, y = np.full((8, 8), -0.0, np.float16), np.ones((8, 8), np.float16)
    y[0] = [np.nan, np.inf, -1, 0, 1, 2, 3, 4]
    x[1:] = 2
    sums = np.zeros((8, 8), np.float32)
    found = run(PRODUCT, [x, y, sums, sums.copy()], session)[2:]
    with np.errstate(invalid="ignore"):
        wide = y.astype(np.float32)
        expected = [x.astype(np.float32) @ wide + sums, 0 * x.astype(np.float32) @ wide]
    return all(same(a, b + 0) for a, b in zip(found, expected, strict=True))


def rounds_factors(session: vulkan.Session) -> bool:
    """Whether products are of what a factor was rounded to, at once or before."""
    x, y = np.full((8, 8), 0.1, np.float32), np.eye(8, dtype=np.float16)
    found = run(ROUNDED, [x, y, np.zeros_like(x), np.zeros_like(x)], session)[2:]
    return all(same(each, x.astype(np.float16).astype(np.float32)) for each in found)


def test_products(lavapipe: vulkan.Session) -> None:
    assert products(lavapipe)
    assert rounds_factors(lavapipe)


def test_the_driver_needs_it(
    lavapipe: vulkan.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probe: with a driver that has no such faults its data can say so."""
    as_if = replace(LAVAPIPE, exact_matrices=True, exact_quotients=True)
    monkeypatch.setitem(devices.DEVICES, "lavapipe", as_if)
    found = results("f32", lavapipe)
    wrong = {form for form, pair in found.items() if not same(*pair)}
    assert wrong == set(FORMS) - {"neg"}
    assert not products(lavapipe)
    assert not rounds_factors(lavapipe)
