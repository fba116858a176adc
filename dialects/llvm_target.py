"""What xDSL 0.74's `llvm` dialect lacks of SPIR-V-friendly LLVM, and of Triton's.

    !llvm.target<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>    a target's own type
    llvm.func spir_kernelcc @k(%p: !llvm.ptr<1>)                    a kernel of OpenCL's
    llvm.intr.assume %c : i1                                        `tl.assume`

Importing this module adds the conventions to xDSL's table, and the type to its check of
functions' types, in place, since its operations use these; it makes them accept more,
and nothing less.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import (
    Attribute,
    Dialect,
    ParametrizedAttribute,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from coopc.dialects.llvm_assume import AssumeOp

CONVENTIONS = ("spir_kernelcc", "spir_funccc")
"""Of OpenCL's kernels and functions."""


@irdl_attr_definition
class TargetExtType(ParametrizedAttribute, TypeAttribute):
    """A type that a target defines: LLVM's `target("name", types, numbers)`."""

    name = "llvm.target"

    target: StringAttr
    types: ArrayAttr[Attribute]
    numbers: ArrayAttr[IntAttr]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"spirv.CooperativeMatrixKHR", f16, 3, 8, 16, 0>`."""
        types: list[Attribute] = []
        numbers: list[IntAttr] = []
        with parser.in_angle_brackets():
            target = parser.parse_str_literal()
            while parser.parse_optional_punctuation(",") is not None:
                number = parser.parse_optional_integer(
                    allow_boolean=False, allow_negative=False
                )
                if number is not None:
                    numbers.append(IntAttr(number))
                elif numbers:
                    parser.raise_error("expected a number behind the first number")
                else:
                    types.append(parser.parse_type())
        return StringAttr(target), ArrayAttr(types), ArrayAttr(numbers)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.target.data)
            for type in self.types:
                printer.print_string(", ")
                printer.print_attribute(type)
            for number in self.numbers:
                printer.print_string(f", {number.data}")


_is_compatible_type = llvm.is_compatible_type


def is_compatible_type(type: Attribute) -> bool:
    """Whether functions of LLVM take and give values of a type."""
    return isinstance(type, TargetExtType) or _is_compatible_type(type)


llvm.is_compatible_type = is_compatible_type
llvm.LLVM_CALLING_CONVS.update(CONVENTIONS)
Llvm = Dialect(
    "llvm",
    [*llvm.LLVM.operations, AssumeOp],
    [*llvm.LLVM.attributes, TargetExtType],
)
"""xDSL's dialect, the type and the operation."""
