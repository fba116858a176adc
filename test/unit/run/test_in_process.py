"""Launches in this process: what is kept, and that it is what a checked one gives."""

import copy
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from support import linalg_programs

import coopc
from coopc.run import in_process
from coopc.run.executable import Executable

Array = npt.NDArray[Any]

ADD = """
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %k: f32, %z: memref<?x?xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %y : memref<?x?xf32>, memref<?x?xf32>) outs(%z : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %b, %k : f32
    %s = arith.addf %a, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
"""
PRODUCTS = """
func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %i = arith.constant 0 : index
  %j = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %i : tensor<?x?xf32>
  %n = tensor.dim %b, %j : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  %q = linalg.matmul ins(%p, %b : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %q : tensor<?x?xf32>
}
"""


def numbers(*shape: int, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    return random.integers(-3, 4, shape).astype(np.float32)


@pytest.fixture(scope="module")
def add() -> Executable:
    return coopc.load(ADD, on="cpu")


@pytest.fixture(scope="module")
def products() -> Executable:
    return coopc.load(PRODUCTS, on="cpu", threads=2)


def launches(found: Executable) -> list[bool]:
    """Whether each form that was launched is kept."""
    assert found.in_process is not None
    return [x is not None for x in found.in_process.launches.values()]


def fresh(found: Executable) -> Executable:
    """The same code, of which nothing was launched."""
    assert found.in_process is not None
    return replace(found, in_process=replace(found.in_process, launches={}))


@pytest.mark.parametrize(
    ("name", "half"),
    [
        ("mlp_three_layers", None),
        ("attention_heads", "f16"),
        ("quantized_conv", None),
        ("partial_outputs", None),
        ("constant_weights", None),
        ("kv_cache", None),
        ("scatter_add", None),
        ("bufferized_shapes", None),
    ],
)
def test_kept_launches_give_what_checked_ones_do(name: str, half: str | None) -> None:
    text = linalg_programs.text_of(name, half)
    given = linalg_programs.arguments(
        name, linalg_programs.entry(linalg_programs.module_of(text))
    )
    kept = coopc.load(text, on="cpu", threads=2)
    checked = replace(kept, in_process=None)

    def run(executable: Executable, arguments: Sequence[Any]) -> list[bytes]:
        copies = [np.copy(x) if np.ndim(x) else x for x in arguments]
        return [x.tobytes() for x in executable.run(*copies).arrays]

    other = [x[::-1].copy() if np.ndim(x) else x for x in given]
    for arguments in (given, other, given):
        assert run(kept, arguments) == run(checked, arguments)
    assert launches(kept) == [True]


def test_results(products: Executable) -> None:
    """They are new arrays in each run, unless they are given."""
    found, a, b = fresh(products), numbers(9, 7), numbers(7, 7, seed=1)
    outcomes = [found.run(x, b).arrays[-1] for x in (a, a + 1)]
    assert np.array_equal(outcomes[0], a @ b @ b)
    assert np.array_equal(outcomes[1], (a + 1) @ b @ b)
    given = np.full((9, 7), 5, np.float32)
    for x in (a, a + 2):
        assert found.run(x, b, given).arrays[-1] is given
        assert np.array_equal(given, x @ b @ b)
    assert launches(found) == [True, True]


def test_forms(add: Executable) -> None:
    """Each shape and each number is a form; arrays elsewhere are not."""
    found = fresh(add)
    for shape in ((3, 5), (3, 5), (5, 3), (0, 4), (1, 1)):
        for k in (2.0, np.float32(2), -0.0, 0.0):
            x, y, z = numbers(*shape), numbers(*shape, seed=1), numbers(*shape, seed=2)
            found.run(x, y, k, z)
            assert np.array_equal(z, x + y * k)
    assert launches(found) == [True] * 16
    x = np.array([[-0.0]], np.float32)
    for k, negative in ((0.0, False), (-0.0, True)):
        found.run(x, np.ones_like(x), k, z := np.ones_like(x))
        assert bool(np.signbit(z[0, 0])) is negative


def test_numbers_in_arrays(add: Executable) -> None:
    """An array of one number is memory for a memref, and checked for a number."""
    text = """
      func.func @f(%x: memref<8xf32>, %s: memref<f32>) {
        linalg.reduce ins(%x : memref<8xf32>) outs(%s : memref<f32>) dimensions = [0]
          (%a: f32, %b: f32) {
            %c = arith.addf %a, %b : f32
            linalg.yield %c : f32
          }
        func.return
      }"""
    found, total = coopc.load(text, on="cpu"), np.array(1, np.float32)
    for n in range(3):
        found.run(np.full(8, n, np.float32), total)
    assert total == 25
    assert launches(found) == [True]
    found, x = fresh(add), numbers(2, 2)
    for k in (2.0, 3.0):
        found.run(x, x, np.array(k, np.float32), z := np.zeros_like(x))
        assert np.array_equal(z, x * (1 + k))
    assert launches(found) == [False]


def test_shared_memory(add: Executable) -> None:
    """An array may be two arguments, or overlap with another that is read."""
    found, x, z = fresh(add), numbers(4, 6), numbers(4, 6, seed=1)
    for _ in range(2):
        found.run(x, x, 2.0, z)
        assert np.array_equal(z, 3 * x)
        found.run(x, z, 2.0, z)
        assert np.array_equal(z, 7 * x)
    memory = numbers(5, 6)
    for _ in range(2):
        found.run(memory[1:], memory[:4], 2.0, z)
        assert np.array_equal(z, memory[1:] + 2 * memory[:4])


def test_memory_that_overlapped_at_first(add: Executable) -> None:
    """Arrays of one form need not be one behind the other again."""
    found, memory = fresh(add), numbers(5, 6)
    for x, y in (
        (memory[:4], memory[1:]),
        (numbers(4, 6, seed=1), numbers(4, 6, seed=2)),
    ):
        found.run(x, y, 2.0, z := np.zeros((4, 6), np.float32))
        assert np.array_equal(z, x + 2 * y)


def test_results_that_are_arguments() -> None:
    """No kernel of a sequence overwrites what a later one reads."""
    text = """
      func.func @f(%a: tensor<9x9xf32>, %b: tensor<9x9xf32>)
          -> (tensor<9x9xf32>, tensor<9x9xf32>) {
        %zero = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<9x9xf32>
        %z = linalg.fill ins(%zero : f32) outs(%e : tensor<9x9xf32>) -> tensor<9x9xf32>
        %p = linalg.matmul ins(%a, %b : tensor<9x9xf32>, tensor<9x9xf32>)
            outs(%z : tensor<9x9xf32>) -> tensor<9x9xf32>
        %q = linalg.matmul ins(%b, %a : tensor<9x9xf32>, tensor<9x9xf32>)
            outs(%z : tensor<9x9xf32>) -> tensor<9x9xf32>
        func.return %p, %q : tensor<9x9xf32>, tensor<9x9xf32>
      }"""
    found = coopc.load(text, on="cpu")
    for _ in range(2):
        a, b, q = numbers(9, 9), numbers(9, 9, seed=1), np.empty((9, 9), np.float32)
        wanted = a @ b, b @ a
        found.run(a, b, a, q)
        assert np.array_equal(a, wanted[0])
        assert np.array_equal(q, wanted[1])
        found.run(b, b, wanted[0], q)
        assert np.array_equal(q, b @ b)
    assert launches(found) == [False, True]


def test_memory_of_kept_launches(
    products: Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were used last are kept, as far as there is room."""
    monkeypatch.setattr(in_process, "KEPT", 3)
    found, b = fresh(products), numbers(4, 4)
    for rows in (5, 6, 5, 7, 5, 8):
        found.run(numbers(rows, 4), b)
    assert found.in_process is not None
    kept = found.in_process.launches
    assert [x.arguments[0][1][0] for x in kept] == [7, 5, 8]  # pyright: ignore
    monkeypatch.setattr(in_process, "KEPT_BYTES", 1)
    found.run(numbers(9, 4), b)
    assert [x.arguments[0][1][0] for x in kept] == [9]  # pyright: ignore
    assert all(x is not None and x.bytes > 0 for x in kept.values())


def test_memory_that_is_copied(add: Executable) -> None:
    """Read-only arrays are not, where they are only read."""
    found, x, y = fresh(add), numbers(4, 6), numbers(4, 6, seed=1)
    x.flags.writeable = False
    for _ in range(2):
        found.run(x, y, 2.0, z := np.zeros_like(x))
        assert np.array_equal(z, x + 2 * y)
    assert launches(found) == [True]
    for _ in range(2):
        found.run(numbers(6, 4).T, y, 2.0, z := np.zeros_like(y))
        assert np.array_equal(z, numbers(6, 4).T + 2 * y)
    assert launches(found) == [True, False]
    with pytest.raises(coopc.CompileError, match="got one that is read-only"):
        found.run(y, y, 2.0, x)


def test_several_threads(products: Executable) -> None:
    """Launches of one form take turns: they share memory between kernels."""
    found, b = fresh(products), numbers(33, 33, seed=1)
    wrong: list[int] = []

    def work(seed: int) -> None:
        a = numbers(50, 33, seed=seed)
        for _ in range(20):
            if not np.array_equal(found.run(a, b).arrays[-1], a @ b @ b):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert not wrong


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
def test_forks(products: Executable) -> None:
    """A process that was forked has threads of its own."""
    a, b = numbers(200, 33), numbers(33, 33, seed=1)
    products.run(a, b)
    child = os.fork()
    if child == 0:
        found = products.run(a, b).arrays[-1]
        os._exit(0 if np.array_equal(found, a @ b @ b) else 1)
    for _ in range(600):
        if (ended := os.waitpid(child, os.WNOHANG))[0]:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("it hangs")
    assert ended[1] == 0


def test_wrong_arguments(add: Executable) -> None:
    """They are refused, also after right ones."""
    found, x = fresh(add), numbers(3, 4)
    found.run(x, x.copy(), 2.0, x.copy())
    for wrong, why in (
        ([x, x, 2.0], "expected 4 arguments of f"),
        ([x, x, 2.0, x.astype(np.float64)], "expected z to hold f32"),
        ([x, x, x, x.copy()], "expected k to be one f32"),
        ([x, x[0], 2.0, x.copy()], r"expected y to have shape \? x \?, got 4"),
    ):
        with pytest.raises(coopc.CompileError, match=why):
            found.run(*wrong)
    with pytest.raises(coopc.CompileError, match="expected no spec"):
        found.run(x, x.copy(), 2.0, x.copy(), spec={"N": 1})
    with pytest.raises(coopc.CompileError, match=r"coopc.load: .*expected a module"):
        coopc.load(3, on="cpu")  # pyright: ignore[reportArgumentType]


def test_code_is_not_copied(add: Executable) -> None:
    for copies in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="its code is in this process: load it"):
            copies(add)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"seconds": None}, "expected seconds to be a number, got None"),
        ({"kernel": 3}, "expected kernel to be text, got 3"),
        ({"spec": [1]}, r"expected spec to be numbers by name, got \[1\]"),
        ({"spec": {"N": 1.5}}, "expected spec to be numbers by name"),
    ],
)
def test_wrong_options(add: Executable, options: dict[str, Any], why: str) -> None:
    x = numbers(3, 4)
    with pytest.raises(coopc.CompileError, match=f"Executable.run: .*{why}"):
        fresh(add).run(x, x.copy(), 2.0, x.copy(), **options)


def test_wrong_numbers(add: Executable) -> None:
    x = numbers(3, 4)
    with pytest.raises(coopc.CompileError, match=r"value of k to be an f32, got 1j$"):
        fresh(add).run(x, x.copy(), np.complex64(1j), x.copy())


@pytest.mark.parametrize("on", ["sim", "cpu"])
@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        ("bf16", "bfloat16"),
        ("f8E4M3FN", "float8_e4m3fn"),
        ("f8E5M2", "float8_e5m2"),
        ("f8E8M0FNU", "float8_e8m0fnu"),
    ],
)
def test_arrays_of_types_that_numpy_lacks(element: str, dtype: str, on: str) -> None:
    memory = f"memref<?x{element}, strided<[2]>>"
    program = f"""
      func.func @f(%a: {memory}, %b: {memory}) {{
        linalg.copy ins(%a : {memory}) outs(%b : {memory})
        func.return
      }}
    """
    a = np.array([1, 8, 2, 8, 4], getattr(ml_dtypes, dtype))
    b = np.ones_like(a)
    found = coopc.load(program, on=on).run(a[::2], b[::2])
    assert b.dtype == found.arrays[1].dtype == a.dtype
    assert b.astype(float).tolist() == [1, 1, 2, 1, 4]
