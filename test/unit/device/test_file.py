"""Devices of files: what is read, what is the base's, and what mistakes are told."""

import json
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import coopc
from coopc.compiler import new_context
from coopc.device import BMG, DEVICES, NVIDIA, Device, MatrixShape, device
from coopc.device.file import REQUIRED, VERSION, written
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.toolchain import why_invalid
from coopc.run.vulkan import TARGET_ENV
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.spirv.facts import spirv_facts
from coopc.tools.help import listed
from coopc.universe import everything

EXAMPLES = Path(__file__).parents[3] / "examples"
ENGINE = """
version = 1
family = "vulkan"
source = "the engine's manual, section 3"
flavours = ["vulkan"]
subgroup_sizes = [32]
matrix_shapes = ["16x16x32 f16 f16 f32", "16x16x32 s8 s8 s32 saturating"]
scalars = ["f16", "i8"]

[limits]
work_items = 512
work_group_size = [512, 512, 64]
local_bytes = 32768
max_vector = 4
argument_bytes = 128
binding_bytes = 134217728
"""


def read(tmp_path: Path, text: str, name: str = "engine.toml") -> Device:
    file = tmp_path / name
    file.write_text(text)
    return device(str(file))


def test_a_file_describes_a_device(tmp_path: Path):
    found = read(tmp_path, ENGINE)
    assert (found.name, found.title, found.subgroup_size) == ("engine", "engine", 32)
    assert found.limits.work_group_size == (512, 512, 64)
    assert found.scalars == {"f16", "i8"}
    products = MatrixShape(16, 16, 32, "f16", "f16", "f32", "f32")
    assert found.matrix_shapes[0] == products
    assert found.matrix_shapes[1].saturating
    assert found.layouts("b", "f16", 32, 16) == ("row_major", "col_major")


@pytest.mark.parametrize("base", DEVICES.values(), ids=DEVICES)
def test_a_file_that_only_extends_is_the_device(base: Device, tmp_path: Path):
    text = f'version = 1\nextends = "{base.name}"'
    assert read(tmp_path, text) == replace(base, name="engine")


def test_tables_extend_tables(tmp_path: Path):
    text = 'version = 1\nextends = "nvidia"\n[limits]\nlocal_bytes = 1024'
    found = read(tmp_path, text)
    assert found.limits == replace(NVIDIA.limits, local_bytes=1024)
    # The file that is extended is found beside the one that extends it.
    other = 'version = 1\nextends = "engine.toml"\nname = "other"'
    assert read(tmp_path, other, "other.toml") == replace(found, name="other")


def test_json_is_read_as_well(tmp_path: Path):
    shape = dict(zip("mnk", (8, 16, 16), strict=True))
    types = {"a": "f16", "b": "f16", "c": "f32", "result": "f32"}
    given = {
        "limits": {"local_bytes": 65536},
        "block_io": {"pitch_alignment": 32},
        "matrix_shapes": [shape | types],
    }
    text = json.dumps({"version": 1, "extends": "bmg", **given})
    found = read(tmp_path, text, "engine.json")
    assert found.block_io is not None
    assert BMG.block_io is not None
    assert found.block_io == replace(BMG.block_io, pitch_alignment=32)
    assert [str(x) for x in found.matrix_shapes] == ["8x16x16 f16 * f16 + f32 -> f32"]


@pytest.mark.parametrize("key", REQUIRED)
def test_what_is_required(key: str, tmp_path: Path):
    data = {x: y for x, y in tables(ENGINE).items() if x != key}
    with pytest.raises(
        ValueError, match=f"expected {key}, or a device that it extends"
    ):
        read(tmp_path, json.dumps(data), "engine.json")


def tables(text: str) -> dict[str, object]:
    return tomllib.loads(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 1", "", "expected version = 1, got none"),
        ("version = 1", "version = 2", "expected version = 1, got 2"),
        ('family = "vulkan"', 'family = "vulcan"', "family: expected vulkan or xe or"),
        ("scalars", "scalers", "scalers: unknown key, did you mean 'scalars'"),
        ("work_items", "workitems", "limits.workitems: unknown key, did you mean"),
        (
            "work_items = 512",
            'work_items = "512"',
            "work_items: expected an int",
        ),
        ("work_items = 512", "work_items = true", "work_items: expected an int"),
        ("work_items = 512\n", "", "limits: expected work_items"),
        ("work_items = 512", "work_items = 0", "limits: expected limits of at least 1"),
        ("[512, 512, 64]", "[512, 512]", "work_group_size: expected 3 items, got 2"),
        ("[32]", "32", "subgroup_sizes: expected a list, got 32"),
        ("[32]", "[48]", "engine: expected subgroup sizes that are powers of two"),
        ("16x16x32 f16", "16x16 f16", r"matrix_shapes\[0\]: expected M x N x K and"),
        ("f16 f16 f32", "f16 f17 f32", r"matrix_shapes\[0\]: expected an element type"),
        ("version = 1", 'version = 1\nextends = "nvida"', "did you mean 'nvidia'"),
        ("version = 1", "version = 1\nextends = 3", "expected the name of a device"),
        ("[limits]", "[limits", "expected TOML, got other text: .*at line 10"),
        ("[limits]", "[[limits]]", "expected limits to be a table"),
    ],
)
def test_mistakes(old: str, new: str, message: str, tmp_path: Path):
    assert old in ENGINE
    with pytest.raises(ValueError, match=f"engine.toml: .*{message}"):
        read(tmp_path, ENGINE.replace(old, new))


def test_binary(tmp_path: Path):
    (file := tmp_path / "engine.toml").write_bytes(b"a = 1 \xff")
    expected = "expected text in UTF-8, got byte 0xff at byte 6"
    with pytest.raises(ValueError, match=f"engine.toml: {expected}"):
        device(str(file))


def test_no_such_file(tmp_path: Path):
    with pytest.raises(ValueError, match=r"none.toml: No such file"):
        device(str(tmp_path / "none.toml"))


EMIT = Path(__file__).resolve().parents[2] / "emit" / "Inputs"
EVERY = {
    **DEVICES,
    "any": device("any{subgroup-size=32}"),
    **{name: device(str(EMIT / f"{name}.toml")) for name in ("rows", "workgroup")},
}


@pytest.mark.parametrize("found", EVERY.values(), ids=EVERY)
def test_written(found: Device, tmp_path: Path):
    """A device that is written is read again as it is: as TOML, and as its fields."""
    assert read(tmp_path, written(found)) == found
    text = json.dumps({"version": VERSION, **asdict(found)}, default=sorted)
    assert read(tmp_path, text, "engine.json") == found


def test_texts_are_written_with_escapes(tmp_path: Path):
    odd = replace(NVIDIA, title='a "b" \\ c\n\t', source="\u00e9 \u2202")
    assert read(tmp_path, written(odd)) == odd


def test_files_that_extend_each_other(tmp_path: Path):
    (tmp_path / "other.toml").write_text('version = 1\nextends = "engine.toml"')
    with pytest.raises(ValueError, match=r"engine\.toml extends this file"):
        read(tmp_path, 'version = 1\nextends = "other.toml"')


def test_a_package_adds_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "engines.py").write_text(
        "from dataclasses import asdict, replace\n"
        "from coopc.device import NVIDIA\n"
        "ENGINE = replace(NVIDIA, name='engine')\n"
    )
    about = tmp_path / "engines-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: engines\nVersion: 1.0\n"
    )
    points = (
        *("engine = engines:ENGINE", "number = engines:__name__"),
        "absent = engines:ABSENT",
    )
    (about / "entry_points.txt").write_text("\n".join(("[coopc.devices]", *points)))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert device("engine") == replace(NVIDIA, name="engine")
    with pytest.raises(ValueError, match="did you mean 'engine'"):
        device("engin")
    with pytest.raises(ValueError, match="engines:__name__ of 'number' to be a Device"):
        device("number")
    with pytest.raises(ValueError, match="engines:ABSENT of 'absent' cannot be loaded"):
        device("absent")
    table, _ = listed("devices").split("\n\n")
    rows = dict(line.split(maxsplit=1) for line in table.splitlines())
    assert rows["engine"] == device("engine").summary
    assert rows["absent"].startswith("the entry point engines:ABSENT of 'absent'")


GEMM = """
func.func @k(%a: memref<16x32xf16>, %b: memref<32x16xf16>, %c: memref<16x16xf32>)
    attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%c0, %c0] row_major
      : memref<16x32xf16> -> !coopmatrix.matrix<16x32xf16, a>
  %y = coopmatrix.load %b[%c0, %c0] row_major
      : memref<32x16xf16> -> !coopmatrix.matrix<32x16xf16, b>
  %z = coopmatrix.load %c[%c0, %c0] row_major
      : memref<16x16xf32> -> !coopmatrix.matrix<16x16xf32, acc>
  %r = coopmatrix.mul_add %x, %y, %z : !coopmatrix.matrix<16x32xf16, a>,
      !coopmatrix.matrix<32x16xf16, b>, !coopmatrix.matrix<16x16xf32, acc>
  coopmatrix.store %r, %c[%c0, %c0] row_major
      : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  func.return
}
"""


def test_a_kernel_is_compiled_for_the_device_of_a_file(tmp_path: Path):
    file = tmp_path / "engine.toml"
    file.write_text(ENGINE)
    found = coopc.compile(GEMM, f'coopc-khr{{device="{file}"}}', "spirv")
    assert found.text.count("OpCooperativeMatrixMulAddKHR") == 1


@pytest.mark.parametrize("sizes", [(16, 16, 32), (32, 16, 64), (5, 7, 9)])
def test_an_imaginary_engine_is_simulated(sizes: tuple[int, int, int], tmp_path: Path):
    """What a kernel becomes for it: one tile, several, and none that divides."""
    m, n, k = sizes
    text = GEMM.replace("16x32x", f"{m}x{k}x").replace("32x16x", f"{k}x{n}x")
    text = text.replace("16x16x", f"{m}x{n}x")
    file = tmp_path / "engine.toml"
    file.write_text(ENGINE)
    universe, source = everything(), Source(text)
    ctx = new_context(universe)
    module = parse(ctx, source)
    steps = read_passes(f'coopc-khr{{device="{file}"}}', universe.all_passes)
    Run(ctx, source).apply(module, steps)
    tiles = re.findall(r"mul_add.*matrix<(\d+)x(\d+)xf16, b>", str(module))
    assert set(tiles) == ({("32", "16")} if m % 16 == 0 else set())
    a, b = (np.arange(x * y).reshape(x, y) % 7 - 3 for x, y in ((m, k), (k, n)))
    c = np.ones((m, n), np.float32)
    expected = a @ b + c
    arrays = [a.astype("f2"), b.astype("f2"), c]
    simulate(module, "k", arrays, grid=(1, 1, 1), subgroup_size=32)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("staged", ["false", "true"])
@pytest.mark.parametrize(
    "text", [GEMM, (EXAMPLES / "matmul.mlir").read_text()], ids=["gemm", "matmul"]
)
def test_kernels_are_valid_on_an_imaginary_engine(
    text: str, staged: str, tmp_path: Path, tool: Callable[[str], Path]
):
    """Of 16x16x32 tiles and 32 lanes, which only a file describes."""
    tool("spirv-val")
    file = tmp_path / "engine.toml"
    file.write_text(ENGINE)
    pipeline = f'coopc-khr{{device="{file}" staged={staged}}}'
    found = coopc.compile(text, pipeline, "spirv-binary").bytes
    assert why_invalid(found, TARGET_ENV) is None
    assert {(x.m, x.n, x.k) for x in spirv_facts(found).multiplications} == {
        (16, 16, 32)
    }
