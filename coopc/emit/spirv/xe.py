"""What the emission of `xe` shares: the subgroup, imported functions, registers.

Intel's compiler takes what SPIR-V has no instruction for as calls of functions by name
(`coopc.emit.xe_rules`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from coopc.device import BlockKind
from coopc.dialects import xe
from coopc.dialects.xe import CacheControl, Precision
from coopc.emit.spirv.emission import Emission, Handlers
from coopc.emit.walker import Refusal, count_of
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
    split_name,
)
from coopc.plan.block_message import LOAD_KINDS
from coopc.plan.block_shape import BlockMode, BlockShape
from coopc.spirv.instruction import Id, Operand


def lanes_of(e: Emission) -> int:
    """The subgroup size, which `xe` needs to be fixed.

    Raises:
        Refusal: the kernel leaves it open, or the flavour has no such operations.
    """
    if e.facts.vulkan:
        raise Refusal("expected the flavour opencl, which Intel's extensions are for")
    return fixed_lanes(e.subgroup_size)


def check_shape(e: Emission, kind: BlockKind, shape: BlockShape) -> int:
    """Check that the device has such a message; return the subgroup size.

    Raises:
        Refusal: it has not.
    """
    lanes = lanes_of(e)
    check_message(kind, shape, e.facts.device, lanes)
    return lanes


def imported(e: Emission, name: str, result: Id, parameters: Sequence[Id]) -> Id:
    """A function of Intel's compiler, declared once in a module."""
    for function in e.module.functions:
        if function.id.name == name:
            return function.id
    type = e.module.type("OpTypeFunction", result, *parameters)
    function = e.module.function(result, type, name=name)
    e.module.decorate(function.id, "LinkageAttributes", name, "Import")
    return function.id


def call(e: Emission, name: str, result: Id, arguments: Sequence[Id]) -> Id:
    """Call a function of Intel's compiler."""
    types = [argument.type for argument in arguments]
    return e.emit(
        "OpFunctionCall", imported(e, name, result, types), *arguments, type=result
    )


def number(e: Emission, value: int) -> Id:
    """A constant of 32 bits."""
    return e.module.constant(e.types.u32, value % (1 << 32))


def base_pointer(e: Emission, base: SSAValue) -> Id:
    """A pointer to where a surface begins.

    Raises:
        Refusal: it is not in global memory, which blocks are moved from and to.
    """
    view = e.view(base)
    if view.storage != "CrossWorkgroup":
        raise Refusal(
            "expected a surface in global memory, which block messages reach, got "
            f"{base.type}"
        )
    return e.pointer(view, view.offset)


# Cache controls of `xe`: decorations of the pointer.
#
# The pointer of one message is copied and the copy is decorated, as a decoration holds
# for all uses of an id.  spirv-val lets CacheControlLoadINTEL decorate an id but once,
# although L1 and L3 have one each; two groups of decorations say the same.

_NAMES = {
    CacheControl.UNCACHED: "UncachedINTEL",
    CacheControl.CACHED: "CachedINTEL",
    CacheControl.STREAMING: "StreamingINTEL",
    CacheControl.INVALIDATE_AFTER_READ: "InvalidateAfterReadINTEL",
    CacheControl.CONST_CACHED: "ConstCachedINTEL",
    CacheControl.WRITE_THROUGH: "WriteThroughINTEL",
    CacheControl.WRITE_BACK: "WriteBackINTEL",
}


def decorated(
    e: Emission, pointer: Id, cache: xe.CacheAttr | None, *, store: bool = False
) -> Id:
    """A pointer whose accesses ask that of the caches.

    Raises:
        Refusal: the device has no such pair of controls.
    """
    pair = asked(cache, e.facts.device, store=store)
    if pair is None:
        return pointer
    copy = e.emit("OpCopyObject", pointer, type=pointer.type)
    name = "CacheControlStoreINTEL" if store else "CacheControlLoadINTEL"
    for level, control in enumerate(pair):
        decoration: tuple[Operand, ...] = (name, level, _NAMES[control])
        e.module.group_decorate(e.module.decoration_group([decoration]), [copy])
    return copy


# Block messages of `xe`: SPV_INTEL_2d_block_io, SPV_INTEL_subgroups.
#
# The instructions for 2D blocks load to memory and store from it: to a variable of the
# function, an array of the pieces, which Intel's compiler turns into registers as long
# as
# the pieces have the slots in which the block arrives (`coopc.plan.block_message`),
# each
# variable is of one message, and each piece is loaded whole.  Then it costs nothing.
#
# How loops should be written for the compiler to keep the address in a register, and
# what
# that gives, is in `coopc.emit.spirv.xe`.

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


# Multiplications of `xe`: SPV_INTEL_subgroup_matrix_multiply_accumulate, and builtins.
#
# `coopc.emit.xe_rules` has the operands and the flags of
# OpSubgroupMatrixMultiplyAccumulateINTEL.  Split DPAS has no instruction: it is Intel's
# OpenCL builtin.


@handlers.on(xe.DpasOp)
def dpas(e: Emission, op: xe.DpasOp) -> None:
    """One multiplication of the subgroup."""
    check_dpas(op, e.facts.device, lanes_of(e))
    sides = zip((op.a, op.b), op.precisions, strict=True)
    a, b = (_operand(e, value, precision) for value, precision in sides)
    (type,) = e.types.parts(op.result.type)
    k = number(e, op.precisions[0].k)
    name = "OpSubgroupMatrixMultiplyAccumulateINTEL"
    e.set(op.result, (e.emit(name, k, a, b, e.id(op.c), flags_of(op), type=type),))


def _operand(e: Emission, value: SSAValue, precision: Precision) -> Id:
    """An operand: the bits of tf32 as floats."""
    id = e.id(value)
    if precision is not Precision.TF32:
        return id
    type = e.types.vector(e.types.f32, count_of(value.type))
    return e.emit("OpBitcast", id, type=type)


@handlers.on(xe.SplitDpasOp)
def split_dpas(e: Emission, op: xe.SplitDpasOp) -> None:
    """A multiplication of two subgroups."""
    check_split(e.facts.device)
    check_split_dpas(op, e.facts.device, lanes_of(e))
    (type,) = e.types.parts(op.result.type)
    name = split_name(op.precisions, op.repeat.value.data)
    arguments = [e.id(value) for value in (op.a, op.b, op.c)]
    e.set(op.result, (call(e, name, type, arguments),))


# Address payloads of `xe`, as builtins of Intel's compiler; and how K loops are short.
#
# A payload is a register.  The builtins take and return it as a pointer that nothing
# may
# look at; setting x or y is one move.  Their names are not mangled: the block's shape
# is
# in the name, and must be that of the payload.
#
# What the compiler makes of a K loop depends on its form far more than on its messages.
# Measured with IGC 2.40.14 and 256 registers, the goldens test/emit/xe/gemm_*.mlir of
# 32 x 32 of C and variations of them, in instructions of a step on BMG and PVC:
#
# | form                                                                  | BMG | PVC |
# |-----------------------------------------------------------------------|-----|-----|
# | A B, x of A and y of B are the loop's variable, an i32                | 26  | 26  |
# | the same, or carried beside it with the same start and step           | 26  | 26  |
# | the variable is an index, 64 bits, and cast                           | 30  | 30  |
# | A B^T, the loop counts 32-bit columns h, x of A = h << 1              | 30  | 36  |
# | x of B = h = 16 t, x of A = 32 t, of a step counter t                 | 30  | 36  |
# | the loop counts k, h is carried beside it with its own step           | 32  | 38  |
# | the loop counts k, x of B = k >> 1                                    | 35  | 49  |
# | A B^T, loads of B share a payload: offsets are immediate              | 30  | 36  |
# | a payload for each load of B                                          | 32  | 32  |
# | A B, prefetches three steps ahead, without payloads                   | 42  | 47  |
# | a payload for each, set to x + 96, computed in the body               | 30  | 35  |
# | the same, the position carried through the loop                       | 31  | 36  |
#
# So, for whoever makes such loops:
#
# 1. Count in i32, in the unit in which most streams have their positions along K, and
#    derive all others by shl, mul and add.  A shift to the right hides from the
# compiler
#    that h + 8 is a sum, and with it the immediate offset.
# 2. Carry accumulators only.  A second carried number with another step costs a move
# and
#    a jump: its addition sinks into a block of its own.
# 3. The positions across K, and all that makes a surface, stand before the loop.
# 4. Prefetch through payloads, one for each block; load through them where x of one
#    register serves many loads (Xe2: one payload, `immediate_offsets`), or where there
# is
#    no immediate offset (PVC: one payload each).  Loads that take x or y from the
# loop's
#    variable need none: the compiler keeps their addresses in registers by itself.


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
