"""Memrefs, index arithmetic and control flow of one function of LLVM IR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit import view
from coopc.emit.view import Form, IndexOp
from coopc.emit.walker import Flow, Refusal, control_flow
from coopc.llvm.module import Block as LlvmBlock
from coopc.llvm.module import Function, Instruction, Label, Typed, arrive
from coopc.llvm.values import I64, Constant, Local, Pointer, Type, Value, integer

# A memref while it is emitted: a pointer, its sizes and its strides.
#
# A memref is several values, of which those that its type fixes are constants.  Where
# it passes through a loop or a call, the pointer and the others do.

Num: TypeAlias = int | Value
"""A number of elements: known now, or at run time as an i64."""

SPACES = {
    simt.MemorySpace.GLOBAL: 1,
    simt.MemorySpace.PRIVATE: 0,
    simt.MemorySpace.WORKGROUP: 3,
}
"""Address spaces of spir64."""


@dataclass(frozen=True, slots=True)
class View(view.View[Value, Value]):
    """A memref, whose base is a pointer to an element."""

    @property
    def space(self) -> int:
        assert isinstance(self.base.type, Pointer), self.base
        return self.base.type.space


def from_flat(type: MemRefType, values: Iterator[Value]) -> View:
    form, at = Form.of(type), View(next(values), type.element_type)
    return form.opened(at, islice(values, len(form.open)))


def id_of(number: Num) -> Value:
    return integer(I64, number) if isinstance(number, int) else number


# Arithmetic on numbers of elements.


class Index(view.Index[Value]):
    """Index arithmetic in one function."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def num(self, number: Num) -> Num:
        if isinstance(number, Constant) and number.number is not None:
            return number.number
        return number

    def value(self, number: Num) -> Value:
        return id_of(number)

    def emit(self, op: IndexOp, left: Num, right: Num) -> Value:
        return self.function.arithmetic(op, id_of(left), id_of(right))


def flat(index: view.Index[Value], view: View, form: Form) -> list[Value]:
    return [view.base, *index.open_numbers(view, form)]


# Structured control flow in LLVM IR: labels, branches and phis.

Became: TypeAlias = Value | View
"""What an SSA value became: a number or a vector, or a memref."""


handlers = control_flow
"""Of `scf`, in terms of this flow."""


class LlvmFlow(Flow[LlvmBlock, Became]):
    """The control flow of one function."""

    structured = False

    def __init__(self, function: Function, index: Index) -> None:
        self.function = function
        self.index = index
        self._phis: dict[Local, Instruction] = {}
        self._types: dict[Local, MemRefType] = {}
        """Of memrefs, by their pointers."""

    def label(self, name: str) -> LlvmBlock:
        return self.function.label(name)

    def begin(self, label: LlvmBlock) -> None:
        self.function.begin(label)

    def here(self) -> LlvmBlock:
        return self.function.block

    def jump(self, target: LlvmBlock) -> None:
        self.function.do("br ", Label(target))

    def branch(self, condition: Became, yes: LlvmBlock, no: LlvmBlock) -> None:
        test = Typed(_one(condition))
        self.function.do("br ", test, ", ", Label(yes), ", ", Label(no))

    def switch(
        self,
        selector: Became,
        cases: Sequence[tuple[int, LlvmBlock]],
        default: LlvmBlock,
    ) -> None:
        value = _one(selector)
        pieces: list[str | Label] = []
        for number, label in cases:
            pieces += [f" {value.type} {number}, ", Label(label)]
        self.function.do(
            "switch ", Typed(value), ", ", Label(default), " [", *pieces, " ]"
        )

    def open_loop(self, done: LlvmBlock, again: LlvmBlock) -> None:
        """LLVM finds loops by itself."""

    def open_selection(self, done: LlvmBlock) -> None:
        """And where branches meet."""

    def phi(self, value: SSAValue, like: Became) -> Became:
        """A phi; of a memref, one for its pointer and each number of run time."""
        name = value.name_hint
        if not isinstance(like, View):
            return self._phi(like.type, name)
        assert is_memref(value.type), value.type
        parts = flat(self.index, like, Form.of(value.type))
        phis = [self._phi(part.type, name) for part in parts]
        self._types[phis[0]] = value.type
        return from_flat(value.type, iter(phis))

    def _phi(self, type: Type, name: str | None) -> Local:
        result, instruction = self.function.phi(type, name)
        self._phis[result] = instruction
        return result

    def arrive(self, phi: Became, value: Became, source: LlvmBlock) -> None:
        if not isinstance(phi, View):
            assert isinstance(phi, Local), phi
            arrive(self._phis[phi], _one(value), source)
            return
        assert isinstance(value, View), value
        assert isinstance(phi.base, Local), phi
        if phi.base.type != value.base.type:
            raise Refusal(
                "expected memrefs in one memory, got pointers of types "
                f"{phi.base.type} and {value.base.type}"
            )
        form = Form.of(self._types[phi.base])
        pairs = (flat(self.index, each, form) for each in (phi, value))
        for mine, other in zip(*pairs, strict=True):
            assert isinstance(mine, Local), mine
            arrive(self._phis[mine], other, source)


def _one(value: Became) -> Value:
    assert isinstance(value, Local | Constant), value
    return value
