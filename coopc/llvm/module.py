"""A module of LLVM IR: functions, what they call, global arrays and metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from coopc.llvm.function import Function, Signature
from coopc.llvm.types import Pointer, Type
from coopc.llvm.values import Constant, symbol

Node: TypeAlias = "tuple[Constant | int, ...]"
"""The operands of a metadata node: constants, and other nodes by their numbers."""


@dataclass(frozen=True, slots=True)
class Global:
    """A variable of the module that begins undefined."""

    name: str
    type: Type
    space: int
    align: int
    """In bytes."""


class Module:
    """A module."""

    def __init__(self, triple: str, layout: str = "") -> None:
        """Make an empty module.

        Args:
            triple: of the target.
            layout: its data layout; empty for the target's own.
        """
        self.triple = triple
        self.layout = layout
        self.functions: list[Function] = []
        self.declarations: dict[str, Signature] = {}
        self.globals: list[Global] = []
        self.nodes: list[Node] = []

    def declare(self, signature: Signature) -> Signature:
        """Declare a function of elsewhere, once; return what was declared first.

        Raises:
            ValueError: it was declared with other types.
        """
        found = self.declarations.setdefault(signature.name, signature)
        if (found.result, found.parameters) != (signature.result, signature.parameters):
            raise ValueError(
                f"expected @{signature.name} with the types that it has, "
                f"({', '.join(map(str, found.parameters))}) -> {found.result}, got "
                f"({', '.join(map(str, signature.parameters))}) -> {signature.result}"
            )
        return found

    def define(self, function: Function) -> Function:
        """Append a function."""
        self.functions.append(function)
        return function

    def variable(self, hint: str, type: Type, space: int, align: int) -> Constant:
        """A new variable of the module; a name that is taken gets a number."""
        taken = {each.name for each in self.globals}
        taken |= {each.signature.name for each in self.functions}
        taken |= set(self.declarations)
        name, number = hint, 0
        while name in taken:
            name, number = f"{hint}_{number}", number + 1
        self.globals.append(Global(name, type, space, align))
        return symbol(name, Pointer(space))

    def node(self, *operands: Constant | int) -> int:
        """The number of a metadata node, made once."""
        if operands in self.nodes:
            return self.nodes.index(operands)
        self.nodes.append(operands)
        return len(self.nodes) - 1
