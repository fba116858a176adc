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

`text` and `binary` of `coopc.spirv.writer` write it, and check the operands by the
grammar.  Capabilities and extensions are derived then from what is used.

Invariants: equal types are one id, as are equal constants of one type (by their bits:
0.0 and -0.0 differ); spec constants and variables never are; an id's number is chosen
by the writer, in the order in which the ids appear.

In a function, a label is made before its block is begun, so that branches may go
forward; an OpPhi gets the operands that come later when they are there.
"""

from collections.abc import Iterable, Sequence

from coopc.spirv.grammar import ID_KINDS, Version, enumeration
from coopc.spirv.instruction import Id, Instruction, Operand, width_of

_TERMINATORS = frozenset(
    {
        "OpBranch",
        "OpBranchConditional",
        "OpSwitch",
        "OpReturn",
        "OpReturnValue",
        "OpUnreachable",
        "OpKill",
        "OpTerminateInvocation",
    }
)


class Function:
    """One function: its id, its parameters, its blocks."""

    def __init__(
        self,
        result_type: Id,
        function_type: Id,
        control: str,
        names: list[Instruction],
    ):
        """Use `Module.function`."""
        self._names = names
        self.result_type = result_type
        self.id = Id()
        """What calls and entry points name."""
        operands = (control, function_type)
        self.head = Instruction("OpFunction", operands, result_type, self.id)
        self.id.definition = self.head
        self.parameters = tuple(map(_parameter, _parameter_types(function_type)))
        self.locals: list[Instruction] = []
        """Variables, which are written at the start of the first block."""
        self.body: list[Instruction] = []
        self.block: Id | None = None
        """The label of the block that is being emitted; None between blocks."""

    def new_label(self, name: str | None = None) -> Id:
        """A label for a block to come."""
        id = Id()
        self._name(id, name)
        return id

    def begin_block(self, label: Id) -> Id:
        """Start the block of that label; the block before must have ended."""
        assert self.block is None, f"the block {self.block} has no end"
        assert label.definition is None, f"{label} is defined twice"
        label.definition = Instruction("OpLabel", (), None, label)
        self.body.append(label.definition)
        self.block = label
        return label

    def emit(
        self,
        opcode: str,
        *operands: Operand,
        type: Id | None = None,
        name: str | None = None,
    ) -> Id:
        """Append an instruction to the current block.

        An operand is an id, a literal or the name of an enumerant; those of a mask's
        bits follow.

        Returns:
            The result; of an instruction that has none, an id of no use.
        """
        assert self.block is not None, f"{opcode} stands in no block"
        instruction = Instruction(opcode, operands, type)
        self.body.append(instruction)
        if opcode in _TERMINATORS:
            self.block = None
        if not instruction.facts.has_result:
            return _NO_RESULT
        instruction.result = result = Id()
        result.definition = instruction
        self._name(result, name)
        return result

    def local_variable(self, pointer_type: Id, name: str | None = None) -> Id:
        """A variable of the storage class Function, wherever the body stands."""
        id = Id()
        self._name(id, name)
        id.definition = Instruction("OpVariable", ("Function",), pointer_type, id)
        self.locals.append(id.definition)
        return id

    def instructions(self) -> list[Instruction]:
        """The whole function in order; without blocks, it is only declared."""
        assert self.block is None, f"the block {self.block} has no end"
        parameters = [p.definition for p in self.parameters if p.definition]
        return [
            self.head,
            *parameters,
            *self.body[:1],
            *self.locals,
            *self.body[1:],
            Instruction("OpFunctionEnd", ()),
        ]

    def _name(self, id: Id, name: str | None) -> None:
        if name is not None:
            id.name = name
            self._names.append(Instruction("OpName", (id, name)))


_NO_RESULT = Id()


def _parameter_types(function_type: Id) -> list[Id]:
    definition = function_type.definition
    if definition is None or definition.facts.name != "OpTypeFunction":
        raise ValueError(f"expected a function type, got {function_type}")
    return [type for type in definition.operands[1:] if isinstance(type, Id)]


def _parameter(type: Id) -> Id:
    id = Id()
    id.definition = Instruction("OpFunctionParameter", (), type, id)
    return id


class Module:
    def __init__(
        self,
        *,
        version: Version = (1, 6),
        addressing: str = "Logical",
        memory_model: str = "Vulkan",
    ):
        """Make an empty module, of an AddressingModel and a MemoryModel."""
        self.version = version
        self.capabilities: set[str] = set()
        """Capabilities asked for beyond those derived."""
        self.imports: list[Instruction] = []
        self.memory_model = Instruction("OpMemoryModel", (addressing, memory_model))
        self.entry_points: list[Instruction] = []
        self.execution_modes: list[Instruction] = []
        self.names: list[Instruction] = []
        self.annotations: list[Instruction] = []
        self.globals: list[Instruction] = []
        """Types, constants and variables in the order of their definition."""
        self.functions: list[Function] = []
        self._unified: dict[tuple[Operand, ...], Id] = {}

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
        *operands: Operand,
        name: str | None = None,
        distinct: bool = False,
    ) -> Id:
        """The type; `distinct` makes a new one, to be decorated in its own way.

        Two of an OpTypePointer, scalar, vector or function type may not be distinct.
        """
        return self._global(opcode, operands, name=name, distinct=distinct)

    def constant(self, type: Id, bits: int, name: str | None = None) -> Id:
        """The constant of a scalar type.

        Bits are not negative; without a name it is named by its value.
        """
        assert type.definition is not None, f"{type} is no type"
        if type.definition.facts.name == "OpTypeBool":
            opcode = "OpConstantTrue" if bits else "OpConstantFalse"
            return self._global(opcode, (), type, name)
        assert 0 <= bits < 1 << width_of(type), f"{bits} are no bits of {type}"
        return self._global("OpConstant", (bits,), type, name)

    def constant_composite(
        self, type: Id, ids: Iterable[Id], *, is_late: bool = False
    ) -> Id:
        """The constant vector, array, struct or cooperative matrix of these.

        Of a cooperative matrix it has one member; it is late where specialization
        constants are among them.
        """
        opcode = "OpSpecConstantComposite" if is_late else "OpConstantComposite"
        return self._global(opcode, tuple(ids), type)

    def undef(self, type: Id) -> Id:
        """A value of no particular value."""
        return self._global("OpUndef", (), type)

    def spec_constant(
        self, type: Id, default: int, spec_id: int, name: str | None = None
    ) -> Id:
        """A number that may be set when the module is loaded, by its SpecId."""
        id = self._global("OpSpecConstant", (default,), type, name, distinct=True)
        self.decorate(id, "SpecId", spec_id)
        return id

    def spec_constant_op(self, opcode: str, operands: tuple[Id, ...], type: Id) -> Id:
        """What an instruction computes of constants when the module is loaded."""
        return self._global("OpSpecConstantOp", (opcode, *operands), type)

    def variable(
        self, pointer_type: Id, storage_class: str, name: str | None = None
    ) -> Id:
        """A global variable; those of functions are `Function.local_variable`."""
        operands = (storage_class,)
        return self._global("OpVariable", operands, pointer_type, name, distinct=True)

    # --- names and annotations -------------------------------------------------

    def decorate(self, target: Id, decoration: str, *operands: Operand) -> None:
        by_id = _takes_ids("Decoration", decoration)
        opcode = "OpDecorateId" if by_id else "OpDecorate"
        self._add(self.annotations, opcode, (target, decoration, *operands))

    def decorate_again(self, target: Id, decoration: str, *operands: Operand) -> None:
        """Decorate an id that has such a decoration, by a group of its own.

        spirv-val takes a decoration but once for each id, those of groups apart.
        """
        group = Id()
        self.decorate(group, decoration, *operands)
        self._add(self.annotations, "OpDecorationGroup", (), result=group)
        self._add(self.annotations, "OpGroupDecorate", (group, target))

    def member_decorate(
        self, target: Id, member: int, decoration: str, *operands: Operand
    ) -> None:
        """Decorate a member of a struct type."""
        row = (target, member, decoration, *operands)
        self._add(self.annotations, "OpMemberDecorate", row)

    def name(self, id: Id, name: str) -> None:
        id.name = name
        self.names.append(Instruction("OpName", (id, name)))

    def member_name(self, id: Id, member: int, name: str) -> None:
        """Give a member of a struct type its debug name."""
        self._add(self.names, "OpMemberName", (id, member, name))

    # --- entry points and functions --------------------------------------------

    def entry_point(
        self, model: str, function: Id, name: str, interface: Sequence[Id] = ()
    ) -> None:
        """Make a function callable from outside.

        From version 1.4, `interface` has all global variables that it uses.
        """
        operands = (model, function, name, *interface)
        self._add(self.entry_points, "OpEntryPoint", operands)

    def execution_mode(self, function: Id, mode: str, *operands: Operand) -> None:
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
        function = Function(result_type, function_type, control, self.names)
        self.functions.append(function)
        if name is not None:
            self.name(function.id, name)
        return function

    # --- how -------------------------------------------------------------------

    def _global(
        self,
        opcode: str,
        operands: tuple[Operand, ...],
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
        section: list[Instruction],
        opcode: str,
        operands: tuple[Operand, ...],
        type: Id | None = None,
        result: Id | None = None,
    ) -> Id:
        instruction = Instruction(opcode, operands, type, result)
        section.append(instruction)
        if result is None:
            return Id()
        result.definition = instruction
        return result


def _takes_ids(kind: str, member: str) -> bool:
    (enumerant,) = enumeration(kind).select(member)
    return any(operand in ID_KINDS for operand in enumerant.operands)
