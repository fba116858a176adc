"""The body of one SPIR-V function, emitted in order.

A label is made before its block is begun, so that branches may go forward; a value is
made before it is emitted (`new_id`, then `emit(..., result=id)`) where an OpPhi names
one that comes later.
"""

from coopc.spirv.grammar import instruction
from coopc.spirv.statement import Id, Statement, Value, atoms

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
        names: list[Statement],
        check: bool,
    ):
        """Use `Module.function`.

        Args:
            result_type: what it returns, as the function type says too.
            function_type: an OpTypeFunction.
            control: a FunctionControl.
            names: the module's debug names, to which those of the body are added.
            check: check operands when they are emitted.
        """
        self._names = names
        self._check = check
        self.id = Id()
        """What calls and entry points name."""
        self.head = Statement(
            instruction("OpFunction"), (control, function_type), result_type, self.id
        )
        self.id.definition = self.head
        self.parameters = tuple(map(_parameter, _parameter_types(function_type)))
        self.locals: list[Statement] = []
        """Variables, which are written at the start of the first block."""
        self.body: list[Statement] = []
        self.block: Id | None = None
        """The label of the block that is being emitted; None between blocks."""

    def new_label(self, name: str | None = None) -> Id:
        """A label for a block to come."""
        return self.new_id(name)

    def new_id(self, name: str | None = None) -> Id:
        """An id for a result to come; a debug name if `name` is given."""
        id = Id()
        if name is not None:
            self._name(id, name)
        return id

    def begin_block(self, label: Id) -> Id:
        """Start the block of that label; the block before must have ended."""
        assert self.block is None, f"the block {self.block} has no end"
        self._place("OpLabel", (), None, label)
        self.block = label
        return label

    def emit(
        self,
        opcode: str,
        *operands: Value,
        type: Id | None = None,
        name: str | None = None,
        result: Id | None = None,
    ) -> Id:
        """Append an instruction to the current block.

        Args:
            opcode: its name, as "OpIAdd".
            operands: ids, literals, enumerants by name; those of a mask's bits follow.
            type: the type of the result, where there is one.
            name: the debug name of the result.
            result: an id of `new_id` to define; else a new one.

        Returns:
            The result; of an instruction that has none, an id of no use.
        """
        assert self.block is not None, f"{opcode} stands in no block"
        facts = instruction(opcode)
        if facts.has_result and result is None:
            result = Id()
        if name is not None and result is not None:
            self._name(result, name)
        statement = Statement(facts, operands, type, result)
        if self._check:
            atoms(statement)
        self.body.append(statement)
        if opcode in _TERMINATORS:
            self.block = None
        if result is None:
            return _NO_RESULT
        assert result.definition is None, f"{result} is defined twice"
        result.definition = statement
        return result

    def local_variable(
        self, pointer_type: Id, initializer: Id | None = None, name: str | None = None
    ) -> Id:
        """A variable of the storage class Function, wherever the body stands."""
        operands = ("Function", *([] if initializer is None else [initializer]))
        id = self.new_id(name)
        statement = Statement(instruction("OpVariable"), operands, pointer_type, id)
        self.locals.append(statement)
        id.definition = statement
        return id

    def statements(self) -> list[Statement]:
        """The whole function in order; without blocks, it is only declared."""
        assert self.block is None, f"the block {self.block} has no end"
        parameters = [p.definition for p in self.parameters if p.definition]
        return [
            self.head,
            *parameters,
            *self.body[:1],
            *self.locals,
            *self.body[1:],
            Statement(instruction("OpFunctionEnd"), ()),
        ]

    def _name(self, id: Id, name: str) -> None:
        id.name = name
        self._names.append(Statement(instruction("OpName"), (id, name)))

    def _place(
        self, opcode: str, operands: tuple[Value, ...], type: Id | None, result: Id
    ) -> None:
        assert result.definition is None, f"{result} is defined twice"
        result.definition = Statement(instruction(opcode), operands, type, result)
        self.body.append(result.definition)


_NO_RESULT = Id()


def _parameter_types(function_type: Id) -> list[Id]:
    definition = function_type.definition
    if definition is None or definition.facts.name != "OpTypeFunction":
        raise ValueError(f"expected a function type, got {function_type}")
    return [type for type in definition.operands[1:] if isinstance(type, Id)]


def _parameter(type: Id) -> Id:
    id = Id()
    id.definition = Statement(instruction("OpFunctionParameter"), (), type, id)
    return id
