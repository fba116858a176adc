"""Random programs of several statements do nothing undefined, and have all there is."""

import hashlib

import pytest
from support.random_statements import (
    ANY,
    BLOCKS,
    TILES,
    Drawn,
    random_statements,
)

from coopc.generate.random_programs import module_of
from coopc.sim.simulate import simulate

SEEDS = range(300)


def test_seeds_keep_their_programs() -> None:
    texts = "".join(random_statements(seed).text for seed in range(50))
    found = hashlib.sha256(texts.encode()).hexdigest()
    assert found.startswith("ea241d029eca")


@pytest.mark.parametrize("drawn", [ANY, TILES, BLOCKS])
@pytest.mark.parametrize("lanes", [8, 16])
def test_nothing_is_undefined(drawn: Drawn, lanes: int) -> None:
    for seed in range(20):
        program = random_statements(seed, drawn)
        module = module_of(program.text)
        simulate(module, "k", program.copies(), subgroup_size=lanes)


@pytest.mark.parametrize(
    "sign",
    [
        *("[%cm", "strided<[1, ", ", 2]>", "memref<?x?x?x", "matrix<1x1x"),
        *("%workgroup0, ", "%subgroup0, ", "convert %", "convert signed"),
        *("signed(a, c)", "saturating", "f8E4M3FN, a", "f8E5M2, b", "bf16, none"),
        *("coopmatrix.reduce add quads", "coopmatrix.reduce min all"),
        *("insert_row_slice", " mask %mask", "coopmatrix.bitcast", "atomic_min"),
        *(
            "to %c0 step",
            "scf.while",
            "func.call",
            "simt.barrier",
            "coopmatrix.prefetch",
        ),
    ],
)
def test_signs(sign: str) -> None:
    assert any(sign in random_statements(seed).text for seed in SEEDS)
