"""What depends on who has which element: slots, row slices, apply, reductions."""

from __future__ import annotations

import numpy as np

from coopc.testing.lane_kernels import Kernel, matrix


def elements(k: Kernel) -> None:
    """Slots, coordinates, row slices, and `apply` with indices."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    for use in (case.use,):
        held = matrix(m, n, t, use)
        slots = 4 * (m + 8) * (n + 8)
        places = f"memref<{slots}x{case.lanes}xi32>"
        k.given(f"rows_{use}", np.full((slots, case.lanes), -1, np.int32), places)
        k.given(f"cols_{use}", np.full((slots, case.lanes), -1, np.int32), places)
        own = k.memory(f"own_{use}", slots, case.lanes, t, 9)
        k.add(f"""
%length_{use} = coopmatrix.length {held} : index
%lane_{use} = simt.lane_id : index
%swapped_{use} = scf.for %s = %c0 to %length_{use} step %c1
    iter_args(%now = %x_{use}) -> ({held}) {{
  %r, %c = coopmatrix.coord %now[%s] : {held}
  %r32 = arith.index_cast %r : index to i32
  %c32 = arith.index_cast %c : index to i32
  memref.store %r32, %rows_{use}[%s, %lane_{use}] : {places}
  memref.store %c32, %cols_{use}[%s, %lane_{use}] : {places}
  %e = coopmatrix.extract %x_{use}[%s] : {held}
  memref.store %e, %own_{use}[%s, %lane_{use}] : {own}
  %last = arith.subi %length_{use}, %s : index
  %other = arith.subi %last, %c1 : index
  %f = coopmatrix.extract %x_{use}[%other] : {held}
  %new = coopmatrix.insert %f, %now[%s] : {held}
  scf.yield %new : {held}
}}""")
        k.keep(f"swapped_{use}", m, n, t, use)
        _apply(k, use)
        _row_slices(k, use)


def _apply(k: Kernel, use: str) -> None:
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    held = matrix(m, n, t, use)
    zero = "0" if case.is_integer else "0.0"
    k.add(f"""
%nil_{use} = arith.constant {zero} : {t}
%applied_{use} = coopmatrix.apply (%i, %j, %v) in %x_{use} : {held} {{
  %below = arith.cmpi ugt, %i, %j : index
  %w = arith.select %below, %v, %nil_{use} : {t}
  %first = coopmatrix.extract %x_{use}[%c0] : {held}
  %same = arith.cmpi eq, %i, %j : index
  %z = arith.select %same, %v, %w : {t}
  coopmatrix.yield %z : {t}
}}""")
    k.keep(f"applied_{use}", m, n, t, use)


def _row_slices(k: Kernel, use: str) -> None:
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    held = matrix(m, n, t, use)
    for length, offset in ((4, "%c2"), (5, "%cm1")):
        name = f"slice{length}_{use}"
        out = k.memory(f"o_{name}", 1, length, t, 9)
        k.add(
            f"%{name} = coopmatrix.extract_row_slice %x_{use}[{offset}] : {held} -> "
            f"vector<{length}x{t}>"
        )
        for at in range(length):
            k.add(
                f"%{name}_{at}e = vector.extract %{name}[{at}] : {t} from "
                f"vector<{length}x{t}>\n"
                f"%{name}_{at}p = arith.constant {at} : index\n"
                f"memref.store %{name}_{at}e, %o_{name}[%c0, %{name}_{at}p] : {out}"
            )
    bits = "true, false, true, true"
    k.add(
        f"%mask_{use} = arith.constant dense<[{bits}]> : vector<4xi1>\n"
        f"%in_{use} = coopmatrix.insert_row_slice %slice4_{use}, %x_{use}[%c1] : "
        f"vector<4x{t}>, {held}\n"
        f"%in2_{use} = coopmatrix.insert_row_slice %slice4_{use}, %in_{use}[%c3] mask "
        f"%mask_{use} : vector<4xi1> : vector<4x{t}>, {held}"
    )
    k.keep(f"in2_{use}", m, n, t, use)


def reductions(k: Kernel) -> None:
    """Rows and columns of every use, of what has padding that is not 0."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    value = "1" if case.is_integer else "1.0"
    k.add(f"%r_one = arith.constant {value} : {t}")
    for use in (case.use,):
        held = matrix(m, n, t, use)
        # Padding becomes 1 or -1 as well.
        k.add(
            f"%r_ones_{use} = coopmatrix.fill %r_one : {t} -> {held}\n"
            f"%r_x_{use} = coopmatrix.sub %x_{use}, %r_ones_{use} : {held}"
        )
        for number, kind in enumerate(case.some(("add", "max", "min"), 2)):
            sign = case.signed if kind != "add" else ""
            for axis, rows, cols in case.some(
                (("rows", m, 1), ("cols", 1, n)), 2 - number
            ):
                name = f"r_{kind}_{axis}_{use}"
                k.add(
                    f"%{name} = coopmatrix.reduce {kind} {axis} {sign}%r_x_{use} : "
                    f"{held} -> {matrix(rows, cols, t, use)}"
                )
                k.keep(name, rows, cols, t, use)
