"""Matrices whose sizes a host sets, and that the device need not have, in memory.

Each program is compiled once, and run with its constants as they are and with others,
on drivers and on the simulator, which runs it as it is written.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from support.programs import module_of

import coopc
from coopc.interface_call import pack
from coopc.run import opencl, vulkan
from coopc.run.execute import on_opencl, on_vulkan
from coopc.sim.simulate import simulate

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[bytes, Any, Mapping[str, int]], tuple[Array, ...]]

SIZES: tuple[dict[str, int], ...] = ({}, {"M": 3, "N": 12, "K": 9}, {"M": 1, "N": 1})
"""The values that are set."""

HEAD = """
coopmatrix.spec_constant @M = 5 : i32
coopmatrix.spec_constant @N = 7 : i32
coopmatrix.spec_constant @K = 6 : i32
coopmatrix.spec_constant @L = 0 : i32
coopmatrix.spec_constant @U = 2 : i32
coopmatrix.spec_constant @S = 3 : i32
func.func @k(%a: memref<16x20xi32>, %b: memref<16x20xi32>, %c: memref<16x20xi32>,
             %v: memref<16x4xvector<4xi32>>, %i: index)
    attributes {simt.kernel, simt.grid = affine_map<(n) -> (1, 1, 1)>} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : i32
"""
LOAD = "  %x = coopmatrix.load %a[%i, %i] row_major : memref<16x20xi32> -> TYPE\n"
STORE = """
  coopmatrix.store %y, %c[%1, %0] row_major : TYPE, memref<16x20xi32>
  func.return
}
"""
TYPE = "!coopmatrix.matrix<@M x @N x i32, acc>"

BODIES = {
    "elementwise": """
  %t = coopmatrix.fill %3 : i32 -> TYPE
  %s = coopmatrix.div signed %x, %t : TYPE
  %y = coopmatrix.max signed %s, %x : TYPE""",
    "convert": """
  %f = coopmatrix.convert signed %x : TYPE -> !coopmatrix.matrix<@M x @N x f32, b>
  %y = coopmatrix.convert signed %f : !coopmatrix.matrix<@M x @N x f32, b> -> TYPE""",
    "apply": """
  %y = coopmatrix.apply (%p, %q, %e) in %x : TYPE {
    %near = arith.cmpi ule, %p, %q : index
    %w = arith.select %near, %e, %3 : i32
    coopmatrix.yield %w : i32
  }""",
    "reduce": """
  %r = coopmatrix.reduce add rows %x : TYPE -> !coopmatrix.matrix<@M x 1 x i32, acc>
  coopmatrix.store %r, %b[%0, %0] row_major
    : !coopmatrix.matrix<@M x 1 x i32, acc>, memref<16x20xi32>
  %y = coopmatrix.neg %x : TYPE""",
    "elements": """
  %length = coopmatrix.length TYPE : index
  %y = scf.for %s = %0 to %length step %1 iter_args(%now = %x) -> (TYPE) {
    %e = coopmatrix.extract %now[%s] : TYPE
    %p, %q = coopmatrix.coord %now[%s] : TYPE
    %w = arith.index_cast %q : index to i32
    %new = arith.addi %e, %w : i32
    %next = coopmatrix.insert %new, %now[%s] : TYPE
    scf.yield %next : TYPE
  }""",
    "row slices": """
  %e = coopmatrix.extract_row_slice %x[%1] : TYPE -> vector<3xi32>
  %y = coopmatrix.insert_row_slice %e, %x[%0] : vector<3xi32>, TYPE""",
    "loop": """
  %three = arith.constant 3 : index
  %y = scf.for %s = %0 to %three step %1 iter_args(%now = %x) -> (TYPE) {
    %next = coopmatrix.add %now, %x : TYPE
    scf.yield %next : TYPE
  }""",
    "branch": """
  %is = arith.cmpi eq, %i, %1 : index
  %y = scf.if %is -> (TYPE) {
    %next = coopmatrix.not %x : TYPE
    scf.yield %next : TYPE
  } else {
    scf.yield %x : TYPE
  }""",
    "atomic": """
  %y = coopmatrix.atomic_add %x, %b[%0, %1] row_major relaxed
    : TYPE, memref<16x20xi32> -> TYPE""",
    "checked": """
  %fifteen = arith.constant 15 : index
  %y = coopmatrix.load %b[%fifteen, %1] row_major checked(rows, cols)
    : memref<16x20xi32> -> TYPE""",
    "product": """
  %p = coopmatrix.load %a[%0, %0] row_major
    : memref<16x20xi32> -> !coopmatrix.matrix<@M x @K x i32, a>
  %q = coopmatrix.load %b[%0, %0] col_major
    : memref<16x20xi32> -> !coopmatrix.matrix<@K x @N x i32, b>
  %y = coopmatrix.mul_add %p, %q, %x
    : !coopmatrix.matrix<@M x @K x i32, a>, !coopmatrix.matrix<@K x @N x i32, b>,
      TYPE""",
    "vectors": """
  %p = coopmatrix.load %v[%0, %1] row_major
    : memref<16x4xvector<4xi32>> -> !coopmatrix.matrix<@M x 8 x i32, none>
  coopmatrix.store %p, %b[%0, %0] col_major
    : !coopmatrix.matrix<@M x 8 x i32, none>, memref<16x20xi32>
  %y = coopmatrix.neg %x : TYPE""",
    "fill": """
  %m = coopmatrix.spec_value @M
  %w = arith.index_cast %m : index to i32
  %t = coopmatrix.fill %w : i32 -> !coopmatrix.matrix<8x8xi32, acc>
  coopmatrix.store %t, %b[%0, %0] row_major
    : !coopmatrix.matrix<8x8xi32, acc>, memref<16x20xi32>
  %y = coopmatrix.neg %x : TYPE""",
    "scope": """
  %p = coopmatrix.load %a[%0, %0] row_major
    : memref<16x20xi32> -> !coopmatrix.matrix<@M x @N x i32, acc, scope = @S>
  %q = coopmatrix.neg %p : !coopmatrix.matrix<@M x @N x i32, acc, scope = @S>
  coopmatrix.store %q, %b[%0, %0] row_major
    : !coopmatrix.matrix<@M x @N x i32, acc, scope = @S>, memref<16x20xi32>
  %y = coopmatrix.neg %x : TYPE""",
    "use": """
  %p = coopmatrix.load %a[%0, %0] row_major
    : memref<16x20xi32> -> !coopmatrix.matrix<@M x @N x i32, acc = @U>
  %q = coopmatrix.neg %p : !coopmatrix.matrix<@M x @N x i32, acc = @U>
  coopmatrix.store %q, %b[%0, %0] row_major
    : !coopmatrix.matrix<@M x @N x i32, acc = @U>, memref<16x20xi32>
  %y = coopmatrix.neg %x : TYPE""",
}


def text_of(body: str) -> str:
    return (HEAD + LOAD + body + STORE).replace("TYPE", TYPE)


LAYOUT = """
  %y = coopmatrix.load %b[%i, %0] row_major = @L : memref<16x20xi32> -> TYPE"""


def compare(
    text: str, pipeline: str, run: Run, specs: Sequence[Mapping[str, int]]
) -> None:
    """Run a program, and compare all arrays with those of the simulator."""
    artifact = coopc.compile(text, pipeline, on_remark=lambda _: None)
    (interface,) = artifact.interface
    module, lanes = module_of(text), interface.subgroup_size
    generator = np.random.default_rng(len(text))
    for spec in specs:
        shapes = ((16, 20), (16, 20), (16, 20), (16, 4, 4))
        arrays = [generator.integers(-99, 99, x).astype(np.int32) for x in shapes]
        call = pack(interface, [*(x.copy() for x in arrays), 1], (1, 1, 1))
        found = run(artifact.bytes, call, spec)
        simulate(module, "k", [*arrays, 1], constants=spec, subgroup_size=lanes)
        for one, other in zip(found, arrays, strict=False):
            np.testing.assert_array_equal(one, other)


@pytest.fixture
def run_on_lavapipe(lavapipe: vulkan.Session) -> Run:
    return lambda binary, call, spec: (
        on_vulkan(binary, call, lavapipe, spec=spec).arrays
    )


@pytest.fixture
def run_on_intel(intel_cpu: opencl.Session) -> Run:
    return lambda binary, call, spec: (
        on_opencl(binary, call, intel_cpu, spec=spec).arrays
    )


KHR = "coopc-khr{device=lavapipe}"
LANES = "coopc-lanes{device=intel-cpu}"


@pytest.mark.parametrize("name", BODIES)
def test_on_lavapipe(name: str, run_on_lavapipe: Run) -> None:
    compare(text_of(BODIES[name]), KHR, run_on_lavapipe, SIZES)


@pytest.mark.parametrize("name", BODIES)
def test_on_intel(name: str, run_on_intel: Run) -> None:
    """By lanes: what has numbers for sizes is in vectors, the rest in memory."""
    compare(text_of(BODIES[name]), LANES, run_on_intel, SIZES[:2])


@pytest.mark.parametrize("type", [TYPE, "!coopmatrix.matrix<5x7xi32, acc>"])
def test_layouts(type: str, run_on_lavapipe: Run, run_on_intel: Run) -> None:
    """By rows and by columns; in lanes and in memory."""
    text = (HEAD + LOAD + LAYOUT + STORE).replace("TYPE", type)
    compare(text, KHR, run_on_lavapipe, [{"L": 0}, {"L": 1}])
    compare(text, LANES, run_on_intel, [{"L": 0}, {"L": 1}])


def test_memory() -> None:
    """The interface has the memory of the defaults, which the device must have."""
    text = text_of(BODIES["elementwise"])
    artifact = coopc.compile(text, KHR, on_remark=lambda _: None)
    assert artifact.interface[0].work_group_memory_bytes % (5 * 7 * 4) == 0
    large = text.replace("@M = 5", "@M = 5000")
    with pytest.raises(coopc.CompileError, match="bytes of work-group memory"):
        coopc.compile(large, KHR, on_remark=lambda _: None)


UNFIT = {
    "M to be equal to J = 5, as .*, got 4": ("product", {"M": 4}),
    "S to be equal to 3, as matrices .*, got 2": ("scope", {"S": 2}),
    "N to be a multiple of 4, as memory .*, got 10": ("vectors", {"N": 10}),
}


@pytest.mark.parametrize("message", UNFIT)
def test_values_that_do_not_fit(message: str, run_on_lavapipe: Run) -> None:
    """Refused before the driver sees them: there is no instruction to refuse them."""
    name, spec = UNFIT[message]
    text = text_of(BODIES[name]).replace("@M x @K", "@J x @K")
    text = text.replace("x 8 x", "x @N x").replace("@N = 7", "@N = 8")
    text += "coopmatrix.spec_constant @J = 5 : i32\n"
    with pytest.raises(ValueError, match=message):
        compare(text, KHR, run_on_lavapipe, [spec])
