"""Laws of the devices: tables that agree with themselves and with their documents."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.device import (
    AMX,
    BMG,
    DEVICES,
    DG2,
    ELEMENT_BITS,
    INTEL_CPU,
    LAVAPIPE,
    NVIDIA,
    PVC,
    AccessRule,
    BlockShapes,
    Device,
    Limits,
    MatrixShape,
    device,
    signless,
)

every_device = pytest.mark.parametrize("found", DEVICES.values(), ids=DEVICES)


@every_device
def test_device_of_name(found: Device):
    assert device(found.name) is found


def test_unknown_device():
    with pytest.raises(
        ValueError, match=r"'bgm', did you mean 'bmg'\? \(have lavapipe,"
    ):
        device("bgm")
    with pytest.raises(ValueError, match=r"'' \(have lavapipe, nvidia"):
        device("")


@every_device
def test_every_operand_is_held_and_has_a_layout(found: Device):
    for shape in found.matrix_shapes:
        for use, element, rows, cols in shape.operands:
            assert (rows, cols) in found.held(use, element)
            assert (rows, cols) in found.held(use, signless(element))
            assert found.layouts(use, element, rows, cols)


@every_device
def test_every_shape_is_found_by_its_types(found: Device):
    for shape in found.matrix_shapes:
        assert shape in found.multiplications(*shape.elements, shape.saturating)
        others = found.multiplications(*shape.elements, not shape.saturating)
        assert shape not in others


@every_device
def test_sources_are_named(found: Device):
    assert len(found.source) > 20


def test_lavapipe_multiplies_8x8x8_on_8_lanes():
    assert LAVAPIPE.subgroup_sizes == (8,)
    assert [str(shape) for shape in LAVAPIPE.matrix_shapes] == [
        "8x8x8 f16 * f16 + f16 -> f16",
        "8x8x8 f16 * f16 + f32 -> f32",
        "8x8x8 u8 * u8 + u32 -> u32",
        "8x8x8 s8 * s8 + s32 -> s32",
    ]


def test_nvidia_lists_what_an_h200_lists():
    listed = """
        16x16x16 f16 f16, 16x8x16 f16 f16, 16x8x8 f16 f16,
        16x16x16 f16 f32, 16x8x16 f16 f32, 16x8x8 f16 f32,
        16x16x32 u8 u32, 16x16x32 s8 s32, 16x8x32 u8 u32, 16x8x32 s8 s32,
        16x16x16 bf16 f32
    """
    found = {f"{x.m}x{x.n}x{x.k} {x.a} {x.result}" for x in NVIDIA.matrix_shapes}
    assert found == {re.sub(r"\s+", " ", entry).strip() for entry in listed.split(",")}
    assert all(x.a == x.b and x.c == x.result for x in NVIDIA.matrix_shapes)


@pytest.mark.parametrize("found", [DG2, PVC, BMG], ids=["dg2", "pvc", "bmg"])
def test_khr_shapes_of_xe_are_whole_dpas(found: Device):
    dpas = found.dpas
    assert dpas is not None
    for shape in (*found.matrix_shapes, *found.tf32_shapes):
        bits = ELEMENT_BITS[shape.a]
        assert (shape.n, shape.k) == (dpas.lanes, dpas.k(bits))
        assert shape.m <= 8 or shape.m % 8 == 0


@pytest.mark.parametrize("found", [INTEL_CPU, AMX], ids=["intel-cpu", "amx"])
def test_shapes_of_amx_fit_tiles(found: Device):
    for shape in found.matrix_shapes:
        element_bytes = 1 if shape.a in ("s8", "u8") else 2
        assert shape.m <= 16
        assert shape.n * 4 <= 64
        assert shape.k * element_bytes <= 64


def test_column_major_a_of_xe_is_8_rows():
    assert "col_major" in BMG.layouts("a", "f16", 8, 16)
    assert "col_major" not in BMG.layouts("a", "f16", 16, 16)
    assert "col_major" not in DG2.layouts("a", "f16", 8, 16)
    assert DG2.layouts("b", "s8", 32, 8) == ("col_major", "packed")


def test_signs_of_an_accumulator_are_free_where_they_change_nothing():
    (shape,) = LAVAPIPE.multiplications("s8", "s8", "u32", "u32")
    assert shape.result == "s32"
    assert not LAVAPIPE.multiplications("s8", "u8", "s32", "s32")
    saturating = replace(LAVAPIPE.matrix_shapes[3], saturating=True)
    other = replace(LAVAPIPE, matrix_shapes=(saturating,))
    assert other.multiplications("s8", "s8", "s32", "s32", True) == (saturating,)
    assert not other.multiplications("s8", "s8", "u32", "u32", True)


def test_block_io():
    io = BMG.block_io
    assert io is not None
    assert io.has("load", 16, 16, 32, 2)
    assert not io.has("load", 16, 16, 7, 1)
    assert not io.has("load", 16, 16, 32, 4)
    assert [x for x in (1, 2, 4, 8, 16, 32) if io.has("load", 16, 4, x, 2)] == [
        *(8, 16, 32)
    ]
    assert [x for x in (1, 2, 4, 8, 16, 32) if io.has("load", 8, 4, x, 4)] == [16, 32]
    assert io.has("load", 8, 16, 1, 4)
    assert not any(io.has("transpose", 16, w, 8, 1) for w in (1, 2, 4, 8, 16))
    assert io.has("transpose", 32, 8, 32, 1)
    assert not io.has("store", 16, 16, 16, 1)
    assert io.has("transform", 16, 32, 2, 1)
    assert PVC.block_io is not None
    assert not PVC.block_io.has("transform", 16, 32, 2, 1)


@given(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2))
def test_matrix_shape_is_positive(m: int, n: int, k: int):
    if min(m, n, k) >= 1:
        assert MatrixShape(m, n, k, "f16", "f16", "f32", "f32").m == m
        return
    with pytest.raises(ValueError, match=f"at least 1, got {m}, {n}, {k}"):
        MatrixShape(m, n, k, "f16", "f16", "f32", "f32")


def test_wrong_tables_are_refused():
    with pytest.raises(ValueError, match=r"expected an element type of .*, got i8"):
        MatrixShape(8, 8, 8, "i8", "i8", "s32", "s32")
    with pytest.raises(ValueError, match="all to be integers, got s8, s8, f32, f32"):
        MatrixShape(8, 8, 8, "s8", "s8", "f32", "f32")
    with pytest.raises(ValueError, match="which can saturate, got f32"):
        MatrixShape(8, 8, 8, "f16", "f16", "f32", "f32", saturating=True)
    with pytest.raises(ValueError, match="the one with a packed layout, got a"):
        AccessRule("a", ("packed",))
    with pytest.raises(ValueError, match="signless element types, got s8"):
        AccessRule("a", ("row_major",), elements=("s8",))
    with pytest.raises(ValueError, match="at most work_items = 8, got"):
        Limits(8, (16, 1, 1), 1, 4, 256)
    with pytest.raises(ValueError, match="at most 64 bytes in all blocks, got 128"):
        BlockShapes(16, 32, (1,), (1, 2))


def test_contradicting_devices_are_refused():
    with pytest.raises(ValueError, match=r"subgroup size of \(8,\), got 16"):
        replace(LAVAPIPE, subgroup_size=16)
    with pytest.raises(ValueError, match="powers of two, got 12"):
        replace(LAVAPIPE, subgroup_sizes=(8, 12))
    with pytest.raises(ValueError, match="work-items to hold a subgroup, got 2048"):
        replace(LAVAPIPE, subgroup_sizes=(8, 2048))
    with pytest.raises(ValueError, match="expected the 16 lanes of DPAS"):
        replace(BMG, subgroup_size=32)
    with pytest.raises(ValueError, match="expected each matrix shape once"):
        replace(LAVAPIPE, matrix_shapes=LAVAPIPE.matrix_shapes * 2)
    with pytest.raises(ValueError, match="expected a form of bf16, which 16x16x16"):
        replace(NVIDIA, bfloat16=None)
    with pytest.raises(ValueError, match=r"a layout for acc, 8 x 8 of f16"):
        replace(LAVAPIPE, accesses=LAVAPIPE.accesses[:2])
