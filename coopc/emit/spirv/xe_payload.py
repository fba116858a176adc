"""Address payloads of `xe`, as builtins of Intel's compiler; and how K loops are short.

A payload is a register.  The builtins take and return it as a pointer that nothing may
look at; setting x or y is one move.  Their names are not mangled: the block's shape is
in the name, and must be that of the payload.

What the compiler makes of a K loop depends on its form far more than on its messages.
Measured with IGC 2.40.14 and 256 registers, the goldens test/emit/xe/gemm_*.mlir of
32 x 32 of C and variations of them, in instructions of a step on BMG and PVC:

| form                                                                  | BMG | PVC |
|-----------------------------------------------------------------------|-----|-----|
| A B, x of A and y of B are the loop's variable, an i32                | 26  | 26  |
| the same, or carried beside it with the same start and step           | 26  | 26  |
| the variable is an index, 64 bits, and cast                           | 30  | 30  |
| A B^T, the loop counts 32-bit columns h, x of A = h << 1              | 30  | 36  |
| x of B = h = 16 t, x of A = 32 t, of a step counter t                 | 30  | 36  |
| the loop counts k, h is carried beside it with its own step           | 32  | 38  |
| the loop counts k, x of B = k >> 1                                    | 35  | 49  |
| A B^T, loads of B share a payload: offsets are immediate              | 30  | 36  |
| a payload for each load of B                                          | 32  | 32  |
| A B, prefetches three steps ahead, without payloads                   | 42  | 47  |
| a payload for each, set to x + 96, computed in the body               | 30  | 35  |
| the same, the position carried through the loop                       | 31  | 36  |

So, for whoever makes such loops:

1. Count in i32, in the unit in which most streams have their positions along K, and
   derive all others by shl, mul and add.  A shift to the right hides from the compiler
   that h + 8 is a sum, and with it the immediate offset.
2. Carry accumulators only.  A second carried number with another step costs a move and
   a jump: its addition sinks into a block of its own.
3. The positions across K, and all that makes a surface, stand before the loop.
4. Prefetch through payloads, one for each block; load through them where x of one
   register serves many loads (Xe2: one payload, `immediate_offsets`), or where there is
   no immediate offset (PVC: one payload each).  Loads that take x or y from the loop's
   variable need none: the compiler keeps their addresses in registers by itself.
"""

from __future__ import annotations

from coopc.dialects import xe
from coopc.emit.block_rules import check_slots, payload_slots
from coopc.emit.cache_controls import builtin_number
from coopc.emit.intel_names import PAYLOAD_PREFIX, payload_name
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.xe import base_pointer, call, check_shape, number
from coopc.plan.block_message import LOAD_KINDS
from coopc.spirv.instruction import Id

handlers = Handlers()


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
    name = f"{PAYLOAD_PREFIX}createBlock2DAddressPayload"
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
    name = f"{PAYLOAD_PREFIX}setBlock2DAddressPayloadBlock{field}"
    call(e, name, void, [payload, position])


@handlers.on(xe.PayloadLoadOp)
def payload_load(e: Emission, op: xe.PayloadLoadOp) -> None:
    """A builtin that returns all slots as one vector, which is cut into pieces."""
    shape = xe.shape_of(op.payload)
    lanes = check_shape(e, LOAD_KINDS[shape.mode], shape)
    check_slots(shape, op.pieces, lanes)
    slots = payload_slots(op.pieces)
    vector = e.types.vector(e.element(op.pieces[0].type), slots)
    loaded = call(
        e, payload_name("read_ap", shape), vector, _arguments(e, op, op.cache)
    )
    if len(op.pieces) == 1:
        e.set(op.pieces[0], (loaded,))
        return
    (type,) = e.types.parts(op.pieces[0].type)
    length = slots // len(op.pieces)
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
    name = payload_name("read_ap_prefetch", shape)
    void = e.module.type("OpTypeVoid")
    call(e, name, void, _arguments(e, op, op.cache))


def _arguments(
    e: Emission,
    op: xe.PayloadLoadOp | xe.PayloadPrefetchOp,
    cache: xe.CacheAttr | None,
) -> list[Id]:
    """The payload, immediate offsets, and the number of the cache controls."""
    offsets = (op.dx.value.data, op.dy.value.data)
    numbers = (*offsets, builtin_number(cache, e.facts.device))
    return [e.id(op.payload), *(number(e, each) for each in numbers)]
