"""Block messages of `xe`, as calls of the builtins of Intel's extensions.

Those of SPV_INTEL_2d_block_io load to memory and store from it: to a variable of the
function, an array of the pieces, which Intel's compiler turns into registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from coopc.dialects import xe
from coopc.emit.block_rules import check_slots
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.simt import CONVERGENT
from coopc.emit.llvm.simt_blocks import block_name
from coopc.emit.llvm.xe import (
    cache_controls,
    check_shape,
    lanes_of,
    number,
    surface,
)
from coopc.llvm.types import I32, I64, Array, Int, Type, Vector, component, width
from coopc.llvm.values import Value, integer, poison
from coopc.plan.block_message import LOAD_KINDS
from coopc.plan.block_shape import BlockMode, BlockShape

handlers = Handlers()

LOADS = {
    BlockMode.PLAIN: ("_Z32__spirv_Subgroup2DBlockLoadINTELiiiiPU3AS1viiiDv2_iPv"),
    BlockMode.TRANSFORM: (
        "_Z41__spirv_Subgroup2DBlockLoadTransformINTELiiiiPU3AS1viiiDv2_iPv"
    ),
    BlockMode.TRANSPOSE: (
        "_Z41__spirv_Subgroup2DBlockLoadTransposeINTELiiiiPU3AS1viiiDv2_iPv"
    ),
}
STORE = "_Z33__spirv_Subgroup2DBlockStoreINTELiiiiPvPU3AS1viiiDv2_i"
PREFETCH = "_Z36__spirv_Subgroup2DBlockPrefetchINTELiiiiPU3AS1viiiDv2_i"

_SURFACE, _STORE_SURFACE = 4, 5
"""Which argument the surface is."""
_SIZES, _REST = ("",) * 4, ("",) * 4
_READ, _WRITTEN = "nonnull readonly", "nonnull writeonly"
_ACCESS = "nounwind willreturn"


@handlers.on(xe.BlockLoad2DOp)
def block_load_2d(e: Emission, op: xe.BlockLoad2DOp) -> None:
    """A load to a variable, from which the pieces are loaded."""
    shape = op.block.data
    lanes = check_shape(e, LOAD_KINDS[shape.mode], shape)
    check_slots(shape, op.pieces, lanes)
    pieces = _Pieces(e, op.pieces)
    e.do(
        LOADS[shape.mode],
        [*_sizes(shape), surface(e, op.base), *_where(e, op), pieces.base],
        attributes=_ACCESS,
        parameter_attributes=(*_SIZES, _READ, *_REST, _WRITTEN),
        metadata=cache_controls(e, op.cache, _SURFACE),
    )
    for at, piece in enumerate(op.pieces):
        e.set(piece, e.f.load(pieces.type, pieces.pointer(at), pieces.align))


@handlers.on(xe.BlockLoadOp)
def block_load(e: Emission, op: xe.BlockLoadOp) -> None:
    """A builtin of SPV_INTEL_subgroups, at a number of bytes from the base."""
    lanes_of(e)
    offset = e.value(op.offset)
    if op.guard is not None:
        # What is not wanted is read from where there is something.
        offset = e.f.select(e.value(op.guard), offset, number(0))
    at = e.f.cast("zext", offset, I64)
    place = e.f.address(Int(8), surface(e, op.base), at)
    type = e.type(op.result.type)
    found = e.call(block_name("read", type), type, [place], attributes=CONVERGENT)
    if op.guard is not None:
        found = e.f.select(e.value(op.guard), found, integer(type, 0))
    e.set(op.result, found)


@handlers.on(xe.BlockStore2DOp)
def block_store_2d(e: Emission, op: xe.BlockStore2DOp) -> None:
    """The pieces to a variable, and a store from there."""
    shape = op.block.data
    lanes = check_shape(e, "store", shape)
    check_slots(shape, op.pieces, lanes)
    pieces = _Pieces(e, op.pieces)
    for at, piece in enumerate(op.pieces):
        e.f.store(e.value(piece), pieces.pointer(at), pieces.align)
    e.do(
        STORE,
        [*_sizes(shape), pieces.base, surface(e, op.base), *_where(e, op)],
        attributes=_ACCESS,
        parameter_attributes=(*_SIZES, _READ, _WRITTEN, *_REST),
        metadata=cache_controls(e, op.cache, _STORE_SURFACE, store=True),
    )


@handlers.on(xe.BlockPrefetch2DOp)
def block_prefetch_2d(e: Emission, op: xe.BlockPrefetch2DOp) -> None:
    """A load to nowhere; LLVM would delete it if it were sure to return."""
    shape = op.block.data
    check_shape(e, "prefetch", shape)
    e.do(
        PREFETCH,
        [*_sizes(shape), surface(e, op.base), *_where(e, op)],
        attributes="nounwind memory(argmem: read)",
        metadata=cache_controls(e, op.cache, _SURFACE),
    )


def _sizes(shape: BlockShape) -> list[Value]:
    """Bytes of an element, width, height and number of blocks."""
    sizes = (shape.bits // 8, shape.width, shape.height, shape.count)
    return [number(size) for size in sizes]


def _where(e: Emission, op: xe.BlockOp) -> list[Value]:
    """Width, height and pitch of the surface, and the position."""
    position: Value = poison(Vector(2, I32))
    for at, each in enumerate((op.x, op.y)):
        position = e.f.insert(position, e.value(each), number(at))
    return [e.value(op.width), e.value(op.height), e.value(op.pitch), position]


class _Pieces:
    """A variable that holds the pieces of one message."""

    def __init__(self, e: Emission, pieces: Sequence[SSAValue]) -> None:
        """Make a variable of one piece, or of an array of them."""
        self._e = e
        self.type: Type = e.type(pieces[0].type)
        self._whole = Array(len(pieces), self.type) if len(pieces) > 1 else self.type
        number = component(self.type)
        assert isinstance(number, Int), self.type
        self.align = number.bits // 8 * width(self.type)
        """In bytes."""
        self.base = e.f.allocate(self._whole, self.align)

    def pointer(self, at: int) -> Value:
        """Where a piece is."""
        if self._whole == self.type:
            return self.base
        first, index = integer(I64, 0), integer(I64, at)
        return self._e.f.address(self._whole, self.base, first, index)
