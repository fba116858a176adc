"""Which cooperative matrices a device is trusted with."""

from dataclasses import replace

import pytest

from coopc.spirv.facts import MatrixProduct, SpirvMatrix, why_unlisted

F16 = MatrixProduct(8, 8, 8, "f16", "f16", "f32", "f32")
S8 = MatrixProduct(8, 4, 16, "s8", "s8", "s32", "s32")
LISTED = (F16, S8)


def test_listed():
    types = [
        SpirvMatrix(8, 8, "f16", "a"),
        SpirvMatrix(16, 4, "u8", "b"),
        SpirvMatrix(8, 4, "u32", "c"),
    ]
    assert why_unlisted(LISTED, [F16, S8], types) is None


@pytest.mark.parametrize(
    "shape",
    [
        replace(F16, m=16),
        replace(F16, n=16),
        replace(F16, k=16),
        replace(F16, c="f16"),
        replace(F16, result="f16"),
        replace(S8, b="u8"),
        replace(S8, saturating=True),
        replace(S8, scope="workgroup"),
    ],
    ids=str,
)
def test_every_part_of_a_shape_counts(shape: MatrixProduct):
    assert str(shape) in (why_unlisted(LISTED, [shape]) or "")


@pytest.mark.parametrize(
    "matrix",
    [
        SpirvMatrix(16, 4, "u8", "a"),
        SpirvMatrix(8, 16, "u8", "b"),
        SpirvMatrix(8, 8, "f16", "c"),
        SpirvMatrix(8, 8, "f16", "a", "workgroup"),
    ],
    ids=str,
)
def test_matrix_that_is_not_multiplied_counts(matrix: SpirvMatrix):
    assert str(matrix) in (why_unlisted(LISTED, [], [matrix]) or "")


def test_message_names_what_is_listed():
    assert why_unlisted([F16], [S8]) == (
        "expected a listed matrix shape, got 8x4x16 s8 * s8 + s32 -> s32, subgroup "
        "(listed: 8x8x8 f16 * f16 + f32 -> f32, subgroup)"
    )
