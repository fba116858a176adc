"""`llvm.frem`: the remainder of floats, for which `arith` of xDSL has no operation."""

from __future__ import annotations

from xdsl.dialects import llvm

from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.floats import each_float
from coopc.emit.llvm.handlers import Handlers
from coopc.llvm.values import Value

handlers = Handlers()


@handlers.on(llvm.FRemOp)
def remainder(e: Emission, op: llvm.FRemOp) -> None:
    """The remainder with the sign of the dividend, which is exact."""

    def make(a: Value, b: Value) -> Value:
        return e.f.binary("frem", a, b)

    each_float(e, op.res, (op.lhs, op.rhs), make)
