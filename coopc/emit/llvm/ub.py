"""`ub`: a value of which nothing is known."""

from __future__ import annotations

from xdsl.dialects import ub

from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.llvm.values import poison as any_value

handlers = Handlers()


@handlers.on(ub.PoisonOp)
def poison(e: Emission, op: ub.PoisonOp) -> None:
    """LLVM's poison."""
    e.set(op.result, any_value(e.type(op.result.type)))
