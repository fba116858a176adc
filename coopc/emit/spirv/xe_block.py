"""Block messages of `xe`: SPV_INTEL_2d_block_io, SPV_INTEL_subgroups.

The instructions for 2D blocks load to memory and store from it: to a variable of the
function, an array of the pieces, which Intel's compiler turns into registers as long as
the pieces have the slots in which the block arrives (`coopc.plan.block_message`), each
variable is of one message, and each piece is loaded whole.  Then it costs nothing.

How loops should be written for the compiler to keep the address in a register, and what
that gives, is in `coopc.emit.spirv.xe_payload`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from coopc.dialects import xe
from coopc.emit.block_rules import check_slots
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.xe import base_pointer, check_shape, lanes_of, number
from coopc.emit.spirv.xe_cache import decorated
from coopc.plan.block_message import LOAD_KINDS
from coopc.plan.block_shape import BlockMode, BlockShape
from coopc.spirv.instruction import Id

handlers = Handlers()

_LOADS = {
    BlockMode.PLAIN: "OpSubgroup2DBlockLoadINTEL",
    BlockMode.TRANSFORM: "OpSubgroup2DBlockLoadTransformINTEL",
    BlockMode.TRANSPOSE: "OpSubgroup2DBlockLoadTransposeINTEL",
}


@handlers.on(xe.BlockLoad2DOp)
def block_load_2d(e: Emission, op: xe.BlockLoad2DOp) -> None:
    """A load to a variable, from which the pieces are loaded."""
    shape = op.block.data
    lanes = check_shape(e, LOAD_KINDS[shape.mode], shape)
    check_slots(shape, op.pieces, lanes)
    base = decorated(e, base_pointer(e, op.base), op.cache)
    variable = _Pieces(e, op.pieces)
    e.do(_LOADS[shape.mode], *_sizes(e, shape), base, *_where(e, op), variable.id)
    for at, piece in enumerate(op.pieces):
        e.set(piece, (e.emit("OpLoad", variable.pointer(at), type=variable.type),))


@handlers.on(xe.BlockLoadOp)
def block_load(e: Emission, op: xe.BlockLoadOp) -> None:
    """OpSubgroupBlockReadINTEL, at a number of bytes from the base.

    Bytes: Intel's compiler shifts an index of wider elements for each message.
    """
    lanes_of(e)
    base, u8, slot = base_pointer(e, op.base), e.types.int(8), e.types.int(op.slot_bits)
    bytes = e.types.pointer("CrossWorkgroup", u8)
    if base.type is not bytes:
        base = e.emit("OpBitcast", base, type=bytes)
    offset, guard = e.id(op.offset), None
    if op.guard is not None:
        # What is not wanted is read from where there is something.
        guard, zero = e.id(op.guard), e.module.constant(e.types.u32, 0)
        offset = e.emit("OpSelect", guard, offset, zero, type=e.types.u32)
    at = e.emit("OpUConvert", offset, type=e.types.int(64))
    place = e.emit("OpInBoundsPtrAccessChain", base, at, type=bytes)
    slots = e.types.pointer("CrossWorkgroup", slot)
    if slots is not bytes:
        place = e.emit("OpBitcast", place, type=slots)
    (type,) = e.types.parts(op.result.type)
    found = e.emit("OpSubgroupBlockReadINTEL", place, type=type)
    if guard is not None:
        found = e.emit(
            "OpSelect", guard, found, e.module.constant_null(type), type=type
        )
    e.set(op.result, (found,))


@handlers.on(xe.BlockStore2DOp)
def block_store_2d(e: Emission, op: xe.BlockStore2DOp) -> None:
    """The pieces to a variable, and a store from there."""
    shape = op.block.data
    lanes = check_shape(e, "store", shape)
    check_slots(shape, op.pieces, lanes)
    base = decorated(e, base_pointer(e, op.base), op.cache, store=True)
    variable = _Pieces(e, op.pieces)
    for at, piece in enumerate(op.pieces):
        e.do("OpStore", variable.pointer(at), e.id(piece))
    name = "OpSubgroup2DBlockStoreINTEL"
    e.do(name, *_sizes(e, shape), variable.id, base, *_where(e, op))


@handlers.on(xe.BlockPrefetch2DOp)
def block_prefetch_2d(e: Emission, op: xe.BlockPrefetch2DOp) -> None:
    """A load to nowhere."""
    shape = op.block.data
    check_shape(e, "prefetch", shape)
    base = decorated(e, base_pointer(e, op.base), op.cache)
    name = "OpSubgroup2DBlockPrefetchINTEL"
    e.do(name, *_sizes(e, shape), base, *_where(e, op))


def _sizes(e: Emission, shape: BlockShape) -> tuple[Id, ...]:
    """Bytes of an element, width, height and number of blocks."""
    sizes = (shape.bits // 8, shape.width, shape.height, shape.count)
    return tuple(number(e, size) for size in sizes)


def _where(e: Emission, op: xe.BlockOp) -> tuple[Id, ...]:
    """Width, height and pitch of the surface, and the position."""
    pair = e.types.vector(e.types.u32, 2)
    position = e.emit("OpCompositeConstruct", e.id(op.x), e.id(op.y), type=pair)
    return e.id(op.width), e.id(op.height), e.id(op.pitch), position


class _Pieces:
    """A variable that holds the pieces of one message."""

    def __init__(self, e: Emission, pieces: Sequence[SSAValue]) -> None:
        """Make a variable of one piece, or of an array of them."""
        self._e = e
        (self.type,) = e.types.parts(pieces[0].type)
        self._many = len(pieces) > 1
        whole = self.type
        if self._many:
            count = number(e, len(pieces))
            whole = e.module.type("OpTypeArray", self.type, count)
        self.id = e.function.local_variable(e.types.pointer("Function", whole))

    def pointer(self, at: int) -> Id:
        """Where a piece is."""
        if not self._many:
            return self.id
        to = self._e.types.pointer("Function", self.type)
        index = number(self._e, at)
        return self._e.emit("OpInBoundsAccessChain", self.id, index, type=to)
