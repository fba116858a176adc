"""Vulkan shaders on lavapipe against numpy, and what a session refuses."""

import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coopc.device import LAVAPIPE
from coopc.run import toolchain, vulkan
from coopc.run.toolchain import ToolMissing
from coopc.run.vulkan_device import statistic
from coopc.run.worker import RunFailed
from coopc.spirv.facts import MatrixProduct, SpirvFacts, spirv_facts

F16 = {
    "input": "half",
    "sum": "float",
    "input_bytes": 2,
    "operands": "",
    "lanes": 8,
}
S8 = {
    "input": "byte",
    "sum": "uint",
    "input_bytes": 1,
    "operands": "MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR"
    "|MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR",
    "lanes": 8,
}
TILE = {"m": 8, "n": 8, "k": 8}
TWO = struct.pack("<f", 2)


def floats(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Small whole numbers, whose products and sums are exact."""
    return np.random.default_rng(0).integers(-8, 8, shape).astype(np.float32)


def test_device(lavapipe: vulkan.Session):
    info = lavapipe.info
    assert "llvmpipe" in info.name
    assert info.subgroup_sizes == (8, 8)
    assert MatrixProduct(8, 8, 8, "f16", "f16", "f32", "f32") in info.matrix_shapes
    known = LAVAPIPE.limits
    assert info.limits.group_sizes == known.work_group_size
    assert info.limits.invocations == known.work_items
    assert info.limits.shared_memory_bytes == known.local_bytes
    assert info.limits.push_constant_bytes == known.argument_bytes
    assert info.limits.storage_buffer_bytes == known.binding_bytes


def test_saxpy(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    x, y = floats(64), floats(8, 8) + 3
    before = y.copy()
    result = lavapipe.run(
        spirv("vulkan_saxpy", offset=0.5),
        "saxpy",
        [x, y],
        groups=(8, 1, 1),
        push_constants=TWO,
    )
    assert np.array_equal(result.arrays[1], 2 * x.reshape(8, 8) + y + 0.5)
    assert np.array_equal(result.arrays[0], x)
    assert np.array_equal(y, before)
    assert len(result.milliseconds) == 1


def test_specialization(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    x, y = floats(8), floats(8)
    result = lavapipe.run(
        spirv("vulkan_saxpy", offset=0.5),
        "saxpy",
        [x, y],
        push_constants=TWO,
        spec={7: struct.pack("<f", 100)},
    )
    assert np.array_equal(result.arrays[1], 2 * x + y + 100)


def test_statistics(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    """Lavapipe tells nothing of what it compiled."""
    binary = spirv("vulkan_saxpy", offset=0.5)
    shader = lavapipe.shader(
        binary, "saxpy", (0, 1), groups=(8, 1, 1), push_constants=TWO
    )
    found = lavapipe.statistics(shader, [256, 256])
    assert found.milliseconds > 0
    assert not found.numbers
    assert struct.unpack_from("<II", found.cache) == (
        32,
        1,
    )  # size, version


@pytest.mark.parametrize(
    ("format", "bits", "number"),
    [
        (0, 1, 1),
        (1, 2**64 - 3, -3),
        (2, 2**63, 2.0**63),
        (3, struct.unpack("<Q", struct.pack("<d", 0.5))[0], 0.5),
    ],
)
def test_numbers_of_statistics(format: int, bits: int, number: float) -> None:
    assert statistic(format, bits) == number


def test_repeats_return_the_first_result(
    lavapipe: vulkan.Session, spirv: Callable[..., bytes]
):
    x, y = floats(8), floats(8)
    module = spirv("vulkan_saxpy", offset=0)
    result = lavapipe.run(module, "saxpy", [x, y], push_constants=TWO, repeats=3)
    assert np.array_equal(result.arrays[1], 2 * x + y)
    assert len(result.milliseconds) == 3


def test_strided_array_is_passed_row_by_row(
    lavapipe: vulkan.Session, spirv: Callable[..., bytes]
):
    x, y = floats(4, 2).T, floats(2, 4)
    module = spirv("vulkan_saxpy", offset=0)
    result = lavapipe.run(module, "saxpy", [x, y], push_constants=TWO)
    assert np.array_equal(result.arrays[1], 2 * x + y)


def test_matrix_f16(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    a, b, c = floats(8, 8), floats(8, 8) + 1, floats(8, 8) + 2
    inputs = [a.astype(np.float16), b.astype(np.float16), c]
    result = lavapipe.run(
        spirv("vulkan_matrix", **F16, **TILE), "main", inputs, subgroup_size=8
    )
    assert np.array_equal(result.arrays[2], a @ b + c)


def test_matrix_s8(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, (8, 8)).astype(np.int8) for _ in range(2))
    c = rng.integers(-(2**31), 2**31, (8, 8)).astype(np.int32)
    result = lavapipe.run(spirv("vulkan_matrix", **S8, **TILE), "main", [a, b, c])
    assert np.array_equal(result.arrays[2], a.astype(np.int32) @ b.astype(np.int32) + c)


def test_unlisted_shape_is_refused(
    lavapipe: vulkan.Session, spirv: Callable[..., bytes]
):
    """Lavapipe runs 16x16x16 and returns wrong numbers."""
    module = spirv("vulkan_matrix", **F16, **{"m": 16, "n": 16, "k": 16})
    buffers = [np.zeros(256, x) for x in (np.float16, np.float16, np.float32)]
    with pytest.raises(RunFailed, match=r"got 16x16x16 f16 \* f16 \+ f32 -> f32"):
        lavapipe.run(module, "main", buffers)


def test_device_without_the_extension_is_refused(
    lavapipe: vulkan.Session, spirv: Callable[..., bytes]
):
    facts = spirv_facts(spirv("vulkan_matrix", **F16, **TILE))
    bare = replace(lavapipe.info, name="Old", extensions=frozenset())
    sizes = ((1, 1, 1), 0, None)
    assert vulkan.why_unsupported(lavapipe.info, facts, *sizes) is None
    assert vulkan.why_unsupported(bare, SpirvFacts(), *sizes) is None
    facts.multiplications.clear()
    assert vulkan.why_unsupported(bare, facts, *sizes) == (
        "Old has no VK_KHR_cooperative_matrix"
    )


def test_work_groups_multiply_multiples(lavapipe: vulkan.Session):
    least = MatrixProduct(32, 32, 16, "f16", "f16", "f32", "f32", scope="workgroup")
    info = replace(lavapipe.info, workgroup_shapes=((128, least),))
    sizes = ((1, 1, 1), 0, None)
    for depth, wrong in ((48, ""), (40, "got 64x96x40 f16")):
        shape = replace(least, m=64, n=96, k=depth)
        reason = vulkan.why_unsupported(
            info, SpirvFacts(multiplications={shape}), *sizes
        )
        assert wrong in str(reason) if wrong else reason is None
    assert "got 64x96x40" in str(
        vulkan.why_unsupported(
            lavapipe.info, SpirvFacts(multiplications={shape}), *sizes
        )
    )


def test_wrong_calls(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    module, x = spirv("vulkan_saxpy", offset=0), floats(8)
    run = lavapipe.run
    with pytest.raises(ValueError, match="entry point 'main', the module has 'saxpy'"):
        run(module, "main", [x, x])
    with pytest.raises(ValueError, match=r"expected 2 buffers.*got 1"):
        run(module, "saxpy", [x])
    with pytest.raises(ValueError, match=r"elements in buffer 1, got \(0,\)"):
        run(module, "saxpy", [x, x[:0]])
    with pytest.raises(ValueError, match=r"work-groups of at least 1, got \(1, 0, 1\)"):
        run(module, "saxpy", [x, x], groups=(1, 0, 1))
    with pytest.raises(ValueError, match="at least 1 repeat, got 0"):
        run(module, "saxpy", [x, x], repeats=0)
    with pytest.raises(ValueError, match="got 0 bytes"):
        run(b"", "saxpy", [x, x])
    with pytest.raises(ValueError, match="SPIR-V magic"):
        run(b"not a module at all.", "saxpy", [x, x])


def test_device_limits(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    module, x = spirv("vulkan_saxpy", offset=0), floats(8)
    run = lavapipe.run
    with pytest.raises(RunFailed, match=r"subgroup size of 8 to 8 on llvmpipe.*got 16"):
        run(module, "saxpy", [x, x], subgroup_size=16)
    with pytest.raises(RunFailed, match="at most 256 bytes of push constants, got 260"):
        run(module, "saxpy", [x, x], push_constants=bytes(260))
    with pytest.raises(RunFailed, match=r"got \(1, 65536, 1\)"):
        run(module, "saxpy", [x, x], groups=(1, 65536, 1))


def test_invalid_module_is_refused(
    lavapipe: vulkan.Session, spirv: Callable[..., bytes]
):
    module, x = spirv("vulkan_saxpy", offset=0), floats(8)
    without_return = module[:-8] + module[-4:]  # OpReturn is the word before the last
    with pytest.raises(RunFailed, match="Function end cannot be called in blocks"):
        lavapipe.run(without_return, "saxpy", [x, x])


def test_endless_shader(lavapipe: vulkan.Session, spirv: Callable[..., bytes]):
    zeros = np.zeros(1, np.uint32)
    with pytest.raises(
        RunFailed, match=r"no answer within 0\.5 s: .* was running main$"
    ):
        lavapipe.run(spirv("vulkan_endless"), "main", [zeros], seconds=0.5)
    x = floats(8)
    module = spirv("vulkan_saxpy", offset=0)
    result = lavapipe.run(module, "saxpy", [x, x], push_constants=TWO)
    assert np.array_equal(result.arrays[1], 3 * x)


def test_missing_toolchain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("COOPC_TOOLCHAIN", str(tmp_path))
    monkeypatch.setattr(toolchain, "CHECKOUT", tmp_path)
    with pytest.raises(ToolMissing, match="the toolchain is missing: run"):
        vulkan.Session.start("lavapipe")


UNCACHED = """
import sys
sys.path[:0] = [{root!r}]
from contextlib import ExitStack
from coopc.run.vulkan_device import HOST_CACHED, VulkanServer

server = VulkanServer()
server.open({library!r})
data = bytes(range(250)) * 100 + b"rest"
with ExitStack() as stack:
    buffer, address, flags = server.device.buffer(data, stack)
    found = server.device.contents((buffer, address, flags & ~HOST_CACHED), len(data))
    nothing = server.device.contents((buffer, address, 0), 0)
assert (found, nothing) == (data, b"")
"""


def test_memory_that_is_not_cached_is_copied() -> None:
    """Lavapipe's is cached: a flag less stands for that of a GPU."""
    folder = toolchain.toolchain() / vulkan.LIBRARIES
    library = folder / "libvulkan_lvp.so"
    if not library.exists():
        pytest.skip("lavapipe is missing")
    root = str(Path(__file__).parents[3])
    code = UNCACHED.format(root=root, library=str(library))
    subprocess.run([*vulkan.python_on(folder), "-c", code], check=True)
