"""Block accesses in code: how many there are, and the same bits as one by one."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.lane_programs import numbers
from support.programs import kernel as program
from xdsl.context import Context
from xdsl.dialects import vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ForOp

import coopc
from coopc.dialects import simt
from coopc.dialects.narrow import is_vector
from coopc.interface_call import pack
from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
    DistributeCoopmatrixPass,
)
from coopc.run import execute, opencl, vulkan
from coopc.sim.simulate import simulate

BASE = 64
"""The offset of the memrefs that have one."""


class Copy(NamedTuple):
    """A matrix that is read from one memref and written to another of that type."""

    matrix: str
    """Its type."""
    memory: str
    """The type of the memrefs."""
    layout: str
    counts: dict[int, int]
    """How many blocks of a length are read, and as many written; {} without blocks."""
    at: tuple[int, int] = (0, 0)
    more: str = ""
    """Other properties of the accesses."""
    lanes: int = 16

    @property
    def element(self) -> str:
        """The element type."""
        return self.matrix.split(",")[0].split("x")[-1]

    @property
    def shape(self) -> tuple[int, int]:
        """Of the memrefs."""
        sizes = self.memory.removeprefix("memref<").split("x")
        return int(sizes[0]), int(sizes[1])

    @property
    def body(self) -> str:
        """The operations."""
        held = f"!coopmatrix.matrix<{self.matrix}>"
        base = f"memref<{BASE + self.shape[0] * self.shape[1]}x{self.element}>"
        views = [
            f"%{name} = memref.reinterpret_cast %base_{name} to offset: [{BASE}], "
            f"sizes: {list(self.shape)}, strides: [{self.shape[1]}, 1] : "
            f"{base} to {self.memory}\n"
            for name in ("a", "b")
            if "offset" in self.memory
        ]
        how = f"[%p, %q] {self.layout} {self.more}"
        return (
            "".join(views)
            + f"""%p = arith.constant {self.at[0]} : index
  %q = arith.constant {self.at[1]} : index
  %x = coopmatrix.load %a{how} : {self.memory} -> {held}
  coopmatrix.store %x, %b{how} : {held}, {self.memory}
"""
        )

    @property
    def arguments(self) -> str:
        """The memrefs, or what they are views of."""
        if "offset" not in self.memory:
            return f"%a: {self.memory}, %b: {self.memory}"
        base = f"memref<{BASE + self.shape[0] * self.shape[1]}x{self.element}>"
        return f"%base_a: {base}, %base_b: {base}"


ALIGNED = "alignment = 64"
COPIES = {
    "column by column": Copy(
        "16x4xf32, acc", "memref<8x64xf32>", "col_major", {1: 4}, (2, 16), ALIGNED
    ),
    "two blocks of rows": Copy(
        "32x3xf32, acc", "memref<4x64xf32>", "col_major", {2: 3}, (1, 32), ALIGNED
    ),
    "in a loop": Copy(
        "32x20xf32, acc", "memref<20x64xf32>", "col_major", {2: 2}, (0, 16), ALIGNED
    ),
    "in a loop, with rest": Copy(
        "16x27xf32, acc", "memref<27x64xf32>", "col_major", {1: 2}, (0, 0), ALIGNED
    ),
    "8 and 8": Copy(
        "256x2xf32, acc", "memref<2x512xf32>", "col_major", {8: 4}, (0, 0), ALIGNED
    ),
    "columns that follow": Copy(
        "16x7xf32, acc", "memref<9x16xf32>", "col_major", {4: 1, 2: 1, 1: 1}, (1, 0),
        ALIGNED,
    ),
    "with an offset": Copy(
        "32x4xf32, acc", "memref<6x32xf32, strided<[32, 1], offset: 64>>",
        "col_major", {8: 1}, (2, 0), ALIGNED,
    ),
    "16 bytes": Copy(
        "16x16xi8, acc", "memref<17x16xi8>", "col_major", {16: 1}, (1, 0), ALIGNED
    ),
    "bytes of b": Copy(
        "64x3xi8, b", "memref<3x64xi8>", "col_major", {8: 1, 4: 1}, (0, 0), ALIGNED
    ),
    "halves": Copy(
        "32x5xf16, acc", "memref<5x32xf16>", "col_major", {8: 1, 2: 1}, (0, 0), ALIGNED
    ),
    "the only row": Copy(
        "1x112xf32, acc", "memref<3x128xf32>", "row_major", {4: 1, 2: 1, 1: 1}, (1, 0),
        ALIGNED,
    ),
    "columns that are checked": Copy(
        "16x5xf32, acc", "memref<4x16xf32>", "col_major", {1: 5}, (1, 0),
        f"checked(cols) {ALIGNED}",
    ),
    "a row that is checked": Copy(
        "1x32xf32, acc", "memref<3x32xf32>", "row_major", {2: 1}, (3, 0),
        f"checked(rows) {ALIGNED}",
    ),
    "rows that are checked": Copy(
        "16x4xf32, acc", "memref<8x20xf32>", "col_major", {}, (0, 8),
        f"checked(rows) {ALIGNED}",
    ),
    "across columns": Copy(
        "16x4xf32, acc", "memref<64x8xf32>", "row_major", {}, (0, 0), ALIGNED
    ),
    "4 lanes": Copy(
        "4x4xf64, acc", "memref<4x4xf64>", "col_major", {4: 1}, (0, 0), ALIGNED, 4
    ),
}  # fmt: skip


def spread(copy: Copy, **options: Any) -> ModuleOp:
    """The module of a copy, over lanes."""
    module = program(copy.arguments, copy.body, lanes=copy.lanes)
    DistributeCoopmatrixPass(copy.lanes, **options).apply(Context(), module)
    module.verify()
    return module


def arrays(copy: Copy) -> list[Any]:
    """What is read, and sevens to be written."""
    size = copy.shape[0] * copy.shape[1]
    shape = (BASE + size,) if "offset" in copy.memory else copy.shape
    given = numbers(shape, copy.element, 1)
    return [given, np.full_like(given, 7)]


def expected(copy: Copy) -> Any:
    """What is written, by hand."""
    given, found = arrays(copy)
    if "offset" in copy.memory:
        whole, given, found = found, given[BASE:], found[BASE:]
    else:
        whole = found
    given, found = given.reshape(copy.shape), found.reshape(copy.shape)
    rows, cols = map(int, copy.matrix.split(",")[0].split("x")[:2])
    if copy.layout == "col_major":
        rows, cols = cols, rows
    top, left = copy.at
    part = slice(top, top + rows), slice(left, left + cols)
    found[part] = given[part]
    return whole


def blocks(module: ModuleOp, kind: type) -> Counter[int]:
    """How many blocks of which lengths are in a module."""
    found: Counter[int] = Counter()
    for op in module.walk():
        if isinstance(op, kind):
            value = op.results[0] if op.results else op.operands[0]
            type_of = value.type
            found[type_of.get_shape()[0] if is_vector(type_of) else 1] += 1
    return found


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_counts(copy: Copy) -> None:
    """As many blocks as are planned, of these lengths."""
    module = spread(copy)
    assert blocks(module, simt.BlockReadOp) == copy.counts
    assert blocks(module, simt.BlockWriteOp) == copy.counts


@pytest.mark.parametrize("options", [{}, {"max_vector": 4}, {"unroll": True}], ids=str)
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_bits(copy: Copy, options: dict[str, Any]) -> None:
    """What is written, and nothing beside it."""
    given, found = arrays(copy)
    simulate(spread(copy, **options), "f", [given, found])
    assert np.array_equal(found, expected(copy))


def test_short_vectors() -> None:
    """Messages are as long as the vectors of the device at most."""
    module = spread(COPIES["8 and 8"], max_vector=4)
    assert blocks(module, simt.BlockReadOp) == {4: 8}
    assert not [op for op in module.walk() if isinstance(op, ForOp)]


def test_whole_vectors_are_not_shuffled() -> None:
    """A message of all components is what a lane holds."""
    for name in ("16 bytes", "4 lanes"):
        assert not [
            op for op in spread(COPIES[name]).walk() if isinstance(op, vector.ShuffleOp)
        ]


def test_by_element() -> None:
    """Blocks can be done without."""
    module = spread(COPIES["two blocks of rows"], block_access=False)
    assert not blocks(module, simt.BlockReadOp)
    given, found = arrays(COPIES["two blocks of rows"])
    simulate(module, "f", [given, found])
    assert np.array_equal(found, expected(COPIES["two blocks of rows"]))


@pytest.mark.parametrize(
    ("offset", "is_block"), [("64", True), ("66", False), ("?", False)]
)
def test_offsets_count_for_alignment(offset: str, is_block: bool) -> None:
    """64 floats are a multiple of 16 bytes, 66 are not, and any number is none."""
    type = f"memref<4x64xf32, strided<[64, 1], offset: {offset}>>"
    held = "!coopmatrix.matrix<16x4xf32, acc>"
    module = program(
        f"%a: {type}, %v: f32",
        f"""%p = arith.constant 0 : index
  %b = memref.assume_alignment %a, 64 : {type}
  %x = coopmatrix.fill %v : f32 -> {held}
  coopmatrix.store %x, %b[%p, %p] col_major : {held}, {type}
""",
    )
    DistributeCoopmatrixPass(16).apply(Context(), module)
    assert bool(blocks(module, simt.BlockWriteOp)) == is_block


RUN = ("column by column", "in a loop", "columns that follow", "16 bytes", "halves")


@pytest.mark.parametrize("name", [*RUN, "the only row", "8 and 8"])
def test_on_the_run_time(name: str, intel_cpu: opencl.Session) -> None:
    """The same on Intel's OpenCL run-time."""
    copy = COPIES[name]
    text = str(program(copy.arguments, copy.body, lanes=copy.lanes))
    artifact = coopc.compile(text, "coopc-lanes{device=intel-cpu}")
    (interface,) = artifact.interface
    call = pack(interface, arrays(copy), (1, 1, 1))
    found = execute.on_opencl(artifact.bytes, call, intel_cpu).arrays[1]
    assert np.array_equal(found, expected(copy))


def test_on_lavapipe(lavapipe: vulkan.Session) -> None:
    """Devices without block messages have each lane access what is its own."""
    copy = Copy(
        "32x4xf32, acc", "memref<4x32xf32>", "col_major", {4: 4}, (0, 0), ALIGNED, 8
    )
    assert blocks(spread(copy, max_vector=4), simt.BlockReadOp) == copy.counts
    text = str(program(copy.arguments, copy.body, lanes=copy.lanes))
    artifact = coopc.compile(text, "coopc-lanes{device=lavapipe}")
    (interface,) = artifact.interface
    call = pack(interface, arrays(copy), (1, 1, 1))
    found = execute.on_vulkan(artifact.bytes, call, lavapipe).arrays[1]
    assert np.array_equal(found, expected(copy))


def test_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard error says which messages there are, or why none."""
    spread(COPIES["8 and 8"], explain=True)
    spread(COPIES["across columns"], explain=True)
    errors = capsys.readouterr().err
    assert "coopmatrix.load: by 4 blocks: 2 x (8 + 8) components" in errors
    assert "coopmatrix.store: by rows of " in errors
    assert " components: lanes are not along" in errors
