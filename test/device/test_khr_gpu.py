"""What `legalize-coopmatrix-khr` makes of operations, on a GPU with 16 x 16 matrices.

Run it where there is one: `pytest test/device`.  Elsewhere a test says what it lacks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session

Array = npt.NDArray[Any]

PIPELINE = "coopc-khr{device=nvidia}"
F, ANY = "!coopmatrix.matrix<16x16xf32, acc>", "memref<?x?xf32>"
INT, ANY_INT = "!coopmatrix.matrix<16x16xi32, acc>", "memref<?x?xi32>"
A, B = (f"!coopmatrix.matrix<16x16xf16, {use}>" for use in "ab")


@dataclass(frozen=True)
class Case:
    """A kernel, its arguments, and what some of them are afterwards."""

    text: str
    arrays: tuple[Array, ...]
    expected: dict[int, Array]
    groups: tuple[int, int, int] | None = (1, 1, 1)


def numbers(rows: int, cols: int, dtype: Any = np.float32) -> Array:
    """Small numbers, all sums exact."""
    return ((np.arange(rows * cols).reshape(rows, cols) * 7) % 23 - 11).astype(dtype)


def kernel(body: str, memory: str, matrix: str, x: Array, expected: Array) -> Case:
    """A kernel from a matrix %x to a matrix %y."""
    text = f"""
func.func @k(%a: {memory}, %r: {memory}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant -3 : index
  %5 = arith.constant 5 : index
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
{body}
  func.return
}}
"""
    return Case(text, (x, np.zeros_like(expected)), {1: expected})


def store(matrix: str = F, memory: str = ANY) -> str:
    return f"  coopmatrix.store %y, %r[%0, %0] row_major : {matrix}, {memory}"


def cases() -> dict[str, Case]:
    """Operations without an instruction, and some with one."""
    x, i = numbers(16, 16), numbers(16, 16, np.int32)
    shifted = np.pad(x, ((3, 0), (0, 5)))[:16, 5:]
    column = "!coopmatrix.matrix<16x1xf32, acc>"
    found = {
        "max": kernel(
            f"  %n = coopmatrix.neg %x : {F}\n  %y = coopmatrix.max %x, %n : {F}\n"
            + store(),
            ANY,
            F,
            x,
            np.abs(x),
        ),
        "checked": kernel(
            f"""  %y = coopmatrix.load %a[%3, %5] row_major checked(rows, cols)
    : {ANY} -> {F}\n{store()}""",
            ANY,
            F,
            x,
            shifted,
        ),
        "reduce": kernel(
            f"""  %s = coopmatrix.reduce add rows %x : {F} -> {column}
  coopmatrix.store %s, %r[%0, %0] row_major : {column}, {ANY}""",
            ANY,
            F,
            x,
            x.sum(1, keepdims=True),
        ),
        "apply": kernel(
            f"""  %zero = arith.constant 0.0 : f32
  %y = coopmatrix.apply (%i, %j, %v) in %x : {F} {{
    %below = arith.cmpi ugt, %i, %j : index
    %w = arith.select %below, %v, %zero : f32
    coopmatrix.yield %w : f32
  }}\n{store()}""",
            ANY,
            F,
            x,
            np.tril(x, -1),
        ),
        "use": kernel(
            f"""  %p = coopmatrix.convert %x : {F} -> {A}
  %q = coopmatrix.convert %x : {F} -> {B}
  %y = coopmatrix.mul_add %p, %q, %x : {A}, {B}, {F}\n{store()}""",
            ANY,
            F,
            x,
            x @ x + x,
        ),
        "coord": kernel(
            f"""  %n = coopmatrix.length {F} : index
  scf.for %i = %0 to %n step %1 {{
    %p, %q = coopmatrix.coord %x[%i] : {F}
    %e = coopmatrix.extract %x[%i] : {F}
    memref.store %e, %r[%q, %p] : {ANY}
  }}""",
            ANY,
            F,
            x,
            x.T.copy(),
        ),
        "integer scale, column major": kernel(
            f"""  %s = memref.load %a[%0, %1] : {ANY_INT}
  %y = coopmatrix.scale %x, %s : {INT}, i32
  coopmatrix.store %y, %r[%0, %0] col_major : {INT}, {ANY_INT}""",
            ANY_INT,
            INT,
            i,
            (i * i[0, 1]).T.copy(),
        ),
        "atomics": kernel(
            f"""  %y = coopmatrix.atomic_add %x, %r[%3, %0] row_major
    checked(rows, cols) relaxed : {INT}, {ANY_INT} -> {INT}""",
            ANY_INT,
            INT,
            i,
            np.pad(i[3:], ((0, 3), (0, 0))),
        ),
        "sum of f32": atomic("add", "f32", 1),
        "sum of f64": atomic("add", "f64", 1),
        "sum of f16": atomic("add", "f16", 1),
        "greatest of f32": atomic("max", "f32", 3),
        "signed conversion": Case(
            f"""
func.func @k(%a: {ANY_INT}, %r: {ANY}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_INT} -> {INT}
  %y = coopmatrix.convert signed %x : {INT} -> {F}
{store()}
  func.return
}}
""",
            (i, np.zeros_like(x)),
            {1: i.astype(np.float32)},
        ),
    }
    for element in ("f16", "bf16", "i8"):
        for m, n, k in ((33, 21, 17), (64, 48, 32), (7, 1, 9)):
            found[f"matmul {element} {m}x{n}x{k}"] = matmul(element, m, n, k)
    return found


def atomic(name: str, element: str, factor: int) -> Case:
    """Four work-groups update one matrix: by instructions, or by compare-exchange."""
    memory = f"memref<?x?x{element}>"
    matrix = f"!coopmatrix.matrix<16x16x{element}, acc>"
    dtype = np.dtype(f"f{int(element[1:]) // 8}")
    x, y = numbers(16, 16, dtype), (numbers(16, 16) * factor).T.astype(dtype)
    text = f"""
func.func @k(%a: {memory}, %r: {memory}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
  %y = coopmatrix.atomic_{name} %x, %r[%0, %0] row_major relaxed
    : {matrix}, {memory} -> {matrix}
  func.return
}}
"""
    expected = y + 4 * x if name == "add" else np.maximum(x, y)
    return Case(text, (x, y), {1: expected.astype(dtype)}, (4, 1, 1))


def matmul(element: str, m: int, n: int, k: int) -> Case:
    """The whole way from linalg.matmul, accumulating into C."""
    acc = "i32" if element == "i8" else "f32"
    ab, c = f"memref<?x?x{element}>", f"memref<?x?x{acc}>"
    text = f"""
func.func @k(%a: {ab}, %b: {ab}, %c: {c}) {{
  linalg.matmul ins(%a, %b : {ab}, {ab}) outs(%c : {c})
  func.return
}}
"""
    x, y = numbers(m, k), numbers(k, n)
    dtype = np.dtype(np.int32 if acc == "i32" else np.float32)
    start = numbers(m, n, dtype)
    expected = (x @ y).astype(dtype) + start
    narrow = [bits(each, element) for each in (x, y)]
    return Case(text, (*narrow, start), {2: expected}, None)


def bits(values: Array, element: str) -> Array:
    """Small integers as f16 or i8, or as the bits of bf16."""
    if element == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"f16": np.float16, "i8": np.int8}[element])


@pytest.mark.parametrize("name", cases())
def test_on_gpu(name: str, gpu: Session) -> None:
    case = cases()[name]
    artifact = coopc.compile(case.text, PIPELINE)
    call = pack(artifact.interface[0], case.arrays, case.groups)
    found = on_vulkan(artifact.bytes, call, gpu).arrays
    for at, expected in case.expected.items():
        np.testing.assert_array_equal(found[at], expected)
