"""split-coopmatrix: splits matrices into tiles that the device supports.

Before:  coopmatrix operations on matrices of any size.
After:   the same operations on tiles, each of a shape that the device has; a matrix
         becomes several values, through loops, branches, calls and functions.
Fails:   if no tile shape fits an operation and all operations that share its matrices;
         if a row slice crosses tiles, unless `by-lanes`; for unknown devices. The
         module is then unchanged.

A matrix becomes its tiles in row-major order.  Slots are numbered tile by tile: slot s
is slot `s % length` of tile `s / length`, where `length` is the length of a tile.
`Cutter.rules` has the rewrite rules, and `coopc.ir.split_values` applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from math import gcd, prod

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, DivUIOp, MuliOp, RemUIOp, SelectOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import CallOp
from xdsl.dialects.ub import PoisonOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.disjoint_set import IntDisjointSet

from coopc.device import Device
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.control_flow import (
    TRANSPARENT,
    Functions,
    callee,
    defined_by,
    definer,
    functions,
    links,
)
from coopc.ir.device_option import device_of
from coopc.ir.element_access import memory_offset
from coopc.ir.matrix_size import why_matrix_too_large
from coopc.ir.split_values import Parts, Rule, Splitter, split_values
from coopc.ir.transaction import Refused, transaction
from coopc.passes.coopmatrix.elementwise import ELEMENT_BY_ELEMENT, REDUCTIONS
from coopc.passes.coopmatrix.split_coopmatrix.choose_sizes import Constraint, choose
from coopc.passes.coopmatrix.supported_tiles import (
    Product,
    SupportedTiles,
    Tile,
    element_name,
    wider,
)

# Which tiles: decided before anything is changed

SLOTS = coopmatrix.ELEMENTS_OF_LANES
"""Operations that address the elements of a work-item by slot."""

ROW_SLICES = (coopmatrix.ExtractRowSliceOp, coopmatrix.InsertRowSliceOp)
"""Operations on consecutive elements: their matrices are not cut."""

SAME_AXES = (*ELEMENT_BY_ELEMENT, coopmatrix.ApplyOp, *SLOTS, *ROW_SLICES)
"""Operations whose matrices all have the same axes; so have those of an access."""


def is_known(type: MatrixType) -> bool:
    """Whether a matrix is held by a subgroup and its sizes are numbers."""
    scope = type.scope
    return (
        type.is_static
        and isinstance(scope, coopmatrix.ScopeAttr)
        and scope.data == coopmatrix.Scope.SUBGROUP
    )


def maker(value: SSAValue) -> Operation:
    """Return the operation that gives a value, or whose block takes it."""
    found = definer(value)
    assert found is not None, value
    return found


@dataclass(slots=True)
class MatrixAxes:
    """The axes of the matrices of a program, and what has to be known to cut them."""

    known: Functions
    classes: IntDisjointSet = field(default_factory=lambda: IntDisjointSet(size=0))
    values: dict[SSAValue, tuple[int, int]] = field(default_factory=lambda: {})
    free: set[int] = field(default_factory=set[int])
    """Axes that are left alone: of unknown size, or reduced to one element."""
    by_slot: dict[MatrixType, tuple[int, int]] = field(default_factory=lambda: {})
    """Those of all matrices of a type whose elements are addressed by slot."""
    products: list[coopmatrix.MulAddOp] = field(default_factory=lambda: [])
    accesses: dict[SSAValue, list[coopmatrix.AccessOp]] = field(
        default_factory=dict[SSAValue, list[coopmatrix.AccessOp]]
    )
    """Those of each matrix."""
    whole: list[tuple[Operation, SSAValue]] = field(default_factory=lambda: [])
    """Operations that have no rule to cut them, with each of their matrices."""

    def of(self, value: SSAValue) -> tuple[int, int]:
        """Return the axes along the rows and the columns of a matrix.

        Raises:
            Refused: it would be too many tiles.
        """
        if (found := self.values.get(value)) is None:
            found = self.values[value] = (self.classes.add(), self.classes.add())
            if not is_known(type := matrix_type(value)):
                self.free.update(found)
            elif (reason := why_matrix_too_large(type)) is not None:
                raise Refused(maker(value), reason)
        return found

    def visit(self, op: Operation, in_body: bool) -> None:
        """Note which axes an operation makes the same, and what it needs.

        With `in_body` it is in the body of an `apply`, which is not cut.
        """
        values = *op.operands, *op.results
        matrices = [x for x in values if isinstance(x.type, MatrixType)]
        is_cut = True
        match op:
            case coopmatrix.MulAddOp():
                self._product(op)
            case coopmatrix.ReduceOp():
                is_cut = self._reduce(op)
            case coopmatrix.TransposeOp():
                flipped = reversed(self.of(op.result))
                for one, other in zip(self.of(op.value), flipped, strict=True):
                    self.classes.union(one, other)
            case coopmatrix.AccessOp():
                self._alike(matrices)
                for value in matrices[:1]:
                    self.accesses.setdefault(value, []).append(op)
                named = isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name
                # Else its tiles have no place in memory.
                is_cut = op.layout.data not in coopmatrix.BLOCKED and not named
            case _ if isinstance(op, SAME_AXES):
                is_cut = not isinstance(op, ROW_SLICES)
                self._same(op, matrices)
            case _:
                is_cut = self._flow(op)
        if in_body or not is_cut:
            self.whole += [(op, value) for value in matrices]

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

    def _flow(self, op: Operation) -> bool:
        """Note what control flow makes the same; return whether `op` has a rule."""
        for value in defined_by(op):
            if isinstance(value.type, MatrixType):
                self.of(value)
        for group in links(op, self.known):
            if isinstance(group[0].type, MatrixType):
                self._alike(group)
        if isinstance(op, CallOp):
            return callee(op, self.known) is not None
        return isinstance(op, (*TRANSPARENT, coopmatrix.FillOp, PoisonOp, SelectOp))

    def _same(self, op: Operation, matrices: Sequence[SSAValue]) -> None:
        """Note that all matrices of an operation are cut alike.

        By slot, all of their types are: `length` is of the type.
        """
        self._alike(matrices)
        if not isinstance(op, SLOTS):
            return
        if isinstance(op, coopmatrix.LengthOp):
            types = [op.matrix_type]
        else:
            types = [x.type for x in op.operands if isinstance(x.type, MatrixType)]
        for type in filter(is_known, types):
            if type not in self.by_slot:
                self.by_slot[type] = (self.classes.add(), self.classes.add())
        for value in matrices:
            if is_known(type := matrix_type(value)):
                pairs = zip(self.by_slot[type], self.of(value), strict=True)
                for one, other in pairs:
                    self.classes.union(one, other)

    def _alike(self, values: Sequence[SSAValue]) -> None:
        """Note that matrices are cut in the same way."""
        for value in values:
            for one, other in zip(self.of(values[0]), self.of(value), strict=True):
                self.classes.union(one, other)

    def _product(self, op: coopmatrix.MulAddOp) -> None:
        """Note that a is M x K, b is K x N, and c and the result are M x N."""
        self.products.append(op)
        (m, k), (b_rows, n) = self.of(op.a), self.of(op.b)
        self.classes.union(k, b_rows)
        for value in (op.c, op.result):
            rows, cols = self.of(value)
            self.classes.union(m, rows)
            self.classes.union(n, cols)

    def _reduce(self, op: coopmatrix.ReduceOp) -> bool:
        """Note that an axis stays, or is reduced to one element.

        Returns:
            whether it is cut: two rows and columns are not reduced to an element.
        """
        of = op.axis.data.window(2, 2)
        axes = zip(self.of(op.value), self.of(op.result), of, strict=True)
        for value, result, count in axes:
            if op.broadcast is None and count > 1:
                self.free.add(result)
            else:
                self.classes.union(value, result)
        return op.broadcast is not None or op.axis.data is not coopmatrix.Reduced.QUADS


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

    Each axis gets one tile size (`choose_sizes`).  Every matrix has two axes, and
    operations make axes the same:

    | operation                       | the same axes                                  |
    |---------------------------------|------------------------------------------------|
    | a * b + c -> r                  | rows of a, c, r; columns of a and rows of b;   |
    |                                 | columns of b, c, r                             |
    | element-wise, convert, apply    | rows of all, columns of all                    |
    | reduce rows (columns)           | rows (columns) of both                         |
    | loops, branches, calls, selects | rows and columns of what flows through         |

    A multiplication wants the sizes that the device multiplies and that divide the
    matrices, those that take the fewest multiplications first.  A matrix wants the
    sizes of matrices that the device holds, those first that it can load and store in
    the layouts of the program.  Matrices of one type whose elements are addressed by
    slot have the same axes, as `length` names only the type.  Where a row slice is
    addressed, a matrix has to stay whole.

    With `by_lanes`, what no tiles suit is left for lanes: a matrix for itself, or a
    product with all that it shares axes with.

    Raises:
        Refused: there are none.
    """
    supported, axes = SupportedTiles(device), MatrixAxes(functions(root))
    ops = tuple(root.walk())
    in_bodies = {
        inner
        for op in ops
        if isinstance(op, coopmatrix.ApplyOp)
        for inner in op.body.walk()
    }
    for op in ops:
        axes.visit(op, op in in_bodies)
    axes.settle()
    # In this order: what must stay whole is blamed where it contradicts the device.
    demands = [
        *_products(axes, supported),
        *_held(axes, supported),
        *_wholes(axes, device),
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


def why_whole(op: Operation, type: MatrixType, device: Device) -> str:
    rows, cols = type.shape
    why = "there is no rule for it"
    if isinstance(op, ROW_SLICES):
        why = "a row slice goes through several tiles"
    if isinstance(op, coopmatrix.PlainAccessOp):
        why = "where its tiles are in memory is not known until its layout is"
        if op.layout_name is None:
            why = "its blocks are interleaved in memory"
    return f"cannot split {rows} x {cols} for {device.name}: {why}"


def _products(axes: MatrixAxes, supported: SupportedTiles) -> Iterator[Demand]:
    """Yield what the multiplications want: sizes that the device multiplies."""
    for op in axes.products:
        if not all(type.is_static for type in op.matrices.values()):
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


def _held(axes: MatrixAxes, supported: SupportedTiles) -> Iterator[Demand]:
    """Yield what the matrices want: sizes that the device holds."""
    for value, pair in axes.values.items():
        if not axes.free.isdisjoint(pair):
            continue
        ops = axes.accesses.get(value, [])
        layouts = frozenset(op.layout_in_memory or op.layout.data for op in ops)
        type = matrix_type(value)
        if (tiles := supported.matrix(type, layouts)) is not None:
            op = ops[0] if ops else maker(value)
            reason = partial(supported.why_no_matrix, type)
            yield Demand(op, Constraint(pair, tiles), reason, is_wish=True)


def _wholes(axes: MatrixAxes, device: Device) -> Iterator[Demand]:
    """Yield what operations want that have no rule, or that address row slices."""
    for op, value in axes.whole:
        if is_known(type := matrix_type(value)):
            constraint = Constraint(axes.of(value), (type.shape,))
            yield Demand(op, constraint, partial(why_whole, op, type, device))


# The cutting


@dataclass(frozen=True, slots=True)
class MatrixTiles:
    """How a matrix is cut: the tiles, in row-major order."""

    type: MatrixType
    """Of the whole matrix."""
    tile_type: MatrixType
    """Of each tile."""
    shape: tuple[int, int]
    """The number of tiles along the rows and along the columns."""
    origins: tuple[tuple[int, int], ...]
    """The (row, column) of the first element of each tile."""
    places: tuple[tuple[int, int], ...]
    """The numbers of the tiles, (along the rows, along the columns)."""
    parts: Parts

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, type: MatrixType, tile: Tile) -> MatrixTiles:
        """Return how matrices of a type are cut into tiles of (rows, columns)."""
        (rows, cols), (tile_rows, tile_cols) = type.shape, tile
        assert rows % tile_rows == cols % tile_cols == 0, (type, tile)
        shape, cut = (rows // tile_rows, cols // tile_cols), type.with_shape(*tile)
        places = tuple(product(range(shape[0]), range(shape[1])))
        origins = tuple((p * tile_rows, q * tile_cols) for p, q in places)
        names = tuple(f"_{p}x{q}" for p, q in places)
        parts = Parts((cut,) * len(places), names)
        return cls(type, cut, shape, origins, places, parts)


def alignment_at(
    alignment: int,
    offset: tuple[int, int],
    strides: tuple[int | None, int | None],
    element_bits: int,
) -> int | None:
    """Return the alignment, in bytes, of the element at an offset from an aligned one.

    None where not even a byte is sure.  A dynamic stride may be any number:

    >>> alignment_at(64, (0, 8), (None, 1), element_bits=16)
    16
    >>> alignment_at(64, (8, 0), (None, 1), element_bits=16)
    16
    >>> alignment_at(64, (8, 0), (64, 1), element_bits=16)
    64
    """
    bits = alignment * 8
    known = 0
    for distance, stride in zip(offset, strides, strict=True):
        step = distance * element_bits
        if stride is None:
            bits = gcd(bits, step)
        else:
            known += step * stride
    return gcd(bits, known) // 8 or None


@dataclass(slots=True)
class Cutter:
    """The rules for one program."""

    tiling: Tiling

    def grid(self, value: SSAValue) -> MatrixTiles:
        """Return how a matrix is cut."""
        type = matrix_type(value)
        return MatrixTiles.of(type, self.tiling.tiles.get(value) or type.shape)

    @property
    def rules(self) -> dict[type[Operation], Rule]:
        table: list[tuple[type[Operation], Callable[..., Sequence[Values]]]] = [
            (coopmatrix.FillOp, self.fill),
            (PoisonOp, self.poison),
            (coopmatrix.MulAddOp, self.mul_add),
            (coopmatrix.ReduceOp, self.reduce),
            (coopmatrix.TransposeOp, self.transpose),
            (coopmatrix.ApplyOp, self.apply),
            (coopmatrix.ExtractOp, self.extract),
            (coopmatrix.InsertOp, self.insert),
            (coopmatrix.CoordOp, self.coord),
        ]
        for op in coopmatrix.OPERATIONS:
            if issubclass(op, coopmatrix.AccessOp):
                table.append((op, self.access))
            elif issubclass(op, ELEMENT_BY_ELEMENT):
                table.append((op, self.element_by_element))
        return dict(table)

    def fill(self, op: coopmatrix.FillOp, b: Splitter) -> Sequence[Values]:
        """One fill, which is every tile."""
        grid = self.grid(op.result)
        new = b.effect(coopmatrix.FillOp(op.value, grid.tile_type))
        return [(new.result,) * len(grid.origins)]

    def poison(self, op: PoisonOp, b: Splitter) -> Sequence[Values]:
        """Any matrix, which is every tile."""
        grid = self.grid(op.result)
        new = b.like(op, (), [grid.tile_type])
        return [(new.results[0],) * len(grid.origins)]

    def element_by_element(self, op: Operation, b: Splitter) -> Sequence[Values]:
        """The same operation on each tile; once where the tiles are the same."""
        grid = self.grid(op.results[0])
        done: dict[Values, SSAValue] = {}
        results: list[SSAValue] = []
        for part in range(len(grid.origins)):
            operands = tuple(
                b.parts(x)[part if x in self.tiling.tiles else 0] for x in op.operands
            )
            if operands not in done:
                new = b.like(op, operands, [grid.tile_type])
                done[operands] = new.results[0]
            results.append(done[operands])
        return [tuple(results)]

    def access(self, op: coopmatrix.AccessOp, b: Splitter) -> Sequence[Values]:
        """The same access for each tile, at positions moved by its origin."""
        stored = op.operands[: -1 - len(op.positions)]
        assert tuple(op.operands) == (*stored, op.memory, *op.positions), op
        if isinstance(op, coopmatrix.PrefetchOp):
            grid = MatrixTiles.of(op.matrix, self.tiling.prefetches[op])
        else:
            grid = self.grid((*stored, *op.results)[0])
        bits, of_memory = grid.type.element_bits, op.pointee_bits
        *leading, outer, inner = op.positions
        offsets: list[tuple[int, int]] = []
        for row, col in grid.origins:
            outwards, inwards = memory_offset(op.layout.data, row, col, bits)
            offset, rest = divmod(inwards * bits, of_memory)
            if rest:
                raise _broken_pointee(op, grid, of_memory)
            offsets.append((outwards, offset))
        places = [(b.plus(outer, x), b.plus(inner, y)) for x, y in offsets]
        results: list[SSAValue] = []
        for part, (offset, place) in enumerate(zip(offsets, places, strict=True)):
            values = (b.parts(value)[part] for value in stored)
            operands = (*values, op.memory, *leading, *place)
            new = b.like(op, operands, [grid.tile_type] * len(op.results))
            if isinstance(new, coopmatrix.PlainAccessOp) and new.alignment is not None:
                known, strides = new.alignment.value.data, op.matrix_strides
                sure = alignment_at(known, offset, strides, of_memory)
                new.alignment = None if sure is None else IntegerAttr(sure, i64)
            if isinstance(new, coopmatrix.PrefetchOp):
                new.matrix_type = grid.tile_type
            results += new.results
        return [tuple(results)] if op.results else []

    def mul_add(self, op: coopmatrix.MulAddOp, s: Splitter) -> Sequence[Values]:
        """For each tile of the result, one multiplication a step along K, in order."""
        a, b, c = (s.parts(x) for x in (op.a, op.b, op.c))
        grid = self.grid(op.result)
        depth, cols = self.grid(op.b).shape
        steps = _steps(op, grid.tile_type, depth)
        results: list[SSAValue] = []
        for value, (p, q) in zip(c, grid.places, strict=True):
            for step, (type, signed) in enumerate(steps):
                pair = a[p * depth + step], b[step * cols + q]
                new = coopmatrix.MulAddOp(*pair, value, type, signed, op.saturating)
                new.attributes = dict(op.attributes)
                value = s.effect(new).result
            results.append(value)
        return [tuple(results)]

    def reduce(self, op: coopmatrix.ReduceOp, b: Splitter) -> Sequence[Values]:
        """The tiles of a row (column) of tiles, or all, combined, then reduced once."""
        rows, cols = self.grid(op.value).shape
        parts = b.parts(op.value)
        axis, together = op.axis.data, (1, 1)
        if axis is not coopmatrix.Reduced.QUADS:
            together = axis.window(rows, cols)
        groups: dict[Tile, list[SSAValue]] = {}
        for part, (p, q) in zip(parts, self.grid(op.value).places, strict=True):
            groups.setdefault((p // together[0], q // together[1]), []).append(part)
        results: list[SSAValue] = []
        for line in groups.values():
            value = line[0]
            for other in line[1:]:
                value = b.effect(_combined(op, value, other)).result
            new = b.like(op, (value,), [self.grid(op.result).tile_type])
            results.append(new.results[0])
        if op.broadcast is not None:
            made = dict(zip(groups, results, strict=True))
            places = self.grid(op.result).places
            results = [made[p // together[0], q // together[1]] for p, q in places]
        return [tuple(results)]

    def transpose(self, op: coopmatrix.TransposeOp, b: Splitter) -> Sequence[Values]:
        """Each tile, in the place of the other tile across the diagonal."""
        source, target = self.grid(op.value), self.grid(op.result)
        tiles = dict(zip(source.places, b.parts(op.value), strict=True))
        new = (b.like(op, (tiles[q, p],), [target.tile_type]) for p, q in target.places)
        return [tuple(each.results[0] for each in new)]

    def apply(self, op: coopmatrix.ApplyOp, b: Splitter) -> Sequence[Values]:
        """The same body for each tile, with its origin added to row and column."""
        grid = self.grid(op.result)
        results: list[SSAValue] = []
        parts = b.parts(op.value)
        for part, origin in zip(parts, grid.origins, strict=True):
            body = op.body.clone()
            for argument, number in zip((0, 1), origin, strict=True):
                _move(body, argument, number, op)
            new = coopmatrix.ApplyOp(part, body)
            new.attributes = dict(op.attributes)
            results.append(b.effect(new).result)
        return [tuple(results)]

    # Elements by slot: no control flow, as lanes may address different tiles

    def extract(self, op: coopmatrix.ExtractOp, b: Splitter) -> Sequence[Values]:
        """Slot `s % length` of each tile; of these, that of tile `s / length`."""
        tile, slot = slot_of_tile(b, op.index, self.grid(op.matrix))
        found = b.constant(op.result.type, 0)
        for part, value in enumerate(b.parts(op.matrix)):
            element = b.effect(coopmatrix.ExtractOp(value, slot)).results[0]
            here = b.compare("eq", tile, b.constant(INDEX, part))
            found = b.pure(SelectOp, here, element, found)
        return [(found,)]

    def insert(self, op: coopmatrix.InsertOp, b: Splitter) -> Sequence[Values]:
        """The new element in one tile; in the others the one that is there."""
        tile, slot = slot_of_tile(b, op.index, self.grid(op.matrix))
        results: list[SSAValue] = []
        for part, value in enumerate(b.parts(op.matrix)):
            old = b.effect(coopmatrix.ExtractOp(value, slot)).results[0]
            here = b.compare("eq", tile, b.constant(INDEX, part))
            new = b.pure(SelectOp, here, op.value, old)
            results += b.effect(coopmatrix.InsertOp(new, value, slot)).results
        return [tuple(results)]

    def coord(self, op: coopmatrix.CoordOp, b: Splitter) -> Sequence[Values]:
        """Where the element is in any tile, which have it alike, and the tile's origin.

        What is outside of its tile is outside of the matrix.
        """
        grid = self.grid(op.matrix)
        tile, slot = slot_of_tile(b, op.index, grid)
        new = coopmatrix.CoordOp(
            operands=[b.parts(op.matrix)[0], slot], result_types=[INDEX] * 2
        )
        at = b.effect(new).results
        place = BoundedIndex(0, tile, len(grid.origins) - 1)
        count = b.constant(INDEX, len(grid.origins))
        rows = b.constant(INDEX, grid.tile_type.shape[0])
        inside = b.both(b.compare("ult", tile, count), b.compare("ult", at[0], rows))
        cols = grid.shape[1]
        along = (b.divided(place, cols), b.remainder(place, cols))
        found: list[Values] = []
        for axis in range(2):
            origin = b.index(b.times(along[axis], grid.tile_type.shape[axis]))
            outside = b.constant(INDEX, grid.type.shape[axis])
            moved = b.pure(AddiOp, at[axis], origin)
            found.append((b.select(inside, moved, outside),))
        return found


def slot_of_tile(
    b: Builder, slot: SSAValue, grid: MatrixTiles
) -> tuple[SSAValue, SSAValue]:
    """Return the number of the tile that has a slot of the matrix, and its slot."""
    length = b.pure(coopmatrix.LengthOp, grid.tile_type)
    return b.pure(DivUIOp, slot, length), b.pure(RemUIOp, slot, length)


def _broken_pointee(
    op: coopmatrix.AccessOp, grid: MatrixTiles, pointee_bits: int
) -> Refused:
    """Refuse tiles that begin inside of what a memref holds, such as a vector."""
    along = grid.tile_type.shape[op.layout.data is not coopmatrix.Layout.COL_MAJOR]
    return Refused(
        op,
        f"expected tiles whose rows in memory are whole {pointee_bits}-bit pieces, "
        f"which {op.memory_type} holds, got {along} elements of "
        f"{grid.type.element_bits} bits",
    )


def _steps(
    op: coopmatrix.MulAddOp, tile: MatrixType, depth: int
) -> list[tuple[MatrixType, coopmatrix.SignedAttr | None]]:
    """Return the types of the results, and the signs, of the steps along K of `op`.

    The sums between the steps are of the wider of the types of c and the result, and
    have its sign; `tile` is the type of the last one.
    """
    c, result = coopmatrix.Operand.C, coopmatrix.Operand.RESULT
    start = matrix_type(op.c).element_type
    names = element_name(start, True), element_name(tile.element_type, True)
    between = result if wider(*names) == names[1] else c
    inner = tile if between == result else tile.with_element(start)
    first = (inner, _signs(op, c, between)) if depth > 1 else (tile, op.signed)
    middle = (inner, _signs(op, between, between))
    last = (tile, _signs(op, between, result))
    return [first, *[middle] * (depth - 2), *[last] * (depth > 1)]


def _signs(
    op: coopmatrix.MulAddOp, c: coopmatrix.Operand, result: coopmatrix.Operand
) -> coopmatrix.SignedAttr | None:
    """Return the signs of a step whose c and result have those of other operands."""
    operand = coopmatrix.Operand
    from_whole = {operand.A: operand.A, operand.B: operand.B}
    from_whole |= {operand.C: c, operand.RESULT: result}
    signed = frozenset(x for x, whole in from_whole.items() if op.is_signed(whole))
    return coopmatrix.SignedAttr(signed) if signed else None


def _combined(
    op: coopmatrix.ReduceOp, one: SSAValue, other: SSAValue
) -> coopmatrix.BinaryOp:
    """Return the operation that combines two tiles as a reduction does."""
    make = REDUCTIONS[op.kind.data]
    if issubclass(make, coopmatrix.SignedBinaryOp):
        return make(one, other, op.signed is not None)
    return make(one, other)


def _move(body: Region, argument: int, number: int, op: Operation) -> None:
    """Add a number to an index that a body takes."""
    block: Block = body.block
    index = block.args[argument]
    if number == 0 or not index.uses:
        return
    moved = Builder(block, block.first_op, op.location).plus(index, number)
    index.replace_uses_with_if(moved, lambda use: use.operation is not moved.owner)


def cut(module: ModuleOp, tiling: Tiling) -> None:
    cutter = Cutter(tiling)
    for op, tile in tiling.lengths.items():
        grid, b = MatrixTiles.of(op.matrix_type, tile), Builder.at(op)
        length = b.pure(coopmatrix.LengthOp, grid.tile_type)
        count = b.constant(INDEX, len(grid.origins))
        Rewriter.replace_op(op, MuliOp(length, count))
    parts = {value: cutter.grid(value).parts for value in tiling.tiles}
    split_values(module, parts, cutter.rules)
    for op in tiling.prefetches:
        cutter.access(op, Splitter.at(op))
        Rewriter.erase_op(op)


@dataclass(frozen=True)
class SplitCoopmatrixPass(ModulePass):
    name = "split-coopmatrix"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    by_lanes: bool = False
    """Leave matrices that fit no tile shape whole, for `legalize-coopmatrix-khr`,
    instead of failing."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        with transaction(op) as draft:
            cut(draft, plan_tiling(draft, device, self.by_lanes))
