"""Values that are in matrices: products in loops, and what is computed of them by rows.

    %qk = tt.dot %q, %k, 0                       tiles of 16 x 16: sums
    %top = tt.reduce max, axis 1, %qk            one tile for 16 rows, the same in a row
    %p = math.exp (%qk - %top)                   subtractions, and apply
    %acc = tt.dot (truncf %p), %v, %old * f(%top)    conversions to factors

So scores, and what a loop carries of rows, need no work-group memory.  A device does so
that has reductions, conversions to factors and functions of elements as instructions.
What becomes of such values behind the loop is computed in matrices too, and stored
element by element, a tile at a time.  Other uses have a buffer there.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects import arith, scf
from xdsl.ir import Attribute, Operation, SSAValue, Use

from coopc.device import Device
from coopc.device.model import Matrix2
from coopc.dialects import coopmatrix, tt
from coopc.dialects.coopmatrix import MatrixType, Reduced, Reduction
from coopc.dialects.narrow import is_tensor
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import shape_of
from coopc.ir.builder import INDEX, Values
from coopc.ir.control_flow import is_inside, yielded
from coopc.passes.coopmatrix.elementwise import applied as of_elements
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import FREE, rewritten
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import Tiles, TtKernel
from coopc.passes.triton.convert_tt_to_coopmatrix.products import (
    TileTypes,
    factor,
    filled,
    inside,
    is_multiplied,
    load_staged,
    load_tile,
    moved,
    unchecked,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    after,
    is_splat,
    is_store,
    statements_of,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.shared_rounds import LANE_SUMS
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import Coordinates, Tensor

NEEDED = frozenset[Matrix2]({"reductions", "conversions", "per-element operations"})
BINARY: Mapping[type[Operation], Callable[..., Operation]] = {
    arith.AddfOp: coopmatrix.AddOp,
    arith.DivfOp: coopmatrix.DivOp,
    arith.MaxnumfOp: coopmatrix.MaxOp,
    arith.MinnumfOp: coopmatrix.MinOp,
    arith.MulfOp: coopmatrix.MulOp,
    arith.SubfOp: coopmatrix.SubOp,
}
REDUCTIONS: Mapping[type[Operation], Reduction] = {
    arith.AddfOp: Reduction.ADD,
    arith.MaxnumfOp: Reduction.MAX,
    arith.MinnumfOp: Reduction.MIN,
}
CASTS = (arith.ExtFOp, arith.TruncFOp)
FACTOR_TILES = 16
"""Of a factor that a loop keeps, at most."""


def has_needed(device: Device | None) -> bool:
    if device is None or not device.unrolls or not device.branched_matrices:
        return False
    return device.matrix2 >= NEEDED and device.changes_use("acc", "a")


@dataclass(frozen=True, slots=True)
class MatricesPlan:
    """What a loop does in matrices."""

    carried: frozenset[int]
    """Numbers of what it carries so."""
    ops: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class InMatrices:
    """Which operations can be done in matrices."""

    rows: int
    """Of a tile."""
    cols: int
    device: Device

    def plan(
        self, loop: scf.ForOp, kept: Container[SSAValue], most: int
    ) -> MatricesPlan | None:
        """Return what a loop does in matrices, if that is all it does with products.

        What is `kept` is in matrices before; a tensor has `most` elements at most.
        """
        args, ends = loop.body.block.args[1:], yielded(loop.body)
        carried = {
            number
            for number, (arg, init) in enumerate(zip(args, loop.iter_args, strict=True))
            if (init in kept or is_splat(init)) and self.is_held(arg)
        }
        while True:
            known: set[SSAValue] = {args[x] for x in carried}
            ops = self.follow(loop.body.block.ops, known)
            if ops is None:
                return None
            lost = {x for x in carried if ends[x] not in known}
            if not lost:
                break
            carried -= lost
        products, of_loop = (
            [x for x in each if isinstance(x, tt.DotOp)] for each in (ops, loop.walk())
        )
        is_rest = any(x in known for n, x in enumerate(ends) if n not in carried)
        if not carried or products != of_loop or is_rest:
            return None
        sums = sum(prod(shape_of(args[x].type)) for x in carried)
        sizes = [sums, *(prod(shape_of(x.d.type)) for x in products)]
        return None if max(sizes) > most else MatricesPlan(frozenset(carried), (*ops,))

    def follow(
        self, ops: Iterable[Operation], known: set[SSAValue]
    ) -> list[Operation] | None:
        """Return what is done in matrices, and note the results; None if not all is."""
        found: list[Operation] = []
        for op in ops:
            if self.is_done(op, known):
                found.append(op)
                known.update(op.results)
                continue
            used = {x for each in op.walk() for x in each.operands}
            if not isinstance(op, scf.YieldOp) and used & known:
                return None
        return found

    def is_held(self, value: SSAValue) -> bool:
        """Whether matrices can hold a tensor: sums, or numbers of rows."""
        if not is_tensor(value.type):
            return False
        shape = value.type.get_shape()
        if not 1 <= len(shape) <= 2 or shape[0] % self.rows:
            return False
        if any(x > 1 and x % self.cols for x in shape[1:]):
            return False
        name = str(element_of(value.type))
        is_float = name in ("f32", "f16")
        return is_float and (self.rows, self.cols) in self.device.held("acc", name)

    def is_done(self, op: Operation, known: Container[SSAValue]) -> bool:
        """Whether an operation is done in matrices, if some values are in these."""
        if isinstance(op, tt.DotOp):
            return self._is_product(op, known)
        if len(op.results) != 1 or not any(x in known for x in op.operands):
            return False
        if isinstance(op, arith.TruncFOp) and is_factor(op.result):
            return True
        return self.is_held(op.results[0]) and is_rule(op, known)

    def _is_product(self, op: tt.DotOp, known: Container[SSAValue]) -> bool:
        *batch, rows, depth = shape_of(op.a.type)
        if batch or op.b in known or rows % self.rows or depth % self.cols:
            return False
        is_sum = self.is_held(op.d) and (op.c in known or is_splat(op.c))
        return is_sum and is_multiplied(op, self.device)


def is_rule(op: Operation, known: Container[SSAValue]) -> bool:
    """Whether there is a rule for an operation on values of which some are known."""
    match op:
        case tt.ReduceOp():
            is_row = len(op.srcs) == 1 and op.axis.value.data == 1
            return is_row and combination(op) is not None
        case tt.ExpandDimsOp():
            return op.axis.value.data == 1 and len(shape_of(op.result.type)) == 2
        case tt.BroadcastOp():
            return shape_of(op.src.type)[1:] == (1,)
        case _:
            return type(op) in tt.ELEMENTWISE and is_elementwise(op, known)


def is_elementwise(op: Operation, known: Container[SSAValue]) -> bool:
    """Whether elements are functions of those of one value, or operators of two."""
    others = [x for x in op.operands if x not in known]
    if len(op.operands) == 2 and not others:
        return type(op) in BINARY
    same = [x for x in op.operands if x in known and x.type == op.results[0].type]
    is_one = len(others) + 1 == len(op.operands)
    if isinstance(op, CASTS):
        return True
    return is_one and len(same) == 1 and all(map(is_computed, others))


def is_factor(value: SSAValue) -> bool:
    """Whether a value is multiplied, as A, and no more."""
    users = [(x.operation, x.index) for x in value.uses]
    return all(isinstance(x, tt.DotOp) and number == 0 for x, number in users)


def combination(op: tt.ReduceOp) -> type[Operation] | None:
    """Return what a reduction does with two elements, if that is one operation."""
    one = op.only_operation
    if one is None or {*one.operands} != {*op.combine.block.args}:
        return None
    return type(one) if type(one) in REDUCTIONS else None


def is_computed(value: SSAValue) -> bool:
    """Whether elements follow from coordinates and numbers, without memory."""
    owner = value.owner
    if not is_tensor(value.type) or is_splat(value):
        return True
    if not isinstance(owner, FREE) and type(owner) not in tt.ELEMENTWISE:
        return False
    assert isinstance(owner, Operation), owner
    return not owner.regions and all(map(is_computed, owner.operands))


# --- the kernel ---


def rules_of(k: TtKernel) -> InMatrices | None:
    device, (rows, cols, _) = k.options.device, k.options.tile
    if device is None or k.options.block is None or not has_needed(device):
        return None
    return InMatrices(rows, cols, device)


def loop(k: TtKernel, op: scf.ForOp) -> bool:
    """Write a loop anew with what it can do in matrices; return whether it does."""
    plan, rules = None, rules_of(k)
    if rules is not None:
        plan = rules.plan(op, k.kept, LANE_SUMS * k.options.lanes)
    if plan is None:
        for value in op.iter_args:
            if value in k.kept and value not in k.values:
                k.values[value] = in_memory(k, value)
        return False
    factors = factors_before(k, op, plan)
    first = {x: tiles_of(k, op.iter_args[x]) for x in sorted(plan.carried)}
    changes = {x: partial(write, k, x, factors.get(x)) for x in plan.ops}
    rewritten(k, op, first, changes)
    settle(k, [op.results[x] for x in first])
    return True


def factors_before(
    k: TtKernel, loop: scf.ForOp, plan: MatricesPlan
) -> dict[Operation, Values]:
    """Return tiles of A that are the same in each round, by the product."""
    found: dict[Operation, Values] = {}
    for op in plan.ops:
        if isinstance(op, tt.DotOp) and not is_inside(op.a, loop):
            types = tile_types(k, op)
            if prod(shape_of(op.a.type)) <= FACTOR_TILES * prod(types.a.shape):
                found[op] = factor_tiles(k, op, types)
    return found


def tiles_of(k: TtKernel, value: SSAValue) -> Values:
    """Return the tiles of a value in matrices, or of one number everywhere."""
    if (found := k.kept.get(value)) is not None:
        return found
    type, shape = tile_of(k, value.type), shape_of(value.type)
    return filled(k, value, type, shape[0] // type.shape[0] * beside(k, shape))


def beside(k: TtKernel, shape: Sequence[int]) -> int:
    """Return how many tiles are beside each other: one, for numbers of rows."""
    return 1 if shape[1:] in ((), (1,)) else shape[1] // k.options.tile[1]


def takes(k: TtKernel, op: Operation) -> bool:
    """Write an operation on values in matrices, if it can be; return whether it is."""
    given, rules = [x for x in op.operands if x in k.kept], rules_of(k)
    if rules is None or not given or isinstance(op, tt.DotOp):
        return False
    if any(x.owner.parent is not op.parent for x in given):
        return False
    if not rules.is_done(op, k.kept):
        return False
    write(k, op)
    settle(k, op.results)
    return True


def settle(k: TtKernel, values: Sequence[SSAValue]) -> None:
    """Note what values in matrices are for operations that are done otherwise.

    Statements that use them element by element go through them tile by tile, everything
    else has a buffer.  A loop that follows says itself which it needs.
    """
    rules = rules_of(k)
    assert rules is not None, values
    known, last = {*k.kept}, values[-1].owner
    assert isinstance(last, Operation), values
    for op in after(last):
        if not isinstance(op, tt.DotOp) and rules.is_done(op, known):
            known.update(op.results)
    for value in values:
        users = [x for x in value.uses if not is_later(x, value, known)]
        ends = [ends_of(x, value) for x in users]
        statements = {op for each in ends for op in each}
        is_tiled = all(ends) and len(shape_of(value.type)) == 2
        if statements and is_tiled and statements.isdisjoint(k.rounds):
            tiles = Tiles(k.kept[value], beside(k, shape_of(value.type)))
            k.rounds |= dict.fromkeys(statements, tiles)
            k.values[value] = tiles.whole(k.elements, shape_of(value.type))
        elif users:
            k.values[value] = in_memory(k, value)


def is_later(use: Use, value: SSAValue, known: Container[SSAValue]) -> bool:
    """Whether a use needs a value in matrices, or says itself what it needs."""
    op = use.operation
    is_known = any(x in known for x in op.results) or isinstance(op, scf.ForOp)
    return is_known and op.parent is value.owner.parent


def ends_of(use: Use, value: SSAValue) -> frozenset[Operation]:
    """Return the statements that use a value element by element there, if all do."""
    op = use.operation
    if op.parent is not value.owner.parent:
        return frozenset()
    if is_store(op, use.index):
        return frozenset({op})
    if type(op) not in tt.ELEMENTWISE or len(op.results) != 1:
        return frozenset()
    return statements_of(op.results[0])


def in_memory(k: TtKernel, value: SSAValue) -> Tensor:
    """Return a tensor in a buffer of a value in matrices."""
    b, tiles, shape = k.b, k.kept[value], shape_of(value.type)
    (m, n), across = tile_of(k, value.type).shape, beside(k, shape)
    size, name = (shape[0], across * n), value.name_hint or "kept"
    found = k.buffer(size, element_of(value.type), name)
    assert found.buffer is not None, value
    k.barrier()
    for number, tile in enumerate(tiles):
        down, right = divmod(number, across)
        at = b.constant(INDEX, down * m), b.constant(INDEX, right * n)
        b.effect(coopmatrix.StoreOp(tile, found.buffer, at))
    k.barrier()
    if size == shape:
        return found

    def element_at(at: Coordinates) -> SSAValue:
        return k.elements.of(found, (at[0], b.constant(INDEX, 0)))

    return Tensor(shape, element_at, None, found.reads)


def tile_of(
    k: TtKernel, type: Attribute, use: coopmatrix.Use = coopmatrix.Use.ACC
) -> MatrixType:
    rows, cols, _ = k.options.tile
    return MatrixType.of(rows, cols, element_of(type), use)


def tile_types(k: TtKernel, op: tt.DotOp) -> TileTypes:
    """Return the matrices of a step: of A such as accumulators become."""
    cols = k.options.tile[1]
    b = MatrixType.of(cols, cols, element_of(op.b.type), coopmatrix.Use.B)
    return TileTypes(tile_of(k, op.a.type, coopmatrix.Use.A), b, tile_of(k, op.d.type))


def write(k: TtKernel, op: Operation, factors: Values | None = None) -> None:
    """Write an operation on values in matrices, and note what it makes."""
    b, (result,) = k.b, op.results
    match op:
        case tt.DotOp():
            found = product(k, op, factors)
        case tt.ReduceOp():
            found = reduced(k, op)
        case tt.ExpandDimsOp():
            found = k.kept[op.src]
        case tt.BroadcastOp():
            across = beside(k, shape_of(result.type))
            found = tuple(x for x in k.kept[op.src] for _ in range(across))
        case arith.TruncFOp() | arith.ExtFOp():
            type = tile_of(
                k,
                result.type,
                coopmatrix.Use.A if is_factor(result) else coopmatrix.Use.ACC,
            )
            old = k.kept[op.operands[0]]
            found = tuple(b.pure(coopmatrix.ConvertOp, x, type) for x in old)
        case _ if len(op.operands) == 2 and all(x in k.kept for x in op.operands):
            pairs = zip(*(k.kept[x] for x in op.operands), strict=True)
            found = tuple(b.pure(BINARY[op.__class__], *x) for x in pairs)
        case _:
            found = elementwise(k, op)
    k.kept[result] = found


def reduced(k: TtKernel, op: tt.ReduceOp) -> Values:
    """Return the numbers of rows: tiles beside each other are combined first."""
    b, tiles, combine = k.b, k.kept[op.srcs[0]], combination(op)
    assert combine is not None, op
    across = beside(k, shape_of(op.srcs[0].type))
    found: list[SSAValue] = []
    for begin in range(0, len(tiles), across):
        total, *rest = tiles[begin : begin + across]
        for each in rest:
            total = b.pure(BINARY[combine], total, each)
        kind = REDUCTIONS[combine]
        new = coopmatrix.ReduceOp(kind, Reduced.ROWS, total, broadcast=True)
        found.append(b.effect(new).result)
    return tuple(found)


def elementwise(k: TtKernel, op: Operation) -> Values:
    """Return tiles of which each element is a function of one, and of its place."""
    b, (result,) = k.b, op.results
    (value,) = (x for x in op.operands if x in k.kept)
    others = [x for x in op.operands if x is not value]
    shape, (m, n, _) = shape_of(result.type), k.options.tile
    if isinstance(op, arith.MulfOp) and is_splat(others[0]):
        zeros = (b.constant(INDEX, 0),) * len(shape)
        by = k.elements.of(k.tensor(others[0]), zeros)
        return tuple(b.pure(coopmatrix.ScaleOp, x, by) for x in k.kept[value])
    known: dict[tuple[SSAValue, Coordinates], SSAValue] = {}
    found: list[SSAValue] = []
    for number, tile in enumerate(k.kept[value]):
        down, right = divmod(number, beside(k, shape))
        at = b.constant(INDEX, down * m), b.constant(INDEX, right * n)
        key = tile, () if all(map(is_splat, others)) else at
        if key not in known:
            known[key] = applied(k, op, value, tile, at)
        found.append(known[key])
    return tuple(found)


def applied(
    k: TtKernel, op: Operation, value: SSAValue, tile: SSAValue, at: Coordinates
) -> SSAValue:
    """Return a tile that begins at an element, of an operation on a value."""
    b, shape = k.b, shape_of(op.results[0].type)

    def body(row: SSAValue, col: SSAValue, old: SSAValue) -> SSAValue:
        row, col = moved(k, at, (row, col))
        if shape[1:] == (1,):
            col = b.constant(INDEX, 0)
        here = (row, col)[: len(shape)]
        given = [
            old if x is value else k.elements.of(k.tensor(x), here) for x in op.operands
        ]
        return b.like(op, given, [old.type]).results[0]

    return of_elements(b, tile, body)


def product(k: TtKernel, op: tt.DotOp, factors: Values | None) -> Values:
    """Return sums with products, of tiles of A that are known or loaded."""
    b, types, sums = k.b, tile_types(k, op), tiles_of(k, op.c)
    (rows, depth), (m, n) = shape_of(op.a.type), types.d.shape
    across, steps, right = beside(k, shape_of(op.d.type)), depth // n, factor(k, op.b)
    factors = factors or k.kept.get(op.a)
    ones = factor_tiles(k, op, types) if factors is None else factors
    if ones[0].type != types.a:
        ones = tuple(b.pure(coopmatrix.ConvertOp, x, types.a) for x in ones)
    whole = b.both(*inside(k, right))

    def add(right: Tensor) -> Values:
        found = [*sums]
        for step in range(steps):
            for col in range(across):
                at = b.constant(INDEX, step * n), b.constant(INDEX, col * n)
                other = load_tile(k, right, at, types.b)
                for row in range(rows // m):
                    place, one = row * across + col, ones[row * steps + step]
                    new = coopmatrix.MulAddOp(one, other, found[place])
                    found[place] = b.effect(new).results[0]
        return tuple(found)

    if isinstance(whole, bool):
        return add(right)
    return b.either(
        whole, [x.type for x in sums], lambda: add(unchecked(right)), lambda: add(right)
    )


def factor_tiles(k: TtKernel, op: tt.DotOp, types: TileTypes) -> Values:
    """Return all tiles of A."""
    b, tensor, (m, n) = k.b, factor(k, op.a), types.a.shape
    rows, depth = shape_of(op.a.type)
    places = [
        (b.constant(INDEX, row), b.constant(INDEX, col))
        for row in range(0, rows, m)
        for col in range(0, depth, n)
    ]
    whole = b.both(*inside(k, tensor))

    def loads() -> Values:
        return tuple(load_tile(k, unchecked(tensor), x, types.a) for x in places)

    def by_elements() -> Values:
        return tuple(load_staged(k, tensor, x, types.a) for x in places)

    if isinstance(whole, bool):
        return loads() if whole else by_elements()
    return b.either(whole, [types.a] * len(places), loads, by_elements)
