"""Address payloads of `xe`, as builtins of Intel's compiler, whose names are plain.

A payload is a pointer that nothing looks at.  `coopc.emit.spirv.xe_payload` says what
they are good for.
"""

from __future__ import annotations

from coopc.dialects import xe
from coopc.emit.block_rules import check_slots, payload_slots, piece_of
from coopc.emit.cache_controls import builtin_number
from coopc.emit.intel_names import PAYLOAD_PREFIX, payload_name
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.xe import check_shape, number, surface
from coopc.llvm.types import I64, Pointer, Vector
from coopc.llvm.values import Value
from coopc.plan.block_message import LOAD_KINDS

handlers = Handlers()

_NOUNWIND = "nounwind"


@handlers.on(xe.PayloadCreateOp)
def payload_create(e: Emission, op: xe.PayloadCreateOp) -> None:
    """A payload takes sizes less one."""
    shape = xe.shape_of(op.result)
    check_shape(e, LOAD_KINDS[shape.mode], shape)
    base = e.f.cast("ptrtoint", surface(e, op.base), I64)
    given = [e.value(size) for size in (op.width, op.height, op.pitch)]
    less: list[Value] = [e.f.binary("sub", size, number(1)) for size in given]
    sizes = [number(size) for size in (shape.width, shape.height, shape.count)]
    arguments = [base, *less, e.value(op.x), e.value(op.y), *sizes]
    name = f"{PAYLOAD_PREFIX}createBlock2DAddressPayload"
    e.set(op.result, e.call(name, Pointer(), arguments, attributes=_NOUNWIND))


@handlers.on(xe.PayloadSetXOp)
def payload_set_x(e: Emission, op: xe.PayloadSetXOp) -> None:
    """One move."""
    _set(e, "X", e.value(op.payload), e.value(op.position))


@handlers.on(xe.PayloadSetYOp)
def payload_set_y(e: Emission, op: xe.PayloadSetYOp) -> None:
    """One move."""
    _set(e, "Y", e.value(op.payload), e.value(op.position))


def _set(e: Emission, field: str, payload: Value, position: Value) -> None:
    name = f"{PAYLOAD_PREFIX}setBlock2DAddressPayloadBlock{field}"
    e.do(name, [payload, position], attributes=_NOUNWIND)


@handlers.on(xe.PayloadLoadOp)
def payload_load(e: Emission, op: xe.PayloadLoadOp) -> None:
    """A builtin that returns all slots as one vector, which is cut into pieces."""
    shape = xe.shape_of(op.payload)
    lanes = check_shape(e, LOAD_KINDS[shape.mode], shape)
    check_slots(shape, op.pieces, lanes)
    slots = payload_slots(op.pieces)
    length = slots // len(op.pieces)
    element = e.types.number(piece_of(op.pieces).element_type)
    type = e.types.vector(element, slots)
    name = payload_name("read_ap", shape)
    loaded = e.call(name, type, _arguments(e, op, op.cache), attributes=_NOUNWIND)
    for at, piece in enumerate(op.pieces):
        taken = range(at * length, (at + 1) * length)
        whole = slots == length or not isinstance(type, Vector)
        e.set(piece, loaded if whole else e.shuffled(loaded, None, taken))


@handlers.on(xe.PayloadPrefetchOp)
def payload_prefetch(e: Emission, op: xe.PayloadPrefetchOp) -> None:
    """A builtin that returns nothing."""
    shape = xe.shape_of(op.payload)
    check_shape(e, "prefetch", shape)
    name = payload_name("read_ap_prefetch", shape)
    e.do(name, _arguments(e, op, op.cache), attributes=_NOUNWIND)


def _arguments(
    e: Emission,
    op: xe.PayloadLoadOp | xe.PayloadPrefetchOp,
    cache: xe.CacheAttr | None,
) -> list[Value]:
    """The payload, immediate offsets, and the number of the cache controls."""
    offsets = (
        op.dx.value.data,
        op.dy.value.data,
        builtin_number(cache, e.facts.device),
    )
    return [e.value(op.payload), *map(number, offsets)]
