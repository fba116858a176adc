"""Decides into which tiles each matrix of a program is cut, so that a device has them.

Each axis gets one tile size (`choose_sizes`).  Every matrix has two axes, and
operations make axes the same:

| operation                       | the same axes                                    |
|---------------------------------|--------------------------------------------------|
| a * b + c -> r                  | rows of a, c, r; columns of a and rows of b;     |
|                                 | columns of b, c, r                               |
| element-wise, convert, apply    | rows of all, columns of all                      |
| reduce rows (columns)           | rows (columns) of both                           |
| loops, branches, calls, selects | rows and columns of what flows through           |

A multiplication wants the sizes that the device multiplies and that divide the
matrices, those that take the fewest multiplications first.  A matrix wants the sizes of
matrices that the device holds, those first that it can load and store in the layouts of
the program.  Matrices of one type whose elements are addressed by slot have the same
axes, as `length` names only the type.  Where a row slice is addressed, a matrix has to
stay whole.

`plan_tiling` changes nothing.  It gives a `Tiling`, or refuses the operation that is in
the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from xdsl.dialects.arith import SelectOp
from xdsl.dialects.func import CallOp
from xdsl.dialects.ub import PoisonOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.disjoint_set import IntDisjointSet

from coopc.device import Device
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.ir.control_flow import (
    TRANSPARENT,
    Functions,
    block_arguments,
    callee,
    functions,
    links,
)
from coopc.ir.matrix_size import why_matrix_too_large
from coopc.ir.transaction import Refused
from coopc.passes.coopmatrix.elementwise import ELEMENT_BY_ELEMENT
from coopc.passes.coopmatrix.split_coopmatrix.choose_sizes import (
    Constraint,
    choose,
)
from coopc.passes.coopmatrix.supported_tiles import (
    Product,
    SupportedTiles,
    Tile,
)

SLOTS = coopmatrix.ELEMENTS_OF_LANES
"""Operations that address the elements of a work-item by slot."""

ROW_SLICES = (coopmatrix.ExtractRowSliceOp, coopmatrix.InsertRowSliceOp)
"""Operations on consecutive elements: their matrices are not cut."""

SAME_AXES = (
    *ELEMENT_BY_ELEMENT,
    coopmatrix.ApplyOp,
    coopmatrix.AtomicUpdateOp,
    *SLOTS,
    *ROW_SLICES,
)
"""Operations whose matrices all have the same axes."""


def is_matrix(value: SSAValue) -> bool:
    return isinstance(value.type, MatrixType)


def is_known(type: MatrixType) -> bool:
    """Whether a matrix is held by a subgroup and its sizes are numbers."""
    scope = type.scope
    return (
        type.is_static
        and isinstance(scope, coopmatrix.ScopeAttr)
        and scope.data == coopmatrix.Scope.SUBGROUP
    )


CUT = (
    *SAME_AXES,
    *TRANSPARENT,
    coopmatrix.AccessOp,
    coopmatrix.FillOp,
    coopmatrix.MulAddOp,
    coopmatrix.ReduceOp,
    coopmatrix.TransposeOp,
    PoisonOp,
    SelectOp,
)
"""Operations whose matrices can be cut; not so those of `ROW_SLICES`."""


@dataclass(slots=True)
class MatrixAxes:
    """The axes of the matrices of a program."""

    classes: IntDisjointSet = field(default_factory=lambda: IntDisjointSet(size=0))
    values: dict[SSAValue, tuple[int, int]] = field(
        default_factory=dict[SSAValue, tuple[int, int]]
    )
    free: set[int] = field(default_factory=set[int])
    """Axes that are left alone: of unknown size, or reduced to one element."""
    by_slot: dict[MatrixType, tuple[int, int]] = field(
        default_factory=dict[MatrixType, tuple[int, int]]
    )
    """Those of all matrices of a type whose elements are addressed by slot."""

    def of(self, value: SSAValue) -> tuple[int, int]:
        """Return the axes along the rows and the columns of a matrix."""
        if (found := self.values.get(value)) is None:
            found = self.values[value] = (self.classes.add(), self.classes.add())
            if not is_known(matrix_type(value)):
                self.free.update(found)
        return found

    def visit(self, op: Operation, known: Functions) -> list[SSAValue]:
        """Note what `op` makes the same, and return its matrices."""
        matrices = [x for x in (*op.operands, *op.results) if is_matrix(x)]
        for value in (*matrices, *filter(is_matrix, block_arguments(op))):
            self.of(value)
        for group in links(op, known):
            if is_matrix(group[0]):
                self._alike(group)
        if isinstance(op, SLOTS):
            self._slots(op)
        if isinstance(op, coopmatrix.MulAddOp):
            self._product(op)
        elif isinstance(op, coopmatrix.ReduceOp):
            self._reduce(op)
        elif isinstance(op, coopmatrix.TransposeOp):
            for one, other in zip(
                self.of(op.value), reversed(self.of(op.result)), strict=True
            ):
                self.classes.union(one, other)
        elif isinstance(op, SAME_AXES):
            self._alike(matrices)
        return matrices

    def settle(self) -> None:
        """Let each number stand for its class; nothing is made the same after this."""
        self.free = {self.classes[axis] for axis in self.free}
        for value, (rows, cols) in self.values.items():
            self.values[value] = (self.classes[rows], self.classes[cols])
        for type, (rows, cols) in self.by_slot.items():
            self.by_slot[type] = (self.classes[rows], self.classes[cols])

    def tiles(self, sizes: Mapping[int, int]) -> Iterator[tuple[SSAValue, Tile]]:
        """Yield the matrices that sizes for axes cut, with their tiles."""
        for value, pair in self.values.items():
            if is_known(type := matrix_type(value)):
                tile = self.tile(type, pair, sizes)
                if tile != type.shape:
                    yield value, tile

    def tile(
        self, type: MatrixType, pair: tuple[int, int], sizes: Mapping[int, int]
    ) -> Tile:
        """Return the tiles of a matrix of a type with two axes, by their sizes."""
        rows, cols = (
            size if axis in self.free else sizes.get(axis, size)
            for axis, size in zip(pair, type.shape, strict=True)
        )
        return rows, cols

    def _slots(self, op: Operation) -> None:
        """Note that matrices of a type are cut alike: `length` is of the type."""
        if isinstance(op, coopmatrix.LengthOp):
            types = [op.matrix_type]
        else:
            types = [matrix_type(x) for x in op.operands if is_matrix(x)]
        for type in filter(is_known, types):
            if type not in self.by_slot:
                self.by_slot[type] = (self.classes.add(), self.classes.add())
        for value in (*op.operands, *op.results):
            if is_matrix(value) and is_known(type := matrix_type(value)):
                pairs = zip(self.by_slot[type], self.of(value), strict=True)
                for one, other in pairs:
                    self.classes.union(one, other)

    def _alike(self, values: Sequence[SSAValue]) -> None:
        """Note that matrices are cut in the same way."""
        for value in values[1:]:
            for one, other in zip(self.of(values[0]), self.of(value), strict=True):
                self.classes.union(one, other)

    def _product(self, op: coopmatrix.MulAddOp) -> None:
        """Note that a is M x K, b is K x N, and c and the result are M x N."""
        (m, k), (b_rows, n) = self.of(op.a), self.of(op.b)
        self.classes.union(k, b_rows)
        for value in (op.c, op.result):
            rows, cols = self.of(value)
            self.classes.union(m, rows)
            self.classes.union(n, cols)

    def _reduce(self, op: coopmatrix.ReduceOp) -> None:
        """Note that an axis stays, or is reduced to one element."""
        of = op.axis.data.window(2, 2)
        axes = zip(self.of(op.value), self.of(op.result), of, strict=True)
        for value, result, count in axes:
            if op.broadcast is None and count > 1:
                self.free.add(result)
            else:
                self.classes.union(value, result)


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles of the matrices that are to be cut."""

    tiles: Mapping[SSAValue, Tile]
    prefetches: Mapping[coopmatrix.PrefetchOp, Tile]
    lengths: Mapping[coopmatrix.LengthOp, Tile]


@dataclass(frozen=True, slots=True)
class Demand:
    """Which sizes an operation, or a matrix of it, wants for some axes."""

    op: Operation
    constraint: Constraint
    reason: Callable[[], str]
    """Returns what to say where the demand is not met."""
    is_wish: bool = False
    """Whether lanes can do without: a matrix that the device does not hold."""


def plan_tiling(root: Operation, device: Device, by_lanes: bool = False) -> Tiling:
    """Return the tiles of the matrices in `root`.

    Args:
        root: a module.
        device: for which the tiles are.
        by_lanes: whether what no tiles suit is left for lanes, a matrix for itself, or
            a product with all that it shares axes with.

    Raises:
        Refused: there are none.
    """
    supported, known, axes = SupportedTiles(device), functions(root), MatrixAxes()
    ops = tuple(root.walk())
    in_bodies = {
        inner
        for op in ops
        if isinstance(op, coopmatrix.ApplyOp)
        for inner in op.body.walk()
    }
    accesses: dict[SSAValue, list[coopmatrix.AccessOp]] = {}
    whole: list[tuple[Operation, SSAValue]] = []
    for op in ops:
        _refuse_large(op)
        matrices = axes.visit(op, known)
        if not is_cut(op, known) or op in in_bodies:
            whole += [(op, value) for value in matrices]
        if isinstance(op, coopmatrix.AccessOp) and matrices:
            accesses.setdefault(matrices[0], []).append(op)
    axes.settle()
    # In this order: what must stay whole is blamed where it contradicts the device.
    demands = [
        *_products(ops, axes, supported),
        *_held(accesses, axes, supported),
        *_wholes(whole, axes, device),
    ]
    sizes = _sizes(demands, by_lanes)
    tiles = dict(axes.tiles(sizes))
    prefetches: dict[coopmatrix.PrefetchOp, Tile] = {}
    lengths: dict[coopmatrix.LengthOp, Tile] = {}
    for op in ops:
        if isinstance(op, coopmatrix.LengthOp) and is_known(type := op.matrix_type):
            tile = axes.tile(type, axes.by_slot[type], sizes)
            if tile != type.shape:
                lengths[op] = tile
        if isinstance(op, coopmatrix.PrefetchOp) and is_known(op.matrix):
            # What the device has no use for stays.
            found = supported.matrix(op.matrix, frozenset((op.layout.data,)))
            if found and found[0] != op.matrix.shape:
                prefetches[op] = found[0]
    return Tiling(tiles, prefetches, lengths)


def _sizes(demands: Sequence[Demand], by_lanes: bool) -> dict[int, int]:
    """Return sizes that meet the demands; by lanes, without those that cannot be met.

    Raises:
        Refused: they cannot be met.
    """
    while isinstance(found := choose([x.constraint for x in demands]), Constraint):
        refused = next(x for x in demands if x.constraint is found)
        if not by_lanes:
            raise Refused(refused.op, refused.reason())
        unmet = _sharing(demands, refused)
        if refused.is_wish:
            unmet = [x for x in unmet if x.is_wish and x.constraint == found]
        demands = [x for x in demands if x not in unmet]
    return found


def _sharing(demands: Sequence[Demand], first: Demand) -> list[Demand]:
    """Return the demands that share axes with one, through others too."""
    axes, size = set(first.constraint.axes), 0
    while size < len(axes):
        size = len(axes)
        for demand in demands:
            if not axes.isdisjoint(demand.constraint.axes):
                axes.update(demand.constraint.axes)
    return [x for x in demands if not axes.isdisjoint(x.constraint.axes)]


def _refuse_large(op: Operation) -> None:
    """Refuse matrices that would be too many tiles."""
    for value in op.results:
        if (
            isinstance(type := value.type, MatrixType)
            and is_known(type)
            and (reason := why_matrix_too_large(type))
        ):
            raise Refused(op, reason)


def is_cut(op: Operation, known: Functions) -> bool:
    """Whether there is a way to cut the matrices of `op`."""
    if isinstance(op, CallOp):
        return callee(op, known) is not None
    if isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name is not None:
        return False
    if isinstance(op, coopmatrix.ReduceOp) and op.broadcast is None:
        return op.axis.data is not coopmatrix.Reduced.QUADS
    return isinstance(op, CUT) and not isinstance(op, ROW_SLICES)


def why_whole(op: Operation, type: MatrixType, device: Device) -> str:
    rows, cols = type.shape
    why = "there is no rule for it"
    if isinstance(op, ROW_SLICES):
        why = "a row slice goes through several tiles"
    if isinstance(op, coopmatrix.PlainAccessOp):
        why = "where its tiles are in memory is not known until its layout is"
    return f"cannot split {rows} x {cols} for {device.name}: {why}"


def _products(
    ops: Iterable[Operation], axes: MatrixAxes, supported: SupportedTiles
) -> Iterator[Demand]:
    """Yield what the multiplications want: sizes that the device multiplies."""
    for op in ops:
        if not isinstance(op, coopmatrix.MulAddOp) or not all(
            type.is_static for type in op.matrices.values()
        ):
            continue
        numbers = (*axes.of(op.a), axes.of(op.b)[1])
        if not is_known(type := matrix_type(op.a)):
            reason = (
                f"{supported.device.name} multiplies matrices of a subgroup, got {type}"
            )
            yield Demand(op, Constraint(numbers, ()), lambda reason=reason: reason)
            continue
        product = Product.of(op)
        whole = product.m, product.k, product.n
        # What is free stays as it is.
        fitting = tuple(
            option
            for option in dict.fromkeys(
                (x.m, x.k, x.n) for x in supported.product(product)
            )
            if all(
                tile == size or axis not in axes.free
                for tile, size, axis in zip(option, whole, numbers, strict=True)
            )
        )
        weight = prod(whole) // prod(fitting[0]) if fitting else 1
        constraint = Constraint(numbers, fitting, weight)
        yield Demand(op, constraint, partial(supported.why_no_product, product))


def _held(
    accesses: Mapping[SSAValue, list[coopmatrix.AccessOp]],
    axes: MatrixAxes,
    supported: SupportedTiles,
) -> Iterator[Demand]:
    """Yield what the matrices want: sizes that the device holds."""
    for value, pair in axes.values.items():
        if not axes.free.isdisjoint(pair):
            continue
        ops = accesses.get(value, [])
        layouts = frozenset(op.layout_in_memory or op.layout.data for op in ops)
        type = matrix_type(value)
        if (tiles := supported.matrix(type, layouts)) is not None:
            owner = value.owner
            made = owner if isinstance(owner, Operation) else owner.parent_op()
            op = ops[0] if ops else made
            assert op is not None, value
            reason = partial(supported.why_no_matrix, type)
            yield Demand(op, Constraint(pair, tiles), reason, is_wish=True)


def _wholes(
    whole: Iterable[tuple[Operation, SSAValue]], axes: MatrixAxes, device: Device
) -> Iterator[Demand]:
    """Yield what operations want that have no rule, or that address row slices."""
    for op, value in whole:
        if is_known(type := matrix_type(value)):
            constraint = Constraint(axes.of(value), (type.shape,))
            yield Demand(op, constraint, partial(why_whole, op, type, device))
