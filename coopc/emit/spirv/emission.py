"""One function while it is emitted: its instructions, and what its values became."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import prod
from operator import mul
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i1
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.device import MatrixShape
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.narrow import is_memref
from coopc.emit import walker
from coopc.emit.expanded import expanded
from coopc.emit.memrefs import Form, IndexArithmetic, Strided
from coopc.emit.spirv.types import Types
from coopc.emit.walker import Facts, Flow, Refusal, Walker, element_of
from coopc.passes.generic.expansion import Target
from coopc.spirv.instruction import Id, Instruction, Operand
from coopc.spirv.module import Function, Module

if TYPE_CHECKING:
    from coopc.ir.uniformity import Uniformity


class Later:
    """A number that is emitted at the entry of the function, if anything uses it."""

    def __init__(self, make: Callable[[], Id]) -> None:
        """Keep the function that emits it."""
        self._make = make
        self._id: Id | None = None

    def get(self) -> Id:
        """The number."""
        if self._id is None:
            self._id = self._make()
        return self._id


PHYSICAL = "PhysicalStorageBuffer"
"""The storage class of buffers that are addresses."""

Num: TypeAlias = int | Id | Later
"""A number of elements: known now, or at run time as an index."""


@dataclass(frozen=True, slots=True)
class View:
    """A memref: element (i, j) is `base[offset + i * strides[0] + j * strides[1]]`."""

    base: Id
    """A variable, or under OpenCL a pointer to an element."""
    storage: str
    """The storage class of the elements."""
    element: Attribute
    """The type of an element."""
    offset: Num
    sizes: tuple[Num, ...]
    strides: tuple[Num, ...] | None
    """None for row-major order, where they follow from the sizes."""
    wide: bool = False
    """Whether the number of an element may need more bits than an index has."""


def is_wide(form: Form, storage: str) -> bool:
    """Whether the number of an element may need more bits than an index has.

    >>> is_wide(Form(0, (70000, 70000), None), PHYSICAL)
    True
    """
    if storage != PHYSICAL:
        return False
    if form.dynamic:
        return True
    numbers = (form.offset, *form.sizes, *(form.strides or ()))
    offset, *rest = (abs(number or 0) for number in numbers)
    sizes, strides = rest[: len(form.sizes)], rest[len(form.sizes) :]
    reach = sum(map(mul, sizes, strides)) if strides else prod(sizes)
    return offset + reach >= 1 << 31


def filled(
    form: Form,
    at: View,
    offset: Callable[[], Num],
    size: Callable[[int], Num],
    stride: Callable[[int], Num],
) -> View:
    """The memory of a view in a form, with what is left to run time from elsewhere."""
    numbers = form.filled(offset, size, stride)
    return View(at.base, at.storage, at.element, *numbers, wide=at.wide)


# Structured control flow in SPIR-V: labels, merges, branches and OpPhi.


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


# What the functions of a module share while it is emitted.

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
        self.target = Target(facts.flavour, facts.device)
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
        """Other variables of the same buffers: see `coopc.emit.spirv.address`."""
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


# Arithmetic on numbers of elements, emitted once.
#
# Numbers have the width of an index, which is that of addresses but for Vulkan's
# physical
# storage buffers: there positions, and what is computed of them, have 64 bits where 32
# may be too few (`View.wide`).
#
# Law: of two equal sums of which the first dominates the second, only the first is
# emitted.

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
            elements = import_module("coopc.emit.spirv.coopmatrix")
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

    def components(self, part: Id, chosen: range | None = None) -> list[Id]:
        """The components of a scalar or vector, or some of them."""
        width = self.types.width(part.type)
        if width == 1:
            return [part]
        element = self.types.component(part.type)
        return [
            self.emit("OpCompositeExtract", part, at, type=element)
            for at in chosen or range(width)
        ]

    def scalars(self, value: SSAValue) -> list[Id]:
        """The components of a number or a vector, one by one."""
        return [one for part in self.parts(value) for one in self.components(part)]

    def some_scalars(self, value: SSAValue, chosen: range) -> list[Id]:
        """Some components of a number or a vector, which follow each other."""
        found: list[Id] = []
        start = 0
        for part in self.parts(value):
            width = self.types.width(part.type)
            first, last = max(chosen.start - start, 0), min(chosen.stop - start, width)
            if first < last:
                found += self.components(part, range(first, last))
            start += width
        return found

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


# Which function emits which operation of which dialect.
#
# A dialect is added by a row of `MODULES`, of modules that have `handlers`.

MODULES = {
    "arith": ("arith",),
    "coopmatrix": ("coopmatrix",),
    "func": ("module",),
    "llvm": ("math",),
    "math": ("math",),
    "memref": ("memref", "atomics"),
    "simt": ("simt",),
    "vector": ("vector",),
    "xe": ("xe",),
}
"""Dialects to the modules here that emit them."""


class Handlers(walker.Handlers[Emission]):
    """The handlers of some operations."""


handler_of = walker.Emitter[Emission]("SPIR-V", "coopc.emit.spirv", MODULES).handler_of
"""The handler of an operation; a refusal where there is none."""


MOST_INSTRUCTIONS = 150_000
"""Instructions of a function, which take some 5 seconds of a processor."""


def emit(e: Emission, op: Operation) -> None:
    """Emit an operation.

    Raises:
        Refusal: the flavour or the device cannot say it.
    """
    if len(e.function.body) > MOST_INSTRUCTIONS:
        raise Refusal(
            f"expected a function of at most {MOST_INSTRUCTIONS} instructions: "
            "smaller vectors are fewer"
        )
    if not expanded(e.walker, op, e.whole.target, e.set):
        handler_of(op)(e, op)
