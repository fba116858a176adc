"""Where the elements of a lane are: layouts as arithmetic on the ids of lanes.

A layout is linear over bits: the coordinate of a place is the exclusive or of the bases
of its bits.  So a coordinate is that of the register, a constant, and that of lane and
subgroup: bits of the id, shifted to where the bases have them.

    warp bases (32, 0) (64, 0) (128, 0) of bits 2, 3, 4:    row = (id >> 2) << 5
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from coopc.ir.builder import Builder, Id
from coopc.ir.facts import constant_number
from coopc.ir.polynomial import resized
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.convert_to_xe.vectors import constant_i32, numbers, splat
from coopc.passes.xe.register_layout import RegisterLayout

# Sums and products of 32 bits


def plus(b: Builder, value: SSAValue, number: int) -> SSAValue:
    if number == 0:
        return value
    if (known := constant_number(value)) is not None:
        return constant_i32(b, known + number)
    return b.pure(arith.AddiOp, value, constant_i32(b, number))


def times(b: Builder, value: SSAValue, number: int) -> SSAValue:
    if number == 1:
        return value
    if (known := constant_number(value)) is not None:
        return constant_i32(b, known * number)
    return b.pure(arith.MuliOp, value, constant_i32(b, number))


def divided(b: Builder, value: SSAValue, bits: int) -> SSAValue:
    """Return an i32, a multiple of a power of two, divided by that."""
    if bits == 0:
        return value
    if (known := constant_number(value)) is not None:
        return constant_i32(b, known >> bits)
    if isinstance(op := value.owner, arith.ShLIOp) and constant_number(op.rhs) == bits:
        return op.lhs
    return b.pure(arith.ShRSIOp, value, constant_i32(b, bits))


def narrowed(b: Builder, value: SSAValue) -> SSAValue:
    """Return the lower 32 bits of an index or an integer."""
    if (known := constant_number(value)) is not None:
        half = 1 << 31
        return constant_i32(b, (known + half) % (2 * half) - half)
    match value.owner:
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.ExtUIOp() as cast:
            if cast.operands[0].type == i32:
                return cast.operands[0]
        case _:
            pass
    found = resized(b, value, i32)
    found.name_hint = found.name_hint or value.name_hint
    return found


# Coordinates


@dataclass(frozen=True, slots=True)
class IdPart:
    """The part of a coordinate that depends on an id."""

    value: SSAValue | None
    """An i32; None for 0."""
    bits: int
    """The bits that it may have."""


@dataclass(frozen=True, slots=True)
class BitField:
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


def fields(bases: Sequence[int]) -> list[BitField]:
    """Return the fields that coordinates are made of.

    >>> fields([0, 0, 32, 64, 128])
    [BitField(start=2, to=5, width=3)]
    """
    found: list[BitField] = []
    for bit, basis in enumerate(bases):
        for to in range(basis.bit_length()):
            if not basis >> to & 1:
                continue
            last = found[-1] if found else None
            if last and (last.start + last.width, last.to + last.width) == (bit, to):
                found[-1] = BitField(last.start, last.to, last.width + 1)
            else:
                found.append(BitField(bit, to, 1))
    return found


def of_bases(b: Builder, name: Id, bases: Sequence[int]) -> IdPart:
    """Return the exclusive or of the bases of the bits that an id has."""
    found = IdPart(None, 0)
    for each in fields(bases):
        value = b.id(name)
        if each.start:
            value = b.pure(arith.ShRUIOp, value, constant_i32(b, each.start))
        if each.start + each.width < len(bases):
            value = b.pure(arith.AndIOp, value, constant_i32(b, (1 << each.width) - 1))
        if each.to:
            value = b.pure(arith.ShLIOp, value, constant_i32(b, each.to))
        found = together(b, found, IdPart(value, each.bits))
    return found


def part(
    b: Builder, layout: LinearLayout, name: Id, dimension: int, shift: int = 0
) -> IdPart:
    """Return what an id gives to a coordinate.

    The coordinate is divided by two to the `shift`.
    """
    return of_bases(b, name, [x[dimension] >> shift for x in layout.bases(name)])


def together(b: Builder, one: IdPart, other: IdPart) -> IdPart:
    """Return the exclusive or of two parts, which may have bits in common, or not."""
    if one.value is None or other.value is None:
        return other if one.value is None else one
    join = arith.XOrIOp if one.bits & other.bits else arith.OrIOp
    return IdPart(b.pure(join, one.value, other.value), one.bits | other.bits)


@dataclass(frozen=True, slots=True)
class IndexSums:
    """Sums with an index, computed where the index is first known.

    Intel's compiler then keeps the address of a stream of 2D blocks in a register, and
    writes only what changes: `normalize` moves operations out of loops, not in front of
    loops that only precede them.
    """

    builders: dict[SSAValue, Builder] = field(default_factory=dict[SSAValue, Builder])
    """Behind the definitions of indices."""

    def at(self, b: Builder, index: SSAValue) -> Builder:
        """Return a builder where an index is known, with the location of `b`."""
        if index not in self.builders:
            self.builders[index] = Builder.after(index, b.location)
        return self.builders[index]

    def plus(self, b: Builder, index: SSAValue, number: int) -> SSAValue:
        return plus(self.at(b, index), index, number)

    def origin(
        self,
        b: Builder,
        layout: LinearLayout,
        dimension: int,
        register: int,
        index: SSAValue,
        shift: int = 0,
    ) -> SSAValue:
        """Return where a message of a subgroup begins, along one dimension.

        The message begins with a lane's `register`; `index`, an i32, is where the
        tensor begins. Positions are counted in units of two to the `shift`.
        """
        coordinate = layout.at(register=register)[layout.out_names[dimension]]
        number, b = coordinate >> shift, self.at(b, index)
        warp = part(b, layout, "warp", dimension, shift)
        value = warp.value
        if value is not None and warp.bits & number:
            value, number = b.pure(arith.XOrIOp, value, constant_i32(b, number)), 0
        start = divided(b, index, shift)
        if value is not None:
            is_zero = constant_number(start) == 0
            start = value if is_zero else b.pure(arith.AddiOp, start, value)
        return plus(b, start, number)


def coordinates(
    b: Builder, registers: RegisterLayout, dimension: int
) -> list[SSAValue]:
    """Return the coordinates along a dimension of what each lane holds, as vectors."""
    layout, length = registers.layout, registers.length
    warp, lane = (part(b, layout, name, dimension) for name in ("warp", "lane"))
    ids = together(b, warp, lane)
    own = [registers.coordinates[x][dimension] for x in registers.distinct]
    found: list[SSAValue] = []
    for start in range(0, len(own), length):
        chosen = own[start : start + length]
        if ids.value is None:
            found.append(numbers(b, chosen))
            continue
        wide = splat(b, ids.value, length)
        if any(chosen):
            join = arith.XOrIOp if any(ids.bits & x for x in chosen) else arith.AddiOp
            wide = b.pure(join, wide, numbers(b, chosen))
        found.append(wide)
    return found


def row_major(b: Builder, registers: RegisterLayout) -> list[SSAValue]:
    """Return the places of a lane's elements in row-major order, as vectors of i32."""
    sizes = list(registers.layout.out_sizes.values())
    found: list[SSAValue] = []
    stride = 1
    for dimension in reversed(range(len(sizes))):
        along = coordinates(b, registers, dimension)
        if stride > 1:
            factor = numbers(b, [stride] * registers.length)
            along = [b.pure(arith.MuliOp, x, factor) for x in along]
        if found:
            pairs = zip(found, along, strict=True)
            along = [b.pure(arith.AddiOp, x, y) for x, y in pairs]
        found = along
        stride *= sizes[dimension]
    return found or [numbers(b, [0] * registers.length)] * registers.vectors


def zero_masks(layout: LinearLayout) -> dict[str, int]:
    """Return, for each input, the bits with a zero basis: they repeat elements."""
    return {
        name: sum(1 << bit for bit, basis in enumerate(bases) if not any(basis))
        for name in layout.in_names
        for bases in [layout.bases(name)]
    }


def is_first(
    b: Builder, layout: LinearLayout, apart: Sequence[int] = ()
) -> SSAValue | bool:
    """Return whether a lane is the first that has what it has.

    Bits of the number of a subgroup that are `apart` count as no repetitions.
    """
    free, flags = zero_masks(layout), list[SSAValue]()
    names: tuple[Id, ...] = ("lane", "warp")
    for name in names:
        bits = free.get(name, 0)
        if name == "warp":
            bits &= ~sum(1 << bit for bit in apart)
        if bits:
            masked = b.pure(
                arith.AndIOp,
                b.id(name),
                constant_i32(b, bits),
            )
            flags.append(b.compare("eq", masked, constant_i32(b, 0)))
    return b.both(*flags)


def is_first_of_all(b: Builder) -> SSAValue:
    """Return whether this is the first lane of the first subgroup."""
    either = b.pure(arith.OrIOp, b.id("lane"), b.id("warp"))
    return b.compare("eq", either, constant_i32(b, 0))


def has_bit(b: Builder, bit: int) -> SSAValue:
    """Return whether a bit of the lane's number is 1, an i1."""
    masked = b.pure(arith.AndIOp, b.id("lane"), constant_i32(b, 1 << bit))
    return b.compare("ne", masked, constant_i32(b, 0))
