"""Products of tensors, tile by tile, and the rounds of statements that use their sums.

%d = tt.dot %a, %b, %c      buffer of d = c, then for each tile of it
                              coopmatrix.mul_add along k, of tiles of buffers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.device import Device
from coopc.dialects import coopmatrix, simt, tt
from coopc.dialects.coopmatrix import (
    Axis,
    CheckedAttr,
    Layout,
    MatrixType,
    Operand,
    SignedAttr,
    Use,
    matrix_type,
)
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import shape_of
from coopc.ir.builder import INDEX, BoundedIndex, Values
from coopc.ir.control_flow import block_of
from coopc.ir.facts import constant_number
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import rewritten
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import Strips, Tiles, TtKernel
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    RoundsPlan,
    is_splat,
    updated,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.shared_rounds import (
    dimension,
    operand,
    run_shared,
    size_of,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    Coordinates,
    Tensor,
    unflattened,
)
from coopc.passes.triton.origins import View

DOT_SUMS = 64
"""Sums of one product that a lane keeps, at most."""


@dataclass(frozen=True, slots=True)
class TileTypes:
    """The matrices of one step along k: d = a * b + d."""

    a: MatrixType
    b: MatrixType
    d: MatrixType

    @classmethod
    def of(cls, k: TtKernel, op: tt.DotOp, cols: int) -> TileTypes:
        """Return those of a product, of whose result they have `cols` at most."""
        one, other, sum = (element_of(x.type) for x in (op.a, op.b, op.d))
        most_rows, _, most_depth = k.options.tile
        *_, rows, whole = shape_of(op.d.type)
        m, n = min(most_rows, rows), min(cols, whole)
        depth = min(most_depth, shape_of(op.a.type)[-1])
        return cls(
            MatrixType.of(m, depth, one, Use.A),
            MatrixType.of(depth, n, other, Use.B),
            MatrixType.of(m, n, sum, Use.ACC),
        )

    @property
    def signed(self) -> SignedAttr | None:
        is_whole = is_integer(self.d.element_type)
        return SignedAttr(frozenset(Operand)) if is_whole else None


def moved(
    k: TtKernel, places: Sequence[SSAValue], by: Sequence[SSAValue]
) -> Coordinates:
    pairs = zip(places, by, strict=True)
    return tuple(k.b.pure(arith.AddiOp, one, other) for one, other in pairs)


def quotient(k: TtKernel, value: SSAValue, by: int) -> SSAValue:
    if (known := constant_number(value)) is not None:
        return k.b.constant(INDEX, known // by)
    return k.b.pure(arith.DivUIOp, value, k.b.constant(INDEX, by))


def load_tile(
    k: TtKernel, tensor: Tensor, at: Coordinates, type: MatrixType
) -> SSAValue:
    """Return a tile of a tensor that memory holds, which begins at an element."""
    b, matrix = k.b, tensor.matrix
    assert matrix is not None, tensor
    k.reads |= tensor.reads

    def load() -> Values:
        *lead, row, col = at
        place = (*lead, col, row) if matrix.is_transposed else at
        if matrix.starts:
            place = moved(k, matrix.starts, place)
        if matrix.packed > 1:
            *rest, last = place
            place = (*rest, quotient(k, last, matrix.packed))
        layout = Layout.COL_MAJOR if matrix.is_transposed else Layout.ROW_MAJOR
        new = coopmatrix.LoadOp(matrix.memory, place, type, layout)
        if matrix.checked:
            new.checked = CheckedAttr(frozenset(matrix.checked))
        return tuple(b.effect(new).results)

    if isinstance(matrix.aligned, bool):
        return load()[0]
    by_elements = partial(load_staged, k, tensor, at, type)
    return b.either(matrix.aligned, [type], load, lambda: (by_elements(),))[0]


def load_staged(
    k: TtKernel, tensor: Tensor, at: Coordinates, type: MatrixType
) -> SSAValue:
    """Return a tile of any tensor, through a buffer."""
    stage, zeros = staged(k, tensor, at, type.shape, type.element_type)
    assert stage.buffer is not None, stage
    return k.b.effect(coopmatrix.LoadOp(stage.buffer, zeros, type)).result


def staged(
    k: TtKernel,
    tensor: Tensor,
    at: Coordinates,
    shape: Sequence[int],
    element: Attribute,
) -> tuple[Tensor, Coordinates]:
    """Return a buffer of the part of a tensor that begins at an element, and zeros."""
    found = k.buffer(shape, element, "stage")
    k.fill(found, lambda x: k.elements.of(tensor, moved(k, at, x)))
    return found, (k.b.constant(INDEX, 0),) * len(shape)


def add_products(
    k: TtKernel,
    types: TileTypes,
    factors: tuple[Tensor, Tensor],
    at: Coordinates,
    sums: Values,
    across: int = 1,
) -> Values:
    """Return sums, tiles of a block that begins at an element, and products.

    Args:
        k: the kernel.
        types: of the tiles, and of what is multiplied for them.
        factors: the tensors.
        at: the first row and the first column of the sums, behind those of a batch.
        sums: the tiles, row by row.
        across: tiles that are beside each other.
    """
    b, (m, depth), (_, n) = k.b, types.a.shape, types.b.shape
    (*lead, row, col), down = at, len(sums) // across

    def step(t: BoundedIndex, sums: Values) -> Values:
        along = b.index(b.times(t, depth))
        parts: list[tuple[Tensor, Coordinates]] = []
        for tensor, place, shape, type in (
            (factors[0], (*lead, row, along), (m * down, depth), types.a),
            (factors[1], (*lead, along, col), (depth, n * across), types.b),
        ):
            is_loaded = tensor.matrix is not None
            element = type.element_type
            part = (tensor, place)
            parts.append(part if is_loaded else staged(k, *part, shape, element))
        (one, (*_, top, inner)), (other, (*_, outer, left)) = parts
        found, lefts = list(sums), list[SSAValue]()
        for number in range(across):
            place = (*lead, outer, b.plus(left, number * n))
            right = load_tile(k, other, place, types.b)
            for below in range(down):
                if number == 0:
                    place = (*lead, b.plus(top, below * m), inner)
                    lefts.append(load_tile(k, one, place, types.a))
                tile = below * across + number
                new = coopmatrix.MulAddOp(
                    lefts[below], right, sums[tile], signed=types.signed
                )
                found[tile] = b.effect(new).results[0]
        return tuple(found)

    return b.loop(factors[0].shape[-1] // depth, sums, step, name="k")


def add_whole_products(
    k: TtKernel,
    types: TileTypes,
    factors: tuple[Tensor, Tensor],
    at: Coordinates,
    sums: Values,
    across: int,
) -> Values:
    """Return sums and products, without a check of each tile where none is needed.

    The arguments are those of `add_products`.
    """
    b, whole = k.b, k.b.both(*(x for each in factors for x in inside(k, each)))

    def add() -> Values:
        one, other = map(unchecked, factors)
        return add_products(k, types, (one, other), at, sums, across)

    def add_checked() -> Values:
        return add_products(k, types, factors, at, sums, across)

    device = k.options.device
    if isinstance(whole, bool):
        return add() if whole else add_checked()
    if device is None or not device.branched_matrices:
        return add_checked()
    return b.either(whole, [x.type for x in sums], add, add_checked)


def inside(k: TtKernel, tensor: Tensor) -> list[SSAValue | bool]:
    """Return what must be true for all of a tensor to be matrices in memory."""
    b, matrix = k.b, tensor.matrix
    if matrix is None:
        return []
    found: list[SSAValue | bool] = [matrix.aligned]
    for axis in matrix.checked:
        first = matrix.starts[dimension(matrix, axis)]
        end = b.plus(first, tensor.shape[-2 if axis is Axis.ROWS else -1])
        found.append(b.compare("sge", first, b.constant(INDEX, 0)))
        found.append(b.compare("sle", end, size_of(matrix, axis)))
    return found


def unchecked(tensor: Tensor) -> Tensor:
    """Return a factor of which what is in memory is known to be inside, and aligned."""
    if (matrix := tensor.matrix) is None:
        return tensor
    return replace(tensor, matrix=replace(matrix, checked=(), aligned=True))


def dot(k: TtKernel, op: tt.DotOp) -> None:
    """Multiply tiles; into the buffer of c where nothing else needs that."""
    factors = factor(k, op.a), factor(k, op.b)
    d = k.tensor(op.c)
    if (carried := updated(op)) is not None:
        target = k.tensor(carried)
        k.assign(target, d)
        d = target
    is_last = d.buffer is not None and op.c.has_one_use()
    is_last = is_last and block_of(op.c) is op.parent
    is_last = is_last and not isinstance(op.c.owner, View)
    init = op.c if is_splat(op.c) and is_multiplied(op, k.options.device) else None
    if init is not None:
        d = k.buffer(d.shape, element_of(op.d.type), "product")
    elif carried is None and not is_last:
        d = k.copy(d, element_of(op.d.type), "product")
    k.values[op.d] = d
    add_tiles(k, op, factors, d, init)


def is_multiplied(op: tt.DotOp, device: Device | None) -> bool:
    """Whether a device has matrices for a product."""
    a, b, d = (operand(x).element for x in (op.a, op.b, op.d))
    return device is not None and bool(device.multiplications(a, b, d, d))


def add_tiles(
    k: TtKernel,
    op: tt.DotOp,
    factors: tuple[Tensor, Tensor],
    d: Tensor,
    init: SSAValue | None,
) -> None:
    """Add products to a tensor in a buffer, tile by tile.

    Sums begin with `init` everywhere; without it with what the buffer of `d` holds.
    """
    b, memory = k.b, d.buffer
    assert memory is not None, op
    *batch, rows, cols = d.shape
    types = TileTypes.of(k, op, k.options.tile[1])
    (m, n), down, across = types.d.shape, 1, 1
    if init is not None and rows * cols <= DOT_SUMS * k.options.lanes:
        down, across = rows // m, cols // n

    def of_block(at: Coordinates) -> None:
        *lead, row, col = at
        places = [
            (*lead, b.plus(row, below * m), b.plus(col, right * n))
            for below in range(down)
            for right in range(across)
        ]
        if init is None:
            sums = tuple(load_tile(k, d, x, types.d) for x in places)
            sums = add_products(k, types, factors, at, sums)
        else:
            sums = filled(k, init, types.d, len(places))
            sums = add_whole_products(k, types, factors, at, sums, across)
        k.barrier()  # other lanes may have loaded what this one stores
        for place, total in zip(places, sums, strict=True):
            b.effect(coopmatrix.StoreOp(total, memory, place))

    def of_batch(number: BoundedIndex, _: Values) -> Values:
        lead = unflattened(b, b.index(number), batch)

        def of_rows(row: BoundedIndex, _: Values) -> Values:
            def of_cols(col: BoundedIndex, _: Values) -> Values:
                place = b.times(row, m * down), b.times(col, n * across)
                of_block((*lead, *map(b.index, place)))
                return ()

            return b.loop(cols // (n * across), (), of_cols, name="col")

        return b.loop(rows // (m * down), (), of_rows, name="row")

    b.loop(prod(batch), (), of_batch, name="batch")
    k.barrier()


def filled(k: TtKernel, value: SSAValue, type: MatrixType, count: int) -> Values:
    """Return tiles of a tensor that has the same number everywhere."""
    tensor = k.tensor(value)
    first = k.elements.of(tensor, (k.b.constant(INDEX, 0),) * len(tensor.shape))
    return (k.b.effect(coopmatrix.FillOp(first, type)).result,) * count


def factor(k: TtKernel, value: SSAValue) -> Tensor:
    """Return a tensor that products can load: in a buffer, or where it is."""
    found = k.tensor(value)
    can_load = k.options.block is not None and found.matrix is not None
    return found if can_load else k.in_buffer(value)


# Rounds


def run_statement(
    k: TtKernel,
    op: Operation,
    base: SSAValue | None,
    shape: Sequence[int],
    body: Callable[[Coordinates], object],
) -> None:
    """Run the body of a statement for each element, in rounds if there are some.

    It stores a tensor of a shape behind a base, which is None for memory at addresses.
    """
    if (rounds := k.rounds.get(op)) is None:
        k.for_each(shape, body)
        return
    if isinstance(rounds, Tiles):
        run_tiles(k, rounds, body)
        return
    b, plan = k.b, rounds.plan
    if (shared := k.options.shared.get(plan.loop)) is not None:
        k.reads.clear()
        run_shared(k, rounds, shared, body)
        note_apart(k, plan, base)
        return
    (rows, cols), (_, beside) = plan.block, plan.rounds
    assert k.options.block is not None, op
    types = TileTypes.of(k, plan.dot, k.options.block[1])
    strip = types.d

    def of_round(t: BoundedIndex, _: Values) -> Values:
        at = (
            b.index(b.times(b.divided(t, beside), rows)),
            b.index(b.times(b.remainder(t, beside), cols)),
        )
        first = tuple(b.plus(x, y) for x, y in zip(at, plan.begin, strict=True))
        sums = sums_at(k, plan, types, first)
        rounds.strip = k.buffer(strip.shape, strip.element_type, "sums")
        for number, each in enumerate(sums):
            run_strip(k, rounds, each, (number * strip.shape[0], 0), body, at)
        return ()

    k.reads.clear()
    b.loop(prod(plan.rounds), (), of_round, name="round")
    note_apart(k, plan, base)


def run_tiles(
    k: TtKernel, rounds: Tiles, body: Callable[[Coordinates], object]
) -> None:
    """Run the body of a statement for each element of a tensor: by tiles."""
    b, type = k.b, matrix_type(rounds.tiles[0])
    (m, n), element = type.shape, type.element_type
    rounds.strip = k.buffer((m, n), element, "sums")
    if k.options.parts == 1:  # other lanes may have loaded what a lane stores to
        b.effect(simt.BarrierOp())
    for number, tile in enumerate(rounds.tiles):
        down, right = divmod(number, rounds.across)
        run_strip(k, rounds, tile, (down * m, right * n), body)


def run_strip(
    k: TtKernel,
    strips: Strips,
    matrix: SSAValue,
    first: tuple[int, int],
    body: Callable[[Coordinates], object],
    begin: Coordinates | None = None,
) -> None:
    """Run a body for each element of a matrix, which goes to the strip's buffer.

    The matrix begins at row and column `first` of a block, and that at `begin`.
    """
    assert strips.strip is not None, strips
    b, buffer, zero = k.b, strips.strip.buffer, k.b.constant(INDEX, 0)
    assert buffer is not None, strips

    def of_element(x: Coordinates) -> None:
        at = tuple(map(b.plus, x, first))
        at = at if begin is None else moved(k, begin, at)
        strips.places[at] = x
        body(at)

    k.barrier()
    b.effect(coopmatrix.StoreOp(matrix, buffer, (zero, zero)))
    k.barrier()
    k.for_each(matrix_type(matrix).shape, of_element)


def note_apart(k: TtKernel, plan: RoundsPlan, base: SSAValue | None) -> None:
    """Note that a statement may not store to memory that its rounds load from."""
    for each in k.reads:
        if each is None or isinstance(each.owner, Block | simt.MemoryAtOp):
            k.apart[each, base] = plan.loop


def sums_at(k: TtKernel, plan: RoundsPlan, types: TileTypes, at: Coordinates) -> Values:
    """Write a loop anew for a block of its sums; return their strips."""
    op, count = plan.loop, plan.block[0] // types.d.shape[0]
    first = filled(k, op.iter_args[plan.number], types.d, count)

    def add() -> None:
        factors, sums = k.tensors((plan.dot.a, plan.dot.b)), k.kept[plan.dot.c]
        one, other = factors
        k.kept[plan.dot.d] = add_products(k, types, (one, other), at, sums)

    rewritten(k, op, {plan.number: first}, {plan.dot: add})
    return k.kept[op.results[plan.number]]
