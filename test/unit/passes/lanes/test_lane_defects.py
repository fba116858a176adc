"""What an existing implementation gets wrong, one test for each defect, or more.

The numbers are those of `test_known_defects.py`.  `PLANTED` puts the like of some
defects into coopc, one at a time, and sees that their tests catch them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.lane_programs import Case, check, kernel, spread
from support.programs import kernel as program
from support.spirv_hints import widest_vector
from xdsl.dialects import arith
from xdsl.utils.exceptions import VerifyException

import coopc
from coopc.diagnostic import CompileError
from coopc.dialects import coopmatrix, simt
from coopc.ir import facts
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.passes.lanes.distribute_coopmatrix import fragments, multiply
from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
    Distributor,
    memory_of,
)
from coopc.plan.lane_access import AccessFacts
from coopc.run import toolchain
from coopc.sim.simulate import simulate

LANES = 16


def ones(rows: int, cols: int) -> Any:
    """An array that says where it was written: numbers from 1."""
    return np.arange(1, rows * cols + 1, dtype=np.float32).reshape(rows, cols)


def test_7_1_padding() -> None:
    """A 4 x 15 matrix does not touch column 15 of an 8 x 32 memref."""
    held = "!coopmatrix.matrix<4x15xf32, acc>"
    module = program(
        "%a: memref<8x32xf32>, %b: memref<8x32xf32>",
        f"""%z = arith.constant 0 : index
        %x = coopmatrix.load %a[%z, %z] row_major : memref<8x32xf32> -> {held}
        coopmatrix.store %x, %b[%z, %z] row_major : {held}, memref<8x32xf32>""",
    )
    given, found = ones(8, 32), np.zeros((8, 32), np.float32)
    simulate(spread(module, LANES), "f", [given, found])
    expected = np.zeros_like(found)
    expected[:4, :15] = given[:4, :15]
    assert np.array_equal(found, expected)


def test_7_2_columns() -> None:
    """16 x 32 to 1 x 32 over 16 lanes, and nothing beside it."""
    x, y = "!coopmatrix.matrix<16x32xf32, acc>", "!coopmatrix.matrix<1x32xf32, acc>"
    module = program(
        "%a: memref<16x32xf32>, %b: memref<2x40xf32>",
        f"""%z = arith.constant 0 : index
        %x = coopmatrix.load %a[%z, %z] row_major : memref<16x32xf32> -> {x}
        %y = coopmatrix.reduce add cols %x : {x} -> {y}
        coopmatrix.store %y, %b[%z, %z] row_major : {y}, memref<2x40xf32>""",
    )
    given, found = ones(16, 32), np.zeros((2, 40), np.float32)
    simulate(spread(module, LANES), "f", [given, found])
    expected = np.zeros_like(found)
    expected[0, :32] = given.sum(0)
    assert np.array_equal(found, expected)


def test_7_3_packed_a() -> None:
    """Stores of a whose elements are packed in channels."""
    for element in ("f16", "bf16", "s8", "u8"):
        check(Case(element, LANES, 16, 16, 4, "a"), ["memory", "conversions"])
        check(Case(element, LANES, 4, 16, 4, "a"), ["memory", "conversions"])


def is_valid(case: Case, sections: list[str]) -> bool:
    """Whether the SPIR-V of a kernel is valid."""
    pipeline = f"coopc-lanes{{subgroup-size={LANES} device=intel-cpu}}"
    binary = coopc.compile(kernel(case, sections).text, pipeline).bytes
    return toolchain.validate_spirv(binary, "spv1.4") is None


def test_7_5_odd_a() -> None:
    """15 columns of f16, and 6 of i8, are not packed, right and valid."""
    for element, cols in (("f16", 15), ("bf16", 15), ("s8", 6), ("u8", 15)):
        case = Case(element, LANES, 16, cols, 4, "a")
        check(case, ["memory", "conversions", "elements"])
        assert is_valid(case, ["memory", "conversions", "elements"])


def test_7_6_fills() -> None:
    """Fills of 5 and 6, of packed a too; the module is valid."""
    for element in ("f16", "bf16", "s8"):
        case = Case(element, LANES, 16, 16, 4, "a")
        check(case, ["conversions"])
        assert is_valid(case, ["conversions"])


def test_7_7_results() -> None:
    """The type of the result is not that of c."""
    for element in ("f16", "bf16", "s8", "s16"):
        case = Case(element, LANES, 16, 4, 8, "acc")
        check(case, ["products"])
        assert is_valid(case, ["products"])


def test_7_8_reductions() -> None:
    """Columns of types that are not 32 bits wide."""
    for element in ("bf16", "f16", "f64", "s8", "s64"):
        for variant in range(3):
            check(Case(element, LANES, 16, 5, 4, "acc", variant), ["reductions"])
        assert is_valid(Case(element, LANES, 16, 5, 4, "acc"), ["reductions"])


def writes_blocks(position: str, offset: str = "0", more: str = "") -> bool:
    """Whether a matrix is written by blocks, at a position in a memref of an offset."""
    memory = f"memref<64x64xf32, strided<[64, 1], offset: {offset}>>"
    held = "!coopmatrix.matrix<16x4xf32, acc>"
    aligned = "" if more else f"%b = memref.assume_alignment %a, 64 : {memory}"
    module = program(
        f"%a: {memory}, %v: f32, %some: i32",
        f"""%n = arith.index_cast %some : i32 to index
        %zero = arith.constant 0 : index
        %four = arith.constant 4 : index
        %many = arith.constant 32 : index
        %x = arith.muli %n, %many : index
        %y = arith.muli %n, %four : index
        %quotient = arith.divui %x, %y : index
        {aligned}
        %m = coopmatrix.fill %v : f32 -> {held}
        coopmatrix.store %m, {"%a" if more else "%b"}[%zero, %{position}] col_major
          {more} : {held}, {memory}""",
    )
    return any(isinstance(op, simt.BlockWriteOp) for op in spread(module, LANES).walk())


def test_7_9_quotients() -> None:
    """32 n is a multiple of 16 bytes; what divides x and y says nothing of x / y."""
    assert writes_blocks("x")
    assert not writes_blocks("quotient")


def test_7_10_offsets() -> None:
    """An offset counts: 64 is a multiple of 16 bytes, 66 is not, nor is any number."""
    assert writes_blocks("zero", "64")
    assert not writes_blocks("zero", "66")
    assert not writes_blocks("zero", "?")


PREFETCH = """
  %z = arith.constant 0 : index
  coopmatrix.prefetch %m[%z, %z] row_major level = {level} : memref<64x64xf16>,
    !coopmatrix.matrix<{rows}x{cols}xf16, a>
"""


def prefetched(rows: int, cols: int, level: int) -> list[str]:
    """The sizes and caches of the messages that prefetch a matrix on bmg."""
    body = PREFETCH.format(rows=rows, cols=cols, level=level)
    module = program("%m: memref<64x64xf16>", body)
    pipeline = "set-target{device=bmg},convert-coopmatrix-to-xe"
    text = coopc.compile(module, pipeline, "mlir").text
    lines = [x for x in text.splitlines() if "xe.block_prefetch_2d" in x]
    return [x.partition("block ")[2].partition(" :")[0] for x in lines]


def test_7_11_prefetch() -> None:
    """24 x 48 are 24 x 48; level 2 is not level 1, and there is no level 3."""
    near, far = (f"cache <l1 = {x}, l3 = cached>" for x in ("cached", "uncached"))
    shapes = ("16x32x1", "16x16x1", "8x32x1", "8x16x1")
    assert prefetched(24, 48, 1) == [f"<16, {x}> {near}" for x in shapes]
    assert prefetched(32, 32, 1) == [f"<16, 32x32x1> {near}"]
    assert prefetched(32, 32, 2) == [f"<16, 32x32x1> {far}"]
    assert prefetched(32, 32, 3) == []


def test_7_12_alignment() -> None:
    """What an access says of its address decides."""
    assert writes_blocks("zero", more="alignment = 16")
    assert not writes_blocks("zero", more="alignment = 8")


def test_7_13_vectors() -> None:
    """36 and 64 components are several vectors."""
    check(Case("f32", 4, 16, 9, 4, "acc"), ["memory", "elementwise"])
    case = Case("f32", 4, 16, 16, 16, "acc")
    pipeline = "coopc-lanes{subgroup-size=4 device=intel-cpu}"
    binary = coopc.compile(kernel(case).text, pipeline).bytes
    assert widest_vector(binary) == 16


def test_7_atomics() -> None:
    """Old values, and 0 of what is not updated: rows that are checked."""
    held, memory = "!coopmatrix.matrix<16x2xi32, acc>", "memref<12x2xi32>"
    module = program(
        f"%a: {memory}, %b: memref<16x2xi32>",
        f"""%z = arith.constant 0 : index
        %one = arith.constant 1 : i32
        %x = coopmatrix.fill %one : i32 -> {held}
        %old = coopmatrix.atomic_add %x, %a[%z, %z] row_major checked(rows) relaxed :
          {held}, {memory} -> {held}
        coopmatrix.store %old, %b[%z, %z] row_major : {held}, memref<16x2xi32>""",
    )
    memory_before = np.arange(24, dtype=np.int32).reshape(12, 2)
    updated, found = memory_before.copy(), np.full((16, 2), 9, np.int32)
    simulate(spread(module, LANES), "f", [updated, found])
    assert np.array_equal(updated, memory_before + 1)
    assert np.array_equal(found[:12], memory_before)
    assert not found[12:].any()


# Mistakes that are put in


def no_mask(patch: pytest.MonkeyPatch) -> None:
    """7.1: columns are not masked by N."""
    patch.setattr(CoopmatrixLayout, "needs_mask", False)


def first_columns(patch: pytest.MonkeyPatch) -> None:
    """7.2: the first columns are offered again."""
    of_step = multiply._of_step  # pyright: ignore[reportPrivateUsage]

    def wrong(sums: Any, step: int, count: int) -> Any:
        return of_step(sums, 0, count)

    patch.setattr(multiply, "_of_step", wrong)


def unpacked_stores(patch: pytest.MonkeyPatch) -> None:
    """7.3: a store takes packed components for unpacked ones."""
    store = Distributor.store

    def wrong(self: Distributor, op: coopmatrix.StoreOp, splitter: Any) -> Any:
        type = op.value.type
        assert isinstance(type, coopmatrix.MatrixType)
        held = self.held_by_type[type]
        layout = replace(held.layout, channels=1)
        if layout.components == held.layout.components:
            self.held_by_type[type] = replace(held, layout=layout)
        result = store(self, op, splitter)
        self.held_by_type[type] = held
        return result

    patch.setattr(Distributor, "store", wrong)


def always_packed(patch: pytest.MonkeyPatch) -> None:
    """7.5: a is packed whatever its columns are."""

    def wrong(use: str, cols: int, element_bits: int) -> int:
        return max(1, 32 // element_bits) if use == "a" else 1

    patch.setattr("coopc.layout.coopmatrix.channels", wrong)


def unconverted(patch: pytest.MonkeyPatch) -> None:
    """7.7: sums are not converted to the type of the result."""

    def wrong(b: Any, product: Any, total: Any, z: Any) -> Any:
        return total

    patch.setattr(multiply, "_end", wrong)


def divisible(patch: pytest.MonkeyPatch) -> None:
    """7.9: quotients of multiples are multiples."""
    exact = facts.ValueFacts.divisor

    def wrong(self: facts.ValueFacts, value: Any) -> int:
        match value.owner:
            case arith.DivUIOp(lhs=lhs, rhs=rhs):
                return max(1, exact(self, lhs) // exact(self, rhs))
            case _:
                return exact(self, value)

    patch.setattr(facts.ValueFacts, "divisor", wrong)


def no_offset(patch: pytest.MonkeyPatch) -> None:
    """7.10: alignments know no offset."""

    def wrong(op: Any) -> AccessFacts:
        return replace(memory_of(op), alignment=64)

    patch.setattr(
        "coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix.memory_of",
        wrong,
    )


def long_vectors(patch: pytest.MonkeyPatch) -> None:
    """7.13: a lane holds one vector, as long as it may be."""
    of = fragments.LaneFragment.of

    def wrong(layout: CoopmatrixLayout, element: Any, max_vector: int) -> Any:
        held = of(layout, element, max_vector)
        return replace(held, width=held.width * held.count, count=1)

    patch.setattr(fragments.LaneFragment, "of", wrong)


CAUGHT = (AssertionError, ValueError, VerifyException, CompileError)
"""How mistakes are found: wrong bits, a wrong layout, a bad module."""
PLANTED: list[tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], None]]] = [
    (no_mask, test_7_1_padding),
    (first_columns, test_7_2_columns),
    (unpacked_stores, test_7_3_packed_a),
    (always_packed, test_7_5_odd_a),
    (unconverted, test_7_7_results),
    (divisible, test_7_9_quotients),
    (no_offset, test_7_10_offsets),
    (long_vectors, test_7_13_vectors),
]


@pytest.mark.parametrize(
    ("plant", "test"), PLANTED, ids=[x.__name__ for x, _ in PLANTED]
)
def test_planted(
    plant: Callable[[pytest.MonkeyPatch], None],
    test: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test of a defect fails if the like of it is there, and only then."""
    test()
    plant(monkeypatch)
    with pytest.raises(CAUGHT):
        test()
