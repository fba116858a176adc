"""`arith` conversions: between widths, between integers and floats, of bits.

An i1 is a bool in SPIR-V, so it is converted by selecting and by comparing.  Each
function here converts one part of a value, given the types in the IR.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float16Type, Float32Type, IndexType, IntegerType
from xdsl.ir import Attribute, Operation

from coopc.emit.elements import element_of
from coopc.emit.spirv.arith_integer import is_i1
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import is_bf16, narrowed, widened
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id

handlers = Handlers()


def converted(e: Emission, x: Id, source: Attribute, target: Attribute) -> Id:
    """A number as one of another type, integers signed, as `coopmatrix.fill` says."""
    to = e.types.number(target)
    if source == target:
        return x
    whole = IndexType | IntegerType
    match isinstance(source, whole), isinstance(target, whole):
        case True, True:
            return resized(e, x, source, target, to, signed=True)
        case True, False:
            return integer_as_float(e, x, source, target, to, signed=True)
        case False, True:
            return float_as_integer(e, x, source, target, to, signed=True)
        case _:
            return resized_float(e, x, source, target, to)


def resized(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id, signed: bool
) -> Id:
    """An integer in another width, extended by its sign or by zeros."""
    if x.type is to:
        return x
    if is_i1(source):
        one = e.number(to, -1 if signed else 1)
        return e.emit("OpSelect", x, one, e.number(to, 0), type=to)
    if is_i1(target):
        low = e.emit("OpBitwiseAnd", x, e.number(x.type, 1), type=x.type)
        return e.emit("OpINotEqual", low, e.number(x.type, 0), type=to)
    return e.emit("OpSConvert" if signed else "OpUConvert", x, type=to)


def integer_as_float(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id, signed: bool
) -> Id:
    """An integer as a float, rounded to nearest even."""
    if is_bf16(target):
        if not is_i1(source) and e.types.bits(element_of(source)) > 16:
            # Rounded to f32 and then to bf16, it could be the wrong neighbour.
            raise Refusal(
                f"expected an integer of at most 16 bits as bf16, got {source}"
            )
        wide = e.like(to, e.types.f32)
        number = integer_as_float(e, x, source, Float32Type(), wide, signed)
        return narrowed(e, number, to)
    if is_i1(source):
        one = e.number(to, -1.0 if signed else 1.0)
        return e.emit("OpSelect", x, one, e.number(to, 0.0), type=to)
    return e.emit("OpConvertSToF" if signed else "OpConvertUToF", x, type=to)


def float_as_integer(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id, signed: bool
) -> Id:
    """A float as an integer, rounded towards zero."""
    if is_bf16(source):
        x = widened(e, x)
    opcode = "OpConvertFToS" if signed else "OpConvertFToU"
    if not is_i1(target):
        return e.emit(opcode, x, type=to)
    whole = e.emit(opcode, x, type=e.like(to, e.types.u32))
    return e.emit("OpINotEqual", whole, e.number(whole.type, 0), type=to)


def resized_float(
    e: Emission, x: Id, source: Attribute, target: Attribute, to: Id
) -> Id:
    """A float in another width, rounded to nearest even."""
    if is_bf16(target):
        if not isinstance(element_of(source), Float16Type | Float32Type):
            # Through f32 it would be rounded twice.
            raise Refusal(f"expected an f16 or f32 to round to bf16, got {source}")
        wide = e.like(to, e.types.f32)
        x = x if x.type is wide else e.emit("OpFConvert", x, type=wide)
        return narrowed(e, x, to)
    if is_bf16(source):
        x = widened(e, x)
    return x if x.type is to else e.emit("OpFConvert", x, type=to)


@handlers.on(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp)
def resize(
    e: Emission,
    op: arith.ExtSIOp | arith.ExtUIOp | arith.TruncIOp | arith.IndexCastOp,
) -> None:
    """An integer or an index in another width."""
    source, target = op.input.type, op.result.type
    signed = isinstance(op, arith.ExtSIOp | arith.IndexCastOp)
    e.each(
        op.result,
        (op.input,),
        lambda to, x: resized(e, x, source, target, to, signed),
    )


@handlers.on(arith.SIToFPOp, arith.UIToFPOp)
def integer_to_float(e: Emission, op: arith.SIToFPOp | arith.UIToFPOp) -> None:
    """An integer as a float."""
    source, target = op.input.type, op.result.type
    signed = isinstance(op, arith.SIToFPOp)
    e.each(
        op.result,
        (op.input,),
        lambda to, x: integer_as_float(e, x, source, target, to, signed),
    )


@handlers.on(arith.FPToSIOp, arith.FPToUIOp)
def float_to_integer(e: Emission, op: arith.FPToSIOp | arith.FPToUIOp) -> None:
    """A float as an integer."""
    source, target = op.input.type, op.result.type
    signed = isinstance(op, arith.FPToSIOp)
    e.each(
        op.result,
        (op.input,),
        lambda to, x: float_as_integer(e, x, source, target, to, signed),
    )


@handlers.on(arith.ExtFOp, arith.TruncFOp)
def resize_float(e: Emission, op: arith.ExtFOp | arith.TruncFOp) -> None:
    """A float in another width."""
    source, target = op.input.type, op.result.type
    e.each(
        op.result, (op.input,), lambda to, x: resized_float(e, x, source, target, to)
    )


@handlers.on(arith.BitcastOp)
def bitcast(e: Emission, op: arith.BitcastOp) -> None:
    """The same bits as another type of the same width."""
    same_bits(e, op)


def same_bits(e: Emission, op: Operation) -> None:
    """Take bits part by part; an i1 is no bits in SPIR-V."""
    source, result = op.operands[0], op.results[0]
    if (is_i1(source.type) or is_i1(result.type)) and source.type != result.type:
        raise Refusal("expected a type with a place in memory, got i1")
    bits, wanted = (e.types.bits(element_of(x.type)) for x in (source, result))
    if bits != wanted:
        raise Refusal(
            f"expected types of one width, got {source.type} of {bits} bits and "
            f"{result.type} of {wanted}"
        )
    e.each(
        result,
        (source,),
        lambda to, x: x if x.type is to else e.emit("OpBitcast", x, type=to),
    )
