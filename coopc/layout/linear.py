"""Linear layouts: named hardware bits to named tensor coordinates, over GF(2).

A linear layout maps the bits of its input dimensions (`register`, `lane`, `warp`,
`block`) to the bits of its output dimensions (`dim0`, `dim1`) so that

    L(x xor y) = L(x) xor L(y)

It is therefore given by its *bases*, the images of the powers of two.  For example

    register 1 -> (1, 1)        lane 1 -> (0, 1)    lane 2 -> (0, 2)

is a 2 x 4 tensor over 4 lanes with the second row swizzled; the table follows from the
law, (register 1, lane 3) being (1, 1) xor (0, 1) xor (0, 2):

                  lane 0    lane 1    lane 2    lane 3
    register 0    (0,0)     (0,1)     (0,2)     (0,3)
    register 1    (1,1)     (1,0)     (1,3)     (1,2)

Why from hardware to tensor, and not the other way round?  Because an element may live
in several places (a basis is zero, or depends on others: a broadcast), but a place
holds one element.  Nor need a layout reach every element: a block load reaches its own.

Dimensions are ordered, the first one minor: flattening puts it in the low bits.  Bases
are kept packed, one integer each, with the first output dimension in the low bits.

Laws (test/unit/layout/test_linear.py checks each by its name):

    linearity   L(x xor y) == L(x) xor L(y), and L(0) == 0
    bases       L is the exclusive or of the bases of the set bits of its input
    table       entry [register, lane, ...] of the table is L of that place
    reshape     reshaping or transposing outputs keeps what is flattened
    select      the layout in some outputs says the same there
    free        a place and the same place without its free bits hold one element, and
                without free bits the layout is injective

The product of layouts is f for the minor bits of every dimension and g for the major
ones.  Both factors may name the same dimensions; with f of size m in `dim0`,

    product(f, g)(x0 + |f| x1) = f(x0) + m g(x1)

For example two registers along dim0, and that four times along dim1 over the lanes:

    f:  register 1 -> 1                     of (dim0 = 2)
    g:  lane 1 -> (0, 1), lane 2 -> (0, 2)  of (dim0 = 1, dim1 = 4)
    product(f, g) has register 1 -> (1, 0), lane 1 -> (0, 1), lane 2 -> (0, 2)

Its laws:

    product         product(f, g) at (x0, x1) is f(x0) and g(x1), g scaled by f's sizes
    associativity_of_product    product(product(f, g), h) == product(f, product(g, h))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from coopc.layout.distribution import IntArray, Ints

Packed = TypeVar("Packed", int, "IntArray")
"""Coordinates in one number, the first output in the low bits."""


def image(columns: Sequence[int], value: int) -> int:
    """Return the image of one input.

    >>> bin(image([0b001, 0b100, 0b101], 0b110))
    '0b1'
    """
    result = 0
    for bit, column in enumerate(columns):
        if value >> bit & 1:
            result ^= column
    return result


@dataclass(frozen=True, slots=True)
class Echelon:
    """The span of some columns, with the combination that gives each vector.

    >>> x = Echelon.of([0b001, 0b100, 0b101, 0b010])
    >>> x.rank, bin(x.dependent), bin(x.solve(0b110))
    (3, '0b100', '0b1010')
    """

    pivots: dict[int, tuple[int, int]]
    """Leading bit -> (vector with that leading bit, combination of columns)."""
    dependent: int
    """The set of columns that earlier columns span."""

    @classmethod
    def of(cls, columns: Sequence[int]) -> Echelon:
        """Eliminate the columns, first to last."""
        pivots: dict[int, tuple[int, int]] = {}
        dependent = 0
        for index, column in enumerate(columns):
            vector, combination = column, 1 << index
            while vector and (pivot := pivots.get(vector.bit_length())):
                vector ^= pivot[0]
                combination ^= pivot[1]
            if vector:
                pivots[vector.bit_length()] = vector, combination
            else:
                dependent |= 1 << index
        return cls(pivots, dependent)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def solve(self, vector: int) -> int:
        """Return a combination of independent columns with that sum.

        A vector outside of the span is first projected on it, along the unit vectors
        of the bits that lead no vector of the span.
        """
        combination = 0
        while vector:
            lead = vector.bit_length()
            pivot = self.pivots.get(lead)
            if pivot is None:
                vector ^= 1 << lead - 1
            else:
                vector ^= pivot[0]
                combination ^= pivot[1]
        return combination


def log2(size: int, what: str) -> int:
    """Return the number of bits of a size.

    Raises:
        ValueError: the size is not a power of two.
    """
    if size < 1 or size & (size - 1):
        raise ValueError(
            f"expected the size of {what} to be a power of two, got {size}"
        )
    return size.bit_length() - 1


def powers(start: int, stop: int) -> Iterator[int]:
    """Yield start, 2 start, 4 start, ... below stop.

    >>> list(powers(2, 16))
    [2, 4, 8]
    """
    while start < stop:
        yield start
        start *= 2


def spread(columns: Sequence[int]) -> IntArray:
    """Return the images of 0 .. 2 ** n - 1 under a map given by n packed columns."""
    import numpy as np

    images = np.zeros(1 << len(columns), dtype=np.int64)
    for bit, column in enumerate(columns):
        half = 1 << bit
        np.bitwise_xor(images[:half], column, out=images[half : 2 * half])
    return images


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """A linear layout, a frozen, hashable value; equal layouts compare equal.

    >>> x = LinearLayout.of(
    ...     {"register": [(1, 1)], "lane": [(0, 1), (0, 2)]}, {"dim0": 2, "dim1": 4}
    ... )
    >>> x.at(register=1, lane=3)
    {'dim0': 1, 'dim1': 2}
    >>> x.is_surjective
    True
    """

    ins: tuple[tuple[str, tuple[int, ...]], ...]
    """Input dimensions, minor first: name, and the packed basis of each bit."""
    outs: tuple[tuple[str, int], ...]
    """Output dimensions, first in the low bits: name, and number of bits."""

    def __post_init__(self) -> None:
        _reject_duplicates("input", [name for name, _ in self.ins])
        _reject_duplicates("output", [name for name, _ in self.outs])
        limit = 1 << self.out_bits
        for name, bases in self.ins:
            if any(not 0 <= basis < limit for basis in bases):
                raise ValueError(
                    f"expected the packed bases of {name} to be below {limit}, "
                    f"got {bases}"
                )

    @classmethod
    def of(
        cls,
        bases: Mapping[str, Iterable[Sequence[int]]],
        outs: Mapping[str, int],
    ) -> LinearLayout:
        """Return the layout with these bases.

        Args:
            bases: for each input dimension the image of each bit, low bit first; one
                coordinate for each output dimension.
            outs: name and size (a power of two) of each output dimension.

        Raises:
            ValueError: a size is no power of two, or a coordinate is out of range.
        """
        widths = tuple((name, log2(size, name)) for name, size in outs.items())
        ins = tuple(
            (name, tuple(_pack(name, basis, widths) for basis in each))
            for name, each in bases.items()
        )
        return cls(ins, widths)

    @classmethod
    def identity(cls, size: int, name: str, out: str) -> LinearLayout:
        """Return x -> x on `size` inputs."""
        bits = log2(size, out)
        return cls(((name, tuple(1 << bit for bit in range(bits))),), ((out, bits),))

    @classmethod
    def zeros(cls, size: int, name: str, out: str) -> LinearLayout:
        """Return x -> 0 on `size` inputs: a broadcast, on an output of size 1."""
        return cls(((name, (0,) * log2(size, name)),), ((out, 0),))

    @property
    def in_names(self) -> tuple[str, ...]:
        """The input dimensions, minor first."""
        return tuple(name for name, _ in self.ins)

    @property
    def out_names(self) -> tuple[str, ...]:
        """The output dimensions, minor first."""
        return tuple(name for name, _ in self.outs)

    @property
    def in_sizes(self) -> dict[str, int]:
        """The size of each input dimension, 2 ** its number of bases."""
        return {name: 1 << len(bases) for name, bases in self.ins}

    @property
    def out_sizes(self) -> dict[str, int]:
        return {name: 1 << bits for name, bits in self.outs}

    @property
    def in_bits(self) -> int:
        return sum(len(bases) for _, bases in self.ins)

    @property
    def out_bits(self) -> int:
        return sum(bits for _, bits in self.outs)

    @property
    def columns(self) -> tuple[int, ...]:
        """The packed bases of all inputs, minor first."""
        return tuple(basis for _, bases in self.ins for basis in bases)

    def bases(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return the bases of an input dimension, one coordinate for each output.

        An input dimension that the layout lacks has one position, and so no bases.
        """
        bases = dict(self.ins).get(name, ())
        return tuple(tuple(self.unpack(basis)) for basis in bases)

    def unpack(self, packed: Packed) -> list[Packed]:
        """Return the coordinates, one for each output, of packed outputs."""
        coordinates: list[Packed] = []
        for _, bits in self.outs:
            coordinates.append(packed & ((1 << bits) - 1))
            packed = packed >> bits
        return coordinates

    @property
    def rank(self) -> int:
        return Echelon.of(self.columns).rank

    @property
    def reached(self) -> int:
        """How many elements have a place."""
        return 1 << self.rank

    @property
    def is_surjective(self) -> bool:
        """Whether every output has a place."""
        return self.rank == self.out_bits

    def free_masks(self) -> dict[str, int]:
        """Return, for each input dimension, its free bits.

        A bit is free when bits before it (minor dimensions first) span its basis: it
        only repeats what they hold.
        """
        dependent = Echelon.of(self.columns).dependent
        masks: dict[str, int] = {}
        for name, bases in self.ins:
            masks[name] = dependent & ((1 << len(bases)) - 1)
            dependent >>= len(bases)
        return masks

    def at(self, **place: int) -> dict[str, int]:
        """Return the coordinates of one place; inputs that are left out are 0.

        Raises:
            ValueError: a value is out of range, or a dimension does not exist.
        """
        packed = 0
        for name, value in place.items():
            bases = self._packed_bases(name)
            _reject_outside(name, 1 << len(bases), value, value)
            packed ^= image(bases, value)
        return dict(zip(self.out_names, self.unpack(packed), strict=True))

    def apply(self, places: Mapping[str, Ints]) -> dict[str, IntArray]:
        """Return the coordinates of places given by numbers or arrays.

        Args:
            places: for each input dimension its values, broadcast against each other;
                a dimension that is left out is 0.

        Raises:
            ValueError: a value is out of range, or a dimension does not exist.
        """
        import numpy as np

        packed = np.zeros((), dtype=np.int64)
        for name, values in places.items():
            images = spread(self._packed_bases(name))
            array = np.asarray(values, dtype=np.int64)
            if array.size:
                _reject_outside(name, images.size, int(array.min()), int(array.max()))
            packed = packed ^ images[array]
        return dict(zip(self.out_names, self.unpack(packed), strict=True))

    def images(self, name: str) -> list[int]:
        """Return the packed outputs of all values of an input, others being 0.

        >>> LinearLayout.of({"lane": [(0, 1), (1, 0)]}, {"x": 2, "y": 2}).images("lane")
        [0, 2, 1, 3]
        """
        found = [0]
        for basis in dict(self.ins).get(name, ()):
            found += [x ^ basis for x in found]
        return found

    def table(self) -> dict[str, IntArray]:
        """Return the coordinates of all places, indexed by the inputs in order."""
        sizes = [1 << len(bases) for _, bases in self.ins][::-1]
        packed = spread(self.columns).reshape(sizes).transpose()
        return dict(zip(self.out_names, self.unpack(packed), strict=True))

    def _packed_bases(self, name: str) -> tuple[int, ...]:
        for existing, bases in self.ins:
            if existing == name:
                return bases
        raise ValueError(f"expected an input of {list(self.in_names)}, got {name!r}")

    def __str__(self) -> str:
        """Return the bases, a line for each input bit."""
        lines = [
            f"{name} = {1 << bit} -> ({', '.join(map(str, basis))})"
            for name in self.in_names
            for bit, basis in enumerate(self.bases(name))
        ]
        sizes = ", ".join(f"{name} = {size}" for name, size in self.out_sizes.items())
        return "\n".join([*lines, f"of ({sizes})"])


def _reject_outside(name: str, size: int, least: int, most: int) -> None:
    if least < 0 or most >= size:
        raise ValueError(
            f"expected {name} to be at least 0 and below {size}, got {least} to {most}"
        )


def _reject_duplicates(kind: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise ValueError(f"expected different {kind} dimensions, got {list(names)}")


def _pack(name: str, basis: Sequence[int], outs: Sequence[tuple[str, int]]) -> int:
    """Return the basis as one integer, the first output in the low bits."""
    if len(basis) != len(outs):
        raise ValueError(
            f"expected a basis of {name} to have {len(outs)} coordinates, "
            f"got {tuple(basis)}"
        )
    packed = shift = 0
    for (out, bits), coordinate in zip(outs, basis, strict=True):
        if not 0 <= coordinate < 1 << bits:
            raise ValueError(
                f"expected the bases of {name} to be below {1 << bits} in {out}, "
                f"got {coordinate}"
            )
        packed |= coordinate << shift
        shift += bits
    return packed


def transpose_outs(layout: LinearLayout, names: Sequence[str]) -> LinearLayout:
    """Return the layout with its outputs in another order.

    Raises:
        ValueError: the names are not those of the outputs.
    """
    if sorted(names) != sorted(layout.out_names):
        raise ValueError(
            f"expected the outputs {list(layout.out_names)}, got {list(names)}"
        )
    return layout if tuple(names) == layout.out_names else select_outs(layout, names)


def reshape_outs(layout: LinearLayout, sizes: Mapping[str, int]) -> LinearLayout:
    """Return the layout with its flattened outputs split into other dimensions.

    Raises:
        ValueError: the sizes have another product, or are no powers of two.
    """
    outs = tuple((name, log2(size, name)) for name, size in sizes.items())
    if (total := sum(bits for _, bits in outs)) != layout.out_bits:
        raise ValueError(
            f"expected sizes of {1 << layout.out_bits} outputs in all, got "
            f"{1 << total} by {dict(sizes)}"
        )
    return LinearLayout(layout.ins, outs)


def rename_outs(layout: LinearLayout, names: Mapping[str, str]) -> LinearLayout:
    """Return the layout with new names for some outputs."""
    outs = tuple((names.get(name, name), bits) for name, bits in layout.outs)
    return LinearLayout(layout.ins, outs)


def select_outs(layout: LinearLayout, names: Sequence[str]) -> LinearLayout:
    """Return the layout seen in some outputs, in this order.

    Raises:
        ValueError: a name is not one of the layout's.
    """
    widths = dict(layout.outs)
    if unknown := [name for name in names if name not in widths]:
        raise ValueError(f"expected outputs of {list(widths)}, got {unknown}")
    places = [layout.out_names.index(name) for name in names]
    bases = {
        name: [[basis[place] for place in places] for basis in layout.bases(name)]
        for name in layout.in_names
    }
    return LinearLayout.of(bases, {name: 1 << widths[name] for name in names})


def product(*factors: LinearLayout) -> LinearLayout:
    """Return the factors side by side, the first one minor in every dimension.

    Dimensions keep the order in which they first appear.
    """
    outs: dict[str, int] = {}
    bases: dict[str, list[dict[str, int]]] = {}
    for factor in factors:
        for name in factor.in_names:
            bases.setdefault(name, []).extend(
                {
                    out: x * outs.get(out, 1)
                    for out, x in zip(factor.out_names, basis, strict=True)
                }
                for basis in factor.bases(name)
            )
        for out, size in factor.out_sizes.items():
            outs[out] = outs.get(out, 1) * size
    raised = {
        name: [[basis.get(out, 0) for out in outs] for basis in each]
        for name, each in bases.items()
    }
    return LinearLayout.of(raised, outs)
