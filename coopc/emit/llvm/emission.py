"""One function while it is emitted: its instructions, and what its values became."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import BoolAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.emit.llvm.flow import Became, LlvmFlow
from coopc.emit.llvm.index import Index
from coopc.emit.llvm.types import Types
from coopc.emit.llvm.view import Num, View, id_of
from coopc.emit.structured import Refusal, Walker
from coopc.llvm.module import Function, Metadata, Signature, Typed
from coopc.llvm.types import (
    I32,
    I64,
    VOID,
    Int,
    Type,
    Vector,
    component,
    overload,
    width,
)
from coopc.llvm.values import Constant, Local, Value, floating, integer, poison

if TYPE_CHECKING:
    from coopc.emit.llvm.whole import ModuleEmission

PURE = "nounwind willreturn memory(none)"
"""Attributes of a function that only computes."""


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
            function: of which only the entry block is there.
            leaf: emits an operation that is not of `scf`.
            work_group_size: work-items along x, y, z; None outside a kernel.
            subgroup_size: lanes, where the kernel fixes them.
        """
        self.whole = whole
        self.facts = whole.facts
        self.module = whole.module
        self.types: Types = whole.types
        self.f = function
        self.work_group_size = work_group_size
        self.subgroup_size = subgroup_size
        self.index = Index(function)
        self.flow = LlvmFlow(function)
        self.walker = Walker(self.flow, lambda op: leaf(self, op))

    # --- values ----------------------------------------------------------------

    def value(self, value: SSAValue) -> Value:
        """The number or vector that an SSA value became."""
        found = self.walker.values[value]
        assert isinstance(found, Local | Constant), value
        return found

    def view(self, value: SSAValue) -> View:
        """The memref that a value became."""
        found = self.walker.values[value]
        assert isinstance(found, View), value
        return found

    def nums(self, values: Iterable[SSAValue]) -> tuple[Num, ...]:
        """Index values, as ints where they are constants."""
        return tuple(self.index.num(self.value(value)) for value in values)

    def set(self, value: SSAValue, became: Became) -> None:
        """Say what an SSA value became; it takes the value's name."""
        self.walker.values[value] = became
        if isinstance(became, Local) and became.hint is None:
            became.hint = value.name_hint

    def type(self, type: Attribute) -> Type:
        """The type of a number or a vector."""
        return self.types.of(type)

    def from_memory(self, type: Attribute, value: Value) -> Value:
        """A number or vector from what memory holds: an i1 is a byte there."""
        if type != IntegerType(1):
            return value
        return self.f.compare("icmp ne", value, integer(value.type, 0))

    def to_memory(self, type: Attribute, value: Value) -> Value:
        """What memory holds for a number or vector of numbers."""
        if type != IntegerType(1):
            return value
        byte = self.types.in_memory(type)
        assert isinstance(byte, Int), byte
        return self.f.cast("zext", value, self.types.vector(byte, width(value.type)))

    def real(self, type: Type, value: float) -> Constant:
        """A float constant of a type, in every component."""
        codes = {"half": "<e", "float": "<f", "double": "<d"}
        return floating(type, struct.pack(codes[str(component(type))], value))

    # --- components ------------------------------------------------------------

    def components(self, value: Value) -> list[Value]:
        """The components of a number or a vector."""
        if not isinstance(value.type, Vector):
            return [value]
        return [
            self.f.extract(value, integer(I64, at)) for at in range(value.type.length)
        ]

    def gathered(self, type: Type, scalars: Sequence[Value]) -> Value:
        """A number or vector of these components."""
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
        """A vector of one number."""
        if length == 1:
            return scalar
        assert not isinstance(scalar.type, Vector), scalar
        type = self.types.of_component(scalar.type, length)
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
        """Call an intrinsic of LLVM that gives something.

        Args:
            name: without `llvm.` and without the types that it is overloaded for.
            result: its type.
            arguments: of it.
            overloads: the types; the result's where it is not given.
        """
        types = [result] if overloads is None else overloads
        full = ".".join(("llvm", name, *map(overload, types)))
        return self.call(full, result, arguments, convention="")

    def do_intrinsic(
        self, name: str, arguments: Sequence[Value], overloads: Sequence[Type]
    ) -> None:
        """Call an intrinsic of LLVM that gives nothing."""
        full = ".".join(("llvm", name, *map(overload, overloads)))
        self.do(full, arguments, convention="")

    def call(
        self,
        name: str,
        result: Type,
        arguments: Sequence[Value],
        *,
        attributes: str = "",
        parameter_attributes: tuple[str, ...] = (),
        convention: str | None = None,
        metadata: tuple[Metadata, ...] = (),
    ) -> Value:
        """Call a function of elsewhere, by its exact name, that gives something."""
        made = self._call(
            name,
            result,
            arguments,
            attributes,
            parameter_attributes,
            convention,
            metadata,
        )
        assert made is not None, name
        return made

    def _call(
        self,
        name: str,
        result: Type,
        arguments: Sequence[Value],
        attributes: str,
        parameter_attributes: tuple[str, ...],
        convention: str | None,
        metadata: tuple[Metadata, ...],
    ) -> Local | None:
        if convention is None:
            convention = "spir_func" if self.facts.gpu else ""
        signature = Signature(
            name,
            result,
            tuple(argument.type for argument in arguments),
            convention,
            attributes,
            parameter_attributes,
        )
        callee = self.declare(signature)
        return self.f.call(callee, arguments, metadata=metadata)

    def declare(self, signature: Signature) -> Signature:
        """Declare a function of elsewhere; return what was declared first.

        Raises:
            Refusal: it was declared with other types.
        """
        try:
            return self.module.declare(signature)
        except ValueError as error:
            raise Refusal(str(error)) from error

    def do(
        self,
        name: str,
        arguments: Sequence[Value],
        *,
        attributes: str = "",
        parameter_attributes: tuple[str, ...] = (),
        convention: str | None = None,
        metadata: tuple[Metadata, ...] = (),
    ) -> None:
        """The same of a function that gives nothing."""
        self._call(
            name,
            VOID,
            arguments,
            attributes,
            parameter_attributes,
            convention,
            metadata,
        )

    # --- memory ----------------------------------------------------------------

    def temporal(self, nontemporal: BoolAttr | None) -> tuple[Metadata, ...]:
        """What an access says of itself: that it is not used again, or nothing."""
        if nontemporal is None or not nontemporal.value.data:
            return ()
        return (Metadata("nontemporal", self.module.node(integer(I32, 1))),)

    def pointer(self, view: View, at: Num, *, inbounds: bool = True) -> Value:
        """A pointer to an element of a memref's base."""
        if self.index.num(at) == 0:
            return view.base
        element = self.types.in_memory(view.element)
        return self.f.address(element, view.base, id_of(at), inbounds=inbounds)
