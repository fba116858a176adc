"""Handlers: what an emitter does with each operation, found by the operation's type.

    handlers = Handlers[Emission]()

    @handlers.on(simt.BarrierOp)
    def barrier(e: Emission, op: simt.BarrierOp) -> None: ...

A handler gets the emission of a function and the operation, and sets what its results
became.  It raises `Refusal` where the target has no way to say it.  The modules of an
emitter that have such `handlers` are imported when one of their dialects is met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

from coopc.emit.structured import Refusal

Emission = TypeVar("Emission")
"""Of a function, in some target."""
Op = TypeVar("Op", bound=Operation)
Handler: TypeAlias = Callable[[Emission, Any], None]


class Handlers(Generic[Emission]):
    """The handlers of some operations."""

    def __init__(self) -> None:
        self.table: dict[type[Operation], Handler[Emission]] = {}

    def on(
        self, *ops: type[Op]
    ) -> Callable[[Callable[[Emission, Op], None]], Callable[[Emission, Op], None]]:
        """Make a function the handler of operations."""

        def register(
            handler: Callable[[Emission, Op], None],
        ) -> Callable[[Emission, Op], None]:
            for op in ops:
                self.add(op, handler)
            return handler

        return register

    def add(self, op: type[Operation], handler: Handler[Emission]) -> None:
        """Make a function the handler of an operation."""
        assert op not in self.table, f"{op.name} has two handlers"
        self.table[op] = handler


class Emitter(Generic[Emission]):
    """All handlers of a target, imported when they are needed."""

    def __init__(
        self, what: str, package: str, modules: Mapping[str, Sequence[str]]
    ) -> None:
        """Know where handlers are.

        Args:
            what: is emitted, for the message: SPIR-V, LLVM IR.
            package: of the modules.
            modules: by the name of the dialect that they emit.
        """
        self.what = what
        self.package = package
        self.modules = modules
        self._known: dict[type[Operation], Handler[Emission]] = {}

    def handler_of(self, op: Operation) -> Handler[Emission]:
        """The handler of an operation.

        Raises:
            Refusal: there is none.
        """
        if (handler := self._known.get(type(op))) is None:
            for module in self.modules.get(op.dialect_name(), ()):
                found = import_module(f"{self.package}.{module}").handlers
                self._known.update(found.table)
            handler = self._known.get(type(op))
        if handler is None:
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            raise Refusal(f"{self.what} emission has no form of {name}")
        return handler
