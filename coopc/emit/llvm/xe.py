"""What the emission of `xe` shares: the subgroup, the surface, cache controls.

Names of builtins, and the order of their arguments, are those that Intel's Triton
backend calls: Intel's compiler, and LLVM's SPIR-V back end, match them to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from coopc.device import BlockKind
from coopc.dialects import xe
from coopc.dialects.xe import CacheControl, Precision
from coopc.emit.llvm.emission import Emission, Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.llvm.simt import CONVERGENT, block_name
from coopc.emit.walker import Refusal
from coopc.emit.xe_rules import (
    PAYLOAD_PREFIX,
    asked,
    builtin_number,
    check_dpas,
    check_message,
    check_slots,
    check_split,
    check_split_dpas,
    fixed_lanes,
    flags_of,
    payload_name,
    payload_slots,
    piece_of,
    split_name,
)
from coopc.llvm.module import Metadata
from coopc.llvm.types import (
    FLOAT,
    I32,
    I64,
    Array,
    Int,
    Pointer,
    Type,
    Vector,
    component,
    like,
    width,
)
from coopc.llvm.values import Constant, Value, integer, poison
from coopc.plan.block_message import LOAD_KINDS
from coopc.plan.block_shape import BlockMode, BlockShape
from coopc.spirv.grammar import enumeration

GLOBAL = 1
"""The address space that block messages reach."""

_LOAD, _STORE = 6442, 6443
"""CacheControlLoadINTEL and CacheControlStoreINTEL in SPV_INTEL_cache_controls."""
_LOAD_CONTROLS = {
    CacheControl.UNCACHED: 0,
    CacheControl.CACHED: 1,
    CacheControl.STREAMING: 2,
    CacheControl.INVALIDATE_AFTER_READ: 3,
    CacheControl.CONST_CACHED: 4,
}
_STORE_CONTROLS = {
    CacheControl.UNCACHED: 0,
    CacheControl.WRITE_THROUGH: 1,
    CacheControl.WRITE_BACK: 2,
    CacheControl.STREAMING: 3,
}
"""Numbers of LoadCacheControl and StoreCacheControl there."""


def lanes_of(e: Emission) -> int:
    """The subgroup size, which `xe` needs to be fixed.

    Raises:
        Refusal: the kernel leaves it open.
    """
    return fixed_lanes(e.subgroup_size)


def check_shape(e: Emission, kind: BlockKind, shape: BlockShape) -> int:
    """Check that the device has such a message; return the subgroup size.

    Raises:
        Refusal: it has not.
    """
    lanes = lanes_of(e)
    check_message(kind, shape, e.facts.device, lanes)
    return lanes


def number(value: int) -> Constant:
    """A constant of 32 bits."""
    return integer(I32, value)


def surface(e: Emission, base: SSAValue) -> Value:
    """A pointer to where a surface begins.

    Raises:
        Refusal: it is not in global memory, which blocks are moved from and to.
    """
    view = e.view(base)
    if view.space != GLOBAL:
        raise Refusal(
            "expected a surface in global memory, which block messages reach, got "
            f"{base.type}"
        )
    return e.pointer(view, view.offset)


def cache_controls(
    e: Emission, cache: xe.CacheAttr | None, operand: int, *, store: bool = False
) -> tuple[Metadata, ...]:
    """What a call asks of the caches, as metadata of the call.

    Args:
        e: the emission.
        cache: what is asked.
        operand: the number of the argument that is the surface, from 0.
        store: whether it is a store.

    Raises:
        Refusal: the device has no such pair of controls.
    """
    pair = asked(cache, e.facts.device, store=store)
    if pair is None:
        return ()
    decoration = _STORE if store else _LOAD
    controls = _STORE_CONTROLS if store else _LOAD_CONTROLS
    nodes = [
        e.module.node(*map(number, (decoration, level, controls[control], operand)))
        for level, control in enumerate(pair)
    ]
    return (Metadata("spirv.DecorationCacheControlINTEL", e.module.node(*nodes)),)


# Block messages of `xe`, as calls of the builtins of Intel's extensions.
#
# Those of SPV_INTEL_2d_block_io load to memory and store from it: to a variable of the
# function, an array of the pieces, which Intel's compiler turns into registers.

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


# Multiplications of `xe`, as calls of builtins.
#
# The builtin of SPV_INTEL_subgroup_matrix_multiply_accumulate takes K, A, B, C and
# flags
# that say what the packed integers hold; its name is mangled for the types that
# `coopc.emit.xe_rules` has a table of.  Split DPAS is Intel's OpenCL builtin.

MULTIPLY = "__spirv_SubgroupMatrixMultiplyAccumulateINTEL"
_ATTRIBUTES = "convergent nounwind willreturn memory(none)"


@handlers.on(xe.DpasOp)
def dpas(e: Emission, op: xe.DpasOp) -> None:
    """One multiplication of the subgroup."""
    check_dpas(op, e.facts.device, lanes_of(e))
    sides = zip((op.a, op.b), op.precisions, strict=True)
    a, b = (_operand(e, value, precision) for value, precision in sides)
    c = e.value(op.c)
    mask = flag_bits(flags_of(op))
    name = builtin(MULTIPLY, (I32, a.type, b.type, c.type, I32))
    arguments = [number(op.precisions[0].k), a, b, c, number(mask)]
    e.set(op.result, e.call(name, c.type, arguments, attributes=_ATTRIBUTES))


def flag_bits(flags: str) -> int:
    """The number of some flags.

    >>> hex(flag_bits("MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL"))
    '0xc00'
    """
    return enumeration("MatrixMultiplyAccumulateOperands").value(flags)


def _operand(e: Emission, value: SSAValue, precision: Precision) -> Value:
    """An operand: the bits of tf32 as floats."""
    found = e.value(value)
    if precision is not Precision.TF32:
        return found
    return e.f.cast("bitcast", found, like(found.type, FLOAT))


@handlers.on(xe.SplitDpasOp)
def split_dpas(e: Emission, op: xe.SplitDpasOp) -> None:
    """A multiplication of two subgroups."""
    check_split(e.facts.device)
    check_split_dpas(op, e.facts.device, lanes_of(e))
    name = split_name(op.precisions, op.repeat.value.data)
    arguments = [e.value(value) for value in (op.a, op.b, op.c)]
    made = e.call(name, arguments[2].type, arguments, attributes=_ATTRIBUTES)
    e.set(op.result, made)


# Address payloads of `xe`, as builtins of Intel's compiler, whose names are plain.
#
# A payload is a pointer that nothing looks at.  `coopc.emit.spirv.xe` says what
# they are good for.

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
