"""`coopc-khr`: interleaved blocks of SPV_ARM_cooperative_matrix_layouts are valid.

No driver that is at hand has them: spirv-val judges, and the simulator runs them
(test/unit/sim/test_coopmatrix_blocks.py).
"""

from collections.abc import Callable
from pathlib import Path

import coopc
from coopc.run.toolchain import validate_spirv

EMIT = Path(__file__).resolve().parents[3] / "emit"


def test_blocks_are_valid(tool: Callable[[str], Path]) -> None:
    tool("spirv-val")
    text = (EMIT / "matrix_blocks.mlir").read_text(encoding="utf-8")
    device = EMIT / "Inputs" / "blocks.toml"
    binary = coopc.compile(text, f'coopc-khr{{device="{device}"}}').bytes
    assert validate_spirv(binary, "vulkan1.3") is None


def test_a_host_is_told_the_extension() -> None:
    text = (EMIT / "matrix_blocks.mlir").read_text(encoding="utf-8")
    device = EMIT / "Inputs" / "blocks.toml"
    found = coopc.compile(text, f'coopc-khr{{device="{device}"}}', "abi-json").text
    assert '"SPV_ARM_cooperative_matrix_layouts"' in found
