"""Triton's kernels simulated before and after the conversion, against numpy."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.dialects import xe
from coopc.interface_call import entry_for, violated_condition
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.interpreter import IMPLEMENTATIONS
from coopc.sim.machine import Machine
from coopc.sim.memory import MemRef
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.sim.xe import BlockAddress, Payload
from coopc.source import Source
from coopc.universe import everything

INPUTS = Path(__file__).parents[3] / "inputs" / "ttgir"
DEVICES = ("bmg", "pvc")
GEMMS = {
    # element type of a and b, of c, whether b is transposed, tile of a work-group
    "gemm_axb": ("f2", "f4", False, (256, 256)),
    "gemm_axb_32x32": ("f2", "f4", False, (256, 128)),
    "gemm_axbt": ("f2", "f4", True, (256, 256)),
    "gemm_axbt_32x32": ("f2", "f4", True, (256, 128)),
    "gemm_bf16": ("bf16", "f4", False, (256, 256)),
    "gemm_i8": ("i1", "i4", False, (256, 256)),
    "gemm_tf32": ("f4", "f4", False, (256, 256)),
}


@cache
def module(name: str, pipeline: str) -> ModuleOp:
    """Return an input after some passes."""
    universe = everything()
    ctx = new_context(universe)
    source = Source((INPUTS / f"{name}.ttgir").read_text(), name)
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(pipeline, universe.all_passes))
    return found


OPTIONS = (
    "prefetch=3 payload=none",
    "prefetch=1 payload=prefetch barriers=true",
    "prefetch=2 payload=prefetch",
    "payload=all",
)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["gemm_axb", "gemm_axbt", "gemm_axbt_32x32"])
def test_prefetches_and_payloads(name: str, device: str, options: str) -> None:
    _, _, is_transposed, tile = GEMMS[name]
    m, n, k = 300, 272, 144
    random = np.random.default_rng(m)
    a, b = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    c = np.full((m, n), 77, "f4")
    in_memory = np.ascontiguousarray(b.T if is_transposed else b)
    found = module(name, f"coopc-xe{{device={device} {options}}}")
    names = {op.name for op in found.walk()}
    hints = any("prefetch" in each or "payload" in each for each in names)
    # A payload's load returns one vector, which those of a and b are too long for.
    assert hints == ((name, options) != ("gemm_axb", "payload=all"))
    arguments = [a.astype("f2"), in_memory.astype("f2"), c, m, n, k]
    simulate(found, name, arguments, grid=(-(-m // tile[0]), -(-n // tile[1])))
    assert np.array_equal(c, a @ b)


def prefetched(
    name: str, options: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int, ...]]:
    """Return the blocks that a kernel fetches, and in which order."""
    found: list[tuple[int, ...]] = []

    def note(surface: BlockAddress) -> None:
        numbers = (surface.width, surface.height, surface.x, surface.y)
        found.extend(
            zip(
                *(x.ravel().tolist() for x in np.broadcast_arrays(*numbers)),
                strict=True,
            )
        )

    def through_payload(machine: Machine, op: Any, payload: Payload) -> None:
        assert (op.dx.value.data, op.dy.value.data) == (0, 0)
        note(payload.surface)

    def directly(machine: Machine, op: Any, memory: MemRef, *numbers: Any) -> None:
        note(BlockAddress(memory, *numbers))

    monkeypatch.setitem(IMPLEMENTATIONS, xe.PayloadPrefetchOp, through_payload)
    monkeypatch.setitem(IMPLEMENTATIONS, xe.BlockPrefetch2DOp, directly)
    a, b = np.zeros((256, k), "f2"), np.zeros((k, 256), "f2")
    in_memory = np.ascontiguousarray(b.T) if "bt" in name else b
    arguments = [a, in_memory, np.zeros((256, 256), "f4"), 256, 256, k]
    compiled = module(name, f"coopc-xe{{device=bmg {options}}}")
    simulate(compiled, name, arguments, grid=(1, 1))
    return found


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("name", ["gemm_axb", "gemm_axbt", "gemm_axbt_32x32"])
def test_payloads_are_where_blocks_are(
    name: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A payload is moved on in each step: all that is fetched is the same without."""
    for k in (64, 144, 192):
        direct, held = (
            prefetched(name, f"prefetch={steps} {x}", k, monkeypatch)
            for x in ("payload=none", "")
        )
        assert direct
        assert direct == held


def run(name: str, device: str | None, arguments: Sequence[Any], grid: Any) -> None:
    """Run a kernel as Triton has it, or as it is on a device."""
    if device is None:
        simulate(with_functions(module(name, "")), name, arguments, grid=grid)
    else:
        found = module(name, f"coopc-xe{{device={device}}}")
        simulate(found, name, arguments, grid=grid)


def wide(name: str) -> ModuleOp:
    """Return an input compiled for subgroups of 32 lanes."""
    text = (INPUTS / f"{name}.ttgir").read_text()
    for of_lanes in ("threadsPerWarp = ", '"ttg.threads-per-warp" = '):
        text = text.replace(f"{of_lanes}16", f"{of_lanes}32")
    universe = everything()
    ctx = new_context(universe)
    source = Source(text, name)
    found = parse(ctx, source)
    Run(ctx, source).apply(
        found, read_passes("coopc-xe{device=bmg}", universe.all_passes)
    )
    return found


@pytest.mark.parametrize("name", ["gemm_axb", "gemm_axbt", "gemm_i8", "gemm_tf32"])
def test_subgroups_of_32_lanes(name: str) -> None:
    element, result, is_transposed, tile = GEMMS[name]
    m, n, k = 300, 272, 128
    random = np.random.default_rng(n)
    a, b = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    c = np.full((m, n), 77, result)
    in_memory = np.ascontiguousarray(b.T if is_transposed else b)
    found = wide(name)
    # A of int8 is loaded by pairs, as elements of 16 bits, so that lanes have theirs.
    assert not any(op.name == "simt.shuffle" for op in found.walk())
    arguments = [stored(a, element), stored(in_memory, element), c, m, n, k]
    simulate(found, name, arguments, grid=(-(-m // tile[0]), -(-n // tile[1])))
    assert np.array_equal(c, a @ b)


def stored(numbers: Any, type: str) -> Any:
    return to_bf16(numbers) if type == "bf16" else numbers.astype(type)


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("sizes", [(512, 512, 96), (300, 272, 144), (40, 64, 64)])
@pytest.mark.parametrize("name", GEMMS)
def test_gemm(name: str, sizes: tuple[int, int, int], device: str | None) -> None:
    element, result, is_transposed, tile = GEMMS[name]
    m, n, k = sizes
    random = np.random.default_rng(m)
    a, b = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    c = np.full((m, n), 77, result)
    in_memory = np.ascontiguousarray(b.T if is_transposed else b)
    arguments = [stored(a, element), stored(in_memory, element), c, m, n, k]
    run(name, device, arguments, (-(-m // tile[0]), -(-n // tile[1])))
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("name", ["gemm_axb_32x32", "gemm_axbt_32x32", "gemm_i8"])
def test_any_entry_takes_any_pitch(name: str) -> None:
    element, result, is_transposed, tile = GEMMS[name]
    m, n, k = 61, 37, 45
    random = np.random.default_rng(m)
    a, b = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    c = np.full((m, n), 77, result)
    in_memory = np.ascontiguousarray(b.T if is_transposed else b)
    arguments = [stored(a, element), stored(in_memory, element), c, m, n, k]
    found = module(name, "coopc-xe{device=bmg fallback=true}")
    grid = (-(-m // tile[0]), -(-n // tile[1]))
    with pytest.raises(UndefinedBehaviour, match="surface: expected a"):
        simulate(found, name, arguments, grid=grid)
    simulate(found, f"{name}.fallback", arguments, grid=grid)
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("sizes", [(512, 256, 64), (300, 200, 72)])
def test_bias_and_activation(sizes: tuple[int, int, int], device: str | None) -> None:
    m, n, k = sizes
    random = np.random.default_rng(n)
    a, b, bias = (random.integers(-3, 4, x).astype("f2") for x in ((m, k), (k, n), n))
    c = np.zeros((m, n), "f2")
    grid = (-(-m // 256), -(-n // 128))
    run("gemm_bias_relu", device, [a, b, bias, c, m, n, k], grid)
    assert np.array_equal(c, np.maximum(a.astype("f4") @ b.astype("f4") + bias, 0))


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("sizes", [(128, 128, 64), (70, 136, 40), (70, 130, 41)])
def test_pointers(sizes: tuple[int, int, int], device: str | None) -> None:
    m, n, k = sizes
    # Rows that are no multiples of 16 bytes: against Triton's promise.
    is_for_any = n % 8 != 0
    random = np.random.default_rng(k)
    a, b = (random.integers(-3, 4, x).astype("f2") for x in ((m, k), (k, n)))
    c = np.zeros((m, n), "f4")
    grid = (-(-m // 64), -(-n // 128))
    arguments = [a, b, c, m, n, k, k, n, n]
    if is_for_any and device is not None:
        found = module("gemm_ptr", f"coopc-xe{{device={device} fallback=true}}")
        simulate(found, "gemm_ptr.fallback", arguments, grid=grid)
    else:
        run("gemm_ptr", device, arguments, grid)
    assert np.array_equal(c, a.astype("f4") @ b.astype("f4"))


@pytest.mark.parametrize("heads_length", [(2, 256), (1, 200)])
def test_attention(heads_length: tuple[int, int]) -> None:
    heads, length = heads_length
    random = np.random.default_rng(length)
    shape = (heads, length, 64)
    q, k, v = (random.standard_normal(shape).astype("f2") for _ in range(3))
    scale = float(np.log2(np.e) / 8)
    grid = (-(-length // 128), heads)
    found: list[Any] = []
    for device in (None, *DEVICES):
        out = np.zeros(shape, "f2")
        run("flash_attention_fwd", device, [q, k, v, out, length, scale], grid)
        found.append(out.astype("f8"))
    scores = q.astype("f8") @ k.astype("f8").transpose(0, 2, 1) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights @ v.astype("f8") / weights.sum(-1, keepdims=True)
    # Weights of at most 1 are rounded to f16, a mean of v by them, and the result:
    # each at most 2^-11 of what is summed, whose weights sum to 1.
    bound = 3 * 2.0**-11 * np.abs(v).max()
    for out in found:
        assert np.abs(out - expected).max() <= bound
    assert np.array_equal(found[1], found[2])


def entry_points(device: str, options: str = "") -> list[str]:
    found = module("gemm_axb_32x32", f"coopc-xe{{device={device}{options}}}")
    return [op.sym_name.data for op in found.ops if isinstance(op, FuncOp)]


def test_second_entry_points_are_where_there_are_conditions() -> None:
    both = ["gemm_axb_32x32", "gemm_axb_32x32.fallback"]
    assert entry_points("bmg", " fallback=true") == both
    assert entry_points("bmg", " any=true") == both  # the option's old name
    assert entry_points("bmg", " any=false") == both[:1]
    assert entry_points("bmg") == both[:1]


def test_a_pitch_is_no_less_than_its_width() -> None:
    """Which of two entry points takes arguments depends on both of them."""
    text = (INPUTS / "gemm_ptr.ttgir").read_text()
    known = coopc.compile(text, "coopc-xe{device=bmg fallback=true}").interface
    first, second = known
    assert second.name == "gemm_ptr.fallback"
    assert not second.conditions
    memory = [np.zeros((64, 64), x) for x in ("f2", "f2", "f4")]
    assert entry_for(known, first, [*memory, 64, 64, 64, 64, 64, 64]) is first
    assert entry_for(known, first, [*memory, 64, 64, 64, 32, 64, 64]) is second
    assert entry_for(known, first, [*memory, 64, 64, 64, 64, 65, 64]) is second
    reason = violated_condition(first, [*memory, 64, 64, 64, 32, 64, 64])
    assert reason == (
        "value 0 of lda: expected at least k = 64 (pitch of a surface, at least its "
        "width), got 32"
    )


def test_strides_that_are_arguments_are_checked() -> None:
    """Columns of factors are taken to follow each other; others go lane by lane."""
    text = (INPUTS.parent / "triton" / "matmul_runtime_strides.ttir").read_text()
    known = coopc.compile(text, "coopc-xe{device=bmg fallback=true}").interface
    first, second = known
    memory = [np.zeros((64, 64), "f2") for _ in range(3)]
    assert entry_for(known, first, [*memory, *[64] * 4, 1, 64, 1, 64, 1]) is first
    assert entry_for(known, first, [*memory, *[64] * 4, 1, 64, 1, 64, 2]) is first
    assert entry_for(known, first, [*memory, *[64] * 4, 2, 64, 1, 64, 1]) is second
    assert entry_for(known, first, [*memory, *[64] * 4, 1, 1, 64, 64, 1]) is second
    reason = violated_condition(first, [*memory, *[64] * 4, 0, 64, 1, 64, 1])
    assert reason == (
        "value 0 of stride_ak: expected at least 1 (stride of columns of a surface), "
        "got 0"
    )


def test_an_artifact_has_its_plans_and_remarks() -> None:
    text = (INPUTS / "gemm_axbt_32x32.ttgir").read_text()
    found = coopc.compile(text, "coopc-xe{device=bmg}", "spirv", name="gemm.ttgir")
    assert len(found.plans) == 3
    assert found.plans[0].startswith("#xe.block_load_plan<<16, 32x16x2>")
    assert "transpose" in found.plans[1]
    assert found.plans[2].startswith("#xe.block_store_plan<<32, 8x16x1>")
    assert not found.remarks
    told = coopc.compile(
        (INPUTS / "gemm_ptr.ttgir").read_text().replace("ttig.block_io", "no.block_io"),
        "coopc-xe{device=bmg}",
        "llvm-ir",
        name="gemm.ttgir",
    )
    assert len(told.plans) == 2  # of factors, whose strides are known
    assert told.remarks == (
        "gemm.ttgir:101:5: remark: tt.store: moved lane by lane: the pointers are not "
        "known to form a 2D block: a pointer for each element",
    )


def test_each_access_has_one_remark(capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is a second entry point, one more remark names it."""
    for name, accesses in ("gemm_axbt_32x32", 3), ("gemm_ptr", 3):
        module(name, "coopc-xe{device=bmg explain=true}")
        first = capsys.readouterr().err.splitlines()
        places = [each.split(": remark: ")[0] for each in first]
        assert len(places) == len(set(places)) == accesses
        module(name, "coopc-xe{device=bmg explain=true fallback=true}")
        *same, last = capsys.readouterr().err.splitlines()
        assert same == first
        assert f"remark: tt.func: @{name}.fallback moves all of memory" in last


def test_a_second_entry_point_is_asked_for_by_one_name() -> None:
    with pytest.raises(CompileError, match="fallback=true or any=false, its old name"):
        module("gemm_ptr", "coopc-xe{device=bmg any=false fallback=true}")
