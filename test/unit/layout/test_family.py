"""The laws that coopc/layout/family.py states."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coopc.layout.coopmatrix import CoopmatrixLayout, Use
from coopc.layout.distribution import Distribution, LayoutDistribution, RowSlices
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import BlockedEncoding
from coopc.layout.family import (
    CoopmatrixFamily,
    DpasFamily,
    Family,
    MatrixSpec,
    RowSliceFamily,
    Rule,
    distribution,
    linear_of,
)
from coopc.layout.linear import LinearLayout
from coopc.layout.strided import StridedLayout

FAMILIES = (CoopmatrixFamily(), RowSliceFamily(), DpasFamily(), DpasFamily(4, 8))
USES: tuple[Use, ...] = ("a", "b", "acc", "none")

matrices = st.builds(
    MatrixSpec,
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([8, 16, 32]),
    st.sampled_from(USES),
)


@given(st.sampled_from(FAMILIES), matrices, st.sampled_from([8, 16]))
def test_fits(family: Family, matrix: MatrixSpec, lanes: int) -> None:
    x = distribution(family, matrix, lanes)
    assert (x.shape, x.lanes) == (matrix.shape, lanes)
    assert distribution(x, matrix, lanes) == x


DPAS = DpasEncoding(8, 8, 16, 2, 16, (2, 1), (1, 1))
LINEAR = LinearLayout.of(
    {"register": [(1, 0)], "lane": [(0, 1), (0, 2)]}, {"dim0": 2, "dim1": 4}
)
STRIDED = StridedLayout.of(
    {"lane": [(4, (1, 0)), (4, (0, 1))], "component": [(4, (0, 4))]},
    {"row": 4, "col": 15},
)


@pytest.mark.parametrize(
    ("rule", "matrix", "lanes"),
    [
        (DPAS, MatrixSpec(16, 16, 32, "acc"), 32),
        (DPAS, MatrixSpec(13, 15, 16, "a"), 32),
        (DotOperandEncoding(1, DPAS, 2), MatrixSpec(16, 32, 16, "b"), 32),
        (
            BlockedEncoding((1, 2), (4, 4), (1, 1), (1, 0)),
            MatrixSpec(5, 9, 8, "none"),
            16,
        ),
        (LINEAR, MatrixSpec(2, 3, 16, "a"), 4),
        (STRIDED, MatrixSpec(4, 15, 16, "acc"), 16),
    ],
)
def test_other_rules(rule: Rule, matrix: MatrixSpec, lanes: int) -> None:
    x = distribution(rule, matrix, lanes)
    assert (x.shape, x.lanes) == (matrix.shape, lanes)
    assert distribution(rule, matrix, None) == x


def test_family_uses_the_type() -> None:
    """As the table of the module's docstring says."""
    firsts = [
        [distribution(family, matrix, 16).element(0, 1) for family in FAMILIES[:3]]
        for matrix in (
            MatrixSpec(16, 16, 16, "a"),
            MatrixSpec(16, 16, 16, "b"),
            MatrixSpec(8, 16, 16, "acc"),
        )
    ]
    assert firsts == [
        [(0, 1), (1, 0), (1, 0)],
        [(0, 1), (1, 0), (1, 0)],
        [(0, 2), (1, 0), (1, 0)],
    ]


@pytest.mark.parametrize(
    ("rule", "matrix", "lanes", "message"),
    [
        (DPAS, MatrixSpec(16, 16, 32, "acc"), 16, "expected 32 lanes, .* got 16"),
        (
            RowSlices(4, 5, 8),
            MatrixSpec(4, 6, 32, "a"),
            8,
            "matrix of 4 x 5, as the layout is, got 4 x 6",
        ),
        (
            DotOperandEncoding(0, DPAS, 1),
            MatrixSpec(16, 16, 16, "b"),
            32,
            "use a, as opIdx 0 says, got b",
        ),
        (
            DPAS,
            MatrixSpec(16, 16, 32, "a"),
            32,
            "at most 16 bits, as opsPerChan = 2 .* 32",
        ),
        (
            DpasFamily(),
            MatrixSpec(8, 8, 64, "acc"),
            16,
            "8, 16 or 32 bits for DPAS, got 64",
        ),
        (
            CoopmatrixFamily(),
            MatrixSpec(4, 4, 16, "a"),
            None,
            "a number of lanes .* none",
        ),
        (LINEAR, MatrixSpec(4, 4, 16, "a"), 4, "4 x 4 to be within .* 2 x 4"),
    ],
)
def test_refuses(
    rule: Rule, matrix: MatrixSpec, lanes: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        distribution(rule, matrix, lanes)


def test_dpas_family_refuses() -> None:
    with pytest.raises(ValueError, match="repeat count of 1, 2, 4 or 8, got 3"):
        DpasFamily(3)
    with pytest.raises(ValueError, match="execution size of 8 or 16, got 32"):
        DpasFamily(8, 32)


POWERS = st.sampled_from([1, 2, 4, 8, 16, 32])
LANES = st.sampled_from([4, 8, 16])
coopmatrices = st.builds(
    CoopmatrixLayout.of,
    POWERS,
    POWERS,
    st.sampled_from([8, 16, 32]),
    st.sampled_from(["a", "b", "acc"]),
    LANES,
)


@given(st.one_of(coopmatrices, st.builds(RowSlices, POWERS, POWERS, LANES)))
def test_linear_of(x: Distribution) -> None:
    assume(x.lanes * x.components == x.rows * x.cols)
    found = LayoutDistribution.of(linear_of(x))
    assert np.array_equal(found.table(), x.table())
    assert linear_of(found) == linear_of(x)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (RowSlices(7, 9, 16), "size of rows to be a power of two, got 7"),
        (CoopmatrixLayout(4, 15, 16), "size of columns to be a power of two, got 15"),
        (RowSlices(4, 4, 12), "size of lanes to be a power of two, got 12"),
        (RowSlices(2, 4, 16), "2 x 4 over 16 lanes with 8 places of it"),
        (CoopmatrixLayout(2, 4, 16), "2 x 4 over 16 lanes with 8 places of it"),
        (
            DpasEncoding.of(16, 16).distribution("a", 4, 16),
            "4 x 16 over 16 lanes with 64 places of it",
        ),
    ],
)
def test_no_linear_layout(x: Distribution, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        linear_of(x)
