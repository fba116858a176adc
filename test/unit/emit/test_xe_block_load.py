"""`xe.block_load`: which channel each lane gets: simulated, emulated, compiled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.run import opencl
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import compile_kernel
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]

LENGTHS = (1, 2, 4, 8)
OFFSET = 36
"""In bytes: aligned to 4, and to no more."""
APART = 4
"""How far apart the lengths are stored, in their own size: aligned for block writes."""


def kernel(lanes: int, bits: int, offset: int = OFFSET) -> str:
    """Return a kernel that loads each length from further on, and stores it.

    Half of them are guarded: those of 2 are read, those of 4 are not, and are 0.
    """
    lines: list[str] = ["%yes = arith.constant true\n  %no = arith.constant false"]
    guards = {2: "where %yes ", 4: "where %no "}
    memory = f"memref<?xi{bits}>"
    for length in LENGTHS:
        code = f"""
  %o{length} = arith.constant {offset * length} : i32
  %v{length} = xe.block_load %in[%o{length}] {guards.get(length, "")}
    : memref<f16> -> vector<{length}xi{bits}>
  %p{length} = arith.constant {APART * length * lanes} : index"""
        if length == 1:
            code += f"\n  %s = vector.extract %v1[0] : i{bits} from vector<1xi{bits}>"
            code += f"\n  simt.block_write %s, %out[%p1] : i{bits}, {memory}"
        else:
            code += (
                f"\n  simt.block_write %v{length}, %out[%p{length}] "
                f": vector<{length}xi{bits}>, {memory}"
            )
        lines.append(code)
    return f"""
func.func @k(%in: memref<f16>, %out: {memory})
    attributes {{simt.kernel, simt.subgroup_size = {lanes} : i32,
                simt.work_group_size = array<i32: {lanes}>}} {{
{"".join(lines)}
  func.return
}}"""


def inputs(lanes: int, bits: int) -> tuple[Array, Array]:
    """Return memory, and room for what is loaded of it."""
    random = np.random.default_rng(lanes)
    memory = random.integers(0, 1 << 15, 1024).astype(np.int16)
    out = np.full(2 * APART * LENGTHS[-1] * lanes, -1, np.dtype(f"i{bits // 8}"))
    return memory.view(np.float16), out


def expected(memory: Array, lanes: int, bits: int) -> Array:
    """Return what numpy says: length after length, where the kernel stores it."""
    bytes, out = memory.view(np.int8), inputs(lanes, bits)[1]
    for length in LENGTHS:
        count, at = length * lanes, APART * length * lanes
        run = bytes[OFFSET * length :][: count * bits // 8]
        values = np.ascontiguousarray(run).view(out.dtype)
        out[at : at + count] = values if length != 4 else 0
    return out


BITS = pytest.mark.parametrize("bits", [8, 16, 32])


@pytest.mark.parametrize("lanes", [8, 16, 32])
@pytest.mark.parametrize("passes", ["", "emulate-xe"])
@BITS
def test_simulated(lanes: int, passes: str, bits: int) -> None:
    memory, out = inputs(lanes, bits)
    text = coopc.compile(kernel(lanes, bits), passes, "mlir").text
    module = parse(new_context(everything()), Source(text, "k"))
    simulate(module, "k", [memory, out], grid=(1, 1, 1))
    assert np.array_equal(out, expected(memory, lanes, bits))


@pytest.mark.parametrize("lanes", [8, 16, 32])
@BITS
def test_emulated_on_cpu(lanes: int, bits: int, intel_cpu: opencl.Session) -> None:
    memory, out = inputs(lanes, bits)
    target = "spirv-binary{device=intel-cpu}"
    binary = coopc.compile(kernel(lanes, bits), "emulate-xe", target).bytes
    found = intel_cpu.run(
        binary,
        "k",
        [memory, out, np.int64(out.size)],
        global_size=(lanes,),
        local_size=(lanes,),
    )
    assert np.array_equal(found.arrays[1], expected(memory, lanes, bits))


@pytest.mark.parametrize(
    ("offset", "reason"),
    [(34, "a multiple of 4 bytes, got 34"), (1024, "to be inside, got 2048")],
)
def test_undefined(offset: int, reason: str) -> None:
    memory, out = inputs(8, 32)
    text = kernel(8, 32, offset)
    module = parse(new_context(everything()), Source(text, "k"))
    with pytest.raises(UndefinedBehaviour, match=reason):
        simulate(module, "k", [memory, out], grid=(1, 1, 1))


@pytest.mark.parametrize(("device", "lanes"), [("dg2", 8), ("pvc", 16), ("bmg", 16)])
@BITS
def test_compiled(
    device: str, lanes: int, bits: int, tool: Callable[[str], Path]
) -> None:
    tool("ocloc")
    target = f"spirv-binary{{device={device}}}"
    isa = compile_kernel(coopc.compile(kernel(lanes, bits), "", target).bytes, device)
    register = 32 if device == "dg2" else 64
    loaded = (sum(LENGTHS) - 4) * lanes * bits // 8 // register
    assert isa.check({**CLEAN, "simd": lanes, "load2d": 0}) == ()
    # More where the address is aligned to 4 bytes alone.
    assert isa.kernels["k"].whole.registers_read >= loaded
