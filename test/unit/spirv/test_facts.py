"""What the run-times read from a SPIR-V module."""

import struct
from collections.abc import Callable, Sequence

import pytest

from coopc.spirv.facts import MatrixProduct, SpirvMatrix, spirv_facts

HEADER = struct.pack("<5I", 0x07230203, 0x00010600, 0, 10, 0)


def test_saxpy(spirv: Callable[..., bytes]):
    facts = spirv_facts(spirv("vulkan_saxpy", offset=0))
    assert facts.version == (1, 6)
    assert list(facts.entry_points.values()) == ["saxpy"]
    assert facts.work_group_columns == {"saxpy": 8}
    assert facts.bindings == {"saxpy": 2}
    assert not facts.matrix_types
    assert not facts.multiplications


def test_subgroup_size(spirv: Callable[..., bytes]):
    facts = spirv_facts(spirv("opencl_shuffle", lanes=32))
    assert facts.version == (1, 4)
    assert facts.subgroup_sizes == {"reverse": 32}


def test_signed_matrices(spirv: Callable[..., bytes]):
    binary = spirv(
        "vulkan_matrix",
        input="byte",
        sum="uint",
        input_bytes=1,
        lanes=32,
        operands="MatrixASignedComponentsKHR|MatrixCSignedComponentsKHR",
        **{"m": 16, "n": 8, "k": 32},
    )
    facts = spirv_facts(binary)
    assert facts.multiplications == {MatrixProduct(16, 8, 32, "s8", "u8", "s32", "u32")}
    assert facts.matrix_types == {
        SpirvMatrix(16, 32, "u8", "a"),
        SpirvMatrix(32, 8, "u8", "b"),
        SpirvMatrix(16, 8, "u32", "c"),
    }


def binary_of(instructions: Sequence[tuple[int, ...]]) -> bytes:
    words = [
        x
        for opcode, *operands in instructions
        for x in (len(operands) + 1 << 16 | opcode, *operands)
    ]
    return HEADER + struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize("declared", [False, True])
def test_layouts(declared: bool):
    """Arm's blocks are layouts where their capability is declared."""
    instructions = (
        *([(17, 4201)] if declared else []),  # OpCapability CooperativeMatrixLayoutsARM
        (71, 6, 1, 3),  # OpDecorate SpecId 3
        (21, 5, 32, 0),  # OpTypeInt 32 0
        (50, 5, 6, 0),  # OpSpecConstant 0
        (4458, 8, 9, 6),  # OpCooperativeMatrixStoreKHR
    )
    binary = binary_of(instructions)
    also = [4202, 4203] if declared else []
    for layout in (0, 1, 2, 3, 4202, 4203):
        facts = spirv_facts(binary, {3: struct.pack("<I", layout)})
        wanted = [0, 1, 2, *also]
        text = f"a layout of {', '.join(map(str, wanted))}, got {layout}"
        mistakes = [] if layout in wanted else [f"expected constants that give {text}"]
        assert facts.mistakes == mistakes


def test_specialization_changes_sizes():
    """The work-group size and the matrix size are specialization constant 3."""
    instructions = (
        (15, 5, 1, int.from_bytes(b"main", "little"), 0),  # OpEntryPoint GLCompute
        (331, 1, 38, 6, 6, 6),  # OpExecutionModeId LocalSizeId
        (71, 6, 1, 3),  # OpDecorate SpecId 3
        (22, 4, 16),  # OpTypeFloat 16
        (21, 5, 32, 0),  # OpTypeInt 32 0
        (50, 5, 6, 8),  # OpSpecConstant 8
        (43, 5, 7, 3),  # OpConstant 3
        (43, 5, 8, 0),  # OpConstant 0
        (4456, 9, 4, 7, 6, 6, 8),  # OpTypeCooperativeMatrixKHR
    )
    binary = binary_of(instructions)
    for given, size in (({}, 8), ({3: struct.pack("<I", 16)}, 16)):
        facts = spirv_facts(binary, given)
        assert facts.matrix_types == {SpirvMatrix(size, size, "f16", "a")}
        assert facts.work_group_columns == {"main": size}


@pytest.mark.parametrize(
    ("binary", "message"),
    [
        (b"", "expected a SPIR-V module, got 0 bytes"),
        (HEADER + b"x", "expected whole SPIR-V words, got 21 bytes"),
        (HEADER[::-1], "expected SPIR-V magic 0x07230203, got"),
        (HEADER + struct.pack("<I", 2 << 16 | 19), "cut off at word 5"),
        (HEADER + bytes(4), "cut off at word 5"),
        (HEADER + struct.pack("<3I", 3 << 16 | 4456, 1, 2), "cannot read opcode 4456"),
    ],
)
def test_no_module(binary: bytes, message: str):
    with pytest.raises(ValueError, match=message):
        spirv_facts(binary)


def test_missing_entry_point(spirv: Callable[..., bytes]):
    facts = spirv_facts(spirv("opencl_saxpy"))
    facts.check_entry("saxpy")
    with pytest.raises(ValueError, match="entry point 'gemm', the module has 'saxpy'"):
        facts.check_entry("gemm")
