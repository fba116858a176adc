"""The laws that coopc/plan/block_message.py states, on any shapes and surfaces."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from coopc.device import device
from coopc.plan.block_message import BlockMode, BlockShape, Part, refuse_surface, rules
from coopc.plan.refusal import Reason


@st.composite
def shapes(
    draw: st.DrawFn, modes: tuple[BlockMode, ...] = tuple(BlockMode)
) -> BlockShape:
    mode = draw(st.sampled_from(modes))
    bits = draw(
        st.sampled_from((8, 16) if mode is BlockMode.TRANSFORM else (8, 16, 32))
    )
    least = 32 // bits if mode is BlockMode.TRANSFORM else 1
    height = draw(st.sampled_from([h for h in (1, 2, 4, 8, 16, 32) if h >= least]))
    width = draw(st.sampled_from((4, 8, 16)))
    count = 1 if mode is BlockMode.TRANSPOSE else draw(st.sampled_from((1, 2, 4)))
    return BlockShape(bits, height, width, count, mode)


def slots_of(shape: BlockShape, lanes: int, slot_bits: int) -> NDArray[np.int64]:
    return np.array(shape.slots(lanes, slot_bits))


def everything(shape: BlockShape) -> list[tuple[int, int]]:
    return list(product(range(shape.height), range(shape.columns)))


@given(shapes())
def test_cover(shape: BlockShape) -> None:
    held = slots_of(shape, 1, shape.bits).reshape(-1, 2)
    assert sorted(map(tuple, held.tolist())) == everything(shape)


@given(shapes(), st.sampled_from((1, 2, 4)), st.sampled_from((1, 2)))
def test_slots(shape: BlockShape, lanes: int, per_slot: int) -> None:
    sequence = slots_of(shape, 1, shape.bits).reshape(-1, 2)
    if shape.elements % (lanes * per_slot):
        return
    slots = slots_of(shape, lanes, shape.bits * per_slot)
    for register, lane in product(range(slots.shape[0]), range(lanes)):
        start = (register * lanes + lane) * per_slot
        assert (slots[register, lane] == sequence[start : start + per_slot]).all()


@given(shapes())
def test_element(shape: BlockShape) -> None:
    """In the order that the table of the modes says."""
    height, columns = shape.height, shape.columns
    if shape.mode is BlockMode.TRANSPOSE:
        order = [(r, c) for c in range(columns) for r in range(height)]
    else:
        f = 32 // shape.bits if shape.mode is BlockMode.TRANSFORM else 1
        blocks = range(0, columns, shape.width)
        places = product(blocks, range(0, height, f), range(shape.width), range(f))
        order = [(r + i, b + c) for b, r, c, i in places]
    assert [shape.element(x) for x in range(shape.elements)] == order
    sequence = slots_of(shape, 1, shape.bits).reshape(-1, 2).tolist()
    assert [*map(tuple, sequence)] == order


@given(shapes(modes=(BlockMode.TRANSFORM,)))
def test_pairs(shape: BlockShape) -> None:
    factor = 32 // shape.bits
    for slot in slots_of(shape, 1, 32).reshape(-1, factor, 2):
        assert (slot[:, 1] == slot[0, 1]).all()
        assert (slot[:, 0] == slot[0, 0] + np.arange(factor)).all()
        assert slot[0, 0] % factor == 0


def test_a_row_is_a_register_of_16_bit_slots() -> None:
    slots = slots_of(BlockShape(16, 8, 16), 16, 16)
    for register, lane in product(range(8), range(16)):
        assert slots[register, lane].tolist() == [[register, lane]]


def test_32_transposed_rows_interleave_two_halves() -> None:
    slots = slots_of(BlockShape(32, 32, 8, 1, BlockMode.TRANSPOSE), 16, 32)
    for column, half, lane in product(range(8), range(2), range(16)):
        found = slots[2 * column + half, lane].tolist()
        assert found == [[16 * half + lane, column]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((12, 8, 16), r"elements of \(8, 16, 32, 64\) bits, got 12"),
        ((16, 7, 16), "a height that is a power of two, got 7"),
        ((16, 8, 0), "a width that is a power of two, got 0"),
        ((32, 8, 16, 1, BlockMode.TRANSFORM), "got 8 rows of 32 bits"),
        ((8, 2, 16, 1, BlockMode.TRANSFORM), "got 2 rows of 8 bits"),
        ((32, 8, 8, 2, BlockMode.TRANSPOSE), "one block to transpose, got 2"),
    ],
)
def test_refused(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BlockShape(*arguments)


def test_uneven_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fill slots of 16 bits in 16 lanes"):
        BlockShape(16, 1, 8).slots(16, 16)


IO = device("bmg").block_io


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"pitch": 72}, Reason.PITCH),
        ({"pitch": 48}, Reason.PITCH),
        ({"pitch": 1 << 24}, Reason.PITCH),
        ({"width": 32}, Reason.WIDTH),
        ({"width": 1 << 24}, Reason.WIDTH),
        ({"height": 1 << 24}, Reason.WIDTH),
        ({"base": 32}, Reason.BASE),
        ({"width": 256, "pitch": 128}, Reason.PITCH),
    ],
)
def test_refused_surface(known: dict[Part, int], reason: Reason) -> None:
    assert IO is not None
    refusal = refuse_surface(IO, known)
    assert refusal is not None
    assert refusal.reason is reason


def test_what_is_right_or_unknown_is_not_refused() -> None:
    assert IO is not None
    assert refuse_surface(IO, {}) is None
    known: dict[Part, int] = {"base": 64, "width": 200, "height": 7, "pitch": 208}
    assert refuse_surface(IO, known) is None


@given(value=st.integers(0, 1 << 25), size=st.sampled_from([1, 2, 4, 8]))
def test_units(value: int, size: int) -> None:
    assert IO is not None
    for rule in rules(IO):
        in_bytes = rule.violated(value * size) is None
        assert (rule.in_units(size).violated(value) is None) == in_bytes
