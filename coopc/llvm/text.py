"""Writes a module of LLVM IR as the text that LLVM reads.

Values print under the names that the IR gave them; of equal names the first has it, and
the others get a number.  Blocks and nameless values are numbered in order.
"""

from __future__ import annotations

from collections.abc import Iterator

from coopc.llvm.module import (
    Block,
    Function,
    Instruction,
    Label,
    Module,
    Node,
    Piece,
    Signature,
    Typed,
)
from coopc.llvm.values import VOID, Constant, Local, Value, quoted


def text(module: Module) -> str:
    return "".join(f"{line}\n" for line in _lines(module))


def _lines(module: Module) -> Iterator[str]:
    if module.layout:
        yield f'target datalayout = "{module.layout}"'
    yield f'target triple = "{module.triple}"'
    for each in module.globals:
        space = f"addrspace({each.space}) " if each.space else ""
        yield ""
        yield (
            f"@{quoted(each.name)} = internal {space}global {each.type} poison, "
            f"align {each.align}"
        )
    defined = {function.signature.name for function in module.functions}
    for function in module.functions:
        yield ""
        yield from _FunctionText(function).lines()
    for name, signature in sorted(module.declarations.items()):
        if name not in defined:
            yield ""
            yield _declaration(signature)
    if module.nodes:
        yield ""
    for number, node in enumerate(module.nodes):
        is_loop = number in node  # it refers to itself
        yield f"!{number} = {'distinct ' * is_loop}{_node(node)}"


def _node(node: Node) -> str:
    return f"!{{{', '.join(map(_operand, node))}}}"


def _operand(operand: Constant | int | str) -> str:
    match operand:
        case int():
            return f"!{operand}"
        case str():
            return f'!"{operand}"'
        case _:
            return f"{operand.type} {operand.text}"


def _words(*words: str) -> str:
    return " ".join(word for word in words if word)


def _declaration(signature: Signature) -> str:
    parameters = ", ".join(
        _words(str(type), signature.attributes_of(at))
        for at, type in enumerate(signature.parameters)
    )
    result = _words(signature.result_attributes, str(signature.result))
    head = _words("declare", signature.convention, result)
    return _words(
        f"{head} @{quoted(signature.name)}({parameters})", signature.attributes
    )


class _FunctionText:
    """The names of one function while it is written."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._names: dict[Local | Block, str] = {}
        self._taken: set[str] = set()
        self._numbered = 0
        for local in function.parameters:
            self._name(local)
        for block in function.blocks:
            self._name(block)
            for instruction in block.instructions:
                if instruction.result is not None:
                    self._name(instruction.result)

    def _name(self, what: Local | Block) -> None:
        hint = what.hint
        if hint is None:
            name = str(self._numbered)
            self._numbered += 1
        else:
            # A name of digits is a number to LLVM.
            hint = f"_{hint}" if hint.isdigit() else hint
            name, number = hint, 0
            while name in self._taken:
                name, number = f"{hint}.{number}", number + 1
            self._taken.add(name)
            name = quoted(name)
        self._names[what] = f"%{name}"

    def lines(self) -> Iterator[str]:
        function = self._function
        signature = function.signature
        parameters = ", ".join(
            _words(str(local.type), signature.attributes_of(at), self._names[local])
            for at, local in enumerate(function.parameters)
        )
        result = _words(signature.result_attributes, str(signature.result))
        head = _words("define", function.linkage, signature.convention, result)
        tail = [signature.attributes]
        tail += [f"!{each.kind} !{each.node}" for each in function.metadata]
        yield _words(f"{head} @{quoted(signature.name)}({parameters})", *tail, "{")
        for block in function.blocks:
            yield f"{self._names[block][1:]}:"
            for instruction in block.instructions:
                yield f"  {self._instruction(instruction)}"
        yield "}"

    def _instruction(self, instruction: Instruction) -> str:
        body = "".join(self._piece(piece) for piece in instruction.pieces)
        tail = "".join(f", !{each.kind} !{each.node}" for each in instruction.metadata)
        result = instruction.result
        if result is None or result.type == VOID:
            return f"{body}{tail}"
        return f"{self._names[result]} = {body}{tail}"

    def _piece(self, piece: Piece) -> str:
        match piece:
            case str():
                return piece
            case Label(block=block):
                return f"label {self._names[block]}"
            case Block():
                return self._names[piece]
            case Typed(value=value, attributes=attributes):
                return _words(str(value.type), attributes, self._value(value))
            case _:
                return self._value(piece)

    def _value(self, value: Value) -> str:
        return value.text if isinstance(value, Constant) else self._names[value]
