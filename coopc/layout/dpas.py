r"""DPAS layouts: the operands of Intel's matrix instruction, and of tensors made of it.

One DPAS multiplies A (rc x K) by B (K x N) and adds C (rc x N), with K = 8 o:

    rc  repeat count, 1 to 8          o  operands per 32-bit channel: 1, 2 or 4
    N   execution size, 8 or 16       S  lanes of a subgroup, at least N

With p = max(1, 8 o / N) neighbours in a lane's slot of A, s = 8 o / p the lanes that a
row of A takes, and r(A) = ceil(S / s), r(B) = r(C) = S / N the rows held at a time:

         registers                                 lanes
    A    (0, 1 .. p)  (r(A) .. rc, 0)              (0, p .. 8 o)   (1 .. r(A), 0)
    B    (1 .. o, 0)  (o r(B) .. 8 o, 0)           (0, 1 .. N)     (o .. o r(B), 0)
    C    (r(C) .. rc, 0)                           (0, 1 .. N)     (1 .. r(C), 0)

where (1 .. n, 0) are the bases of the powers of two from 1 up to but not including n.
For example A of f16 (o = 2) over 8 lanes: lane l holds columns 2 l and 2 l + 1 of each
row, and over 16 lanes lane l holds column l:

                  N = S = 8:  lane 0     lane 1  ..     N = S = 16:  lane 0   lane 1 ..
    register 0                (0,0)      (0,2)                       (0,0)    (0,1)
    register 1                (0,1)      (0,3)                       (1,0)    (1,1)

A tensor is made of such tiles: `rep_cluster` of them per subgroup, then the subgroups
(along N fastest; A is the same for all along N, B for all along M), then repetitions
(A and B along K first, C along N first), then the batch.  A cluster or a grid of
subgroups larger than the tensor broadcasts.

`ttg.dot_op` is operand A or B of a dot, by the layout of its result: of DPAS as above;
of a blocked parent, every lane holds all of K.

Source: intel/intel-xpu-backend-for-triton, DPAStoLinearLayout, for N = 16.  Its p is
"o = 4 ? 2 : 1" for N = 8 too, which leaves half of A's columns without a lane; that is
corrected here after cl_intel_subgroup_matrix_multiply_accumulate, where a lane of 8
gives 32 bits of each row.

Laws (test/unit/layout/test_dpas.py checks each by its name):

    covers      every operand layout is surjective; over one subgroup it is a bijection
    row_of_a    8 or 16 lanes hold each row of A in turn; B and C hold column = lane
    shared      subgroups along N hold the same A, subgroups along M the same B
    channel     o consecutive registers of B are the rows that one 32-bit channel packs
    multiplies  C += A B over what the lanes hold, tile by tile, is the matrix product
    dot_op      a lane that holds an element of the result holds its row of A and its
                column of B
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coopc.layout.distribution import LayoutDistribution
from coopc.layout.encodings import (
    BlockedEncoding,
    Encoding,
    Operand,
    check_shape,
    dims,
    fit,
)
from coopc.layout.linear import LinearLayout, log2, powers, product

SYSTOLIC_DEPTH = 8
"""Channels of K that one DPAS multiplies."""
CHANNEL_BITS = 32


@dataclass(frozen=True, slots=True)
class DpasEncoding(Encoding):
    """How tensors of a product are spread for DPAS; `linear` is that of C.

    >>> x = DpasEncoding.of(element_bits=16, lanes=16)
    >>> x.tile_shape("a"), x.tile_shape("b"), x.tile_shape("c")
    ((8, 16), (16, 16), (8, 16))
    """

    repeat_count: int
    """rc, rows of A and C of one DPAS: 1 to 8; layouts exist for 1, 2, 4 and 8."""
    systolic_depth: int
    """Systolic steps, 8 in every device."""
    execution_size: int
    """N, columns of B and C of one DPAS: 16, or 8 on dg2."""
    ops_per_chan: int
    """o, elements of K packed in 32 bits: 1, 2 or 4."""
    threads_per_warp: int
    """S, lanes of a subgroup: a power of two, at least N."""
    warps_per_cta: tuple[int, ...]
    """Subgroups of a work-group along (batch,) M and N."""
    rep_cluster: tuple[int, ...]
    """DPAS tiles that a subgroup holds together along (batch,) M and N."""
    fp4_k_pack: int | None = None
    """Elements of 4 bits packed in each i8 along K: None or 2, and then o is 4."""

    def __post_init__(self) -> None:
        _expect(1 <= self.repeat_count <= 8, "repeatCount 1 to 8", self.repeat_count)
        depth = self.systolic_depth
        _expect(depth == SYSTOLIC_DEPTH, f"systolicDepth {SYSTOLIC_DEPTH}", depth)
        size = self.execution_size
        _expect(size in (8, 16), "executionSize 8 or 16", size)
        ops = self.ops_per_chan
        _expect(ops in (1, 2, 4), "opsPerChan 1, 2 or 4", ops)
        lanes = self.threads_per_warp
        log2(lanes, "threadsPerWarp")
        _expect(
            size <= lanes <= size * depth,
            f"threadsPerWarp {size} (the executionSize) to {size * depth}",
            lanes,
        )
        warps, cluster = self.warps_per_cta, self.rep_cluster
        _expect(len(warps) in (2, 3), "warpsPerCTA of rank 2 or 3", list(warps))
        _expect(
            len(cluster) == len(warps),
            f"repCluster of rank {len(warps)}",
            list(cluster),
        )
        for warp_count, tiles in zip(warps, cluster, strict=True):
            log2(warp_count, "warpsPerCTA")
            log2(tiles, "repCluster")
        pack = self.fp4_k_pack
        fits = pack is None or (pack == 2 and ops == 4)
        _expect(fits, "fp4KPack 2 with opsPerChan 4", f"{pack} with {ops}")

    @classmethod
    def of(
        cls,
        element_bits: int,
        lanes: int,
        *,
        repeat_count: int = 8,
        execution_size: int | None = None,
    ) -> DpasEncoding:
        """Return the encoding of one subgroup that multiplies such elements.

        Args:
            element_bits: of A and B: 8, 16 or 32.
            lanes: S: 8 (a device with N = 8), 16 or 32.
            repeat_count: rc.
            execution_size: N; None is the lanes, at most 16.

        Raises:
            ValueError: a parameter is out of range.
        """
        ops = CHANNEL_BITS // element_bits
        size = execution_size or min(lanes, 16)
        return cls(repeat_count, SYSTOLIC_DEPTH, size, ops, lanes, (1, 1), (1, 1))

    @property
    def rank(self) -> int:
        """2, or 3 with a batch."""
        return len(self.warps_per_cta)

    def tile_shape(self, operand: Operand) -> tuple[int, int]:
        """Return the (rows, columns) of an operand of one DPAS."""
        k = self.systolic_depth * self.ops_per_chan
        shapes: dict[Operand, tuple[int, int]] = {
            "a": (self.repeat_count, k),
            "b": (k, self.execution_size),
            "c": (self.repeat_count, self.execution_size),
        }
        return shapes[operand]

    def cluster_shape(self, operand: Operand) -> tuple[int, ...]:
        """Return the shape of a subgroup's cluster, as the printed A, B and C are."""
        rows, cols = self.tile_shape(operand)
        shape = (
            rows * (self.rep_cluster[-2] if operand != "b" else 1),
            cols * (self.rep_cluster[-1] if operand != "a" else 1),
        )
        return (1,) * (self.rank - 2) + shape

    def repetitions(self, operand: Operand, shape: Sequence[int]) -> tuple[int, ...]:
        """Return how often a tensor repeats the cluster in (batch,) rows, columns."""
        cluster, warps = self.cluster_shape(operand), list(self.warps_per_cta)
        if operand == "a":
            warps[-1] = 1
        if operand == "b":
            warps[-2] = 1
        return tuple(
            max(1, size // (tile * count))
            for size, tile, count in zip(shape, cluster, warps, strict=True)
        )

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        return self.operand_linear("c", shape)

    def operand_linear(self, operand: Operand, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of a tensor that is this operand of a product.

        Raises:
            ValueError: the rank differs, a size is no power of two, or the repeat count
                is not a power of two, or less than the rows that the lanes hold.
        """
        check_shape(shape, self.rank)
        names = dims(self.rank)
        reps = self.repetitions(operand, shape)
        factors = [self.tile(operand), *self._clusters_and_warps(operand)]
        fast = -2 if operand == "b" else -1
        for d in (fast, -3 - fast, *range(self.rank - 2)):
            factors.append(LinearLayout.identity(reps[d], "register", names[d]))
        return fit(product(*factors), shape)

    def distribution(
        self, operand: Operand, rows: int, cols: int
    ) -> LayoutDistribution:
        """Return how a matrix that is this operand is spread over the work-group.

        The matrix is padded to powers of two, and to one DPAS.

        Raises:
            ValueError: the encoding is of rank 3, or has no layout for the operand.
        """
        least = self.tile_shape(operand)
        shape = [
            max(tile, 1 << (size - 1).bit_length())
            for tile, size in zip(least, (rows, cols), strict=True)
        ]
        return LayoutDistribution.of(self.operand_linear(operand, shape), (rows, cols))

    def tile(self, operand: Operand) -> LinearLayout:
        """Return the layout of one DPAS operand: `register` and `lane`."""
        rows, cols = self.tile_shape(operand)
        log2(self.repeat_count, "repeatCount")
        # p, o and r of the docstring, which are 1 where it does not say them.
        packed = max(1, cols // self.execution_size)
        step = self.ops_per_chan if operand == "b" else 1
        held = max(1, self.threads_per_warp * packed // cols)
        if operand != "b" and held > self.repeat_count:
            raise ValueError(
                f"expected a repeatCount of at least {held}, the rows of "
                f"{operand.upper()} that {self.threads_per_warp} lanes hold at a time, "
                f"got {self.repeat_count}"
            )
        bases = {
            "register": [
                *((0, col) for col in powers(1, packed)),
                *((row, 0) for row in powers(1, step)),
                *((row, 0) for row in powers(step * held, rows)),
            ],
            "lane": [
                *((0, col) for col in powers(packed, cols)),
                *((row, 0) for row in powers(step, step * held)),
            ],
        }
        names = dims(self.rank)[-2:]
        return LinearLayout.of(bases, {names[0]: rows, names[1]: cols})

    def _clusters_and_warps(self, operand: Operand) -> Iterator[LinearLayout]:
        names, warps = dims(self.rank), self.warps_per_cta
        for d, absent in ((-1, "a"), (-2, "b")):
            if operand != absent:
                tiles = self.rep_cluster[d]
                yield LinearLayout.identity(tiles, "register", names[d])
        for d, absent in ((-1, "a"), (-2, "b")):
            kind = LinearLayout.zeros if operand == absent else LinearLayout.identity
            yield kind(warps[d], "warp", names[d])
        if self.rank == 3:
            yield LinearLayout.identity(warps[0], "warp", names[0])


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
        return "a" if self.op_idx == 0 else "b"

    @property
    def rank(self) -> int:
        return self.parent.rank

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        return self.parent.operand_linear(self.operand, shape)


def _expect(condition: bool, wanted: str, found: object) -> None:
    if not condition:
        raise ValueError(f"expected {wanted}, got {found}")
