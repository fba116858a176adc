"""Names of dialects, types and attributes that files from before a renaming have.

Triton's dialects were called otherwise until 2025; kernels printed before are still
around.  They are read under their names of today, and printed so.
"""

DIALECTS = {"triton_gpu": "ttg", "triton_intel_gpu": "ttig"}
"""From the old name of a dialect to the new one."""

NAMES = {"ttg.shared": "ttg.swizzled_shared"}
"""From the old name of an attribute in a dialect of today to the new one."""


def current(name: str) -> str:
    """The name of today of an operation, a type, an attribute, or a key of one.

    >>> current("triton_intel_gpu.dpas"), current("triton_gpu.num-warps")
    ('ttig.dpas', 'ttg.num-warps')
    >>> current("triton_gpu"), current("arith.addi")
    ('ttg', 'arith.addi')
    """
    dialect, dot, rest = name.partition(".")
    renamed = f"{DIALECTS.get(dialect, dialect)}{dot}{rest}"
    return NAMES.get(renamed, renamed)
