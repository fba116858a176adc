"""The capabilities and extensions that a module must declare, from what it uses.

Each use asks for any one of some capabilities (`Needs`).  Asks for one are met first;
then the others, in order, by what is declared or implied already, else by the first
that suits the kind of module (kernel or shader), preferably one of the core.  A
capability that is only implied by a declared one is not declared.  The result is in the
order of their numbers.

Some uses follow from types and values, not from an opcode or enumerant:

- the widths of integers and floats, long vectors, bf16 and f8 in cooperative matrices;
- 8 and 16-bit members of buffers and push constants of shaders;
- atomics by the type that they work on;
- memory scopes of the whole device under the Vulkan memory model.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from coopc.spirv.grammar import Enumerant, InstructionFacts, Needs, Version, enumeration
from coopc.spirv.instruction import Id, Instruction, Operand, ResolvedOperand, Selected
from coopc.spirv.module import Module

Placed = Sequence[tuple[Instruction, list[ResolvedOperand]]]
Alternatives = tuple[str, ...]

_INTS = {8: "Int8", 16: "Int16", 64: "Int64"}
_FLOATS = {16: "Float16", 64: "Float64"}
_MATRICES = {
    "BFloat16KHR": "BFloat16CooperativeMatrixKHR",
    "Float8E4M3EXT": "Float8CooperativeMatrixEXT",
    "Float8E5M2EXT": "Float8CooperativeMatrixEXT",
}
"""Encoding of the elements of a cooperative matrix to the capability."""
_ACCESS = {
    ("StorageBuffer", 8): "StorageBuffer8BitAccess",
    ("StorageBuffer", 16): "StorageBuffer16BitAccess",
    ("PhysicalStorageBuffer", 8): "StorageBuffer8BitAccess",
    ("PhysicalStorageBuffer", 16): "StorageBuffer16BitAccess",
    ("PushConstant", 8): "StoragePushConstant8",
    ("PushConstant", 16): "StoragePushConstant16",
}
"""Storage class and width in bits to the capability of a shader."""


def capabilities(module: Module, placed: Placed) -> list[str]:
    """The capabilities to declare."""
    asked: dict[Alternatives, None] = {(name,): None for name in module.capabilities}
    for needs in needed(placed):
        if needs.capabilities:
            asked[needs.capabilities] = None
    for alternatives in _typed_needs(module, placed):
        asked[alternatives] = None
    declared = {choices[0] for choices in asked if len(choices) == 1}
    reached = _closure(declared)
    for choices in sorted(asked, key=lambda choices: (len(choices), choices)):
        if reached.isdisjoint(choices):
            declared.add(_choose(choices, reached, module.version))
            reached = _closure(declared)
    return sorted(declared, key=lambda name: _capability(name).value)


def extensions(module: Module, placed: Placed, declared: list[str]) -> list[str]:
    """The extensions to declare, beside those capabilities."""
    needs = [*needed(placed), *(_capability(name).needs for name in declared)]
    found = (need.extension_in(module.version) for need in needs)
    return sorted({extension for extension in found if extension is not None})


def needed(placed: Placed) -> Iterable[Needs]:
    """What instructions and their operands need, each once."""
    kinds = {id(instruction.facts): instruction.facts for instruction, _ in placed}
    found = dict.fromkeys(facts.needs for facts in kinds.values())
    for _, operands in placed:
        for operand in operands:
            if type(operand) is Selected:
                found |= dict.fromkeys(member.needs for member in operand.members)
            elif type(operand) is InstructionFacts:
                found[operand.needs] = None
    return found


def _choose(choices: Alternatives, reached: set[str], version: Version) -> str:
    """The first choice that does not make a kernel a shader, or the other way."""
    foreign = {"Shader"} if "Kernel" in reached else {"Kernel"}

    def rank(name: str) -> tuple[bool, bool]:
        suits = foreign.isdisjoint({name, *_implied(name)})
        return not suits, not _capability(name).needs.is_core(version)

    return min(choices, key=rank)


def _closure(declared: Iterable[str]) -> set[str]:
    return {name for outer in declared for name in (outer, *_implied(outer))}


@cache
def _implied(name: str) -> frozenset[str]:
    """All capabilities that one implies, not itself."""
    direct = _capability(name).needs.capabilities
    return frozenset(_closure(direct))


def _capability(name: str) -> Enumerant:
    (member,) = enumeration("Capability").select(name)
    return member


SCOPED = (
    *("OpAtomic", "OpControlBarrier", "OpMemoryBarrier"),
    *("OpLoad", "OpStore", "OpCopyMemory", "OpCooperativeMatrix"),
)
"""How the opcodes of instructions begin that may have a scope."""


def _typed_needs(module: Module, placed: Placed) -> Iterator[Alternatives]:
    """What follows from types and values, possibly more than once."""
    kernel = "OpenCL" in module.memory_model.operands
    vulkan = "Vulkan" in module.memory_model.operands
    for instruction, _ in placed:
        name = instruction.facts.name
        if name.startswith("OpType"):
            yield from _type_needs(instruction)
            if name == "OpTypePointer" and not kernel:
                yield from _access_needs(instruction)
        elif name.startswith("OpAtomic"):
            yield from _atomic_needs(instruction)
        if vulkan and name.startswith(SCOPED) and _has_device_scope(instruction):
            yield ("VulkanMemoryModelDeviceScope",)


def _type_needs(instruction: Instruction) -> Iterator[Alternatives]:
    match (instruction.facts.name, *instruction.operands):
        case "OpTypeInt", int(bits), _ if bits in _INTS:
            yield (_INTS[bits],)
        case "OpTypeFloat", int(bits) if bits in _FLOATS:
            yield (_FLOATS[bits],)
        case "OpTypeVector", _, 8 | 16:
            yield ("Vector16",)
        case "OpTypeCooperativeMatrixKHR", Id(definition=Instruction() as element), *_:
            # OpDot of bf16 would need BFloat16DotProductKHR, but nothing emits OpDot.
            for encoding in _MATRICES.keys() & set(element.operands):
                yield (_MATRICES[str(encoding)],)
        case _:
            pass


def _access_needs(pointer: Instruction) -> Iterator[Alternatives]:
    storage, pointee = pointer.operands
    assert isinstance(storage, str), f"{pointer} has no storage class"
    assert isinstance(pointee, Id), f"{pointer} has no pointee"
    for bits in sorted(_widths(pointee)):
        if (storage, bits) in _ACCESS:
            yield (_ACCESS[storage, bits],)


def _widths(type: Id) -> set[int]:
    """The widths in bits of the numbers in a type, not through pointers."""
    definition = type.definition
    assert definition is not None, f"{type} is not defined"
    name = definition.facts.name
    if name in ("OpTypeInt", "OpTypeFloat"):
        return {bits for bits in definition.operands[:1] if isinstance(bits, int)}
    if name in ("OpTypeVector", "OpTypeArray", "OpTypeRuntimeArray", "OpTypeMatrix"):
        inner = definition.operands[:1]
    elif name == "OpTypeStruct":
        inner = definition.operands
    else:
        inner = ()
    return {bits for id in inner if isinstance(id, Id) for bits in _widths(id)}


def _atomic_needs(instruction: Instruction) -> Iterator[Alternatives]:
    name = instruction.facts.name
    value = instruction.type
    if value is None and name == "OpAtomicStore":
        stored = instruction.operands[3]
        value = stored.type if isinstance(stored, Id) else None
    if value is None or value.definition is None:
        return
    bits = value.definition.operands[0]
    if value.definition.facts.name == "OpTypeInt":
        if bits == 64:
            yield ("Int64Atomics",)
    elif name == "OpAtomicFAddEXT":
        yield (f"AtomicFloat{bits}AddEXT",)
    elif name in ("OpAtomicFMinEXT", "OpAtomicFMaxEXT"):
        yield (f"AtomicFloat{bits}MinMaxEXT",)


def _has_device_scope(instruction: Instruction) -> bool:
    name = instruction.facts.name
    if name in ("OpControlBarrier", "OpControlBarrierArriveINTEL"):
        return _is_device(instruction.operands[1])
    if name == "OpMemoryBarrier":
        return _is_device(instruction.operands[0])
    if name.startswith("OpAtomic"):
        return _is_device(instruction.operands[1])
    # what follows a MemoryAccess are literals and the scopes of its bits
    return any(
        any(map(_is_device, instruction.operands[at:]))
        for at, access in enumerate(instruction.operands)
        if isinstance(access, str) and "MakePointer" in access
    )


def _is_device(operand: Operand) -> bool:
    if not isinstance(operand, Id) or operand.definition is None:
        return False
    definition = operand.definition
    return definition.facts.name == "OpConstant" and definition.operands[0] == 1
