"""What the multiplications of `xe` need, as both emitters check it, and their flags.

What the operands of OpSubgroupMatrixMultiplyAccumulateINTEL are, on the devices:

| lanes  | A of M rows                          | B            | C of M rows       |
|--------|--------------------------------------|--------------|-------------------|
| 16     | M x i16; tf32: ceil(M / 2) x f32     | 8 x i32, f32 | M x T             |
| 32     | M / 2 x i16; tf32: ceil(M / 4) x f32 | 4 x i32, f32 | M / 2 x T         |
| 8, dg2 | M x i32                              | 8 x i32      | M x f32, i32      |

which is what `xe.dpas` has, but for tf32, whose bits are floats here.  The flags say
what the packed integers hold; every one that applies must be given.

Where the hardware has no split DPAS, Intel's compiler takes its names, and emits
nothing or half of the work: so they are refused here.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type

from coopc.device import Device
from coopc.dialects import xe
from coopc.dialects.xe import Precision
from coopc.emit.elements import count_of, element_of
from coopc.emit.structured import Refusal

SPLIT_PRECISIONS = (Precision.S8, Precision.U8, Precision.F16, Precision.BF16)
SPLIT_LANES = 8

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


def check_dpas(op: xe.DpasOp, device: Device, lanes: int) -> None:
    """Check that a device has a multiplication.

    Raises:
        Refusal: it multiplies nothing, or no such operands.
    """
    if device.dpas is None:
        raise Refusal(f"{device.name} has no DPAS")
    _check_precisions(op.precisions, device.dpas.operands, device.name)
    _check_operands(op, lanes, device.dpas.lanes, device.name)


def check_split(device: Device) -> None:
    """Check that a device has multiplications of two subgroups.

    Raises:
        Refusal: it has none.
    """
    if device.split_pair is None:
        raise Refusal(f"{device.name} has no split DPAS: DG2 has")


def check_split_dpas(op: xe.SplitDpasOp, device: Device, lanes: int) -> None:
    """Check that a device that has split DPAS has this one.

    Raises:
        Refusal: it has none by such subgroups, or of such operands.
    """
    if lanes != SPLIT_LANES:
        raise Refusal(
            f"expected a subgroup of {SPLIT_LANES} lanes for split DPAS, got {lanes}"
        )
    _check_precisions(op.precisions, SPLIT_PRECISIONS, device.name)


def _check_precisions(
    precisions: Sequence[Precision], has: Sequence[str], device: str
) -> None:
    """Check that a device multiplies those."""
    for precision in precisions:
        if precision not in has:
            raise Refusal(
                f"expected {', '.join(has)}, which {device} multiplies, got {precision}"
            )


def _check_operands(op: xe.DpasOp, lanes: int, n: int, device: str) -> None:
    """Check that the operands are those of the device's engine, of n lanes."""
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


def flags_of(op: xe.DpasOp) -> str:
    """The flags of a multiplication, by the names that SPIR-V has for them."""
    return flags(op.precisions, bf16=isinstance(element_of(op.c.type), BFloat16Type))


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
