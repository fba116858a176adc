"""Which function emits which operation of which dialect.

A dialect is added by a row of `MODULES`, of modules that have `handlers`.
"""

from __future__ import annotations

from xdsl.ir import Operation

from coopc.emit import handlers
from coopc.emit.llvm.emission import Emission
from coopc.emit.structured import Refusal

MODULES = {
    "amx": ("amx",),
    "coopmatrix": ("matrix", "matrix_arithmetic"),
    "arith": ("arith_integer", "arith_float", "arith_convert"),
    "func": ("func",),
    "llvm": ("pointer", "llvm_float"),
    "math": ("math",),
    "memref": ("memref", "memref_atomic"),
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


class Handlers(handlers.Handlers[Emission]):
    """The handlers of some operations."""


handler_of = handlers.Emitter[Emission](
    "LLVM IR", "coopc.emit.llvm", MODULES
).handler_of
"""The handler of an operation; a refusal where there is none."""


def emit(e: Emission, op: Operation) -> None:
    """Emit an operation.

    Raises:
        Refusal: the target cannot say it.
    """
    is_view = op.name == "simt.view_elements"
    builtins = is_view or (e.facts.matrix and op.dialect_name() == "simt")
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
