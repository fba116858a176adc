"""Capabilities and extensions are exactly those of what a module uses."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from coopc.spirv.instruction import Id
from coopc.spirv.module import Function, Module
from coopc.spirv.writer import binary, text

Tool = Callable[[str], Path]
VULKAN = {"Shader", "VulkanMemoryModel"}
OPENCL = {"Kernel", "Addresses"}


def capabilities(m: Module) -> set[str]:
    return set(re.findall(r"OpCapability (\w+)", text(m)))


def extensions(m: Module) -> list[str]:
    return re.findall(r'OpExtension "(\w+)"', text(m))


def shader(version: tuple[int, int] = (1, 6)) -> tuple[Module, Function]:
    return begun(Module(version=version), "GLCompute")


def kernel() -> tuple[Module, Function]:
    m = Module(addressing="Physical64", memory_model="OpenCL")
    return begun(m, "Kernel")


def begun(m: Module, model: str) -> tuple[Module, Function]:
    void = m.type("OpTypeVoid")
    f = m.function(void, m.type("OpTypeFunction", void), name="main")
    f.begin_block(f.new_label())
    m.entry_point(model, f.id, "main")
    m.execution_mode(f.id, "LocalSize", 32, 1, 1)
    return m, f


def ended(tool: Tool, m: Module, f: Function) -> set[str]:
    """The capabilities of the module, which spirv-val must take."""
    f.emit("OpReturn")
    env = "vulkan1.3" if "Vulkan" in m.memory_model.operands else "spv1.6"
    command = [tool("spirv-val"), "--target-env", env]
    done = subprocess.run(command, input=binary(m), capture_output=True)
    assert done.returncode == 0, done.stderr.decode() + text(m)
    return capabilities(m)


def buffer(m: Module, element: Id, stride: int, binding: int = 0) -> Id:
    """A storage buffer of a run-time array."""
    array = m.type("OpTypeRuntimeArray", element, distinct=True)
    m.decorate(array, "ArrayStride", stride)
    block = m.type("OpTypeStruct", array, distinct=True)
    m.decorate(block, "Block")
    m.member_decorate(block, 0, "Offset", 0)
    pointer = m.type("OpTypePointer", "StorageBuffer", block)
    variable = m.variable(pointer, "StorageBuffer")
    m.decorate(variable, "DescriptorSet", 0)
    m.decorate(variable, "Binding", binding)
    m.entry_points[0].operands = (*m.entry_points[0].operands, variable)
    return variable


def element_pointer(m: Module, f: Function, variable: Id, element: Id) -> Id:
    zero = m.constant(m.type("OpTypeInt", 32, 0), 0)
    pointer = m.type("OpTypePointer", "StorageBuffer", element)
    return f.emit("OpAccessChain", variable, zero, zero, type=pointer)


def test_an_empty_shader_and_an_empty_kernel(tool: Tool):
    m, f = shader()
    assert ended(tool, m, f) == VULKAN
    assert extensions(m) == []
    m, f = kernel()
    assert ended(tool, m, f) == OPENCL
    assert extensions(m) == []


@pytest.mark.parametrize(
    ("kind", "bits", "added"),
    [
        ("OpTypeFloat", 16, {"Float16", "StorageBuffer16BitAccess"}),
        ("OpTypeFloat", 32, set[str]()),
        ("OpTypeFloat", 64, {"Float64"}),
        ("OpTypeInt", 8, {"Int8", "StorageBuffer8BitAccess"}),
        ("OpTypeInt", 16, {"Int16", "StorageBuffer16BitAccess"}),
        ("OpTypeInt", 64, {"Int64"}),
    ],
)
def test_buffers_of_shaders(tool: Tool, kind: str, bits: int, added: set[str]):
    m, f = shader()
    element = m.type(kind, bits, *([0] if kind == "OpTypeInt" else []))
    pointer = element_pointer(m, f, buffer(m, element, bits // 8), element)
    f.emit("OpStore", pointer, f.emit("OpLoad", pointer, type=element))
    assert ended(tool, m, f) == VULKAN | added
    assert extensions(m) == []


def test_pointers_of_kernels_need_only_the_type(tool: Tool):
    m, f = kernel()
    m.type("OpTypePointer", "CrossWorkgroup", m.type("OpTypeInt", 16, 0))
    m.type("OpTypeVector", m.type("OpTypeInt", 32, 0), 8)
    assert ended(tool, m, f) == OPENCL | {"Int16", "Vector16"}


def test_cooperative_matrices(tool: Tool):
    m, f = shader()
    half, uint = m.type("OpTypeFloat", 16), m.type("OpTypeInt", 32, 0)
    constants = [m.constant(uint, value) for value in (3, 16, 16, 0)]
    matrix = m.type("OpTypeCooperativeMatrixKHR", half, *constants)
    pointer = element_pointer(m, f, buffer(m, half, 2), half)
    layout, stride = constants[3], constants[1]
    f.emit("OpCooperativeMatrixLoadKHR", pointer, layout, stride, type=matrix)
    added = {"Float16", "StorageBuffer16BitAccess", "CooperativeMatrixKHR"}
    assert ended(tool, m, f) == VULKAN | added
    assert extensions(m) == ["SPV_KHR_cooperative_matrix"]


def test_cooperative_matrices_of_bf16(tool: Tool):
    m, f = shader()
    brain = m.type("OpTypeFloat", 16, "BFloat16KHR")
    uint = m.type("OpTypeInt", 32, 0)
    constants = [m.constant(uint, value) for value in (3, 16, 16, 0)]
    matrix = m.type("OpTypeCooperativeMatrixKHR", brain, *constants)
    m.constant_composite(matrix, [m.constant(brain, 0x3F80)])
    added = {"BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR", "CooperativeMatrixKHR"}
    assert ended(tool, m, f) == VULKAN | added
    assert extensions(m) == ["SPV_KHR_bfloat16", "SPV_KHR_cooperative_matrix"]


def test_a_memory_scope_of_the_device(tool: Tool):
    """Only the memory scope counts, and only under the Vulkan memory model."""
    for memory_scope, added in (
        (1, {"VulkanMemoryModelDeviceScope"}),
        (2, set[str]()),
    ):
        m, f = shader()
        uint = m.type("OpTypeInt", 32, 0)
        ids = [m.constant(uint, value) for value in (2, memory_scope, 0x48)]
        f.emit("OpControlBarrier", *ids)
        assert ended(tool, m, f) == VULKAN | added
    m, f = kernel()
    uint = m.type("OpTypeInt", 32, 0)
    f.emit("OpControlBarrier", *(m.constant(uint, value) for value in (2, 1, 0x208)))
    assert ended(tool, m, f) == OPENCL


def test_scopes_of_memory_accesses(tool: Tool):
    m, f = shader()
    uint = m.type("OpTypeInt", 32, 0)
    pointer = element_pointer(m, f, buffer(m, uint, 4), uint)
    access = "NonPrivatePointer|MakePointerVisible|Aligned"
    f.emit("OpLoad", pointer, access, 4, m.constant(uint, 1), type=uint)
    assert ended(tool, m, f) == VULKAN | {"VulkanMemoryModelDeviceScope"}


@pytest.mark.parametrize(
    ("opcode", "kind", "bits", "capability", "extension"),
    [
        ("OpAtomicIAdd", "OpTypeInt", 64, "Int64Atomics", []),
        ("OpAtomicIAdd", "OpTypeInt", 32, None, []),
        *(
            (
                "OpAtomicFAddEXT",
                "OpTypeFloat",
                bits,
                f"AtomicFloat{bits}AddEXT",
                [f"SPV_EXT_shader_atomic_float{'16' * (bits == 16)}_add"],
            )
            for bits in (16, 32, 64)
        ),
        *(
            (
                "OpAtomicFMaxEXT",
                "OpTypeFloat",
                bits,
                f"AtomicFloat{bits}MinMaxEXT",
                ["SPV_EXT_shader_atomic_float_min_max"],
            )
            for bits in (16, 32, 64)
        ),
    ],
)
def test_atomics(
    tool: Tool,
    opcode: str,
    kind: str,
    bits: int,
    capability: str | None,
    extension: list[str],
):
    m, f = kernel()
    uint = m.type("OpTypeInt", 32, 0)
    element = m.type(kind, bits, *([0] if kind == "OpTypeInt" else []))
    pointer = m.variable(m.type("OpTypePointer", "Workgroup", element), "Workgroup")
    m.entry_points[0].operands = (*m.entry_points[0].operands, pointer)
    scope, relaxed = m.constant(uint, 2), m.constant(uint, 0)
    f.emit(opcode, pointer, scope, relaxed, m.constant(element, 1), type=element)
    widths = {
        ("OpTypeInt", 64): {"Int64"},
        ("OpTypeFloat", 16): {"Float16"},
        ("OpTypeFloat", 64): {"Float64"},
    }.get((kind, bits), set[str]())
    named = set[str]() if capability is None else {capability}
    assert ended(tool, m, f) == OPENCL | widths | named
    assert extensions(m) == extension


def test_alternatives_suit_shader_or_kernel(tool: Tool):
    for m, f in (shader(), kernel()):
        uint = m.type("OpTypeInt", 32, 0)
        one, subgroup = m.constant(uint, 1), m.constant(uint, 3)
        f.emit("OpGroupNonUniformIAdd", subgroup, "Reduce", one, type=uint)
        assert "GroupNonUniformArithmetic" in ended(tool, m, f)


def test_extensions_by_version():
    for version, wanted in (
        ((1, 0), ["SPV_KHR_storage_buffer_storage_class"]),
        ((1, 3), []),
    ):
        m = Module(version=version, memory_model="GLSL450")
        m.type("OpTypePointer", "StorageBuffer", m.type("OpTypeInt", 32, 0))
        assert extensions(m) == wanted
        assert capabilities(m) == {"Shader"}


def test_what_is_asked_for_is_declared():
    m, f = shader()
    f.emit("OpReturn")
    m.capabilities.add("Int64")
    assert capabilities(m) == VULKAN | {"Int64"}
