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
    ("gemm_tiled.mlir", "", 89),
    ("gemm_tiled.mlir", " split=true", 77),
    ("gemm_rows.mlir", "", None),
    ("gemm_rows.mlir", " split=true", None),
    ("gemm_axb.ttgir", "", None),
    ("gemm_axb.ttgir", " split=true", None),
)
"""File, options, and the instructions of a step at most.  Those without a bound are of
row-major matrices; what comes from Triton is guarded at the edges, too."""


def measure() -> Iterator[Row]:
    for name, options, bound in BOUNDS:
        path = ROOT / "test" / "inputs" / "dg2" / name
        passes = f"coopc-xe{{device=dg2{options}}}"
        made = coopc.compile(path.read_text(), passes, "spirv-binary", name=path.name)
        isa = compile_kernel(made.bytes, "dg2", registers=256)
        kernel = next(x for name, x in isa.kernels.items() if "." not in name)
        assert kernel.inner is not None, path
        inner = kernel.inner
        what = (
            f"{inner.dpas or inner.dpasw} {'DPAS' if inner.dpas else 'split DPAS'}, "
            f"{inner.send} loads of {inner.registers_read} registers"
        )
        yield Row(f"{name} on dg2 ({what})", inner.total, "instructions", bound)
