"""`llvm`: reads through an opaque pointer, as a fill by pointer becomes."""

from __future__ import annotations

from xdsl.dialects import llvm

from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.structured import Refusal

handlers = Handlers()


@handlers.on(llvm.LoadOp)
def load(e: Emission, op: llvm.LoadOp) -> None:
    """A number that a pointer points to."""
    if op.ordering.value.data != 0:
        raise Refusal("expected a load that is not atomic")
    type = op.dereferenced_value.type
    size = e.types.bytes_of(type)
    align = size if op.alignment is None else op.alignment.value.data
    found = e.f.load(e.types.in_memory(type), e.value(op.ptr), align)
    e.set(op.dereferenced_value, e.from_memory(type, found))
