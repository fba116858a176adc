"""Fast GEMMs of `tile-matmul-khr`, on lavapipe and on the simulator, against numpy.

Inputs are small integers, whose sums are exact in every type.  The simulator finds
races in work-group memory, and accesses that are not as aligned as they say.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.memref import AllocaOp

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.generate.gemms import Gemm
from coopc.interface_call import entry_for, pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.execute import on_vulkan
from coopc.run.toolchain import validate_spirv
from coopc.run.vulkan import Session
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

SMALL = "group=16,16 subgroup=8,8 step=16"
WIDE = "group=32,32 subgroup=16,16 step=16"
SLICED = "group=32,32 subgroup=16,16 step=32 stages=1 sliced=true"
THREE = "group=16,32 subgroup=8,16 step=24 stages=1 sliced=true"
ACROSS = "group=16,64 subgroup=8,32 step=8 stages=1"
SPLIT = "group=16,16 subgroup=16,16 step=32 stages=1 split=4"


@pytest.fixture(scope="module")
def lavapipe() -> Iterator[Session]:
    with Session.start("lavapipe") as session:
        yield session


def pipeline(tiles: str, device: str = "lavapipe") -> str:
    """The passes, with the device's tiles or with others."""
    options = f"{{{tiles}}}" if tiles else ""
    return f'set-target{{device="{device}"}},tile-matmul-khr{options},coopc-khr'


def check(gemm: Gemm, tiles: str, session: Session) -> None:
    """Run a multiplication on the driver, and on the simulator, exactly."""
    a, b, c = gemm.arrays()
    expected, passes = gemm.expected(a, b, c), pipeline(tiles)
    artifact = coopc.compile(gemm.text, passes, "spirv-binary")
    call = pack(artifact.interface[0], [a, b, c.copy()])
    found = on_vulkan(artifact.bytes, call, session).arrays[2]
    np.testing.assert_array_equal(found, expected)
    check_simulated(gemm, passes)


def check_simulated(gemm: Gemm, passes: str, entry: str = "gemm") -> None:
    a, b, c = gemm.arrays()
    universe = everything()
    source, context = Source(gemm.text, "test"), new_context(universe)
    module = parse(context, source)
    Run(context, source).apply(module, read_passes(passes, universe.all_passes))
    arguments = [a, b, c.copy()]
    simulate(module, entry, arguments, subgroup_size=8)
    np.testing.assert_array_equal(arguments[2], gemm.expected(a, b, c))


S8 = Gemm((0, 0, 0), types=("i8", "i32"))
BATCHED = Gemm((0, 0, 0), a="bmk", b="bkn", c="bmn")
GEMMS: dict[str, tuple[Gemm, str]] = {
    # Inside of memory, by the ways that work-group memory is used.
    "inside": (Gemm((64, 96, 48)), WIDE),
    "one_step": (Gemm((32, 32, 16)), WIDE),
    "one_stage": (Gemm((64, 32, 64)), f"{WIDE} stages=1"),
    "no_gaps": (Gemm((32, 64, 48)), f"{WIDE} gaps=false"),
    "bands": (Gemm((96, 64, 32)), f"{SMALL} band=4"),
    "unrolled": (Gemm((8, 8, 32)), "group=8,8 subgroup=8,8 step=16 unroll=true"),
    "one_subgroup": (Gemm((16, 16, 32)), "group=8,8 subgroup=8,8 step=8"),
    "wide_subgroups": (Gemm((32, 128, 24)), ACROSS),
    "defaults": (Gemm((64, 64, 32)), ""),
    "sliced": (Gemm((64, 64, 96)), SLICED),
    "sliced_one_step": (Gemm((32, 32, 32), dynamic=True, fill=False), SLICED),
    "three_slices": (Gemm((16, 64, 72)), THREE),
    "sliced_five": (Gemm((32, 32, 80)), SLICED.replace("step=32", "step=40")),
    # Subgroups that share K.
    "split": (Gemm((32, 32, 96)), f"{WIDE} stages=1 split=2"),
    "split_four": (Gemm((16, 32, 64), fill=False), SPLIT),
    "split_edges": (Gemm((19, 40, 72), b="nk", dynamic=True, fill=False), SPLIT),
    "split_stages": (Gemm((24, 24, 40), a="km"), f"{SMALL} split=2"),
    # Several steps ahead.
    "ahead": (Gemm((32, 64, 96)), f"{WIDE} stages=1 ahead=2"),
    "ahead_stages": (Gemm((32, 32, 72), fill=False), f"{WIDE} ahead=2"),
    "ahead_four": (Gemm((32, 40, 120), b="nk", dynamic=True), f"{SMALL} ahead=4"),
    "ahead_split": (Gemm((16, 32, 208)), f"{SPLIT} ahead=3"),
    "ahead_too_far": (Gemm((32, 32, 24)), f"{WIDE} stages=1 ahead=2"),
    # Edges, whole pieces or not.
    "sliced_edges": (Gemm((37, 65, 49), dynamic=True), SLICED),
    "sliced_edge_k": (Gemm((32, 32, 80), fill=False), SLICED),
    "edge_m": (Gemm((33, 32, 32)), SMALL),
    "edge_n": (Gemm((32, 40, 32), dynamic=True), SMALL),
    "edge_k": (Gemm((32, 32, 50), dynamic=True), SMALL),
    "odd": (Gemm((65, 97, 49), fill=False), WIDE),
    "tiny": (Gemm((7, 5, 3), dynamic=True, fill=False), WIDE),
    "one_row": (Gemm((1, 64, 32), dynamic=True), SMALL),
    "less_than_a_step": (Gemm((32, 32, 8), dynamic=True, fill=False), WIDE),
    # Layouts.
    "a_transposed": (Gemm((32, 32, 32), a="km", dynamic=True), SMALL),
    "b_transposed": (Gemm((64, 32, 32), b="nk"), WIDE),
    "c_transposed": (Gemm((40, 32, 32), c="nm", fill=False), SMALL),
    "all_transposed": (Gemm((35, 41, 29), "km", "nk", "nm", dynamic=True), SMALL),
    "sliced_transposed": (Gemm((32, 32, 64), a="km", b="nk", c="nm"), SLICED),
    "batched": (replace(BATCHED, sizes=(32, 40, 16), dynamic=True), SMALL),
    "batched_edges": (replace(BATCHED, sizes=(17, 18, 19), b="bnk"), SMALL),
    # Types.
    "f16_f16": (Gemm((32, 48, 32), types=("f16", "f16")), SMALL),
    "s8": (replace(S8, sizes=(64, 32, 64)), SMALL),
    "s8_edges": (replace(S8, sizes=(37, 29, 65), dynamic=True, fill=False), SMALL),
    "s8_transposed": (replace(S8, sizes=(32, 40, 32), b="nk", dynamic=True), SMALL),
    "u8": (replace(S8, sizes=(32, 32, 48), extended=("extui", "extui"), a="km"), SMALL),
}


@pytest.mark.parametrize("name", GEMMS)
def test_gemm(name: str, lavapipe: Session) -> None:
    check(*GEMMS[name], lavapipe)


COLUMNS = "group=8,64 subgroup=8,32 step=32 stages=1"
TURNED: dict[str, tuple[Gemm, str]] = {
    "one_word": (replace(S8, sizes=(32, 32, 32), a="km", fill=False), WIDE),
    "two_words": (replace(S8, sizes=(8, 64, 64)), COLUMNS),
    "sliced": (replace(S8, sizes=(8, 64, 64)), f"{COLUMNS} sliced=true"),
    "rest": (replace(S8, sizes=(8, 64, 80)), f"{COLUMNS} ahead=2"),
    "edges": (replace(S8, sizes=(7, 68, 41), dynamic=True, fill=False), COLUMNS),
    "u8": (
        replace(S8, sizes=(5, 29, 33), dynamic=True, extended=("extui", "extui")),
        f"{COLUMNS} sliced=true",
    ),
    "split": (
        replace(S8, sizes=(8, 64, 64)),
        COLUMNS.replace("8,32", "8,64") + " split=2",
    ),
    "not_turned": (Gemm((32, 32, 32)), SMALL),
}


@pytest.mark.parametrize("name", TURNED)
def test_turned(name: str, tmp_path: Path) -> None:
    """Bytes of rows across K change places in registers."""
    file = tmp_path / "turning.toml"
    file.write_text('version = 1\nextends = "lavapipe"\nturns_bytes = true\n')
    gemm, tiles = TURNED[name]
    passes = pipeline(tiles, str(file))
    check_simulated(gemm, passes)
    artifact = coopc.compile(gemm.text, passes, "spirv-binary")
    assert validate_spirv(artifact.bytes, "vulkan1.3") is None
    text = coopc.compile(gemm.text, passes.removesuffix(",coopc-khr"), "mlir").text
    assert ("arith.constant 16711935 : i32" in text) == (gemm.types[0] == "i8")


def test_turned_on_a_driver(lavapipe: Session, tmp_path: Path) -> None:
    """Larger ones take lavapipe minutes to compile."""
    file = tmp_path / "turning.toml"
    file.write_text('version = 1\nextends = "lavapipe"\nturns_bytes = true\n')
    gemm, tiles = TURNED["one_word"]
    artifact = coopc.compile(gemm.text, pipeline(tiles, str(file)), "spirv-binary")
    a, b, c = gemm.arrays()
    call = pack(artifact.interface[0], [a, b, c.copy()])
    found = on_vulkan(artifact.bytes, call, lavapipe).arrays[2]
    np.testing.assert_array_equal(found, gemm.expected(a, b, c))


STAGED = "coopc-khr{device=lavapipe staged=true}"


@pytest.mark.parametrize(
    ("sizes", "entry"),
    [
        ((64, 32, 48), "gemm"),
        ((64, 32, 40), "gemm.fallback"),
        ((48, 40, 16), "gemm.fallback"),
        ((32, 32, 0), "gemm.fallback"),
    ],
)
def test_an_entry_for_whole_tiles(
    sizes: tuple[int, int, int], entry: str, lavapipe: Session
) -> None:
    """Of sizes that are known at the call, the entry is chosen by its conditions."""
    gemm = Gemm(sizes, dynamic=True, fill=entry == "gemm")
    a, b, c = gemm.arrays()
    artifact = coopc.compile(gemm.text, STAGED, "spirv-binary")
    assert validate_spirv(artifact.bytes, "vulkan1.3") is None
    first, second = artifact.interface
    assert (first.name, second.name) == ("gemm", "gemm.fallback")
    found = entry_for(artifact.interface, first, [a, b, c])
    assert found.name == entry
    if entry == "gemm":  # the other one is compiled for minutes
        call = pack(found, [a, b, c.copy()])
        after = on_vulkan(artifact.bytes, call, lavapipe).arrays[2]
        np.testing.assert_array_equal(after, gemm.expected(a, b, c))
    check_simulated(gemm, STAGED, entry)


def test_both_entries_of_batches_within_a_and_b() -> None:
    for sizes, entry in (((64, 32, 48), "gemm"), ((48, 40, 16), "gemm.fallback")):
        gemm = Gemm(sizes, "mbk", "kbn", "bmn", dynamic=True)
        check_simulated(gemm, STAGED, entry)


@pytest.mark.parametrize("k", [64, 192])
def test_late_stores(k: int) -> None:
    """Of slices, where sizes are not known: in one step, and in three."""
    gemm = Gemm((128, 256, k), dynamic=True)
    a, b, c = gemm.arrays()
    expected = gemm.expected(a, b, c)
    passes = "coopc-khr{device=nvidia staged=true}"
    coopc.launch(gemm.text, a, b, c, on="sim", pipeline=passes, kernel="gemm")
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("b", ["kn", "nk"])
@pytest.mark.parametrize("ab", ["f16", "bf16", "i8"])
def test_valid_for_nvidia(ab: str, b: str, dynamic: bool) -> None:
    """The device's own tiles: 8 subgroups, at most 48 KiB of work-group memory."""
    types = (ab, "i32") if ab == "i8" else (ab, "f32")
    gemm = Gemm((4096, 4096, 4096), b=b, types=types, dynamic=dynamic)
    passes = pipeline("", "nvidia")
    artifact = coopc.compile(gemm.text, passes, "spirv-binary")
    assert validate_spirv(artifact.bytes, "vulkan1.3") is None
    names = [x.name for x in artifact.interface]
    assert names == ["gemm", "gemm.fallback"][: 1 + dynamic]
    for interface in artifact.interface:
        assert interface.work_group_size == (256, 1, 1)
        assert interface.subgroup_size == 32


@pytest.mark.parametrize(
    ("gemm", "sliced"),
    [
        (Gemm((4096, 4096, 128)), True),
        (Gemm((4096, 4096, 128), fill=False, types=("bf16", "f32")), True),
        (Gemm((4096, 4096, 128), types=("i8", "i32")), False),
        (Gemm((4096, 4096, 128), b="nk"), False),
        (Gemm((4096, 4096, 128), a="km"), False),
        (Gemm((4096, 4096, 128), dynamic=True), True),  # its first entry
        (Gemm((4096, 4096, 96)), False),
        (Gemm((4096, 4084, 128)), False),
        (Gemm((4090, 4096, 128)), False),
        (Gemm((4096, 4096, 64), types=("i8", "i32")), False),
    ],
)
def test_slices_where_all_is_inside(gemm: Gemm, sliced: bool) -> None:
    universe = everything()
    source, context = Source(gemm.text, "test"), new_context(universe)
    module = parse(context, source)
    passes = read_passes("tile-matmul-khr{device=nvidia}", universe.all_passes)
    Run(context, source).apply(module, passes)
    b_tiles = [
        op.memref.type.get_shape() for op in module.walk() if isinstance(op, AllocaOp)
    ][1]
    assert (b_tiles == (16, 97)) == sliced


WHOLE = Gemm((32, 32, 32))
REFUSED: dict[str, tuple[Gemm, str]] = {
    "expected the N of a work-group to be a multiple of that of a subgroup, got 32 and "
    "24": (WHOLE, "group=32,32 subgroup=16,24 step=16"),
    "expected a subgroup's tile and a step of multiples of 8x8x8 (M x N x K), got 8 x "
    "8 and 12": (WHOLE, "group=16,16 subgroup=8,8 step=12"),
    "expected 1 or 2 stages, got 3": (WHOLE, f"{WIDE} stages=3"),
    "expected 1 stage of A with slices of B, got 2": (WHOLE, f"{WIDE} sliced=true"),
    "expected a step of at least 3 slices of 8, got 16": (
        WHOLE,
        f"{WIDE} stages=1 sliced=true",
    ),
    "expected at most 32768 bytes of work-group memory on lavapipe, got 34816": (
        WHOLE,
        "group=64,64 subgroup=32,32 step=64",
    ),
    "expected at most 1024 work-items in a work-group of lavapipe, got 2048: 256 "
    "subgroups of 8": (WHOLE, "group=128,128 subgroup=8,8 step=8"),
    "lavapipe does not multiply s8 * u8 + u32 -> u32": (
        replace(S8, sizes=(32, 32, 32), extended=("extsi", "extui")),
        WIDE,
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    gemm, tiles = REFUSED[message]
    with pytest.raises(CompileError) as caught:
        coopc.compile(gemm.text, pipeline(tiles), "spirv-binary")
    assert message in str(caught.value)
