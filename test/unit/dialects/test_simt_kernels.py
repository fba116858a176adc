"""What kernels say of themselves: read, checked, and located where it is wrong."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f16,
    f32,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from coopc.dialects import simt
from coopc.dialects.simt import KernelSize
from coopc.interface import Condition
from coopc.xdsl_gaps import blamed, blaming

DYNAMIC = MemRefType(f16, [DYNAMIC_INDEX, 16, DYNAMIC_INDEX])


def function(inputs: list[Attribute], attributes: Mapping[str, Attribute]) -> FuncOp:
    func = FuncOp("f", (inputs, []))
    func.body.block.add_op(ReturnOp())
    func.attributes.update(attributes)
    return func


NUMBERS = st.integers(0, 64)
CONDITIONS = st.lists(
    st.builds(
        Condition,
        *(st.sampled_from(["size", "stride"]), st.just(0), st.sampled_from([0, 2])),
        *(st.integers(1, 64), st.none() | NUMBERS, st.none() | NUMBERS),
        st.sampled_from(["", "whole tiles"]),
    ),
    max_size=4,
)


@given(CONDITIONS, CONDITIONS)
def test_conditions_are_read_as_written(some: list[Condition], more: list[Condition]):
    func = function([DYNAMIC], {})
    simt.add_conditions(func, some)
    simt.add_conditions(func, more)
    assert list(simt.conditions(func)) == list(dict.fromkeys([*some, *more]))
    assert (simt.CONDITIONS in func.attributes) == bool(some or more)


def kernel(inputs: list[Attribute] | None = None, **attributes: Attribute) -> FuncOp:
    named = {f"simt.{name}": attribute for name, attribute in attributes.items()}
    return function(inputs or [], {"simt.kernel": UnitAttr(), **named})


def array(*values: int) -> Attribute:
    return DenseArrayBase.from_list(i32, values)


def test_defaults() -> None:
    """A kernel that says nothing is run by one work-item, a subgroup of its own."""
    func = kernel()
    found = simt.kernel_of(func)
    assert found == simt.Kernel("f", func, (1, 1, 1), None, None)
    assert found.work_items == 1
    assert found.subgroups == 1


def test_one_subgroup_is_the_default() -> None:
    found = simt.kernel_of(kernel(subgroup_size=IntegerAttr(32, i32)))
    assert found.work_group_size == (32, 1, 1)
    assert found.subgroups == 1


@given(st.lists(st.integers(1, 64), min_size=1, max_size=3), st.integers(0, 7))
def test_sizes(sizes: list[int], log_lanes: int) -> None:
    """Sizes are read as they are written, if the subgroups are full."""
    lanes = 1 << log_lanes
    func = kernel(work_group_size=array(*sizes), subgroup_size=IntegerAttr(lanes, i64))
    items = 1
    for size in sizes:
        items *= size
    if items % lanes:
        with pytest.raises(VerifyException, match=f"size {lanes}, so that all"):
            simt.kernel_of(func)
        return
    found = simt.kernel_of(func)
    assert found.work_group_size == tuple([*sizes, 1, 1][:3])
    assert found.work_items == items
    assert found.subgroups * lanes == items


def test_kernel_sizes() -> None:
    func = kernel([f32, DYNAMIC, IndexType(), MemRefType(f16, [4]), IndexType()])
    assert simt.kernel_sizes(func) == (
        KernelSize(1, 0),
        KernelSize(1, 2),
        KernelSize(2, None),
        KernelSize(4, None),
    )


def test_grid() -> None:
    map = AffineMap.from_callable(lambda m, n: (n, m))
    found = simt.kernel_of(kernel([DYNAMIC], grid=AffineMapAttr(map)))
    assert found.grid == map


def grid(map: AffineMap) -> FuncOp:
    return kernel([DYNAMIC], grid=AffineMapAttr(map))


def equal(sizes: Attribute) -> FuncOp:
    return kernel([DYNAMIC, DYNAMIC, IndexType()], equal_sizes=sizes)


def condition(**entries: int | str) -> FuncOp:
    """A kernel with a condition on one of a memref, an index and an f32."""
    attributes: dict[str, Attribute] = {
        name: StringAttr(x) if isinstance(x, str) else IntegerAttr(x, i64)
        for name, x in entries.items()
    }
    found = ArrayAttr([DictionaryAttr(attributes)])
    return kernel([DYNAMIC, IndexType(), f32], conditions=found)


def test_conditions() -> None:
    func = condition(what="size", argument=0, dimension=2, multiple_of=16, why="tiles")
    (found,) = simt.kernel_of(func).conditions
    assert found == Condition("size", 0, 2, 16, why="tiles")


def declaration() -> FuncOp:
    func = FuncOp.external("f", [], [])
    func.attributes["simt.kernel"] = UnitAttr()
    return func


def with_result() -> FuncOp:
    func = FuncOp("f", ([f32], [f32]))
    func.body.block.add_op(ReturnOp(func.body.block.args[0]))
    func.attributes["simt.kernel"] = UnitAttr()
    return func


INVALID = {
    "unit": (
        function([], {"simt.kernel": StringAttr("yes")}),
        'expected simt.kernel to be a unit attribute, got "yes"',
    ),
    "declaration": (
        declaration(),
        "expected a kernel with a body, got a declaration",
    ),
    "result": (
        with_result(),
        "expected a kernel without results: it writes to memory, got (f32) -> f32",
    ),
    "subgroup_of_12": (
        kernel(subgroup_size=IntegerAttr(12, i32)),
        "expected simt.subgroup_size to be a power of two up to 128, got 12 : i32",
    ),
    "subgroup_of_256": (
        kernel(subgroup_size=IntegerAttr(256, i32)),
        "expected simt.subgroup_size to be a power of two up to 128, got 256 : i32",
    ),
    "subgroup_of_0": (
        kernel(subgroup_size=IntegerAttr(0, i32)),
        "expected simt.subgroup_size to be a power of two up to 128, got 0 : i32",
    ),
    "subgroup_of_float": (
        kernel(subgroup_size=FloatAttr(16.0, f32)),
        "expected simt.subgroup_size to be a power of two up to 128, got "
        "1.600000e+01 : f32",
    ),
    "no_dimensions": (
        kernel(work_group_size=array()),
        "expected simt.work_group_size to be one to three positive integers, as in "
        "array<i32: 16, 4>, got array<i32>",
    ),
    "four_dimensions": (
        kernel(work_group_size=array(1, 2, 3, 4)),
        "expected simt.work_group_size to be one to three positive integers, as in "
        "array<i32: 16, 4>, got array<i32: 1, 2, 3, 4>",
    ),
    "too_many": (
        kernel(work_group_size=array(2_000_000_000, 8, 8)),
        "expected at most 2147483647 work-items in a work-group, got 128000000000",
    ),
    "negative": (
        kernel(work_group_size=array(16, -1)),
        "expected simt.work_group_size to be one to three positive integers, as in "
        "array<i32: 16, 4>, got array<i32: 16, -1>",
    ),
    "fractions": (
        kernel(work_group_size=DenseArrayBase.from_list(f32, [1.5])),
        "expected simt.work_group_size to be one to three positive integers, as in "
        "array<i32: 16, 4>, got array<f32: 1.500000e+00>",
    ),
    "not_full": (
        kernel(work_group_size=array(24), subgroup_size=IntegerAttr(16, i32)),
        "expected a work-group size that is a multiple of the subgroup size 16, so "
        "that all subgroups are full, got 24 work-items",
    ),
    "grid_of_numbers": (
        kernel(grid=array(4, 4)),
        "expected simt.grid to be an affine map to one to three numbers of "
        "work-groups, got array<i32: 4, 4>",
    ),
    "grid_of_nothing": (
        grid(AffineMap(2, 0, ())),
        "expected simt.grid to be an affine map to one to three numbers of "
        "work-groups, got affine_map<(d0, d1) -> ()>",
    ),
    "grid_of_symbols": (
        grid(AffineMap.constant_map(1).replace_dims_and_symbols([], [], 2, 1)),
        "expected simt.grid to be a map of dimensions only, got 1 symbols",
    ),
    "grid_of_other_sizes": (
        grid(AffineMap.identity(3)),
        "expected simt.grid to be a map of 2 sizes, the dynamic sizes of the kernel's "
        "memrefs and its index arguments, got 3",
    ),
    "sizes_of_a_number": (
        equal(IntegerAttr(5, i32)),
        "expected simt.equal_sizes to be an array, got 5 : i32",
    ),
    "sizes_of_one": (
        equal(ArrayAttr([array(1, 0)])),
        "expected simt.equal_sizes to hold argument, dimension, argument, dimension, "
        "as in array<i64: 1, 0, 0, 1>, got array<i32: 1, 0>",
    ),
    "sizes_of_fractions": (
        equal(ArrayAttr([DenseArrayBase.from_list(f32, [1.0, 0.0, 0.0, 1.0])])),
        "expected simt.equal_sizes to hold argument, dimension, argument, dimension, "
        "as in array<i64: 1, 0, 0, 1>, got "
        "array<f32: 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00>",
    ),
    "size_beyond": (
        equal(ArrayAttr([array(1, 3, 0, 1)])),
        "expected simt.equal_sizes to name dimensions of memrefs, got dimension 3 of "
        "argument 1",
    ),
    "size_of_a_scalar": (
        equal(ArrayAttr([array(1, 0, 2, 0)])),
        "expected simt.equal_sizes to name dimensions of memrefs, got dimension 0 of "
        "argument 2",
    ),
    "conditions_of_text": (
        kernel(conditions=StringAttr("n % 16")),
        'expected simt.conditions to be an array, got "n % 16"',
    ),
    "condition_of_text": (
        kernel(conditions=ArrayAttr([StringAttr("n % 16")])),
        'expected simt.conditions to hold dictionaries, as in {what = "size", '
        'argument = 0, dimension = 0, multiple_of = 16}, got "n % 16"',
    ),
    "condition_misspelt": (
        condition(what="size", argument=0, multiples_of=16),
        "expected simt.conditions to have entries of what, why, argument, dimension, "
        "multiple_of, at_least, less_than, at_least_argument, apart_from_argument, got "
        "multiples_of, did you mean 'multiple_of'?",
    ),
    "condition_on_what": (
        condition(argument=0, multiple_of=16),
        "expected what in a condition, got {argument = 0 : i64, multiple_of = 16 : "
        "i64}",
    ),
    "condition_number": (
        condition(what="size", argument=0, multiple_of="16"),
        'expected multiple_of in simt.conditions to be an integer, got "16"',
    ),
    "condition_on_nothing": (
        condition(what="size", argument=3),
        "expected an argument below 3 in simt.conditions, got "
        '{what = "size", argument = 3 : i64}',
    ),
    "condition_on_a_rank": (
        condition(what="size", argument=0, dimension=3),
        "expected the size of a dimension of a memref in simt.conditions, got "
        '{what = "size", argument = 0 : i64, dimension = 3 : i64}',
    ),
    "condition_on_a_memref": (
        condition(what="value", argument=0),
        "expected the value of an integer in simt.conditions, got "
        '{what = "value", argument = 0 : i64}',
    ),
    "condition_on_a_float": (
        condition(what="value", argument=2),
        "expected the value of an integer in simt.conditions, got "
        '{what = "value", argument = 2 : i64}',
    ),
    "condition_of_zero": (
        condition(what="value", argument=1, multiple_of=0),
        "expected a positive multiple_of in simt.conditions, got "
        '{what = "value", argument = 1 : i64, multiple_of = 0 : i64}',
    ),
    "condition_apart_from_a_number": (
        condition(what="memory", argument=0, apart_from_argument=1),
        "expected the memory of a memref apart from that of another in "
        'simt.conditions, got {what = "memory", argument = 0 : i64, '
        "apart_from_argument = 1 : i64}",
    ),
    "condition_apart_from_nothing": (
        condition(what="memory", argument=0),
        "expected the memory of a memref apart from that of another in "
        'simt.conditions, got {what = "memory", argument = 0 : i64}',
    ),
    "condition_on_a_length": (
        condition(what="length", argument=0),
        "expected what to be one of value, size, stride, address, bytes, offset, "
        'memory in simt.conditions, got {what = "length", argument = 0 : i64}',
    ),
    "size_of_nothing": (
        equal(ArrayAttr([array(3, 0, 0, 1)])),
        "expected simt.equal_sizes to name dimensions of memrefs, got dimension 0 of "
        "argument 3",
    ),
}


@pytest.mark.parametrize(("func", "message"), INVALID.values(), ids=INVALID)
def test_invalid_kernel(func: FuncOp, message: str) -> None:
    """The message says what is wrong; the error knows whose fault it is."""
    module = ModuleOp([function([], {}), func.clone()])
    with blaming(), pytest.raises(VerifyException) as error:
        list(simt.kernels(module))
    assert str(error.value) == message
    assert blamed(error.value) == (module.body.block.last_op, message)


def test_kernels_are_the_functions_that_say_so() -> None:
    module = ModuleOp([function([], {}), kernel(), kernel()])
    assert [found.func for found in simt.kernels(module)] == list(module.ops)[1:]


def test_target() -> None:
    module = ModuleOp([])
    assert simt.target_of(module) is None
    target = simt.TargetAttr.of(simt.Flavour.OPENCL, "intel-cpu")
    module.attributes["simt.target"] = target
    assert simt.target_of(module) is target
    assert str(target) == "#simt.target<opencl, intel-cpu>"


def test_invalid_target() -> None:
    module = ModuleOp([], {"simt.target": StringAttr("vulkan")})
    with blaming(), pytest.raises(VerifyException) as error:
        simt.target_of(module)
    message = (
        "expected simt.target to be a flavour and a device, as in "
        '#simt.target<vulkan, lavapipe>, got "vulkan"'
    )
    assert blamed(error.value) == (module, message)


def test_attributes_are_of_what_there_is() -> None:
    with pytest.raises(VerifyException, match="expected opencl or vulkan, got metal"):
        simt.TargetAttr(StringAttr("metal"), StringAttr("m1"))
