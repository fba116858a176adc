"""`python -m bench.upstream`: how many modules upstream reads, and what stops it.

    python -m bench.upstream --jobs 16 --kept build/upstream.jsonl

The reader is `mlir-translate --deserialize-spirv`.  The corpus is the programs of
`examples/`, `test/inputs` and `test/emit`, but for those that are to be refused,
through every pipeline below; equal modules count once.
`REFUSALS` names the line of upstream's source (LLVM 22) that refuses what coopc means
to emit.  An error that it does not list is a row of its own, with a bound of zero.
"""

import argparse
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

from bench.__main__ import show
from bench.harness import ROOT, Row, keep, kept_rows
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
_READER = "lib/Target/SPIRV/Deserialization/Deserializer.cpp"
_GENERATOR = "tools/mlir-tblgen/SPIRVUtilsGen.cpp"
_IR = "include/mlir/Dialect/SPIRV/IR"
REFUSALS = {
    r"unknown capability: 6228": (f"{_READER}:164", "2D blocks"),
    r"unknown capability: 6236": (f"{_READER}:164", "subgroup MMA"),
    r"unknown capability: 5430": (f"{_READER}:164", "matrix reductions of NV"),
    r"unknown capability: 5432": (f"{_READER}:164", "per-element operations of NV"),
    r"unknown capability: 6192": (f"{_READER}:164", "checked accesses of Intel"),
    r"unknown capability: 6434": (f"{_READER}:164", "packed matrices of Intel"),
    r"unknown capability: 6437": (f"{_READER}:164", "products of bf16 of Intel"),
    r"OpTypeArray count": (f"{_READER}:1239", "arrays as long as a spec constant"),
    r"unsupported composite type": (
        "lib/Dialect/SPIRV/IR/SPIRVOps.cpp:1895",
        "matrices of a spec constant",
    ),
    r"unhandled opcode 227": (f"{_GENERATOR}:1082", "AtomicLoad"),
    r"unhandled deserializations of 20 from": (f"{_GENERATOR}:1142", "exp2 of OpenCL"),
    r"unhandled deserializations of 3 from": (f"{_GENERATOR}:1142", "Trunc of GLSL"),
    r"unhandled deserializations of (79|80) from": (
        f"{_GENERATOR}:1142",
        "NMin, NMax of GLSL",
    ),
    r"unhandled Decoration : 'Alignment": (f"{_READER}:385", "Alignment"),
    r"empty block": (f"{_READER}:2318", "OpSwitch of 64 bits"),
    r"spirv.Bitcast": (f"{_IR}/SPIRVCastOps.td:74", "bit casts of matrices"),
    r"^$": (
        f"{_READER}:2318, {_READER}:1297",
        "crash: OpSwitch of 64 bits, matrices whose scope is a spec constant",
    ),
}
"""An error of upstream's, the line that refuses (LLVM 22.1.8, in `mlir/`), and what."""
_PROGRAM = re.compile(r"func\.func|tt\.func")


@dataclass(frozen=True)
class Finding:
    """What became of one program through one pipeline."""

    pipeline: str
    program: str
    """A digest of its text."""
    module: str | None = None
    """A digest of the binary; None if the pipeline refuses the program."""
    error: str | None = None
    """The first error of upstream's deserializer; None if it reads the module."""


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


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def refusal(binary: bytes) -> str | None:
    """The first error of upstream's deserializer; None if it reads the module."""
    tool = shutil.which("mlir-translate")
    assert tool is not None, "mlir-translate is missing: run `make toolchain`"
    flags = ("--no-implicit-module", "--deserialize-spirv", "-o", os.devnull)
    found = subprocess.run([tool, *flags], input=binary, capture_output=True)
    if not found.returncode:
        return None
    error = re.search(r"error: (.*)", found.stderr.decode())
    return error[1] if error else ""


def measured(text: str, pipeline: str) -> Finding:
    found = Finding(pipeline, digest(text.encode()))
    try:
        made = compile(text, PIPELINES[pipeline], on_remark=_ignore).bytes
    except CompileError:
        return found
    return Finding(pipeline, found.program, digest(made), refusal(made))


def all_findings(jobs: int, kept: Path | None = None) -> Iterator[Finding]:
    """Yield a finding for each program and pipeline: those that are kept first.

    `kept` is a file of findings, which gets what is found.
    """
    rows = (Finding(**row) for row in kept_rows(kept))
    known = {(found.pipeline, found.program): found for found in rows}
    missing: list[tuple[str, str]] = []
    for text in dict.fromkeys(programs()):
        for pipeline in PIPELINES:
            if (pipeline, digest(text.encode())) in known:
                yield known[pipeline, digest(text.encode())]
            else:
                missing.append((text, pipeline))
    texts, pipelines = [x for x, _ in missing], [x for _, x in missing]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for found in pool.map(measured, texts, pipelines):
            keep(kept, found)
            yield found


def measure(jobs: int | None = None, kept: Path | None = None) -> Iterator[Row]:
    """Yield a row for each pipeline and for each reason of upstream's."""
    modules: dict[str, Finding] = {}
    order = list(PIPELINES)
    findings = [*all_findings(jobs or os.cpu_count() or 1, kept)]
    for found in sorted(findings, key=lambda x: order.index(x.pipeline)):
        if found.module is not None:
            modules.setdefault(found.module, found)
    for pipeline in PIPELINES:
        made = [x for x in modules.values() if x.pipeline == pipeline]
        read = sum(x.error is None for x in made)
        yield Row(f"upstream reads, {pipeline}, of {len(made)}", read, "modules")
    errors = [x.error for x in modules.values() if x.error is not None]
    for said, count in Counter(map(place, errors)).most_common():
        bound = 0 if said.startswith("unknown") else None
        yield Row(f"upstream refuses: {said}", count, "modules", bound)
    yield Row(f"upstream refuses in all, of {len(modules)}", len(errors), "modules")


def place(error: str) -> str:
    """What upstream lacks, and where its source says so."""
    for pattern, (where, what) in REFUSALS.items():
        if re.search(pattern, error):
            return f"{what} ({where})"
    return f"unknown: {error}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.upstream")
    parser.add_argument("--jobs", type=int, help="processes")
    parser.add_argument("--kept", type=Path, help="JSON lines: findings to go on from")
    given = parser.parse_args()
    show([*measure(given.jobs, given.kept)])


if __name__ == "__main__":
    main()
