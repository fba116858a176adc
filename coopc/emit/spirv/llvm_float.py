"""`llvm.frem`: the remainder of floats, for which `arith` of xDSL has no operation."""

from __future__ import annotations

from xdsl.dialects import llvm

from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import each_float
from coopc.emit.spirv.handlers import Handlers

handlers = Handlers()


@handlers.on(llvm.FRemOp)
def remainder(e: Emission, op: llvm.FRemOp) -> None:
    """The remainder with the sign of the dividend."""
    e.whole.strict = True
    each_float(
        e, op.res, (op.lhs, op.rhs), lambda to, a, b: e.emit("OpFRem", a, b, type=to)
    )
