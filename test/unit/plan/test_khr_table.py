"""The table of `legalize-coopmatrix-khr`: complete, and each row says something."""

from dataclasses import replace
from itertools import combinations
from typing import get_args

import pytest

from coopc.device import DEVICES, Device, device
from coopc.device.model import Matrix2
from coopc.dialects import coopmatrix
from coopc.plan.khr_table import TABLE, Fact, abilities, way

NAMES = [op.name.partition(".")[2] for op in coopmatrix.OPERATIONS]
FACTS: tuple[Fact, ...] = get_args(Fact)


MAINTENANCE1 = device("any{subgroup-size=32 maintenance1=yes}")
TENSORS = replace(DEVICES["nvidia"], matrix2=frozenset[Matrix2]({"tensor addressing"}))
EVERY = (*DEVICES.values(), MAINTENANCE1, TENSORS)


@pytest.mark.parametrize("device", EVERY, ids=lambda d: d.name)
def test_each_operation_has_a_row_in_all_circumstances(device: Device) -> None:
    for name in NAMES:
        for count in (0, 1, 2):
            for facts in combinations(FACTS, count):
                row = way(name, frozenset(facts), device)
                assert row.needs <= abilities(device)
                assert (row.form == "refused") == bool(row.reason)


def test_each_row_holds_somewhere() -> None:
    """No row is hidden by those before it."""
    used = {
        way(name, row.facts, device)
        for row in TABLE
        for name in row.ops
        for device in EVERY
    }
    assert used == set(TABLE)


def test_rows_are_of_operations_that_exist() -> None:
    assert {name for row in TABLE for name in row.ops} == set(NAMES)


def test_what_is_no_operation() -> None:
    with pytest.raises(
        ValueError, match="expected an operation of coopmatrix, got 'x'"
    ):
        way("x", frozenset(), DEVICES["lavapipe"])
