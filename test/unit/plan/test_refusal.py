"""Every reason of a refusal, with its numbers; none that is not tried here."""

from collections.abc import Callable

import pytest

from coopc.compiler import new_context
from coopc.device import BMG
from coopc.dialects import coopmatrix, tt
from coopc.dialects.narrow import tensor_type
from coopc.layout.dpas import DpasEncoding
from coopc.layout.linear import LinearLayout
from coopc.parsing import parse
from coopc.passes.xe.convert_to_xe.matrix_memory import decide_matrix_blocks
from coopc.passes.xe.plan_block_io import decide
from coopc.passes.xe.register_layout import DpasTiling, tiling_of
from coopc.plan.block_message import Part, refuse_surface
from coopc.plan.refusal import Reason, Refusal
from coopc.plan.search import Request, plan
from coopc.source import Source
from coopc.universe import everything

DPAS = DpasEncoding(8, 8, 16, 2, 16, (8, 4), (4, 2))
A = DPAS.operand_linear("a", (256, 32))


def layout(
    register: list[tuple[int, ...]],
    lane: list[tuple[int, ...]],
    sizes: tuple[int, ...],
    warp: tuple[tuple[int, ...], ...] = (),
) -> LinearLayout:
    """Return a layout of 16 lanes, or fewer."""
    outs = {f"dim{d}": size for d, size in enumerate(sizes)}
    ins = {"register": register, "lane": lane, "warp": list(warp)}
    return LinearLayout.of(ins, outs)


ROW = [(0, 1), (0, 2), (0, 4), (0, 8)]
GAPS = layout(ROW[:4], [(0, 16), (0, 32), (1, 0), (2, 0)], (4, 64))
ODD = layout([(16, 0)], [(1 << x, 0) for x in range(4)], (32, 2))
BATCH = layout([], [(0, 0, 1), (0, 0, 2), (0, 0, 4), (1, 0, 0)], (2, 1, 8))
LINE = LinearLayout.identity(16, "lane", "dim0")


def asked(request: Request, io: bool = True) -> Callable[[], object]:
    """Return what plans."""
    return lambda: plan(request, BMG.block_io if io else None)


def surface(known: dict[Part, int]) -> Callable[[], object]:
    """Return what looks at a surface."""
    assert BMG.block_io is not None
    io = BMG.block_io
    return lambda: refuse_surface(io, known)


def positions() -> object:
    """Ask for a matrix at a column of which nothing is known."""
    text = """
      func.func @f(%m: memref<64x64xf16>, %x: index) attributes {simt.kernel} {
        %0 = coopmatrix.load %m[%x, %x] row_major
            : memref<64x64xf16> -> !coopmatrix.matrix<8x16xf16, a>
        return
      }"""
    module = parse(new_context(everything()), Source(text, "test"))
    (load,) = (op for op in module.walk() if isinstance(op, coopmatrix.LoadOp))
    tiling = tiling_of(load.matrix, BMG, 16)
    assert isinstance(tiling, DpasTiling)
    return decide_matrix_blocks(load, tiling, BMG)


def pointers() -> object:
    """Ask for a tensor behind pointers."""
    text = """
    #b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
    module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
      tt.func public @f(%p: tensor<16x16x!tt.ptr<f16>, #b>) {
        %0 = tt.load %p : tensor<16x16x!tt.ptr<f16>, #b>
        tt.return
      }
    }"""
    module = parse(new_context(everything()), Source(text, "test"))
    (load,) = (op for op in module.walk() if isinstance(op, tt.LoadOp))
    return decide(load, tensor_type(load.result), BMG)


CASES: dict[Reason, tuple[Callable[[], object], str]] = {
    Reason.NO_BLOCK_IO: (asked(Request(A, 1, 16), io=False), "lane by lane"),
    Reason.ELEMENT: (asked(Request(A, 1, 4)), "elements of 4 bits"),
    Reason.RANK: (asked(Request(LINE, 0, 16)), "a tensor of rank 1"),
    Reason.LANES_BROADCAST: (
        asked(Request(layout([(1, 0)], [*ROW[:3], (0, 0)], (2, 8)), 1, 16)),
        "lane basis (0, 0)",
    ),
    Reason.LANES_BATCH: (asked(Request(BATCH, 2, 16)), "lane basis (1, 0, 0)"),
    Reason.LANES_ORDER: (
        asked(Request(GAPS, 1, 8)),
        "lanes hold (0,16) (0,32) (1,0) (2,0), (row, column) of memory",
    ),
    Reason.REGISTERS: (
        asked(Request(ODD, 1, 16)),
        "16 bits, 16x2x1, transform needs (0,1)",
    ),
    Reason.STORE_TWICE: (
        asked(Request(A, 1, 16, store=True)),
        "4 warps hold each element",
    ),
    Reason.MASK: (
        asked(Request(layout([(1, 0)], ROW, (2, 16)), 1, 16, constancy=(None, 8))),
        "16 elements of dimension 1 in 16 bits, 1x16x1, the mask is the same for 8",
    ),
    Reason.OVERLAP: (
        asked(Request(layout([(1, 0)], ROW, (4, 16), ((2, 1),)), 1, 16)),
        "16 bits, 1x16x1 at row 2, column 1",
    ),
    Reason.STRIDE: (asked(Request(BATCH, 0, 16)), "dimension 0 is contiguous"),
    Reason.PITCH: (
        surface({"pitch": 72}),
        "expected a pitch that is a multiple of 16, got 72",
    ),
    Reason.WIDTH: (
        surface({"width": 32}),
        "expected a width that is at least 64, got 32",
    ),
    Reason.BASE: (
        surface({"base": 32}),
        "expected a base that is a multiple of 64, got 32",
    ),
    Reason.POSITION: (
        positions,
        "a column that is a multiple of 1 elements of 16 bits",
    ),
    Reason.UNKNOWN_MEMORY: (pointers, "a pointer for each element"),
}


@pytest.mark.parametrize("reason", Reason, ids=lambda x: x.name.lower())
def test_refused(reason: Reason) -> None:
    """A reason that is not in the table is an error: nobody has seen it."""
    make, detail = CASES[reason]
    found = make()
    assert isinstance(found, Refusal)
    assert found.reason is reason
    assert detail in str(found)


def test_each_reason_has_words_of_its_own() -> None:
    assert len({reason.value for reason in Reason}) == len(Reason)
