"""`coopc-khr`: products of ragged, specialised and unlisted shapes, on lavapipe."""

from collections.abc import Callable

import numpy as np
import pytest
from support.khr_kernels import ANY_F, ONE, PIPELINE, Array, F, kernel, numbers
from support.programs import module_of

import coopc
from coopc.interface_call import pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session
from coopc.run.worker import RunFailed
from coopc.sim.simulate import simulate


@pytest.mark.parametrize("size", [(5, 3, 2), (17, 9, 13), (24, 16, 40), (1, 40, 8)])
def test_ragged_gemm(
    size: tuple[int, int, int], on_lavapipe: Callable[..., None]
) -> None:
    m, n, k = size
    half = "memref<?x?xf16>"
    a_type, b_type = (f"!coopmatrix.matrix<8x8xf16, {use}>" for use in "ab")
    text = f"""
func.func @k(%a: {half}, %b: {half}, %c: {ANY_F}) attributes {{simt.kernel,
    simt.grid = affine_map<(d0, d1, d2, d3, m, n) -> (n ceildiv 8, m ceildiv 8)>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %8 : index
  %col = arith.muli %x, %8 : index
  %end = memref.dim %a, %1 : {half}
  %init = coopmatrix.fill %zero : f32 -> {F}
  %sum = scf.for %i = %0 to %end step %8 iter_args(%acc = %init) -> ({F}) {{
    %p = coopmatrix.load %a[%row, %i] row_major checked(rows, cols) : {half} -> {a_type}
    %q = coopmatrix.load %b[%i, %col] row_major checked(rows, cols) : {half} -> {b_type}
    %next = coopmatrix.mul_add %p, %q, %acc : {a_type}, {b_type}, {F}
    scf.yield %next : {F}
  }}
  coopmatrix.store %sum, %c[%row, %col] row_major checked(rows, cols) : {F}, {ANY_F}
  func.return
}}
"""
    a, b = numbers(m, k, np.float16), numbers(k, n, np.float16)
    groups = (-(-n // 8), -(-m // 8), 1)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    on_lavapipe(text, [a, b, np.zeros((m, n), np.float32)], {2: expected}, groups)


SPECIALISED = """
coopmatrix.spec_constant @M = 8 : i32
coopmatrix.spec_constant @N = 8 : i32
coopmatrix.spec_constant @K = 8 : i32
coopmatrix.spec_constant @S = 3 : i32
func.func @k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %x = coopmatrix.load %a[%0, %0] row_major : memref<?x?xf16> -> A
  %y = coopmatrix.load %b[%0, %0] row_major : memref<?x?xf16> -> B
  %s = coopmatrix.fill %z : f32 -> C
  %r = coopmatrix.mul_add %x, %y, %s : A, B, C
  coopmatrix.store %r, %c[%0, %0] row_major : C, memref<?x?xf32>
  func.return
}
"""
TYPES = {
    " A": "@M x @K x f16, a",
    " B": "@K x @N x f16, b",
    " C": "@M x @N x f32, acc",
}


def specialised() -> str:
    text = SPECIALISED
    for name, sizes in TYPES.items():
        text = text.replace(name, f" !coopmatrix.matrix<{sizes}, scope = @S>")
    return text


def test_one_module_two_specialisations(lavapipe: Session) -> None:
    """On the simulator both; the driver lists one, and the other is refused."""
    artifact = coopc.compile(specialised(), PIPELINE)
    for size, spec in ((8, dict[str, int]()), (16, {"M": 16, "N": 16, "K": 16})):
        a, b = numbers(size, size, np.float16), numbers(size, size, np.float16)[::-1]
        arrays = [a, b.copy(), np.zeros((size, size), np.float32)]
        expected = a.astype(np.float32) @ b.astype(np.float32)
        call = pack(artifact.interface[0], arrays, ONE)
        if size == 8:
            found = on_vulkan(artifact.bytes, call, lavapipe, spec=spec)
            np.testing.assert_array_equal(found.arrays[2], expected)
        else:
            with pytest.raises(RunFailed, match="listed matrix shape, got 16x16x16"):
                on_vulkan(artifact.bytes, call, lavapipe, spec=spec)
        module = module_of(coopc.compile(specialised(), PIPELINE, "mlir").text)
        simulate(module, "k", arrays, grid=ONE, subgroup_size=8, constants=spec)
        np.testing.assert_array_equal(arrays[2], expected)


PRODUCTS = {
    # a, b, c, result, how
    "s8 u8": ("i8", "i8", "i32", "signed(a, c, result)"),
    "u8 s8": ("i8", "i8", "i32", "signed(b, c, result)"),
    "s8 saturating": ("i8", "i8", "i32", "signed(a, b, c, result) saturating"),
    "u8 saturating": ("i8", "i8", "i32", "saturating"),
    "u32 saturating as s32": ("i8", "i8", "i32", "signed(a, b, result) saturating"),
    "s8 saturating in s64": ("i8", "i8", "i64", "signed(a, b, c, result) saturating"),
    "s16": ("i16", "i16", "i32", "signed(a, b, c, result)"),
    "f32": ("f32", "f32", "f32", ""),
}


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_that_the_device_lacks(
    name: str, size: int, on_lavapipe: Callable[..., None]
) -> None:
    a_type, b_type, c_type, how = PRODUCTS[name]
    types = [
        f"!coopmatrix.matrix<{size}x{size}x{type}, {use}>"
        for type, use in ((a_type, "a"), (b_type, "b"), (c_type, "acc"))
    ]
    memories = [f"memref<?x?x{type}>" for type in (a_type, b_type, c_type)]
    loads = "".join(
        f"  %t{x} = coopmatrix.load %{x}[%0, %0] row_major : {m} -> {t}\n"
        for x, m, t in zip("abc", memories, types, strict=True)
    )
    body = f"""{loads}
  %z = coopmatrix.mul_add %ta, %tb, %tc {how} : {", ".join(types)}
  coopmatrix.store %z, %c[%0, %0] row_major : {types[2]}, {memories[2]}"""
    text = kernel(
        body, ", ".join(f"%{x}: {m}" for x, m in zip("abc", memories, strict=True))
    )
    signs = {x: "u" if a_type.startswith("i") else "f" for x in "abc"}
    if "signed" in how:
        inside = how[how.index("(") + 1 : how.index(")")].split(", ")
        if "result" in inside:  # c has its width, so it is added as one of its numbers
            inside.append("c")
        signs |= dict.fromkeys((x for x in inside if x in "abc"), "i")
    bytes = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4}
    random = np.random.default_rng(0)
    arrays: list[Array] = []
    for x, type in zip("abc", (a_type, b_type, c_type), strict=True):
        dtype = np.dtype(f"{signs[x]}{bytes[type]}")
        low, high = (-9, 10) if signs[x] == "f" else (0, 0)
        if signs[x] != "f":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        arrays.append(random.integers(low, high, (size, size)).astype(dtype))
    if "saturating" in how:
        arrays[2][0] = np.iinfo(arrays[2].dtype).max
    widest = {"f32": "f8", "i64": "O"}.get(c_type, "i8")
    wide = [x.astype(widest) for x in arrays]
    exact = wide[0] @ wide[1] + wide[2]
    result = arrays[2].dtype
    if "saturating" in how:
        limits = np.iinfo(result)
        assert (exact > limits.max).any()
        exact = np.minimum(np.maximum(exact, limits.min), limits.max)
    on_lavapipe(text, arrays, {2: exact.astype(result)})
