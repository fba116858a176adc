"""Structured control flow in SPIR-V: labels, merges, branches and OpPhi."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit.memrefs import Form
from coopc.emit.spirv.index import Index
from coopc.emit.spirv.view import Num, View, filled
from coopc.emit.structured import Flow, Refusal
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function


@dataclass(frozen=True, slots=True)
class Kept:
    """A matrix that is what a variable holds: see `coopmatrix_places`."""

    variable: Id


Value: TypeAlias = tuple[Id, ...] | View | Kept
"""What an SSA value became: the parts of a number, vector or matrix; or a memref."""


class SpirvFlow(Flow[Id, Value]):
    """The control flow of one SPIR-V function."""

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
        """Put the matrices whose elements it changes into variables."""
        self._loop_control = loop_control(op)
        if self.on_control:
            self.on_control[0](op)

    def end_control(self, op: Operation) -> None:
        """Take them out again."""
        if self.on_control:
            self.on_control[1](op)

    def label(self, name: str) -> Id:
        """A label of a block to come."""
        return self.function.new_label(name)

    def begin(self, label: Id) -> None:
        """Begin the block of a label."""
        self.function.begin_block(label)

    def here(self) -> Id:
        """The label of the block that is being emitted."""
        assert self.function.block is not None, "there is no block"
        return self.function.block

    def jump(self, target: Id) -> None:
        """End the block with OpBranch."""
        self.function.emit("OpBranch", target)

    def branch(self, condition: Value, yes: Id, no: Id) -> None:
        """End the block with OpBranchConditional."""
        self.function.emit("OpBranchConditional", _one(condition), yes, no)

    def switch(
        self, selector: Value, cases: Sequence[tuple[int, Id]], default: Id
    ) -> None:
        """End the block with OpSwitch."""
        modulus = 1 << self.index.types.index_bits
        pairs = (each for n, label in cases for each in (n % modulus, label))
        self.function.emit("OpSwitch", _one(selector), default, *pairs)

    def open_loop(self, done: Id, again: Id) -> None:
        """Emit OpLoopMerge."""
        self.function.emit("OpLoopMerge", done, again, self._loop_control)

    def open_selection(self, done: Id) -> None:
        """Emit OpSelectionMerge."""
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
        index = self.index.types.index
        return filled(
            Form.of(value.type),
            like,
            lambda: self._phi(index, name and f"{name}_offset"),
            lambda d: self._phi(index, name and f"{name}_size{d}"),
            lambda d: self._phi(index, name and f"{name}_stride{d}"),
        )

    def _phi(self, type: Id, name: str | None) -> Id:
        return self.function.emit("OpPhi", type=type, name=name)

    def arrive(self, phi: Value, value: Value, source: Id) -> None:
        """Add operands to the OpPhi of each part."""
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
            (mine, self.index.id(other))
            for mine, other in zip(numbers(phi), numbers(value), strict=True)
            if isinstance(mine, Id)
        ]

    def less_than(self, left: Value, right: Value) -> Value:
        """Whether one signed integer is less than another."""
        operands = _one(left), _one(right)
        return (self.function.emit("OpSLessThan", *operands, type=self._bool),)

    def plus(self, left: Value, right: Value) -> Value:
        """The sum of two integers."""
        a, b = _one(left), _one(right)
        return (self.function.emit("OpIAdd", a, b, type=a.type),)

    def enter(self) -> None:
        """A region begins."""
        self.index.enter()

    def leave(self) -> None:
        """It ends."""
        self.index.leave()


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


def numbers(view: View) -> tuple[Num, ...]:
    """All numbers of a memref."""
    return (view.offset, *view.sizes, *(view.strides or ()))


def _one(value: Value) -> Id:
    assert isinstance(value, tuple), value
    (id,) = value
    return id


def _name(base: Id) -> str:
    return base.name or "another"
