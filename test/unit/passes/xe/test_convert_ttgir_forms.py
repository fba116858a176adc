"""Accesses in all forms that Triton has, simulated before and after, against numpy."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

DPAS = (
    "#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, "
    "opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>"
)
LAYOUTS = {
    "blocked": "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], "
    "warpsPerCTA = [2, 2], order = [1, 0]}>",
    "dpas": DPAS,
    "pairs": "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 8], "
    "warpsPerCTA = [4, 1], order = [1, 0]}>",
    "a": f"#ttg.dot_op<{{opIdx = 0, parent = {DPAS}, kWidth = 1}}>",
}


def module(
    body: str, arguments: str, layout: str = "blocked", pipeline: str = ""
) -> ModuleOp:
    text = f"""#t = {LAYOUTS[layout]}
#r = #ttg.slice<{{dim = 1, parent = #t}}>
#d1 = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}}>
#d3 = #ttg.blocked<{{sizePerThread = [1, 1, 4], threadsPerWarp = [1, 4, 4], warpsPerCTA = [1, 2, 2], order = [2, 1, 0]}}>
module attributes {{"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32}} {{
  tt.func public @k({arguments}) {{
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %one = arith.constant 1 : i64
    {body}
    tt.return
  }}
}}
"""  # noqa: E501
    return of_text(text, pipeline)


def of_text(text: str, pipeline: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source(text, "kernel")
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(pipeline, universe.all_passes))
    return found


def outputs(
    body: str, arguments: str, values: list[Any], layout: str = "blocked"
) -> list[Any]:
    """Return the last array, as Triton has it, on bmg, and on bmg lane by lane."""
    found: list[Any] = []
    a, last, *numbers = values
    for pipeline in ("", "coopc-xe{device=bmg fallback=true}"):
        kernel = module(body, arguments, layout, pipeline)
        names = [op.sym_name.data for op in kernel.ops if isinstance(op, FuncOp)]
        for name in names or ["k"]:
            out = last.copy()
            given = [a, out, *numbers]
            if pipeline:
                simulate(kernel, name, given, grid=(1,))
            else:
                simulate(with_functions(kernel), name, given, grid=(1,))
            found.append(out)
    return found


def same(found: list[Any]) -> None:
    for other in found[1:]:
        assert np.array_equal(found[0], other, equal_nan=True)


BLOCKS = '{ttig.block_io = "row_major"}'
TWO = "%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %m: i32, %n: i32"
LONG = """%ml = arith.extsi %m : i32 to i64
    %nl = arith.extsi %n : i32 to i64
    %pl = arith.constant 128 : i64"""


def block_copy(checks: str, order: str = "1, 0", padding: str = "") -> str:
    return f"""{LONG}
    %p = tt.make_tensor_ptr %a, [%ml, %nl], [%pl, %one], [%c0, %c0] {{order = array<i32: {order}>}} : <tensor<32x32xf32, #t>>
    %q = tt.make_tensor_ptr %b, [%ml, %nl], [%pl, %one], [%c0, %c0] {{order = array<i32: {order}>}} : <tensor<32x32xf32, #t>>
    %r:2 = scf.for %i = %c0 to %n step %c32 iter_args(%x = %p, %y = %q)
        -> (!tt.ptr<tensor<32x32xf32, #t>>, !tt.ptr<tensor<32x32xf32, #t>>) : i32 {{
      ttig.prefetch %x {{cache = 1 : i32, evict = 1 : i32, isVolatile = false}} : !tt.ptr<tensor<32x32xf32, #t>>
      %v = tt.load %x {{boundaryCheck = array<i32: {checks}>{padding}}} : !tt.ptr<tensor<32x32xf32, #t>>
      %w = arith.addf %v, %v : tensor<32x32xf32, #t>
      tt.store %y, %w {{boundaryCheck = array<i32: {checks}>}} : !tt.ptr<tensor<32x32xf32, #t>>
      %x1 = tt.advance %x, [%c0, %c32] : <tensor<32x32xf32, #t>>
      %y1 = tt.advance %y, [%c0, %c32] : <tensor<32x32xf32, #t>>
      scf.yield %x1, %y1 : !tt.ptr<tensor<32x32xf32, #t>>, !tt.ptr<tensor<32x32xf32, #t>>
    }}"""  # noqa: E501


def matrix(rows: int, cols: int = 128, type: str = "f4") -> Any:
    random = np.random.default_rng(rows)
    return random.integers(-99, 100, (rows, cols)).astype(type)


@pytest.mark.parametrize("layout", ["blocked", "dpas"])
@pytest.mark.parametrize("sizes", [(32, 128), (27, 70)])
def test_block_pointers(sizes: tuple[int, int], layout: str) -> None:
    m, n = sizes
    a, b = matrix(m), np.zeros((m, 128), "f4")
    found = outputs(block_copy("0, 1"), TWO, [a, b, m, n], layout)
    same(found)
    assert np.array_equal(found[0][:, :n], 2 * a[:, :n])
    assert not found[0][:, n:].any()


def test_block_pointers_that_are_not_checked_are_inside() -> None:
    a = matrix(27)
    with pytest.raises(UndefinedBehaviour, match="boundaryCheck"):
        outputs(block_copy("1"), TWO, [a, a.copy(), 27, 64])


def test_block_pointers_are_2d_blocks() -> None:
    found = module(block_copy("0, 1"), TWO, "dpas", "coopc-xe{device=bmg}")
    names = [op.name for op in found.walk()]
    assert "xe.payload_load" in names
    assert "xe.block_store_2d" in names
    assert "xe.payload_prefetch" in names
    assert "memref.load" not in names


MOVED = f"""{LONG}
    %two = arith.constant 2 : i32
    %x = arith.muli %i, %two : i32
    %y = arith.addi %x, %j : i32
    %p = tt.make_tensor_descriptor %a, [%m, %n], [%pl, %one] : <f32>, <8x16xf32>
    %q = tt.make_tensor_descriptor %b, [%m, %n], [%pl, %one] : <f32>, <8x16xf32>
    %v = tt.descriptor_load %p[%c0, %x] : !tt.tensordesc<8x16xf32> -> tensor<8x16xf32, #t>
    tt.descriptor_store %q[%c0, %y], %v : !tt.tensordesc<8x16xf32>, tensor<8x16xf32, #t>"""  # noqa: E501
COLUMNS = f"{TWO}, %i: i32, %j: i32"


@pytest.mark.parametrize("columns", [(0, 0), (1, 1), (3, 2), (-2, 1), (30, 3)])
def test_columns_that_are_not_known(columns: tuple[int, int]) -> None:
    """Pairs of f32 are elements of 64 bits only at columns known to be even."""
    i, j = columns
    a, b = matrix(8), np.zeros((8, 128), "f4")
    found = outputs(MOVED, COLUMNS, [a, b, 8, 64, i, j], "pairs")
    same(found)
    wide = np.pad(a[:, :64], ((0, 0), (16, 32)))
    inside = range(max(0, 2 * i + j), min(64, 2 * i + j + 16))
    for col in inside:
        assert np.array_equal(found[0][:, col], wide[:, col - j + 16])
    assert np.count_nonzero(found[0]) <= 8 * len(inside)


def test_pairs_at_known_columns_are_2d_blocks() -> None:
    kernel = module(MOVED, COLUMNS, "pairs", "coopc-xe{device=bmg}")
    names = [op.name for op in kernel.walk()]
    assert names.count("xe.block_load_2d") == 1
    assert "xe.block_store_2d" not in names


LOADED = """%wider = arith.constant 64 : i32
    %q = tt.make_tensor_descriptor %b8, [%m, %wider]"""


def shifted(width: int, column: int) -> str:
    """Return a copy of 32 x 32 of a matrix that begins 8 columns later."""
    return f"""{LONG}
    %move = arith.constant 8 : i32
    %width = arith.constant {width} : i32
    %column = arith.constant {column} : i32
    %a8 = tt.addptr %a, %move : !tt.ptr<f32>, i32
    %b8 = tt.addptr %b, %move : !tt.ptr<f32>, i32
    %p = tt.make_tensor_descriptor %a8, [%m, %width], [%pl, %one] : <f32>, <32x32xf32>
    %q = tt.make_tensor_descriptor %b8, [%m, %width], [%pl, %one] : <f32>, <32x32xf32>
    %v = tt.descriptor_load %p[%c0, %column] : !tt.tensordesc<32x32xf32> -> tensor<32x32xf32, #t>
    %one_more = arith.constant dense<1.0> : tensor<32x32xf32, #t>
    %w = arith.addf %v, %one_more : tensor<32x32xf32, #t>
    tt.descriptor_store %q[%c0, %column], %w : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #t>
    ttig.descriptor_prefetch %p[%c0, %column] : !tt.tensordesc<32x32xf32>"""  # noqa: E501


@pytest.mark.parametrize(("width", "column"), [(32, 0), (20, 0), (44, 12), (43, 12)])
@pytest.mark.parametrize("last", ["load", "store"])
def test_columns_of_a_base_that_is_not_aligned(
    width: int, column: int, last: str
) -> None:
    """Columns end where the matrix does, not where its surface could."""
    a, b = matrix(32) + 200, np.zeros((32, 128), "f4")
    body = shifted(width, column)
    if last == "load":  # what is read beyond the end is 0
        body = body.replace("%q = tt.make_tensor_descriptor %b8, [%m, %width]", LOADED)
    found = outputs(body, TWO, [a, b, 32, 128], "dpas")
    same(found)
    end = min(column + 32, width)
    assert np.array_equal(
        found[0][:, 8 + column : 8 + end], a[:, 8 + column : 8 + end] + 1
    )
    beyond = found[0][:, 8 + end : 8 + column + 32]
    assert np.all(beyond == (last == "load"))


@pytest.mark.parametrize(("width", "blocks"), [(32, True), (20, True), (12, False)])
def test_a_base_that_is_not_aligned_has_a_surface(width: int, blocks: bool) -> None:
    """If the columns until the end are 64 bytes at least."""
    kernel = module(shifted(width, 0), TWO, "dpas", "coopc-xe{device=bmg}")
    assert ("xe.block_store_2d" in [op.name for op in kernel.walk()]) == blocks


@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("is_factor", [False, True])
def test_products_that_meet_a_transposed_one(size: int, is_factor: bool) -> None:
    """Each of them is a product of DPAS, with its own layout."""
    square = f"{size}x{size}x"
    sums = f"tensor<{square}f16> * tensor<{square}f16> -> tensor<{square}f32>"
    order = "{order = array<i32: 1, 0>}"
    half = f"""%h = arith.truncf %s : tensor<{square}f32> to tensor<{square}f16>
    %ht = tt.trans %h {order} : tensor<{square}f16> -> tensor<{square}f16>
    %u = tt.dot %ht, %x, %zero : {sums}"""
    text = f"""module {{
  tt.func public @k(%a: !tt.ptr<f16>, %b: !tt.ptr<f32>) {{
    %c0 = arith.constant 0 : i32
    %n = arith.constant {size} : i32
    %pitch = arith.constant {size} : i64
    %one = arith.constant 1 : i64
    %zero = arith.constant dense<0.0> : tensor<{square}f32>
    %p = tt.make_tensor_descriptor %a, [%n, %n], [%pitch, %one] : <f16>, <{square}f16>
    %q = tt.make_tensor_descriptor %b, [%n, %n], [%pitch, %one] : <f32>, <{square}f32>
    %x = tt.descriptor_load %p[%c0, %c0] : !tt.tensordesc<{square}f16> -> tensor<{square}f16>
    %y = arith.mulf %x, %x : tensor<{square}f16>
    %s = tt.dot %x, %y, %zero : {sums}
    {half if is_factor else ""}
    %t = tt.dot %y, %x, %zero : {sums}
    %tt = tt.trans %t {order} : tensor<{square}f32> -> tensor<{square}f32>
    %all = arith.addf {"%u" if is_factor else "%s"}, %tt : tensor<{square}f32>
    tt.descriptor_store %q[%c0, %c0], %all : !tt.tensordesc<{square}f32>, tensor<{square}f32>
    tt.return
  }}
}}"""  # noqa: E501
    x = np.random.default_rng(size).integers(-1, 3, (size, size)).astype("f2")
    found = np.zeros((size, size), "f4")
    kernel = of_text(text, "coopc-xe{device=bmg}")
    simulate(kernel, "k", [x, found], grid=(1,))
    assert "xe.dpas" in [op.name for op in kernel.walk()]
    x = x.astype("f4")
    s, t = x @ (x * x), (x * x) @ x
    assert np.array_equal(found, (s.T @ x if is_factor else s) + t.T)


def strided(step: str) -> str:
    """Return a copy of 64 elements, which are some apart, from a moved pointer on."""
    return f"""
    %r = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, #d1>
    %s = {step} tensor<64xi32, #d1>
    %o = arith.muli %r, %s : tensor<64xi32, #d1>
    %p0 = tt.addptr %a, %m : !tt.ptr<f32>, i32
    %p = tt.addptr %p0, %m : !tt.ptr<f32>, i32
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #d1>
    %from = tt.addptr %ps, %o : tensor<64x!tt.ptr<f32>, #d1>, tensor<64xi32, #d1>
    %x = tt.load %from : tensor<64x!tt.ptr<f32>, #d1>
    %q = tt.addptr %b, %m : !tt.ptr<f32>, i32
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #d1>
    %to = tt.addptr %qs, %o : tensor<64x!tt.ptr<f32>, #d1>, tensor<64xi32, #d1>
    tt.store %to, %x : tensor<64x!tt.ptr<f32>, #d1>"""


ANY_STEP = "tt.splat %n : i32 ->"


@pytest.mark.parametrize(("start", "step"), [(0, 1), (63, -1), (70, 1), (126, -2)])
def test_pointers_that_count_down(start: int, step: int) -> None:
    """They may be before the scalar pointer, but not before the argument."""
    a, b = matrix(4), np.zeros((4, 128), "f4")
    found = outputs(strided(ANY_STEP), TWO, [a, b, start, step])
    same(found)
    own = np.arange(64) * step + start
    expected = b.ravel()
    expected[own] = a.ravel()[own + start]
    assert np.array_equal(found[0].ravel(), expected)


def test_pointers_that_count_down_are_one_after_another() -> None:
    """In a loop, the pointers that it carries move to the start."""
    body = """%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #d1>
    %back = arith.constant dense<-64> : tensor<64xi32, #d1>
    %p = tt.addptr %a, %m : !tt.ptr<f32>, i32
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #d1>
    %first = tt.addptr %ps, %r : tensor<64x!tt.ptr<f32>, #d1>, tensor<64xi32, #d1>
    %q = tt.addptr %b, %m : !tt.ptr<f32>, i32
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #d1>
    %last = tt.addptr %qs, %r : tensor<64x!tt.ptr<f32>, #d1>, tensor<64xi32, #d1>
    %ends:2 = scf.for %i = %c0 to %n step %c32 iter_args(%from = %first, %to = %last)
        -> (tensor<64x!tt.ptr<f32>, #d1>, tensor<64x!tt.ptr<f32>, #d1>) : i32 {
      %x = tt.load %from : tensor<64x!tt.ptr<f32>, #d1>
      tt.store %to, %x : tensor<64x!tt.ptr<f32>, #d1>
      %f = tt.addptr %from, %back : tensor<64x!tt.ptr<f32>, #d1>, tensor<64xi32, #d1>
      %t = tt.addptr %to, %back : tensor<64x!tt.ptr<f32>, #d1>, tensor<64xi32, #d1>
      scf.yield %f, %t : tensor<64x!tt.ptr<f32>, #d1>, tensor<64x!tt.ptr<f32>, #d1>
    }"""
    a, b = matrix(4), np.zeros((4, 128), "f4")
    found = outputs(body, TWO, [a, b, 192, 128])
    same(found)
    assert np.array_equal(found[0].ravel()[:256], a.ravel()[:256])


@pytest.mark.parametrize("step", [ANY_STEP, "arith.constant dense<2> :"])
def test_indices_count_from_where_they_are_not_negative(step: str) -> None:
    """From the moved pointer, unless they may be before it."""
    kernel = module(strided(step), TWO, pipeline="coopc-xe{device=bmg}")
    views = [op for op in kernel.walk() if op.name == "memref.reinterpret_cast"]
    moved = [bool(op.operands[1:]) for op in views]
    assert moved == [step != ANY_STEP] * 2


PADDED = f"""{LONG}
    %d = tt.make_tensor_descriptor %a, [%m, %n], [%pl, %one] {{padding = 2 : i32}} : <f32>, <32x32xf32>
    %v = tt.descriptor_load %d[%c0, %c32] {{ttig.block_io = "row_major"}} : !tt.tensordesc<32x32xf32> -> tensor<32x32xf32, #t>
    %e = tt.make_tensor_descriptor %b, [%c32, %c32], [%pl, %one] : <f32>, <32x32xf32>
    tt.descriptor_store %e[%c0, %c0], %v {{ttig.block_io = "row_major"}} : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #t>
"""  # noqa: E501


@pytest.mark.parametrize("layout", ["blocked", "dpas"])
@pytest.mark.parametrize("order", ["row_major", "column_major"])
@pytest.mark.parametrize("sizes", [(32, 64), (20, 50)])
def test_what_is_outside_is_nan(
    sizes: tuple[int, int], order: str, layout: str
) -> None:
    m, n = sizes
    a, b = matrix(32), np.zeros((32, 128), "f4")
    body = PADDED.replace('"row_major"', f'"{order}"', 1)
    found = outputs(body, TWO, [a, b, m, n], layout)
    same(found)
    tile = np.full((32, 32), np.nan, "f4")
    tile[:m, : n - 32] = a[:m, 32:n]
    expected = tile.T if order == "column_major" else tile
    assert np.array_equal(found[0][:, :32], expected, equal_nan=True)


@pytest.mark.parametrize("pad", ["", ", pad_nan"])
@pytest.mark.parametrize("order", ["row_major", "column_major"])
def test_2d_block_load(order: str, pad: str) -> None:
    body = f"""%c2 = arith.constant 2 : i32
    %w = arith.shli %n, %c2 : i32
    %pitch = arith.constant 512 : i32
    %v = ttig.2d_block_load %a, %w, %m, %pitch[%c32, %c0] {{{order}{pad}}} : !tt.ptr<f32> -> tensor<32x32xf32, #t>
    %pl = arith.constant 128 : i64
    %e = tt.make_tensor_descriptor %b, [%c32, %c32], [%pl, %one] : <f32>, <32x32xf32>
    tt.descriptor_store %e[%c0, %c0], %v {{ttig.block_io = "row_major"}} : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #t>
"""  # noqa: E501
    a, b = matrix(20), np.zeros((32, 128), "f4")
    found = outputs(body, TWO, [a, b, 20, 50], "dpas")
    same(found)
    tile = np.full((32, 32), np.nan if pad else 0, "f4")
    tile[:20, :18] = a[:, 32:50]
    expected = tile.T if order == "column_major" else tile
    assert np.array_equal(found[0][:, :32], expected, equal_nan=True)


@pytest.mark.parametrize("mask", ["", "masked"])
def test_2d_block_load_from_pointers(mask: str) -> None:
    body = """%i = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #r>
    %x = tt.expand_dims %i {axis = 1 : i32} : tensor<32xi32, #r> -> tensor<32x1xi32, #t>
    %j = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #t}>>
    %y = tt.expand_dims %j {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #t}>> -> tensor<1x32xi32, #t>
    %c128 = arith.constant dense<128> : tensor<32x1xi32, #t>
    %down = arith.muli %x, %c128 : tensor<32x1xi32, #t>
    %xx = tt.broadcast %down : tensor<32x1xi32, #t> -> tensor<32x32xi32, #t>
    %yy = tt.broadcast %y : tensor<1x32xi32, #t> -> tensor<32x32xi32, #t>
    %at = arith.addi %xx, %yy : tensor<32x32xi32, #t>
    %s = tt.splat %a : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #t>
    %p = tt.addptr %s, %at : tensor<32x32x!tt.ptr<f32>, #t>, tensor<32x32xi32, #t>
    %mm = tt.splat %m : i32 -> tensor<32x1xi32, #t>
    %low = arith.cmpi slt, %x, %mm : tensor<32x1xi32, #t>
    %mask = tt.broadcast %low : tensor<32x1xi1, #t> -> tensor<32x32xi1, #t>
    %other = arith.constant dense<3.0> : tensor<32x32xf32, #t>
    %pitch = arith.constant 512 : i32
    %v = ttig.2d_block_load_from_ptr %p, %pitch, %mask, %other {row_major} {base_height = 8 : i32, base_width = 64 : i32} : (tensor<32x32x!tt.ptr<f32>, #t>, i32, tensor<32x32xi1, #t>, tensor<32x32xf32, #t>) -> tensor<32x32xf32, #t>
    %pl = arith.constant 128 : i64
    %e = tt.make_tensor_descriptor %b, [%c32, %c32], [%pl, %one] : <f32>, <32x32xf32>
    tt.descriptor_store %e[%c0, %c0], %v {ttig.block_io = "row_major"} : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #t>
"""  # noqa: E501
    if not mask:
        body = body.replace("%pitch, %mask, %other", "%pitch").replace(
            "i32, tensor<32x32xi1, #t>, tensor<32x32xf32, #t>) ->", "i32) ->"
        )
    a, b = matrix(32), np.zeros((32, 128), "f4")
    m = 20 if mask else 32
    kernel = module(body, TWO, "dpas", "coopc-xe{device=bmg}")
    out = b.copy()
    simulate(kernel, "k", [a, out, m, 128], grid=(1,))
    expected = np.full((32, 32), 3, "f4")
    expected[:m] = a[:m, :32]
    assert np.array_equal(out[:, :32], expected)
    triton = b.copy()
    simulate(
        with_functions(module(body, TWO, "dpas")), "k", [a, triton, m, 128], grid=(1,)
    )
    assert np.array_equal(out, triton)


def test_a_descriptor_gives_its_numbers() -> None:
    body = """%pl = arith.constant 128 : i64
    %d = tt.make_tensor_descriptor %a, [%m, %n], [%pl, %one] : <f32>, <32x32xf32>
    %rows = ttig.extract_desc %d[0] : <32x32xf32> -> i64
    %pitch = ttig.extract_desc %d[2] : <32x32xf32> -> i64
    %base = ttig.extract_desc %d[4] : <32x32xf32> -> !tt.ptr<f32>
    %r = arith.trunci %rows : i64 to i32
    %e = tt.make_tensor_descriptor %base, [%r, %n], [%pitch, %one] : <f32>, <32x32xf32>
    %v = tt.descriptor_load %e[%c0, %c0] {ttig.block_io = "row_major"} : !tt.tensordesc<32x32xf32> -> tensor<32x32xf32, #t>
    %f = tt.make_tensor_descriptor %b, [%c32, %c32], [%pl, %one] : <f32>, <32x32xf32>
    tt.descriptor_store %f[%c0, %c0], %v {ttig.block_io = "row_major"} : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #t>
"""  # noqa: E501
    a, b = matrix(30), np.zeros((32, 128), "f4")
    found = outputs(body, TWO, [a, b, 30, 40], "dpas")
    same(found)
    assert np.array_equal(found[0][:30, :32], a[:, :32])


@pytest.mark.parametrize("index", [0, 1, 2, -1])
def test_rank_3(index: int) -> None:
    """A matrix out of a stack of them: what is no matrix of it is zero."""
    body = f"""%pl = arith.constant 128 : i64
    %sl = arith.constant 4096 : i64
    %c2 = arith.constant 2 : i32
    %at = arith.constant {index} : i32
    %d = tt.make_tensor_descriptor %a, [%c2, %m, %n], [%sl, %pl, %one] : <f32>, <1x32x32xf32>
    %v = tt.descriptor_load %d[%at, %c0, %c0] {{ttig.block_io = "row_major"}} : !tt.tensordesc<1x32x32xf32> -> tensor<32x32xf32, #t>
    %f = tt.make_tensor_descriptor %b, [%c2, %m, %n], [%sl, %pl, %one] : <f32>, <1x32x32xf32>
    tt.descriptor_store %f[%at, %c0, %c0], %v {{ttig.block_io = "row_major"}} : !tt.tensordesc<1x32x32xf32>, tensor<32x32xf32, #t>
"""  # noqa: E501
    a, b = matrix(64), np.zeros((64, 128), "f4")
    found = outputs(body, TWO, [a, b, 30, 31], "dpas")
    same(found)
    expected = np.zeros((2, 32, 128), "f4")
    if index in (0, 1):
        expected[index, :30, :31] = a.reshape(2, 32, 128)[index, :30, :31]
    assert np.array_equal(found[0].reshape(2, 32, 128), expected)
    names = {op.name for op in module(body, TWO, "dpas", "coopc-xe{device=bmg}").walk()}
    assert {"xe.block_load_2d", "xe.block_store_2d"} <= names


def test_tensors_of_rank_3_and_1() -> None:
    body = """%pl = arith.constant 128 : i64
    %sl = arith.constant 4096 : i64
    %c2 = arith.constant 2 : i32
    %d = tt.make_tensor_descriptor %a, [%c2, %m, %n], [%sl, %pl, %one] {padding = 2 : i32} : <f32>, <2x8x32xf32>
    %v = tt.descriptor_load %d[%c0, %c0, %c32] : !tt.tensordesc<2x8x32xf32> -> tensor<2x8x32xf32, #d3>
    %f = tt.make_tensor_descriptor %b, [%c2, %c32, %c32], [%sl, %pl, %one] : <f32>, <2x8x32xf32>
    tt.descriptor_store %f[%c0, %c0, %c0], %v : !tt.tensordesc<2x8x32xf32>, tensor<2x8x32xf32, #d3>
    %g = tt.make_tensor_descriptor %a, [%n], [%one] : <f32>, <64xf32>
    %w = tt.descriptor_load %g[%c32] : !tt.tensordesc<64xf32> -> tensor<64xf32, #d1>
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %h = tt.make_tensor_descriptor %b, [%c128], [%one] : <f32>, <64xf32>
    tt.descriptor_store %h[%c64], %w : !tt.tensordesc<64xf32>, tensor<64xf32, #d1>
"""  # noqa: E501
    a, b = matrix(64), np.zeros((64, 128), "f4")
    found = outputs(body, TWO, [a, b, 5, 60])
    same(found)
    stack = found[0].reshape(2, 32, 128)
    expected = np.full((2, 8, 32), np.nan, "f4")
    expected[:, :5, :28] = a.reshape(2, 32, 128)[:, :5, 32:60]
    assert np.array_equal(stack[:, :8, :32], expected, equal_nan=True)
    assert np.array_equal(found[0][0, 64:92], a[0, 32:60])
    assert not found[0][0, 92:].any()


@pytest.mark.parametrize("n", [3, 300])
def test_scalars(n: int) -> None:
    body = """%c128 = arith.constant 128 : i32
    %ok = arith.cmpi slt, %n, %c128 : i32
    %seven = arith.constant 7.0 : f32
    %p = tt.addptr %a, %n : !tt.ptr<f32>, i32
    %x = tt.load %p, %ok, %seven : !tt.ptr<f32>
    %y = tt.load %a : !tt.ptr<f32>
    %z = arith.addf %x, %y : f32
    tt.store %b, %z : !tt.ptr<f32>
    %q = tt.addptr %b, %c32 : !tt.ptr<f32>, i32
    tt.store %q, %x, %ok : !tt.ptr<f32>
"""
    a, b = matrix(1), np.zeros((1, 128), "f4")
    found = outputs(body, TWO, [a, b, 1, n])
    same(found)
    x = a[0, n] if n < 128 else 7
    assert found[0][0, 0] == x + a[0, 0]
    assert found[0][0, 32] == (x if n < 128 else 0)


CARRIED = """%c128 = arith.constant 128 : i32
    %pl = arith.constant 128 : i64
    %zero = arith.constant dense<0.0> : tensor<32x32xf32, #t>
    %d = tt.make_tensor_descriptor %a, [%m, %n], [%pl, %one] : <f32>, <32x32xf32>
    %e = tt.make_tensor_descriptor %b, [%c32, %c32], [%pl, %one] : <f32>, <32x32xf32>
    %r:2 = scf.for %i = %c0 to %c128 step %c32 iter_args(%s = %zero, %x = %d)
        -> (tensor<32x32xf32, #t>, !tt.tensordesc<32x32xf32>) : i32 {
      %v = tt.descriptor_load %x[%c0, %i] {ttig.block_io = "row_major"} : !tt.tensordesc<32x32xf32> -> tensor<32x32xf32, #t>
      %w = arith.addf %v, %s : tensor<32x32xf32, #t>
      scf.yield %w, %x : tensor<32x32xf32, #t>, !tt.tensordesc<32x32xf32>
    }
    tt.descriptor_store %e[%c0, %c0], %r#0 {ttig.block_io = "row_major"} : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #t>
"""  # noqa: E501


@pytest.mark.parametrize("layout", ["blocked", "dpas"])
@pytest.mark.parametrize("sizes", [(32, 128), (27, 70)])
def test_a_descriptor_carried_by_a_loop(sizes: tuple[int, int], layout: str) -> None:
    m, n = sizes
    a, b = matrix(32), np.zeros((32, 128), "f4")
    found = outputs(CARRIED, TWO, [a, b, m, n], layout)
    same(found)
    tile = np.zeros((32, 128), "f4")
    tile[:m, :n] = a[:m, :n]
    assert np.array_equal(found[0][:, :32], tile.reshape(32, 4, 32).sum(1))


def test_one_descriptor_chosen_twice() -> None:
    """Both ways of a branch give the same one: that is one origin."""
    chosen = "%f = arith.cmpi sgt, %m, %c32 : i32\n%y = arith.select %f, %d, %d : !tt.tensordesc<32x32xf32>\n"  # noqa: E501
    body = CARRIED.replace("%r:2 =", chosen + "%r:2 =").replace("%x = %d", "%x = %y")
    a, b = matrix(32), np.zeros((32, 128), "f4")
    same(outputs(body, TWO, [a, b, 32, 128], "dpas"))
    found = module(body, TWO, "dpas", "coopc-xe{device=bmg}")
    assert any(op.name == "xe.block_load_2d" for op in found.walk())


@pytest.mark.parametrize("payload", ["all", "prefetch"])
def test_no_payload_of_a_descriptor_that_a_loop_carries(payload: str) -> None:
    fetch = "ttig.descriptor_prefetch %x[%c0, %i] : !tt.tensordesc<32x32xf32>\n"
    body = CARRIED.replace("%v =", fetch + "      %v =", 1)
    options = f"device=bmg payload={payload}"
    found = module(body, TWO, "dpas", f"coopc-xe{{{options}}}")
    names = [op.name for op in found.walk()]
    assert {"xe.block_load_2d", "xe.block_prefetch_2d"} <= set(names)
    assert not any("payload" in name for name in names)


@pytest.mark.parametrize(("type", "k"), [("i8", 64), ("f16", 16)])
def test_messages_whose_slots_hold_more_than_an_operand(type: str, k: int) -> None:
    """A transposed of DPAS of one row: a lane has less of it than 32 bits."""
    ops = 32 // int(type[1:])
    a = f"""#ttg.dot_op<{{opIdx = 0, parent = {DPAS.replace("repeatCount = 8", "repeatCount = 1").replace("opsPerChan = 2", f"opsPerChan = {ops}").replace("repCluster = [1, 1]", "repCluster = [4, 1]")}, kWidth = {ops // 2}}}>"""  # noqa: E501
    body = f"""%pl = arith.constant 128 : i64
    %d = tt.make_tensor_descriptor %a, [%m, %n], [%pl, %one] : <{type}>, <{k}x16x{type}>
    %v = tt.descriptor_load %d[%c0, %c0] {{ttig.block_io = "column_major"}} : !tt.tensordesc<{k}x16x{type}> -> tensor<16x{k}x{type}, {a}>
    %e = tt.make_tensor_descriptor %b, [%c32, %pk], [%pl, %one] : <{type}>, <16x{k}x{type}>
    tt.descriptor_store %e[%c0, %c0], %v : !tt.tensordesc<16x{k}x{type}>, tensor<16x{k}x{type}, {a}>
"""  # noqa: E501
    body = f"%pk = arith.constant {k} : i32\n{body}"
    numpy = {"i8": "i1", "f16": "f2"}[type]
    x, y = matrix(k, type=numpy), np.zeros((32, 128), numpy)
    found = outputs(body, TWO.replace("f32", type), [x, y, k, 128])
    same(found)
    assert np.array_equal(found[0][:16, :k], x[:, :16].T)


@pytest.mark.parametrize(("promise", "at"), [("", "%n"), (BLOCKS, "%c5")])
def test_blocks_that_begin_within_4_bytes(promise: str, at: str) -> None:
    """No message begins there: what is not promised, or is known not to hold."""
    body = f"""%c5 = arith.constant 5 : i32
    %pl = arith.constant 128 : i64
    %d = tt.make_tensor_descriptor %a, [%c32, %m], [%pl, %one] : <f16>, <32x32xf16>
    %v = tt.descriptor_load %d[%c0, {at}] {promise} : !tt.tensordesc<32x32xf16> -> tensor<32x32xf16, #t>
    %e = tt.make_tensor_descriptor %b, [%c32, %m], [%pl, %one] : <f16>, <32x32xf16>
    tt.descriptor_store %e[%c0, {at}], %v {promise} : !tt.tensordesc<32x32xf16>, tensor<32x32xf16, #t>
"""  # noqa: E501
    a, b = matrix(32, type="f2"), np.zeros((32, 128), "f2")
    found = outputs(body, TWO.replace("f32", "f16"), [a, b, 128, 5], "dpas")
    same(found)
    assert np.array_equal(found[0][:, 5:37], a[:, 5:37])


def test_many_elements_of_a_lane_are_little_code() -> None:
    """Each of 32 lanes copies 256 elements, masked, of columns in pairs."""
    rows, cols = 128, 64
    text = f"""
#b = #ttg.blocked<{{sizePerThread = [1, 2], threadsPerWarp = [1, 32],
                   warpsPerCTA = [1, 1], order = [1, 0]}}>
#r = #ttg.slice<{{dim = 1, parent = #b}}>
#c = #ttg.slice<{{dim = 0, parent = #b}}>
module attributes {{"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k(%a: !tt.ptr<i8>, %b: !tt.ptr<i8>, %n: i32) {{
    %0 = tt.make_range {{start = 0 : i32, end = {rows} : i32}} : tensor<{rows}xi32, #r>
    %1 = tt.expand_dims %0 {{axis = 1 : i32}}
       : tensor<{rows}xi32, #r> -> tensor<{rows}x1xi32, #b>
    %2 = arith.constant dense<{cols}> : tensor<{rows}x1xi32, #b>
    %3 = arith.muli %1, %2 : tensor<{rows}x1xi32, #b>
    %4 = tt.make_range {{start = 0 : i32, end = {cols} : i32}} : tensor<{cols}xi32, #c>
    %5 = tt.expand_dims %4 {{axis = 0 : i32}}
       : tensor<{cols}xi32, #c> -> tensor<1x{cols}xi32, #b>
    %6 = tt.broadcast %3 : tensor<{rows}x1xi32, #b> -> tensor<{rows}x{cols}xi32, #b>
    %7 = tt.broadcast %5 : tensor<1x{cols}xi32, #b> -> tensor<{rows}x{cols}xi32, #b>
    %8 = arith.addi %6, %7 : tensor<{rows}x{cols}xi32, #b>
    %9 = tt.splat %n : i32 -> tensor<{rows}x{cols}xi32, #b>
    %m = arith.cmpi slt, %8, %9 : tensor<{rows}x{cols}xi32, #b>
    %p = tt.splat %a : !tt.ptr<i8> -> tensor<{rows}x{cols}x!tt.ptr<i8>, #b>
    %q = tt.addptr %p, %8
       : tensor<{rows}x{cols}x!tt.ptr<i8>, #b>, tensor<{rows}x{cols}xi32, #b>
    %v = tt.load %q, %m : tensor<{rows}x{cols}x!tt.ptr<i8>, #b>
    %s = tt.splat %b : !tt.ptr<i8> -> tensor<{rows}x{cols}x!tt.ptr<i8>, #b>
    %t = tt.addptr %s, %8
       : tensor<{rows}x{cols}x!tt.ptr<i8>, #b>, tensor<{rows}x{cols}xi32, #b>
    tt.store %t, %v, %m : tensor<{rows}x{cols}x!tt.ptr<i8>, #b>
    tt.return
  }}
}}
"""
    kernel = of_text(text, "coopc-xe{device=bmg}")
    assert len(list(kernel.walk())) < 1500  # where 256 of each would be over 5,000
    a = np.random.default_rng(2).integers(-99, 99, (rows, cols)).astype("i1")
    b, n = np.zeros_like(a), 5000
    simulate(kernel, "k", [a, b, n], grid=(1,))
    assert np.array_equal(b.ravel()[:n], a.ravel()[:n])
    assert not b.ravel()[n:].any()


def test_descriptors_that_the_host_makes() -> None:
    """A base, sizes and all strides but the last, which is 1, are arguments instead."""
    body = """%v = tt.descriptor_load %x[%c32, %c0] {ttig.block_io = "row_major"}
       : !tt.tensordesc<32x32xf32> -> tensor<32x32xf32, #t>
    %f = tt.splat %n : f32 -> tensor<32x32xf32, #t>
    %w = arith.addf %v, %f : tensor<32x32xf32, #t>
    tt.descriptor_store %y[%c0, %c32], %w {ttig.block_io = "row_major"}
       : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #t>"""
    types = "!tt.tensordesc<32x32xf32>"
    arguments = f"%x: {types}, %n: f32 {{tt.divisibility = 1 : i32}}, %y: {types}"
    a = np.random.default_rng(3).standard_normal((50, 64)).astype("f4")
    expected = np.zeros((32, 64), "f4")
    expected[:18, 32:] = a[32:, :32]
    expected[:, 32:] += 2
    for pipeline in ("", "coopc-xe{device=bmg fallback=true}"):
        kernel = module(body, arguments, "dpas", pipeline)
        names = [op.sym_name.data for op in kernel.ops if isinstance(op, FuncOp)]
        for name in names or ["k"]:
            b = np.zeros_like(expected)
            given = [a, 50, 64, 64, 2.0, b, 32, 64, 64]
            if pipeline:
                simulate(kernel, name, given, grid=(1,))
            else:
                simulate(with_functions(kernel), name, given, grid=(1,))
            assert np.array_equal(b, expected), name
        if names:
            assert names == ["k", "k.fallback"]
            assert "xe.block_load_2d" in {op.name for op in kernel.walk()}
            (func, _) = kernel.ops
            assert isinstance(func, FuncOp)
            hints = [arg.name_hint for arg in func.args]
            assert hints[:5] == ["x", "x_shape0", "x_shape1", "x_stride0", "n"]
