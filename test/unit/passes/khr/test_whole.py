"""`coopc-khr`: reductions, `apply` and conversions of whole matrices, on lavapipe."""

from collections.abc import Callable

import numpy as np
import pytest
from support.khr_kernels import ANY_F, INT, F, kernel, numbers


@pytest.mark.parametrize("axis", ["rows", "cols"])
@pytest.mark.parametrize("kind", ["add", "max", "min"])
@pytest.mark.parametrize("shape", [(8, 8), (24, 16)])
def test_reductions(
    axis: str, kind: str, shape: tuple[int, int], on_lavapipe: Callable[..., None]
) -> None:
    m, n = shape
    matrix = f"!coopmatrix.matrix<{m}x{n}xf32, acc>"
    p, q = (m, 1) if axis == "rows" else (1, n)
    result = f"!coopmatrix.matrix<{p}x{q}xf32, acc>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {matrix}
  %y = coopmatrix.reduce {kind} {axis} %x : {matrix} -> {result}
  coopmatrix.store %y, %r[%0, %0] row_major : {result}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(m, n)
    function = {"add": np.sum, "max": np.max, "min": np.min}[kind]
    expected = function(a, axis=int(axis == "rows"), keepdims=True)
    on_lavapipe(text, [a, np.zeros((p, q), np.float32)], {1: expected})


def test_apply(on_lavapipe: Callable[..., None]) -> None:
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %zero = arith.constant 0.0 : f32
  %y = coopmatrix.apply (%i, %j, %v) in %x : {F} {{
    %below = arith.cmpi ugt, %i, %j : index
    %w = arith.select %below, %v, %zero : f32
    coopmatrix.yield %w : f32
  }}
  coopmatrix.store %y, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    on_lavapipe(text, [a, 0 * a], {1: np.tril(a, -1)})


def test_bits_of_floats(on_lavapipe: Callable[..., None]) -> None:
    """OpBitcast is of integers alone, so they go through work-group memory."""
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %i = coopmatrix.bitcast %x : {F} -> {INT}
  %j = coopmatrix.neg %i : {INT}
  %y = coopmatrix.bitcast %j : {INT} -> {F}
  coopmatrix.store %y, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    expected = (-a.view(np.int32)).view(np.float32)
    on_lavapipe(text, [a, 0 * a], {1: expected})


def test_conversion_of_the_use(on_lavapipe: Callable[..., None]) -> None:
    """The result of one multiplication is an operand of the next."""
    a_type, b_type = (f"!coopmatrix.matrix<8x8xf16, {use}>" for use in "ab")
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %p = coopmatrix.convert %x : {F} -> {a_type}
  %q = coopmatrix.convert %x : {F} -> {b_type}
  %y = coopmatrix.mul_add %p, %q, %x : {a_type}, {b_type}, {F}
  coopmatrix.store %y, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    on_lavapipe(text, [a, 0 * a], {1: a @ a + a})


def test_matrices_that_the_device_has_none_of(on_lavapipe: Callable[..., None]) -> None:
    matrix = "!coopmatrix.matrix<7x9xf32, none>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {matrix}
  %y = coopmatrix.add %x, %x : {matrix}
  coopmatrix.store %y, %r[%0, %0] col_major : {matrix}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(7, 9)
    on_lavapipe(text, [a, np.zeros((9, 7), np.float32)], {1: 2 * a.T})


def test_each_subgroup_has_its_own_scratch(on_lavapipe: Callable[..., None]) -> None:
    body = f"""
  %s = simt.subgroup_id : index
  %i = arith.muli %s, %8 : index
  %x = coopmatrix.load %a[%i, %4] row_major checked(rows, cols) : {ANY_F} -> {F}
  %y = coopmatrix.max %x, %x : {F}
  coopmatrix.store %y, %r[%i, %0] row_major checked(rows) : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}", size=32)
    a = numbers(29, 9)
    expected = np.zeros((29, 8), np.float32)
    expected[:, :5] = a[:, 4:]
    on_lavapipe(text, [a, np.zeros_like(expected)], {1: expected})
