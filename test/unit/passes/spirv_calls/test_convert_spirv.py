"""convert-spirv-to-coopmatrix: what mlir-opt prints, simulated and on a driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coopc
from coopc.generate.programs import module_of
from coopc.interface_call import Call, dtype_of, pack
from coopc.run import toolchain
from coopc.run.arguments import encode
from coopc.sim.simulate import simulate

ROOT = Path(__file__).parents[4]
PASS = "convert-spirv-to-coopmatrix{subgroup-size=8}"
KHR = "coopc-khr{device=lavapipe}"


def generic(text: str) -> str:
    """The text as upstream prints it in generic form."""
    flag = "--mlir-print-op-generic"
    printed, message = toolchain.run_filter("mlir-opt", flag, data=text.encode())
    assert message is None, f"{message}\n{text}"
    return printed.decode()


def arguments(call: Call) -> list[Any]:
    """What a kernel that was read takes: buffers, and the members of push constants."""
    numbers = [
        np.frombuffer(call.push_constants, dtype_of(each.type), 1, each.byte_offset)[0]
        for each in call.interface.fields
    ]
    return [*(x.copy() for x in call.buffers), *map(int, numbers)]


def simulated(text: str, call: Call, lanes: int | None) -> tuple[Any, ...]:
    """The arrays after a run of `-t mlir-spirv` text that is read again."""
    raised = coopc.compile(generic(text), PASS, "mlir").text
    given = arguments(call)
    name = call.interface.name
    simulate(module_of(raised), name, given, grid=call.groups, subgroup_size=lanes)
    return call.unpack(given[: len(call.buffers)])


@pytest.mark.parametrize("types", [("f16", "f32"), ("i8", "i32")])
def test_gemm(types: tuple[str, str], tool: Callable[[str], Path]) -> None:
    tool("mlir-opt")
    text = (ROOT / "examples/gemm.mlir").read_text()
    text = text.replace("xf16", f"x{types[0]}").replace("f32", types[1])
    text = text.replace("0.0 : i32", "0 : i32")
    artifact = coopc.compile(text, KHR)
    random = np.random.default_rng(1)
    a = encode(random.integers(0, 9, (32, 32)), types[0])
    b = encode(random.integers(0, 9, (32, 16)), types[0])
    call = pack(artifact.interface[0], [a, b, encode(np.zeros((32, 16)), types[1])])
    found = simulated(coopc.compile(text, KHR, "mlir-spirv").text, call, 8)
    np.testing.assert_array_equal(found[2], a.astype(np.int64) @ b.astype(np.int64))
