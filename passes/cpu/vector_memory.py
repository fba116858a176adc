"""Accesses of lanes to memory: consecutive ones as vectors, others lane by lane."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, UnitAttr
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.passes.cpu.vector_code import INDEX, Code, refuse

Access = memref.LoadOp | memref.StoreOp


def access(code: Code, op: Access) -> SSAValue | None:
    """Write a load or a store of which something varies; return what is loaded."""
    memory = op.memref
    indices = list(op.indices)
    plain = not {simt.VOLATILE, simt.ORDERING} & op.attributes.keys()
    private = memory in code.varying
    if private and not isinstance(memory.owner, memref.AllocaOp):
        refuse(
            op,
            "expected private memory of memref.alloca, or a memref that is the "
            "same for all lanes, got one that varies",
        )
    if plain and private and not any(x in code.varying for x in indices):
        return _vector(code, op, [*map(code.of, indices), code.constant(0)])
    if plain and not private and is_consecutive(code, memory.type, indices):
        first = code.component(code.of(indices[-1]), 0)
        return _vector(code, op, [*map(code.of, indices[:-1]), first])
    return _lane_by_lane(code, op, private)


def is_consecutive(code: Code, memory: object, indices: Sequence[SSAValue]) -> bool:
    """Whether lane l accesses element l from that of lane 0 on."""
    if not isinstance(memory, MemRefType) or not indices or code.lanes.is_whole_group:
        return False
    strides = memory.get_strides()
    if not strides or strides[-1] != 1:
        return False
    *outer, last = indices
    if any(index in code.varying for index in outer):
        return False
    return stride(code, last) == 1


def stride(code: Code, value: SSAValue) -> int | None:
    """Return by how much an index grows from lane to lane; None if not evenly."""
    return code.strides.get(value) if value in code.varying else 0


def note_stride(code: Code, op: Operation) -> None:
    """Remember the stride of a result, from those of the operands."""
    if not op.results or op.results[0].type != INDEX:
        return
    found: int | None = None
    match op:
        case simt.LaneIdOp():
            found = 1
        case simt.LocalIdOp():
            x, y, z = code.lanes.work_group_size
            is_x = op.dimension.data is simt.Dimension.X
            found = 1 if is_x and (y * z == 1 or x % code.lanes.count == 0) else None
        case arith.AddiOp() | arith.SubiOp():
            one, other = stride(code, op.lhs), stride(code, op.rhs)
            if one is not None and other is not None:
                found = one + other if isinstance(op, arith.AddiOp) else one - other
        case arith.MuliOp():
            found = _product(code, op.lhs, op.rhs)
        case _:
            pass
    if found is not None:
        code.strides[op.results[0]] = found


def _product(code: Code, a: SSAValue, b: SSAValue) -> int | None:
    for factor, other in ((a, b), (b, a)):
        owner = factor.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(
            attr := owner.value, IntegerAttr
        ):
            found = stride(code, other)
            return None if found is None else found * attr.value.data
    return None


def _vector(code: Code, op: Access, where: Sequence[SSAValue]) -> SSAValue | None:
    """Write an access to consecutive elements."""
    memory = code.of(op.memref)
    if isinstance(op, memref.StoreOp):
        value = code.spread(op.value)
        if code.mask is None:
            code.effect(vector.StoreOp(value, memory, where))
        else:
            code.effect(vector.MaskedStoreOp(memory, where, code.mask, value))
        return None
    type = code.wide(op.res.type)
    if code.mask is None:
        return code.add(vector.LoadOp(memory, where, type))
    rest = code.constant(0, type)
    return code.add(vector.MaskedLoadOp(memory, where, code.mask, rest, type))


def _lane_by_lane(code: Code, op: Access, private: bool) -> SSAValue | None:
    """Write an access for each active lane."""

    def one(lane: SSAValue) -> list[SSAValue]:
        new = op.clone({x: in_lane(code, x, lane) for x in op.operands})
        if private:
            new = _with_lane(code, op, new, lane)
        code.effect(new)
        return list(new.results)

    found = code.each_lane([x.type for x in op.results], one)
    return found[0] if found else None


def _with_lane(code: Code, op: Access, new: Operation, lane: SSAValue) -> Operation:
    """Return an access to private memory, in the part of a lane."""
    memory = code.of(op.memref)
    if isinstance(new, memref.LoadOp):
        return memref.LoadOp.get(memory, [*new.indices, lane])
    assert isinstance(new, memref.StoreOp), new
    return memref.StoreOp.get(new.value, memory, [*new.indices, lane])


def in_lane(code: Code, old: SSAValue, lane: SSAValue) -> SSAValue:
    """Return what a value is in one lane; private memory as it is."""
    if old not in code.varying or is_memref(old.type):
        return code.of(old)
    return code.component(code.of(old), lane)


def private_memory(code: Code, op: memref.AllocaOp) -> SSAValue:
    """Write memory of each lane: one more dimension, of lanes."""
    type = op.memref.type
    if op.dynamic_sizes or not type.has_static_shape():
        refuse(op, f"expected private memory of a static size, got {type}")
    if any(not isinstance(x.operation, Access) for x in op.memref.uses):
        refuse(op, "expected private memory that is only loaded from and stored to")
    shape = [*type.get_shape(), code.lanes.count]
    new = memref.AllocaOp.get(
        type.get_element_type(), shape=shape, memory_space=type.memory_space
    )
    new.attributes = {k: v for k, v in op.attributes.items() if isinstance(v, UnitAttr)}
    return code.add(new)
