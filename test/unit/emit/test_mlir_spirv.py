"""What -t mlir-spirv prints, through upstream's mlir-translate, on a driver."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coopc
from coopc.device import device
from coopc.diagnostic import CompileError
from coopc.dialects.spirv import OPERATIONS
from coopc.emit.spirv.mlir_spirv import EXTENDED, LACKING, SPELLED
from coopc.generate.random_programs import RandomProgram, random_program
from coopc.interface_call import pack
from coopc.run import toolchain, vulkan
from coopc.run.arguments import encode
from coopc.run.execute import on_vulkan
from coopc.spirv.grammar_table import (
    ENUMERATIONS,
    EXTENDED_INSTRUCTIONS,
    INSTRUCTIONS,
    MASKS,
)

PIPELINE = "coopc-khr{device=lavapipe}"
PROGRAMS = 12
SECONDS = 120.0
"""For a driver's compiler on a machine that is busy."""
STRUCTURE = re.compile(
    "Op(Type.*|.*Constant.*|Function(Parameter|End)?|.*(Decorat|Name).*|Phi|.*Merge|"
    "Label|Nop|String|.*Line|Source.*|.*Extension|ExtInst.*|MemoryModel|Capability|"
    "ModuleProcessed|EntryPoint|ExecutionMode(Id)?)"
)
"""Instructions that are no operation of the dialect, or written by hand."""
NOT_DECLARED = {
    "spirv.CL.printf",
    "spirv.CopyMemory",
    *(f"spirv.{x}" for x in ("MatrixTimesMatrix", "MatrixTimesVector", "Transpose")),
    "spirv.VectorTimesMatrix",
}
"""Operations of upstream for which emission has no use."""


def serialized(text: str) -> bytes:
    """The binary that upstream makes of a text, which must be valid."""
    flags = ("--no-implicit-module", "--serialize-spirv")
    binary, message = toolchain.run_filter("mlir-translate", *flags, data=text.encode())
    assert message is None, f"{message}\n{text}"
    assert toolchain.validate_spirv(binary, "vulkan1.3") is None, text
    return binary


def unknown(tool: Path, lines: list[str], word: str) -> set[int]:
    """Which lines mlir-opt refuses by an error with a word in it."""
    flags = ("--split-input-file", "-")
    text = "\n// -----\n".join(lines)
    done = subprocess.run(
        [tool, *flags, "--allow-unregistered-dialect"],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    errors = re.findall(rf":(\d+):\d+: error: .*{word}", done.stderr.decode())
    return {(int(line) - 1) // 2 for line in errors}


def test_instructions_that_upstream_has(tool: Callable[[str], Path]) -> None:
    names: list[str] = []
    for name in INSTRUCTIONS:
        found = re.fullmatch(r"Op(.+?)(KHR|EXT|INTEL)?", name)
        assert found is not None, name
        vendor = f"{found[2]}." if found[2] else ""
        if not STRUCTURE.fullmatch(name):
            names.append(f"spirv.{vendor}{found[1]}")
    for instructions, prefix in EXTENDED.items():
        names += [f"spirv.{prefix}.{x}" for x in EXTENDED_INSTRUCTIONS[instructions]]
    lacking = unknown(tool("mlir-opt"), names, "is unknown")
    has = {name for n, name in enumerate(names) if n not in lacking}
    assert has == OPERATIONS.keys() & {*names} | NOT_DECLARED


def capabilities() -> Iterator[tuple[str, str]]:
    """Capabilities, extensions and modes, each with an attribute that names it."""
    for name, (_, _, _, extension, _) in ENUMERATIONS["Capability"].items():
        if extension not in LACKING:
            yield name, f"#spirv.vce<v1.6, [{SPELLED.get(name, name)}], []>"
    for name in ENUMERATIONS["ExecutionMode"]:
        yield name, f"#spirv.execution_mode<{name}>"
    tables = (INSTRUCTIONS, *ENUMERATIONS.values(), *MASKS.values())
    for name in sorted(
        {row[3] for table in tables for row in table.values() if row[3]}
    ):
        yield name, f"#spirv.vce<v1.6, [], [{name}]>"


def test_capabilities_that_upstream_lacks(tool: Callable[[str], Path]) -> None:
    cases = list(capabilities())
    lines = [f'"a.b"() {{x = {text}}} : () -> ()' for _, text in cases]
    lacking = {cases[n][0] for n in unknown(tool("mlir-opt"), lines, "")}
    assert lacking == LACKING


@pytest.mark.parametrize("types", [("f16", "f32"), ("i8", "i32")])
def test_gemm(types: tuple[str, str], root: Path, lavapipe: vulkan.Session) -> None:
    text = (root / "examples/gemm.mlir").read_text()
    text = text.replace("xf16", f"x{types[0]}").replace("f32", types[1])
    text = text.replace("0.0 : i32", "0 : i32")
    artifact = coopc.compile(text, PIPELINE)
    binary = serialized(coopc.compile(text, PIPELINE, "mlir-spirv").text)
    random = np.random.default_rng(1)
    a = encode(random.integers(0, 9, (48, 80)), types[0])
    b = encode(random.integers(0, 9, (80, 32)), types[0])
    call = pack(artifact.interface[0], [a, b, encode(np.zeros((48, 32)), types[1])])
    found = on_vulkan(binary, call, session=lavapipe).arrays[2]
    np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64))


def test_random_programs(lavapipe: vulkan.Session, tool: Callable[[str], Path]) -> None:
    tool("mlir-translate")
    ran = 0
    for seed in range(PROGRAMS):
        program = random_program(seed, device("lavapipe"))
        ran += ran_alike(program, lavapipe)
    assert ran >= PROGRAMS // 2, ran


def ran_alike(program: RandomProgram, session: vulkan.Session) -> bool:
    """Whether a program ran after a round trip; it must then be right."""

    def ignore(_: Any) -> None:
        pass

    try:
        artifact = coopc.compile(program.text, PIPELINE, on_remark=ignore)
        call = pack(artifact.interface[0], program.copies(), (1, 1, 1))
    except (CompileError, ValueError):
        return False  # other tests are about these
    try:
        text = coopc.compile(
            program.text, PIPELINE, "mlir-spirv", on_remark=ignore
        ).text
    except CompileError as error:
        if "what the spirv dialect of LLVM 22 has" not in str(error):
            raise
        return False
    arrays = on_vulkan(serialized(text), call, session, seconds=SECONDS).arrays
    wrong = program.difference(arrays, artifact.interface[0].subgroup_size)
    assert wrong is None, f"{wrong}\n{program.text}"
    return True


PACKED = """
      %x = coopmatrix.load %m[%c0, %c0] packed
        : memref<8x32xf16> -> !coopmatrix.matrix<16x16xf16, b>
      coopmatrix.store %x, %m[%c0, %c0] packed
        : !coopmatrix.matrix<16x16xf16, b>, memref<8x32xf16>"""
REFUSED = {
    ("intel-cpu", "CooperativeMatrixLayout 2"): PACKED,
    ("bmg", "SPV_INTEL_joint_matrix"): PACKED,
    ("bmg", "vector<8xf16> in memory"): """
      %x = vector.load %m[%c0, %c0] {alignment = 16 : i64}
        : memref<8x32xf16>, vector<8xf16>
      vector.store %x, %m[%c0, %c0] {alignment = 16 : i64}
        : memref<8x32xf16>, vector<8xf16>""",
}


@pytest.mark.parametrize(("device", "what"), REFUSED)
def test_refused_for_intel(device: str, what: str) -> None:
    text = f"""
    func.func @k(%m: memref<8x32xf16>)
        attributes {{simt.kernel, simt.subgroup_size = 16 : i32}} {{
      %c0 = arith.constant 0 : index{REFUSED[device, what]}
      func.return
    }}"""
    with pytest.raises(CompileError, match=f"LLVM 22 has, got {what}"):
        coopc.compile(text, "", f"mlir-spirv{{device={device}}}")
