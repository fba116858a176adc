r"""Exchanges between the lanes of a subgroup, from one linear layout to another.

Lane l wants in its register r the element of source register f(r, l) of lane o(r, l),
both linear.  What lanes read is split in three steps, each the same for all lanes but
for exclusive ors with what is linear in the number of the lane:

    offer      offered[k] = source[k xor send(lane) xor choose(warp)]
                                                                 within each lane
    shuffle    got[q] = offered[offers[q]] of lane origin(lane) xor turns[q]
    receive    target[r] = got[r xor receive(lane)]              within each lane

In a step of the shuffle lanes read different lanes, where that can be: so each offers
one value, and there are as many shuffles as values, not as many as pairs of them.  For
example a transposition of 4 x 4 over 4 lanes, source register = column, lane = row:

    receive(l) = l     got[q] goes to register q xor l, which wants row q xor l
    origin(l) = l      read from lane l xor q, a butterfly
    send(s) = s        which offers its column s xor q, the row of the lane that reads

    lane 0 gets in turn (0,0) (1,0) (2,0) (3,0), lane 1 (1,1) (0,1) (3,1) (2,1), ..

Laws (test/unit/test_lane_exchange.py checks each by its name):

    placement   after the three steps every target register has the element it wants
    shuffles    at most one a register of the target, none from a lane to itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coopc.layout.algebra import movement
from coopc.layout.gf2 import Echelon, image
from coopc.layout.linear import LinearLayout

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LaneExchange:
    """An exchange within each subgroup, proved when built."""

    source: LinearLayout
    target: LinearLayout
    send: tuple[int, ...]
    """For each bit of the lane's number, what source registers are exored with."""
    origin: tuple[int, ...]
    """For each bit of the lane's number, what that of the lane that is read is."""
    receive: tuple[int, ...]
    """For each bit of the lane's number, what target registers are exored with."""
    offers: tuple[int, ...]
    """For each value that is got the offered one."""
    turns: tuple[int, ...]
    """For each value that is got what the number of the lane is exored with."""
    choose: tuple[int, ...] = ()
    """For each bit of the subgroup's number, what source registers are exored with."""

    def __post_init__(self) -> None:
        expected, found = self.target.table(), self.simulate(self.source.table())
        for name in self.target.out_names:
            assert np.array_equal(found[name], flat(expected[name])), (name, self)

    def simulate(self, table: dict[str, Numbers]) -> dict[str, Numbers]:
        """Return what is in (register, lane, warp) afterwards, of what is there."""
        lanes = np.arange(1 << len(self.origin))
        send, origin, receive = (
            linear(columns, lanes) for columns in (self.send, self.origin, self.receive)
        )
        chosen = linear(self.choose, np.arange(1 << len(self.choose)))
        reads = origin[None, :] ^ np.array(self.turns)[:, None]
        result: dict[str, Numbers] = {}
        for name, values in table.items():
            have = flat(values)
            count, groups = int(have.shape[0]), int(have.shape[2])
            registers, warps = np.arange(count), np.arange(groups)
            kept = registers[:, None, None] ^ send[None, :, None] ^ chosen[warps]
            offered = have[kept, lanes[None, :, None], warps]
            got = offered[np.array(self.offers)[:, None], reads]
            wanted = np.arange(len(self.offers))[:, None] ^ receive[None, :]
            result[name] = got[wanted, lanes[None, :]]
        return result

    @property
    def is_local(self) -> bool:
        """Whether no lane reads another one."""
        return not any((*self.turns, *self.choose)) and self.keeps_lanes

    @property
    def keeps_lanes(self) -> bool:
        """Whether lanes read by an exclusive or with a constant."""
        return all(basis == 1 << bit for bit, basis in enumerate(self.origin))


def linear(columns: Sequence[int], values: Numbers) -> Numbers:
    """Return the images of numbers under a linear map."""
    found = np.zeros_like(values)
    for bit, column in enumerate(columns):
        found ^= (values >> bit & 1) * column
    return found


def flat(values: Numbers) -> Numbers:
    """Return a table of (register, lane, warp, ..) without dimensions of size 1."""
    rest = values.shape[2:] or (1,)
    return values.reshape(*values.shape[:2], int(np.prod(rest)))


@dataclass(frozen=True, slots=True)
class Moves:
    """From places of the target to places of the source, column by column."""

    lane_to_lane: tuple[int, ...]
    register_to_lane: tuple[int, ...]
    lane_to_register: tuple[int, ...]
    register_to_register: tuple[int, ...]
    warp_to_register: tuple[int, ...]
    leaves: bool
    """Whether some places of the source are in other subgroups."""


def moves(source: LinearLayout, target: LinearLayout) -> Moves:
    """Return where the elements of the target come from.

    Lanes and subgroups that only repeat what others have are read where they are.

    Raises:
        ValueError: the source lacks an element of the target.
    """
    found = movement(source, target)
    names = found.out_names
    columns = {
        name: [dict(zip(names, x, strict=True)) for x in found.bases(name)]
        for name in found.in_names
    }
    for name in ("lane", "warp"):
        repeated = source.bases(name) if name in source.in_names else ()
        pairs = zip(repeated, columns.get(name, ()), strict=False)
        for bit, (basis, column) in enumerate(pairs):
            if not any(basis):
                column[name] ^= 1 << bit
    registers, lanes, warps = (
        columns.get(name, []) for name in ("register", "lane", "warp")
    )
    leaves = any(column.get("warp") for column in (*registers, *lanes))
    leaves |= any(
        column["warp"] != 1 << bit or column["lane"] for bit, column in enumerate(warps)
    )
    return Moves(
        tuple(x["lane"] for x in lanes),
        tuple(x["lane"] for x in registers),
        tuple(x["register"] for x in lanes),
        tuple(x["register"] for x in registers),
        tuple(x["register"] for x in warps),
        leaves,
    )


def lane_exchange(source: LinearLayout, target: LinearLayout) -> LaneExchange | None:
    """Return how lanes exchange what they hold; None if that is not enough.

    Then elements have to go to other subgroups, or lanes would have to read several
    values of one lane at once.

    Args:
        source: from register, lane and warp to the elements.
        target: the same, of the same elements.
    """
    found = moves(source, target)
    if found.leaves or len(found.lane_to_lane) != len(source.bases("lane")):
        return None
    receive = mixed(found)
    origin, offered = list(found.lane_to_lane), list(found.lane_to_register)
    for bit, mask in enumerate(receive):
        origin[bit] ^= image(found.register_to_lane, mask)
        offered[bit] ^= image(found.register_to_register, mask)
    send = through(origin, offered)
    if send is None:
        return None
    count = 1 << len(found.register_to_lane)
    turns = [image(found.register_to_lane, x) for x in range(count)]
    offers = [
        image(found.register_to_register, x) ^ image(send, turn)
        for x, turn in enumerate(turns)
    ]
    return LaneExchange(
        source,
        target,
        tuple(send),
        tuple(origin),
        tuple(receive),
        tuple(offers),
        tuple(turns),
        found.warp_to_register,
    )


def mixed(found: Moves) -> list[int]:
    """Return which registers lanes fill together, so that they read different lanes.

    Where a bit of the lane's number does not change which lane is read, or only as
    others do, a bit of the register that does is filled with it.
    """
    receive: list[int] = []
    taken: list[int] = []
    for column in found.lane_to_lane:
        mask = 0
        if Echelon.of([*taken, column]).rank == len(taken):
            for bit, moved in enumerate(found.register_to_lane):
                if Echelon.of([*taken, column ^ moved]).rank > len(taken):
                    mask = 1 << bit
                    column ^= moved
                    break
        receive.append(mask)
        if Echelon.of([*taken, column]).rank > len(taken):
            taken.append(column)
    return receive


def through(keys: Sequence[int], values: Sequence[int]) -> list[int] | None:
    """Return a linear map from keys[i] to values[i], None if there is none.

    The map is given by its columns, for as many bits as there are keys.
    """
    echelon = Echelon.of(keys)
    for index, key in enumerate(keys):
        rest = echelon.solve(key)
        if image(values, rest) != values[index]:
            return None
    return [image(values, echelon.solve(1 << bit)) for bit in range(len(keys))]


def without_free(layout: LinearLayout) -> LinearLayout:
    """Return a layout without the registers that hold what others do."""
    ins = tuple(
        (name, tuple(x for x in bases if x) if name == "register" else bases)
        for name, bases in layout.ins
    )
    return replace(layout, ins=ins)
