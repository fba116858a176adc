"""Which function emits which operation of which dialect.

A dialect is added by a row of `MODULES`, of modules that have `handlers`.
"""

from __future__ import annotations

from xdsl.ir import Operation

from coopc.emit import handlers
from coopc.emit.spirv.emission import Emission
from coopc.emit.structured import Refusal

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


class Handlers(handlers.Handlers[Emission]):
    """The handlers of some operations."""


handler_of = handlers.Emitter[Emission](
    "SPIR-V", "coopc.emit.spirv", MODULES
).handler_of
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
    handler_of(op)(e, op)
