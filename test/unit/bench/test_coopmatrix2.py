"""What `bench.coopmatrix2` measures: one instruction, or work-group memory."""

import re
from pathlib import Path

import pytest

import coopc
from bench.coopmatrix2 import OPERATIONS, text

INSTRUCTIONS = {
    "reduce": "OpCooperativeMatrixReduceNV",
    "apply": "OpCooperativeMatrixPerElementOpNV",
    "convert": "OpFConvert",
}
COUNTED = ("OpControlBarrier", "OpVariable %\\w+ Workgroup", "OpMemoryBarrier")


@pytest.mark.parametrize("name", OPERATIONS)
def test_instructions_need_no_work_group_memory(name: str, tmp_path: Path) -> None:
    """No barrier, no variable and no byte; without the extension there are some."""
    staged = tmp_path / "staged.toml"
    staged.write_text('version = 1\nextends = "nvidia"\nmatrix2 = []\n')
    found: list[tuple[int, int, int]] = []
    for device in ("nvidia", f'"{staged}"'):
        pipeline = f"coopc-khr{{device={device}}}"
        made = coopc.compile(text(OPERATIONS[name]), pipeline, "spirv").text
        (kernel,) = coopc.compile(text(OPERATIONS[name]), pipeline).interface
        matrices = re.findall(rf"{INSTRUCTIONS[name]} %coopmat", made)
        counts = sum(len(re.findall(each, made)) for each in COUNTED)
        found.append((len(matrices), counts, kernel.work_group_memory_bytes))
    (native, *nothing), (other, barriers, bytes) = found
    assert (native, *nothing) == (1, 0, 0)
    assert other == 0
    assert barriers > 0
    assert bytes >= 16 * 16 * 2
