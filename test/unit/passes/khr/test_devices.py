"""KHR matrices for each device: valid, compiled by Intel, or refused by name."""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

import coopc
from coopc.device import BMG, DG2, NVIDIA, Device, MatrixShape, signless
from coopc.run import toolchain
from coopc.run.offline_compiler import compile_kernel

ENVIRONMENTS = {"vulkan": "vulkan1.3", "opencl": "spv1.4"}

KERNEL = """
func.func @k{number}(%a: memref<?x?x{a}>, %b: memref<?x?x{b}>, %r: memref<?x?x{r}>)
    attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %z = arith.constant {zero} : {c}
  %x = coopmatrix.load %a[%0, %0] {a_layout} : memref<?x?x{a}> -> {A}
  %y = coopmatrix.load %b[%0, %0] {b_layout} : memref<?x?x{b}> -> {B}
  %s = coopmatrix.fill %z : {c} -> {C}
  %t = coopmatrix.mul_add %x, %y, %s {signs} : {A}, {B}, {C} -> {R}
  coopmatrix.store %t, %r[%0, %0] row_major : {R}, memref<?x?x{r}>
  func.return
}}
"""


def kernel(shape: MatrixShape, a_layout: str, b_layout: str, number: int = 0) -> str:
    """One multiplication of a device."""
    names = dict(zip("abcr", shape.elements, strict=True))
    signed = [
        {"r": "result"}.get(key, key) for key, x in names.items() if x.startswith("s")
    ]
    a, b, c, r = (signless(x) for x in names.values())
    m, n, k = shape.m, shape.n, shape.k
    return KERNEL.format(
        number=number,
        a=a,
        b=b,
        c=c,
        r=r,
        A=f"!coopmatrix.matrix<{m}x{k}x{a}, a>",
        B=f"!coopmatrix.matrix<{k}x{n}x{b}, b>",
        C=f"!coopmatrix.matrix<{m}x{n}x{c}, acc>",
        R=f"!coopmatrix.matrix<{m}x{n}x{r}, acc>",
        a_layout=a_layout,
        b_layout=b_layout,
        zero="0" if c.startswith("i") else "0.0",
        signs=f"signed({', '.join(signed)})" if signed else "",
    )


def combinations(device: Device, rows: tuple[int, ...]) -> Iterator[str]:
    """Every multiplication with every layout, as a module for each element types."""
    for _, shapes in groupby(device.matrix_shapes, key=lambda shape: shape.types):
        kernels: list[str] = []
        for shape in shapes:
            if shape.m not in rows:
                continue
            for a in device.layouts("a", shape.a, shape.m, shape.k):
                for b in device.layouts("b", shape.b, shape.k, shape.n):
                    kernels.append(kernel(shape, a, b, len(kernels)))
        if kernels:
            yield "\n".join(kernels)


def compiled(text: str, device: Device) -> bytes:
    """A module through the pipeline, which spirv-val takes."""
    binary = coopc.compile(text, f"coopc-khr{{device={device.name}}}").bytes
    environment = ENVIRONMENTS[device.flavours[0]]
    assert toolchain.validate_spirv(binary, environment) is None
    return binary


@pytest.mark.parametrize("device", [BMG, DG2], ids=lambda d: d.name)
def test_every_combination_compiles(device: Device, tool: Callable[[str], Path]):
    tool("ocloc")
    tool("spirv-val")
    found = 0
    rows = tuple({shape.m for shape in device.matrix_shapes})
    for text in combinations(device, rows):
        isa = compile_kernel(compiled(text, device), device.name)
        for name, each in isa.kernels.items():
            assert each.whole.dpas > 0, name
            assert each.whole.calls == 0, name
            found += 1
    assert found == sum(x.count("simt.kernel") for x in combinations(device, rows))
    assert {1, 2, 3, 4, 5, 6, 7, 8} <= set(rows)
    types = {shape.types for shape in device.matrix_shapes}
    listed = ("f16 * f16 + f32 -> f32", "s8 * s8 + s32 -> s32", "u8 * u8 + u32 -> u32")
    assert types >= set(listed)


def test_every_combination_of_nvidia_is_valid(tool: Callable[[str], Path]):
    tool("spirv-val")
    modules = list(combinations(NVIDIA, (16,)))
    for text in modules:
        compiled(text, NVIDIA)
    kernels = sum(text.count("simt.kernel") for text in modules)
    assert kernels == 4 * len(NVIDIA.matrix_shapes), "two layouts of a and of b"


BFLOAT16 = MatrixShape(16, 16, 16, "bf16", "bf16", "f32", "f32")


def test_bf16_is_the_type_of_its_extension(tool: Callable[[str], Path]):
    tool("spirv-val")
    text = kernel(BFLOAT16, "row_major", "row_major")
    compiled(text, NVIDIA)
    target = "spirv"
    spirv = coopc.compile(text, "coopc-khr{device=nvidia}", target).text
    assert "OpCapability BFloat16CooperativeMatrixKHR" in spirv
    assert 'OpExtension "SPV_KHR_bfloat16"' in spirv


BY_LANES = {
    "f16 -> f16 on dg2": (
        MatrixShape(8, 8, 16, "f16", "f16", "f16", "f16"),
        "row_major",
        "dg2 does not multiply f16 * f16 + f16 -> f16: its lanes compute it",
    ),
    "col_major A on dg2": (
        MatrixShape(8, 8, 16, "f16", "f16", "f32", "f32"),
        "col_major",
        "dg2 accesses !coopmatrix.matrix<8x16xf16, a> in row_major, not in col_major",
    ),
    "col_major A of s8 on dg2": (
        MatrixShape(8, 8, 32, "s8", "s8", "s32", "s32"),
        "col_major",
        "dg2 accesses !coopmatrix.matrix<8x32xi8, a> in row_major, not in col_major",
    ),
    "f16 + f32 -> f16 on dg2": (
        MatrixShape(8, 8, 16, "f16", "f16", "f32", "f16"),
        "row_major",
        "dg2 does not multiply f16 * f16 + f32 -> f16: its lanes compute it",
    ),
    "K of 5 on dg2": (
        MatrixShape(8, 8, 5, "f16", "f16", "f32", "f32"),
        "row_major",
        "dg2 does not multiply 8 x 5 by 5 x 8 of f16 * f16 + f32 -> f32: its lanes",
    ),
}


@pytest.mark.parametrize("case", BY_LANES)
def test_lanes_do_what_a_device_lacks(case: str, tool: Callable[[str], Path]):
    """Multiplications are instructions all the same where only a layout is missing."""
    tool("spirv-val")
    shape, layout, reason = BY_LANES[case]
    b_layout = "packed" if shape.a == "s8" else "row_major"
    text = kernel(shape, layout, b_layout)
    compiled(text, DG2)
    found = coopc.compile(text, "coopc-khr{device=dg2}", "spirv")
    assert any(reason in line for line in found.remarks)
    assert ("OpCooperativeMatrixMulAddKHR" in found.text) == (layout == "col_major")


ELEMENTWISE = """
func.func @k(%a: memref<8x16x{t}>, %b: memref<8x16x{t}>, %r: memref<8x16x{t}>,
             %n: {t}) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%0, %0] row_major : memref<8x16x{t}> -> {m}
  %y = coopmatrix.load %b[%0, %0] row_major : memref<8x16x{t}> -> {m}
  %z = coopmatrix.{op} : {m}{more}
  coopmatrix.store %z, %r[%0, %0] row_major : {m}, memref<8x16x{t}>
  func.return
}}
"""

FLOATS = (
    "neg %x",
    "abs %x",
    *(f"{x} %x, %y" for x in ["add", "sub", "mul", "div", "rem", "min", "max"]),
)
INTEGERS = (
    "not %x",
    *(f"{x} %x, %y" for x in ["rem", "and", "or", "xor", "shl", "shr"]),
    *(f"{x} signed %x, %y" for x in ["div", "rem", "min", "max", "shr"]),
)


def elementwise(op: str, type: str) -> str:
    matrix = f"!coopmatrix.matrix<8x16x{type}, acc>"
    more = f", {type}" if op.startswith("scale") else ""
    return ELEMENTWISE.format(op=op, t=type, m=matrix, more=more)


@pytest.mark.parametrize(
    ("op", "type"),
    [
        *((op, "f32") for op in (*FLOATS, "scale %x, %n")),
        *((x, "i32") for x in INTEGERS),
    ],
)
def test_element_loops_compile_for_bmg(op: str, type: str, tool: Callable[[str], Path]):
    """A loop over elements, unrolled by the compiler into registers alone."""
    tool("ocloc")
    binary = compiled(elementwise(op, type), BMG)
    (each,) = compile_kernel(binary, "bmg").kernels.values()
    assert each.whole.calls == 0
