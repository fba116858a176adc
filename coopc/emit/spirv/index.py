"""Arithmetic on numbers of elements, emitted once.

Law: of two equal sums of which the first dominates the second, only the first is
emitted.
"""

from __future__ import annotations

from coopc.emit.index import IndexArithmetic
from coopc.emit.spirv.types import Types
from coopc.emit.spirv.view import Later, Num
from coopc.spirv.function import Function
from coopc.spirv.statement import Id


class Index(IndexArithmetic[Id | Later, Id]):
    """Index arithmetic in one function."""

    def __init__(self, types: Types, function: Function) -> None:
        """Emit into a function."""
        self.types = types
        self.function = function
        self._seen: list[dict[tuple[str, Id, Id], Id]] = [{}]
        """What was emitted, for each region around the current one."""

    def enter(self) -> None:
        """A region begins."""
        self._seen.append({})

    def leave(self) -> None:
        """It ends: what was emitted in it does not dominate what follows."""
        self._seen.pop()

    def id(self, number: Num) -> Id:
        """A number as a value."""
        if isinstance(number, Later):
            return number.get()
        if isinstance(number, Id):
            return number
        modulus = 1 << self.types.index_bits
        return self.types.module.constant(self.types.index, number % modulus)

    def num(self, number: Num) -> int | Id:
        """A number as an int where its value is a constant."""
        if isinstance(number, int):
            return number
        id = self.id(number)
        definition = id.definition
        if definition is None or definition.facts.name != "OpConstant":
            return id
        bits = definition.operands[0]
        assert isinstance(bits, int), definition
        half = 1 << (self.types.index_bits - 1)
        return (bits + half) % (2 * half) - half

    def emit_sum(self, left: int | Id, right: int | Id) -> Id:
        """Emit an OpIAdd, or find one."""
        return self._emit("OpIAdd", left, right)

    def emit_product(self, left: int | Id, right: int | Id) -> Id:
        """Emit an OpIMul, or find one."""
        return self._emit("OpIMul", left, right)

    def _emit(self, opcode: str, left: Num, right: Num) -> Id:
        a, b = self.id(left), self.id(right)
        key = (opcode, a, b)
        for seen in reversed(self._seen):
            if (found := seen.get(key)) is not None:
                return found
        result = self.function.emit(opcode, a, b, type=self.types.index)
        self._seen[-1][key] = result
        return result
