"""Words that lanes read of each other in exchanges, over the least that there can be.

Between all layouts of a 16 x 16 matrix: as lanes hold operands and sums, as row slices,
and as DPAS holds its operands.  A word comes from one lane and holds one, two or four
elements.  A lane has to read at least what it lacks of each other lane in such words;
of elements that several lanes hold, all together.

What is beyond the bound comes from DPAS A of bytes: with 16 of 32 columns, half of its
lanes hold padding, and rounds of shuffles by XOR read these lanes as well.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import permutations, product
from math import exp, log

from bench.harness import Row
from coopc.layout.coopmatrix import Use
from coopc.layout.distribution import Distribution
from coopc.layout.exchange import plan_exchange
from coopc.layout.family import (
    CoopmatrixFamily,
    DpasFamily,
    MatrixSpec,
    RowSliceFamily,
)

SIZE = 16
LANES, BITS = (8, 16, 32), (8, 16, 32)
USES: tuple[Use, ...] = ("a", "b", "acc")
MOST_MEAN, MOST_RATIO, MOST_MORE = 1.05, 1.25, 1
"""Of the geometric mean, and of each exchange: a ratio, or words above the bound."""


def layouts(lanes: int, bits: int) -> dict[str, Distribution]:
    """Return the layouts of a matrix by name."""
    specs = {use: MatrixSpec(SIZE, SIZE, bits, use) for use in USES}
    found: dict[str, Distribution] = {
        use: CoopmatrixFamily().distribution(x, lanes) for use, x in specs.items()
    }
    found["row slices"] = RowSliceFamily().distribution(specs["acc"], lanes)
    for name, use in zip(("A", "B", "C"), USES, strict=True):
        found[f"DPAS {name}"] = DpasFamily().distribution(specs[use], lanes)
    return found


def holders(x: Distribution) -> dict[tuple[int, int], list[int]]:
    """Return the lanes that hold each element."""
    found: dict[tuple[int, int], list[int]] = {}
    for lane in range(x.lanes):
        for place in {x.element(lane, v) for v in range(x.components)}:
            if place != (SIZE, SIZE):
                found.setdefault(place, []).append(lane)
    return found


def bound(source: Distribution, target: Distribution, bits: int) -> int:
    """Return how many words some lane has to read of others."""
    per_word, of = 32 // bits, holders(source)
    lacks = [Counter[int]() for _ in range(target.lanes)]
    for place, lanes in holders(target).items():
        alone = len(of[place]) == 1
        for lane in set(lanes).difference(of[place]):
            lacks[lane][of[place][0] if alone else -1] += 1
    return max(sum(-(-n // per_word) for n in x.values()) for x in lacks)


def measure() -> Iterator[Row]:
    ratios: list[float] = []
    for lanes, bits in product(LANES, BITS):
        for one, other in permutations(layouts(lanes, bits).items(), 2):
            least = bound(one[1], other[1], bits)
            words = plan_exchange(one[1], other[1], element_bits=bits).words
            if least == 0:
                continue
            ratios.append(words / least)
            most = max(MOST_RATIO * least, least + MOST_MORE)
            if words > most:
                name = f"{one[0]} to {other[0]}, {bits} bits, {lanes} lanes"
                yield Row(f"  {name}", words, "words", most)
    mean = exp(sum(map(log, ratios)) / len(ratios))
    name = f"{len(ratios)} exchanges over the bound, geometric mean"
    yield Row(name, mean, "times", MOST_MEAN)
