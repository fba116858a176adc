"""Structured control flow in LLVM IR: labels, branches and phis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from coopc.dialects.narrow import is_memref
from coopc.emit.llvm.view import View, flat, from_flat
from coopc.emit.memrefs import Form
from coopc.emit.structured import Flow, Refusal
from coopc.llvm.module import Block, Function, Instruction, Label, Typed, arrive
from coopc.llvm.types import Type
from coopc.llvm.values import Constant, Local, Value

Became: TypeAlias = Value | View
"""What an SSA value became: a number or a vector, or a memref."""


class LlvmFlow(Flow[Block, Became]):
    """The control flow of one function."""

    def __init__(self, function: Function) -> None:
        """Emit into a function."""
        self.function = function
        self._phis: dict[Local, Instruction] = {}
        self._types: dict[Local, MemRefType] = {}
        """Of memrefs, by their pointers."""

    def label(self, name: str) -> Block:
        """A label of a block to come."""
        return self.function.label(name)

    def begin(self, label: Block) -> None:
        """Begin the block of a label."""
        self.function.begin(label)

    def here(self) -> Block:
        """The block that is being emitted."""
        return self.function.block

    def jump(self, target: Block) -> None:
        """End the block with br."""
        self.function.do("br ", Label(target))

    def branch(self, condition: Became, yes: Block, no: Block) -> None:
        """End the block with a conditional br."""
        test = Typed(_one(condition))
        self.function.do("br ", test, ", ", Label(yes), ", ", Label(no))

    def switch(
        self, selector: Became, cases: Sequence[tuple[int, Block]], default: Block
    ) -> None:
        """End the block with switch."""
        value = _one(selector)
        pieces: list[str | Label] = []
        for number, label in cases:
            pieces += [f" {value.type} {number}, ", Label(label)]
        self.function.do(
            "switch ", Typed(value), ", ", Label(default), " [", *pieces, " ]"
        )

    def open_loop(self, done: Block, again: Block) -> None:
        """LLVM finds loops by itself."""

    def open_selection(self, done: Block) -> None:
        """And where branches meet."""

    def phi(self, value: SSAValue, like: Became) -> Became:
        """A phi; of a memref, one for its pointer and each number of run time."""
        name = value.name_hint
        if not isinstance(like, View):
            return self._phi(like.type, name)
        assert is_memref(value.type), value.type
        parts = flat(like, Form.of(value.type))
        phis = [self._phi(part.type, name) for part in parts]
        self._types[phis[0]] = value.type
        return from_flat(value.type, iter(phis))

    def _phi(self, type: Type, name: str | None) -> Local:
        result, instruction = self.function.phi(type, name)
        self._phis[result] = instruction
        return result

    def arrive(self, phi: Became, value: Became, source: Block) -> None:
        """Add operands to the phi, or to those of a memref."""
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
        for mine, other in zip(flat(phi, form), flat(value, form), strict=True):
            assert isinstance(mine, Local), mine
            arrive(self._phis[mine], other, source)

    def less_than(self, left: Became, right: Became) -> Became:
        """Whether one signed integer is less than another."""
        return self.function.compare("icmp slt", _one(left), _one(right))

    def plus(self, left: Became, right: Became) -> Became:
        """The sum of two integers."""
        return self.function.binary("add", _one(left), _one(right))


def _one(value: Became) -> Value:
    assert isinstance(value, Local | Constant), value
    return value
