"""check-lowered: rejects operations that a pipeline should have lowered.

Before:  any IR that verifies.
After:   the same.
Fails:   if an operation of linalg, Triton or coopmatrix, or one on matrices, is left,
         naming it. With `matrices`, those of coopmatrix may be left.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType
from coopc.ir.control_flow import defined_by

LOWERED = ("linalg", "tt", "ttg", "ttig")
"""The dialects of which no pipeline leaves an operation."""


@dataclass(frozen=True)
class CheckLoweredPass(ModulePass):
    name = "check-lowered"

    matrices: bool = False
    """Allow operations of coopmatrix, for emission."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if reason := self._why_left(each):
                each.emit_error(reason, PassFailedException(reason))

    def _why_left(self, op: Operation) -> str | None:
        dialect = op.name.partition(".")[0]
        if dialect in LOWERED:
            return f"no pass of this pipeline lowers {op.name}"
        of_modules = coopmatrix.SpecConstantOp | coopmatrix.SpecValueOp
        if self.matrices or isinstance(op, of_modules):
            return None
        if dialect == "coopmatrix":
            return f"no pass of this pipeline lowers {op.name} here"
        types = [value.type for value in (*op.operands, *defined_by(op))]
        for attr in op.properties.values():
            if isinstance(attr, FunctionType):
                types += (*attr.inputs, *attr.outputs)
        found = next((x for x in types if isinstance(x, MatrixType)), None)
        return found and f"no pass of this pipeline lowers {found} here"
