"""`arith` on vectors and tensors, where xDSL 0.74 takes scalars only, and its gaps.

xDSL's comparisons give an i1 whatever they compare, its `select` takes an i1, and its
casts of integers take none but scalars.  MLIR's take vectors and tensors, element by
element:

    %m = arith.cmpi slt, %i, %n : tensor<64xi32, #b>              a tensor of i1
    %x = arith.select %m, %a, %b : tensor<64xi1, #b>, tensor<64xf32, #b>
    %j = arith.extsi %i : tensor<64xi32, #b> to tensor<64xi64, #b>

`arith.remf`, which xDSL lacks, is the remainder of C's `fmod`, with the sign of the
dividend; `arith.index_castui`, which it lacks too, takes integers without a sign.

Importing this module changes the classes of xDSL in place, since whoever has to do with
an operation finds it by its class; it makes them accept more, and nothing less.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import gt, lt
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerType,
    TensorType,
    VectorType,
    container_of,
    i1,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    OperandDef,
    ResultDef,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects import effects
from coopc.dialects.narrow import is_integer

INTEGERS = container_of(base(IntegerType))
FLOATS = container_of(AnyFloatConstr)
BOOLEANS = container_of(eq(i1))
INDICES = container_of(base(IntegerType) | base(IndexType))


@irdl_op_definition
class RemfOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division that rounds towards zero: `arith.remf %x, %y`."""

    name = "arith.remf"

    traits = traits_def(Pure())


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """An index of an integer without a sign, or that integer of an index."""

    name = "arith.index_castui"

    input = operand_def(INDICES)
    result = result_def(INDICES)

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue, type: Attribute) -> None:
        super().__init__(operands=[input], result_types=[type])

    def verify_(self) -> None:
        check_index(self)


Arith = Dialect(
    "arith",
    [*effects.Arith.operations, RemfOp, IndexCastUIOp],
    list(effects.Arith.attributes),
)
"""xDSL's dialect, mended, and the operations."""


def shaped(type: Attribute, element: Attribute) -> Attribute:
    """Return the type of the shape of another, with other elements.

    >>> str(shaped(VectorType(i1, [8]), IntegerType(8)))
    'vector<8xi8>'
    """
    match type:
        case VectorType(shape=shape, scalable_dims=scalable):
            return VectorType(element, shape.data, scalable)
        case TensorType(shape=shape, encoding=encoding):
            return TensorType(element, shape.data, encoding)
        case _:
            return element


def element_of(type: Attribute) -> Attribute:
    """Return the type of the elements of a vector or a tensor; a scalar is its own."""
    match type:
        case VectorType(element_type=element) | TensorType(element_type=element):
            return element
        case _:
            return type


def accept(op: type[IRDLOperation], **wider: AttrConstraint[Attribute]) -> None:
    """Let operands and results of an operation, by their names, be of more types."""
    definition = op.get_irdl_definition()
    for position, (name, _) in enumerate(definition.operands):
        if name in wider:
            definition.operands[position] = (name, OperandDef(wider[name]))
    for position, (name, _) in enumerate(definition.results):
        if name in wider:
            definition.results[position] = (name, ResultDef(wider[name]))


def verify_with(op: type[IRDLOperation], check: Callable[[Any], None]) -> None:
    """Verify an operation by its definition, and by `check`."""
    definition = op.get_irdl_definition()

    def verify_(self: IRDLOperation) -> None:
        definition.verify(self)
        check(self)

    setattr(op, "verify_", verify_)  # noqa: B010


def verify_also(op: type[IRDLOperation], check: Callable[[Any], None]) -> None:
    """Verify an operation as before, and by `check`."""
    verify = op.verify_

    def verify_(self: IRDLOperation) -> None:
        verify(self)
        check(self)

    setattr(op, "verify_", verify_)  # noqa: B010


def check_shape(name: str, found: Attribute, like: Attribute) -> None:
    """Check that a type has the shape of another."""
    wanted = shaped(like, element_of(found))
    if found != wanted:
        raise VerifyException(f"expected {name} to be {wanted}, got {found}")


def width_of(type: Attribute) -> int:
    element = element_of(type)
    assert is_integer(element), element
    return element.width.data


def check_cast(op: Any) -> None:
    check_shape("the result", op.result.type, op.input.type)


def check_resized(is_right: Callable[[int, int], bool], expected: str, op: Any) -> None:
    """Check that integers become wider, or narrower."""
    check_cast(op)
    have, get = width_of(op.input.type), width_of(op.result.type)
    if not is_right(get, have):
        raise VerifyException(f"expected {expected} than {have} bits, got {get}")


def check_index(op: Any) -> None:
    check_cast(op)
    kinds = {type(element_of(value.type)) for value in (op.input, op.result)}
    if kinds != {IntegerType, IndexType}:
        raise VerifyException(
            f"expected integers and indices, got {op.input.type} and {op.result.type}"
        )


def check_comparison(op: Any) -> None:
    if op.lhs.type != op.rhs.type:
        raise VerifyException(
            f"expected rhs to be {op.lhs.type}, as lhs, got {op.rhs.type}"
        )
    check_shape("the result", op.result.type, op.lhs.type)


def check_selection(op: Any) -> None:
    """Check that there is one condition, or one for each element."""
    if op.cond.type != i1:
        check_shape("cond", op.cond.type, op.result.type)


def give_shape(op: type[IRDLOperation]) -> None:
    """Let the constructor of a comparison make a result of the operands' shape."""
    make: Callable[..., None] = op.__init__

    def __init__(self: Any, operand1: Any, *args: Any, **kwargs: Any) -> None:
        make(self, operand1, *args, **kwargs)
        result = self.results[0]
        type = shaped(SSAValue.get(operand1).type, i1)
        result._type = type

    setattr(op, "__init__", __init__)  # noqa: B010


def parse_select(cls: type[arith.SelectOp], parser: Parser) -> arith.SelectOp:
    """Parse `%c, %x, %y {..} : T`, or `: C, T` where there is a condition each."""
    position = parser.pos
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    condition, type = i1, parser.parse_type()
    if parser.parse_optional_punctuation(",") is not None:
        condition, type = type, parser.parse_type()
    cond, lhs, rhs = parser.resolve_operands(
        operands, (condition, type, type), position
    )
    op = cls(cond, lhs, rhs)
    op.attributes |= attributes
    return op


def print_select(self: arith.SelectOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(self.operands, printer.print_ssa_value)
    printer.print_op_attributes(self.attributes)
    printer.print_string(" : ")
    if self.cond.type != i1:
        printer.print_attribute(self.cond.type)
        printer.print_string(", ")
    printer.print_attribute(self.result.type)


def parse_truncation(cls: type[arith.TruncIOp], parser: Parser) -> arith.TruncIOp:
    """Parse a truncation; `overflow<nsw>` is a promise, which is not needed."""
    operand = parser.parse_unresolved_operand()
    if parser.parse_optional_keyword("overflow") is not None:
        arith.IntegerOverflowAttr.parse_parameter(parser)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_keyword("to")
    return cls.build(
        operands=[parser.resolve_operand(operand, source)],
        result_types=[parser.parse_type()],
        attributes=attributes,
    )


def forget_overflow(self: arith.TruncIOp) -> None:
    """Complete the generic form: without the promise."""
    self.properties.pop("overflowFlags", None)


class CompareScalarWithItself(RewritePattern):
    """What xDSL's pattern does, for scalars: it makes an i1 for vectors too."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.CmpiOp, rewriter: PatternRewriter) -> None:
        from xdsl.transforms.canonicalization_patterns.arith import (
            ApplyCmpiPredicateToEqualOperands,
        )

        if op.result.type == i1:
            ApplyCmpiPredicateToEqualOperands().match_and_rewrite(op, rewriter)


def compare_patterns(cls: object) -> tuple[RewritePattern, ...]:
    return (CompareScalarWithItself(),)


for op, is_right, expected in (
    (arith.ExtSIOp, gt, "more"),
    (arith.ExtUIOp, gt, "more"),
    (arith.TruncIOp, lt, "less"),
):
    accept(op, input=INTEGERS, result=INTEGERS)
    verify_with(op, partial(check_resized, is_right, expected))
for op in (arith.FPToSIOp, arith.FPToUIOp):
    accept(op, input=FLOATS, result=INTEGERS)
    verify_with(op, check_cast)
for op in (arith.SIToFPOp, arith.UIToFPOp):
    accept(op, input=INTEGERS, result=FLOATS)
    verify_with(op, check_cast)
accept(arith.IndexCastOp, input=INDICES, result=INDICES)
verify_with(arith.IndexCastOp, check_index)
for op in (arith.CmpiOp, arith.CmpfOp):
    accept(op, result=BOOLEANS)
    verify_with(op, check_comparison)
    give_shape(op)
accept(arith.SelectOp, cond=BOOLEANS)
verify_with(arith.SelectOp, check_selection)
setattr(arith.TruncIOp, "parse", classmethod(parse_truncation))  # noqa: B010
setattr(arith.TruncIOp, "complete_generic", forget_overflow)  # noqa: B010
setattr(arith.SelectOp, "parse", classmethod(parse_select))  # noqa: B010
setattr(arith.SelectOp, "print", print_select)  # noqa: B010
setattr(  # noqa: B010
    arith.CmpiHasCanonicalizationPatterns,
    "get_canonicalization_patterns",
    classmethod(compare_patterns),
)
