"""Whether what an engine made of a random program is what the simulator makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from coopc.generate.programs import module_of
from coopc.generate.random_programs import Array, RandomProgram
from coopc.sim.simulate import simulate
from coopc.sim.tracked import Inputs
from coopc.validate.compare import compare

SUBGROUP_SIZE = 16
"""Lanes on the simulator where an engine has no subgroups."""


def difference(
    program: RandomProgram, found: Sequence[Array], lanes: int | None = None
) -> str | None:
    """Return how the arrays after a run differ from the simulator's, or None."""
    expected = program.copies()
    run = simulate(
        module_of(program.text),
        "k",
        expected,
        subgroup_size=lanes or SUBGROUP_SIZE,
        track=Inputs.EXACT,
    )
    for n, (x, y) in enumerate(zip(found, expected, strict=True)):
        bound = run.errors[n]
        memory = program.text.split(f"%m{n}: ")[1].split(">")[0]
        element = memory.rpartition("x")[2]
        both = None if bound is None else 2 * bound
        if not (compared := compare(x, y, bound=both, element=element)).ok:
            return f"argument {n}: {compared}"
    return None
