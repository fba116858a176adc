"""One function while it is emitted: its instructions, and what its values became."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TypeAlias, TypeVar, overload

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.emit.elements import element_of
from coopc.emit.spirv.flow import Kept, SpirvFlow, Value
from coopc.emit.spirv.index import Index
from coopc.emit.spirv.types import Types
from coopc.emit.spirv.view import Num, View
from coopc.emit.spirv.whole import ModuleEmission
from coopc.emit.structured import Walker
from coopc.spirv.instruction import Id, Instruction, Operand
from coopc.spirv.module import Function

T = TypeVar("T")

Unary: TypeAlias = Callable[[Id, Id], Id]
"""Makes a part of a result from its type and the part of an operand."""
Binary: TypeAlias = Callable[[Id, Id, Id], Id]
"""The same from two operands."""


class Emission:
    """The emission of one function; what handlers work with."""

    def __init__(
        self,
        whole: ModuleEmission,
        function: Function,
        leaf: Callable[[Emission, Operation], None],
        *,
        work_group_size: tuple[int, int, int] | None = None,
        subgroup_size: int | None = None,
    ) -> None:
        """Begin a function.

        Args:
            whole: the module.
            function: without blocks.
            leaf: emits an operation that is not of `scf`.
            work_group_size: work-items along x, y, z; None outside a kernel.
            subgroup_size: lanes, where the kernel fixes them.
        """
        self.whole = whole
        self.facts = whole.facts
        self.module = whole.module
        self.types: Types = whole.types
        self.function = function
        self.work_group_size = work_group_size
        self.subgroup_size = subgroup_size
        self.index = Index(self.types, function)
        self.flow = SpirvFlow(function, self.index, self.types.bool)
        self.walker = Walker(self.flow, lambda op: leaf(self, op))
        self.spilled: dict[Id, Id] = {}
        """The variables of matrices of which elements are read."""
        if whole.inserts:
            elements = import_module("coopc.emit.spirv.coopmatrix_elements")
            self.flow.on_control = (
                lambda op: elements.begin_control(self, op),
                lambda op: elements.end_control(self, op),
            )
        self._once: dict[object, Id] = {}
        """What `once` emitted."""
        self._entry = function.new_label("entry")
        self._prologue: list[Instruction] = []
        function.begin_block(self._entry)

    def finish(self) -> None:
        """Put what was emitted at the entry there; the last block has ended."""
        self.function.body[1:1] = self._prologue

    # --- values ----------------------------------------------------------------

    def value(self, value: SSAValue) -> Value:
        """What an SSA value became."""
        return self.walker.values[value]

    def parts(self, value: SSAValue) -> tuple[Id, ...]:
        """The parts of a number, a vector or a matrix."""
        found = self.walker.values[value]
        if isinstance(found, Kept):
            (type,) = self.types.parts(value.type)
            return (self.emit("OpLoad", found.variable, type=type),)
        assert isinstance(found, tuple), value
        return found

    def id(self, value: SSAValue) -> Id:
        """The one part of a value."""
        (id,) = self.parts(value)
        return id

    def view(self, value: SSAValue) -> View:
        """The memref that a value became."""
        found = self.walker.values[value]
        assert isinstance(found, View), value
        return found

    def num(self, value: SSAValue) -> Num:
        """An index, as an int where it is a constant."""
        return self.index.num(self.id(value))

    def nums(self, values: Iterable[SSAValue]) -> tuple[Num, ...]:
        """Index values, as ints where they are constants."""
        return tuple(self.num(value) for value in values)

    def set(self, value: SSAValue, became: Value) -> None:
        """Say what an SSA value became; its name becomes the debug name."""
        self.walker.values[value] = became
        hint = value.name_hint
        if hint is None or not isinstance(became, tuple):
            return
        for at, id in enumerate(became):
            self._name(id, hint if len(became) == 1 else f"{hint}_{at}")

    def _name(self, id: Id, name: str) -> None:
        """Name an instruction of this function that has no name yet."""
        if id.name is None and id.definition is not None:
            opcode = id.definition.facts.name
            if not opcode.startswith(("OpConstant", "OpSpec", "OpUndef", "OpVar")):
                self.module.name(id, name)

    def from_memory(self, type: Attribute, id: Id) -> Id:
        """A number as a value, from what memory holds: an i1 is a byte there."""
        if type != IntegerType(1):
            return id
        zero = self.module.constant(self.types.int(8), 0)
        return self.emit("OpINotEqual", id, zero, type=self.types.bool)

    def to_memory(self, type: Attribute, id: Id) -> Id:
        """What memory holds for a number."""
        if type != IntegerType(1):
            return id
        byte = self.types.int(8)
        one, zero = self.module.constant(byte, 1), self.module.constant(byte, 0)
        return self.emit("OpSelect", id, one, zero, type=byte)

    # --- instructions ----------------------------------------------------------

    def emit(self, opcode: str, *operands: Operand, type: Id) -> Id:
        """Append an instruction with a result."""
        return self.function.emit(opcode, *operands, type=type)

    def do(self, opcode: str, *operands: Operand) -> None:
        """Append an instruction without a result."""
        self.function.emit(opcode, *operands)

    def ext(self, name: str, *operands: Id, type: Id) -> Id:
        """Append an instruction of the flavour's extended set."""
        set_name = "GLSL.std.450" if self.facts.vulkan else "OpenCL.std"
        imported = self.module.ext_inst_import(set_name)
        return self.function.emit("OpExtInst", imported, name, *operands, type=type)

    @overload
    def each(
        self, result: SSAValue, operands: tuple[SSAValue], make: Unary
    ) -> None: ...

    @overload
    def each(
        self, result: SSAValue, operands: tuple[SSAValue, SSAValue], make: Binary
    ) -> None: ...

    @overload
    def each(
        self, result: SSAValue, operands: Sequence[SSAValue], make: Callable[..., Id]
    ) -> None: ...

    def each(
        self, result: SSAValue, operands: Sequence[SSAValue], make: Callable[..., Id]
    ) -> None:
        """Set a result part by part.

        Args:
            result: of which `make(type, *ids)` gives each part.
            operands: values of as many parts as the result has.
            make: is given the type of the part of the result, and the operands' parts.
        """
        types = self.types.parts(result.type)
        columns = [self.parts(operand) for operand in operands]
        rows = zip(types, *columns, strict=True)
        self.set(result, tuple(make(type, *ids) for type, *ids in rows))

    def like(self, shape: Id, element: Id) -> Id:
        """A type of as many components as another, of another element."""
        return self.types.vector(element, self.types.width(shape))

    def bools(self, shape: Id) -> Id:
        """The type of a comparison of values of a type."""
        return self.like(shape, self.types.bool)

    def number(self, type: Id, value: float | bytes) -> Id:
        """A constant of a scalar type, or of a vector type with equal components."""
        width = self.types.width(type)
        one = self.module.constant(self.types.component(type), value)
        return (
            one if width == 1 else self.module.constant_composite(type, [one] * width)
        )

    def components(self, part: Id) -> list[Id]:
        """The components of a scalar or vector."""
        width = self.types.width(part.type)
        if width == 1:
            return [part]
        element = self.types.component(part.type)
        return [
            self.emit("OpCompositeExtract", part, at, type=element)
            for at in range(width)
        ]

    def scalars(self, value: SSAValue) -> list[Id]:
        """The components of a number or a vector, one by one."""
        return [one for part in self.parts(value) for one in self.components(part)]

    def gathered(self, type: Attribute, scalars: Sequence[Id]) -> tuple[Id, ...]:
        """A vector of these components."""
        parts: list[Id] = []
        start = 0
        for id, width in zip(
            self.types.parts(type), self.types.widths(type), strict=True
        ):
            some = scalars[start : start + width]
            start += width
            if width == 1:
                parts.append(some[0])
            else:
                parts.append(self.emit("OpCompositeConstruct", *some, type=id))
        return tuple(parts)

    def element(self, type: Attribute) -> Id:
        """The SPIR-V type of a component of a number or vector."""
        return self.types.number(element_of(type))

    # --- at the entry ----------------------------------------------------------

    def at_entry(self, make: Callable[[], T]) -> T:
        """Let `make` emit at the entry, before everything else."""
        function = self.function
        body, block = function.body, function.block
        function.body, function.block = self._prologue, self._entry
        try:
            return make()
        finally:
            function.body, function.block = body, block

    def once(self, key: object, make: Callable[[], Id]) -> Id:
        """What `make` emits at the entry, the first time that it is asked for."""
        if (found := self._once.get(key)) is None:
            found = self._once[key] = self.at_entry(make)
        return found

    def built_in(self, name: str, type: Id) -> Id:
        """The value of a built-in variable of that type."""
        variable = self.whole.built_in(name, type)
        return self.once(name, lambda: self.emit("OpLoad", variable, type=type))

    def index_built_in(self, name: str) -> Id:
        """The value of a built-in u32, as an index."""

        def load() -> Id:
            id = self.built_in(name, self.types.u32)
            if self.facts.vulkan:
                return id
            return self.emit("OpUConvert", id, type=self.types.index)

        return self.once((name, "index"), load)
