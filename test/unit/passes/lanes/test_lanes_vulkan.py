"""Matrices over lanes, on lavapipe: 8 lanes, vectors of at most 4 components.

A kernel has the operations of one section, so that there are few enough buffers.
"""

import os

import numpy as np
import pytest
from support.lane_programs import ELEMENTS, SECTIONS, Case, kernel, pairwise_cases
from support.programs import module_of
from support.spirv_hints import widest_vector

import coopc
from coopc.interface_call import pack
from coopc.run import execute, toolchain, vulkan
from coopc.sim.simulate import simulate
from coopc.validate.compare import compare

LANES, LONGEST = 8, 4
CASES = [x for x in pairwise_cases() if x.lanes == LANES and x.element != "bf16"]
FIRST = list({x.element: x for x in reversed(CASES)}.values())
"""One for each element type."""
CHOSEN = CASES if os.environ.get("COOPC_LANES") == "all" else FIRST
PIPELINE = "coopc-lanes{device=lavapipe}"


def test_cases() -> None:
    """Every element type that the driver has, and every use, are in those that run."""
    assert {x.element for x in CHOSEN} == set(ELEMENTS) - {"bf16"}
    assert {x.use for x in CHOSEN} == {"a", "b", "acc"}


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_section(case: Case, section: str, lavapipe: vulkan.Session) -> None:
    """Bits as from the simulator; no vector of more than 4 components."""
    program = kernel(case, [section])
    expected = program.copies()
    simulate(module_of(program.text), "k", expected, subgroup_size=LANES)
    artifact = coopc.compile(program.text, PIPELINE)
    assert widest_vector(artifact.bytes) <= LONGEST
    assert toolchain.validate_spirv(artifact.bytes, "vulkan1.3") is None
    (interface,) = artifact.interface
    call = pack(interface, program.copies(), (1, 1, 1))
    found = execute.on_vulkan(artifact.bytes, call, lavapipe).arrays
    for name, x, y in zip(program.arguments, found, expected, strict=True):
        difference = compare(x, y)
        assert difference.ok, f"{name}: {difference}"
    assert all(isinstance(x, np.ndarray) for x in found)


def test_long_vectors_are_cut() -> None:
    """20 components of a lane are vectors of 4, where others have vectors of 16."""
    program = kernel(Case("f32", LANES, 16, 10, 4), ["elementwise"]).text
    assert widest_vector(coopc.compile(program, PIPELINE).bytes) == 4
    longer = f"coopc-lanes{{subgroup-size={LANES} device=intel-cpu}}"
    assert widest_vector(coopc.compile(program, longer).bytes) == 16


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_remainder(element: str, lavapipe: vulkan.Session) -> None:
    """It is exact, of numbers far apart too: of matrices, in a body, of vectors."""
    matrix, memory = f"!coopmatrix.matrix<8x8x{element}, acc>", f"memref<8x8x{element}>"
    text = f"""
func.func @k(%a: {memory}, %b: {memory}, %r: {memory}, %s: {memory}, %t: {memory})
    attributes {{simt.kernel, simt.grid = affine_map<() -> (1)>}} {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %x = coopmatrix.load %a[%0, %0] row_major : {memory} -> {matrix}
  %y = coopmatrix.load %b[%0, %0] row_major : {memory} -> {matrix}
  %z = coopmatrix.rem %x, %y : {matrix}
  coopmatrix.store %z, %r[%0, %0] row_major : {matrix}, {memory}
  %w = coopmatrix.apply (%i, %j, %v) in %x : {matrix} {{
    %by = memref.load %b[%i, %j] : {memory}
    %rest = arith.remf %v, %by : {element}
    coopmatrix.yield %rest : {element}
  }}
  coopmatrix.store %w, %s[%0, %0] row_major : {matrix}, {memory}
  scf.for %i = %0 to %8 step %1 {{
    %u = vector.load %a[%i, %0] : {memory}, vector<8x{element}>
    %v = vector.load %b[%i, %0] : {memory}, vector<8x{element}>
    %rest = arith.remf %u, %v : vector<8x{element}>
    vector.store %rest, %t[%i, %0] : {memory}, vector<8x{element}>
  }}
  func.return
}}"""
    dtype = np.dtype(element.replace("f", "float"))
    special = np.array([0.0, -0.0, 1.0, -5.5, 3.0, np.inf, -np.inf, np.nan], dtype)
    exponents = {2: (-10, 14), 4: (-60, 60), 8: (-300, 300)}[dtype.itemsize]
    rng = np.random.default_rng(0)
    x, y = (
        (rng.uniform(-1, 1, (8, 8)) * 2.0 ** rng.integers(*exponents, (8, 8)))
        for _ in range(2)
    )
    artifact = coopc.compile(text, PIPELINE)
    for a, b in (
        (np.repeat(special[:, None], 8, 1), np.repeat(special[None], 8, 0)),
        (x.astype(dtype), y.astype(dtype)),
    ):
        with np.errstate(invalid="ignore"):
            expected = np.fmod(a, b)
        arrays = [a, b, *(np.zeros_like(a) for _ in range(3))]
        call = pack(artifact.interface[0], arrays, (1, 1, 1))
        found = execute.on_vulkan(artifact.bytes, call, lavapipe).arrays
        for each in found[2:]:
            assert (difference := compare(each, expected)).ok, difference


def test_bf16_of_integers() -> None:
    """The driver has none, so its bits are those of integers."""
    program = kernel(Case("bf16", LANES, 8, 4, 4), ["flow"]).text
    text = coopc.compile(program, PIPELINE, "spirv").text
    assert "SPV_KHR_bfloat16" not in text
    assert "OpTypeInt 16 0" in text


def test_bf16_is_moved_as_bits() -> None:
    """A type bf16 has no shuffles and broadcasts: its bits have."""
    sections = ["products", "conversions", "reductions"]
    program = kernel(Case("bf16", 32, 16, 8, 4, "a"), sections).text
    binary = coopc.compile(program, "coopc-lanes{device=nvidia}").bytes
    assert toolchain.validate_spirv(binary, "vulkan1.3") is None
