"""`simt`: built-in variables, barriers, and operations between the lanes of a subgroup.

Vulkan has the non-uniform group operations.  Under OpenCL, Intel's runtimes have
SPV_INTEL_subgroups, and OpenCL's own group operations, on all of which they run.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ShuffleMode
from coopc.emit import simt as shared
from coopc.emit.simt import (
    BUILT_INS,
    CROSS_WORKGROUP_MEMORY,
    HALVES,
    SCOPES,
    SUBGROUP,
    WORKGROUP_MEMORY,
    known_size,
    read_by_lanes,
    reduction_of,
    write_by_lanes,
)
from coopc.emit.spirv.emission import MAKE_AVAILABLE, MAKE_VISIBLE, Emission, Handlers
from coopc.emit.spirv.view import View
from coopc.emit.walker import count_of, element_of
from coopc.spirv.instruction import Id

handlers = Handlers(shared.handlers)

_UNIFORM_MEMORY = 0x40
"""Memory semantics, which storage buffers count as."""

_WORDS = (1, 2, 4, 8, 16)
"""Components that vectors of words have under OpenCL; 1 is a number."""

_GROUP = ("FAdd", "IAdd", "FMax", "SMax", "UMax", "FMin", "SMin", "UMin")
"""What OpenCL's capability Groups has."""

SHUFFLES = {
    ShuffleMode.IDX: "OpGroupNonUniformShuffle",
    ShuffleMode.XOR: "OpGroupNonUniformShuffleXor",
    ShuffleMode.UP: "OpGroupNonUniformShuffleUp",
    ShuffleMode.DOWN: "OpGroupNonUniformShuffleDown",
}


MOVES = {
    ShuffleMode.UP: "OpSubgroupShuffleUpINTEL",
    ShuffleMode.DOWN: "OpSubgroupShuffleDownINTEL",
}
"""What Intel's compiler makes moves between registers of, without indirect reads."""
_STEPS = {ShuffleMode.UP: "OpISub", ShuffleMode.DOWN: "OpIAdd"}
"""How far away a lane is, to one side or the other."""


@handlers.on(*BUILT_INS)
def built_in(e: Emission, op: simt.DimensionOp | simt.IdOp) -> None:
    """A constant that the kernel fixes, or a variable."""
    if (size := known_size(e, op)) is not None:
        e.set(op.result, e.index.value(size))
    elif isinstance(op, simt.IdOp):
        e.set(op.result, _number(e, type(op)))
    else:
        (name, _), axis = BUILT_INS[type(op)], op.axis
        vector = e.types.vector(e.types.index, 3)

        def extract() -> Id:
            whole = e.built_in(name, vector)
            return e.emit("OpCompositeExtract", whole, axis, type=e.types.index)

        e.set(op.result, e.once((name, axis), extract))


def _number(e: Emission, op: type[simt.IdOp]) -> Id:
    return e.index_built_in(BUILT_INS[op][0])


@handlers.on(*HALVES)
def barrier(e: Emission, op: simt.WaitingOp) -> None:
    """A barrier, or a half of it; where there are no halves the second is all of it."""
    half, order = HALVES[type(op)]
    if half and e.facts.device.family != "xe":
        if isinstance(op, simt.BarrierArriveOp):
            return
        half, order = HALVES[simt.BarrierOp]
    scope, vulkan = op.scope.data, e.facts.vulkan
    attr = op.memory if isinstance(op, simt.BarrierOp) else None
    memory = None if attr is None else attr.data
    if memory is not simt.MemorySpace.GLOBAL:
        order |= WORKGROUP_MEMORY
    if memory is not simt.MemorySpace.WORKGROUP:
        order |= _UNIFORM_MEMORY if vulkan else CROSS_WORKGROUP_MEMORY
    if vulkan:
        order |= MAKE_AVAILABLE | MAKE_VISIBLE
    number, semantics = map(e.types.enumerant, (SCOPES[scope], order))
    if scope is simt.FenceScope.SUBGROUP and e.facts.device.lockstep:
        e.do("OpMemoryBarrier", number, semantics)
    else:
        e.do(f"OpControlBarrier{half}", number, number, semantics)


# Blocks of consecutive elements.


@handlers.on(simt.BlockReadOp)
def block_read(e: Emission, op: simt.BlockReadOp) -> None:
    view, type = e.view(op.memory), op.result.type
    if not _has_block_io(e, view, type):
        read_by_lanes(e, op, _number)
        return
    place, block = _block_pointer(e, op, type), _block_type(e, type)
    found = e.emit("OpSubgroupBlockReadINTEL", place, type=block)
    (to,) = e.types.parts(type)
    e.set(op.result, found if block is to else e.emit("OpBitcast", found, type=to))


@handlers.on(simt.BlockWriteOp)
def block_write(e: Emission, op: simt.BlockWriteOp) -> None:
    view, type = e.view(op.memory), op.value.type
    e.writes(view)
    if not _has_block_io(e, view, type):
        write_by_lanes(e, op, _number)
        return
    block, found = _block_type(e, type), e.value(op.value)
    if found.type is not block:
        found = e.emit("OpBitcast", found, type=block)
    e.do("OpSubgroupBlockWriteINTEL", _block_pointer(e, op, type), found)


def _has_block_io(e: Emission, view: View, type: Attribute) -> bool:
    """Whether one instruction reads or writes a block.

    Intel's runtimes move integers of up to 8 components, or 16 of 8 bits.  The
    instruction wants the address of a read aligned to 4 bytes, of a write to 16, and is
    used in global memory only.
    """
    bits = e.types.bits(element_of(type))
    if e.facts.device.family == "opencl-cpu" and bits != 32:
        # Intel's runtime 2026.2 runs a kernel with these alone on one lane.
        return False
    longest = 16 if bits == 8 else 8
    return view.storage == "CrossWorkgroup" and count_of(type) <= longest


def _block_type(e: Emission, type: Attribute) -> Id:
    integer = e.types.int(e.types.bits(element_of(type)))
    return e.types.vector(integer, count_of(type))


def _block_pointer(
    e: Emission, op: simt.BlockReadOp | simt.BlockWriteOp, type: Attribute
) -> Id:
    view = e.view(op.memory)
    place = e.pointer(view, e.index.linear(view, e.nums(op.positions)))
    to = e.types.pointer(view.storage, e.types.int(e.types.bits(element_of(type))))
    return place if place.type is to else e.emit("OpBitcast", place, type=to)


# Operations between lanes.


@handlers.on(simt.BroadcastOp)
def broadcast(e: Emission, op: simt.BroadcastOp) -> None:
    lane, scope = _lane(e, op.lane), e.types.enumerant(SUBGROUP)
    opcode = "OpGroupNonUniformBroadcast" if e.facts.vulkan else "OpGroupBroadcast"
    if e.facts.vulkan and not isinstance(e.index.num(lane), int):
        # Before SPIR-V 1.5 the lane of a broadcast had to be a constant.
        opcode = SHUFFLES[ShuffleMode.IDX]
    e.each(
        op.result,
        (op.value,),
        lambda to, ids: e.emit(opcode, scope, *ids, lane, type=to),
    )


@handlers.on(simt.ShuffleOp)
def shuffle(e: Emission, op: simt.ShuffleOp) -> None:
    mode, offset = op.mode.data, _lane(e, op.offset)
    is_move = e.facts.device.family == "xe" and mode in MOVES
    if not e.facts.vulkan and mode in _STEPS and not is_move:
        # OpenCL's runtimes have this with the lane's number on all versions.
        mine = e.built_in("SubgroupLocalInvocationId", e.types.u32)
        offset = e.emit(_STEPS[mode], mine, offset, type=e.types.u32)
        mode = ShuffleMode.IDX
    scope, opcode = e.types.enumerant(SUBGROUP), SHUFFLES[mode]

    def one(to: Id, x: Id) -> Id:
        if is_move:
            return e.emit(MOVES[mode], x, x, offset, type=to)
        return e.emit(opcode, scope, x, offset, type=to)

    def make(to: Id, ids: tuple[Id, ...]) -> Id:
        (x,) = ids
        if e.facts.vulkan:
            return one(to, x)
        # OpenCL shuffles no vectors.
        if (words := _as_words(e, to)) is not to:
            x = e.emit("OpBitcast", x, type=words)
        found = _componentwise(e, x, words, lambda each: one(each.type, each))
        return found if words is to else e.emit("OpBitcast", found, type=to)

    e.each(op.result, (op.value,), make)


@handlers.on(simt.ReduceOp)
def reduce(e: Emission, op: simt.ReduceOp) -> None:
    name, scope = reduction_of(op), e.types.enumerant(SUBGROUP)
    is_group = not e.facts.vulkan and name in _GROUP
    opcode = f"OpGroup{'' if is_group else 'NonUniform'}{name}"

    def one(to: Id, x: Id) -> Id:
        return e.emit(opcode, scope, "Reduce", x, type=to)

    def part(to: Id, ids: tuple[Id, ...]) -> Id:
        (x,) = ids
        if e.facts.vulkan:
            return one(to, x)
        # OpenCL has no reductions of vectors.
        return _componentwise(e, x, to, lambda each: one(each.type, each))

    e.each(op.result, (op.value,), part)


def _lane(e: Emission, index: SSAValue) -> Id:
    id = e.value(index)
    if e.facts.vulkan:
        return id
    known = e.index.num(id)
    if isinstance(known, int):
        return e.types.enumerant(known % (1 << 32))
    return e.emit("OpUConvert", id, type=e.types.u32)


def _as_words(e: Emission, type: Id) -> Id:
    """The type of a vector as 32-bit words, if it is a whole number of them."""
    width, bits = e.types.width(type), e.types.component_bits(type)
    if width > 1 and bits != 32 and width * bits // 32 in _WORDS and width % 2 == 0:
        return e.types.vector(e.types.u32, width * bits // 32)
    return type


def _componentwise(e: Emission, x: Id, to: Id, make: Callable[[Id], Id]) -> Id:
    found = [make(one) for one in e.components(x)]
    if len(found) == 1:
        return found[0]
    return e.emit("OpCompositeConstruct", *found, type=to)
