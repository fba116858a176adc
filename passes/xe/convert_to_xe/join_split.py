"""`tt.join` and `tt.split`: registers of two tensors in one, each lane its own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from coopc.dialects import tt
from coopc.passes.xe.convert_to_xe.block_access import spread_of_value
from coopc.passes.xe.convert_to_xe.registers import gathered, packed, unpacked
from coopc.passes.xe.register_layout import Spread, sources
from coopc.rewrite.one_to_many import Splitter

Values = Sequence[SSAValue]


def why_not_join(op: tt.JoinOp | tt.SplitOp) -> str | None:
    """Return why lanes have not both elements of each pair, or None."""
    if isinstance(op, tt.JoinOp):
        half, pairs = op.lhs, op.result
    else:
        half, pairs = op.low, op.src
    one, both = spread_of_value(half).layout, spread_of_value(pairs).layout
    names = {*one.in_names, *both.in_names} - {"register"}
    for name in names:
        bases = one.bases(name) if name in one.in_names else ()
        wanted = both.bases(name) if name in both.in_names else ()
        if [(*basis, 0) for basis in bases] != list(wanted):
            return _moved(half, pairs)
    elements = {x[:-1] for x in spread_of_value(pairs).position}
    if elements != set(spread_of_value(half).position):
        return _moved(half, pairs)
    return None


def _moved(half: SSAValue, pairs: SSAValue) -> str:
    return (
        f"expected both elements of a pair in the lane that has one, which those of "
        f"{half.type} are not in {pairs.type}"
    )


def join(op: tt.JoinOp, s: Splitter) -> Sequence[Values]:
    """Elements of one and of the other."""
    half, target = spread_of_value(op.lhs), spread_of_value(op.result)
    vectors = [
        vector
        for value in (op.lhs, op.rhs)
        for vector in unpacked(s, half, s.parts(value))
    ]
    count = len(half.registers)
    elements = (target.coordinates[x] for x in target.registers)
    wanted = [half.position[x[:-1]] + count * x[-1] for x in elements]
    return [packed(s, target, gathered(s, vectors, wanted, target.length))]


def split(op: tt.SplitOp, s: Splitter) -> Sequence[Values]:
    """The first of each pair, and the second."""
    source, target = spread_of_value(op.src), spread_of_value(op.low)
    vectors = unpacked(s, source, s.parts(op.src))
    return [_half(s, source, target, vectors, which) for which in (0, 1)]


def _half(
    s: Splitter, source: Spread, target: Spread, vectors: Values, which: int
) -> list[SSAValue]:
    elements = [(*target.coordinates[x], which) for x in target.registers]
    wanted = sources(source, target, elements)
    assert wanted is not None, target
    return packed(s, target, gathered(s, vectors, wanted, target.length))
