"""GPUs of AMD, Intel and NVIDIA under Mesa's Vulkan drivers, as the sources list them.

The commits are those of the mirror github.com/bminor/mesa-mesa.  None of the devices
was run: `unknown` names what the sources do not tell, and limits that they do not tell
are those that Vulkan guarantees.
"""

from dataclasses import replace

from coopc.device.model import Device, Limits
from coopc.device.shape import MatrixShape, shapes
from coopc.device.vulkan import GUARANTEED, SCALARS, told_device

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
