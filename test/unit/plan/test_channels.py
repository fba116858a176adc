"""The bytes that messages bring are those of the elements that lanes hold."""

from enum import Enum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from coopc.layout.dpas import CHANNEL_BITS, DpasEncoding
from coopc.layout.encodings import Operand
from coopc.plan.channels import ChannelReason, MemoryLines, SlotLoad, plan_slots
from coopc.plan.refusal import Refusal

PITCH = 160
"""Bytes of a line where the plan does not know them."""

Array = NDArray[np.int64]


def held(bits: int, lanes: int, rows: int, operand: Operand, slot: int = 32) -> Array:
    """Return what the slots of lanes hold of an operand of DPAS."""
    encoding = DpasEncoding.of(bits, lanes, repeat_count=rows)
    row, col = encoding.tile(operand).table().values()
    per = 1 if operand == "c" else slot // bits
    tags = np.stack([row, col], axis=-1)
    return tags.reshape(-1, per, lanes, 2).transpose(0, 2, 1, 3)


def check(elements: Array, lines: MemoryLines, messages: tuple[SlotLoad, ...]) -> None:
    """Check the law: place by place, as `xe.block_load` loads."""
    line, byte = lines.places(elements)
    wanted = line * PITCH + byte
    lanes, size = elements.shape[1], lines.element_bytes
    width = elements.shape[2] * size
    registers: list[int] = []
    for message in messages:
        start = message.line * PITCH + message.byte
        assert start % 4 == 0
        for slot, register in enumerate(message.registers):
            registers.append(register)
            for lane in range(lanes):
                place = start + width * (slot * lanes + lane)
                bytes = range(place, place + width, size)
                assert wanted[register, lane].tolist() == list(bytes), (message, lane)
    assert sorted(registers) == list(range(len(elements)))


OPERANDS: list[tuple[int, Operand]] = [
    (8, "a"),
    (8, "b"),
    (16, "a"),
    (16, "b"),
    (16, "c"),
]


@given(
    st.sampled_from(OPERANDS),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([0, 1]),
    st.booleans(),
    st.sampled_from([None, 32, 64, 96]),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.booleans(),
)
def test_bytes_are_those_of_the_elements(
    of: tuple[int, Operand],
    rows: int,
    across: int,
    is_packed: bool,
    row_bytes: int | None,
    tile: tuple[int, int],
    is_single: bool,
) -> None:
    bits, operand = of
    elements = held(bits, 8, rows, operand, bits if is_single else CHANNEL_BITS)
    shape = elements.max(axis=(0, 1, 2)) + 1
    packed = CHANNEL_BITS // bits if is_packed and operand == "b" else 1
    size = 4 if operand == "c" else bits // 8
    lines = MemoryLines(row_bytes, 0 if packed > 1 else across, size, packed)
    elements = elements + np.array(tile) * shape
    found = plan_slots(elements, lines)
    if isinstance(found, tuple):
        check(elements, lines, found)


def lengths(found: tuple[SlotLoad, ...] | Refusal) -> list[int]:
    assert isinstance(found, tuple), found
    return [len(message.registers) for message in found]


@pytest.mark.parametrize(("rows", "expected"), [(8, [8]), (4, [4]), (2, [2]), (1, [1])])
def test_tiles_of_a(rows: int, expected: list[int]) -> None:
    elements = held(16, 8, rows, "a")
    assert lengths(plan_slots(elements, MemoryLines(32, 0, 2))) == expected
    # Row by row, where the pitch is longer, or not known.
    assert lengths(plan_slots(elements, MemoryLines(64, 0, 2))) == [1] * rows
    assert lengths(plan_slots(elements, MemoryLines(None, 0, 2))) == [1] * rows


@pytest.mark.parametrize("bits", [8, 16])
def test_packed_b(bits: int) -> None:
    elements, w = held(bits, 8, 8, "b"), CHANNEL_BITS // bits
    assert lengths(plan_slots(elements, MemoryLines(32, 0, bits // 8, w))) == [8]
    assert lengths(plan_slots(elements, MemoryLines(None, 0, bits // 8, w))) == [1] * 8


@pytest.mark.parametrize("bits", [8, 16])
def test_rows_of_two_tiles_of_b_are_messages(bits: int) -> None:
    one, w = held(bits, 8, 8, "b", bits), CHANNEL_BITS // bits
    both = np.concatenate([one, one + np.array((0, 8))])
    found = plan_slots(both, MemoryLines(None, 0, bits // 8))
    assert lengths(found) == [2] * 8 * w
    assert isinstance(found, tuple)
    assert found[3] == SlotLoad((3, 8 * w + 3), line=3, byte=0)
    # Their last rows are the next tile's first, where lines follow each other.
    assert lengths(plan_slots(both, MemoryLines(2 * bits, 0, bits // 8))) == [8] * 2 * w


def reason(found: tuple[SlotLoad, ...] | Refusal) -> Enum:
    assert isinstance(found, Refusal), found
    return found.reason


def test_refused() -> None:
    a, b = held(16, 8, 8, "a"), held(16, 8, 8, "b")
    assert reason(plan_slots(a, MemoryLines(None, 1, 2))) is ChannelReason.SLOT
    assert reason(plan_slots(b, MemoryLines(None, 0, 2))) is ChannelReason.SLOT
    # Columns of B: its channels are rows 2 r and 2 r + 1, but lanes are a line apart.
    assert reason(plan_slots(b, MemoryLines(None, 1, 2))) is ChannelReason.LANES
    assert reason(plan_slots(a + 1, MemoryLines(None, 0, 2))) is ChannelReason.ALIGNMENT


def test_accumulator_by_rows() -> None:
    c = held(16, 8, 8, "c")
    assert lengths(plan_slots(c, MemoryLines(None, 0, 4))) == [1] * 8
    assert lengths(plan_slots(c, MemoryLines(32, 0, 4))) == [8]
    assert reason(plan_slots(c, MemoryLines(None, 1, 4))) is ChannelReason.LANES
