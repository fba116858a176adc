"""GEMMs for dg2 whose subgroups share A: simulated, emulated on a CPU, compiled."""

import json
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from support.toolchain import is_locked
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, StringAttr, i32
from xdsl.ir import Operation

import coopc
from coopc.compiler import new_context
from coopc.dialects import simt, xe
from coopc.ir.builder import Builder
from coopc.parsing import parse
from coopc.passes.xe import fuse_split_dpas
from coopc.run import opencl
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import compile_kernel
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]

KERNELS = Path(__file__).parents[3] / "inputs" / "dg2"
PLAIN, SPLIT = "coopc-xe{device=dg2}", "coopc-xe{device=dg2 split=true}"
SIZES = ((32, 64, 32), (64, 128, 96), (40, 70, 50), (1, 3, 5))
TILE = (32, 64, 32)
"""M, N and K of a step of a work-group."""
PITCH = 4096
"""Elements of a row, where A and B are row-major."""


def filled_up(matrix: Array, rows: int, cols: int) -> Array:
    """Return a matrix with zeros behind it, up to multiples of some sizes."""
    found = np.zeros(
        (-(-matrix.shape[0] // rows) * rows, -(-matrix.shape[1] // cols) * cols),
        matrix.dtype,
    )
    found[: matrix.shape[0], : matrix.shape[1]] = matrix
    return found


def tiles_of_a(a: Array) -> Array:
    """Return A in tiles of 8 x 16."""
    rows, cols = a.shape
    return np.ascontiguousarray(a.reshape(rows // 8, 8, cols // 16, 16).swapaxes(1, 2))


def tiles_of_b(b: Array) -> Array:
    """Return B in tiles of 16 x 8, the two rows of a channel side by side."""
    rows, cols = b.shape
    tiles = b.reshape(rows // 16, 8, 2, cols // 8, 8).transpose(0, 3, 1, 4, 2)
    return np.ascontiguousarray(tiles).reshape(rows // 16, cols // 8, 8, 16)


def with_pitch(matrix: Array) -> Array:
    """Return a matrix in longer rows."""
    found = np.full((matrix.shape[0], PITCH), np.nan, matrix.dtype)
    found[:, : matrix.shape[1]] = matrix
    return found


def inputs(name: str, sizes: tuple[int, int, int]) -> tuple[Array, Array, Array, Array]:
    """Return A and B as a kernel wants them, room for C, and the product."""
    m, n, k = sizes
    random = np.random.default_rng(m * n + k)
    a = random.integers(-8, 8, (m, k)).astype(np.float16)
    b = random.integers(-8, 8, (k, n)).astype(np.float16)
    product = a.astype(np.float32) @ b.astype(np.float32)
    a, b = filled_up(a, TILE[0], TILE[2]), filled_up(b, TILE[2], TILE[1])
    c = np.full((a.shape[0], b.shape[1]), -1, np.float32)
    if name == "gemm_tiled":
        return tiles_of_a(a), tiles_of_b(b), c, product
    return with_pitch(a), with_pitch(b), c, product


@cache
def module_of(name: str, passes: str, mistake: str = "") -> ModuleOp:
    """Return a kernel after some passes; once, but for each mistake in them."""
    text = (KERNELS / f"{name}.mlir").read_text()
    compiled = coopc.compile(text, passes, "mlir").text
    return parse(new_context(everything()), Source(compiled, name))


def is_right(module: ModuleOp, name: str, sizes: tuple[int, int, int]) -> bool:
    """Run a kernel in the simulator; return whether C is the product."""
    a, b, c, product = inputs(name, sizes)
    grid = (c.shape[1] // TILE[1], c.shape[0] // TILE[0], 1)
    simulate(module, "gemm", [a, b, c], grid=grid)
    return np.array_equal(c[: sizes[0], : sizes[1]], product)


@pytest.mark.parametrize("name", ["gemm_tiled", "gemm_rows"])
@pytest.mark.parametrize("passes", ["", PLAIN, SPLIT])
@pytest.mark.parametrize("sizes", SIZES)
def test_simulated(name: str, passes: str, sizes: tuple[int, int, int]) -> None:
    module = module_of(name, passes)
    counts = [
        sum(isinstance(op, kind) for op in module.walk())
        for kind in (xe.DpasOp, xe.SplitDpasOp)
    ]
    assert counts == {"": [0, 0], PLAIN: [16, 0], SPLIT: [0, 16]}[passes]
    assert is_right(module, name, sizes)


def channels_of(module: ModuleOp, memory: str) -> int:
    """Return how many channels of a memref a lane loads."""
    return sum(
        op.slots * op.slot_bits // 32
        for op in module.walk()
        if isinstance(op, xe.BlockLoadOp) and op.base.name_hint == memory
    )


@pytest.mark.parametrize("name", ["gemm_tiled", "gemm_rows"])
def test_half_of_a_is_loaded(name: str) -> None:
    before, after = (module_of(name, passes) for passes in (PLAIN, SPLIT))
    assert channels_of(before, "a") == 2 * channels_of(after, "a") == 8 * 8
    assert channels_of(before, "b") == channels_of(after, "b")


TRITON = "gemm_axb_dg2"
TRITON_SIZES = ((64, 64, 32), (128, 80, 48), (70, 144, 112), (3, 16, 16))
"""Rows are ragged; n and k are multiples of what a message spans, as is demanded."""


@cache
def triton_of(passes: str, mistake: str = "") -> ModuleOp:
    """Return the GEMM from Triton after some passes; once, but for each mistake."""
    text = (KERNELS / "gemm_axb.ttgir").read_text()
    compiled = coopc.compile(text, passes, "mlir").text
    return parse(new_context(everything()), Source(compiled, TRITON))


def triton_is_right(module: ModuleOp, sizes: tuple[int, int, int]) -> bool:
    m, n, k = sizes
    random = np.random.default_rng(m + n + k)
    a = random.integers(-8, 8, (m, k)).astype(np.float16)
    b = random.integers(-8, 8, (k, n)).astype(np.float16)
    c = np.full((m, n), -1, np.float32)
    simulate(module, TRITON, [a, b, c, m, n, k], grid=(-(-m // 64), -(-n // 64)))
    return np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("passes", [PLAIN, SPLIT])
@pytest.mark.parametrize("sizes", TRITON_SIZES)
def test_triton_simulated(passes: str, sizes: tuple[int, int, int]) -> None:
    assert triton_is_right(triton_of(passes), sizes)


def test_triton_loads_half_of_a() -> None:
    loaded: list[int] = []
    for passes in (PLAIN, SPLIT):
        (f,) = (op for op in triton_of(passes).ops if named(op) == TRITON)
        a = [op for op in f.walk() if isinstance(op, xe.BlockLoadOp)]
        loaded.append(sum(op.slots for op in a if op.slot_bits == 32))
        assert all(op.guard is not None for op in a)
        counts = [sum(isinstance(op, x) for op in f.walk()) for x in DPAS]
        assert counts == ([16, 0] if passes == PLAIN else [0, 16])
    assert loaded == [64, 32]


DPAS = (xe.DpasOp, xe.SplitDpasOp)


def named(op: Operation) -> str:
    name = op.properties.get("sym_name")
    return name.data if isinstance(name, StringAttr) else ""


def test_triton_demands_what_guards_need() -> None:
    text = (KERNELS / "gemm_axb.ttgir").read_text()
    made = json.loads(coopc.compile(text, PLAIN, "abi-json").text)
    kernels = {each["name"]: each["conditions"] for each in made["kernels"]}
    found = [
        (each["argument"], each["what"], each.get("multiple_of"), each.get("less_than"))
        for each in kernels[TRITON]
    ]
    assert found == [
        (0, "address", 4, None),
        (1, "address", 4, None),
        (4, "value", 16, None),
        (5, "value", 16, None),
        (0, "bytes", 1, 1 << 32),
        (1, "bytes", 1, 1 << 32),
    ]


@pytest.mark.parametrize("sizes", [(128, 80, 48)])
def test_triton_mistakes_are_caught(
    sizes: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse_split_dpas, "parity", swapped_halves)
    assert not triton_is_right(triton_of(SPLIT, "swapped"), sizes)


def swapped_halves(b: Builder) -> Any:
    """The first subgroup of a pair takes the second half."""
    return b.pure(arith.XOrIOp, RIGHT_PARITY(b), b.constant(i32, 1))


def other_partner(b: Builder) -> Any:
    """Subgroups 0 and 2, 1 and 3 are taken for pairs."""
    number = b.pure(arith.IndexCastOp, b.pure(simt.SubgroupIdOp), i32)
    one = b.constant(i32, 1)
    return b.pure(arith.AndIOp, b.pure(arith.ShRUIOp, number, one), one)


RIGHT_PARITY = fuse_split_dpas.parity


@pytest.mark.parametrize("name", ["gemm_tiled", "gemm_rows"])
@pytest.mark.parametrize("mistake", [swapped_halves, other_partner])
def test_mistakes_are_caught(
    name: str, mistake: Callable[[Builder], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse_split_dpas, "parity", mistake)
    module = module_of(name, SPLIT, mistake.__name__)
    assert not is_right(module, name, (32, 64, 32))


def test_a_row_too_short_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = fuse_split_dpas.ROW_BYTES - 4
    monkeypatch.setattr(fuse_split_dpas, "ROW_BYTES", wrong)
    module = module_of("gemm_tiled", SPLIT, "short")
    assert not is_right(module, "gemm_tiled", (32, 64, 32))


@pytest.mark.parametrize("passes", [PLAIN, SPLIT])
def test_emulated_on_cpu(passes: str, intel_cpu: opencl.Session) -> None:
    sizes = (72, 100, 80)
    a, b, c, product = inputs("gemm_tiled", sizes)
    text = (KERNELS / "gemm_tiled.mlir").read_text()
    emulated = passes.replace("}", " emulate=true}")
    binary = coopc.compile(text, emulated, "spirv-binary").bytes
    shapes = [np.int64(x) for each in (a, b) for x in each.shape[:2]]
    groups = (c.shape[1] // TILE[1], c.shape[0] // TILE[0])
    result = intel_cpu.run(
        binary,
        "gemm",
        [a, *shapes[:2], b, *shapes[2:], c, *map(np.int64, c.shape)],
        global_size=(32 * groups[0], groups[1]),
        local_size=(32, 1),
    )
    found = next(x for x in result.arrays if x.size == c.size and x.dtype == c.dtype)
    assert np.array_equal(found.reshape(c.shape)[:72, :100], product)


def test_triton_emulated_on_cpu(intel_cpu: opencl.Session) -> None:
    m, n, k = 70, 80, 48
    random = np.random.default_rng(m)
    a = random.integers(-8, 8, (m, k)).astype(np.float16)
    b = random.integers(-8, 8, (k, n)).astype(np.float16)
    c = np.full((m, n), -1, np.float32)
    text = (KERNELS / "gemm_axb.ttgir").read_text()
    emulated = SPLIT.replace("}", " emulate=true}")
    binary = coopc.compile(text, emulated, "spirv-binary").bytes
    result = intel_cpu.run(
        binary,
        TRITON,
        [a, b, c, *map(np.int32, (m, n, k))],
        global_size=(64 * 2, 2),
        local_size=(64, 1),
    )
    found = result.arrays[2].reshape(c.shape)
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


FIGURES = {
    ("gemm_tiled", PLAIN): ({"inner.dpas": 16, "inner.registers_read": 96}, 89, 87),
    ("gemm_tiled", SPLIT): ({"inner.dpasw": 16, "inner.registers_read": 64}, 77, 68),
}
"""Multiplications and registers loaded of a step of K, the most instructions of a step
that experts need by hand, and those that the locked compiler makes of ours."""


def through_llvm(text: str, passes: str) -> bytes:
    """Return SPIR-V that LLVM makes of a kernel."""
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    path = Path(__file__).parents[2] / "emit" / "test_llvm_spir64.py"
    spec = spec_from_file_location("llvm_for_split", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.spirv(coopc.compile(text, passes, "llvm-ir").text)


@pytest.mark.parametrize(("name", "passes"), FIGURES)
@pytest.mark.parametrize("way", ["spirv", "llvm"])
def test_loop_is_short(
    name: str, passes: str, way: str, tool: Callable[[str], Path]
) -> None:
    tool("ocloc")
    expected, by_hand, total = FIGURES[name, passes]
    text = (KERNELS / f"{name}.mlir").read_text()
    if way == "llvm":
        binary = through_llvm(text, passes)
    else:
        binary = coopc.compile(text, passes, "spirv-binary").bytes
    isa = compile_kernel(binary, "dg2", registers=256)
    other = "inner.dpasw" if passes == PLAIN else "inner.dpas"
    checked = {**CLEAN, **expected, other: 0, "simd": 8, "registers": 256}
    assert isa.check(checked, {"inner.total": by_hand}) == ()
    if is_locked("intel-ocloc", "libigc2"):
        assert isa.check({}, {"inner.total": total}) == ()
