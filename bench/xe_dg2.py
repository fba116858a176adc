"""How long the K loops of GEMMs for dg2 are, with split DPAS and without.

The kernels are those of test/inputs/dg2: 32 x 16 of C a subgroup, f16 to f32, 32 of K
a step, which are 16 DPAS, 256 registers.  The bounds are what experts reach by hand
where A lies in tiles of 8 x 16 and B is packed.  With split DPAS a subgroup loads half
of A.
"""

from collections.abc import Iterator

import coopc
from bench.harness import ROOT, Row
from coopc.run.offline_compiler import compile_kernel

BOUNDS: tuple[tuple[str, str, int | None], ...] = (
    ("gemm_tiled", "", 89),
    ("gemm_tiled", " split=true", 77),
    ("gemm_rows", "", None),
    ("gemm_rows", " split=true", None),
)
"""Kernel, options, and the instructions of a step at most."""


def measure() -> Iterator[Row]:
    """Yield the rows."""
    for name, options, bound in BOUNDS:
        path = ROOT / "test" / "inputs" / "dg2" / f"{name}.mlir"
        passes = f"coopc-xe{{device=dg2{options}}}"
        made = coopc.compile(path.read_text(), passes, "spirv-binary", name=path.name)
        kernel = compile_kernel(made.bytes, "dg2", registers=256).kernels["gemm"]
        assert kernel.inner is not None, path
        inner = kernel.inner
        what = (
            f"{inner.dpas or inner.dpasw} {'DPAS' if inner.dpas else 'split DPAS'}, "
            f"{inner.send} loads of {inner.registers_read} registers"
        )
        yield Row(f"{name} on dg2 ({what})", inner.total, "instructions", bound)
