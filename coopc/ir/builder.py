"""Builds code in front of an operation, or in a block: it inserts, and no more.

What is the same in several blocks, or does not change in a loop, is for `normalize` to
find.  Only within a block is a pure operation built once: else code that is written out
would be too much to verify before it is cleaned up.

A *bounded index* is a number known in part: a constant, plus what is known at run time.

    7 + %t, %t in [0, 15]

Places in matrices are counted with these: `16 + %t` divided by 16 is 1, without an
operation, as `%t` is at most 15.

Laws (test/unit/ir/test_builder.py): `divided` and `remainder` are those of Python on
every value that an index can have; what `most` says is an upper bound.  `gathered` has
the components that are asked for, and takes one shuffle less than there are vectors if
these are as long.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, Self, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    LocationAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.memref import AllocaOp, LoadOp, StoreOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp, YieldOp
from xdsl.dialects.vector import (
    BitcastOp,
    BroadcastOp,
    ExtractOp,
    InsertOp,
    ShuffleOp,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import is_integer, is_vector, length_of, vector_type
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.simt import ShuffleMode
from coopc.ir.control_flow import OpT, free_name
from coopc.ir.facts import constant_number

Values: TypeAlias = tuple[SSAValue, ...]
Component: TypeAlias = tuple[SSAValue, int]
"""A vector, and a position in it."""
_Part: TypeAlias = tuple[SSAValue, dict[int, int]]
"""A vector, and the position of what it has for places of a new one."""
INDEX = IndexType()
Id: TypeAlias = Literal["lane", "warp"]
"""The inputs of layouts that are numbers at run time; a warp is a subgroup."""
Size: TypeAlias = int | SSAValue
"""A number that is not negative, known when compiling or when the kernel starts."""
MOST_SIZE = 2**31 - 1
"""What a size that is known when the kernel starts is at most."""
AFFINE: dict[AffineBinaryOpKind, type[Operation]] = {
    AffineBinaryOpKind.Add: arith.AddiOp,
    AffineBinaryOpKind.Mul: arith.MuliOp,
    AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
    AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
    AffineBinaryOpKind.Mod: arith.RemUIOp,
}


@dataclass(frozen=True, slots=True)
class BoundedIndex:
    """`constant + part`, both at least 0."""

    constant: int = 0
    part: SSAValue | None = None
    """What is known at run time, an index; 0 where there is none."""
    part_most: int = 0
    """The greatest value of the part."""
    varies: bool = False
    """Whether lanes have different values."""

    @property
    def most(self) -> int:
        """The greatest value."""
        return self.constant + self.part_most

    @property
    def known(self) -> int | None:
        """The value, if it is known when compiling."""
        return self.constant if self.part is None else None


@dataclass(slots=True)
class Built:
    """What builders have built, for builders at later places of the same function."""

    values: dict[Block, dict[tuple[Any, ...], SSAValue]] = field(
        default_factory=dict[Block, dict[tuple[Any, ...], SSAValue]]
    )
    depths: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])


@dataclass(slots=True)
class Builder:
    """A place in a program."""

    block: Block
    before: Operation | None
    """Operations go before this one; at the end of the block if it is None."""
    location: LocationAttr
    """Of the operations that are built."""
    unroll: bool = False
    """Whether loops are written out."""
    built: Built = field(default_factory=Built)
    """Shared by builders of a function that are used in the order of their places."""

    @classmethod
    def at(
        cls, op: Operation, built: Built | None = None, unroll: bool = False
    ) -> Self:
        """Return a builder in front of an operation."""
        assert op.parent is not None, op
        return cls(op.parent, op, op.location, unroll, built or Built())

    @classmethod
    def at_end(
        cls, block: Block, location: LocationAttr, unroll: bool = False
    ) -> Builder:
        return cls(block, None, location, unroll)

    @classmethod
    def after(cls, value: SSAValue, location: LocationAttr) -> Builder:
        """Return a builder where a value is first known, behind what is allocated."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        assert block is not None, value
        before = owner.first_op if isinstance(owner, Block) else owner.next_op
        while isinstance(before, AllocaOp):
            before = before.next_op
        return cls(block, before, location)

    def effect(self, op: OpT) -> OpT:
        """Insert an operation, and return it."""
        op.location = self.location
        end = InsertPoint.at_end(self.block)
        Rewriter.insert_op(op, InsertPoint.before(self.before) if self.before else end)
        return op

    def like(
        self,
        op: Operation,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        regions: Sequence[Region] = (),
    ) -> Operation:
        """Insert an operation as another one, on other operands and with regions."""
        return self.effect(
            type(op).create(
                operands=operands,
                result_types=types,
                properties=dict(op.properties),
                attributes=dict(op.attributes),
                regions=regions,
            )
        )

    def on_vectors(
        self, op: Operation, operands: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Insert an elementwise operation on other operands: on vectors, if one is."""
        shape = next((x.type for x in operands if is_vector(x.type)), None)
        types: list[Attribute] = [x.type for x in op.results]
        if shape is not None:
            operands = [self.broadcast(x, shape) for x in operands]
            types = [shaped(shape, x) for x in types]
        return self.like(op, operands, types).results

    def pure(self, make: Callable[..., Operation], *operands: Any) -> SSAValue:
        """Return the result of an operation that this block may share.

        Args:
            make: a class, or a function, from the operands to the operation.
            operands: values, and whatever hashable thing else `make` takes.
        """
        seen = self.built.values.setdefault(self.block, {})
        key = (make, *operands)
        if (found := seen.get(key)) is None:
            new = self.effect(make(*operands))
            found = seen[key] = new.results[0]
            self.built.depths[found] = max(map(self.depth, new.operands), default=0)
        return found

    def depth(self, value: SSAValue) -> int:
        """Return how many loops are around a value, once it is out of all it can be."""
        if (found := self.built.depths.get(value)) is None:
            found, around = 0, value.owner.parent_op()
            while around is not None:
                found += isinstance(around, ForOp | WhileOp)
                around = around.parent_op()
            self.built.depths[value] = found
        return found

    def constant(self, type: Attribute, value: float) -> SSAValue:
        """Return a constant of a type, in every component of a vector."""
        found = self.pure(arith.ConstantOp, constant_attr(type, value))
        if type == INDEX:
            found.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
        return found

    def lane(self, lanes: int) -> BoundedIndex:
        found = self.pure(simt.LaneIdOp)
        found.name_hint = "lane"
        return BoundedIndex(0, found, lanes - 1, varies=True)

    def id(self, of: Id) -> SSAValue:
        """Return the number of the lane or of the subgroup, an i32."""
        op = simt.LaneIdOp if of == "lane" else simt.SubgroupIdOp
        found = self.pure(arith.IndexCastOp, self.pure(op), i32)
        found.name_hint = "lane" if of == "lane" else "subgroup"
        return found

    def shuffle(self, value: SSAValue, lane: SSAValue, mode: ShuffleMode) -> SSAValue:
        return self.pure(simt.ShuffleOp, mode, value, lane)

    def from_lane(
        self, value: SSAValue, lane: BoundedIndex, mode: ShuffleMode = ShuffleMode.IDX
    ) -> SSAValue:
        """Return what another lane has; a broadcast where all read the same one."""
        if mode == ShuffleMode.IDX and not lane.varies:
            return self.pure(simt.BroadcastOp, value, self.index(lane))
        return self.shuffle(value, self.index(lane), mode)

    def selected(self, values: Values, number: BoundedIndex) -> SSAValue:
        """Return one of some values, by its number."""
        found, *others = values
        for at, other in enumerate(others, 1):
            found = self.select(self.equal(number, at), other, found)
        return found

    def plus(self, value: SSAValue, by: int) -> SSAValue:
        """Return the sum of an index and a number, which may be negative."""
        if by == 0:
            return value
        if (known := constant_number(value)) is not None:
            return self.constant(INDEX, known + by)
        found = self.pure(arith.AddiOp, value, self.constant(INDEX, by))
        if value.name_hint is not None:
            sign = "plus" if by > 0 else "minus"
            found.name_hint = f"{value.name_hint}_{sign}{abs(by)}"
        return found

    # Memory

    def load(self, memory: SSAValue, at: Sequence[SSAValue]) -> SSAValue:
        """Return an element of a memref."""
        return self.effect(LoadOp.get(memory, at)).res

    def store(self, value: SSAValue, memory: SSAValue, at: Sequence[SSAValue]) -> None:
        self.effect(StoreOp.get(value, memory, at))

    # Vectors

    def bitcast(self, vector: SSAValue, type: VectorType) -> SSAValue:
        same = vector.type == type
        return vector if same else self.pure(BitcastOp, vector, type)

    def broadcast(self, value: SSAValue, shape: VectorType) -> SSAValue:
        """Return a scalar in each component of a vector; a vector as it is."""
        if is_vector(value.type):
            return value
        return self.pure(BroadcastOp, value, shaped(shape, value.type))

    def extract(self, vector: SSAValue, at: SSAValue | int | BoundedIndex) -> SSAValue:
        type = vector_type(vector)
        return self.pure(ExtractOp, vector, self._at(type, at), type.element_type)

    def insert(
        self, vector: SSAValue, at: SSAValue | int | BoundedIndex, value: SSAValue
    ) -> SSAValue:
        """Return a vector of which a component is replaced."""
        where = self._at(vector_type(vector), at)
        return self.pure(InsertOp, value, vector, where)

    def _at(
        self, type: VectorType, at: SSAValue | int | BoundedIndex
    ) -> tuple[SSAValue | int]:
        """Return the position of a component; there is one in a vector of one."""
        if type.get_shape() == (1,):
            return (0,)
        return (self.size(at) if isinstance(at, BoundedIndex) else at,)

    def blend(self, one: SSAValue, other: SSAValue, chosen: Sequence[int]) -> SSAValue:
        """Return components of two vectors; those of the other count on.

        Where they are those of the first one, in order, it is that.
        """
        if list(chosen) == list(range(length_of(one))):
            return one
        return self.pure(_blend, one, other, tuple(chosen))

    def halved(self, make: Callable[..., Operation], vector: SSAValue) -> SSAValue:
        """Return a vector whose halves are combined, as often as its length is even."""
        length = length_of(vector)
        while length % 2 == 0:
            length //= 2
            halves = range(length), range(length, 2 * length)
            vector = self.pure(make, *(self.blend(vector, vector, x) for x in halves))
        return vector

    def gathered(
        self, wanted: Sequence[Component | None], length: int, any: SSAValue
    ) -> SSAValue:
        """Return a vector of chosen components, two vectors joined at a time.

        Args:
            wanted: components, as many as `length` or fewer; None is anything.
            length: of the vector.
            any: a vector, taken where nothing is wanted.
        """
        parts: dict[SSAValue, dict[int, int]] = {}
        for place, component in enumerate(wanted):
            if component is not None:
                parts.setdefault(component[0], {})[place] = component[1]
        left = list(parts.items()) or [(any, dict[int, int]())]
        while len(left) > 2:
            left.sort(key=lambda x: length_of(x[0]))
            one, other, *left = left
            places = sorted({**one[1], **other[1]})
            # Of a length that SPIR-V has, and of what is next.
            size = 1 << (len(places) - 1).bit_length()
            size = max(size, length_of(left[0][0]))
            joined = self._joined(one, other, places, size)
            left.append((joined, {place: at for at, place in enumerate(places)}))
        return self._joined(left[0], left[-1], range(length), length)

    def _joined(
        self, one: _Part, other: _Part, places: Sequence[int], length: int
    ) -> SSAValue:
        """Return a vector with what two have for some places, in order."""
        size = max(length_of(one[0]), length_of(other[0]))
        first, second = (
            self._permuted(x, x, [n if n < length_of(x) else None for n in range(size)])
            for x in (one[0], other[0])
        )
        found = {place: size + at for place, at in other[1].items()} | one[1]
        mask = [found.get(place) for place in places]
        return self._permuted(first, second, mask + [None] * (length - len(mask)))

    def _permuted(
        self, one: SSAValue, other: SSAValue, mask: Sequence[int | None]
    ) -> SSAValue:
        """Return components of two vectors; where it is None, any."""
        size = length_of(one)
        if len(mask) == size and all(x in (None, n) for n, x in enumerate(mask)):
            return one
        return self.blend(one, other, [x or 0 for x in mask])

    # Bounded indices

    def index(self, number: BoundedIndex) -> SSAValue:
        if number.part is None:
            return self.constant(INDEX, number.constant)
        if number.constant == 0:
            return number.part
        return self._two(arith.AddiOp, number.part, number.constant)

    def add(self, a: BoundedIndex, b: BoundedIndex) -> BoundedIndex:
        # First what is in fewer loops, so that their sum is, too.
        parts = sorted((x.part for x in (a, b) if x.part is not None), key=self.depth)
        part = parts[0] if parts else None
        if len(parts) == 2:
            part = self.pure(arith.AddiOp, *parts)
        most = a.part_most + b.part_most
        return BoundedIndex(a.constant + b.constant, part, most, a.varies or b.varies)

    def times(self, a: BoundedIndex, factor: Size) -> BoundedIndex:
        if factor == 0 or a.known == 0:
            return BoundedIndex()
        if isinstance(factor, SSAValue):
            return self._unbounded(arith.MuliOp, a, factor)
        if a.part is None or factor == 1:
            return BoundedIndex(a.constant * factor, a.part, a.part_most, a.varies)
        part = self._two(arith.MuliOp, a.part, factor)
        return BoundedIndex(a.constant * factor, part, a.part_most * factor, a.varies)

    def divided(self, a: BoundedIndex, by: Size) -> BoundedIndex:
        """Return the quotient, rounded down."""
        if isinstance(by, SSAValue):
            return self._unbounded(arith.DivUIOp, a, by)
        quotient, rest = divmod(a.constant, by)
        if rest + a.part_most < by:
            return BoundedIndex(quotient)
        if by == 1:
            return a
        whole, add = (a.part, quotient) if rest == 0 else (self.index(a), 0)
        assert whole is not None
        part = self._two(arith.DivUIOp, whole, by)
        return BoundedIndex(add, part, a.most // by - add, a.varies)

    def remainder(self, a: BoundedIndex, by: Size) -> BoundedIndex:
        if isinstance(by, SSAValue):
            return self._unbounded(arith.RemUIOp, a, by)
        rest = a.constant % by
        if rest + a.part_most < by:
            return BoundedIndex(rest, a.part, a.part_most, a.varies)
        if by == 1:
            return BoundedIndex()
        whole = a.part if rest == 0 else self.index(a)
        assert whole is not None
        part = self._two(arith.RemUIOp, whole, by)
        return BoundedIndex(0, part, min(by - 1, a.most), a.varies)

    def _unbounded(
        self, make: Callable[..., Operation], a: BoundedIndex, by: SSAValue
    ) -> BoundedIndex:
        part = self.pure(make, self.index(a), by)
        return BoundedIndex(0, part, MOST_SIZE, a.varies)

    # Sizes

    def sized(self, size: Size) -> BoundedIndex:
        """Return a size as a number to count with."""
        return (
            BoundedIndex(size)
            if isinstance(size, int)
            else BoundedIndex(0, size, MOST_SIZE)
        )

    def size(self, number: BoundedIndex) -> Size:
        """Return a number that was counted with as a size."""
        return self.index(number) if number.known is None else number.known

    def value(self, size: Size) -> SSAValue:
        return size if isinstance(size, SSAValue) else self.constant(INDEX, size)

    def total(self, *sizes: Size) -> Size:
        return self.size(reduce(self.add, map(self.sized, sizes)))

    def product(self, a: Size, b: Size) -> Size:
        return self.size(self.times(self.sized(a), b))

    def whole_tiles(self, size: Size, tile: int) -> Size:
        """Return how many tiles a size has room for."""
        return self.size(self.divided(self.sized(size), tile))

    def tiles(self, size: Size, tile: int) -> Size:
        """Return how many tiles cover a size."""
        last = self.add(self.sized(size), BoundedIndex(tile - 1))
        return self.size(self.divided(last, tile))

    def affine(self, expr: AffineExpr, dims: Sequence[SSAValue]) -> SSAValue:
        """Return an expression of indices, none of which is negative."""
        match expr:
            case AffineConstantExpr(value=value):
                return self.constant(INDEX, value)
            case AffineDimExpr(position=position):
                return dims[position]
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
                make = AFFINE[kind]
                if make is arith.FloorDivSIOp and isinstance(lhs, AffineDimExpr):
                    make = arith.DivUIOp
                return self.pure(make, self.affine(lhs, dims), self.affine(rhs, dims))
            case _:
                raise AssertionError(expr)

    def _two(
        self, make: Callable[..., Operation], value: SSAValue, number: int
    ) -> SSAValue:
        return self.pure(make, value, self.constant(INDEX, number))

    # Conditions, some of which are known when compiling

    def below(self, a: BoundedIndex, end: Size) -> SSAValue | bool:
        if isinstance(end, SSAValue):
            return self.compare("ult", self.index(a), end)
        if a.most < end:
            return True
        if a.constant >= end:
            return False
        return self.compare("ult", self.index(a), self.constant(INDEX, end))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return an i1: `a predicate b`, as in `arith.cmpi`."""
        return self.pure(arith.CmpiOp, a, b, predicate)

    def equal(self, a: BoundedIndex, b: int) -> SSAValue | bool:
        if a.part is None:
            return a.constant == b
        if not a.constant <= b <= a.most:
            return False
        return self.compare("eq", a.part, self.constant(INDEX, b - a.constant))

    def both(self, *conditions: SSAValue | bool) -> SSAValue | bool:
        if any(x is False for x in conditions):
            return False
        unknown = [x for x in conditions if isinstance(x, SSAValue)]
        if not unknown:
            return True
        first, *rest = sorted(unknown, key=self.depth)
        for other in rest:
            first = self.pure(arith.AndIOp, first, other)
        return first

    def select(self, chosen: SSAValue | bool, a: SSAValue, b: SSAValue) -> SSAValue:
        if isinstance(chosen, bool):
            return a if chosen else b
        return a if a is b else self.pure(arith.SelectOp, chosen, a, b)

    # Control flow

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Build at the end of another block."""
        place = self.block, self.before
        self.block, self.before = block, None
        try:
            yield
        finally:
            self.block, self.before = place

    def loop(
        self,
        count: Size,
        carried: Sequence[SSAValue],
        body: Callable[[BoundedIndex, Values], Sequence[SSAValue]],
        name: str = "t",
        start: int = 0,
        unroll: bool | None = None,
    ) -> Values:
        """Return what values are after rounds `start` to `count` of a body.

        `unroll` is what the compiler of the device is told, if anything.
        """
        if isinstance(count, int) and (count - start <= 1 or self.unroll):
            values = tuple(carried)
            for number in range(start, count):
                values = tuple(body(BoundedIndex(number), values))
            return values
        end = self.sized(count)
        first, step = (self.constant(INDEX, x) for x in (start, 1))
        block = Block(arg_types=[INDEX, *(value.type for value in carried)])
        op = self.effect(ForOp(first, self.index(end), step, carried, block))
        if unroll is not None:
            op.attributes[simt.UNROLL] = IntegerAttr(unroll, i1)
        counter, *values = block.args
        counter.name_hint = name
        with self.inside(block):
            results = body(BoundedIndex(0, counter, end.most - 1), tuple(values))
            self.effect(YieldOp(*results))
        return tuple(op.results)

    def repeat(
        self,
        count: Size,
        body: Callable[[BoundedIndex], None],
        name: str = "t",
        unroll: bool | None = None,
    ) -> None:
        """Run a body that gives nothing, for the numbers below a count."""

        def round(number: BoundedIndex, _: Values) -> Values:
            body(number)
            return ()

        self.loop(count, (), round, name, unroll=unroll)

    def where(self, condition: SSAValue | bool, then: Callable[[], None]) -> None:
        """Run what gives nothing, where a condition holds."""

        def run() -> Values:
            then()
            return ()

        self.branch(condition, run)

    def branch(
        self,
        condition: SSAValue | bool,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Sequence[SSAValue] = (),
    ) -> Values:
        """Return what `then` gives where a condition holds, else other values."""
        if isinstance(condition, bool):
            return tuple(then()) if condition else tuple(otherwise)
        if otherwise:
            types = [value.type for value in otherwise]
            return self.either(condition, types, then, lambda: otherwise)
        block = Block()
        self.effect(IfOp(condition, [], Region(block)))
        with self.inside(block):
            then()
            self.effect(YieldOp())
        return ()

    def either(
        self,
        condition: SSAValue,
        types: Sequence[Attribute],
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
    ) -> Values:
        """Return what one of two branches gives, of these types."""
        blocks = Block(), Block()
        regions = Region(blocks[0]), Region(blocks[1])
        op = self.effect(IfOp(condition, types, *regions))
        for block, body in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                self.effect(YieldOp(*body()))
        return tuple(op.results)

    def effect_where(
        self,
        condition: SSAValue | bool,
        make: Callable[[], Operation],
        otherwise: Sequence[SSAValue] = (),
    ) -> Values:
        """Insert an operation where a condition holds; return its results, else others.

        It is made only there: an operation that is in no block would still be a user of
        its operands.
        """
        return self.branch(condition, lambda: self.effect(make()).results, otherwise)


def allocate(block: Block, type: MemRefType, name: str) -> SSAValue:
    """Allocate memory at the start of a function, whose first block it is."""
    new = AllocaOp.build(operands=[[], []], result_types=[type], properties={})
    func = block.parent_op()
    assert func is not None, block
    new.location, new.memref.name_hint = func.location, name
    Rewriter.insert_op(new, InsertPoint.at_start(block))
    return new.memref


def private_function(
    module: ModuleOp,
    name: str,
    types: Sequence[Attribute],
    results: Sequence[Attribute],
    body: Callable[[Builder, Values], Sequence[SSAValue]],
    location: LocationAttr,
    unroll: bool = False,
) -> FuncOp:
    """Add a private function to a module; its name gets a number if it must.

    Args:
        module: the module.
        name: of the function.
        types: of its arguments.
        results: types of what it returns.
        body: builds it, from the arguments to what is returned.
        location: of the function, and of what is built.
        unroll: whether loops are written out.
    """
    block = Block(arg_types=types)
    signature = list(types), list(results)
    found = FuncOp(name, signature, Region(block), "private")
    b = Builder.at_end(block, location, unroll)
    b.effect(ReturnOp(*body(b, tuple(block.args))))
    found.sym_name = StringAttr(free_name(module, name))  # the body may add functions
    found.location = location
    Rewriter.insert_op(found, InsertPoint.at_end(module.body.block))
    return found


def constant_attr(
    type: Attribute, value: float
) -> IntegerAttr[Any] | FloatAttr | DenseIntOrFPElementsAttr:
    """Return the attribute of a constant; a vector or tensor has it everywhere."""
    element: Any = element_of(type)
    if element is not type:
        dense: Any = DenseIntOrFPElementsAttr
        return dense.from_list(type, [value])
    if isinstance(type, IndexType) or is_integer(type):
        return IntegerAttr(int(value), type)
    return FloatAttr(float(value), element)


def _blend(one: SSAValue, other: SSAValue, chosen: tuple[int, ...]) -> Operation:
    type = VectorType(vector_type(one).get_element_type(), [len(chosen)])
    mask = DenseArrayBase.from_list(i64, chosen)
    return ShuffleOp(one, other, mask, result_type=type)
