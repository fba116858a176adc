"""How many modules `mlir-translate --deserialize-spirv` reads, and what stops it.

The corpus is the programs of `examples/`, `test/inputs` and `test/emit`, but for those
that are to be refused, through every pipeline below; equal modules count once.
`REFUSALS` names the place in upstream's source (LLVM 22) that refuses what coopc means
to emit.  An error that it does not list is a row of its own, with a bound of zero.
"""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import ROOT, Row
from coopc import compile
from coopc.diagnostic import CompileError

PIPELINES = {
    **{
        f"khr {name}": f"coopc-khr{{device={name}}}"
        for name in ("lavapipe", "nvidia", "bmg", "dg2", "intel-cpu")
    },
    **{
        f"lanes {name} {lanes}": f"coopc-lanes{{device={name} subgroup-size={lanes}}}"
        for name, lanes in (
            ("lavapipe", 8),
            ("nvidia", 32),
            ("intel-cpu", 8),
            ("bmg", 16),
        )
    },
    "xe emulated": "coopc-xe{device=bmg emulate=true}",
    "xe bmg": "coopc-xe{device=bmg}",
}
_READER = "mlir/lib/Target/SPIRV/Deserialization/Deserializer.cpp"
_OPS = "mlir/lib/Target/SPIRV/Deserialization/DeserializeOps.cpp"
_GENERATED = "mlir/tools/mlir-tblgen/SPIRVUtilsGen.cpp"
REFUSALS = {
    r"unknown capability: (62(28|36)|5430)": "2D block, subgroup MMA, NV's "
    f"reductions: {_READER}, processCapability",
    r"OpTypeArray count": f"array as long as a spec constant: {_READER}, "
    "processArrayType",
    r"unsupported composite type": f"constant matrix: {_READER}, "
    "processConstantComposite",
    r"unhandled opcode 227": f"AtomicLoad: {_GENERATED}, "
    f"dispatchToAutogenDeserialization; called from {_OPS}",
    r"unhandled deserializations of (20|3|79|80) from": "exp2 of OpenCL; Trunc, NMin, "
    f"NMax of GLSL: {_GENERATED}, emitExtendedSetDeserializationDispatch",
    r"unhandled Decoration : 'Alignment": f"Alignment: {_READER}, processDecoration",
    r"spirv.Bitcast": "bit cast of matrices, which 23 has: SPIRVCastOps.td, Bitcast",
    r"^$": f"crash without a message: {_OPS}, OpSwitch of 64 bits; {_READER}, "
    "processCooperativeMatrixTypeKHR of a matrix whose scope is a spec constant",
}
_PROGRAM = re.compile(r"func\.func|tt\.func")


def _ignore(remark: str) -> None:
    """Print no remarks: what is slow is not the subject."""


def programs() -> Iterator[str]:
    """The text of each program, pieces of files that lit splits each for itself."""
    for folder in ("examples", "test/inputs", "test/emit"):
        for path in sorted((ROOT / folder).rglob("*")):
            valid = "invalid" not in path.stem and "refused" not in path.stem
            if path.suffix in (".mlir", ".ttgir") and valid:
                for piece in path.read_text(encoding="utf-8").split("// -----"):
                    if _PROGRAM.search(piece):
                        yield piece


def refusal(binary: bytes, folder: Path) -> str | None:
    """The first error of upstream's deserializer; None if it reads the module."""
    file = folder / "module.spv"
    file.write_bytes(binary)
    tool = shutil.which("mlir-translate")
    assert tool is not None, "mlir-translate is missing: run `make toolchain`"
    flags = ("--no-implicit-module", "--deserialize-spirv", "-o", "/dev/null")
    found = subprocess.run([tool, *flags, str(file)], capture_output=True, text=True)
    if not found.returncode:
        return None
    error = re.search(r"error: (.*)", found.stderr)
    return error[1] if error else ""


def measure() -> Iterator[Row]:
    seen: set[bytes] = set()
    refused: Counter[str] = Counter()
    texts = list(programs())
    with TemporaryDirectory() as folder:
        for name, pipeline in PIPELINES.items():
            read = total = 0
            for text in texts:
                try:
                    made = compile(text, pipeline, on_remark=_ignore).bytes
                except CompileError:
                    continue
                if made in seen:
                    continue
                seen.add(made)
                error = refusal(made, Path(folder))
                total, read = total + 1, read + (error is None)
                if error is not None:
                    known = (x for p, x in REFUSALS.items() if re.search(p, error))
                    refused[next(known, f"unknown: {error}")] += 1
            yield Row(f"upstream reads, {name}, of {total}", read, "modules")
    for said, count in refused.most_common():
        bound = 0 if said.startswith("unknown") else None
        yield Row(f"upstream refuses: {said}", count, "modules", bound)
    yield Row(f"upstream refuses in all, of {len(seen)}", refused.total(), "modules")
