"""One function while it is emitted: its instructions, and what its values became."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.dialects.narrow import is_memref
from coopc.emit import emission, view, walker
from coopc.emit.emission import Ordered
from coopc.emit.llvm.types import Facts, Types, features
from coopc.emit.view import Form, IndexOp, space_of
from coopc.emit.walker import NoForm, element_of, unrolls
from coopc.ir.control_flow import functions
from coopc.llvm.module import Block as LlvmBlock
from coopc.llvm.module import (
    Function,
    Label,
    Metadata,
    Module,
    Signature,
    Typed,
)
from coopc.llvm.values import (
    I1,
    I32,
    I64,
    VOID,
    Array,
    Constant,
    Float,
    Int,
    Local,
    Pointer,
    Struct,
    Type,
    Value,
    Vector,
    composite,
    integer,
    overload,
    poison,
    width,
)
from coopc.passes.generic.expansion import Target
from coopc.plan.atomic_form import AtomicUpdate

# A memref while it is emitted: a pointer, its sizes and its strides.
#
# A memref is several values, of which those that its type fixes are constants.  Where
# it passes through a loop or a call, the pointer and the others do.

Num: TypeAlias = int | Value
"""A number of elements: known now, or at run time as an i64."""

NONTEMPORAL_LOADS = (4, 8, 16, 32, 64)
"""Sizes of loads that may say that their memory is not used again, in bytes."""

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


Became: TypeAlias = Value | View
"""What an SSA value became: a number or a vector, or a memref."""


def taken(type: Attribute, parts: Iterator[Value]) -> Became:
    """What a value of a type became, from the values that it was passed as."""
    if not is_memref(type):
        return next(parts)
    form, at = Form.of(type), View(next(parts), type.element_type)
    return form.opened(at, islice(parts, len(form.open)))


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


# What the functions of a module share while it is emitted.


class ModuleEmission:
    """What the functions of a module share."""

    def __init__(self, source: ModuleOp, facts: Facts) -> None:
        self.source = source
        self.facts = facts
        self.target = Target("spir64" if facts.gpu else "x86", facts.device)
        self.module = Module(facts.triple, facts.layout)
        self.types = Types(facts)
        self.functions = functions(source)
        self.wanted: dict[str, int | None] = {}
        """Functions that something calls, and the subgroup size that they run with."""
        self.work_items: int | None = None
        """Of a work-group on x86-64, where all kernels say the same."""

    def want(self, callee: func.FuncOp, subgroup_size: int | None) -> Signature:
        """Say that a function is called; return its signature.

        Raises:
            NoForm: it was called by a kernel with another subgroup size, or its
                arguments have no form.
        """
        name = callee.sym_name.data
        known = self.wanted.setdefault(name, subgroup_size)
        if known != subgroup_size:
            raise NoForm(
                f"expected all kernels that call @{name} to have the subgroup size "
                f"{known}, got {subgroup_size}"
            )
        return self.signature(callee)

    def signature(self, callee: func.FuncOp) -> Signature:
        """The signature of a function that is no kernel.

        Raises:
            NoForm: its arguments have no form.
        """
        type = callee.function_type
        parameters = [part for each in type.inputs for part in self.flat(each)]
        results = [part for each in type.outputs for part in self.flat(each)]
        bool_attribute: dict[Type, str] = {}
        if not self.facts.gpu:
            bool_attribute[I1] = "zeroext"
        attributes = [bool_attribute.get(each, "") for each in parameters]
        result = result_type(results)
        return Signature(
            self.name(callee),
            result,
            tuple(parameters),
            "spir_func" if self.facts.gpu else "",
            self.attributes(callee),
            tuple(attributes) if any(attributes) else (),
            bool_attribute.get(result, ""),
        )

    def name(self, callee: func.FuncOp) -> str:
        """The name of a function; of a kernel of a GPU, that of the one to call.

        A kernel is started, not called: a function of the same body is.
        """
        name = callee.sym_name.data
        if callee.is_declaration:
            return name
        if self.facts.gpu and simt.KERNEL in callee.attributes:
            while (name := f"{name}.called") in self.functions:
                pass
        return self.facts.prefix + name

    def attributes(self, callee: func.FuncOp | None = None) -> str:
        found, cpu = ["nounwind"], self.facts.cpu
        if cpu is not None:
            found.append(f'"target-cpu"="{cpu}"')
        if callee is not None and (needed := features(callee)):
            words = ",".join(f"+{feature}" for feature in needed)
            if "amx-tile" in needed:  # a call of memset would spill all tiles
                found.append('"no-builtins"')
            found.append(f'"target-features"="{words}"')
        return " ".join(found)

    def flat(self, type: Attribute) -> list[Type]:
        """The types of the values that an argument or a result becomes.

        Raises:
            NoForm: it has no form, or is a memref in no space of `#simt.memory`.
        """
        if not is_memref(type):
            return [self.types.of(type)]
        self.types.in_memory(element_of(type.element_type))
        space = SPACES[space_of(type)]
        pointer = Pointer(space if self.facts.gpu else 0)  # x86-64 has one space
        return [pointer, *[I64] * len(Form.of(type).open)]


def result_type(parts: list[Type]) -> Type:
    if not parts:
        return VOID
    return parts[0] if len(parts) == 1 else Struct(tuple(parts))


PURE = "nounwind willreturn memory(none)"
"""Attributes of a function that only computes."""


LOOP_PROPERTIES = {
    None: None,
    True: "llvm.loop.unroll.enable",
    False: "llvm.loop.unroll.disable",
}
"""LLVM's property of a loop for each value of `simt.unroll`."""


class Emission(emission.Emission[Value, View]):
    """The emission of one function; what handlers work with."""

    structured = False
    module: Module
    types: Types
    facts: Facts
    became: dict[SSAValue, Became]

    def __init__(self, whole: ModuleEmission, function: Function, **sizes: Any) -> None:
        """Begin a function, of which only the entry block is there."""
        super().__init__(whole, **sizes)
        self.whole = whole
        self.f = function
        self.index = Index(function)
        self._loop_property: str | None = None
        self._loops: dict[LlvmBlock, Metadata] = {}
        """The metadata of loops, by their latches."""

    def operation(self, op: Operation) -> None:
        """Emit an operation; refuse one for which the target has no units."""
        builtins = isinstance(op, simt.OF_MEMORY)
        builtins = builtins or (self.facts.matrix and op.dialect_name() == "simt")
        if op.dialect_name() in ONLY_GPU and not (self.facts.gpu or builtins):
            raise NoForm(
                "expected code of one work-item, which x86-64 runs, as "
                f"vectorize-subgroup makes it, got {op.name}"
            )
        if op.dialect_name() in ONLY_MATRIX and not self.facts.matrix:
            raise NoForm(
                f"{op.name} has no form in plain LLVM IR: lower matrices with "
                "convert-coopmatrix-to-amx, or emit calls with "
                "llvm-ir{matrix=true}"
            )
        super().operation(op)

    # --- values ----------------------------------------------------------------

    def value(self, value: SSAValue) -> Value:
        found = self.became[value]
        assert isinstance(found, Local | Constant), value
        return found

    def values(self, values: Iterable[SSAValue]) -> list[Value]:
        return [self.value(value) for value in values]

    def scalars(self, value: SSAValue) -> list[Value]:
        return self.components(self.value(value))

    def gathered(self, type: Attribute, scalars: Sequence[Value]) -> Value:
        return self.composed(self.type(type), scalars)

    def constant(self, type: Attribute, numbers: Sequence[Constant]) -> Constant:
        to = self.type(type)
        return composite(to, numbers) if isinstance(to, Vector) else numbers[0]

    def set(self, value: SSAValue, became: Became) -> None:
        """Say what an SSA value became; it takes the value's name."""
        self.became[value] = became
        if isinstance(became, Local) and became.hint is None:
            became.hint = value.name_hint

    def type(self, type: Attribute) -> Type:
        return self.types.of(type)

    def from_memory(self, type: Attribute, value: Value) -> Value:
        """A number or vector from what memory holds: an i1 is a byte there."""
        if type != IntegerType(1):
            return value
        return self.f.compare("icmp ne", value, integer(value.type, 0))

    def to_memory(self, type: Attribute, value: Value) -> Value:
        if type != IntegerType(1):
            return value
        byte = self.types.in_memory(type)
        assert isinstance(byte, Int), byte
        return self.f.cast("zext", value, self.types.vector(byte, width(value.type)))

    # --- blocks ------------------------------------------------------------------

    def label(self, name: str) -> LlvmBlock:
        return self.f.label(name)

    def begin(self, label: LlvmBlock) -> None:
        self.f.begin(label)

    def here(self) -> LlvmBlock:
        return self.f.block

    def begin_control(self, op: Operation) -> None:
        self._loop_property = LOOP_PROPERTIES[unrolls(op)]

    def open_loop(self, done: LlvmBlock, again: LlvmBlock) -> None:
        if self._loop_property is not None:
            self._loops[again] = self.module.loop(self._loop_property)

    def jump(self, target: LlvmBlock) -> None:
        found = self._loops.get(self.f.block)
        metadata = () if found is None else (found,)
        self.f.do("br ", Label(target), metadata=metadata)

    def branch(self, condition: Value, yes: LlvmBlock, no: LlvmBlock) -> None:
        self.f.do("br ", Typed(condition), ", ", Label(yes), ", ", Label(no))

    def switch(
        self,
        selector: Value,
        cases: Sequence[tuple[int, LlvmBlock]],
        default: LlvmBlock,
    ) -> None:
        pieces: list[str | Label] = []
        for number, label in cases:
            pieces += [f" {selector.type} {number}, ", Label(label)]
        self.f.do("switch ", Typed(selector), ", ", Label(default), " [", *pieces, " ]")

    def phi(self, value: SSAValue, like: Became) -> Became:
        """A phi; of a memref, one for its pointer and each number of run time."""
        parts = self.flat(value.type, like)
        phis = [self.f.phi(part.type, value.name_hint) for part in parts]
        return taken(value.type, iter(phis))

    def arrive(self, phi: Became, value: Became, source: LlvmBlock) -> None:
        if not isinstance(phi, View):
            assert not isinstance(value, View), value
            self.f.arrive(phi, value, source)
            return
        assert isinstance(value, View), value
        if phi.base.type != value.base.type:
            raise NoForm(
                "expected memrefs in one memory, got pointers of types "
                f"{phi.base.type} and {value.base.type}"
            )
        self.f.arrive(phi.base, value.base, source)
        for mine, other in zip(phi.numbers, value.numbers, strict=True):
            if isinstance(mine, Local):
                self.f.arrive(mine, id_of(other), source)

    def flat(self, type: Attribute, became: Became) -> list[Value]:
        """The values that a number, a vector or a memref of a type is passed as."""
        if not isinstance(became, View):
            return [became]
        assert is_memref(type), type
        return [became.base, *self.index.open_numbers(became, Form.of(type))]

    # --- components ------------------------------------------------------------

    def components(self, value: Value) -> list[Value]:
        if not isinstance(value.type, Vector):
            return [value]
        return [
            self.f.extract(value, integer(I64, at)) for at in range(value.type.length)
        ]

    def composed(self, type: Type, scalars: Sequence[Value]) -> Value:
        if not isinstance(type, Vector):
            (one,) = scalars
            return one
        found: Value = poison(type)
        for at, scalar in enumerate(scalars):
            found = self.f.insert(found, scalar, integer(I64, at))
        return found

    def shuffled(self, a: Value, b: Value | None, mask: Sequence[int]) -> Value:
        """Components of vectors of one type, by their numbers; -1 is any."""
        assert isinstance(a.type, Vector), a
        other = poison(a.type) if b is None else b
        if len(mask) == 1:
            source, at = (a, mask[0]) if mask[0] < a.type.length else (other, mask[0])
            return self.f.extract(source, integer(I64, at % a.type.length))
        numbers = ", ".join("i32 poison" if at < 0 else f"i32 {at}" for at in mask)
        to = Vector(len(mask), a.type.element)
        text = f"<{numbers}>"
        chosen = Constant(Vector(len(mask), I32), text)
        return self.f.emit(
            to, "shufflevector ", Typed(a), ", ", Typed(other), ", ", Typed(chosen)
        )

    def splat(self, scalar: Value, length: int) -> Value:
        if length == 1:
            return scalar
        assert isinstance(scalar.type, Int | Float), scalar
        type = Vector(length, scalar.type)
        first = self.f.insert(poison(type), scalar, integer(I64, 0))
        return self.shuffled(first, None, [0] * length)

    # --- calls -----------------------------------------------------------------

    def intrinsic(
        self,
        name: str,
        result: Type,
        arguments: Sequence[Value],
        overloads: Sequence[Type] | None = None,
    ) -> Value:
        """Call an intrinsic of LLVM.

        Its name is without `llvm.` and without the types that it is overloaded for:
        that of the result where they are not given.
        """
        types = [result] if overloads is None else overloads
        full = ".".join(("llvm", name, *map(overload, types)))
        return self.call(full, result, arguments, convention="")

    def call(
        self,
        name: str,
        result: Type,
        arguments: Sequence[Value],
        *,
        attributes: str = "",
        parameter_attributes: tuple[str, ...] = (),
        convention: str | None = None,
        of_call: str = "",
        metadata: tuple[Metadata, ...] = (),
    ) -> Local:
        """Call a function of elsewhere, by its exact name.

        The convention is spir_func on a GPU where it is not given; `attributes` are the
        function's, `of_call` those of this call alone.

        Raises:
            NoForm: it was declared with other types.
        """
        if convention is None:
            convention = "spir_func" if self.facts.gpu else ""
        types = tuple(argument.type for argument in arguments)
        callee = self.declare(
            Signature(name, result, types, convention, attributes, parameter_attributes)
        )
        return self.f.call(callee, arguments, attributes=of_call, metadata=metadata)

    def declare(self, signature: Signature) -> Signature:
        """Declare a function of elsewhere; return what was declared first.

        Raises:
            NoForm: it was declared with other types.
        """
        try:
            return self.module.declare(signature)
        except ValueError as error:
            raise NoForm(str(error)) from error

    # --- memory ----------------------------------------------------------------

    def pointer(self, view: View, at: Num, *, inbounds: bool = True) -> Value:
        if self.index.num(at) == 0:
            return view.base
        element = self.types.pointee(view.element)
        return self.f.address(element, view.base, id_of(at), inbounds=inbounds)

    def load(
        self,
        view: View,
        at: Num,
        hints: Collection[str] = (),
        length: int = 1,
        align: int | None = None,
    ) -> Value:
        """Load consecutive elements; without `align` with that of an element."""
        type = self.types.pointee(view.element)
        if length > 1:
            type = self.types.vector(self.types.in_memory(view.element), length)
        own = self.types.bytes_of(view.element)
        align = align or own
        # LLVM's code generator for x86 aborts at such loads of 1, 2 or 12 bytes.
        temporal = hints if length * own in NONTEMPORAL_LOADS else ()
        metadata = self._temporal(temporal)
        found = self.f.load(type, self.pointer(view, at), align, metadata=metadata)
        return self.from_memory(view.element, found)

    def store(
        self,
        view: View,
        at: Num,
        value: Value,
        hints: Collection[str] = (),
        align: int | None = None,
    ) -> None:
        value, pointer = self.to_memory(view.element, value), self.pointer(view, at)
        align = align or self.types.bytes_of(view.element)
        metadata = self._temporal(hints)
        self.f.store(value, pointer, align, metadata=metadata)

    def _temporal(self, hints: Collection[str]) -> tuple[Metadata, ...]:
        """What an access says of itself where its memory is not used again."""
        if "Nontemporal" not in hints:
            return ()
        return (Metadata("nontemporal", self.module.node(integer(I32, 1))),)

    def allocate(
        self,
        type: MemRefType,
        elements: Sequence[Num],
        alignment: int,
        name: str | None,
    ) -> View:
        count, *named = elements or (1,)
        if named or not isinstance(count, int):
            raise NoForm(f"expected an allocation of a constant size, got {type}")
        size = self.types.bytes_of(type.element_type)
        array = Array(count, self.types.pointee(type.element_type))
        # What is not asked for is, on x86-64, that of a vector register.
        least = size if self.facts.gpu or alignment > 0 else 64
        align = max(least, alignment)
        if space_of(type) is not simt.MemorySpace.WORKGROUP:
            return View(self.f.allocate(array, align, name), type.element_type)
        if not self.facts.gpu:
            raise NoForm("expected memory of a function: x86-64 has no work-groups")
        name = f"{self.f.signature.name}.{name or 'memory'}"
        space = SPACES[simt.MemorySpace.WORKGROUP]
        return View(self.module.variable(name, array, space, align), type.element_type)

    def as_elements(self, view: View, element: Attribute) -> View:
        """A pointer says nothing of what it points to."""
        return View(view.base, element)

    # --- atomic accesses to one element ------------------------------------------

    def atomic_place(
        self,
        view: View,
        at: Num,
        integer: IntegerType | None = None,
    ) -> Value:
        return self.pointer(view, at)

    def address(self, view: View, at: Num) -> Value:
        return self.f.cast("ptrtoint", self.pointer(view, at), I64)

    def memory_at(self, address: Value, element: Attribute) -> View:
        space = SPACES[simt.MemorySpace.GLOBAL] if self.facts.gpu else 0
        return View(self.f.cast("inttoptr", address, Pointer(space)), element)

    def at_address(self, view: View, address: Value) -> Value:
        return self.f.cast("inttoptr", address, view.base.type)

    def atomic_load(self, place: Value, type: Attribute, how: Ordered) -> Value:
        to = self.types.in_memory(type)
        tail = f" {self._order(how)}, align {self.types.bytes_of(type)}"
        return self.f.emit(to, f"load atomic {to}, ", Typed(place), tail)

    def atomic_store(self, place: Value, value: Value, how: Ordered) -> None:
        tail = f" {self._order(how)}, align {bytes_of(value.type)}"
        self.f.do("store atomic ", Typed(value), ", ", Typed(place), tail)

    def atomic_update(
        self, update: AtomicUpdate, place: Value, value: Value, how: Ordered
    ) -> Value:
        tail = f" {self._order(how)}, align {bytes_of(value.type)}"
        parts = (Typed(place), ", ", Typed(value), tail)
        return self.f.emit(value.type, f"atomicrmw {update.llvm} ", *parts)

    def compare_exchange(
        self, place: Value, old: Value, new: Value, how: Ordered
    ) -> tuple[Value, Value]:
        pair = self.f.emit(
            Struct((old.type, I1)),
            *("cmpxchg ", Typed(place), ", ", Typed(old), ", ", Typed(new)),
            f" {self._order(how)} monotonic, align {bytes_of(old.type)}",
        )
        seen = self.f.emit(old.type, "extractvalue ", Typed(pair), ", 0")
        return seen, self.f.emit(I1, "extractvalue ", Typed(pair), ", 1")

    def _order(self, how: Ordered) -> str:
        """Scope and ordering of an access; a processor has no such scopes."""
        scope = _SCOPES.get(how.scope)
        if scope is None:
            raise NoForm("expected a scope of OpenCL, got the one of a queue family")
        is_said = scope and self.facts.gpu
        return (f'syncscope("{scope}") ' if is_said else "") + _ORDERS[how.ordering]


def bytes_of(type: Type) -> int:
    """Size of a number, in bytes."""
    assert isinstance(type, Int | Float), type
    return type.bits // 8


_SCOPES = {
    Scope.CROSS_DEVICE: "",
    Scope.DEVICE: "device",
    Scope.WORKGROUP: "workgroup",
    Scope.SUBGROUP: "subgroup",
    Scope.INVOCATION: "singlethread",
}
"""Who sees an update as atomic, as LLVM's SPIR-V back end calls them; everybody where
nothing is said."""

_ORDERS = {
    Ordering.RELAXED: "monotonic",
    Ordering.ACQUIRE: "acquire",
    Ordering.RELEASE: "release",
    Ordering.ACQUIRE_RELEASE: "acq_rel",
    Ordering.SEQUENTIALLY_CONSISTENT: "seq_cst",
}


# Which function emits which operation of which dialect.
#
# A dialect is added by a row of `MODULES`, of modules that have `handlers`.

MODULES = {
    "amx": ("amx",),
    "avx512": ("amx",),
    "coopmatrix": ("coopmatrix",),
    "arith": ("arith",),
    "func": ("module",),
    "llvm": ("vector",),
    "math": ("arith",),
    "memref": ("vector",),
    "row_slice": ("coopmatrix",),
    "scf": ("emission",),
    "simt": ("simt",),
    "ub": ("arith",),
    "vector": ("vector", "arith"),
    "xe": ("xe",),
}
"""Dialects to the modules here that emit them."""

ONLY_GPU = ("simt", "xe")
"""Dialects of work-items that run together."""
ONLY_MATRIX = ("coopmatrix", "row_slice")
"""Dialects of matrices that a target with `Facts.matrix` prints."""


Handlers: TypeAlias = walker.Handlers[Emission]
handlers = walker.control_flow
"""Of `scf`, in terms of this emission."""
Emission.emitter = emission.Emitter("LLVM IR", "coopc.emit.llvm", MODULES)
