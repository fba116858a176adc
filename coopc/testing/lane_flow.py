"""Matrices through control flow: loops, branches, selections and calls."""

from __future__ import annotations

from coopc.testing.lane_kernels import Kernel, matrix


def flow(k: Kernel) -> None:
    """Matrices through loops, branches, selections and calls; prefetches."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    held = matrix(m, n, t)
    k.add(f"""
coopmatrix.prefetch %x[%c0, %c0] row_major : memref<{m}x{n}x{t}>, {held}
%looped = scf.for %i = %c0 to %c3 step %c1 iter_args(%now = %x_acc) -> ({held}) {{
  %odd = arith.cmpi eq, %i, %c1 : index
  %next = scf.if %odd -> ({held}) {{
    %s = coopmatrix.add %now, %y_acc : {held}
    scf.yield %s : {held}
  }} else {{
    scf.yield %now : {held}
  }}
  %some = arith.select %odd, %next, %now : {held}
  %called = func.call @twice(%some) : ({held}) -> {held}
  scf.yield %called : {held}
}}
%counted, %summed = scf.while (%round = %c0, %now = %looped)
    : (index, {held}) -> (index, {held}) {{
  %go = arith.cmpi ult, %round, %c2 : index
  scf.condition(%go) %round, %now : index, {held}
}} do {{
^bb0(%round: index, %now: {held}):
  %more = arith.addi %round, %c1 : index
  %next = coopmatrix.add %now, %x_acc : {held}
  scf.yield %more, %next : index, {held}
}}""")
    k.functions.append(f"""
func.func private @twice(%x: {held}) -> {held} {{
  %y = coopmatrix.add %x, %x : {held}
  func.return %y : {held}
}}""")
    k.keep("looped", m, n, t, "acc")
    k.keep("summed", m, n, t, "acc")
