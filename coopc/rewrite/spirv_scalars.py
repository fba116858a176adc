"""Scalar operations of `llvm` and those of `arith` that they are.

Flags (no wrap, exact, fast) are dropped: they allow, and never ask.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, llvm
from xdsl.ir import Operation

BINARY: dict[type[Operation], Callable[..., Operation]] = {
    llvm.AddOp: arith.AddiOp,
    llvm.SubOp: arith.SubiOp,
    llvm.MulOp: arith.MuliOp,
    llvm.UDivOp: arith.DivUIOp,
    llvm.SDivOp: arith.DivSIOp,
    llvm.URemOp: arith.RemUIOp,
    llvm.SRemOp: arith.RemSIOp,
    llvm.AndOp: arith.AndIOp,
    llvm.OrOp: arith.OrIOp,
    llvm.XOrOp: arith.XOrIOp,
    llvm.ShlOp: arith.ShLIOp,
    llvm.LShrOp: arith.ShRUIOp,
    llvm.AShrOp: arith.ShRSIOp,
    llvm.FAddOp: arith.AddfOp,
    llvm.FSubOp: arith.SubfOp,
    llvm.FMulOp: arith.MulfOp,
    llvm.FDivOp: arith.DivfOp,
}
"""Of two operands of one type."""

CASTS: dict[type[Operation], type[Operation]] = {
    llvm.TruncOp: arith.TruncIOp,
    llvm.ZExtOp: arith.ExtUIOp,
    llvm.SExtOp: arith.ExtSIOp,
    llvm.SIToFPOp: arith.SIToFPOp,
    llvm.FPExtOp: arith.ExtFOp,
    llvm.FPTruncOp: arith.TruncFOp,
    llvm.BitcastOp: arith.BitcastOp,
}
"""Of one operand, to the type of the result."""
