"""Kernels of rows: before and after the pass, against numpy, then on drivers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.row_programs import PROGRAMS, RowProgram

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.arrays import Argument, Array, copied
from coopc.sim.simulate import Options, simulate
from coopc.sim.tracked import Inputs
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.compare import compare

Found = list[tuple[Array, Array | None]]
"""What arguments are, and bounds of their errors."""
PLACES = {
    "cpu": ("cpu", None, None),
    "amx": ("cpu", None, "coopc-amx"),
    "vulkan": ("vulkan", None, None),
    "opencl": ("opencl", None, None),
    "bmg": ("opencl", "bmg", None),
    "lanes": ("vulkan", None, "coopc-lanes{device=lavapipe}"),
}
"""Where kernels run, the device, and the pipeline."""
SIZES = [(32, 64), (7, 77), (5, 3), (1, 1)]
BY_NAME = pytest.mark.parametrize("program", PROGRAMS, ids=[x.name for x in PROGRAMS])


def simulated(text: str, passes: str, arguments: list[Argument]) -> Found:
    source, universe = Source(text, "test"), everything()
    ctx = new_context(universe)
    module = parse(ctx, source)
    Run(ctx, source).apply(module, read_passes(passes, universe.all_passes))
    given = copied(arguments)
    found = simulate(module, "f", given, Options(track=Inputs.REAL))
    return [
        (x, bound)
        for x, bound in zip(given, found.errors, strict=True)
        if isinstance(x, np.ndarray)
    ]


def same(found: Array, expected: Array, *bounds: Array | None) -> None:
    bound = sum((x for x in bounds if x is not None), np.zeros(found.shape))
    difference = compare(found, expected, bound=bound)
    assert difference.ok, difference


def inputs(program: RowProgram, r: int, c: int) -> list[Argument]:
    return list(program.arguments(np.random.default_rng(r + 100 * c), r, c))


def check(
    program: RowProgram, text: str, arguments: list[Argument], passes: str
) -> None:
    """Compare what a function gives before passes, after them and in numpy."""
    before = simulated(text, "", arguments)
    after = simulated(text, passes, arguments)
    for (one, bound), (other, other_bound) in zip(before, after, strict=True):
        same(other, one, bound, other_bound)
    exact = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in arguments]
    with np.errstate(all="ignore"):
        wanted = program.expected(exact)
    for (one, bound), expected in zip(before[-len(wanted) :], wanted, strict=True):
        wide = one.astype(np.float64) if one.dtype.kind == "f" else one
        same(wide, np.asarray(expected).astype(wide.dtype), bound)


@BY_NAME
@pytest.mark.parametrize(("r", "c"), SIZES)
@pytest.mark.parametrize("static", [True, False])
def test_rows(program: RowProgram, r: int, c: int, static: bool) -> None:
    text = program.source(r, c) if static else program.source()
    check(program, text, inputs(program, r, c), "convert-linalg-to-simt{device=amx}")


@BY_NAME
@pytest.mark.parametrize(("r", "c"), [(64, 96), (100, 37), (5, 3), (1, 1)])
@pytest.mark.parametrize("static", [True, False])
def test_shared_rows(program: RowProgram, r: int, c: int, static: bool) -> None:
    """Work-items that share rows, vectors of them, and work-groups beyond the last."""
    text = program.source(r, c) if static else program.source()
    check(program, text, inputs(program, r, c), "convert-linalg-to-simt{device=nvidia}")


@pytest.mark.parametrize("name", ["row_sum_onto", "softmax", "matvec"])
@pytest.mark.parametrize("device", ["nvidia", "lavapipe", "bmg"])
def test_subgroups_share_rows(name: str, device: str) -> None:
    (program,) = (x for x in PROGRAMS if x.name == name)
    arguments = inputs(program, 3, 2100)
    passes = f"convert-linalg-to-simt{{device={device}}}"
    check(program, program.source(3, 2100), arguments, passes)


READ = """
#p = affine_map<(k, n) -> (k, n)>
#{axis} = affine_map<(k, n) -> ({axis})>
func.func @f(%x: memref<{shape}xf32>, %o: memref<{rows}xf32>,
    %y: memref<{shape}xf32>) {{
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<{rows}xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<{rows}xf32>)
  linalg.reduce ins(%x : memref<{shape}xf32>) outs(%s : memref<{rows}xf32>)
      dimensions = [{reduced}]
    (%a: f32, %b: f32) {{
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
    }}
  linalg.add ins(%o, %s : memref<{rows}xf32>, memref<{rows}xf32>)
      outs(%o : memref<{rows}xf32>)
  linalg.generic {{indexing_maps = [#p, #{axis}, #p],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %o : memref<{shape}xf32>, memref<{rows}xf32>)
      outs(%y : memref<{shape}xf32>) {{
  ^bb0(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }}
  func.return
}}"""


@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_reads_what_it_has_stored(axis: int) -> None:
    """Work-items that shared it would read what another one has stored by then."""
    shape = (8, 5000) if axis else (256, 64)
    names = {"axis": "kn"[1 - axis], "reduced": axis, "rows": shape[1 - axis]}
    text = READ.format(shape="x".join(map(str, shape)), **names)
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(np.float32)
    o = rng.integers(1, 9, shape[1 - axis]).astype(np.float32)
    wanted, y = o + x.sum(axis), np.zeros_like(x)
    pipeline = "set-target{device=lavapipe},convert-linalg-to-simt"
    coopc.launch(text, x, o, y, on="vulkan", pipeline=pipeline)
    np.testing.assert_array_equal(o, wanted)
    np.testing.assert_array_equal(y, x - np.expand_dims(wanted, axis))


ONTO = {
    "loaded": """
  linalg.reduce { arith.addf } ins(%x : memref<SHAPExf32>) outs(%o : memref<Rxf32>)
      dimensions = [AXIS]""",
    "computed": """
  linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]}
      outs(%o : memref<Rxf32>) {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  }
  linalg.reduce { arith.addf } ins(%x : memref<SHAPExf32>) outs(%o : memref<Rxf32>)
      dimensions = [AXIS]""",
    "added": """
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<Rxf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<Rxf32>)
  linalg.reduce { arith.addf } ins(%x : memref<SHAPExf32>) outs(%s : memref<Rxf32>)
      dimensions = [AXIS]
  linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%s : memref<Rxf32>) outs(%o : memref<Rxf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }""",
}
"""Sums of rows onto what is in memory: how the sum comes to it."""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ONTO)
@pytest.mark.parametrize("device", ["nvidia", "lavapipe", "bmg"])
def test_all_have_read_what_one_overwrites(kind: str, device: str, axis: int) -> None:
    """Work-items that share a row do not wait for each other, but at barriers."""
    shape = (4, 2048) if axis else (256, 37)
    rows = shape[1 - axis]
    text = f"""
#v = affine_map<(i) -> (i)>
func.func @f(%x: memref<SHAPExf32>, %o: memref<Rxf32>) {{{ONTO[kind]}
  func.return
}}"""
    names = {"SHAPE": "x".join(map(str, shape)), "R": str(rows), "AXIS": str(axis)}
    for name, value in names.items():
        text = text.replace(f"{name}x", f"{value}x").replace(f"[{name}]", f"[{value}]")
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(np.float32)
    o = rng.integers(1, 9, rows).astype(np.float32)
    passes = f"convert-linalg-to-simt{{device={device}}}"
    (_, _), (found, _) = simulated(text, passes, [x, o])
    wanted = o * (2 if kind == "computed" else 1) + x.sum(axis)
    np.testing.assert_array_equal(found, wanted)


@st.composite
def generics(draw: st.DrawFn) -> tuple[str, list[Argument]]:
    """A linalg.generic on integers: any affine maps, orders and kinds of loops."""
    loops = draw(st.integers(0, 4))
    sizes = [draw(st.sampled_from([1, 2, 3, 5, 17])) for _ in range(loops)]
    for n in range(min(loops, 2)):  # long enough to be shared, or to be vectors
        sizes[n] = draw(st.sampled_from([sizes[n], 8, 64]))
    indexed = draw(st.booleans())
    dims = list(range(loops))
    reductions = [n for n in dims if draw(st.booleans())]
    order = draw(st.permutations([n for n in dims if n not in reductions]))
    maps: list[str] = []
    shapes: list[list[int]] = []

    def add(results: list[tuple[str, int]]) -> None:
        text = ", ".join(x for x, _ in results)
        maps.append(f"affine_map<({', '.join(f'd{n}' for n in dims)}) -> ({text})>")
        shapes.append([size for _, size in results])

    for _ in range(draw(st.integers(0, 2))):
        results = [("0", 2)] * draw(st.integers(0, 1))
        for n in draw(st.permutations(dims))[: draw(st.integers(0, loops))]:
            m, step = draw(st.sampled_from(dims)), draw(st.integers(1, 2))
            plain = draw(st.booleans())
            sum = f"d{n} * {step} + d{m}", (sizes[n] - 1) * step + sizes[m]
            results.append((f"d{n}", sizes[n]) if plain else sum)
        add(results)
    add([(f"d{n}", sizes[n]) for n in dims])  # which says how long loops are
    add([(f"d{n}", sizes[n]) for n in order])
    dynamic = draw(st.booleans())
    types = [
        f"memref<{''.join(f'{chr(63) if dynamic else x}x' for x in shape)}i32>"
        for shape in shapes
    ]
    kinds = ", ".join('"reduction"' if n in reductions else '"parallel"' for n in dims)
    names = [f"%m{n}" for n in range(len(maps))]
    combiner = draw(st.sampled_from(["addi", "maxsi", "xori", "subi"]))
    body = "".join(
        f"\n    %s{n + 1} = arith.addi %s{n}, %v{n} : i32" for n in range(len(maps) - 1)
    )
    for n in dims if indexed else ():
        body += f"""
    %i{n} = linalg.index {n} : index
    %j{n} = arith.index_cast %i{n} : index to i32
    %t{n} = arith.xori %{"t" if n else "s"}{n - 1 if n else len(maps) - 1}, %j{n} : i32
"""
    last = f"%t{loops - 1}" if loops and indexed else f"%s{len(maps) - 1}"
    text = f"""
func.func @f({", ".join(f"{x}: {t}" for x, t in zip(names, types, strict=True))}) {{
  linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{kinds}]}}
      ins({", ".join(names[:-1])} : {", ".join(types[:-1])})
      outs({names[-1]} : {types[-1]}) {{
  ^bb0({", ".join(f"%v{n}: i32" for n in range(len(maps)))}):
    %s0 = arith.constant 3 : i32{body}
    %y = arith.{combiner} %v{len(maps) - 1}, {last} : i32
    linalg.yield %y : i32
  }}
  func.return
}}"""
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    return text, [
        generator.integers(-99, 99, shape).astype(np.int32) for shape in shapes
    ]


@settings(max_examples=25)
@given(generics(), st.sampled_from([1, 4, 16]))
def test_generics(case: tuple[str, list[Argument]], lanes: int) -> None:
    text, arguments = case
    before = simulated(text, "", arguments)
    for options in (f"device=amx subgroup-size={lanes}", "device=amx", "device=nvidia"):
        after = simulated(text, f"convert-linalg-to-simt{{{options}}}", arguments)
        for (one, _), (other, _) in zip(before, after, strict=True):
            same(other, one)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("name", ["gelu_bias", "row_sum_onto", "any", "matvec"])
@pytest.mark.parametrize("static", [True, False])
def test_nothing(name: str, size: tuple[int, int], static: bool) -> None:
    """Memory without elements, and sums of no numbers."""
    (program,) = (x for x in PROGRAMS if x.name == name)
    text = program.source(*size) if static else program.source()
    arguments = inputs(program, *size)
    for device in ("amx", "nvidia"):
        check(program, text, arguments, f"convert-linalg-to-simt{{device={device}}}")


@BY_NAME
@pytest.mark.parametrize("on", [*PLACES, "vectors"])
def test_drivers(program: RowProgram, on: str) -> None:
    arguments, text = inputs(program, 9, 77), program.source()
    if on == "vectors":
        on, arguments = "vulkan", inputs(program, 48, 80)
        text = program.source(48, 80)
    expected = simulated(text, "", arguments)
    given = copied(arguments)
    place, device, pipeline = PLACES[on]
    coopc.launch(text, *given, on=place, device=device, pipeline=pipeline)
    arrays = [x for x in given if isinstance(x, np.ndarray)]
    for found, (one, bound) in zip(arrays, expected, strict=True):
        same(found, one, bound, bound)


def of_columns(fill: str, body: str, inputs: str = "") -> str:
    """A function that reduces columns to %c and, with more, takes a scale of each."""
    scale, map = ("", "") if not inputs else (", %s", ", affine_map<(m, n) -> (n)>")
    filled = "linalg.fill ins(%z : f32) outs(%c : memref<?xf32>)" if fill else ""
    row = "memref<?xf32>"
    return f"""func.func @f(%a: memref<?x?xf32>, %s: {row}, %c: {row}) {{
      %z = arith.constant {fill or "0.0"} : f32
      {filled}
      linalg.generic {{
          indexing_maps = [affine_map<(m, n) -> (m, n)>{map},
            affine_map<(m, n) -> (n)>],
          iterator_types = ["reduction", "parallel"]}}
          ins(%a{scale} : memref<?x?xf32>{inputs}) outs(%c : memref<?xf32>) {{
      ^bb0(%x: f32, {"%w: f32, " if inputs else ""}%y: f32):
        {body}
        linalg.yield %r : f32
      }}
      func.return
    }}"""


@pytest.mark.parametrize("pipeline", ["coopc-cpu", "coopc-cpu{threads=3}"])
@pytest.mark.parametrize("kind", ["sums", "added", "most", "scaled"])
def test_columns_in_steps(kind: str, pipeline: str) -> None:
    """Blocks of rows of memory, whole ones and the rest; C may be added to."""
    text = {
        "sums": of_columns("5.0", "%r = arith.addf %y, %x : f32"),
        "added": of_columns("", "%r = arith.addf %y, %x : f32"),
        "most": of_columns("-9.0", "%r = arith.maximumf %y, %x : f32"),
        "scaled": of_columns(
            "0.0",
            "%p = arith.mulf %x, %w : f32\n %r = arith.addf %y, %p : f32",
            ", memref<?xf32>",
        ),
    }[kind]
    rng = np.random.default_rng(0)
    for rows, cols in ((0, 5), (1, 70), (8, 64), (9, 4700), (37, 1100)):
        a = rng.integers(-4, 5, (rows, cols)).astype(np.float32)
        s = rng.integers(-4, 5, cols).astype(np.float32)
        c = np.full(cols, 7, np.float32)
        wanted = {
            "sums": a.sum(0) + 5,
            "added": a.sum(0) + 7,
            "most": np.vstack([a, np.full(cols, -9)]).max(0),
            "scaled": (a * s).sum(0),
        }[kind]
        coopc.launch(text, a, s, c, on="cpu", pipeline=pipeline, tiles="none")
        np.testing.assert_array_equal(c, wanted, f"{rows} {cols}")


OF_MIDDLE = """func.func @f(%x: memref<{a}x{b}x{c}xf32>, %y: memref<{a}x{c}xf32>) {{
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%y : memref<{a}x{c}xf32>)
  linalg.reduce {{ arith.addf }} ins(%x : memref<{a}x{b}x{c}xf32>)
      outs(%y : memref<{a}x{c}xf32>) dimensions = [1]
  func.return
}}"""


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize(
    "sizes", [(2, 9, 512), (32, 40, 512), (3, 40, 5000), (5, 4, 5), (0, 3, 300)]
)
def test_middle_dimensions_in_steps(sizes: tuple[int, int, int], static: bool) -> None:
    """Each of the rows in front of those that are reduced in steps is stored."""
    a, b, c = sizes if static else ("?",) * 3
    x = np.random.default_rng(0).integers(-4, 5, sizes).astype(np.float32)
    y = np.full((sizes[0], sizes[2]), 7, np.float32)
    coopc.launch(OF_MIDDLE.format(a=a, b=b, c=c), x, y, on="cpu", tiles="none")
    np.testing.assert_array_equal(y, x.sum(1))


SUM, LESS = "arith.addi %x, %y", "arith.subi %x, %y"
CROSSED = {
    "sum": ("(i, j) -> (j, i)", "(i, j) -> (i, j)", "ab", SUM),
    "twice": ("(i, j) -> (j, i)", "(i, j) -> (i, j)", "ab", "arith.addi %x, %x"),
    "batches": ("(b, i, j) -> (b, j, i)", "(b, i, j) -> (b, i, j)", "cab", SUM),
    "inner batches": ("(i, b, j) -> (j, b, i)", "(i, b, j) -> (i, b, j)", "acb", LESS),
    "stored by columns": ("(i, j) -> (i, j)", "(i, j) -> (j, i)", "ab", LESS),
}
"""Maps of what is read, and of the output and another input; loops' sizes; the body."""


def crossed(
    name: str, sizes: dict[str, int], static: bool
) -> tuple[str, Array, Array, Array]:
    """A function, its two inputs, and what it gives for them."""
    read, stored, names, body = CROSSED[name]
    loops = read[1 : read.index(")")].split(", ")
    of = dict(zip(loops, (sizes[x] for x in names), strict=True))
    dims = [x[x.rindex("(") + 1 : -1].split(", ") for x in (read, stored)]
    shapes = [[of[x] for x in each] for each in dims]
    types = [
        f"memref<{''.join(f'{n if static else chr(63)}x' for n in shape)}i32>"
        for shape in shapes
    ]
    kinds = ", ".join(['"parallel"'] * len(loops))
    maps = ", ".join(f"affine_map<{x}>" for x in (read, stored, stored))
    text = f"""func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[1]}) {{
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[1]}) {{
      ^bb0(%x: i32, %y: i32, %z: i32):
        %r = {body} : i32
        linalg.yield %r : i32
      }}
      func.return
    }}"""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-99, 99, shape).astype(np.int32) for shape in shapes)
    there = np.ascontiguousarray(np.einsum("->".join(map("".join, dims)), a))
    return text, a, b, {SUM: there + b, LESS: there - b}.get(body, 2 * there)


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("name", CROSSED)
@pytest.mark.parametrize("sizes", [(48, 32, 2), (33, 70, 3), (16, 300, 1), (5, 3, 2)])
def test_crossed_loads_are_staged(
    name: str, sizes: tuple[int, int, int], static: bool
) -> None:
    """Whole tiles and edges, on the processor, and of a GPU on the simulator."""
    text, a, b, wanted = crossed(name, dict(zip("abc", sizes, strict=True)), static)
    for device in ("amx", "nvidia"):
        passes = f"convert-linalg-to-simt{{device={device}}}"
        (*_, (found, _)) = simulated(text, passes, [a, b, np.zeros_like(wanted)])
        np.testing.assert_array_equal(found, wanted)
    c = np.zeros_like(wanted)
    coopc.launch(text, a, b, c, on="cpu", tiles="none")
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("element", ["i8", "i16", "f16", "f64", "i64"])
def test_staged_elements(element: str) -> None:
    types = f"memref<40x50x{element}>", f"memref<50x40x{element}>"
    text = f"""func.func @f(%a: {types[0]}, %b: {types[1]}) {{
      linalg.transpose ins(%a : {types[0]}) outs(%b : {types[1]}) permutation = [1, 0]
      func.return
    }}"""
    dtype = f"{element[0]}{int(element[1:]) // 8}"
    given = np.arange(40 * 50).reshape(40, 50).astype(dtype)
    found = np.zeros((50, 40), dtype)
    coopc.launch(text, given, found, on="cpu", tiles="none")
    np.testing.assert_array_equal(found, given.T)


@pytest.mark.parametrize(("count", "element"), [(5, "f64"), (6, "f64"), (1, "i4")])
def test_tiles_have_room(count: int, element: str) -> None:
    """Tiles of 32 x 33 of f64 are 8,448 bytes, of 49,152; half bytes have none."""
    of, to = f"memref<64x96x{element}>", f"memref<96x64x{element}>"
    names, numbers = [f"%x{n}" for n in range(count)], range(count)
    maps = ["affine_map<(i, j) -> (j, i)>"] * count + ["affine_map<(i, j) -> (i, j)>"]
    add = "arith.addf" if element == "f64" else "arith.addi"
    body = "".join(
        f"\n        %s{n + 1} = {add} %s{n}, %v{n} : {element}" for n in numbers[1:]
    )
    text = f"""func.func @f({", ".join(f"{x}: {of}" for x in names)}, %y: {to}) {{
      linalg.generic {{indexing_maps = [{", ".join(maps)}],
          iterator_types = ["parallel", "parallel"]}}
          ins({", ".join(names)} : {", ".join([of] * count)}) outs(%y : {to}) {{
      ^bb0({", ".join(f"%v{n}: {element}" for n in numbers)}, %o: {element}):
        %s1 = {add} %v0, %v0 : {element}{body}
        linalg.yield %s{count} : {element}
      }}
      func.return
    }}"""
    lowered = coopc.compile(text, "convert-linalg-to-simt{device=nvidia}", "mlir").text
    tiles = count if (count, element) == (5, "f64") else 0
    assert lowered.count("memref.alloca") == tiles
