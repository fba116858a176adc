"""Plans of 2D block messages: their laws, and the counts that are known for DPAS."""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.device import BMG, PVC
from coopc.device.block_io import BlockKind
from coopc.layout.dpas import DpasEncoding
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan, placement
from coopc.plan.block_shape import BlockMode
from coopc.plan.search import Request, candidates, message_bases, plan

IO = BMG.block_io
assert IO is not None
KINDS: dict[BlockMode, BlockKind] = {
    BlockMode.PLAIN: "load",
    BlockMode.TRANSFORM: "transform",
    BlockMode.TRANSPOSE: "transpose",
}


@dataclass(frozen=True)
class Case:
    """A tensor of the kind that DPAS takes, and the messages that it needs."""

    operand: str
    shape: tuple[int, int]
    bits: int
    contiguous: int
    message: str
    messages: int
    ops_per_chan: int = 2
    lanes: int = 16
    warps: tuple[int, int] = (8, 4)
    cluster: tuple[int, int] = (4, 2)
    row_step: int = 1
    swaps: int = 0

    @property
    def encoding(self) -> DpasEncoding:
        return DpasEncoding(
            8, 8, 16, self.ops_per_chan, self.lanes, self.warps, self.cluster
        )

    @property
    def request(self) -> Request:
        match self.operand:
            case "a":
                layout = self.encoding.operand_linear("a", self.shape)
                channel, run = max(16, self.bits), 8 * 16 // self.lanes
                run *= channel // self.bits
                if self.ops_per_chan == 1:
                    run //= 2
            case "b":
                layout = self.encoding.operand_linear("b", self.shape)
                channel, run = 32, 8 * 16 // self.lanes * 32 // self.bits
            case _:
                layout = self.encoding.operand_linear("c", self.shape)
                channel, run = 32, 8 * 16 // self.lanes
        return Request(
            layout, self.contiguous, self.bits, run=run, channel_bits=channel
        )


class Options(TypedDict, total=False):
    """Parameters of the encoding that several cases share."""

    ops_per_chan: int
    warps: tuple[int, int]
    cluster: tuple[int, int]


ONE: Options = {"warps": (4, 2), "cluster": (1, 1)}
BYTES: Options = {"ops_per_chan": 4}
WORDS: Options = {"ops_per_chan": 1, "cluster": (1, 1)}

CASES = {
    # The layout document's own: A, B, B transposed, C, and A transposed.
    "a": Case("a", (256, 32), 16, 1, "16 bits, 32x16x2", 1),
    "b": Case("b", (32, 256), 16, 1, "16 bits, 32x16x2, transform", 2),
    # One message an operand: two in one message would interleave their registers.
    "bt": Case("b", (32, 256), 16, 0, "32 bits, 16x8x1, transpose", 8),
    "c": Case("c", (256, 256), 32, 1, "32 bits, 32x16x1", 4),
    "at": Case("a", (256, 32), 16, 0, "32 bits, 32x8x1, transpose", 2),
    "a_small": Case("a", (64, 32), 16, 1, "16 bits, 8x16x2", 2, **ONE),
    "b_small": Case("b", (32, 64), 16, 1, "16 bits, 32x16x1, transform", 2, **ONE),
    "bt_small": Case("b", (32, 64), 16, 0, "32 bits, 16x8x1, transpose", 4, **ONE),
    "a_tf32": Case("a", (64, 32), 32, 1, "32 bits, 8x8x2", 2, **WORDS),
    "b_tf32": Case("b", (32, 64), 32, 1, "32 bits, 32x16x1", 1, **WORDS),
    "bt_tf32": Case("b", (32, 64), 32, 0, "32 bits, 16x8x1, transpose", 4, **WORDS),
    "a_bytes": Case("a", (256, 64), 8, 1, "8 bits, 32x32x2", 1, **BYTES),
    "b_bytes": Case("b", (64, 256), 8, 1, "8 bits, 32x16x2, transform", 4, **BYTES),
    "bt_bytes": Case("b", (64, 256), 8, 0, "32 bits, 16x8x1, transpose", 8, **BYTES),
    # Lanes hold pairs of columns: every second row of memory, twice.
    "at_bytes": Case(
        "a", (256, 64), 8, 0, "32 bits, 32x8x1, transpose", 2, row_step=2, **BYTES
    ),
    "a_32_lanes": Case("a", (256, 32), 16, 1, "16 bits, 32x16x2", 1, lanes=32),
    "b_32_lanes": Case(
        "b", (32, 256), 16, 1, "16 bits, 32x16x2, transform", 2, lanes=32
    ),
    "bt_32_lanes": Case(
        "b", (32, 256), 16, 0, "32 bits, 16x8x1, transpose", 8, lanes=32
    ),
    # The repetitions that the tensor has no room for are no messages.
    "a_broadcast": Case("a", (64, 32), 16, 1, "16 bits, 32x16x2", 1, warps=(2, 1)),
}


def found(request: Request) -> BlockPlan:
    result = plan(request, BMG.block_io)
    assert isinstance(result, BlockPlan), str(result)
    return result


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_messages(case: Case) -> None:
    result = found(case.request)
    assert (str(result.shape), len(result.firsts)) == (case.message, case.messages)
    assert (result.row_step, len(result.swaps)) == (case.row_step, case.swaps)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_device(case: Case) -> None:
    for device in (BMG, PVC):
        result = plan(case.request, device.block_io)
        assert isinstance(result, BlockPlan)
        shape = result.shape
        assert device.block_io is not None
        assert device.block_io.has(
            KINDS[shape.mode], shape.bits, shape.width, shape.height, shape.count
        )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_once(case: Case) -> None:
    result = found(case.request)
    for warp in range(result.layout.in_sizes["warp"]):
        origins = [result.origin(first, warp) for first in result.firsts]
        assert len(set(origins)) == len(origins)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_covered(case: Case) -> None:
    result = found(case.request)
    rows, cols = result.placement()
    read: set[tuple[int, int]] = set()
    for warp in range(result.layout.in_sizes["warp"]):
        for first in result.firsts:
            origin = result.origin(first, warp)
            r, c = rows + origin[result.rows], cols + origin[result.cols]
            read |= set(zip(r.ravel().tolist(), c.ravel().tolist(), strict=True))
    held = result.layout.table().values()
    flat = [values.ravel().tolist() for values in held]
    wanted = set(zip(flat[result.rows], flat[result.cols], strict=True))
    assert read == wanted


@st.composite
def shuffled(draw: st.DrawFn) -> Request:
    """A DPAS operand whose register bases come in another order."""
    case = CASES[draw(st.sampled_from(sorted(CASES)))]
    request = case.request
    layout = request.layout
    bases = {name: layout.bases(name) for name in layout.in_names}
    bases["register"] = tuple(draw(st.permutations(bases["register"])))
    return Request(
        LinearLayout.of(bases, layout.out_sizes), request.contiguous, case.bits
    )


@given(shuffled())
def test_placement(request: Request) -> None:
    # Building the plan proves the placement; here it is checked by other means.
    result = found(request)
    rows, cols = result.placement()
    names = result.layout.out_names
    for register, (message, value) in enumerate(result.sources):
        origin = result.origin(result.firsts[message], warp=1)
        for lane in (0, 1, result.lanes - 1):
            want = result.layout.at(register=register, lane=lane, warp=1)
            have = list(origin)
            have[result.rows] += int(rows[value, lane])
            have[result.cols] += int(cols[value, lane])
            assert dict(zip(names, have, strict=True)) == want


def test_a_wrong_bit_is_caught() -> None:
    right = found(CASES["a"].request)
    with pytest.raises(AssertionError, match="does not give"):
        BlockPlan(right.layout, 0, 1, 16, right.shape, (1, 0, *right.bits[2:]))


def test_transposed_a_on_32_lanes_is_swapped() -> None:
    case = Case("a", (256, 32), 16, 0, "", 0, lanes=32)
    result = found(case.request)
    assert result.shape.mode is BlockMode.TRANSPOSE
    assert result.swaps == ((4, 0),)


def test_stores() -> None:
    case = CASES["c"]
    request = case.request
    result = found(Request(request.layout, 1, 32, store=True, run=8))
    assert (str(result.shape), len(result.firsts)) == ("32 bits, 8x16x1", 16)


def test_a_mask_limits_the_height() -> None:
    request = CASES["a"].request
    limited = Request(request.layout, 1, 16, run=8, constancy=(8, None))
    result = found(limited)
    assert result.shape.height == 8
    assert len(result.firsts) == 4


def test_lanes_of_a_message_are_distinct() -> None:
    for case in CASES.values():
        rows, cols = found(case.request).placement()
        places = np.stack([rows.ravel(), cols.ravel()])
        assert np.unique(places, axis=1).shape == places.shape


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_bases_of_messages(case: Case) -> None:
    """What the search knows of a message by a few elements is what simulation says."""
    lanes, request = case.lanes, case.request
    assert IO is not None
    for shape, step in candidates(request, IO):
        packed = shape.bits // request.element_bits
        found = message_bases(shape, lanes, packed, step)
        if found is None:
            continue
        rows, cols = placement(shape, lanes, packed, step)
        places, values = (
            [1 << x for x in range(n.bit_length() - 1)] for n in (lanes, len(rows))
        )
        assert list(found[0]) == [(rows[0, x], cols[0, x]) for x in places]
        assert list(found[1]) == [(rows[x, 0], cols[x, 0]) for x in values]
