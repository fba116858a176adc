"""One function while it is emitted: its instructions, and what its values became."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.device import MatrixShape
from coopc.dialects import simt
from coopc.dialects.coopmatrix import SCOPE_NUMBERS, MatrixType, Ordering, Scope
from coopc.dialects.narrow import is_memref
from coopc.emit import emission, walker
from coopc.emit.emission import Ordered
from coopc.emit.spirv.types import Types
from coopc.emit.spirv.view import (
    PHYSICAL,
    Index,
    Num,
    View,
    is_wide,
    storage_of,
)
from coopc.emit.view import Form, space_of
from coopc.emit.walker import Facts, NoForm, count_of, element_of, unrolls
from coopc.ir.control_flow import functions
from coopc.passes.generic.expansion import Code, Target
from coopc.plan.atomic_form import LOGICAL, WORD, AtomicUpdate
from coopc.spirv.instruction import Id, Instruction, Operand
from coopc.spirv.module import Function, Module

if TYPE_CHECKING:
    from coopc.ir.uniformity import Uniformity


# What the functions of a module share while it is emitted.

LOOP_CONTROLS = {None: "None", True: "Unroll", False: "DontUnroll"}
"""The loop control for each value of `simt.unroll`."""
BARRIERS = (simt.BarrierOp, simt.BarrierArriveOp, simt.BarrierWaitOp)
"""What makes a work-item see what others wrote."""


class ModuleEmission:
    """What the functions of a module share."""

    def __init__(self, source: ModuleOp, facts: Facts) -> None:
        self.source = source
        self.facts = facts
        self.target = Target(facts.flavour, facts.device)
        addressing = "Logical" if facts.vulkan else "Physical64"
        self.module = Module(
            version=facts.device.spirv_version,
            addressing="PhysicalStorageBuffer64" if facts.addresses else addressing,
            memory_model="Vulkan" if facts.vulkan else "OpenCL",
        )
        self.spec_constants: dict[str, Id] = {}
        self.types = Types(self.module, facts, self.spec_constants)
        self.functions = functions(source)
        self.synchronises = any(isinstance(op, BARRIERS) for op in source.walk())
        """Whether work-items wait for each other, and see what others wrote."""
        self.on_control: tuple[Callable[[Emission, Operation], None], ...] = ()
        """What is emitted before an operation of `scf`, and after it."""
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
        self.as_elements: dict[tuple[Id, Attribute], Id] = {}
        """Other variables of the same buffers, by their element types."""
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
            from coopc.ir.uniformity import Uniformity

            self._uniformity = Uniformity(self.source)
        return self._uniformity

    def first_variable(self, buffer: Id) -> Id:
        pairs = self.as_elements.items()
        return next((base for (base, _), other in pairs if other is buffer), buffer)

    def buffer(self, element: Attribute, name: str, binding: int) -> Id:
        """The variable of a storage buffer.

        Two memrefs may be the same memory, which the Vulkan memory model assumes they
        are not unless they are decorated so.
        """
        pointer = self.types.pointer("StorageBuffer", self.block(element))
        variable = self.module.variable(pointer, "StorageBuffer", name=name)
        self.module.decorate(variable, "DescriptorSet", 0)
        self.module.decorate(variable, "Binding", binding)
        self.module.decorate(variable, "Aliased")
        self.buffers.append(variable)
        self.bindings[variable] = binding
        return variable

    def buffer_as(self, base: Id, element: Attribute, what: str) -> Id:
        """The variable of a buffer as an array of elements of another type."""
        base = self.first_variable(base)
        if (found := self.as_elements.get((base, element))) is None:
            name, binding = f"{base.name}_{what}", self.bindings[base]
            found = self.buffer(element, name, binding)
            self.as_elements[base, element] = found
        return found

    def buffer_as_words(self, base: Id, count: int, bits: int = WORD) -> Id:
        """The variable of a buffer as an array of words, or of wider integers."""
        integer = IntegerType(bits)
        element = integer if count == 1 else VectorType(integer, [count])
        return self.buffer_as(base, element, f"words{count * bits // WORD}")

    def built_in(self, name: str, type: Id) -> Id:
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


@dataclass(frozen=True, slots=True)
class Kept:
    """A matrix that is what a variable holds: see `Chain` in `coopmatrix`."""

    variable: Id


Value: TypeAlias = tuple[Id, ...] | View | Kept
"""What an SSA value became: the parts of a number, vector or matrix; or a memref."""


class Emission(emission.Emission[Id, View]):
    """The emission of one function; what handlers work with."""

    structured = True
    module: Module
    types: Types
    facts: Facts
    became: dict[SSAValue, Value]

    def __init__(self, whole: ModuleEmission, function: Function, **sizes: Any) -> None:
        """Begin a function, without blocks."""
        super().__init__(whole, **sizes)
        self.whole = whole
        self.function = function
        self.index = Index(self.types, function)
        self.bool = self.types.bool
        """The type of an i1, which every function declares."""
        self.spilled: dict[Id, Id] = {}
        """The variables of matrices of which elements are read."""
        self.kept: dict[SSAValue, Kept] = {}
        """Matrices that are in a variable, from there on."""
        self._loop_control = "None"
        self._once: dict[object, Id] = {}
        """What `once` emitted."""
        self._entry = function.new_label("entry")
        self._prologue: list[Instruction] = []
        function.begin_block(self._entry)

    def check_room(self) -> None:
        if len(self.function.body) > MOST_INSTRUCTIONS:
            raise NoForm(
                f"expected a function of at most {MOST_INSTRUCTIONS} instructions: "
                "smaller vectors are fewer"
            )

    def finish(self) -> None:
        """Put what was emitted at the entry there; the last block has ended."""
        self.function.body[1:1] = self._prologue

    # --- values ----------------------------------------------------------------

    def parts(self, value: SSAValue) -> tuple[Id, ...]:
        found = self.became[value]
        if isinstance(found, Kept):
            (type,) = self.types.parts(value.type)
            return (self.emit("OpLoad", found.variable, type=type),)
        assert isinstance(found, tuple), value
        return found

    def value(self, value: SSAValue) -> Id:
        (id,) = self.parts(value)
        return id

    def set(self, value: SSAValue, became: Value | Id) -> None:
        """Say what an SSA value became; its name becomes the debug name."""
        if isinstance(became, Id):
            became = (became,)
        self.became[value] = became
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
        return self.emit("OpINotEqual", id, zero, type=self.bool)

    def to_memory(self, type: Attribute, id: Id) -> Id:
        if type != IntegerType(1):
            return id
        byte = self.types.int(8)
        one, zero = self.module.constant(byte, 1), self.module.constant(byte, 0)
        return self.emit("OpSelect", id, one, zero, type=byte)

    # --- blocks ------------------------------------------------------------------

    def begin_control(self, op: Operation) -> None:
        self._loop_control = LOOP_CONTROLS[unrolls(op)]
        if self.whole.on_control:
            self.whole.on_control[0](self, op)

    def end_control(self, op: Operation) -> None:
        if self.whole.on_control:
            self.whole.on_control[1](self, op)

    def label(self, name: str) -> Id:
        return self.function.new_label(name)

    def begin(self, label: Id) -> None:
        self.function.begin_block(label)

    def here(self) -> Id:
        assert self.function.block is not None, "there is no block"
        return self.function.block

    def jump(self, target: Id) -> None:
        self.function.emit("OpBranch", target)

    def branch(self, condition: Id, yes: Id, no: Id) -> None:
        self.function.emit("OpBranchConditional", condition, yes, no)

    def switch(
        self, selector: Id, cases: Sequence[tuple[int, Id]], default: Id
    ) -> None:
        modulus = 1 << self.types.index_bits
        pairs = (each for n, label in cases for each in (n % modulus, label))
        self.function.emit("OpSwitch", selector, default, *pairs)

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
        index, form = self.types.index, Form.of(value.type)
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
            raise NoForm(
                "expected memrefs of one buffer, whose address is known, got "
                f"{_name(phi.base)} and {_name(value.base)}"
            )
        return [
            (mine, self.index.value(other))
            for mine, other in zip(phi.numbers, value.numbers, strict=True)
            if isinstance(mine, Id)
        ]

    # --- instructions ----------------------------------------------------------

    def emit(self, opcode: str, *operands: Operand, type: Id) -> Id:
        return self.function.emit(opcode, *operands, type=type)

    def do(self, opcode: str, *operands: Operand) -> None:
        self.function.emit(opcode, *operands)

    def ext(self, name: str, *operands: Id, type: Id) -> Id:
        set_name = "GLSL.std.450" if self.facts.vulkan else "OpenCL.std"
        imported = self.module.ext_inst_import(set_name)
        return self.function.emit("OpExtInst", imported, name, *operands, type=type)

    def each(
        self,
        result: SSAValue,
        operands: Sequence[SSAValue],
        make: Callable[[Id, tuple[Id, ...]], Id],
    ) -> None:
        """Set a result part by part.

        `make` is given the type of a part of the result, and that part of each operand.
        """
        types = self.types.parts(result.type)
        rows = zip(*(self.parts(operand) for operand in operands), strict=True)
        pairs = zip(types, rows, strict=True)
        self.set(result, tuple(make(type, ids) for type, ids in pairs))

    def like(self, shape: Id, element: Id) -> Id:
        return self.types.vector(element, self.types.width(shape))

    def number(self, type: Id, value: int) -> Id:
        width = self.types.width(type)
        one = self.module.constant(self.types.component(type), value)
        return (
            one if width == 1 else self.module.constant_composite(type, [one] * width)
        )

    def components(self, part: Id, chosen: range | None = None) -> list[Id]:
        width = self.types.width(part.type)
        if width == 1:
            return [part]
        element = self.types.component(part.type)
        return [
            self.emit("OpCompositeExtract", part, at, type=element)
            for at in chosen or range(width)
        ]

    def scalars(self, value: SSAValue, chosen: range | None = None) -> list[Id]:
        found: list[Id] = []
        chosen = range(count_of(value.type)) if chosen is None else chosen
        start = 0
        for part in self.parts(value):
            width = self.types.width(part.type)
            first, last = max(chosen.start - start, 0), min(chosen.stop - start, width)
            if first < last:
                found += self.components(part, range(first, last))
            start += width
        return found

    def constant(self, type: Attribute, numbers: Sequence[Id]) -> tuple[Id, ...]:
        return self._assembled(type, numbers, self.module.constant_composite)

    def gathered(self, type: Attribute, scalars: Sequence[Id]) -> tuple[Id, ...]:
        def compose(id: Id, some: Sequence[Id]) -> Id:
            return self.emit("OpCompositeConstruct", *some, type=id)

        return self._assembled(type, scalars, compose)

    def _assembled(
        self,
        type: Attribute,
        scalars: Sequence[Id],
        compose: Callable[[Id, Sequence[Id]], Id],
    ) -> tuple[Id, ...]:
        """The parts of a number or a vector, from its components in order."""
        rest = iter(scalars)

        def part(id: Id, width: int) -> Id:
            some = list(islice(rest, width))
            return some[0] if width == 1 else compose(id, some)

        return tuple(map(part, self.types.parts(type), self.types.widths(type)))

    def element(self, type: Attribute) -> Id:
        return self.types.number(element_of(type))

    # --- at the entry ----------------------------------------------------------

    @contextmanager
    def at_entry(self) -> Generator[None]:
        """Emit at the entry, before everything else."""
        function = self.function
        body, block = function.body, function.block
        function.body, function.block = self._prologue, self._entry
        try:
            yield
        finally:
            function.body, function.block = body, block

    def once(self, key: object, make: Callable[[], Id]) -> Id:
        """What `make` emits at the entry, the first time that it is asked for."""
        if (found := self._once.get(key)) is None:
            with self.at_entry():
                found = self._once[key] = make()
        return found

    def built_in(self, name: str, type: Id) -> Id:
        variable = self.whole.built_in(name, type)
        return self.once(name, lambda: self.emit("OpLoad", variable, type=type))

    def hidden(self, type: Id, number: int) -> Id:
        """A float, 0 or 1, that a compiler does not see.

        It is added to the highest bit of two numbers or-ed, those of the work-group and
        of the lane, which are less than 2^31.  The lane is read here, before the loop
        of a product, for lavapipe (26.2.6): if the loop is the first to read it, what
        accesses matrices after the loop keeps it in memory, and the loop has 4% more
        instructions.
        """

        def make() -> Id:
            u32, types = self.types.u32, self.types
            if (width := types.width(type)) > 1:
                one = self.hidden(types.component(type), number)
                return self.emit("OpCompositeConstruct", *[one] * width, type=type)
            ids = self.built_in("WorkgroupId", types.vector(u32, 3))
            group = self.emit("OpCompositeExtract", ids, 0, type=u32)
            lane = self.built_in("SubgroupLocalInvocationId", u32)
            bit = self.emit("OpBitwiseOr", group, lane, type=u32)
            bit = self.emit("OpShiftRightLogical", bit, self.number(u32, 31), type=u32)
            if number:
                bit = self.emit("OpIAdd", bit, self.number(u32, number), type=u32)
            return self.emit("OpConvertUToF", bit, type=type)

        return self.once(("hidden", type, number), make)

    def index_built_in(self, name: str) -> Id:
        """The value of a built-in u32, as an index."""

        def load() -> Id:
            id = self.built_in(name, self.types.u32)
            if self.facts.vulkan:
                return id
            return self.emit("OpUConvert", id, type=self.types.index)

        return self.once((name, "index"), load)

    # --- memory ----------------------------------------------------------------

    def pointer(self, view: View, at: Num) -> Id:
        to = self.types.pointer(view.storage, self.types.in_memory(view.element))
        pointee, index = _pointee(view.base), self.index.value(at)
        if pointee == "OpTypeStruct":
            zero = self.index.value(0)
            return self.emit("OpAccessChain", view.base, zero, index, type=to)
        if pointee == "OpTypeArray":
            return self.emit("OpAccessChain", view.base, index, type=to)
        if self.index.num(at) == 0:
            return view.base
        return self.emit("OpInBoundsPtrAccessChain", view.base, index, type=to)

    def memory_operands(
        self,
        view: View,
        hints: Collection[str] = (),
        *,
        alignment_bytes: int | None = None,
        available: Id | None = None,
        visible: Id | None = None,
    ) -> list[str | int | Id]:
        """The memory operands of an access with hints: Volatile, Nontemporal.

        `available` and `visible` are scopes.

        A physical storage buffer's elements are aligned by their size.  Vulkan's
        accesses are private to the work-item unless they say otherwise: where the
        module has barriers, they do, for memory that others see.

        Raises:
            NoForm: an alignment that SPIR-V has no access to physical buffers of.
        """
        if view.storage == PHYSICAL:
            element = element_of(view.element)
            least = self.types.bytes_of(element)
            if alignment_bytes is None:
                alignment_bytes = self.types.bytes_of(view.element)
            elif alignment_bytes < least:
                raise NoForm(
                    f"expected an alignment of at least {least} bytes, the size of "
                    f"{element}, as accesses to physical storage buffers need, got "
                    f"{alignment_bytes}"
                )
        shared = self.facts.vulkan and self.whole.synchronises
        shared = shared and view.storage != "Function"
        rows: tuple[tuple[str, bool, int | Id | None], ...] = (
            ("Volatile", "Volatile" in hints, None),
            ("Aligned", alignment_bytes is not None, alignment_bytes),
            ("Nontemporal", "Nontemporal" in hints, None),
            ("MakePointerAvailable", available is not None, available),
            ("MakePointerVisible", visible is not None, visible),
            ("NonPrivatePointer", shared or bool(available or visible), None),
        )
        flags = [flag for flag, is_set, _ in rows if is_set]
        literals = [literal for _, _, literal in rows if literal is not None]
        return ["|".join(flags), *literals] if flags else []

    def load(self, view: View, at: Num, hints: Collection[str] = ()) -> Id:
        pointer, type = self.pointer(view, at), self.types.in_memory(view.element)
        access = self.memory_operands(view, hints)
        found = self.emit("OpLoad", pointer, *access, type=type)
        return self.from_memory(view.element, found)

    def store(
        self, view: View, at: Num, value: Id, hints: Collection[str] = ()
    ) -> None:
        self.writes(view)
        pointer, value = self.pointer(view, at), self.to_memory(view.element, value)
        access = self.memory_operands(view, hints)
        self.do("OpStore", pointer, value, *access)

    def writes(self, view: View) -> None:
        self.whole.written.add(view.base)

    def allocate(
        self,
        type: MemRefType,
        elements: Sequence[Num],
        alignment: int,
        name: str | None,
    ) -> View:
        is_shared = space_of(type) is simt.MemorySpace.WORKGROUP
        storage = "Workgroup" if is_shared else "Function"
        whole = self.types.in_memory(type.element_type)
        if elements:
            length = self._length(type, elements)
            whole = self.module.type("OpTypeArray", whole, length)
        pointer = self.types.pointer(storage, whole)
        if is_shared:
            base = self.module.variable(pointer, storage, name=name)
        else:
            base = self.function.local_variable(pointer, name=name)
        if alignment > 0 and not self.facts.vulkan:
            self.module.decorate(base, "Alignment", alignment)
        return View(base, type.element_type)

    def _length(self, type: MemRefType, elements: Sequence[Num]) -> Id:
        """The number of elements of an array, by specialization constants too."""
        count, *named = elements
        assert isinstance(count, int), elements
        found = self.module.constant(self.types.u32, count)
        for number in named:
            id = self.index.value(number)
            definition = id.definition
            if definition is not None and definition.facts.name == "OpUConvert":
                (id,) = definition.operands  # from 32 bits to those of an index
            assert isinstance(id, Id), id
            if id not in self.whole.spec_constants.values():
                raise NoForm(
                    "expected constant sizes, or such as coopmatrix.spec_value gives, "
                    f"got {type}"
                )
            found = self.module.spec_constant_op("OpIMul", (found, id), self.types.u32)
        return found

    def as_elements(self, view: View, element: Attribute) -> View:
        if view.base in self.whole.bindings:
            base = self.whole.buffer_as(view.base, element, str(element))
            return replace(view, base=base, element=element)
        if self.facts.vulkan and view.storage != PHYSICAL:
            raise NoForm(
                f"expected memory of {element}, got {view.element}: Vulkan casts no "
                "pointers, and sees only buffers as elements of another type"
            )
        pointee = self.types.in_memory(element)
        if view.storage == PHYSICAL:
            pointee = self.whole.block(element)
        to = self.types.pointer(view.storage, pointee)
        base = self.emit("OpBitcast", view.base, type=to)
        return replace(view, base=base, element=element)

    def is_wide(self, view: View, form: Form) -> bool:
        return is_wide(form, view.storage)

    # --- atomic accesses to one element ------------------------------------------

    @property
    def has_total_order(self) -> bool:
        return not self.facts.vulkan

    def is_private(self, view: View) -> bool:
        return view.storage == "Function"

    def atomic_place(
        self, view: View, at: Num, integer: IntegerType | None = None
    ) -> Id:
        if integer is None:
            return self.pointer(view, at)
        bits = integer.bitwidth
        to = self.types.pointer(view.storage, self.types.int(bits))
        if not self._is_logical(view):
            place = self.pointer(view, at)
            return place if place.type is to else self.emit("OpBitcast", place, type=to)
        base = self.whole.buffer_as_words(view.base, 1, bits)
        indices = map(self.index.value, (0, at))
        return self.emit("OpAccessChain", base, *indices, type=to)

    def word_place(self, code: Code, view: View, at: Num) -> tuple[Id, SSAValue]:
        if not self._is_logical(view):
            return super().word_place(code, view, at)
        bits = 8 * self.types.bytes_of(view.element)
        each = WORD // bits
        number, index = self.index.value(at), self.types.index
        shift = self.index.value(each.bit_length() - 1)
        place = self.emit("OpShiftRightLogical", number, shift, type=index)
        base = self.whole.buffer_as_words(view.base, 1)
        to = self.types.pointer(view.storage, self.types.u32)
        word = self.emit("OpAccessChain", base, self.index.value(0), place, type=to)
        part = self.standing(
            i32,
            self.emit("OpBitwiseAnd", number, self.index.value(each - 1), type=index),
        )
        return word, code(arith.MuliOp(part, code.like(part, bits)))

    def _is_logical(self, view: View) -> bool:
        """Whether memory has no addresses, and is a buffer of several variables.

        Raises:
            NoForm: it has none, and is no buffer.
        """
        logical = self.facts.vulkan and view.storage != PHYSICAL
        if logical and view.base not in self.whole.bindings:
            raise NoForm(
                f"expected elements that {self.facts.device.name} has atomic "
                f"instructions for, got {view.element}: {LOGICAL}"
            )
        return logical

    def address(self, view: View, at: Num) -> Id:
        type = self.types.int(64)
        return self.emit("OpConvertPtrToU", self.pointer(view, at), type=type)

    def memory_at(self, address: Id, element: Attribute) -> View:
        if self.facts.vulkan:
            to = self.types.pointer(PHYSICAL, self.whole.block(element))
        else:
            to = self.types.pointer("CrossWorkgroup", self.types.in_memory(element))
        return View(self.emit("OpConvertUToPtr", address, type=to), element)

    def at_address(self, view: View, address: Id) -> Id:
        to = self.types.pointer(view.storage, self.types.u32)
        return self.emit("OpConvertUToPtr", address, type=to)

    def atomic_load(self, place: Id, type: Attribute, how: Ordered) -> Id:
        to = self.types.in_memory(type)
        return self.emit("OpAtomicLoad", place, *self._order(place, how), type=to)

    def atomic_store(self, place: Id, value: Id, how: Ordered) -> None:
        self.do("OpAtomicStore", place, *self._order(place, how), value)

    def atomic_update(
        self, update: AtomicUpdate, place: Id, value: Id, how: Ordered
    ) -> Id:
        operands = (place, *self._order(place, how), value)
        return self.emit(update.opcode, *operands, type=value.type)

    def compare_exchange(
        self, place: Id, old: Id, new: Id, how: Ordered
    ) -> tuple[Id, Id]:
        operands = (*self._order(place, how), self.types.enumerant(0), new, old)
        opcode = "OpAtomicCompareExchange"
        seen = self.emit(opcode, place, *operands, type=old.type)
        return seen, self.emit("OpIEqual", seen, old, type=self.bool)

    def _order(self, place: Id, how: Ordered) -> tuple[Id, Id]:
        vulkan, order = self.facts.vulkan, how.ordering
        semantics = _ORDERS[order]
        if semantics:
            semantics |= _MEMORIES[storage_of(place)]
        if vulkan and order in (Ordering.RELEASE, Ordering.ACQUIRE_RELEASE):
            semantics |= MAKE_AVAILABLE
        if vulkan and order in (Ordering.ACQUIRE, Ordering.ACQUIRE_RELEASE):
            semantics |= MAKE_VISIBLE
        return self.scope(how.scope), self.types.enumerant(semantics)

    def scope(self, scope: Scope) -> Id:
        if self.facts.vulkan and scope in (Scope.CROSS_DEVICE, Scope.DEVICE):
            # The widest that Vulkan has without another capability.
            scope = Scope.QUEUE_FAMILY
        return self.types.enumerant(SCOPE_NUMBERS[scope])


def _name(base: Id) -> str:
    return base.name or "another"


def _pointee(base: Id) -> str:
    """What a pointer points to: the struct of a buffer, an array, or an element."""
    assert base.type.definition is not None, base
    pointee = base.type.definition.operands[1]
    assert isinstance(pointee, Id), base
    assert pointee.definition is not None, base
    return pointee.definition.facts.name


MAKE_AVAILABLE, MAKE_VISIBLE = 0x2000, 0x4000

_ORDERS = {
    Ordering.RELAXED: 0x0,
    Ordering.ACQUIRE: 0x2,
    Ordering.RELEASE: 0x4,
    Ordering.ACQUIRE_RELEASE: 0x8,
    Ordering.SEQUENTIALLY_CONSISTENT: 0x10,
}
"""Memory semantics in the SPIR-V specification."""

_MEMORIES = {
    "CrossWorkgroup": 0x200,
    "Workgroup": 0x100,
    "StorageBuffer": 0x40,
    "PhysicalStorageBuffer": 0x40,
    "Function": 0x0,
}
"""Which memory an ordering is about, by storage class."""


# Which function emits which operation of which dialect.
#
# A dialect is added by a row of `MODULES`, of modules that have `handlers`.

MODULES = {
    "arith": ("arith",),
    "coopmatrix": ("coopmatrix", "coopmatrix2"),
    "func": ("module",),
    "math": ("arith",),
    "memref": ("vector",),
    "scf": ("emission",),
    "simt": ("simt",),
    "ub": ("arith",),
    "vector": ("vector", "arith"),
    "xe": ("xe",),
}
"""Dialects to the modules here that emit them."""


Handlers: TypeAlias = walker.Handlers[Emission]
handlers = walker.control_flow
"""Of `scf`, in terms of this emission."""
Emission.emitter = emission.Emitter("SPIR-V", "coopc.emit.spirv", MODULES)


MOST_INSTRUCTIONS = 150_000
"""Instructions of a function, which take some 5 seconds of a processor."""
