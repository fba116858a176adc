"""Intel GPUs with XMX, as Intel's graphics compiler takes KHR matrices for them.

The shapes are those for which IGC 2.40.14 compiles a load, a multiplication and a store
without a spill (32 x 64 and 1 x 64 compile too, and spill 24 KB).  IGC takes elements
of f32 for tf32, flag or not, and drops 13 bits.

Of SPV_INTEL_joint_matrix it takes packed B, flags of element types, checked loads, and
checked stores of row-major A and accumulators.  Their x is the row and y the column in
memory, whatever the layout, which the payloads of 2D messages show.  Prefetches crash
it.
"""

from dataclasses import replace
from itertools import product

from coopc.device.block_io import PVC_BLOCK_IO, XE2_BLOCK_IO
from coopc.device.model import Device, Dpas, Limits, SplitPair
from coopc.device.shape import AccessRule, MatrixShape, shapes

_SOURCE = (
    "IGC 2.40.14 (ocloc 26.27) on every shape of KHR matrix, and its table of MMA "
    "rules, SpvSubgroupMMAResolution.cpp; work-group limits as compute-runtime's "
    "hw_info has them (maxProgrammableSlmSize), and CL_DEVICE_MAX_PARAMETER_SIZE"
)

_INT8 = tuple(f"{a} {b} s32" for a, b in product(("s8", "u8"), ("s8", "u8")))
_INT8_UNSIGNED = ("u8 u8 u32",)

_XE_SHAPES: tuple[MatrixShape, ...] = (
    *shapes((*range(1, 9), 16), (16,), (16,), ("f16 f16 f32", "bf16 bf16 f32")),
    *shapes((1, 8, 16), (16,), (16,), ("f16 f16 f16", "f16 f16 f32 f16")),
    *shapes((1, 8, 16), (16,), (16,), ("bf16 bf16 bf16", "bf16 bf16 f32 bf16")),
    *shapes(range(1, 9), (16,), (32,), (*_INT8, *_INT8_UNSIGNED)),
)

_XE_ACCESSES = (
    AccessRule("a", ("row_major", "col_major"), shapes=((8, 16), (8, 32))),
    AccessRule("a", ("row_major",)),
    AccessRule("b", ("row_major",), elements=("f32",)),
    AccessRule("b", ("row_major", "col_major", "packed")),
    AccessRule("acc", ("row_major",), elements=("f16", "bf16")),
    AccessRule("acc", ("row_major",), shapes=((16, 16),)),
    AccessRule("acc", ("row_major", "col_major")),
)

_DG2_SHAPES: tuple[MatrixShape, ...] = (
    *shapes(range(1, 9), (8,), (16,), ("f16 f16 f32", "bf16 bf16 f32")),
    *shapes(range(1, 9), (8,), (32,), (*_INT8, *_INT8_UNSIGNED)),
)

_DG2_ACCESSES = (
    AccessRule("a", ("row_major",)),
    AccessRule("b", ("col_major", "packed"), elements=("i8",)),
    AccessRule("b", ("row_major", "col_major", "packed")),
    AccessRule("acc", ("row_major", "col_major")),
)


def _limits(local_kib: int) -> Limits:
    return Limits(
        work_items=1024,
        work_group_size=(1024, 1024, 1024),
        local_bytes=local_kib << 10,
        max_vector=16,
        argument_bytes=2048,
    )


BMG = Device(
    name="bmg",
    title="Intel Arc B-series (Battlemage)",
    family="xe",
    source=_SOURCE,
    flavours=("opencl",),
    spirv_version=(1, 4),
    subgroup_sizes=(16, 32),
    subgroup_size=16,
    matrix_shapes=_XE_SHAPES,
    accesses=_XE_ACCESSES,
    limits=_limits(128),
    bfloat16="intel-conversion",
    zero_matrix="composite-construct",
    stride_bits=64,
    # ocloc crashes on `Aligned` and on arithmetic on whole matrices.
    aligned=False,
    whole_arithmetic=False,
    scalars=frozenset({"f16", "f64", "i8", "i16", "i64"}),
    # One message each; IGC has no f16 add, and makes a loop of f64 max.
    atomics=frozenset({"f32 add", "f32 min_max", "f64 add"}),
    registers=(128, 256),
    register_bytes=64,
    dpas=Dpas(lanes=16, operands=("f16", "bf16", "tf32", "s8", "u8", "s4", "u4")),
    block_io=XE2_BLOCK_IO,
    joint_matrix=frozenset({"packed", "bf16", "tf32"}),
    tf32_shapes=(*shapes((8,), (16,), (8,), ("f32 f32 f32",)),),
    # "Unsupported row parameter for matrix checked load: 3."
    checked_rows=(1, 2, 4, 8, 16, 32),
)
LNL = replace(BMG, name="lnl", title="Intel Core Ultra 200V (Lunar Lake)")
PTL = replace(
    BMG,
    name="ptl",
    title="Intel Core Ultra 300 (Panther Lake)",
    registers=(160, 128, 192, 256),
)
PVC = replace(
    BMG,
    name="pvc",
    title="Intel Data Center GPU Max (Ponte Vecchio)",
    block_io=PVC_BLOCK_IO,
)
DG2 = replace(
    BMG,
    name="dg2",
    title="Intel Arc A-series (Alchemist)",
    subgroup_sizes=(8, 16, 32),
    subgroup_size=8,
    matrix_shapes=_DG2_SHAPES,
    accesses=_DG2_ACCESSES,
    limits=_limits(64),
    scalars=frozenset({"f16", "i8", "i16", "i64"}),
    atomics=frozenset({"f32 add", "f32 min_max"}),
    register_bytes=32,
    dpas=Dpas(lanes=8),
    block_io=None,
    joint_matrix=frozenset({"packed", "bf16"}),
    tf32_shapes=(),
    checked_rows=(),
    # cl_intel_subgroup_split_matrix_multiply_accumulate says that two subgroups share
    # A; it does not say which.  Neighbours run on fused EUs.
    split_pair=SplitPair("adjacent", assumed=True),
)
