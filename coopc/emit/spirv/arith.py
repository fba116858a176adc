"""`arith` and `math`: core instructions, and functions of an extended set.

Integers of SPIR-V have no sign here; the instruction has it.  An i1 is a bool, of which
there is logic.  OpenCL.std has all functions of `math`, GLSL.std.450 some, of f16 and
f32; those that only look at bits take f64 too.  `coopc.passes.generic` expands what has
no instruction.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith, math, ub, vector
from xdsl.dialects.builtin import Float64Type
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from coopc.dialects import coopmatrix
from coopc.dialects.narrow import is_memref, is_vector
from coopc.dialects.shaped_arith import RemfOp
from coopc.emit import arith as shared
from coopc.emit.arith import check_same_bits, is_bf16, unwrapped
from coopc.emit.spirv.emission import Emission, Handlers
from coopc.emit.spirv.view import Num, View
from coopc.emit.walker import NoForm, element_of, is_i1, refuse_i1
from coopc.spirv.instruction import Id

handlers = Handlers(shared.handlers)

_LOGICAL: dict[str, str] = {
    "OpBitwiseAnd": "OpLogicalAnd",
    "OpBitwiseOr": "OpLogicalOr",
    "OpBitwiseXor": "OpLogicalNotEqual",
}
"""What an instruction is on i1."""

CHOSEN = frozenset((x, x) for x in ("CrossWorkgroup", "PhysicalStorageBuffer"))
"""Storage classes of pointers that are values without a capability."""

_UNWRAPPED = {"nsw": "NoSignedWrap", "nuw": "NoUnsignedWrap"}


def is_constant(id: Id) -> bool:
    """Whether a number is a constant of the module."""
    return id.definition is not None and id.definition.facts.name == "OpConstant"


def is_zero(id: Id) -> bool:
    """Whether a number is the constant 0, of floats the positive one."""
    return (
        is_constant(id) and id.definition is not None and id.definition.operands == (0,)
    )


@handlers.on(*shared.INSTRUCTIONS)
def instruction(e: Emission, op: Operation) -> None:
    (opcode, _), (result,) = shared.INSTRUCTIONS[type(op)], op.results
    logical = is_i1(result.type)
    if logical and (opcode := _LOGICAL.get(opcode, "")) == "":
        raise NoForm("expected integers of 8 bits or more, got i1")
    e.whole.strict |= isinstance(op, RemfOp)

    def make(to: Id, ids: tuple[Id, ...]) -> Id:
        if isinstance(op, arith.DivfOp) and not e.facts.device.exact_quotients:
            ids = _hidden_quotient(e, op, *ids)
        id = e.emit(opcode, *ids, type=to)
        if isinstance(op, arith.FloatingPointLikeBinaryOperation):
            relax(e, opcode, id, op.fastmath)
        return id

    e.each(result, op.operands, make)
    for flag in () if logical else unwrapped(op):
        for part in e.parts(result):
            e.module.decorate(part, _UNWRAPPED[flag])


def _hidden_quotient(e: Emission, op: arith.DivfOp, a: Id, b: Id) -> tuple[Id, Id]:
    """Return what to divide, so that the compiler sees no constant, and no 0 below it.

    A NaN by a NaN is one too, and a number is itself times 1.
    """
    finite = FastMathFlag.NO_NANS, FastMathFlag.NO_INFS
    if all(x in op.fastmath.data for x in finite):
        return a, b
    nan = e.emit("OpFUnordNotEqual", b, b, type=e.like(b.type, e.bool))
    top = e.emit("OpSelect", nan, b, a, type=b.type)
    if is_constant(b) and not is_zero(b):
        return top, b
    return top, e.emit("OpFMul", b, e.hidden(b.type, 1), type=b.type)


@handlers.on(arith.CmpiOp)
def compare_integers(e: Emission, op: arith.CmpiOp) -> None:
    """A comparison; of i1, whether they are equal or not."""
    opcode, _ = shared.INTEGER_PREDICATES[op.predicate.value.data]
    if is_i1(op.lhs.type):
        opcode = opcode.replace("OpI", "OpLogical")
    e.each(op.result, op.operands, lambda to, ids: e.emit(opcode, *ids, type=to))


@handlers.on(arith.CmpfOp)
def compare_floats(e: Emission, op: arith.CmpfOp) -> None:
    """A comparison; Vulkan has no OpOrdered and no OpUnordered."""
    e.whole.strict = True
    opcode, _ = shared.FLOAT_PREDICATES[op.predicate.value.data]

    def make(to: Id, ids: tuple[Id, ...]) -> Id:
        if not e.facts.vulkan or not opcode.endswith("rdered"):
            return e.emit(opcode, *ids, type=to)
        a, b = ids
        found = e.emit("OpIsNan", a, type=to)
        if b is not a:
            other = e.emit("OpIsNan", b, type=to)
            found = e.emit("OpLogicalOr", found, other, type=to)
        if opcode == "OpOrdered":
            found = e.emit("OpLogicalNot", found, type=to)
        return found

    e.each(op.result, op.operands, make)


@handlers.on(ub.PoisonOp)
def poison(e: Emission, op: ub.PoisonOp) -> None:
    parts = e.types.parts(op.result.type)
    e.set(op.result, tuple(map(e.module.undef, parts)))


def _selected(e: Emission, op: arith.SelectOp) -> View:
    """One of two memrefs: their numbers, and of two buffers the pointers."""
    yes, no, condition = e.view(op.lhs), e.view(op.rhs), e.value(op.cond)

    def one(a: Num, b: Num) -> Num:
        if a == b:
            return a
        ids = e.index.narrow(a), e.index.narrow(b)
        return e.emit("OpSelect", condition, *ids, type=e.types.index)

    base = yes.base
    if base is not no.base:
        storages = yes.storage, no.storage
        if storages not in CHOSEN or base.type is not no.base.type:
            raise NoForm(
                "expected memrefs of one buffer, or pointers to global memory, which "
                "buffers are under opencl, or under vulkan with addresses=true"
            )
        for each in (yes, no):
            e.writes(each)  # if not this one, then the other
        base = e.emit("OpSelect", condition, base, no.base, type=base.type)
    rank = len(yes.sizes)
    offset, *numbers = map(one, yes.numbers, no.numbers)
    strides = None if yes.strides is None else tuple(numbers[rank:])
    sizes = tuple(numbers[:rank])
    return replace(yes, base=base, offset=offset, sizes=sizes, strides=strides)


@handlers.on(arith.SelectOp)
def select(e: Emission, op: arith.SelectOp) -> None:
    """One of two values, by an i1; matrices by branching, as they have no OpSelect."""
    if is_memref(op.result.type):
        e.set(op.result, _selected(e, op))
        return
    if is_vector(op.cond.type):
        e.each(
            op.result, op.operands, lambda to, ids: e.emit("OpSelect", *ids, type=to)
        )
        return
    condition = e.value(op.cond)
    if not isinstance(op.result.type, coopmatrix.MatrixType):
        e.each(
            op.result,
            (op.lhs, op.rhs),
            lambda to, ids: e.emit("OpSelect", condition, *ids, type=to),
        )
        return
    matrices = [e.parts(each) for each in (op.lhs, op.rhs)]
    yes, no, done = map(e.label, ("then", "else", "done"))
    e.open_selection(done)
    e.branch(condition, yes, no)
    for label in (yes, no):
        e.begin(label)
        e.jump(done)
    e.begin(done)
    phi = e.phi(op.result, matrices[0])
    for each, label in zip(matrices, (yes, no), strict=True):
        e.arrive(phi, each, label)
    e.set(op.result, phi)


@handlers.on(arith.MulUIExtendedOp, arith.MulSIExtendedOp)
def mul_extended(e: Emission, op: arith.MulExtendedBase) -> None:
    refuse_i1(op)
    signed = isinstance(op, arith.MulSIExtendedOp)
    operands = (op.lhs, op.rhs)

    def high(to: Id, ids: tuple[Id, ...]) -> Id:
        bits = e.types.component_bits(to)
        if not e.facts.vulkan and bits != 32:
            return e.ext("s_mul_hi" if signed else "u_mul_hi", *ids, type=to)
        if e.facts.vulkan and bits >= 32:
            pair = e.module.type("OpTypeStruct", to, to)
            opcode = "OpSMulExtended" if signed else "OpUMulExtended"
            both = e.emit(opcode, *ids, type=pair)
            return e.emit("OpCompositeExtract", both, 1, type=to)
        # Compilers know a product of twice the bits of which the upper half is used.
        wide = e.like(to, e.types.int(max(2 * bits, 32)))
        extend = "OpSConvert" if signed else "OpUConvert"
        x, y = (e.emit(extend, each, type=wide) for each in ids)
        product = e.emit("OpIMul", x, y, type=wide)
        shifted = e.emit(
            "OpShiftRightLogical", product, e.number(wide, bits), type=wide
        )
        return e.emit("OpUConvert", shifted, type=to)

    e.each(op.low, operands, lambda to, ids: e.emit("OpIMul", *ids, type=to))
    e.each(op.high, operands, high)


# Functions of an extended set.

_GLSL_F64 = (
    arith.MaxnumfOp,
    arith.MinnumfOp,
    math.AbsFOp,
    math.CeilOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.RsqrtOp,
    math.SqrtOp,
    math.TruncOp,
    vector.FMAOp,
)
"""What GLSL.std.450 has of f64."""


@handlers.on(*shared.FUNCTIONS)
def function(e: Emission, op: Operation) -> None:
    opencl, glsl, _ = shared.FUNCTIONS[type(op)]
    if (name := glsl if e.facts.vulkan else opencl) is None:
        raise NoForm(f"GLSL.std.450 has no {opencl}, and Vulkan no other")
    wide = isinstance(element_of(op.results[0].type), Float64Type)
    if wide and e.facts.vulkan and not isinstance(op, _GLSL_F64):
        raise NoForm(f"GLSL.std.450 has {opencl} of f16 and f32, got f64")
    if isinstance(op, arith.MaxnumfOp | arith.MinnumfOp):
        e.whole.strict = True
        if e.facts.vulkan and FastMathFlag.NO_NANS in op.fastmath.data:
            name = f"F{name[1:]}"  # of a NaN, either operand
    e.each(op.results[0], op.operands, lambda to, ids: e.ext(name, *ids, type=to))


@handlers.on(math.FPowIOp)
def power(e: Emission, op: math.FPowIOp) -> None:
    if is_i1(op.rhs.type):
        raise NoForm("expected an exponent of 8 bits or more, got i1")
    if e.facts.vulkan:
        raise NoForm("GLSL.std.450 has pow of f16 and f32, got f64")
    if e.types.bits(element_of(op.rhs.type)) != 32:
        raise NoForm(f"expected an exponent of 32 bits, got {op.rhs.type}")
    e.each(op.result, op.operands, lambda to, ids: e.ext("pown", *ids, type=to))


@handlers.on(*shared.COUNTS)
def count(e: Emission, op: Operation) -> None:
    refuse_i1(op)

    def make(to: Id, ids: tuple[Id, ...]) -> Id:
        """Of 32 bits in GLSL, which gives -1 for 0."""
        if not e.facts.vulkan:
            opencl, _ = shared.COUNTS[type(op)]
            return e.ext(opencl, *ids, type=to)
        match op:
            case math.AbsIOp():
                return e.ext("SAbs", *ids, type=to)
            case math.CountLeadingZerosOp():
                highest = e.ext("FindUMsb", *ids, type=to)
                return e.emit("OpISub", e.number(to, 31), highest, type=to)
            case math.CountTrailingZerosOp():
                # -1 is the greatest of unsigned numbers.
                lowest = e.ext("FindILsb", *ids, type=to)
                return e.ext("UMin", lowest, e.number(to, 32), type=to)
            case _:
                return e.emit("OpBitCount", *ids, type=to)

    e.each(op.results[0], op.operands, make)


# Conversions: between widths, between integers and floats, of bits.

_INTEL_BF16: dict[type[Operation], str] = {
    arith.ExtFOp: "OpConvertBF16ToFINTEL",
    arith.TruncFOp: "OpConvertFToBF16INTEL",
}


@handlers.on(*shared.CASTS)
def cast(e: Emission, op: Operation) -> None:
    """A number of another type; an index may have the width of the integer."""
    opcode, _ = shared.CASTS[type(op)]
    is_short = any(is_bf16(each.type) for each in (*op.operands, *op.results))
    if is_short and e.facts.device.bfloat16 == "intel-conversion":
        opcode = _INTEL_BF16[type(op)]
    _converted(e, op, opcode)


def same_bits(e: Emission, op: Operation) -> None:
    """Take bits part by part; an i1 is no bits in SPIR-V."""
    types = op.operands[0].type, op.results[0].type
    check_same_bits(op, *(e.types.bits(element_of(type)) for type in types))
    _converted(e, op, "OpBitcast")


handlers.add(arith.BitcastOp, same_bits)


def _converted(e: Emission, op: Operation, opcode: str) -> None:
    def part(to: Id, ids: tuple[Id, ...]) -> Id:
        (x,) = ids
        if x.type is to:
            return x
        found = e.emit(opcode, x, type=to)
        if isinstance(op, arith.TruncFOp) and not e.facts.device.exact_matrices:
            # Else the driver takes what is rounded and made wider for what it was.
            e.module.decorate(found, "NoContraction")
        return found

    e.each(op.results[0], op.operands, part)


# Floats: what the IR allows to be relaxed is said.
#
# `arith` computes each operation by itself unless `fastmath` says otherwise, while both
# flavours let a driver contract `a * b + c`: so Vulkan's operations are decorated with
# NoContraction, and kernels of OpenCL have ContractionOff.

CONTRACTED = ("OpFAdd", "OpFSub", "OpFMul")
"""What a driver may fuse with another."""

UNCHECKED = {
    FastMathFlag.NO_NANS,
    FastMathFlag.NO_INFS,
    FastMathFlag.NO_SIGNED_ZEROS,
}
"""What SignedZeroInfNanPreserve excludes."""

_MODES = {
    FastMathFlag.NO_NANS: "NotNaN",
    FastMathFlag.NO_INFS: "NotInf",
    FastMathFlag.NO_SIGNED_ZEROS: "NSZ",
    FastMathFlag.ALLOW_RECIP: "AllowRecip",
}


def relax(
    e: Emission, opcode: str, id: Id, flags: arith.FastMathFlagsAttr | None
) -> None:
    """Say of an instruction what `fastmath` allows, and what it does not."""
    found = set(flags.data) if flags is not None else set[FastMathFlag]()
    if opcode.startswith("OpF"):
        contracts = FastMathFlag.ALLOW_CONTRACT in found
        # Of quotients too: 0 / NaN is not 0.  Contraction alone keeps NaN on Vulkan.
        e.whole.strict |= not contracts or (e.facts.vulkan and not found >= UNCHECKED)
        if not contracts and opcode in CONTRACTED and e.facts.vulkan:
            e.module.decorate(id, "NoContraction")
    if found and not e.facts.vulkan:
        modes = [mode for flag, mode in _MODES.items() if flag in found]
        if FastMathFlag.REASSOC in found and len(modes) == len(_MODES):
            modes = ["Fast"]
        elif FastMathFlag.ALLOW_CONTRACT in found and e.facts.device.contract_mode:
            modes.append("AllowContract")
        if modes:
            e.module.decorate(id, "FPFastMathMode", "|".join(modes))
