"""Matrices over lanes, as SPIR-V on Intel's OpenCL run-time for CPUs.

Each case is one module with every operation of `coopmatrix`; the simulator says what
is expected, to the bit.  Modules run as they are emitted.  Only of those for many lanes
loops and functions are marked so that the run-time's compiler leaves them: to unroll
and to inline them takes it longer than everything else.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import pytest
from support.lane_programs import ELEMENTS, LANES, USES, Case, kernel, pairwise_cases
from support.programs import module_of
from support.spirv_hints import (
    DONT_INLINE,
    DONT_UNROLL,
    INLINE,
    widest_vector,
    with_hints,
)

import coopc
from coopc.interface_call import pack
from coopc.run import execute, opencl, toolchain
from coopc.sim.simulate import simulate
from coopc.validate.compare import compare

Array = npt.NDArray[Any]

CASES = pairwise_cases()
MANY_LANES = 32
"""From so many lanes on loops are not unrolled."""
SECONDS = 300.0
"""For a compiler on a machine that is busy."""
FEWER = (
    *[x for x in CASES if x.lanes < MANY_LANES][::6],
    *[x for x in CASES if x.lanes >= MANY_LANES][::20],
)
"""Those that run, unless COOPC_LANES=all: all take minutes to compile."""
CHOSEN = CASES if os.environ.get("COOPC_LANES") == "all" else FEWER


def test_cases() -> None:
    """Every element type, subgroup size and use is among those that run."""
    assert {x.element for x in CHOSEN} == set(ELEMENTS)
    assert {x.lanes for x in CHOSEN} == set(LANES)
    assert {x.use for x in CHOSEN} == set(USES)


def repr_id(case: Case) -> str:
    """The name of a case."""
    shape = f"{case.rows}x{case.cols}x{case.depth}"
    return f"{case.element}-{case.lanes}-{shape}-{case.use}-v{case.variant}"


def differences(
    arguments: Sequence[str], found: Sequence[Array], expected: Sequence[Array]
) -> str:
    """Which arguments of a kernel differ."""
    wrong: list[str] = []
    for text, x, y in zip(arguments, found, expected, strict=True):
        if not (difference := compare(x, y)).ok:
            wrong.append(f"{text} {difference}")
    return "\n".join(wrong)


def wrong(case: Case, session: opencl.Session, *only: str, options: str = "") -> str:
    """What the run-time gives otherwise than the simulator, of some sections."""
    program = kernel(case, only or None)
    expected = program.copies()
    simulate(module_of(program.text), "k", expected, subgroup_size=case.lanes)
    pipeline = f"coopc-lanes{{subgroup-size={case.lanes} device=intel-cpu{options}}}"
    artifact = coopc.compile(program.text, pipeline)
    assert widest_vector(artifact.bytes) <= 16
    (interface,) = artifact.interface
    assert toolchain.validate_spirv(artifact.bytes, "spv1.4") is None
    binary = artifact.bytes
    if case.lanes >= MANY_LANES:
        binary = with_hints(
            binary, loops=DONT_UNROLL, sections=DONT_INLINE, functions=INLINE
        )
    call = pack(interface, program.copies(), (1, 1, 1))
    outcome = execute.on_opencl(binary, call, session, seconds=SECONDS)
    return differences(program.arguments, outcome.arrays, expected)


@pytest.mark.parametrize("case", CHOSEN, ids=repr_id)
def test_all_operations(case: Case, intel_cpu: opencl.Session) -> None:
    """Bits as from the simulator; no vector of more than 16 components."""
    assert not wrong(case, intel_cpu)


@pytest.mark.parametrize(
    "case",
    [
        Case("f16", 8, 6, 4, 8, "a", 1),
        Case("s8", 16, 16, 5, 4, "b", 2),
        Case("f64", 4, 3, 3, 8, "acc", 3),
    ],
    ids=repr_id,
)
def test_unrolled(case: Case, intel_cpu: opencl.Session) -> None:
    """The same where loops are written out."""
    sections = ("memory", "products", "elementwise", "reductions")
    assert not wrong(case, intel_cpu, *sections, options=" unroll=true")
