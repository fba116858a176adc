"""Which function emits which operation: one table a dialect, imported on first use.

    handlers = Handlers()

    @handlers.on(arith.SelectOp)
    def select(e: Emission, op: arith.SelectOp) -> None:
        ...

A handler reads what the operands became, emits instructions, and sets what the results
became.  It raises `Refusal` where the target has no way to say it.  A dialect is added
by a row of `MODULES`, of modules with such a `handlers`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation

from coopc.emit.llvm.emission import Emission
from coopc.emit.structured import Refusal

Op = TypeVar("Op", bound=Operation)
Handler: TypeAlias = Callable[[Emission, Any], None]

MODULES = {
    "amx": ("amx",),
    "coopmatrix": ("matrix", "matrix_arithmetic"),
    "arith": ("arith_integer", "arith_float", "arith_convert"),
    "func": ("func",),
    "llvm": ("pointer",),
    "math": ("math",),
    "memref": ("memref",),
    "row_slice": ("row_slice",),
    "simt": ("simt", "simt_lanes", "simt_blocks"),
    "ub": ("ub",),
    "vector": ("vector", "vector_reduction", "vector_memory"),
    "xe": ("xe_block", "xe_dpas", "xe_payload"),
}
"""Dialects to the modules here that emit them."""

ONLY_GPU = ("simt", "xe")
"""Dialects of work-items that run together."""
ONLY_MATRIX = ("coopmatrix", "row_slice")
"""Dialects of matrices that a target with `Facts.matrix` prints."""


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


def emit(e: Emission, op: Operation) -> None:
    """Emit an operation.

    Raises:
        Refusal: the target cannot say it.
    """
    builtins = e.facts.matrix and op.dialect_name() == "simt"
    if op.dialect_name() in ONLY_GPU and not (e.facts.gpu or builtins):
        raise Refusal(
            "expected code of one work-item, which x86-64 runs, as "
            f"vectorize-subgroup makes it, got {op.name}"
        )
    if op.dialect_name() in ONLY_MATRIX and not e.facts.matrix:
        raise Refusal(
            "expected no matrices, which convert-coopmatrix-to-amx makes tiles of and "
            f"llvm-ir{{matrix=true}} prints, got {op.name}"
        )
    handler_of(op)(e, op)


def handler_of(op: Operation) -> Handler:
    """The handler of an operation.

    Raises:
        Refusal: there is none.
    """
    if (handler := _known.get(type(op))) is None:
        for module in MODULES.get(op.dialect_name(), ()):
            found: Handlers = import_module(f"coopc.emit.llvm.{module}").handlers
            _known.update(found.table)
        handler = _known.get(type(op))
    if handler is None:
        raise Refusal(f"LLVM IR emission has no form of {op.name}")
    return handler
