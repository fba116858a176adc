"""converge-subgroup: where barriers go, and why: what Intel's CPU run-time gets wrong.

The run-time's cases are as small as they could be made.  Those without the pass are
expected to fail: when they pass, the run-time is better, and the pass is not needed.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs import module_of
from support.spirv_hints import DONT_INLINE, DONT_UNROLL, with_hints
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp

import coopc
from coopc.dialects import simt
from coopc.interface_call import pack
from coopc.passes.generic.set_target import SetTargetPass
from coopc.passes.lanes.converge_subgroup import ConvergeSubgroupPass
from coopc.run import execute, opencl
from coopc.sim.simulate import simulate

LANES = 4
INPUTS = Path(__file__).parents[3] / "inputs"


def text(body: str, functions: str = "") -> str:
    """A kernel of one subgroup; lanes below 3 are `%in`."""
    memory = "memref<8xi32>"
    return f"""
func.func @k(%m: {memory}, %o: {memory}) attributes {{simt.kernel,
    simt.work_group_size = array<i32: {LANES}>, simt.subgroup_size = {LANES} : i32,
    simt.grid = affine_map<() -> (1)>}} {{
  %zero = arith.constant 0 : i32
  %nothing = arith.constant dense<0> : vector<8xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %lane = simt.lane_id : index
  %above = arith.addi %lane, %c4 : index
  %c3 = arith.constant 3 : index
  %in = arith.cmpi ult, %lane, %c3 : index
  {body}
  func.return
}}
{functions}"""


BRANCH = """scf.if %in {{
    memref.store %{value}, %o[%lane] : memref<8xi32>
  }}
"""
CALL = text(
    """%low = memref.load %m[%lane] : memref<8xi32>
  %high = memref.load %m[%above] : memref<8xi32>
  %l = vector.broadcast %low : i32 to vector<2xi32>
  %v = vector.insert %high, %l [1] : i32 into vector<2xi32>
  """
    + BRANCH.format(value="zero")
    + "%x = func.call @sum(%v) : (vector<2xi32>) -> i32\n"
    + BRANCH.format(value="x"),
    """
func.func private @sum(%v: vector<2xi32>) -> i32 {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %d = scf.for %k = %c0 to %c8 step %c1 iter_args(%now = %zero) -> (i32) {
    %lane = arith.remui %k, %c4 : index
    %number = arith.divui %k, %c4 : index
    %own = vector.extract %v[%number] : i32 from vector<2xi32>
    %other = simt.broadcast %own, %lane : i32
    %next = arith.addi %now, %other : i32
    scf.yield %next : i32
  }
  func.return %d : i32
}
""",
)
"""The sum of what all lanes have, between two branches of the same lanes."""
LOOP = text(
    """%all = scf.for %t = %c0 to %c8 step %c1
      iter_args(%now = %nothing) -> (vector<8xi32>) {
    %x = memref.load %m[%t] : memref<8xi32>
    %new = arith.select %in, %x, %zero : i32
    %next = vector.insert %new, %now [%t] : i32 into vector<8xi32>
    scf.yield %next : vector<8xi32>
  }
  %e = vector.extract %all[%lane] : i32 from vector<8xi32>
  memref.store %e, %o[%lane] : memref<8xi32>"""
)
"""A loop that does other things for some lanes."""
TENS = (10 ** np.arange(8)).astype(np.int32)
EXPECTED = {
    CALL: [11111111, 11111111, 11111111, 7, 7, 7, 7, 7],
    LOOP: [1, 10, 100, 0, 7, 7, 7, 7],
}
"""What becomes of sevens."""


def run(program: str, passes: str, session: opencl.Session) -> list[int]:
    """What a kernel writes on the run-time, if loops are not unrolled."""
    artifact = coopc.compile(program, "set-target{device=intel-cpu}" + passes)
    binary = with_hints(artifact.bytes, loops=DONT_UNROLL)
    (interface,) = artifact.interface
    call = pack(interface, [TENS.copy(), np.full(8, 7, np.int32)], (1, 1, 1))
    return execute.on_opencl(binary, call, session).arrays[1].tolist()


PROGRAMS = pytest.mark.parametrize("program", [CALL, LOOP], ids=["call", "loop"])


@PROGRAMS
def test_with_barriers(program: str, intel_cpu: opencl.Session) -> None:
    """The run-time keeps lanes together."""
    assert run(program, ",converge-subgroup", intel_cpu) == EXPECTED[program]


@pytest.mark.xfail(strict=True, reason="lanes are taken apart")
@PROGRAMS
def test_without_barriers(program: str, intel_cpu: opencl.Session) -> None:
    """The run-time does not."""
    assert run(program, "", intel_cpu) == EXPECTED[program]


def of_vectors(size: int) -> str:
    """A function of lanes together that takes and returns vectors."""
    vector = f"vector<{size}xi32>"
    return text(
        f"""%x = memref.load %m[%lane] : memref<8xi32>
  %n = vector.broadcast %x : i32 to {vector}
  %w = func.call @shared(%n) : ({vector}) -> {vector}
  %e = vector.extract %w[2] : i32 from {vector}
  memref.store %e, %o[%lane] : memref<8xi32>""",
        f"""
func.func private @shared(%v: {vector}) -> {vector} {{
  %c0 = arith.constant 0 : index
  %first = vector.extract %v[0] : i32 from {vector}
  %given = simt.broadcast %first, %c0 : i32
  %new = vector.insert %given, %v [1] : i32 into {vector}
  func.return %new : {vector}
}}
""",
    )


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(3, marks=pytest.mark.xfail(strict=True, reason="lanes mixed up")),
        4,
    ],
)
def test_vectors_between_functions(size: int, intel_cpu: opencl.Session) -> None:
    """Vectors of 3 are mixed up in calls, and so are none of coopc's."""
    artifact = coopc.compile(of_vectors(size), "set-target{device=intel-cpu}")
    binary = with_hints(artifact.bytes, functions=DONT_INLINE)
    (interface,) = artifact.interface
    call = pack(interface, [TENS.copy(), np.full(8, 7, np.int32)], (1, 1, 1))
    found = execute.on_opencl(binary, call, intel_cpu).arrays[1]
    assert found[:LANES].tolist() == TENS[:LANES].tolist()


def converged(program: str, device: str | None = "intel-cpu") -> ModuleOp:
    """A module after the pass."""
    module = module_of(program)
    if device is not None:
        SetTargetPass(device, None).apply(Context(), module)
    ConvergeSubgroupPass().apply(Context(), module)
    module.verify()
    return module


def barriers(module: ModuleOp) -> list[Any]:
    """What each barrier is for: the operation behind it, or its loop."""
    found: list[Any] = []
    for op in module.walk():
        if isinstance(op, simt.BarrierOp):
            following = op.next_op
            is_call = isinstance(following, CallOp)
            found.append(type(following if is_call else op.parent_op()))
    return found


def test_where_barriers_go() -> None:
    """One before the call, one in the loop where a lane decides."""
    assert barriers(converged(CALL)) == [CallOp]
    assert barriers(converged(LOOP)) == [scf.ForOp]


@pytest.mark.parametrize("device", [None, "bmg", "lavapipe"])
def test_other_devices(device: str | None) -> None:
    """None where lanes stay together by themselves."""
    assert barriers(converged(CALL, device)) == []
    assert barriers(converged(LOOP, device)) == []


def test_no_barrier_among_some_lanes() -> None:
    """None for calls and loops of some lanes, nor for what lanes do alone."""
    alone = text(
        """scf.if %in {
    scf.for %t = %c0 to %c8 step %c1 {
      %new = arith.select %in, %zero, %zero : i32
      memref.store %new, %o[%lane] : memref<8xi32>
    }
    func.call @alone() : () -> ()
  }
  scf.for %t = %c0 to %c8 step %c1 {
    %even = arith.cmpi eq, %t, %c4 : index
    %same = arith.select %even, %zero, %zero : i32
    memref.store %same, %o[%lane] : memref<8xi32>
  }
  func.call @alone() : () -> ()""",
        "func.func private @alone() { func.return }",
    )
    assert barriers(converged(alone)) == []


def test_calls_of_callers() -> None:
    """A function that calls one in which lanes communicate is such a function."""
    nested = text(
        "func.call @outer(%zero) : (i32) -> ()",
        """
func.func private @outer(%v: i32) {
  func.call @inner(%v) : (i32) -> ()
  func.return
}
func.func private @inner(%v: i32) {
  %c0 = arith.constant 0 : index
  %x = simt.broadcast %v, %c0 : i32
  func.return
}
""",
    )
    assert barriers(converged(nested)) == [CallOp, CallOp]


def test_while_loops() -> None:
    """The barrier is where every round comes by."""
    program = text(
        """%x = scf.while (%now = %zero) : (i32) -> i32 {
    %go = arith.cmpi slt, %now, %limit : i32
    scf.condition(%go) %now : i32
  } do {
  ^bb0(%now: i32):
    %one = arith.constant 1 : i32
    %next = arith.addi %now, %one : i32
    %y = arith.select %in, %now, %next : i32
    memref.store %y, %o[%lane] : memref<8xi32>
    scf.yield %next : i32
  }"""
    ).replace("%nothing", "%limit = arith.constant 5 : i32\n  %nothing")
    assert barriers(converged(program)) == [scf.WhileOp]


def test_what_rounds_differ_in_needs_no_barrier() -> None:
    """Two loops are made only for a choice that is the same in every round."""
    rounds = text("""scf.for %t = %c0 to %c8 step %c1 {
    %at = arith.addi %t, %lane : index
    %low = arith.cmpi ult, %at, %c4 : index
    %some = arith.select %low, %zero, %zero : i32
    memref.store %some, %o[%lane] : memref<8xi32>
  }""")
    assert barriers(converged(rounds)) == []
    same = text("""scf.for %t = %c0 to %c8 step %c1 {
    %at = arith.addi %c1, %lane : index
    %low = arith.cmpi ult, %at, %c4 : index
    %some = arith.select %low, %zero, %zero : i32
    memref.store %some, %o[%lane] : memref<8xi32>
  }""")
    assert barriers(converged(same)) == [scf.ForOp]


def test_matrices_under_conditions(intel_cpu: opencl.Session) -> None:
    """Barriers in loops under both conditions end the run-time's compiler."""
    program = (INPUTS / "two_conditions.mlir").read_text()
    rng = np.random.default_rng(0)
    shapes = ((12, 8), (11, 6), (33, 1), (1, 4), (33, 4), (33, 4))
    types = ("f4", "f4", "i1", "i1", "i4", "i4")
    arrays = [
        rng.integers(-4, 5, shape).astype(type)
        for shape, type in zip(shapes, types, strict=True)
    ]
    expected = [array.copy() for array in arrays]
    simulate(module_of(program), "change", expected)
    pipeline = "coopc-lanes{device=intel-cpu subgroup-size=16}"
    artifact = coopc.compile(program, pipeline)
    call = pack(artifact.interface[0], arrays)
    found = execute.on_opencl(artifact.bytes, call, intel_cpu).arrays
    for x, y in zip(found, expected, strict=True):
        assert np.array_equal(x, y)
