"""LLVM IR for Intel GPUs, through LLVM's SPIR-V back end to Intel's compiler.

What Intel's compiler makes of the kernels in test/emit/xe is to be what it makes of
coopc's own SPIR-V: their RUN lines say what, and test_xe_gemm.py how short their loops
are.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from support.toolchain import is_locked

import coopc
from coopc.run.isa import CLEAN, Isa
from coopc.run.offline_compiler import compile_kernel

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

KERNELS = Path(__file__).parents[2] / "emit" / "xe"

BACK_END = """
import sys
import llvmlite.binding as llvm

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
extensions = (
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_INTEL_subgroups", "SPV_INTEL_2d_block_io", "SPV_INTEL_split_barrier",
    "SPV_INTEL_subgroup_matrix_multiply_accumulate", "SPV_INTEL_bfloat16_conversion",
    "SPV_INTEL_cache_controls", "SPV_INTEL_tensor_float32_conversion",
)
llvm.set_option("coopc", "--spirv-ext=" + ",".join(f"+{x}" for x in extensions))
module = llvm.parse_assembly(sys.stdin.read())
module.verify()
triple = "spirv64-unknown-unknown"
machine = llvm.Target.from_triple(triple).create_target_machine(opt=0)
module.triple, module.data_layout = triple, str(machine.target_data)
sys.stdout.buffer.write(machine.emit_object(module))
"""
"""In a process of its own: it aborts on calls that it cannot take.

Without optimisation, which gives the K loops of A B^T a second variable that Intel's
compiler does not undo: 1 to 3 instructions a step more.
"""


def spirv(text: str) -> bytes:
    """SPIR-V that LLVM makes of LLVM IR for spir64."""
    command = [sys.executable, "-c", BACK_END]
    done = subprocess.run(command, input=text.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="session")
def compiled(tool: Callable[[str], Path], tmp_path_factory: Any) -> Any:
    """Compile a kernel of test/emit/xe through LLVM; check it; return the counts."""
    tool("ocloc")
    validator = tool("spirv-val")
    folder = tmp_path_factory.mktemp("spir64")

    def compile(stem: str, device: str, registers: int | None) -> Isa:
        text = (KERNELS / f"{stem}.mlir").read_text()
        module = coopc.compile(text, "", f"llvm-ir{{device={device}}}").text
        binary = spirv(module)
        path = folder / f"{stem}.{device}.spv"
        path.write_bytes(binary)
        command = [str(validator), "--target-env", "spv1.4", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return compile_kernel(binary, device, registers=registers)

    return compile


@dataclass(frozen=True)
class Golden:
    """What a RUN line of a kernel expects of it."""

    stem: str
    device: str
    registers: int | None
    expected: tuple[tuple[str, int], ...]


def totals() -> dict[tuple[str, str], int]:
    """Instructions of a step of the GEMMs, by kernel and device."""
    path = Path(__file__).with_name("test_xe_gemm.py")
    spec = spec_from_file_location("xe_gemm_for_llvm", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TOTALS


def goldens() -> list[Golden]:
    """What all kernels expect that Intel's compiler takes."""
    found: list[Golden] = []
    for path in sorted(KERNELS.glob("*.mlir")):
        text = path.read_text().replace("\\\n// RUN:", " ")
        for line in re.findall(r"RUN: coopc-isa %s (.*)", text):
            words = shlex.split(line)
            devices = words[words.index("--device") + 1].split(",")
            registers = None
            if "--registers" in words:
                registers = int(words[words.index("--registers") + 1])
            pairs = [w.rsplit("=", 1) for w in words[words.index("--expect") + 1 :]]
            expected = tuple((name, int(n)) for name, n in pairs)
            found += [Golden(path.stem, each, registers, expected) for each in devices]
    return found


@pytest.mark.parametrize("golden", goldens(), ids=lambda g: f"{g.stem}-{g.device}")
def test_kernel_is_what_it_is_from_spirv(golden: Golden, compiled: Any) -> None:
    isa = compiled(golden.stem, golden.device, golden.registers)
    assert isa.check({**CLEAN, **dict(golden.expected)}) == ()
    bound = totals().get((golden.stem, golden.device))
    if bound is not None and is_locked("intel-ocloc", "libigc2"):
        assert isa.check({}, {"inner.total": bound}) == ()
