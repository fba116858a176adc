"""Fast GEMMs, `coopc-khr{staged=true}`, on a GPU of the system's loader, exactly.

Run it where there is one: `pytest test/device`.  Elsewhere a test says what it lacks.
"""

from dataclasses import replace

import numpy as np
import pytest

import coopc
from coopc.generate.gemms import Gemm
from coopc.interface_call import entry_for, pack
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session

PIPELINE = "coopc-khr{device=nvidia staged=true}"
TYPES = {
    "f16_f32": Gemm((0, 0, 0)),
    "f16_f16": Gemm((0, 0, 0), types=("f16", "f16")),
    "bf16_f32": Gemm((0, 0, 0), types=("bf16", "f32")),
    "s8_s32": Gemm((0, 0, 0), types=("i8", "i32")),
    "u8_u32": Gemm((0, 0, 0), types=("i8", "i32"), extended=("extui", "extui")),
}
"""Without sizes."""


def check(gemm: Gemm, session: Session) -> None:
    """Compare with numpy."""
    a, b, c = gemm.arrays(seed=sum(gemm.sizes))
    artifact = coopc.compile(gemm.text, PIPELINE, "spirv-binary")
    given = [a, b, c.copy()]
    entry = entry_for(artifact.interface, artifact.interface[0], given)
    call = pack(entry, given)
    found = on_vulkan(artifact.bytes, call, session).arrays[2]
    np.testing.assert_array_equal(found, gemm.expected(a, b, c))


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("b", ["kn", "nk"])
@pytest.mark.parametrize("sizes", [(128, 256, 64), (384, 512, 192), (512, 512, 512)])
def test_inside(sizes: tuple[int, int, int], b: str, types: str, gpu: Session) -> None:
    check(replace(TYPES[types], sizes=sizes, b=b), gpu)


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(
    ("sizes", "orders"),
    [
        ((129, 256, 64), ("mk", "kn", "mn")),
        ((200, 300, 72), ("mk", "nk", "mn")),
        ((257, 513, 101), ("km", "kn", "nm")),
        ((7, 5, 3), ("mk", "kn", "mn")),
    ],
)
def test_edges(
    sizes: tuple[int, int, int],
    orders: tuple[str, str, str],
    types: str,
    gpu: Session,
) -> None:
    a, b, c = orders
    gemm = replace(TYPES[types], sizes=sizes, a=a, b=b, c=c, dynamic=True, fill=False)
    check(gemm, gpu)
