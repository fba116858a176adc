r"""Encodings: what gives a tensor of any shape a linear layout.

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
them, by bases in units of one block's part.

Laws (test/unit/layout/test_encoding.py checks each by its name):

    fit        the fitted layout reaches every element of the tensor, and no other
    unchanged  a layout of the right size that is fitted stays what it is
    blocks     places in different blocks hold different parts, or the same one
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

from coopc.layout.algebra import product, transpose_outs
from coopc.layout.linear import LinearLayout, log2

Bases: TypeAlias = tuple[tuple[int, ...], ...]

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


def identity_nd(name: str, shape: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """Return the input walking over a shape, dimension `order[0]` fastest."""
    names = dims(len(shape))
    return product(*(LinearLayout.identity(shape[d], name, names[d]) for d in order))


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
