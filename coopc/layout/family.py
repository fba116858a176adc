"""Families: what gives matrices of any type a distribution, and how one is chosen.

A kernel spreads all its matrices by one rule, which says for a matrix and S lanes

    distribution(rule, matrix, S)

A *family* is such a rule; single layouts and encodings are rules too, for the matrices
that they fit:

    CoopmatrixFamily   the coopmatrix layout; channels and K1 follow from use and width
    RowSliceFamily     row-major order over the lanes
    DpasFamily         the operand of DPAS that the use names: a, b, else C
    Encoding           its linear layout, for as many lanes as it has in all
    LinearLayout, StridedLayout, Distribution     one layout, for matrices it holds

For example over S = 16 lanes, f16, in the components of lane 0:

    rule                a 16x16               b 16x16               acc 8x16
    CoopmatrixFamily()  (0,0) (0,1) (0,2) ..  (0,0) (0,1) (0,2) ..  (0,0) (0,2) ..
    RowSliceFamily()    (0,0) (1,0) (2,0) ..  (0,0) (1,0) (2,0) ..  (0,0) (1,0) ..
    DpasFamily()        (0,0) (1,0) (2,0) ..  (0,0) (1,0) (2,0) ..  (0,0) (1,0) ..

Laws (test/unit/layout/test_family.py checks each by its name):

    fits      the distribution has the matrix's size and the lanes that were asked for
    refuses   a rule that is for other lanes, sizes or uses raises, naming both
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

from coopc.layout.coopmatrix import CoopmatrixLayout, Use
from coopc.layout.distribution import Distribution, LayoutDistribution, RowSlices
from coopc.layout.dpas import CHANNEL_BITS, DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import Encoding, Operand
from coopc.layout.linear import LinearLayout, log2, spread
from coopc.layout.strided import StridedLayout


def linear_of(x: Distribution) -> LinearLayout:
    """Return a distribution as a linear layout from register and lane.

    Raises:
        ValueError: a size is no power of two, places are padding, or coordinates are
            not the exclusive or of those of the lane and of the register.

    >>> linear_of(RowSlices(4, 4, 8)).bases("lane")
    ((0, 1), (0, 2), (1, 0))
    """
    import numpy as np

    bits = [
        log2(size, name)
        for size, name in (
            (x.rows, "rows"),
            (x.cols, "columns"),
            (x.lanes, "lanes"),
            (x.components, "components"),
        )
    ]
    row, col = x.table()
    if padding := int((row == x.rows).sum()):
        raise ValueError(
            f"expected a matrix without padding, got {x.rows} x {x.cols} over "
            f"{x.lanes} lanes with {padding} places of it"
        )
    packed = row | col << bits[0]
    lanes: list[int] = [int(packed[0, 1 << bit]) for bit in range(bits[2])]
    registers: list[int] = [int(packed[1 << bit, 0]) for bit in range(bits[3])]
    if not np.array_equal(packed, spread(registers)[:, None] ^ spread(lanes)):
        raise ValueError(f"expected a distribution with bases, got {x}")
    return LinearLayout(
        (("register", tuple(registers)), ("lane", tuple(lanes))),
        (("dim0", bits[0]), ("dim1", bits[1])),
    )


DPAS_BITS = (8, 16, 32)
"""The widths of elements that DPAS multiplies."""


@dataclass(frozen=True, slots=True)
class MatrixSpec:
    """What of a matrix's type decides where its elements are."""

    rows: int
    """M, at least 1."""
    cols: int
    """N, at least 1."""
    element_bits: int
    """The width of an element."""
    use: Use
    """Which operand of a product it is."""

    @property
    def shape(self) -> tuple[int, int]:
        """(M, N)."""
        return self.rows, self.cols

    @property
    def operand(self) -> Operand:
        """The operand of DPAS: `c` for what is neither a nor b."""
        return self.use if self.use in ("a", "b") else "c"


class Family(ABC):
    """A rule for matrices of every type; subclasses are frozen values."""

    __slots__ = ()

    @abstractmethod
    def distribution(self, matrix: MatrixSpec, lanes: int) -> Distribution:
        """Return how the lanes hold a matrix.

        Raises:
            ValueError: they cannot hold it so.
        """


@dataclass(frozen=True, slots=True)
class CoopmatrixFamily(Family):
    """The coopmatrix layout of each matrix's type."""

    def distribution(self, matrix: MatrixSpec, lanes: int) -> CoopmatrixLayout:
        return CoopmatrixLayout.of(
            matrix.rows, matrix.cols, matrix.element_bits, matrix.use, lanes
        )


@dataclass(frozen=True, slots=True)
class RowSliceFamily(Family):
    """The row slices of each matrix."""

    def distribution(self, matrix: MatrixSpec, lanes: int) -> RowSlices:
        return RowSlices(matrix.rows, matrix.cols, lanes)


@dataclass(frozen=True, slots=True)
class DpasFamily(Family):
    """Operands of DPAS; a matrix larger than one operand is made of several.

    >>> DpasFamily().distribution(MatrixSpec(8, 16, 16, "a"), 16).element(3, 2)
    (2, 3)
    """

    repeat_count: int = 8
    """rc, rows of A and C of one DPAS: 1, 2, 4 or 8; smaller matrices are padded."""
    execution_size: int | None = None
    """N, 8 or 16; None is the lanes, at most 16."""

    def __post_init__(self) -> None:
        if self.repeat_count not in (1, 2, 4, 8):
            raise ValueError(
                f"expected a repeat count of 1, 2, 4 or 8, got {self.repeat_count}"
            )
        if self.execution_size not in (None, 8, 16):
            raise ValueError(
                f"expected an execution size of 8 or 16, got {self.execution_size}"
            )

    def distribution(self, matrix: MatrixSpec, lanes: int) -> LayoutDistribution:
        if matrix.element_bits not in DPAS_BITS:
            raise ValueError(
                f"expected elements of 8, 16 or 32 bits for DPAS, "
                f"got {matrix.element_bits}"
            )
        encoding = DpasEncoding.of(
            matrix.element_bits,
            lanes,
            repeat_count=self.repeat_count,
            execution_size=self.execution_size,
        )
        return encoding.distribution(matrix.operand, matrix.rows, matrix.cols)


Rule: TypeAlias = Family | Encoding | LinearLayout | StridedLayout | Distribution
"""What says where the elements of a matrix are."""

RULES = (Family, Encoding, LinearLayout, StridedLayout, Distribution)


def distribution(rule: Rule, matrix: MatrixSpec, lanes: int | None) -> Distribution:
    """Return how the lanes hold a matrix by a rule.

    Without lanes they are as many as a rule that is no family has.

    Raises:
        ValueError: the rule is not for such a matrix, or not for so many lanes.
    """
    match rule:
        case Family():
            if lanes is None:
                raise ValueError(f"expected a number of lanes for {rule}, got none")
            return rule.distribution(matrix, lanes)
        case Encoding():
            found = _of_encoding(rule, matrix)
        case LinearLayout() | StridedLayout():
            found = LayoutDistribution.of(rule, matrix.shape)
        case Distribution():
            found = rule
    if found.shape != matrix.shape:
        raise ValueError(
            f"expected a matrix of {found.rows} x {found.cols}, as the layout is, "
            f"got {matrix.rows} x {matrix.cols}"
        )
    if lanes is not None and found.lanes != lanes:
        raise ValueError(
            f"expected {found.lanes} lanes, as the layout has, got {lanes}"
        )
    return found


def _of_encoding(encoding: Encoding, matrix: MatrixSpec) -> Distribution:
    match encoding:
        case DpasEncoding():
            check_channel(encoding, matrix.operand, matrix.element_bits)
            return encoding.distribution(matrix.operand, *matrix.shape)
        case DotOperandEncoding(parent=DpasEncoding() as parent):
            if matrix.operand != encoding.operand:
                raise ValueError(
                    f"expected a matrix of use {encoding.operand}, as opIdx "
                    f"{encoding.op_idx} says, got {matrix.use}"
                )
            check_channel(parent, encoding.operand, matrix.element_bits)
            return parent.distribution(encoding.operand, *matrix.shape)
        case _:
            padded = [1 << (size - 1).bit_length() for size in matrix.shape]
            return LayoutDistribution.of(encoding.linear(padded), matrix.shape)


def check_channel(encoding: DpasEncoding, operand: Operand, element_bits: int) -> None:
    """Check that elements of an operand fit its packing; narrower ones are widened.

    Raises:
        ValueError: the elements are wider than a channel has room for.
    """
    most = CHANNEL_BITS // encoding.ops_per_chan
    if operand != "c" and element_bits > most:
        raise ValueError(
            f"expected elements of at most {most} bits, as opsPerChan = "
            f"{encoding.ops_per_chan} packs them, got {element_bits}"
        )
