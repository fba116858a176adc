"""What one operation means in terms of others, for targets that have no instruction.

    table = Expansions()

    @table.on(arith.CeilDivUIOp)
    def ceil_div(code: Code, op: arith.CeilDivUIOp) -> SSAValue: ...

An expansion inserts operations and returns what they give in place of the results.  It
may use operations that are expanded in turn.  Two callers apply the tables: a pass
(`ExpandPass`), which replaces operations in the IR, and emission
(`coopc.emit.emission`), which leaves the IR and emits what an expansion inserts.  So
every expansion runs on the simulator, and emitters hold instructions only.

A row says `when` it is needed, by the operation and the target.  Where it is not, the
next row of the operation is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.device import Device
from coopc.device import device as device_named
from coopc.dialects import simt
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.emit.walker import NoForm, as_flavour
from coopc.ir.builder import constant_attr
from coopc.ir.device_option import device_for
from coopc.ir.transaction import Refused, transaction
from coopc.passes.generic.number import Num

Language: TypeAlias = Literal["vulkan", "opencl", "spir64", "x86"]
"""SPIR-V of a flavour, or LLVM IR for a GPU or a processor."""


@dataclass(frozen=True, slots=True)
class Target:
    """What operations are expanded for."""

    language: Language
    device: Device
    features: tuple[str, ...] = ()
    """Of a processor, beyond those of all that LLVM compiles for."""

    @classmethod
    def of(cls, module: ModuleOp, device: str | None) -> Target:
        """The target that a module names; amx, which runs no SPIR-V, by its name.

        Raises:
            ValueError: there is none.
        """
        found = simt.target_of(module)
        if device is not None:
            known = device_named(device)
            if known.family != "amx":
                raise ValueError(f"expected amx or simt.target, got {device}")
            return cls("x86", known)
        if found is None:
            raise ValueError(f"expected {simt.TARGET} on the module, or device=amx")
        language = as_flavour(found.flavour.data)
        return cls(language, device_for(found.device.data, module))

    @property
    def is_spirv(self) -> bool:
        """Whether it is SPIR-V, where an i1 is no number."""
        return self.language in ("vulkan", "opencl")

    @property
    def converts_bf16(self) -> bool:
        """Whether instructions convert between bf16 and f32."""
        if self.is_spirv:
            return self.device.bfloat16 is not None and not self.device.slow_bfloat16
        return self.language == "spir64"

    @property
    def has_f8(self) -> bool:
        """Whether f8 is a type, with conversions to f16; else it is a byte."""
        return self.is_spirv and self.device.float8


@dataclass(slots=True)
class Code:
    """Inserts operations on numbers, or on vectors or tensors of them of one shape."""

    insert: Callable[[Operation], object]

    def __call__(self, op: Operation) -> SSAValue:
        """Insert an operation; return its first result."""
        self.insert(op)
        return op.results[0]

    def pure(self, make: Callable[..., Operation], *operands: Any) -> SSAValue:
        """Insert what `make` makes, as a `Builder` does."""
        return self(make(*operands))

    def constant(self, type: Attribute, value: float) -> SSAValue:
        """A constant: a number, or a vector or tensor of equal ones."""
        return self(arith.ConstantOp(constant_attr(type, value)))

    def like(self, value: SSAValue, number: float) -> SSAValue:
        return self.constant(value.type, number)

    def cast(
        self, make: Callable[..., Operation], value: SSAValue, element: Attribute
    ) -> SSAValue:
        """A conversion of numbers to those of another type."""
        if element_of(value.type) == element:
            return value
        return self(make(value, shaped(value.type, element)))

    def select(self, chosen: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """One of two, component by component."""
        return self(arith.SelectOp(chosen, yes, no))


Rows: TypeAlias = "list[tuple[When | None, Expansion]]"
When: TypeAlias = Callable[[Any, Target], bool]
Made: TypeAlias = "SSAValue | Num | Sequence[SSAValue]"
Expansion: TypeAlias = Callable[[Code, Any], Made]
Op = TypeVar("Op", bound=Operation)
MadeT = TypeVar("MadeT", bound=Made)


class Expansions:
    def __init__(self) -> None:
        self.rows: dict[type[Operation], Rows] = {}

    def on(
        self, *ops: type[Op], when: Callable[[Op, Target], bool] | None = None
    ) -> Callable[[Callable[[Code, Op], MadeT]], Callable[[Code, Op], MadeT]]:
        """Make a function the expansion of operations."""

        def register(make: Callable[[Code, Op], MadeT]) -> Callable[[Code, Op], MadeT]:
            for op in ops:
                self.rows.setdefault(op, []).append((when, make))
            return make

        return register


def expansion_of(rows: Rows, op: Operation, target: Target) -> Expansion | None:
    """The expansion that an operation needs on a target, by its rows, or None."""
    for when, make in rows:
        if when is None or when(op, target):
            return make
    return None


TABLES: dict[str, tuple[str, ...]] = {
    "arith": ("expand_narrow_floats", "expand_arith"),
    "arith.remf": ("expand_narrow_floats", "expand_math"),
    "coopmatrix": ("expand_arith",),
    "math": ("expand_math", "expand_narrow_floats"),
    "simt": ("expand_arith", "expand_narrow_floats"),
    "vector": ("expand_math", "expand_narrow_floats", "expand_vector"),
}
"""Dialects or operations to the modules here that expand them, in this order."""


def rows_of(kind: type[Operation]) -> Rows:
    """The rows of a kind of operation in all tables."""
    modules = TABLES.get(kind.name) or TABLES.get(kind.dialect_name(), ())
    found = (import_module(f"coopc.passes.generic.{each}") for each in modules)
    return [row for module in found for row in module.table.rows.get(kind, ())]


def results_of(made: Made) -> Sequence[SSAValue]:
    """What an expansion returned, one for each result."""
    made = made.value if isinstance(made, Num) else made
    return (made,) if isinstance(made, SSAValue) else made


@dataclass(frozen=True)
class ExpandPass(ModulePass):
    """Replaces the operations of a table that the target needs replaced."""

    table: ClassVar[Expansions]

    device: str | None = None
    """amx, for x86-64; otherwise the module says what it is compiled for."""

    def target(self, module: ModuleOp) -> Target:
        """What is expanded for.

        Raises:
            PassFailedException: the module does not say it.
        """
        try:
            return Target.of(module, self.device)
        except ValueError as error:
            reason = PassFailedException(f"{self.name}: {error}")
            module.emit_error(str(error), reason)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Expand until nothing needs it."""
        target = self.target(op)
        with transaction(op) as draft:
            expand(draft, self.table, target)


def expand(module: ModuleOp, table: Expansions, target: Target) -> None:
    """Replace what a target needs replaced, and what is put in its place in turn.

    Raises:
        Refused: an operation cannot be expressed by others.
    """
    todo = list(module.walk(reverse=True))
    while todo:
        op = todo.pop()
        rows = table.rows.get(type(op), [])
        if (make := expansion_of(rows, op, target)) is not None:
            todo += reversed(_replaced(op, make))


def _replaced(op: Operation, make: Expansion) -> list[Operation]:
    """Put an expansion in the place of an operation, and return what was inserted."""
    made: list[Operation] = []

    def insert(new: Operation) -> None:
        for each in new.walk():
            each.location = op.location
            made.append(each)
        Rewriter.insert_op(new, InsertPoint.before(op))

    try:
        found = results_of(make(Code(insert), op))
    except NoForm as refusal:
        raise Refused(op, str(refusal)) from refusal
    Rewriter.replace_op(op, [], found)
    return made
