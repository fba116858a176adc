"""Plans of 2D block messages: their laws, counts known for DPAS, and their display."""

from dataclasses import dataclass
from itertools import product
from typing import TypedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from coopc.device import BMG, PVC
from coopc.device.block_io import BlockKind
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import Operand
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan, Display, Place, display_of, placement
from coopc.plan.block_message import BlockMode
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


def arrays(places: list[list[Place]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns, of shape (values, lanes)."""
    both = np.array(places)
    return both[..., 0], both[..., 1]


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
    rows, cols = arrays(result.placement())
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
    rows, cols = arrays(result.placement())
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
        rows, cols = arrays(found(case.request).placement())
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
        rows, cols = arrays(placement(shape, lanes, packed, step))
        places, values = (
            [1 << x for x in range(n.bit_length() - 1)] for n in (lanes, len(rows))
        )
        assert list(found[0]) == [(rows[0, x], cols[0, x]) for x in places]
        assert list(found[1]) == [(rows[x, 0], cols[x, 0]) for x in values]


DisplayCase = tuple[Operand, tuple[int, int], int, int]
DISPLAYED: dict[str, DisplayCase] = {
    # operand, tensor, contiguous dimension, bits of an element
    "a": ("a", (256, 32), 1, 16),
    "b": ("b", (32, 256), 1, 16),
    "bt": ("b", (32, 256), 0, 16),
    "at": ("a", (256, 32), 0, 16),
    "c": ("c", (256, 256), 1, 32),
    "a_bytes": ("a", (256, 64), 1, 8),
    "b_bytes": ("b", (64, 256), 1, 8),
    "at_bytes": ("a", (256, 64), 0, 8),
    "small": ("a", (64, 16), 1, 16),
}


def shown(case: DisplayCase) -> tuple[BlockPlan, Display]:
    operand, sizes, contiguous, bits = case
    ops = 2 if operand == "c" else 32 // bits
    encoding = DpasEncoding(8, 8, 16, ops, 16, (8, 4), (4, 2))
    layout = encoding.operand_linear(operand, sizes)
    found = plan(Request(layout, contiguous, bits), BMG.block_io)
    assert isinstance(found, BlockPlan)
    return found, display_of(found, encoding.tile_shape(operand))


def span(bases: tuple[Place, ...]) -> list[Place]:
    """Return all sums of some bases."""
    found = [(0, 0)]
    for row, col in bases:
        found += [(r ^ row, c ^ col) for r, c in found]
    return found


@pytest.mark.parametrize("case", DISPLAYED.values(), ids=DISPLAYED)
def test_size(case: DisplayCase) -> None:
    found, display = shown(case)
    sizes = list(found.layout.out_sizes.values())
    tensor = (sizes[found.rows], sizes[found.cols])
    assert display.sizes == (tensor if display.loads else display.message)
    slots = len(span((*display.offsets, *display.iterations)))
    assert slots * display.factors[0] * display.factors[1] == (
        found.shape.elements * found.packed
    )
    assert 1 << len(display.loads) == len(found.firsts)


@pytest.mark.parametrize("case", DISPLAYED.values(), ids=DISPLAYED)
def test_slots(case: DisplayCase) -> None:
    """Slot (r, c) of what packs f rows is the rows r f .. r f + f - 1."""
    found, display = shown(case)
    f, g = display.factors
    assert f == (32 // found.shape.bits if is_packed(found) else 1)
    assert g == found.packed
    slots = span((*display.offsets, *display.iterations))
    elements = {
        (row * f + i, col * g + j)
        for row, col in slots
        for i, j in product(range(f), range(g))
    }
    rows, cols = arrays(found.placement())
    assert elements == set(
        zip(rows.ravel().tolist(), cols.ravel().tolist(), strict=True)
    )


def is_packed(found: BlockPlan) -> bool:
    return found.shape.mode is BlockMode.TRANSFORM


@pytest.mark.parametrize("case", DISPLAYED.values(), ids=DISPLAYED)
def test_union(case: DisplayCase) -> None:
    """The loads of all subgroups, with their offsets, bring the tensor."""
    found, display = shown(case)
    f, g = display.factors
    layout = found.layout
    warps = [(x[found.rows], x[found.cols]) for x in layout.bases("warp")]
    covered = {
        (load[0] ^ warp[0] ^ slot[0] * f + i, load[1] ^ warp[1] ^ slot[1] * g + j)
        for slot in span((*display.offsets, *display.iterations))
        for load in span(display.loads)
        for warp in span(tuple(warps))
        for i, j in product(range(f), range(g))
    }
    rows, cols = (list(layout.out_sizes.values())[d] for d in (found.rows, found.cols))
    assert covered == set(product(range(rows), range(cols)))


def test_other_ranks_are_refused() -> None:
    outs = {"dim0": 2, "dim1": 1, "dim2": 16}
    lanes = [(0, 0, 1 << x) for x in range(4)]
    ins = {"register": [(1, 0, 0)], "lane": lanes, "warp": []}
    found = plan(Request(LinearLayout.of(ins, outs), 2, 16), BMG.block_io)
    assert isinstance(found, BlockPlan)
    with pytest.raises(ValueError, match="rank 2, got 3"):
        display_of(found, (8, 16))
