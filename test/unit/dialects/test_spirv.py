"""The texts of `test/dialects/spirv`, which upstream reads, show every operation."""

import re
from pathlib import Path

from coopc.dialects.spirv import OPERATIONS

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
