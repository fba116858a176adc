"""The operations of `simt` from Python: constructors and traits."""

import pytest
from xdsl.dialects.builtin import IndexType, MemRefType, VectorType, f32
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free
from xdsl.utils.test_value import create_ssa_value

from coopc.dialects import simt
from coopc.dialects.traits import Collective

INDEX = IndexType()


def test_lane_operations_have_their_operands() -> None:
    """Operands are in the order of the syntax, whichever class has them."""
    v, i = create_ssa_value(f32), create_ssa_value(INDEX)
    broadcast = simt.BroadcastOp(v, i)
    assert (broadcast.value, broadcast.lane) == (v, i)
    assert tuple(broadcast.operands) == (v, i)
    shuffle = simt.ShuffleOp(simt.ShuffleMode.XOR, v, i)
    assert (shuffle.value, shuffle.offset) == (v, i)
    assert tuple(shuffle.operands) == (v, i)
    reduce = simt.ReduceOp(simt.ReduceKind.MAX, v)
    for op in (broadcast, shuffle, reduce):
        op.verify()
        assert op.result.type == f32


def test_blocks_have_their_operands() -> None:
    memory = create_ssa_value(MemRefType(f32, [8, 64]))
    v, i = create_ssa_value(VectorType(f32, [4])), create_ssa_value(INDEX)
    read = simt.BlockReadOp(memory, [i, i], v.type)
    write = simt.BlockWriteOp(v, memory, [i, i])
    for op in (read, write):
        op.verify()
        assert op.memory is memory
        assert list(op.positions) == [i, i]
    assert write.value is v


def test_positions_and_barriers() -> None:
    for dimension in simt.Dimension:
        op = simt.LocalIdOp(dimension)
        op.verify()
        assert op.dimension.data == dimension
    for scope in simt.FenceScope:
        for kind in (simt.BarrierOp, simt.BarrierArriveOp, simt.BarrierWaitOp):
            barrier = kind(scope)
            barrier.verify()
            assert barrier.scope.data == scope


@pytest.mark.parametrize("op", list(simt.Simt.operations), ids=lambda op: op.name)
def test_traits(op: type[Operation]) -> None:
    """A work-item asks where it is, and sees memory, by itself; all else, all do."""
    alone = issubclass(op, simt.IdOp | simt.DimensionOp | simt.ViewElementsOp)
    alone |= issubclass(op, simt.AddressOfOp | simt.MemoryAtOp)
    alone |= issubclass(op, simt.CompareExchangeOp)
    of_the_host = issubclass(op, simt.SequenceOp | simt.LaunchOp | simt.ResultOp)
    alone |= of_the_host
    assert op.has_trait(Collective) != alone


def test_lanes_are_read() -> None:
    """So that nothing moves into or out of control flow."""
    assert is_side_effect_free(simt.LaneIdOp())
    assert not is_side_effect_free(
        simt.ReduceOp(simt.ReduceKind.ADD, create_ssa_value(f32))
    )
