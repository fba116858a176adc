"""unroll-loops: unrolls the loops of linalg functions.

Before:  linalg functions with `scf.for` and `scf.forall` of constant bounds, and
         `scf.if`.
After:   the same, fully unrolled. An `scf.if` on a constant becomes the region that
         runs; any other becomes both regions, and `arith.select` of their results.
         `affine` index arithmetic is a constant, or `arith`; assertions become remarks.
Fails:   for other control flow, naming it; for an `scf.if` with an operation that may
         only run if the condition holds; for more than 1,024 trips in a function. The
         module is then unchanged.

    %r = scf.for %k = %c0 to %c8 step %c4 iter_args(%s = %z) {f(%k, %s)}
    %r0 = f(0, %z)      %r = f(4, %r0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from xdsl.context import Context
from xdsl.dialects import affine, arith, cf, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, LocationAttr, ModuleOp
from xdsl.dialects.utils.dynamic_index_list import get_dynamic_index_list
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_speculatable
from xdsl.transforms.lower_affine import affine_expr_ops

from coopc.dialects import effects
from coopc.dialects.narrow import as_tensor, is_integer, is_memref, is_tensor
from coopc.dialects.scf_forms import ForallOp, InParallelOp
from coopc.dialects.tensor_forms import ParallelInsertSliceOp
from coopc.ir.facts import ValueFacts
from coopc.ir.transaction import Refused
from coopc.passes.linalg.whole_functions import (
    convert_whole_functions,
    drop_assertion,
    insert,
    replace,
)
from coopc.remarks import remark

MOST_TRIPS = 1024
"""Of all loops of a function together."""

COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)
"""By the number of a predicate of `arith.cmpi`; the unsigned ones follow."""


def known_number(value: SSAValue) -> int | None:
    """Return the number that an integer always is; None if it is not known."""
    if isinstance(op := value.owner, arith.CmpiOp):
        x, y, kind = known_number(op.lhs), known_number(op.rhs), op.predicate.value.data
        if x is None or y is None or (kind >= len(COMPARISONS) and min(x, y) < 0):
            return None
        if kind >= len(COMPARISONS):
            kind -= len(COMPARISONS) - 2
        return int(COMPARISONS[kind](x, y))
    return ValueFacts().of(value).number


def why_conditional(op: Operation) -> str | None:
    """Return why an operation may only run where a condition holds; None if always."""
    types = [x.type for x in (*op.operands, *op.results)]
    if any(map(is_memref, types)):
        return f"accesses memory ({op.name}): write tensors"
    if any(is_tensor(x) and not x.has_static_shape() for x in types):
        return f"has sizes that may not fit ({op.name}): make them static"
    if isinstance(op, cf.AssertOp):
        return f"asserts what need not hold ({op.name})"
    if isinstance(op, effects.DIVISIONS) and not is_speculatable(op):
        return f"may divide by 0 ({op.name})"
    if not all(number in range(size) for number, size in accessed(op)):
        return f"accesses a position that may not exist ({op.name})"
    return None


def accessed(op: Operation) -> Iterator[tuple[int | None, int]]:
    """Yield each position that is accessed in a tensor, and the size of its dimension.

    None stands for a position that is not known. Of a slice, the first and last count.
    """
    match op:
        case (
            tensor.ExtractOp(tensor=whole, indices=indices)
            | tensor.InsertOp(dest=whole, indices=indices)
        ):
            shape = as_tensor(whole.type).get_shape()
            yield from zip(map(known_number, indices), shape, strict=True)
        case tensor.ExtractSliceOp(source=whole) | tensor.InsertSliceOp(dest=whole):
            given = (
                (op.static_offsets, op.offsets),
                (op.static_sizes, op.sizes),
                (op.static_strides, op.strides),
            )
            lists = (
                get_dynamic_index_list(x.get_values(), y, DYNAMIC_INDEX)
                for x, y in given
            )
            for size, *part in zip(
                as_tensor(whole.type).get_shape(), *lists, strict=True
            ):
                first, count, step = (
                    x if isinstance(x, int) else known_number(x) for x in part
                )
                yield first, size
                if first is None or count is None or step is None:
                    yield None, size
                else:
                    yield first + (count - 1) * step, size
        case _:
            pass


@dataclass(slots=True)
class Unroller:
    left: int = MOST_TRIPS
    """How many trips may be written out yet."""
    said: set[LocationAttr] = field(default_factory=set[LocationAttr])
    """Locations of each `scf.if` that a remark was printed for."""

    def unroll(self, block: Block) -> None:
        """Write out what is directly in a block.

        Raises:
            Refused: there is control flow that is not known.
        """
        op = block.first_op
        while op is not None:
            before = op.prev_op
            if (rule := RULES.get(type(op))) is not None:
                rule(self, op)
            elif op.dialect_name() in CONTROL and op is not block.last_op:
                raise Refused(
                    op,
                    f"{op.name} is not supported in a function of linalg: write a loop "
                    "of constant bounds, or linalg.generic",
                )
            else:
                before = op
            # What took its place may have loops of its own.
            op = block.first_op if before is None else before.next_op

    def _copy(
        self, body: Block, values: Sequence[SSAValue], before: Operation
    ) -> Mapping[SSAValue, SSAValue]:
        """Copy a body but for its end; return what its values are in the copy."""
        copies: dict[SSAValue, SSAValue] = {}
        copies.update(zip(body.args, values, strict=True))
        for op in body.ops:
            if op is not body.last_op:
                Rewriter.insert_op(op.clone(copies), InsertPoint.before(before))
        return copies

    def _results(
        self, body: Block, values: Sequence[SSAValue], before: Operation
    ) -> Sequence[SSAValue]:
        """Copy a body, and return what its end gives."""
        copies, last = self._copy(body, values, before), body.last_op
        assert last is not None, before
        return [copies.get(x, x) for x in last.operands]

    def _count(self, op: Operation, trips: int) -> None:
        self.left -= trips
        if self.left < 0:
            raise Refused(
                op,
                f"expected at most {MOST_TRIPS} trips of the loops of a function, "
                "which are unrolled: write one operation of linalg in place of "
                "its tiles",
            )

    def _bounds(self, op: Operation, *bounds: SSAValue) -> range:
        found = [known_number(x) for x in bounds]
        low, high, step = found
        if low is None or high is None or step is None or step <= 0:
            raise Refused(
                op,
                f"expected {op.name} with constant bounds, so that it can be "
                "unrolled: make the sizes static, or write linalg.generic",
            )
        return range(low, high, step)

    def write_out_for(self, op: scf.ForOp) -> None:
        trips = self._bounds(op, op.lb, op.ub, op.step)
        self._count(op, len(trips))
        values: Sequence[SSAValue] = op.iter_args
        for trip in trips:
            (index,) = insert(_number(trip, op.lb.type), op)
            values = self._results(op.body.block, (index, *values), op)
        replace(op, values)

    def write_out_region(self, op: scf.ExecuteRegionOp) -> None:
        if len(op.region.blocks) != 1:
            raise Refused(op, "expected scf.execute_region of one block")
        replace(op, self._results(op.region.block, (), op))

    def write_out_if(self, op: scf.IfOp) -> None:
        chosen = known_number(op.cond)
        if chosen is None:
            self._write_out_both(op)
        else:
            region = op.true_region if chosen else op.false_region
            replace(op, self._results(region.block, (), op) if region.blocks else ())

    def _write_out_both(self, op: scf.IfOp) -> None:
        """Compute both branches, and select what one of them gives."""
        for each in (x for region in op.regions for x in region.walk()):
            if why := why_conditional(each):
                raise Refused(op, f"expected scf.if on a constant, as one branch {why}")
        if not op.results:  # nor effects, as above
            replace(op, ())
            return
        if op.location not in self.said:
            remark(op, "computes both branches, as the condition is not known")
        self.said.add(op.location)
        branches = [self._results(x.block, (), op) for x in op.regions]
        selected = [
            insert(arith.SelectOp(op.cond, x, y), op)[0]
            for x, y in zip(*branches, strict=True)
        ]
        replace(op, selected)

    def write_out_forall(self, op: ForallOp) -> None:
        dynamic = iter((*op.lower, *op.upper, *op.step))
        static = (op.static_lower, op.static_upper, op.static_step)
        lists = [
            [_constant(x, dynamic, op) for x in each.get_values()] for each in static
        ]
        ranges = [self._bounds(op, *each) for each in zip(*lists, strict=True)]
        points = [*product(*ranges)]
        self._count(op, len(points))
        count = len(ranges)
        last = op.body.block.last_op
        assert isinstance(last, InParallelOp), op
        results: dict[SSAValue, SSAValue] = {}
        results.update(zip(op.body.block.args[count:], op.outputs, strict=True))
        for point in points:
            indices = [insert(_number(x), op)[0] for x in point]
            copies = self._copy(op.body.block, (*indices, *op.outputs), op)
            for each in last.body.block.ops:
                assert isinstance(each, ParallelInsertSliceOp), each
                source, _, *rest = (copies.get(x, x) for x in each.operands)
                old = results[each.dest]
                new = tensor.InsertSliceOp.create(
                    operands=(source, old, *rest),
                    result_types=(old.type,),
                    properties=each.properties,
                )
                (results[each.dest],) = insert(new, op)
        replace(op, [*results.values()])


def _number(number: int, type: Attribute | None = None) -> Operation:
    type = IndexType() if type is None else type
    assert isinstance(type, IndexType) or is_integer(type), type
    return arith.ConstantOp.from_int_and_width(number, type)


def _constant(static: int, dynamic: Iterator[SSAValue], op: Operation) -> SSAValue:
    if static == DYNAMIC_INDEX:
        return next(dynamic)
    return insert(_number(static), op)[0]


def _assertion(unroller: Unroller, op: cf.AssertOp) -> None:
    drop_assertion(op, known_number(op.arg))


def _to_arith(unroller: Unroller, op: affine.ApplyOp | affine.MinOp) -> None:
    """Replace a map of indices by arithmetic, or by the number that it gives."""
    map = op.map.data
    dims, symbols = op.operands[: map.num_dims], op.operands[map.num_dims :]
    numbers = [known_number(x) for x in op.operands]
    known = [x for x in numbers if x is not None]
    if len(known) == len(numbers):
        number = min(map.eval(known[: map.num_dims], known[map.num_dims :]))
        replace(op, insert(_number(number), op))
        return
    values: list[SSAValue] = []
    for expr in map.results:
        ops, value = affine_expr_ops(expr, dims, symbols)
        for each in ops:
            insert(each, op)
        values.append(value)
    found = values[0]
    for value in values[1:]:
        (found,) = insert(arith.MinSIOp(found, value), op)
    replace(op, [found])


CONTROL = ("scf", "affine", "cf")

RULES: dict[type[Operation], Callable[..., None]] = {
    affine.ApplyOp: _to_arith,
    affine.MinOp: _to_arith,
    cf.AssertOp: _assertion,
    ForallOp: Unroller.write_out_forall,
    scf.ExecuteRegionOp: Unroller.write_out_region,
    scf.ForOp: Unroller.write_out_for,
    scf.IfOp: Unroller.write_out_if,
}
"""What becomes of operations of these dialects."""


@dataclass(frozen=True)
class UnrollLoopsPass(ModulePass):
    name = "unroll-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_whole_functions(op, lambda func: Unroller().unroll(func.body.block))
