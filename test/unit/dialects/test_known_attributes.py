"""Attributes of kernels and accesses are verified where they stand."""

import pytest
from xdsl.utils.exceptions import VerifyException

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import verify
from coopc.source import Source
from coopc.universe import everything

KERNEL = (
    "func.func @f(%m: memref<?xi32>) attributes {{simt.kernel, {}}} {{func.return}}"
)
ACCESS = """
func.func @f(%m: memref<4xi32>, %i: index) {{
  %x = memref.load %m[%i] {{{}}} : memref<4xi32>
  func.return
}}"""
VALID = (
    (KERNEL, "simt.subgroup_size = 16 : i32, simt.work_group_size = array<i32: 32>"),
    (
        KERNEL,
        "simt.grid = affine_map<(n) -> (n)>, coopmatrix.distribution = #layout.dpas",
    ),
    (KERNEL, 'coopmatrix.distribution = "row_slices", other.name = 1'),
    (ACCESS, 'simt.ordering = "acquire", simt.ordering_scope = "workgroup"'),
    (ACCESS, "simt.volatile"),
    ("builtin.module attributes {{{}}} {{}}", "simt.target = #simt.target<vulkan, x>"),
    ("builtin.module attributes {{{}}} {{}}", 'coopmatrix.precision = "bf16x3"'),
)
INVALID = (
    (
        "builtin.module attributes {{{}}} {{}}",
        'coopmatrix.precision = "f32"',
        "expected coopmatrix.precision to be a string, one of bf16x3, f16x3, bf16, "
        'f16, tf32, got "f32"',
    ),
    (
        KERNEL,
        "simt.workgroup_size = array<i32: 64>",
        "unknown attribute 'simt.workgroup_size', did you mean 'simt.work_group_size'?",
    ),
    (
        KERNEL,
        "coopmatrix.distribtion = #layout.row_slice",
        "unknown attribute 'coopmatrix.distribtion', did you mean "
        "'coopmatrix.distribution'?",
    ),
    (
        KERNEL,
        "coopmatrix.distribution = 3 : i32",
        "expected coopmatrix.distribution to be an attribute of layout, got 3 : i32",
    ),
    (
        KERNEL,
        "simt.subgroup_size = 7 : i32",
        "expected simt.subgroup_size to be a power of two up to 128, got 7 : i32",
    ),
    (
        KERNEL,
        "simt.work_group_size = array<i32: 0>",
        "expected simt.work_group_size to be one to three positive integers, as in "
        "array<i32: 16, 4>, got array<i32: 0>",
    ),
    (
        KERNEL,
        "simt.grid = affine_map<(m, n) -> (m)>",
        "expected simt.grid to be a map of 1 sizes, the dynamic sizes of the kernel's "
        "memrefs and its index arguments, got 2",
    ),
    (
        KERNEL,
        "simt.equal_sizes = [array<i64: 0, 1, 0, 0>]",
        "expected simt.equal_sizes to name dimensions of memrefs, got dimension 1 of "
        "argument 0",
    ),
    (
        ACCESS,
        'simt.ordering = "strong"',
        "expected simt.ordering to be a string, one of relaxed, acquire, release, "
        'acquire_release, sequentially_consistent, got "strong"',
    ),
    (
        ACCESS,
        "simt.ordering_scope = 1 : i32",
        "expected simt.ordering_scope to be a string, one of cross_device, device, "
        "queue_family, workgroup, subgroup, invocation, got 1 : i32",
    ),
    (
        ACCESS,
        "simt.volatile = false",
        "expected simt.volatile to be a unit attribute, got false",
    ),
    (
        ACCESS,
        "simt.unroll = 2 : i32",
        "expected simt.unroll to be true or false, got 2 : i32",
    ),
    (
        "builtin.module attributes {{{}}} {{}}",
        'simt.target = "vulkan"',
        "expected simt.target to be a flavour and a device, as in "
        '#simt.target<vulkan, lavapipe>, got "vulkan"',
    ),
)


@pytest.mark.parametrize(("text", "attributes"), VALID)
def test_valid(text: str, attributes: str) -> None:
    verify(parse(new_context(everything()), Source(text.format(attributes))))


@pytest.mark.parametrize(("text", "attributes", "message"), INVALID)
def test_invalid(text: str, attributes: str, message: str) -> None:
    module = parse(new_context(everything()), Source(text.format(attributes)))
    with pytest.raises(VerifyException) as error:
        verify(module)
    assert str(error.value) == message
