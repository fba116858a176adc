"""`simt.block_read` and `block_write`: consecutive elements by the whole subgroup.

Intel's run-times have an instruction, on integers of up to 8 components (16 of 8 bits);
elsewhere each lane accesses its own elements.  The instruction wants the address of a
read aligned to 4 bytes, of a write to 16, and is used in global memory only.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from coopc.dialects import simt
from coopc.emit.elements import count_of, element_of
from coopc.emit.spirv.address import linear, memory_operands, pointer
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.view import Num, View
from coopc.spirv.instruction import Id

handlers = Handlers()


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
    lane, size = _lane(e), _subgroup_size(e)
    first = e.index.add(at, lane)
    steps: Sequence[Num] = [e.index.mul(size, c) for c in range(count)]
    return [pointer(e, view, e.index.add(first, step)) for step in steps]


def _lane(e: Emission) -> Id:
    return e.index_built_in("SubgroupLocalInvocationId")


def _subgroup_size(e: Emission) -> Num:
    if e.subgroup_size is not None:
        return e.subgroup_size
    return e.index_built_in("SubgroupSize")
