"""`memref` and `simt` in both flavours, run and compared with numpy."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from coopc.diagnostic import CompileError

Array: TypeAlias = npt.NDArray[Any]


def test_views(runner: Any):
    """Strided, offset, cut and reinterpreted; sizes come out of `dim`."""
    text = """
func.func @k(%a: memref<?x?xf32, strided<[?, ?]>>, %r: memref<6xf32>)
    attributes {simt.kernel} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %3 = arith.constant 3 : index
  %4 = arith.constant 4 : index
  %5 = arith.constant 5 : index
  %x = memref.load %a[%1, %2] : memref<?x?xf32, strided<[?, ?]>>
  memref.store %x, %r[%0] : memref<6xf32>
  %cut = memref.subview %a[1, %1] [2, 3] [2, 1]
    : memref<?x?xf32, strided<[?, ?]>> to memref<2x3xf32, strided<[?, ?], offset: ?>>
  %y = memref.load %cut[%1, %2] : memref<2x3xf32, strided<[?, ?], offset: ?>>
  memref.store %y, %r[%1] : memref<6xf32>
  %row = memref.subview %cut[1, 0] [1, 3] [1, 1]
    : memref<2x3xf32, strided<[?, ?], offset: ?>>
      to memref<3xf32, strided<[?], offset: ?>>
  %z = memref.load %row[%0] : memref<3xf32, strided<[?], offset: ?>>
  memref.store %z, %r[%2] : memref<6xf32>
  %flat = memref.reinterpret_cast %a to offset: [%5], sizes: [2], strides: [3]
    : memref<?x?xf32, strided<[?, ?]>> to memref<2xf32, strided<[3], offset: ?>>
  %w = memref.load %flat[%1] : memref<2xf32, strided<[3], offset: ?>>
  memref.store %w, %r[%3] : memref<6xf32>
  %rows = memref.dim %a, %0 : memref<?x?xf32, strided<[?, ?]>>
  %cols = memref.dim %cut, %1 : memref<2x3xf32, strided<[?, ?], offset: ?>>
  %sum = arith.addi %rows, %cols : index
  %i = arith.index_cast %sum : index to i32
  %f = arith.sitofp %i : i32 to f32
  memref.store %f, %r[%4] : memref<6xf32>
  func.return
}
"""
    base = np.arange(48, dtype=np.float32).reshape(8, 6)
    a = base.T  # 6 x 8, with strides 1 and 6
    found = runner.run(text, [a, np.zeros(6, np.float32)])[1]
    expected = [a[1, 2], a[3, 3], a[3, 1], base.reshape(-1)[8], 6 + 3, 0]
    np.testing.assert_array_equal(found, expected)


def test_scalars_of_every_type(runner: Any):
    """Push constants at their offsets, OpenCL arguments in their order."""
    text = """
func.func @k(%a: i8, %b: f64, %r: memref<8xf64>, %c: i16, %d: f16, %e: i1, %f: i64,
             %g: index, %h: f32) attributes {simt.kernel} {
  %a1 = arith.sitofp %a : i8 to f64
  %c1 = arith.sitofp %c : i16 to f64
  %d1 = arith.extf %d : f16 to f64
  %e1 = arith.uitofp %e : i1 to f64
  %f1 = arith.sitofp %f : i64 to f64
  %g0 = arith.index_cast %g : index to i32
  %g1 = arith.sitofp %g0 : i32 to f64
  %h1 = arith.extf %h : f32 to f64
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %3 = arith.constant 3 : index
  %4 = arith.constant 4 : index
  %5 = arith.constant 5 : index
  %6 = arith.constant 6 : index
  %7 = arith.constant 7 : index
  memref.store %a1, %r[%0] : memref<8xf64>
  memref.store %b, %r[%1] : memref<8xf64>
  memref.store %c1, %r[%2] : memref<8xf64>
  memref.store %d1, %r[%3] : memref<8xf64>
  memref.store %e1, %r[%4] : memref<8xf64>
  memref.store %f1, %r[%5] : memref<8xf64>
  memref.store %g1, %r[%6] : memref<8xf64>
  memref.store %h1, %r[%7] : memref<8xf64>
  func.return
}
"""
    given = [-5, 1.25, np.zeros(8), -300, 0.5, True, 1 << 40, 7, -2.5]
    (found,) = runner.run(text, given)
    del given[2]
    np.testing.assert_array_equal(found, np.array(given, float))


@pytest.mark.parametrize(
    "order", ["", "strided<[1, 3]>, ", "strided<[4, 2], offset: 1>, "]
)
def test_allocations(runner: Any, order: str):
    """Work-group memory and a barrier reverse an array; private memory holds it."""
    text = (
        f"!own = memref<2x2xf16, {order}#simt.memory<private>>"
        + """
func.func @k(%a: memref<?xf16>, %r: memref<?xf16>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 32>,
                simt.grid = affine_map<(n, m) -> (n ceildiv 32)>} {
  %shared = memref.alloca() : memref<32xf16, #simt.memory<workgroup>>
  %own = memref.alloca() : !own
  %one = memref.alloca() : memref<f16>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %31 = arith.constant 31 : index
  %32 = arith.constant 32 : index
  %l = simt.local_id x : index
  %g = simt.workgroup_id x : index
  %start = arith.muli %g, %32 : index
  %i = arith.addi %start, %l : index
  %x = memref.load %a[%i] : memref<?xf16>
  %other = arith.negf %x : f16
  memref.store %x, %own[%1, %0] : !own
  memref.store %other, %own[%0, %1] : !own
  %y = memref.load %own[%1, %0] : !own
  memref.store %y, %one[] : memref<f16>
  %z = memref.load %one[] : memref<f16>
  memref.store %z, %shared[%l] : memref<32xf16, #simt.memory<workgroup>>
  simt.barrier workgroup
  %back = arith.subi %31, %l : index
  %w = memref.load %shared[%back] : memref<32xf16, #simt.memory<workgroup>>
  memref.store %w, %r[%i] : memref<?xf16>
  func.return
}
"""
    )
    a = np.arange(96).astype(np.float16)
    found = runner.run(text, [a, np.zeros_like(a)])[1]
    np.testing.assert_array_equal(found, a.reshape(3, 32)[:, ::-1].reshape(-1))


@pytest.mark.parametrize("barrier", ["simt.barrier workgroup", "split"])
def test_barriers_order_buffers(runner: Any, barrier: str):
    """What one work-item wrote to a buffer, another reads after the barrier."""
    if barrier == "split":
        barrier = "simt.barrier_arrive workgroup\n  simt.barrier_wait workgroup"
    text = f"""
func.func @k(%a: memref<64xi32>, %r: memref<64xi32>)
    attributes {{simt.kernel, simt.work_group_size = array<i32: 64>}} {{
  %63 = arith.constant 63 : index
  %l = simt.local_id x : index
  %n = arith.index_cast %l : index to i32
  memref.store %n, %a[%l] : memref<64xi32>
  {barrier}
  %back = arith.subi %63, %l : index
  %x = memref.load %a[%back] : memref<64xi32>
  memref.store %x, %r[%l] : memref<64xi32>
  func.return
}}
"""
    zeros = np.zeros(64, np.int32)
    found = runner.run(text, [zeros, zeros.copy()])[1]
    np.testing.assert_array_equal(found, np.arange(64)[::-1])


def test_ids(runner: Any):
    """Positions and sizes in a grid of three axes."""
    names = [
        *(
            f"{op} {axis}"
            for op in ("workgroup_id", "num_workgroups", "local_id", "workgroup_size")
            for axis in "xyz"
        ),
        "subgroup_id",
        "num_subgroups",
        "lane_id",
        "subgroup_size",
    ]
    reads = "\n".join(
        f"""  %v{n} = simt.{name} : index
  %c{n} = arith.constant {n} : index
  %i{n} = arith.index_cast %v{n} : index to i32
  memref.store %i{n}, %r[%at, %c{n}] : memref<?x16xi32>"""
        for n, name in enumerate(names)
    )
    text = f"""
func.func @k(%r: memref<?x16xi32>)
    attributes {{simt.kernel, simt.work_group_size = array<i32: 8, 2>,
                 simt.subgroup_size = 8 : i32}} {{
  %x = simt.local_id x : index
  %y = simt.local_id y : index
  %gx = simt.workgroup_id x : index
  %gy = simt.workgroup_id y : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %3 = arith.constant 3 : index
  %g0 = arith.muli %gy, %3 : index
  %g = arith.addi %g0, %gx : index
  %a = arith.muli %g, %16 : index
  %b = arith.muli %y, %8 : index
  %c = arith.addi %a, %b : index
  %at = arith.addi %c, %x : index
{reads}
  func.return
}}
"""
    (found,) = runner.run(text, [np.zeros((96, 16), np.int32)], (3, 2, 1))
    for at, row in enumerate(found.tolist()):
        group, local = divmod(at, 16)
        expected = [
            group % 3,
            group // 3,
            0,
            3,
            2,
            1,
            local % 8,
            local // 8,
            0,
            8,
            2,
            1,
        ]
        assert row[:12] == expected
        assert row[13] == 2
        assert row[15] == 8
    by_group = found.reshape(6, 16, 16)[:, :, [12, 14]]
    pairs = {tuple(pair) for pair in by_group[0].tolist()}
    assert pairs == {(subgroup, lane) for subgroup in range(2) for lane in range(8)}


REDUCTIONS: dict[str, Any] = {
    "add": np.sum,
    "mul": np.prod,
    "max": np.max,
    "min": np.min,
}


def test_lanes(runner: Any):
    """Broadcast, shuffles and reductions over a subgroup of 8."""
    x = np.random.default_rng(0).integers(-4, 5, 16).astype(np.int32)
    f = (x / 2).astype(np.float32)
    bodies = {
        "broadcast": (
            "i32",
            "%l = arith.constant 3 : index\n%r = simt.broadcast %a, %l : i32",
        ),
        "idx": (
            "f32",
            "%c = arith.constant 7 : index\n%l = simt.lane_id : index\n"
            "%k = arith.subi %c, %l : index\n%r = simt.shuffle idx %b, %k : f32",
        ),
        "xor": (
            "i32",
            "%c = arith.constant 1 : index\n%r = simt.shuffle xor %a, %c : i32",
        ),
        "up": (
            "i32",
            "%c = arith.constant 2 : index\n%r = simt.shuffle up %a, %c : i32",
        ),
        "down": (
            "f32",
            "%c = arith.constant 2 : index\n%r = simt.shuffle down %b, %c : f32",
        ),
        "bool": (
            "i1",
            "%z = arith.constant 0 : i32\n"
            "%p = arith.cmpi sgt, %a, %z : i32\n"
            "%l = arith.constant 5 : index\n"
            "%r = simt.broadcast %p, %l : i1",
        ),
        "and": ("i32", "%r = simt.reduce and %a : i32"),
        "or": ("i32", "%r = simt.reduce or %a : i32"),
        "xors": ("i32", "%r = simt.reduce xor %a : i32"),
        "max unsigned": ("i32", "%r = simt.reduce max %a : i32"),
    }
    for name in REDUCTIONS:
        sign = "signed " if name in ("max", "min") else ""
        bodies[f"{name} i32"] = ("i32", f"%r = simt.reduce {name} {sign}%a : i32")
        bodies[f"{name} f32"] = ("f32", f"%r = simt.reduce {name} %b : f32")
    found = runner.elementwise(bodies, ["i32", "f32"], [x, f])
    rows, halves = x.reshape(2, 8), f.reshape(2, 8)
    lane = np.arange(8)

    def check(name: str, expected: Array, lanes: Any = slice(None)) -> None:
        got = found[name].reshape(2, 8)[:, lanes]
        want = np.broadcast_to(expected, (2, 8))[:, lanes]
        np.testing.assert_array_equal(got, want, name)

    check("broadcast", rows[:, 3:4])
    check("idx", halves[:, ::-1])
    check("xor", rows[:, lane ^ 1])
    check("up", rows[:, lane - 2], slice(2, None))
    check("down", halves[:, (lane + 2) % 8], slice(0, 6))
    check("bool", rows[:, 5:6] > 0)
    check("and", np.bitwise_and.reduce(rows, 1, keepdims=True))
    check("or", np.bitwise_or.reduce(rows, 1, keepdims=True))
    check("xors", np.bitwise_xor.reduce(rows, 1, keepdims=True))
    check("max unsigned", rows.view(np.uint32).max(1, keepdims=True).view(np.int32))
    for name, function in REDUCTIONS.items():
        check(f"{name} i32", function(rows, 1, keepdims=True))
        check(f"{name} f32", function(halves, 1, keepdims=True))


@pytest.mark.parametrize(
    ("type", "dtype"), [("f16", "f2"), ("i64", "i8"), ("f64", "f8"), ("i8", "i1")]
)
def test_lanes_exchange_vectors(runner: Any, type: str, dtype: str):
    """Also where OpenCL has no such function: by words, or component by component."""
    if runner.flavour != "opencl":
        pytest.skip("drivers of Vulkan may lack shuffles of other types than 32 bits")
    x = np.random.default_rng(1).integers(-9, 10, 16).astype(dtype)
    kind = "f" if type[0] == "f" else "i"
    bodies: dict[str, tuple[str, str]] = {}
    for size in (2, 4, 16):
        vector = f"vector<{size}x{type}>"
        numbers = ", ".join(f"{n}{'.0' if kind == 'f' else ''}" for n in range(size))
        made = (
            f"%c = arith.constant dense<[{numbers}]> : {vector}\n"
            f"%b = vector.broadcast %a : {type} to {vector}\n"
            f"%v = arith.add{kind} %b, %c : {vector}\n%l = arith.constant 3 : index\n"
        )
        last = f"\n%r = vector.extract %w[{size - 1}] : {type} from {vector}"
        for name in ("shuffle xor", "shuffle idx", "shuffle up", "broadcast"):
            lane = f"simt.{name} %v, %l : {vector}"
            bodies[f"{name} {size}"] = (type, f"{made}%w = {lane}{last}")
        added = f"simt.reduce add %v : {vector}"
        bodies[f"add {size}"] = (type, f"{made}%w = {added}{last}")
    found = runner.elementwise(bodies, [type], [x])
    rows, lane = x.reshape(2, 8), np.arange(8)
    for size in (2, 4, 16):
        mine = rows + np.array(size - 1, x.dtype)
        three = mine[:, [3] * 8]
        want = {"shuffle idx": three, "broadcast": three}
        want |= {"shuffle xor": mine[:, lane ^ 3], "shuffle up": mine[:, lane - 3]}
        want["add"] = np.broadcast_to(mine.sum(1, keepdims=True, dtype=x.dtype), (2, 8))
        for name, expected in want.items():
            got = found[f"{name} {size}"].reshape(2, 8)
            lanes = slice(3 if name == "shuffle up" else 0, None)
            assert np.array_equal(got[:, lanes], expected[:, lanes]), (name, size)


@pytest.mark.parametrize("element", ["i8", "i16", "f16", "f32", "i64", "f64"])
def test_blocks(runner: Any, element: str):
    """Lane l gets elements l, l + 8, l + 16, ... of a block, and writes them back."""
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}.get(
        element, f"int{element[1:]}"
    )
    text = f"""
func.func @k(%a: memref<?x?x{element}>, %r: memref<?x{element}>)
    attributes {{simt.kernel, simt.subgroup_size = 8 : i32}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %32 = arith.constant 32 : index
  %v = simt.block_read %a[%1, %8] : memref<?x?x{element}> -> vector<4x{element}>
  %w = simt.block_read %a[%0, %0] : memref<?x?x{element}> -> {element}
  %u = vector.insert %w, %v[0] : {element} into vector<4x{element}>
  simt.block_write %u, %r[%0] : vector<4x{element}>, memref<?x{element}>
  simt.block_write %w, %r[%32] : {element}, memref<?x{element}>
  func.return
}}
"""
    a = (np.arange(80) % 64).astype(dtype).reshape(2, 40)
    found = runner.run(text, [a, np.zeros(40, dtype)])[1]
    expected = np.concatenate([a[0, :8], a[1, 16:40], a[0, :8]])
    np.testing.assert_array_equal(found, expected)


VIEWS = """
func.func @views(%a: memref<8xi32>, %b: memref<8xi32>)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  %bytes = memref.alloca() {alignment = 8 : i64}
    : memref<64xi8, #simt.memory<workgroup>>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %low = memref.view %bytes[%c0][] : memref<64xi8, #simt.memory<workgroup>>
    to memref<16xi16, #simt.memory<workgroup>>
  %high = memref.view %bytes[%c32][] : memref<64xi8, #simt.memory<workgroup>>
    to memref<8xf32, #simt.memory<workgroup>>
  %i = simt.local_id x : index
  %x = memref.load %a[%i] : memref<8xi32>
  %n = arith.trunci %x : i32 to i16
  %f = arith.bitcast %x : i32 to f32
  memref.store %n, %low[%i] : memref<16xi16, #simt.memory<workgroup>>
  memref.store %f, %high[%i] : memref<8xf32, #simt.memory<workgroup>>
  simt.barrier workgroup
  %c7 = arith.constant 7 : index
  %j = arith.subi %c7, %i : index
  %m = memref.load %low[%j] : memref<16xi16, #simt.memory<workgroup>>
  %w = arith.extsi %m : i16 to i32
  %g = memref.load %high[%j] : memref<8xf32, #simt.memory<workgroup>>
  %k = arith.bitcast %g : f32 to i32
  %s = arith.addi %w, %k : i32
  memref.store %s, %b[%i] : memref<8xi32>
  func.return
}
"""


def test_views_of_bytes(runner: Any):
    """Elements of several types in one piece of memory: OpenCL casts pointers."""
    a = np.random.default_rng(0).integers(-99, 99, 8).astype(np.int32)
    if runner.flavour == "vulkan":
        with pytest.raises(CompileError, match=r"memref\.view: .* casts no pointers"):
            runner.run(VIEWS, [a, np.zeros_like(a)], (1, 1, 1))
        return
    _, b = runner.run(VIEWS, [a, np.zeros_like(a)], (1, 1, 1))
    np.testing.assert_array_equal(b, 2 * a[::-1])
