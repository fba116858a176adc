"""Arrays and numbers that programs are given, and those that do not fit."""

from typing import Any

import numpy as np
import pytest
from support.programs import module_of

from coopc.sim.errors import SimulationError
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate


def test_read_only_arrays() -> None:
    module = module_of(
        """
        func.func @f(%x: memref<1xi32>) {
          %i = arith.constant 0 : index
          %v = memref.load %x[%i] : memref<1xi32>
          memref.store %v, %x[%i] : memref<1xi32>
          func.return
        }
        """
    )
    x = np.zeros(1, np.int32)
    x.flags.writeable = False
    with pytest.raises(SimulationError, match="argument 0 is read only"):
        simulate(module, "f", [x])


@pytest.mark.parametrize(
    ("type", "number", "expected"),
    [
        ("i8", np.int8(-128), np.int8(-128)),
        ("i8", np.uint8(255), np.int8(-1)),
        ("i64", np.int64(-1), np.int64(-1)),
        ("f16", np.float16(1.5), np.float16(1.5)),
        ("bf16", to_bf16(np.array([1.5]))[0], to_bf16(np.array([1.5]))[0]),
        ("bf16", 1.5, to_bf16(np.array([1.5]))[0]),
    ],
)
def test_numbers_of_numpy(type: str, number: Any, expected: Any) -> None:
    """They are what they say, and those of bf16 their bits."""
    module = module_of(
        f"""
        func.func @f(%x: {type}, %y: memref<1x{type}>) {{
          %i = arith.constant 0 : index
          memref.store %x, %y[%i] : memref<1x{type}>
          func.return
        }}
        """
    )
    found = np.zeros(1, expected.dtype)
    simulate(module, "f", [number, found])
    assert found[0] == expected


TYPES: list[tuple[str, Any]] = [
    ("i1", np.array([True, False])),
    ("i8", np.array([200, 3], np.uint8)),
    ("i64", np.array([-1, 2**62])),
    ("index", np.array([5, -6])),
    ("f16", np.array([0.1, np.inf], np.float16)),
    ("bf16", to_bf16(np.array([0.1, -np.inf]))),
    ("f64", np.array([0.1, 5e-324])),
]


@pytest.mark.parametrize("type", ["i4", "f4E2M1FN"])
def test_two_numbers_in_a_byte(type: str) -> None:
    """The lower bits come first; rows begin at whole bytes, and their rest is kept."""
    memory = f"memref<2x3x{type}, strided<[4, 1]>>"
    module = module_of(
        f"""
        func.func @f(%x: {memory}, %y: {memory}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %v = memref.load %x[%c0, %c1] : {memory}
          %w = memref.load %x[%c1, %c2] : {memory}
          memref.store %v, %y[%c1, %c0] : {memory}
          memref.store %w, %y[%c1, %c1] : {memory}
          func.return
        }}
        """
    )
    given = np.array([[0x12, 0x34], [0x56, 0x78]], np.uint8)
    found = np.full((2, 2), 0xAA, np.uint8)
    simulate(module, "f", [given, found])
    assert found.tolist() == [[0xAA, 0xAA], [0x81, 0xAA]]


def test_rows_within_bytes() -> None:
    module = module_of("func.func @f(%x: memref<2x3xi4>) { func.return }")
    reason = "expected rows that begin at whole bytes, with two i4 in each"
    with pytest.raises(ValueError, match=reason):
        simulate(module, "f", [np.zeros((2, 2), np.uint8)])


@pytest.mark.parametrize(("type", "array"), TYPES)
def test_types_of_arrays(type: str, array: Any) -> None:
    module = module_of(
        f"""
        func.func @f(%x: memref<2x{type}>, %y: memref<2x{type}>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %v = memref.load %x[%c0] : memref<2x{type}>
          %w = memref.load %x[%c1] : memref<2x{type}>
          memref.store %v, %y[%c1] : memref<2x{type}>
          memref.store %w, %y[%c0] : memref<2x{type}>
          func.return
        }}
        """
    )
    found = np.zeros_like(array)
    simulate(module, "f", [array, found])
    assert (found == array[::-1]).all()


WRONG: list[tuple[str, list[Any], str]] = [
    ("%x: memref<4xf32>", [], "expected 1 arguments, as @f has, got 0"),
    ("%x: memref<4xf32>", [3.0], "expected an array for argument 0"),
    ("%x: memref<4xf32>", [np.zeros(4)], "elements of float32.*got float64"),
    ("%x: memref<4xf32>", [np.zeros(5, np.float32)], "0, .* to have shape 4, got 5"),
    ("%x: memref<4xbf16>", [np.zeros(4, np.float32)], "elements of uint16"),
    (
        "%x: memref<?x4xf64>",
        [np.zeros((4, 4)).T],
        "strides of 4, 1 elements, got 1, 4",
    ),
    ("%x: memref<?xf64, strided<[2]>>", [np.zeros(4)], "strides of 2 elements, got 1"),
    (
        "%x: memref<?xf64, strided<[?]>>",
        [np.zeros(4)[::-1]],
        "are not negative",
    ),
    ("%x: index", [np.zeros(4)], "expected a number for argument 0, a index"),
    ("%x: memref<4xf80>", [np.zeros(4)], "no values of type f80"),
]


@pytest.mark.parametrize(("arguments", "given_", "message"), WRONG)
def test_arguments_that_do_not_fit(
    arguments: str, given_: list[Any], message: str
) -> None:
    module = module_of(f"func.func @f({arguments}) {{ func.return }}")
    with pytest.raises((ValueError, SimulationError), match=message):
        simulate(module, "f", given_)


def test_no_such_function() -> None:
    module = module_of("func.func @f() { func.return }")
    with pytest.raises(ValueError, match=r"one of \['f'\], got g"):
        simulate(module, "g", [])


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (1.5, "got 1.5: it is not an integer"),
        (float("nan"), "got nan: it is not an integer"),
        (1 << 40, "got 1099511627776: it has more than 32 bits"),
    ],
)
def test_numbers_that_are_no_integers(number: float, reason: str) -> None:
    module = module_of("func.func @f(%x: i32) { func.return }")
    with pytest.raises(ValueError, match=f"expected argument 0 to be an i32, {reason}"):
        simulate(module, "f", [number])


@pytest.mark.parametrize(
    ("element", "dtypes"), [("i1", ("bool", "uint8", "int8")), ("i8", ("int8", "bool"))]
)
def test_other_types_of_arrays(element: str, dtypes: tuple[str, ...]) -> None:
    """An array may have any type of numpy that other engines take for an element."""
    module = module_of(
        f"""
        func.func @f(%x: memref<2x{element}>, %y: memref<2x{element}>) {{
          %i = arith.constant 1 : index
          %v = memref.load %x[%i] : memref<2x{element}>
          memref.store %v, %y[%i] : memref<2x{element}>
          func.return
        }}
        """
    )
    for dtype in dtypes:
        x, y = np.array([0, 1], dtype), np.zeros(2, dtype)
        simulate(module, "f", [x, y])
        assert y.tolist() == [0, 1]
    wrong = np.zeros(2, np.int16)
    with pytest.raises(ValueError, match=f"memref<2x{element}>, got int16"):
        simulate(module, "f", [wrong, wrong])
