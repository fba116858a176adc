"""Matrices over lanes, on lavapipe: 8 lanes, vectors of at most 4 components."""

import numpy as np
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run import execute, vulkan
from coopc.sim.simulate import simulate
from coopc.testing.lane_cases import Case
from coopc.testing.lane_programs import kernel
from coopc.testing.programs import module_of
from coopc.validate.compare import compare

SECTIONS = ("memory", "products", "elementwise", "reductions", "elements", "flow")


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize(
    "case",
    [
        Case("f32", 8, 8, 5, 4, "acc"),
        Case("s32", 8, 16, 3, 4, "b", 1),
        Case("f16", 8, 4, 8, 8, "a", 2),
    ],
    ids=str,
)
def test_section(case: Case, section: str, lavapipe: vulkan.Session) -> None:
    """Bits as from the simulator; few enough buffers for a device."""
    program = kernel(case, [section])
    expected = program.copies()
    simulate(module_of(program.text), "k", expected, subgroup_size=8)
    artifact = coopc.compile(program.text, "coopc-lanes{device=lavapipe}")
    (interface,) = artifact.interface
    call = pack(interface, program.copies(), (1, 1, 1))
    found = execute.on_vulkan(artifact.bytes, call, lavapipe).arrays
    for name, x, y in zip(program.arguments, found, expected, strict=True):
        if "_rem" in name and x.dtype.kind == "f":
            # GLSL's drivers compute x - y trunc(x / y): 0 for what OpenCL has as -0.
            x, y = x + 0, y + 0
        difference = compare(x, y)
        assert difference.ok, f"{name}: {difference}"
    assert all(isinstance(x, np.ndarray) for x in found)
