"""What other compilers for these messages are known to lack, each pinned by a count.

The list is that of the weaknesses of Triton's Intel back end; `test_block2d_sweep.py`
compares with its rules layout by layout, `test_transposed_a.py` runs what is new.
"""

from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.device import BMG
from coopc.dialects.simt import conditions
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import Operand
from coopc.layout.linear import LinearLayout, powers
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import BlockMode, BlockShape
from coopc.plan.prefetch import PrefetchPlan, plan_prefetch
from coopc.plan.refusal import Reason, Refusal
from coopc.plan.search import Fit, Request, built, estimate, fit, plan
from coopc.source import Source
from coopc.universe import everything

INPUTS = Path(__file__).parents[2] / "inputs" / "ttgir"
IO = BMG.block_io
assert IO is not None


def operand(
    name: Operand,
    sizes: tuple[int, int],
    bits: int,
    lanes: int = 16,
    warps: tuple[int, int] = (8, 4),
) -> Request:
    """Return a column-major operand of DPAS, as the pass asks for it."""
    encoding = DpasEncoding(8, 8, 16, 32 // bits, lanes, warps, (4, 2))
    rows, cols = encoding.tile_shape(name)
    channel = 32 if name == "b" else max(16, bits)
    layout = encoding.operand_linear(name, sizes)
    return Request(layout, 0, bits, run=rows * cols // lanes, channel_bits=channel)


def found(request: Request) -> BlockPlan:
    result = plan(request, IO)
    assert isinstance(result, BlockPlan), str(result)
    return result


def described(request: Request) -> tuple[int, str]:
    """Return how many messages there are, and of which shape."""
    result = found(request)
    return len(result.firsts), str(result.shape)


def layout(
    register: list[tuple[int, int]], lane: list[tuple[int, int]], rows: int, cols: int
) -> LinearLayout:
    ins = {"register": register, "lane": lane, "warp": []}
    return LinearLayout.of(ins, {"dim0": rows, "dim1": cols})


@cache
def module(name: str, pipeline: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source((INPUTS / f"{name}.ttgir").read_text(), name)
    result = parse(ctx, source)
    Run(ctx, source).apply(result, read_passes(pipeline, universe.all_passes))
    return result


def test_nothing_is_loaded_twice() -> None:
    """Clusters larger than the tensor: 4 registers hold each element, 1 message."""
    encoding = DpasEncoding(8, 8, 16, 2, 16, (2, 1), (4, 2))
    c = encoding.operand_linear("c", (16, 16))
    assert len(c.bases("register")) == 6
    assert described(Request(c, 1, 32, run=8)) == (1, "32 bits, 16x16x1")


@pytest.mark.parametrize("name", ["gemm_axb", "gemm_axbt", "gemm_i8", "gemm_tf32"])
def test_no_two_messages_of_a_kernel_are_the_same(name: str) -> None:
    ops = module(name, "coopc-xe{device=bmg}").walk()
    loads = [x for x in ops if x.name == "xe.block_load_2d"]
    keys = {(tuple(x.operands), str(x.properties["block"])) for x in loads}
    assert len(keys) == len(loads) > 0


def test_a_transposed_of_bytes() -> None:
    """Even rows and odd rows of memory, a message each for every 32 x 32."""
    request = operand("a", (256, 64), 8)
    assert described(request) == (2, "32 bits, 32x8x1, transpose")
    assert found(request).row_step == 2


def test_transposed_loads_of_full_height_on_32_lanes() -> None:
    assert described(operand("a", (256, 32), 16, lanes=32)) == (
        2,
        "32 bits, 32x8x1, transpose",
    )
    along = layout([(0, 1), (0, 2)], [(1 << x, 0) for x in range(5)], 32, 4)
    assert described(Request(along, 1, 32)) == (1, "32 bits, 32x4x1, transpose")
    # B has both halves of a subgroup along K: half the height needs no exchange.
    assert described(operand("b", (32, 256), 16, lanes=32)) == (
        8,
        "32 bits, 16x8x1, transpose",
    )


def test_tall_blocks_of_tf32() -> None:
    """There are plans of 16 x 8, proven; they cost more, as half must change lanes."""
    request = operand("a", (256, 16), 32)
    assert IO is not None
    fits: list[Fit] = []
    for height in (8, 16):
        shape = BlockShape(32, height, 8, 1, BlockMode.TRANSPOSE)
        fitting = fit(request, shape, 1)
        assert isinstance(fitting, Fit)
        fits.append(fitting)
    small, tall = fits
    assert (small.messages, len(small.swaps)) == (8, 0)
    assert (tall.messages, len(tall.swaps)) == (4, 1)
    assert built(request, tall).swaps == tall.swaps
    assert estimate(small, request, IO) < estimate(tall, request, IO)
    assert described(request) == (8, "32 bits, 8x8x1, transpose")


def test_large_stores() -> None:
    """All that a message stores: 8 rows of 64 bytes, by wide elements if need be."""
    c = DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2)).operand_linear("c", (256, 256))
    assert described(Request(c, 1, 32, store=True, run=8)) == (16, "32 bits, 8x16x1")
    # Four f16 a lane, 8 lanes a row: as elements of 64 bits.
    registers = [(0, 1), (0, 2), (2, 0), (4, 0), (8, 0)]
    lanes = [(0, 4), (0, 8), (0, 16), (1, 0)]
    blocked = layout(registers, lanes, 16, 32)
    assert described(Request(blocked, 1, 16, store=True)) == (2, "64 bits, 8x8x1")


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize(("bits", "packed"), [(32, 2), (16, 4)])
def test_columns_that_wide_elements_divide(bits: int, packed: int, store: bool) -> None:
    """A message of wider elements begins at a column that is a multiple of them."""
    own = [(0, x) for x in powers(1, packed)]
    lanes = [(0, packed << x) for x in range(3)]
    tensor = layout([*own, (2, 0), (4, 0)], [*lanes, (1, 0)], 8, 8 * packed)
    for column in (1, 2, 4, 8):
        request = Request(tensor, 1, bits, store=store, column=column)
        if column % packed == 0:
            assert described(request) == (1, "64 bits, 8x8x1")
            continue
        result = plan(request, IO)
        assert isinstance(result, Refusal)
        assert result.reason is Reason.POSITION
        assert f"a multiple of {column}, as far as is known, expected {packed}" in str(
            result
        )


@pytest.mark.parametrize("store", [False, True])
def test_narrow_elements_begin_anywhere(store: bool) -> None:
    tensor = layout([(0, 1), (1, 0)], [(0, 2), (0, 4), (0, 8), (0, 16)], 2, 32)
    request = Request(tensor, 1, 16, store=store, column=1)
    assert described(request) == (1, "16 bits, 2x32x1")


def test_prefetches_of_64_bytes() -> None:
    for rows, cols, bits in ((256, 32, 16), (32, 256, 16), (64, 64, 8), (64, 16, 32)):
        result = plan_prefetch(rows, cols, bits, 32, IO)
        assert isinstance(result, PrefetchPlan)
        assert result.shape.row_bytes == 64


def test_a_pitch_of_run_time() -> None:
    """It is a number like others; the host checks what it must be."""
    found = module("gemm_axb", "coopc-xe{device=bmg}")
    loads = [x for x in found.walk() if x.name == "xe.block_load_2d"]
    pitches = [x.operands[5].owner for x in loads]
    assert {getattr(x, "name", "") for x in pitches} == {"arith.muli"}
    (func,) = found.ops
    assert isinstance(func, FuncOp)
    assert any((x.what, x.multiple_of) == ("value", 8) for x in conditions(func))


def test_offsets_are_folded_where_there_are_immediates() -> None:
    """One payload does for all messages of B on BMG; PVC has no such offsets."""
    pipeline = "coopc-xe{{device={} payload=all}}"
    payloads: dict[str, int] = {}
    for device in ("bmg", "pvc"):
        ops = list(module("gemm_axbt_32x32", pipeline.format(device)).walk())
        loads = [x for x in ops if x.name == "xe.payload_load"]
        assert len(loads) == 4
        payloads[device] = sum(x.name == "xe.payload_create" for x in ops)
    assert payloads == {"bmg": 1, "pvc": 4}
