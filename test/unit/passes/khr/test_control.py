"""Matrices that lavapipe lacks, held in work-group memory, through control flow."""

from collections.abc import Callable

import numpy as np
import pytest
from support.khr_kernels import ANY_F, Array, F, kernel, numbers

ALIASES = f"""
!d = !coopmatrix.matrix<8x8xf64, acc>
!f = {F}
!ds = memref<8x8xf64>
!fs = {ANY_F}
"""

FORMS: dict[str, tuple[str, Callable[[Array, Array, int], Array]]] = {
    "loop": (
        """%o = scf.for %i = %0 to %n step %1 iter_args(%s = %x) -> (!d) {
    %t = coopmatrix.add %s, %y : !d
    scf.yield %t : !d
  }""",
        lambda x, y, n: x + n * y,
    ),
    "no turn": (
        """%o = scf.for %i = %n to %0 step %1 iter_args(%s = %x) -> (!d) {
    %t = coopmatrix.add %s, %y : !d
    scf.yield %t : !d
  }""",
        lambda x, y, n: x if n >= 0 else x + y,
    ),
    "exchange": (
        """%p, %q = scf.for %i = %0 to %n step %1
      iter_args(%s = %x, %t = %y) -> (!d, !d) {
    scf.yield %t, %s : !d, !d
  }
  %d = coopmatrix.add %p, %p : !d
  %o = coopmatrix.sub %d, %q : !d""",
        lambda x, y, n: 2 * y - x if n % 2 else 2 * x - y,
    ),
    "nested, with others": (
        """%f0 = coopmatrix.load %g[%0, %0] row_major : !fs -> !f
  %o, %k, %f = scf.for %i = %0 to %n step %1
      iter_args(%s = %x, %c = %0, %h = %f0) -> (!d, index, !f) {
    %u = scf.for %j = %0 to %i step %1 iter_args(%v = %s) -> (!d) {
      %w = coopmatrix.add %v, %s : !d
      scf.yield %w : !d
    }
    %c1 = arith.addi %c, %1 : index
    %h1 = coopmatrix.add %h, %h : !f
    scf.yield %u, %c1, %h1 : !d, index, !f
  }
  %e = memref.load %a[%k, %0] : !ds
  coopmatrix.store %f, %g[%0, %0] row_major : !f, !fs""",
        lambda x, y, n: x * int(np.prod(np.arange(1, n + 1))),
    ),
    "branch": (
        """%is = arith.cmpi slt, %1, %n : index
  %o, %two = scf.if %is -> (!d, index) {
    %t = coopmatrix.add %x, %y : !d
    scf.yield %t, %1 : !d, index
  } else {
    scf.yield %y, %0 : !d, index
  }""",
        lambda x, y, n: x + y if n > 1 else y,
    ),
    "while": (
        """%z = arith.constant 0.0 : f64
  %m0 = coopmatrix.fill %z : f64 -> !d
  %k, %o = scf.while (%i = %0, %s = %x, %m = %m0) : (index, !d, !d) -> (index, !d) {
    %go = arith.cmpi slt, %i, %n : index
    %d = coopmatrix.sub %s, %m : !d
    scf.condition(%go) %i, %d : index, !d
  } do {
  ^bb0(%i: index, %s: !d):
    %j = arith.addi %i, %1 : index
    scf.yield %j, %y, %s : index, !d, !d
  }""",
        lambda x, y, n: y - x if n % 2 else x,
    ),
    "select": (
        """%is = arith.cmpi slt, %1, %n : index
  %o = arith.select %is, %x, %y : !d""",
        lambda x, y, n: x if n > 1 else y,
    ),
    "switch": (
        """%o = scf.index_switch %n -> !d
  case 0 {
    scf.yield %x : !d
  }
  default {
    %t = coopmatrix.add %x, %y : !d
    scf.yield %t : !d
  }""",
        lambda x, y, n: x if n == 0 else x + y,
    ),
}
"""From matrices %x and %y and a number %n to %o."""


@pytest.mark.parametrize("form", FORMS)
def test_held_through(form: str, on_lavapipe: Callable[..., None]) -> None:
    """The same on the driver, and on the simulator before and after."""
    text, expected = FORMS[form]
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : !ds -> !d
  %y = coopmatrix.load %b[%0, %0] row_major : !ds -> !d
  {text}
  coopmatrix.store %o, %r[%0, %0] row_major : !d, !ds"""
    arguments = "%a: !ds, %b: !ds, %r: !ds, %g: !fs, %n: index"
    x, y = numbers(8, 8, np.float64), numbers(8, 8, np.float64)[::-1] + 1
    ones = np.ones((8, 8), np.float32)
    for n in (0, 3):
        arrays = [x, y.copy(), np.zeros((8, 8)), ones, np.uint64(n)]
        turned = ones * 2**n if "others" in form else ones
        found = {2: expected(x, y, n), 3: turned}
        on_lavapipe(ALIASES + kernel(body, arguments), arrays, found)
