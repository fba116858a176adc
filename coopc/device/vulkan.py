"""Vulkan drivers with VK_KHR_cooperative_matrix, by the properties that they list.

A driver runs shapes that it does not list and returns wrong numbers, so a list here is
all that may be used.
"""

from coopc.device.model import Device, Limits
from coopc.device.shape import AccessRule, GemmTiles, shapes

_ANY_LAYOUT = (
    AccessRule("a", ("row_major", "col_major")),
    AccessRule("b", ("row_major", "col_major")),
    AccessRule("acc", ("row_major", "col_major")),
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
    ),
    # A subgroup is one vector of the CPU.  A control barrier of subgroup scope waits
    # for the whole work-group (26.2.6, tried): in control flow that differs between
    # subgroups, what follows it is lost.
    lockstep=True,
    # `test_exact.py` tries both (26.2.6).
    exact_matrices=False,
    exact_quotients=False,
    # VkPhysicalDeviceCooperativeMatrix2FeaturesNV of 26.2.6.
    matrix2=frozenset({"reductions", "conversions", "per-element operations"}),
    scalars=frozenset({"f16", "f64", "i8", "i16", "i64"}),
    # VkPhysicalDeviceShaderAtomicFloat{,2}FeaturesEXT of 26.2.6.
    atomics=frozenset({"f32 access", "f32 add", "f32 min_max"}),
    gemm_tiles=(
        GemmTiles((32, 32), (16, 16), 16),
        GemmTiles((16, 16), (8, 8), 16),
    ),
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
    ),
    bfloat16="khr",
    scalars=frozenset({"f16", "f64", "i8", "i16", "i64"}),
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
    # whole lines of A.
    gemm_tiles=(
        GemmTiles((128, 256), (64, 64), 64, stages=1, band=8, sliced=True),
        GemmTiles((128, 256), (64, 64), 32, stages=1, band=8),
        GemmTiles((128, 128), (64, 64), 32, stages=1, band=8),
        GemmTiles((64, 64), (32, 32), 32, stages=1),
    ),
    shares_gemm=True,
)
