"""coopc-cpu of linalg.matmul: exact for sizes of all kinds, and what LLVM writes."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.native import best_or_emulated, run_program
from xdsl.dialects.builtin import ModuleOp

from coopc.compiler import new_context
from coopc.device import device
from coopc.diagnostic import CompileError
from coopc.emit.llvm.module import emit_module
from coopc.emit.llvm.types import Facts
from coopc.generate.gemms import Gemm
from coopc.interface import Interface
from coopc.launcher import LaunchTarget, build
from coopc.llvm.text import text
from coopc.parsing import parse
from coopc.passes.cpu.stages import Stages
from coopc.pipeline import Run, flatten
from coopc.pipelines import CoopcAmxPass, CoopcCpuPass
from coopc.run.cpu import Program, steps_of
from coopc.run.native import optimised
from coopc.run.tiles import Tiles, cpu_flags, lacking
from coopc.sim.numerics import to_bf16
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

TYPES = {
    **{"f32": "f32", "f64": "f64", "f16": "f32", "bf16": "f32"},
    **{"s8": "i32", "u8": "i32"},
}
DTYPES = {
    **{"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.float32},
    **{"s8": np.int8, "u8": np.uint8, "i32": np.int32},
}
DOTS = {"bf16": "avx512bf16", "s8": "avx512vnni"}
"""The features that products of a type are for."""
MAPS = {
    "plain": ("m, k", "k, n"),
    "transposed A": ("k, m", "k, n"),
    "transposed B": ("m, k", "n, k"),
}


def program(
    element: str,
    fill: bool = True,
    maps: str = "plain",
    batched: bool = False,
    size: str = "?",
    rows: str | None = None,
) -> str:
    """`C = A * B`, or `C += A * B`, as a linalg.generic; rows are those of A and C."""
    sum, b = TYPES[element], "b, " * batched
    of, lead = element.replace("s8", "i8"), "?x" * batched
    of, kind, extend = of.replace("u8", "i8"), "f", "extf"
    if of == "i8":
        kind, extend = "i", "extsi" if element == "s8" else "extui"
    m = rows or size
    a, b_, total = (
        f"memref<{lead}{x}x{size}x{y}>" for x, y in ((m, of), (size, of), (m, sum))
    )
    loops = f"({b}m, n, k)"
    reads = [f"affine_map<{loops} -> ({b}{x})>" for x in (*MAPS[maps], "m, n")]
    kinds = ['"parallel"'] * (2 + batched) + ['"reduction"']
    wide = [f"%{x}_ = arith.{extend} %{x} : {of} to {sum}" for x in "xy"]
    x, y = ("%x_", "%y_") if sum != element else ("%x", "%y")
    filled = f"linalg.fill ins(%z : {sum}) outs(%c : {total})" if fill else ""
    return f"""func.func @mm(%a: {a}, %b: {b_}, %c: {total}) {{
      %z = arith.constant {"5" if kind == "i" else "5.0"} : {sum}
      {filled}
      linalg.generic {{indexing_maps = [{", ".join(reads)}],
          iterator_types = [{", ".join(kinds)}]}}
          ins(%a, %b : {a}, {b_}) outs(%c : {total}) {{
        ^bb0(%x: {of}, %y: {of}, %s: {sum}):
          {" ".join(wide) if sum != element else ""}
          %p = arith.mul{kind} {x}, {y} : {sum}
          %t = arith.add{kind} %s, %p : {sum}
          linalg.yield %t : {sum}
      }}
      func.return
    }}"""


def compiled(
    source: str, pipeline: CoopcCpuPass | CoopcAmxPass, *, tiled: bool = True
) -> ModuleOp:
    ctx, text = new_context(everything()), Source(source, "test")
    module = parse(ctx, text)
    Run(ctx, text).apply(module, flatten([pipeline]))
    assert (".multiply" in str(module)) == tiled
    return module


def check(
    found: Program,
    element: str,
    fill: bool,
    maps: str,
    shape: tuple[int, ...],
    rows: int | None = None,
    groups: tuple[int, int, int] = (1, 1, 1),
) -> None:
    """Run a program on whole numbers, whose sums are exact, and compare.

    Rows of A and C are dynamic, or so many.
    """
    *batch, m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    least, most = {"s8": (-128, 128), "u8": (0, 256)}.get(element, (-4, 5))
    a, b = (rng.integers(least, most, (*batch, *x)) for x in ((m, k), (k, n)))
    c = np.full((*batch, m, n), 7, DTYPES[TYPES[element]])
    stored: list[Any] = []
    for x, name in ((a, "A"), (b, "B")):
        array = x.swapaxes(-1, -2) if name in maps else x
        array = np.ascontiguousarray(array).astype(DTYPES[element])
        stored.append(to_bf16(array) if element == "bf16" else array)
    given: list[Any] = []
    sizes: list[int] = []
    for array, is_b in ((stored[0], False), (stored[1], True), (c, False)):
        known = len(batch) if rows is not None and not is_b else None
        dynamic = [x for at, x in enumerate(array.shape) if at != known]
        given += [array, *map(np.int64, dynamic)]
        sizes += dynamic
    for threads in (1, 3):
        after = run_program(found, "mm", given, groups, sizes=sizes, threads=threads)
        expected = a @ b + (5 if fill else 7)
        np.testing.assert_array_equal(after[2], expected, f"{shape} {threads}")


SHAPES = [
    (64, 64, 64),
    (33, 70, 100),
    (1, 1, 1),
    (13, 96, 67),
    (6, 16, 4),
    (5, 40, 0),
    (0, 40, 9),
    (40, 0, 9),
]
"""M, N and K."""


def features_for(element: str) -> list[tuple[str, ...]]:
    """None, and those for products of a type if this processor has them."""
    has = element in DOTS and not lacking([DOTS[element]], cpu_flags())
    return [(), (DOTS[element],)] if has else [()]


@pytest.mark.parametrize("maps", MAPS)
@pytest.mark.parametrize("element", TYPES)
def test_sizes_of_all_kinds(element: str, maps: str) -> None:
    """Whole tiles and edges, one block and several, along M, N and K."""
    for fill, batched in product((True, False), (True, False)):
        source = program(element, fill, maps, batched)
        for features in features_for(element):
            step = CoopcCpuPass(block=(3, 2, 9), features=features)
            found = Program.of(compiled(source, step), Tiles.NONE, level=1)
            for shape in SHAPES:
                check(found, element, fill, maps, (3, *shape) if batched else shape)


@pytest.mark.parametrize("threads", [1, 2])
def test_matrices_of_a_batch_come_in_rounds(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as fit in a cache are packed, then multiplied, then the next ones."""
    monkeypatch.setattr("coopc.run.cpu.ROUND_BYTES", 1)
    module = compiled(program("f32", True, batched=True), CoopcCpuPass())
    found = Program.of(module, Tiles.NONE, level=1)
    rng, sizes = np.random.default_rng(0), [(5, 9, 7), (5, 7, 12), (5, 9, 12)]
    a, b, c = (rng.integers(-4, 5, x).astype(np.float32) for x in sizes)
    given = [y for x in (a, b, c) for y in (x, *map(np.int64, x.shape))]
    dynamic = [n for x in sizes for n in x]
    steps = steps_of(found.staged, "mm", dynamic, (1, 1, 1))
    rounds = [*steps.rounds(threads)]
    assert [n for x in rounds for n in x] == [*range(5)]
    assert {len(x) for x in rounds[:-1]} == {threads}
    found.prepared("mm", given, (1, 1, 1), sizes=dynamic, threads=threads)()
    np.testing.assert_array_equal(c, a @ b + 5)


@pytest.mark.parametrize("tile", [(12, 32), (1, 2), (5, 8)])
@pytest.mark.parametrize("element", ["f32", *DOTS])
def test_tiles(element: str, tile: tuple[int, int]) -> None:
    features = features_for(element)[-1]
    step = CoopcCpuPass(tile=tile, features=features)
    found = Program.of(compiled(program(element), step), Tiles.NONE, level=2)
    for shape in SHAPES:
        check(found, element, True, "plain", shape)


def test_what_amx_does_not_multiply_is_tiled_by_vectors() -> None:
    found = Program.of(compiled(program("f32"), CoopcAmxPass()), Tiles.NONE, level=2)
    check(found, "f32", True, "plain", (33, 70, 100))


IN_PLACE = [
    (8, 5, 3),
    (13, 33, 70),
    (26, 512, 130),
    (24, 16, 1),
    (100, 1, 7),
    (12, 32, 0),
    (25, 40, 1040),
]
"""M, N and K."""


@pytest.mark.parametrize("sizes", IN_PLACE)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_a_is_read_in_place(element: str, sizes: tuple[int, int, int]) -> None:
    """With few columns of C: whole tiles and rows at the edge, K whole and in parts."""
    for fill, lead, block in ((True, "", ""), (False, "b", " block=2,1,16")):
        gemm = Gemm(
            sizes,
            *(f"{lead}mk", f"{lead}kn", f"{lead}mn"),
            types=(element, element),
            fill=fill,
        )
        for pipeline in (
            f"coopc-cpu{{threads=3 tile=12,32{block}}}",
            f"coopc-cpu{{tile=6,16{block} prepack=b}}",
        ):
            target = LaunchTarget("cpu", pipeline=pipeline, tiles=Tiles.NONE, threads=3)
            found = build(Source(gemm.text, "test"), target)
            assert "%pa:" not in str(found.program)
            a, b, c = gemm.arrays()
            given, wanted = [a, b, c], gemm.expected(a, b, c)
            if "prepack" in pipeline:
                pack = f"{found.executable.interface[0].name}.pack_b"
                given[1] = found.executable.run(b, kernel=pack).arrays[-1]
            found.executable.run(*given)
            np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize(
    ("sizes", "types", "a"),
    [
        ((64, 513, 64), ("f32", "f32"), "mk"),
        ((64, 64, 2048), ("f32", "f32"), "mk"),
        ((64, 64, 64), ("f32", "f32"), "km"),
        ((64, 64, 64), ("f16", "f32"), "mk"),
        ((64, 64, 64), ("bf16", "f32"), "mk"),
    ],
)
def test_a_is_packed(
    sizes: tuple[int, int, int], types: tuple[str, str], a: str
) -> None:
    """C is wide, rows begin in one set of the cache, or words are no elements."""
    gemm = Gemm(sizes, a=a, types=types)
    assert "%pa:" in str(compiled(gemm.text, CoopcCpuPass(tile=(12, 32))))


THIN_SHAPES = [(64, 64), (33, 100), (1, 1), (300, 67), (40, 0), (0, 9), (32, 16)]
"""N and K."""


@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize("element", TYPES)
def test_few_rows(element: str, rows: int) -> None:
    """Nothing is packed: whole vectors and edges, of C that is filled, and added to."""
    for fill, batched in ((True, False), (False, True)):
        source = program(element, fill, batched=batched, rows=str(rows))
        for features in features_for(element):
            module = compiled(source, CoopcCpuPass(tile=(12, 32), features=features))
            assert ".pack" not in str(module)
            found = Program.of(module, Tiles.NONE, level=1)
            for n, k in THIN_SHAPES:
                shape = (3, rows, n, k) if batched else (rows, n, k)
                check(found, element, fill, "plain", shape, rows)


@pytest.mark.parametrize("element", ["f32", *DOTS])
@pytest.mark.parametrize("fill", [True, False])
def test_threads_share_k_where_rows_of_b_are_short(element: str, fill: bool) -> None:
    """Parts of sums are added in one order, so that results are equal to the bit."""
    rng = np.random.default_rng(0)
    features = features_for(element)[-1]
    source = program(element, fill, size="1037", rows="3")
    module = compiled(source, CoopcCpuPass(threads=4, features=features))
    stages = [name for name, _ in Stages.of(module)["mm"].functions]
    assert stages == ["mm.multiply", "mm.add"]
    found = Program.of(module, Tiles.NONE, level=2)
    least, most = (-128, 128) if element == "s8" else (-4, 5)
    a, b = (rng.integers(least, most, (x, 1037)) for x in (3, 1037))
    given = [x.astype(DTYPES[element]) for x in (a, b)]
    given = [to_bf16(x) if element == "bf16" else x for x in given]
    c = np.full((3, 1037), 7, DTYPES[TYPES[element]])
    for threads in (1, 4):
        after = run_program(found, "mm", [*given, c], threads=threads)
        np.testing.assert_array_equal(after[2], a @ b + (5 if fill else 7))


@pytest.mark.parametrize("pipeline", [CoopcCpuPass(), CoopcAmxPass(threads=2)])
@pytest.mark.parametrize("element", ["f32", "bf16", "s8"])
def test_dot_products(element: str, pipeline: CoopcCpuPass | CoopcAmxPass) -> None:
    """Rows of A and of a transposed B are read as they are, if one has few."""
    for fill, batched, rows in ((True, False, 1), (False, True, 4)):
        source = program(element, fill, "transposed B", batched, rows=str(rows))
        module = compiled(source, pipeline, tiled=False)
        assert "cpu.kernels" not in module.attributes
        found = Program.of(module, Tiles.NONE, level=1)
        for n, k in THIN_SHAPES:
            shape = (3, rows, n, k) if batched else (rows, n, k)
            groups = (-(-n // 4), rows, 3 * batched or 1)
            check(found, element, fill, "transposed B", shape, rows, groups)
    many = program(element, maps="transposed B", rows="5")
    assert "mm.pack" in str(compiled(many, pipeline))


def test_amx_leaves_few_rows_to_vectors() -> None:
    source = program("s8", rows="4")
    module = compiled(source, CoopcAmxPass())
    assert ".pack" not in str(module)
    assert "amx." not in str(module)
    check(Program.of(module, Tiles.NONE, level=1), "s8", True, "plain", (4, 70, 33), 4)
    assert "amx." in str(compiled(source, CoopcAmxPass(block=(1, 1, 4))))


@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("maps", ["plain", "transposed B"])
@pytest.mark.parametrize(
    ("element", "pipeline"),
    [
        ("s8", "coopc-cpu{prepack=b features=avx512vnni}"),
        ("f32", "coopc-cpu{prepack=b}"),
        ("s8", "coopc-amx{prepack=b}"),
        ("bf16", "coopc-amx{prepack=b threads=2}"),
    ],
)
def test_b_that_is_packed_once(
    element: str, pipeline: str, maps: str, rows: int | None
) -> None:
    """By the interface alone: memory that it states, and the kernels that it names."""
    if "vnni" in pipeline and lacking(["avx512vnni"], cpu_flags()):
        pytest.skip("the processor has no avx512vnni")
    tiles = Tiles.NONE if "cpu" in pipeline else best_or_emulated()
    if "amx" in pipeline and tiles is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    batched = rows is None
    source = program(element, True, maps, batched, rows=str(rows) if rows else None)
    target = LaunchTarget("cpu", pipeline=pipeline, tiles=tiles, threads=2)
    found = build(Source(source, "test"), target).executable
    assert [x.name for x in found.interface] == ["mm", "mm.pack_b"]
    rng, lead = np.random.default_rng(0), (2,) * batched
    least, most = (-128, 128) if element == "s8" else (-4, 5)
    m, n, k = rows or 37, 70, 101
    a, b = (rng.integers(least, most, (*lead, *x)) for x in ((m, k), (k, n)))
    stored = [x.astype(DTYPES[element]) for x in (a, b)]
    stored = [to_bf16(x) if element == "bf16" else x for x in stored]
    if maps != "plain":
        stored[1] = np.ascontiguousarray(stored[1].swapaxes(-1, -2))
    packed = found.run(stored[1], kernel="mm.pack_b").arrays[-1]
    for _ in range(2):
        c = np.full((*lead, m, n), 7, DTYPES[TYPES[element]])
        found.run(stored[0], packed, c)
        np.testing.assert_array_equal(c, a @ b + 5)
    with pytest.raises(
        CompileError, match=f"expected b_packed to have shape {packed.size}"
    ):
        found.run(stored[1], packed[1:].copy(), kernel="mm.pack_b")


def test_packed_b_of_known_sizes_is_a_condition() -> None:
    source = program("f32", size="64")
    target = LaunchTarget("cpu", pipeline="coopc-cpu{prepack=b}", tiles="none")
    found = build(Source(source, "test"), target).executable
    a, c = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    wrong = "size 0 of b_packed: expected at least 4096 .as mm.pack_b packs it., got 9"
    with pytest.raises(CompileError, match=wrong):
        found.run(a, np.zeros(9, np.float32), c)
    interface = found.interface[1]
    assert Interface.from_json(interface.to_json()) == interface
    assert interface.results == ((4096,),)


@pytest.mark.parametrize(
    ("element", "pipeline"),
    [
        ("f32", "coopc-cpu{threads=4 block=1,1,16}"),
        ("s8", "coopc-amx{threads=4 block=1,1,2}"),
        ("s8", "coopc-amx{threads=4}"),
    ],
)
def test_shares_of_threads_in_bands(element: str, pipeline: str) -> None:
    """Work-groups in another order, of which the last band has fewer rows.

    A step of B is packed in parts, where it has more panels than A has steps; the last
    part has fewer, and no memory is behind that of packed B.
    """
    tiles = best_or_emulated() if element == "s8" else Tiles.NONE
    if element == "s8" and tiles is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    m, size = 226, 330
    source = program(element, size=str(size), rows=str(m))
    target = LaunchTarget("cpu", pipeline=pipeline, tiles=tiles, threads=4)
    found = build(Source(source, "test"), target).executable
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (x, size)).astype(DTYPES[element]) for x in (m, size))
    c = np.full((m, size), 7, DTYPES[TYPES[element]])
    found.run(a, b, c)
    wanted = a.astype(np.int64) @ b.astype(np.int64) + 5
    np.testing.assert_array_equal(c, wanted)


def innermost_loop(
    processor: str, tile: tuple[int, int], element: str, product: str
) -> list[str]:
    """The block of the kernel with the most multiplications, as LLVM writes it.

    The rows of C are whole tiles: at an edge, each row of A has an address of its own.
    """
    features = tuple(DOTS.values()) if processor != "haswell" else ()
    step = CoopcCpuPass(tile=tile, features=features)
    module = compiled(program(element, size="512", rows=str(42 * tile[0])), step)
    ir = text(emit_module(module, Facts(device("amx"))))
    llvm, machine = optimised(ir, 3, processor)
    blocks = re.split(r"^(?=\.LBB)", machine.emit_assembly(llvm), flags=re.MULTILINE)
    block = max(blocks, key=lambda x: x.count(product))
    lines = [x.strip() for x in block.splitlines() if x.startswith("\t")]
    code = [x for x in lines if not x.startswith((".", "#"))]
    end = next(n for n, x in enumerate(code) if x.startswith("j"))
    return code[: end + 1]


@pytest.mark.parametrize(
    ("processor", "tile", "register", "element", "product"),
    [
        ("haswell", (6, 16), "ymm", "f32", "vfmadd"),
        ("haswell", (6, 16), "ymm", "s8", "vpmaddwd"),
        ("icelake-server", (12, 32), "zmm", "f32", "vfmadd"),
        ("cooperlake", (12, 32), "zmm", "bf16", "vdpbf16ps"),
        ("cooperlake", (12, 32), "zmm", "s8", "vpdpbusd"),
        ("cooperlake", (12, 32), "zmm", "u8", "vpdpwssd"),
    ],
)
def test_instructions_of_the_innermost_loop(
    processor: str, tile: tuple[int, int], register: str, element: str, product: str
) -> None:
    """Sums stay in registers: per step of K, 2 loads of B and a broadcast a row."""
    rows = tile[0]
    lines = innermost_loop(processor, tile, element, product)
    products = [x for x in lines if x.startswith(product)]
    assert all(register in x for x in products)
    steps = len(products) // (2 * rows)
    assert len(products) == steps * 2 * rows
    assert not any("(%rsp)" in x or "(%rbp)" in x for x in lines), "a spill"
    added = 0 if register == "zmm" else sum(x.startswith("vpaddd") for x in lines)
    assert added in (0, len(products))
    other = len(lines) - len(products) - added
    assert other <= steps * (2 + rows) + 12, lines
