"""Operations of `math` as MLIR 22 prints them, which xDSL 0.74 lacks.

%c = math.isnan %x : f32                      and isinf, isfinite, isnormal: an i1
%y = math.erfc %x : f32                       1 - erf(x), accurate where that is small
%y = math.clampf %x to [%low, %high] : f32    the minimum of a maximum, which keep NaN
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloatConstr, i1
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from coopc.dialects.shaped_arith import BOOLEANS, FLOATS, check_shape, shaped

NO_FLAGS = FastMathFlagsAttr("none")


class ClassifyOp(IRDLOperation, ABC):
    """Whether a float is of a kind: an i1, or one for each element."""

    operand = operand_def(FLOATS)
    result = result_def(BOOLEANS)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FLAGS)

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue, fastmath: FastMathFlagsAttr = NO_FLAGS):
        super().__init__(
            operands=[operand],
            result_types=[shaped(operand.type, i1)],
            properties={"fastmath": fastmath},
        )

    def verify_(self) -> None:
        check_shape("the result", self.result.type, self.operand.type)

    @classmethod
    def parse(cls, parser: Parser) -> ClassifyOp:
        """Parse `%x fastmath<..> {..} : f32`."""
        operand, fastmath = parser.parse_unresolved_operand(), NO_FLAGS
        if parser.parse_optional_keyword("fastmath") is not None:
            fastmath = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(operand, parser.parse_type()), fastmath)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        if self.fastmath != NO_FLAGS:
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)


@irdl_op_definition
class IsFiniteOp(ClassifyOp):
    name = "math.isfinite"


@irdl_op_definition
class IsInfOp(ClassifyOp):
    name = "math.isinf"


@irdl_op_definition
class IsNaNOp(ClassifyOp):
    name = "math.isnan"


@irdl_op_definition
class IsNormalOp(ClassifyOp):
    """Whether a number is finite, and neither 0 nor subnormal."""

    name = "math.isnormal"


@irdl_op_definition
class ErfcOp(math.FloatingPointLikeUnaryMathOperation):
    name = "math.erfc"


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """The number between two others that is next to one; NaN if one of them is."""

    T: ClassVar = VarConstraint("T", AnyFloatConstr | FLOATS)

    name = "math.clampf"

    value = operand_def(T)
    low = operand_def(T)
    high = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FLAGS)

    traits = traits_def(Pure())

    assembly_format = (
        "$value `to` ` ` `[` $low `,` $high `]` (`fastmath` `` $fastmath^)? attr-dict"
        " `:` type($result)"
    )


Math = Dialect(
    "math",
    [
        *(*math.Math.operations, IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp),
        *(ErfcOp, ClampFOp),
    ],
)
"""xDSL's dialect, and the operations."""
