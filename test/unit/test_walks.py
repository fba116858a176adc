"""How many functions an operation visits: a simple lowering is short to follow."""

import pytest
from support.walks import CASES, walk

MOST = {
    "pointers": (58, 25),
    "blocks": (28, 14),
    "khr": (9, 4),
    "khr-split": (27, 10),
    "amx": (18, 9),
}
"""Functions, and the files that they are in."""


@pytest.mark.parametrize("name", CASES)
def test_a_load_visits_few_functions(name: str):
    functions = walk(CASES[name]).functions
    found = len(functions), len({file for file, _ in functions})
    assert all(x <= most for x, most in zip(found, MOST[name], strict=True)), found
