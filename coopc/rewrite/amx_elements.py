"""Operations on elements of matrices, as tiles have none: through scratch memory.

    %y = coopmatrix.neg %x    store %x, %scratch; loop over it; %y = load %scratch

What comes out is loads and stores of whole matrices, which are then cut into tiles, and
loops over the elements that a matrix has: padding stays zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math, memref
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.rewrite.amx_refusal import is_zero
from coopc.rewrite.amx_scratch import Scratch, origin
from coopc.rewrite.lane_arithmetic import converted, of_two

Compute = Callable[[Builder, tuple[SSAValue, SSAValue], Values], SSAValue]
"""From the (row, column) of an element and the elements there to the new element."""


def stage_elements(op: Operation, scratch: Scratch) -> None:
    """Replace an operation that gives a matrix, element by element."""
    b = Builder.at(op)
    result = matrix_type(op.results[0])
    compute, matrices = _rule(op)
    memories: list[SSAValue] = []
    for number, value in enumerate(matrices):
        memory = scratch.of_matrix(b, matrix_type(value), str(number))
        b.effect(coopmatrix.StoreOp(value, memory, origin(b)))
        memories.append(memory)
    target = memories[0] if memories else None
    if not memories or matrix_type(matrices[0]).element_type != result.element_type:
        target = scratch.of_matrix(b, result, "result")
    assert target is not None
    over_elements(b, result, target, memories, compute)
    load = coopmatrix.LoadOp(target, origin(b), result)
    load.location = op.location
    Rewriter.replace_op(op, load)


def over_elements(
    b: Builder,
    type: MatrixType,
    target: SSAValue,
    memories: Sequence[SSAValue],
    compute: Compute,
) -> None:
    """Compute each element of a matrix in memory from those of others."""
    rows, cols = type.shape

    def each(row: BoundedIndex, col: BoundedIndex) -> None:
        place = b.index(row), b.index(col)
        loaded = tuple(
            b.effect(memref.LoadOp.get(memory, place)).results[0] for memory in memories
        )
        b.effect(memref.StoreOp.get(compute(b, place, loaded), target, place))

    nest(b, rows, cols, each)


def nest(
    b: Builder, rows: int, cols: int, each: Callable[[BoundedIndex, BoundedIndex], None]
) -> None:
    """Build two loops, over rows and columns."""

    def row_body(row: BoundedIndex, _: Values) -> Values:
        def col_body(col: BoundedIndex, _: Values) -> Values:
            each(row, col)
            return ()

        return b.loop(cols, (), col_body, "col")

    b.loop(rows, (), row_body, "row")


def _rule(op: Operation) -> tuple[Compute, tuple[SSAValue, ...]]:
    """Return how an element is computed, and the matrices that it is computed from."""
    element = matrix_type(op.results[0]).element_type
    match op:
        case coopmatrix.FillOp():
            value = op.value
            return (lambda b, place, x: value), ()
        case coopmatrix.BinaryOp() | coopmatrix.SignedBinaryOp():
            signed = isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None
            make = of_two(type(op), element, signed)
            return (lambda b, place, x: b.pure(make, *x)), (op.lhs, op.rhs)
        case coopmatrix.ScaleOp():
            scalar = op.scalar
            times = arith.MuliOp if is_integer(element) else arith.MulfOp
            return (lambda b, place, x: b.pure(times, x[0], scalar)), (op.value,)
        case coopmatrix.ConvertOp():
            signs = op.signed is not None
            return (lambda b, place, x: converted(b, x[0], element, signs)), (op.value,)
        case coopmatrix.BitcastOp():
            return (lambda b, place, x: _bitcast(b, x[0], element)), (op.value,)
        case coopmatrix.UnaryOp():
            return _unary(op), (op.value,)
        case _:
            assert isinstance(op, coopmatrix.ApplyOp), op
            return _apply(op), (op.value,)


def _bitcast(b: Builder, value: SSAValue, type: Attribute) -> SSAValue:
    if value.type == type:
        return value
    return b.pure(arith.BitcastOp, value, type)


def _unary(op: coopmatrix.UnaryOp) -> Compute:
    """Return how an element is negated, made positive, or inverted."""
    element = op.matrix.element_type
    whole = is_integer(element)

    def compute(b: Builder, place: tuple[SSAValue, SSAValue], x: Values) -> SSAValue:
        match op:
            case coopmatrix.NegOp() if whole:
                return b.pure(arith.SubiOp, b.constant(element, 0), x[0])
            case coopmatrix.NegOp():
                return b.pure(arith.NegfOp, x[0])
            case coopmatrix.AbsOp():
                return b.pure(math.AbsIOp if whole else math.AbsFOp, x[0])
            case _:
                assert isinstance(op, coopmatrix.NotOp), op
                return b.pure(arith.XOrIOp, x[0], b.constant(element, -1))

    return compute


def _apply(op: coopmatrix.ApplyOp) -> Compute:
    """Return the body of an operation, as it is for each element."""
    block = op.body.block

    def compute(b: Builder, place: tuple[SSAValue, SSAValue], x: Values) -> SSAValue:
        values: dict[SSAValue, SSAValue] = dict(
            zip(block.args, (*place, x[0]), strict=True)
        )
        for inner in block.ops:
            if isinstance(inner, coopmatrix.YieldOp):
                return values.get(inner.value, inner.value)
            b.effect(inner.clone(values))
        raise AssertionError(op)

    return compute


def is_staged(op: Operation) -> bool:
    """Whether an operation is replaced by `stage_elements`."""
    if isinstance(op, coopmatrix.FillOp):
        return not is_zero(op)
    return isinstance(op, ELEMENT_BY_ELEMENT)


ELEMENT_BY_ELEMENT = (
    coopmatrix.ApplyOp,
    coopmatrix.BitcastOp,
    coopmatrix.ConvertOp,
    coopmatrix.ElementwiseOp,
)
