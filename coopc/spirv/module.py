"""A SPIR-V module in memory: types and constants once each, functions in order.

```python
m = Module(addressing="Logical", memory_model="Vulkan")
void = m.type("OpTypeVoid")
main = m.function(void, m.type("OpTypeFunction", void), name="main")
main.begin_block(main.new_label())
main.emit("OpReturn")
m.entry_point("GLCompute", main.id, "main", [])
m.execution_mode(main.id, "LocalSize", 1, 1, 1)
```

`coopc.spirv.text.text` and `coopc.spirv.binary.binary` write it.  Capabilities and
extensions are derived then from what is used; `require` and `extension` add to them.

Invariants: equal types are one id, as are equal constants of one type (by their bits:
0.0 and -0.0 differ); spec constants and variables never are; an id's number is chosen
by the writer, in the order in which the ids appear.
"""

from collections.abc import Iterable, Sequence

from coopc.spirv.function import Function
from coopc.spirv.grammar import ID_KINDS, Version, enumeration, instruction
from coopc.spirv.literal import (
    BF16,
    F16,
    F32,
    F64,
    FloatFormat,
    encode_float,
    encode_int,
)
from coopc.spirv.statement import Id, Statement, Value, atoms


class Module:
    """One module; see the description of the file."""

    def __init__(
        self,
        *,
        version: Version = (1, 6),
        addressing: str = "Logical",
        memory_model: str = "Vulkan",
        check: bool = False,
    ):
        """Make an empty module.

        Args:
            version: of SPIR-V.
            addressing: an AddressingModel.
            memory_model: a MemoryModel.
            check: check the operands of each instruction when it is emitted rather
                than when the module is written, so that the traceback tells where.
        """
        self.version = version
        self.check = check
        self.capabilities: set[str] = set()
        """Capabilities asked for beyond those derived."""
        self.extensions: set[str] = set()
        """Extensions asked for beyond those derived."""
        self.imports: list[Statement] = []
        self.memory_model = Statement(
            instruction("OpMemoryModel"), (addressing, memory_model)
        )
        self.entry_points: list[Statement] = []
        self.execution_modes: list[Statement] = []
        self.sources: list[Statement] = []
        self.names: list[Statement] = []
        self.annotations: list[Statement] = []
        self.globals: list[Statement] = []
        """Types, constants and variables in the order of their definition."""
        self.functions: list[Function] = []
        self._unified: dict[tuple[Value, ...], Id] = {}

    # --- what the module needs -------------------------------------------------

    def require(self, capability: str) -> None:
        """Declare a capability whether or not something is seen to use it."""
        self.capabilities.add(capability)

    def extension(self, name: str) -> None:
        """Declare an extension whether or not something is seen to use it."""
        self.extensions.add(name)

    def ext_inst_import(self, name: str) -> Id:
        """The extended instruction set of that name, as "OpenCL.std"."""
        key = ("OpExtInstImport", name)
        if key not in self._unified:
            self._unified[key] = self._add(self.imports, key[0], (name,), result=Id())
        return self._unified[key]

    # --- types, constants, variables -------------------------------------------

    def type(
        self,
        opcode: str,
        *operands: Value,
        name: str | None = None,
        distinct: bool = False,
    ) -> Id:
        """The type; `distinct` makes a new one, to be decorated in its own way.

        Two of an OpTypePointer, scalar, vector or function type may not be distinct.
        """
        return self._global(opcode, operands, name=name, distinct=distinct)

    def constant(
        self, type: Id, value: float | bool | bytes, name: str | None = None
    ) -> Id:
        """The constant of a scalar type.

        Args:
            type: OpTypeBool, OpTypeInt or OpTypeFloat.
            value: a number, rounded to the type if it is a float; or the bits as
                little-endian bytes, for a NaN that must keep its payload.
            name: the debug name; an unnamed constant is named by its value.

        Raises:
            ValueError: the value is not of the type or does not fit.
        """
        if self._opcode(type) == "OpTypeBool":
            opcode = "OpConstantTrue" if value else "OpConstantFalse"
            return self._global(opcode, (), type, name)
        return self._global("OpConstant", (number_bits(type, value),), type, name)

    def constant_composite(
        self, type: Id, ids: Iterable[Id], name: str | None = None
    ) -> Id:
        """The constant vector, array, struct or cooperative matrix of these."""
        return self._global("OpConstantComposite", tuple(ids), type, name)

    def constant_null(self, type: Id) -> Id:
        """The zero of the type."""
        return self._global("OpConstantNull", (), type)

    def undef(self, type: Id) -> Id:
        """A value of no particular value."""
        return self._global("OpUndef", (), type)

    def spec_constant(
        self,
        type: Id,
        default: float | bool | bytes,
        spec_id: int,
        name: str | None = None,
    ) -> Id:
        """A scalar that may be set when the module is loaded, by its SpecId."""
        if self._opcode(type) == "OpTypeBool":
            opcode = "OpSpecConstantTrue" if default else "OpSpecConstantFalse"
            id = self._global(opcode, (), type, name, distinct=True)
        else:
            bits = number_bits(type, default)
            id = self._global("OpSpecConstant", (bits,), type, name, distinct=True)
        self.decorate(id, "SpecId", spec_id)
        return id

    def spec_constant_op(
        self, type: Id, opcode: str, *operands: Value, name: str | None = None
    ) -> Id:
        """What an instruction makes of spec constants, known when these are set."""
        return self._global("OpSpecConstantOp", (opcode, *operands), type, name)

    def spec_constant_composite(
        self, type: Id, ids: Iterable[Id], name: str | None = None
    ) -> Id:
        """The vector, array or struct of spec constants (and constants)."""
        return self._global(
            "OpSpecConstantComposite", tuple(ids), type, name, distinct=True
        )

    def variable(
        self,
        pointer_type: Id,
        storage_class: str,
        initializer: Id | None = None,
        name: str | None = None,
    ) -> Id:
        """A global variable; those of functions are `Function.local_variable`."""
        operands = (storage_class, *([] if initializer is None else [initializer]))
        return self._global("OpVariable", operands, pointer_type, name, distinct=True)

    # --- names and annotations -------------------------------------------------

    def decorate(self, target: Id, decoration: str, *operands: Value) -> None:
        """Decorate an id."""
        by_id = _takes_ids("Decoration", decoration)
        opcode = "OpDecorateId" if by_id else "OpDecorate"
        self._add(self.annotations, opcode, (target, decoration, *operands))

    def decoration_group(self, decorations: Sequence[tuple[Value, ...]]) -> Id:
        """What decorates an id more than once in one way, which `decorate` cannot.

        spirv-val takes a decoration but once for each id, those of groups apart.

        Args:
            decorations: each the name of a decoration and its operands.
        """
        group = Id()
        for decoration in decorations:
            self._add(self.annotations, "OpDecorate", (group, *decoration))
        return self._add(self.annotations, "OpDecorationGroup", (), result=group)

    def group_decorate(self, group: Id, targets: Sequence[Id]) -> None:
        """Decorate ids with a group."""
        self._add(self.annotations, "OpGroupDecorate", (group, *targets))

    def member_decorate(
        self, target: Id, member: int, decoration: str, *operands: Value
    ) -> None:
        """Decorate a member of a struct type."""
        row = (target, member, decoration, *operands)
        self._add(self.annotations, "OpMemberDecorate", row)

    def name(self, id: Id, name: str) -> None:
        """Give an id its debug name."""
        id.name = name
        self.names.append(Statement(instruction("OpName"), (id, name)))

    def member_name(self, id: Id, member: int, name: str) -> None:
        """Give a member of a struct type its debug name."""
        self._add(self.names, "OpMemberName", (id, member, name))

    def string(self, text: str) -> Id:
        """A string for debug information."""
        return self._add(self.sources, "OpString", (text,), result=Id())

    def source(self, language: str, version: int, file: Id | None = None) -> None:
        """Say what the module was compiled from."""
        operands = (language, version, *([] if file is None else [file]))
        self._add(self.sources, "OpSource", operands)

    # --- entry points and functions --------------------------------------------

    def entry_point(
        self, model: str, function: Id, name: str, interface: Sequence[Id] = ()
    ) -> None:
        """Make a function callable from outside.

        Args:
            model: "GLCompute" or "Kernel".
            function: `Function.id`.
            name: by which the run-time asks for it.
            interface: from version 1.4, all global variables that it uses.
        """
        operands = (model, function, name, *interface)
        self._add(self.entry_points, "OpEntryPoint", operands)

    def execution_mode(self, function: Id, mode: str, *operands: Value) -> None:
        """Set an execution mode, as "LocalSize" or "SubgroupSize"."""
        by_id = _takes_ids("ExecutionMode", mode)
        opcode = "OpExecutionModeId" if by_id else "OpExecutionMode"
        self._add(self.execution_modes, opcode, (function, mode, *operands))

    def function(
        self,
        result_type: Id,
        function_type: Id,
        control: str = "None",
        name: str | None = None,
    ) -> Function:
        """A new function, with its parameters and no block yet."""
        function = Function(result_type, function_type, control, self.names, self.check)
        self.functions.append(function)
        if name is not None:
            self.name(function.id, name)
        return function

    # --- how -------------------------------------------------------------------

    def _global(
        self,
        opcode: str,
        operands: tuple[Value, ...],
        type: Id | None = None,
        name: str | None = None,
        *,
        distinct: bool = False,
    ) -> Id:
        key = (opcode, *([] if type is None else [type]), *operands)
        id = None if distinct else self._unified.get(key)
        if id is None:
            id = self._add(self.globals, opcode, operands, type, Id())
            if not distinct:
                self._unified[key] = id
        if name is not None and id.name is None:
            self.name(id, name)
        return id

    def _add(
        self,
        section: list[Statement],
        opcode: str,
        operands: tuple[Value, ...],
        type: Id | None = None,
        result: Id | None = None,
    ) -> Id:
        statement = Statement(instruction(opcode), operands, type, result)
        if self.check:
            atoms(statement)
        section.append(statement)
        if result is None:
            return Id()
        result.definition = statement
        return result

    @staticmethod
    def _opcode(type: Id) -> str:
        assert type.definition is not None, f"{type} is no type"
        return type.definition.facts.name


def _takes_ids(kind: str, member: str) -> bool:
    """Whether the operands of an enumerant are ids, which asks for another opcode."""
    (enumerant,) = enumeration(kind).select(member)
    return any(operand in ID_KINDS for operand in enumerant.operands)


def number_bits(type: Id, value: float | bytes) -> int:
    """The bits of a number of an OpTypeInt or OpTypeFloat.

    Raises:
        ValueError: the type is another, or the value is not of it or does not fit.
    """
    definition = type.definition
    if definition is None or definition.facts.name not in ("OpTypeInt", "OpTypeFloat"):
        raise ValueError(f"expected a type of numbers, got {type}")
    bits = definition.operands[0]
    assert isinstance(bits, int), f"{type} has no width"
    if isinstance(value, bytes):
        if len(value) * 8 != bits:
            raise ValueError(f"expected {bits // 8} bytes, got {len(value)}")
        return int.from_bytes(value, "little")
    if definition.facts.name == "OpTypeFloat":
        return encode_float(float(value), float_format(type))
    if not isinstance(value, int):
        raise ValueError(f"expected an integer, got {value}")
    return encode_int(value, bits, signed=definition.operands[1] == 1)


def float_format(type: Id) -> FloatFormat:
    """The format of an OpTypeFloat."""
    assert type.definition is not None, f"{type} is not defined"
    match tuple(type.definition.operands):
        case (16,):
            return F16
        case (16, "BFloat16KHR"):
            return BF16
        case (32,):
            return F32
        case (64,):
            return F64
        case other:
            raise ValueError(f"expected a float of 16, 32 or 64 bits, got {other}")
