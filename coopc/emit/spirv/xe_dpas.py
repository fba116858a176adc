"""Multiplications of `xe`: SPV_INTEL_subgroup_matrix_multiply_accumulate, and builtins.

What the operands of OpSubgroupMatrixMultiplyAccumulateINTEL are, on the devices:

| lanes  | A of M rows                          | B            | C of M rows       |
|--------|--------------------------------------|--------------|-------------------|
| 16     | M x i16; tf32: ceil(M / 2) x f32     | 8 x i32, f32 | M x T             |
| 32     | M / 2 x i16; tf32: ceil(M / 4) x f32 | 4 x i32, f32 | M / 2 x T         |
| 8, dg2 | M x i32                              | 8 x i32      | M x f32, i32      |

which is what `xe.dpas` has, but for tf32, whose bits are floats here.  The flags say
what the packed integers hold; every one that applies must be given.

Split DPAS has no instruction.  It is Intel's OpenCL builtin, of which DG2 has these;
the names are mangled by the Itanium rules, a u8 operand is of unsigned integers:

    intel_sub_group_{s}_{t}_split_matrix_mad_k32(a, b, c), s and t of i8, u8
    intel_sub_group_{t}_{t}_split_matrix_mad_k16(a, b, c), t of f16, bf16

Where the hardware has no split DPAS, Intel's compiler takes the names, and emits
nothing or half of the work: so they are refused here.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import SSAValue

from coopc.dialects import xe
from coopc.dialects.xe import Precision
from coopc.emit.elements import count_of, element_of
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.xe import call, check_precisions, lanes_of, number
from coopc.emit.structured import Refusal
from coopc.spirv.statement import Id

handlers = Handlers()

SPLIT_PRECISIONS = (Precision.S8, Precision.U8, Precision.F16, Precision.BF16)

_PACKED = {
    Precision.S8: "PackedInt8INTEL",
    Precision.U8: "PackedInt8INTEL",
    Precision.S4: "PackedInt4INTEL",
    Precision.U4: "PackedInt4INTEL",
    Precision.F16: "PackedFloat16INTEL",
    Precision.BF16: "PackedBFloat16INTEL",
    Precision.TF32: "TF32INTEL",
}
_SIGNED = (Precision.S8, Precision.S4)


@handlers.on(xe.DpasOp)
def dpas(e: Emission, op: xe.DpasOp) -> None:
    """One multiplication of the subgroup."""
    lanes = lanes_of(e)
    device = e.facts.device
    if device.dpas is None:
        raise Refusal(f"{device.name} has no DPAS")
    check_precisions(e, op.precisions, device.dpas.operands)
    check_lanes(op, lanes, device.dpas.lanes, device.name)
    sides = zip((op.a, op.b), op.precisions, strict=True)
    a, b = (_operand(e, value, precision) for value, precision in sides)
    (type,) = e.types.parts(op.result.type)
    k = number(e, op.precisions[0].k)
    name = "OpSubgroupMatrixMultiplyAccumulateINTEL"
    mask = flags(op.precisions, bf16=isinstance(element_of(op.c.type), BFloat16Type))
    e.set(op.result, (e.emit(name, k, a, b, e.id(op.c), mask, type=type),))


def flags(precisions: tuple[Precision, Precision], *, bf16: bool) -> str:
    """The flags of a multiplication.

    >>> flags((Precision.S8, Precision.U8), bf16=False)
    'MatrixASignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL'
    """
    sides = tuple(zip("AB", precisions, strict=True))
    found = [f"Matrix{side}SignedComponentsINTEL" for side, p in sides if p in _SIGNED]
    found += ["MatrixCBFloat16INTEL", "MatrixResultBFloat16INTEL"] if bf16 else []
    found += [f"Matrix{side}{_PACKED[p]}" for side, p in sides]
    return "|".join(found)


def _operand(e: Emission, value: SSAValue, precision: Precision) -> Id:
    """An operand: the bits of tf32 as floats."""
    id = e.id(value)
    if precision is not Precision.TF32:
        return id
    type = e.types.vector(e.types.f32, count_of(value.type))
    return e.emit("OpBitcast", id, type=type)


def check_lanes(op: xe.DpasOp, lanes: int, n: int, device: str) -> None:
    """Check that the operands are those of the device's engine.

    Raises:
        Refusal: the subgroup is too narrow or too wide, or they are another's.
    """
    repeat = op.repeat.value.data
    if lanes < n or (n == 8 and lanes != n):
        raise Refusal(
            f"expected a subgroup of {n} lanes, which DPAS of {device} needs, got "
            f"{lanes}"
        )
    if repeat * n < lanes:
        raise Refusal(
            f"expected a repeat count of at least {lanes // n}, which gives each of "
            f"{lanes} lanes an element of c, got {repeat}"
        )
    a, b, length = xe.operand_types(op.precisions[0], repeat, lanes, n)
    c = count_of(op.c.type)
    if (op.a.type, op.b.type, c) != (a, b, length):
        raise Refusal(
            f"expected {a}, {b} and {length} of c, a lane's share on {device} with "
            f"{lanes} lanes, got {op.a.type}, {op.b.type} and {c}"
        )
    element = element_of(op.c.type)
    if n == 8 and isinstance(element, Float16Type | BFloat16Type):
        raise Refusal(
            f"expected c of f32, which {device} accumulates in, got {element}"
        )


@handlers.on(xe.SplitDpasOp)
def split_dpas(e: Emission, op: xe.SplitDpasOp) -> None:
    """A multiplication of two subgroups."""
    device = e.facts.device
    if device.split_pair is None:
        raise Refusal(f"{device.name} has no split DPAS: DG2 has")
    if (lanes := lanes_of(e)) != 8:
        raise Refusal(f"expected a subgroup of 8 lanes for split DPAS, got {lanes}")
    check_precisions(e, op.precisions, SPLIT_PRECISIONS)
    (type,) = e.types.parts(op.result.type)
    name = split_name(op.precisions, op.repeat.value.data)
    arguments = [e.id(value) for value in (op.a, op.b, op.c)]
    e.set(op.result, (call(e, name, type, arguments),))


def split_name(precisions: tuple[Precision, Precision], repeat: int) -> str:
    """The mangled name of a builtin of split DPAS.

    >>> split_name((Precision.F16, Precision.F16), 8)
    '_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f'
    >>> split_name((Precision.S8, Precision.S8), 2)
    '_Z42intel_sub_group_i8_i8_split_matrix_mad_k32iDv8_iDv2_i'
    """
    a, b = (
        {Precision.S8: "i8"}.get(precision, precision.value) for precision in precisions
    )
    name = f"intel_sub_group_{a}_{b}_split_matrix_mad_k{precisions[0].k}"
    letters = ["j" if p is Precision.U8 else "i" for p in precisions]
    letters.append("i" if precisions[0].is_integer else "f")
    lengths = (repeat // 2, 8, repeat)
    return f"_Z{len(name)}{name}{mangled(list(zip(letters, lengths, strict=True)))}"


def mangled(parameters: Sequence[tuple[str, int]]) -> str:
    """Vectors of a builtin type as the Itanium C++ ABI mangles them.

    A vector that occurred before is `S_`, `S0_`, `S1_` and so on, counted in the order
    in which they first occur; a single number is no vector.

    >>> mangled([("i", 4), ("i", 8), ("i", 8)])
    'Dv4_iDv8_iS0_'
    """
    seen: list[tuple[str, int]] = []
    text = ""
    for letter, length in parameters:
        if length == 1:
            text += letter
        elif (letter, length) in seen:
            at = seen.index((letter, length))
            text += f"S{at - 1 if at else ''}_"
        else:
            seen.append((letter, length))
            text += f"Dv{length}_{letter}"
    return text
