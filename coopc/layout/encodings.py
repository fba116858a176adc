r"""Encodings: what gives a tensor of any shape a linear layout, as in Triton.

An encoding describes one tile of hardware; `linear(shape)` fits it to a tensor.  The
inputs are `register`, `lane`, `warp` and `block`; the outputs are `dim0`, `dim1`, ...,
as large as the tensor, powers of two.  In each dimension a tile may be

    too small   it grows: further registers walk over the rest of the tensor
    too large   it shrinks: coordinates lose the bits beyond the shape, so places that
                would be outside hold copies (a broadcast)

For example a tile of 4 registers along dim0 and 4 lanes along dim1,

    register -> (1,0) (2,0)    lane -> (0,1) (0,2)    of 4 x 4

fitted to 2 x 8 is

    register -> (1,0) (0,0) (0,4)    lane -> (0,1) (0,2)

Blocks (work-groups that share a tensor) are outermost: the tensor is first cut among
them, by bases in units of one block's part.  The encodings are

    blocked   registers, then lanes, then subgroups walk over the tensor, each over its
              shape, dimension order[0] fastest
    slice     what is left of the parent's layout without one dimension; registers that
              then hold copies are dropped
    linear    the bases themselves

and those of `dpas`.  For example blocked with sizePerThread [1, 2], threadsPerWarp
[2, 2], warpsPerCTA [1, 1] and order [1, 0], on 2 x 8:

    register -> (0,1) (0,4)    lane -> (0,2) (1,0)

                  lane 0    lane 1    lane 2    lane 3
    register 0    (0,0)     (0,2)     (1,0)     (1,2)
    register 1    (0,1)     (0,3)     (1,1)     (1,3)
    register 2    (0,4)     (0,6)     (1,4)     (1,6)
    register 3    (0,5)     (0,7)     (1,5)     (1,7)

Source: triton-lang/triton, LinearLayoutConversions.cpp and Attributes' toLinearLayout.

Laws (test/unit/layout/test_encodings.py checks each by its name):

    fit        the fitted layout reaches every element of the tensor, and no other
    unchanged  a layout of the right size that is fitted stays what it is
    blocks     places in different blocks hold different parts, or the same one
    blocked    places are in the order of order, register in lane in warp
    slice      a slice holds the coordinates of its parent, without one dimension
    linear     linear(layout.linear(shape)) on that shape is the same layout
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from coopc.layout.linear import (
    LinearLayout,
    log2,
    product,
    rename_outs,
    select_outs,
    transpose_outs,
)

Bases: TypeAlias = tuple[tuple[int, ...], ...]

Operand: TypeAlias = Literal["a", "b", "c"]
"""Which operand of a product a tensor is: C += A B."""

INPUTS = ("register", "lane", "warp", "block")


class Encoding(ABC):
    """How a tensor is kept, apart from its shape; subclasses are frozen values."""

    __slots__ = ()

    @property
    @abstractmethod
    def rank(self) -> int:
        """The number of dimensions of the tensors that it fits."""

    @abstractmethod
    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of a tensor.

        Raises:
            ValueError: the rank differs, or a size is no power of two.
        """


def dims(rank: int) -> tuple[str, ...]:
    """Return the names of a tensor's dimensions.

    >>> dims(2)
    ('dim0', 'dim1')
    """
    return tuple(f"dim{index}" for index in range(rank))


def check_shape(shape: Sequence[int], rank: int) -> None:
    """Check that an encoding of this rank fits a tensor.

    Raises:
        ValueError: the rank differs, or a size is no power of two.
    """
    if len(shape) != rank:
        raise ValueError(
            f"expected a tensor of rank {rank}, got {len(shape)} in "
            f"{'x'.join(map(str, shape))}"
        )
    for name, size in zip(dims(rank), shape, strict=True):
        log2(size, name)


def walk(
    name: str, sizes: Sequence[int], order: Sequence[int], shared: int | None = None
) -> LinearLayout:
    """Return the input walking over a shape, dimension `order[0]` fastest.

    Along the dimension `shared`, places hold copies.
    """
    names = dims(len(sizes))
    return product(
        *(
            (LinearLayout.zeros if d == shared else LinearLayout.identity)(
                sizes[d], name, names[d]
            )
            for d in order
        )
    )


def cga_bases(
    ctas_per_cga: Sequence[int], cta_split_num: Sequence[int], order: Sequence[int]
) -> Bases:
    """Return the bases of `block` for the older spelling of how blocks share a tensor.

    Args:
        ctas_per_cga: blocks along each dimension.
        cta_split_num: parts that the tensor is cut into along each dimension; the
            other blocks hold copies.
        order: dimensions, fastest first.

    Raises:
        ValueError: a dimension is left out, a number is no power of two, or the blocks
            do not divide evenly over the parts.

    >>> cga_bases([2, 2], [2, 1], [1, 0])
    ((0, 0), (1, 0))
    """
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"expected an order of all dimensions, got {list(order)}")
    for numbers in (ctas_per_cga, cta_split_num):
        if len(numbers) != len(order) or min(numbers, default=1) < 1:
            raise ValueError(
                f"expected a power of two for each of {len(order)} dimensions, "
                f"got {list(numbers)}"
            )
    names = dims(len(order))
    factors: list[LinearLayout] = []
    for d in order:
        ctas, split = ctas_per_cga[d], cta_split_num[d]
        if ctas % split:
            raise ValueError(
                f"expected the {ctas} blocks along {names[d]} to divide evenly over "
                f"{split} parts"
            )
        factors.append(LinearLayout.identity(split, "block", names[d]))
        factors.append(LinearLayout.zeros(ctas // split, "block", names[d]))
    return transpose_outs(product(*factors), names).bases("block")


def grow(layout: LinearLayout, sizes: dict[str, int]) -> LinearLayout:
    """Return the layout with registers appended until it is as large as the sizes."""
    present = layout.out_sizes
    rest = [
        LinearLayout.identity(sizes[name] // size, "register", name)
        for name, size in present.items()
        if size < sizes[name]
    ]
    return product(layout, *rest)


def shrink(layout: LinearLayout, sizes: dict[str, int]) -> LinearLayout:
    """Return the layout modulo the sizes: a basis beyond them becomes 0."""
    if all(size <= sizes[name] for name, size in layout.out_sizes.items()):
        return layout
    masks = [sizes[name] - 1 for name in layout.out_names]
    bases = {
        name: [
            [coordinate & mask for coordinate, mask in zip(basis, masks, strict=True)]
            for basis in layout.bases(name)
        ]
        for name in layout.in_names
    }
    outs = {name: min(size, sizes[name]) for name, size in layout.out_sizes.items()}
    return LinearLayout.of(bases, outs)


def fit(tile: LinearLayout, shape: Sequence[int], cga: Bases = ()) -> LinearLayout:
    """Return the tile fitted to a tensor that blocks share.

    Args:
        tile: a block's layout; it grows along its outputs in their order.
        shape: the sizes of the tensor, powers of two.
        cga: bases of `block`, in units of a block's part of the tensor.
    """
    names = dims(len(shape))
    sizes = dict(zip(names, shape, strict=True))
    parts = {
        name: 1 << max((b[d] for b in cga), default=0).bit_length()
        for d, name in enumerate(names)
    }
    blocks = shrink(LinearLayout.of({"block": cga}, parts), sizes)
    own = {name: size // blocks.out_sizes[name] for name, size in sizes.items()}
    fitted = product(shrink(grow(tile, own), own), blocks)
    return with_inputs(transpose_outs(fitted, names))


def with_inputs(layout: LinearLayout) -> LinearLayout:
    """Return the layout with all of `INPUTS`, in this order; new ones are of size 1."""
    ins = dict(layout.ins)
    return LinearLayout(
        tuple((name, ins.get(name, ())) for name in INPUTS), layout.outs
    )


@dataclass(frozen=True, slots=True)
class BlockedEncoding(Encoding):
    """`#ttg.blocked`.

    >>> x = BlockedEncoding((1, 2), (2, 2), (1, 1), (1, 0))
    >>> x.linear((2, 8)).bases("register")
    ((0, 1), (0, 4))
    """

    size_per_thread: tuple[int, ...]
    """Registers along each dimension that a lane holds together."""
    threads_per_warp: tuple[int, ...]
    """Lanes along each dimension."""
    warps_per_cta: tuple[int, ...]
    """Subgroups along each dimension."""
    order: tuple[int, ...]
    """The dimensions, fastest first."""
    cga: Bases = ()
    """Bases of `block`, in units of a block's part; see `cga_bases`."""

    def __post_init__(self) -> None:
        rank = self.rank
        if sorted(self.order) != list(range(rank)):
            raise ValueError(
                f"expected order to permute {rank} dimensions, got {list(self.order)}"
            )
        for name, sizes in (
            ("sizePerThread", self.size_per_thread),
            ("threadsPerWarp", self.threads_per_warp),
            ("warpsPerCTA", self.warps_per_cta),
        ):
            if len(sizes) != rank:
                raise ValueError(
                    f"expected {rank} numbers in {name}, got {list(sizes)}"
                )
            for size in sizes:
                log2(size, name)

    @property
    def rank(self) -> int:
        return len(self.order)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        return self._linear(shape, None)

    def operand_linear(self, operand: Operand, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of A or B of a dot whose result is blocked so.

        Every lane holds all of K; lanes and subgroups along K hold copies.
        """
        return self._linear(shape, self.rank - (1 if operand == "a" else 2))

    def _linear(self, shape: Sequence[int], whole: int | None) -> LinearLayout:
        """Return the layout of which every lane holds all of a dimension."""
        check_shape(shape, self.rank)
        registers = list(self.size_per_thread)
        if whole is not None:
            registers[whole] = shape[whole]
        tile = product(
            walk("register", registers, self.order),
            walk("lane", self.threads_per_warp, self.order, whole),
            walk("warp", self.warps_per_cta, self.order, whole),
        )
        return fit(tile, shape, self.cga)


@dataclass(frozen=True, slots=True)
class SliceEncoding(Encoding):
    """`#ttg.slice`: the parent's layout without dimension `dim`."""

    dim: int
    """The parent's dimension that is left out."""
    parent: Encoding

    def __post_init__(self) -> None:
        if not 0 <= self.dim < self.parent.rank or self.parent.rank < 2:
            raise ValueError(
                f"expected dim to be below the parent's rank {self.parent.rank}, which "
                f"is at least 2, got {self.dim}"
            )

    @property
    def rank(self) -> int:
        return self.parent.rank - 1

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        check_shape(shape, self.rank)
        whole = self.parent.linear([*shape[: self.dim], 1, *shape[self.dim :]])
        kept = [name for d, name in enumerate(dims(self.rank + 1)) if d != self.dim]
        names = dict(zip(kept, dims(self.rank), strict=True))
        part = rename_outs(select_outs(whole, kept), names)
        ins = dict(part.ins)
        ins["register"] = tuple(basis for basis in ins["register"] if basis)
        return LinearLayout(tuple(ins.items()), part.outs)


@dataclass(frozen=True, slots=True)
class LinearEncoding(Encoding):
    """`#ttg.linear`: bases for `register`, `lane`, `warp` and `block`."""

    layout: LinearLayout
    """Its inputs are `INPUTS`, its outputs dim0, dim1, ...; surjective."""

    def __post_init__(self) -> None:
        if self.layout.in_names != INPUTS:
            raise ValueError(
                f"expected bases for {list(INPUTS)}, got {list(self.layout.in_names)}"
            )
        if self.layout.out_names != dims(self.rank):
            raise ValueError(
                f"expected coordinates {list(dims(self.rank))}, got "
                f"{list(self.layout.out_names)}"
            )
        if not self.layout.is_surjective:
            raise ValueError(
                f"expected bases that reach all of {self.layout.out_sizes}, got rank "
                f"{self.layout.rank} for {self.layout.out_bits} bits"
            )

    @classmethod
    def of(
        cls, register: Bases, lane: Bases, warp: Bases, block: Bases = ()
    ) -> LinearEncoding:
        """Return the encoding with these bases; sizes are the least that hold them.

        Raises:
            ValueError: the bases differ in rank, or do not reach everything.
        """
        every = [*register, *lane, *warp, *block]
        ranks = {len(basis) for basis in every}
        if len(ranks) != 1:
            raise ValueError(f"expected bases of one rank, got ranks {sorted(ranks)}")
        names = dims(ranks.pop())
        outs = {
            name: 1 << max(basis[d] for basis in every).bit_length()
            for d, name in enumerate(names)
        }
        bases = {"register": register, "lane": lane, "warp": warp, "block": block}
        return cls(LinearLayout.of(bases, outs))

    @property
    def rank(self) -> int:
        return len(self.layout.outs)

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions as registers walk over them, then the last one first."""
        seen = [
            d
            for basis in self.layout.bases("register")
            for d, coordinate in enumerate(basis)
            if coordinate
        ]
        return tuple(dict.fromkeys([*seen, *reversed(range(self.rank))]))

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """See `Encoding`; registers beyond the shape are dropped, not broadcast."""
        check_shape(shape, self.rank)
        names = dims(self.rank)
        sizes = dict(zip(names, shape, strict=True))
        ordered = transpose_outs(self.layout, [names[d] for d in self.order])
        grown = grow(ordered, sizes)
        fitted = shrink(grown, sizes)
        pairs = zip(fitted.ins[0][1], grown.ins[0][1], strict=True)
        registers = tuple(new for new, old in pairs if new or not old)
        ins = ((INPUTS[0], registers), *fitted.ins[1:])
        return transpose_outs(LinearLayout(ins, fitted.outs), names)
