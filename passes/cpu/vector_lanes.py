"""Subgroup operations as operations on vectors: ids, broadcast, shuffle, reduce."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.simt import ReduceKind, ShuffleMode
from coopc.passes.cpu.vector_code import INDEX, Code

_KINDS: dict[ReduceKind, tuple[str, str, str]] = {
    # of floats, of signed integers, of unsigned ones
    ReduceKind.ADD: ("add", "add", "add"),
    ReduceKind.MUL: ("mul", "mul", "mul"),
    ReduceKind.MAX: ("maxnumf", "maxsi", "maxui"),
    ReduceKind.MIN: ("minnumf", "minsi", "minui"),
    ReduceKind.AND: ("and", "and", "and"),
    ReduceKind.OR: ("or", "or", "or"),
    ReduceKind.XOR: ("xor", "xor", "xor"),
}


def ids(code: Code, op: Operation) -> SSAValue | None:
    """Write where work-items are; None for other operations."""
    lanes = code.lanes
    match op:
        case simt.LaneIdOp():
            size = lanes.subgroup_size
            return code.numbers([x % size for x in range(lanes.count)])
        case simt.SubgroupSizeOp():
            return code.constant(lanes.subgroup_size)
        case simt.SubgroupIdOp() if lanes.is_whole_group:
            size = lanes.subgroup_size
            return code.numbers([x // size for x in range(lanes.count)])
        case simt.NumSubgroupsOp() if lanes.is_whole_group:
            return code.constant(lanes.count // lanes.subgroup_size)
        case simt.WorkgroupSizeOp():
            axis = list(simt.Dimension).index(op.dimension.data)
            return code.constant(lanes.work_group_size[axis])
        case simt.LocalIdOp():
            return _local_id(code, op)
        case _:
            return None


def _local_id(code: Code, op: simt.LocalIdOp) -> SSAValue:
    """Write a local id: the digit of the linear one, x first."""
    x, y, z = code.lanes.work_group_size
    axis = list(simt.Dimension).index(op.dimension.data)
    below, size = (1, x, x * y)[axis], (x, y, z)[axis]
    count = code.lanes.count
    subgroups = x * y * z // count
    if subgroups == 1:
        digits = [lane // below % size for lane in range(count)]
        if op.result in code.varying:
            return code.numbers(digits)
        assert set(digits) == {0}, op
        return code.constant(0)
    first = code.add(arith.MuliOp(code.add(simt.SubgroupIdOp()), code.constant(count)))
    linear = first
    if op.result in code.varying:
        spread = code.add(vector.BroadcastOp(first, code.wide(INDEX)))
        linear = code.add(arith.AddiOp(spread, code.numbers(list(range(count)))))
    if below > 1:
        linear = code.add(arith.DivUIOp(linear, code.constant(below, linear.type)))
    if axis < 2:
        linear = code.add(arith.RemUIOp(linear, code.constant(size, linear.type)))
    return linear


def exchange(code: Code, op: simt.LaneOp) -> SSAValue:
    """Write an exchange between lanes; the value is a number."""
    if op.value not in code.varying and not isinstance(op, simt.ReduceOp):
        return code.as_target(op.value, op.result)
    match op:
        case simt.BroadcastOp():
            return _broadcast(code, op)
        case simt.ShuffleOp():
            return _shuffle(code, op)
        case simt.ReduceOp():
            return _reduce(code, op)
        case _:
            raise AssertionError(op)


def _broadcast(code: Code, op: simt.BroadcastOp) -> SSAValue:
    lane, value = code.of(op.lane), code.of(op.value)
    if op.result in code.varying:
        lanes = code.lanes
        size = lanes.subgroup_size
        first = code.numbers([x // size * size for x in range(lanes.count)])
        return _taken(code, value, code.add(arith.AddiOp(first, code.spread(op.lane))))
    if op.lane in code.varying:
        lane = code.component(lane, 0)
    return code.component(value, lane)


def _shuffle(code: Code, op: simt.ShuffleOp) -> SSAValue:
    """Take components; of a lane that does not exist, some other one's."""
    value, offset = code.of(op.value), code.spread(op.offset)
    lanes = code.lanes
    size = lanes.subgroup_size
    own = code.numbers([x % size for x in range(lanes.count)])
    match op.mode.data:
        case ShuffleMode.IDX:
            lane = offset
        case ShuffleMode.XOR:
            lane = code.add(arith.XOrIOp(own, offset))
        case ShuffleMode.UP:
            lane = code.add(arith.SubiOp(own, offset))
        case ShuffleMode.DOWN:
            lane = code.add(arith.AddiOp(own, offset))
    # Subgroup sizes are powers of two: this is the remainder, never negative.
    lane = code.add(arith.AndIOp(lane, code.constant(size - 1, lane.type)))
    first = code.numbers([x // size * size for x in range(lanes.count)])
    return _taken(code, value, code.add(arith.AddiOp(first, lane)))


def _taken(code: Code, value: SSAValue, lanes: SSAValue) -> SSAValue:
    """Write, for each lane, what the lane of a number has."""
    assert is_vector(value.type), value
    type = value.type.get_element_type()

    def one(lane: SSAValue) -> list[SSAValue]:
        return [code.component(value, code.component(lanes, lane))]

    return code.each_lane([type], one)[0]


def _reduce(code: Code, op: simt.ReduceOp) -> SSAValue:
    floats, signed, unsigned = _KINDS[op.kind.data]
    type = op.value.type
    kind = floats
    if is_integer(type):
        kind = unsigned if op.signed is None else signed
    flag = CombiningKindFlag(kind)
    value = code.spread(op.value)
    lanes = code.lanes
    if op.result not in code.varying:
        size = lanes.subgroup_size
        part = _part(code, value, 0, size) if lanes.is_whole_group else value
        return code.reduced(part, flag)
    found: SSAValue | None = None
    for start in range(0, lanes.count, lanes.subgroup_size):
        part = _part(code, value, start, lanes.subgroup_size)
        whole = code.reduced(part, flag)
        spread = code.add(vector.BroadcastOp(whole, code.wide(type)))
        if found is not None:
            mask = [
                x + (lanes.count if start <= x < start + lanes.subgroup_size else 0)
                for x in range(lanes.count)
            ]
            chosen = DenseArrayBase.from_list(i64, mask)
            wide = code.wide(type)
            spread = code.add(vector.ShuffleOp(found, spread, chosen, result_type=wide))
        found = spread
    assert found is not None
    return found


def _part(code: Code, value: SSAValue, start: int, size: int) -> SSAValue:
    """Write consecutive components of a vector."""
    assert is_vector(value.type), value
    chosen = DenseArrayBase.from_list(i64, list(range(start, start + size)))
    type = VectorType(value.type.get_element_type(), [size])
    return code.add(vector.ShuffleOp(value, value, chosen, result_type=type))
