"""The GEMMs in test/emit/xe, emulated: on Intel's CPU run-time, and simulated."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.run import opencl
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]

KERNELS = Path(__file__).parents[3] / "emit" / "xe"
GEMMS = sorted(path.stem for path in KERNELS.glob("gemm_*.mlir"))
ON_CPU = ("gemm_ab_32x32", "gemm_abt_payloads_32x32")
"""Some of them: the run-time takes seconds to compile each."""
WORK_ITEMS = 256
"""Of a work-group: 4 x 4 subgroups."""


def inputs(name: str, m: int, n: int, k: int) -> tuple[Array, Array, Array]:
    """Return a, b as it is in memory, and the product."""
    random = np.random.default_rng(m + n + k)
    a = random.integers(-8, 8, (m, k)).astype(np.float16)
    b = random.integers(-8, 8, (k, n)).astype(np.float16)
    product = a.astype(np.float32) @ b.astype(np.float32)
    return a, np.ascontiguousarray(b.T) if "abt" in name else b, product


def test_all_gemms_are_there() -> None:
    assert len(GEMMS) == 10


@pytest.mark.parametrize("name", ON_CPU)
def test_gemm_on_cpu(name: str, intel_cpu: opencl.Session) -> None:
    # Rows and columns end within tiles, and K within a step.
    m, n, k = 72, 72, 48
    a, b, product = inputs(name, m, n, k)
    c = np.full((m + 1, n), -1, np.float32)
    text = (KERNELS / f"{name}.mlir").read_text()
    binary = coopc.compile(text, "emulate-xe", "spirv-binary{device=intel-cpu}").bytes
    result = intel_cpu.run(
        binary,
        "gemm",
        [a, b, c, *map(np.int32, (m, n, k))],
        global_size=(WORK_ITEMS,),
        local_size=(WORK_ITEMS,),
    )
    assert np.array_equal(result.arrays[2].reshape(c.shape)[:m], product)
    assert (result.arrays[2].reshape(c.shape)[m] == -1).all()


@pytest.mark.parametrize("name", GEMMS)
def test_gemm_is_what_it_was(name: str) -> None:
    m, n, k = 40, 40, 32
    a, b, product = inputs(name, m, n, k)
    text = (KERNELS / f"{name}.mlir").read_text()
    for passes in ("", "emulate-xe"):
        source = coopc.compile(text, passes, "mlir").text
        module = parse(new_context(everything()), Source(source, name))
        c = np.full((m, n), -1, np.float32)
        simulate(module, "gemm", [a, b, c, m, n, k], grid=(1, 1, 1))
        assert np.array_equal(c, product)
