"""Matrices in memory: loads, stores and atomics in all their forms."""

from __future__ import annotations

from coopc.testing.lane_kernels import BITS, Kernel, matrix, numbers


def memory(k: Kernel) -> None:
    """Loads and stores in every layout, checked, shifted, of any strides."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    for use in (case.use,):
        k.keep(f"x_{use}", m, n, t, use)
    # Column-major, from a memref of which the first dimension is contiguous.
    turned = f"memref<{n + 1}x{m + 2}x{t}, strided<[1, {n + 2}]>>"
    base = numbers((m + 2, n + 2), t, 11)
    k.given("turned", base.T[: n + 1], turned)
    for use in (case.use,):
        held = matrix(m, n, t, use)
        k.add(
            f"%t_{use} = coopmatrix.load %turned[%c1, %c2] col_major : "
            f"{turned} -> {held}"
        )
        k.keep(f"t_{use}", m, n, t, use)
        columns = k.memory(f"columns_{use}", n + 2, m + 1, t, 3)
        k.add(
            f"coopmatrix.store %x_{use}, %columns_{use}[%c1, %c1] col_major : "
            f"{held}, {columns}"
        )
    _checked(k)
    if case.depth % 4 == 0 and case.type != "f64" and case.type != "i64":
        _packed(k)


def _checked(k: Kernel) -> None:
    """Accesses that are half outside."""
    m, n, t = k.case.rows, k.case.cols, k.case.type
    inside = f"memref<{max(1, m - 1)}x{n + 1}x{t}>"
    k.given("inside", numbers((max(1, m - 1), n + 1), t, 12), inside)
    held = matrix(m, n, t, k.case.use)
    forms = (
        ("row_major", "%cm1, %c2", "rows, cols"),
        ("row_major", "%c1, %c1", "rows"),
        ("col_major", "%cm1, %c1", "rows, cols"),
        ("row_major", "%c0, %cm1", "rows, cols"),
    )
    for number, (layout, at, checked) in enumerate(k.case.some(forms, 2)):
        k.add(
            f"%checked{number}v = coopmatrix.load %inside[{at}] {layout} "
            f"checked({checked}) : {inside} -> {held}"
        )
        k.keep(f"checked{number}v", m, n, t, k.case.use)
        # What is not checked must be there.
        rows, cols = max(1, m - 1), n + 3
        out = k.memory(f"checked{number}o", rows, cols, t, 5)
        k.add(
            f"coopmatrix.store %x_{k.case.use}, %checked{number}o[{at}] {layout} "
            f"checked({checked}) : {held}, {out}"
        )


def _packed(k: Kernel) -> None:
    """The packed layout of b."""
    case = k.case
    rows, cols, t = case.depth, case.cols, case.type
    w = 32 // BITS[t]
    shape = (rows // w + 1, cols * w + 1)
    text = f"memref<{shape[0]}x{shape[1]}x{t}>"
    k.given("vnni", numbers(shape, t, 13), text)
    held = matrix(rows, cols, t, "b")
    k.add(f"%p_b = coopmatrix.load %vnni[%c1, %c1] packed : {text} -> {held}")
    k.keep("p_b", rows, cols, t, "b")
    k.memory("vnni_o", *shape, t, 3)
    k.add(
        f"coopmatrix.store %p_b, %vnni_o[%c0, %c0] packed checked(rows, cols) : "
        f"{held}, {text}"
    )


def atomics(k: Kernel) -> None:
    """Atomic accesses; the result of an update is what was there before."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    held = matrix(m, n, t)
    for name in ("add", "max", "min"):
        memory = f"memref<{max(1, m - 1)}x{n + 2}x{t}>"
        k.given(f"at_{name}", numbers((max(1, m - 1), n + 2), t, 15), memory)
        sign = case.signed if name != "add" else ""
        k.add(
            f"%old_{name} = coopmatrix.atomic_{name} {sign}%x_acc, "
            f"%at_{name}[%c0, %c1] row_major checked(rows) relaxed : {held}, {memory}"
            f" -> {held}"
        )
        k.keep(f"old_{name}", m, n, t, "acc")
    out = k.memory("at_store", m, n, t, 9)
    k.add(
        f"%at_load = coopmatrix.atomic_load %x[%c0, %c0] row_major acquire "
        f"scope = workgroup : memref<{m}x{n}x{t}> -> {held}\n"
        f"coopmatrix.atomic_store %at_load, %at_store[%c0, %c0] row_major release : "
        f"{held}, {out}"
    )
