"""OpenCL kernels on Intel's run-time for CPUs against numpy, and what is refused."""

import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coopc.run import opencl
from coopc.run.toolchain import ToolMissing
from coopc.run.worker import RunFailed
from coopc.spirv.facts import spirv_facts

F16 = {"input": "half", "sum": "float", "operands": ""}
S8 = {
    "input": "byte",
    "sum": "uint",
    "operands": "MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR",
}


def whole(low: int, high: int, *shape: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.random.default_rng(0).integers(low, high, shape).astype(np.int32)


def packed(b: np.ndarray[Any, Any], rows: int) -> np.ndarray[Any, Any]:
    """B packed: element (k, n) at [k / rows, n * rows + k % rows]."""
    k, n = b.shape
    return b.reshape(k // rows, rows, n).transpose(0, 2, 1)


def test_device(intel_cpu: opencl.Session):
    info = intel_cpu.info
    assert info.subgroup_sizes == (4, 8, 16, 32, 64)
    assert info.invocations >= 1024
    assert not info.amx


def test_saxpy(intel_cpu: opencl.Session, spirv: Callable[..., bytes]):
    x, y = (whole(-8, 8, 4, 16) + i for i in range(2))
    buffers = [x.astype(np.float32), y.astype(np.float32)]
    before = buffers[1].copy()
    result = intel_cpu.run(
        spirv("opencl_saxpy"),
        "saxpy",
        [*buffers, np.float32(2)],
        global_size=(64,),
        local_size=(16,),
        repeats=3,
    )
    assert np.array_equal(result.arrays[1], 2 * x + y)
    assert np.array_equal(result.arrays[0], x)
    assert np.array_equal(buffers[1], before)
    assert len(result.milliseconds) == 3


@pytest.mark.parametrize("lanes", [4, 8, 16, 32, 64])
def test_subgroup_shuffle(
    intel_cpu: opencl.Session, spirv: Callable[..., bytes], lanes: int
):
    x = np.arange(256, dtype=np.uint32)
    result = intel_cpu.run(
        spirv("opencl_shuffle", lanes=lanes),
        "reverse",
        [x, np.zeros_like(x)],
        global_size=(256,),
        local_size=(64,),
    )
    expected = x.reshape(-1, lanes)[:, ::-1].reshape(-1)
    assert np.array_equal(result.arrays[1], expected)


def test_matrix_f16(intel_amx: opencl.Session, spirv: Callable[..., bytes]):
    a, b, c = whole(-8, 8, 8, 16), whole(-8, 8, 16, 16) + 1, whole(-8, 8, 8, 16)
    sizes = {"m": 8, "n": 16, "k": 16, "b_layout": 2, "b_stride": 32}
    halves = [x.astype(np.float16) for x in (a, packed(b, 2))]
    result = intel_amx.run(
        spirv("opencl_matrix", **F16, **sizes),
        "k",
        [*halves, c.astype(np.float32)],
        global_size=(16,),
        local_size=(16,),
    )
    assert intel_amx.info.amx
    assert np.array_equal(result.arrays[2], a @ b + c)


def test_matrix_s8(intel_amx: opencl.Session, spirv: Callable[..., bytes]):
    a, b = whole(-128, 128, 16, 64), whole(-128, 128, 64, 16)[::-1]
    c = whole(-(2**31), 2**31, 16, 16)
    sizes = {"m": 16, "n": 16, "k": 64, "b_layout": 2, "b_stride": 64}
    bytes_ = [x.astype(np.int8) for x in (a, packed(b, 4))]
    result = intel_amx.run(
        spirv("opencl_matrix", **S8, **sizes),
        "k",
        [*bytes_, c],
        global_size=(16,),
        local_size=(16,),
    )
    assert np.array_equal(result.arrays[2], a @ b + c)


def test_abort_of_the_run_time_is_one_error(
    intel_amx: opencl.Session, spirv: Callable[..., bytes]
):
    """The run-time ends the process when B is row-major."""
    sizes = {"m": 8, "n": 16, "k": 16, "b_layout": 0, "b_stride": 16}
    module = spirv("opencl_matrix", **F16, **sizes)
    buffers = [np.zeros(256, x) for x in (np.float16, np.float16, np.float32)]
    with pytest.raises(RunFailed, match=r"rowmajor"):
        intel_amx.run(module, "k", buffers, global_size=(16,), local_size=(16,))


def test_matrix_without_amx_is_refused(
    intel_cpu: opencl.Session, spirv: Callable[..., bytes]
):
    sizes = {"m": 8, "n": 16, "k": 16, "b_layout": 2, "b_stride": 32}
    module = spirv("opencl_matrix", **F16, **sizes)
    buffers = [np.zeros(256, x) for x in (np.float16, np.float16, np.float32)]
    with pytest.raises(RunFailed, match="has cooperative matrices only with AMX"):
        intel_cpu.run(module, "k", buffers, global_size=(16,), local_size=(16,))


@pytest.mark.parametrize(
    ("entry", "global_size", "local_size", "message"),
    [
        ("main", (8,), (8,), "entry point 'main', the module has 'saxpy'"),
        ("saxpy", (8,), (0,), r"work-items of at least 1, got \(8, 0\)"),
        ("saxpy", (8,), (3,), r"multiples of \(3,\), got \(8,\)"),
        ("saxpy", (8, 8), (8,), "as many global as local sizes.*got 2 and 1"),
        ("saxpy", (1,) * 4, (1,) * 4, "one to three, got 4 and 4"),
    ],
)
def test_wrong_calls(
    intel_cpu: opencl.Session,
    spirv: Callable[..., bytes],
    entry: str,
    global_size: tuple[int, ...],
    local_size: tuple[int, ...],
    message: str,
):
    x = np.zeros(8, np.float32)
    with pytest.raises(ValueError, match=message):
        intel_cpu.run(
            spirv("opencl_saxpy"),
            entry,
            [x, x, x[0]],
            global_size=global_size,
            local_size=local_size,
        )


def test_device_limits(intel_cpu: opencl.Session, spirv: Callable[..., bytes]):
    info = intel_cpu.info
    facts = spirv_facts(spirv("opencl_shuffle", lanes=12))
    assert opencl.why_unsupported(info, facts, "reverse", (48,)) == (
        f"expected a subgroup size of 4, 8, 16, 32, 64 on {info.name}, got 12"
    )
    facts = spirv_facts(spirv("opencl_shuffle", lanes=16))
    assert opencl.why_unsupported(info, facts, "reverse", (4, 4)) is None
    assert opencl.why_unsupported(info, facts, "reverse", (info.invocations, 2)) == (
        f"expected work-groups of at most {info.invocations} work-items on "
        f"{info.name}, got {info.invocations * 2}"
    )


def test_refusal_of_the_compiler_is_one_line(
    intel_cpu: opencl.Session, spirv: Callable[..., bytes]
):
    x = np.zeros(8, np.float32)
    module = bytearray(spirv("opencl_saxpy"))
    module[24:28] = (5116).to_bytes(4, "little")  # BFloat16TypeKHR for Addresses
    with pytest.raises(RunFailed) as caught:
        intel_cpu.run(
            bytes(module),
            "saxpy",
            [x, x, x[0]],
            global_size=(8,),
            local_size=(8,),
            validate=False,
        )
    assert str(caught.value) == (
        "Unsupported SPIR-V module; SPIRV module requires unsupported capability 5116"
    )


def test_missing_argument(intel_cpu: opencl.Session, spirv: Callable[..., bytes]):
    x = np.zeros(8, np.float32)

    def run(*arguments: opencl.Argument) -> None:
        module = spirv("opencl_saxpy")
        sizes = (8,)
        intel_cpu.run(module, "saxpy", arguments, global_size=sizes, local_size=sizes)

    with pytest.raises(RunFailed, match=r"^expected 3 arguments, got 2$"):
        run(x, x)
    with pytest.raises(ValueError, match=r"elements in buffer 0, got \(0,\)"):
        run(x[:0], x, x[0])


def test_missing_package(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> importlib.metadata.Distribution:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(ToolMissing, match="intel-opencl-rt is missing: run `pip"):
        opencl.find_runtime()
