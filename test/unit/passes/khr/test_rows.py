"""`coopc-khr`: lanes take rows to other matrices, where the device has that.

No driver that is at hand has SPV_QCOM_cooperative_matrix_conversion: spirv-val judges.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.khr_kernels import kernel

import coopc
from coopc.device import Device, device
from coopc.diagnostic import CompileError
from coopc.run.toolchain import validate_spirv

EMIT = Path(__file__).resolve().parents[3] / "emit"
ROWS = EMIT / "Inputs" / "rows.toml"
PIPELINE = f'coopc-khr{{device="{ROWS}"}}'


def converted(operation: str, before: str, after: str) -> str:
    """A kernel that loads a matrix, makes another of it, and stores that."""
    x, y = (f"!coopmatrix.matrix<{each}>" for each in (before, after))
    source, target = (
        f"memref<?x?x{each.partition(',')[0].split('x')[2]}>"
        for each in (before, after)
    )
    body = f"""
  %x = coopmatrix.load %a[%0, %0] row_major : {source} -> {x}
  %y = coopmatrix.{operation} %x : {x} -> {y}
  coopmatrix.store %y, %r[%0, %0] row_major : {y}, {target}"""
    return kernel(body, f"%a: {source}, %r: {target}")


@pytest.mark.parametrize(
    ("operation", "before", "after"),
    [
        ("convert", "64x16xf16, acc", "64x16xf16, a"),
        ("convert", "64x16xf32, acc", "64x16xf16, a"),
        ("transpose", "64x16xf16, acc", "16x64xf16, b"),
        ("transpose", "16x64xf16, b", "64x16xf16, a"),
        ("transpose", "64x32xi8, a", "32x64xi8, b"),
        ("bitcast", "64x16xi32, acc", "64x16xf32, acc"),
        ("convert", "128x32xf16, acc", "128x32xf16, a"),
    ],
)
def test_rows_go_through_lanes(
    operation: str, before: str, after: str, tool: Callable[[str], Path]
) -> None:
    tool("spirv-val")
    text = converted(operation, before, after)
    made = coopc.compile(text, PIPELINE, "spirv").text
    assert "OpControlBarrier" not in made
    assert "Workgroup" not in made.replace("WorkgroupId", "")
    assert "OpCompositeConstructCoopMatQCOM" in made
    assert validate_spirv(coopc.compile(text, PIPELINE).bytes, "vulkan1.3") is None


@pytest.mark.parametrize(
    ("operation", "before", "after"),
    [
        pytest.param("convert", "64x64xf16, a", "64x64xf16, b", id="row to row of b"),
        pytest.param("transpose", "64x64xf16, acc", "64x64xf16, a", id="no column"),
        pytest.param("convert", "64x32xi8, a", "64x32xi32, acc", id="acc of i8"),
        pytest.param("convert", "64x16xf16, a", "64x16xf32, acc", id="a of f32"),
    ],
)
def test_others_are_staged(operation: str, before: str, after: str) -> None:
    made = coopc.compile(converted(operation, before, after), PIPELINE, "spirv").text
    assert "OpControlBarrier" in made
    assert "QCOM" not in made


def test_rows_are_of_a_subgroup(tmp_path: Path) -> None:
    """A work-group that holds matrices has no such instructions."""
    path = tmp_path / "both.toml"
    groups = 'workgroups = [{ work_items = 128, shapes = ["64x16x16 f16 f16 f16"] }]'
    path.write_text(f"{ROWS.read_text(encoding='utf-8')}{groups}\n", encoding="utf-8")
    text = converted(
        "convert",
        "64x16xf16, acc, scope = workgroup",
        "64x16xf16, a, scope = workgroup",
    ).replace("{simt.kernel", "{simt.kernel, simt.work_group_size = array<i32: 128>")
    with pytest.raises(CompileError, match=r"coopmatrix\.convert: expected a matrix"):
        coopc.compile(text, f'coopc-khr{{device="{path}"}}')


def test_the_rules_of_lengths() -> None:
    """32 bytes a lane of a and b, no more rows and columns than lanes, listed sizes."""
    rows = device(str(ROWS))
    assert rows.rows_to_lanes("a", "f16", 64, 16)
    assert rows.rows_to_lanes("b", "f16", 16, 64)
    assert not rows.rows_to_lanes("a", "f16", 32, 16), "not listed"
    assert not replace(rows, subgroup_sizes=(32, 64)).rows_to_lanes("a", "f16", 64, 16)
    deep = replace(
        rows, matrix_shapes=tuple(replace(x, k=2 * x.k) for x in rows.matrix_shapes)
    )
    assert not deep.rows_to_lanes("a", "f16", 64, 32), "64 bytes"
    assert deep.rows_to_lanes("acc", "f32", 64, 64)


def test_the_validator_knows_the_rules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    """A compiler that takes rows of 64 bytes makes modules that are invalid."""
    tool("spirv-val")
    path = tmp_path / "deep.toml"
    shapes = ROWS.read_text(encoding="utf-8").replace("64x16x16 f16", "64x32x32 f16")
    path.write_text(shapes, encoding="utf-8")

    def always(*_: object) -> bool:
        return True

    monkeypatch.setattr(Device, "rows_to_lanes", always)
    text = converted("convert", "64x32xf16, acc", "64x32xf16, a")
    binary = coopc.compile(text, f'coopc-khr{{device="{path}"}}').bytes
    assert "the bit length of 256" in str(validate_spirv(binary, "vulkan1.3"))


def test_a_device_has_what_its_vendor_has() -> None:
    with pytest.raises(
        ValueError, match="expected matrix2_vendor NV or EXT for reductions, got QCOM"
    ):
        replace(device(str(ROWS)), matrix2=frozenset({"reductions", "conversions"}))
