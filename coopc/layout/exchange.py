r"""Exchanges: how the lanes of a subgroup get from one layout of a value to another.

A layout says which element each component of each lane holds: a `Distribution`, or a
`LinearLayout` from register, lane and perhaps warp.  A plan is a row of steps on a file
of values, at first the components of the source; every value is one per lane:

    Select    new[k] = old[taken[k]] in the lanes of where[k], else old[other[k]]
    Shuffle   new[k] = old[values[k]] of lane origins[k][lane]; of this lane if None

and `places[r]` is the value that is component r of the target.  For example 4 x 4
elements, a row a lane, transposed:

    select    lane & 1 ? [1 0 3 2] : [0 1 2 3]         lane s offers its columns in the
    select    lane & 2 ? [2 3 0 1] : [0 1 2 3]           order s, s^1, s^2, s^3
    shuffle   0, 1 of lane^1, 2 of lane^2, 3 of lane^3
    select    lane & 1 ? [1 0 3 2] : [0 1 2 3]         lane l has rows l, l^1, l^2, l^3
    select    lane & 2 ? [2 3 0 1] : [0 1 2 3]           and puts them in order

A lane reads one value in a shuffle and offers one.  In this plan lanes read different
lanes at the same time, so there are as many shuffles as elements that a lane lacks, 3,
and the selects are a stage for each bit of the number of the lane.  It exists wherever
both layouts are linear over GF(2) and the source has no lane that is to be read at two
components at once.  Layouts count as linear if places are the exclusive or of what
register and lane give, padding included: the coopmatrix layout of every size is.

Other layouts, and lanes whose number is no power of two, take rounds: in each a lane
offers one component and fills one, first come, first served, selected one by one.  What
is held in no lane of the subgroup goes through memory, as does what costs less there.

Narrow elements are shuffled as 32-bit words: what is read of the same lanes is packed.
`cost` adds up words, selects and what is packed; `plan_exchange` takes the least.

A plan proves itself when it is built: it is executed on the numbers of the elements.
Components that are padding in the target hold anything.

Laws (test/unit/layout/test_exchange.py checks each by its name):

    placement  executing a plan gives the target what it wants
    cheapest   no other candidate costs less
    identity   from a layout to itself is `none`, and costs nothing
    local      `none` and `rename` have no shuffle; a shuffle stays within the subgroup
    lacking    between linear bijections a lane reads as many values as it lacks,
               or as many as it has
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from coopc.layout.distribution import Distribution
from coopc.layout.linear import Echelon, LinearLayout, image, spread, transpose_outs

if TYPE_CHECKING:
    from coopc.layout.distribution import BoolArray, IntArray

Layout: TypeAlias = Distribution | LinearLayout
"""What says which element each component of each lane holds."""

Kind: TypeAlias = Literal["none", "rename", "shuffle", "memory"]
"""What a plan is made of, the dearest thing naming it."""

ABSENT = -1
"""A component that is padding, or a value that is never needed."""

WORD_BITS = 32
SELECT, MOVE, SHUFFLE, ACCESS, BARRIER = 1, 1, 4, 8, 32
"""What it costs to choose between two values by lane, to put an element into a word, to
read a word of another lane, to store or load an element in work-group memory, and to
wait for all lanes.  Relative to each other, and assumed for want of a source."""

TABLE_LANES = 64
"""Lanes for which code can look up a condition in the bits of one integer.  Rounds are
only for so many, as their conditions and origins follow no rule."""


@dataclass(frozen=True, slots=True)
class Select:
    """Values that lanes choose within themselves; a copy where both are the same."""

    where: tuple[tuple[bool, ...], ...]
    """For each value: the lanes that take `taken`."""
    taken: tuple[int, ...]
    other: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Values that lanes read of each other, or keep."""

    values: tuple[int, ...]
    origins: tuple[tuple[int, ...] | None, ...]
    """For each value and lane the lane that is read, counted within the subgroup."""

    def groups(self) -> dict[tuple[int, ...], list[int]]:
        """Return which of the new values are read of the same lanes, by those."""
        found: dict[tuple[int, ...], list[int]] = {}
        for number, origins in enumerate(self.origins):
            if origins is not None:
                found.setdefault(origins, []).append(number)
        return found


Step: TypeAlias = Select | Shuffle


@dataclass(frozen=True, slots=True)
class ExchangePlan:
    """How to get from `source` to `target`, proved when built."""

    source: Layout
    target: Layout
    subgroup_size: int
    """The lanes that shuffles reach; those of several subgroups are counted through."""
    element_bits: int
    through_memory: bool = False
    """Whether all is stored, waited for and loaded; then there are no steps."""
    steps: tuple[Step, ...] = ()
    places: tuple[int, ...] = ()
    """For each component of the target the value it is, ABSENT for padding."""

    def __post_init__(self) -> None:
        import numpy as np

        held, wanted, *_ = _numbered(self.source, self.target)
        inside = wanted != ABSENT
        assert self.through_memory or np.array_equal(
            self.execute(held)[inside], wanted[inside]
        ), self

    def execute(self, values: IntArray) -> IntArray:
        """Return what each component of the target holds by the steps.

        Args:
            values: what each component of the source holds: components x lanes.
        """
        import numpy as np

        count = values.shape[1]
        base = np.arange(0, count, self.subgroup_size, dtype=np.int64)
        base = np.repeat(base, self.subgroup_size)
        own = tuple(range(self.subgroup_size)) * (count // self.subgroup_size)
        for step in self.steps:
            if isinstance(step, Select):
                taken, other = np.array(step.taken), np.array(step.other)
                values = np.where(np.array(step.where), values[taken], values[other])
            else:
                origins = np.array([x or own for x in step.origins])
                values = values[np.array(step.values)[:, None], origins + base]
        empty = np.full((1, count), ABSENT)
        return np.concatenate([values, empty])[np.array(self.places, dtype=np.int64)]

    @property
    def kind(self) -> Kind:
        """What the plan is made of."""
        if self.through_memory:
            return "memory"
        if any(isinstance(step, Shuffle) for step in self.steps):
            return "shuffle"
        same = components(self.source) == components(self.target) and all(
            place in (number, ABSENT) for number, place in enumerate(self.places)
        )
        return "none" if same and not self.steps else "rename"

    @property
    def per_word(self) -> int:
        """The elements that a word holds; 1 where it holds one, or a part of one."""
        return WORD_BITS // self.element_bits if self.element_bits in (8, 16) else 1

    @property
    def words(self) -> int:
        """The words that each lane reads of others."""
        sizes = self._read_together
        return sum(-(-size // self.per_word) * self._width for size in sizes)

    @property
    def packed(self) -> int:
        """The elements that are put into words beside others."""
        sizes = self._read_together
        return sum(size for size in sizes if size > 1 and self.per_word > 1)

    @property
    def selects(self) -> int:
        """The choices between two values."""
        return sum(
            one != other
            for step in self.steps
            if isinstance(step, Select)
            for one, other in zip(step.taken, step.other, strict=True)
        )

    @property
    def cost(self) -> int:
        """What the steps cost together."""
        if self.through_memory:
            accesses = components(self.source) + components(self.target)
            return ACCESS * accesses * self._width + BARRIER
        selects = SELECT * self.selects * self._width
        return SHUFFLE * self.words + selects + MOVE * self.packed

    @property
    def _width(self) -> int:
        """The words of an element."""
        return max(1, self.element_bits // WORD_BITS)

    @property
    def _read_together(self) -> list[int]:
        """How many values are read of the same lanes, for each group of such."""
        shuffles = (step for step in self.steps if isinstance(step, Shuffle))
        return [len(x) for step in shuffles for x in step.groups().values()]


@lru_cache(maxsize=1024)
def plan_exchange(
    source: Layout,
    target: Layout,
    group: int | None = None,
    element_bits: int = WORD_BITS,
) -> ExchangePlan:
    """Return the cheapest plan; of equally cheap ones the first candidate.

    Args:
        source: where the elements are.
        target: where they are wanted; of the same sizes, over the same lanes.
        group: the lanes that shuffles reach; None is the subgroup of the layout.
        element_bits: of an element, 1 to 64.

    Raises:
        ValueError: sizes or lanes differ, the subgroup size does not divide them, or
            the source lacks an element of the target.
    """
    found = candidates(source, target, group, element_bits)
    return min(found, key=lambda x: x.cost)


def candidates(
    source: Layout,
    target: Layout,
    group: int | None = None,
    element_bits: int = WORD_BITS,
) -> list[ExchangePlan]:
    """Return plans that get there; the arguments are those of `plan_exchange`."""
    size = group or subgroup_size(source)
    nearest = sources(source, target, size)
    make = partial(ExchangePlan, source, target, size, element_bits)
    held, wanted, every_held, every_wanted = _numbered(source, target)
    inside = wanted != ABSENT
    if (renamed := _renamed(held, wanted)) is not None:
        return [make(places=renamed)]
    found: list[Way | None] = []
    if nearest is not None:
        found = [
            _staged(every_held, every_wanted, size, wide=wide) for wide in (False, True)
        ]
        if found == [None, None] and inside.shape[1] <= TABLE_LANES:
            found.append(_rounds(nearest, held.shape[0], size))
    live = [_live(*way, inside, size) for way in found if way is not None]
    ways = dict.fromkeys(way for way in live if way is not None)
    plans = [make(steps=steps, places=places) for steps, places in ways]
    return [*plans, make(through_memory=True)]


def sources(source: Layout, target: Layout, group: int) -> IntArray | None:
    """Return where each component of the target is held, nearest first.

    Returns:
        component * lanes + lane for each component and lane of the target, ABSENT for
        padding; None if an element is in no lane of the subgroup that wants it.

    Raises:
        ValueError: as `plan_exchange`.
    """
    import numpy as np

    held, wanted, *_ = _numbered(source, target)
    lanes = held.shape[1]
    if group < 1 or lanes % group:
        raise ValueError(
            f"expected a subgroup size that divides {lanes} lanes, got {group}"
        )
    if (lacking := np.setdiff1d(wanted[wanted != ABSENT], held)).size:
        at = np.argwhere(wanted == lacking[0])[0]
        raise ValueError(
            "expected a source that holds all elements of the target, got none of the "
            f"one in component {at[0]} of lane {at[1]}"
        )
    found = _places(held, wanted, 1)
    missing = (found == ABSENT) & (wanted != ABSENT)
    if missing.any():
        found = np.where(missing, _places(held, wanted, group), found)
    return None if np.any((found == ABSENT) & (wanted != ABSENT)) else found


# Where elements are


def subgroup_size(x: Layout) -> int:
    """Return the lanes that a layout is for; of a linear one those of `lane`."""
    return x.lanes if isinstance(x, Distribution) else x.in_sizes.get("lane", 1)


def components(x: Layout) -> int:
    """Return what each lane holds of a layout, padding included."""
    if isinstance(x, Distribution):
        return x.components
    return x.in_sizes.get("register", 1)


def _coordinates(x: Layout) -> tuple[list[IntArray], tuple[int, ...]]:
    """Return the coordinates of all places, components x lanes, and the sizes.

    Padding is where the formula puts it.
    """
    if isinstance(x, Distribution):
        return list(x.unclipped_table()), x.shape
    lanes = [b for name, bases in x.ins if name != "register" for b in bases]
    registers = dict(x.ins).get("register", ())
    packed = spread(registers)[:, None] ^ spread(lanes)
    return x.unpack(packed), tuple(x.out_sizes.values())


@lru_cache(maxsize=32)
def _numbered(
    source: Layout, target: Layout
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return the coordinates of places as one number each, bits side by side.

    Returns:
        Components x lanes of the source and of the target with ABSENT for padding, then
        the same with padding where the formula puts it.

    Raises:
        ValueError: sizes or lanes differ.
    """
    import numpy as np

    if isinstance(source, LinearLayout) and isinstance(target, LinearLayout):
        target = transpose_outs(target, source.out_names)
    (held, sizes), (wanted, others) = _coordinates(source), _coordinates(target)
    lanes, other_lanes = held[0].shape[1], wanted[0].shape[1]
    if sizes != others or lanes != other_lanes:
        one, other = (" x ".join(map(str, x)) for x in (sizes, others))
        raise ValueError(
            f"expected a target of {one} over {lanes} lanes, "
            f"got {other} over {other_lanes}"
        )
    tables = np.zeros_like(held[0]), np.zeros_like(wanted[0])
    inside = np.ones(held[0].shape, np.bool_), np.ones(wanted[0].shape, np.bool_)
    shift = 0
    for *both, size in zip(held, wanted, sizes, strict=True):
        for table, mask, coordinate in zip(tables, inside, both, strict=True):
            table |= coordinate << shift
            mask &= coordinate < size
        shift += max(int(x.max()).bit_length() for x in both)
    one, other = (np.where(x, y, ABSENT) for x, y in zip(inside, tables, strict=True))
    return one, other, *tables


def _places(held: IntArray, wanted: IntArray, group: int) -> IntArray:
    """Return where each wanted element is held within its group of lanes.

    Returns:
        component * lanes + lane for each place of the target, ABSENT where there is
        none; the first component, then the first lane.
    """
    import numpy as np

    elements = int(max(held.max(), wanted.max())) + 1
    offset = np.arange(held.shape[1], dtype=np.int64) // group * elements
    keys = np.where(held == ABSENT, ABSENT, held + offset).ravel()
    unique, first = np.unique(keys, return_index=True)
    want = np.where(wanted == ABSENT, ABSENT, wanted + offset)
    at = np.minimum(np.searchsorted(unique, want), unique.size - 1)
    found = (unique[at] == want) & (want != ABSENT)
    return np.where(found, first[at], ABSENT)


def _renamed(held: IntArray, wanted: IntArray) -> tuple[int, ...] | None:
    """Return the component of the source that each one of the target is in all lanes.

    None if there is none; of several it is the one of the same number.
    """
    import numpy as np

    result: list[int] = []
    for number, elements in enumerate(wanted):
        inside = elements != ABSENT
        if not inside.any():
            result.append(ABSENT)
            continue
        lane = int(np.argmax(inside))
        near = np.flatnonzero(held[:, lane] == elements[lane])
        same = near[np.all((held[near] == elements) | ~inside, axis=1)]
        if not same.size:
            return None
        result.append(number if number in same else int(same[0]))
    return tuple(result)


# Plans in stages, by linear algebra

Way: TypeAlias = tuple[tuple[Step, ...], tuple[int, ...]]
"""Steps, and where in the last file the components of the target are."""


def _staged(held: IntArray, wanted: IntArray, size: int, *, wide: bool) -> Way | None:
    """Return a way by offers, shuffles and a new order; None if there is none.

    Registers are numbered by the bits of what they hold: those that are not there are
    ABSENT, and nothing that is wanted comes from them.

    Args:
        held: the coordinates of each place of the source, as numbers.
        wanted: the same of the target.
        size: of the subgroups.
        wide: whether the target gets registers for all that the source could hold, so
            that lanes have more to take turns with.
    """
    source, target = _Linear.of(held, size), _Linear.of(wanted, size)
    if source is None or target is None:
        return None
    source = source.reaching(target)
    if wide:
        target = target.reaching(source)
    moves = _Moves.of(source, target)
    if moves is None:
        return None
    receive = moves.turned()
    origin, offered = list(moves.lane_to_lane), list(moves.lane_to_register)
    for bit, mask in enumerate(receive):
        origin[bit] ^= image(moves.register_to_lane, mask)
        offered[bit] ^= image(moves.register_to_register, mask)
    send = _through(origin, offered)
    if send is None:
        return None
    lanes, groups = held.shape[1], held.shape[1] // size
    bits = [
        tuple(bool(lane >> bit & 1) for lane in range(lanes))
        for bit in range(lanes.bit_length() - 1)
    ]
    turns = [image(moves.register_to_lane, x) for x in range(target.count)]
    offers = tuple(
        image(moves.register_to_register, x) ^ image(send, turn)
        for x, turn in enumerate(turns)
    )
    reads = spread(origin)
    origins: dict[int, tuple[int, ...] | None] = {}
    for turn in dict.fromkeys(turns):
        read: tuple[int, ...] = tuple((reads ^ turn).tolist())
        origins[turn] = None if read == tuple(range(size)) else read * groups
    there = tuple(source.places.get(x, ABSENT) for x in range(source.count))
    steps: list[Step] = [Select(((False,) * lanes,) * source.count, there, there)]
    steps += _exored(source.count, bits, [*send, *moves.warp_to_register])
    steps.append(Shuffle(offers, tuple(origins[turn] for turn in turns)))
    steps += _exored(target.count, bits, receive)
    return tuple(steps), target.numbers


def _exored(
    count: int, bits: Iterable[tuple[bool, ...]], masks: Iterable[int]
) -> Iterator[Select]:
    """Yield selects that exchange values k and k xor mask, in the lanes of a bit."""
    own = tuple(range(count))
    for where, mask in zip(bits, masks, strict=False):
        if mask:
            yield Select((where,) * count, tuple(k ^ mask for k in own), own)


@dataclass(frozen=True, slots=True)
class _Linear:
    """Places whose coordinates are exclusive ors of what register and lane give."""

    register: tuple[int, ...]
    """A basis of what registers give, which number the registers."""
    lane: tuple[int, ...]
    warp: tuple[int, ...]
    numbers: tuple[int, ...]
    """For each component the number of its register."""

    @classmethod
    def of(cls, table: IntArray, size: int) -> _Linear | None:
        """Return places as such, None if they are not."""
        import numpy as np

        lanes = table.shape[1]
        if lanes & (lanes - 1):
            return None
        count = lanes.bit_length() - 1
        columns = [int(table[0, 1 << bit] ^ table[0, 0]) for bit in range(count)]
        if not np.array_equal(table, table[:, :1] ^ spread(columns)):
            return None
        offsets: list[int] = table[:, 0].tolist()
        basis = _independent(offsets)
        echelon = Echelon.of(basis)
        low = size.bit_length() - 1
        numbers = tuple(map(echelon.solve, offsets))
        return cls(tuple(basis), tuple(columns[:low]), tuple(columns[low:]), numbers)

    @property
    def count(self) -> int:
        """The registers, those that are not there too."""
        return 1 << len(self.register)

    @property
    def places(self) -> dict[int, int]:
        """From registers that are there to the first component that is one."""
        pairs = reversed(list(enumerate(self.numbers)))
        return {number: component for component, number in pairs}

    def reaching(self, other: _Linear) -> _Linear:
        """Return these places with registers for all that others may hold."""
        own = [*self.register, *self.lane, *self.warp]
        wanted = [*other.register, *other.lane, *other.warp]
        more = _independent([*own, *wanted])[len(_independent(own)) :]
        return replace(self, register=(*self.register, *more))


def _independent(columns: Sequence[int]) -> list[int]:
    """Return the columns that are no sum of those before."""
    dependent = Echelon.of(columns).dependent
    return [x for bit, x in enumerate(columns) if not dependent >> bit & 1]


@dataclass(frozen=True, slots=True)
class _Moves:
    """From bits of the places of the target to places of the source."""

    lane_to_lane: tuple[int, ...]
    register_to_lane: tuple[int, ...]
    lane_to_register: tuple[int, ...]
    register_to_register: tuple[int, ...]
    warp_to_register: tuple[int, ...]

    @classmethod
    def of(cls, source: _Linear, target: _Linear) -> _Moves | None:
        """Return where the elements of the target come from; None from elsewhere.

        Lanes and subgroups that only repeat what others have are read where they are.
        """
        echelon = Echelon.of((*source.register, *source.lane, *source.warp))
        registers, lanes = len(source.register), len(source.lane)

        def place(column: int, own: int = 0) -> tuple[int, int, int]:
            """Return register, lane and warp; `own` is a bit of the last two."""
            whole = echelon.solve(column) ^ own << registers
            register = whole & ((1 << registers) - 1)
            lane = whole >> registers & ((1 << lanes) - 1)
            return register, lane, whole >> registers + lanes

        there, wanted = ((*x.lane, *x.warp) for x in (source, target))
        by_place = [
            place(column, (not there[bit]) << bit) for bit, column in enumerate(wanted)
        ]
        by_lane, by_warp = by_place[:lanes], by_place[lanes:]
        by_register = [place(x) for x in target.register]
        leaves = any(warp for _, _, warp in (*by_register, *by_lane)) or any(
            lane or warp != 1 << bit for bit, (_, lane, warp) in enumerate(by_warp)
        )
        if leaves:
            return None
        return cls(
            tuple(lane for _, lane, _ in by_lane),
            tuple(lane for _, lane, _ in by_register),
            tuple(register for register, _, _ in by_lane),
            tuple(register for register, _, _ in by_register),
            tuple(register for register, _, _ in by_warp),
        )

    def turned(self) -> list[int]:
        """Return which registers lanes fill at once, to read different lanes.

        Where a bit of the lane's number does not change which lane is read, or only as
        others do, a bit of the register that does is filled with it.
        """
        receive: list[int] = []
        taken: list[int] = []
        for column in self.lane_to_lane:
            mask = 0
            if Echelon.of([*taken, column]).rank == len(taken):
                for bit, moved in enumerate(self.register_to_lane):
                    if Echelon.of([*taken, column ^ moved]).rank > len(taken):
                        mask = 1 << bit
                        column ^= moved
                        break
            receive.append(mask)
            if Echelon.of([*taken, column]).rank > len(taken):
                taken.append(column)
        return receive


def _through(keys: Sequence[int], values: Sequence[int]) -> list[int] | None:
    """Return a linear map from keys[i] to values[i], None if there is none.

    The map is given by its columns, for as many bits as there are keys.
    """
    echelon = Echelon.of(keys)
    for index, key in enumerate(keys):
        if image(values, echelon.solve(key)) != values[index]:
            return None
    return [image(values, echelon.solve(1 << bit)) for bit in range(len(keys))]


# Plans in rounds, for any layouts


def _rounds(nearest: IntArray, components: int, size: int) -> Way:
    """Return a way by rounds in which a lane offers one component and fills one."""
    import numpy as np

    lanes = nearest.shape[1]
    rounds: list[_Round] = []
    for component, lane in np.argwhere(nearest != ABSENT).tolist():
        sent, origin = divmod(int(nearest[component, lane]), lanes)
        if origin == lane:
            continue
        free = (x for x in rounds if x.takes(lane, origin, sent))
        chosen = next(free, None)
        if chosen is None:
            rounds.append(chosen := _Round({}, {}, {}))
        chosen.send[origin] = sent
        chosen.origin[lane], chosen.receive[lane] = origin, component
    steps: list[Step] = []
    # The components of the source come first in each file, then what rounds offer.
    sent = [_by_value(x.send) for x in rounds]
    start = _chain(steps, [list(x.items()) for x in sent], range(components), lanes)
    origins = [_regular(x.origin, lanes, size) for x in rounds]
    values = (*range(components), *start)
    steps.append(Shuffle(values, (*(None,) * components, *origins)))
    choices: list[list[tuple[int, set[int]]]] = []
    for component, places in enumerate(nearest):
        own = {
            lane: place // lanes
            for lane, place in enumerate(places.tolist())
            if place != ABSENT and place % lanes == lane
        }
        choice = list(_by_value(own).items())
        for number, each in enumerate(rounds):
            if filled := {x for x, to in each.receive.items() if to == component}:
                choice.append((components + number, filled))
        choices.append(choice)
    places = _chain(steps, choices, range(len(values)), lanes)
    return tuple(steps), tuple(places)


@dataclass(frozen=True, slots=True)
class _Round:
    """A shuffle: for lanes what they offer, which lane they read, what they fill."""

    send: dict[int, int]
    origin: dict[int, int]
    receive: dict[int, int]

    def takes(self, lane: int, origin: int, sent: int) -> bool:
        """Whether a lane can read a component of another one here, too."""
        return lane not in self.origin and self.send.get(origin, sent) == sent


def _by_value(found: dict[int, int]) -> dict[int, set[int]]:
    result: dict[int, set[int]] = {}
    for lane, value in found.items():
        result.setdefault(value, set()).add(lane)
    return result


def _chain(
    steps: list[Step],
    choices: Sequence[Sequence[tuple[int, set[int]]]],
    kept: range,
    lanes: int,
) -> list[int]:
    """Add selects of one value for each choice; return where these are.

    A choice is values, each with the lanes that want it; `kept` is the file before,
    which stays in front.
    """
    now = [choice[0][0] if choice else ABSENT for choice in choices]
    none: tuple[bool, ...] = (False,) * lanes
    for depth in range(1, max(map(len, choices), default=0)):
        taken = list(now)
        where: list[tuple[bool, ...]] = [none for _ in now]
        for number, choice in enumerate(choices):
            if depth < len(choice):
                taken[number], wanted = choice[depth]
                where[number] = tuple(lane in wanted for lane in range(lanes))
        copies = (none,) * len(kept)
        steps.append(Select((*copies, *where), (*kept, *taken), (*kept, *now)))
        now = [len(kept) + number for number in range(len(now))]
    return now


def _regular(origin: dict[int, int], lanes: int, size: int) -> tuple[int, ...]:
    """Return the lanes that are read, for all lanes; by a rule if there is one."""
    masks = {lane % size ^ other % size for lane, other in origin.items()}
    same = {other % size for other in origin.values()}
    all_lanes = [lane % size for lane in range(lanes)]
    if len(same) == 1:
        return tuple(same) * lanes
    if len(masks) == 1 and max(masks) ^ (size - 1) < size and not size & (size - 1):
        (mask,) = masks
        return tuple(lane ^ mask for lane in all_lanes)
    return tuple(origin.get(n, lane) % size for n, lane in enumerate(all_lanes))


# What of a way is needed


def _live(
    steps: tuple[Step, ...], places: tuple[int, ...], inside: BoolArray, size: int
) -> Way | None:
    """Return a way without what no lane needs; None if it needs what is not there.

    A select becomes a copy where all lanes that need it take the same value, a value
    that lanes read of themselves stays where it is.

    `inside` says which lanes want each of the places.
    """
    need: dict[int, BoolArray] = {}
    for place, mask in zip(places, inside, strict=True):
        if mask.any():
            need[place] = need.get(place, mask) | mask
    trimmed: list[tuple[type[Step], dict[int, _Entry]]] = []
    for step in reversed(steps):
        before: dict[int, BoolArray] = {}
        entries: dict[int, _Entry] = {}
        for number in sorted(need):
            entries[number], needs = _left(step, number, need[number], size)
            for value, mask in needs:
                before[value] = before.get(value, mask) | mask
        if ABSENT in before:
            return None
        trimmed.append((type(step), entries))
        need = before
    names = {number: number for number in need}
    result: list[Step] = []
    for kind, entries in reversed(trimmed):
        if all(lanes is None for _, _, lanes in entries.values()):  # copies
            names = {number: names[entry[0]] for number, entry in entries.items()}
            continue
        found: dict[_Entry, int] = {}
        renamed: dict[int, int] = {}
        for number, (value, other, lanes) in entries.items():
            entry = names[value], names[other], lanes
            renamed[number] = found.setdefault(entry, len(found))
        result.append(_step(kind, list(found), inside.shape[1]))
        names = renamed
    wanted = zip(places, inside, strict=True)
    return tuple(result), tuple(names[x] if m.any() else ABSENT for x, m in wanted)


_Entry: TypeAlias = tuple[int, int, tuple[int, ...] | None]
"""A value, the other one of a select, and lanes; a copy if these are None."""


def _left(
    step: Step, number: int, mask: BoolArray, size: int
) -> tuple[_Entry, list[tuple[int, BoolArray]]]:
    """Return what is left of a value that lanes need, and what they need for it."""
    import numpy as np

    if isinstance(step, Select):
        taken, other, lanes = step.taken[number], step.other[number], step.where[number]
        chosen, rest = mask & np.array(lanes), mask & ~np.array(lanes)
        if taken != other and chosen.any() and rest.any():
            return (taken, other, lanes), [(taken, chosen), (other, rest)]
        value = taken if chosen.any() else other
        return (value, value, None), [(value, mask)]
    value, lanes = step.values[number], step.origins[number]
    own = np.arange(mask.size)
    if lanes is None or (np.array(lanes) == own % size)[mask].all():
        return (value, value, None), [(value, mask)]
    offered = np.zeros_like(mask)
    offered[(own - own % size + np.array(lanes))[mask]] = True
    return (value, value, lanes), [(value, offered)]


def _step(kind: type[Step], entries: Sequence[_Entry], lanes: int) -> Step:
    values = tuple(value for value, _, _ in entries)
    if kind is Shuffle:
        return Shuffle(values, tuple(origins for _, _, origins in entries))
    none = (False,) * lanes
    where = tuple(none if x is None else tuple(map(bool, x)) for _, _, x in entries)
    return Select(where, values, tuple(other for _, other, _ in entries))
