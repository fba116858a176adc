"""`coopc-khr`: matrices from memory of every kind, checked and atomic, on lavapipe."""

from collections.abc import Callable

import numpy as np
import pytest
from support.khr_kernels import ANY_F, ANY_I, INT, ONE, PIPELINE, F, kernel, numbers
from support.programs import module_of

import coopc
from coopc.diagnostic import CompileError
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session
from coopc.sim.simulate import simulate


@pytest.mark.parametrize("layout", ["row_major", "col_major"])
@pytest.mark.parametrize("checked", ["rows", "cols", "rows, cols"])
@pytest.mark.parametrize("place", [(-3, 4), (5, -2), (0, 0), (20, 30), (-9, -9)])
def test_checked_access(
    layout: str, checked: str, place: tuple[int, int], on_lavapipe: Callable[..., None]
) -> None:
    rows_first = layout == "row_major"
    checks = ["rows" in checked, "cols" in checked]
    on = checks if rows_first else checks[::-1]
    row, col = (p if c else 1 for p, c in zip(place, on, strict=True))
    body = f"""
  %i = arith.constant {row} : index
  %j = arith.constant {col} : index
  %x = coopmatrix.load %a[%i, %j] {layout} checked({checked}) : {ANY_F} -> {F}
  coopmatrix.store %x, %r[%0, %0] {layout} : {F}, {ANY_F}
  %y = coopmatrix.load %b[%0, %0] {layout} : {ANY_F} -> {F}
  coopmatrix.store %y, %s[%i, %j] {layout} checked({checked}) : {F}, {ANY_F}"""
    text = kernel(body, ", ".join(f"%{n}: {ANY_F}" for n in "abrs"))
    a, b, s = numbers(9, 11), numbers(8, 8) + 100, numbers(9, 11)
    r = np.zeros((8, 8), np.float32)
    stored = s.copy()
    for i, j in np.ndindex(8, 8):
        if 0 <= row + i < 9 and 0 <= col + j < 11:
            r[i, j] = a[row + i, col + j]
            stored[row + i, col + j] = b[i, j]
    on_lavapipe(text, [a, b, np.zeros((8, 8), np.float32), s], {2: r, 3: stored})


def test_ragged_matrices(on_lavapipe: Callable[..., None]) -> None:
    """Sizes that no matrix of the device divides: work-group memory holds them."""
    ragged, half = (f"!coopmatrix.matrix<12x20x{x}, acc>" for x in ("f32", "f16"))
    body = f"""
  %x = coopmatrix.load %a[%1, %1] row_major : {ANY_F} -> {ragged}
  %y = coopmatrix.load %b[%m3, %0] row_major checked(rows) : {ANY_F} -> {ragged}
  %s = coopmatrix.add %x, %y : {ragged}
  %h = coopmatrix.convert %s : {ragged} -> {half}
  %m = coopmatrix.max %h, %h : {half}
  %w = coopmatrix.convert %m : {half} -> {ragged}
  coopmatrix.store %w, %r[%0, %0] col_major : {ragged}, {ANY_F}"""
    a, b = numbers(13, 21), numbers(12, 20)
    r = np.zeros((20, 12), np.float32)
    expected = a[1:, 1:].copy()
    expected[3:] += b[:9]
    text = kernel(body, ", ".join(f"%{n}: {ANY_F}" for n in "abr"))
    on_lavapipe(text, [a, b, r], {2: expected.T})


def test_strides_of_which_none_is_1(lavapipe: Session) -> None:
    source, target = (
        "memref<8x8xf32, strided<[32, 2]>>",
        "memref<8x8xf32, strided<[3, 32]>>",
    )
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {source} -> {F}
  coopmatrix.store %x, %r[%0, %0] row_major : {F}, {target}"""
    text = kernel(body, f"%a: {source}, %r: {target}")
    a = numbers(8, 32)[:, :16:2]
    flat = np.zeros(256, np.float32)
    r = np.lib.stride_tricks.as_strided(flat, (8, 8), (12, 128))
    artifact = coopc.compile(text, PIPELINE)
    found = on_vulkan(
        artifact.bytes, pack(artifact.interface[0], [a, r], ONE), lavapipe
    )
    np.testing.assert_array_equal(found.arrays[1], a)


def test_stride_0_is_one_row_for_all(lavapipe: Session) -> None:
    same = "memref<8x8xf32, strided<[0, 1]>>"
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {same} -> {F}
  coopmatrix.store %x, %r[%0, %0] row_major : {F}, {ANY_F}"""
    text = kernel(body, f"%a: {same}, %r: {ANY_F}")
    row = np.arange(8, dtype=np.float32)
    a = np.lib.stride_tricks.as_strided(row, (8, 8), (0, 4))
    artifact = coopc.compile(text, PIPELINE)
    call = pack(artifact.interface[0], [a, np.zeros((8, 8), np.float32)], ONE)
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[1]
    np.testing.assert_array_equal(found, a)


def test_vectors_in_memory(on_lavapipe: Callable[..., None]) -> None:
    """Positions and strides count vectors of four."""
    memory = "memref<?x?xvector<4xf32>>"
    body = f"""
  %x = coopmatrix.load %a[%1, %1] row_major : {memory} -> {F}
  coopmatrix.store %x, %r[%0, %1] col_major : {F}, {memory}"""
    text = kernel(body, f"%a: {memory}, %r: {memory}")
    a, r = numbers(9, 16).reshape(9, 4, 4), np.zeros((8, 3, 4), np.float32)
    expected = r.copy()
    expected.reshape(8, 12)[:, 4:] = a.reshape(9, 16)[1:, 4:12].T
    on_lavapipe(text, [a, r], {1: expected})


POINTEES = (
    # Held in work-group memory, as lavapipe has no such matrices.
    *(("f64", x) for x in ("f32", "f16", "i64", "vector<2xf16>", "vector<2xf64>")),
    *(("f64", x) for x in ("vector<4xf32>", "vector<4xi16>", "vector<4xf64>")),
    *(("i16", x) for x in ("i8", "f32", "vector<2xf64>", "vector<4xi8>")),
    # By instructions.
    *(("f32", x) for x in ("f16", "i32", "vector<2xf16>", "vector<4xf32>", "f64")),
    *(("f16", x) for x in ("f32", "vector<4xf16>", "vector<4xf32>")),
)
"""Elements of the matrix, and what memory holds."""


@pytest.mark.parametrize(("element", "pointee"), POINTEES)
def test_other_pointees(
    element: str, pointee: str, on_lavapipe: Callable[..., None], lavapipe: Session
) -> None:
    """The bits of the elements are found in whatever memory holds."""
    memory = f"memref<?x?x{pointee}>"
    matrix = f"!coopmatrix.matrix<8x8x{element}, acc>"
    body = f"""
  %x = coopmatrix.load %a[%1, %1] row_major : {memory} -> {matrix}
  coopmatrix.store %x, %r[%0, %1] col_major : {matrix}, {memory}"""
    width, _, number = pointee.removeprefix("vector<").strip(">").rpartition("x")
    names = {"f": "float", "i": "int"}
    dtype, own = (np.dtype(names[x[0]] + x[1:]) for x in (number, element))
    many = int(width or 1)
    size = dtype.itemsize * many
    columns = 16 * own.itemsize // size
    bits = np.arange(9 * 16).reshape(9, 16).astype(own)
    a = bits.view(dtype).reshape(9, columns, *((many,) if width else ()))
    r = np.zeros_like(a)[:8]
    expected = r.copy()
    line = slice(size, size + 8 * own.itemsize)
    block = np.ascontiguousarray(a.view(np.uint8).reshape(9, -1)[1:, line]).view(own)
    flat = expected.view(np.uint8).reshape(8, -1)
    flat[:, line] = np.ascontiguousarray(block.T).view(np.uint8)
    text = kernel(body, f"%a: {memory}, %r: {memory}")
    if own.itemsize <= size:
        on_lavapipe(text, [a, r], {1: expected})
        return
    # The simulator has no elements wider than what a memref holds.
    artifact = coopc.compile(text, PIPELINE)
    call = pack(artifact.interface[0], [a, r], ONE)
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[1]
    np.testing.assert_array_equal(found, expected)


REFUSED = {
    "visible = device is not supported on an access that goes through": (
        "8x8xf64",
        "memref<8x8xf64>",
    ),
    "rows in memory that are whole vector<4xf64>.* got 6 of f64": (
        "6x6xf64",
        "memref<8x8xvector<4xf64>>",
    ),
    "f64>, not f64": ("8x8xf64", "memref<8x8xvector<2xf64>, strided<[16, 2]>>"),
    "a multiple or a part of f64, got 96 and 64": (
        "8x8xf64",
        "memref<8x8xvector<3xf32>>",
    ),
    "the last stride is 1, as it holds f16, not f32": (
        "8x8xf32",
        "memref<8x8xf16, strided<[1, 16]>>",
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_pointees_without_a_way(message: str) -> None:
    matrix, memory = REFUSED[message]
    visible = " visible = device" if "visible" in message else ""
    body = f"""
  %x = coopmatrix.load %m[%0, %0] row_major volatile{visible}
    : {memory} -> !coopmatrix.matrix<{matrix}, acc>"""
    with pytest.raises(coopc.CompileError, match=f"coopmatrix.load: .*{message}"):
        coopc.compile(kernel(body, f"%m: {memory}"), PIPELINE)


def test_other_numbers_in_work_group_memory(lavapipe: Session) -> None:
    """f16 through an array of i32, transposed on the way."""
    half, shared = (
        "!coopmatrix.matrix<8x8xf16, acc>",
        "memref<8x4xi32, #simt.memory<workgroup>>",
    )
    body = f"""
  %s = memref.alloca() : {shared}
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xf16> -> {half}
  coopmatrix.store %x, %s[%0, %0] row_major : {half}, {shared}
  simt.barrier workgroup
  %y = coopmatrix.load %s[%0, %0] col_major : {shared} -> {half}
  coopmatrix.store %y, %r[%0, %0] row_major : {half}, memref<?x?xf16>"""
    text = kernel(body, "%a: memref<?x?xf16>, %r: memref<?x?xf16>")
    a = numbers(8, 8, np.float16)
    artifact = coopc.compile(text, PIPELINE)
    call = pack(artifact.interface[0], [a, 0 * a], ONE)
    np.testing.assert_array_equal(
        on_vulkan(artifact.bytes, call, lavapipe).arrays[1], a.T
    )
    given = [a.copy(), 0 * a]
    simulate(module_of(text), "k", given, grid=ONE, subgroup_size=8)
    np.testing.assert_array_equal(given[1], a.T)


def test_atomic_accesses(on_lavapipe: Callable[..., None]) -> None:
    body = f"""
  %x = coopmatrix.atomic_load %a[%0, %0] row_major acquire : {ANY_I} -> {INT}
  %y = coopmatrix.atomic_max signed %x, %r[%0, %0] row_major checked(rows) relaxed
    : {INT}, {ANY_I} -> {INT}
  coopmatrix.atomic_store %y, %s[%0, %0] col_major release scope = workgroup
    : {INT}, {ANY_I}
  %z = coopmatrix.atomic_add %x, %t[%m3, %0] row_major checked(rows, cols) relaxed
    : {INT}, {ANY_I} -> {INT}"""
    text = kernel(body, ", ".join(f"%{n}: {ANY_I}" for n in "arst"))
    a = numbers(8, 8, np.int32)
    r, t = (a * 3) % 17, numbers(6, 7, np.int32)
    added = t.copy()
    added[:5] += a[3:, :7]
    expected = {1: np.maximum(a, r), 2: r.T, 3: added}
    on_lavapipe(text, [a, r, 0 * a, t], expected)


@pytest.mark.parametrize(
    ("memory", "at", "native"),
    [
        ("memref<18x32xf16>", ("%c0", "%c8"), True),
        ("memref<18x32xf16>", ("%c1", "%c0"), True),
        ("memref<18x32xf16>", ("%c0", "%c1"), False),
        ("memref<18x33xf16>", ("%c0", "%c0"), False),
        ("memref<?x?xf16>", ("%c0", "%c0"), True),
        ("memref<18x8xvector<4xi32>>", ("%c0", "%c1"), True),
    ],
)
def test_rows_are_aligned(memory: str, at: tuple[str, str], native: bool) -> None:
    """nvidia's accesses to rows that are surely not aligned are by its lanes."""
    matrix = "!coopmatrix.matrix<16x16xf16, a>"
    sizes = ", ".join(f"s{n}" for n in range(memory.count("?")))
    artifact = coopc.compile(
        f"""
func.func @k(%m: {memory}, %o: memref<16x16xf16>)
    attributes {{simt.kernel, simt.grid = affine_map<({sizes}) -> (1)>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = coopmatrix.load %m[{", ".join(at)}] row_major : {memory} -> {matrix}
  coopmatrix.store %x, %o[%c0, %c0] row_major : {matrix}, memref<16x16xf16>
  func.return
}}""",
        "coopc-khr{device=nvidia}",
        "spirv",
    )
    staged = "OpControlBarrier" in artifact.text
    assert staged != native


def test_long_vectors_in_memory_are_refused() -> None:
    """Vulkan has none of 8 components."""
    memory = "memref<8x1xvector<8xf16>>"
    with pytest.raises(CompileError, match="vectors of at most 4 components, which vu"):
        coopc.compile(
            f"""
func.func @k(%m: {memory}) attributes {{simt.kernel}} {{
  %c0 = arith.constant 0 : index
  %v = memref.load %m[%c0, %c0] : {memory}
  memref.store %v, %m[%c0, %c0] : {memory}
  func.return
}}""",
            "coopc-khr{device=nvidia}",
            "spirv",
        )


STRIDED = """
func.func @k(%m: memref<?x8xf32, strided<[?, 1]>>, %n: memref<?x8xf32, strided<[?, 1]>>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %m[%0, %0] row_major
    : memref<?x8xf32, strided<[?, 1]>> -> !coopmatrix.matrix<8x8xf32, acc>
  coopmatrix.store %x, %n[%0, %0] row_major
    : !coopmatrix.matrix<8x8xf32, acc>, memref<?x8xf32, strided<[?, 1]>>
  func.return
}
"""


def test_strides_known_at_run_time() -> None:
    """A stride of 0 is one row for all in a load; elements of a store would overlap."""
    artifact = coopc.compile(STRIDED, "coopc-khr{device=lavapipe}")
    (interface,) = artifact.interface
    rows = np.ones((8, 8), np.float32)
    one = np.lib.stride_tricks.as_strided(rows, (8, 8), (0, 4))
    back = rows[::-1]
    pack(interface, [one, rows.copy()], (1, 1, 1))
    with pytest.raises(ValueError, match=r"at least 1 \(.* would overlap\), got 0"):
        pack(interface, [rows.copy(), one], (1, 1, 1))
    with pytest.raises(ValueError, match="strides of whole elements that are not neg"):
        pack(interface, [back, rows.copy()], (1, 1, 1))
