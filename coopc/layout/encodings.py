r"""Triton's generic encodings: blocked, slice, linear, and the operands of a dot.

    blocked   registers, then lanes, then subgroups walk over the tensor, each over its
              shape, dimension order[0] fastest
    slice     what is left of the parent's layout without one dimension; registers that
              then hold copies are dropped
    linear    the bases themselves
    dot_op    the operand of a dot whose result has the parent's layout: of DPAS, see
              `dpas`; of a blocked parent, every lane holds all of K

For example blocked with sizePerThread [1, 2], threadsPerWarp [2, 2], warpsPerCTA [1, 1]
and order [1, 0], on 2 x 8:

    register -> (0,1) (0,4)    lane -> (0,2) (1,0)

                  lane 0    lane 1    lane 2    lane 3
    register 0    (0,0)     (0,2)     (1,0)     (1,2)
    register 1    (0,1)     (0,3)     (1,1)     (1,3)
    register 2    (0,4)     (0,6)     (1,4)     (1,6)
    register 3    (0,5)     (0,7)     (1,5)     (1,7)

Source: triton-lang/triton, LinearLayoutConversions.cpp and Attributes' toLinearLayout.

Laws (test/unit/layout/test_encodings.py checks each by its name):

    blocked   places are in the order of order, register in lane in warp
    slice     a slice holds the coordinates of its parent, without one dimension
    linear    linear(layout.linear(shape)) on that shape is the same layout
    dot_op    a lane that holds an element of the result holds its row of A and its
              column of B
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coopc.layout.algebra import product, rename_outs, sublayout, transpose_outs
from coopc.layout.dpas import DpasEncoding, Operand
from coopc.layout.encoding import (
    INPUTS,
    Bases,
    Encoding,
    check_shape,
    dims,
    fit,
    grow,
    identity_nd,
    shrink,
)
from coopc.layout.linear import LinearLayout, log2


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
    """Bases of `block`, in units of a block's part; see `encoding.cga_bases`."""

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
        """The number of dimensions."""
        return len(self.order)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """See `Encoding`."""
        check_shape(shape, self.rank)
        tile = product(
            identity_nd("register", self.size_per_thread, self.order),
            identity_nd("lane", self.threads_per_warp, self.order),
            identity_nd("warp", self.warps_per_cta, self.order),
        )
        return fit(tile, shape, self.cga)

    def operand_linear(self, operand: Operand, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of A or B of a dot whose result is blocked so.

        Every lane holds all of K; lanes and subgroups along K hold copies.
        """
        check_shape(shape, self.rank)
        k = self.rank - (1 if operand == "a" else 2)
        registers = list(self.size_per_thread)
        registers[k] = shape[k]
        names = dims(self.rank)

        def walk(name: str, sizes: Sequence[int]) -> LinearLayout:
            return product(
                *(
                    (LinearLayout.zeros if d == k else LinearLayout.identity)(
                        sizes[d], name, names[d]
                    )
                    for d in self.order
                )
            )

        tile = product(
            identity_nd("register", registers, self.order),
            walk("lane", self.threads_per_warp),
            walk("warp", self.warps_per_cta),
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
        """One less than the parent's."""
        return self.parent.rank - 1

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """See `Encoding`."""
        check_shape(shape, self.rank)
        whole = self.parent.linear([*shape[: self.dim], 1, *shape[self.dim :]])
        kept = [name for d, name in enumerate(dims(self.rank + 1)) if d != self.dim]
        names = dict(zip(kept, dims(self.rank), strict=True))
        part = rename_outs(sublayout(whole, outs=kept), names)
        ins = dict(part.ins)
        ins["register"] = tuple(basis for basis in ins["register"] if basis)
        return LinearLayout(tuple(ins.items()), part.outs)


@dataclass(frozen=True, slots=True)
class LinearEncoding(Encoding):
    """`#ttg.linear`: bases for `register`, `lane`, `warp` and `block`."""

    layout: LinearLayout
    """Its inputs are `encoding.INPUTS`, its outputs dim0, dim1, ...; surjective."""

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
        """The number of dimensions."""
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


@dataclass(frozen=True, slots=True)
class DotOperandEncoding(Encoding):
    """`#ttg.dot_op`: operand A (0) or B (1) of a dot, by the layout of its result."""

    op_idx: int
    """0 for A, 1 for B."""
    parent: DpasEncoding | BlockedEncoding
    k_width: int = 0
    """Neighbours along K in a register; 0 for a blocked parent. Without effect."""

    def __post_init__(self) -> None:
        if self.op_idx not in (0, 1):
            raise ValueError(f"expected opIdx 0 or 1, got {self.op_idx}")
        wanted = 0
        if isinstance(self.parent, DpasEncoding):
            ops = self.parent.ops_per_chan
            wanted = ops if self.op_idx == 1 else max(1, ops // 2)
        if self.k_width != wanted:
            raise ValueError(
                f"expected kWidth = {wanted}, as the parent of opIdx {self.op_idx} has "
                f"it, got {self.k_width}"
            )

    @property
    def operand(self) -> Operand:
        """Which operand of the product it is."""
        return "a" if self.op_idx == 0 else "b"

    @property
    def rank(self) -> int:
        """The parent's."""
        return self.parent.rank

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """See `Encoding`."""
        return self.parent.operand_linear(self.operand, shape)
