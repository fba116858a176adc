"""Tensors that no DPAS takes, loaded and stored by 2D block messages, simulated."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

ROWS, COLS = 64, 128
TYPES = {"i8": "i1", "f16": "f2", "f32": "f4"}


def text(element: str, size: str, threads: str, order: str, warps: int) -> str:
    """Return a kernel that copies a matrix, a tile at a time."""
    layout = (
        f"sizePerThread = {size}, threadsPerWarp = {threads}, "
        f"warpsPerCTA = [{warps}, {warps}], order = [1, 0]"
    )
    memory = (ROWS, COLS) if order == "row_major" else (COLS, ROWS)
    sizes = "%m, %n" if order == "row_major" else "%n, %m"
    at = "%y, %x" if order == "row_major" else "%x, %y"
    block = "x".join(map(str, memory))
    tensor = f"tensor<{ROWS}x{COLS}x{element}, #blocked>"
    desc = f"!tt.tensordesc<{block}x{element}>"
    stored = f"<{element}>, <{ROWS}x{COLS}x{element}>"
    return f"""
    #blocked = #ttg.blocked<{{{layout}}}>
    module attributes {{"ttg.num-warps" = {warps * warps} : i32,
                        "ttg.threads-per-warp" = 16 : i32}} {{
      tt.func public @copy(%p: !tt.ptr<{element}>, %q: !tt.ptr<{element}>,
                           %m: i32, %n: i32, %lda: i64, %ldb: i64) {{
        %one = arith.constant 1 : i64
        %tile_m = arith.constant {ROWS} : i32
        %tile_n = arith.constant {COLS} : i32
        %pid_m = tt.get_program_id x : i32
        %pid_n = tt.get_program_id y : i32
        %y = arith.muli %pid_m, %tile_m : i32
        %x = arith.muli %pid_n, %tile_n : i32
        %a = tt.make_tensor_descriptor %p, [{sizes}],
            [%lda, %one] : <{element}>, <{block}x{element}>
        %b = tt.make_tensor_descriptor %q, [%m, %n], [%ldb, %one] : {stored}
        %0 = tt.descriptor_load %a[{at}] {{ttig.block_io = "{order}"}}
            : {desc} -> {tensor}
        tt.descriptor_store %b[%y, %x], %0 {{ttig.block_io = "row_major"}}
            : !tt.tensordesc<{ROWS}x{COLS}x{element}>, {tensor}
        tt.return
      }}
    }}"""


def compiled(source: str) -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    text = Source(source, "test")
    found = parse(ctx, text)
    passes = read_passes("coopc-xe{device=bmg}", universe.all_passes)
    Run(ctx, text).apply(found, passes)
    return found


CASES = [
    # elements of a lane, lanes, order; messages of loads and of stores, of one subgroup
    ("f16", "[1, 4]", "[2, 8]", "row_major", "64, 32x8x1", "64, 8x8x1"),
    ("f16", "[1, 2]", "[1, 16]", "row_major", "16, 32x32x1", "16, 8x32x1"),
    ("f16", "[1, 1]", "[1, 16]", "row_major", "16, 32x16x2", "16, 8x16x1"),
    ("f32", "[1, 1]", "[2, 8]", "row_major", "32, 32x8x2", "32, 8x8x1"),
    ("i8", "[1, 4]", "[1, 16]", "row_major", "8, 32x64x1", "8, 8x64x1"),
    ("i8", "[1, 8]", "[4, 4]", "row_major", "64, 32x4x1", "64, 8x4x1"),
    ("f32", "[1, 1]", "[16, 1]", "column_major", "32, 32x16x1", None),
    ("f16", "[2, 1]", "[1, 16]", "column_major", "32, 32x8x1, transpose", "16, 8x16x1"),
]


def blocks(module: ModuleOp, name: str) -> set[str]:
    """Return the shapes of the messages of a kind."""
    return {str(x.properties["block"]) for x in module.walk() if x.name == name}


@pytest.mark.parametrize("warps", [1, 2])
@pytest.mark.parametrize("sizes", [(64, 128), (144, 176)])
@pytest.mark.parametrize(
    ("element", "size", "threads", "order", "load", "store"), CASES
)
def test_copy(
    element: str,
    size: str,
    threads: str,
    order: str,
    load: str,
    store: str | None,
    sizes: tuple[int, int],
    warps: int,
) -> None:
    module = compiled(text(element, size, threads, order, warps))
    found = blocks(module, "xe.block_load_2d"), blocks(module, "xe.block_store_2d")
    if warps == 1:
        stores = set[str]() if store is None else {f"#xe.block<{store}>"}
        assert found == ({f"#xe.block<{load}>"}, stores)
    else:
        # Rows of several subgroups alternate: no message takes more than one's.
        assert found[0]
    m, n = sizes
    random = np.random.default_rng(m)
    a = random.integers(-100, 100, sizes).astype(TYPES[element])
    in_memory = np.ascontiguousarray(a if order == "row_major" else a.T)
    b = np.zeros_like(a)
    arguments = [in_memory, b, m, n, in_memory.shape[1], n]
    grid = (-(-m // ROWS), -(-n // COLS))
    simulate(module, "copy", arguments, grid=grid)
    assert np.array_equal(a, b)
