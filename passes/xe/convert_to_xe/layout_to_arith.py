"""Where the elements of a lane are: layouts as arithmetic on the ids of lanes.

A layout is linear over bits: the coordinate of a place is the exclusive or of the bases
of its bits.  So a coordinate is that of the register, a constant, and that of lane and
subgroup, computed once at the entry of the kernel: bits of the id, shifted to where the
bases have them.

    warp bases (32, 0) (64, 0) (128, 0) of bits 2, 3, 4:    row = (id >> 2) << 5
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.dialects.arith import AddiOp, AndIOp, OrIOp, ShLIOp, ShRUIOp, XOrIOp
from xdsl.dialects.builtin import VectorType, i32
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import SSAValue

from coopc.layout.linear import LinearLayout
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.register_layout import RegisterLayout


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a coordinate that depends on an id."""

    value: SSAValue | None
    """An i32; None for 0."""
    bits: int
    """The bits that it may have."""


@dataclass(frozen=True, slots=True)
class Field:
    """Consecutive bits of an id that go to consecutive bits of a coordinate."""

    start: int
    """The first bit of the id."""
    to: int
    """The first bit of the coordinate."""
    width: int

    @property
    def bits(self) -> int:
        """The bits of the coordinate."""
        return ((1 << self.width) - 1) << self.to


def fields(bases: list[int]) -> list[Field]:
    """Return the fields that coordinates are made of.

    >>> fields([0, 0, 32, 64, 128])
    [Field(start=2, to=5, width=3)]
    """
    found: list[Field] = []
    for bit, basis in enumerate(bases):
        for to in range(basis.bit_length()):
            if not basis >> to & 1:
                continue
            last = found[-1] if found else None
            if last and (last.start + last.width, last.to + last.width) == (bit, to):
                found[-1] = Field(last.start, last.to, last.width + 1)
            else:
                found.append(Field(bit, to, 1))
    return found


def part(
    entry: Entry, layout: LinearLayout, name: str, dimension: int, shift: int = 0
) -> Part:
    """Return what an id gives to a coordinate.

    Args:
        entry: where it is computed.
        layout: of the tensor.
        name: `lane` or `warp`.
        dimension: of the tensor, by number.
        shift: the coordinate is divided by two to this.
    """
    if name not in layout.in_names:
        return Part(None, 0)
    bases = layout.bases(name)
    total = len(bases)
    value: SSAValue | None = None
    bits = 0
    for each in fields([basis[dimension] >> shift for basis in bases]):
        term = field_value(entry, name, each, total)
        if value is None:
            value = term
        else:
            overlap = bool(bits & each.bits)
            value = together(entry, value, term, overlap=overlap)
        bits |= each.bits
    return Part(value, bits)


def field_value(entry: Entry, name: str, each: Field, total: int) -> SSAValue:
    """Return bits of an id, moved to where the coordinate has them."""
    id = entry.lane() if name == "lane" else entry.subgroup()
    found = id
    if each.start:
        start = entry.number(each.start)
        found = entry.once((name, ">>", each.start), lambda: ShRUIOp(id, start))
    if each.start + each.width < total:
        low, mask = found, entry.number((1 << each.width) - 1)
        found = entry.once((low, "&", each.width), lambda: AndIOp(low, mask))
    if each.to:
        whole, to = found, entry.number(each.to)
        found = entry.once((whole, "<<", each.to), lambda: ShLIOp(whole, to))
    return found


def together(entry: Entry, x: SSAValue, y: SSAValue, *, overlap: bool) -> SSAValue:
    """Return the exclusive or of two values, which may have bits in common, or not."""
    join = XOrIOp if overlap else OrIOp
    return entry.once((join, x, y), lambda: join(x, y))


def joined(entry: Entry, one: Part, other: Part) -> Part:
    """Return two parts of one coordinate together."""
    if one.value is None or other.value is None:
        return other if one.value is None else one
    x, y = one.value, other.value
    overlap = bool(one.bits & other.bits)
    return Part(together(entry, x, y, overlap=overlap), one.bits | other.bits)


def with_number(entry: Entry, have: Part, number: int) -> tuple[SSAValue | None, int]:
    """Return a value and a number whose sum is a part and a register's part."""
    if not have.bits & number:
        return have.value, number
    assert have.value is not None
    value, mask = have.value, entry.number(number)
    return entry.once((value, "^", number), lambda: XOrIOp(value, mask)), 0


def origin(
    entry: Entry,
    layout: LinearLayout,
    dimension: int,
    register: int,
    index: SSAValue,
    shift: int = 0,
) -> SSAValue:
    """Return where a message of a subgroup begins, along one dimension.

    Args:
        entry: of the kernel.
        layout: of the tensor.
        dimension: of the tensor, by number.
        register: the first register of the message.
        index: where the tensor begins, an i32.
        shift: positions are counted in units of two to this.
    """
    coordinate = layout.apply({"register": register})[layout.out_names[dimension]]
    warp = part(entry, layout, "warp", dimension, shift)
    value, number = with_number(entry, warp, int(coordinate) >> shift)
    start = entry.sum(entry.divided(index, shift), value)
    return entry.plus(start, number)


def coordinates(
    entry: Entry, registers: RegisterLayout, dimension: int
) -> list[SSAValue]:
    """Return the coordinates along a dimension of what each lane holds, as vectors."""
    layout = registers.layout
    key = ("coordinates", layout, dimension, registers.length)
    lanes = part(entry, layout, "lane", dimension)
    all_lanes = joined(entry, part(entry, layout, "warp", dimension), lanes)
    numbers = [registers.coordinates[x][dimension] for x in registers.distinct]
    length = registers.length
    found: list[SSAValue] = []
    for start in range(0, len(numbers), length):
        chosen = tuple(numbers[start : start + length])
        constant = entry.numbers(chosen)
        if (id := all_lanes.value) is None:
            found.append(constant)
            continue
        wide = all_components(entry, id, (*key, "lanes"), length)
        if any(chosen):
            join = XOrIOp if any(all_lanes.bits & x for x in chosen) else AddiOp
            pair = (join, wide, constant)
            found.append(entry.once((*key, start), partial(_made, *pair)))
        else:
            found.append(wide)
    return found


def all_components(
    entry: Entry, value: SSAValue, key: tuple[object, ...], length: int
) -> SSAValue:
    """Return an i32 in all components of a vector."""
    vector = VectorType(i32, [length])
    return entry.once(key, lambda: BroadcastOp(value, vector))


def _made(join: type[XOrIOp | AddiOp], x: SSAValue, y: SSAValue) -> XOrIOp | AddiOp:
    """Make an operation on two values."""
    return join(x, y)
