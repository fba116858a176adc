"""Sums that the subgroups of a work-group share, of factors in work-group memory.

    %sums = scf.for .. { %a = block at [%row, 32 * t], %b = block at [32 * t, %col]
                         tt.dot %a, %b, .. }                            128 x 128
    tt.store %p, f(%sums)

    each of 4 subgroups: 64 x 64 of the sums, by the loop of `tile-matmul-khr`
                         store f(sums), a strip at a time

A program is a work-group of several subgroups where such sums are all its products, and
it changes memory by stores of tensors alone, or by updates with what becomes of sums.
Elements of other tensors are shared out among all lanes; arithmetic on scalars is done
by each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.device import ELEMENT_BITS, Device, GemmTiles
from coopc.dialects import coopmatrix, simt, tt, ttg
from coopc.dialects.coopmatrix import Axis
from coopc.dialects.narrow import is_integer, is_tensor
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import bits_of
from coopc.dialects.tt.types import block_io, shape_of
from coopc.ir.builder import INDEX, Values
from coopc.ir.control_flow import is_inside
from coopc.ir.facts import constant_number
from coopc.ir.polynomial import Polynomial
from coopc.passes.linalg.kernel_text import functions
from coopc.passes.linalg.tile_matmul_khr import StagedSums
from coopc.passes.triton.affine_tensors import Indices
from coopc.passes.triton.convert_tt_to_coopmatrix.carried_values import needed, steps
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import (
    Flag,
    NotShared,
    Rounds,
    SharedPlan,
    SubgroupSums,
    TtKernel,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    WRITES,
    RoundsPlan,
    plan_rounds,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    Coordinates,
    MatrixInMemory,
    Tensor,
)
from coopc.plan.gemm import GemmOperand, GemmPlan, Problem, Source, staged_by

WHOLE = (1 << 30, 1 << 30)
"""Rows and columns of sums at a time: all of them."""
LANE_SUMS = 128
"""Sums that a lane keeps, at most: those of 64 x 64 in 32 lanes."""
SIZES = (64, 32, 16, 8)
"""Rows and columns of the sums of a subgroup."""
SUBGROUPS = 4
"""Of a work-group at least, where there are enough sums."""
PIECE_BYTES = 16
"""Of a row of A or B, which a work-item copies at a time."""
VECTOR = VectorType(i32, [4])
"""What sums are in work-group memory, as tiles are, so that both share it."""
VECTOR_BITS = 128
STEP_BYTES = (64, 32, 128)
"""Of a row of A along K that are in work-group memory at a time."""


def plan_shared(
    func: tt.FuncOp, device: Device
) -> Mapping[Operation, SharedPlan] | str:
    """Return how a program's sums are shared, by loop, or why they are not."""
    found: dict[Operation, SharedPlan] = {}
    statements: list[Operation] = []
    for dot in func.walk():
        if not isinstance(dot, tt.DotOp):
            continue
        loop = dot.parent_op()
        if not isinstance(loop, scf.ForOp):
            return "a product is in no loop"
        plans = plan_rounds(loop, set(steps(loop)), WHOLE)
        if isinstance(plans, str):
            return f"of a loop of products, {plans}"
        shared = plan_loop(plans, device)
        if isinstance(shared, str):
            return shared
        found[loop] = shared
        statements += [x.statement for x in plans]
    if not found:
        return "there is no product"
    if len({x.gemm.work_items for x in found.values()}) > 1:
        return "loops suit other numbers of subgroups"
    return why_not_written(func, statements) or found


def why_not_written(func: tt.FuncOp, statements: Sequence[Operation]) -> str | None:
    """Return why what is written is not that of sums, or of tensors, if it is not."""
    if len({*statements}) < len(statements):
        return "a statement uses the accumulators of two loops"
    others = (x for x in func.walk() if isinstance(x, WRITES) and x not in statements)
    for op in others:
        is_store = isinstance(op, tt.DescriptorStoreOp | tt.StoreOp)
        if not (is_store and is_tensor(op.operands[1].type)):
            return f"{op.name} does not use accumulators"
    return None


def plan_loop(plans: Sequence[RoundsPlan], device: Device) -> SharedPlan | str:
    """Return how the sums of a loop are shared, or why they are not.

    The plans are those by which statements would use them in rounds.
    """
    dot = plans[0].dot
    moved = moved_factors(plans[0])
    if isinstance(moved, str):
        return moved
    sums = operand(dot.d)
    problem = Problem(operand(dot.a), operand(dot.b), sums, fill="value")
    gemm = plan_tiles(shape_of(dot.d.type), problem, device)
    if isinstance(gemm, str):
        return gemm
    strip = gemm.subgroup[0], gemm.part_cols
    if any(x % y for each in plans for x, y in zip(each.block, strip, strict=True)):
        return "less than a strip of the accumulators is used"
    return SharedPlan(gemm, problem, moved)


def moved_factors(plan: RoundsPlan) -> frozenset[Source] | str:
    """Return which factors have memory that moves, or why blocks do not follow on."""
    dot, loop = plan.dot, plan.loop
    start, step = constant_number(loop.lb), constant_number(loop.step)
    depth = shape_of(dot.a.type)[1]
    if start is None or step is None or step < 1 or depth % step:
        return "a loop along K has no constant steps"
    counter = Polynomial.value(loop.body.block.args[0])
    along = (counter - Polynomial.number(start)) * Polynomial.number(depth // step)
    moved: list[Source] = []
    operands: tuple[tuple[Source, SSAValue, int], ...]
    operands = ("a", dot.a, 1), ("b", dot.b, 0)
    for source, value, dim in operands:
        block = block_of(value, loop)
        if isinstance(block, str):
            return block
        across = block.starts[1 - dim] + block.moves[1 - dim]
        whole = block.starts[dim] + block.moves[dim]
        if whole != along or any(is_inside(x, loop) for x in across.values):
            return "blocks of operands are not consecutive along K"
        if block.moves[dim]:
            if block.sizes[dim] != Polynomial.number(depth):
                return "memory that moves along K has no blocks that are whole"
            moved.append(source)
    return frozenset(moved)


def plan_tiles(
    shape: tuple[int, ...], problem: Problem, device: Device
) -> GemmPlan | str:
    """Return how many subgroups compute which of the sums, or why they cannot."""
    size = problem.c.element_bytes
    rows, cols = shape
    reason, few = f"{rows} x {cols} accumulators are few", None
    for tiles in tiles_of((rows, cols), problem, device):
        gemm = staged_by(tiles, problem, device)
        if isinstance(gemm, str):
            reason = gemm
            continue
        panels = sum(x.bytes for x in gemm.panels)
        strips = gemm.places * gemm.subgroup[0] * gemm.part_cols * size
        if panels + strips > device.limits.local_bytes:
            continue
        if gemm.places >= SUBGROUPS:
            return gemm
        few = few or gemm
    return few or reason


def tiles_of(
    shape: tuple[int, int], problem: Problem, device: Device
) -> Iterator[GemmTiles]:
    """Yield how sums are cut for subgroups, the largest tiles first."""
    size = problem.a.element_bytes
    pairs = sorted(
        product(SIZES, SIZES), key=lambda x: (-x[0] * x[1], abs(x[0] - x[1]))
    )
    for (m, n), length in product(pairs, STEP_BYTES):
        is_whole = shape[0] % m == 0 == shape[1] % n and (m, n) != shape
        if is_whole and m * n <= LANE_SUMS * device.subgroup_size:
            yield GemmTiles(shape, (m, n), length // size, stages=1)


def views(value: SSAValue) -> tuple[SSAValue, bool]:
    """Return what a factor is a view of, and whether that is transposed."""
    transposed = False
    while isinstance(op := value.owner, tt.TransOp | ttg.ConvertLayoutOp):
        transposed ^= isinstance(op, tt.TransOp)
        value = op.operands[0]
    return value, transposed


@dataclass(frozen=True, slots=True)
class FactorBlock:
    """A block of memory, by its rows and columns as a factor."""

    starts: tuple[Polynomial, ...]
    """Where it begins in memory."""
    moves: tuple[Polynomial, ...]
    """How far a loop has moved that memory."""
    sizes: tuple[Polynomial, ...]
    """Of that memory."""


def block_of(value: SSAValue, loop: scf.ForOp) -> FactorBlock | str:
    """Return where a factor of a loop is in memory, or why that is not known."""
    loaded, transposed = views(value)
    indices, why_not = Indices(through=True), "an operand is no block of memory"
    match loaded.owner:
        case tt.DescriptorLoadOp() as load if len(load.indices) == 2:
            starts = tuple(map(indices.number, load.indices))
            memory = load.desc.owner
        case tt.LoadOp() as load if isinstance(load.ptr.type, tt.PtrType):
            place = indices.of(load.ptr)
            starts, base = place.steps, place.base
            memory = None if base is None else base.owner
        case _:
            return why_not
    if not isinstance(memory, tt.MakeTensorDescriptorOp | tt.MakeTensorPtrOp):
        return why_not
    if len(starts) != 2 or len(memory.strides) != 2:
        return why_not
    pointer = indices.of(memory.base)
    offset = pointer.start
    sizes, strides = (
        tuple(map(indices.number, x)) for x in (memory.shape, memory.strides)
    )
    if any(is_inside(x, loop) for each in strides for x in each.values):
        return "a loop changes the strides of an operand"
    moves: list[Polynomial] = []
    for stride in strides:
        by, offset = offset.divided(stride)
        moves.append(by)
    is_moved = pointer.base is None or is_inside(pointer.base, loop)
    if is_moved or any(is_inside(x, loop) for x in offset.values):
        return "a loop moves the memory of an operand"
    found = FactorBlock(starts, tuple(inner_terms(x, loop) for x in moves), sizes)
    if not transposed ^ is_column_major(loaded.owner):
        return found
    return FactorBlock(*(x[::-1] for x in (found.starts, found.moves, found.sizes)))


def inner_terms(number: Polynomial, loop: scf.ForOp) -> Polynomial:
    """Return the terms that change in a loop."""
    inner = {
        factors: size
        for factors, size in number.terms.items()
        if any(is_inside(x, loop) for x in factors)
    }
    return Polynomial(inner)


def is_column_major(op: Operation) -> bool:
    return isinstance(op, tt.DescriptorLoadOp) and block_io(op) == "column_major"


def operand(value: SSAValue) -> GemmOperand:
    """Return a factor, or sums, as the plan of a product has them."""
    element = element_of(value.type)
    name = str(element)
    if is_integer(element):
        name = f"s{name[1:]}"
    loaded, transposed = views(value)
    if isinstance(loaded.owner, Operation) and is_column_major(loaded.owner):
        transposed = not transposed
    strides = (1, None) if transposed else (None, 1)
    pieces = PIECE_BYTES * 8 // ELEMENT_BITS.get(name, 8)
    type = f"memref<?x?x{element}, strided<[?, 1], offset: ?>>"
    return GemmOperand(type, name, (None, None), strides, pieces, transposed)


# --- the kernel ---


def run_shared(
    k: TtKernel,
    rounds: Rounds,
    shared: SharedPlan,
    body: Callable[[Coordinates], object],
) -> None:
    """Run the body of a statement for each of the sums of a subgroup that it uses."""
    b, plan, zero = k.b, rounds.plan, k.b.constant(INDEX, 0)
    if plan.loop not in k.totals:
        k.totals[plan.loop] = sums_of(k, plan, shared)
    sums = k.totals[plan.loop]
    k.reads |= sums.reads
    subgroup, memory = b.pure(simt.SubgroupIdOp), sums.stage.buffer
    assert memory is not None, plan
    element = element_of(plan.dot.d.type)
    m, n, per = shared.gemm.subgroup[0], shared.gemm.part_cols, per_vector(element)
    known: dict[Coordinates, SSAValue] = {}
    rounds.strip = Tensor((m, n), known.__getitem__)
    k.is_sharing = True
    for number, part in enumerate(sums.parts):
        first = sums.first[0], b.plus(sums.first[1], number * n)
        # Where the strip is in what the statement uses of the sums.
        place = tuple(b.plus(x, -y) for x, y in zip(first, plan.begin, strict=True))

        def of_strip(x: Coordinates, place: Coordinates = place) -> None:
            row, group = x
            vector = k.elements.of(sums.stage, (subgroup, row, group))
            vector = b.bitcast(vector, VectorType(element, [per]))
            col = b.pure(arith.MuliOp, group, b.constant(INDEX, per))
            for number in range(per):
                x = row, b.plus(col, number)
                pairs = zip(place, x, strict=True)
                whole = tuple(b.pure(arith.AddiOp, one, other) for one, other in pairs)
                rounds.places[whole], known[x] = x, b.extract(vector, number)
                body(whole)

        def of_strips(of_strip: Callable[[Coordinates], None] = of_strip) -> Values:
            k.for_each((m, n // per), of_strip)
            return ()

        k.barrier()
        b.effect(coopmatrix.StoreOp(part, memory, (subgroup, zero, zero)))
        k.barrier()
        if plan.block == shared.gemm.group:
            of_strips()
            continue
        pairs = zip(place, plan.block, strict=True)
        inside = [b.compare("ult", x, b.constant(INDEX, size)) for x, size in pairs]
        b.branch(b.both(*inside), of_strips)
    k.is_sharing = False


def per_vector(element: Attribute) -> int:
    """Return how many sums a vector in work-group memory holds."""
    return VECTOR_BITS // bits_of(element)


def sums_of(k: TtKernel, plan: RoundsPlan, shared: SharedPlan) -> SubgroupSums:
    """Write a loop anew for a work-group; return the sums of a subgroup."""
    b, gemm = k.b, shared.gemm
    (m, n), cols = gemm.subgroup, gemm.part_cols
    subgroup = b.pure(simt.SubgroupIdOp)
    across = b.constant(INDEX, gemm.group[1] // n)
    first = tuple(
        b.pure(arith.MuliOp, b.pure(op, subgroup, across), b.constant(INDEX, size))
        for op, size in ((arith.DivUIOp, m), (arith.RemUIOp, n))
    )
    parts = multiplied(k, plan, shared)
    pieces = cols // per_vector(element_of(plan.dot.d.type))
    stage = k.buffer((gemm.places, m, pieces), VECTOR, "sums")
    return SubgroupSums(parts, first, stage, frozenset(k.reads))


def multiplied(k: TtKernel, plan: RoundsPlan, shared: SharedPlan) -> Values:
    """Write a loop anew for a work-group; return the parts of a subgroup's sums."""
    b, (rows, cols) = k.b, shared.gemm.group
    factors, extent = first_factors(k, plan), extent_of(k, plan)
    memories: list[SSAValue] = []
    firsts: list[SSAValue] = []
    whole: Flag = True
    for source, matrix, axis, along, size in (
        ("a", factors[0], Axis.ROWS, Axis.COLS, rows),
        ("b", factors[1], Axis.COLS, Axis.ROWS, cols),
    ):
        first = matrix.starts[dimension(matrix, axis)]
        end = b.plus(first, size)
        sizes = {along: extent, axis: end}
        if axis in matrix.checked:
            sizes[axis] = size_of(matrix, axis)
        if along in matrix.checked and source not in shared.moved:
            sizes[along] = b.pure(arith.MinSIOp, size_of(matrix, along), extent)
        memories.append(cut(k, matrix, sizes))
        firsts.append(first)
        inside = (
            b.compare("sge", first, b.constant(INDEX, 0)),
            b.compare("sle", end, sizes[axis]),
        )
        whole = b.both(whole, matrix.aligned, *inside)
    assert isinstance(whole, SSAValue), plan
    init = plan.loop.iter_args[plan.number]
    zeros = (b.constant(INDEX, 0),) * 2
    fill = k.elements.of(k.tensor(init), zeros)
    text = StagedSums(shared.problem, shared.gemm).text()
    (func,) = functions(k.ctx, text)
    return k.inserted(func.body.block, (*memories, *firsts, whole, fill))


def first_factors(k: TtKernel, plan: RoundsPlan) -> tuple[MatrixInMemory, ...]:
    """Write where the factors of the first round of a loop are, in front of it."""
    loop, known = plan.loop, dict(k.values)
    counter, *args = loop.body.block.args
    starts = (loop.lb, *loop.iter_args)
    k.values |= {x: k.values[y] for x, y in zip((counter, *args), starts, strict=True)}
    found: list[MatrixInMemory] = []
    for value in (plan.dot.a, plan.dot.b):
        for op in needed(value, loop):
            k.operation(op)
        factor = k.tensor(value)
        if factor.matrix is None:
            raise NotShared("an operand is not loaded from a block of memory")
        k.reads |= factor.reads
        found.append(factor.matrix)
    k.values = known
    return tuple(found)


def extent_of(k: TtKernel, plan: RoundsPlan) -> SSAValue:
    """Write how much of K a loop goes through."""
    b, loop = k.b, plan.loop
    lower, upper = (
        x if x.type == INDEX else b.pure(arith.IndexCastOp, x, INDEX)
        for x in k.numbers((loop.lb, loop.ub))
    )
    step, depth = constant_number(loop.step), shape_of(plan.dot.a.type)[1]
    assert step is not None, loop
    found = b.plus(b.pure(arith.SubiOp, upper, lower), step - 1)
    if step > 1:
        found = b.pure(arith.DivSIOp, found, b.constant(INDEX, step))
    found = b.pure(arith.MaxSIOp, found, b.constant(INDEX, 0))
    return b.pure(arith.MuliOp, found, b.constant(INDEX, depth))


def dimension(matrix: MatrixInMemory, axis: Axis) -> int:
    """Return which dimension of memory the rows or the columns of a factor are."""
    return (axis is Axis.COLS) != matrix.is_transposed


def view_of(matrix: MatrixInMemory) -> memref.ReinterpretCastOp:
    view = matrix.memory.owner
    if not isinstance(view, memref.ReinterpretCastOp):
        raise NotShared("an operand is not loaded from a block of memory")
    return view


def size_of(matrix: MatrixInMemory, axis: Axis) -> SSAValue:
    return view_of(matrix).sizes[dimension(matrix, axis)]


def cut(
    k: TtKernel, matrix: MatrixInMemory, sizes: Mapping[Axis, SSAValue]
) -> SSAValue:
    """Write a view of memory of other sizes."""
    view = view_of(matrix)
    order = sorted(sizes, key=lambda axis: dimension(matrix, axis))
    new = memref.ReinterpretCastOp.from_dynamic(
        view.source,
        list(view.offsets),
        [sizes[axis] for axis in order],
        [view.strides[0], 1],
        view.result.type,
    )
    return k.b.effect(new).results[0]
