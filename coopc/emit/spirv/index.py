"""Arithmetic on numbers of elements, emitted once.

Numbers have the width of an index, which is that of addresses but for Vulkan's physical
storage buffers: there positions, and what is computed of them, have 64 bits where 32
may be too few (`View.wide`).

Law: of two equal sums of which the first dominates the second, only the first is
emitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coopc.emit.index import IndexArithmetic, Strided
from coopc.emit.spirv.types import Types
from coopc.emit.spirv.view import Later, Num, View
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function

ADDRESS_BITS = 64
"""Width of an address, in bits."""


class Index(IndexArithmetic[Id | Later, Id]):
    """Index arithmetic in one function."""

    def __init__(self, types: Types, function: Function) -> None:
        """Emit into a function."""
        self.types = types
        self.function = function
        self._seen: list[dict[tuple[str | Id, ...], Id]] = [{}]
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
        type = self.types.index
        if not -1 << 31 <= number < 1 << 31:
            type = self.types.int(ADDRESS_BITS)
        bits = self.types.component_bits(type)
        return self.types.module.constant(type, number % (1 << bits))

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
        half = 1 << (self.types.component_bits(id.type) - 1)
        return (bits + half) % (2 * half) - half

    def wide(self, number: Num) -> int | Id:
        """A number in the width of an address, as an int where it is a constant."""
        found = self.num(number)
        if isinstance(found, int) or self._is_wide(found):
            return found
        return self._once("OpSConvert", found, type=self.types.int(ADDRESS_BITS))

    def _is_wide(self, id: Id) -> bool:
        return self.types.component_bits(id.type) == ADDRESS_BITS

    def _address(self, number: Num) -> Id:
        """A number as a value of the width of an address."""
        found = self.wide(number)
        if isinstance(found, Id):
            return found
        type = self.types.int(ADDRESS_BITS)
        return self.types.module.constant(type, found % (1 << ADDRESS_BITS))

    def narrow(self, number: Num) -> Id:
        """A number as an index.

        Raises:
            Refusal: it is a constant that an index cannot hold.
        """
        id = self.id(number)
        if id.type is self.types.index:
            return id
        if isinstance(known := self.num(id), int):
            raise Refusal(
                f"expected a number of {self.types.index_bits} bits, as an index has, "
                f"got {known}"
            )
        return self._once("OpUConvert", id, type=self.types.index)

    def stride(self, view: Strided[Id | Later], known: Num, step: Num) -> Num:
        """A multiple of a stride of a memref."""
        if step != 1 and isinstance(view, View) and view.wide:
            known = self.wide(known)
        return self.mul(known, step)

    def strides(self, view: Strided[Id | Later]) -> tuple[Num, ...]:
        """The strides of a memref, in elements."""
        if view.strides is not None:
            return view.strides
        found: list[Num] = [1] if view.sizes else []
        for size in reversed(view.sizes[1:]):
            found.insert(0, self.stride(view, size, found[0]))
        return tuple(found)

    def linear(self, view: Strided[Id | Later], positions: Sequence[Num]) -> Num:
        """Where an element is, in elements from the base."""
        if isinstance(view, View) and view.wide:
            positions = [self.wide(position) for position in positions]
            view = replace(view, offset=self.wide(view.offset))
        return super().linear(view, positions)

    def emit_sum(self, left: int | Id, right: int | Id) -> Id:
        """Emit an OpIAdd, or find one."""
        return self._emit("OpIAdd", left, right)

    def emit_product(self, left: int | Id, right: int | Id) -> Id:
        """Emit an OpIMul, or find one."""
        return self._emit("OpIMul", left, right)

    def _emit(self, opcode: str, left: Num, right: Num) -> Id:
        a, b = self.id(left), self.id(right)
        if self._is_wide(a) or self._is_wide(b):
            a, b = self._address(left), self._address(right)
        return self._once(opcode, a, b, type=a.type)

    def _once(self, opcode: str, *operands: Id, type: Id) -> Id:
        """Emit an instruction, or find one."""
        key = (opcode, *operands, type)
        for seen in reversed(self._seen):
            if (found := seen.get(key)) is not None:
                return found
        result = self.function.emit(opcode, *operands, type=type)
        self._seen[-1][key] = result
        return result
