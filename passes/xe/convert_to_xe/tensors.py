"""Arithmetic on tensors, and operations that only rename or move what lanes hold.

`ttg.convert_layout` is an exchange of the lanes of each subgroup, `simt.exchange`, or
goes through work-group memory, for what other subgroups have: as
`coopc.layout.exchange` plans it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from xdsl.dialects import arith, math
from xdsl.dialects.arith import AddiOp, ConstantOp, ExtSIOp, SelectOp
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    VectorType,
    i64,
)
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt, tt, ttg
from coopc.dialects.layout import LinearAttr
from coopc.dialects.narrow import vector_type
from coopc.dialects.shaped_arith import element_of
from coopc.ir.builder import Builder
from coopc.ir.split_values import Results, Splitter
from coopc.ir.transaction import Refused
from coopc.layout.exchange import plan_exchange
from coopc.layout.linear import LinearLayout
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory, refuse_too_large
from coopc.passes.xe.convert_to_xe.layout_to_arith import coordinates
from coopc.passes.xe.convert_to_xe.vectors import (
    Rule,
    gathered,
    numbers,
    packed,
    splat,
    vectors_of,
)
from coopc.passes.xe.register_layout import RegisterLayout, registers_of, sources

Values = Sequence[SSAValue]
View = (
    tt.ExpandDimsOp | tt.BroadcastOp | tt.TransOp | tt.ReshapeOp | ttg.ConvertLayoutOp
)


def _elementwise() -> tuple[type[Operation], ...]:
    """Return the operations of arith and math that work on each element by itself."""
    apart = {"arith.constant", "arith.index_cast", "arith.index_castui"}
    found = [*arith.Arith.operations, *math.Math.operations]
    return tuple(op for op in found if op.name not in apart)


ELEMENTWISE = _elementwise()


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


def convert_layout(
    group: GroupMemory, op: ttg.ConvertLayoutOp, s: Splitter, b: Builder
) -> Results:
    """Registers in another order, or an exchange."""
    if view_sources(op) is not None:
        return view(op, s, b)
    source, target = registers_of(op.src), registers_of(op.result)
    vectors = vectors_of(op.src, s, b)
    if goes_through_memory(source, target):
        refuse_too_large(op, [source.element], 1 << source.layout.out_bits)
        return [packed(b, target, group.exchanged(b, vectors, source, target))]
    layouts = LinearAttr(_kept(source.layout)), LinearAttr(_kept(target.layout))
    new = simt.ExchangeOp(vectors, *layouts, (target.vector,) * target.vectors)
    return [packed(b, target, b.effect(new).results)]


def elementwise(op: Operation, s: Splitter, b: Builder) -> Results:
    """The same operation on each vector; scalars are the same for all."""
    if isinstance(op, SelectOp) and isinstance(op.result.type, tt.TensorDescType):
        return [s.parts(op.lhs)]  # one of several was refused: both are the same
    if not any(tt.is_tensor(x.type) for x in (*op.operands, *op.results)):
        new = b.effect(
            type(op).create(
                operands=[s.parts(value)[0] for value in op.operands],
                result_types=op.result_types,
                properties=dict(op.properties),
                attributes=dict(op.attributes),
            )
        )
        return [(result,) for result in new.results]
    columns = [vectors_of(value, s, b) for value in op.operands]
    count = max(len(column) for column in columns)
    rows = [column * (count if len(column) == 1 else 1) for column in columns]
    layouts = [registers_of(result) for result in op.results]
    found = [
        b.effect(
            type(op).create(
                operands=operands,
                result_types=[registers.vector for registers in layouts],
                properties=dict(op.properties),
            )
        ).results
        for operands in zip(*rows, strict=True)
    ]
    columns = [list(each) for each in zip(*found, strict=True)]
    return [packed(b, x, y) for x, y in zip(layouts, columns, strict=True)]


def constant(op: ConstantOp, s: Splitter, b: Builder) -> Results:
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


def splat_tensor(op: tt.SplatOp, s: Splitter, b: Builder) -> Results:
    """One vector, for all; pointers are 0 elements from their base."""
    registers = registers_of(op.result)
    if isinstance(op.src.type, tt.PtrType):
        return [(b.constant(registers.vector, 0),) * registers.vectors]
    vector = splat(b, op.src, registers.length)
    return [packed(b, registers, [vector] * registers.vectors)]


def make_range(op: tt.MakeRangeOp, s: Splitter, b: Builder) -> Results:
    """The coordinates of what a lane holds, from the start on."""
    registers = registers_of(op.result)
    found = coordinates(b, registers, 0)
    if start := op.start.value.data:
        first = numbers(b, [start] * registers.length)
        found = [b.pure(AddiOp, each, first) for each in found]
    return [packed(b, registers, found)]


def fp_to_fp(op: tt.FpToFpOp, s: Splitter, b: Builder) -> Results:
    """To another format of floats."""
    if op.rounding_mode is tt.Rounding.RTZ:
        what = "expected rounding = rtne, which conversions have, got rtz"
        raise Refused(op, what)
    if not tt.is_tensor(op.result.type):
        raise Refused(op, "expected floats of a tensor, got one: expand-tt-math")
    result, vectors = element_of(op.result.type), vectors_of(op.src, s, b)
    found = [converted(b, each, result, signed=True) for each in vectors]
    return [packed(b, registers_of(op.result), found)]


def view(op: View, s: Splitter, b: Builder) -> Results:
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
            return [s.parts(op.src)]
    vectors = vectors_of(op.src, s, b)
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


def join(op: tt.JoinOp, s: Splitter, b: Builder) -> Results:
    """Elements of one and of the other."""
    _refuse_moved(op, op.lhs, op.result)
    half, target = registers_of(op.lhs), registers_of(op.result)
    vectors = [*vectors_of(op.lhs, s, b), *vectors_of(op.rhs, s, b)]
    count = len(half.distinct)
    elements = (target.coordinates[x] for x in target.distinct)
    wanted = [half.position[x[:-1]] + count * x[-1] for x in elements]
    return [packed(b, target, gathered(b, vectors, wanted, target.length))]


def split(op: tt.SplitOp, s: Splitter, b: Builder) -> Results:
    """The first of each pair, and the second."""
    _refuse_moved(op, op.low, op.src)
    source, target = registers_of(op.src), registers_of(op.low)
    vectors = vectors_of(op.src, s, b)
    results: list[Values] = []
    for which in (0, 1):
        elements = [(*target.coordinates[x], which) for x in target.distinct]
        wanted = sources(source, elements)
        assert wanted is not None, target
        results.append(packed(b, target, gathered(b, vectors, wanted, target.length)))
    return results


RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    ConstantOp: constant,
    tt.BroadcastOp: view,
    tt.ExpandDimsOp: view,
    tt.FpToFpOp: fp_to_fp,
    tt.JoinOp: join,
    tt.MakeRangeOp: make_range,
    tt.ReshapeOp: view,
    tt.SplatOp: splat_tensor,
    tt.SplitOp: split,
    tt.TransOp: view,
}
"""The rules for arithmetic and views, by operation."""
