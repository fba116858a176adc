"""The Python entry raises one kind of exception and gives what the tool writes."""

import gc
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import coopc
from coopc.compiler import collecting_rarely, new_context
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = "func.func @f() {\n  func.return\n}\n"


def test_text() -> None:
    artifact = coopc.compile(TEXT, "canonicalize", "mlir")
    assert "func.func @f()" in artifact.text
    assert artifact.bytes.decode() == artifact.text


def test_threads() -> None:
    text = (EXAMPLES / "gemm.mlir").read_text()

    def compiled(text: str) -> bytes:
        return coopc.compile(text, "coopc-khr{device=lavapipe}").bytes

    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(compiled, [text] * 8)} == {compiled(text)}


def test_the_collector_is_restored() -> None:
    """Compilations of several threads end in the order in which they began."""
    others = gc.get_threshold()  # of a tool, where one was imported before
    before = (701, 11, 12)
    gc.set_threshold(*before)
    both = collecting_rarely(), collecting_rarely()
    for each in both:
        each.__enter__()
    for each in both:
        assert gc.get_threshold() == (100_000, 20, 20)
        each.__exit__(None, None, None)
    assert gc.get_threshold() == before
    gc.set_threshold(*others)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("func.func @f(", "", "mlir"), "<input>:1:14: error: "),
        ((TEXT, "cse,no-such"), "pass-pipeline:1:5: error: unknown pass 'no-such'"),
        ((TEXT, "", "no-such"), "target:1:1: error: unknown target 'no-such' (have "),
        (
            (TEXT.encode(),),
            "coopc.compile: error: expected text, a Path or a module, got bytes",
        ),
        ((TEXT, None), "coopc.compile: error: expected a pipeline as text, got None"),
    ],
)
def test_what_is_wrong(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(coopc.CompileError) as error:
        coopc.compile(*arguments)
    assert str(error.value).startswith(message)


BRANCHES = """
func.func @f(%m: memref<16x16xf32>, %p : i1)
    attributes {simt.kernel, simt.subgroup_size = 16 : i32} {
  %at = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  %v = coopmatrix.fill %x : f32 -> !coopmatrix.matrix<16x16xf32, acc>
  BEGIN
  cf.cond_br %p, ^next, ^end
^next:
  coopmatrix.store %v, %m[%at, %at] row_major
    : !coopmatrix.matrix<16x16xf32, acc>, memref<16x16xf32>
  cf.br ^end
^end:
  END
  func.return
}"""


@pytest.mark.parametrize(
    "pipeline",
    [
        "coopc-lanes{device=intel-cpu}",
        "coopc-xe{device=bmg}",
        "coopc-amx",
        "coopc-khr{device=intel-cpu}",
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_several_blocks(pipeline: str, inside: bool) -> None:
    """Branches around matrices are refused by name, whatever has them."""
    pair = ("scf.execute_region {", "scf.yield }") if inside else ("", "")
    text = BRANCHES.replace("BEGIN", pair[0]).replace("END", pair[1])
    with pytest.raises(coopc.CompileError) as error:
        coopc.compile(text, pipeline, "spirv")
    first, *_ = str(error.value).split("\n")
    assert re.search("got several blocks|of one block, got 3", first), first


KERNEL = """
func.func @f(%m : memref<?xf32>, %n : index)
    attributes {simt.kernel, simt.work_group_size = array<i32: 8>} {
  func.return
}
"""


def test_a_binary_is_no_text() -> None:
    artifact = coopc.compile(KERNEL, "", "spirv-binary{device=lavapipe}")
    with pytest.raises(coopc.CompileError, match=r"Artifact\.text: error: expected"):
        _ = artifact.text


def test_interface() -> None:
    by_pipeline = coopc.compile(KERNEL, "coopc-khr{device=lavapipe}")
    by_option = coopc.compile(KERNEL, "", "spirv-binary{device=lavapipe}")
    assert by_pipeline == by_option
    assert by_option.bytes.startswith(b"\x03\x02\x23\x07")
    (kernel,) = by_option.interface
    assert (kernel.name, kernel.flavour) == ("f", "vulkan")
    assert [argument.name for argument in kernel.arguments] == ["m", "n"]


def test_a_file(tmp_path: Path) -> None:
    """It is named by diagnostics."""
    (file := tmp_path / "f.mlir").write_text(KERNEL)
    options = "coopc-khr{device=lavapipe}"
    assert coopc.compile(file, options) == coopc.compile(KERNEL, options)
    with pytest.raises(coopc.CompileError, match="error: cannot read the file"):
        coopc.compile(tmp_path / "no.mlir")


def test_a_module_is_not_changed() -> None:
    module = parse(new_context(everything()), Source(KERNEL))
    before = module.clone()
    assert coopc.compile(module, "coopc-khr{device=lavapipe}").interface
    assert module.is_structurally_equivalent(before)


def test_import_imports_nothing() -> None:
    script = "import sys; import coopc; print([m for m in sys.modules if 'xdsl' in m])"
    command = [sys.executable, "-c", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


def test_all_is_there() -> None:
    assert all(getattr(coopc, name) for name in coopc.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(coopc, "nothing")  # noqa: B009
