"""Who a work-item is, barriers, and exchange between lanes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel, module_of
from support.small_kernels import lane_kernel

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

few = settings(max_examples=15, deadline=None)


def test_ids() -> None:
    names = (
        *(f"{name} {axis}" for name in ("workgroup_id", "local_id") for axis in "xyz"),
        "subgroup_id",
        "lane_id",
        *(f"num_workgroups {axis}" for axis in "xyz"),
        *(f"workgroup_size {axis}" for axis in "xyz"),
        "num_subgroups",
        "subgroup_size",
    )
    # Where a work-item writes: its number in the grid, by way of an atomic counter.
    reads = "\n".join(f"%v{n} = simt.{name} : index" for n, name in enumerate(names))
    writes = "\n".join(
        f"memref.store %v{n}, %out[%me, %n{n}] : memref<?x{len(names)}xindex>"
        for n, _ in enumerate(names)
    )
    constants = "\n".join(
        f"%n{n} = arith.constant {n} : index" for n, _ in enumerate(names)
    )
    module = module_of(
        f"""
        func.func @f(%counter: memref<1xi64>, %out: memref<?x{len(names)}xindex>)
            attributes {{simt.kernel, simt.subgroup_size = 4 : i32,
              simt.work_group_size = array<i32: 2, 4, 3>,
              simt.grid = affine_map<(n) -> (3, 2, 4)>}} {{
          {constants}
          {reads}
          %one = arith.constant 1 : i64
          %number = "memref.atomic_rmw"(%one, %counter, %n0) <{{kind = 1 : i64}}>
              : (i64, memref<1xi64>, index) -> i64
          %me = arith.index_cast %number : i64 to index
          {writes}
          func.return
        }}
        """
    )
    items = 2 * 4 * 3 * 3 * 2 * 4
    out = np.full((items, len(names)), -1)
    counter = np.zeros(1, np.int64)
    simulate(module, "f", [counter, out], chunk=5)
    assert counter[0] == items
    expected: set[tuple[int, ...]] = set()
    for group in np.ndindex(4, 2, 3):
        for z, y, x in np.ndindex(3, 4, 2):
            number = x + 2 * (y + 4 * z)
            who = (*group[::-1], x, y, z, number // 4, number % 4)
            expected.add((*who, 3, 2, 4, 2, 4, 3, 6, 4))
    assert {tuple(row) for row in out.tolist()} == expected


@few
@given(
    st.sampled_from(["idx", "xor", "up", "down"]),
    st.lists(st.integers(-3, 18), min_size=16, max_size=16),
)
def test_shuffle(mode: str, offsets: list[int]) -> None:
    module = lane_kernel(
        f"%r0 = simt.shuffle {mode} %x0, %x1 : vector<2xf16>",
        ["vector<2xf16>", "index"],
        ["vector<2xf16>"],
    )
    value = np.arange(32, dtype=np.float16).reshape(16, 2)
    found = np.zeros_like(value)
    simulate(module, "f", [value, np.array(offsets), found])
    for lane, offset in enumerate(offsets):
        source = {
            "idx": offset,
            "xor": lane ^ offset,
            "up": lane - offset,
            "down": lane + offset,
        }[mode]
        if 0 <= source < 16:
            assert (found[lane] == value[source]).all()
        else:
            assert np.isnan(found[lane]).all()


def test_broadcast() -> None:
    module = lane_kernel(
        "%r0 = simt.broadcast %x0, %x1 : i32", ["i32", "index"], ["i32"]
    )
    value = np.arange(16, dtype=np.int32)
    found = np.zeros_like(value)
    simulate(module, "f", [value, np.full(16, 5), found])
    assert (found == 5).all()
    with pytest.raises(UndefinedBehaviour, match="the lane of a broadcast"):
        simulate(module, "f", [value, np.arange(16), found])
    with pytest.raises(UndefinedBehaviour, match="lane below 16, got 16"):
        simulate(module, "f", [value, np.full(16, 16), found])


REDUCTIONS: dict[str, Any] = {
    "add": np.add.reduce,
    "mul": np.multiply.reduce,
    "max": np.max,
    "min": np.min,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


@few
@given(st.lists(st.integers(-128, 127), min_size=16, max_size=16))
def test_reduce(values: list[int]) -> None:
    value = np.array(values, np.int8)
    for name, compute in REDUCTIONS.items():
        for sign in ("signed", "") if name in ("max", "min") else ("",):
            plain = (
                value if sign or name not in ("max", "min") else value.view(np.uint8)
            )
            module = lane_kernel(
                f"%r0 = simt.reduce {name} {sign} %x0 : i8", ["i8"], ["i8"]
            )
            found = np.zeros_like(value)
            simulate(module, "f", [value, found])
            expected = np.asarray(compute(plain.astype(np.int64))).astype(np.int8)
            assert (found == expected).all()


def test_reduce_rounds_each_step() -> None:
    module = lane_kernel("%r0 = simt.reduce add %x0 : f16", ["f16"], ["f16"])
    value = np.array([2048.0] + [1.0] * 15, np.float16)
    found = np.zeros_like(value)
    simulate(module, "f", [value, found])
    assert (found == 2048).all()


def test_reduce_takes_the_number_of_a_nan() -> None:
    module = lane_kernel("%r0 = simt.reduce max %x0 : f32", ["f32"], ["f32"])
    value = np.full(16, np.nan, np.float32)
    value[7] = -1.0
    found = np.zeros_like(value)
    simulate(module, "f", [value, found])
    assert (found == -1).all()


def test_uniform_values_count_for_each_lane() -> None:
    body = """
      %one = arith.constant 1 : i32
      %n = simt.reduce add %one : i32
      %r0 = arith.addi %x0, %n : i32
    """
    module = lane_kernel(body, ["i32"], ["i32"])
    found = np.zeros(16, np.int32)
    simulate(module, "f", [found.copy(), found])
    assert (found == 16).all()


@few
@given(st.sampled_from([1, 2, 4, 8]), st.integers(0, 3))
def test_blocks(length: int, position: int) -> None:
    size = 8 * length + position
    x_type, y_type = f"memref<3x{size}xi16>", f"memref<{size}xi16>"
    module = kernel(
        f"%x: {x_type}, %y: {y_type}",
        f"""
        %row = arith.constant 2 : index
        %at = arith.constant {position} : index
        %v = simt.block_read %x[%row, %at] : {x_type} -> vector<{length}xi16>
        simt.block_write %v, %y[%at] : vector<{length}xi16>, {y_type}
        """,
        lanes=8,
    )
    x = np.arange(3 * size, dtype=np.int16).reshape(3, size)
    y = np.zeros(size, np.int16)
    simulate(module, "f", [x, y])
    assert (y[position:] == x[2, position:]).all()
    assert (y[:position] == 0).all()


def test_components_of_a_block_are_a_subgroup_apart() -> None:
    module = kernel(
        "%x: memref<16xi32>, %y: memref<8x2xi32>",
        """
        %zero = arith.constant 0 : index
        %lane = simt.lane_id : index
        %v = simt.block_read %x[%zero] : memref<16xi32> -> vector<2xi32>
        vector.store %v, %y[%lane, %zero] : memref<8x2xi32>, vector<2xi32>
        """,
        lanes=8,
    )
    x, y = np.arange(16, dtype=np.int32), np.zeros((8, 2), np.int32)
    simulate(module, "f", [x, y])
    assert y.tolist() == [[lane, lane + 8] for lane in range(8)]


REVERSE = """
  %slm = memref.alloca() : memref<32xi32, #simt.memory<workgroup>>
  %id = simt.local_id x : index
  %last = arith.constant 31 : index
  %back = arith.subi %last, %id : index
  %v = memref.load %x[%id] : memref<32xi32>
  memref.store %v, %slm[%id] : memref<32xi32, #simt.memory<workgroup>>
  simt.barrier workgroup
  %w = memref.load %slm[%back] : memref<32xi32, #simt.memory<workgroup>>
  memref.store %w, %x[%id] : memref<32xi32>
"""


def test_work_group_memory() -> None:
    module = kernel("%x: memref<32xi32>", REVERSE, lanes=8, subgroups=4)
    x = np.arange(32, dtype=np.int32)
    simulate(module, "f", [x])
    assert x.tolist() == list(range(31, -1, -1))


@pytest.mark.parametrize("space", ["", ", #simt.memory<workgroup>"])
def test_memory_that_nothing_was_written_to(space: str) -> None:
    body = f"""
      %slm = memref.alloca() : memref<4xf32{space}>
      %r0 = memref.load %slm[%zero] : memref<4xf32{space}>
    """
    found = np.zeros(16, np.float32)
    with pytest.raises(UndefinedBehaviour, match="a store before element 0 of %slm"):
        simulate(lane_kernel(body, [], ["f32"]), "f", [found])


def test_private_memory_is_each_lane_s_own() -> None:
    body = """
      %mine = memref.alloca() : memref<2xi32>
      memref.store %x0, %mine[%zero] : memref<2xi32>
      %r0 = memref.load %mine[%zero] : memref<2xi32>
    """
    value, found = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    simulate(lane_kernel(body, ["i32"], ["i32"]), "f", [value, found])
    assert (found == value).all()


def divergent(id: str, op: str) -> Any:
    return kernel(
        "",
        f"""
        %id = simt.{id} : index
        %zero = arith.constant 0 : index
        %first = arith.cmpi eq, %id, %zero : index
        %one = arith.constant 1.0 : f32
        scf.if %first {{
          {op}
        }}
        """,
        lanes=4,
        subgroups=2,
        grid=(2,),
    )


LANE_OPS = (
    "simt.barrier subgroup",
    "%s = simt.reduce add %one : f32",
    "%s = simt.broadcast %one, %zero : f32",
    "%s = simt.shuffle xor %one, %zero : f32",
    "%s = coopmatrix.fill %one : f32 -> !coopmatrix.matrix<8x8xf32, acc>",
)


@pytest.mark.parametrize("op", LANE_OPS)
def test_what_lanes_do_together_needs_all_lanes(op: str) -> None:
    with pytest.raises(UndefinedBehaviour, match="some of the lanes execute this"):
        simulate(divergent("lane_id", op), "f", [])
    simulate(divergent("subgroup_id", op), "f", [])


@pytest.mark.parametrize("half", ["barrier", "barrier_arrive", "barrier_wait"])
def test_barriers_of_work_groups_need_all_subgroups(half: str) -> None:
    op = f"simt.{half} workgroup"
    with pytest.raises(UndefinedBehaviour, match="some of the subgroups execute this"):
        simulate(divergent("subgroup_id", op), "f", [])


def test_barriers_of_some_work_groups() -> None:
    simulate(divergent("workgroup_id x", "simt.barrier workgroup"), "f", [])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("arrive", "ends between"),
        ("wait", "simt.barrier_arrive before this"),
        ("arrive arrive", "simt.barrier_wait before another"),
        ("arrive wait arrive wait", ""),
    ],
)
def test_halves_of_barriers(body: str, message: str) -> None:
    ops = "\n".join(f"simt.barrier_{half} workgroup" for half in body.split())
    module = kernel("", ops)
    if not message:
        simulate(module, "f", [])
        return
    with pytest.raises(UndefinedBehaviour, match=message):
        simulate(module, "f", [])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "expected a grid"),
        ({"grid": (1,), "subgroup_size": 3}, "multiple of the subgroup size 3"),
    ],
)
def test_wrong_launches(settings: dict[str, Any], message: str) -> None:
    module = module_of(
        """
        func.func @f() attributes {simt.kernel,
            simt.work_group_size = array<i32: 16>} {
          func.return
        }
        """
    )
    with pytest.raises(ValueError, match=message):
        simulate(module, "f", [], **settings)
