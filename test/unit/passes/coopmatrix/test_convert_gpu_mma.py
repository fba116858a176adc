"""convert-gpu-mma-to-coopmatrix: what mlir-opt prints, simulated and on a driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs import module_of

import coopc
from coopc.interface_call import pack
from coopc.remarks import remarks_to
from coopc.run import toolchain, vulkan
from coopc.run.execute import on_vulkan
from coopc.sim.simulate import simulate

ROOT = Path(__file__).parents[4]
PASS = "convert-gpu-mma-to-coopmatrix{subgroup-size=8}"
KHR = "coopc-khr{device=lavapipe}"
KERNEL = """
gpu.module @kernels {{
  gpu.func @mm(%a: memref<?x80x{ab}>, %b: memref<?x{ldb}x{ab}>, %c: memref<?x32x{c}>)
      kernel attributes {{known_block_size = array<i32: 8, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c80 = arith.constant 80 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %row = arith.muli %by, %c16 : index
    %col = arith.muli %bx, %c16 : index
    %start = gpu.subgroup_mma_load_matrix %c[%row, %col] {{leadDimension = 32 : index}}
      : memref<?x32x{c}> -> !gpu.mma_matrix<16x16x{c}, "COp">
    %acc = scf.for %k = %c0 to %c80 step %c16 iter_args(%s = %start)
        -> (!gpu.mma_matrix<16x16x{c}, "COp">) {{
      %x = gpu.subgroup_mma_load_matrix %a[%row, %k] {{leadDimension = 80 : index}}
        : memref<?x80x{ab}> -> !gpu.mma_matrix<16x16x{mma}, "AOp">
      %y = gpu.subgroup_mma_load_matrix %b[{at_b}]
        {{leadDimension = {ldb} : index{transpose}}}
        : memref<?x{ldb}x{ab}> -> !gpu.mma_matrix<16x16x{mma}, "BOp">
      %n = gpu.subgroup_mma_compute %x, %y, %s : !gpu.mma_matrix<16x16x{mma}, "AOp">,
        !gpu.mma_matrix<16x16x{mma}, "BOp"> -> !gpu.mma_matrix<16x16x{c}, "COp">
      scf.yield %n : !gpu.mma_matrix<16x16x{c}, "COp">
    }}
    %two = arith.constant {two} : {c}
    %twos = gpu.subgroup_mma_constant_matrix %two : !gpu.mma_matrix<16x16x{c}, "COp">
    %e = gpu.subgroup_mma_elementwise {sub} %acc, %twos
      : (!gpu.mma_matrix<16x16x{c}, "COp">, !gpu.mma_matrix<16x16x{c}, "COp">)
      -> !gpu.mma_matrix<16x16x{c}, "COp">
    gpu.subgroup_mma_store_matrix %e, %c[%row, %col] {{leadDimension = 32 : index}}
      : !gpu.mma_matrix<16x16x{c}, "COp">, memref<?x32x{c}>
    gpu.return
  }}
}}
"""
GROUPS = (2, 3, 1)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("types", ["f16", "si8", "ui8"])
def test_product(
    types: str,
    transposed: bool,
    tool: Callable[[str], Path],
    lavapipe: vulkan.Session,
) -> None:
    tool("mlir-opt")
    is_float = types == "f16"
    text = KERNEL.format(
        ab=types.lstrip("su"),
        mma=types,
        c="f32" if is_float else "i32",
        two="2.0" if is_float else "2",
        sub="subf" if is_float else "subi",
        ldb=80 if transposed else 32,
        at_b="%col, %k" if transposed else "%k, %col",
        transpose=", transpose" if transposed else "",
    )
    printed, message = toolchain.run_filter("mlir-opt", data=text.encode())
    assert message is None, message
    ab = {"f16": np.float16, "si8": np.int8, "ui8": np.uint8}[types]
    random = np.random.default_rng(1)
    low = 0 if types == "ui8" else -9
    a, b = (
        random.integers(low, 10, shape).astype(ab) for shape in ((48, 80), (80, 32))
    )
    c = random.integers(-9, 10, (48, 32)).astype(np.float32 if is_float else np.int32)
    expected = a.astype(np.int64) @ b.astype(np.int64) + c.astype(np.int64) - 2
    stored: list[np.ndarray[Any, Any]] = [
        a,
        np.ascontiguousarray(b.T if transposed else b),
        c,
    ]
    if types == "ui8":
        stored = [x.view(np.int8) if x is not c else x for x in stored]
    raised = coopc.compile(printed.decode(), PASS, "mlir").text
    given = [x.copy() for x in stored]
    simulate(module_of(raised), "mm", given, grid=GROUPS, subgroup_size=8)
    np.testing.assert_array_equal(given[2], expected)
    artifact = coopc.compile(printed.decode(), f"{PASS},{KHR}")
    call = pack(artifact.interface[0], [x.copy() for x in stored], GROUPS)
    found = on_vulkan(artifact.bytes, call, session=lavapipe, seconds=120.0).arrays[2]
    np.testing.assert_array_equal(found, expected)


def test_kernel_of_lanes(tool: Callable[[str], Path], lavapipe: vulkan.Session) -> None:
    """Memory of a work-group, shuffles and reductions are those of MLIR."""
    tool("mlir-opt")
    text = (ROOT / "test/passes/coopmatrix/convert_gpu_kernels.mlir").read_bytes()
    printed, message = toolchain.run_filter("mlir-opt", data=text)
    assert message is None, message
    given = np.random.default_rng(1).integers(-9, 10, 48).astype(np.float32)
    x = given.reshape(-1, 4, 2)[:, :, ::-1].reshape(-1, 8)
    z = np.concatenate([x[:, :1], x[:, :-1]], axis=1)
    sums = z.sum(axis=1).reshape(-1, 2)  # of the two subgroups of a work-group
    expected = (z.reshape(-1, 16) + sums[:, :1]).ravel()
    for on, pipeline in (
        ("sim", PASS),
        ("vulkan", f"{PASS},{KHR}"),
        ("cpu", f"{PASS},coopc-cpu"),
    ):
        a = given.copy()
        with remarks_to(lambda _: None):
            coopc.launch(printed.decode(), a, 48, on=on, pipeline=pipeline, grid=3)
        np.testing.assert_array_equal(a, expected, err_msg=on)


SHUFFLES = """
gpu.module @m {{
  gpu.func @k(%v: memref<8xf32>, %o: memref<8xi32>, %r: memref<8xf32>,
              %is: memref<8xi32>) kernel
      attributes {{known_block_size = array<i32: 8, 1, 1>}} {{
    %width = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %i = gpu.thread_id x
    %x = memref.load %v[%i] : memref<8xf32>
    %offset = memref.load %o[%i] : memref<8xi32>
    %y, %valid = gpu.shuffle {mode} %x, %offset, %width : f32
    %z = arith.select %valid, %y, %zero : f32
    %flag = arith.extui %valid : i1 to i32
    memref.store %z, %r[%i] : memref<8xf32>
    memref.store %flag, %is[%i] : memref<8xi32>
    gpu.return
  }}
}}
"""
OTHER_LANES = {"up": np.subtract, "down": np.add, "xor": np.bitwise_xor}


@pytest.mark.parametrize("offset", [0, 1, 3, 7, 8, -1])
@pytest.mark.parametrize("mode", ["up", "down", "xor", "idx"])
@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_valid_lanes(on: str, mode: str, offset: int) -> None:
    """Whether there is the lane that a shuffle is from; an offset has no sign."""
    lanes, by = np.arange(8), np.full(8, offset, np.int32)
    other = OTHER_LANES[mode](lanes, by) if mode in OTHER_LANES else by
    valid = (by >= 0) & (by < 8) & (other >= 0) & (other < 8)
    x = (lanes + 10).astype(np.float32)
    r, found = np.full(8, -1, np.float32), np.full(8, -1, np.int32)
    pipeline = PASS + (",coopc-cpu" if on == "cpu" else "")
    text = SHUFFLES.format(mode=mode)
    coopc.launch(text, x, by, r, found, on=on, pipeline=pipeline, grid=1)
    np.testing.assert_array_equal(found, valid)
    np.testing.assert_array_equal(r, np.where(valid, x[other.clip(0, 7)], 0))


def test_launches_of_no_size() -> None:
    text = "func.func @f() { gpu.launch_func @m::@k threads in () return }"
    with pytest.raises(coopc.CompileError, match="expected blocks of the launch"):
        coopc.compile(text, PASS)


HELPERS = """
gpu.module @m {
  gpu.func @first(%v: memref<8xi32>, %r: memref<8xi32>)
      workgroup(%s: memref<8xi32, #gpu.address_space<workgroup>>,
                %t: memref<1xi32, #gpu.address_space<workgroup>>)
      private(%p: memref<1xi32, #gpu.address_space<private>>,
              %q: memref<1xi32, #gpu.address_space<private>>)
      kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %0 = arith.constant 0 : index
    %i = gpu.thread_id x
    %x = memref.load %v[%i] : memref<8xi32>
    %least = gpu.subgroup_reduce minsi %x : (i32) -> i32
    %most = gpu.subgroup_reduce maxui %x : (i32) -> i32
    %bits = gpu.subgroup_reduce xor %x : (i32) -> i32
    memref.store %least, %p[%0] : memref<1xi32, #gpu.address_space<private>>
    memref.store %bits, %q[%0] : memref<1xi32, #gpu.address_space<private>>
    memref.store %x, %s[%i] : memref<8xi32, #gpu.address_space<workgroup>>
    %is_first = arith.cmpi eq, %i, %0 : index
    scf.if %is_first {
      memref.store %most, %t[%0] : memref<1xi32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %y = func.call @before(%x) : (i32) -> i32
    %a = memref.load %p[%0] : memref<1xi32, #gpu.address_space<private>>
    %b = memref.load %q[%0] : memref<1xi32, #gpu.address_space<private>>
    %c = memref.load %t[%0] : memref<1xi32, #gpu.address_space<workgroup>>
    %seven = arith.constant 7 : index
    %j = arith.subi %seven, %i : index
    %d = memref.load %s[%j] : memref<8xi32, #gpu.address_space<workgroup>>
    %ab = arith.addi %a, %b : i32
    %cd = arith.addi %c, %d : i32
    %abcd = arith.addi %ab, %cd : i32
    %z = arith.addi %abcd, %y : i32
    memref.store %z, %r[%i] : memref<8xi32>
    gpu.return
  }
  func.func private @before(%x: i32) -> i32 {
    %one = arith.constant 1 : i32
    %width = arith.constant 8 : i32
    %y, %valid = gpu.shuffle up %x, %one, %width : i32
    %z = arith.select %valid, %y, %one : i32
    return %z : i32
  }
  gpu.func @second(%v: memref<8xi32>, %r: memref<8xi32>)
      kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %i = gpu.thread_id x
    %x = memref.load %v[%i] : memref<8xi32>
    memref.store %x, %r[%i] : memref<8xi32>
    gpu.return
  }
}
"""


@pytest.mark.parametrize("on", ["sim", "cpu", "vulkan"])
def test_helpers(on: str) -> None:
    """Functions beside kernels, several memories, reductions of integers."""
    pipelines = {"sim": PASS, "cpu": f"{PASS},coopc-cpu", "vulkan": f"{PASS},{KHR}"}
    x = np.array([5, -3, 7, 0, 2, 9, -8, 1], np.int32)
    r, copy = np.zeros_like(x), np.zeros_like(x)
    for kernel, to in (("first", r), ("second", copy)):
        pipeline = pipelines[on]
        coopc.launch(HELPERS, x, to, on=on, pipeline=pipeline, kernel=kernel, grid=1)
    most = x.view(np.uint32).max().astype(np.int32)
    before = np.concatenate([[1], x[:-1]])
    expected = x.min() + np.bitwise_xor.reduce(x) + most + x[::-1] + before
    np.testing.assert_array_equal(r, expected)
    np.testing.assert_array_equal(copy, x)
