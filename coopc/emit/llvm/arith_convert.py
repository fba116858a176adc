"""`arith` conversions: between widths, between integers and floats, of bits."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from coopc.emit.elements import element_of
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.floats import is_bf16, narrowed, resized, to_odd, widened
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.llvm.types import (
    DOUBLE,
    FLOAT,
    Float,
    Int,
    Type,
    component,
    like,
    width,
)

handlers = Handlers()


@handlers.on(
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.IndexCastOp,
)
def resize(e: Emission, op: Operation) -> None:
    """An integer or an index in another width."""
    x, to = e.value(op.operands[0]), e.type(op.results[0].type)
    found, wanted = component(x.type), component(to)
    assert isinstance(found, Int), op
    assert isinstance(wanted, Int), op
    unsigned = isinstance(op, arith.ExtUIOp)
    extend = "zext" if unsigned else "sext"
    opcode = "trunc" if wanted.bits < found.bits else extend
    e.set(op.results[0], e.f.cast(opcode, x, to))


@handlers.on(arith.SIToFPOp, arith.UIToFPOp)
def integer_to_float(e: Emission, op: arith.SIToFPOp | arith.UIToFPOp) -> None:
    """An integer as a float, rounded to nearest even."""
    opcode = "sitofp" if isinstance(op, arith.SIToFPOp) else "uitofp"
    x, target = e.value(op.input), op.result.type
    if not is_bf16(target):
        e.set(op.result, e.f.cast(opcode, x, e.type(target)))
        return
    element = component(x.type)
    assert isinstance(element, Int), op
    if element.bits > 32:
        # Rounded to f64 and then to bf16, it could be the wrong neighbour.
        raise Refusal(
            f"expected an integer of at most 32 bits as bf16, got {op.input.type}"
        )
    if element.bits == 32:
        number = to_odd(e, e.f.cast(opcode, x, like(x.type, DOUBLE)))
    else:
        number = e.f.cast(opcode, x, like(x.type, FLOAT))
    e.set(op.result, narrowed(e, number))


@handlers.on(arith.FPToSIOp, arith.FPToUIOp)
def float_to_integer(e: Emission, op: arith.FPToSIOp | arith.FPToUIOp) -> None:
    """A float as an integer, rounded towards zero."""
    opcode = "fptosi" if isinstance(op, arith.FPToSIOp) else "fptoui"
    x = e.value(op.input)
    if is_bf16(op.input.type):
        x = widened(e, x)
    e.set(op.result, e.f.cast(opcode, x, e.type(op.result.type)))


@handlers.on(arith.ExtFOp, arith.TruncFOp)
def resize_float(e: Emission, op: arith.ExtFOp | arith.TruncFOp) -> None:
    """A float in another width."""
    source, target = op.input.type, op.result.type
    e.set(op.result, resized(e, e.value(op.input), source, target))


@handlers.on(arith.BitcastOp)
def bitcast(e: Emission, op: arith.BitcastOp) -> None:
    """The same bits as another type of the same width."""
    same_bits(e, op)


def same_bits(e: Emission, op: Operation) -> None:
    """Take the bits of the operand; an i1 has none in memory.

    Raises:
        Refusal: of an i1, or in another number of bits.
    """
    source, result = op.operands[0], op.results[0]
    i1 = IntegerType(1)
    if source.type != result.type and i1 in map(element_of, (source.type, result.type)):
        raise Refusal("expected a type with a place in memory, got i1")
    bits, wanted = map(_bits, (e.type(source.type), e.type(result.type)))
    if bits != wanted:
        raise Refusal(
            f"expected types of one width, got {source.type} of {bits} bits and "
            f"{result.type} of {wanted}"
        )
    e.set(result, e.f.cast("bitcast", e.value(source), e.type(result.type)))


def _bits(type: Type) -> int:
    """Width of a number or a vector, in bits."""
    element = component(type)
    assert isinstance(element, Int | Float), type
    return element.bits * width(type)
