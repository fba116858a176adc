"""split-reductions: splits long reductions to few elements into two.

Before:  linalg functions on tensors, as from `fuse-linalg`.
After:   where a reduction of many elements gives few, its outer loops, or a part of
         one, are parallel: work-groups or threads share it.  Another reduction combines
         what they give, in the same order in each run.  Sums of f16 and bf16 are f32
         between them.
Fails:   never; reductions whose steps have an order, sliding windows, products of
         matrices, several sums of f16 or bf16, parallel loops of dynamic sizes and
         loops without a divisor that fits are unchanged.

    %s = linalg.generic .. ins(%x : tensor<4096x4096xf32>) outs(%init) -> tensor<f32>

    %p = linalg.generic .. ins(%x) outs(%neutral) -> tensor<4096xf32>     the rows
    %s = linalg.generic .. ins(%p) outs(%init) -> tensor<f32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    IndexType,
    ModuleOp,
    TensorType,
    f32,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects.narrow import tensor_type
from coopc.ir.builder import Builder
from coopc.ir.transaction import transaction
from coopc.passes.linalg.collapse_linalg import cut, is_whole
from coopc.passes.linalg.fuse_linalg import (
    elementwise,
    filled,
    generic,
    is_contraction,
    is_parallel,
    maps_of,
    remade,
)
from coopc.passes.linalg.match import map_of
from coopc.passes.linalg.rows import (
    COMBINERS,
    Sizes,
    combiners,
    neutral_of,
    plain,
    sizes_of,
)

COLUMNS = 8
"""How many times as many parts there are where memory that is reduced is not
contiguous: a work-item reduces each, not a subgroup."""
LEAST_PARTS = 8
ENOUGH = 64
"""Elements of the first reduction for each of its results, at least."""


@dataclass(frozen=True, slots=True)
class Split:
    """Which loops of a reduction become parallel."""

    whole: tuple[int, ...]
    part: tuple[int, int] | None = None
    """A loop, and into how many parts it is cut."""


def is_static(value: SSAValue) -> bool:
    return DYNAMIC_INDEX not in tensor_type(value).get_shape()


def why_not(op: linalg.GenericOp) -> str | None:
    """Return why an operation is no reduction whose steps may have any order."""
    if not op.results or is_parallel(op):
        return "it is no reduction of tensors"
    kinds = [x.data for x in op.iterator_types]
    if is_contraction(op) and IteratorType.PARALLEL in kinds:
        return "it is a product of matrices"
    if isinstance(found := combiners(op), str):
        return found
    if any(isinstance(x.results[0].type, IndexType) for x in found):
        return "it is of indices"
    if len(found) > 1 and any(map(is_narrow_sum, found)):
        return "it has several sums of f16 or bf16"
    return None


def split_of(
    op: linalg.GenericOp, sizes: Sizes, limits: SplitReductionsPass
) -> Split | str:
    """Return how a reduction is split, or why not."""
    if (reason := why_not(op)) is not None:
        return reason
    reduced = [x.data != IteratorType.PARALLEL for x in op.iterator_types]
    known = [sizes.known(sizes.of((op, loop))) for loop in range(len(reduced))]
    results = [known[loop] for loop, is_reduced in enumerate(reduced) if not is_reduced]
    if None in results or not all(map(is_static, op.results)):
        return "the number of results is not known"
    count = prod(x for x in results if x is not None)
    order = loops_in_memory(op)
    loops = [x for x in order if reduced[x]]
    if len(loops) != sum(reduced):
        return "a reduction is of windows"
    is_row = reduced[order[-1]]
    most = limits.parts * (1 if is_row else COLUMNS) // max(1, count)
    lengths = [known[x] for x in loops]
    if None in lengths:
        return _dynamic(loops, lengths, most) if limits.dynamic else "sizes are dynamic"
    static = [x for x in lengths if x is not None]
    if count * prod(static) < limits.least:
        return f"it is of {count * prod(static)} elements only"
    return _static(op, loops, static, most)


def _dynamic(
    loops: Sequence[int], lengths: Sequence[int | None], most: int
) -> Split | str:
    """Split off the loops up to the first of a dynamic size."""
    first = lengths.index(None) + 1
    rest = lengths[first:]
    if most < LEAST_PARTS:
        return "it has many results"
    if None not in rest and prod(x for x in rest if x is not None) < ENOUGH:
        return "the loops behind the first of a dynamic size are short"
    return Split(tuple(loops[:first]))


def _static(
    op: linalg.GenericOp,
    loops: Sequence[int],
    lengths: Sequence[int],
    most: int,
) -> Split | str:
    most = min(most, prod(lengths) // ENOUGH)
    whole, parts = 0, 1
    while whole + 1 < len(loops) and parts * lengths[whole] <= most:
        parts *= lengths[whole]
        whole += 1
    loop, size, part = loops[whole], lengths[whole], None
    if parts < most // 4 and can_cut(op, loop):
        cut = max(x for x in range(1, most // parts + 1) if size % x == 0)
        part = (loop, cut) if cut > 1 else None
        parts *= cut
    if parts < LEAST_PARTS:
        return f"it has {parts} parts only"
    return Split(tuple(loops[:whole]), part)


def loops_in_memory(op: linalg.GenericOp) -> list[int]:
    """Return the loops of the input with most of them, from outer to inner memory."""
    return max((plain(x) for x in maps_of(op)[: len(op.inputs)]), key=len)


def can_cut(op: linalg.GenericOp, loop: int) -> bool:
    """Whether one loop can be two: tensors are reshaped, and no body asks for it."""
    asks = any(
        isinstance(x, linalg.IndexOp) and x.dim.value.data == loop
        for x in op.body.block.ops
    )
    uses = [
        (value, [x for x in map.results if loop in x.used_dims()])
        for value, map in zip(op.inputs, maps_of(op), strict=False)
    ]
    return not asks and all(
        exprs == [AffineDimExpr(loop)] and is_whole(value) and is_static(value)
        for value, exprs in uses
        if exprs
    )


# --- Rewrite. ---


def known_combiners(op: linalg.GenericOp) -> list[Operation]:
    found = combiners(op)
    assert not isinstance(found, str), op
    return found


def again(op: Operation, *operands: SSAValue) -> Operation:
    """Return an operation like another one, on other operands, all of one type."""
    types = [operands[0].type]
    return type(op).create(
        operands=operands, result_types=types, properties=dict(op.properties)
    )


def is_narrow_sum(combiner: Operation) -> bool:
    """Whether partial results are less exact than the sums of a kernel, of f32."""
    type, neutral = combiner.results[0].type, COMBINERS[combiner.name][1]
    return neutral is not None and isinstance(type, Float16Type | BFloat16Type)


def wide_body(op: linalg.GenericOp) -> Region:
    """Return the body of a sum of f16 or bf16 in f32, with products that it adds."""
    region = op.body.clone()
    total = region.block.args[-1]
    (combiner,) = (use.operation for use in total.uses)
    (value,) = (x for x in combiner.operands if x is not total)
    b = Builder.at(combiner)

    def wide(x: SSAValue) -> SSAValue:
        return b.effect(arith.ExtFOp(x, f32)).results[0]

    product = value.owner
    if isinstance(product, arith.MulfOp) and value.has_one_use():
        factors = map(wide, product.operands)
        value = b.effect(again(product, *factors)).results[0]
    else:
        value = wide(value)
    total = Rewriter.replace_value_with_new_type(total, f32)
    Rewriter.replace_op(combiner, again(combiner, value, total))
    if isinstance(product, arith.MulfOp) and product.result.first_use is None:
        Rewriter.erase_op(product)
    return region


def widened(op: linalg.GenericOp) -> linalg.GenericOp:
    """Put a sum of f32, which is then converted, in the place of one of f16 or bf16.

    Returns:
        the sum.
    """
    (combiner,), (init,), (result,) = known_combiners(op), op.outputs, op.results
    b, narrow = Builder.at(op), tensor_type(init)
    neutral = b.constant(f32, neutral_of(combiner))
    type = TensorType(f32, narrow.get_shape())
    found = remade(op, op.inputs, [filled(b, neutral, type)], body=wide_body(op))
    total = b.effect(found).results[0]

    fill = init.owner if isinstance(init.owner, linalg.FillOp) else None

    def converted(x: SSAValue, *more: SSAValue) -> Operation:
        before = more[0] if fill is None else fill.inputs[0]
        first = arith.ExtFOp(before, f32).result
        return arith.TruncFOp(again(combiner, x, first).results[0], before.type)

    empty = b.effect(tensor.EmptyOp([], narrow)).results[0]
    inputs = [total, init] if fill is None else [total]
    new = b.effect(elementwise(inputs, empty, converted)).results[0]
    new.name_hint = result.name_hint
    Rewriter.replace_op(op, [], [new])
    return found


@dataclass(slots=True)
class SplitReduction:
    """A reduction while it becomes two."""

    op: linalg.GenericOp
    its: Split
    b: Builder = field(init=False)
    first: list[int] = field(init=False)
    """The loops of the first reduction that the second one reduces."""
    inputs: list[SSAValue] = field(init=False)
    maps: list[AffineMap] = field(init=False)
    """Of the inputs and outputs of the first reduction."""

    def __post_init__(self) -> None:
        op, its = self.op, self.its
        self.b, self.inputs = Builder.at(op), [*op.inputs]
        loops, self.first = len(op.iterator_types), [*its.whole]
        if its.part is not None:
            self.first.append(loops)
            loops += 1
        outer = tuple(map(AffineDimExpr, self.first))
        count = len(self.inputs)
        self.maps = [
            AffineMap(loops, 0, map.results if at < count else (*outer, *map.results))
            for at, map in enumerate(maps_of(op))
        ]
        if its.part is not None:
            for at in range(count):
                if its.part[0] in self.maps[at].used_dims():
                    self._cut(at, *its.part)

    def _cut(self, at: int, loop: int, parts: int) -> None:
        """Let two dimensions of an input be the loops that one is cut into."""
        map = self.maps[at]
        place = map.results.index(AffineDimExpr(loop))
        self.inputs[at] = cut(self.b, self.inputs[at], place, parts)
        results = [*map.results]
        results.insert(place, AffineDimExpr(map.num_dims - 1))
        self.maps[at] = AffineMap(map.num_dims, 0, tuple(results))

    def _length(self, loop: int) -> int | SSAValue:
        """Return how long a loop is; of a dynamic one the size of an input."""
        found: int | SSAValue | None = None
        for value, map in zip(self.inputs, self.maps, strict=False):
            if (wanted := AffineDimExpr(loop)) not in map.results:
                continue
            at = map.results.index(wanted)
            if (size := tensor_type(value).get_shape()[at]) != DYNAMIC_INDEX:
                return size
            number = self.b.constant(IndexType(), at)
            found = found or self.b.pure(tensor.DimOp, value, number)
        assert found is not None, (self.op, loop)
        return found

    def _begin(self, combiner: Operation, init: SSAValue) -> SSAValue:
        """Return what partial results begin with."""
        b, old = self.b, tensor_type(init)
        lengths = [self._length(x) for x in self.first]
        static = [x if isinstance(x, int) else DYNAMIC_INDEX for x in lengths]
        sizes = [x for x in lengths if not isinstance(x, int)]
        type = TensorType(old.element_type, [*static, *old.get_shape()])
        return filled(
            b, b.constant(old.element_type, neutral_of(combiner)), type, sizes
        )

    def run(self) -> None:
        op, b = self.op, self.b
        found = known_combiners(op)
        begin = [self._begin(*x) for x in zip(found, op.outputs, strict=True)]
        parallel = IteratorTypeAttr.parallel()
        kinds = [*op.iterator_types, parallel][: self.maps[0].num_dims]
        kinds = [parallel if n in self.first else x for n, x in enumerate(kinds)]
        partial = b.effect(remade(op, self.inputs, begin, self.maps, kinds))
        results = [
            b.effect(self._second(*x)).results[0]
            for x in zip(found, partial.results, op.outputs, strict=True)
        ]
        for old, new in zip(op.results, results, strict=True):
            new.name_hint = old.name_hint
        Rewriter.replace_op(op, [], results)

    def _second(
        self, combiner: Operation, partial: SSAValue, init: SSAValue
    ) -> linalg.GenericOp:
        """Return what combines partial results, the last after the first."""
        loops, reduced = len(tensor_type(partial).get_shape()), len(self.first)
        maps = [AffineMap.identity(loops), map_of(range(reduced, loops), loops)]

        def combine(x: SSAValue, total: SSAValue) -> Operation:
            return again(combiner, x, total)

        return generic([partial], init, maps, combine, range(reduced))


@dataclass(frozen=True)
class SplitReductionsPass(ModulePass):
    name = "split-reductions"

    parts: int = 4096
    """The most results of the first reduction, or eight times as many where what it
    reduces is not contiguous: 4096 suits GPUs, 64 CPUs."""
    least: int = 1 << 17
    """Elements of a reduction of static sizes that is split: a core of a GPU takes some
    20 us for them.  2^20 suits CPUs."""
    dynamic: bool = True
    """Whether those of dynamic sizes are split, which may be small."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            for each in [x for x in draft.walk() if isinstance(x, linalg.GenericOp)]:
                found = split_of(each, sizes_of([each]), self)
                if isinstance(found, str):
                    continue
                if any(map(is_narrow_sum, known_combiners(each))):
                    each = widened(each)
                SplitReduction(each, found).run()
