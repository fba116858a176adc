"""`scf` and `func` in both flavours, run and compared with Python."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

Array: TypeAlias = npt.NDArray[Any]

N = np.arange(16, dtype=np.int32)


def run(runner: Any, body: str, prefix: str = "") -> Array:
    """Run a body that makes %r : i32 of %n : i32, for n from 0 to 15."""
    text = f"""
{prefix}
func.func @k(%ns: memref<16xi32>, %rs: memref<16xi32>)
    attributes {{simt.kernel, simt.work_group_size = array<i32: 16>}} {{
  %i = simt.local_id x : index
  %n = memref.load %ns[%i] : memref<16xi32>
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  %3 = arith.constant 3 : i32
{body}
  memref.store %r, %rs[%i] : memref<16xi32>
  func.return
}}
"""
    return runner.run(text, [N, np.zeros_like(N)], (1, 1, 1))[1]


def test_for(runner: Any):
    """Sums over loops of 0 to 15 steps, which vary between work-items."""
    body = """
  %r = scf.for %k = %0 to %n step %1 iter_args(%sum = %0) -> (i32) : i32 {
    %s = arith.addi %sum, %k : i32
    scf.yield %s : i32
  }"""
    expected = [sum(range(n)) for n in range(16)]
    np.testing.assert_array_equal(run(runner, body), expected)


def test_for_of_index(runner: Any):
    body = """
  %c = arith.constant 3 : index
  %lower = arith.constant -4 : index
  %upper = arith.index_cast %n : i32 to index
  %r = scf.for %k = %lower to %upper step %c iter_args(%sum = %0) -> (i32) {
    %x = arith.index_cast %k : index to i32
    %s = arith.addi %sum, %x : i32
    scf.yield %s : i32
  }"""
    expected = [sum(range(-4, n, 3)) for n in range(16)]
    np.testing.assert_array_equal(run(runner, body), expected)


def test_swap(runner: Any):
    """Two values that change places: each phi takes what the other was."""
    body = """
  %x, %y = scf.for %k = %0 to %n step %1 iter_args(%a = %1, %b = %2) -> (i32, i32)
      : i32 {
    scf.yield %b, %a : i32, i32
  }
  %z = arith.muli %x, %3 : i32
  %r = arith.addi %z, %y : i32"""
    expected = [5 if n % 2 == 0 else 7 for n in range(16)]
    np.testing.assert_array_equal(run(runner, body), expected)


def test_nested(runner: Any):
    """A loop in a branch in a loop; an empty loop; a branch without results."""
    body = """
  %r = scf.for %k = %0 to %n step %1 iter_args(%sum = %0) -> (i32) : i32 {
    %odd = arith.andi %k, %1 : i32
    %c = arith.cmpi ne, %odd, %0 : i32
    %s = scf.if %c -> (i32) {
      %t = scf.for %l = %0 to %k step %1 iter_args(%in = %sum) -> (i32) : i32 {
        %u = arith.addi %in, %2 : i32
        scf.yield %u : i32
      }
      scf.yield %t : i32
    } else {
      scf.for %l = %0 to %k step %1 : i32 {
      }
      scf.yield %sum : i32
    }
    scf.yield %s : i32
  }
  %big = arith.cmpi sgt, %n, %3 : i32
  scf.if %big {
    memref.store %0, %ns[%i] : memref<16xi32>
  }"""
    expected = [sum(2 * k for k in range(n) if k % 2) for n in range(16)]
    np.testing.assert_array_equal(run(runner, body), expected)


def test_while(runner: Any):
    """Collatz: how many steps to 1; what the test computes is passed on."""
    body = """
  %start = arith.addi %n, %1 : i32
  %last, %r = scf.while (%x = %start, %steps = %0) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi ne, %x, %1 : i32
    scf.condition(%c) %x, %steps : i32, i32
  } do {
  ^bb0(%x: i32, %steps: i32):
    %odd = arith.andi %x, %1 : i32
    %is_odd = arith.cmpi ne, %odd, %0 : i32
    %next = scf.if %is_odd -> (i32) {
      %y = arith.muli %x, %3 : i32
      %z = arith.addi %y, %1 : i32
      scf.yield %z : i32
    } else {
      %h = arith.divsi %x, %2 : i32
      scf.yield %h : i32
    }
    %more = arith.addi %steps, %1 : i32
    scf.yield %next, %more : i32, i32
  }"""

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    expected = [steps(n + 1) for n in range(16)]
    np.testing.assert_array_equal(run(runner, body), expected)


def test_do_while(runner: Any):
    """The test region does the work, with a branch in it; other types come out."""
    body = """
  %r = scf.while (%x = %n) : (i32) -> (i32) {
    %c = arith.cmpi slt, %x, %3 : i32
    %y = scf.if %c -> (i32) {
      %z = arith.addi %x, %2 : i32
      scf.yield %z : i32
    } else {
      scf.yield %x : i32
    }
    scf.condition(%c) %y : i32
  } do {
  ^bb0(%x: i32):
    scf.yield %x : i32
  }"""
    expected = [n if n >= 3 else (4 if n % 2 == 0 else 3) for n in range(16)]
    np.testing.assert_array_equal(run(runner, body), expected)


def test_index_switch(runner: Any):
    body = """
  %at = arith.index_cast %n : i32 to index
  %r = scf.index_switch %at -> i32
  case 2 {
    scf.yield %3 : i32
  }
  case 5 {
    scf.yield %2 : i32
  }
  default {
    scf.yield %1 : i32
  }"""
    expected = [{2: 3, 5: 2}.get(n, 1) for n in range(16)]
    np.testing.assert_array_equal(run(runner, body), expected)


def test_calls(runner: Any):
    """A function called twice, one that calls another, several results, vectors."""
    functions = """
func.func @triple(%x: i32) -> i32 {
  %c = arith.constant 3 : i32
  %y = arith.muli %x, %c : i32
  func.return %y : i32
}
func.func @both(%x: i32, %v: vector<5xi32>) -> (i32, vector<5xi32>) {
  %y = func.call @triple(%x) : (i32) -> i32
  %w = arith.addi %v, %v : vector<5xi32>
  func.return %y, %w : i32, vector<5xi32>
}
"""
    body = """
  %v = vector.broadcast %n : i32 to vector<5xi32>
  %a, %w = func.call @both(%n, %v) : (i32, vector<5xi32>) -> (i32, vector<5xi32>)
  %b = func.call @triple(%a) : (i32) -> i32
  %c = vector.extract %w[4] : i32 from vector<5xi32>
  %r = arith.addi %b, %c : i32"""
    np.testing.assert_array_equal(run(runner, body, functions), 11 * N)


def test_calls_with_memrefs(runner: Any):
    """A memref goes in with its numbers, and comes back as part of itself."""
    functions = """
func.func @at(%m: memref<?xi32, strided<[?], offset: ?>>, %i: index) -> i32 {
  %x = memref.load %m[%i] : memref<?xi32, strided<[?], offset: ?>>
  func.return %x : i32
}
func.func @half(%m: memref<16xi32>) -> memref<8xi32, strided<[2], offset: 1>> {
  %h = memref.subview %m[1] [8] [2]
     : memref<16xi32> to memref<8xi32, strided<[2], offset: 1>>
  func.return %h : memref<8xi32, strided<[2], offset: 1>>
}
"""
    body = """
  %h = func.call @half(%ns)
     : (memref<16xi32>) -> memref<8xi32, strided<[2], offset: 1>>
  %d = "memref.cast"(%h) : (memref<8xi32, strided<[2], offset: 1>>)
     -> memref<?xi32, strided<[?], offset: ?>>
  %8 = arith.constant 8 : index
  %at = arith.remui %i, %8 : index
  %r = func.call @at(%d, %at)
     : (memref<?xi32, strided<[?], offset: ?>>, index) -> i32"""
    found = run(runner, body, functions)
    np.testing.assert_array_equal(found, 2 * (N % 8) + 1)


def test_memref_through_a_loop(runner: Any):
    """The offset of a view is carried; its buffer is known."""
    type = "memref<1xi32, strided<[1], offset: ?>>"
    body = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %first = memref.subview %ns[%c0] [1] [1] : memref<16xi32> to {type}
  %last = scf.for %k = %c0 to %c5 step %c1 iter_args(%v = %first) -> ({type}) {{
    %next = memref.subview %ns[%k] [1] [1] : memref<16xi32> to {type}
    scf.yield %next : {type}
  }}
  %r = memref.load %last[%c0] : {type}"""
    np.testing.assert_array_equal(run(runner, body), np.full(16, 4))


@pytest.mark.parametrize("depth", [60])
def test_deep_nesting(runner: Any, depth: int):
    body = "  %c = arith.cmpi slt, %n, %3 : i32\n"
    body += "  scf.if %c {\n" * depth
    body += "  memref.store %1, %ns[%i] : memref<16xi32>\n"
    body += "  }\n" * depth
    body += "  %r = memref.load %ns[%i] : memref<16xi32>"
    np.testing.assert_array_equal(run(runner, body), np.where(N < 3, 1, N))
