"""`arith` on integers and index values: constants, arithmetic, comparison, select.

Integers of SPIR-V have no sign here; the instruction has it.  An i1 is a bool, of which
there is logic.  `coopc.passes.generic` expands what has no instruction.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from coopc.dialects import coopmatrix
from coopc.dialects.narrow import is_memref, is_vector
from coopc.emit import arith as shared
from coopc.emit.arith import check_same_bits, is_bf16, is_i1, no_i1, unwrapped
from coopc.emit.spirv.emission import Emission, Handlers
from coopc.emit.walker import Refusal, element_of
from coopc.spirv.instruction import Id

handlers = Handlers(shared.handlers)

_INTEGER_OPCODES: dict[type[Operation], str] = {
    arith.AddiOp: "OpIAdd",
    arith.SubiOp: "OpISub",
    arith.MuliOp: "OpIMul",
    arith.DivUIOp: "OpUDiv",
    arith.DivSIOp: "OpSDiv",
    arith.RemUIOp: "OpUMod",
    arith.RemSIOp: "OpSRem",
    arith.AndIOp: "OpBitwiseAnd",
    arith.OrIOp: "OpBitwiseOr",
    arith.XOrIOp: "OpBitwiseXor",
    arith.ShLIOp: "OpShiftLeftLogical",
    arith.ShRUIOp: "OpShiftRightLogical",
    arith.ShRSIOp: "OpShiftRightArithmetic",
}

_LOGICAL: dict[type[Operation], str] = {
    arith.AndIOp: "OpLogicalAnd",
    arith.OrIOp: "OpLogicalOr",
    arith.XOrIOp: "OpLogicalNotEqual",
}
"""The same on i1."""

_INTEGER_PREDICATES = (
    "OpIEqual",
    "OpINotEqual",
    "OpSLessThan",
    "OpSLessThanEqual",
    "OpSGreaterThan",
    "OpSGreaterThanEqual",
    "OpULessThan",
    "OpULessThanEqual",
    "OpUGreaterThan",
    "OpUGreaterThanEqual",
)
"""In the order of arith's numbers."""

_EXTREMES: dict[type[Operation], tuple[str, str]] = {
    arith.MinUIOp: ("u_min", "UMin"),
    arith.MaxUIOp: ("u_max", "UMax"),
    arith.MinSIOp: ("s_min", "SMin"),
    arith.MaxSIOp: ("s_max", "SMax"),
}
"""In OpenCL.std and in GLSL.std.450."""


def _integer_binary(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    table = _LOGICAL if is_i1(op.result.type) else _INTEGER_OPCODES
    if (opcode := table.get(type(op))) is None:
        raise Refusal("expected integers of 8 bits or more, got i1")
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.emit(opcode, a, b, type=to))
    for flag in unwrapped(op) if table is _INTEGER_OPCODES else ():
        for part in e.parts(op.result):
            e.module.decorate(part, _UNWRAPPED[flag])


_UNWRAPPED = {"nsw": "NoSignedWrap", "nuw": "NoUnsignedWrap"}


for _op in _INTEGER_OPCODES:
    handlers.add(_op, _integer_binary)


def _integer_extreme(e: Emission, op: arith.SignlessIntegerBinaryOperation) -> None:
    name = _EXTREMES[type(op)][e.facts.vulkan]
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.ext(name, a, b, type=to))


for _op in _EXTREMES:
    handlers.add(_op, _integer_extreme)


@handlers.on(arith.CmpiOp)
def compare_integers(e: Emission, op: arith.CmpiOp) -> None:
    """A comparison; of i1, whether they are equal or not."""
    opcode = _INTEGER_PREDICATES[op.predicate.value.data]
    if is_i1(op.lhs.type):
        opcode = opcode.replace("OpI", "OpLogical")
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.emit(opcode, a, b, type=to))


def _select(e: Emission, to: Id, condition: Id, yes: Id, no: Id) -> Id:
    return e.emit("OpSelect", condition, yes, no, type=to)


@handlers.on(arith.SelectOp)
def select(e: Emission, op: arith.SelectOp) -> None:
    """One of two values, by an i1; matrices by branching, as they have no OpSelect."""
    if is_memref(op.result.type):
        raise Refusal("expected numbers, vectors or matrices: a memref has no value")
    if is_vector(op.cond.type):
        e.each(op.result, (op.cond, op.lhs, op.rhs), partial(_select, e))
        return
    condition = e.id(op.cond)
    if not isinstance(op.result.type, coopmatrix.MatrixType):
        e.each(
            op.result,
            (op.lhs, op.rhs),
            lambda to, a, b: e.emit("OpSelect", condition, a, b, type=to),
        )
        return
    flow = e.flow
    yes, no, done = map(flow.label, ("then", "else", "done"))
    flow.open_selection(done)
    flow.branch((condition,), yes, no)
    for label in (yes, no):
        flow.begin(label)
        flow.jump(done)
    flow.begin(done)
    phi = flow.phi(op.result, e.value(op.lhs))
    flow.arrive(phi, e.value(op.lhs), yes)
    flow.arrive(phi, e.value(op.rhs), no)
    e.set(op.result, phi)


@handlers.on(arith.MulUIExtendedOp, arith.MulSIExtendedOp)
def mul_extended(e: Emission, op: arith.MulExtendedBase) -> None:
    no_i1(op)
    signed = isinstance(op, arith.MulSIExtendedOp)
    operands = (op.lhs, op.rhs)
    e.each(op.low, operands, lambda to, a, b: e.emit("OpIMul", a, b, type=to))
    e.each(op.high, operands, lambda to, a, b: _high(e, to, a, b, signed))


def _high(e: Emission, to: Id, a: Id, b: Id, signed: bool) -> Id:
    if not e.facts.vulkan:
        return e.ext("s_mul_hi" if signed else "u_mul_hi", a, b, type=to)
    bits = e.types.component_bits(to)
    if bits >= 32:
        pair = e.module.type("OpTypeStruct", to, to)
        opcode = "OpSMulExtended" if signed else "OpUMulExtended"
        both = e.emit(opcode, a, b, type=pair)
        return e.emit("OpCompositeExtract", both, 1, type=to)
    # Vulkan has it for 32 bits, which hold the whole product of less.
    wide = e.like(to, e.types.u32)
    extend = "OpSConvert" if signed else "OpUConvert"
    x, y = (e.emit(extend, each, type=wide) for each in (a, b))
    product = e.emit("OpIMul", x, y, type=wide)
    by = e.number(wide, bits)
    return e.emit(
        "OpUConvert", e.emit("OpShiftRightLogical", product, by, type=wide), type=to
    )


# `arith` on floats: arithmetic, extremes and comparison.

_FLOAT_OPCODES: dict[type[Operation], str] = {
    arith.AddfOp: "OpFAdd",
    arith.SubfOp: "OpFSub",
    arith.MulfOp: "OpFMul",
    arith.DivfOp: "OpFDiv",
}

_FLOAT_PREDICATES: dict[int, str] = {
    1: "OpFOrdEqual",
    2: "OpFOrdGreaterThan",
    3: "OpFOrdGreaterThanEqual",
    4: "OpFOrdLessThan",
    5: "OpFOrdLessThanEqual",
    6: "OpFOrdNotEqual",
    7: "OpOrdered",
    8: "OpFUnordEqual",
    9: "OpFUnordGreaterThan",
    10: "OpFUnordGreaterThanEqual",
    11: "OpFUnordLessThan",
    12: "OpFUnordLessThanEqual",
    13: "OpFUnordNotEqual",
    14: "OpUnordered",
}
"""By arith's number; 0 and 15, false and true, are expanded."""


def _float_binary(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
    opcode = _FLOAT_OPCODES[type(op)]

    exact = opcode != "OpFDiv" or e.facts.device.exact_quotients

    def make(to: Id, a: Id, b: Id) -> Id:
        if not exact:
            # A NaN by a NaN is one too; the compiler sees no constant to divide.
            nan = e.emit("OpFUnordNotEqual", b, b, type=e.bools(to))
            a = e.emit("OpSelect", nan, b, a, type=to)
        return relaxed(e, opcode, e.emit(opcode, a, b, type=to), op.fastmath)

    e.each(op.result, (op.lhs, op.rhs), make)


for _op in _FLOAT_OPCODES:
    handlers.add(_op, _float_binary)


@handlers.on(arith.NegfOp)
def negate(e: Emission, op: arith.NegfOp) -> None:
    """The sign changed, of zeros and NaNs too."""
    e.each(op.result, (op.operand,), lambda to, x: e.emit("OpFNegate", x, type=to))


@handlers.on(arith.CmpfOp)
def compare_floats(e: Emission, op: arith.CmpfOp) -> None:
    """A comparison; an ordered one is false of a NaN, an unordered one true."""
    e.whole.strict = True
    opcode = _FLOAT_PREDICATES[op.predicate.value.data]
    e.each(op.result, (op.lhs, op.rhs), partial(_compared, e, opcode))


def _compared(e: Emission, opcode: str, bool: Id, a: Id, b: Id) -> Id:
    """One part of a comparison; Vulkan has no OpOrdered and no OpUnordered."""
    if not e.facts.vulkan or not opcode.endswith("rdered"):
        return e.emit(opcode, a, b, type=bool)
    found = e.emit("OpIsNan", a, type=bool)
    if b is not a:
        other = e.emit("OpIsNan", b, type=bool)
        found = e.emit("OpLogicalOr", found, other, type=bool)
    if opcode == "OpOrdered":
        found = e.emit("OpLogicalNot", found, type=bool)
    return found


_FLOAT_EXTREMES: dict[type[Operation], tuple[str, str]] = {
    arith.MaxnumfOp: ("fmax", "NMax"),
    arith.MinnumfOp: ("fmin", "NMin"),
}
"""In OpenCL.std and in GLSL.std.450: of a number and a NaN, the number."""


def _float_extreme(e: Emission, op: arith.FloatingPointLikeBinaryOperation) -> None:
    e.whole.strict = True
    name = _FLOAT_EXTREMES[type(op)][e.facts.vulkan]
    e.each(op.result, (op.lhs, op.rhs), lambda to, a, b: e.ext(name, a, b, type=to))


for _op in _FLOAT_EXTREMES:
    handlers.add(_op, _float_extreme)


# `arith` conversions: between widths, between integers and floats, of bits.


_CONVERSIONS: dict[type[Operation], str] = {
    arith.ExtSIOp: "OpSConvert",
    arith.ExtUIOp: "OpUConvert",
    arith.TruncIOp: "OpUConvert",
    arith.IndexCastOp: "OpSConvert",
    arith.SIToFPOp: "OpConvertSToF",
    arith.UIToFPOp: "OpConvertUToF",
    arith.FPToSIOp: "OpConvertFToS",
    arith.FPToUIOp: "OpConvertFToU",
    arith.ExtFOp: "OpFConvert",
    arith.TruncFOp: "OpFConvert",
}
"""Floats are rounded to nearest even, and towards zero to integers."""

_INTEL_BF16: dict[type[Operation], str] = {
    arith.ExtFOp: "OpConvertBF16ToFINTEL",
    arith.TruncFOp: "OpConvertFToBF16INTEL",
}


def _convert(e: Emission, op: Operation) -> None:
    """A number of another type; an index may have the width of the integer."""
    source, result = op.operands[0], op.results[0]
    is_short = any(is_bf16(each.type) for each in (source, result))
    intel = is_short and e.facts.bf16 == "intel-conversion"
    opcode = (_INTEL_BF16 if intel else _CONVERSIONS)[type(op)]

    def part(to: Id, x: Id) -> Id:
        return x if x.type is to else e.emit(opcode, x, type=to)

    e.each(result, (source,), part)


for _op in _CONVERSIONS:
    handlers.add(_op, _convert)


@handlers.on(arith.BitcastOp)
def bitcast(e: Emission, op: arith.BitcastOp) -> None:
    same_bits(e, op)


def same_bits(e: Emission, op: Operation) -> None:
    """Take bits part by part; an i1 is no bits in SPIR-V."""
    source, result = op.operands[0], op.results[0]
    check_same_bits(op, *(e.types.bits(element_of(x.type)) for x in (source, result)))
    e.each(
        result,
        (source,),
        lambda to, x: x if x.type is to else e.emit("OpBitcast", x, type=to),
    )


# Floats: what the IR allows to be relaxed is said.
#
# `arith` computes each operation by itself unless `fastmath` says otherwise, while both
# flavours let a driver contract `a * b + c`: so Vulkan's operations are decorated with
# NoContraction, and kernels of OpenCL have ContractionOff.

CONTRACTED = ("OpFAdd", "OpFSub", "OpFMul")
"""What a driver may fuse with another."""

_MODES = {
    FastMathFlag.NO_NANS: "NotNaN",
    FastMathFlag.NO_INFS: "NotInf",
    FastMathFlag.NO_SIGNED_ZEROS: "NSZ",
    FastMathFlag.ALLOW_RECIP: "AllowRecip",
}


def relaxed(
    e: Emission, opcode: str, id: Id, flags: arith.FastMathFlagsAttr | None
) -> Id:
    """Say of an instruction what `fastmath` allows, and what it does not; return it."""
    found = set(flags.data) if flags is not None else set[FastMathFlag]()
    if opcode.startswith("OpF") and FastMathFlag.ALLOW_CONTRACT not in found:
        e.whole.strict = True  # of quotients too: 0 / NaN is not 0
        if opcode in CONTRACTED and e.facts.vulkan:
            e.module.decorate(id, "NoContraction")
    if found and not e.facts.vulkan:
        modes = [mode for flag, mode in _MODES.items() if flag in found]
        if FastMathFlag.REASSOC in found and len(modes) == len(_MODES):
            modes = ["Fast"]
        if modes:
            e.module.decorate(id, "FPFastMathMode", "|".join(modes))
    return id
