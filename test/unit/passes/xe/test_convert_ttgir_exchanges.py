"""Tensors that change their layout or are reduced, simulated before and after."""

import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.dialects import xe
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run import opencl
from coopc.run.execute import on_opencl
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

DPAS = (
    "#ttig.dpas<{repeatCount = 8, systolicDepth = 8, executionSize = 16, "
    "opsPerChan = 2, threadsPerWarp = 16, warpsPerCTA = [2, 2], repCluster = [1, 1]}>"
)


def blocked(size: str, lanes: str, warps: str, order: str = "[1, 0]") -> str:
    return (
        f"#ttg.blocked<{{sizePerThread = {size}, threadsPerWarp = {lanes}, "
        f"warpsPerCTA = {warps}, order = {order}}}>"
    )


LAYOUTS = {
    "rows": blocked("[1, 4]", "[4, 4]", "[4, 1]"),
    "columns": blocked("[4, 1]", "[4, 4]", "[4, 1]", "[0, 1]"),
    "along": blocked("[1, 2]", "[1, 16]", "[1, 4]"),
    "tall": blocked("[2, 1]", "[16, 1]", "[2, 2]"),
    "dpas": DPAS,
    "a": f"#ttg.dot_op<{{opIdx = 0, parent = {DPAS}, kWidth = 1}}>",
    "b": f"#ttg.dot_op<{{opIdx = 1, parent = {DPAS}, kWidth = 2}}>",
}
ROWS, COLS = 32, 32


def address(name: str, pointer: str, type: str) -> str:
    """Return pointers %p_name to a matrix of ROWS x COLS in layout #name."""
    n, e = name, f"#{name}"
    r, c = (f"#ttg.slice<{{dim = {d}, parent = {e}}}>" for d in (1, 0))
    shape = f"{ROWS}x{COLS}"
    return f"""
    %i_{n} = tt.make_range {{end = {ROWS} : i32, start = 0 : i32}} : tensor<{ROWS}xi32, {r}>
    %j_{n} = tt.make_range {{end = {COLS} : i32, start = 0 : i32}} : tensor<{COLS}xi32, {c}>
    %k_{n} = arith.constant dense<{COLS}> : tensor<{ROWS}xi32, {r}>
    %ik_{n} = arith.muli %i_{n}, %k_{n} : tensor<{ROWS}xi32, {r}>
    %x_{n} = tt.expand_dims %ik_{n} {{axis = 1 : i32}} : tensor<{ROWS}xi32, {r}> -> tensor<{ROWS}x1xi32, {e}>
    %y_{n} = tt.expand_dims %j_{n} {{axis = 0 : i32}} : tensor<{COLS}xi32, {c}> -> tensor<1x{COLS}xi32, {e}>
    %xx_{n} = tt.broadcast %x_{n} : tensor<{ROWS}x1xi32, {e}> -> tensor<{shape}xi32, {e}>
    %yy_{n} = tt.broadcast %y_{n} : tensor<1x{COLS}xi32, {e}> -> tensor<{shape}xi32, {e}>
    %xy_{n} = arith.addi %xx_{n}, %yy_{n} : tensor<{shape}xi32, {e}>
    %s_{n} = tt.splat {pointer} : !tt.ptr<{type}> -> tensor<{shape}x!tt.ptr<{type}>, {e}>
    %p_{n} = tt.addptr %s_{n}, %xy_{n} : tensor<{shape}x!tt.ptr<{type}>, {e}>, tensor<{shape}xi32, {e}>
"""  # noqa: E501


def kernel(body: str, arguments: str) -> str:
    aliases = "\n".join(f"#{name} = {text}" for name, text in LAYOUTS.items())
    return f"""{aliases}
module attributes {{"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32}} {{
  tt.func public @k({arguments}) {{{body}
    tt.return
  }}
}}
"""


def module(text: str, pipeline: str = "") -> ModuleOp:
    universe = everything()
    ctx = new_context(universe)
    source = Source(text, "kernel")
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(pipeline, universe.all_passes))
    return found


@cache
def conversion(source: str, target: str, type: str) -> ModuleOp:
    shape = f"{ROWS}x{COLS}"
    first, second = f"#{source}", f"#{target}"
    body = f"""{address(source, "%a", type)}
    {address(target, "%b", type) if source != target else ""}
    %v = tt.load %p_{source} : tensor<{shape}x!tt.ptr<{type}>, {first}>
    %w = ttg.convert_layout %v : tensor<{shape}x{type}, {first}> -> tensor<{shape}x{type}, {second}>
    %n = arith.add{"f" if "f" in type else "i"} %w, %w : tensor<{shape}x{type}, {second}>
    tt.store %p_{target}, %n : tensor<{shape}x!tt.ptr<{type}>, {second}>
"""  # noqa: E501
    text = kernel(body, f"%a: !tt.ptr<{type}>, %b: !tt.ptr<{type}>")
    return module(text, "coopc-xe{device=bmg fallback=true}")


PAIRS = [(x, y) for x, y in product(LAYOUTS, LAYOUTS) if x != y]


@pytest.mark.parametrize("type", ["f32", "f16"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_convert_layout(source: str, target: str, type: str) -> None:
    found = conversion(source, target, type)
    entries = [op.sym_name.data for op in found.ops if isinstance(op, FuncOp)]
    # A factor of DPAS is loaded as one, by 2D blocks, whose base is to be aligned: what
    # is for any memory converts it. Else there is nothing that memory has to be.
    is_factor = target in ("a", "b")
    assert entries == ["k", "k.fallback"][: 1 + is_factor]
    blocks = [op for op in found.walk() if isinstance(op, xe.BlockLoad2DOp)]
    assert bool(blocks) == is_factor
    numpy = f"f{int(type[1:]) // 8}"
    a = np.random.default_rng(1).integers(-99, 100, (ROWS, COLS)).astype(numpy)
    for entry in entries:
        b = np.zeros_like(a)
        simulate(found, entry, [a, b], grid=(1,))
        assert np.array_equal(b, a + a)


def reduction(layout: str, axis: int, type: str, region: str) -> str:
    """A reduction of a matrix, whose result is stored by one row or column."""
    shape, e = f"{ROWS}x{COLS}", f"#{layout}"
    n = (ROWS, COLS)[1 - axis]
    s = f"#ttg.slice<{{dim = {axis}, parent = {e}}}>"
    return kernel(
        f"""{address(layout, "%a", type)}
    %v = tt.load %p_{layout} : tensor<{shape}x!tt.ptr<{type}>, {e}>
    %r = "tt.reduce"(%v) <{{axis = {axis} : i32}}> ({{
    ^bb0(%x: {type}, %y: {type}):
      {region}
      tt.reduce.return %z : {type}
    }}) : (tensor<{shape}x{type}, {e}>) -> tensor<{n}x{type}, {s}>
    %at = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32, {s}>
    %base = tt.splat %b : !tt.ptr<{type}> -> tensor<{n}x!tt.ptr<{type}>, {s}>
    %to = tt.addptr %base, %at : tensor<{n}x!tt.ptr<{type}>, {s}>, tensor<{n}xi32, {s}>
    tt.store %to, %r : tensor<{n}x!tt.ptr<{type}>, {s}>
""",
        f"%a: !tt.ptr<{type}>, %b: !tt.ptr<{type}>, %limit: {type}",
    )


REGIONS: dict[str, tuple[str, str, Any]] = {
    "sum": ("i32", "%z = arith.addi %x, %y : i32", np.add),
    "max": ("f32", "%z = arith.maxnumf %x, %y : f32", np.maximum),
    "least": ("i32", "%z = arith.minsi %x, %y : i32", np.minimum),
    "and": ("i32", "%z = arith.andi %x, %y : i32", np.bitwise_and),
    "custom": (
        "i32",
        "%s = arith.addi %x, %y : i32\n%c = arith.constant 7 : i32\n"
        "%t = arith.xori %s, %c : i32\n%u = arith.xori %t, %c : i32\n"
        "%m = arith.minsi %u, %limit : i32\n%q = arith.cmpi slt, %u, %m : i32\n"
        "%z = arith.select %q, %m, %u : i32",
        np.add,
    ),
}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reduce(layout: str, axis: int, region: str) -> None:
    type, text, function = REGIONS[region]
    source = reduction(layout, axis, type, text)
    a = np.random.default_rng(axis).integers(-99, 100, (ROWS, COLS))
    a = a.astype("i4" if type == "i32" else "f4")
    limit = 1 << 20 if type == "i32" else 0.0
    expected = function.reduce(a, axis=axis)
    for pipeline in ("", "coopc-xe{device=bmg}"):
        b = np.zeros((ROWS, COLS)[1 - axis], a.dtype)
        found = module(source, pipeline)
        if pipeline:
            simulate(found, "k", [a, b, limit], grid=(1,))
        else:
            simulate(with_functions(found), "k", [a, b, limit], grid=(1,))
        assert np.array_equal(b, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reduce_to_a_scalar(layout: str) -> None:
    """Rows first, then what is left; the scalar goes into all elements."""
    shape, e = f"{ROWS}x{COLS}", f"#{layout}"
    s = f"#ttg.slice<{{dim = 1, parent = {e}}}>"
    text = kernel(
        f"""{address(layout, "%a", "i32")}
    %v = tt.load %p_{layout} : tensor<{shape}x!tt.ptr<i32>, {e}>
    %r = "tt.reduce"(%v) <{{axis = 1 : i32}}> ({{
    ^bb0(%x: i32, %y: i32):
      %z = arith.addi %x, %y : i32
      tt.reduce.return %z : i32
    }}) : (tensor<{shape}xi32, {e}>) -> tensor<{ROWS}xi32, {s}>
    %q = "tt.reduce"(%r) <{{axis = 0 : i32}}> ({{
    ^bb0(%x: i32, %y: i32):
      %z = arith.maxsi %x, %y : i32
      tt.reduce.return %z : i32
    }}) : (tensor<{ROWS}xi32, {s}>) -> i32
    %all = tt.splat %q : i32 -> tensor<{shape}xi32, {e}>
    tt.store %p_{layout}, %all : tensor<{shape}x!tt.ptr<i32>, {e}>
""",
        "%a: !tt.ptr<i32>",
    )
    a = np.random.default_rng(3).integers(-99, 100, (ROWS, COLS)).astype("i4")
    expected = a.sum(1).max()
    simulate(module(text, "coopc-xe{device=bmg}"), "k", [a], grid=(1,))
    assert (a == expected).all()


def test_a_scalar_that_is_updated() -> None:
    """All subgroups load it, and one stores it, in each round."""
    text = kernel(
        """
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %n step %one : i32 {
      %v = tt.load %a : !tt.ptr<i32>
      %w = arith.addi %v, %v : i32
      tt.store %a, %w : !tt.ptr<i32>
    }
""",
        "%a: !tt.ptr<i32>, %n: i32",
    )
    a = np.array(3, np.int32)
    simulate(module(text, "coopc-xe{device=bmg}"), "k", [a, np.int32(5)], grid=(1,))
    assert a == 3 * 2**5


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scan(layout: str, axis: int) -> None:
    """Maps x -> a x + b in order, which is not commutative; along rows backwards."""
    shape, e = f"{ROWS}x{COLS}", f"#{layout}"
    a = np.random.default_rng(1).integers(-9, 10, (ROWS, COLS))
    backwards = axis == 1
    how = f"axis = {axis} : i32, reverse = {str(backwards).lower()}"
    body = f"""{address(layout, "%a", "i32")}
    %v = tt.load %p_{layout} : tensor<{shape}x!tt.ptr<i32>, {e}>
    %seven = arith.constant dense<7> : tensor<{shape}xi32, {e}>
    %w = arith.xori %v, %seven : tensor<{shape}xi32, {e}>
    %r:2 = "tt.scan"(%v, %w) <{{{how}}}> ({{
    ^bb0(%x0: i32, %x1: i32, %y0: i32, %y1: i32):
      %s = arith.muli %x0, %y0 : i32
      %t = arith.muli %x1, %y0 : i32
      %u = arith.addi %t, %y1 : i32
      tt.scan.return %s, %u : i32, i32
    }}) : (tensor<{shape}xi32, {e}>, tensor<{shape}xi32, {e}>)
       -> (tensor<{shape}xi32, {e}>, tensor<{shape}xi32, {e}>)
    %d = arith.addi %r#0, %r#1 : tensor<{shape}xi32, {e}>
    tt.store %p_{layout}, %d : tensor<{shape}x!tt.ptr<i32>, {e}>
"""
    given = a.astype("i4")
    along = np.moveaxis(given, axis, 0)
    along = along[::-1] if backwards else along
    sums = [(along[0], along[0] ^ 7)]
    with np.errstate(over="ignore"):
        for y in along[1:]:
            x0, x1 = sums[-1]
            sums.append((x0 * y, x1 * y + (y ^ 7)))
        ends = np.stack([x + y for x, y in sums])
    ends = ends[::-1] if backwards else ends
    simulate(
        module(kernel(body, "%a: !tt.ptr<i32>"), "coopc-xe{device=bmg}"),
        "k",
        [given],
        grid=(1,),
    )
    assert np.array_equal(given, np.moveaxis(ends, 0, axis))


SEVERAL = f"""{address("rows", "%a", "i32")}{address("along", "%b", "i32")}
    %v = tt.load %p_rows : tensor<32x32x!tt.ptr<i32>, #rows>
    %w = ttg.convert_layout %v : tensor<32x32xi32, #rows> -> tensor<32x32xi32, #along>
    %n = arith.trunci %v : tensor<32x32xi32, #rows> to tensor<32x32xi8, #rows>
    %m = ttg.convert_layout %n : tensor<32x32xi8, #rows> -> tensor<32x32xi8, #along>
    %o = arith.extsi %m : tensor<32x32xi8, #along> to tensor<32x32xi32, #along>
    %f = arith.sitofp %o : tensor<32x32xi32, #along> to tensor<32x32xf16, #along>
    %r:2 = "tt.reduce"(%f, %w) <{{axis = 1 : i32}}> ({{
    ^bb0(%x0: f16, %x1: i32, %y0: f16, %y1: i32):
      %g = arith.maxnumf %x0, %y0 : f16
      %h = arith.addi %x1, %y1 : i32
      tt.reduce.return %g, %h : f16, i32
    }}) : (tensor<32x32xf16, #along>, tensor<32x32xi32, #along>)
       -> (tensor<32xf16, #s>, tensor<32xi32, #s>)
    %i = arith.fptosi %r#0 : tensor<32xf16, #s> to tensor<32xi32, #s>
    %j = arith.addi %i, %r#1 : tensor<32xi32, #s>
    %k = tt.expand_dims %j {{axis = 1 : i32}} : tensor<32xi32, #s> -> tensor<32x1xi32, #along>
    %l = tt.broadcast %k : tensor<32x1xi32, #along> -> tensor<32x32xi32, #along>
    %q = arith.addi %l, %w : tensor<32x32xi32, #along>
    tt.store %p_along, %q : tensor<32x32x!tt.ptr<i32>, #along>
"""  # noqa: E501


def test_uses_of_several_types_share_memory(intel_cpu: opencl.Session) -> None:
    """What is there at a time is beside each other, all else at one place."""
    parent = LAYOUTS["along"]
    alias = f"#s = #ttg.slice<{{dim = 1, parent = {parent}}}>\n"
    text = alias + kernel(SEVERAL, "%a: !tt.ptr<i32>, %b: !tt.ptr<i32>")
    a = np.random.default_rng(5).integers(-99, 100, (ROWS, COLS)).astype("i4")
    expected = a + a.max(1, keepdims=True) + a.sum(1, keepdims=True)
    found = module(text, "coopc-xe{device=bmg}")
    (whole,) = (op for op in found.walk() if isinstance(op, memref.AllocaOp))
    assert "memref<4096xi8" in str(whole.memref.type)
    assert "@k.scratch" in coopc.compile(text, "coopc-xe{device=bmg}", "llvm-ir").text
    b = np.zeros_like(a)
    simulate(found, "k", [a, b], grid=(1,))
    assert np.array_equal(b, expected)
    options = "coopc-xe{device=bmg emulate=true}"
    artifact = coopc.compile(text, options, "spirv-binary")
    (interface,) = artifact.interface
    call = pack(interface, [a, np.zeros_like(a)], (1, 1, 1))
    assert np.array_equal(
        on_opencl(artifact.bytes, call, intel_cpu).arrays[1], expected
    )


def test_what_is_there_at_a_time_fits() -> None:
    """The limit is for a use, not for each of its results."""
    layout = blocked("[1, 1]", "[1, 16]", "[1, 4]")
    s, e, n = "#ttg.slice<{dim = 1, parent = #e}>", "#e", 4096
    text = f"""#e = {layout}
module attributes {{"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32}} {{
  tt.func public @k(%x: i32, %p: !tt.ptr<i32>) {{
    %v = tt.splat %x : i32 -> tensor<{n}x64xi32, {e}>
    %r:2 = "tt.reduce"(%v, %v) <{{axis = 1 : i32}}> ({{
    ^bb0(%x0: i32, %x1: i32, %y0: i32, %y1: i32):
      tt.reduce.return %x0, %x1 : i32, i32
    }}) : (tensor<{n}x64xi32, {e}>, tensor<{n}x64xi32, {e}>)
       -> (tensor<{n}xi32, {s}>, tensor<{n}xi32, {s}>)
    %q = tt.splat %p : !tt.ptr<i32> -> tensor<{n}x!tt.ptr<i32>, {s}>
    tt.store %q, %r#0 : tensor<{n}x!tt.ptr<i32>, {s}>
    tt.return
  }}
}}
"""
    limit = r"tt\.reduce: expected at most 65536 bytes .* got 131072"
    with pytest.raises(CompileError, match=limit):
        module(text, "coopc-xe{device=bmg}")


SHARED = """#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1,
                                order = [1, 0]}>
#turned = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#three = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 1, 0]}>
#smem = #ttg.shared_memory
"""
FIXED, MUTABLE = (
    f"!ttg.memdesc<32x32xT, #shared, #smem{mutable}>" for mutable in ("", ", mutable")
)
TURNED = "!ttg.memdesc<32x32xT, #turned, #smem, mutable>"
STAGED = f"""{address("rows", "%a", "T")}{address("along", "%b", "T")}
    %v = tt.load %p_rows : tensor<32x32x!tt.ptr<T>, #rows>
    %m = ttg.local_alloc %v : (tensor<32x32xT, #rows>) -> {FIXED}
    %n = ttg.local_alloc : () -> {MUTABLE}
    %t = ttg.memdesc_trans %n {{order = array<i32: 1, 0>}} : {MUTABLE} -> {TURNED}
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %z = arith.constant dense<0.0> : tensor<32x32xT, #along>
    %s = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %z)
        -> (tensor<32x32xT, #along>) : i32 {{
      %w = ttg.local_load %m : {FIXED} -> tensor<32x32xT, #columns>
      ttg.local_store %w, %n : tensor<32x32xT, #columns> -> {MUTABLE}
      %x = ttg.local_load %t : {TURNED} -> tensor<32x32xT, #along>
      %next = arith.addf %sum, %x : tensor<32x32xT, #along>
      scf.yield %next : tensor<32x32xT, #along>
    }}
    ttg.local_dealloc %n : {MUTABLE}
    tt.store %p_along, %s : tensor<32x32x!tt.ptr<T>, #along>
"""


@pytest.mark.parametrize("type", ["f32", "f16"])
def test_tensors_go_through_buffers(type: str) -> None:
    text = SHARED + kernel(STAGED, "%a: !tt.ptr<T>, %b: !tt.ptr<T>")
    text = text.replace("xT,", f"x{type},").replace("<T>", f"<{type}>")
    dtype = {"f32": "f4", "f16": "f2"}[type]
    a = np.random.default_rng(6).integers(-99, 100, (ROWS, COLS)).astype(dtype)
    for pipeline in ("", "coopc-xe{device=bmg}"):
        b = np.zeros_like(a)
        found = module(text, pipeline)
        if pipeline:
            simulate(found, "k", [a, b], grid=(1,))
        else:
            simulate(with_functions(found), "k", [a, b], grid=(1,))
        assert np.array_equal(b, 3 * a.T)


LARGE, SEVERAL_OF = (
    f"!ttg.memdesc<{size}xf32, #three, #smem, mutable>" for size in ("4x64x64", "3x8x8")
)
PART = "!ttg.memdesc<8x8xf32, #shared, #smem, mutable>"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            f"%m = ttg.local_alloc : () -> {LARGE}\n"
            f"%n = ttg.local_alloc : () -> {LARGE}",
            "ttg.local_alloc: expected at most 65536 bytes of work-group memory for "
            "the buffers of a kernel, got 131072 so far",
        ),
        (
            f"%m = ttg.local_alloc : () -> {SEVERAL_OF}\n"
            "%c = arith.constant 1 : i32\n"
            f"%n = ttg.memdesc_index %m[%c] : {SEVERAL_OF} -> {PART}\n"
            f"%x = ttg.local_load %n : {PART} -> tensor<8x8xf32, #rows>\n"
            f"ttg.local_store %x, %n : tensor<8x8xf32, #rows> -> {PART}",
            "ttg.memdesc_index: it is not converted to xe",
        ),
    ],
)
def test_buffers_that_are_refused(body: str, message: str) -> None:
    text = SHARED + kernel(body, "%a: !tt.ptr<f32>")
    with pytest.raises(CompileError, match=re.escape(message)):
        module(text, "coopc-xe{device=bmg}")
