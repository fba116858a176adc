"""Vulkan drivers with VK_KHR_cooperative_matrix, by the properties that they list.

A driver runs shapes that it does not list and returns wrong numbers, so a list here is
all that may be used.
"""

from dataclasses import replace
from typing import Any, Literal

from coopc.device.model import Device, Flavour, Limits, Matrix2
from coopc.device.shape import (
    AccessRule,
    GemmTiles,
    MatrixShape,
    WorkgroupShapes,
    shapes,
)

_ANY_LAYOUT = (
    AccessRule("a", ("row_major", "col_major")),
    AccessRule("b", ("row_major", "col_major")),
    AccessRule("acc", ("row_major", "col_major")),
)
SCALARS = frozenset({"f16", "f64", "i8", "i16", "i64"})
"""All types that are not to be taken for granted."""

GUARANTEED = Limits(
    work_items=128,
    work_group_size=(128, 128, 64),
    local_bytes=16 << 10,
    max_vector=4,
    argument_bytes=128,
    binding_bytes=128 << 20,
    buffers=4,
    work_groups=(65535, 65535, 65535),
)
"""What each Vulkan device has: table "Required Limits" of the Vulkan specification 1.3,
chapter "Limits", by maxComputeWorkGroupInvocations, maxComputeWorkGroupSize,
maxComputeSharedMemorySize, maxPushConstantsSize, maxStorageBufferRange,
maxPerStageDescriptorStorageBuffers and maxComputeWorkGroupCount."""

UNTOLD: dict[str, Any] = {
    "zero_matrix": "composite-construct",
    "aligned_rows": True,
    "exact_matrices": False,
    "exact_quotients": False,
    "lockstep": False,
    "keeps_lanes_together": False,
    "unrolls": False,
    "gemm_tiles": (),
    "shares_gemm": False,
    "turns_bytes": False,
}
"""What no driver tells of itself, with the value that is right for every driver."""


def told_device(name: str, title: str, source: str, **told: Any) -> Device:
    """Return a device under Vulkan of which only what a driver tells is known."""
    return Device(
        name=name,
        title=title,
        family="vulkan",
        source=source,
        flavours=("vulkan",),
        spirv_version=(1, 6),
        accesses=_ANY_LAYOUT,
        unknown=tuple(UNTOLD),
        **{**UNTOLD, **told},
    )


MAINTENANCE1 = frozenset[Matrix2](
    {"reductions", "conversions", "per-element operations", "coordinates"}
)
"""VK_EXT_cooperative_matrix_maintenance1, without its query."""


def any_device(
    name: str,
    subgroup_size: int,
    flavour: Flavour = "vulkan",
    maintenance1: Literal["no", "yes"] = "no",
) -> Device:
    """Return a device that has what the API guarantees, and no fault.

    It multiplies what a program multiplies: the interface lists those shapes and all
    else that is not guaranteed, VK_EXT_cooperative_matrix_maintenance1 where it is
    asked for.  Under OpenCL a work-group is one subgroup, as the
    guaranteed CL_DEVICE_MAX_WORK_GROUP_SIZE is 1; work-group memory and parameters are
    the minima of CL_DEVICE_LOCAL_MEM_SIZE and CL_DEVICE_MAX_PARAMETER_SIZE (OpenCL API
    3.0, table "Device Queries").
    """
    limits, vulkan = GUARANTEED, flavour == "vulkan"
    if not vulkan:
        limits = Limits(
            work_items=subgroup_size,
            work_group_size=(subgroup_size, 1, 1),
            local_bytes=32 << 10,
            max_vector=16,
            argument_bytes=1024,
        )
    return Device(
        name=name,
        title="any device",
        family="vulkan" if vulkan else "opencl-cpu",
        source=f"the minima of {'Vulkan 1.3' if vulkan else 'OpenCL 3.0'}",
        flavours=(flavour,),
        spirv_version=(1, 6) if vulkan else (1, 4),
        subgroup_sizes=(subgroup_size,),
        subgroup_size=subgroup_size,
        matrix_shapes=(),
        accesses=_ANY_LAYOUT,
        # Buffers above the guaranteed number are listed as required.
        limits=replace(limits, buffers=None),
        bfloat16="khr" if vulkan else None,
        float8=vulkan,
        stride_bits=32 if vulkan else 64,
        aligned_rows=vulkan,  # as Vulkan asks for it
        scalars=SCALARS,
        matrix2=MAINTENANCE1 if maintenance1 == "yes" else frozenset(),
        matrix2_vendor="EXT",
        unknown=("matrix_shapes",),
    )


LAVAPIPE = Device(
    name="lavapipe",
    title="Mesa's Vulkan driver for CPUs",
    family="vulkan",
    source=(
        "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR and "
        "vkGetPhysicalDeviceProperties of Mesa 26.2.6; the same in 26.0 and 26.1"
    ),
    flavours=("vulkan",),
    spirv_version=(1, 6),
    subgroup_sizes=(8,),
    subgroup_size=8,
    matrix_shapes=(
        *shapes((8,), (8,), (8,), ("f16 f16 f16", "f16 f16 f32")),
        *shapes((8,), (8,), (8,), ("u8 u8 u32", "s8 s8 s32")),
    ),
    accesses=_ANY_LAYOUT,
    limits=Limits(
        work_items=1024,
        work_group_size=(1024, 1024, 1024),
        local_bytes=32 << 10,
        max_vector=4,
        argument_bytes=256,
        binding_bytes=128 << 20,
        buffers=1015808,
        work_groups=(65535, 65535, 65535),
    ),
    # A subgroup is one vector of the CPU.  A control barrier of subgroup scope waits
    # for the whole work-group (26.2.6, tried): in control flow that differs between
    # subgroups, what follows it is lost.
    lockstep=True,
    # `test_exact.py` tries both (26.2.6).
    exact_matrices=False,
    exact_quotients=False,
    # LLVM splits the block at every lane of each load of f16, in time that is quadratic
    # in the length of the block: 8 loads of matrices 10 s, 32 over 60 s (26.2.6).
    unrolls=False,
    # VkPhysicalDeviceCooperativeMatrix2FeaturesNV of 26.2.6.
    matrix2=frozenset({"reductions", "conversions", "per-element operations"}),
    scalars=SCALARS,
    # VkPhysicalDeviceShaderAtomicFloat{,2}FeaturesEXT of 26.2.6.
    atomics=frozenset({"f32 access", "f32 add", "f32 min_max"}),
    gemm_tiles=(
        GemmTiles((32, 32), (16, 16), 16),
        GemmTiles((16, 16), (8, 8), 16),
    ),
    run=True,
)

# vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV of an H100, driver
# 580.159.04.
_NVIDIA_WORKGROUPS = tuple(
    WorkgroupShapes(
        items,
        (
            *shapes((m,), (n,), (16,), ("f16 f16 f16", "f16 f16 f32")),
            *shapes((m,), (n,), (32,), ("u8 u8 u32", "s8 s8 s32")),
            *shapes((m,), (n,), (16,), ("bf16 bf16 f32",)),
        ),
    )
    for items, m, n in ((32, 16, 16), (64, 16, 16), (128, 32, 16), (256, 32, 32))
)

NVIDIA = Device(
    name="nvidia",
    title="NVIDIA's Vulkan driver",
    family="vulkan",
    source=(
        "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR and "
        "vkGetPhysicalDeviceProperties of an H200, driver 580.159.04"
    ),
    flavours=("vulkan",),
    spirv_version=(1, 6),
    subgroup_sizes=(32,),
    subgroup_size=32,
    matrix_shapes=(
        *shapes((16,), (16,), (16,), ("f16 f16 f16", "f16 f16 f32", "bf16 bf16 f32")),
        *shapes((16,), (8,), (16, 8), ("f16 f16 f16", "f16 f16 f32")),
        *shapes((16,), (16, 8), (32,), ("u8 u8 u32", "s8 s8 s32")),
    ),
    accesses=_ANY_LAYOUT,
    aligned_rows=True,  # measured: matrices at odd places were wrong
    limits=Limits(
        work_items=1024,
        work_group_size=(1024, 1024, 64),
        local_bytes=48 << 10,
        max_vector=4,
        argument_bytes=256,
        binding_bytes=(4 << 30) - 1,
        buffers=1 << 20,
        work_groups=((2 << 30) - 1, 65535, 65535),
    ),
    bfloat16="khr",
    workgroups=_NVIDIA_WORKGROUPS,
    # VkPhysicalDeviceCooperativeMatrix2FeaturesNV of the H200.
    matrix2=frozenset({"reductions", "conversions", "per-element operations"}),
    scalars=SCALARS,
    # VK_EXT_shader_atomic_float, of NVIDIA's drivers; it has no extremes of floats.
    atomics=frozenset({"f32 access", "f32 add", "f64 access", "f64 add"}),
    # The fastest of those tried on an H200: 64 x 64 are 128 registers of sums, and with
    # 128 x 256 of C a work-group, 48 KiB have room for one stage of a step of 32, or
    # for slices.  Two stages of half the step are slower, and so is a loop that is
    # written out: the driver then spills.
    #
    # What bounds 4096^3 of f16 there, in TF/s: without slices 552 with the products of
    # that kernel alone, 489 with its barriers, 411 with the stores to work-group
    # memory, 367 with loads that hit the first cache, and 344 as it is.  With slices
    # 376: one barrier a product, behind which nothing waits for work-group memory, and
    # whole lines of A.  On an H100, sliced: 368, 450 with loads that hit the first
    # cache, 551 without loads, stores and barriers; it draws its limit of power there,
    # at 1.7 of 1.98 GHz.  Fewer addresses, clamps and moves are within 3% of that.
    #
    # By its machine code, K = 64 is 297 instructions of a subgroup: 128 HMMA, 32 LDSM,
    # 12 STS and 12 LDG of 16 bytes a lane, 37 moves, 4 barriers.  Of the 2,570 cycles
    # that they take, 8 subgroups need 1,590 for HMMA at 612 TF/s, and 2,176 for what
    # goes through the first cache and work-group memory: 128 bytes a cycle of LDSM and
    # STS, 64 of LDG.  All LDG have one scoreboard, so to wait for one is to wait for
    # all: with loads that are issued product by product, 4096^3 takes 548 us instead of
    # 377, and with late stores 386 us; but if sizes are not known, late stores take 409
    # us instead of 422.  Without slices, loads come early in an iteration and are moved
    # to other registers at its end: to wait for them in its midst takes 516 us instead
    # of 389 (A along M).  The moves are not the limit: if the index of the loads is
    # read from work-group memory, after the stores, 1024^3 needs none of the six moves,
    # 81 instructions an iteration instead of 118, and takes 14.8 us instead of 14.7.
    # For 4096^3 two are left, which wait for their loads: 570 us instead of 391, and
    # 332 instead of 225 for s8.
    #
    # Registers hold at most 64 x 64 sums a subgroup.  With these, the path through the
    # first cache and work-group memory bounds f16 to 447 TF/s, and s8 with B along K to
    # 850 TOP/s: of the 1,540 cycles that 256 x 128 x 64 of s8 take, it needs 1,088, and
    # IMMA 765.  For M = 128 (four parts along K) the kernel takes 20.8 us with B in
    # memory, and 19.4 with B in the second cache; the sum of the parts takes 3.5 more,
    # where an almost empty dispatch takes 2.8.  Of the 1,860 cycles of 128 x 128 x 64,
    # the path needs 1,536, and HMMA 794.  M = 16 takes 13.9 us, and 12.8 with B in the
    # second cache.
    #
    # Bytes with K across rows, 4096^3 on an H100, in TOP/s: 320 as they are; turned by
    # masks and shifts 480, in whole lines 505, before the products of a step 509, with
    # half as many columns 548 (256 x 128), in slices 451; by shuffles of bytes 458.
    # With B along K, f16: slices 256 (its lines are read in quarters), and 337 where B
    # is packed slice by slice before; without slices 318, with 256 x 128 319, steps of
    # 48 or 128 x 128 and 64 at most 208.  Of sizes that are not known, the entry for
    # whole tiles had 323 for 374, also where places are sums of one that lanes share.
    #
    # Without work-group memory: A and B packed before in the order in which lanes hold
    # matrices (22 us each, 4096^2 of f16), of which each lane loads 16 bytes at once.
    # That is 336 TF/s in a run in which the sliced kernel has 343, and 375 with a slab
    # of K that stays in the second cache: loads that hit the first cache bring 64 bytes
    # a cycle, half of what work-group memory does, and take 250 to 320 us alone.  The
    # compiler folds a load into the next iteration unless the loop carries matrices
    # rather than vectors, and fills registers beyond one step ahead.  Bytes need ten
    # instructions a word to become a matrix.
    #
    # Two work-groups share a multiprocessor where their work-group memory is less than
    # 48 KiB together: 2 x 23 KB gave 304 TF/s, 2 x 27 KB 201.
    #
    # Costs are those of f16 on an H100: of 2048^3 and 4096^3 for the first ones, of
    # 1024^3 and 512^3 in the middle, and of M = 128 to 16 with N = K = 4096, and B from
    # memory, for the last six, whose second costs are guesses where both are equal.
    # Few work-groups are as fast as what each has in flight: so the last ones have long
    # steps, which subgroups share, and two of them ahead: 16 x 4096 x 4096 takes 13.9
    # us; with three or four steps ahead, half as many columns or other steps, 14.2 to
    # 25 us.  Larger tiles take 37 bytes of A and B in a nanosecond, with one step ahead
    # or two, one stage or two, 4 subgroups, 8 or 16: stores, loads of matrices and
    # products of a step follow each other, where no other work-group shares the
    # multiprocessor.  So 128 x 4096 x 4096 takes 28 us, and 25 us in four parts along
    # K: 3 for the second kernel, and 7 for the memory of the parts.  cuBLAS takes 14.
    #
    # With B along K, tiles without slices take 8% longer.  In one run of 4096^3, in one
    # command buffer: 444 us; with A along M 396 us; with both as rows, in slices, 382
    # us; with B along K that is transposed before, 401 us.
    gemm_tiles=(
        GemmTiles((128, 256), (64, 64), 64, 1, band=8, sliced=True, cost=(23, 21.7)),
        GemmTiles((128, 256), (64, 64), 32, 1, band=8, cost=(29, 24.8)),
        GemmTiles((256, 128), (64, 64), 32, 1, band=8, cost=(29, 24.8)),
        GemmTiles((128, 128), (64, 64), 32, 1, band=8, cost=(26, 13)),
        GemmTiles((64, 64), (32, 32), 32, 1, cost=(11, 6.1)),
        GemmTiles((128, 128), (64, 32), 64, 1, band=8, cost=(13.7, 13.7)),
        GemmTiles((64, 64), (32, 32), 64, 1, band=8, ahead=2, cost=(7.5, 5.6)),
        GemmTiles((64, 128), (32, 64), 64, 1, band=8, split=2, cost=(10.4, 10.4)),
        GemmTiles((64, 64), (32, 64), 128, 1, split=4, ahead=2, cost=(7.1, 14)),
        GemmTiles((32, 64), (32, 32), 128, 1, split=4, ahead=2, cost=(5.5, 6.1)),
        GemmTiles((32, 32), (32, 16), 128, 1, split=4, ahead=2, cost=(4.7, 4.7)),
        GemmTiles((16, 64), (16, 32), 128, 1, split=4, ahead=2, cost=(4.9, 6.5)),
        GemmTiles((16, 32), (16, 32), 256, 1, split=8, ahead=2, cost=(4.2, 4.2)),
        GemmTiles((16, 32), (16, 16), 256, 1, split=8, ahead=2, cost=(4.1, 4.1)),
    ),
    compute_units=132,  # multiprocessors of an H100 or H200, as SXM modules
    shares_gemm=True,
    turns_bytes=True,
    run=True,
)

# GPUs of AMD, Intel and NVIDIA under Mesa's drivers, as the sources list them: the
# commits are those of the mirror github.com/bminor/mesa-mesa.  None of the devices was
# run: `unknown` names what the sources do not tell, and limits that they do not tell
# are those that Vulkan guarantees.

# --- RADV ---

_RADV_SOURCE = (
    "RADV, src/amd/vulkan/radv_physical_device.c of Mesa c869971d053d: "
    "radv_GetPhysicalDeviceCooperativeMatrixPropertiesKHR, "
    "radv_physical_device_get_features, radv_get_physical_device_properties"
)

_RADV_BYTES = tuple(
    MatrixShape(16, 16, 16, a, b, c, c, saturating)
    for a in ("u8", "s8")
    for b in ("u8", "s8")
    for c, saturating in (("u32", False), ("s32", False), ("s32", True))
)

RDNA3 = told_device(
    "rdna3",
    "AMD RDNA 3 (GFX11) under RADV",
    _RADV_SOURCE,
    # Where nothing is required, RADV takes 64 lanes.
    subgroup_sizes=(32, 64),
    subgroup_size=32,
    matrix_shapes=(
        *shapes((16,), (16,), (16,), ("f16 f16 f16", "f16 f16 f32")),
        *_RADV_BYTES,
    ),
    limits=replace(
        GUARANTEED,
        work_items=1024,
        work_group_size=(1024, 1024, 1024),
        local_bytes=64 << 10,  # radv_physical_device::max_shared_size
        binding_bytes=(4 << 30) - 1,
        buffers=None,  # as many as descriptors in a set
        work_groups=((4 << 30) - 1, 65535, 65535),
    ),
    scalars=SCALARS,
    atomics=frozenset({"f32 access", "f32 add", "f64 access"}),
)

_F8 = "f8E4M3FN", "f8E5M2"
RDNA4 = replace(
    RDNA3,
    name="rdna4",
    title="AMD RDNA 4 (GFX12) under RADV",
    bfloat16="khr",
    float8=True,
    matrix_shapes=(
        *RDNA3.matrix_shapes,
        *shapes((16,), (16,), (16,), ("bf16 bf16 bf16", "bf16 bf16 f32")),
        *shapes(
            *((16,), (16,), (16,)),
            (f"{a} {b} f32" for a in _F8 for b in _F8),
        ),
    ),
)

# --- ANV ---

_ANV_SOURCE = (
    "ANV, {} of src/intel/dev/intel_device_info.c of Mesa 036ec0bb89c9, get_features "
    "and get_properties of src/intel/vulkan/anv_physical_device.c of Mesa ddf2aa3a4d30"
)


def _anv(name: str, title: str, table: str, smallest: int) -> Device:
    """Return a device whose matrices have as many columns as its smallest subgroup."""
    halves = "f16 f16 f16", "bf16 bf16 bf16"
    return told_device(
        name,
        title,
        _ANV_SOURCE.format(table),
        # Where nothing is required, ANV takes 32 lanes for modules with matrices.
        subgroup_sizes=tuple(x for x in (8, 16, 32) if x >= smallest),
        subgroup_size=32,
        matrix_shapes=(
            *shapes((8,), (smallest,), (16,), halves if smallest == 16 else ()),
            *shapes((8,), (smallest,), (16,), ("f16 f16 f32", "bf16 bf16 f32")),
            *shapes((8,), (smallest,), (32,), ("s8 s8 s32", "u8 u8 u32")),
        ),
        limits=replace(
            GUARANTEED,
            work_items=1024,
            work_group_size=(1024, 1024, 1024),
            buffers=None,  # get_device_descriptor_limits: of millions of descriptors
        ),
        bfloat16="khr",
        scalars=SCALARS - {"f64"},
        atomics=frozenset({"f32 access", "f32 min_max"}),
    )


ARC = _anv(
    "arc", "Intel Arc A-series under ANV", "CMAT_XEHP_CONFIGURATIONS", smallest=8
)
XE2 = _anv("xe2", "Intel Xe2 under ANV", "CMAT_XE2_CONFIGURATIONS", smallest=16)

# --- NVK ---

_NVK_BYTES = tuple(
    MatrixShape(16, n, k, x, x, c, c, saturating)
    for n, k in ((16, 32), (8, 32), (8, 16))
    for x, c, saturating in (
        ("u8", "u32", False),
        ("s8", "s32", False),
        ("s8", "s32", True),
    )
)

BLACKWELL = told_device(
    "blackwell",
    "NVIDIA Blackwell under NVK",
    "NVK, src/nouveau/vulkan/nvk_physical_device.c of Mesa f4b01bbfe7dc: "
    "nvk_GetPhysicalDeviceCooperativeMatrixPropertiesKHR, nvk_get_device_features, "
    "nvk_get_device_properties; nvk_private.h",
    subgroup_sizes=(32,),
    subgroup_size=32,
    matrix_shapes=(
        *shapes((16,), (16,), (16,), ("f16 f16 f16", "f16 f16 f32")),
        *shapes((16,), (8,), (16, 8), ("f16 f16 f16", "f16 f16 f32")),
        *_NVK_BYTES,
    ),
    limits=NVIDIA.limits,
    scalars=SCALARS,
)
AMPERE = replace(
    BLACKWELL,
    name="ampere",
    title="NVIDIA Ampere under NVK",
    matrix_shapes=(
        *BLACKWELL.matrix_shapes,
        *shapes((8,), (8,), (16,), ("u8 u8 u32", "s8 s8 s32")),
        MatrixShape(8, 8, 16, "s8", "s8", "s32", "s32", saturating=True),
    ),
)
ADA = replace(AMPERE, name="ada", title="NVIDIA Ada under NVK")
