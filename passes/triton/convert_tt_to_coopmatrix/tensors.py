"""Tensors as functions of coordinates: what an element is, computed where it is asked.

    %o = arith.addi %rows, %range            o(i) = rows(i) + range(i)
    %e = tt.expand_dims %o {axis = 1}        e(i, j) = o(i)
    %r = tt.reshape %x : 4x2 -> 8            r(i) = x(i / 2, i mod 2)

Nothing is stored for these.  What comes from memory, products, sums and loops is in a
*buffer*, work-group memory in the shape of the tensor, whose elements are loaded where
they are asked for.  A tensor of pointers has a base, the argument that it points into,
and its elements are offsets from there; or its elements are addresses.

Laws (test/unit/pipelines/test_triton_kernels.py): an element of a view is that
of numpy's view; what is asked for twice in a block is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

from xdsl import ir
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i32, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.utils.hints import isa

from coopc.dialects import simt, tt, ttg
from coopc.dialects.coopmatrix import Axis
from coopc.dialects.narrow import is_tensor, memref_type
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import PtrType, in_memory, shape_of
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused

Coordinates: TypeAlias = tuple[SSAValue, ...]
Function: TypeAlias = Callable[[Coordinates], SSAValue]
MOST_RANK = 3
"""Of a product, whose operands are matrices in memory."""
FIRST = BoundedIndex(0)
"""The lane that does what is done once."""


@dataclass(frozen=True, eq=False, slots=True)
class Pointer:
    """A place in the memory behind an argument: of an element, or of a tensor.

    That is what a descriptor describes, or a block pointer is a block of.
    """

    base: SSAValue
    """The argument, a memref of rank 0, or memory at an address."""
    offset: SSAValue
    """In elements from there, an i64."""
    sizes: tuple[SSAValue, ...] = ()
    """Of a tensor: integers, in elements."""
    strides: tuple[SSAValue, ...] = ()
    """i64, in elements."""
    starts: tuple[SSAValue, ...] = ()
    """Where the block of a block pointer begins, i32."""
    pads_with_nan: bool = False
    is_carried_as_address: bool = False
    """Of the form in which control flow carries it: see `carried_values.py`."""


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
    packed: int = 1
    """Elements in each of what the memory holds."""

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
    reads: frozenset[SSAValue | None] = frozenset()
    """The memory that the function loads from; None for that at addresses."""
    base: SSAValue | None = None
    """Of pointers, what their offsets count from; without it they are addresses."""
    matrix: MatrixInMemory | None = None
    """Where products can load it from, if it is in memory as it is."""
    in_rounds: bool = False
    """Whether it is made of sums that are known only in the rounds of a statement."""


@dataclass(slots=True)
class Elements:
    """Asks tensors for elements; each once in a block."""

    b: Builder
    known: dict[tuple[ir.Block, Tensor, Coordinates], SSAValue] = field(
        default_factory=dict[tuple[ir.Block, Tensor, Coordinates], SSAValue]
    )

    def of(self, tensor: Tensor, at: Coordinates) -> SSAValue:
        """Return an element, computed where the builder is."""
        key = self.b.block, tensor, at
        if key not in self.known:
            self.known[key] = tensor.function(at)
        return self.known[key]


def in_buffer(
    b: Builder, buffer: SSAValue, shape: Sequence[int], element: Attribute
) -> Tensor:
    """Return the tensor that a buffer holds; booleans are bytes there."""

    def load(at: Coordinates) -> SSAValue:
        at = place_in_buffer(b, at, shape)
        found = b.effect(memref.LoadOp.get(buffer, at)).results[0]
        return from_memory(b, found, element)

    matrix = MatrixInMemory(buffer, ()) if 2 <= len(shape) <= MOST_RANK else None
    return Tensor(tuple(shape), load, buffer, frozenset({buffer}), matrix=matrix)


def buffer_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the buffer of a tensor: a line, if products have no such."""
    return tuple(shape) if len(shape) <= MOST_RANK else (prod(shape),)


def place_in_buffer(b: Builder, at: Coordinates, shape: Sequence[int]) -> Coordinates:
    """Return where in its buffer an element of a tensor is."""
    return at if len(shape) <= MOST_RANK else (flattened(b, at, shape),)


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
    found: list[tuple[SSAValue, int]] = []
    for place, size in zip(at, shape, strict=True):
        if size == 1:
            continue
        if found and (digit := Digit.of(found[-1][0]).joined(Digit.of(place), size)):
            place, size = digit.value(b), found.pop()[1] * size
        found.append((place, size))
    if not found:
        return b.constant(INDEX, 0)
    (number, _), *rest = found
    for place, size in rest:
        number = b.pure(arith.MuliOp, number, b.constant(INDEX, size))
        number = b.pure(arith.AddiOp, number, place)
    return number


def unflattened(b: Builder, number: SSAValue, shape: Sequence[int]) -> Coordinates:
    """Return the coordinates of the element of a number."""
    found: list[SSAValue] = []
    rest = prod(shape)
    for size in shape:
        if size == 1:
            found.append(b.constant(INDEX, 0))
            continue
        is_first = rest == prod(shape)
        rest //= size
        digit = Digit(number, rest, None if is_first else size)
        found.append(digit.value(b))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of a number in a mixed radix: `number / step`, modulo `size`.

    (n / 6 mod 5) * 3 + (n / 2 mod 3)  =  n / 2 mod 15
    """

    number: SSAValue
    step: int = 1
    size: int | None = None
    """Without it, all digits from this one up."""

    @classmethod
    def of(cls, place: SSAValue) -> Digit:
        step, size = 1, None
        if isinstance(op := place.owner, arith.RemUIOp):
            size = constant_number(op.rhs)
            place = place if size is None else op.lhs
        if isinstance(op := place.owner, arith.DivUIOp):
            step = constant_number(op.rhs)
            if step is not None:
                place = op.lhs
        return cls(place, step or 1, size)

    def value(self, b: Builder) -> SSAValue:
        found = self.number
        if self.step > 1:
            found = b.pure(arith.DivUIOp, found, b.constant(INDEX, self.step))
        if self.size is not None:
            found = b.pure(arith.RemUIOp, found, b.constant(INDEX, self.size))
        return found

    def joined(self, lower: Digit, size: int) -> Digit | None:
        """Return this digit and the next lower one, of a size, as one."""
        if (self.number, self.step) != (lower.number, lower.step * size):
            return None
        if lower.size != size:
            return None
        whole = None if self.size is None else self.size * size
        return Digit(self.number, lower.step, whole)


# Views and arithmetic, by operation: from the tensors of operands to that of a result.

Make: TypeAlias = Callable[[Elements, Any, Sequence[Tensor]], Function]


def place_in_source(b: Builder, op: Operation, at: Coordinates) -> Coordinates:
    """Return which element of its source an element of a view is."""
    src, result = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    match op:
        case tt.ExpandDimsOp():
            axis = op.axis.value.data
            return (*at[:axis], *at[axis + 1 :])
        case tt.TransOp():
            before = dict(zip(op.permutation, at, strict=True))
            return tuple(before[dim] for dim in range(len(at)))
        case tt.BroadcastOp():
            zero = b.constant(INDEX, 0)
            pairs = zip(src, at, strict=True)
            return tuple(zero if n == 1 else x for n, x in pairs)
        case _ if [n for n in result if n > 1] == [n for n in src if n > 1]:
            zero = b.constant(INDEX, 0)
            kept = (x for x, n in zip(at, result, strict=True) if n > 1)
            return tuple(zero if n == 1 else next(kept) for n in src)
        case _:
            return unflattened(b, flattened(b, at, result), src)


def _joined(e: Elements, op: tt.JoinOp, srcs: Sequence[Tensor]) -> Function:
    def element(at: Coordinates) -> SSAValue:
        *rest, which = at
        one, other = (e.of(x, tuple(rest)) for x in srcs)
        is_first = e.b.compare("eq", which, e.b.constant(INDEX, 0))
        return e.b.select(is_first, one, other)

    return element


def _concatenated(e: Elements, op: tt.CatOp, srcs: Sequence[Tensor]) -> Function:
    def element(at: Coordinates) -> SSAValue:
        end = e.b.constant(INDEX, srcs[0].shape[0])
        is_first = e.b.compare("ult", at[0], end)
        place = e.b.pure(arith.RemUIOp, at[0], end)
        one, other = (e.of(x, (place, *at[1:])) for x in srcs)
        return e.b.select(is_first, one, other)

    return element


def _gathered(e: Elements, op: tt.GatherOp, srcs: Sequence[Tensor]) -> Function:
    axis, (src, indices) = op.axis.value.data, srcs

    def element(at: Coordinates) -> SSAValue:
        place = index(e.b, e.of(indices, at))
        return e.of(src, (*at[:axis], place, *at[axis + 1 :]))

    return element


def _moved(e: Elements, op: tt.AddPtrOp, srcs: Sequence[Tensor]) -> Function:
    unit = 1 if srcs[0].base is not None else pointee_bytes(op.result.type)

    def element(at: Coordinates) -> SSAValue:
        one, other = (offset(e.b, e.of(x, at)) for x in srcs)
        return e.b.pure(arith.AddiOp, one, scaled(e.b, other, unit))

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

    def element(at: Coordinates) -> SSAValue:
        return address_of(e.b, base, e.of(pointers, at))

    return Tensor(pointers.shape, element, None, pointers.reads)


def _numbered(e: Elements, op: tt.MakeRangeOp, srcs: Sequence[Tensor]) -> Function:
    start = op.start.value.data

    def element(at: Coordinates) -> SSAValue:
        found = e.b.pure(arith.IndexCastOp, at[0], i32)
        if start == 0:
            return found
        return e.b.pure(arith.AddiOp, found, e.b.constant(i32, start))

    return element


def _constant(e: Elements, op: arith.ConstantOp, srcs: Sequence[Tensor]) -> Function:
    value = op.value
    if not isa(value, DenseIntOrFPElementsAttr) or not value.is_splat():
        raise Refused(op, "expected a constant with the same number everywhere")
    element: Any = element_of(op.result.type)
    number: Any = value.get_values()[0]
    return lambda at: e.b.constant(element, number)


def _to_format(e: Elements, op: tt.FpToFpOp, srcs: Sequence[Tensor]) -> Function:
    def element(at: Coordinates) -> SSAValue:
        raise Refused(op, "not supported: no engine has the format")

    return element


def _elementwise(
    e: Elements, op: Operation, srcs: Sequence[Tensor], number: int = 0
) -> Function:
    elements = map(element_of, op.result_types)
    results = [i64 if isinstance(x, PtrType) else x for x in elements]

    def element(at: Coordinates) -> SSAValue:
        return e.b.like(op, [e.of(x, at) for x in srcs], results).results[number]

    return element


FUNCTIONS: dict[type[Operation], Make] = {
    **dict.fromkeys(tt.ELEMENTWISE, _elementwise),
    **dict.fromkeys(
        (tt.BroadcastOp, tt.ExpandDimsOp, tt.ReshapeOp, tt.TransOp),
        lambda e, op, srcs: lambda at: e.of(srcs[0], place_in_source(e.b, op, at)),
    ),
    **dict.fromkeys(
        (tt.BitcastOp, tt.IntToPtrOp, tt.PtrToIntOp, ttg.ConvertLayoutOp),
        lambda e, op, srcs: srcs[0].function,
    ),
    arith.ConstantOp: _constant,
    tt.AddPtrOp: _moved,
    tt.CatOp: _concatenated,
    tt.FpToFpOp: _to_format,
    tt.GatherOp: _gathered,
    tt.JoinOp: _joined,
    tt.MakeRangeOp: _numbered,
}
"""What an element of the result is, by operation.

expand-tt-math has rewritten `tt.bitcast` of numbers, and `tt.fp_to_fp` of formats that
engines have."""


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
    if type(op) in tt.ELEMENTWISE:
        function = _elementwise(e, op, srcs, result.index)
    else:
        function = FUNCTIONS[type(op)](e, op, srcs)
    reads = frozenset[SSAValue | None]().union(*(x.reads for x in srcs))
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
        return Tensor(tuple(shape), lambda at: value.offset, base=value.base)
    return Tensor(tuple(shape), lambda at: value)
