"""The texts of `test/dialects/spirv`, which upstream reads, show every operation."""

import re
from collections.abc import Callable
from pathlib import Path

from support.programs import module_of

from coopc.dialects.spirv import OPERATIONS, Spirv
from coopc.run import toolchain

SHOWN = Path(__file__).parents[2] / "dialects/spirv"
NOT_SHOWN = {
    "spirv.INTEL.SubgroupBlockWrite",  # upstream prints it without the storage class
    "spirv.ConvertPtrToU",  # upstream wants a decoration of the argument
    "spirv.ConvertUToPtr",
    "spirv.mlir.yield",  # upstream prints what it ends as one line
}


def test_every_operation_is_shown() -> None:
    text = "".join(path.read_text() for path in SHOWN.glob("*.mlir"))
    shown = set(re.findall(r"spirv(?:\.\w+)+", text))
    assert OPERATIONS.keys() - shown == NOT_SHOWN


BLOCK_WRITES = """
spirv.module Physical64 OpenCL {
  spirv.func @f(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: vector<4xi32>) "None" {
    spirv.INTEL.SubgroupBlockWrite "CrossWorkgroup" %p, %v : vector<4xi32>
    spirv.Return
  }
}
"""


def test_block_write(tool: Callable[[str], Path]) -> None:
    """Upstream reads what we print, and prints what it does not read."""
    tool("mlir-opt")
    printed = str(module_of(BLOCK_WRITES, Spirv))
    flag = "--mlir-print-op-generic"
    data, message = toolchain.run_filter("mlir-opt", flag, data=printed.encode())
    assert message is None, message
    types = "(!spirv.ptr<i32, CrossWorkgroup>, vector<4xi32>) -> ()"
    assert types in data.decode()
    again = str(module_of(data.decode(), Spirv)).replace("%arg0", "%p")
    assert again.replace("%arg1", "%v") == printed
