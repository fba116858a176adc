"""The device `driver{loader= index=}`: what a Vulkan driver says of itself.

Vulkan drivers list the matrices that they multiply, sizes of subgroups, features and
limits.  What they do not tell, `Device.unknown` names.  OpenCL has no such query.
"""

from collections.abc import Iterable
from typing import Any

from coopc.device.model import Device, FloatAtomic, Limits, Matrix2
from coopc.device.shape import ELEMENT_BITS, MatrixShape, WorkgroupShapes
from coopc.device.vulkan import told_device
from coopc.run.toolchain import ToolMissing
from coopc.run.vulkan import DriverName, Session
from coopc.run.vulkan_device import MATRIX2, VulkanInfo
from coopc.run.worker import RunFailed
from coopc.spirv.facts import MatrixProduct

SCALAR_FEATURES = {
    "f16": {"shaderFloat16", "storageBuffer16BitAccess"},
    "f64": {"shaderFloat64"},
    "i8": {"shaderInt8", "storageBuffer8BitAccess"},
    "i16": {"shaderInt16", "storageBuffer16BitAccess"},
    "i64": {"shaderInt64"},
}
"""The features that a type needs in memory and in arithmetic."""

MATRIX2_FEATURES: dict[Matrix2, str] = {
    "reductions": "cooperativeMatrixReductions",
    "conversions": "cooperativeMatrixConversions",
    "per-element operations": "cooperativeMatrixPerElementOperations",
    "coordinates": "cooperativeMatrixGetCoordinate",
    "tensor addressing": "cooperativeMatrixTensorAddressing",
}

ATOMIC_FEATURES: dict[FloatAtomic, str] = {
    "f16 add": "Float16AtomicAdd",
    "f16 min_max": "Float16AtomicMinMax",
    "f32 access": "Float32Atomics",
    "f32 add": "Float32AtomicAdd",
    "f32 min_max": "Float32AtomicMinMax",
    "f64 access": "Float64Atomics",
    "f64 add": "Float64AtomicAdd",
    "f64 min_max": "Float64AtomicMinMax",
}
"""What features of buffers and of work-group memory end in."""


def driver_device(
    name: str, loader: DriverName = "system", index: int | None = None
) -> Device:
    """Return a device of this machine.

    Without an index it is the first with cooperative matrices.

    Raises:
        ValueError: there is no such device.
    """
    try:
        with Session.start(loader, index) as session:
            return device_of_info(name, session.info)
    except (RunFailed, ToolMissing) as error:
        raise ValueError(f"{name}: {error}") from error


def device_of_info(name: str, info: VulkanInfo) -> Device:
    limits, features = info.limits, info.features
    bfloat16 = "shaderBFloat16CooperativeMatrix" in features
    float8 = "shaderFloat8CooperativeMatrix" in features
    forms = {"bf16": bfloat16, "f8E4M3FN": float8, "f8E5M2": float8}
    known = {x for x in ELEMENT_BITS if forms.get(x, True)}
    low, high = info.subgroup_sizes
    return told_device(
        name,
        info.name,
        f"{info.driver}, asked for {info.name}, Vulkan "
        f"{'.'.join(map(str, info.api_version))}",
        subgroup_sizes=tuple(
            size for size in (1 << bit for bit in range(16)) if low <= size <= high
        ),
        subgroup_size=info.subgroup_size,
        matrix_shapes=_shapes(
            (x for x in info.matrix_shapes if x.scope == "subgroup"), known
        ),
        workgroups=tuple(
            WorkgroupShapes(
                size, _shapes((x for n, x in info.workgroup_shapes if n == size), known)
            )
            for size in sorted({n for n, _ in info.workgroup_shapes})
        ),
        limits=Limits(
            work_items=limits.invocations,
            work_group_size=limits.group_sizes,
            local_bytes=limits.shared_memory_bytes,
            max_vector=4,
            argument_bytes=limits.push_constant_bytes,
            binding_bytes=limits.storage_buffer_bytes,
            buffers=limits.storage_buffers,
            work_groups=limits.group_counts,
        ),
        bfloat16="khr" if bfloat16 else None,
        float8=float8,
        **_matrix2(info),
        scalars=frozenset(x for x, of in SCALAR_FEATURES.items() if of <= features),
        atomics=frozenset(
            x
            for x, end in ATOMIC_FEATURES.items()
            if {f"shaderBuffer{end}", f"shaderShared{end}"} <= features
        ),
    )


def _matrix2(info: VulkanInfo) -> dict[str, Any]:
    """Return what it has of the first of NVIDIA's, EXT's and Qualcomm's extension."""
    has = {x for x, of in MATRIX2_FEATURES.items() if of in info.features}
    if MATRIX2 not in info.extensions and has:
        return {"matrix2": frozenset(has), "matrix2_vendor": "EXT"}
    if not has and "cooperativeMatrixConversion" in info.features:
        return {"matrix2": frozenset({"conversions"}), "matrix2_vendor": "QCOM"}
    return {"matrix2": frozenset(has - {"coordinates"})}


def _shapes(
    listed: Iterable[MatrixProduct], known: set[str]
) -> tuple[MatrixShape, ...]:
    """Return the multiplications of element types that are known, each once."""
    found: dict[MatrixShape, Any] = {}
    for x in listed:
        if known.issuperset(x.elements):
            shape = MatrixShape(x.m, x.n, x.k, *x.elements, saturating=x.saturating)
            found[shape] = None
    return tuple(found)
