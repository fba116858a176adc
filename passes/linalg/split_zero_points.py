"""split-zero-points: moves zero points of integer products behind the products.

Before:  linalg functions on tensors, as from `generalize-linalg`.
After:   sums in i32 of products `(a - x) (b - y)` of extended bytes are sums of `a b`,
         which matrix engines compute, and a generic that corrects each.
Fails:   never. A sum is unchanged if a zero point varies along K or depends on
         `linalg.index` or on the output; if the factor to be summed, which is the one
         without that zero point, is a window of an image or lacks some of K; and if the
         result has one row or one column.

Over K steps, exactly modulo 2^32:

    sum of (a - x) (b - y) = sum of a b - x (sum of b) - y (sum of a) + K x y

A zero point that is 0 needs no sum.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from coopc.dialects.narrow import is_integer, is_tensor, tensor_type
from coopc.dialects.simt import bits_of
from coopc.ir.builder import Builder
from coopc.ir.facts import constant_number
from coopc.passes.linalg.fuse_linalg import (
    empty,
    generic,
    has_bounds,
    maps_of,
    remade,
    shape,
)
from coopc.passes.linalg.match import factors_of, map_of
from coopc.passes.linalg.rows import plain
from coopc.passes.linalg.whole_functions import convert_whole_functions

BYTE, SUM = 8, 32
"""Bits of a factor at most, and of a sum, as matrix engines have them."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An element of an input, extended, perhaps less a zero point."""

    operand: int
    """Which input it is an element of."""
    extended: arith.ExtSIOp | arith.ExtUIOp
    zero_point: SSAValue | None


@dataclass(frozen=True, slots=True)
class QuantizedProduct:
    """A generic that adds products of factors less zero points to what is there."""

    op: linalg.GenericOp
    factors: tuple[Factor, Factor]

    @property
    def maps(self) -> tuple[AffineMap, AffineMap, AffineMap]:
        """Of the factors and of the result."""
        every = maps_of(self.op)
        one, other = (every[x.operand] for x in self.factors)
        return one, other, every[-1]

    @property
    def element(self) -> IntegerType:
        """The type of the result's elements."""
        found = tensor_type(self.op.results[0]).element_type
        assert is_integer(found), self.op
        return found

    def operand(self, number: int) -> SSAValue:
        return self.op.inputs[self.factors[number].operand]

    @property
    def reduced(self) -> list[int]:
        """The loops of K."""
        kinds = enumerate(self.op.iterator_types)
        return [n for n, kind in kinds if kind.data == IteratorType.REDUCTION]

    def size(self, loop: int) -> tuple[SSAValue, int] | None:
        """A dimension of a factor that is as long as a loop; None if none is."""
        for number, map in enumerate(self.maps[:2]):
            for at, expr in enumerate(map.results):
                if expr == AffineDimExpr(loop):
                    return self.operand(number), at
        return None

    def known_size(self, loop: int) -> int:
        found = self.size(loop)
        if found is None:
            return DYNAMIC_INDEX
        return tensor_type(found[0]).get_shape()[found[1]]


def match_product(op: linalg.GenericOp) -> QuantizedProduct | None:
    """Return the product with zero points that a generic is; None if it is none."""
    if len(op.results) != 1 or (factors := factors_of(op)) is None:
        return None
    one, other = (factor_of(op, x) for x in factors)
    if one is None or other is None or one.operand == other.operand:
        return None
    if one.zero_point is None and other.zero_point is None:
        return None
    if other.operand < one.operand:
        one, other = other, one
    found = QuantizedProduct(op, (one, other))
    return found if is_splittable(found) else None


def factor_of(op: linalg.GenericOp, value: SSAValue) -> Factor | None:
    """Return the factor that a value of a body is; None if it is no extended byte."""
    owner, zero_point = value.owner, None
    if isinstance(owner, arith.SubiOp):
        owner, zero_point = owner.lhs.owner, owner.rhs
    if not isinstance(owner, arith.ExtSIOp | arith.ExtUIOp):
        return None
    element = owner.input
    if bits_of(element.type) > BYTE or bits_of(owner.result.type) != SUM:
        return None
    if not isinstance(element, BlockArgument) or element.owner is not op.body.block:
        return None
    if element.index >= len(op.inputs):
        return None
    if isinstance(zero_point, BlockArgument) and zero_point.owner is op.body.block:
        given = op.operands[zero_point.index]
        zero_point = zero_point if is_tensor(given.type) else given
    if zero_point is not None and constant_number(zero_point) == 0:
        zero_point = None
    return Factor(element.index, owner, zero_point)


def is_splittable(its: QuantizedProduct) -> bool:
    """Whether the product alone is one, and zero points can be moved behind it."""
    op, maps, reduced = its.op, its.maps, its.reduced
    outer = plain(maps[-1])
    whole = len(maps[-1].results) == len(outer) == op.get_num_loops() - len(reduced)
    if not whole or not has_bounds(maps, op.get_num_loops()):
        return False
    for number, factor in enumerate(its.factors):
        if factor.zero_point is None:
            continue
        inputs = inputs_of(op, factor.zero_point)
        if inputs is None or any(
            maps_of(op)[n].used_dims() & {*reduced} for n in inputs
        ):
            return False
        # It is multiplied by sums of the other factor, along all of K.
        map = maps[1 - number]
        if len({*plain(map)}) != len(map.results) or not {*reduced} <= map.used_dims():
            return False
    return has_rows_and_columns(its)


def has_rows_and_columns(its: QuantizedProduct) -> bool:
    """Whether the result has several rows and columns, each of one factor only."""
    one, other = (map.used_dims() - {*its.reduced} for map in its.maps[:2])
    return all(
        any(its.known_size(loop) != 1 for loop in loops)
        for loops in (one - other, other - one)
    )


def inputs_of(op: linalg.GenericOp, value: SSAValue) -> set[int] | None:
    """Return the inputs from which a value of a body is computed.

    None if it is computed from outputs or places, or by operations that have effects.
    """
    found, left = set[int](), [value]
    while left:
        x = left.pop()
        if x.owner is op.body.block:
            assert isinstance(x, BlockArgument), x
            if x.index >= len(op.inputs):
                return None
            found.add(x.index)
        elif isinstance(x.owner, Operation) and x.owner.parent is op.body.block:
            inner = x.owner
            if inner.regions or isinstance(inner, linalg.IndexOp):
                return None
            if not is_side_effect_free(inner):
                return None
            left += inner.operands
    return found


# --- Rewrite. ---


def product_of(its: QuantizedProduct) -> linalg.GenericOp:
    """Return the product without zero points."""
    op, (init,) = its.op, its.op.outputs
    element = its.element
    operands = its.operand(0), its.operand(1)
    types = [tensor_type(x).element_type for x in operands]
    block = Block(arg_types=[*types, element])
    with ImplicitBuilder(block) as (*elements, old):
        one, other = (
            type(factor.extended)(x, element)
            for factor, x in zip(its.factors, elements, strict=True)
        )
        linalg.YieldOp(arith.AddiOp(old, arith.MuliOp(one, other)))
    return remade(op, operands, [init], its.maps, body=Region(block))


def insert_sums(
    b: Builder, its: QuantizedProduct, number: int
) -> tuple[SSAValue, AffineMap]:
    """Insert the sums of a factor along K.

    Returns:
        The sums, and their indexing map in terms of the dimensions of the result.
    """
    value, map, of_result = its.operand(number), its.maps[number], its.maps[-1]
    loops = plain(map)
    kept = [x for x in plain(of_result) if x in loops]
    own = AffineMap.identity(len(loops))
    to = map_of([loops.index(x) for x in kept], len(loops))
    whole, element = shape(b, value), its.element
    sizes = [whole[loops.index(x)] for x in kept]
    known = [DYNAMIC_INDEX if isinstance(x, SSAValue) else x for x in sizes]
    type_ = TensorType(element, known)
    dynamic = tuple(x for x in sizes if isinstance(x, SSAValue))
    zeros = b.pure(tensor.EmptyOp, dynamic, type_)
    fill = linalg.FillOp([b.constant(element, 0)], [zeros], [type_])
    begin = b.effect(fill).results[0]
    extend = type(its.factors[number].extended)

    def add(x: SSAValue, sum: SSAValue) -> Operation:
        return arith.AddiOp(sum, extend(x, element))

    reduced = [loops.index(x) for x in its.reduced]
    found = b.effect(generic([value], begin, (own, to), add, reduced)).results[0]
    order = plain(of_result)
    return found, map_of([order.index(x) for x in kept], len(order))


def insert_size_of_k(b: Builder, its: QuantizedProduct) -> SSAValue:
    """Insert the number of products of a sum, of the sum's type."""
    element = its.element
    found = b.constant(element, 1)
    for loop in its.reduced:
        place = its.size(loop)
        assert place is not None, its.op
        value, at = place
        size = shape(b, value)[at]
        if isinstance(size, int):
            factor = b.constant(element, size)
        else:
            factor = b.pure(arith.IndexCastOp, size, element)
        found = b.pure(arith.MuliOp, found, factor)
    return found


def split(its: QuantizedProduct) -> None:
    """Put the product, sums of its factors and the correction in place of a generic."""
    op, b = its.op, Builder.at(its.op)
    product = b.effect(product_of(its)).results[0]
    zero_points = [x.zero_point for x in its.factors]
    order = plain(its.maps[-1])
    inputs: list[SSAValue] = [product]
    maps = [AffineMap.identity(len(order))]
    for number, zero_point in enumerate(zero_points):
        if zero_point is not None:
            sums, map = insert_sums(b, its, 1 - number)
            inputs.append(sums)
            maps.append(map)
    steps = None if None in zero_points else insert_size_of_k(b, its)
    read = [x for y in zero_points if y is not None for x in inputs_of(op, y) or ()]
    read = [*dict.fromkeys(read)]
    loops: list[AffineExpr] = [
        AffineDimExpr(order.index(n) if n in order else 0)
        for n in range(op.get_num_loops())
    ]
    for n in read:
        inputs.append(op.inputs[n])
        maps.append(maps_of(op)[n].replace_dims_and_symbols(loops, (), len(order), 0))
    output = empty(b, op.outputs[0], its.element)

    def corrected(total: SSAValue, *elements: SSAValue) -> SSAValue:
        given = iter(elements)
        sums = [None if x is None else next(given) for x in zero_points]
        known = dict[SSAValue, SSAValue]()
        known |= zip((op.body.block.args[n] for n in read), given, strict=False)
        values = [None if x is None else computed(x, op, known) for x in zero_points]
        for value, sum in zip(values, sums, strict=True):
            if value is not None and sum is not None:
                total = arith.SubiOp(total, arith.MuliOp(value, sum)).result
        one, other = values
        if steps is not None and one is not None and other is not None:
            both = arith.MuliOp(arith.MuliOp(one, other), steps)
            total = arith.AddiOp(total, both).result
        return total

    maps.append(AffineMap.identity(len(order)))
    found = b.effect(generic(inputs, output, maps, corrected)).results[0]
    found.name_hint = op.results[0].name_hint
    Rewriter.replace_op(op, [], [found])


def computed(
    value: SSAValue, op: linalg.GenericOp, known: dict[SSAValue, SSAValue]
) -> SSAValue:
    """Compute a value of the body of a generic here, from those that are known."""
    owner = value.owner
    if value in known:
        return known[value]
    if not isinstance(owner, Operation) or owner.parent is not op.body.block:
        return value
    for x in owner.operands:
        known[x] = computed(x, op, known)
    new = owner.clone(known)
    return new.results[owner.results.index(value)]


def split_function(func: FuncOp) -> None:
    for op in list(func.body.block.ops):
        if isinstance(op, linalg.GenericOp) and (its := match_product(op)) is not None:
            split(its)


@dataclass(frozen=True)
class SplitZeroPointsPass(ModulePass):
    name = "split-zero-points"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_whole_functions(op, split_function)
