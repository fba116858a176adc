"""Arguments of a kernel that share memory, where sums are stored in rounds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.diagnostic import CompileError
from coopc.remarks import remarks_to

Array = npt.NDArray[Any]

SIZE, BLOCK = 32, 16
"""Of the matrices; of the sums that matrices keep at a time, on all devices below."""

PRODUCT = """
tt.func @product(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %r: !tt.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %n = arith.constant SIZE : i32
  %pitch = arith.constant SIZE : i64
  %unit = arith.constant 1 : i64
  %init = arith.constant dense<0.0> : tensor<SIZExSIZExf32>
  %a = tt.make_tensor_descriptor %p, [%n, %n], [%pitch, %unit] : <f32>, <SIZEx8xf32>
  %b = tt.make_tensor_descriptor %q, [%n, %n], [%pitch, %unit] : <f32>, <8xSIZExf32>
  %d = tt.make_tensor_descriptor STORED, [%n, %n], [%pitch, %unit]
      : <f32>, <SIZExSIZExf32>
  %sum = scf.for %k = %zero to %n step %eight
      iter_args(%acc = %init) -> (tensor<SIZExSIZExf32>) : i32 {
    %x = tt.descriptor_load %a[%zero, %k]
        : !tt.tensordesc<SIZEx8xf32> -> tensor<SIZEx8xf32>
    %y = tt.descriptor_load %b[%k, %zero]
        : !tt.tensordesc<8xSIZExf32> -> tensor<8xSIZExf32>
    %next = tt.dot %x, %y, %acc
        : tensor<SIZEx8xf32> * tensor<8xSIZExf32> -> tensor<SIZExSIZExf32>
    scf.yield %next : tensor<SIZExSIZExf32>
  }
  tt.descriptor_store %d[%zero, %zero], %sum
      : !tt.tensordesc<SIZExSIZExf32>, tensor<SIZExSIZExf32>
  tt.return
}
""".replace("SIZE", str(SIZE))
"""r = p @ q, by one program."""

KHR = "coopc-khr{device=lavapipe fallback=FALLBACK}"
LANES = "coopc-lanes{device=intel-cpu subgroup-size=8 fallback=FALLBACK}"
PLACES = {
    "sim": {"on": "sim", "pipeline": KHR},
    "sim as it is": {"on": "sim"},
    "vulkan": {"on": "vulkan", "pipeline": KHR},
    "opencl": {"on": "opencl", "pipeline": LANES},
    "cpu": {"on": "cpu"},
}
NAMES = pytest.mark.parametrize("name", PLACES)


def place(name: str, fallback: bool = True) -> dict[str, Any]:
    options = PLACES[name]
    if name == "vulkan" and fallback:
        return {"on": name}  # which is the same
    return {k: v.replace("FALLBACK", str(fallback).lower()) for k, v in options.items()}


def numbers() -> Array:
    values = np.random.default_rng(7).integers(-4, 5, (2 * SIZE, SIZE))
    return values.astype("f4")


def launched(name: str, *arrays: Array, text: str = PRODUCT) -> Sequence[str]:
    """Launch a kernel; return its remarks."""
    remarks: list[str] = []
    with remarks_to(remarks.append):
        text = text.replace("STORED", "%r")
        coopc.launch(text, *arrays, grid=1, **place(name))
    return remarks


@NAMES
@pytest.mark.parametrize("which", [0, 1])
def test_product_in_place(name: str, which: int) -> None:
    """What is stored is not what later rounds load: `.fallback` runs, with a remark."""
    a, b = numbers()[:SIZE], numbers()[SIZE:]
    expected = a @ b
    remarks = launched(name, a, b, (a, b)[which])
    assert np.array_equal((a, b)[which], expected)
    has_rounds = name not in ("cpu", "sim as it is")
    lost = "pq"[which]
    told = (
        f"remark: product: memory of r: expected memory apart from that of {lost} "
        "(something is stored before all is loaded): runs product.fallback"
    )
    assert (told in remarks) == has_rounds, remarks


@NAMES
def test_views_apart(name: str) -> None:
    """Parts of one array that have no element in common need no fallback."""
    whole = numbers()
    out = np.zeros((SIZE, 2, SIZE), "f4")
    expected = whole[:SIZE] @ whole[SIZE:]
    remarks = launched(name, whole[:SIZE], whole[SIZE:], out.reshape(-1)[: SIZE * SIZE])
    assert not [x for x in remarks if ".fallback" in x]
    assert np.array_equal(out.reshape(-1)[: SIZE * SIZE].reshape(SIZE, SIZE), expected)


@pytest.mark.parametrize("name", ["sim", "vulkan", "opencl"])
def test_no_fallback(name: str) -> None:
    """Without `.fallback` both arguments are named."""
    a, b = numbers()[:SIZE], numbers()[SIZE:]
    text, before = PRODUCT.replace("STORED", "%r"), a.copy()
    with pytest.raises(CompileError, match=r"memory of r: .* apart from that of p"):
        coopc.launch(text, a, b, a, grid=1, **place(name, fallback=False))
    assert np.array_equal(a, before)


@pytest.mark.parametrize("name", ["sim", "vulkan"])
def test_unchecked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault that the condition is about: rounds load what others stored."""

    def unviolated(*_: object) -> None:
        return None

    monkeypatch.setattr("coopc.interface_call.violated_condition", unviolated)
    a, b = numbers()[:SIZE], numbers()[SIZE:]
    expected = a @ b
    launched(name, a, b, a)
    assert not np.array_equal(a, expected)


@NAMES
def test_one_argument(name: str) -> None:
    """A loop whose own argument is stored to is written where it stands."""
    a, b, out = numbers()[:SIZE], numbers()[SIZE:], np.zeros((SIZE, SIZE), "f4")
    expected = a @ b
    remarks = launched(name, a, b, out, text=PRODUCT.replace("STORED", "%p"))
    assert np.array_equal(a, expected)
    assert not [x for x in remarks if "expected" in x]


SHIFT = """
tt.func @shift(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %one = arith.constant dense<1> : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %qs = tt.splat %q : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %pa = tt.addptr %ps, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %qa = tt.addptr %qs, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %pa, %one : tensor<16x!tt.ptr<i32>>
  ttg.barrier local|global_read|global_write
  %x = tt.load %qa : tensor<16x!tt.ptr<i32>>
  %y = arith.addi %x, %x : tensor<16xi32>
  tt.store %qa, %y : tensor<16x!tt.ptr<i32>>
  tt.return
}
"""


TURNED = """
tt.func @turned(%p: !tt.ptr<i32>) {
  %at = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  %last = arith.constant dense<255> : tensor<256xi32>
  %back = arith.subi %last, %at : tensor<256xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>>
  %pa = tt.addptr %ps, %at : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
  %pb = tt.addptr %ps, %back : tensor<256x!tt.ptr<i32>>, tensor<256xi32>
  %x = tt.load %pa : tensor<256x!tt.ptr<i32>>
  tt.store %pb, %x : tensor<256x!tt.ptr<i32>>
  %y = tt.load %pa : tensor<256x!tt.ptr<i32>>
  %z = arith.addi %y, %x : tensor<256xi32>
  tt.store %pb, %z : tensor<256x!tt.ptr<i32>>
  tt.return
}
"""


@NAMES
def test_other_lanes(name: str) -> None:
    """What one lane stores others have loaded before, or load after; they wait."""
    array = np.arange(256, dtype="i4")
    launched(name, array, text=TURNED)
    assert array.tolist() == [255] * 256


@NAMES
def test_same_array_twice(name: str) -> None:
    """What is stored through one argument is loaded through another of its memory."""
    array = np.arange(20, dtype="i4")
    launched(name, array, array[:16], text=SHIFT)
    assert array.tolist() == [2] * 16 + [16, 17, 18, 19]


@NAMES
def test_parts_that_overlap(name: str) -> None:
    """Memory that begins elsewhere is not shared: what is lost for it is told."""
    array = np.arange(20, dtype="i4")
    with pytest.raises(CompileError, match=r"memory of p .* apart from that of q"):
        launched(name, array[:16], array[4:], text=SHIFT)
    assert array.tolist() == [*range(20)]


TWICE = """
func.func @twice(%p: memref<?x?xi32>, %q: memref<?x?xi32>) attributes {simt.kernel} {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : i32
  %i = simt.workgroup_id x : index
  %lane = simt.local_id x : index
  %is_first = arith.cmpi eq, %lane, %zero : index
  scf.if %is_first {
    %x = memref.load %p[%zero, %i] : memref<?x?xi32>
    %y = arith.muli %x, %two : i32
    memref.store %y, %q[%zero, %i] : memref<?x?xi32>
    %z = memref.load %p[%zero, %i] : memref<?x?xi32>
    %w = arith.muli %z, %two : i32
    memref.store %w, %q[%zero, %i] : memref<?x?xi32>
  }
  return
}
"""
"""q = 4 p in the first row where they are the same memory, else 2 p."""
VIEWS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "apart": lambda x: (x[:, ::2], x[:, 1::2]),
    "columns": lambda x: (x[:, ::2], x[:, ::2]),
    "transposed": lambda x: (x.T, x.T),
    "backwards": lambda x: (x[::-1], x[::-1]),
    "same start": lambda x: (x[:, :4], x),
    "other strides": lambda x: (x, x.T),
    "other start": lambda x: (x[:, :3], x[:, 1:4]),
}
"""Of a matrix: what a kernel on rows without gaps is given, copies or the matrix."""


@pytest.mark.parametrize("on", ["sim", "cpu", "opencl", "vulkan"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_a_matrix(name: str, on: str) -> None:
    """A view that is given twice is one array; of others what is lost is told."""
    array = (np.arange(36, dtype="i4") ** 2).reshape(6, 6)
    before = array.copy()
    p, q = VIEWS[name](array)
    wanted = array.copy()
    to = VIEWS[name](wanted)[1]
    if name in ("same start", "other strides", "other start"):
        with pytest.raises(CompileError, match=r"memory of q .* apart from that of p"):
            coopc.launch(TWICE, p, q, grid=3, on=on)
        assert np.array_equal(array, before)
        return
    to[0, :3] = (2 if name == "apart" else 4) * p[0, :3]
    coopc.launch(TWICE, p, q, grid=3, on=on)
    assert np.array_equal(array, wanted)


KEPT = """
tt.func @kept(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %r: !tt.ptr<i32>) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %eight = arith.constant dense<8> : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %qs = tt.splat %q : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %rs = tt.splat %r : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %pa = tt.addptr %ps, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %qa = tt.addptr %qs, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %ra = tt.addptr %rs, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  LOADED
  tt.store %pa, %x : tensor<16x!tt.ptr<i32>>
  tt.store %ra, %LAST : tensor<16x!tt.ptr<i32>>
  tt.return
}
"""
"""In p and r: half of q and p, plus 8, or what p has at even and at odd places."""
LOADED = {
    "addresses": """
  %low = arith.cmpi slt, %at, %eight : tensor<16xi32>
  %from = arith.select %low, %qa, %pa : tensor<16xi1>, tensor<16x!tt.ptr<i32>>
  %z = tt.load %from : tensor<16x!tt.ptr<i32>>
  %x = arith.addi %z, %eight : tensor<16xi32>""",
    "split": """
  %all = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %base = tt.splat %p : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
  %from = tt.addptr %base, %all : tensor<32x!tt.ptr<i32>>, tensor<32xi32>
  %z = tt.load %from : tensor<32x!tt.ptr<i32>>
  %pairs = tt.reshape %z : tensor<32xi32> -> tensor<16x2xi32>
  %x, %y = tt.split %pairs : tensor<16x2xi32> -> tensor<16xi32>""",
}


@NAMES
@pytest.mark.parametrize("how", LOADED)
def test_what_is_loaded_before_a_store(how: str, name: str) -> None:
    """It is what memory held then, also where it is used after the store."""
    p, q, r = np.arange(32, dtype="i4"), np.zeros(16, "i4"), np.zeros(16, "i4")
    before = p.copy()
    text = KEPT.replace("LOADED", LOADED[how])
    last = "x" if how == "addresses" else "y"
    launched(name, p, q, r, text=text.replace("LAST", last))
    sums = np.where(np.arange(16) < 8, 0, before[:16]) + 8
    x, y = (sums, sums) if how == "addresses" else (before[::2], before[1::2])
    assert np.array_equal(p[:16], x)
    assert np.array_equal(r, y)


@pytest.mark.parametrize("on", ["sim", "opencl"])
def test_lanes_wait_on_xe(on: str) -> None:
    """Lanes that have a tensor in registers store where others load."""
    array = np.arange(256, dtype="i4")
    pipeline = "coopc-xe{device=bmg emulate=true}"
    coopc.launch(TURNED, array, grid=1, on=on, pipeline=pipeline)
    assert array.tolist() == [255] * 256
