"""Kernels with every operation of `coopmatrix`, for tests that spread them over lanes.

`kernel(case)` is one kernel of one subgroup, which calls a function a section;
what each operation gives is stored to a memref of its own, in row-major order, so that
it can be compared with the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coopc.testing.lane_cases import Case
from coopc.testing.lane_flow import flow
from coopc.testing.lane_kernels import Kernel, matrix, numbers
from coopc.testing.lane_memory import atomics, memory
from coopc.testing.lane_numbers import conversions, elementwise, products
from coopc.testing.lane_places import elements, reductions

SECTIONS: dict[str, Callable[[Kernel], None]] = {
    "memory": memory,
    "products": products,
    "elementwise": elementwise,
    "conversions": conversions,
    "reductions": reductions,
    "elements": elements,
    "atomics": atomics,
    "flow": flow,
}
"""Operations that belong together."""


def kernel(case: Case, only: Iterable[str] | None = None) -> Kernel:
    """Return the kernel of a case, of all operations or of some `SECTIONS`."""
    k = Kernel(case)
    m, n, t = case.rows, case.cols, case.type
    for seed, (name, rows, cols) in enumerate(
        (("x", m, n), ("y", m, n), ("b", case.depth, n), ("a", m, case.depth))
    ):
        k.given(name, numbers((rows, cols), t, seed), f"memref<{rows}x{cols}x{t}>")
    for number in range(5):
        k.add(f"%c{number} = arith.constant {number} : index")
    k.add("%cm1 = arith.constant -1 : index")
    for use in dict.fromkeys(("acc", case.use)):
        k.add(
            f"%x_{use} = coopmatrix.load %x[%c0, %c0] row_major : memref<{m}x{n}x{t}>"
            f" -> {matrix(m, n, t, use)}"
        )
    k.add(
        f"%y_acc = coopmatrix.load %y[%c0, %c0] row_major : memref<{m}x{n}x{t}>"
        f" -> {matrix(m, n, t)}"
    )
    for name in SECTIONS if only is None else only:
        start = len(k.lines)
        SECTIONS[name](k)
        k.sections[name] = k.lines[start:]
        del k.lines[start:]
    return k
