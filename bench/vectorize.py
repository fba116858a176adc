"""How the time of vectorize-subgroup grows with the size of a kernel.

Python's collector looks at all that lives; what other measurements left is frozen, so
that it looks at the kernel's operations alone.
"""

import gc
from collections.abc import Iterator

from xdsl.context import Context

from bench.harness import Row, interleaved
from coopc.generate.programs import kernel
from coopc.passes.cpu.vectorize_subgroup.vectorize_subgroup import VectorizeSubgroupPass

SIZES = (200, 800)


def measure() -> Iterator[Row]:
    step = VectorizeSubgroupPass()
    modules = [kernel("%m: memref<16xf32>, %a0: f32", body(size)) for size in SIZES]
    gc.collect()
    gc.freeze()
    short, long = interleaved(
        [lambda x=x: step.apply(Context(), x.clone()) for x in modules], 5
    )
    gc.unfreeze()
    yield Row(f"vectorize-subgroup of {3 * SIZES[0]} operations", short, "s")
    growth = long / short / (SIZES[1] / SIZES[0])
    yield Row("its time for an operation, of four times as many", growth, "times", 1.5)


def body(size: int) -> str:
    """Return operations that each work-item does on its element, one by one."""
    steps = "".join(
        f"""
  %v{at} = memref.load %m[%x] : memref<16xf32>
  %w{at} = arith.addf %v{at}, %a{at} : f32
  %a{at + 1} = arith.mulf %w{at}, %v{at} : f32"""
        for at in range(size)
    )
    return f"""
  %x = simt.local_id x : index{steps}
  memref.store %a{size}, %m[%x] : memref<16xf32>"""
