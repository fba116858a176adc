"""Index arithmetic and the forms of memrefs, on a target of names and texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
    f16,
)

from coopc.compiler import compile
from coopc.diagnostic import CompileError
from coopc.dialects.narrow import kept_dimensions
from coopc.emit.memref import known_dimension
from coopc.emit.view import Form, Index, IndexOp, View
from coopc.emit.walker import NoForm


class Texts(Index[str]):
    """Numbers at run time are names, and what is emitted are their formulas."""

    def __init__(self) -> None:
        super().__init__()
        self.emitted: list[str] = []

    def num(self, number: int | str) -> int | str:
        return number

    def value(self, number: int | str) -> str:
        return str(number)

    def emit(self, op: IndexOp, left: int | str, right: int | str) -> str:
        text = f"({left} + {right})" if op == "add" else f"{left} * {right}"
        self.emitted.append(text)
        return text


def memory(
    offset: int | str,
    sizes: tuple[int | str, ...],
    strides: tuple[int | str, ...] | None = None,
) -> View[str, str]:
    return View("base", f16, offset, sizes, strides)


NUMBERS = st.integers(-3, 3) | st.sampled_from(["p", "q"])


@given(NUMBERS, NUMBERS)
def test_known_numbers_are_folded(left: int | str, right: int | str) -> None:
    """Adding 0 and multiplying by 0 or 1 emit nothing, nor do two constants."""
    e = Texts()
    total, product = e.add(left, right), e.mul(left, right)
    names = {"p": 5, "q": 7}
    a, b = (x if isinstance(x, int) else names[x] for x in (left, right))
    assert eval(str(total), {}, names) == a + b
    assert eval(str(product), {}, names) == a * b
    both = isinstance(left, int) and isinstance(right, int)
    adds = not both and 0 not in (left, right)
    multiplies = adds and 1 not in (left, right)
    assert len(e.emitted) == adds + multiplies


def test_equal_numbers_are_emitted_once() -> None:
    """Where the first dominates: what a region emits is not known after it."""
    e = Texts()
    e.enter()
    assert e.add("p", "q") == e.add("p", "q") == "(p + q)"
    e.leave()
    assert e.emitted == ["(p + q)"]
    e.add("p", "q")
    e.enter()
    e.add("p", "q")
    assert e.emitted == ["(p + q)"] * 2


def test_linear() -> None:
    """In row-major order strides are products of sizes; the last is 1."""
    e = Texts()
    assert e.strides(memory(0, ("m", "n", 4))) == ("n * 4", 4, 1)
    assert e.linear(memory(0, (8, 4)), ("i", 3)) == "(i * 4 + 3)"
    assert e.linear(memory("o", (8, 4), ("s", 1)), (0, "j")) == "(o + j)"


def test_consecutive() -> None:
    vector = VectorType(f16, [8])
    e = Texts()
    assert e.consecutive(memory(2, ("m", 4), (4, 1)), (1, 0), vector) == 6
    with pytest.raises(NoForm, match="expected a memref whose last stride is 1"):
        e.consecutive(memory(0, (8, 4), (4, 2)), (0, 0), vector)
    with pytest.raises(NoForm, match="expected a vector of one dimension"):
        e.consecutive(memory(0, (8, 4)), (0, 0), VectorType(f16, [2, 4]))


def test_place() -> None:
    """A position names all components of the dimensions that it leaves out."""
    vector = VectorType(f16, [2, 3, 4])
    e = Texts()
    assert e.place(vector, (1, 2, 3), ()) == (23, 1)
    assert e.place(vector, (1,), ()) == (12, 12)
    assert e.place(vector, (0, DYNAMIC_INDEX), ["i"]) == ("i * 4", 4)


def test_form() -> None:
    """What a type leaves to run time is asked for in order: offset, sizes, strides."""
    layout = StridedLayoutAttr([None, 1], None)
    form = Form.of(MemRefType(f16, [DYNAMIC_INDEX, 4], layout))
    assert form == Form(None, (None, 4), (None, 1))
    assert form.open == [("offset", 0), ("size", 0), ("stride", 0)]
    found = form.opened(View("base", f16), iter("osr"))
    assert found == memory("o", ("s", 4), ("r", 1))
    assert Texts().open_numbers(found, form) == ["o", "s", "r"]
    assert Form.of(MemRefType(f16, [2, 4])) == Form(0, (2, 4), None)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("i", "expected a constant dimension, got one that varies"),
        (2, "expected a dimension below 2, got 2"),
        (-1, "expected a dimension below 2, got -1"),
    ],
)
def test_no_dimension(number: object, message: str) -> None:
    with pytest.raises(NoForm, match=message):
        known_dimension(number, 2)


SUBVIEW = """
func.func @f(%m: memref<4x8xf32>) attributes {simt.kernel} {
  %v = memref.subview %m[0, 0] [2, 8] [1, 1] : memref<4x8xf32> to memref<8xf32>
  func.return
}"""


def test_dropped_dimensions() -> None:
    assert kept_dimensions((1, 8, 1, 4), (8, 1, 4)) == [1, 2, 3]
    with pytest.raises(
        CompileError, match=r"expected a result of the sizes \(2, 8\), got"
    ):
        compile(SUBVIEW, "", "spirv{flavour=vulkan device=lavapipe}")
