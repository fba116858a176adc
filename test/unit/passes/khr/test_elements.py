"""`coopc-khr`: arithmetic of whole matrices and of single elements, on lavapipe."""

from collections.abc import Callable

import numpy as np
import pytest
from support.khr_kernels import (
    ANY_F,
    ANY_I,
    INT,
    ONE,
    PIPELINE,
    Array,
    F,
    kernel,
    numbers,
)

import coopc
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session

FLOATS: dict[str, Callable[[Array, Array], Array]] = {
    "neg %x": lambda x, y: -x,
    "add %x, %y": lambda x, y: x + y,
    "sub %x, %y": lambda x, y: x - y,
    "mul %x, %y": lambda x, y: x * y,
    "div %x, %y": lambda x, y: x / y,
    "abs %x": lambda x, y: np.abs(x),
    "min %x, %y": np.minimum,
    "max %x, %y": np.maximum,
    "rem %x, %y": np.fmod,
}
INTEGERS: dict[str, Callable[[Array, Array], Array]] = {
    "neg %x": lambda x, y: -x,
    "not %x": lambda x, y: ~x,
    "abs %x": lambda x, y: np.abs(x),
    "and %x, %y": lambda x, y: x & y,
    "or %x, %y": lambda x, y: x | y,
    "xor %x, %y": lambda x, y: x ^ y,
    "shl %x, %y": lambda x, y: x << y,
    "shr %x, %y": lambda x, y: (x.view(np.uint32) >> y).astype(np.uint32).view("i4"),
    "shr signed %x, %y": lambda x, y: x >> y,
    "div signed %x, %y": lambda x, y: np.trunc(x / y).astype(np.int32),
    "div %x, %y": lambda x, y: (x.view(np.uint32) // y.view(np.uint32)).view("i4"),
    "rem signed %x, %y": lambda x, y: np.fmod(x, y),
    "rem %x, %y": lambda x, y: (x.view(np.uint32) % y.view(np.uint32)).view("i4"),
    "min signed %x, %y": np.minimum,
    "max %x, %y": lambda x, y: np.maximum(x.view("u4"), y.view("u4")).view("i4"),
}


@pytest.mark.parametrize(
    ("op", "type"), [*((x, "f32") for x in FLOATS), *((x, "i32") for x in INTEGERS)]
)
def test_arithmetic(op: str, type: str, on_lavapipe: Callable[..., None]) -> None:
    memory, matrix = f"memref<8x8x{type}>", f"!coopmatrix.matrix<8x8x{type}, acc>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
  %y = coopmatrix.load %b[%0, %0] row_major : {memory} -> {matrix}
  %z = coopmatrix.{op} : {matrix}
  coopmatrix.store %z, %r[%0, %0] row_major : {matrix}, {memory}"""
    text = kernel(body, f"%a: {memory}, %b: {memory}, %r: {memory}")
    dtype = np.float32 if type == "f32" else np.int32
    x = numbers(8, 8, dtype)
    y = (2 ** (np.arange(64) % 4)).reshape(8, 8).astype(dtype)
    function = (FLOATS if type == "f32" else INTEGERS)[op]
    on_lavapipe(text, [x, y, np.zeros_like(x)], {2: function(x, y)})


def test_scale_and_fill_by_numbers_known_at_run_time(
    on_lavapipe: Callable[..., None],
) -> None:
    body = f"""
  %s = memref.load %a[%0, %1] : {ANY_F}
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %y = coopmatrix.scale %x, %s : {F}, f32
  %c = coopmatrix.fill %s : f32 -> {F}
  %z = coopmatrix.sub %y, %c : {F}
  coopmatrix.store %z, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    on_lavapipe(text, [a, 0 * a], {1: a * a[0, 1] - a[0, 1]})


def test_integer_scale_is_a_loop(on_lavapipe: Callable[..., None]) -> None:
    body = f"""
  %s = memref.load %a[%0, %1] : {ANY_I}
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_I} -> {INT}
  %y = coopmatrix.scale %x, %s : {INT}, i32
  coopmatrix.store %y, %r[%0, %0] col_major : {INT}, {ANY_I}"""
    text = kernel(body, f"%a: {ANY_I}, %r: {ANY_I}")
    a = numbers(8, 8, np.int32)
    on_lavapipe(text, [a, 0 * a], {1: (a * a[0, 1]).T})


def test_insertion_in_a_divergent_branch(lavapipe: Session) -> None:
    """Which element a lane has is the driver's: one of each lane's changes."""
    body = f"""
  %lane = simt.lane_id : index
  %x = coopmatrix.load %a[%0, %0] row_major : {ANY_F} -> {F}
  %first = arith.cmpi ult, %lane, %4 : index
  %y = scf.if %first -> ({F}) {{
    %e = coopmatrix.extract %x[%lane] : {F}
    %f = arith.constant 100.0 : f32
    %g = arith.addf %e, %f : f32
    %p = coopmatrix.insert %g, %x[%lane] : {F}
    scf.yield %p : {F}
  }} else {{
    scf.yield %x : {F}
  }}
  %z = coopmatrix.sub %y, %x : {F}
  coopmatrix.store %z, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {ANY_F}, %r: {ANY_F}")
    a = numbers(8, 8)
    artifact = coopc.compile(text, PIPELINE)
    call = pack(artifact.interface[0], [a, 0 * a], ONE)
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[1]
    values, counts = np.unique(found, return_counts=True)
    assert dict(zip(values, counts, strict=True)) == {0: 60, 100: 4}
