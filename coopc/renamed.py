"""Names that have changed: one table, old to new.

Old names of dialects and attributes are read as the new ones, since files outlive them
(Triton's dialects had others until 2025), and printed so.  Old names of passes and
options are refused, and the diagnostic says the new one.
"""

RENAMED = {
    "triton_gpu": "ttg",
    "triton_intel_gpu": "ttig",
    "tt.experimental_descriptor_load": "tt.descriptor_load",
    "tt.experimental_descriptor_store": "tt.descriptor_store",
    "ttg.shared": "ttg.swizzled_shared",
    "expand-bf16": "expand-narrow-floats",
    "add-any-entry": "add-fallback-entry",
    "inline-matrix-calls": "inline-calls",
    "inline-tt-calls": "inline-calls",
    "legalize-coopmatrix-khr.products-only": "legalize-coopmatrix-khr.only",
    "settle-kernels": "infer-kernel-sizes",
    "settle-tt-descriptors": "normalize-tt-descriptors",
}
"""From the old name to the new one.  What belongs to a dialect, or to a pass as its
options do, follows the new name of that and a dot."""


def canonical_name(name: str) -> str:
    """Return today's name of a dialect, a pass, or what belongs to one.

    >>> canonical_name("triton_gpu"), canonical_name("triton_intel_gpu.dpas")
    ('ttg', 'ttig.dpas')
    >>> canonical_name("triton_gpu.shared"), canonical_name("arith.addi")
    ('ttg.swizzled_shared', 'arith.addi')
    """
    owner, dot, rest = name.partition(".")
    found = f"{RENAMED.get(owner, owner)}{dot}{rest}"
    return RENAMED.get(found, found)
