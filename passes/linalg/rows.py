"""Operations of linalg as rows: what a kernel without a product of matrices computes.

A list of operations, on memrefs or on tensors, is a *nest* if one work-item or one
subgroup can compute each iteration of some shared loops, a *row*, by itself:

    %m = max over d1 of x[d0, d1]               a value of the row
    %e = exp(x[d0, d1] - %m[d0])                computed again where it is read
    %s = sum over d1 of %e[d0, d1]              a value of the row
    out[d0, d1] = %e[d0, d1] / %s[d0]           d0 is shared

What depends on shared loops only is kept; what depends on others is computed where it
is read, or stored if it is an output.  So temporary memory is not needed, and no row
reads what another one writes.

Indices are affine expressions of dimensions: first the shared loops, then loops of the
statement that is computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import TypeAlias

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.traits import is_side_effect_free

from coopc.dialects.narrow import is_memref
from coopc.dialects.simt import EqualSizes, bits_of
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused

Index: TypeAlias = tuple[AffineExpr, ...]
ALLOCATIONS = (memref.AllocOp, memref.AllocaOp)
VIEWS = (memref.SubviewOp, memref.CastOp, memref.ReinterpretCastOp)


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """An operation of linalg, and what it reads."""

    op: LinalgStructuredOperation
    maps: tuple[AffineMap, ...]
    """Of inputs, then of outputs."""
    reductions: tuple[bool, ...]
    """Whether each loop is a reduction."""
    sources: tuple[Source, ...]
    """Of inputs, then what outputs were before."""

    @property
    def block(self) -> Block:
        return self.op.body.block

    @property
    def reduces(self) -> bool:
        return any(self.reductions)

    @property
    def inputs(self) -> int:
        return len(self.op.inputs)

    def read(self) -> Iterator[tuple[Source, AffineMap]]:
        """Yield what the body reads."""
        for source, map, argument in zip(
            self.sources, self.maps, self.block.args, strict=True
        ):
            if argument.first_use is not None:
                yield source, map


@dataclass(frozen=True, slots=True)
class Made:
    """What a statement gives for one of its outputs."""

    by: Statement
    output: int

    @property
    def map(self) -> AffineMap:
        return self.by.maps[self.by.inputs + self.output]


Source: TypeAlias = SSAValue | Made
"""Memory, a tensor or a number from outside, or what a statement gives."""


class Sizes:
    """Which sizes are the same, of loops and of dimensions of memory."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}

    def of(self, key: Hashable) -> Hashable:
        """Return what stands for all sizes that are equal to one."""
        while (parent := self._parents.get(key, key)) != key:
            key = parent
        return key

    def unite(self, one: Hashable, other: Hashable) -> None:
        """Note that two are equal; a number stands for others."""
        one, other = self.of(one), self.of(other)
        if isinstance(other, int):
            one, other = other, one
        if one != other and not isinstance(other, int):
            self._parents[other] = one

    def known(self, key: Hashable) -> int | None:
        found = self.of(key)
        return found if isinstance(found, int) else None

    def all(self, key: Hashable) -> Iterator[Hashable]:
        """Yield the sizes that are equal to one."""
        wanted = self.of(key)
        yield from (x for x in self._parents if self.of(x) == wanted)
        yield wanted


def sizes_of(ops: Iterable[Operation]) -> Sizes:
    """Return which sizes are the same, by operations of linalg and by allocations.

    Loops of an operation are as long as the dimensions that they are.
    """
    found = Sizes()
    for op in ops:
        if isinstance(op, LinalgStructuredOperation):
            maps = [x.data for x in op.get_indexing_maps()]
            maps += maps[len(op.inputs) :] if op.results else []
            values = (*op.inputs, *op.outputs, *op.results)
            for value, map in zip(values, maps, strict=True):
                _read_access(op, value, map, found)
        elif isinstance(op, (*ALLOCATIONS, tensor.EmptyOp)):
            _read_allocation(op, found)
    return found


def _read_access(op: Operation, value: SSAValue, map: AffineMap, sizes: Sizes) -> None:
    type = value.type
    if not isinstance(type, MemRefType | TensorType):
        return
    for at, (size, expr) in enumerate(zip(type.get_shape(), map.results, strict=True)):
        if size != DYNAMIC_INDEX:
            sizes.unite(size, (value, at))
        if isinstance(expr, AffineDimExpr):
            sizes.unite((value, at), (op, expr.position))


def _read_allocation(
    op: memref.AllocOp | memref.AllocaOp | tensor.EmptyOp, sizes: Sizes
) -> None:
    result, dynamic = op.results[0], list(op.dynamic_sizes)
    type = result.type
    assert isinstance(type, MemRefType | TensorType), op
    for at, size in enumerate(type.get_shape()):
        if size != DYNAMIC_INDEX:
            sizes.unite(size, (result, at))
            continue
        owner = dynamic.pop(0).owner
        if isinstance(owner, memref.DimOp | tensor.DimOp):
            number = constant_number(owner.index)
            sizes.unite((owner.operands[0], number), (result, at))


def equal_sizes(func: FuncOp, sizes: Sizes) -> list[EqualSizes]:
    """Return which sizes of arguments are the same, that types do not say."""
    first: dict[Hashable, tuple[int, int]] = {}
    found: list[EqualSizes] = []
    dims = [
        (size == DYNAMIC_INDEX, argument, at)
        for argument in func.body.block.args
        if is_memref(type := argument.type)
        for at, size in enumerate(type.get_shape())
    ]
    for dynamic, argument, at in sorted(dims, key=lambda x: x[0]):
        key = sizes.of((argument, at))
        if key not in first:
            first[key] = argument.index, at
        elif dynamic:
            found.append(EqualSizes(argument.index, at, *first[key]))
    return found


@dataclass(slots=True, eq=False)
class Nest:
    """Statements with shared loops."""

    statements: list[Statement]
    stores: dict[Made, SSAValue]
    """The memory of outputs."""
    sizes: Sizes
    shared: list[Hashable] = field(default_factory=list[Hashable])
    """The sizes of the shared loops."""
    loops: dict[Statement, tuple[int, ...]] = field(default_factory=lambda: {})
    """Which loops of a statement are the shared ones; not of those computed again."""

    def size(self, statement: Statement, loop: int) -> int | None:
        return self.sizes.known((statement.op, loop))

    def is_kept(self, statement: Statement) -> bool:
        """Whether what a statement gives is one value for a row."""
        own = self.own(statement) if statement in self.loops else [-1]
        return all(n >= 0 and statement.reductions[n] for n in own)

    def used(self) -> set[Statement]:
        """Return the statements of which others read what they give."""
        sources = (x for each in self.statements for x in each.sources)
        return {x.by for x in sources if isinstance(x, Made)}

    def own(self, statement: Statement) -> list[int]:
        """Return the loops that are not shared, without those of one iteration."""
        shared = self.loops[statement]
        return [
            n
            for n in range(len(statement.reductions))
            if n not in shared and self.size(statement, n) != 1
        ]

    def point(self, statement: Statement) -> Index:
        """Return the loops of a statement where it is computed, as dimensions."""
        shared, own = self.loops[statement], self.own(statement)
        return tuple(
            AffineDimExpr(shared.index(n))
            if n in shared
            else AffineDimExpr(len(self.shared) + own.index(n))
            if n in own
            else AffineConstantExpr(0)
            for n in range(len(statement.reductions))
        )

    def loops_at(self, made: Made, index: Index) -> Index:
        """Return the loops of a statement that is computed again, for an index."""
        found: dict[int, AffineExpr] = {}
        for expr, at in zip(made.map.results, index, strict=True):
            if isinstance(expr, AffineDimExpr):
                found.setdefault(expr.position, at)
        return tuple(
            found.get(n, AffineConstantExpr(0)) for n in range(len(made.by.reductions))
        )

    def accesses(
        self, statement: Statement, point: Index
    ) -> Iterator[tuple[Operation, SSAValue, Index]]:
        """Yield the memory that is read for a point of a statement, and the index.

        Raises:
            Refused: it is not known within the row.
        """
        for source, map in statement.read():
            index = substituted(map, point)
            match source:
                case Made(by=by) if by not in self.loops or not self.is_kept(by):
                    if reason := self._why_not_again(source):
                        raise Refused(statement.op, reason)
                    yield from self.accesses(by, self.loops_at(source, index))
                case Made():
                    self._check_row(statement, source, index)
                case _ if isinstance(source.type, MemRefType | TensorType):
                    yield statement.op, source, index
                case _:
                    pass

    def reads(self, statement: Statement) -> list[tuple[SSAValue, Index]]:
        """Return the memory that a statement of the row reads, and where."""
        accesses = self.accesses(statement, self.point(statement))
        return [(memory, index) for _, memory, index in accesses]

    def writes(self, statement: Statement) -> list[tuple[SSAValue, Index]]:
        """Return the memory that it is stored to, and where."""
        point = self.point(statement)
        return [
            (memory, substituted(made.map, point))
            for made, memory in self.stores.items()
            if made.by is statement
        ]

    def _why_not_again(self, made: Made) -> str | None:
        if made.by.reduces:
            return (
                "expected reductions that depend on the shared loops only, which the "
                f"row keeps, got those of a {made.by.op.name} with other parallel loops"
            )
        loops = set(plain(made.map))
        own = range(len(made.by.reductions))
        if any(n not in loops and self.size(made.by, n) != 1 for n in own):
            return (
                "expected a rematerialized value at an index that determines all of "
                f"its loops, got {made.map}"
            )
        return None

    def _check_row(self, statement: Statement, made: Made, index: Index) -> None:
        shared = self.loops[made.by]
        for expr, at in zip(made.map.results, index, strict=True):
            if not isinstance(expr, AffineDimExpr) or expr.position not in shared:
                continue
            if at != AffineDimExpr(shared.index(expr.position)):
                raise Refused(
                    statement.op,
                    "expected what a row has reduced to be read by the same row, got "
                    f"index {at} for d{shared.index(expr.position)}",
                )


def plain(map: AffineMap) -> list[int]:
    """Return the loops that are dimensions of memory as they are."""
    return [x.position for x in map.results if isinstance(x, AffineDimExpr)]


def substituted(map: AffineMap, point: Index) -> Index:
    return tuple(x.replace_dims_and_symbols(point, ()) for x in map.results)


def factor_of(expr: AffineExpr, dimension: int) -> int | None:
    """Return by what a dimension is multiplied in a sum; None where it is no sum.

    >>> d0, d1 = (AffineExpr.dimension(n) for n in range(2))
    >>> factor_of(d0 * 2 + d1, 0), factor_of(d0 * 2 + d1, 1), factor_of(d0 // 2, 0)
    (2, 1, None)
    """
    match expr:
        case AffineDimExpr(position=position):
            return int(position == dimension)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add, lhs=lhs, rhs=rhs):
            left, right = factor_of(lhs, dimension), factor_of(rhs, dimension)
            return None if left is None or right is None else left + right
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, lhs=lhs, rhs=rhs):
            factor = factor_of(lhs, dimension)
            known = isinstance(rhs, AffineConstantExpr)
            if factor == 0:
                return 0
            return factor * rhs.value if known and factor is not None else None
        case _:
            used = expr.used_dims() if isinstance(expr, AffineBinaryOpExpr) else ()
            return None if dimension in used else 0


def is_contiguous(memory: SSAValue, index: Index, dimension: int) -> bool:
    """Whether neighbours along a dimension are neighbours in memory."""
    if not index or not isinstance(type := memory.type, MemRefType | TensorType):
        return False
    if isinstance(type, MemRefType) and not isinstance(type.layout, NoneAttr):
        strides = type.get_strides()
        if not strides or strides[-1] != 1:
            return False
    *outer, last = (factor_of(x, dimension) for x in index)
    return last == 1 and not any(x != 0 for x in outer)


# --- From operations to a nest. ---


def rows_of(func: FuncOp) -> Nest:
    """Return the nest that a function is.

    Raises:
        Refused: it is none.
    """
    if len(func.body.blocks) != 1:
        raise Refused(func, "expected a function of one block, without branches")
    *ops, last = func.body.block.ops
    if last.operands or not isinstance(last, ReturnOp):
        raise Refused(last, "expected a function without results: it writes to memory")
    return nest_of(ops)


def nest_of(ops: Sequence[Operation]) -> Nest:
    """Return the nest of operations of one block: linalg, and what is between them.

    Raises:
        Refused: they are none.
    """
    nest = _read(ops)
    _share(nest, _anchors(nest))
    for statement in nest.statements:
        if statement not in nest.loops and any(x.by is statement for x in nest.stores):
            _find_shared(nest, statement)
    _check(nest)
    return nest


def _read(ops: Sequence[Operation]) -> Nest:
    """Return the statements of operations, what they read and what they store."""
    nest, versions = Nest([], {}, sizes_of(ops)), dict[SSAValue, Source]()
    for op in ops:
        if isinstance(op, LinalgStructuredOperation):
            statement = _statement(op, versions)
            nest.statements.append(statement)
            for number, output in enumerate(op.outputs):
                made = Made(statement, number)
                versions[op.results[number] if op.results else output] = made
                _note_store(nest, made, output, ops)
            continue
        if op.name.startswith("linalg.") or not _is_between(op):
            raise Refused(op, f"expected linalg, memory and numbers, got {op.name}")
    if not nest.statements:
        raise Refused(ops[0], "expected an operation of linalg")
    return nest


def _statement(
    op: LinalgStructuredOperation, versions: Mapping[SSAValue, Source]
) -> Statement:
    types = op.body.block.arg_types
    if isinstance(op, linalg.FillOp) and types[0] != types[-1]:
        raise Refused(op, "expected a fill by a number of the elements' type")
    maps = tuple(map.data for map in op.get_indexing_maps())
    reductions = tuple(x.data != IteratorType.PARALLEL for x in op.get_iterator_types())
    for map in maps[len(op.inputs) :]:
        if any(reductions[loop] for loop in map.used_dims()):
            raise Refused(
                op, f"expected outputs at places along parallel loops only, got {map}"
            )
    sources = tuple(versions.get(x, x) for x in (*op.inputs, *op.outputs))
    return Statement(op, maps, reductions, sources)


def _note_store(
    nest: Nest, made: Made, output: SSAValue, ops: Sequence[Operation]
) -> None:
    """Note that an output is memory from outside, or a tensor that is used outside."""
    if made.by.op.results:
        result = made.by.op.results[made.output]
        if any(use.operation not in ops for use in result.uses):
            nest.stores[made] = result
    elif not isinstance(output.owner, ALLOCATIONS):
        for other in [x for x, memory in nest.stores.items() if memory is output]:
            del nest.stores[other]
        nest.stores[made] = output


def _is_between(op: Operation) -> bool:
    """Whether an operation may be between those of linalg."""
    if isinstance(op, (*ALLOCATIONS, memref.DeallocOp)):
        return True
    return is_side_effect_free(op) and not op.regions


def _anchors(nest: Nest) -> list[Statement]:
    """Return the statements whose parallel loops are the shared ones."""
    if found := [x for x in nest.statements if x.reduces]:
        return found
    last = max(
        (made.by for made in nest.stores),
        key=lambda x: (len(x.reductions), nest.statements.index(x)),
        default=nest.statements[-1],
    )
    return [last]


def _parallel(nest: Nest, statement: Statement) -> list[int]:
    """Return the parallel loops, in the order of the output, without trivial ones."""
    made = Made(statement, 0)
    loops = [
        n
        for n, reduces in enumerate(statement.reductions)
        if not reduces and nest.size(statement, n) != 1
    ]
    order = [n for n in dict.fromkeys(plain(made.map)) if n in loops]
    return order if len(order) == len(loops) else loops


def _share(nest: Nest, anchors: list[Statement]) -> None:
    first = anchors[0]
    nest.loops[first] = tuple(_parallel(nest, first))
    nest.shared = [nest.sizes.of((first.op, n)) for n in nest.loops[first]]
    for other in anchors[1:]:
        loops = _parallel(nest, other)
        sizes = [nest.sizes.of((other.op, n)) for n in loops]
        if sizes != nest.shared:
            raise Refused(
                other.op,
                "expected the parallel loops of the first reduction, which are known "
                "to have the same sizes",
            )
        nest.loops[other] = tuple(loops)


def _find_shared(nest: Nest, statement: Statement) -> None:
    """Find the shared loops of a statement without reductions that stores.

    Raises:
        Refused: it has other ones.
    """
    found: list[int | None] = [None] * len(nest.shared)
    known = itertools.chain(
        _read_of_rows(nest, statement), _written_again(nest, statement)
    )
    for number, loop in known:
        if found[number] is None and loop not in found:
            found[number] = loop
    for number, size in enumerate(nest.shared):
        if found[number] is None:
            found[number] = next(
                (
                    n
                    for n in _parallel(nest, statement)
                    if n not in found and nest.sizes.of((statement.op, n)) == size
                ),
                None,
            )
    loops = [n for n in found if n is not None]
    if len(loops) != len(nest.shared):
        raise Refused(
            statement.op,
            "expected the parallel loops of the reductions before it, or else those of "
            "the operation with most of them",
        )
    nest.loops[statement] = tuple(loops)


def _read_of_rows(nest: Nest, statement: Statement) -> Iterator[tuple[int, int]]:
    """Yield shared loops and what they are of a statement that reads what rows keep."""
    for source, map in statement.read():
        if not isinstance(source, Made) or source.by not in nest.loops:
            continue
        if not nest.is_kept(source.by):
            continue
        shared = nest.loops[source.by]
        for expr, at in zip(source.map.results, map.results, strict=True):
            if not isinstance(expr, AffineDimExpr) or expr.position not in shared:
                continue
            if isinstance(at, AffineDimExpr):
                yield shared.index(expr.position), at.position


def _written_again(nest: Nest, statement: Statement) -> Iterator[tuple[int, int]]:
    """Yield the same for a statement that writes the memory that rows read.

    Sizes alone do not tell rows from columns of a square matrix.
    """
    places = {
        (memory, at): expr.position
        for other in nest.loops
        for _, memory, index in nest.accesses(other, nest.point(other))
        for at, expr in enumerate(index)
        if isinstance(expr, AffineDimExpr) and expr.position < len(nest.shared)
    }
    for made, memory in nest.stores.items():
        if made.by is statement:
            for at, expr in enumerate(made.map.results):
                if isinstance(expr, AffineDimExpr) and (memory, at) in places:
                    yield places[memory, at], expr.position


def _root(memory: SSAValue) -> SSAValue:
    while isinstance(memory.owner, VIEWS):
        memory = memory.owner.operands[0]
    return memory


def _check(nest: Nest) -> None:
    """Check that rows are computed independently of each other."""
    written: dict[SSAValue, tuple[int, SSAValue, Index]] = {}
    for made, memory in nest.stores.items():
        index = substituted(made.map, nest.point(made.by))
        if _root(memory) in written:
            raise Refused(made.by.op, "expected one view of memory that is written")
        written[_root(memory)] = nest.statements.index(made.by), memory, index
    for number, statement in enumerate(nest.statements):
        for op in statement.block.walk():
            if isinstance(op, memref.LoadOp) and _root(op.memref) in written:
                raise Refused(op, "expected memory that is not written by this kernel")
        if statement not in nest.loops:
            continue
        for op, memory, index in nest.accesses(statement, nest.point(statement)):
            if isinstance(memory.owner, ALLOCATIONS):
                raise Refused(op, "expected memory that an operation has written")
            last, *place = written.get(_root(memory), (number, memory, index))
            if place != [memory, index] or number > last:
                raise Refused(
                    op,
                    "expected memory that is written to be read before, at the same "
                    "index",
                )


COMBINERS: dict[str, tuple[str, float | None]] = {
    "arith.addf": ("add", -0.0),
    "arith.mulf": ("mul", 1.0),
    "arith.maximumf": ("max", None),
    "arith.minimumf": ("min", None),
    "arith.maxnumf": ("max", None),
    "arith.minnumf": ("min", None),
    "arith.addi": ("add", 0),
    "arith.muli": ("mul", 1),
    "arith.maxsi": ("max", None),
    "arith.minsi": ("min", None),
    "arith.maxui": ("max", None),
    "arith.minui": ("min", None),
    "arith.andi": ("and", None),
    "arith.ori": ("or", None),
    "arith.xori": ("xor", 0),
}
"""What combines in any order: the kind of simt.reduce, and the neutral element; None
where a number combined with itself is the same, so that each lane may start with it."""


def neutral_of(combiner: Operation) -> float:
    """Return the neutral element of a combiner of `COMBINERS`."""
    found, type = COMBINERS[combiner.name][1], combiner.results[0].type
    if found is not None:
        return found
    if combiner.name in ("arith.maxsi", "arith.minsi"):
        least = -(1 << bits_of(type) - 1)
        return least if combiner.name == "arith.maxsi" else -1 - least
    return {
        "arith.maximumf": -inf,
        "arith.minimumf": inf,
        "arith.maxnumf": nan,  # which gives the other one
        "arith.minnumf": nan,
        "arith.maxui": 0,
        "arith.minui": -1,
        "arith.andi": -1,
        "arith.ori": 0,
    }[combiner.name]


def combiners(op: LinalgStructuredOperation) -> list[Operation] | str:
    """Return what combines the steps of each output, or why that has an order."""
    found: list[Operation] = []
    block = op.body.block
    last = block.last_op
    assert last is not None, op
    for value, old in zip(last.operands, block.args[len(op.inputs) :], strict=True):
        combiner = value.owner
        uses = [use.operation for use in old.uses]
        if (
            isinstance(combiner, Block)
            or combiner.name not in COMBINERS
            or uses != [combiner]
        ):
            known = ", ".join(x.partition(".")[2] for x in COMBINERS)
            return f"the steps follow one another: no output is combined by {known}"
        if not value.has_one_use():
            return "the steps follow one another: a combined value is used otherwise"
        found.append(combiner)
    return found
