"""Kernels of Triton from Python, as far as it goes without Triton."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
from support.triton_cases import INPUTS, ROOT

from coopc.diagnostic import CompileError
from coopc.tools import coopc_triton
from coopc.triton.front_end import arguments_of
from coopc.triton.tensor import array
from coopc.triton.version import why_not
from coopc.versions import installed

NAMES = ["x_ptr", "y_ptr", "n", "BLOCK"]
DIVISIBLE = [["tt.divisibility", 16]]


@pytest.mark.parametrize(
    ("signature", "constexprs"),
    [
        ("*fp32:16, *fp32, i32:16", {"BLOCK": 64}),
        ("*fp32:16, *fp32, i32:16, 64", {}),
        ({"x_ptr": "*fp32:16", "y_ptr": "*fp32", "n": "i32:16"}, {"BLOCK": 64}),
    ],
)
def test_signatures(
    signature: str | dict[str, str], constexprs: dict[str, object]
) -> None:
    """With the values of constexprs, as `triton.tools.compile` wants it, or without."""
    types, values, attributes = arguments_of(NAMES, signature, constexprs)
    assert [*types.values()] == ["*fp32", "*fp32", "i32", "constexpr"]
    assert values == {"BLOCK": 64}
    assert attributes == {(0,): DIVISIBLE, (2,): DIVISIBLE}


@pytest.mark.parametrize(
    ("signature", "constexprs", "block"),
    [
        ("*fp32, *fp32, i32", {}, 16),
        ("*fp32, *fp32, i32", {"BLOCK": 64}, 64),
        ("*fp32, *fp32, i32, 32", {}, 32),
        ({"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, {}, 16),
        ({"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "8"}, {}, 8),
    ],
)
def test_constexprs_with_defaults(
    signature: str | dict[str, str], constexprs: dict[str, object], block: int
) -> None:
    types, values, _ = arguments_of(NAMES, signature, constexprs, {"BLOCK": 16})
    assert [*types.values()] == ["*fp32", "*fp32", "i32", "constexpr"]
    assert values == {"BLOCK": block}


def test_descriptors_have_commas() -> None:
    types, _, _ = arguments_of(["d", "n"], "tensordesc<fp16[128, 32]>, i64", {})
    assert types == {"d": "tensordesc<fp16[128, 32]>", "n": "i64"}


@pytest.mark.parametrize(
    ("signature", "constexprs", "message"),
    [
        ("*fp32, i32", {"BLOCK": 64}, "expected 3 types, for x_ptr, y_ptr, n, got 2"),
        ("*fp32, *fp32, i32:8", {"BLOCK": 64}, "expected :16 or :1 behind a type"),
        ("*fp32, *fp32, i32", {"BLOC": 64}, "expected constexprs among x_ptr"),
        ({"x_ptr": "*fp32"}, {"BLOCK": 64}, "a difference in n, y_ptr"),
    ],
)
def test_wrong_signatures(
    signature: str | dict[str, str], constexprs: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        arguments_of(NAMES, signature, constexprs)


@pytest.mark.parametrize("module", ["__init__", "compiler", "driver", "version"])
def test_triton_imports_little(module: str) -> None:
    """Triton imports these modules whoever imports it."""
    tree = ast.parse((ROOT / "coopc" / "triton" / f"{module}.py").read_text())
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
    own = {"coopc.triton.version", "coopc.triton.compiler", "coopc.versions"}
    known = sys.stdlib_module_names | {"triton"}
    assert {x for x in found - own if x.partition(".")[0] not in known} == set()


def test_arrays_share_memory() -> None:
    memory = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = array(memory[:, ::2])
    assert (found.shape, found.stride(), found.stride(0)) == ((3, 2), (4, 2), 4)
    assert found.data_ptr() == memory.ctypes.data
    assert str(found.dtype) == "float32"
    found.zero_()
    assert memory.sum() == memory[:, 1::2].sum()
    assert str(array(np.zeros(2, np.uint16), "bfloat16").dtype) == "bfloat16"
    for wrong in (np.zeros(2, np.float32), np.zeros(2, np.uint8)):
        with pytest.raises(ValueError, match="expected uint16 for bfloat16"):
            array(wrong, "bfloat16")
    with pytest.raises(ValueError, match="expected an array, got int"):
        array(3)


def test_arrays_of_other_types_are_refused() -> None:
    with pytest.raises(ValueError, match="float64, got an array of complex64"):
        array(np.zeros(2, np.complex64))
    with pytest.raises(ValueError, match="float64, got an array of >f4"):
        array(np.zeros(2, ">f4"))
    with pytest.raises(ValueError, match=r"a dtype of bfloat16, .*, got bf16"):
        array(np.zeros(2, np.uint16), "bf16")
    with pytest.raises(ValueError, match="expected uint16 for bfloat16, got float32"):
        array(np.zeros(2, np.float32), "bfloat16")


def test_tool_takes_dumps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also where there is no Triton."""
    path, output = INPUTS / "softmax.ttir", tmp_path / "softmax.out"
    assert coopc_triton.main([str(path), "-t", "ttir"]) == 0
    assert capsys.readouterr().out == path.read_text()
    device = ["--on", "opencl", "-p", "coopc-lanes{device=intel-cpu}"]
    assert coopc_triton.main([str(path), "-o", str(output), *device]) == 0
    assert "OpEntryPoint Kernel" in output.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["k.py"], "expected k.py:FUNCTION, got k.py"),
        (["k.py:f"], "k.py: error: cannot read the file"),
        ([f"{__file__}:f"], 'the types of what f takes, as in "*fp16, i32"'),
        (
            [str(INPUTS / "softmax.ttir"), "--device", "bmg", "--on", "cpu"],
            "expected no device with on='cpu', which compiles for this CPU, got 'bmg'",
        ),
        (
            [str(INPUTS / "softmax.ttir"), "--device", "amx"],
            "expected no --device for code of a CPU, which is this machine's, got amx",
        ),
        (
            [str(INPUTS / "softmax.ttir"), "--on", "vulkan", "-t", "llvm-ir"],
            "expected --on cpu with -t llvm-ir, got vulkan",
        ),
        (
            [str(INPUTS / "softmax.ttir"), "--on", "cpu", "-t", "spirv"],
            "expected --on vulkan|opencl with -t spirv, got cpu",
        ),
        (
            [str(INPUTS / "softmax.ttir"), "-t", "isa", "-o", "none/isa"],
            "none/isa: error: cannot write the file",
        ),
        (["k.py:f", "--signature", "i32", "--constexpr", "B"], "NAME=VALUE, got 'B'"),
        (["k.ttir", "--signature", "i32"], "expected FILE.py:FUNCTION with"),
        (["k.ttir"], "k.ttir: error: cannot read the file"),
    ],
)
def test_wrong_calls_of_the_tool(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert coopc_triton.main(arguments) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("device", ["lavapipe", "bmg"])
def test_a_device_says_where(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert coopc_triton.main([str(INPUTS / "softmax.ttir"), "--device", device]) == 0
    assert capsys.readouterr().out.startswith("; SPIR-V")


def test_files_that_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a file prints when it runs is not output of the tool."""
    path = tmp_path / "prints.py"
    path.write_text("print('printed')\ndef f(): pass\n")
    assert coopc_triton.function_in(path, "f").__name__ == "f"
    assert capsys.readouterr() == ("", "printed\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.nothing", "cannot be imported: AttributeError: module 'sys'"),
        ("import sys; sys.exit(0)", "cannot be imported: SystemExit: 0"),
        ("x = 1", "expected a function f in "),
    ],
)
def test_files_without_the_kernel(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "no_kernel.py"
    path.write_text(text)
    with pytest.raises(CompileError, match=message):
        coopc_triton.function_in(path, "f")


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With both versions named."""
    triton = pytest.importorskip("triton", reason="Triton is not installed")
    monkeypatch.setattr(triton, "__version__", "3.3.0")
    assert why_not() == (
        f"expected Triton 3.9, which coopc {installed('coopc')} is for, "
        "got Triton 3.3.0"
    )
