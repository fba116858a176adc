"""Arithmetic on tensors, and operations that only rename what a lane holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.arith import AddiOp, ConstantOp, ExtSIOp, SelectOp
from xdsl.dialects.builtin import (
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    VectorType,
    i64,
)
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import tt, ttg
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import Rounding, is_tensor
from coopc.ir.split_values import Rule, Splitter
from coopc.ir.transaction import Refused
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.exchanges import Exchanges, why_not_convert
from coopc.passes.xe.convert_to_xe.layout_to_arith import coordinates
from coopc.passes.xe.convert_to_xe.pointers import Pointers
from coopc.passes.xe.convert_to_xe.registers import (
    gathered,
    packed,
    unpacked,
    vector_type,
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
    project = projection(op, source)
    names = [x for x in ("lane", "warp") if x in target.layout.in_names]
    for name in names:
        wanted = [project(basis) for basis in target.layout.bases(name)]
        if wanted != list(source.layout.bases(name)):
            return None
    elements = [project(target.coordinates[x]) for x in target.distinct]
    return sources(source, elements)


def projection(
    op: View, source: RegisterLayout
) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """Return which element of the source an element of the result is."""
    match op:
        case tt.ExpandDimsOp():
            axis = op.axis.value.data
            return lambda x: (*x[:axis], *x[axis + 1 :])
        case tt.BroadcastOp():
            sizes = tuple(source.layout.out_sizes.values())
            return lambda x: tuple(y % n for y, n in zip(x, sizes, strict=True))
        case tt.TransOp():
            order = op.permutation
            places = [order.index(d) for d in range(len(order))]
            return lambda x: tuple(x[at] for at in places)
        case tt.ReshapeOp():
            sizes = tuple(source.layout.out_sizes.values())
            target = registers_of(op.result)
            whole = tuple(target.layout.out_sizes.values())
            return lambda x: unraveled(raveled(x, whole), sizes)
        case _:
            return lambda x: x


def raveled(place: Sequence[int], sizes: Sequence[int]) -> int:
    """Return the number of an element in row-major order."""
    found = 0
    for at, size in zip(place, sizes, strict=True):
        found = found * size + at
    return found


def unraveled(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the element of a number in row-major order."""
    found: list[int] = []
    for size in reversed(sizes):
        number, at = divmod(number, size)
        found.append(at)
    return tuple(reversed(found))


@dataclass(slots=True)
class Tensors:
    """The rules."""

    entry: Entry
    pointers: Pointers
    exchanges: Exchanges

    def rules(self) -> dict[type[Operation], Rule]:
        """Return them, by operation."""
        views = (tt.ExpandDimsOp, tt.BroadcastOp, tt.TransOp, tt.ReshapeOp)
        return {
            **dict.fromkeys(ELEMENTWISE, self.elementwise),
            **dict.fromkeys(views, self.view),
            ConstantOp: self.constant,
            tt.AddPtrOp: self.addptr,
            tt.FpToFpOp: self.fp_to_fp,
            tt.MakeRangeOp: self.make_range,
            tt.SplatOp: self.splat,
            ttg.ConvertLayoutOp: self.convert,
        }

    def elementwise(self, op: Operation, s: Splitter) -> Sequence[Values]:
        """The same operation on each vector; scalars are the same for all."""
        if isinstance(op, SelectOp) and isinstance(op.result.type, tt.TensorDescType):
            return [s.parts(op.lhs)]  # one of several was refused: both are the same
        if not any(is_tensor(x.type) for x in (*op.operands, *op.results)):
            return _apart(op, s)
        columns = [self._column(value, s) for value in op.operands]
        count = max(len(column) for column in columns)
        rows = [column * (count if len(column) == 1 else 1) for column in columns]
        layouts = [registers_of(result) for result in op.results]
        found = [
            s.insert(
                type(op).create(
                    operands=operands,
                    result_types=[registers.vector for registers in layouts],
                    properties=dict(op.properties),
                )
            ).results
            for operands in zip(*rows, strict=True)
        ]
        columns = [list(each) for each in zip(*found, strict=True)]
        return [packed(s, x, y) for x, y in zip(layouts, columns, strict=True)]

    def _column(self, value: SSAValue, s: Splitter) -> list[SSAValue]:
        """Return the vectors of a tensor, or a scalar."""
        if not is_tensor(value.type):
            return [value]
        return unpacked(s, registers_of(value), s.parts(value))

    def constant(self, op: ConstantOp, s: Splitter) -> Sequence[Values]:
        """A constant that is the same for all elements, once in a kernel."""
        value = op.value
        if not isinstance(value, DenseIntOrFPElementsAttr) or not value.is_splat():
            what = "expected a constant that is the same for all elements"
            raise Refused(op, what)
        registers = registers_of(op.result)
        if registers.packed is not None and is_zero(value):
            zero = self.entry.numbers(
                (0,) * registers.packed.get_shape()[0],
                registers.packed.get_element_type(),
            )
            return [(zero,) * registers.pieces]
        bits = one_element(value)
        dense = DenseIntOrFPElementsAttr(registers.vector, bits)  # pyright: ignore[reportArgumentType]
        vector = self.entry.once((dense,), lambda: ConstantOp(dense))
        count = len(registers.distinct) // registers.length
        return [packed(s, registers, [vector] * count)]

    def splat(self, op: tt.SplatOp, s: Splitter) -> Sequence[Values]:
        """One vector, for all; pointers are 0 elements from their base."""
        registers = registers_of(op.result)
        count = len(registers.distinct) // registers.length
        if isinstance(op.src.type, tt.PtrType):
            zero = self.entry.numbers((0,) * registers.length, i64)
            return [(zero,) * count]
        vector = s.insert(BroadcastOp(op.src, registers.vector)).vector
        return [packed(s, registers, [vector] * count)]

    def make_range(self, op: tt.MakeRangeOp, s: Splitter) -> Sequence[Values]:
        """The coordinates of what a lane holds, from the start on."""
        registers = registers_of(op.result)
        found = coordinates(self.entry, registers, 0)
        if start := op.start.value.data:
            first = self.entry.numbers((start,) * registers.length)
            found = [s.insert(AddiOp(each, first)).result for each in found]
        return [packed(s, registers, found)]

    def addptr(self, op: tt.AddPtrOp, s: Splitter) -> Sequence[Values]:
        """Offsets and offsets, in 64 bits."""
        if not is_tensor(op.result.type):
            return self.pointers.add(op, s)
        wide = VectorType(i64, [registers_of(op.ptr).length])
        pairs = zip(s.parts(op.ptr), self._column(op.offset, s), strict=True)
        return [[s.insert(AddiOp(x, widened(s, y, wide))).result for x, y in pairs]]

    def fp_to_fp(self, op: tt.FpToFpOp, s: Splitter) -> Sequence[Values]:
        """To another format of floats."""
        if op.rounding_mode is Rounding.RTZ:
            what = "expected rounding = rtne, which conversions have, got rtz"
            raise Refused(op, what)
        if not is_tensor(op.result.type):
            raise Refused(op, "expected floats of a tensor, got one: expand-tt-math")
        source, result = element_of(op.src.type), element_of(op.result.type)
        registers = registers_of(op.result)
        return [
            packed(
                s,
                registers,
                [
                    converted(s, each, source, result)
                    for each in self._column(op.src, s)
                ],
            )
        ]

    def convert(self, op: ttg.ConvertLayoutOp, s: Splitter) -> Sequence[Values]:
        """Registers in another order, or an exchange."""
        if view_sources(op) is None:
            if (reason := why_not_convert(op)) is not None:
                raise Refused(op, reason)
            return self.exchanges.convert(op, s)
        return self.view(op, s)

    def view(self, op: View, s: Splitter) -> Sequence[Values]:
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
        vectors = unpacked(s, source, s.parts(op.src))
        return [packed(s, target, gathered(s, vectors, wanted, target.length))]


def widened(s: Splitter, value: SSAValue, type: VectorType) -> SSAValue:
    """Return integers in 64 bits, sign extended."""
    if value.type == type:
        return value
    # xDSL declares the type of the result as a number's, and takes a vector's.
    return s.insert(ExtSIOp(value, type)).result  # pyright: ignore[reportArgumentType]


def converted(
    s: Splitter, value: SSAValue, source: Attribute, result: Attribute
) -> SSAValue:
    """Return floats in another format, by way of f32 where neither has the other."""
    shape = vector_type(value).get_shape()
    halves = (Float16Type, BFloat16Type)
    if isinstance(source, halves) and isinstance(result, halves) and source != result:
        from xdsl.dialects.builtin import f32

        value = s.insert(arith.ExtFOp(value, VectorType(f32, shape))).result
        source = f32
    if source == result:
        return value
    widths = [getattr(x, "bitwidth", 0) for x in (source, result)]
    make = arith.ExtFOp if widths[0] < widths[1] else arith.TruncFOp
    return s.insert(make(value, VectorType(result, shape))).result


def one_element(value: DenseIntOrFPElementsAttr) -> BytesAttr:
    """Return the bits of the first element of a constant."""
    return BytesAttr(value.data.data[: value.get_element_type().compile_time_size])


def is_zero(value: DenseIntOrFPElementsAttr) -> bool:
    """Whether all bits of a constant are 0."""
    return not any(value.data.data)


def _apart(op: Operation, s: Splitter) -> Sequence[Values]:
    """The operation itself, on values that are no tensors."""
    new = s.insert(
        type(op).create(
            operands=[s.parts(value)[0] for value in op.operands],
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
    )
    return [(result,) for result in new.results]


def _refuse_moved(op: tt.JoinOp | tt.SplitOp, half: SSAValue, pairs: SSAValue) -> None:
    """Refuse pairs of which a lane has not both elements where it has one."""
    one, both = registers_of(half), registers_of(pairs)
    stay = {x[:-1] for x in both.position} == set(one.position)
    names = {*one.layout.in_names, *both.layout.in_names} - {"register"}
    for name in names:
        bases = one.layout.bases(name) if name in one.layout.in_names else ()
        wanted = both.layout.bases(name) if name in both.layout.in_names else ()
        stay = stay and [(*basis, 0) for basis in bases] == list(wanted)
    if not stay:
        raise Refused(
            op,
            f"expected both elements of a pair in the lane that has one, which those "
            f"of {half.type} are not in {pairs.type}",
        )


def join(op: tt.JoinOp, s: Splitter) -> Sequence[Values]:
    """Elements of one and of the other."""
    _refuse_moved(op, op.lhs, op.result)
    half, target = registers_of(op.lhs), registers_of(op.result)
    vectors = [
        vector
        for value in (op.lhs, op.rhs)
        for vector in unpacked(s, half, s.parts(value))
    ]
    count = len(half.distinct)
    elements = (target.coordinates[x] for x in target.distinct)
    wanted = [half.position[x[:-1]] + count * x[-1] for x in elements]
    return [packed(s, target, gathered(s, vectors, wanted, target.length))]


def split(op: tt.SplitOp, s: Splitter) -> Sequence[Values]:
    """The first of each pair, and the second."""
    _refuse_moved(op, op.low, op.src)
    source, target = registers_of(op.src), registers_of(op.low)
    vectors = unpacked(s, source, s.parts(op.src))
    return [_half(s, source, target, vectors, which) for which in (0, 1)]


def _half(
    s: Splitter,
    source: RegisterLayout,
    target: RegisterLayout,
    vectors: Values,
    which: int,
) -> list[SSAValue]:
    elements = [(*target.coordinates[x], which) for x in target.distinct]
    wanted = sources(source, elements)
    assert wanted is not None, target
    return packed(s, target, gathered(s, vectors, wanted, target.length))
