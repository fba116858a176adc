"""Laws of the display of plans."""

from itertools import product

import pytest

from coopc.device import BMG
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import Operand
from coopc.layout.linear import LinearLayout
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_shape import BlockMode
from coopc.plan.display import Display, Place, display_of
from coopc.plan.search import Request, plan

Case = tuple[Operand, tuple[int, int], int, int]
CASES: dict[str, Case] = {
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


def shown(case: Case) -> tuple[BlockPlan, Display]:
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


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_size(case: Case) -> None:
    found, display = shown(case)
    sizes = list(found.layout.out_sizes.values())
    tensor = (sizes[found.rows], sizes[found.cols])
    assert display.sizes == (tensor if display.loads else display.message)
    slots = len(span((*display.offsets, *display.iterations)))
    assert slots * display.factors[0] * display.factors[1] == (
        found.shape.elements * found.packed
    )
    assert 1 << len(display.loads) == len(found.firsts)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_slots(case: Case) -> None:
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
    rows, cols = found.placement()
    assert elements == set(
        zip(rows.ravel().tolist(), cols.ravel().tolist(), strict=True)
    )


def is_packed(found: BlockPlan) -> bool:
    return found.shape.mode is BlockMode.TRANSFORM


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_union(case: Case) -> None:
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
