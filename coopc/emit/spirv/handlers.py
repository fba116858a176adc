"""Which function emits which operation: one table a dialect, imported on first use.

    handlers = Handlers()

    @handlers.on(arith.SelectOp)
    def select(e: Emission, op: arith.SelectOp) -> None:
        ...

A handler reads what the operands became, emits instructions, and sets what the results
became.  It raises `Refusal` where the flavour or the device has no way to say it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation

from coopc.emit.spirv.emission import Emission
from coopc.emit.structured import Refusal

Op = TypeVar("Op", bound=Operation)
Handler: TypeAlias = Callable[[Emission, Any], None]

MODULES = {
    "arith": ("arith_integer", "arith_float", "arith_convert"),
    "coopmatrix": ("coopmatrix", "coopmatrix_arithmetic", "coopmatrix_elements"),
    "func": ("func",),
    "llvm": ("llvm_float",),
    "math": ("math",),
    "memref": ("memref", "memref_atomic"),
    "simt": ("simt", "simt_lanes", "simt_blocks"),
    "vector": ("vector", "vector_memory"),
    "xe": ("xe_block", "xe_dpas", "xe_payload"),
}
"""Dialects to the modules here that emit them."""


class Handlers:
    """The handlers of some operations."""

    def __init__(self) -> None:
        self.table: dict[type[Operation], Handler] = {}

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

    def add(self, op: type[Operation], handler: Handler) -> None:
        """Make a function the handler of an operation."""
        assert op not in self.table, f"{op.name} has two handlers"
        self.table[op] = handler


_known: dict[type[Operation], Handler] = {}
"""All handlers imported so far."""


def handler_of(op: Operation) -> Handler:
    """The handler of an operation.

    Raises:
        Refusal: there is none.
    """
    if (handler := _known.get(type(op))) is None:
        for module in MODULES.get(op.dialect_name(), ()):
            found: Handlers = import_module(f"coopc.emit.spirv.{module}").handlers
            _known.update(found.table)
        handler = _known.get(type(op))
    if handler is None:
        raise Refusal(f"SPIR-V emission has no form of {op.name}")
    return handler


def emit(e: Emission, op: Operation) -> None:
    """Emit an operation.

    Raises:
        Refusal: the flavour or the device cannot say it.
    """
    handler_of(op)(e, op)
