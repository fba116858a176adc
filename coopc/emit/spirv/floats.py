"""Floats: bf16 is computed in f32, and what the IR allows to be relaxed is said.

SPIR-V converts bf16 and no more, and without an extension not even that: its bits are
shifted and rounded then, so an operation on it extends its operands to f32,
computes there, and rounds.  That is exactly the bf16 operation for +, -, *, / and sqrt:
f32 has more than twice the bits and two.

`arith` computes each operation by itself unless `fastmath` says otherwise, while both
flavours let a driver contract `a * b + c`: so Vulkan's operations are decorated with
NoContraction, and kernels of OpenCL have ContractionOff.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue

from coopc.emit.elements import element_of
from coopc.emit.spirv.emission import Binary, Emission, Unary
from coopc.spirv.instruction import Id

CONTRACTED = ("OpFAdd", "OpFSub", "OpFMul")
"""What a driver may fuse with another."""

_MODES = {
    FastMathFlag.NO_NANS: "NotNaN",
    FastMathFlag.NO_INFS: "NotInf",
    FastMathFlag.NO_SIGNED_ZEROS: "NSZ",
    FastMathFlag.ALLOW_RECIP: "AllowRecip",
}


def is_bf16(type: Attribute) -> bool:
    """Whether a number or the components of a vector are bf16."""
    return isinstance(element_of(type), BFloat16Type)


def widened(e: Emission, id: Id) -> Id:
    """A bf16, or a vector of it, as f32."""
    to = e.like(id.type, e.types.f32)
    if e.facts.bf16 is None:
        words = e.like(id.type, e.types.u32)
        word = e.emit("OpUConvert", id, type=words)
        high = e.emit("OpShiftLeftLogical", word, e.number(words, 16), type=words)
        return e.emit("OpBitcast", high, type=to)
    khr = e.facts.bf16 == "khr"
    return e.emit("OpFConvert" if khr else "OpConvertBF16ToFINTEL", id, type=to)


def narrowed(e: Emission, id: Id, to: Id) -> Id:
    """An f32, or a vector of it, rounded to bf16."""
    if e.facts.bf16 is None:
        return _rounded_bits(e, id, to)
    khr = e.facts.bf16 == "khr"
    return e.emit("OpFConvert" if khr else "OpConvertFToBF16INTEL", id, type=to)


def _rounded_bits(e: Emission, id: Id, to: Id) -> Id:
    """The upper 16 bits of f32, to nearest even: a NaN stays one, and gets quiet."""
    words, bools = e.like(id.type, e.types.u32), e.bools(id.type)

    def op(name: str, a: Id, b: Id | int) -> Id:
        other = e.number(words, b) if isinstance(b, int) else b
        return e.emit(name, a, other, type=words)

    word = e.emit("OpBitcast", id, type=words)
    high = op("OpShiftRightLogical", word, 16)
    up = op("OpIAdd", op("OpBitwiseAnd", high, 1), 0x7FFF)
    near = op("OpShiftRightLogical", op("OpIAdd", word, up), 16)
    is_nan = e.emit("OpIsNan", id, type=bools)
    found = e.emit("OpSelect", is_nan, op("OpBitwiseOr", high, 0x40), near, type=words)
    return e.emit("OpUConvert", found, type=to)


@overload
def each_float(
    e: Emission, result: SSAValue, operands: tuple[SSAValue], make: Unary
) -> None: ...


@overload
def each_float(
    e: Emission, result: SSAValue, operands: tuple[SSAValue, SSAValue], make: Binary
) -> None: ...


@overload
def each_float(
    e: Emission, result: SSAValue, operands: Sequence[SSAValue], make: Callable[..., Id]
) -> None: ...


def each_float(
    e: Emission, result: SSAValue, operands: Sequence[SSAValue], make: Callable[..., Id]
) -> None:
    """Set a float result part by part, as `Emission.each` does; bf16 through f32."""
    if not is_bf16(result.type):
        e.each(result, operands, make)
        return

    def through_f32(to: Id, *ids: Id) -> Id:
        wide = e.like(to, e.types.f32)
        return narrowed(e, make(wide, *(widened(e, id) for id in ids)), to)

    e.each(result, operands, through_f32)


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
