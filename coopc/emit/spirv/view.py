"""Memrefs, and arithmetic on numbers of their elements, in one SPIR-V function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from operator import mul
from typing import TypeAlias

from coopc.emit import view
from coopc.emit.spirv.types import Types
from coopc.emit.view import Form, IndexOp
from coopc.emit.walker import NoForm
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function


class Later:
    """A number that is emitted at the entry of the function, if anything uses it."""

    def __init__(self, make: Callable[[], Id]) -> None:
        self._make = make
        self._id: Id | None = None

    def get(self) -> Id:
        if self._id is None:
            self._id = self._make()
        return self._id


PHYSICAL = "PhysicalStorageBuffer"
"""The storage class of buffers that are addresses."""

Num: TypeAlias = int | Id | Later
"""A number of elements: known now, or at run time as an index."""


@dataclass(frozen=True, slots=True)
class View(view.View[Id, "Id | Later"]):
    """A memref, whose base is a variable, or under OpenCL a pointer to an element."""

    @property
    def storage(self) -> str:
        return storage_of(self.base)


def storage_of(pointer: Id) -> str:
    assert pointer.type.definition is not None, pointer
    storage = pointer.type.definition.operands[0]
    assert isinstance(storage, str), pointer
    return storage


def is_wide(form: Form, storage: str) -> bool:
    """Whether the number of an element may need more bits than an index has.

    >>> is_wide(Form(0, (70000, 70000), None), PHYSICAL)
    True
    """
    if storage != PHYSICAL:
        return False
    if form.open:
        return True
    numbers = (form.offset, *form.sizes, *(form.strides or ()))
    offset, *rest = (abs(number or 0) for number in numbers)
    sizes, strides = rest[: len(form.sizes)], rest[len(form.sizes) :]
    reach = sum(map(mul, sizes, strides)) if strides else prod(sizes)
    return offset + reach >= 1 << 31


# Arithmetic on numbers of elements.
#
# Numbers have the width of an index, which is that of addresses but for Vulkan's
# physical storage buffers: there positions, and what is computed of them, have 64
# bits where 32 may be too few (`View.wide`).

ADDRESS_BITS = 64
"""Width of an address, in bits."""


class Index(view.Index["Id | Later"]):
    """Index arithmetic in one function."""

    def __init__(self, types: Types, function: Function) -> None:
        super().__init__()
        self.types = types
        self.function = function

    def value(self, number: Num) -> Id:
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
        if isinstance(number, int):
            return number
        id = self.value(number)
        definition = id.definition
        if definition is None or definition.facts.name != "OpConstant":
            return id
        bits = definition.operands[0]
        assert isinstance(bits, int), definition
        half = 1 << (self.types.component_bits(id.type) - 1)
        return (bits + half) % (2 * half) - half

    def wide(self, number: Num) -> int | Id:
        found = self.num(number)
        if isinstance(found, int) or self._is_wide(found):
            return found
        return self._converted("OpSConvert", found, self.types.int(ADDRESS_BITS))

    def narrow(self, number: Num) -> Id:
        id = self.value(number)
        if id.type is self.types.index:
            return id
        if isinstance(known := self.num(id), int):
            raise NoForm(
                f"expected a number of {self.types.index_bits} bits, as an index has, "
                f"got {known}"
            )
        return self._converted("OpUConvert", id, self.types.index)

    def emit(self, op: IndexOp, left: Num, right: Num) -> Id:
        a, b = self.value(left), self.value(right)
        if self._is_wide(a) or self._is_wide(b):
            a, b = self._address(left), self._address(right)
        opcode = "OpIAdd" if op == "add" else "OpIMul"
        return self.function.emit(opcode, a, b, type=a.type)

    def _is_wide(self, id: Id) -> bool:
        return self.types.component_bits(id.type) == ADDRESS_BITS

    def _address(self, number: Num) -> Id:
        found = self.wide(number)
        if isinstance(found, Id):
            return found
        type = self.types.int(ADDRESS_BITS)
        return self.types.module.constant(type, found % (1 << ADDRESS_BITS))

    def _converted(self, opcode: str, id: Id, type: Id) -> Id:
        made = self.once(
            (opcode, id), lambda: self.function.emit(opcode, id, type=type)
        )
        assert isinstance(made, Id), made
        return made
