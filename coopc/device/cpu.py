"""Processors with AMX: through Intel's OpenCL runtime, and as tiles of LLVM IR."""

from coopc.device.model import Amx, Device, Limits
from coopc.device.shape import AccessRule, MatrixShape, shapes

_INT8 = ("s8 s8 s32", "s8 u8 s32", "u8 s8 s32", "u8 u8 s32", "u8 u8 u32")


def _tiles(amx: Amx, rows: range) -> tuple[MatrixShape, ...]:
    """Return the multiplications of tiles whose rows are half full, or full."""
    row_bytes = (amx.row_bytes // 2, amx.row_bytes)
    cols = tuple(size // 4 for size in row_bytes)
    return (
        *shapes(rows, cols, (x // 2 for x in row_bytes), ("f16 f16 f32",)),
        *shapes(rows, cols, (x // 2 for x in row_bytes), ("bf16 bf16 f32",)),
        *shapes(rows, cols, row_bytes, _INT8),
    )


INTEL_CPU = Device(
    name="intel-cpu",
    title="Intel's OpenCL runtime for CPUs",
    family="opencl-cpu",
    source=(
        "Intel's CPU OpenCL runtime 2026.2 with CL_CONFIG_CPU_TARGET_ARCH="
        "graniterapids, tried: tiles of M <= 16, N <= 16, K of at most 64 bytes"
    ),
    flavours=("opencl",),
    spirv_version=(1, 4),
    subgroup_sizes=(4, 8, 16, 32, 64),
    subgroup_size=16,
    matrix_shapes=_tiles(Amx(), range(1, 17)),
    accesses=(
        # Any other layout aborts the process.
        AccessRule("a", ("row_major",)),
        AccessRule("b", ("packed",)),
        AccessRule("acc", ("row_major",)),
    ),
    limits=Limits(
        work_items=8192,
        work_group_size=(8192, 8192, 8192),
        local_bytes=256 << 10,
        max_vector=16,
        argument_bytes=3840,
    ),
    bfloat16="intel-conversion",
    # A constant composite is an unresolved symbol, 1.0 is stored as 0, and a value that
    # is known at run time crashes.
    zero_matrix="composite-construct",
    fills="zero",
    # It refuses the capability of packed matrices, which it has.
    joint_matrix=frozenset({"bf16"}),
    stride_bits=64,
    aligned=False,
    whole_arithmetic=False,
    element_access=False,
    # It crashes on a scope or a layout that is a specialization constant.
    specialised=frozenset({"sizes"}),
    # Its pass "Lower AMX type for load/store" crashes on a phi of two branches.
    branched_matrices=False,
    # It takes what the memory holds for elements of the matrix.
    pointees=False,
    # Attention of 40 x 50 x 64, on lanes: 90 s with all in registers, and 12 in loops.
    unrolls=False,
    # Tried: test/unit/passes/lanes/test_converge_subgroup.py has the smallest cases.
    keeps_lanes_together=False,
    # All subgroups have that of the last one.  It is LLVM's `fneg` alone, of 38
    # operations: test/unit/passes/generic/test_negations.py has the smallest case.
    keeps_negations=False,
    # Measured: 200 ns for 32 lanes, 1,000 for 64, and for vectors 10 times the sum of
    # their components; a broadcast and a selection take less than 1.
    slow_shuffles=True,
    # Half of the 32 registers of AVX-512.
    subgroup_elements=256,
    contract_mode=True,
    # Two layers of 32 x 16 with GELU, emulated: 50 s to compile, and 2 by integers.
    slow_bfloat16=True,
    scalars=frozenset({"f16", "f64", "i8", "i16", "i64"}),
    # No loads or stores: "Symbols not found: atomic_xchg(double)".
    atomics=frozenset({"f32 add", "f32 min_max", "f64 add", "f64 min_max"}),
    run=True,
)

AMX = Device(
    name="amx",
    title="x86-64 CPUs with AMX, as LLVM IR",
    family="amx",
    source=(
        "Intel Architecture Instruction Set Extensions, chapter on AMX: palette 1; "
        "tdpbf16ps, tdpfp16ps, tdpbssd and its kin"
    ),
    flavours=(),
    spirv_version=(1, 4),
    subgroup_sizes=(4, 8, 16, 32),
    subgroup_size=16,
    matrix_shapes=INTEL_CPU.matrix_shapes,
    accesses=INTEL_CPU.accesses,
    limits=INTEL_CPU.limits,
    bfloat16="intel-conversion",
    zero_matrix="composite-construct",
    fills="zero",
    stride_bits=64,
    scalars=frozenset({"f16", "f64", "i8", "i16", "i64"}),
    # LLVM's atomicrmw, which x86-64 has loops for.
    atomics=frozenset({"f32 add", "f32 min_max", "f64 add", "f64 min_max"}),
    atomic_bits=8,
    amx=Amx(),
    run=True,
)

VECTOR_TILE = 6, 16
"""Rows and columns of the sums of a product in vector registers: 12 of the 16 of AVX2,
of 8 x f32 each."""
WIDE_VECTOR_TILE = 12, 32
"""The same with AVX-512: 24 registers of 32."""
SECOND_CACHE_BYTES = 2 << 20
"""Of a core; what all threads store is compared with it."""
STREAMED_BYTES = 8 << 20
"""Of the smallest result that row kernels store past the caches.  On one core of a
Zen 4, f32 was scaled 1.4 to 2.2 times as fast so if the result had 8 to 64 MiB, 1.1 to
1.2 times if it was read next, and 0.5 to 0.8 times if it had 1 to 4 MiB."""
