r"""Distributions as linear layouts, where they are: for who wants bases.

A distribution is linear when its sizes are powers of two and it has no padding.  The
inputs are then `register` and `lane`, the outputs `dim0` (rows) and `dim1` (columns).
For example row slices of 4 x 4 elements over 8 lanes:

    lane -> (0,1) (0,2) (1,0)    register -> (2,0)

Laws (test/unit/test_layout_bases.py checks each by its name):

    same      the layout has the coordinates of the distribution
    refuses   what has padding, or other sizes, has no bases
"""

from __future__ import annotations

from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.dimensions import rename_outs, reshape_outs, transpose_outs
from coopc.layout.distribution import Distribution
from coopc.layout.linear import LinearLayout, log2
from coopc.layout.linear_distribution import LinearDistribution
from coopc.layout.row_slice import RowSlices
from coopc.layout.strided import StridedLayout
from coopc.layout.strided_distribution import StridedDistribution

NAMES = ("dim0", "dim1")


def linear_of(x: Distribution) -> LinearLayout:
    """Return a distribution as a linear layout.

    Raises:
        ValueError: a size is no power of two, or places are padding.

    >>> linear_of(RowSlices(4, 4, 8)).bases("lane")
    ((0, 1), (0, 2), (1, 0))
    """
    for size, name in zip(
        (*x.shape, x.lanes), ("rows", "columns", "lanes"), strict=True
    ):
        log2(size, name)
    padding = x.lanes * x.components - x.rows * x.cols
    match x:
        case LinearDistribution(layout=layout):
            whole = tuple(layout.out_sizes.values())
            if x.shape != whole:
                raise ValueError(
                    f"expected a matrix of {whole[0]} x {whole[1]}, as the layout is, "
                    f"got {x.rows} x {x.cols} with padding"
                )
            return rename_outs(layout, dict(zip(layout.out_names, NAMES, strict=True)))
        case CoopmatrixLayout() | RowSlices() if padding:
            raise ValueError(
                f"expected a matrix without padding, got {x.rows} x {x.cols} over "
                f"{x.lanes} lanes with {padding} places of it"
            )
        case CoopmatrixLayout():
            return _of_strided(StridedLayout.of_coopmatrix(x))
        case StridedDistribution(layout=layout):
            return _of_strided(layout)
        case RowSlices():
            return _of_row_slices(x)
        case _:
            raise ValueError(f"expected a distribution with bases, got {x}")


def _of_strided(layout: StridedLayout) -> LinearLayout:
    linear = layout.to_linear()
    named = rename_outs(linear, dict(zip(linear.out_names, NAMES, strict=True)))
    bases = dict(named.ins)
    ins = (("register", bases["component"]), ("lane", bases["lane"]))
    return LinearLayout(ins, named.outs)


def _of_row_slices(x: RowSlices) -> LinearLayout:
    lanes = tuple(1 << bit for bit in range(log2(x.lanes, "lanes")))
    count = log2(x.components, "components")
    registers = tuple(x.lanes << bit for bit in range(count))
    flat = LinearLayout(
        (("register", registers), ("lane", lanes)), (("element", len(lanes) + count),)
    )
    return transpose_outs(reshape_outs(flat, {"dim1": x.cols, "dim0": x.rows}), NAMES)
