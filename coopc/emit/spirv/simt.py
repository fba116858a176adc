"""`simt`: built-in variables, barriers, and operations between the lanes of a subgroup.

Vulkan has the non-uniform group operations.  Under OpenCL, Intel's run-times have
SPV_INTEL_subgroups, and OpenCL's own group operations, on all of which they run.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import AnyFloat, Float16Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ShuffleMode
from coopc.emit.simt import (
    CROSS_WORKGROUP_MEMORY,
    SCOPES,
    SUBGROUP,
    WORKGROUP_MEMORY,
    Lanes,
    reduction_of,
)
from coopc.emit.spirv.emission import MAKE_AVAILABLE, MAKE_VISIBLE, Emission
from coopc.emit.spirv.flow import Num, View
from coopc.emit.walker import count_of, element_of
from coopc.spirv.instruction import Id

_NAMES: dict[type[Operation], str] = {
    simt.WorkgroupIdOp: "WorkgroupId",
    simt.NumWorkgroupsOp: "NumWorkgroups",
    simt.LocalIdOp: "LocalInvocationId",
    simt.WorkgroupSizeOp: "WorkgroupSize",
    simt.SubgroupIdOp: "SubgroupId",
    simt.NumSubgroupsOp: "NumSubgroups",
    simt.LaneIdOp: "SubgroupLocalInvocationId",
    simt.SubgroupSizeOp: "SubgroupSize",
}
"""Built-in variables."""

_UNIFORM_MEMORY = 0x40
"""Memory semantics, which storage buffers count as."""

_WORDS = (1, 2, 4, 8, 16)
"""Components that vectors of words have under OpenCL; 1 is a number."""

_GROUP = ("FAdd", "IAdd", "FMax", "SMax", "UMax", "FMin", "SMin", "UMin")
"""What OpenCL's capability Groups has."""

_VULKAN_SHUFFLES = {
    ShuffleMode.IDX: "OpGroupNonUniformShuffle",
    ShuffleMode.XOR: "OpGroupNonUniformShuffleXor",
    ShuffleMode.UP: "OpGroupNonUniformShuffleUp",
    ShuffleMode.DOWN: "OpGroupNonUniformShuffleDown",
}


_STEPS = {ShuffleMode.UP: "OpISub", ShuffleMode.DOWN: "OpIAdd"}
"""How far away a lane is, to one side or the other."""


class _BuiltIns(Lanes[Emission]):
    """Built-in variables and instructions."""

    def position(self, e: Emission, op: type[Operation], axis: int) -> Id:
        name, vector = _NAMES[op], e.types.vector(e.types.index, 3)

        def extract() -> Id:
            whole = e.built_in(name, vector)
            return e.emit("OpCompositeExtract", whole, axis, type=e.types.index)

        return e.once((name, axis), extract)

    def number(self, e: Emission, op: type[Operation]) -> Id:
        return e.index_built_in(_NAMES[op])

    def has_split_barrier(self, e: Emission) -> bool:
        return e.facts.device.family == "xe"

    def synchronize(
        self,
        e: Emission,
        half: str,
        scope: simt.FenceScope,
        order: int,
        memory: simt.MemorySpace | None = None,
    ) -> None:
        vulkan = e.facts.vulkan
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
            opcode = f"OpControlBarrier{half}{'INTEL' if half else ''}"
            e.do(opcode, number, number, semantics)

    def has_block_io(self, e: Emission, view: View, type: Attribute) -> bool:
        """Intel's run-times move integers of up to 8 components, or 16 of 8 bits.

        The instruction wants the address of a read aligned to 4 bytes, of a write to
        16, and is used in global memory only.
        """
        bits = e.types.bits(element_of(type))
        if e.facts.device.family == "opencl-cpu" and bits != 32:
            # Intel's run-time 2026.2 runs a kernel with these alone on one lane.
            return False
        longest = 16 if bits == 8 else 8
        return view.storage == "CrossWorkgroup" and count_of(type) <= longest

    def block_read(self, e: Emission, view: View, at: Num, type: Attribute) -> Id:
        place = _block_pointer(e, view, at, type)
        block = _block_type(e, type)
        found = e.emit("OpSubgroupBlockReadINTEL", place, type=block)
        (to,) = e.types.parts(type)
        return found if block is to else e.emit("OpBitcast", found, type=to)

    def block_write(self, e: Emission, view: View, at: Num, value: SSAValue) -> None:
        block, found = _block_type(e, value.type), e.value(value)
        if found.type is not block:
            found = e.emit("OpBitcast", found, type=block)
        place = _block_pointer(e, view, at, value.type)
        e.do("OpSubgroupBlockWriteINTEL", place, found)

    def broadcast(self, e: Emission, op: simt.BroadcastOp) -> None:
        lane, scope = _lane(e, op.lane), e.types.enumerant(SUBGROUP)
        opcode = "OpGroupNonUniformBroadcast" if e.facts.vulkan else "OpGroupBroadcast"
        e.each(
            op.result,
            (op.value,),
            lambda to, ids: e.emit(opcode, scope, *ids, lane, type=to),
        )

    def shuffle(self, e: Emission, op: simt.ShuffleOp) -> None:
        mode, offset = op.mode.data, _lane(e, op.offset)
        scope, opcode = e.types.enumerant(SUBGROUP), _VULKAN_SHUFFLES[mode]
        if e.facts.vulkan:
            e.each(
                op.result,
                (op.value,),
                lambda to, ids: e.emit(opcode, scope, *ids, offset, type=to),
            )
            return
        is_xor = mode is ShuffleMode.XOR
        name = f"OpSubgroupShuffle{'Xor' if is_xor else ''}INTEL"
        if mode in _STEPS:
            # Intel's own shuffles up and down join two values, of which we have one.
            mine = e.built_in("SubgroupLocalInvocationId", e.types.u32)
            offset = e.emit(_STEPS[mode], mine, offset, type=e.types.u32)
        e.each(
            op.result,
            (op.value,),
            lambda to, ids: _shuffled(e, op, name, ids[0], offset, to),
        )

    def reduce(self, e: Emission, op: simt.ReduceOp) -> None:
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


handlers = _BuiltIns().handlers()


def _lane(e: Emission, index: SSAValue) -> Id:
    id = e.value(index)
    if e.facts.vulkan:
        return id
    known = e.index.num(id)
    if isinstance(known, int):
        return e.types.enumerant(known % (1 << 32))
    return e.emit("OpUConvert", id, type=e.types.u32)


def _shuffled(
    e: Emission, op: simt.ShuffleOp, opcode: str, x: Id, lane: Id, to: Id
) -> Id:
    """Shuffle under OpenCL, which has no functions for some vectors: as words."""
    width, type = e.types.width(to), element_of(op.value.type)
    is_number = isinstance(type, IntegerType | AnyFloat)
    bits = type.bitwidth if is_number else 64  # of an index
    if width == 1 or not (bits == 64 or isinstance(type, Float16Type)):
        return e.emit(opcode, x, lane, type=to)
    if (words := width * bits // 32) in _WORDS and width % 2 == 0:
        word = e.types.vector(e.types.u32, words)
        given = e.emit("OpBitcast", x, type=word)
        return e.emit("OpBitcast", e.emit(opcode, given, lane, type=word), type=to)
    return _componentwise(
        e, x, to, lambda one: e.emit(opcode, one, lane, type=one.type)
    )


def _componentwise(e: Emission, x: Id, to: Id, make: Callable[[Id], Id]) -> Id:
    found = [make(one) for one in e.components(x)]
    if len(found) == 1:
        return found[0]
    return e.emit("OpCompositeConstruct", *found, type=to)


def _block_type(e: Emission, type: Attribute) -> Id:
    integer = e.types.int(e.types.bits(element_of(type)))
    return e.types.vector(integer, count_of(type))


def _block_pointer(e: Emission, view: View, at: Num, type: Attribute) -> Id:
    place = e.pointer(view, at)
    to = e.types.pointer(view.storage, e.types.int(e.types.bits(element_of(type))))
    return place if place.type is to else e.emit("OpBitcast", place, type=to)
