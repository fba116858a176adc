"""`simt`: positions and sizes, and views of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import AnyFloat, Float16Type, IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ReduceKind, ShuffleMode
from coopc.emit.spirv.address import linear, memory_operands, pointer
from coopc.emit.spirv.arith import is_bf16, is_i1
from coopc.emit.spirv.emission import Emission, Handlers, Num, View
from coopc.emit.spirv.memref import view_elements
from coopc.emit.walker import Refusal, count_of, element_of
from coopc.spirv.instruction import Id

handlers = Handlers()
handlers.add(simt.ViewElementsOp, view_elements)

_AXES = {simt.Dimension.X: 0, simt.Dimension.Y: 1, simt.Dimension.Z: 2}


def _axis(e: Emission, op: simt.DimensionOp, name: str) -> None:
    """One component of a built-in vector of three index values."""
    at = _AXES[op.dimension.data]
    vector = e.types.vector(e.types.index, 3)

    def extract() -> Id:
        whole = e.built_in(name, vector)
        return e.emit("OpCompositeExtract", whole, at, type=e.types.index)

    e.set(op.result, (e.once((name, at), extract),))


@handlers.on(simt.WorkgroupIdOp)
def workgroup_id(e: Emission, op: simt.WorkgroupIdOp) -> None:
    """The position of the work-group in the grid."""
    _axis(e, op, "WorkgroupId")


@handlers.on(simt.NumWorkgroupsOp)
def num_workgroups(e: Emission, op: simt.NumWorkgroupsOp) -> None:
    """The number of work-groups in the grid."""
    _axis(e, op, "NumWorkgroups")


@handlers.on(simt.LocalIdOp)
def local_id(e: Emission, op: simt.LocalIdOp) -> None:
    """The position of the work-item in its work-group."""
    _axis(e, op, "LocalInvocationId")


@handlers.on(simt.WorkgroupSizeOp)
def workgroup_size(e: Emission, op: simt.WorkgroupSizeOp) -> None:
    """The number of work-items of a work-group, which a kernel fixes."""
    if e.work_group_size is None:
        _axis(e, op, "WorkgroupSize")
    else:
        size = e.work_group_size[_AXES[op.dimension.data]]
        e.set(op.result, (e.index.id(size),))


@handlers.on(simt.SubgroupIdOp)
def subgroup_id(e: Emission, op: simt.SubgroupIdOp) -> None:
    """The number of the subgroup in its work-group."""
    e.set(op.result, (e.index_built_in("SubgroupId"),))


@handlers.on(simt.NumSubgroupsOp)
def num_subgroups(e: Emission, op: simt.NumSubgroupsOp) -> None:
    """The number of subgroups of the work-group."""
    e.set(op.result, (e.index_built_in("NumSubgroups"),))


@handlers.on(simt.LaneIdOp)
def lane_id(e: Emission, op: simt.LaneIdOp) -> None:
    """The number of the lane in its subgroup."""
    e.set(op.result, (e.index_built_in("SubgroupLocalInvocationId"),))


@handlers.on(simt.SubgroupSizeOp)
def subgroup_size(e: Emission, op: simt.SubgroupSizeOp) -> None:
    """The number of lanes of a subgroup, where a kernel does not fix it."""
    if e.subgroup_size is None:
        e.set(op.result, (e.index_built_in("SubgroupSize"),))
    else:
        e.set(op.result, (e.index.id(e.subgroup_size),))


# --- barriers ------------------------------------------------------------------

_SCOPES = {simt.FenceScope.WORKGROUP: 2, simt.FenceScope.SUBGROUP: 3}
"""Scope in the SPIR-V specification."""

_ACQUIRE, _RELEASE, _ACQUIRE_RELEASE = 0x2, 0x4, 0x8
_WORKGROUP_MEMORY = 0x100
_BUFFERS = {True: 0x40, False: 0x200}
"""UniformMemory, which storage buffers count as; CrossWorkgroupMemory."""
_MAKE_AVAILABLE, _MAKE_VISIBLE = 0x2000, 0x4000


def _semantics(e: Emission, order: int, memory: simt.MemorySpace | None) -> Id:
    """Memory semantics for buffers and work-group memory, or for one of them."""
    bits = order
    if memory is not simt.MemorySpace.GLOBAL:
        bits |= _WORKGROUP_MEMORY
    if memory is not simt.MemorySpace.WORKGROUP:
        bits |= _BUFFERS[e.facts.vulkan]
    if e.facts.vulkan:
        bits |= _MAKE_AVAILABLE | _MAKE_VISIBLE
    return e.types.enumerant(bits)


@handlers.on(simt.BarrierOp)
def barrier(e: Emission, op: simt.BarrierOp) -> None:
    """OpControlBarrier."""
    memory = None if op.memory is None else op.memory.data
    _wait(e, "OpControlBarrier", op.scope.data, _ACQUIRE_RELEASE, memory)


@handlers.on(simt.BarrierArriveOp)
def barrier_arrive(e: Emission, op: simt.BarrierArriveOp) -> None:
    """OpControlBarrierArriveINTEL; elsewhere all of it is in the other half."""
    if has_split_barrier(e):
        _wait(e, "OpControlBarrierArriveINTEL", op.scope.data, _RELEASE)


@handlers.on(simt.BarrierWaitOp)
def barrier_wait(e: Emission, op: simt.BarrierWaitOp) -> None:
    """OpControlBarrierWaitINTEL; elsewhere a whole barrier."""
    if has_split_barrier(e):
        _wait(e, "OpControlBarrierWaitINTEL", op.scope.data, _ACQUIRE)
    else:
        _wait(e, "OpControlBarrier", op.scope.data, _ACQUIRE_RELEASE)


def has_split_barrier(e: Emission) -> bool:
    """Whether the device has SPV_INTEL_split_barrier: Intel's GPUs have."""
    return e.facts.device.family == "xe"


def _wait(
    e: Emission,
    opcode: str,
    scope: simt.FenceScope,
    order: int,
    memory: simt.MemorySpace | None = None,
) -> None:
    number, semantics = e.types.enumerant(_SCOPES[scope]), _semantics(e, order, memory)
    if scope is simt.FenceScope.SUBGROUP and e.facts.device.lockstep:
        e.do("OpMemoryBarrier", number, semantics)
        return
    e.do(opcode, number, number, semantics)


# `simt` between the lanes of a subgroup: broadcast, shuffle and reduction.
#
# Vulkan has the non-uniform group operations.  Under OpenCL, Intel's run-times have
# SPV_INTEL_subgroups, and OpenCL's own group operations, on all of which they run.  No
# lane operation takes a bool everywhere, so an i1 goes as an i32.

_SUBGROUP = 3
"""Scope in the SPIR-V specification."""

_WORDS = (1, 2, 4, 8, 16)
"""Components that vectors of words have under OpenCL; 1 is a number."""

_REDUCTIONS: dict[tuple[ReduceKind, str], str] = {
    (ReduceKind.ADD, "float"): "FAdd",
    (ReduceKind.ADD, "unsigned"): "IAdd",
    (ReduceKind.MUL, "float"): "FMul",
    (ReduceKind.MUL, "unsigned"): "IMul",
    (ReduceKind.MAX, "float"): "FMax",
    (ReduceKind.MAX, "signed"): "SMax",
    (ReduceKind.MAX, "unsigned"): "UMax",
    (ReduceKind.MIN, "float"): "FMin",
    (ReduceKind.MIN, "signed"): "SMin",
    (ReduceKind.MIN, "unsigned"): "UMin",
    (ReduceKind.AND, "unsigned"): "BitwiseAnd",
    (ReduceKind.OR, "unsigned"): "BitwiseOr",
    (ReduceKind.XOR, "unsigned"): "BitwiseXor",
}
"""The ends of opcodes."""

_GROUP = ("FAdd", "IAdd", "FMax", "SMax", "UMax", "FMin", "SMin", "UMin")
"""What OpenCL's capability Groups has."""


def _subgroup(e: Emission) -> Id:
    return e.types.enumerant(_SUBGROUP)


def _lane(e: Emission, index: SSAValue) -> Id:
    """A lane number as a u32."""
    id = e.id(index)
    if e.facts.vulkan:
        return id
    known = e.index.num(id)
    if isinstance(known, int):
        return e.types.enumerant(known % (1 << 32))
    return e.emit("OpUConvert", id, type=e.types.u32)


def _each(
    e: Emission, op: simt.BroadcastOp | simt.ShuffleOp, make: Callable[[Id, Id], Id]
) -> None:
    """Set the result part by part; bools as u32, the type bf16 as its bits."""

    def part(to: Id, x: Id) -> Id:
        if is_bf16(op.value.type) and e.facts.bf16 == "khr":
            bits = e.like(to, e.types.int(16))
            moved = make(bits, e.emit("OpBitcast", x, type=bits))
            return e.emit("OpBitcast", moved, type=to)
        if not is_i1(op.value.type):
            return make(to, x)
        word = e.like(to, e.types.u32)
        one, zero = e.number(word, 1), e.number(word, 0)
        moved = make(word, e.emit("OpSelect", x, one, zero, type=word))
        return e.emit("OpINotEqual", moved, zero, type=to)

    e.each(op.result, (op.value,), part)


@handlers.on(simt.BroadcastOp)
def broadcast(e: Emission, op: simt.BroadcastOp) -> None:
    """The value of one lane."""
    lane, scope = _lane(e, op.lane), _subgroup(e)
    opcode = "OpGroupNonUniformBroadcast" if e.facts.vulkan else "OpGroupBroadcast"
    _each(e, op, lambda to, x: e.emit(opcode, scope, x, lane, type=to))


@handlers.on(simt.ShuffleOp)
def shuffle(e: Emission, op: simt.ShuffleOp) -> None:
    """The value of another lane."""
    mode = op.mode.data
    offset, scope = _lane(e, op.offset), _subgroup(e)
    if e.facts.vulkan:
        names = {
            ShuffleMode.IDX: "OpGroupNonUniformShuffle",
            ShuffleMode.XOR: "OpGroupNonUniformShuffleXor",
            ShuffleMode.UP: "OpGroupNonUniformShuffleUp",
            ShuffleMode.DOWN: "OpGroupNonUniformShuffleDown",
        }
        opcode = names[mode]
        _each(e, op, lambda to, x: e.emit(opcode, scope, x, offset, type=to))
        return
    if mode == ShuffleMode.XOR:
        opcode = "OpSubgroupShuffleXorINTEL"
    else:
        opcode = "OpSubgroupShuffleINTEL"
        offset = _source_lane(e, mode, offset)
    _each(e, op, lambda to, x: _shuffled(e, op, opcode, x, offset, to))


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
    """What `make` gives of a number, or of each component of a vector."""
    found = [make(one) for one in e.components(x)]
    if len(found) == 1:
        return found[0]
    return e.emit("OpCompositeConstruct", *found, type=to)


def _source_lane(e: Emission, mode: ShuffleMode, offset: Id) -> Id:
    """The lane that a shuffle takes from.

    Intel's own shuffles up and down join two values, of which we have one.
    """
    if mode == ShuffleMode.IDX:
        return offset
    mine = e.built_in("SubgroupLocalInvocationId", e.types.u32)
    opcode = "OpISub" if mode == ShuffleMode.UP else "OpIAdd"
    return e.emit(opcode, mine, offset, type=e.types.u32)


@handlers.on(simt.ReduceOp)
def reduce(e: Emission, op: simt.ReduceOp) -> None:
    """The values of all lanes as one."""
    type = element_of(op.value.type)
    if is_i1(type):
        raise Refusal("expected integers of 8 bits or more, got i1")
    opcode = _reduction(e, op, type)
    scope = _subgroup(e)

    def one(to: Id, x: Id) -> Id:
        return e.emit(opcode, scope, "Reduce", x, type=to)

    def part(to: Id, x: Id) -> Id:
        if e.facts.vulkan:
            return one(to, x)
        # OpenCL has no reductions of vectors.
        return _componentwise(e, x, to, lambda each: one(each.type, each))

    e.each(op.result, (op.value,), part)


def _reduction(e: Emission, op: simt.ReduceOp, type: Attribute) -> str:
    """The opcode of a reduction."""
    kind = op.kind.data
    if not isinstance(type, IndexType | IntegerType):
        sort = "float"
    elif op.signed is not None:
        sort = "signed"
    else:
        sort = "unsigned"
    name = _REDUCTIONS[kind, sort]
    if not e.facts.vulkan and name in _GROUP:
        return f"OpGroup{name}"
    return f"OpGroupNonUniform{name}"


# `simt.block_read` and `block_write`: consecutive elements by the whole subgroup.
#
# Intel's run-times have an instruction, on integers of up to 8 components (16 of 8
# bits);
# elsewhere each lane accesses its own elements.  The instruction wants the address of a
# read aligned to 4 bytes, of a write to 16, and is used in global memory only.


@handlers.on(simt.BlockReadOp)
def block_read(e: Emission, op: simt.BlockReadOp) -> None:
    """OpSubgroupBlockReadINTEL, or a load for each component."""
    view, type = e.view(op.memory), op.result.type
    at = linear(e, view, e.nums(op.positions))
    if has_block_io(e, view, type):
        block = _block_type(e, type)
        place = _block_pointer(e, view, at, type)
        id = e.emit("OpSubgroupBlockReadINTEL", place, type=block)
        (to,) = e.types.parts(type)
        e.set(op.result, (id if block is to else e.emit("OpBitcast", id, type=to),))
        return
    element = e.types.in_memory(view.element)
    scalars = [
        e.emit("OpLoad", place, *memory_operands(e, view), type=element)
        for place in _lane_pointers(e, view, at, count_of(type))
    ]
    e.set(op.result, e.gathered(type, scalars))


@handlers.on(simt.BlockWriteOp)
def block_write(e: Emission, op: simt.BlockWriteOp) -> None:
    """OpSubgroupBlockWriteINTEL, or a store for each component."""
    view, type = e.view(op.memory), op.value.type
    e.whole.written.add(view.base)
    at = linear(e, view, e.nums(op.positions))
    if has_block_io(e, view, type):
        block, id = _block_type(e, type), e.id(op.value)
        if id.type is not block:
            id = e.emit("OpBitcast", id, type=block)
        e.do("OpSubgroupBlockWriteINTEL", _block_pointer(e, view, at, type), id)
        return
    places = _lane_pointers(e, view, at, count_of(type))
    for place, scalar in zip(places, e.scalars(op.value), strict=True):
        e.do("OpStore", place, scalar, *memory_operands(e, view))


def has_block_io(e: Emission, view: View, type: Attribute) -> bool:
    """Whether one instruction reads or writes the block."""
    bits = e.types.bits(element_of(type))
    if e.facts.device.family == "opencl-cpu" and bits != 32:
        # Intel's run-time 2026.2 runs a kernel with these alone on one lane.
        return False
    longest = 16 if bits == 8 else 8
    return view.storage == "CrossWorkgroup" and count_of(type) <= longest


def _block_type(e: Emission, type: Attribute) -> Id:
    """The integers that a block is read as."""
    integer = e.types.int(e.types.bits(element_of(type)))
    return e.types.vector(integer, count_of(type))


def _block_pointer(e: Emission, view: View, at: Num, type: Attribute) -> Id:
    """A pointer to the first integer of a block."""
    place = pointer(e, view, at)
    to = e.types.pointer(view.storage, e.types.int(e.types.bits(element_of(type))))
    return place if place.type is to else e.emit("OpBitcast", place, type=to)


def _lane_pointers(e: Emission, view: View, at: Num, count: int) -> list[Id]:
    """Pointers to this lane's elements: `at + c * S + lane`, S the subgroup size."""
    lane, size = _block_lane(e), _subgroup_size(e)
    first = e.index.add(at, lane)
    steps: Sequence[Num] = [e.index.mul(size, c) for c in range(count)]
    return [pointer(e, view, e.index.add(first, step)) for step in steps]


def _block_lane(e: Emission) -> Id:
    return e.index_built_in("SubgroupLocalInvocationId")


def _subgroup_size(e: Emission) -> Num:
    if e.subgroup_size is not None:
        return e.subgroup_size
    return e.index_built_in("SubgroupSize")
