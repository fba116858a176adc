"""Laws of the SPIR-V module: unified, ordered, and text and binary are one."""

import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coopc.spirv.instruction import Id, Operand
from coopc.spirv.module import Function, Module
from coopc.spirv.writer import binary, text

Tool = Callable[[str], Path]

SECTIONS = (
    *("OpCapability", "OpExtension", "OpExtInstImport", "OpMemoryModel"),
    *("OpEntryPoint", "OpExecutionMode", "OpName", "OpDecorate"),
    *("OpTypeVoid", "OpFunction"),
)
STRINGS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


def kernel(m: Module) -> Function:
    """An OpenCL kernel without parameters, its first block begun."""
    void = m.type("OpTypeVoid")
    f = m.function(void, m.type("OpTypeFunction", void), name="main")
    f.begin_block(f.new_label())
    m.entry_point("Kernel", f.id, "main")
    return f


def opencl(version: tuple[int, int] = (1, 6)) -> Module:
    return Module(version=version, addressing="Physical64", memory_model="OpenCL")


def small() -> Module:
    """One instruction of each section."""
    m = opencl((1, 3))
    f = kernel(m)
    float_type = m.type("OpTypeFloat", 32)
    pointer = m.type("OpTypePointer", "Function", float_type)
    value = f.emit("OpLoad", f.local_variable(pointer, name="x"), type=float_type)
    fma = (m.ext_inst_import("OpenCL.std"), "fma", value, value, value)
    result = f.emit("OpExtInst", *fma, type=float_type, name="y")
    m.decorate(result, "FPFastMathMode", "NotNaN|NotInf")
    m.execution_mode(f.id, "SubgroupSize", 16)
    f.emit("OpReturn")
    m.decorate(result, "NoSignedWrap")
    return m


def assemble(tool: Tool, source: str, version: tuple[int, int], *flags: str) -> bytes:
    env = "spv{}.{}".format(*version)
    command = [tool("spirv-as"), "--target-env", env, *flags, "-", "-o", "-"]
    done = subprocess.run(command, input=source.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(tool: Tool, m: Module) -> None:
    """Both texts assemble to the binary, to the byte."""
    numeric = text(m, numeric_ids=True)
    preserve = "--preserve-numeric-ids"
    assert assemble(tool, numeric, m.version, preserve) == binary(m)
    assert assemble(tool, text(m), m.version) == binary(m)


def operations(m: Module) -> list[str]:
    return re.findall(r"\bOp\w+", text(m))


# --- text and binary -------------------------------------------------------------


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """Constants of all types and bits, names and strings of any characters."""
    m = opencl(draw(st.sampled_from([(1, 0), (1, 4), (1, 6)])))
    f = kernel(m)
    types = [m.type("OpTypeInt", b, s) for b in (8, 16, 32, 64) for s in (0, 1)]
    types += [m.type("OpTypeFloat", b) for b in (16, 32, 64)]
    types += [m.type("OpTypeFloat", 16, "BFloat16KHR")]
    for _ in range(draw(st.integers(0, 12))):
        type = draw(st.sampled_from(types))
        size = width(type) // 8
        name = draw(st.none() | STRINGS)
        bits = draw(st.binary(min_size=size, max_size=size))
        constant = m.constant(type, int.from_bytes(bits, "little"), name=name)
        f.emit("OpCopyObject", constant, type=type, name=draw(st.none() | STRINGS))
    f.emit("OpReturn")
    return m


def width(type: Id) -> int:
    assert type.definition is not None
    bits = type.definition.operands[0]
    assert isinstance(bits, int)
    return bits


@settings(deadline=None, max_examples=40)
@given(m=modules())
def test_text_assembles_to_the_binary(tool: Tool, m: Module):
    check(tool, m)


def test_switch_literals_have_the_width_of_the_selector(tool: Tool):
    for bits, case in ((8, 0xFF), (16, 1), (32, 2**31), (64, 2**40 + 1)):
        m = opencl()
        f = kernel(m)
        selector = m.constant(m.type("OpTypeInt", bits, 0), 3)
        end = f.new_label("end")
        f.emit("OpSelectionMerge", end, "None")
        f.emit("OpSwitch", selector, end, case, end)
        f.begin_block(end)
        f.emit("OpReturn")
        check(tool, m)


def test_phi_may_name_a_value_to_come(tool: Tool):
    m = opencl()
    f = kernel(m)
    entry = f.block
    assert entry is not None
    uint = m.type("OpTypeInt", 32, 0)
    loop, end = f.new_label("loop"), f.new_label("end")
    f.emit("OpBranch", loop)
    f.begin_block(loop)
    one = m.constant(uint, 1)
    phi = f.emit("OpPhi", one, entry, type=uint)
    later = f.emit("OpIAdd", phi, one, type=uint, name="i")
    assert phi.definition is not None
    phi.definition.operands = (one, entry, later, loop)
    condition = f.emit("OpULessThan", later, one, type=m.type("OpTypeBool"))
    f.emit("OpLoopMerge", end, loop, "DontUnroll|MaxIterations", 4)
    f.emit("OpBranchConditional", condition, loop, end)
    f.begin_block(end)
    f.emit("OpReturn")
    check(tool, m)
    subprocess.run([tool("spirv-val")], input=binary(m), check=True)


def test_an_instruction_may_name_itself():
    m = opencl()
    f = kernel(m)
    uint = m.type("OpTypeInt", 32, 0)
    self = f.emit("OpPhi", type=uint, name="self")
    assert self.definition is not None
    self.definition.operands = (self, f.id)
    f.emit("OpReturn")
    assert "%self = OpPhi %uint %self %main" in text(m)


def float_patterns(operands: tuple[int | str, ...]) -> Iterable[int]:
    """All encodings of 16 bits; zeros, infinities, NaNs and extremes of wider ones."""
    if operands[0] == 16:
        return range(1 << 16)
    bits, mantissa = (32, 23) if operands[0] == 32 else (64, 52)
    infinity = (1 << (bits - 1)) - (1 << mantissa)
    quiet = infinity | 1 << (mantissa - 1)
    positive = [0, 1, (1 << mantissa) - 1, infinity - 1, infinity, infinity + 1, quiet]
    return [*positive, *(1 << (bits - 1) | pattern for pattern in positive)]


@pytest.mark.parametrize("operands", [(16,), (16, "BFloat16KHR"), (32,), (64,)])
def test_float_constants_are_exact(tool: Tool, operands: tuple[int | str, ...]):
    """Also those of spirv-as, which cuts 16-bit floats off rather than rounding."""
    m = opencl()
    type = m.type("OpTypeFloat", *operands)
    for bits in float_patterns(operands):
        m.constant(type, bits)
    numeric = text(m, numeric_ids=True)
    preserve = "--preserve-numeric-ids"
    assert assemble(tool, numeric, m.version, preserve) == binary(m)


# --- one id per distinct type and constant ---------------------------------------


def test_equal_types_and_constants_are_one():
    m = Module()
    uint, float_type = m.type("OpTypeInt", 32, 0), m.type("OpTypeFloat", 32)
    assert m.type("OpTypeInt", 32, 0) is uint
    assert m.type("OpTypeInt", 32, 1) is not uint
    assert m.constant(uint, 1) is not m.constant(float_type, 1)
    assert m.constant(float_type, 0) is not m.constant(float_type, 1 << 31)
    pair = m.type("OpTypeVector", uint, 2)
    one = m.constant(uint, 1)
    composite = m.constant_composite(pair, [one, one])
    assert m.constant_composite(pair, [one, one]) is composite
    assert m.ext_inst_import("OpenCL.std") is m.ext_inst_import("OpenCL.std")


def test_distinct_types_and_spec_constants_are_not_one():
    m = Module()
    uint = m.type("OpTypeInt", 32, 0)
    struct = m.type("OpTypeStruct", uint, distinct=True)
    assert m.type("OpTypeStruct", uint, distinct=True) is not struct
    assert m.spec_constant(uint, 1, 0) is not m.spec_constant(uint, 1, 1)


# --- order -----------------------------------------------------------------------


def test_sections_are_in_the_order_of_the_specification():
    found = operations(small())
    positions = [found.index(opcode) for opcode in SECTIONS]
    assert positions == sorted(positions)


def test_local_variables_open_the_first_block():
    m = opencl()
    f = kernel(m)
    uint = m.type("OpTypeInt", 32, 0)
    f.emit("OpCopyObject", m.constant(uint, 1), type=uint)
    f.local_variable(m.type("OpTypePointer", "Function", uint))
    f.emit("OpReturn")
    assert operations(m)[-5:] == [
        *("OpLabel", "OpVariable", "OpCopyObject", "OpReturn", "OpFunctionEnd")
    ]


def test_declared_functions_come_before_defined_ones(tool: Tool):
    m = opencl()
    f = kernel(m)
    void = m.type("OpTypeVoid")
    outside = m.function(void, m.type("OpTypeFunction", void), name="outside")
    m.decorate(outside.id, "LinkageAttributes", "outside", "Import")
    f.emit("OpFunctionCall", outside.id, type=void)
    f.emit("OpReturn")
    assert text(m).index("%outside = OpFunction") < text(m).index("%main = OpFunction")
    subprocess.run([tool("spirv-val")], input=binary(m), check=True)
    check(tool, m)


def test_writing_again_gives_the_same():
    m = small()
    assert text(m) == text(m) == text(small())
    assert binary(m) == binary(small())


# --- names -----------------------------------------------------------------------


def test_names_are_kept_made_legal_and_unique(tool: Tool):
    m = opencl()
    f = kernel(m)
    uint = m.type("OpTypeInt", 32, 0)
    one = m.constant(uint, 1)
    for name in ("acc", "acc", "0", "a.b", "", "uint", "acc_0", "größe"):
        f.emit("OpCopyObject", one, type=uint, name=name)
    f.emit("OpReturn")
    body = re.findall(r"%(\w+) = OpCopyObject", text(m))
    assert body == ["acc", "acc_0", "_0", "a_b", "_", "uint", "acc_0_0", "gr__e"]
    assert re.findall(r"OpName %gr__e (.*)", text(m)) == ['"größe"']
    check(tool, m)


def test_types_and_constants_are_named_by_what_they_are():
    m = Module()
    half, int_type = m.type("OpTypeFloat", 16), m.type("OpTypeInt", 32, 1)
    vector = m.type("OpTypeVector", half, 4)
    m.type("OpTypePointer", "StorageBuffer", vector)
    m.constant(int_type, 2**32 - 5)
    m.constant(half, 0x3E00)
    m.constant(half, 0x7C00)
    names = re.findall(r"%(\S+) = ", text(m))
    assert names == [
        *("half", "int", "v4half", "ptr_StorageBuffer_v4half", "int_n5", "half_1_5"),
        "half_0x1p16",
    ]


# --- wrong calls and coopc's own bugs ----------------------------------------------


def test_constants_must_fit_their_type():
    m = Module()
    byte = m.type("OpTypeInt", 8, 1)
    for wrong in (-1, 256):
        with pytest.raises(AssertionError, match="are no bits of"):
            m.constant(byte, wrong)


def test_strings_without_nul():
    m = Module()
    m.name(m.type("OpTypeVoid"), "a\0b")
    with pytest.raises(ValueError, match="expected a string without NUL"):
        binary(m)


def emitted(m: Module, opcode: str, *operands: Operand, type: Id | None = None) -> str:
    """A module with one instruction."""
    f = kernel(m)
    f.emit(opcode, *operands, type=type)
    f.emit("OpReturn")
    return text(m)


def test_writing_asserts_on_operands():
    m = opencl()
    uint = m.type("OpTypeInt", 32, 0)
    one = m.constant(uint, 1)
    cases: dict[str, tuple[str, tuple[Operand, ...]]] = {
        "unknown instruction OpFoo": ("OpFoo", ()),
        "expected IdRef next": ("OpIAdd", (one,)),
        "expected IdRef as operand 1, got 1": ("OpIAdd", (one, 1)),
        "MemoryAccess has no Fast": ("OpLoad", (one, "Fast")),
        "expected LiteralInteger next": ("OpLoad", (one, "Aligned")),
        "1 operands too many": ("OpLoad", (one, "Volatile", 4)),
        "OpenCL.std has no foo": (
            "OpExtInst",
            (m.ext_inst_import("OpenCL.std"), "foo", one),
        ),
        "fma does not take 1": (
            "OpExtInst",
            (m.ext_inst_import("OpenCL.std"), "fma", one),
        ),
    }
    for message, (opcode, operands) in cases.items():
        with pytest.raises(AssertionError, match=message):
            emitted(m, opcode, *operands, type=uint)
        m.functions.clear()
    with pytest.raises(AssertionError, match="without a type"):
        emitted(m, "OpIAdd", one, one)


def test_blocks_must_be_begun_and_ended():
    m = opencl()
    f = kernel(m)
    with pytest.raises(AssertionError, match="has no end"):
        binary(m)
    f.emit("OpReturn")
    with pytest.raises(AssertionError, match="stands in no block"):
        f.emit("OpReturn")


def test_used_ids_must_be_defined():
    m = opencl()
    f = kernel(m)
    f.emit("OpBranch", f.new_label("nowhere"))
    with pytest.raises(AssertionError, match=r"%nowhere .* nowhere defined"):
        binary(m)
