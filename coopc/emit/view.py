"""Memrefs as both emitters see them: what a type fixes, and what is left to run time.

A memref never becomes one value of a target.  It is a pointer, an offset, sizes and
strides, of which those that its type fixes are constants; `Form` says which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref, is_vector
from coopc.emit.walker import NoForm, count_of

Base = TypeVar("Base")
"""Where the elements of a memref begin, as a target has it."""
Number = TypeVar("Number")
"""A number of elements at run time, as a target has it."""
AnyView = TypeVar("AnyView", bound="View[Any, Any]")
IndexOp: TypeAlias = Literal["add", "mul"]


@dataclass(frozen=True, slots=True)
class Form:
    """What a memref type fixes; None stands for what it leaves to run time."""

    offset: int | None
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None
    """None for row-major order."""

    @classmethod
    def of(cls, type: MemRefType) -> Form:
        """The form of a type.

        Raises:
            NoForm: it has no strides.
        """
        sizes = tuple(None if size < 0 else size for size in type.get_shape())
        match type.layout:
            case NoneAttr():
                return cls(0, sizes, None)
            case StridedLayoutAttr() as layout:
                strides = tuple(layout.get_strides())
                return cls(layout.get_offset(), sizes, strides)
            case other:
                raise NoForm(f"expected a memref with strides, got layout {other}")

    @property
    def open(self) -> list[tuple[str, int]]:
        """What is left to run time: `("size", 1)`; of the offset, the number is 0."""
        dimensions = [("size", d) for d, n in enumerate(self.sizes) if n is None]
        strides = enumerate(self.strides or ())
        dimensions += [("stride", d) for d, n in strides if n is None]
        return [*([("offset", 0)] if self.offset is None else []), *dimensions]

    def view(
        self, at: AnyView, offset: object, sizes: Sequence[Any], strides: Sequence[Any]
    ) -> AnyView:
        """The memory of a view by other numbers; what the form fixes is a constant.

        Args:
            at: says where the memory is.
            offset: of the first element, in elements.
            sizes: as many as the form has.
            strides: likewise; none are needed in row-major order.
        """
        return replace(
            at,
            offset=offset if self.offset is None else self.offset,
            sizes=_fixed(self.sizes, sizes),
            strides=None if self.strides is None else _fixed(self.strides, strides),
        )

    def opened(self, at: AnyView, numbers: Iterable[Any]) -> AnyView:
        """The memory of a view, with the numbers that are left to run time in order."""
        found = dict(zip(self.open, numbers, strict=True))
        rank = range(len(self.sizes))
        sizes, strides = ([found.get((w, d)) for d in rank] for w in ("size", "stride"))
        return self.view(at, found.get(("offset", 0)), sizes, strides)


def _fixed(numbers: Sequence[int | None], given: Sequence[Any]) -> tuple[Any, ...]:
    pairs = zip(numbers, given, strict=True)
    return tuple(other if number is None else number for number, other in pairs)


def space_of(type: MemRefType) -> simt.MemorySpace:
    """Where a memref is.

    Raises:
        NoForm: its memory space is no `#simt.memory`.
    """
    match type.memory_space:
        case NoneAttr():
            return simt.MemorySpace.GLOBAL
        case simt.MemoryAttr() as space:
            return space.data
        case other:
            raise NoForm(f"expected a memory space of #simt.memory, got {other}")


def memref_type(value: SSAValue) -> MemRefType:
    """The type of a memref.

    Raises:
        NoForm: it has no rank.
    """
    if not is_memref(value.type):
        raise NoForm(f"expected a memref with a rank, got {value.type}")
    return value.type


def repeats_of(op: vector.BroadcastOp) -> int:
    """How often the components of what is broadcast follow each other in the result.

    Raises:
        NoForm: the last sizes of the result are others.
    """
    type, source = op.vector.type, op.source.type
    last = source.get_shape() if is_vector(source) else ()
    shape = type.get_shape()
    if tuple(shape[len(shape) - len(last) :]) != tuple(last):
        raise NoForm(
            f"expected the last sizes of {type} to be those of the source, got {source}"
        )
    return count_of(type) // count_of(source)


Numbers: TypeAlias = tuple[int, tuple[int | Number, ...], tuple[int, ...] | None]
"""Offset, sizes and strides of a memref."""


def allocated(
    type: MemRefType, named: Iterable[Number] = ()
) -> tuple[tuple[int | Number, ...], Numbers[Number]]:
    """The elements of the array that an allocation is, and where the memref is there.

    `named` are its sizes that are no constants.

    Returns:
        Factors of the number of elements, the first of which is a constant.

    >>> from xdsl.dialects.builtin import f32
    >>> allocated(MemRefType(f32, (2, 3)))
    ((6,), (0, (2, 3), None))
    >>> allocated(MemRefType(f32, (2, DYNAMIC_INDEX)), ["%n"])
    ((2, '%n'), (0, (2, '%n'), None))
    >>> allocated(MemRefType(f32, (2, 3), StridedLayoutAttr((1, 4), 5)))
    ((15,), (5, (2, 3), (1, 4)))

    Raises:
        NoForm: it has open strides, or an element would be before its start.
    """
    form, named = Form.of(type), tuple(named)
    shape = tuple(mixed(type.get_shape(), named))
    if form.strides is None:
        known = prod(size for size in type.get_shape() if size >= 0)
        return (max(1, known), *named), (0, shape, None)
    if form.open:
        raise NoForm(f"expected an allocation of a constant size, got {type}")
    offset, *strides = (0 if n is None else n for n in (form.offset, *form.strides))
    if min((offset, *strides)) < 0:
        raise NoForm(f"expected strides that are not negative, got {type.layout}")
    ends = zip(type.get_shape(), strides, strict=True)
    last = sum((size - 1) * stride for size, stride in ends if size)
    return (offset + last + 1,), (offset, shape, tuple(strides))


def mixed(static: Sequence[int], dynamic: Iterable[Number]) -> list[int | Number]:
    """Numbers of which some are attributes and the others operands.

    >>> mixed((4, DYNAMIC_INDEX, 1), ["%n"])
    [4, '%n', 1]
    """
    given = iter(dynamic)
    return [next(given) if n == DYNAMIC_INDEX else n for n in static]


@dataclass(frozen=True, slots=True)
class View(Generic[Base, Number]):
    """A memref: element (i, j) is `base[offset + i * strides[0] + j * strides[1]]`."""

    base: Base
    """A pointer to an element; in SPIR-V also the variable of an array or a buffer."""
    element: Attribute
    """The type of an element."""
    offset: int | Number = 0
    sizes: tuple[int | Number, ...] = ()
    strides: tuple[int | Number, ...] | None = None
    """None for row-major order, where they follow from the sizes."""
    wide: bool = False
    """Whether the number of an element may need more bits than an index has."""

    @property
    def numbers(self) -> tuple[int | Number, ...]:
        return (self.offset, *self.sizes, *(self.strides or ()))


class Index(ABC, Generic[Number]):
    """Index arithmetic in one function, for any target.

    Laws: adding 0 and multiplying by 0 or 1 emit nothing; of two equal numbers of which
    the first dominates the second, only the first is emitted.
    """

    def __init__(self) -> None:
        self._seen: list[dict[Hashable, Number]] = [{}]
        """What was emitted, for each region around the current one."""

    @abstractmethod
    def num(self, number: int | Number) -> int | Number:
        """A number as an int where its value is a constant."""

    @abstractmethod
    def value(self, number: int | Number) -> Number:
        """A number as a value of the target."""

    @abstractmethod
    def emit(self, op: IndexOp, left: int | Number, right: int | Number) -> Number:
        """Emit an addition or a multiplication."""

    def wide(self, number: int | Number) -> int | Number:
        """A number in the width of an address, where an index has less."""
        return number

    def narrow(self, number: int | Number) -> Number:
        """A number in the width of an index, as a value.

        Raises:
            NoForm: it is a constant that an index cannot hold.
        """
        return self.value(number)

    def enter(self) -> None:
        """A region or a block begins that may not dominate what follows it."""
        self._seen.append({})

    def leave(self) -> None:
        self._seen.pop()

    def once(self, key: Hashable, make: Callable[[], Number]) -> Number:
        """What `make` emits, or emitted for the same key where that dominates."""
        for seen in reversed(self._seen):
            if (found := seen.get(key)) is not None:
                return found
        found = self._seen[-1][key] = make()
        return found

    def add(self, left: int | Number, right: int | Number) -> int | Number:
        a, b = self.num(left), self.num(right)
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else self.once(("add", a, b), lambda: self.emit("add", a, b))

    def mul(self, left: int | Number, right: int | Number) -> int | Number:
        a, b = self.num(left), self.num(right)
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.once(("mul", a, b), lambda: self.emit("mul", a, b))

    def scaled(
        self, view: View[Any, Number], stride: int | Number, step: int | Number
    ) -> int | Number:
        return self.mul(self.wide(stride) if view.wide and step != 1 else stride, step)

    def strides(self, view: View[Any, Number]) -> tuple[int | Number, ...]:
        """The strides of a memref, in elements."""
        if view.strides is not None:
            return view.strides
        found: list[int | Number] = [1]
        for size in reversed(view.sizes[1:]):
            found.insert(0, self.scaled(view, size, found[0]))
        return tuple(found[: len(view.sizes)])

    def linear(
        self, view: View[Any, Number], positions: Sequence[int | Number]
    ) -> int | Number:
        """Where an element is, in elements from the base."""
        at = view.offset
        if view.wide:
            at, positions = self.wide(at), [self.wide(each) for each in positions]
        for position, stride in zip(positions, self.strides(view), strict=True):
            at = self.add(at, self.mul(position, stride))
        return at

    def open_numbers(self, view: View[Any, Number], form: Form) -> list[Number]:
        """The numbers of a memref that a form leaves to run time, in its order."""
        found = {"offset": (view.offset,), "size": view.sizes}
        if None in (form.strides or ()):
            found["stride"] = self.strides(view)
        return [self.value(found[what][d]) for what, d in form.open]

    def consecutive(
        self,
        view: View[Any, Number],
        positions: Sequence[int | Number],
        type: Attribute,
    ) -> int | Number:
        """Where the first component of a vector is; in memory the others follow it.

        Raises:
            NoForm: they do not.
        """
        assert is_vector(type), type
        if type.get_num_dims() != 1:
            raise NoForm(f"expected a vector of one dimension, got {type}")
        last = self.strides(view)[-1:] or (1,)
        if self.num(last[0]) != 1:
            raise NoForm("expected a memref whose last stride is 1")
        return self.linear(view, positions)

    def place(
        self,
        type: Attribute,
        static: Sequence[int],
        dynamic: Iterable[int | Number],
    ) -> tuple[int | Number, int]:
        """Where a position is in the components of a vector, and how many it names.

        Raises:
            NoForm: a position that is known is not in the vector.
        """
        assert is_vector(type), type
        shape = type.get_shape()
        at: int | Number = 0
        for size, position in zip(shape, mixed(static, dynamic), strict=False):
            if isinstance(position, int) and not 0 <= position < size:
                raise NoForm(f"expected a position below {size}, got {position}")
            at = self.add(self.mul(at, size), position)
        named = 1
        for size in shape[len(static) :]:
            at = self.mul(at, size)
            named *= size
        return at, named
