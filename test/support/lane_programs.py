"""Kernels with every operation of `coopmatrix`, for tests that spread them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from support.programs import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, VectorType

from coopc.dialects import coopmatrix
from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
    DistributeCoopmatrixPass,
)
from coopc.sim.simulate import simulate
from coopc.validate.compare import compare

T = TypeVar("T")

ELEMENTS = {
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
    "s8": "i8",
    "u8": "i8",
    "s16": "i16",
    "s32": "i32",
    "s64": "i64",
}
"""Element types by names that say the sign."""
LANES = (4, 8, 16, 32, 64)
USES = ("a", "b", "acc")
VARIANTS = 12
"""A number that 2, 3 and 4 divide, as operations have so many forms."""


@dataclass(frozen=True, slots=True)
class Case:
    """What one kernel is about."""

    element: str
    """A name in `ELEMENTS`."""
    lanes: int
    rows: int
    """M"""
    cols: int
    """N"""
    depth: int
    """K of the product."""
    use: str = "acc"
    """Of the matrix that operations are tried on: a, b or acc."""
    variant: int = 0
    """Which of several forms of an operation are tried, where not all are."""

    def some(self, forms: Sequence[T], count: int) -> list[T]:
        """Return some of several forms, by the variant."""
        return [forms[(self.variant + n) % len(forms)] for n in range(count)]

    @property
    def type(self) -> str:
        """The element type."""
        return ELEMENTS[self.element]

    @property
    def signed(self) -> str:
        """`signed`, or nothing."""
        return "signed " if self.element[0] == "s" else ""

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers."""
        return self.type.startswith("i")


def shapes(lanes: int) -> tuple[tuple[int, int, int], ...]:
    """Return (M, N, K) with what matters: few and many rows, odd N, N = 1, padding."""
    return (
        (lanes, 3, 4),
        (2 * lanes, 2, 3),
        (lanes // 2, 5, 4),
        (1, lanes + 1, 4),
        (lanes, 1, lanes + 1),
        (lanes // 4 + 2, 3, 8),
        (lanes // 2, 8, 4),
        (3, 2, 2 * lanes),
        (lanes - 1, 4, 1),
    )


Choice: TypeAlias = tuple[int, ...]
"""The numbers of an element type, a subgroup size, sizes, a use and a variant."""
Pair: TypeAlias = tuple[int, int, int, int]
"""A position and the number there, and another position and number."""
SIZES = (len(ELEMENTS), len(LANES), len(shapes(4)), len(USES), VARIANTS)
"""How many values each number of a choice has."""
OFFERED = 30
"""From so many choices the best one is taken."""


@cache
def pairwise_cases(count: int = 207) -> tuple[Case, ...]:
    """Return cases that have every two values together, at least `count` of them.

    They are chosen one by one, each with as many new pairs as any of those that a
    fixed sequence of random numbers offers.
    """
    random = np.random.default_rng(0)
    missing = all_pairs()
    chosen: dict[Choice, None] = {}
    while missing or len(chosen) < count:
        wanted = min(missing, default=None)
        offered = [_offer(random, wanted) for _ in range(OFFERED)]
        best = max(offered, key=lambda x: len(pairs(x) & missing))
        chosen[best] = None
        missing -= pairs(best)
    return tuple(case_of(choice) for choice in chosen)


def _offer(random: np.random.Generator, wanted: Pair | None) -> Choice:
    """Return a choice by chance, but for a pair that it is to have."""
    choice = [int(random.integers(size)) for size in SIZES]
    if wanted is not None:
        choice[wanted[0]], choice[wanted[2]] = wanted[1], wanted[3]
    return tuple(choice)


def case_of(choice: Choice) -> Case:
    """Return the case of a choice."""
    element, lanes, shape, use, variant = choice
    sizes = shapes(LANES[lanes])[shape]
    return Case(tuple(ELEMENTS)[element], LANES[lanes], *sizes, USES[use], variant)


def choice_of(case: Case) -> Choice:
    """Return the choice that a case is."""
    return (
        tuple(ELEMENTS).index(case.element),
        LANES.index(case.lanes),
        shapes(case.lanes).index((case.rows, case.cols, case.depth)),
        USES.index(case.use),
        case.variant,
    )


def pairs(choice: Choice) -> set[Pair]:
    """Return every two numbers of a choice, with their positions."""
    return {
        (i, choice[i], j, choice[j])
        for i in range(len(choice))
        for j in range(i + 1, len(choice))
    }


def all_pairs() -> set[Pair]:
    """Return the pairs that there are."""
    return {
        (i, x, j, y)
        for j in range(len(SIZES))
        for i in range(j)
        for x in range(SIZES[i])
        for y in range(SIZES[j])
    }


# A kernel for a `Case` that is being written: text, arguments, what goes into them.
#
# Inputs are small numbers, so that every sum is exact in every type.

Array: TypeAlias = npt.NDArray[Any]

BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i8": 8, "i16": 16}
BITS.update({"i32": 32, "i64": 64})
_NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
}
_NUMPY.update({"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64})


def matrix(rows: int, cols: int, element: str, use: str = "acc") -> str:
    """Return the text of a type."""
    return f"!coopmatrix.matrix<{rows}x{cols}x{element}, {use}>"


@dataclass(slots=True)
class Kernel:
    """A kernel that is being written."""

    case: Case
    arguments: list[str] = field(default_factory=list[str])
    arrays: list[Array] = field(default_factory=list[Array])
    lines: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The bodies of functions that the kernel calls one after the other."""

    def add(self, text: str) -> None:
        """Add lines to the body."""
        self.lines += text.strip().splitlines()

    def given(self, name: str, array: Array, type: str) -> None:
        """Add an argument."""
        self.arguments.append(f"%{name}: {type}")
        self.arrays.append(array)

    def memory(self, name: str, rows: int, cols: int, type: str, fill: float) -> str:
        """Add a memref that is filled with a number; return its type."""
        text = f"memref<{rows}x{cols}x{type}>"
        self.given(name, filled((rows, cols), type, fill), text)
        return text

    def keep(self, name: str, rows: int, cols: int, type: str, use: str) -> None:
        """Store a matrix to a memref of its own, larger than it."""
        memory = self.memory(f"o_{name}", rows + 2, cols + 3, type, 7)
        held = matrix(rows, cols, type, use)
        self.add(
            f"coopmatrix.store %{name}, %o_{name}[%c1, %c2] row_major : "
            f"{held}, {memory}"
        )

    def copies(self) -> list[Array]:
        """Return the arguments, to be changed in place: with the same strides."""
        found: list[Array] = []
        for array in self.arrays:
            base = array.base if array.base is not None else array
            copy = base.copy()
            found.append(
                np.lib.stride_tricks.as_strided(copy, array.shape, array.strides)
            )
        return found

    @property
    def text(self) -> str:
        """The module."""
        arguments = ", ".join(self.arguments)
        types = ", ".join(x.partition(": ")[2] for x in self.arguments)
        names = ", ".join(x.partition(": ")[0] for x in self.arguments)
        parts = [
            f"func.func private @{name}({arguments}) {{\n  "
            + "\n  ".join([*self.lines, *lines, "func.return\n}"])
            for name, lines in self.sections.items()
        ]
        calls = [
            f"func.call @{name}({names}) : ({types}) -> ()" for name in self.sections
        ]
        size = f"array<i32: {self.case.lanes}>"
        return "\n".join(
            [
                f"func.func @k({arguments}) attributes {{simt.kernel,",
                f"    simt.work_group_size = {size}, "
                "simt.grid = affine_map<() -> (1)>} {",
                *calls,
                "func.return\n}",
                *parts,
                *self.functions,
            ]
        )


def filled(shape: tuple[int, ...], type: str, value: float) -> Array:
    """Return an array of one number."""
    if type == "bf16":
        bits = np.float32(value).view(np.uint32) >> np.uint32(16)
        return np.full(shape, bits, np.uint16)
    return np.full(shape, value, _NUMPY[type])


def numbers(shape: tuple[int, ...], type: str, seed: int) -> Array:
    """Return numbers from 1 to 4, or -4 to 4 without 0 where the type is signed."""
    random = np.random.default_rng(seed)
    found = random.integers(1, 5, shape) * random.choice([-1, 1], shape)
    if type == "bf16":
        bits = found.astype(np.float32).view(np.uint32) >> np.uint32(16)
        return bits.astype(np.uint16)
    return found.astype(_NUMPY[type])


# Matrices through control flow: loops, branches, selections and calls.


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


# Matrices in memory: loads, stores and atomics in all their forms.


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


# What is done to the elements of matrices: products, arithmetic, conversions.

_SUMS = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32"}
"""What is added up in something wider."""
_SAMEBITS = {"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64", "i32": "f32"}
_SAMEBITS.update({"i64": "f64", "i16": "f16"})
_CONVERTED = {"f16": "f32", "bf16": "f32", "f32": "f16", "f64": "f32", "i8": "i32"}
_CONVERTED.update({"i16": "f32", "i32": "i8", "i64": "i16"})


def products(k: Kernel) -> None:
    """`mul_add` into what is wider, into the same type, and of other signs."""
    case = k.case
    m, n, depth, t = case.rows, case.cols, case.depth, case.type
    a, b = matrix(m, depth, t, "a"), matrix(depth, n, t, "b")
    k.add(
        f"%a_m = coopmatrix.load %a[%c0, %c0] row_major : memref<{m}x{depth}x{t}> -> "
        f"{a}\n"
        "%b_m = coopmatrix.load %b[%c0, %c0] row_major : "
        f"memref<{depth}x{n}x{t}> -> {b}"
    )
    wide = _SUMS.get(t, t)
    k.add(
        f"%wide = coopmatrix.convert {case.signed}%x_acc : "
        f"{matrix(m, n, t)} -> {matrix(m, n, wide)}"
        if wide != t
        else f"%wide = coopmatrix.neg %x_acc : {matrix(m, n, t)}"
    )
    signs = "signed(a, b, c, result) " if case.signed else ""
    acc = matrix(m, n, wide)
    k.add(f"%d = coopmatrix.mul_add %a_m, %b_m, %wide {signs}: {a}, {b}, {acc}")
    k.keep("d", m, n, wide, "acc")
    narrow = matrix(m, n, t)
    k.add(
        f"%d_to = coopmatrix.mul_add %a_m, %b_m, %wide {signs}: {a}, {b}, {acc}"
        + (f" -> {narrow}" if wide != t else "")
    )
    k.keep("d_to", m, n, t, "acc")
    if case.is_integer:
        mixed = "signed(a, result)" if case.signed else "signed(b, c)"
        k.add(
            f"%d_mixed = coopmatrix.mul_add %a_m, %b_m, %wide {mixed} : {a}, {b}, {acc}"
        )
        k.keep("d_mixed", m, n, wide, "acc")
        k.add(
            f"%far = arith.constant {(1 << (BITS[wide] - 1)) - 3} : {wide}\n"
            f"%limit = coopmatrix.fill %far : {wide} -> {acc}\n"
            f"%d_sat = coopmatrix.mul_add %a_m, %b_m, %limit {signs}saturating : "
            f"{a}, {b}, {acc}"
        )
        k.keep("d_sat", m, n, wide, "acc")


def elementwise(k: Kernel) -> None:
    """What is done to each element."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    held = matrix(m, n, t)
    names = ["add", "sub", "mul"]
    signed = ["div", "rem", "min", "max"]
    if case.is_integer:
        names += ["and", "or", "xor"]
        k.add(
            f"%one = arith.constant 1 : {t}\n"
            f"%ones = coopmatrix.fill %one : {t} -> {held}\n"
            f"%e_shl = coopmatrix.shl %x_acc, %ones : {held}\n"
            f"%e_shr = coopmatrix.shr {case.signed}%x_acc, %ones : {held}\n"
            f"%e_not = coopmatrix.not %x_acc : {held}"
        )
        for name in ("shl", "shr", "not"):
            k.keep(f"e_{name}", m, n, t, "acc")
    for name in names + signed:
        sign = case.signed if name in signed else ""
        k.add(f"%e_{name} = coopmatrix.{name} {sign}%x_acc, %y_acc : {held}")
        k.keep(f"e_{name}", m, n, t, "acc")
    value = "3" if case.is_integer else "3.0"
    k.add(
        f"%e_neg = coopmatrix.neg %x_acc : {held}\n"
        f"%e_abs = coopmatrix.abs %x_acc : {held}\n"
        f"%three = arith.constant {value} : {t}\n"
        f"%e_scale = coopmatrix.scale %x_acc, %three : {held}, {t}"
    )
    for name in ("neg", "abs", "scale"):
        k.keep(f"e_{name}", m, n, t, "acc")


def conversions(k: Kernel) -> None:
    """Other types and uses, there and back; bits; fills."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    other = _CONVERTED[t]
    use = case.use
    targets = ("a", "b", "acc", "none")
    for to, type in zip(case.some(targets, 3), (t, other, t), strict=True):
        name = f"v_{to}_{type}"
        sign = case.signed if t != type and (case.is_integer or type[0] == "i") else ""
        k.add(
            f"%{name} = coopmatrix.convert {sign}%x_{use} : "
            f"{matrix(m, n, t, use)} -> {matrix(m, n, type, to)}"
        )
        k.keep(name, m, n, type, to)
    if (same := _SAMEBITS.get(t)) is not None:
        k.add(
            f"%bits = coopmatrix.bitcast %x_{use} : {matrix(m, n, t, use)} -> "
            f"{matrix(m, n, same, use)}"
        )
        k.keep("bits", m, n, same, use)
    k.add(
        f"%f_c5 = arith.constant 5 : i32\n"
        f"%f_int = coopmatrix.fill %f_c5 : i32 -> {matrix(m, n, t, 'b')}\n"
        f"%f_c6 = arith.constant 6.0 : f32\n"
        f"%f_float = coopmatrix.fill %f_c6 : f32 -> {matrix(m, n, t, 'a')}"
        if t != "bf16"
        else f"%f_c6 = arith.constant 6.0 : f32\n"
        f"%f_int = coopmatrix.fill %f_c6 : f32 -> {matrix(m, n, t, 'b')}\n"
        f"%f_float = coopmatrix.fill %f_c6 : f32 -> {matrix(m, n, t, 'a')}"
    )
    k.given("pointer", numbers((), t, 14), f"memref<{t}>")
    k.add(f"%f_memory = coopmatrix.fill %pointer : memref<{t}> -> {matrix(m, n, t)}")
    for name, use in (("f_int", "b"), ("f_float", "a"), ("f_memory", "acc")):
        k.keep(name, m, n, t, use)


# What depends on who has which element: slots, row slices, apply, reductions.


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
    """Rows, columns, all, 2 x 2, of what has padding that is not 0; transposition."""
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
        k.add(
            f"%r_t_{use} = coopmatrix.transpose %r_x_{use} : {held} -> "
            f"{matrix(n, m, t, 'b')}"
        )
        k.keep(f"r_t_{use}", n, m, t, "b")
        axes = [("rows", m, 1), ("cols", 1, n), ("all", 1, 1)]
        if m % 2 == n % 2 == 0:
            axes.append(("quads", m // 2, n // 2))
        for number, kind in enumerate(case.some(("add", "max", "min"), 2)):
            sign = case.signed if kind != "add" else ""
            for axis, rows, cols in case.some(tuple(axes), 3 - number):
                name = f"r_{kind}_{axis}_{use}"
                k.add(
                    f"%{name} = coopmatrix.reduce {kind} {axis} {sign}%r_x_{use} : "
                    f"{held} -> {matrix(rows, cols, t, use)}"
                )
                k.keep(name, rows, cols, t, use)
                wide = f"{name}_wide"
                k.add(
                    f"%{wide} = coopmatrix.reduce {kind} {axis} {sign}broadcast "
                    f"%r_x_{use} : {held} -> {held}"
                )
                k.keep(wide, m, n, t, use)


# Kernels with every operation of `coopmatrix`, for tests that spread them over lanes.
#
# `kernel(case)` is one kernel of one subgroup, which calls a function a section;
# what each operation gives is stored to a memref of its own, in row-major order, so
# that
# it can be compared with the simulator.

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


# Checks of `distribute-coopmatrix` on the simulator: the same bits as before.


def spread(module: ModuleOp, lanes: int, **options: Any) -> ModuleOp:
    """A module after the pass, which leaves no matrix and no long vector.

    Nor a user of a value that is in no block: later passes would come across it.
    """
    new = module.clone()
    DistributeCoopmatrixPass(lanes, **options).apply(Context(), new)
    new.verify()
    for op in new.walk():
        assert not isinstance(op, tuple(coopmatrix.OPERATIONS)), op
        for type in op.result_types:
            if isinstance(type, VectorType):
                assert type.element_count() <= 16
        for use in (use for result in op.results for use in result.uses):
            assert use.operation.parent_block() is not None, use.operation
    return new


def check(case: Case, only: Sequence[str] | None = None, **options: Any) -> None:
    """Run a kernel before and after the pass."""
    text = kernel(case, only)
    module = module_of(text.text)
    before, after = text.copies(), text.copies()
    simulate(module, "k", before, subgroup_size=case.lanes)
    simulate(spread(module, case.lanes, **options), "k", after)
    for name, x, y in zip(text.arguments, after, before, strict=True):
        difference = compare(x, y)
        assert difference.ok, f"{name}: {difference}"
