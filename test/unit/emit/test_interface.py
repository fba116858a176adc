"""Interfaces of kernels: their fields, their JSON, and arguments packed for them."""

import json
import re
import struct
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.interface import (
    SCALAR_BYTES,
    Argument,
    Buffer,
    Condition,
    Interface,
    Scalar,
    SpecConstant,
    What,
    evaluate,
    fields_of,
)
from coopc.interface_call import groups_of, pack, row_major, sizes_of
from coopc.run.arguments import make_arguments, read_word
from coopc.run.execute import on_opencl, on_vulkan

SIZES = st.none() | st.integers(1, 64)
BUFFERS = st.builds(
    Buffer,
    st.just("m"),
    st.sampled_from(sorted(SCALAR_BYTES)),
    st.tuples(SIZES, SIZES),
    st.none() | st.tuples(SIZES, SIZES),
    SIZES,
)
SCALARS = st.builds(
    Scalar, st.just("n"), st.sampled_from([*sorted(SCALAR_BYTES), "index"])
)
ARGUMENTS = st.lists(BUFFERS | SCALARS, max_size=6).map(tuple)


def interface(
    *arguments: Argument, flavour: str = "vulkan", **changes: Any
) -> Interface:
    made = Interface(
        "k", flavour, arguments, fields_of(arguments, flavour), (8, 1, 1), 8, None
    )
    return replace(made, **changes)


@given(ARGUMENTS, st.sampled_from(["vulkan", "opencl"]))
def test_json_round_trip(arguments: tuple[Argument, ...], flavour: str):
    made = interface(
        *arguments,
        flavour=flavour,
        grid=(2, ("ceildiv", ("size", 0), 16)),
        conditions=(Condition("size", 0, 1, multiple_of=16, why="tiles"),),
        spec_constants=(SpecConstant("M", 3, 16),),
        registers=256,
    )
    assert Interface.from_json(json.loads(json.dumps(made.to_json()))) == made


@given(ARGUMENTS)
def test_push_constants_are_aligned_and_apart(arguments: tuple[Argument, ...]):
    """Natural alignment, in order, without overlap, as close as that allows."""
    end = 0
    for field in fields_of(arguments, "vulkan"):
        size = SCALAR_BYTES[field.type]
        assert field.byte_offset % size == 0
        assert 0 <= field.byte_offset - end < size
        end = field.byte_offset + size
    assert interface(*arguments).push_constant_bytes == end


def test_fields_in_order():
    """Offset, sizes, strides; static ones are left out; index is i32 or i64."""
    strided = Buffer("m", "f16", (None, 4), (None, 1), None)
    plain = Buffer("p", "f16", (None, 4))
    arguments = (strided, Scalar("n", "index"), plain)
    found = [
        (field.what, field.argument, field.dimension)
        for field in fields_of(arguments, "opencl")
    ]
    assert found == [
        (What.OFFSET, 0, 0),
        (What.SIZE, 0, 0),
        (What.STRIDE, 0, 0),
        (What.VALUE, 1, 0),
        (What.SIZE, 2, 0),
    ]
    assert {field.type for field in fields_of(arguments, "opencl")} == {"i64"}
    assert {field.type for field in fields_of(arguments, "vulkan")} == {"i32"}


def test_bindings_count_buffers():
    made = interface(
        Scalar("n", "i32"), Buffer("a", "f32", (4,)), Buffer("b", "f32", (4,))
    )
    assert [made.binding(each) for each in (1, 2)] == [0, 1]
    assert [each.get("binding") for each in made.to_json()["arguments"]] == [None, 0, 1]


@given(st.integers(0, 999), st.integers(1, 99))
def test_division(a: int, b: int):
    """ceildiv rounds up, floordiv down, mod is what is left."""

    def of(kind: str) -> int:
        return evaluate((kind, ("size", 0), b), [a])

    assert of("floordiv") * b + of("mod") == a
    assert of("floordiv") == of("truncdiv")
    assert of("mod") == of("truncmod")
    assert of("ceildiv") == of("floordiv") + (of("mod") > 0)


@given(st.integers(-99, 99), st.integers(1, 9))
def test_division_towards_zero(a: int, b: int):
    x = ("size", 0)
    quotient = ("truncdiv", x, b)
    rest = ("sub", x, ("mul", quotient, b))
    assert evaluate(quotient, [a]) == int(a / b)
    assert evaluate(rest, [a]) == evaluate(("truncmod", x, b), [a])
    assert evaluate(("add", ("min", x, b), ("max", x, b)), [a]) == a + b


def test_division_by_zero():
    with pytest.raises(
        ValueError, match="expected to divide by a positive size, got 0"
    ):
        evaluate(("mod", 4, ("size", 0)), [0])


# --- packing -------------------------------------------------------------------


def test_grid_of_sizes():
    """Dynamic sizes of memrefs and index arguments, in the order of the arguments."""
    made = interface(
        Buffer("a", "f32", (None, 8)),
        Scalar("n", "index"),
        Scalar("s", "i32"),
        Buffer("b", "f32", (4, None)),
        grid=(("floordiv", ("size", 2), 8), 3),
    )
    arguments = [np.zeros((5, 8), "f4"), 7, 9, np.zeros((4, 40), "f4")]
    assert sizes_of(made, arguments) == [5, 7, 40]
    assert groups_of(made, arguments) == (5, 3, 1)
    assert pack(made, arguments).groups == (5, 3, 1)
    assert pack(made, arguments, (1, 2, 3)).groups == (1, 2, 3)
    assert pack(made, [*arguments[:3], np.zeros((4, 7), "f4")]).groups == (0, 3, 1)


def test_no_negative_grid():
    made = interface(Scalar("n", "index"), grid=(("add", ("size", 0), -4),))
    assert pack(made, [4]).groups == (0, 1, 1)
    with pytest.raises(ValueError, match="got -1 x 1 x 1 for sizes"):
        pack(made, [3])


def test_arrays_without_elements():
    """A buffer has an element all the same, and what is unpacked has none."""
    made = interface(Buffer("a", "f32", (None, None)), Buffer("b", "f32", (2,)))
    call = pack(made, [np.zeros((3, 0), "f4"), np.ones(2, "f4")])
    assert [each.shape for each in call.buffers] == [(1,), (2,)]
    assert [each.shape for each in call.unpack(call.buffers)] == [(3, 0), (2,)]


@pytest.mark.parametrize("run", [on_opencl, on_vulkan])
def test_no_work_groups(run: Any):
    """No driver is asked to start them, and the arrays stay as they are."""
    made = interface(Buffer("a", "f32", (None,)), grid=(("size", 0),))
    session = SimpleNamespace(where="x")
    call = pack(made, [np.zeros(0, "f4")])
    assert call.groups == (0, 1, 1)
    assert [each.shape for each in run(b"", call, session).arrays] == [(0,)]


def test_push_constants():
    made = interface(
        Scalar("a", "i8"),
        Scalar("b", "f64"),
        Buffer("m", "f32", (None,)),
        Scalar("c", "i1"),
        Scalar("d", "bf16"),
        Scalar("e", "index"),
    )
    block = pack(made, [-1, 0.5, np.zeros(3, "f4"), True, 1.0, 7]).push_constants
    assert block == struct.pack("<b7xdi?xHi", -1, 0.5, 3, True, 0x3F80, 7)


def test_opencl_arguments():
    made = interface(
        Buffer("m", "f16", (None, None), (None, 1), None),
        Scalar("n", "f16"),
        flavour="opencl",
    )
    array = np.zeros((3, 8), "f2")[:, :5]
    memory, *rest = pack(made, [array, 1.5]).opencl_arguments
    assert memory.size == 2 * 8 + 5
    assert [(x.dtype, x.item()) for x in rest] == [
        ("int64", 0),
        ("int64", 3),
        ("int64", 5),
        ("int64", 8),
        ("float16", 1.5),
    ]


@given(st.data())
def test_memory_of_a_view(data: st.DataObject):
    """Element (i, j) is at i * s0 + j * s1 of the buffer, and comes back from there."""
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    base = np.arange(96, dtype=np.int32).reshape(8, 12)
    view = base[: shape[0] * 2 : 2, : shape[1] * 3 : 3]
    if data.draw(st.booleans()):
        view = view.T
    offset = data.draw(st.integers(0, 3))
    made = interface(Buffer("m", "i32", (None, None), (None, None), offset))
    call = pack(made, [view])
    s0, s1 = (step // 4 for step in view.strides)
    (memory,) = call.buffers
    for (i, j), value in np.ndenumerate(view):
        assert memory[offset + i * s0 + j * s1] == value
    np.testing.assert_array_equal(call.unpack([memory * 2])[0], view * 2)


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 3, 2)])
def test_a_pointer_is_to_all_of_an_array(shape: tuple[int, ...]):
    made = interface(Buffer("p", "f32", ()))
    array = np.arange(6, dtype="f4").reshape(shape)
    call = pack(made, [array])
    np.testing.assert_array_equal(call.buffers[0], array.ravel())
    np.testing.assert_array_equal(call.unpack(call.buffers)[0], array)


def test_a_pointer_needs_a_shape():
    made = interface(Buffer("p", "f32", ()))
    (array,) = make_arguments(made, {"p": read_word("ones:2x3")})
    np.testing.assert_array_equal(array, np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"a shape for p, a pointer, as in p=rand:64"):
        make_arguments(made, {})


def test_row_major_memory_is_copied():
    made = interface(Buffer("m", "f32", (None, None)))
    array = np.arange(6, dtype="f4").reshape(2, 3).T
    call = pack(made, [array])
    np.testing.assert_array_equal(call.buffers[0], [0, 3, 1, 4, 2, 5])
    np.testing.assert_array_equal(call.unpack(call.buffers)[0], array)


@given(st.lists(st.integers(1, 5), max_size=4))
def test_row_major_is_numpys(shape: list[int]):
    strides = np.zeros(shape, np.int8).strides
    pairs = zip(row_major(shape), strides, shape, strict=True)
    assert all(ours == theirs for ours, theirs, size in pairs if size > 1)


A = Buffer("a", "f16", (None, 16))
WRONG: dict[str, tuple[Argument, list[Any]]] = {
    "expected 1 arguments of k (a), got 0": (A, []),
    "expected a to hold f16 (float16), got float32": (A, [np.zeros((4, 16), "f4")]),
    "expected a to have shape ? x 16, got 4 x 8": (A, [np.zeros((4, 8), "f2")]),
    "expected a to have shape ? x 16, got 16": (A, [np.zeros(16, "f2")]),
    "expected n to be one i32, got an array of shape (2,)": (
        Scalar("n", "i32"),
        [np.zeros(2, "i4")],
    ),
    "expected value of n to be an i8, got 300": (Scalar("n", "i8"), [300]),
    "expected value of n to be an i8, got 1.5": (Scalar("n", "i8"), [1.5]),
    "expected a to have strides of ?, 1 elements, got 1, 16": (
        replace(A, strides=(None, 1), shape=(None, None)),
        [np.zeros((4, 16), "f2").T],
    ),
    "strides of whole elements that are not negative": (
        replace(A, strides=(None, None)),
        [np.zeros((4, 16), "f2")[::-1]],
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message: str):
    argument, given_arguments = WRONG[message]
    with pytest.raises(ValueError, match=re.escape(message)):
        pack(interface(argument), given_arguments)


def test_conditions():
    made = interface(
        Buffer("a", "f16", (None, None)),
        conditions=(Condition("size", 0, 1, multiple_of=16, why="whole tiles"),),
    )
    pack(made, [np.zeros((3, 32), "f2")])
    with pytest.raises(ValueError, match=r"size 1 of a: expected a multiple of 16"):
        pack(made, [np.zeros((3, 40), "f2")])


def test_conditions_on_bytes():
    """From the first to the last element, wherever they are."""
    made = interface(
        Buffer("a", "f16", (None, None), (None, None)),
        conditions=(Condition("bytes", 0, less_than=80, why="short offsets"),),
    )
    pack(made, [np.zeros((3, 13), "f2")])
    with pytest.raises(ValueError, match=r"a: expected less than 80 .short.*got 80"):
        pack(made, [np.zeros((5, 8), "f2")])
    view = np.zeros((5, 8), "f2")[::4, :1]
    pack(made, [view])  # 66 bytes
    with pytest.raises(ValueError, match="got 98"):
        pack(made, [np.zeros((7, 8), "f2")[::6, :1]])


def test_more_elements_than_an_index_numbers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("coopc.interface_call.INDEX_LIMIT", 100)
    buffer = Buffer("a", "f16", (None, None), (None, None))
    view = np.zeros((20, 20), "f2")[::7, ::7]
    assert pack(interface(buffer, flavour="opencl"), [view]).buffers[0].size == 295
    with pytest.raises(ValueError, match="expected a to take at most 100 elements"):
        pack(interface(buffer), [view])
