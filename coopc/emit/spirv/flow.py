"""Memrefs, index arithmetic and structured control flow of one SPIR-V function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import mul
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit import view
from coopc.emit.spirv.types import Types
from coopc.emit.view import Form, IndexOp
from coopc.emit.walker import Flow, Refusal, control_flow
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
            raise Refusal(
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


# Structured control flow in SPIR-V: labels, merges, branches and OpPhi.


@dataclass(frozen=True, slots=True)
class Kept:
    """A matrix that is what a variable holds: see `Chain` in `coopmatrix`."""

    variable: Id


Value: TypeAlias = tuple[Id, ...] | View | Kept
"""What an SSA value became: the parts of a number, vector or matrix; or a memref."""


handlers = control_flow
"""Of `scf`, in terms of this flow."""


class SpirvFlow(Flow[Id, Value]):
    """The control flow of one SPIR-V function."""

    structured = True

    def __init__(self, function: Function, index: Index, bool: Id) -> None:
        """Emit into a function; `bool` is the type of an i1."""
        self.function = function
        self.index = index
        self._bool = bool
        self.kept: dict[SSAValue, Kept] = {}
        """Matrices that are in a variable, from there on."""
        self.on_control: tuple[Callable[[Operation], None], ...] = ()
        """What is done before an operation of `scf`, and after it."""
        self._loop_control = "None"

    def begin_control(self, op: Operation) -> None:
        self._loop_control = loop_control(op)
        if self.on_control:
            self.on_control[0](op)

    def end_control(self, op: Operation) -> None:
        if self.on_control:
            self.on_control[1](op)

    def label(self, name: str) -> Id:
        return self.function.new_label(name)

    def begin(self, label: Id) -> None:
        self.function.begin_block(label)

    def here(self) -> Id:
        assert self.function.block is not None, "there is no block"
        return self.function.block

    def jump(self, target: Id) -> None:
        self.function.emit("OpBranch", target)

    def branch(self, condition: Value | Id, yes: Id, no: Id) -> None:
        self.function.emit("OpBranchConditional", _one(condition), yes, no)

    def switch(
        self, selector: Value, cases: Sequence[tuple[int, Id]], default: Id
    ) -> None:
        modulus = 1 << self.index.types.index_bits
        pairs = (each for n, label in cases for each in (n % modulus, label))
        self.function.emit("OpSwitch", _one(selector), default, *pairs)

    def open_loop(self, done: Id, again: Id) -> None:
        self.function.emit("OpLoopMerge", done, again, self._loop_control)

    def open_selection(self, done: Id) -> None:
        self.function.emit("OpSelectionMerge", done, "None")

    def phi(self, value: SSAValue, like: Value) -> Value:
        """An OpPhi for each part; of a memref, for each number that its type leaves."""
        name = value.name_hint
        if (kept := self.kept.get(value)) is not None:
            return kept
        if isinstance(like, tuple):
            return tuple(
                self._phi(id.type, name and f"{name}_{at}" if at else name)
                for at, id in enumerate(like)
            )
        assert is_memref(value.type), value.type
        assert isinstance(like, View), value
        index, form = self.index.types.index, Form.of(value.type)
        names = (f"{what}{d if what != 'offset' else ''}" for what, d in form.open)
        return form.opened(
            like, [self._phi(index, name and f"{name}_{each}") for each in names]
        )

    def _phi(self, type: Id, name: str | None) -> Id:
        return self.function.emit("OpPhi", type=type, name=name)

    def arrive(self, phi: Value, value: Value, source: Id) -> None:
        for each, id in self._pairs(phi, value):
            statement = each.definition
            assert statement is not None, each
            statement.operands = (*statement.operands, id, source)

    def _pairs(self, phi: Value, value: Value) -> list[tuple[Id, Id]]:
        if isinstance(phi, Kept):
            return []  # what arrives is in the variable already
        if isinstance(phi, tuple):
            assert isinstance(value, tuple), value
            return list(zip(phi, value, strict=True))
        assert isinstance(value, View), value
        if phi.base is not value.base:
            raise Refusal(
                "expected memrefs of one buffer, whose address is known, got "
                f"{_name(phi.base)} and {_name(value.base)}"
            )
        return [
            (mine, self.index.value(other))
            for mine, other in zip(phi.numbers, value.numbers, strict=True)
            if isinstance(mine, Id)
        ]


def loop_control(op: Operation) -> str:
    """The loop control that an operation asks for.

    Raises:
        Refusal: it asks for something else than true or false.
    """
    match op.attributes.get(simt.UNROLL):
        case None:
            return "None"
        case IntegerAttr(value=value, type=type) if type == i1:
            return "Unroll" if value.data else "DontUnroll"
        case found:
            raise Refusal(f"expected {simt.UNROLL} to be true or false, got {found}")


def _one(value: Value | Id) -> Id:
    if isinstance(value, Id):
        return value
    assert isinstance(value, tuple), value
    (id,) = value
    return id


def _name(base: Id) -> str:
    return base.name or "another"
