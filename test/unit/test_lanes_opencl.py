"""Matrices over lanes, as SPIR-V on Intel's OpenCL run-time for CPUs.

Each case is one module with every operation of `coopmatrix`; the simulator says what
is expected, to the bit.  Loops and functions are marked so that the run-time's compiler
leaves them: to unroll and to inline them takes it longer than everything else.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.interface_call import pack
from coopc.run import execute, opencl, toolchain
from coopc.sim.simulate import simulate
from coopc.testing.lane_programs import Case, kernel, pairs, pairwise_cases, shapes
from coopc.testing.programs import module_of
from coopc.validate.compare import compare

Array = npt.NDArray[Any]

CASES = pairwise_cases()
LOOP_MERGE, DONT_UNROLL = 246, 2
"""Opcode and loop control in the SPIR-V specification."""
FUNCTION, INLINE, DONT_INLINE = 54, 1, 2
"""Opcode and function controls."""
VOID = 19
"""The opcode of OpTypeVoid."""
VECTOR = 23
"""The opcode of OpTypeVector."""


def repr_id(case: Case) -> str:
    """The name of a case."""
    shape = f"{case.rows}x{case.cols}x{case.depth}"
    return f"{case.element}-{case.lanes}-{shape}-{case.use}-v{case.variant}"


def words(binary: bytes) -> Array:
    """The words of a module."""
    return np.frombuffer(binary, np.uint32).copy()


def instructions(module: Array) -> list[tuple[int, int]]:
    """The opcode of each instruction, and where it is."""
    found: list[tuple[int, int]] = []
    at = 5
    while at < module.size:
        found.append((int(module[at]) & 0xFFFF, at))
        at += int(module[at]) >> 16
    return found


def kept_small(binary: bytes) -> bytes:
    """A module whose loops are not to be unrolled, nor functions inlined."""
    module = words(binary)
    voids = [module[at + 1] for op, at in instructions(module) if op == VOID]
    for opcode, at in instructions(module):
        if opcode == LOOP_MERGE:
            module[at + 3] = DONT_UNROLL
        if opcode == FUNCTION:
            is_section = module[at + 1] in voids
            module[at + 3] = DONT_INLINE if is_section else INLINE
    return module.tobytes()


def widest_vector(binary: bytes) -> int:
    """Components of the longest vector type."""
    module = words(binary)
    found = [int(module[at + 3]) for op, at in instructions(module) if op == VECTOR]
    return max(found, default=1)


def differences(case: Case, found: Sequence[Array], expected: Sequence[Array]) -> str:
    """Which arguments of a case differ."""
    wrong: list[str] = []
    for text, x, y in zip(kernel(case).arguments, found, expected, strict=True):
        if not (difference := compare(x, y)).ok:
            wrong.append(f"{text} {difference}")
    return "\n".join(wrong)


def test_cases_are_pairwise() -> None:
    """Every two of element type, lanes, shape and use are in one case."""
    kinds = [
        (c.element, c.lanes, shapes(c.lanes).index((c.rows, c.cols, c.depth)), c.use)
        for c in CASES
    ]
    assert len(set(kinds)) == len(CASES) >= 200
    seen = {pair for kind in kinds for pair in pairs(kind)}
    counts = Counter(pair[0] for pair in seen)
    elements, lanes, forms, uses = 9, 5, 9, 3
    assert counts[0] == elements * lanes - 1 + elements * forms + elements * uses
    assert counts[1] == lanes * forms + lanes * uses
    assert counts[2] == forms * uses


@pytest.fixture(scope="module")
def narrow_cpu(intel_cpu: opencl.Session) -> Iterator[opencl.Session]:
    """The run-time without AVX-512, for which its compiler crashes on some kernels.

    It says "Internal compiler error: Cannot emit physreg copy instruction".
    """
    assert intel_cpu.info.subgroup_sizes
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CL_CONFIG_CPU_TARGET_ARCH", "core-avx2")
        with opencl.Session.start() as session:
            yield session


FEW = 9
"""Of so many cases one runs, unless COOPC_LANES=all: all take minutes to compile."""
CHOSEN = CASES if os.environ.get("COOPC_LANES") == "all" else CASES[::FEW]


@pytest.mark.parametrize("case", CHOSEN, ids=repr_id)
def test_all_operations(case: Case, narrow_cpu: opencl.Session) -> None:
    """Bits as from the simulator; no vector of more than 16 components."""
    program = kernel(case)
    expected = program.copies()
    simulate(module_of(program.text), "k", expected, subgroup_size=case.lanes)
    pipeline = f"coopc-lanes{{subgroup-size={case.lanes} device=intel-cpu}}"
    artifact = coopc.compile(program.text, pipeline)
    assert widest_vector(artifact.bytes) <= 16
    (interface,) = artifact.interface
    assert toolchain.validate_spirv(artifact.bytes, "spv1.4") is None
    binary = kept_small(artifact.bytes)
    call = pack(interface, program.copies(), (1, 1, 1))
    found = execute.on_opencl(binary, call, narrow_cpu).arrays
    assert not differences(case, found, expected)
