"""`coopc-khr`: SPV_INTEL_joint_matrix, judged by Intel's compiler and run on its CPU.

spirv-val sees these modules without what it does not know of them.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.programs import module_of
from support.toolchain import is_locked

import coopc
from coopc.interface_call import pack
from coopc.run import opencl
from coopc.run.execute import on_opencl
from coopc.run.isa import CLEAN, KernelIsa
from coopc.run.offline_compiler import compile_kernel
from coopc.run.toolchain import validate_spirv
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate

Tool = Callable[[str], Path]

A, B = "!coopmatrix.matrix<8x16xf16, a>", "!coopmatrix.matrix<16x16xf16, b>"
C = "!coopmatrix.matrix<8x16xf32, acc>"
EDGE = f"""
func.func @k(%a: memref<40x72xf16>, %b: memref<72x40xf16>, %c: memref<40x64xf32>)
    attributes {{simt.kernel}} {{
  %m = arith.constant 36 : index
  %n = arith.constant 32 : index
  %k = arith.constant 64 : index
  %x = coopmatrix.load %a[%m, %k] row_major checked(rows, cols)
    : memref<40x72xf16> -> {A}
  %y = coopmatrix.load %b[%k, %n] row_major checked(rows, cols)
    : memref<72x40xf16> -> {B}
  %z = coopmatrix.load %c[%m, %n] row_major checked(rows) : memref<40x64xf32> -> {C}
  %d = coopmatrix.mul_add %x, %y, %z : {A}, {B}, {C}
  coopmatrix.store %d, %c[%m, %n] row_major checked(rows) : {C}, memref<40x64xf32>
  func.return
}}
"""
"""Matrices of which some rows and columns are outside."""


def isa(text: str, pipeline: str, device: str) -> KernelIsa:
    """What Intel's compiler makes of a kernel that is valid."""
    binary = coopc.compile(text, pipeline).bytes
    assert validate_spirv(binary, "spv1.4") is None
    (found,) = compile_kernel(binary, device).kernels.values()
    return found


def without_checked_loads(folder: Path, device: str) -> str:
    path = folder / "staged.toml"
    path.write_text(f'version = 1\nextends = "{device}"\nchecked_rows = []\n')
    return f'"{path}"'


@pytest.mark.parametrize("device", ["bmg", "pvc"])
def test_checked_accesses_are_messages(device: str, tool: Tool, tmp_path: Path) -> None:
    """One message each, and no work-group memory; in the loops' place before."""
    tool("ocloc")
    tool("spirv-val")
    found = isa(EDGE, f"coopc-khr{{device={device}}}", device)
    counts = {**CLEAN, "simd": 16, "dpas": 1, "load2d": 3, "store2d": 1, "slm": 0}
    assert found.check({**counts, "barriers": 0, "control": 0}) == ()
    staged = without_checked_loads(tmp_path, device)
    before = isa(EDGE, f"coopc-khr{{device={staged}}}", device)
    assert before.check({"dpas": 1, "simd": 16}) == ()
    assert before.resources.slm > 0
    if is_locked("intel-ocloc", "libigc2"):
        totals = before.whole.total, found.whole.total
        assert totals == {"bmg": (682, 40), "pvc": (714, 43)}[device]


def test_row_and_column_of_a_surface(tool: Tool) -> None:
    """The compiler takes the first offset for the row, and the sizes of memory."""
    tool("ocloc")
    assembly = isa(EDGE, "coopc-khr{device=bmg}", "bmg").assembly
    for message, numbers in {
        "load_block2d.ugm.d16.": (143, 39, 143, 64, 36),
        "load_block2d.ugm.d16v": (79, 71, 79, 32, 64),
        "store_block2d.ugm.d32": (255, 39, 255, 32, 36),
    }.items():
        send = rf"send\.ugm.*? (?:r\d+|null) +r(\d+) .*{re.escape(message)}"
        (register,) = re.findall(send, assembly)
        move = rf"mov \(1\|M0\) +r{register}\.(\d)<1>:u([dq]) +(\w+):"
        found: dict[int, int] = {}
        for at, width, number in re.findall(move, assembly):
            words = 1 + (width == "q")
            for word in range(words):
                found[int(at) * words + word] = int(number, 0) >> 32 * word & 0xFFFFFFFF
        expected = dict(enumerate(numbers, 2))
        assert {x: found.get(x) for x in expected} == expected, (message, assembly)


def test_memory_begins_at_64_bytes() -> None:
    """A block's base has no lower bits: the host checks that."""
    (kernel,) = coopc.compile(EDGE, "coopc-khr{device=bmg}").interface
    found = {(x.what, x.argument, x.multiple_of) for x in kernel.conditions}
    assert found == {("address", number, 64) for number in range(3)}


def test_simulated_as_before() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (
        rng.integers(-4, 5, shape).astype(type)
        for shape, type in (
            ((40, 72), np.float16),
            ((72, 40), np.float16),
            ((40, 64), np.float32),
        )
    )
    expected = c.copy()
    tile = np.pad(a, ((0, 8), (0, 8)))[36:44, 64:80].astype(np.float32)
    other = np.pad(b, ((0, 8), (0, 8)))[64:80, 32:48].astype(np.float32)
    expected[36:, 32:48] += (tile @ other)[:4]
    lowered = coopc.compile(EDGE, "coopc-khr{device=bmg}", "mlir").text
    assert lowered.count("checked") == 4
    for text in (EDGE, lowered):
        mine = c.copy()
        simulate(module_of(text), "k", [a.copy(), b.copy(), mine], grid=(1, 1, 1))
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("memref<40x72xf16>", "memref<?x72xf16>"),
        ("memref<40x72xf16>", "memref<40x70xf16>"),
        ("8x16xf16, a", "3x16xf16, a"),
    ],
    ids=["sizes", "pitch", "rows"],
)
def test_others_are_staged(old: str, new: str) -> None:
    text = EDGE.replace(old, new)
    if "3x16" in new:
        text = text.replace("8x16xf32, acc", "3x16xf32, acc")
    lowered = coopc.compile(text, "coopc-khr{device=bmg}", "spirv").text
    loads = lowered.count("OpCooperativeMatrixLoadCheckedINTEL")
    assert loads == (1 if "3x16" in new else 2)
    assert "OpControlBarrier" in lowered


F32 = """
func.func @k(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  linalg.matmul ins(%a, %b : memref<32x32xf32>, memref<32x32xf32>)
    outs(%c : memref<32x32xf32>)
  func.return
}
"""


CONDITIONS = ", ".join(
    f'{{what = "size", argument = 0, dimension = {dimension}, {limits}}}'
    for dimension, limits in (
        (0, "less_than = 16777216"),
        (1, "multiple_of = 8, at_least = 32, less_than = 8388608"),
    )
)


@pytest.mark.parametrize("weaker", ["", "multiple_of = 4", "at_least = 16"])
def test_sizes_that_callers_promise(weaker: str, tool: Tool) -> None:
    """Open sizes are those of a surface where the kernel's conditions say so."""
    name = weaker.partition(" =")[0]
    promised = re.sub(rf"{name} = \d+", weaker, CONDITIONS) if weaker else CONDITIONS
    text = EDGE.replace("memref<40x72xf16>", "memref<?x?xf16>").replace(
        "simt.kernel", f"simt.kernel, simt.conditions = [{promised}]"
    )
    made = coopc.compile(text, "coopc-khr{device=bmg}", "spirv").text
    loads = made.count("OpCooperativeMatrixLoadCheckedINTEL")
    assert loads == (2 if weaker else 3)
    if not weaker:
        tool("ocloc")
        found = isa(text, "coopc-khr{device=bmg}", "bmg")
        counts = {**CLEAN, "simd": 16, "dpas": 1, "load2d": 3, "slm": 0, "control": 0}
        assert found.check(counts) == ()


BRAIN = """
func.func @k(%a: memref<{m}x{k}xbf16>, %b: memref<{k}x{n}xbf16>,
             %c: memref<{m}x{n}x{sums}>) {{
  linalg.matmul ins(%a, %b : memref<{m}x{k}xbf16>, memref<{k}x{n}xbf16>)
    outs(%c : memref<{m}x{n}x{sums}>)
  func.return
}}
"""


@pytest.mark.parametrize("device", ["bmg", "pvc"])
def test_tf32_only_where_asked_for(device: str, tool: Tool) -> None:
    tool("ocloc")
    found = isa(F32, f"coopc-khr{{device={device} precision=tf32}}", device)
    assert found.check({**CLEAN, "simd": 16, "dpas": 8, "dpas.tf32.tf32.f": 8}) == ()
    exact = isa(F32, f"coopc-khr{{device={device}}}", device)
    assert exact.check({"dpas": 0}) == ()


@pytest.mark.parametrize("sums", ["f32", "bf16"])
@pytest.mark.parametrize("device", ["bmg", "pvc"])
def test_bf16_is_named(device: str, sums: str, tool: Tool) -> None:
    tool("ocloc")
    text = BRAIN.format(m=32, n=32, k=32, sums=sums)
    kind = "dpas.bf.bf." + {"f32": "f", "bf16": "bf"}[sums]
    found = isa(text, f"coopc-khr{{device={device}}}", device)
    assert found.check({**CLEAN, "simd": 16, kind: found.whole.dpas}) == ()
    assert found.whole.dpas > 0


def test_validator_still_finds_faults(tool: Tool) -> None:
    """What is left of a module is checked: here, that a use does not fit."""
    tool("spirv-val")
    binary = bytearray(coopc.compile(EDGE, "coopc-khr{device=bmg}").bytes)
    words = memoryview(binary).cast("I")
    at = next(x for x in range(len(words)) if words[x] & 0xFFFF == 4459)
    words[at + 3], words[at + 4] = words[at + 4], words[at + 3]
    assert "MulAdd" in (validate_spirv(bytes(binary), "spv1.4") or "")


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 32), (19, 21, 40)])
def test_bf16_on_intel_cpu(
    m: int, n: int, k: int, intel_amx: opencl.Session, tool: Tool
) -> None:
    """Its tiles of bf16, by the flag, for it takes integers for integers."""
    tool("spirv-val")
    made = coopc.compile(
        BRAIN.format(m=m, n=n, k=k, sums="f32"), "coopc-khr{device=intel-cpu}"
    )
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-8, 9, x).astype(np.float32) for x in ((m, k), (k, n)))
    c = np.ones((m, n), np.float32)
    call = pack(made.interface[0], [to_bf16(a), to_bf16(b), c])
    found = on_opencl(made.bytes, call, intel_amx).arrays
    np.testing.assert_array_equal(found[2], a @ b + 1)
