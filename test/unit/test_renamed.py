"""Names from before a renaming are read as those of today, and printed so."""

import pytest

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.renamed import current
from coopc.source import Source
from coopc.universe import everything

OLD = """
#b = #triton_gpu.blocked<{sizePerThread = [1], threadsPerWarp = [16],
  warpsPerCTA = [4], order = [0], CTAsPerCGA = [1], CTASplitNum = [1], CTAOrder = [0]}>
module attributes {"triton_gpu.num-warps" = 4 : i32} {
  %x = "test.op"() {triton_intel_gpu.block_io = "row_major"} : () -> tensor<64xf32, #b>
  %y = triton_gpu.convert_layout %x : tensor<64xf32, #b> -> tensor<64xf32, #b>
  %z = "triton_gpu.convert_layout"(%x) : (tensor<64xf32, #b>) -> tensor<64xf32, #b>
}
"""


def test_old_names_are_read() -> None:
    old = parse(new_context(everything()), Source(OLD))
    new = OLD.replace("triton_gpu", "ttg").replace("triton_intel_gpu", "ttig")
    assert str(old) == str(parse(new_context(everything()), Source(new)))
    assert "triton" not in str(old)


@pytest.mark.parametrize("name", ["arith.addi", "triton_gpu2.x", "x", ""])
def test_other_names_stay(name: str) -> None:
    assert current(name) == name


def test_late_attributes() -> None:
    late = "\n".join([*OLD.splitlines()[3:], *OLD.splitlines()[:3]])
    assert str(parse(new_context(everything()), Source(late))) == str(
        parse(new_context(everything()), Source(OLD))
    )
