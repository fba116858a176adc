"""What the block messages of `xe` need, as both emitters check it: lanes and slots."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, VectorType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from coopc.device import Device
from coopc.dialects import xe
from coopc.dialects.xe import (
    SPLIT_LANES,
    SPLIT_PRECISIONS,
    CacheControl,
    Precision,
)
from coopc.emit.walker import Refusal, count_of, element_of
from coopc.plan.block_message import BlockMode, BlockShape, why_not_slots

MAX_PAYLOAD_SLOTS = 16
"""Slots that a builtin of payloads returns to a lane: components of SPIR-V's longest
vector."""


def piece_of(pieces: Sequence[SSAValue]) -> VectorType[IntegerType]:
    """The type of the pieces of a block: they are equal, the verifier has checked."""
    type = pieces[0].type
    assert isa(type, VectorType[IntegerType]), type
    return type


def check_slots(shape: BlockShape, pieces: Sequence[SSAValue], lanes: int) -> None:
    """Check that pieces have the slots in which a block arrives.

    Raises:
        Refusal: they are of another width, or for another number of lanes.
    """
    type = piece_of(pieces)
    bits = type.get_element_type().width.data
    if (reason := why_not_slots(shape, bits, lanes)) is not None:
        raise Refusal(reason)
    slots = len(pieces) * type.element_count()
    if (expected := shape.bytes * 8 // (lanes * bits)) != slots:
        raise Refusal(
            f"expected {expected} slots of {bits} bits, which each of {lanes} lanes "
            f"gets of {shape}, got {slots}"
        )


def payload_slots(pieces: Sequence[SSAValue]) -> int:
    """How many slots the load of a payload returns to a lane, as one vector.

    Raises:
        Refusal: they are more than a vector has.
    """
    slots = piece_of(pieces).element_count() * len(pieces)
    if slots > MAX_PAYLOAD_SLOTS:
        raise Refusal(
            f"expected at most {MAX_PAYLOAD_SLOTS} slots a lane of a payload's load, "
            f"which returns one vector, got {slots}"
        )
    return slots


# What the multiplications of `xe` need, as both emitters check it, and their flags.
#
# What the operands of OpSubgroupMatrixMultiplyAccumulateINTEL are, on the devices:
#
# | lanes  | A of M rows                          | B            | C of M rows       |
# |--------|--------------------------------------|--------------|-------------------|
# | 16     | M x i16; tf32: ceil(M / 2) x f32     | 8 x i32, f32 | M x T             |
# | 32     | M / 2 x i16; tf32: ceil(M / 4) x f32 | 4 x i32, f32 | M / 2 x T         |
# | 8, dg2 | M x i32                              | 8 x i32      | M x f32, i32      |
#
# which is what `xe.dpas` has, but for tf32, whose bits are floats here.  The flags say
# what the packed integers hold; every one that applies must be given.
#
# Where the hardware has no split DPAS, Intel's compiler takes its names, and emits
# nothing or half of the work: so they are refused here.

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
    for precision in precisions:
        if precision not in has:
            raise Refusal(
                f"expected {', '.join(has)}, which {device} multiplies, got {precision}"
            )


def _check_operands(op: xe.DpasOp, lanes: int, n: int, device: str) -> None:
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


# Which cache controls of `xe` devices have: pairs, one of L1 and one of L3.
#
# | L1, of a load         | with L3                                               |
# |-----------------------|-------------------------------------------------------|
# | uncached, cached      | uncached, cached; from Xe2 on const_cached            |
# | streaming             | uncached, cached                                      |
# | invalidate_after_read | cached; from Xe2 on invalidate_after_read             |
#
# | L1, of a store                            | with L3              |
# |-------------------------------------------|----------------------|
# | uncached, streaming, write_through        | uncached, write_back |
# | write_back                                | write_back           |
#
# What one level leaves open is cached, or write_back in a store.  Intel's compiler
# takes any other pair, warns, and asks for nothing: so they are refused here.
#
# Source: 2.40.14 tried on every pair for PVC, BMG, LNL and PTL.

Pair = tuple[CacheControl, CacheControl]

_DEFAULT = CacheControl.DEFAULT
_UC, _C = CacheControl.UNCACHED, CacheControl.CACHED
_S, _IAR = CacheControl.STREAMING, CacheControl.INVALIDATE_AFTER_READ
_CONST = CacheControl.CONST_CACHED
_WT, _WB = CacheControl.WRITE_THROUGH, CacheControl.WRITE_BACK

LOAD_PAIRS: tuple[Pair, ...] = (
    *((l1, l3) for l1 in (_UC, _C, _S) for l3 in (_UC, _C)),
    (_IAR, _C),
)
"""(L1, L3) of loads, in the order of the numbers from 1 that builtins take."""
XE2_LOAD_PAIRS: tuple[Pair, ...] = ((_UC, _CONST), (_C, _CONST), (_IAR, _IAR))
"""More of them, which builtins have no number for."""
STORE_PAIRS: tuple[Pair, ...] = (
    *((l1, l3) for l1 in (_UC, _WT, _S) for l3 in (_UC, _WB)),
    (_WB, _WB),
)


def resolved(cache: xe.CacheAttr | None, open_level: CacheControl) -> Pair | None:
    """What is asked of L1 and L3; None where nothing is."""
    if cache is None or cache.data == (_DEFAULT, _DEFAULT):
        return None
    l1, l3 = (open_level if level is _DEFAULT else level for level in cache.data)
    return l1, l3


def why_not_pair(pair: Pair, device: Device, *, store: bool) -> str | None:
    """Why a device has no such pair of controls, or None."""
    allowed = STORE_PAIRS if store else LOAD_PAIRS
    # What Xe2 added came with the free immediate offsets.
    if not store and device.block_io is not None and device.block_io.immediate_offsets:
        allowed += XE2_LOAD_PAIRS
    if pair in allowed:
        return None
    fitting = [l3 for l1, l3 in allowed if l1 is pair[0]]
    if fitting:
        return (
            f"expected l3 = {' or '.join(fitting)}, which {device.name} has with "
            f"l1 = {pair[0]}, got {pair[1]}"
        )
    has = dict.fromkeys(l1 for l1, _ in allowed)
    return f"expected l1 = {' or '.join(has)}, which {device.name} has, got {pair[0]}"


def asked(
    cache: xe.CacheAttr | None, device: Device, *, store: bool = False
) -> Pair | None:
    """What is asked of L1 and L3 of a device; None where nothing is.

    Raises:
        Refusal: the device has no such pair of controls.
    """
    pair = resolved(cache, _WB if store else _C)
    if pair is None:
        return None
    if (reason := why_not_pair(pair, device, store=store)) is not None:
        raise Refusal(reason)
    return pair


def builtin_number(cache: xe.CacheAttr | None, device: Device) -> int:
    """The number by which a builtin that loads is told what to ask of the caches.

    Raises:
        Refusal: there is none for that pair of controls.
    """
    pair = resolved(cache, _C)
    if pair is None:
        return 0
    if pair not in LOAD_PAIRS:
        reason = why_not_pair(pair, device, store=False)
        raise Refusal(
            reason
            or "expected controls for which the builtins of payloads have a number, "
            f"got l1 = {pair[0]}, l3 = {pair[1]}"
        )
    return 1 + LOAD_PAIRS.index(pair)


# Names of the builtins of Intel's compiler, which both emitters call.
#
# A name that the compiler does not know stays a call, with no more than a warning, so
# names are made of checked parts only.  Split DPAS is Intel's OpenCL builtin, of which
# DG2 has these; the names are mangled by the Itanium rules, a u8 operand is of unsigned
# integers:
#
#     intel_sub_group_{s}_{t}_split_matrix_mad_k32(a, b, c), s and t of i8, u8
#     intel_sub_group_{t}_{t}_split_matrix_mad_k16(a, b, c), t of f16, bf16
#
# Names of payloads' builtins are not mangled: the block's shape is in the name.

PAYLOAD_PREFIX = "__builtin_IB_subgroup_"

_MODES = {
    BlockMode.PLAIN: "",
    BlockMode.TRANSFORM: "_transform",
    BlockMode.TRANSPOSE: "_transpose",
}


def payload_name(operation: str, shape: BlockShape) -> str:
    """The name of a builtin that uses a payload.

    >>> payload_name("read_ap", BlockShape(32, 16, 8, 1, BlockMode.TRANSPOSE))
    '__builtin_IB_subgroup_block_read_ap_transpose_u32_m16k8v1'
    """
    size = f"u{shape.bits}_m{shape.height}k{shape.width}v{shape.count}"
    return f"{PAYLOAD_PREFIX}block_{operation}{_MODES[shape.mode]}_{size}"


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
