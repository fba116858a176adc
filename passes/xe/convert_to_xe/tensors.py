"""Arithmetic on tensors, reductions, and operations that only move what lanes hold.

`ttg.convert_layout` is an exchange of the lanes of each subgroup, `simt.exchange`, or
goes through work-group memory, for what other subgroups have: as
`coopc.layout.exchange` plans it.

`tt.reduce`: inside of each lane, across the lanes of a subgroup, across subgroups.

A lane combines what its registers hold along the axis, vector by vector; then lanes
whose numbers differ in a bit that runs along the axis exchange what they have and
combine it, bit after bit.  Where all lanes run along the axis and the combination is
one that subgroups have, it is one reduction of the subgroup.  Where subgroups run along
the axis, each leaves what it has in work-group memory, and all combine it alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.arith import AddiOp, ConstantOp, ExtSIOp, SelectOp
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, VectorType, i64
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt, tt, ttg
from coopc.dialects.layout import LinearAttr
from coopc.dialects.narrow import length_of, vector_type
from coopc.dialects.shaped_arith import element_of
from coopc.ir.builder import INDEX, Builder, Id
from coopc.ir.split_values import Results, Rule, Splitter
from coopc.ir.transaction import Refused
from coopc.layout.exchange import plan_exchange
from coopc.layout.linear import LinearLayout, select_outs
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.triton.origins import View
from coopc.passes.xe.convert_to_xe.group_memory import (
    GroupMemory,
    barrier,
    refuse_too_large,
)
from coopc.passes.xe.convert_to_xe.layout_to_arith import (
    coordinates,
    is_first,
    of_bases,
    row_major,
    times,
    zero_masks,
)
from coopc.passes.xe.convert_to_xe.vectors import (
    constant_i32,
    gathered,
    numbers,
    packed,
    splat,
    vectors_of,
)
from coopc.passes.xe.register_layout import RegisterLayout, registers_of, sources

Values = Sequence[SSAValue]
Combining = tt.ReduceOp | tt.ScanOp
RETURNS = (tt.ReduceReturnOp, tt.ScanReturnOp)


def view_sources(op: View) -> tuple[int, ...] | None:
    """Return which register of the source each of the result is.

    None if elements are in other lanes or warps than where they are wanted.
    """
    source, target = registers_of(op.src), registers_of(op.result)
    layout = source.layout
    if isinstance(op, tt.TransOp):
        layout = tt.transposed(layout, op.permutation)
    elif isinstance(op, tt.ExpandDimsOp | tt.ReshapeOp):
        layout = tt.reshaped(layout, tt.shape_of(op.result.type))
    sizes = tuple(layout.out_sizes.values())

    def before(place: Sequence[int]) -> tuple[int, ...]:
        """Where an element was before dimensions of size 1 were broadcast."""
        return tuple(at % size for at, size in zip(place, sizes, strict=True))

    for name in ("lane", "warp"):
        wanted = [before(basis) for basis in target.layout.bases(name)]
        if wanted != list(layout.bases(name)):
            return None
    elements = [before(target.coordinates[x]) for x in target.distinct]
    return sources(replace(source, layout=layout), elements)


@cache
def goes_through_memory(source: RegisterLayout, target: RegisterLayout) -> bool:
    """Whether the lanes of a subgroup do not exchange what they want."""
    bits = tt.bits_of(source.element) or 64
    layouts = _kept(source.layout), _kept(target.layout)
    return plan_exchange(*layouts, element_bits=bits).through_memory


def _kept(layout: LinearLayout) -> LinearLayout:
    """Return a layout of the registers that are kept: those with elements of their own.

    A register whose number has a bit with a dependent basis repeats an earlier one.
    """
    free = layout.free_masks().get("register", 0)
    ins = tuple(
        (name, tuple(x for bit, x in enumerate(bases) if not free >> bit & 1))
        if name == "register"
        else (name, bases)
        for name, bases in layout.ins
    )
    return replace(layout, ins=ins)


def convert_layout(group: GroupMemory, op: ttg.ConvertLayoutOp, b: Splitter) -> Results:
    """Registers in another order, or an exchange."""
    if view_sources(op) is not None:
        return view(op, b)
    source, target = registers_of(op.src), registers_of(op.result)
    vectors = vectors_of(op.src, b)
    if goes_through_memory(source, target):
        refuse_too_large(op, [source.element], 1 << source.layout.out_bits)
        return [packed(b, target, group.exchanged(b, vectors, source, target))]
    layouts = LinearAttr(_kept(source.layout)), LinearAttr(_kept(target.layout))
    new = simt.ExchangeOp(vectors, *layouts, (target.vector,) * target.vectors)
    return [packed(b, target, b.effect(new).results)]


def elementwise(op: Operation, b: Splitter) -> Results:
    """The same operation on each vector; scalars are the same for all."""
    if isinstance(op, SelectOp) and isinstance(op.result.type, tt.TensorDescType):
        return [b.parts(op.lhs)]  # one of several was refused: both are the same
    if not any(tt.is_tensor(x.type) for x in (*op.operands, *op.results)):
        new = b.effect(op.clone({x: b.parts(x)[0] for x in op.operands}))
        return [(result,) for result in new.results]
    columns = [vectors_of(value, b) for value in op.operands]
    count = max(len(column) for column in columns)
    rows = [column * (count if len(column) == 1 else 1) for column in columns]
    layouts = [registers_of(result) for result in op.results]
    types = [registers.vector for registers in layouts]
    found = [b.like(op, each, types).results for each in zip(*rows, strict=True)]
    columns = [list(each) for each in zip(*found, strict=True)]
    return [packed(b, x, y) for x, y in zip(layouts, columns, strict=True)]


def constant(op: ConstantOp, b: Splitter) -> Results:
    """A constant that is the same for all elements."""
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        what = "expected a constant that is the same for all elements"
        raise Refused(op, what)
    registers = registers_of(op.result)
    if registers.packed is not None and not any(value.data.data):
        return [(b.constant(registers.packed, 0),) * registers.pieces]
    one = BytesAttr(value.data.data[: value.get_element_type().compile_time_size])
    dense = DenseIntOrFPElementsAttr(registers.vector, one)  # pyright: ignore[reportArgumentType]
    return [packed(b, registers, [b.pure(ConstantOp, dense)] * registers.vectors)]


def splat_tensor(op: tt.SplatOp, b: Splitter) -> Results:
    """One vector, for all; pointers are 0 elements from their base."""
    registers = registers_of(op.result)
    if isinstance(op.src.type, tt.PtrType):
        return [(b.constant(registers.vector, 0),) * registers.vectors]
    vector = splat(b, op.src, registers.length)
    return [packed(b, registers, [vector] * registers.vectors)]


def make_range(op: tt.MakeRangeOp, b: Splitter) -> Results:
    """The coordinates of what a lane holds, from the start on."""
    registers = registers_of(op.result)
    found = coordinates(b, registers, 0)
    if start := op.start.value.data:
        first = numbers(b, [start] * registers.length)
        found = [b.pure(AddiOp, each, first) for each in found]
    return [packed(b, registers, found)]


def fp_to_fp(op: tt.FpToFpOp, b: Splitter) -> Results:
    """To another format of floats."""
    if op.rounding_mode is tt.Rounding.RTZ:
        what = "expected rounding = rtne, which conversions have, got rtz"
        raise Refused(op, what)
    if not tt.is_tensor(op.result.type):
        raise Refused(op, "expected floats of a tensor, got one: expand-tt-math")
    result, vectors = element_of(op.result.type), vectors_of(op.src, b)
    found = [converted(b, each, result, signed=True) for each in vectors]
    return [packed(b, registers_of(op.result), found)]


def view(op: View, b: Splitter) -> Results:
    """Registers in another order, each lane its own."""
    source, target = registers_of(op.src), registers_of(op.result)
    wanted = view_sources(op)
    if wanted is None:
        raise Refused(
            op,
            f"expected elements to stay in their lanes, which those of "
            f"{op.src.type} do not in {op.result.type}",
        )
    if source.packed == target.packed and source.run == target.run:
        identity = list(wanted) == list(range(len(source.distinct)))
        if identity:
            return [b.parts(op.src)]
    vectors = vectors_of(op.src, b)
    return [packed(b, target, gathered(b, vectors, wanted, target.length))]


def widened(b: Builder, value: SSAValue) -> SSAValue:
    """Return a vector of integers in 64 bits, sign extended."""
    wide = VectorType(i64, vector_type(value).get_shape())
    return value if value.type == wide else b.pure(ExtSIOp, value, wide)


def _refuse_moved(op: tt.JoinOp | tt.SplitOp, half: SSAValue, pairs: SSAValue) -> None:
    """Refuse pairs of which a lane has not both elements where it has one."""
    one, both = registers_of(half), registers_of(pairs)
    stay = {x[:-1] for x in both.position} == set(one.position)
    names = {*one.layout.in_names, *both.layout.in_names} - {"register"}
    for name in names:
        moved = [(*basis, 0) for basis in one.layout.bases(name)]
        stay = stay and moved == list(both.layout.bases(name))
    if not stay:
        raise Refused(
            op,
            f"expected both elements of a pair in the lane that has one, which those "
            f"of {half.type} are not in {pairs.type}",
        )


def join(op: tt.JoinOp, b: Splitter) -> Results:
    """Elements of one and of the other."""
    _refuse_moved(op, op.lhs, op.result)
    half, target = registers_of(op.lhs), registers_of(op.result)
    vectors = [*vectors_of(op.lhs, b), *vectors_of(op.rhs, b)]
    count = len(half.distinct)
    elements = (target.coordinates[x] for x in target.distinct)
    wanted = [half.position[x[:-1]] + count * x[-1] for x in elements]
    return [packed(b, target, gathered(b, vectors, wanted, target.length))]


def split(op: tt.SplitOp, b: Splitter) -> Results:
    """The first of each pair, and the second."""
    _refuse_moved(op, op.low, op.src)
    source, target = registers_of(op.src), registers_of(op.low)
    vectors = vectors_of(op.src, b)
    results: list[Values] = []
    for which in (0, 1):
        elements = [(*target.coordinates[x], which) for x in target.distinct]
        wanted = sources(source, elements)
        assert wanted is not None, target
        results.append(packed(b, target, gathered(b, vectors, wanted, target.length)))
    return results


# Reductions

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


def _refuse_reduction(op: tt.ReduceOp) -> None:
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
    refuse_region(op)


def refuse_region(op: Combining) -> None:
    for each in op.combine.block.ops:
        if not isinstance(each, RETURNS) and (
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


def reduce(group: GroupMemory, op: tt.ReduceOp, b: Splitter) -> Results:
    """Combine registers, then lanes, then subgroups."""
    _refuse_reduction(op)
    targets = [target_of(op, at) for at in range(len(op.srcs))]
    columns = [_copies(op, at, targets[at], b) for at in range(len(op.srcs))]
    rows = [_within(op, each, b) for each in zip(*columns, strict=True)]
    found = [_across(op, row, b) for row in rows]
    if warp_bits(registers_of(op.srcs[0]), op.axis.value.data):
        found = _through_memory(group, op, targets, found, b)
    results: list[Sequence[SSAValue]] = []
    for at, (result, target) in enumerate(zip(op.res, targets, strict=True)):
        vectors = [row[at] for row in found]
        if tt.is_tensor(result.type):
            results.append(packed(b, target, vectors))
        else:  # loops may depend on it: it is known to be the same in all lanes
            number = b.extract(vectors[0], 0)
            first = b.constant(INDEX, 0)
            results.append([b.pure(simt.BroadcastOp, number, first)])
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
    own = moved(b, places, times(b, number_along(b, "warp", bits), kept))
    barrier(b)
    flag = is_first(b, kept_layout(source.layout, axis), apart=bits)
    for at, memory in enumerate(memories):
        group.store(b, memory, [row[at] for row in rows], own, flag)
    barrier(b)
    found: list[list[SSAValue]] = []
    for number in range(1 << len(bits)):
        there = places
        if number:
            there = moved(b, places, constant_i32(b, number * kept))
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
    op: tt.ReduceOp, at: int, target: RegisterLayout, b: Splitter
) -> list[list[SSAValue]]:
    """Return for each vector of the result the vectors that it is combined of."""
    axis = op.axis.value.data
    source = registers_of(op.srcs[at])
    groups: dict[tuple[int, ...], list[int]] = {}
    for element, position in source.position.items():
        kept = (*element[:axis], *element[axis + 1 :])
        groups.setdefault(kept, []).append(position)
    lists = [groups[target.coordinates[x]] for x in target.distinct]
    vectors = vectors_of(op.srcs[at], b)
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


def number_along(b: Builder, of: Id, bits: Sequence[int]) -> SSAValue:
    """Return the number of a lane or subgroup among those along an axis, an i32.

    The bits are those of its number that run along the axis.
    """
    bases = [0] * (max(bits) + 2)  # One more than there are, so that it is masked.
    for number, bit in enumerate(bits):
        bases[bit] = 1 << number
    found = of_bases(b, of, bases).value
    assert found is not None, bits
    return found


def moved(b: Builder, places: Sequence[SSAValue], by: SSAValue) -> list[SSAValue]:
    """Return places in the part of memory of a subgroup."""
    return [b.pure(arith.AddiOp, x, splat(b, by, length_of(x))) for x in places]


def target_of(op: tt.ReduceOp, at: int) -> RegisterLayout:
    """Return how a result is spread; a scalar as a tensor of one element."""
    result = op.res[at]
    if tt.is_tensor(result.type):
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
    op: Combining, one: Sequence[SSAValue], other: Sequence[SSAValue], b: Builder
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
        if isinstance(each, RETURNS):
            return [meant(value) for value in each.operands]
        if isinstance(each, arith.ConstantOp):
            scalar = b.pure(arith.ConstantOp, each.value)
            meaning[each.result] = splat(b, scalar, length)
            continue
        types = [VectorType(x.type, [length]) for x in each.results]
        new = b.like(each, [meant(value) for value in each.operands], types)
        meaning |= zip(each.results, new.results, strict=True)
    raise AssertionError(op)


RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(tt.ELEMENTWISE, elementwise),
    **dict.fromkeys((tt.BroadcastOp, tt.ExpandDimsOp, tt.ReshapeOp, tt.TransOp), view),
    ConstantOp: constant,
    tt.FpToFpOp: fp_to_fp,
    tt.JoinOp: join,
    tt.MakeRangeOp: make_range,
    tt.SplatOp: splat_tensor,
    tt.SplitOp: split,
}
"""The rules for arithmetic and views, by operation."""
