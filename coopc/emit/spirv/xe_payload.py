"""Address payloads of `xe`, as builtins of Intel's compiler."""

from __future__ import annotations

from coopc.dialects import xe
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.xe import (
    base_pointer,
    call,
    check_slots,
    number,
    piece_of,
)
from coopc.emit.spirv.xe_block import check_shape
from coopc.emit.spirv.xe_cache import number_of
from coopc.emit.structured import Refusal
from coopc.plan.block_message import LOAD_KINDS
from coopc.plan.block_shape import BlockMode, BlockShape
from coopc.spirv.statement import Id

handlers = Handlers()

PREFIX = "__builtin_IB_subgroup_"
MAX_SLOTS = 16
"""Slots that a builtin returns to a lane: components of SPIR-V's longest vector."""

_MODES = {
    BlockMode.PLAIN: "",
    BlockMode.TRANSFORM: "_transform",
    BlockMode.TRANSPOSE: "_transpose",
}


@handlers.on(xe.PayloadCreateOp)
def payload_create(e: Emission, op: xe.PayloadCreateOp) -> None:
    """A payload is a pointer that only builtins look at; it takes sizes less one."""
    shape = xe.shape_of(op.result)
    check_shape(e, LOAD_KINDS[shape.mode], shape)
    to = e.types.pointer("Function", e.types.u32)
    base = e.emit("OpConvertPtrToU", base_pointer(e, op.base), type=e.types.int(64))
    one = number(e, 1)
    surface = [
        e.emit("OpISub", e.id(size), one, type=e.types.u32)
        for size in (op.width, op.height, op.pitch)
    ]
    sizes = [number(e, size) for size in (shape.width, shape.height, shape.count)]
    arguments = [base, *surface, e.id(op.x), e.id(op.y), *sizes]
    name = f"{PREFIX}createBlock2DAddressPayload"
    e.set(op.result, (call(e, name, to, arguments),))


@handlers.on(xe.PayloadSetXOp)
def payload_set_x(e: Emission, op: xe.PayloadSetXOp) -> None:
    """One move."""
    _set(e, "X", e.id(op.payload), e.id(op.position))


@handlers.on(xe.PayloadSetYOp)
def payload_set_y(e: Emission, op: xe.PayloadSetYOp) -> None:
    """One move."""
    _set(e, "Y", e.id(op.payload), e.id(op.position))


def _set(e: Emission, field: str, payload: Id, position: Id) -> None:
    """Set a field of a payload."""
    void = e.module.type("OpTypeVoid")
    name = f"{PREFIX}setBlock2DAddressPayloadBlock{field}"
    call(e, name, void, [payload, position])


@handlers.on(xe.PayloadLoadOp)
def payload_load(e: Emission, op: xe.PayloadLoadOp) -> None:
    """A builtin that returns all slots as one vector, which is cut into pieces."""
    shape = xe.shape_of(op.payload)
    lanes = check_shape(e, LOAD_KINDS[shape.mode], shape)
    check_slots(shape, op.pieces, lanes)
    length = piece_of(op.pieces).element_count()
    if (slots := length * len(op.pieces)) > MAX_SLOTS:
        raise Refusal(
            f"expected at most {MAX_SLOTS} slots a lane of a payload's load, which "
            f"returns one vector, got {slots}"
        )
    vector = e.types.vector(e.element(op.pieces[0].type), slots)
    loaded = call(e, block_name("read_ap", shape), vector, _arguments(e, op, op.cache))
    if len(op.pieces) == 1:
        e.set(op.pieces[0], (loaded,))
        return
    (type,) = e.types.parts(op.pieces[0].type)
    for at, piece in enumerate(op.pieces):
        taken = range(at * length, (at + 1) * length)
        if length == 1:
            id = e.emit("OpCompositeExtract", loaded, at, type=type)
        else:
            id = e.emit("OpVectorShuffle", loaded, loaded, *taken, type=type)
        e.set(piece, (id,))


@handlers.on(xe.PayloadPrefetchOp)
def payload_prefetch(e: Emission, op: xe.PayloadPrefetchOp) -> None:
    """A builtin that returns nothing."""
    shape = xe.shape_of(op.payload)
    check_shape(e, "prefetch", shape)
    name = block_name("read_ap_prefetch", shape)
    void = e.module.type("OpTypeVoid")
    call(e, name, void, _arguments(e, op, op.cache))


def _arguments(
    e: Emission,
    op: xe.PayloadLoadOp | xe.PayloadPrefetchOp,
    cache: xe.CacheAttr | None,
) -> list[Id]:
    """The payload, immediate offsets, and the number of the cache controls."""
    offsets = (op.dx.value.data, op.dy.value.data)
    numbers = (*offsets, number_of(e, cache))
    return [e.id(op.payload), *(number(e, each) for each in numbers)]


def block_name(operation: str, shape: BlockShape) -> str:
    """The name of a builtin that uses a payload; it is not mangled.

    >>> block_name("read_ap", BlockShape(32, 16, 8, 1, BlockMode.TRANSPOSE))
    '__builtin_IB_subgroup_block_read_ap_transpose_u32_m16k8v1'
    """
    size = f"u{shape.bits}_m{shape.height}k{shape.width}v{shape.count}"
    return f"{PREFIX}block_{operation}{_MODES[shape.mode]}_{size}"
