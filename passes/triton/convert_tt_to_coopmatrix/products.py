"""Products of tensors, tile by tile, and the rounds of statements that use their sums.

%d = tt.dot %a, %b, %c      buffer of d = c, then for each tile of it
                              coopmatrix.mul_add along k, of tiles of buffers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.dialects import coopmatrix, simt, tt
from coopc.dialects.coopmatrix import (
    CheckedAttr,
    Layout,
    MatrixType,
    Operand,
    SignedAttr,
    Use,
)
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import shape_of
from coopc.ir.builder import INDEX, BoundedIndex, Values
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import rewritten
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import TtKernel
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    VIEWS,
    RoundsPlan,
    updated,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.shared_rounds import run_shared
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    Coordinates,
    Tensor,
    unflattened,
)


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
        layout = Layout.COL_MAJOR if matrix.is_transposed else Layout.ROW_MAJOR
        new = coopmatrix.LoadOp(matrix.memory, place, type, layout)
        if matrix.checked:
            new.checked = CheckedAttr(frozenset(matrix.checked))
        return tuple(b.effect(new).results)

    def load_staged() -> Values:
        stage, zeros = staged(k, tensor, at, type.shape, type.element_type)
        assert stage.buffer is not None, stage
        return tuple(b.effect(coopmatrix.LoadOp(stage.buffer, zeros, type)).results)

    if isinstance(matrix.aligned, bool):
        return load()[0]
    return b.either(matrix.aligned, [type], load, load_staged)[0]


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
) -> Values:
    """Return sums, strips of a block that begins at an element, and products.

    Args:
        k: the kernel.
        types: of the strips, and of what is multiplied for them.
        factors: the tensors.
        at: the first row and the first column of the sums, behind those of a batch.
        sums: the strips, below each other.
    """
    b, (m, depth), (_, n) = k.b, types.a.shape, types.b.shape
    *lead, row, col = at

    def step(t: BoundedIndex, sums: Values) -> Values:
        along = b.index(b.times(t, depth))
        parts: list[tuple[Tensor, Coordinates]] = []
        for tensor, place, shape, type in (
            (factors[0], (*lead, row, along), (m * len(sums), depth), types.a),
            (factors[1], (*lead, along, col), (depth, n), types.b),
        ):
            is_loaded = tensor.matrix is not None
            element = type.element_type
            part = (tensor, place)
            parts.append(part if is_loaded else staged(k, *part, shape, element))
        (one, (*_, first, along)), (other, start) = parts
        right = load_tile(k, other, start, types.b)
        found: list[SSAValue] = []
        for number, total in enumerate(sums):
            place = (*lead, b.plus(first, number * m), along)
            left = load_tile(k, one, place, types.a)
            new = coopmatrix.MulAddOp(left, right, total, signed=types.signed)
            found.append(b.effect(new).results[0])
        return tuple(found)

    return b.loop(factors[0].shape[-1] // depth, sums, step, name="k")


def dot(k: TtKernel, op: tt.DotOp) -> None:
    """Multiply tiles; into the buffer of c where nothing else needs that."""
    b = k.b
    factors = factor(k, op.a), factor(k, op.b)
    d = k.tensor(op.c)
    if (carried := updated(op)) is not None:
        target = k.tensor(carried)
        k.assign(target, d)
        d = target
    owner = op.c.owner
    around = owner if isinstance(owner, Block) else owner.parent
    is_last = d.buffer is not None and op.c.has_one_use()
    is_last = is_last and around is op.parent and not isinstance(owner, VIEWS)
    if carried is None and not is_last:
        d = k.copy(d, element_of(op.d.type), "product")
    k.values[op.d], memory = d, d.buffer
    assert memory is not None, op
    *batch, rows, cols = d.shape
    types = TileTypes.of(k, op, k.options.tile[1])
    m, n = types.d.shape

    def of_tile(at: Coordinates) -> None:
        sums = (load_tile(k, d, at, types.d),)
        (total,) = add_products(k, types, factors, at, sums)
        k.barrier()  # other lanes may have loaded what this one stores
        b.effect(coopmatrix.StoreOp(total, memory, at))

    def of_batch(number: BoundedIndex, _: Values) -> Values:
        lead = unflattened(b, b.index(number), batch)

        def of_rows(row: BoundedIndex, _: Values) -> Values:
            def of_cols(col: BoundedIndex, _: Values) -> Values:
                of_tile((*lead, b.index(b.times(row, m)), b.index(b.times(col, n))))
                return ()

            return b.loop(cols // n, (), of_cols, name="col")

        return b.loop(rows // m, (), of_rows, name="row")

    b.loop(prod(batch), (), of_batch, name="batch")
    k.barrier()


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

    Args:
        k: the kernel.
        op: the statement.
        base: the argument that it stores to; None for memory at addresses.
        shape: of what it stores.
        body: what it does.
    """
    if (rounds := k.rounds.get(op)) is None:
        k.for_each(shape, body)
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
        stage = k.buffer(strip.shape, strip.element_type, "sums")
        assert stage.buffer is not None, stage
        rounds.strip = stage
        zero = b.constant(INDEX, 0)
        for number, each in enumerate(sums):

            def of_strip(x: Coordinates, number: int = number) -> None:
                row = b.plus(x[0], number * strip.shape[0])
                whole = moved(k, at, (row, x[1]))
                rounds.places[whole] = x
                body(whole)

            k.barrier()
            b.effect(coopmatrix.StoreOp(each, stage.buffer, (zero, zero)))
            k.barrier()
            k.for_each(strip.shape, of_strip)
        return ()

    k.reads.clear()
    b.loop(prod(plan.rounds), (), of_round, name="round")
    note_apart(k, plan, base)


def note_apart(k: TtKernel, plan: RoundsPlan, base: SSAValue | None) -> None:
    """Note that a statement may not store to memory that its rounds load from."""
    for each in k.reads:
        if each is None or isinstance(each.owner, Block | simt.MemoryAtOp):
            k.apart[each, base] = plan.loop


def sums_at(k: TtKernel, plan: RoundsPlan, types: TileTypes, at: Coordinates) -> Values:
    """Write a loop anew for a block of its sums; return their strips."""
    b, op = k.b, plan.loop
    init = k.elements.of(k.tensor(op.iter_args[plan.number]), at)
    fill = b.effect(coopmatrix.FillOp(init, types.d)).results[0]
    count = plan.block[0] // types.d.shape[0]

    def add(sums: Values) -> Values:
        factors = k.tensor(plan.dot.a), k.tensor(plan.dot.b)
        return add_products(k, types, factors, at, sums)

    return rewritten(k, op, {plan.number}, (fill,) * count, add, plan.dot)
