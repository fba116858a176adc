"""Atomic accesses to elements of every type, by many work-groups at once.

What a device has no instruction for is a loop that compares and exchanges integers.
Numbers are such that every order gives the same result; there are more work-items than
elements, and an odd number of elements, so that narrow ones share words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.native import run_native
from support.programs import module_of

import coopc
from coopc.compiler import Artifact
from coopc.device import BMG, DG2, INTEL_CPU, LAVAPIPE, PVC, Device
from coopc.diagnostic import CompileError
from coopc.interface_call import pack
from coopc.plan.atomic_form import atomic_form
from coopc.run import opencl, toolchain, vulkan
from coopc.run.arrays import Outcome
from coopc.run.execute import on_opencl, on_vulkan
from coopc.run.offline_compiler import compile_kernel
from coopc.run.tiles import Tiles
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.sim.simulate import simulate

Array = npt.NDArray[Any]

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")
COUNT = 7
"""Elements; with one more on either side that nothing may change."""
ITEMS, GROUPS = 32, 6
"""Work-items of a work-group, and work-groups."""


@dataclass(frozen=True)
class Kind:
    """A kind of update."""

    number: int
    """Of MLIR's AtomicRMWKind."""
    function: Callable[[Any, Any], Any]
    values: tuple[int, ...]
    start: int = 0


FLOAT_KINDS = (
    Kind(0, np.add, (1, 2, 3)),
    Kind(3, np.maximum, (-5, 1, 3, 17)),
    Kind(6, np.minimum, (5, -1, -3, -17)),
    Kind(9, np.multiply, (1, -1), 3),
    Kind(13, np.fmax, (-5, 1, 3, 17)),
    Kind(14, np.fmin, (5, -1, -3, -17)),
)
INTEGER_KINDS = (
    Kind(1, np.add, (1, 2, 3)),
    Kind(4, np.maximum, (-5, 1, 3, 17)),
    Kind(7, np.minimum, (5, -1, -3, -17)),
    Kind(10, np.multiply, (1, -1), 3),
    Kind(11, np.bitwise_or, (1, 8, 64)),
    Kind(12, np.bitwise_and, (-2, -9, -65), -1),
    Kind(15, np.bitwise_xor, (1, 8, 65)),
)
UNSIGNED_KINDS = (
    Kind(5, np.maximum, (100, 7, 250, 3)),
    Kind(8, np.minimum, (200, 251, 129), 255),
)
CASES = [
    *[(element, kind) for element in FLOATS for kind in FLOAT_KINDS],
    *[(element, kind) for element in INTEGERS for kind in INTEGER_KINDS],
    *[("i8", kind) for kind in UNSIGNED_KINDS],
]


def program(cases: list[tuple[str, Kind]], device: Device) -> str:
    """A kernel for each case: it updates an element for each work-item."""
    lanes = device.subgroup_size
    kernels: list[str] = []
    for number, (element, kind) in enumerate(cases):
        kernels.append(f"""
func.func @k{number}(%m: memref<?x{element}>, %v: memref<?x{element}>,
                     %old: memref<?x{element}>) attributes {{simt.kernel,
    simt.subgroup_size = {lanes} : i32, simt.work_group_size = array<i32: {ITEMS}>}} {{
  %1 = arith.constant 1 : index
  %7 = arith.constant {COUNT} : index
  %g = simt.workgroup_id x : index
  %n = simt.workgroup_size x : index
  %l = simt.local_id x : index
  %s = arith.muli %g, %n : index
  %i = arith.addi %s, %l : index
  %r = arith.remui %i, %7 : index
  %p = arith.addi %r, %1 : index
  %x = memref.load %v[%i] : memref<?x{element}>
  %o = "memref.atomic_rmw"(%x, %m, %p) <{{kind = {kind.number} : i64}}>
    : ({element}, memref<?x{element}>, index) -> {element}
  memref.store %o, %old[%i] : memref<?x{element}>
  func.return
}}""")
    return "\n".join(kernels)


def dtype(element: str, kind: Kind) -> Any:
    """How numpy calls a type; a bf16 is computed in f32."""
    if element in FLOATS:
        return {"f16": np.float16, "f64": np.float64}.get(element, np.float32)
    signs = "uint" if kind in UNSIGNED_KINDS else "int"
    return np.dtype(f"{signs}{element[1:]}").type


def arguments(element: str, kind: Kind) -> list[Array]:
    """Elements, values and room for the old elements, as numbers."""
    type = dtype(element, kind)
    values = np.resize(np.array(kind.values, type), ITEMS * GROUPS)
    return [np.full(COUNT + 2, kind.start, type), values, np.zeros_like(values)]


def in_memory(element: str, arrays: list[Array]) -> list[Array]:
    """The same as memory has them."""
    return [to_bf16(x) if element == "bf16" else x.copy() for x in arrays]


def check(element: str, kind: Kind, found: list[Array]) -> None:
    """Every value is in the element that it was for, and sums are one after another."""
    before, values, _ = arguments(element, kind)
    if element == "bf16":
        found = [from_bf16(x) for x in found]
    after, _, old = found
    assert after[0] == after[-1] == kind.start
    place = np.arange(values.size) % COUNT
    for at in range(COUNT):
        mine = place == at
        expected = reduce(kind.function, values[mine], before[at + 1])
        assert after[at + 1] == expected, (element, kind.number, at)
        if kind.number in (0, 1):
            order = np.argsort(old[mine], kind="stable")
            each = (old[mine] + values[mine])[order]
            np.testing.assert_array_equal(old[mine][order][1:], each[:-1])
            assert each[-1] == expected


def compiled(
    cases: list[tuple[str, Kind]], device: Device, options: str = ""
) -> Artifact:
    """The kernels of some cases for a device, valid."""
    target = f"spirv-binary{{device={device.name}{options}}}"
    artifact = coopc.compile(program(cases, device), "", target)
    environment = "vulkan1.3" if device.family == "vulkan" else "spv1.4"
    assert toolchain.validate_spirv(artifact.bytes, environment) is None
    return artifact


def cases_of(device: Device) -> list[tuple[str, Kind]]:
    """The cases of the types that a device has."""
    missing = [x for x in ("f64",) if x not in device.scalars]
    return [case for case in CASES if case[0] not in missing]


def test_simulated() -> None:
    """What is expected is what the IR means."""
    module = module_of(program(CASES, INTEL_CPU))
    for number, (element, kind) in enumerate(CASES):
        arrays = in_memory(element, arguments(element, kind))
        simulate(module, f"k{number}", arrays, grid=(GROUPS, 1, 1))
        check(element, kind, arrays)


def compare(device: Device, on: Callable[..., Outcome], options: str = "") -> None:
    """Run each case that a device has."""
    for element, kind in cases_of(device):
        artifact = compiled([(element, kind)], device, options)
        arrays = in_memory(element, arguments(element, kind))
        call = pack(artifact.interface[0], arrays, (GROUPS, 1, 1))
        found = on(artifact.bytes, call).arrays
        check(element, kind, [np.asarray(x) for x in found])


@pytest.mark.parametrize("options", ["", " addresses=true"])
def test_on_lavapipe(options: str, lavapipe: vulkan.Session) -> None:
    """Integers are another variable of the same buffer; or pointers to them."""
    compare(LAVAPIPE, partial(on_vulkan, session=lavapipe), options)


def test_on_intel_cpu(intel_cpu: opencl.Session) -> None:
    """Pointers to elements become pointers to integers."""
    compare(INTEL_CPU, partial(on_opencl, session=intel_cpu))


def test_on_this_processor() -> None:
    """Two threads, of which each has some of the work-groups."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    for element, kind in CASES:
        text = program([(element, kind)], INTEL_CPU)
        module = module_of(text)
        made = module_of(coopc.compile(text, "coopc-cpu", "mlir").text)
        arrays = in_memory(element, arguments(element, kind))
        groups = GROUPS, 1, 1
        found = run_native(module, made, arrays, Tiles.NONE, groups=groups, threads=2)
        check(element, kind, found)


@pytest.mark.parametrize("device", [BMG, DG2, PVC], ids=lambda d: d.name)
def test_compiles_for_xe(device: Device, tool: Callable[[str], Path]) -> None:
    """Neither calls nor spills: messages, or loops around one."""
    tool("ocloc")
    cases = cases_of(device)
    kernels = compile_kernel(compiled(cases, device).bytes, device.name).kernels
    assert len(kernels) == len(cases)
    for number, case in enumerate(cases):
        each = kernels[f"k{number}"]
        assert each.whole.calls == each.resources.spill == 0, case


# --- loads and stores, NaNs, other memory ------------------------------------------

ACCESSES = """
func.func @k(%m: memref<?x{t}>, %r: memref<?x{t}>) attributes {{simt.kernel,
    simt.subgroup_size = 8 : i32, simt.work_group_size = array<i32: 8>}} {{
  %g = simt.workgroup_id x : index
  %n = simt.workgroup_size x : index
  %l = simt.local_id x : index
  %s = arith.muli %g, %n : index
  %i = arith.addi %s, %l : index
  %x = memref.load %m[%i] {{simt.ordering = "acquire"}} : memref<?x{t}>
  memref.store %x, %r[%i] {{simt.ordering = "release", simt.ordering_scope = "device"}}
    : memref<?x{t}>
  func.return
}}
"""


def run(artifact: Artifact, arrays: list[Array], groups: int, session: Any) -> Any:
    """Run a kernel on one of both run-times; its arrays."""
    call = pack(artifact.interface[0], arrays, (groups, 1, 1))
    is_vulkan = isinstance(session, vulkan.Session)
    on = on_vulkan if is_vulkan else on_opencl
    return on(artifact.bytes, call, session).arrays


@pytest.fixture(params=[LAVAPIPE, INTEL_CPU], ids=lambda d: d.name)
def place(request: pytest.FixtureRequest) -> tuple[Device, Any]:
    """A device, and a session with it."""
    name = request.param.name.replace("-", "_")
    return request.param, request.getfixturevalue(name)


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS])
def test_loads_and_stores(element: str, place: tuple[Device, Any]) -> None:
    """Bits go there and back, those of NaNs too; neighbours of a word at once."""
    device, session = place
    target = f"spirv-binary{{device={device.name}}}"
    bits = {"bf16": 16}.get(element) or int(element[1:])
    generator = np.random.default_rng(0)
    whole = generator.integers(0, 256, 24 * bits // 8, np.uint8)
    numpy = {"bf16": "u2", "f16": "f2", "f32": "f4", "f64": "f8"}
    source = whole.view(numpy.get(element, f"i{bits // 8}"))
    artifact = coopc.compile(ACCESSES.format(t=element), "", target)
    found = run(artifact, [source, np.zeros_like(source)], 3, session)[1]
    assert np.asarray(found).tobytes() == whole.tobytes()


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_nans(element: str, place: tuple[Device, Any]) -> None:
    """Sums keep a NaN; extremes 13 and 14 the number beside it, 3 and 6 the NaN."""
    device, session = place
    for kind in FLOAT_KINDS:
        start, values, old = arguments(element, kind)
        start[2], values[3] = np.nan, np.nan
        artifact = compiled([(element, kind)], device)
        found = np.asarray(run(artifact, [start, values, old], GROUPS, session)[0])
        number = kind.number in (13, 14)
        for at in (2, 4):  # what was there, and what value 3 is for
            assert np.isnan(found[at]) != number, (kind.number, at)
        assert not np.isnan(found[[0, 1, 3, 5, 6, 7, 8]]).any()


SHARED = """
func.func @k(%m: memref<?x{t}>) attributes {{simt.kernel,
    simt.subgroup_size = {lanes} : i32, simt.work_group_size = array<i32: 32>}} {{
  %3 = arith.constant 3 : index
  %l = simt.local_id x : index
  %s = memref.alloca() : memref<32x{t}, #simt.memory<workgroup>>
  %x = memref.load %m[%l] : memref<?x{t}>
  memref.store %x, %s[%l] : memref<32x{t}, #simt.memory<workgroup>>
  simt.barrier workgroup
  %r = arith.remui %l, %3 : index
  %o = "memref.atomic_rmw"(%x, %s, %r) <{{kind = {kind} : i64}}>
    : ({t}, memref<32x{t}, #simt.memory<workgroup>>, index) -> {t}
  simt.barrier workgroup
  %y = memref.load %s[%l] : memref<32x{t}, #simt.memory<workgroup>>
  memref.store %y, %m[%l] : memref<?x{t}>
  func.return
}}
"""


def shared(device: Device, element: str, kind: int) -> str:
    """A kernel that updates memory of its work-group."""
    return SHARED.format(t=element, kind=kind, lanes=device.subgroup_size)


@pytest.mark.parametrize("element", ["f16", "f32", "f64", "i8", "i32"])
def test_memory_of_work_groups(element: str, place: tuple[Device, Any]) -> None:
    """What Vulkan cannot see as integers is refused."""
    device, session = place
    kind = 0 if element in FLOATS else 1
    text = shared(device, element, kind)
    target = f"spirv-binary{{device={device.name}}}"
    if atomic_form(element, "add", device) != "native" and device is LAVAPIPE:
        with pytest.raises(
            CompileError, match=f"{element}: its memory cannot be accessed"
        ):
            coopc.compile(text, "", target)
        return
    start = np.ones(32, f"{element[0]}{int(element[1:]) // 8}")
    found = run(coopc.compile(text, "", target), [start], 1, session)[0]
    np.testing.assert_array_equal(found, [12, 12, 11, *[1] * 29])
