"""Laws of exchanges between lanes: they prove themselves when built."""

import random

import pytest

from coopc.layout.lane_exchange import lane_exchange, moves, without_free
from coopc.layout.linear import LinearLayout


def layout(registers: list[int], lanes: list[int], warps: list[int], bits: int):
    ins = (
        ("register", tuple(registers)),
        ("lane", tuple(lanes)),
        ("warp", tuple(warps)),
    )
    return LinearLayout(ins, (("dim0", bits // 2), ("dim1", bits - bits // 2)))


def shuffled(seed: int, bits: int) -> list[int]:
    """Return a random basis, of one-bit vectors or (odd seeds) of sums of them."""
    chance = random.Random(seed)
    basis = [1 << bit for bit in range(bits)]
    chance.shuffle(basis)
    if seed % 2:
        for _ in range(8):
            one, other = chance.sample(range(bits), 2)
            basis[one] ^= basis[other]
    return basis


@pytest.mark.parametrize("lanes", [3, 4, 5])
@pytest.mark.parametrize("seed", range(40))
def test_placement_and_shuffles(seed: int, lanes: int) -> None:
    bits = lanes + 3 + seed % 3
    one, two = shuffled(seed, bits), shuffled(seed + 2, bits)
    source = layout(one[lanes:], one[:lanes], [], bits)
    target = layout(two[lanes:], two[:lanes], [], bits)
    found = lane_exchange(source, target)
    assert found is not None  # bijections always can
    assert len(found.turns) == 1 << bits - lanes


def test_same_layout_is_local() -> None:
    x = layout([16, 32], [1, 2, 4, 8], [64], 7)
    found = lane_exchange(x, x)
    assert found is not None
    assert found.is_local
    assert found.offers == (0, 1, 2, 3)


def test_transposition() -> None:
    """The example of the module: a butterfly."""
    source, target = layout([1, 2], [4, 8], [], 4), layout([4, 8], [1, 2], [], 4)
    found = lane_exchange(source, target)
    assert found is not None
    assert found.receive == found.origin == found.send == (1, 2)
    assert found.turns == found.offers == (0, 1, 2, 3)


def test_what_is_in_other_subgroups_is_no_exchange_of_lanes() -> None:
    source = layout([16], [1, 2, 4, 8], [32], 6)
    target = layout([32], [1, 2, 4, 8], [16], 6)
    assert moves(source, target).leaves
    assert lane_exchange(source, target) is None


def test_what_all_subgroups_have_stays() -> None:
    source = layout([16, 32], [1, 2, 4, 8], [0, 0], 6)
    target = layout([1, 32], [16, 2, 4, 8], [0, 0], 6)
    assert not moves(source, target).leaves
    assert lane_exchange(source, target) is not None


def test_each_subgroup_takes_its_part_of_what_all_have() -> None:
    source = layout([16, 32], [1, 2, 4, 8], [0], 6)
    target = layout([16], [1, 2, 4, 8], [32], 6)
    assert not moves(source, target).leaves
    found = lane_exchange(source, target)
    assert found is not None
    assert found.choose == (2,)
    assert not found.is_local


@pytest.mark.parametrize("zero", [0, 1, 3])
def test_repeated_lanes(zero: int) -> None:
    """Lanes that repeat others, in the source or in the target."""
    lanes = [1, 2, 4, 8]
    lanes[zero] = 0
    full = layout([16, 32], [1, 2, 4, 8], [], 6)
    less = layout([16, 32, 1 << zero], lanes, [], 6)
    assert lane_exchange(less, full) is not None
    assert lane_exchange(full, less) is not None


def test_without_free() -> None:
    x = layout([0, 16, 0], [1, 2, 4, 8], [0], 5)
    assert without_free(x).bases("register") == layout([16], [], [], 5).bases(
        "register"
    )
    assert without_free(x).bases("lane") == x.bases("lane")
