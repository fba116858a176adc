"""What the block messages of `xe` need, as both emitters check it: lanes and slots."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from coopc.device import BlockKind, Device
from coopc.emit.structured import Refusal
from coopc.plan.block_message import why_not, why_not_slots
from coopc.plan.block_shape import BlockShape

MAX_PAYLOAD_SLOTS = 16
"""Slots that a builtin of payloads returns to a lane: components of SPIR-V's longest
vector."""


def fixed_lanes(subgroup_size: int | None) -> int:
    """The subgroup size, which `xe` needs to be fixed.

    Args:
        subgroup_size: lanes that the kernel fixes, None where it fixes none.

    Raises:
        Refusal: the kernel leaves it open.
    """
    if subgroup_size is None:
        raise Refusal(
            "expected simt.subgroup_size on the kernel: without it the compiler "
            "chooses a size, and the lanes hold other elements"
        )
    return subgroup_size


def check_message(
    kind: BlockKind, shape: BlockShape, device: Device, lanes: int
) -> None:
    """Check that a device has such a message.

    Raises:
        Refusal: it has not.
    """
    if (reason := why_not(kind, shape, device, lanes)) is not None:
        raise Refusal(reason)


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
