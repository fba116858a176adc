"""`tt.reduce`: inside of each lane first, then across the lanes of a subgroup.

A lane combines what its registers hold along the axis, vector by vector; then lanes
whose numbers differ in a bit that runs along the axis exchange what they have and
combine it, bit after bit.  Where all lanes run along the axis and the combination is
one that subgroups have, it is one reduction of the subgroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.dialects.vector import ExtractOp, InsertOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.tt.types import is_tensor
from coopc.passes.xe.block_access import spread_of_value
from coopc.passes.xe.entry import Entry
from coopc.passes.xe.registers import (
    gathered,
    length_of,
    packed,
    unpacked,
    vector_type,
)
from coopc.rewrite.one_to_many import Splitter

KINDS: dict[type[Operation], tuple[simt.ReduceKind, bool]] = {
    arith.AddfOp: (simt.ReduceKind.ADD, False),
    arith.AddiOp: (simt.ReduceKind.ADD, False),
    arith.MaxnumfOp: (simt.ReduceKind.MAX, False),
    arith.MinnumfOp: (simt.ReduceKind.MIN, False),
    arith.MaxSIOp: (simt.ReduceKind.MAX, True),
    arith.MinSIOp: (simt.ReduceKind.MIN, True),
    arith.MaxUIOp: (simt.ReduceKind.MAX, False),
    arith.MinUIOp: (simt.ReduceKind.MIN, False),
}
"""What subgroups reduce by, and whether integers are signed."""


def why_not_reduce(op: tt.ReduceOp) -> str | None:
    """Return why a reduction cannot be converted, or None."""
    axis = op.axis.value.data
    for src, result in zip(op.srcs, op.res, strict=True):
        if not is_tensor(result.type):
            return f"expected a tensor as the result, got {result.type}"
        layout = spread_of_value(src).layout
        if any(basis[axis] for basis in layout.bases("warp")):
            return (
                f"expected subgroups that hold whole rows along axis {axis}: those of "
                f"{src.type} would have to exchange through work-group memory"
            )
    inner = [x for x in op.combine.block.ops if not isinstance(x, tt.ReduceReturnOp)]
    for each in inner:
        if each.dialect_name() not in ("arith", "math") or each.regions:
            return f"expected arithmetic in the region, got {each.name}"
    return None


@dataclass(slots=True)
class Reductions:
    """The rule."""

    entry: Entry

    def reduce(self, op: tt.ReduceOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Combine registers, then lanes."""
        columns = [self._copies(op, at, s) for at in range(len(op.srcs))]
        rows = [self._within(op, each, s) for each in zip(*columns, strict=True)]
        found = [self._across(op, row, s) for row in rows]
        results: list[Sequence[SSAValue]] = []
        for at, result in enumerate(op.res):
            vectors = [row[at] for row in found]
            results.append(packed(s, spread_of_value(result), vectors))
        return results

    def _copies(self, op: tt.ReduceOp, at: int, s: Splitter) -> list[list[SSAValue]]:
        """Return for each vector of the result the vectors that it is combined of."""
        axis = op.axis.value.data
        source, target = spread_of_value(op.srcs[at]), spread_of_value(op.res[at])
        groups: dict[tuple[int, ...], list[int]] = {}
        for element, position in source.position.items():
            kept = (*element[:axis], *element[axis + 1 :])
            groups.setdefault(kept, []).append(position)
        lists = [groups[target.coordinates[x]] for x in target.registers]
        vectors = unpacked(s, source, s.parts(op.srcs[at]))
        copies = [
            gathered(s, vectors, [each[copy] for each in lists], target.length)
            for copy in range(len(lists[0]))
        ]
        return [list(each) for each in zip(*copies, strict=True)]

    def _within(
        self, op: tt.ReduceOp, sources: Sequence[list[SSAValue]], s: Splitter
    ) -> list[SSAValue]:
        """Combine the vectors of one lane, as a tree."""
        level = [list(each) for each in zip(*sources, strict=True)]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=True)
            level = [combined(op, x, y, s) for x, y in pairs]
        return level[0]

    def _across(
        self, op: tt.ReduceOp, values: list[SSAValue], s: Splitter
    ) -> list[SSAValue]:
        """Combine the vectors of all lanes along the axis."""
        axis = op.axis.value.data
        bases = spread_of_value(op.srcs[0]).layout.bases("lane")
        bits = [bit for bit, basis in enumerate(bases) if basis[axis]]
        combiner = op.combiner
        kind = None if combiner is None else KINDS.get(type(combiner))
        if kind is not None and len(values) == 1 and len(bits) == len(bases):
            return [reduced(s, values[0], *kind)]
        for bit in bits:
            distance = self.entry.number(1 << bit, IndexType())
            mode = simt.ShuffleMode.XOR
            others = [
                s.insert(simt.ShuffleOp(mode, each, distance)).result for each in values
            ]
            values = combined(op, values, others, s)
        return values


def reduced(
    s: Splitter, vector: SSAValue, kind: simt.ReduceKind, signed: bool
) -> SSAValue:
    """Return a vector reduced over all lanes, a component at a time.

    OpenCL has no reductions of vectors.
    """
    element = vector_type(vector).get_element_type()
    found = vector
    for at in range(length_of(vector)):
        one = s.insert(ExtractOp(vector, [at], element)).result
        total = s.insert(simt.ReduceOp(kind, one, signed)).result
        found = s.insert(InsertOp(total, found, [at])).result
    return found


def combined(
    op: tt.ReduceOp, one: Sequence[SSAValue], other: Sequence[SSAValue], s: Splitter
) -> list[SSAValue]:
    """Return vectors combined as the region of a reduction combines elements."""
    block = op.combine.block
    shape = vector_type(one[0]).get_shape()
    meaning: dict[SSAValue, SSAValue] = dict(
        zip(block.args, (*one, *other), strict=True)
    )
    for each in block.ops:
        if isinstance(each, tt.ReduceReturnOp):
            return [meaning[value] for value in each.operands]
        types: list[Attribute] = [VectorType(x.type, shape) for x in each.results]
        new = s.insert(
            type(each).create(
                operands=[meaning.get(value, value) for value in each.operands],
                result_types=types,
                properties=dict(each.properties),
            )
        )
        meaning |= zip(each.results, new.results, strict=True)
    raise AssertionError(op)
