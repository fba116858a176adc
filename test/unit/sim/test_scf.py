"""Control flow, uniform and divergent, against the program of one lane in Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import kernel, module_of
from support.small_kernels import lane_kernel

from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.simulate import simulate

LANES = 16
few = settings(max_examples=20, deadline=None)
numbers = st.lists(st.integers(0, 9), min_size=LANES, max_size=LANES)

COLLATZ = lane_kernel(
    """
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %nothing = arith.constant 0 : i32
    %end, %steps = scf.while (%n = %x0, %s = %nothing) : (i32, i32) -> (i32, i32) {
      %go = arith.cmpi sgt, %n, %one : i32
      scf.condition(%go) %n, %s : i32, i32
    } do {
    ^body(%n: i32, %s: i32):
      %bit = arith.andi %n, %one : i32
      %odd = arith.cmpi eq, %bit, %one : i32
      %next = scf.if %odd -> (i32) {
        %m = arith.muli %n, %three : i32
        %m1 = arith.addi %m, %one : i32
        scf.yield %m1 : i32
      } else {
        %h = arith.divui %n, %two : i32
        scf.yield %h : i32
      }
      %t = arith.addi %s, %one : i32
      scf.yield %next, %t : i32, i32
    }
    %r0 = arith.addi %steps, %nothing : i32
    """,
    ["i32"],
    ["i32"],
)


def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n & 1 else n // 2
        steps += 1
    return steps


@few
@given(st.lists(st.integers(0, 60), min_size=LANES, max_size=LANES))
def test_divergent_while(values: list[int]) -> None:
    found = np.zeros(LANES, np.int32)
    simulate(COLLATZ, "f", [np.array(values, np.int32), found])
    assert found.tolist() == [collatz(n) for n in values]


FOR = lane_kernel(
    """
    %first = arith.constant 100 : index
    %r0 = scf.for %i = %x0 to %x1 step %x2 iter_args(%s = %first) -> (index) {
      %t = arith.muli %s, %x2 : index
      %u = arith.addi %t, %i : index
      %v = scf.for %j = %zero to %i step %x2 iter_args(%w = %u) -> (index) {
        %y = arith.addi %w, %j : index
        scf.yield %y : index
      }
      scf.yield %v : index
    }
    """,
    ["index", "index", "index"],
    ["index"],
)


@few
@given(numbers, numbers, numbers)
def test_divergent_for(lower: list[int], upper: list[int], step: list[int]) -> None:
    steps = [s % 3 + 1 for s in step]
    found = np.zeros(LANES, np.int64)
    arrays = [np.array(x, np.int64) for x in (lower, upper, steps)]
    simulate(FOR, "f", [*arrays, found])
    expected: list[int] = []
    for low, high, by in zip(lower, upper, steps, strict=True):
        total = 100
        for i in range(low, high, by):
            total = total * by + i + sum(range(0, i, by))
        expected.append(total)
    assert found.tolist() == expected


def test_step_that_is_not_positive() -> None:
    arrays = [np.ones(LANES, np.int64) * x for x in (0, 4, 0)]
    with pytest.raises(UndefinedBehaviour, match=r"scf\.for.*positive step, got 0"):
        simulate(FOR, "f", [*arrays, np.zeros(LANES, np.int64)])


SWITCH = lane_kernel(
    """
    %c = arith.constant 10 : index
    %r0 = scf.index_switch %x0 -> index
    case 2 {
      %y = arith.addi %x0, %c : index
      scf.yield %y : index
    }
    case 5 {
      %y = arith.muli %x0, %c : index
      scf.yield %y : index
    }
    default {
      scf.yield %c : index
    }
    """,
    ["index"],
    ["index"],
)


@few
@given(numbers)
def test_index_switch(values: list[int]) -> None:
    found = np.zeros(LANES, np.int64)
    simulate(SWITCH, "f", [np.array(values, np.int64), found])
    assert found.tolist() == [{2: 12, 5: 50}.get(x, 10) for x in values]


def test_stores_under_masks() -> None:
    module = kernel(
        "%out: memref<16xi32>",
        """
        %lane = simt.lane_id : index
        %c3 = arith.constant 3 : index
        %c16 = arith.constant 16 : index
        %one = arith.constant 1 : i32
        %rest = arith.remui %lane, %c3 : index
        %zero = arith.constant 0 : index
        %third = arith.cmpi eq, %rest, %zero : index
        scf.if %third {
          %far = arith.cmpi uge, %lane, %c16 : index
          scf.if %far {
            memref.store %one, %out[%c16] : memref<16xi32>
          }
          memref.store %one, %out[%lane] : memref<16xi32>
        }
        """,
    )
    out = np.zeros(16, np.int32)
    simulate(module, "f", [out])
    assert out.tolist() == [int(lane % 3 == 0) for lane in range(16)]


@pytest.mark.parametrize("groups", [1, 3])
def test_division_of_inactive_lanes(groups: int) -> None:
    module = kernel(
        "%out: memref<16xindex>",
        """
        %lane = simt.lane_id : index
        %c100 = arith.constant 100 : index
        %zero = arith.constant 0 : index
        %some = arith.cmpi ne, %lane, %zero : index
        scf.if %some {
          %q = arith.divui %c100, %lane : index
          memref.store %q, %out[%lane] : memref<16xindex>
        }
        """,
        grid=(groups,),
    )
    out = np.full(16, -1)
    simulate(module, "f", [out])
    assert out.tolist() == [-1, *(100 // lane for lane in range(1, 16))]


def test_who_has_left_a_loop_stays_outside() -> None:
    """Lane l leaves when the counter in memory is l, and its condition holds later."""
    module = kernel(
        "%counter: memref<1xindex>, %out: memref<16xindex>",
        """
        %lane = simt.lane_id : index
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %steps = scf.while (%s = %zero) : (index) -> (index) {
          %now = memref.load %counter[%zero] : memref<1xindex>
          %go = arith.cmpi ne, %now, %lane : index
          scf.condition(%go) %s : index
        } do {
        ^body(%s: index):
          %now = memref.load %counter[%zero] : memref<1xindex>
          %next = arith.addi %now, %one : index
          memref.store %next, %counter[%zero] : memref<1xindex>
          %t = arith.addi %s, %one : index
          scf.yield %t : index
        }
        memref.store %steps, %out[%lane] : memref<16xindex>
        """,
    )
    out = np.zeros(16, np.int64)
    # On a device nobody waits for who has not read the counter yet: in step they do.
    simulate(module, "f", [np.zeros(1, np.int64), out], races=False)
    assert out.tolist() == list(range(16))


def test_infinite_loop() -> None:
    module = kernel(
        "",
        """
        %true = arith.constant true
        scf.while () : () -> () {
          scf.condition(%true)
        } do {
          scf.yield
        }
        """,
    )
    with pytest.raises(UndefinedBehaviour, match=r"scf\.while.*an end of the loop"):
        simulate(module, "f", [])


def test_calls_run_under_the_mask_of_the_caller() -> None:
    module = module_of(
        """
        func.func @twice(%x: i32) -> i32 {
          %y = arith.addi %x, %x : i32
          func.return %y : i32
        }
        func.func @f(%out: memref<8xi32>) attributes {simt.kernel,
            simt.subgroup_size = 8 : i32, simt.grid = affine_map<() -> (1)>} {
          %lane = simt.lane_id : index
          %c4 = arith.constant 4 : index
          %n = arith.index_cast %lane : index to i32
          %low = arith.cmpi ult, %lane, %c4 : index
          scf.if %low {
            %m = func.call @twice(%n) : (i32) -> i32
            %k = func.call @twice(%m) : (i32) -> i32
            memref.store %k, %out[%lane] : memref<8xi32>
          }
          func.return
        }
        """
    )
    out = np.full(8, -1, np.int32)
    simulate(module, "f", [out])
    assert out.tolist() == [0, 4, 8, 12, -1, -1, -1, -1]


def test_recursion_is_refused() -> None:
    module = module_of(
        """
        func.func @f() {
          func.call @f() : () -> ()
          func.return
        }
        """
    )
    with pytest.raises(SimulationError, match="nested regions"):
        simulate(module, "f", [])


def test_choosing_between_parts_of_one_memory() -> None:
    half = "memref<8xi32, strided<[1], offset: ?>>"
    body = f"""
      %lane = simt.lane_id : index
      %c8 = arith.constant 8 : index
      %c0 = arith.constant 0 : index
      %low = memref.subview %x[0] [8] [1] : memref<16xi32> to {half}
      %high = memref.subview %x[8] [8] [1] : memref<16xi32> to {half}
      %c = arith.cmpi ult, %lane, %c8 : index
      %m = scf.if %c -> ({half}) {{
        scf.yield %high : {half}
      }} else {{
        scf.yield %low : {half}
      }}
      %i = arith.remui %lane, %c8 : index
      %v = memref.load %m[%i] : {half}
      memref.store %v, %y[%lane] : memref<16xi32>
    """
    module = kernel("%x: memref<16xi32>, %y: memref<16xi32>", body)
    x, y = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    simulate(module, "f", [x, y])
    assert y.tolist() == [*range(8, 16), *range(8)]


def test_memrefs_into_different_memory_are_chosen_by_lane() -> None:
    """Also where one of them was chosen before, and is private."""
    module = kernel(
        "%x: memref<16xi32>, %y: memref<16xi32>",
        """
        %lane = simt.lane_id : index
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c8 = arith.constant 8 : index
        %own = memref.alloca() : memref<16xi32>
        %seven = arith.constant 7 : i32
        memref.store %seven, %own[%lane] : memref<16xi32>
        %first = arith.cmpi ult, %lane, %c8 : index
        %m = arith.select %first, %x, %y : memref<16xi32>
        %few = arith.cmpi ult, %lane, %c4 : index
        %n = scf.if %few -> (memref<16xi32>) {
          scf.yield %own : memref<16xi32>
        } else {
          scf.yield %m : memref<16xi32>
        }
        %v = memref.load %n[%lane] : memref<16xi32>
        %w = arith.addi %v, %v : i32
        memref.store %w, %n[%lane] : memref<16xi32>
        %u = memref.load %own[%lane] : memref<16xi32>
        %is_own = arith.cmpi eq, %u, %w : i32
        scf.if %is_own {
          memref.store %u, %y[%lane] : memref<16xi32>
        }
        """,
    )
    x, y = np.arange(16, dtype=np.int32), np.arange(100, 116, dtype=np.int32)
    simulate(module, "f", [x, y])
    assert x.tolist() == [0, 1, 2, 3, 8, 10, 12, 14, *range(8, 16)]
    assert y.tolist() == [14] * 4 + [104, 105, 106, 107, *range(216, 231, 2)]


@pytest.mark.parametrize("few", [8, 9])
def test_an_index_is_inside_of_what_its_lane_chose(few: int) -> None:
    module = kernel(
        "%x: memref<8xi32>, %y: memref<16xi32>",
        f"""
        %lane = simt.lane_id : index
        %few = arith.constant {few} : index
        %first = arith.cmpi ult, %lane, %few : index
        %any_x = "memref.cast"(%x) : (memref<8xi32>) -> memref<?xi32>
        %any_y = "memref.cast"(%y) : (memref<16xi32>) -> memref<?xi32>
        %m = arith.select %first, %any_x, %any_y : memref<?xi32>
        %v = memref.load %m[%lane] : memref<?xi32>
        """,
    )
    arguments = [np.zeros(8, np.int32), np.zeros(16, np.int32)]
    if few == 8:
        simulate(module, "f", arguments)
        return
    with pytest.raises(UndefinedBehaviour, match=r"dimension 0 of .* or .*, got 8"):
        simulate(module, "f", arguments)
