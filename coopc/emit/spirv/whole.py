"""What the functions of a module share while it is emitted."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from coopc.device import MatrixShape
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.emit.facts import Facts
from coopc.emit.spirv.types import Types
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function, Module

if TYPE_CHECKING:
    from coopc.rewrite.uniformity import Uniformity

BARRIERS = (simt.BarrierOp, simt.BarrierArriveOp, simt.BarrierWaitOp)
"""What makes a work-item see what others wrote."""


def _addressing(facts: Facts) -> str:
    """The addressing model."""
    if facts.addresses:
        return "PhysicalStorageBuffer64"
    return "Logical" if facts.vulkan else "Physical64"


class ModuleEmission:
    """What the functions of a module share."""

    def __init__(self, source: ModuleOp, facts: Facts) -> None:
        """Make an empty SPIR-V module for a module of the IR."""
        self.source = source
        self.facts = facts
        self.module = Module(
            version=facts.device.spirv_version,
            addressing=_addressing(facts),
            memory_model="Vulkan" if facts.vulkan else "OpenCL",
        )
        self.spec_constants: dict[str, Id] = {}
        self.types = Types(self.module, facts, self.spec_constants)
        self.functions = {
            op.sym_name.data: op for op in source.ops if isinstance(op, func.FuncOp)
        }
        self.synchronises = any(isinstance(op, BARRIERS) for op in source.walk())
        """Whether work-items wait for each other, and see what others wrote."""
        self.inserts = any(isinstance(op, coopmatrix.InsertOp) for op in source.walk())
        """Whether single elements of matrices are changed."""
        self._uniformity: Uniformity | None = None
        self.written: set[Id] = set()
        """The variables of buffers that something writes."""
        self.strict = False
        """Whether there is float arithmetic whose every bit counts: it may not be
        contracted, and zeros have signs."""
        self.kernels: list[Id] = []
        """The functions of the entry points."""
        self.buffers: list[Id] = []
        """The variables of all buffers."""
        self.bindings: dict[Id, int] = {}
        """The binding of each variable of a buffer under Vulkan."""
        self.as_words: dict[tuple[Id, Attribute], Id] = {}
        """Other variables of the same buffers: see `coopc.emit.spirv.words`."""
        self.emitted: dict[str, Function] = {}
        """Functions that are called, by name."""
        self.calling: list[str] = []
        """The functions that are being emitted, each called by the one before."""
        self.layouts: dict[tuple[MatrixType, str], str | None] = {}
        """Why the device has no matrix in a layout of memory, or None."""
        self.shapes: dict[Hashable, MatrixShape | None] = {}
        """The multiplications of the device that operations are."""
        self._built_ins: dict[str, Id] = {}
        self._blocks: dict[Id, Id] = {}

    @property
    def uniformity(self) -> Uniformity:
        """Which control flow is the same for which work-items."""
        if self._uniformity is None:
            from coopc.rewrite.uniformity import Uniformity

            self._uniformity = Uniformity(self.source)
        return self._uniformity

    def first_variable(self, buffer: Id) -> Id:
        """The variable of a buffer that other variables of it are made from."""
        pairs = self.as_words.items()
        return next((base for (base, _), other in pairs if other is buffer), buffer)

    def built_in(self, name: str, type: Id) -> Id:
        """The input variable of a built-in."""
        if (found := self._built_ins.get(name)) is None:
            pointer = self.types.pointer("Input", type)
            found = self.module.variable(pointer, "Input", name=name)
            self.module.decorate(found, "BuiltIn", name)
            if not self.facts.vulkan:
                self.module.decorate(found, "Constant")
            self._built_ins[name] = found
        return found

    def block(self, element: Attribute) -> Id:
        """The struct that holds a buffer of elements: one array without an end."""
        number = self.types.in_memory(element)
        if (found := self._blocks.get(number)) is None:
            array = self.module.type("OpTypeRuntimeArray", number)
            self.module.decorate(array, "ArrayStride", self.types.bytes_of(element))
            found = self.module.type("OpTypeStruct", array, distinct=True)
            self.module.decorate(found, "Block")
            self.module.member_decorate(found, 0, "Offset", 0)
            self._blocks[number] = found
        return found

    def globals_of(self, function: Function) -> list[Id]:
        """The global variables that a function and those that it calls use."""
        found: dict[Id, None] = {}
        todo, seen = [function], {function.id}
        bodies = {each.id: each for each in self.module.functions}
        while todo:
            for statement in todo.pop().body:
                for operand in statement.operands:
                    if not isinstance(operand, Id) or operand.definition is None:
                        continue
                    definition = operand.definition
                    if definition.facts.name == "OpVariable":
                        if definition.operands[0] != "Function":
                            found[operand] = None
                    elif definition.facts.name == "OpFunction" and operand not in seen:
                        seen.add(operand)
                        todo.append(bodies[operand])
        return list(found)
