"""The emission of one function, as the tables that both emitters share see it.

`coopc.emit.arith`, `memref`, `simt` and `xe` say what an operation is in terms of this
class; `coopc.emit.spirv` and `coopc.emit.llvm` say what that is in their languages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, MemRefType, UnregisteredOp, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.dialects.coopmatrix import Ordering, Scope
from coopc.emit.view import Form, Index, View
from coopc.emit.walker import Handler, NoForm, Walker
from coopc.passes.generic.expansion import (
    Code,
    Rows,
    Target,
    expansion_of,
    results_of,
    rows_of,
)
from coopc.plan.atomic_form import AtomicUpdate

Value = TypeVar("Value")
"""A number or a vector in the target."""
Memref = TypeVar("Memref", bound=View[Any, Any])
"""A memref there."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """How an access is ordered, and who sees it as atomic."""

    ordering: Ordering
    scope: Scope


class Emission(Walker, Generic[Value, Memref]):
    """The emission of one function."""

    index: Index[Any]
    types: Any
    """The types of the target: `bytes_of` an element of a memref, at least."""
    emitter: ClassVar[Emitter]
    """The handlers."""

    def __init__(
        self,
        whole: Any,
        *,
        work_group_size: tuple[int, int, int] | None = None,
        subgroup_size: int | None = None,
    ) -> None:
        """Begin a function.

        Args:
            whole: what the functions of the module share; its `facts` have the device.
            work_group_size: work-items along x, y, z; None outside a kernel.
            subgroup_size: lanes, where the kernel fixes them.
        """
        super().__init__()
        self.facts = whole.facts
        self.module = whole.module
        self.types = whole.types
        self.target: Target = whole.target
        """What operations are expanded for."""
        self.work_group_size = work_group_size
        self.subgroup_size = subgroup_size

    # --- operations --------------------------------------------------------------
    #
    # `coopc.passes.generic` has expansions of what a target has no instruction for.
    # Emission leaves the IR as it is: an expansion is built beside it, emitted where
    # its operation stands, and dropped.  So a refusal names the operation that the user
    # wrote, and a limit counts only these.

    def operation(self, op: Operation) -> None:
        self.check_room()
        emitter = self.emitter
        handler = emitter.known.get(type(op)) or emitter.handler_of(op)
        handler(self, op)

    def check_room(self) -> None:
        """Refuse more operations where the target has no room for them."""
        return

    @contextmanager
    def beside(self) -> Generator[Code]:
        """Emit operations that are inserted beside the IR."""
        block = Block()

        def insert(op: Operation) -> None:
            block.add_op(op)
            self.operation(op)

        try:
            yield Code(insert)
        finally:
            block.drop_all_references()

    # --- values ----------------------------------------------------------------

    @abstractmethod
    def scalars(self, value: SSAValue) -> list[Value]:
        """The components of a number or a vector, one by one."""

    @abstractmethod
    def gathered(self, type: Attribute, scalars: Sequence[Value]) -> Any:
        """What a number or a vector of these components is."""

    @abstractmethod
    def set(self, value: SSAValue, became: Any) -> None:
        """Say what an SSA value became; it takes the value's name."""

    @abstractmethod
    def constant(self, type: Attribute, numbers: Sequence[Any]) -> Any:
        """What a number or a vector of these constants is."""

    def view(self, value: SSAValue) -> Memref:
        found = self.became[value]
        assert isinstance(found, View), value
        return cast("Memref", found)

    def num(self, value: SSAValue) -> Any:
        """An index, as an int where it is a constant."""
        return self.index.num(self.value(value))

    def nums(self, values: Iterable[SSAValue]) -> tuple[Any, ...]:
        """Index values, as ints where they are constants."""
        return tuple(map(self.num, values))

    def standing(self, type: Attribute, became: Any) -> SSAValue:
        """A value of the IR that stands for what was emitted."""
        value = Block(arg_types=[type]).args[0]
        self.set(value, became)
        return value

    def chosen(
        self,
        condition: Value,
        make: Callable[[], Value | None],
        type: Attribute,
        other: Value | None = None,
    ) -> Value:
        """What `make` emits where a condition holds, else another value."""
        then, done, before = self.label("then"), self.label("done"), self.here()
        self.open_selection(done)
        self.branch(condition, then, done)
        self.begin(then)
        self.enter()
        made = make()
        self.leave()
        self.jump(done)
        self.begin(done)
        if made is None or other is None:
            return condition
        pair = (self.became[self.standing(type, each)] for each in (made, other))
        found, (first, second) = Block(arg_types=[type]).args[0], pair
        self.arrive(self.carried(found, first, then), second, before)
        return self.value(found)

    # --- memory ----------------------------------------------------------------

    @abstractmethod
    def pointer(self, view: Memref, at: Any) -> Value:
        """A pointer to an element of a memref's base."""

    @abstractmethod
    def load(self, view: Memref, at: Any, hints: Collection[str] = ()) -> Value:
        """Load an element of a memref's base.

        A target may have no use for the hints Volatile and Nontemporal.
        """

    @abstractmethod
    def store(
        self, view: Memref, at: Any, value: Value, hints: Collection[str] = ()
    ) -> None:
        """Store an element of a memref's base."""

    @abstractmethod
    def allocate(
        self,
        type: MemRefType,
        elements: Sequence[Any],
        alignment: int,
        name: str | None,
    ) -> Memref:
        """An array in the memory that a type says, or one element.

        Elements are factors of how many, the first a constant; none, of one element.
        An alignment of 0 is none.

        Raises:
            NoForm: the target has no memory of so many.
        """

    @abstractmethod
    def as_elements(self, view: Memref, element: Attribute) -> Memref:
        """The memory of a memref as elements of another type, from its base on.

        Raises:
            NoForm: the target cannot see it so.
        """

    def is_wide(self, view: Memref, form: Form) -> bool:
        """Whether the number of an element in a form may need more than an index."""
        return False

    # --- atomic accesses to one element ------------------------------------------

    @property
    def has_total_order(self) -> bool:
        """Whether an access can be sequentially consistent."""
        return True

    def is_private(self, view: Memref) -> bool:
        """Whether one work-item alone sees memory, so that it need not be atomic."""
        return False

    def writes(self, view: Memref) -> None:
        """Note that the memory of a memref is written."""
        return

    @abstractmethod
    def atomic_place(
        self, view: Memref, at: Any, integer: IntegerType | None = None
    ) -> Value:
        """A pointer to an element of a memref's base, or to it as an integer.

        Raises:
            NoForm: the memory cannot be seen as integers.
        """

    def word_place(self, code: Code, view: Memref, at: Any) -> tuple[Value, SSAValue]:
        """A pointer to the word that an element is in, and its lowest bit, an i32."""
        address = self.standing(i64, self.address(view, at))
        aligned = code(arith.AndIOp(address, code.like(address, -4)))
        part = code(arith.AndIOp(address, code.like(address, 3)))
        place = self.at_address(view, self.value(aligned))
        byte = code(arith.TruncIOp(part, i32))
        return place, code(arith.MuliOp(byte, code.like(byte, 8)))

    @abstractmethod
    def address(self, view: Memref, at: Any) -> Value:
        """The address of an element of a memref's base, an i64."""

    @abstractmethod
    def memory_at(self, address: Value, element: Attribute) -> Memref:
        """The caller's memory at an address, an i64, as a memref of rank 0."""

    @abstractmethod
    def at_address(self, view: Memref, address: Value) -> Value:
        """A pointer to a word of 32 bits in the memory of a memref."""

    @abstractmethod
    def atomic_load(self, place: Value, type: Attribute, how: Ordered) -> Value:
        """Load an integer or a float."""

    @abstractmethod
    def atomic_store(self, place: Value, value: Value, how: Ordered) -> None:
        """Store one."""

    @abstractmethod
    def atomic_update(
        self, update: AtomicUpdate, place: Value, value: Value, how: Ordered
    ) -> Value:
        """Update one; return what was there before."""

    @abstractmethod
    def compare_exchange(
        self, place: Value, old: Value, new: Value, how: Ordered
    ) -> tuple[Value, Value]:
        """Replace an integer if it is `old`; return what was there, and if it was."""


AnyEmission: TypeAlias = Emission[Any, Any]
"""In any target."""


# What emits each kind of operation: control flow, an expansion, or an instruction.


class Emitter:
    """All handlers of a target, found when a kind of operation is first met."""

    def __init__(
        self, what: str, package: str, modules: Mapping[str, Sequence[str]]
    ) -> None:
        """Know where handlers are."""
        self.what = what
        self.package = package
        self.modules = modules
        self.known: dict[type[Operation], Handler[Any]] = {}
        """What was met before."""

    def handler_of(self, op: Operation) -> Handler[Any]:
        """What emits an operation: its handler, after the expansions that it may need.

        What has neither is given to `refuse`.
        """
        kind, handler = type(op), self.refuse
        for module in self.modules.get(op.dialect_name(), ()):
            found = import_module(f"{self.package}.{module}").handlers.table
            handler = found.get(kind, handler)
        if rows := rows_of(kind):
            handler = partial(_expand_or_emit, rows, handler)
        self.known[kind] = handler
        return handler

    def refuse(self, e: AnyEmission, op: Operation) -> None:
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        raise NoForm(f"{self.what} emission has no form of {name}")


def _expand_or_emit(
    rows: Rows, handler: Handler[Any], e: AnyEmission, op: Operation
) -> None:
    if (make := expansion_of(rows, op, e.target)) is None:
        handler(e, op)
        return
    with e.beside() as code:
        found = e.given(results_of(make(code, op)))
    for result, became in zip(op.results, found, strict=True):
        e.set(result, became)
