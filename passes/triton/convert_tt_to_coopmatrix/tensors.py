"""Tensors as functions of coordinates: what an element is, computed where it is asked.

    %o = arith.addi %rows, %range            o(i) = rows(i) + range(i)
    %e = tt.expand_dims %o {axis = 1}        e(i, j) = o(i)
    %r = tt.reshape %x : 4x2 -> 8            r(i) = x(i / 2, i mod 2)

Nothing is stored for these.  What comes from memory, products, sums and loops is in a
*buffer*, work-group memory in the shape of the tensor, whose elements are loaded where
they are asked for.  A tensor of pointers has a base, the argument that it points into,
and its elements are offsets from there; or its elements are addresses.

Laws (test/unit/passes/test_convert_tt_to_coopmatrix.py): an element of a view is that
of numpy's view; what is asked for twice in a block is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

from xdsl import ir
from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i32, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.utils.hints import isa

from coopc.dialects import simt, tt, ttg
from coopc.dialects.coopmatrix import Axis
from coopc.dialects.narrow import memref_type
from coopc.dialects.shaped_arith import Arith, element_of
from coopc.dialects.tt.types import (
    PtrType,
    Rounding,
    in_memory,
    is_tensor,
    shape_of,
)
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.ir.transaction import Refused
from coopc.passes.coopmatrix.elementwise import converted

Coordinates: TypeAlias = tuple[SSAValue, ...]
Function: TypeAlias = Callable[[Builder, Coordinates], SSAValue]
At: TypeAlias = Callable[[Coordinates], SSAValue]
InsideAt: TypeAlias = Callable[[Coordinates], SSAValue | bool]
FIRST = BoundedIndex(0)
"""The lane that does what is done once."""


@dataclass(frozen=True, eq=False, slots=True)
class Pointer:
    """A place in the memory behind an argument."""

    base: SSAValue
    """The argument, a memref of rank 0, or memory at an address."""
    offset: SSAValue
    """In elements from there, an i64."""


@dataclass(frozen=True, eq=False, slots=True)
class Address:
    """The form of a pointer of which control flow carries the address."""

    element: Attribute
    """What memory holds there."""


@dataclass(frozen=True, eq=False, slots=True)
class InMemory:
    """A tensor in memory, and for a block pointer where its block begins."""

    at: Pointer | Address
    sizes: tuple[SSAValue, ...]
    """Integers, in elements."""
    strides: tuple[SSAValue, ...]
    """i64, in elements."""
    offsets: tuple[SSAValue, ...] = ()
    """i32; empty of a descriptor, whose accesses say it."""
    pads_with_nan: bool = False

    @property
    def pointer(self) -> Pointer:
        """To the first element, of a value that is no form."""
        assert isinstance(self.at, Pointer), self
        return self.at


@dataclass(frozen=True, eq=False, slots=True)
class MatrixInMemory:
    """Memory from which tiles of a tensor can be loaded as matrices."""

    memory: SSAValue
    """Of rank 2 or more."""
    starts: tuple[SSAValue, ...]
    """Where in it the tensor begins, an index for each dimension."""
    checked: tuple[Axis, ...] = ()
    """The axes of the tensor along which the memory may end before the tensor does."""
    aligned: SSAValue | bool = True
    """Whether rows begin where the device wants it; it may be known only then."""
    is_transposed: bool = False
    """Whether rows of the memory are columns of the tensor."""

    def transposed(self) -> MatrixInMemory:
        other = {Axis.ROWS: Axis.COLS, Axis.COLS: Axis.ROWS}
        checked = tuple(other[x] for x in self.checked)
        return replace(self, checked=checked, is_transposed=not self.is_transposed)


@dataclass(frozen=True, eq=False, slots=True)
class Tensor:
    """A tensor: what its elements are, by their coordinates."""

    shape: tuple[int, ...]
    function: Function
    buffer: SSAValue | None = None
    """The memory that holds exactly its elements, if some does."""
    reads: frozenset[SSAValue] = frozenset()
    """The buffers that the function loads from."""
    base: SSAValue | None = None
    """Of pointers, what their offsets count from; without it they are addresses."""
    matrix: MatrixInMemory | None = None
    """Where products can load it from, if it is in memory as it is."""
    in_rounds: bool = False
    """Whether it is made of sums that are known only in the rounds of a statement."""


@dataclass(slots=True)
class Elements:
    """Asks tensors for elements; each once in a block."""

    known: dict[tuple[ir.Block, Tensor, Coordinates], SSAValue] = field(
        default_factory=dict[tuple[ir.Block, Tensor, Coordinates], SSAValue]
    )

    def of(self, b: Builder, tensor: Tensor, at: Coordinates) -> SSAValue:
        """Return an element, computed where the builder is."""
        key = b.block, tensor, at
        if key not in self.known:
            self.known[key] = tensor.function(b, at)
        return self.known[key]


def in_buffer(buffer: SSAValue, shape: Sequence[int], element: Attribute) -> Tensor:
    """Return the tensor that a buffer holds; booleans are bytes there."""

    def load(b: Builder, at: Coordinates) -> SSAValue:
        found = b.effect(memref.LoadOp.get(buffer, at)).results[0]
        return from_memory(b, found, element)

    matrix = MatrixInMemory(buffer, ()) if len(shape) >= 2 else None
    return Tensor(tuple(shape), load, buffer, frozenset({buffer}), matrix=matrix)


def from_memory(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """Return what was loaded as a value: the lowest bit of a byte, or other bits."""
    if value.type == element:
        return value
    if _is_bool(element):
        return b.pure(arith.TruncIOp, value, element)
    return b.pure(arith.BitcastOp, value, element)


def to_memory(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """Return a value as memory holds it."""
    if value.type == element:
        return value
    if _is_bool(value.type):
        return b.pure(arith.ExtUIOp, value, element)
    return b.pure(arith.BitcastOp, value, element)


def _is_bool(type: Attribute) -> bool:
    return getattr(type, "bitwidth", None) == 1


def index(b: Builder, value: SSAValue) -> SSAValue:
    """Return an integer as an index."""
    if value.type == INDEX:
        return value
    return b.pure(arith.IndexCastOp, value, INDEX)


def offset(b: Builder, value: SSAValue) -> SSAValue:
    """Return a signed integer as an i64."""
    if value.type == i64:
        return value
    if value.type == INDEX:
        return b.pure(arith.IndexCastOp, value, i64)
    return b.pure(arith.ExtSIOp, value, i64)


def flattened(b: Builder, at: Coordinates, shape: Sequence[int]) -> SSAValue:
    """Return the number of an element in row-major order."""
    found: SSAValue | None = None
    for place, size in zip(at, shape, strict=True):
        if size == 1:
            continue
        if found is not None:
            found = b.pure(arith.MuliOp, found, b.constant(INDEX, size))
            found = b.pure(arith.AddiOp, found, place)
        else:
            found = place
    return b.constant(INDEX, 0) if found is None else found


def unflattened(b: Builder, number: SSAValue, shape: Sequence[int]) -> Coordinates:
    """Return the coordinates of the element of a number."""
    found: list[SSAValue] = []
    rest = prod(shape)
    for size in shape:
        if size == 1:
            found.append(b.constant(INDEX, 0))
            continue
        outer, rest = rest, rest // size
        place = number
        if rest > 1:
            place = b.pure(arith.DivUIOp, number, b.constant(INDEX, rest))
        if size < outer // rest or any(x > 1 for x in shape[: len(found)]):
            place = b.pure(arith.RemUIOp, place, b.constant(INDEX, size))
        found.append(place)
    return tuple(found)


# Views and arithmetic, by operation: from the tensors of operands to that of a result.

Sources: TypeAlias = Sequence[Tensor | SSAValue]
Make: TypeAlias = Callable[[Elements, Any, Sequence[Tensor]], Function]


def _splat_of(value: SSAValue) -> Function:
    return lambda b, at: value


def _expanded(e: Elements, op: tt.ExpandDimsOp, srcs: Sequence[Tensor]) -> Function:
    axis = op.axis.value.data
    return lambda b, at: e.of(b, srcs[0], (*at[:axis], *at[axis + 1 :]))


def _broadcast(e: Elements, op: tt.BroadcastOp, srcs: Sequence[Tensor]) -> Function:
    (src,) = srcs

    def element(b: Builder, at: Coordinates) -> SSAValue:
        zero = b.constant(INDEX, 0)
        pairs = zip(src.shape, at, strict=True)
        return e.of(b, src, tuple(zero if n == 1 else x for n, x in pairs))

    return element


def _reshaped(e: Elements, op: Operation, srcs: Sequence[Tensor]) -> Function:
    (src,), shape = srcs, shape_of(op.results[0].type)

    def element(b: Builder, at: Coordinates) -> SSAValue:
        kept = [x for x, size in zip(at, shape, strict=True) if size > 1]
        if [n for n in shape if n > 1] == [n for n in src.shape if n > 1]:
            zero, places = b.constant(INDEX, 0), iter(kept)
            return e.of(
                b, src, tuple(zero if n == 1 else next(places) for n in src.shape)
            )
        return e.of(b, src, unflattened(b, flattened(b, at, shape), src.shape))

    return element


def _transposed(e: Elements, op: tt.TransOp, srcs: Sequence[Tensor]) -> Function:
    order = op.permutation

    def element(b: Builder, at: Coordinates) -> SSAValue:
        before = dict(zip(order, at, strict=True))
        return e.of(b, srcs[0], tuple(before[d] for d in range(len(at))))

    return element


def _same(e: Elements, op: Operation, srcs: Sequence[Tensor]) -> Function:
    return srcs[0].function


def _joined(e: Elements, op: tt.JoinOp, srcs: Sequence[Tensor]) -> Function:
    def element(b: Builder, at: Coordinates) -> SSAValue:
        *rest, which = at
        one, other = (e.of(b, x, tuple(rest)) for x in srcs)
        is_first = b.compare("eq", which, b.constant(INDEX, 0))
        return b.select(is_first, one, other)

    return element


def _concatenated(e: Elements, op: tt.CatOp, srcs: Sequence[Tensor]) -> Function:
    size = srcs[0].shape[0]

    def element(b: Builder, at: Coordinates) -> SSAValue:
        end = b.constant(INDEX, size)
        is_first = b.compare("ult", at[0], end)
        place = b.pure(arith.RemUIOp, at[0], end)
        one, other = (e.of(b, x, (place, *at[1:])) for x in srcs)
        return b.select(is_first, one, other)

    return element


def _gathered(e: Elements, op: tt.GatherOp, srcs: Sequence[Tensor]) -> Function:
    axis = op.axis.value.data
    src, indices = srcs

    def element(b: Builder, at: Coordinates) -> SSAValue:
        place = index(b, e.of(b, indices, at))
        return e.of(b, src, (*at[:axis], place, *at[axis + 1 :]))

    return element


def _moved(e: Elements, op: tt.AddPtrOp, srcs: Sequence[Tensor]) -> Function:
    unit = 1 if srcs[0].base is not None else pointee_bytes(op.result.type)

    def element(b: Builder, at: Coordinates) -> SSAValue:
        one, other = (offset(b, e.of(b, x, at)) for x in srcs)
        return b.pure(arith.AddiOp, one, scaled(b, other, unit))

    return element


def pointee_bytes(type: Attribute) -> int:
    """Return the size in memory of what a pointer, or each of a tensor, points to."""
    pointer = element_of(type)
    assert isinstance(pointer, PtrType), type
    return simt.bits_of(in_memory(pointer.pointee)) // 8


def scaled(b: Builder, value: SSAValue, factor: int) -> SSAValue:
    if factor == 1:
        return value
    return b.pure(arith.MuliOp, value, b.constant(value.type, factor))


def address_of(b: Builder, base: SSAValue, offset: SSAValue) -> SSAValue:
    """Return the address of an element behind a base, in bytes."""
    start = b.pure(simt.AddressOfOp, base)
    bytes = simt.bits_of(memref_type(base).get_element_type()) // 8
    return b.pure(arith.AddiOp, start, scaled(b, offset, bytes))


def addresses(e: Elements, pointers: Tensor) -> Tensor:
    """Return a tensor of pointers as one of addresses."""
    if (base := pointers.base) is None:
        return pointers

    def element(b: Builder, at: Coordinates) -> SSAValue:
        return address_of(b, base, e.of(b, pointers, at))

    return Tensor(pointers.shape, element, None, pointers.reads)


def _numbered(e: Elements, op: tt.MakeRangeOp, srcs: Sequence[Tensor]) -> Function:
    start = op.start.value.data

    def element(b: Builder, at: Coordinates) -> SSAValue:
        found = b.pure(arith.IndexCastOp, at[0], i32)
        if start == 0:
            return found
        return b.pure(arith.AddiOp, found, b.constant(i32, start))

    return element


def _constant(e: Elements, op: arith.ConstantOp, srcs: Sequence[Tensor]) -> Function:
    value = op.value
    if not isa(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        raise Refused(op, "expected a constant with the same number everywhere")
    element: Any = element_of(op.result.type)
    number: Any = value.get_values()[0]
    return lambda b, at: b.constant(element, number)


def _to_format(e: Elements, op: tt.FpToFpOp, srcs: Sequence[Tensor]) -> Function:
    if op.rounding_mode is Rounding.RTZ:
        raise Refused(op, "expected rounding = rtne, which conversions have, got rtz")
    target = element_of(op.result.type)
    return lambda b, at: converted(b, e.of(b, srcs[0], at), target, signed=True)


def _cast(e: Elements, op: tt.BitcastOp, srcs: Sequence[Tensor]) -> Function:
    if isinstance(target := element_of(op.result.type), PtrType):
        return srcs[0].function
    return lambda b, at: from_memory(b, e.of(b, srcs[0], at), target)


def _elementwise(
    e: Elements, op: Operation, srcs: Sequence[Tensor], number: int = 0
) -> Function:
    elements = map(element_of, op.result_types)
    results = [i64 if isinstance(x, PtrType) else x for x in elements]

    def make(*operands: SSAValue) -> Operation:
        return type(op).create(
            operands=operands,
            result_types=results,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )

    def element(b: Builder, at: Coordinates) -> SSAValue:
        return b.effect(make(*(e.of(b, x, at) for x in srcs))).results[number]

    return element


_APART = {"arith.constant", "arith.index_cast", "arith.index_castui"}
ELEMENTWISE = frozenset(
    op for op in (*Arith.operations, *math.Math.operations) if op.name not in _APART
)

FUNCTIONS: dict[type[Operation], Make] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    arith.ConstantOp: _constant,
    tt.AddPtrOp: _moved,
    tt.BitcastOp: _cast,
    tt.BroadcastOp: _broadcast,
    tt.CatOp: _concatenated,
    tt.ExpandDimsOp: _expanded,
    tt.FpToFpOp: _to_format,
    tt.GatherOp: _gathered,
    tt.IntToPtrOp: _same,
    tt.JoinOp: _joined,
    tt.MakeRangeOp: _numbered,
    tt.PtrToIntOp: _same,
    tt.ReshapeOp: _reshaped,
    tt.TransOp: _transposed,
    ttg.ConvertLayoutOp: _same,
}
"""What an element of the result is, by operation."""


def split_tensor(e: Elements, src: Tensor, which: int) -> Tensor:
    """Return the first, or the second, of each pair."""

    def element(b: Builder, at: Coordinates) -> SSAValue:
        return e.of(b, src, (*at, b.constant(INDEX, which)))

    return Tensor(src.shape[:-1], element, None, src.reads, src.base)


def is_resized(op: Operation) -> bool:
    """Whether an operation casts pointers to elements of another size."""
    if not isinstance(op, tt.BitcastOp):
        return False
    if not isinstance(element_of(op.src.type), PtrType):
        return False
    return pointee_bytes(op.src.type) != pointee_bytes(op.result.type)


def function_of(
    e: Elements, op: Operation, srcs: Sequence[Tensor], result: OpResult
) -> Tensor:
    """Return the tensor that a result of an operation on tensors is."""
    assert is_tensor(result.type), op
    is_pointer = [isinstance(element_of(x.type), PtrType) for x in op.operands]
    bases = {x.base for x, known in zip(srcs, is_pointer, strict=True) if known}
    if len(bases) > 1 or isinstance(op, tt.PtrToIntOp) or is_resized(op):
        srcs = [addresses(e, x) for x in srcs]
    if type(op) in ELEMENTWISE:
        function = _elementwise(e, op, srcs, result.index)
    else:
        function = FUNCTIONS[type(op)](e, op, srcs)
    reads = frozenset[SSAValue]().union(*(x.reads for x in srcs))
    base = next((x.base for x in srcs if x.base is not None), None)
    in_rounds = any(x.in_rounds for x in srcs)
    shape = shape_of(result.type)
    found = Tensor(shape, function, None, reads, base, in_rounds=in_rounds)
    if isinstance(op, ttg.ConvertLayoutOp):
        found = replace(found, buffer=srcs[0].buffer, matrix=srcs[0].matrix)
    elif isinstance(op, tt.TransOp) and (matrix := srcs[0].matrix) is not None:
        is_swap = op.permutation == (1, 0)
        found = replace(found, matrix=matrix.transposed() if is_swap else None)
    return found


def splat_tensor(shape: Sequence[int], value: SSAValue | Pointer) -> Tensor:
    """Return a tensor with one value everywhere."""
    if isinstance(value, Pointer):
        return Tensor(tuple(shape), _splat_of(value.offset), base=value.base)
    return Tensor(tuple(shape), _splat_of(value))
