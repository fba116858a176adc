"""The text of modules of `xe`, assembled, is the binary, to the byte."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import coopc
from coopc.run.toolchain import assemble_spirv, validate_spirv

KERNELS = Path(__file__).parents[2] / "emit" / "xe"
FILES = [path for path in sorted(KERNELS.glob("*.mlir")) if "refused" not in path.name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_bytes(path: Path, tool: Callable[[str], Path]) -> None:
    for name in ("spirv-as", "spirv-val"):
        tool(name)
    source = path.read_text()
    device = "dg2" if re.search("--device dg2", source) else "pvc"
    options = f"device={device} numeric_ids=true"
    text = coopc.compile(source, "", f"spirv{{{options}}}").text
    binary = coopc.compile(source, "", f"spirv-binary{{device={device}}}").bytes
    assert validate_spirv(binary, "spv1.4") is None
    assert assemble_spirv(text, "spv1.4", keep_ids=True) == binary
