"""emulate-xe: blocks, DPAS and payloads become plain code of lanes, for any device.

Before:  operations of `xe`, split barriers, in kernels of 8, 16 or 32 lanes
After:   calls of private functions of `simt`, `vector`, `arith`, `memref` and `scf`,
         one for each operation and shape; whole barriers; no hints
Fails:   where the lanes of a kernel are not known or do not hold the pieces; for
         surfaces on elements that cannot be written in part; for split DPAS that not
         all subgroups execute, or an odd one; for payloads through blocks and calls.
         Nothing is changed then
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import simt, xe
from coopc.ir.control_flow import kernel_around
from coopc.ir.uniformity import Uniformity, Variation
from coopc.passes.xe.emulate.blocks import why_no_memory
from coopc.passes.xe.emulate.emulator import (
    Emulator,
    channel_block,
    multiplication,
    piece_of,
)
from coopc.plan.block_message import why_not_slots
from coopc.plan.block_shape import BlockShape

LANES = (8, 16, 32)
PAIR = 2
"""Subgroups that share the rows of A."""


@dataclass(frozen=True)
class EmulateXePass(ModulePass):
    """Replace the operations of `xe` by code that any device runs."""

    name = "emulate-xe"

    unroll: bool = False
    """Whether loops over what a lane holds are written out."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite it."""
        found = [x for x in op.walk() if _is_emulated(x)]
        uniformity: Uniformity | None = None
        for each in found:
            if isinstance(each, xe.SplitDpasOp) and uniformity is None:
                uniformity = Uniformity(op)
            if (reason := why_not(each, uniformity)) is not None:
                each.emit_error(reason, PassFailedException(reason))
        emulator = Emulator(op, self.unroll)
        lanes = {each: _lanes(each) for each in found}
        for each in found:
            emulator.emulate(each, lanes[each] or 0)
        emulator.drop_payloads()


def why_not(op: Operation, uniformity: Uniformity | None) -> str | None:
    """Return the reason why an operation cannot be emulated, or None.

    Args:
        op: one of `xe`, or half a barrier.
        uniformity: of the module; only a split DPAS asks for it.
    """
    lanes = _lanes(op)
    match op:
        case xe.BlockLoad2DOp():
            types = [x.type for x in op.pieces]
            return _why_not_block(op.block.data, types, op.base, lanes, stores=False)
        case xe.BlockLoadOp():
            return _why_not_channels(op, lanes)
        case xe.BlockStore2DOp():
            types = [x.type for x in op.pieces]
            return _why_not_block(op.block.data, types, op.base, lanes, stores=True)
        case xe.DpasOp():
            if lanes not in LANES:
                return _no_lanes(lanes)
            types = (op.a.type, op.b.type, op.c.type)
            repeat = op.repeat.value.data
            return multiplication(op.precisions, repeat, lanes, types).why_not()
        case xe.SplitDpasOp():
            assert uniformity is not None
            return _why_not_split(op, lanes, uniformity)
        case xe.PayloadLoadOp():
            if (reason := _why_not_payload(op.payload)) is not None:
                return reason
            assert isinstance(op.payload.owner, xe.PayloadCreateOp)
            base, shape = op.payload.owner.base, xe.shape_of(op.payload)
            types = [x.type for x in op.pieces]
            return _why_not_block(shape, types, base, lanes, stores=False)
        case xe.PayloadSetXOp() | xe.PayloadSetYOp() | xe.PayloadPrefetchOp():
            return _why_not_payload(op.payload)
        case _:
            return None


def _is_emulated(op: Operation) -> bool:
    return op.name.startswith("xe.") or isinstance(
        op, simt.BarrierArriveOp | simt.BarrierWaitOp
    )


def _lanes(op: Operation) -> int | None:
    """Return the lanes of the kernel around an operation, if it says so."""
    kernel = kernel_around(op)
    return None if kernel is None else simt.kernel_of(kernel).subgroup_size


def _no_lanes(lanes: int | None) -> str:
    return (
        f"expected a kernel with {simt.SUBGROUP_SIZE} of 8, 16 or 32, got "
        f"{'none' if lanes is None else lanes}"
    )


def _why_not_block(
    shape: BlockShape,
    types: Sequence[Attribute],
    base: SSAValue,
    lanes: int | None,
    *,
    stores: bool,
) -> str | None:
    """Return why lanes do not hold these pieces of a block, or None."""
    if lanes not in LANES:
        return _no_lanes(lanes)
    piece = piece_of(shape, types, base, lanes)
    if (reason := why_not_slots(shape, piece.slot_bits, lanes)) is not None:
        return reason
    bits, wanted = piece.pieces * piece.slots * piece.slot_bits, shape.bytes * 8
    if bits * lanes != wanted:
        return (
            f"expected {wanted} bits in {lanes} lanes, which {shape} has, got "
            f"{bits * lanes}"
        )
    return why_no_memory(piece.base, shape, stores)


def _why_not_channels(op: xe.BlockLoadOp, lanes: int | None) -> str | None:
    """Return why channels cannot be read from memory, or None."""
    if lanes not in LANES:
        return _no_lanes(lanes)
    shape = channel_block(op, lanes)
    return _why_not_block(shape, [op.result.type], op.base, lanes, stores=False)


def _why_not_split(
    op: xe.SplitDpasOp, lanes: int | None, uniformity: Uniformity
) -> str | None:
    """Return why a pair of subgroups cannot exchange rows, or None."""
    if lanes != LANES[0]:
        return (
            f"expected a kernel with {simt.SUBGROUP_SIZE} of 8, which split DPAS has, "
            f"got {'none' if lanes is None else lanes}"
        )
    kernel = kernel_around(op)
    assert kernel is not None
    subgroups = simt.kernel_of(kernel).subgroups
    if subgroups % PAIR:
        return f"expected pairs of subgroups for split DPAS, got {subgroups}"
    if uniformity.around(op) is not Variation.NONE:
        return (
            "expected split DPAS where all subgroups of the work-group execute it, "
            "as its emulation waits for all, got control flow that varies"
        )
    return None


def _why_not_payload(payload: SSAValue) -> str | None:
    """Return why the surface of a payload is not known, or None."""
    if isinstance(payload.owner, xe.PayloadCreateOp):
        return None
    return "expected a payload of xe.payload_create, got one through a block"
