"""`coopc-khr`: matrices that the subgroups of a work-group hold together.

No driver that is at hand has them: spirv-val judges, and the simulator runs them.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import coopc
from coopc.compiler import new_context
from coopc.device import device
from coopc.diagnostic import CompileError
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.toolchain import validate_spirv
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

EMIT = Path(__file__).resolve().parents[3] / "emit"
DEVICE = EMIT / "Inputs" / "workgroup.toml"
PIPELINE = f'coopc-khr{{device="{DEVICE}"}}'
TEXT = (EMIT / "matrix_workgroup.mlir").read_text(encoding="utf-8")


NAMED = "coopmatrix.spec_constant @S = 2 : i32\n" + TEXT.replace(
    "= workgroup>", "= @S>"
)


@pytest.mark.parametrize("text", [TEXT, NAMED], ids=["literal", "named"])
def test_is_valid(text: str, tool: Callable[[str], Path]) -> None:
    tool("spirv-val")
    binary = coopc.compile(text, PIPELINE).bytes
    assert validate_spirv(binary, "vulkan1.3") is None


@pytest.mark.parametrize("pipeline", ["", PIPELINE])
def test_four_subgroups_multiply(pipeline: str) -> None:
    """Before and after the pipeline, on the simulator."""
    universe = everything()
    source, context = Source(TEXT, "test"), new_context(universe)
    module = parse(context, source)
    Run(context, source).apply(module, read_passes(pipeline, universe.all_passes))
    random = np.random.default_rng(1)
    a, b = (
        random.integers(-4, 5, shape).astype(np.float16)
        for shape in ((64, 96), (96, 64))
    )
    c = np.zeros((64, 64), np.float32)
    simulate(module, "k", [a, b, c, np.int64(96)], grid=(1, 1, 1))
    np.testing.assert_array_equal(c, -(a.astype(np.float32) @ b.astype(np.float32)))


def test_work_groups_of_a_size_multiply_what_is_listed_for_it() -> None:
    """Multiples of 32 x 64 x 16 with 256 work-items, of 32 x 32 x 16 with 128."""
    narrow = TEXT.replace("x64xf16, b", "x32xf16, b").replace("64x64xf32", "64x32xf32")
    coopc.compile(narrow, PIPELINE)
    wide = "simt.work_group_size = array<i32: 256>"
    text = TEXT.replace("simt.work_group_size = array<i32: 128>", wide)
    coopc.compile(text, PIPELINE)
    text = narrow.replace("simt.work_group_size = array<i32: 128>", wide)
    with pytest.raises(CompileError, match="expected a matrix of scope subgroup"):
        coopc.compile(text, PIPELINE)


@pytest.mark.parametrize("text", [TEXT, NAMED], ids=["literal", "named"])
def test_other_work_groups_are_refused(text: str) -> None:
    text = text.replace("array<i32: 128>", "array<i32: 64>")
    with pytest.raises(
        CompileError,
        match="has matrices of scope subgroup or, of 128 or 256 work-items, workgroup",
    ):
        coopc.compile(text, PIPELINE)


def test_a_work_group_is_of_one_subgroup_where_the_device_has_no_other() -> None:
    """Its matrices are then those of the subgroup, which are cut."""
    text = TEXT.replace("array<i32: 128>", "array<i32: 32>")
    made = coopc.compile(text, "coopc-khr{device=nvidia}", "spirv").text
    assert "OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16" in made


def test_only_together() -> None:
    """Control flow in which subgroups differ has no matrices of a work-group."""
    text = TEXT.replace(
        "  %h = coopmatrix.neg %d : !c\n",
        """  %id = simt.subgroup_id : index
  %is = arith.cmpi eq, %id, %0 : index
  scf.if %is {
    coopmatrix.store %d, %c[%0, %0] row_major : !c, memref<?x?xf32>
  }
  %h = coopmatrix.neg %d : !c
""",
    )
    with pytest.raises(CompileError, match="same for all work-items of the work-group"):
        coopc.compile(text, PIPELINE)


def test_sizes_are_multiples() -> None:
    found = device(str(DEVICE))
    assert found.holds("a", "f16", (64, 48), "workgroup")
    assert not found.holds("a", "f16", (64, 40), "workgroup")
    assert not found.holds("a", "f16", (64, 48), "subgroup")
    elements = ("f16", "f16", "f32", "f32")
    assert found.multiplication((32, 96, 16), elements, False, "workgroup")
    assert not found.multiplication((32, 96, 16), elements, False, "device")
