"""`tt.reduce`: inside of each lane, across the lanes of a subgroup, across subgroups.

A lane combines what its registers hold along the axis, vector by vector; then lanes
whose numbers differ in a bit that runs along the axis exchange what they have and
combine it, bit after bit.  Where all lanes run along the axis and the combination is
one that subgroups have, it is one reduction of the subgroup.  Where subgroups run along
the axis, each leaves what it has in work-group memory, and all combine it alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt, tt
from coopc.dialects.narrow import length_of
from coopc.dialects.tt.types import is_tensor
from coopc.ir.builder import INDEX, Builder
from coopc.ir.split_values import Results, Splitter
from coopc.ir.transaction import Refused
from coopc.layout.linear import LinearLayout, select_outs
from coopc.passes.xe.convert_to_xe.group_memory import (
    GroupMemory,
    barrier,
    refuse_too_large,
)
from coopc.passes.xe.convert_to_xe.layout_to_arith import (
    is_first,
    of_bases,
    row_major,
    times,
    zero_masks,
)
from coopc.passes.xe.convert_to_xe.vectors import (
    constant_i32,
    gathered,
    packed,
    splat,
    vectors_of,
)
from coopc.passes.xe.register_layout import RegisterLayout, registers_of

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


def _refuse(op: tt.ReduceOp) -> None:
    axis = op.axis.value.data
    sources = [registers_of(src) for src in op.srcs]
    for src, registers in zip(op.srcs, sources, strict=True):
        layout = registers.layout
        for name in ("lane", "warp"):
            for basis in layout.bases(name):
                if basis[axis] and sum(map(bool, basis)) > 1:
                    what = f"a basis of a {name} along one dimension, not {basis}"
                    raise Refused(op, f"expected {what}, got {src.type}")
        if zero_masks(layout) != layout.free_masks():
            what = "elements that several lanes have to be the same by zero bases"
            raise Refused(op, f"expected {what}, got {src.type}")
    if bits := warp_bits(sources[0], axis):
        kept = row_count(sources[0], axis) << len(bits)
        refuse_too_large(op, [x.element for x in sources], kept)
    for each in op.combine.block.ops:
        if not isinstance(each, tt.ReduceReturnOp) and (
            each.dialect_name() not in ("arith", "math") or each.regions
        ):
            what = "expected arithmetic in the region"
            raise Refused(op, f"{what}, got {each.name}")


def warp_bits(source: RegisterLayout, axis: int) -> list[int]:
    """Return which bits of the subgroup's number run along an axis."""
    bases = source.layout.bases("warp")
    return [bit for bit, basis in enumerate(bases) if basis[axis]]


def row_count(source: RegisterLayout, axis: int) -> int:
    """Return how many elements are left without an axis."""
    sizes = source.layout.out_sizes.values()
    return prod(size for dim, size in enumerate(sizes) if dim != axis)


def kept_layout(layout: LinearLayout, axis: int) -> LinearLayout:
    """Return a layout without a dimension."""
    outs = [name for dim, name in enumerate(layout.out_names) if dim != axis]
    return select_outs(layout, outs)


def reduce(group: GroupMemory, op: tt.ReduceOp, s: Splitter, b: Builder) -> Results:
    """Combine registers, then lanes, then subgroups."""
    _refuse(op)
    targets = [target_of(op, at) for at in range(len(op.srcs))]
    columns = [_copies(op, at, targets[at], s, b) for at in range(len(op.srcs))]
    rows = [_within(op, each, b) for each in zip(*columns, strict=True)]
    found = [_across(op, row, b) for row in rows]
    if warp_bits(registers_of(op.srcs[0]), op.axis.value.data):
        found = _through_memory(group, op, targets, found, b)
    results: list[Sequence[SSAValue]] = []
    for at, (result, target) in enumerate(zip(op.res, targets, strict=True)):
        vectors = [row[at] for row in found]
        if is_tensor(result.type):
            results.append(packed(b, target, vectors))
        else:
            results.append([b.extract(vectors[0], 0)])
    return results


def _through_memory(
    group: GroupMemory,
    op: tt.ReduceOp,
    targets: Sequence[RegisterLayout],
    rows: Sequence[list[SSAValue]],
    b: Builder,
) -> list[list[SSAValue]]:
    """Combine what all subgroups along the axis have, the same way in each."""
    axis = op.axis.value.data
    source = registers_of(op.srcs[0])
    bits = warp_bits(source, axis)
    kept = row_count(source, axis)
    memories = [
        group.of(target.element, kept << len(bits), number)
        for number, target in enumerate(targets)
    ]
    places = row_major(b, targets[0])
    own = _moved(b, places, times(b, _number_along(b, bits), kept))
    barrier(b)
    flag = is_first(b, kept_layout(source.layout, axis), apart=bits)
    for at, memory in enumerate(memories):
        group.store(b, memory, [row[at] for row in rows], own, flag)
    barrier(b)
    found: list[list[SSAValue]] = []
    for number in range(1 << len(bits)):
        there = places
        if number:
            there = _moved(b, places, constant_i32(b, number * kept))
        columns = [
            group.load(b, memory, target, there)
            for memory, target in zip(memories, targets, strict=True)
        ]
        loaded = [list(row) for row in zip(*columns, strict=True)]
        if found:
            pairs = zip(found, loaded, strict=True)
            found = [combined(op, x, y, b) for x, y in pairs]
        else:
            found = loaded
    return found


def _copies(
    op: tt.ReduceOp, at: int, target: RegisterLayout, s: Splitter, b: Builder
) -> list[list[SSAValue]]:
    """Return for each vector of the result the vectors that it is combined of."""
    axis = op.axis.value.data
    source = registers_of(op.srcs[at])
    groups: dict[tuple[int, ...], list[int]] = {}
    for element, position in source.position.items():
        kept = (*element[:axis], *element[axis + 1 :])
        groups.setdefault(kept, []).append(position)
    lists = [groups[target.coordinates[x]] for x in target.distinct]
    vectors = vectors_of(op.srcs[at], s, b)
    copies = [
        gathered(b, vectors, [each[copy] for each in lists], target.length)
        for copy in range(len(lists[0]))
    ]
    return [list(each) for each in zip(*copies, strict=True)]


def _within(
    op: tt.ReduceOp, sources: Sequence[list[SSAValue]], b: Builder
) -> list[SSAValue]:
    """Combine the vectors of one lane, as a tree."""
    level = [list(each) for each in zip(*sources, strict=True)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [combined(op, x, y, b) for x, y in pairs]
    return level[0]


def _across(op: tt.ReduceOp, values: list[SSAValue], b: Builder) -> list[SSAValue]:
    """Combine the vectors of all lanes along the axis."""
    axis = op.axis.value.data
    bases = registers_of(op.srcs[0]).layout.bases("lane")
    bits = [bit for bit, basis in enumerate(bases) if basis[axis]]
    combiner = op.combiner
    kind = None if combiner is None else KINDS.get(type(combiner))
    if kind is not None and len(values) == 1 and len(bits) == len(bases):
        return [reduced(b, values[0], *kind)]
    for bit in bits:
        distance = b.constant(INDEX, 1 << bit)
        mode = simt.ShuffleMode.XOR
        others = [b.pure(simt.ShuffleOp, mode, each, distance) for each in values]
        values = combined(op, values, others, b)
    return values


def _number_along(b: Builder, bits: Sequence[int]) -> SSAValue:
    """Return the number of a subgroup among those along the axis, an i32."""
    bases = [0] * (max(bits) + 1)
    for number, bit in enumerate(bits):
        bases[bit] = 1 << number
    # One more bit than there are: so that it is always masked.
    found = of_bases(b, "warp", [*bases, 0]).value
    assert found is not None, bits
    return found


def _moved(b: Builder, places: Sequence[SSAValue], by: SSAValue) -> list[SSAValue]:
    """Return places in the part of memory of a subgroup."""
    return [b.pure(arith.AddiOp, x, splat(b, by, length_of(x))) for x in places]


def target_of(op: tt.ReduceOp, at: int) -> RegisterLayout:
    """Return how a result is spread; a scalar as a tensor of one element."""
    result = op.res[at]
    if is_tensor(result.type):
        return registers_of(result)
    source = registers_of(op.srcs[at]).layout
    layout = kept_layout(source, op.axis.value.data)
    ins = tuple(
        (name, () if name == "register" else bases) for name, bases in layout.ins
    )
    return RegisterLayout(replace(layout, ins=ins), result.type, 1)


def reduced(
    b: Builder, vector: SSAValue, kind: simt.ReduceKind, signed: bool
) -> SSAValue:
    """Return a vector reduced over all lanes, a component at a time.

    OpenCL has no reductions of vectors.
    """
    for at in range(length_of(vector)):
        total = b.pure(simt.ReduceOp, kind, b.extract(vector, at), signed)
        vector = b.insert(vector, at, total)
    return vector


def combined(
    op: tt.ReduceOp, one: Sequence[SSAValue], other: Sequence[SSAValue], b: Builder
) -> list[SSAValue]:
    """Return vectors combined as the region of a reduction combines elements."""
    block, length = op.combine.block, length_of(one[0])
    meaning: dict[SSAValue, SSAValue] = dict(
        zip(block.args, (*one, *other), strict=True)
    )

    def meant(value: SSAValue) -> SSAValue:
        """What a value is; one from outside of the region is the same for all."""
        if value not in meaning:
            meaning[value] = splat(b, value, length)
        return meaning[value]

    for each in block.ops:
        if isinstance(each, tt.ReduceReturnOp):
            return [meant(value) for value in each.operands]
        if isinstance(each, arith.ConstantOp):
            scalar = b.pure(arith.ConstantOp, each.value)
            meaning[each.result] = splat(b, scalar, length)
            continue
        types: list[Attribute] = [VectorType(x.type, [length]) for x in each.results]
        new = b.effect(
            type(each).create(
                operands=[meant(value) for value in each.operands],
                result_types=types,
                properties=dict(each.properties),
            )
        )
        meaning |= zip(each.results, new.results, strict=True)
    raise AssertionError(op)
