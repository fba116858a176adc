r"""Exchanges: how a matrix gets from one distribution to another, as cheap as is right.

    none      the places are the same already
    rename    every lane has what it wants, in other registers
    shuffle   lanes read registers of other lanes of their subgroup, round by round
    memory    store, barrier, load

In one round of shuffles every lane offers one component and reads what one lane offers:

    for each target lane t that takes part:
        target[receive[t], t] = source[send[origin[t]], origin[t]]

For example 2 x 2 elements from rows to columns over two lanes keeps the diagonal and
needs one round, in which lane 0 offers its component 1 and lane 1 its component 0:

                   source             target                 round 1
                   lane 0   lane 1    lane 0   lane 1        lane 0   lane 1
    component 0    (0,0)    (1,0)     (0,0)    (0,1)         send     1  0
    component 1    (0,1)    (1,1)     (1,0)    (1,1)         origin   1  0
                                                             receive  1  0

Two schedules are tried: `mixed` rounds as above, fewest shuffles, and `uniform` rounds,
in which all lanes offer the same component and fill the same one, so that nothing is
selected by lane before the shuffle.  What is cheapest is decided by `Costs`.

Places of padding in the target are never read, and hold anything.  An exchange proves
itself when it is built: it is simulated on tags.

Laws (test/unit/test_layout_exchange.py checks each by its name):

    tags      simulating on (row, col) tags gives the target's tags
    cheapest  no other candidate costs less
    identity  from a distribution to itself is none, and costs nothing
    local     rename and none move nothing between lanes; shuffle nothing between
              subgroups
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from coopc.layout.distribution import Distribution

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray

ABSENT = -1
"""In a schedule: this lane takes no part, or this place is filled by another step."""


class Kind(Enum):
    """What an exchange is made of, the dearest thing naming it."""

    NONE = "none"
    RENAME = "rename"
    SHUFFLE = "shuffle"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Costs:
    """What steps cost relative to each other; assumed, for want of a source."""

    select: int = 1
    """Choosing between two registers by lane."""
    shuffle: int = 4
    """Reading a register of another lane."""
    access: int = 8
    """Storing or loading one component of every lane in work-group memory."""
    barrier: int = 32
    """Waiting for the stores of all lanes."""


DEFAULT_COSTS = Costs()


@dataclass(frozen=True, slots=True)
class Round:
    """One shuffle, with what each lane offers, reads and fills."""

    send: tuple[int, ...]
    """For each lane the source component that it offers, or ABSENT."""
    origin: tuple[int, ...]
    """For each lane the lane that it reads, or ABSENT."""
    receive: tuple[int, ...]
    """For each lane the target component that it fills, or ABSENT."""

    @property
    def selects(self) -> int:
        """Selections by lane before and after the shuffle."""
        return _choices(self.send) + _choices(self.receive)

    @property
    def xor_mask(self) -> int | None:
        """The m with origin = lane xor m in all lanes that read, None without one."""
        masks = {
            origin ^ lane for lane, origin in enumerate(self.origin) if origin != ABSENT
        }
        return masks.pop() if len(masks) == 1 else None


@dataclass(frozen=True, slots=True)
class Exchange:
    """How to get from `source` to `target`, proved when built."""

    source: Distribution
    target: Distribution
    kind: Kind
    own: tuple[tuple[int, ...], ...] = ()
    """For each target component and lane the source component of the same lane."""
    rounds: tuple[Round, ...] = ()
    swaps: int | None = None
    """Selections that move registers by exclusive ors with the lane, before and after
    the rounds, so that none is in them; None where each round selects for itself."""

    def __post_init__(self) -> None:
        import numpy as np

        row, col = self.source.table()
        wanted_row, wanted_col = self.target.table()
        tags = self.simulate(row * (self.source.cols + 1) + col)
        inside = wanted_row < self.target.rows
        wanted = wanted_row * (self.target.cols + 1) + wanted_col
        assert np.array_equal(tags[inside], wanted[inside]), self.kind

    def simulate(self, values: IntArray) -> IntArray:
        """Return what each place of the target holds, V' x S, after the exchange.

        Args:
            values: what each place of the source holds, V x S.
        """
        import numpy as np

        lanes = np.arange(self.target.lanes)
        if self.kind is Kind.NONE:
            return values
        if self.kind is Kind.MEMORY:
            return self._through_memory(values)
        result = np.full((self.target.components, self.target.lanes), ABSENT)
        own = np.array(self.own)
        component, lane = np.nonzero(own != ABSENT)
        result[component, lane] = values[own[component, lane], lane]
        for step in self.rounds:
            origin, receive = np.array(step.origin), np.array(step.receive)
            offered = values[np.array(step.send), lanes]  # ABSENT offers the last one
            reads = origin != ABSENT
            result[receive[reads], lanes[reads]] = offered[origin[reads]]
        return result

    def _through_memory(self, values: IntArray) -> IntArray:
        import numpy as np

        memory = np.full((self.source.rows + 1, self.source.cols + 1), ABSENT)
        memory[self.source.table()] = values
        memory[-1, -1] = ABSENT
        return memory[self.target.table()]

    def cost(self, costs: Costs = DEFAULT_COSTS) -> int:
        """Return what the steps cost together."""
        if self.kind is Kind.MEMORY:
            accesses = self.source.components + self.target.components
            return accesses * costs.access + costs.barrier
        if self.swaps is not None:
            return self.swaps * costs.select + len(self.rounds) * costs.shuffle
        selects = sum(map(_choices, self.own)) + sum(r.selects for r in self.rounds)
        fills = [set(r.receive) - {ABSENT} for r in self.rounds]
        for component, own in enumerate(self.own):
            sources = sum(component in fill for fill in fills)
            selects += max(0, sources + any(o != ABSENT for o in own) - 1)
        return selects * costs.select + len(self.rounds) * costs.shuffle


def exchange(
    source: Distribution,
    target: Distribution,
    subgroup_size: int | None = None,
    costs: Costs = DEFAULT_COSTS,
) -> Exchange:
    """Return the cheapest exchange; of equally cheap ones the first candidate.

    Args:
        source: where the elements are.
        target: where they are wanted; of the same shape, over the same lanes.
        subgroup_size: the lanes that shuffles reach; None is all lanes.
        costs: what steps cost.

    Raises:
        ValueError: shapes or lanes differ, or the subgroup size does not divide them.
    """
    found = candidates(source, target, subgroup_size)
    return min(found, key=lambda x: x.cost(costs))


def candidates(
    source: Distribution, target: Distribution, subgroup_size: int | None = None
) -> list[Exchange]:
    """Return every exchange that gets there; the arguments are those of `exchange`."""
    import numpy as np

    if source.shape != target.shape or source.lanes != target.lanes:
        raise ValueError(
            f"expected a target of {source.rows} x {source.cols} over {source.lanes} "
            f"lanes, got {target.rows} x {target.cols} over {target.lanes}"
        )
    size = subgroup_size or source.lanes
    if size < 1 or source.lanes % size:
        raise ValueError(
            f"expected a subgroup size that divides {source.lanes} lanes, got {size}"
        )
    held, wanted = _elements(source), _elements(target)
    if held.shape == wanted.shape and np.all((held == wanted) | (wanted == ABSENT)):
        return [Exchange(source, target, Kind.NONE)]
    result: list[Exchange] = []
    own = _places(held, wanted, 1)
    own_component = np.where(own == ABSENT, ABSENT, own // source.lanes)
    rows: list[list[int]] = own_component.tolist()
    local = tuple(tuple(row) for row in rows)
    missing = (own == ABSENT) & (wanted != ABSENT)
    if not missing.any():
        result.append(Exchange(source, target, Kind.RENAME, local))
    else:
        near = np.where(missing, _places(held, wanted, size), ABSENT)
        if np.array_equal(near != ABSENT, missing):
            for schedule in (_uniform_rounds(near), _mixed_rounds(near)):
                result.append(Exchange(source, target, Kind.SHUFFLE, local, schedule))
    return [*result, Exchange(source, target, Kind.MEMORY)]


def _elements(x: Distribution) -> IntArray:
    """Return the row-major number of the element in each place, ABSENT for padding."""
    import numpy as np

    row, col = x.table()
    return np.where(row < x.rows, row * x.cols + col, ABSENT)


def _places(held: IntArray, wanted: IntArray, group: int) -> IntArray:
    """Return where each wanted element is held within its group of lanes.

    Args:
        held: the element in each place of the source, V x S.
        wanted: the same of the target, V' x S.
        group: neighbouring lanes among which to look: 1, or the subgroup size.

    Returns:
        component * S + lane for each place of the target, ABSENT where there is none.
    """
    import numpy as np

    lanes = held.shape[1]
    elements = int(max(held.max(), wanted.max())) + 1
    offset = np.arange(lanes, dtype=np.int64) // group * elements
    keys = np.where(held == ABSENT, ABSENT, held + offset).ravel()
    unique, first = np.unique(keys, return_index=True)
    want = np.where(wanted == ABSENT, ABSENT, wanted + offset)
    at = np.minimum(np.searchsorted(unique, want), unique.size - 1)
    found = (unique[at] == want) & (want != ABSENT)
    return np.where(found, first[at], ABSENT)


def _moves(near: IntArray) -> Iterable[tuple[int, int, int, int]]:
    """Yield (target component, lane, source component, lane) of what is shuffled."""
    import numpy as np

    lanes = near.shape[1]
    component, lane = np.nonzero(near != ABSENT)
    place = near[component, lane]
    columns = (component, lane, place // lanes, place % lanes)
    return zip(*(column.tolist() for column in columns), strict=True)


def _mixed_rounds(near: IntArray) -> tuple[Round, ...]:
    """Return rounds in which a lane takes part once it and its origin are free."""
    lanes = near.shape[1]
    rounds: list[tuple[list[int], list[int], list[int]]] = []
    for component, lane, sent, origin in _moves(near):
        free = (
            r for r in rounds if r[1][lane] == ABSENT and r[0][origin] in (ABSENT, sent)
        )
        chosen = next(free, None)
        if chosen is None:
            chosen = [ABSENT] * lanes, [ABSENT] * lanes, [ABSENT] * lanes
            rounds.append(chosen)
        send, origins, receive = chosen
        send[origin], origins[lane], receive[lane] = sent, origin, component
    return tuple(Round(tuple(s), tuple(o), tuple(r)) for s, o, r in rounds)


def _uniform_rounds(near: IntArray) -> tuple[Round, ...]:
    """Return a round for each pair of a source and a target component."""
    lanes = near.shape[1]
    rounds: dict[tuple[int, int], list[int]] = {}
    for component, lane, sent, origin in _moves(near):
        key = component, sent
        rounds.setdefault(key, [ABSENT] * lanes)[lane] = origin
    return tuple(
        Round(
            (sent,) * lanes,
            tuple(origins),
            tuple(ABSENT if origin == ABSENT else component for origin in origins),
        )
        for (component, sent), origins in rounds.items()
    )


def _choices(components: tuple[int, ...]) -> int:
    """Return the selections by lane that it takes to choose one component a lane."""
    return max(0, len(set(components) - {ABSENT}) - 1)
