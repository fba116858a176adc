"""The tables are those of SPIRV-Headers, and what spirv-as and spirv-val know."""

import re
import subprocess
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from support import spirv_grammar
from support.toolchain import is_locked

from coopc.run import toolchain
from coopc.spirv import grammar_table
from coopc.spirv.grammar import (
    ID_KINDS,
    InstructionFacts,
    enumeration,
    instruction_facts,
    is_enumeration,
)
from coopc.spirv.grammar_table import (
    ENUMERATIONS,
    EXTENDED_INSTRUCTIONS,
    INSTRUCTIONS,
    MASKS,
)
from coopc.spirv.instruction import Operand
from coopc.spirv.module import Module
from coopc.spirv.writer import binary, text

Tool = Callable[[str], Path]

SECTIONS = {
    "OpEntryPoint": "entry_points",
    "OpExecutionMode": "execution_modes",
    "OpExecutionModeId": "execution_modes",
    "OpDecorate": "annotations",
    "OpDecorateId": "annotations",
    "OpDecorationGroup": "annotations",
    "OpGroupDecorate": "annotations",
}
HEADER = {
    *("OpCapability", "OpExtension", "OpMemoryModel", "OpExtInstImport", "OpLabel"),
    *("OpFunction", "OpFunctionParameter", "OpFunctionEnd", "OpString", "OpSource"),
    *("OpSourceExtension", "OpName", "OpMemberName", "OpModuleProcessed"),
    *("OpDecorateString", "OpMemberDecorateString", "OpMemberDecorate", "OpTypeFloat"),
    "OpTypeForwardPointer",
}
"""Instructions that a module has anyway, or that another one stands for; the last names
a pointer to come, which no sample is."""

ENDS = {"OpReturn", "OpKill", "OpUnreachable", "OpTerminateInvocation", "OpBranch"} | {
    *("OpBranchConditional", "OpSwitch", "OpReturnValue")
}


LITERALS: dict[str, Operand] = {
    "LiteralInteger": 16,
    "LiteralContextDependentNumber": 7,
    "LiteralString": 'a "b\\',
}

UNKNOWN = {
    name
    for table in (INSTRUCTIONS, *ENUMERATIONS.values(), *MASKS.values())
    for name, (_, _, needed, extension, _) in table.items()
    if toolchain.JOINT_MATRIX
    in {extension, *(ENUMERATIONS["Capability"][x][3] for x in needed)}
}
"""What spirv-as and spirv-val do not know; Intel's compiler does."""


class Sample:
    """A module into which single instructions are put, with no regard to sense."""

    def __init__(self, addressing: str = "Physical64", memory_model: str = "OpenCL"):
        self.module = Module(addressing=addressing, memory_model=memory_model)
        m = self.module
        self.uint = m.type("OpTypeInt", 32, 0)
        self.one = m.constant(self.uint, 7)
        self.imported = m.ext_inst_import("OpenCL.std")
        void = m.type("OpTypeVoid")
        self.function = m.function(void, m.type("OpTypeFunction", void))
        self.function.begin_block(self.function.new_label())

    def add(self, opcode: str, operands: tuple[Operand, ...]) -> None:
        """Put the instruction into the section where it belongs."""
        facts = instruction_facts(opcode)
        self.function.block = self.function.id
        result = self.function.emit(
            opcode, *operands, type=self.uint if facts.has_type else None
        )
        self.function.block = None
        section = SECTIONS.get(opcode)
        if re.search("OpType|Constant|VariableKHR|OpUndef", opcode):
            section = "globals"
        if section is not None:
            getattr(self.module, section).append(self.function.body.pop())
        assert (result.definition is not None) == facts.has_result

    def end(self) -> None:
        """Give the function an end, if its last instruction is none."""
        if self.function.body[-1].facts.name not in ENDS:
            self.function.block = self.function.id
            self.function.emit("OpReturn")

    def operands(self, kind: str) -> Iterator[tuple[Operand, ...]]:
        """Operands of the kind: one for most, each enumerant of an enumeration."""
        if kind in ID_KINDS:
            yield (self.one,)
        elif is_enumeration(kind):
            for member in enumeration(kind).members.values():
                if member.name in UNKNOWN:
                    continue
                for following in self.operands_of(member.operands):
                    yield (member.name, *following)
        elif kind == "LiteralSpecConstantOpInteger":
            yield ("OpIAdd", self.one, self.one)
        else:
            yield (LITERALS[kind],)

    def operands_of(self, kinds: tuple[str, ...]) -> Iterator[tuple[Operand, ...]]:
        """Operands of all these kinds, until each sample of each kind has been."""
        if not kinds:
            yield ()
            return
        choices = [list(self.operands(kind)) for kind in kinds]
        firsts = [choice[0] for choice in choices]
        for row in zip_longest(*choices):
            picked = [
                p if p is not None else f for p, f in zip(row, firsts, strict=True)
            ]
            yield tuple(value for words in picked for value in words)

    def all_operands(self, facts: InstructionFacts) -> Iterator[tuple[Operand, ...]]:
        """Operands of the instruction, the optional ones among them."""
        if facts.name.startswith("OpExtInst") and facts.has_type:
            yield (self.imported, "exp", self.one)
        elif facts.name == "OpExtInstImport":
            yield ("OpenCL.std",)
        elif facts.name == "OpTypeFloat":
            for encoding in enumeration("FPEncoding").members:
                yield (16 if encoding == "BFloat16KHR" else 8, encoding)
        elif facts.name == "OpTypeInt":
            yield (32, 1)
        elif not facts.parameters:
            yield ()
        else:
            kinds = tuple(kind for o in facts.parameters for kind in o.kinds)
            for first, *rest in map(list, self.operands_of(kinds)):
                is_type = facts.name.startswith("OpType") and first is self.one
                yield (self.uint if is_type else first, *rest)


def assemble(tool: Tool, source: str, version: tuple[int, int] = (1, 6)) -> bytes:
    env = "spv{}.{}".format(*version)
    flags = ("--preserve-numeric-ids", "--target-env", env, "-", "-o", "-")
    command = [tool("spirv-as"), *flags]
    done = subprocess.run(command, input=source.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_instruction_and_enumerant_assembles(tool: Tool):
    """One module has them all; spirv-as makes the same words of its text."""
    sample = Sample()
    shown: set[str] = set()
    for name in INSTRUCTIONS.keys() - UNKNOWN:
        for operands in sample.all_operands(instruction_facts(name)):
            sample.add(name, operands)
            shown |= {word for word in operands if isinstance(word, str)}
    source = text(sample.module, numeric_ids=True)
    assert assemble(tool, source) == binary(sample.module)
    for name in {*ENUMERATIONS, *MASKS} - spirv_grammar.BY_ID:
        assert shown >= set(enumeration(name).members) - UNKNOWN, name


def test_enumerants_given_by_id():
    """spirv-as does not know these: the specification's tables, and KHR's."""
    value = {name: enumeration(name).value for name in spirv_grammar.BY_ID}
    assert [value["Scope"](s) for s in ("Device", "Workgroup", "Subgroup")] == [1, 2, 3]
    assert value["MemorySemantics"]("AcquireRelease|WorkgroupMemory") == 0x108
    assert value["MemorySemantics"]("MakeAvailable|MakeVisible") == 0x6000
    assert value["MemorySemantics"]("UniformMemory|CrossWorkgroupMemory") == 0x240
    assert value["CooperativeMatrixLayout"]("ColumnMajorKHR") == 1
    assert value["CooperativeMatrixUse"]("MatrixAccumulatorKHR") == 2


def test_tables_are_generated():
    """The generator and the grammar of `toolchain.lock` give the module to the byte."""
    if not is_locked("spirv-headers"):
        pytest.skip("no spirv-headers of toolchain.lock: run `make toolchain`")
    headers = toolchain.toolchain() / "root/usr/include/spirv/unified1"
    source = Path(grammar_table.__file__).read_text()
    assert spirv_grammar.generate(headers) == source


@pytest.mark.parametrize("set_name", EXTENDED_INSTRUCTIONS)
def test_every_extended_instruction_assembles(tool: Tool, set_name: str):
    """spirv-as has the same number, and takes the same count of operands."""
    sample = Sample()
    imported = sample.module.ext_inst_import(set_name)
    for name, (_, operand_count) in EXTENDED_INSTRUCTIONS[set_name].items():
        operands = [sample.one] * (operand_count or 1)
        sample.add("OpExtInst", (imported, name, *operands))
    source = text(sample.module, numeric_ids=True)
    assert assemble(tool, source) == binary(sample.module)


FLAVOURS = (
    ("Logical", "Simple"),
    ("Logical", "OpenCL"),
    ("Logical", "Vulkan"),
    ("Physical64", "OpenCL"),
)


def single(name: str, at: int, flavour: tuple[str, str]) -> bytes:
    """A module with one instruction, with the sample operands of that number."""
    sample = Sample(*flavour)
    sample.module.capabilities.add("Linkage")  # there is no entry point
    sample.add(name, list(sample.all_operands(instruction_facts(name)))[at])
    sample.end()
    return binary(sample.module)


def cases() -> list[tuple[str, int]]:
    """Each instruction with each of its sample operands."""
    sample = Sample()
    return [
        (name, at)
        for name in INSTRUCTIONS
        if name not in HEADER | UNKNOWN
        for at, operands in enumerate(sample.all_operands(instruction_facts(name)))
        if "PointSize" not in operands  # spirv-val takes it from kernels, too
    ]


def declared(module: bytes) -> list[int]:
    """The capabilities of a binary: they stand first, two words each."""
    words = memoryview(module).cast("I")[5:].tolist()
    count = next(at for at in range(0, len(words), 2) if words[at] != 2 << 16 | 17)
    return words[1:count:2]


def without(module: bytes, capability: int) -> bytes:
    at = 20 + 8 * declared(module).index(capability)
    return module[:at] + module[at + 8 :]


def complaint(tool: Tool, module: bytes, about: str = "capabilit|extension") -> str:
    """What spirv-val says about capabilities or extensions, or nothing."""
    done = subprocess.run([tool("spirv-val")], input=module, capture_output=True)
    said = (done.stdout + done.stderr).decode()
    found = re.search(rf".*({about}).*", said)
    return found[0] if found else ""


def implied(capabilities: list[int]) -> set[int]:
    """The numbers of those that others imply, which nobody misses."""
    known = enumeration("Capability").members
    found: set[int] = set()
    todo = [m for m in known.values() if m.value in capabilities]
    while todo:
        inner = [known[name] for name in todo.pop().needs.capabilities]
        found |= {member.value for member in inner}
        todo += inner
    return found


def test_needs_are_met_and_needed(tool: Tool):
    """spirv-val misses nothing, and misses each derived capability when removed."""
    value = enumeration("Capability").value
    base = {value("Shader"), value("Kernel"), value("Linkage")}
    removed: set[int] = set()
    for name, at in cases():
        modules = (single(name, at, flavour) for flavour in FLAVOURS)
        module = next((m for m in modules if not complaint(tool, m)), None)
        assert module is not None, f"{name} fits no flavour"
        capabilities = declared(module)
        for capability in set(capabilities) - base - implied(capabilities):
            assert complaint(tool, without(module, capability)), (name, capability)
            removed.add(capability)
    assert len(removed) > 20


def test_kernel_and_shader_only_where_needed(tool: Tool):
    """What spirv-val takes in a shader does not ask for Kernel, nor the reverse."""
    asked = 0
    for name, at in cases():
        for flavour, other in ((FLAVOURS[0], "Kernel"), (FLAVOURS[1], "Shader")):
            module = single(name, at, flavour)
            foreign = enumeration("Capability").value(other)
            found = declared(module)
            if foreign in found and foreign not in implied(found):
                less = without(module, foreign)
                assert complaint(tool, less), f"{name} asks for {other}"
                asked += 1
    assert asked > 20


@pytest.mark.parametrize("version", [(1, 3), (1, 4), (1, 5), (1, 6)])
def test_capabilities_bring_their_extension(tool: Tool, version: tuple[int, int]):
    """Each capability alone: spirv-val misses no extension, and each that is there."""
    named = 0
    for name, capability in enumeration("Capability").members.items():
        if not (capability.needs.is_core(version) or capability.needs.extension):
            continue
        if name in UNKNOWN:
            continue
        module = Module(version=version, memory_model="Simple")
        module.capabilities |= {name, "Linkage"}
        assert complaint(tool, binary(module), "these extensions") == "", name
        if module_extensions(module):
            named += 1
            text_without = re.sub(".*OpExtension.*\n", "", text(module))
            less = assemble(tool, text_without, version)
            assert complaint(tool, less, "these extensions"), name
    assert named > 10


def module_extensions(module: Module) -> list[str]:
    return re.findall(r"OpExtension \"(.*)\"", text(module))
