"""`arith` in any target: constants, and what an operation must be."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    i1,
)
from xdsl.ir import Attribute, Operation

from coopc.emit.emission import AnyEmission
from coopc.emit.walker import Handlers, Refusal, count_of, element_of

handlers = Handlers[AnyEmission]()


def is_i1(type: Attribute) -> bool:
    """Whether a number or the components of a vector are i1."""
    return element_of(type) == i1


def is_bf16(type: Attribute) -> bool:
    """Whether a number or the components of a vector are bf16."""
    return isinstance(element_of(type), BFloat16Type)


def no_i1(op: Operation) -> None:
    if is_i1(op.operands[0].type):
        raise Refusal("expected integers of 8 bits or more, got i1")


@handlers.on(arith.ConstantOp)
def constant(e: AnyEmission, op: arith.ConstantOp) -> None:
    type = op.result.type
    values: Any
    match op.value:
        case IntegerAttr(value=number) | FloatAttr(value=number):
            values = [number.data]
        case DenseIntOrFPElementsAttr() as dense:
            values = dense.get_values()
            if dense.is_splat():
                values = values[:1] * count_of(type)
        case other:
            raise Refusal(f"expected numbers, got {other}")
    if any(isinstance(value, tuple) for value in values):
        raise Refusal(f"expected a vector of real numbers, got {type}")
    element = element_of(type)
    e.set(op.result, e.constant(type, [e.types.constant(element, x) for x in values]))


def unwrapped(op: Operation) -> list[str]:
    """What an operation on integers says that it does not do: nsw, nuw."""
    if not isinstance(op, arith.SignlessIntegerBinaryOperationWithOverflow):
        return []
    flags = arith.IntegerOverflowFlag.NSW, arith.IntegerOverflowFlag.NUW
    return [flag.value for flag in flags if flag in op.overflow_flags.data]


def check_same_bits(op: Operation, bits: int, wanted: int) -> None:
    """Check that bits can be those of another type; an i1 has none in memory.

    Args:
        op: with one operand and one result.
        bits: of the operand, or of its components.
        wanted: of the result, likewise.

    Raises:
        Refusal: they cannot.
    """
    source, result = op.operands[0].type, op.results[0].type
    if source != result and (is_i1(source) or is_i1(result)):
        raise Refusal("expected a type with a place in memory, got i1")
    if bits != wanted:
        raise Refusal(
            f"expected types of one width, got {source} of {bits} bits and {result} of "
            f"{wanted}"
        )
