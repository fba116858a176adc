"""What the host does between kernels: it copies what is overwritten, and computes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.lib.stride_tricks import as_strided

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.parsing import parse
from coopc.sim.errors import SimulationError
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array = npt.NDArray[Any]
RESOURCES = """
{-#
  dialect_resources: { builtin: { w: "0x040000000000803F000000400000404000008040" } }
#-}
"""


def text_of(body: str, *arguments: str) -> str:
    given = ", ".join(f"%{x}: memref<4x4xf32>" for x in ("a", "b", "c"))
    return f"func.func @f({', '.join([given, *arguments])}) {{\n{body}\nreturn\n}}"


def copy(source: str, target: str) -> str:
    return (
        f"linalg.copy ins(%{source} : memref<4x4xf32>) "
        f"outs(%{target} : memref<4x4xf32>)"
    )


NEW = "%t = memref.alloc() : memref<4x4xf32>"
SWAP = "\n".join([NEW, copy("a", "t"), copy("b", "a"), copy("t", "b")])
ROTATE = "\n".join(
    [NEW, copy("a", "t"), copy("b", "a"), copy("c", "b"), copy("t", "c")]
)
SAVE = f"""
{NEW}
{copy("a", "t")}
linalg.exp ins(%b : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
{copy("t", "c")}"""
PRODUCT = f"""
{NEW}
{copy("a", "t")}
%z = arith.constant 0.0 : f32
linalg.fill ins(%z : f32) outs(%a : memref<4x4xf32>)
linalg.matmul ins(%t, %b : memref<4x4xf32>, memref<4x4xf32>)
              outs(%a : memref<4x4xf32>)
{copy("t", "c")}"""
ROWS = f"""
%t = memref.alloc() : memref<2x4xf32>
%s = memref.subview %a[1, 0] [2, 4] [1, 1]
  : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1], offset: 4>>
linalg.copy ins(%s : memref<2x4xf32, strided<[4, 1], offset: 4>>)
            outs(%t : memref<2x4xf32>)
{copy("b", "a")}
%r = memref.subview %c[2, 0] [2, 4] [1, 1]
  : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1], offset: 8>>
linalg.copy ins(%t : memref<2x4xf32>)
            outs(%r : memref<2x4xf32, strided<[4, 1], offset: 8>>)"""


PROGRAMS: dict[str, tuple[str, Callable[[Array, Array, Array], tuple[Array, ...]]]] = {
    "swap": (SWAP, lambda a, b, c: (b, a, c)),
    "rotate": (ROTATE, lambda a, b, c: (b, c, a)),
    "save": (SAVE, lambda a, b, c: (np.exp(b), b, a)),
    "product": (PRODUCT, lambda a, b, c: (a @ b, b, a)),
    "rows": (ROWS, lambda a, b, c: (b, b, np.concatenate([c[:2], a[1:3]]))),
}
"""What a, b and c are afterwards."""


@pytest.mark.parametrize("on", ["sim", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read_later_is_kept(name: str, on: str) -> None:
    body, compute = PROGRAMS[name]
    a, b, c = (np.arange(n, n + 16, dtype=np.float32).reshape(4, 4) for n in (0, 3, 7))
    expected = compute(a.copy(), b.copy(), c.copy())
    coopc.launch(text_of(body), a, b, c, on=on)
    for found, each in zip((a, b, c), expected, strict=True):
        np.testing.assert_allclose(found, each, 1e-6)


def test_a_product_in_an_argument_of_another_shape() -> None:
    text = """
    func.func @f(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %o: memref<2x2x6xf32>) {
      %d = memref.collapse_shape %o [[0, 1], [2]]
        : memref<2x2x6xf32> into memref<4x6xf32>
      linalg.matmul ins(%x, %w : memref<4x8xf32>, memref<8x6xf32>)
                    outs(%d : memref<4x6xf32>)
      return
    }"""
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    w = np.arange(48, dtype=np.float32).reshape(8, 6)
    o = np.ones((2, 2, 6), np.float32)
    coopc.launch(text, x, w, o)
    np.testing.assert_array_equal(o, 1 + (x @ w).reshape(2, 2, 6))


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_what_a_group_computes_is_read_in_another_shape(on: str) -> None:
    """The sums, as a matrix too: they are in memory before the kernel that reads it."""
    text = """
    func.func @f(%x: tensor<4x3xf32>) -> tensor<4xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %sum = linalg.reduce {arith.addf} ins(%x : tensor<4x3xf32>)
        outs(%f : tensor<4xf32>) dimensions = [1]
      %square = tensor.expand_shape %sum [[0, 1]] output_shape [2, 2]
        : tensor<4xf32> into tensor<2x2xf32>
      %s = tensor.empty() : tensor<2x2xf32>
      %turned = linalg.transpose ins(%square : tensor<2x2xf32>)
        outs(%s : tensor<2x2xf32>) permutation = [1, 0]
      %t = tensor.collapse_shape %turned [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
      %r = linalg.add ins(%sum, %t : tensor<4xf32>, tensor<4xf32>)
        outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    x, result = np.arange(12, dtype=np.float32).reshape(4, 3), np.zeros(4, np.float32)
    coopc.launch(text, x, result, on=on)
    sums = x.sum(1)
    np.testing.assert_array_equal(result, sums + sums.reshape(2, 2).T.reshape(4))


@pytest.mark.parametrize("on", ["cpu", "vulkan"])
@pytest.mark.parametrize("strides", [(8, 1), (1, 4)])
def test_views_of_arguments_with_gaps(strides: tuple[int, int], on: Any) -> None:
    """Kernels read and write the memory of the argument, not a copy without gaps."""
    memref = f"memref<4x6xf32, strided<[{strides[0]}, {strides[1]}]>>"
    view = f"memref<2x3xf32, strided<[{strides[0]}, {strides[1]}], offset: ?>>"
    text = f"""
    func.func @f(%a: {memref}, %b: memref<2x3xf32>) {{
      %one = arith.constant 1 : index
      %s = memref.subview %a[%one, 2] [2, 3] [1, 1] : {memref} to {view}
      linalg.add ins(%s, %b : {view}, memref<2x3xf32>) outs(%b : memref<2x3xf32>)
      linalg.exp ins(%b : memref<2x3xf32>) outs(%s : {view})
      return
    }}"""
    memory = np.arange(32, dtype=np.float32)
    a = as_strided(memory, (4, 6), [4 * x for x in strides])
    b, wanted = np.full((2, 3), -20, np.float32), a.copy()
    sums = wanted[1:3, 2:5] - 20
    wanted[1:3, 2:5] = np.exp(sums)
    coopc.launch(text, a, b, on=on)
    np.testing.assert_array_equal(b, sums)
    np.testing.assert_allclose(a, wanted, rtol=1e-5)


OFFSET = """
func.func @f(%a: memref<9x2xf32>, %n: {type}, %b: memref<2x2xf32>) {{
  %two = arith.constant 2 : {type}
  {offset}
  %s = memref.subview %a[%i, 0] [2, 2] [1, 1]
    : memref<9x2xf32> to memref<2x2xf32, strided<[2, 1], offset: ?>>
  linalg.copy ins(%s : memref<2x2xf32, strided<[2, 1], offset: ?>>)
              outs(%b : memref<2x2xf32>)
  return
}}"""


@pytest.mark.parametrize(
    ("operation", "row"),
    [
        ("addi", 7),
        ("subi", 3),
        ("divsi", 2),
        ("divui", 2),
        ("ceildivsi", 3),
        ("remsi", 1),
        ("remui", 1),
        ("minsi", 2),
        ("minui", 2),
        ("maxsi", 5),
        ("maxui", 5),
    ],
)
def test_the_host_computes_where_a_view_begins(operation: str, row: int) -> None:
    offset = f"%i = arith.{operation} %n, %two : index"
    a, b = np.arange(18, dtype=np.float32).reshape(9, 2), np.zeros((2, 2), np.float32)
    coopc.launch(OFFSET.format(type="index", offset=offset), a, 5, b)
    np.testing.assert_array_equal(b, a[row : row + 2])


@pytest.mark.parametrize("on", ["sim", "cpu"])
@pytest.mark.parametrize(
    ("operations", "row"),
    [
        ("%i = arith.minui %d, %two : index", 2),
        ("%r = arith.minsi %d, %two : index\n%i = arith.addi %r, %two : index", 1),
        ("%i = arith.remui %d, %two : index", 1),
    ],
)
def test_negative_numbers_of_the_host(operations: str, row: int, on: str) -> None:
    """Unsigned operations take them for large numbers."""
    offset = f"""
    %eight = arith.constant 8 : index
    %d = arith.subi %n, %eight : index
    {operations}
    """
    a, b = np.arange(18, dtype=np.float32).reshape(9, 2), np.zeros((2, 2), np.float32)
    coopc.launch(OFFSET.format(type="index", offset=offset), a, 7, b, on=on)
    np.testing.assert_array_equal(b, a[row : row + 2])


@pytest.mark.parametrize("on", ["sim", "cpu"])
def test_the_host_computes_in_i64(on: str) -> None:
    """As torch-mlir does with the sizes of tensors."""
    offset = """
    %two64 = arith.constant 2 : i64
    %m = arith.index_cast %n : index to i64
    %d = arith.subi %m, %two64 : i64
    %h = arith.floordivsi %d, %two64 : i64
    %i = arith.index_cast %h : i64 to index
    """
    a, b = np.arange(18, dtype=np.float32).reshape(9, 2), np.zeros((2, 2), np.float32)
    coopc.launch(OFFSET.format(type="index", offset=offset), a, 9, b, on=on)
    np.testing.assert_array_equal(b, a[3:5])


def test_a_division_by_zero_of_the_host() -> None:
    offset = "%c0 = arith.constant 0 : index\n%i = arith.divsi %two, %c0 : index"
    a, b = np.zeros((9, 2), np.float32), np.zeros((2, 2), np.float32)
    with pytest.raises(CompileError, match="expected to divide by a positive size"):
        coopc.launch(OFFSET.format(type="index", offset=offset), a, 7, b)


LOADED = """
func.func @f(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%b : memref<4x4xf32>) outs(%c : memref<4x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %e = memref.load %a[%c0, %c0] : memref<4x4xf32>
    %z = arith.addf %x, %e : f32
    linalg.yield %z : f32
  }
  linalg.exp ins(%b : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  return
}"""


def test_what_a_body_loads_is_overwritten_later() -> None:
    a, b, c = (np.full((4, 4), x, np.float32) for x in (3, 2, 0))
    coopc.launch(LOADED, a, b, c, on="cpu")
    np.testing.assert_array_equal(c, 5)
    np.testing.assert_allclose(a, np.exp(2), 1e-6)


TWICE = """
func.func @f(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %d: memref<4x4xf32>) {
  %t = bufferization.to_tensor %b restrict : memref<4x4xf32> to tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %x = linalg.exp ins(%t : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
    -> tensor<4x4xf32>
  bufferization.materialize_in_destination %x in restrict writable %a
    : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  bufferization.materialize_in_destination %t in restrict writable %a
    : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  bufferization.materialize_in_destination %x in restrict writable %d
    : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}"""


def test_memory_that_is_written_twice() -> None:
    a, b, d = np.zeros((3, 4, 4), np.float32)
    coopc.launch(TWICE, a, b + 2, d, on="cpu")
    np.testing.assert_array_equal(a, 2)
    np.testing.assert_allclose(d, np.exp(2), 1e-6)


def test_what_the_host_does_not_compute() -> None:
    text = OFFSET.format(type="index", offset="%i = arith.shli %n, %two : index")
    reason = "arith.shli: the host does not compute it, but integer arithmetic on index"
    with pytest.raises(CompileError, match=reason):
        coopc.compile(text, "coopc-khr{device=lavapipe}", "spirv")


@pytest.mark.parametrize("on", ["sim", "cpu"])
@pytest.mark.parametrize("type", ["i32", "i64"])
def test_kernels_compute_where_a_view_begins(type: str, on: str) -> None:
    """The host has no integers other than indices."""
    offset = (
        f"%m = arith.addi %n, %two : {type}\n%i = arith.index_cast %m : {type} to index"
    )
    a, b = np.arange(18, dtype=np.float32).reshape(9, 2), np.zeros((2, 2), np.float32)
    coopc.launch(OFFSET.format(type=type, offset=offset), a, -1, b, on=on)
    np.testing.assert_array_equal(b, a[1:3])


@pytest.mark.parametrize("type", ["i32", "i64"])
def test_the_host_has_sizes_of_indices(type: str) -> None:
    text = f"""
    func.func @f(%a: tensor<?xf32>, %n: {type}) -> tensor<?xf32> {{
      %i = arith.index_cast %n : {type} to index
      %s = tensor.extract_slice %a[0] [%i] [1] : tensor<?xf32> to tensor<?xf32>
      return %s : tensor<?xf32>
    }}"""
    with pytest.raises(CompileError, match=f"sizes from index, not from {type}"):
        coopc.compile(text, "coopc-khr{device=lavapipe}", "spirv")


NUMBERS = """
func.func @f(%a: tensor<?x2xf32>, %n: i64) -> (f32, i64, i1) {
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %e = tensor.extract %a[%one, %zero] : tensor<?x2xf32>
  %x = arith.addf %e, %e : f32
  %d = tensor.dim %a, %zero : tensor<?x2xf32>
  %m = arith.index_cast %d : index to i64
  %is_less = arith.cmpi slt, %m, %n : i64
  return %x, %m, %is_less : f32, i64, i1
}"""


def test_numbers_that_are_returned() -> None:
    """The caller gives memory for them, as for tensors of rank 0."""
    a = np.arange(6, dtype=np.float32).reshape(3, 2)
    outcome = coopc.launch(NUMBERS, a, 4, on="cpu")
    assert [x.item() for x in outcome.arrays[-3:]] == [4, 3, True]
    text = NUMBERS.replace("%is_less : f32, i64, i1", "%d : f32, i64, index")
    text = text.replace("(f32, i64, i1)", "(f32, i64, index)")
    with pytest.raises(CompileError, match="results that are tensors, got index"):
        coopc.launch(text, a, 4, on="cpu")


WEIGHTS = f"""
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %v = linalg.mul ins(%a, %w : tensor<4xf32>, tensor<4xf32>)
                  outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %v : tensor<4xf32>
}}{RESOURCES}"""


def test_constants_of_resources() -> None:
    a = np.array([1, 2, 3, 4], np.float32)
    for _ in range(2):  # of the same names
        *_, found = coopc.launch(WEIGHTS, a).arrays
        np.testing.assert_array_equal(found, a * a)


GLOBAL_WEIGHTS = f"""
memref.global "private" constant @w : memref<4xf32> = dense_resource<w>
func.func @f(%a: memref<4xf32>, %c: memref<4xf32>) {{
  %w = memref.get_global @w : memref<4xf32>
  linalg.mul ins(%a, %w : memref<4xf32>, memref<4xf32>) outs(%c : memref<4xf32>)
  return
}}{RESOURCES}"""


@pytest.mark.parametrize("on", ["cpu", "sim"])
def test_globals_of_resources(on: str) -> None:
    a, c = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    coopc.launch(GLOBAL_WEIGHTS, a, c, on=on)
    np.testing.assert_array_equal(c, a * a)


@pytest.mark.parametrize("weights", [WEIGHTS, GLOBAL_WEIGHTS])
def test_a_resource_that_is_too_short(weights: str) -> None:
    text = weights.replace("00008040", "")
    expected = r"expected 16 bytes in resource w\w*, got 12"
    with pytest.raises(CompileError, match=expected):
        coopc.compile(text, "coopc-cpu")


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("tensor<4xf32>", r"expected 16 bytes in resource w\w*, got 12"),
        ("vector<4xf32>", r"expected a tensor of resource w\w*, got vector<4xf32>"),
    ],
)
def test_a_resource_that_cannot_be_simulated(type: str, expected: str) -> None:
    constant = f"%w = arith.constant dense_resource<w> : {type}"
    text = f"func.func @f() attributes {{simt.kernel}} {{\n{constant}\nreturn\n}}"
    resources = RESOURCES.replace("00008040", "")
    module = parse(new_context(everything()), Source(text + resources, "text"))
    with pytest.raises(SimulationError, match=expected):
        simulate(module, "f", [], grid=(1,))


def test_resources_are_printed_as_they_are() -> None:
    for _ in range(2):
        for text in (WEIGHTS, GLOBAL_WEIGHTS):
            module = parse(new_context(everything()), Source(text, "text"))
            assert str(module).count("dense_resource<w") == 1


def test_copies_are_kernels() -> None:
    text = text_of("memref.copy %a, %b : memref<4x4xf32> to memref<4x4xf32>")
    a, b = np.ones((2, 4, 4), np.float32)
    coopc.launch(text, a * 3, b, a.copy())
    np.testing.assert_array_equal(b, a * 3)


@pytest.mark.parametrize("pipeline", ["coopc-cpu", "coopc-amx", "coopc-xe{device=bmg}"])
@pytest.mark.parametrize(
    "type", ["memref<4x4xui8>", "memref<4x4xi128>", "tensor<4xf80>"]
)
def test_elements_that_no_engine_has(type: str, pipeline: str) -> None:
    product = f"linalg.matmul ins(%a, %a : {type}, {type}) outs(%b : {type})"
    if type.startswith("tensor"):
        product = f"%c = linalg.exp ins(%a : {type}) outs(%b : {type}) -> {type}"
    text = f"func.func @f(%a: {type}, %b: {type}) {{\n{product}\nreturn\n}}"
    with pytest.raises(CompileError, match=f"expected %a of i1, .*, got {type}"):
        coopc.compile(text, pipeline)


def running_sum(count: int) -> str:
    """Elements of a tensor, each with those before it, as numbers."""
    type = f"tensor<{count}xf32>"
    return f"""
func.func @f(%a: {type}) -> {type} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant {count} : index
  %zero = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %c0 to %end step %c1
      iter_args(%s = %zero, %t = %a) -> (f32, {type}) {{
    %e = tensor.extract %a[%i] : {type}
    %n = arith.addf %s, %e : f32
    %u = tensor.insert %n into %t[%i] : {type}
    scf.yield %n, %u : f32, {type}
  }}
  return %r#1 : {type}
}}"""


def test_numbers_computed_from_numbers() -> None:
    a = np.arange(12, dtype=np.float32)
    *_, found = coopc.launch(running_sum(12), a, on="cpu").arrays
    np.testing.assert_array_equal(found, np.cumsum(a))
    expected = "expected at most 256 operations that compute a number from elements"
    with pytest.raises(CompileError, match=expected):
        coopc.compile(running_sum(200), "coopc-cpu")


@pytest.mark.parametrize("rows", ["32", "?"])
@pytest.mark.parametrize("on", ["vulkan", "opencl", "cpu", "sim"])
def test_rows_of_arguments_that_are_apart(rows: str, on: str) -> None:
    """Of what is read and of what is written; what is between rows stays."""
    row = f"memref<{rows}xf32>"
    a = f"memref<{rows}x7xf32, strided<[11, 1]>>"
    c = f"memref<{rows}x3xf32, strided<[5, 1]>>"
    text = f"""func.func @f(%a: {a}, %b: memref<7xf32>, %c: {c}, %o: {row}) {{
      linalg.matvec ins(%a, %b : {a}, memref<7xf32>) outs(%o : {row})
      linalg.broadcast ins(%o : {row}) outs(%c : {c}) dimensions = [1]
      return
    }}"""
    rng = np.random.default_rng(0)
    left = rng.integers(-3, 4, (32, 11)).astype(np.float32)[:, :7]
    right = rng.integers(-3, 4, 7).astype(np.float32)
    memory, sums = np.full((32, 5), 9, np.float32), np.zeros(32, np.float32)
    coopc.launch(text, left, right, memory[:, :3], sums, on=on)
    np.testing.assert_array_equal(sums, left @ right)
    np.testing.assert_array_equal(memory[:, :3].T, [sums] * 3)
    assert (memory[:, 3:] == 9).all()


OF_COPIES = """
func.func @f(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %three = arith.constant 3 : i32
  %n = tensor.dim %y, %c0 : tensor<?xi32>
  %m = tensor.dim %x, %c0 : tensor<?xi32>
  %0 = tensor.empty(%n, %m) : tensor<?x?xi32>
  %1 = linalg.broadcast ins(%x : tensor<?xi32>) outs(%0 : tensor<?x?xi32>)
      dimensions = [0]
  %2 = tensor.empty(%m) : tensor<?xi32>
  %3 = linalg.fill ins(%three : i32) outs(%2 : tensor<?xi32>) -> tensor<?xi32>
  %4 = linalg.reduce { arith.addi } ins(%1 : tensor<?x?xi32>)
      outs(%3 : tensor<?xi32>) dimensions = [0]
  return %4 : tensor<?xi32>
}"""


@pytest.mark.parametrize("on", ["sim", "vulkan", "cpu"])
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_sums_of_copies(rows: int, on: Any) -> None:
    """No memory of a kernel tells how many copies there are, but that of the copies."""
    x = np.arange(7, dtype=np.int32)
    y = np.zeros(rows, np.int32)
    found = coopc.launch(OF_COPIES, x, y, on=on).arrays[-1]
    np.testing.assert_array_equal(found, 3 + rows * x)


@pytest.mark.parametrize(("reduced", "kernels"), [(0, 2), (1, 1)])
def test_one_kernel_where_sizes_are_told(reduced: int, kernels: int) -> None:
    """The sum along the copied dimension is another kernel than the copies."""
    text = OF_COPIES
    if reduced:
        text = text.replace(
            "outs(%3 : tensor<?xi32>) dimensions = [0]",
            "outs(%3 : tensor<?xi32>) dimensions = [1]",
        )
        text = text.replace(
            "tensor.empty(%m) : tensor<?xi32>", "tensor.empty(%n) : tensor<?xi32>"
        )
    passes = "generalize-linalg,fuse-linalg,outline-linalg-kernels"
    assert coopc.compile(text, passes, "mlir").text.count("func.func @") == kernels
