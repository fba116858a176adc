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


def kernel(lanes: int, memory: str, offset: int = OFFSET) -> str:
    """Return a kernel that loads each length from further on, and stores it."""
    lines: list[str] = []
    for length in LENGTHS:
        code = f"""
  %o{length} = arith.constant {offset * length} : i32
  %v{length} = xe.block_load %in[%o{length}] : memref<{memory}> -> vector<{length}xi32>
  %p{length} = arith.constant {length * lanes} : index"""
        if length == 1:
            code += "\n  %s = vector.extract %v1[0] : i32 from vector<1xi32>"
            code += "\n  simt.block_write %s, %out[%p1] : i32, memref<?xi32>"
        else:
            code += (
                f"\n  simt.block_write %v{length}, %out[%p{length}] "
                f": vector<{length}xi32>, memref<?xi32>"
            )
        lines.append(code)
    return f"""
func.func @k(%in: memref<{memory}>, %out: memref<?xi32>)
    attributes {{simt.kernel, simt.subgroup_size = {lanes} : i32,
                simt.work_group_size = array<i32: {lanes}>}} {{
{"".join(lines)}
  func.return
}}"""


def expected(memory: Array, lanes: int) -> Array:
    """Return what numpy says: length after length, where the kernel stores it."""
    channels = memory.view(np.int32)
    out = np.full(16 * lanes, -1, np.int32)
    for length in LENGTHS:
        first = OFFSET * length // 4
        count = length * lanes
        out[count : 2 * count] = channels[first : first + count]
    return out


def inputs(lanes: int) -> tuple[Array, Array]:
    random = np.random.default_rng(lanes)
    memory = random.integers(0, 1 << 15, 1024).astype(np.int16)
    return memory.view(np.float16), np.full(16 * lanes, -1, np.int32)


@pytest.mark.parametrize("lanes", [8, 16, 32])
@pytest.mark.parametrize("passes", ["", "emulate-xe"])
def test_simulated(lanes: int, passes: str) -> None:
    memory, out = inputs(lanes)
    text = coopc.compile(kernel(lanes, "f16"), passes, "mlir").text
    module = parse(new_context(everything()), Source(text, "k"))
    simulate(module, "k", [memory, out], grid=(1, 1, 1))
    assert np.array_equal(out, expected(memory, lanes))


@pytest.mark.parametrize("lanes", [8, 16, 32])
def test_emulated_on_cpu(lanes: int, intel_cpu: opencl.Session) -> None:
    memory, out = inputs(lanes)
    target = "spirv-binary{device=intel-cpu}"
    binary = coopc.compile(kernel(lanes, "f16"), "emulate-xe", target).bytes
    found = intel_cpu.run(
        binary,
        "k",
        [memory, out, np.int64(out.size)],
        global_size=(lanes,),
        local_size=(lanes,),
    )
    assert np.array_equal(found.buffers[1], expected(memory, lanes))


@pytest.mark.parametrize(
    ("offset", "reason"),
    [(34, "a multiple of 4 bytes, got 34"), (1024, "1028 to 3104|inside of")],
)
def test_undefined(offset: int, reason: str) -> None:
    memory, out = inputs(8)
    text = kernel(8, "f16", offset)
    module = parse(new_context(everything()), Source(text, "k"))
    with pytest.raises(UndefinedBehaviour, match=reason):
        simulate(module, "k", [memory, out], grid=(1, 1, 1))


@pytest.mark.parametrize(("device", "lanes"), [("dg2", 8), ("pvc", 16), ("bmg", 16)])
def test_compiled(device: str, lanes: int, tool: Callable[[str], Path]) -> None:
    tool("ocloc")
    target = f"spirv-binary{{device={device}}}"
    isa = compile_kernel(coopc.compile(kernel(lanes, "f16"), "", target).bytes, device)
    register = 32 if device == "dg2" else 64
    loaded = sum(LENGTHS) * lanes * 4 // register
    assert isa.check({**CLEAN, "simd": lanes, "load2d": 0}) == ()
    # More where the address is aligned to 4 bytes alone.
    assert isa.kernels["k"].whole.registers_read >= loaded
