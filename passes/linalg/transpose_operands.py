"""transpose-operands: orders the dimensions of tensors as matrix engines need them.

Before:  functions of `linalg.generic` on tensors, as from `generalize-linalg`.
After:   the loops of a product that count its batch, M, N or K follow each other in
         each operand, those of the batch first, so that `collapse-linalg` can merge
         them; loops of one step are removed from such products.  Convolutions have
         channels and filters last; 1x1 convolutions of stride 1 become products.
         For that, operands of another order are transposed, and a result is
         transposed back.  A is the operand that has the rows of the result.
Fails:   never; other operations are unchanged, so are small products, and those that
         the device has no matrices for.

    C[b, h, q, t] += A[b, q, h, e] * B[b, t, h, e]       (b, h), q, t and e

becomes transposes of A and B to [b, h, q, e] and [b, h, t, e], and a product of them.
Each group is tried in every order that an operand has it in.  The pass takes the orders
for which the fewest elements are copied.

    C[n, f, y, x] += A[n, c, y + i, x + j] * B[f, c, i, j]

becomes C[n, y, x, f] += A[n, y + i, x + j, c] * B[i, j, c, f] of transposed tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.utils.dynamic_index_list import split_dynamic_index_list
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.device import Device
from coopc.dialects import simt
from coopc.dialects.narrow import is_nibble, is_tensor, tensor_type
from coopc.ir.builder import Builder
from coopc.ir.device_option import device_of, element_name
from coopc.passes.linalg.collapse_linalg import (
    Collapsed,
    collapsed,
    replace_expanded,
    whole,
    without_units,
)
from coopc.passes.linalg.fuse_linalg import (
    constant_of,
    generic,
    is_product,
    maps_of,
    rebuilt,
    remade,
    shape,
)
from coopc.passes.linalg.match import (
    LoopGroups,
    body_signs,
    groups_of,
    map_of,
    order,
    window_of,
)
from coopc.plan.core_gemm import BYTES
from coopc.plan.gemm import direct_tile
from coopc.rounding import PRECISIONS, PrecisionName

LEAST_WORK = 1 << 20
"""Multiplications of a product, at least: a smaller one takes no longer than the
launches that transposes add."""
UNKNOWN_SIZE = 512
"""What stands for a size that is known when the product runs."""

Loops: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Orders:
    """The loops that the dimensions of A, B and C follow, without those of one step."""

    units: frozenset[int]
    operands: tuple[Loops, Loops, Loops]


def layouts(
    orders: Sequence[Loops], at: int, inner_batch: bool = False
) -> tuple[Loops, ...]:
    """Return the orders that A, B or C may have: rows first, and columns first.

    With `inner_batch` the batch may also be between rows and columns of A and B.
    """
    batch, rows, cols, along_k = orders
    first, second = ((rows, along_k), (along_k, cols), (rows, cols))[at]
    found = (batch + first + second, batch + second + first)
    if inner_batch and at < 2:
        found += (first + batch + second, second + batch + first)
    return found


def nearest(own: Loops, ways: Sequence[Loops]) -> Loops:
    """Return the layout of an operand that is cheapest.

    Its own, or else one with the same last loop, so that the transpose reads and writes
    consecutive elements.
    """
    if own in ways:
        return own
    return next((way for way in ways if way[-1] == own[-1]), ways[0])


def orders_of(group: frozenset[int], operands: Sequence[Loops]) -> Iterator[Loops]:
    """Yield in which orders a group of loops is in the operands that have it."""
    found = (tuple(x for x in loops if x in group) for loops in operands)
    yield from dict.fromkeys(x for x in found if len(x) == len(group))


def decide(
    operands: tuple[Loops, Loops, Loops],
    sizes: dict[int, int],
    inner_batch: bool = False,
) -> Orders | None:
    """Return in which order the operands of a product are to be, if in another one.

    Args:
        operands: the loops that the dimensions of A, B and C follow.
        sizes: of the loops; -1 where it is not known.
        inner_batch: see `layouts`.

    >>> decide(((0, 2, 1, 4), (0, 3, 1, 4), (0, 1, 2, 3)), dict.fromkeys(range(5), 64))
    Orders(units=frozenset(), operands=((0, 1, 2, 4), (0, 1, 3, 4), (0, 1, 2, 3)))
    >>> decide(((0, 1, 3), (3, 2), (0, 1, 2)), dict.fromkeys(range(4), 64)) is None
    True
    """
    # Loops of one step that only one operand has, as those of a 1x1 window.
    own_units = {
        x
        for x, size in sizes.items()
        if size == 1 and sum(x in loops for loops in operands) == 1
    }
    a, b, c = (tuple(x for x in loops if x not in own_units) for loops in operands)
    operands = a, b, c
    groups = groups_of(operands)
    if groups is None or (not own_units and is_ordered(operands, groups, inner_batch)):
        return None
    if any(all(sizes[x] == 1 for x in own) for own in (groups.rows, groups.cols)):
        return None  # of a vector: no matrices multiply it
    known = {loop: size if size >= 0 else UNKNOWN_SIZE for loop, size in sizes.items()}
    if prod(known.values()) < LEAST_WORK:
        return None
    units = units_of(groups, sizes) | own_units
    parts = (groups.batch, groups.rows, groups.cols, groups.along_k)
    rest: list[Loops] = [
        tuple(x for x in loops if x not in units) for loops in operands
    ]
    best: tuple[int, tuple[Loops, ...]] | None = None
    for orders in product(*(tuple(orders_of(x - units, rest)) for x in parts)):
        found = [
            nearest(own, layouts(orders, at, inner_batch))
            for at, own in enumerate(rest)
        ]
        pairs = zip(rest, found, strict=True)
        cost = sum(prod(known[x] for x in own) for own, new in pairs if own != new)
        if best is None or cost < best[0]:
            best = cost, tuple(found)
    assert best is not None, operands
    a, b, c = best[1]
    return Orders(units, (a, b, c))


def is_ordered(
    operands: Sequence[Loops], groups: LoopGroups, inner_batch: bool = False
) -> bool:
    """Whether the loops of each group follow each other in all operands."""
    parts = (groups.batch, groups.rows, groups.cols, groups.along_k)
    found = [tuple(orders_of(x, operands)) for x in parts]
    if any(len(x) > 1 for x in found):
        return False
    orders = [x[0] if x else () for x in found]
    return all(
        own in layouts(orders, at, inner_batch) for at, own in enumerate(operands)
    )


def units_of(groups: LoopGroups, sizes: dict[int, int]) -> frozenset[int]:
    """Return the loops of one step, but for one of M, N and K each."""
    found = {loop for loop in groups.batch if sizes[loop] == 1}
    for group in (groups.rows, groups.cols, groups.along_k):
        units = sorted(loop for loop in group if sizes[loop] == 1)
        found |= {*units[len(units) == len(group) :]}
    return frozenset(found)


def orders_in(
    op: linalg.GenericOp, inner_batch: bool = False, static_rows: bool = False
) -> Orders | None:
    """Return in which order the operands of a product are to be.

    With `static_rows`, what is transposed needs rows of a static size; for
    `inner_batch` see `layouts`.
    """
    maps, sizes = maps_of(op), dict[int, int]()
    for value, map in zip(op.operands, maps, strict=True):
        for loop, size in zip(order(map), tensor_type(value).get_shape(), strict=True):
            sizes[loop] = min(size, sizes.get(loop, size))  # -1 if one is dynamic
    maps[0] = without_window(maps[0], op.operands[0], sizes)
    a, b, c = operands = tuple(tuple(order(map)) for map in maps)
    found = decide((a, b, c), sizes, inner_batch)
    if found is not None and static_rows:
        pairs = zip(operands, found.operands, strict=True)
        if any(own != new and sizes[new[-1]] < 0 for own, new in pairs):
            return None
    return found


def without_window(
    map: AffineMap, image: SSAValue, sizes: Mapping[int, int]
) -> AffineMap:
    """Return how an image is walked over without loops of a window of 1x1.

    Unchanged unless the result covers the whole image.

        (n, f, y, x, c, i, j) -> (n, c, y + i, x + j)     i and j are 0
        (n, f, y, x, c, i, j) -> (n, c, y, x)
    """
    numbers = [
        AffineConstantExpr(0) if sizes.get(loop) == 1 else AffineDimExpr(loop)
        for loop in range(map.num_dims)
    ]
    found = list(map.results)
    for at, size in enumerate(tensor_type(image).get_shape()):
        if not isinstance(map.results[at], AffineDimExpr):
            expr = found[at] = map.results[at].replace_dims_and_symbols(numbers, ())
            if not isinstance(expr, AffineDimExpr) or sizes[expr.position] != size:
                return map
            if size == DYNAMIC_INDEX:
                return map  # the image may be larger than the result
    return AffineMap(map.num_dims, 0, tuple(found))


# --- Convolutions. ---


@dataclass(frozen=True, slots=True)
class ChannelsLast:
    """How a convolution becomes one in NHWC, with filters last, too."""

    loops: Loops
    """Those of the image, y, x, filters, the window's two and the channels."""
    dims: tuple[Loops, Loops, Loops]
    """The dimensions of the image, the weights and the result, in their new order."""


def channels_last(maps: Sequence[AffineMap]) -> ChannelsLast | None:
    """Return how a convolution becomes one in NHWC; None where it is none, or is one.

    >>> maps = [AffineMap.from_callable(f) for f in (
    ...     lambda n, f, y, x, c, i, j: (n, c, y + i, x + j),
    ...     lambda n, f, y, x, c, i, j: (f, c, i, j),
    ...     lambda n, f, y, x, c, i, j: (n, f, y, x))]
    >>> channels_last(maps)
    ChannelsLast(loops=(0, 2, 3, 1, 5, 6, 4), dims=((0, 2, 3, 1), (2, 3, 1, 0), \
(0, 2, 3, 1)))
    """
    image, weights, out = map(order, maps)
    walked = [at for at, loop in enumerate(image) if loop < 0]
    if maps[0].num_dims != 7 or not len(image) == len(weights) == len(out) == 4:
        return None
    window = [{*maps[0].results[at].used_dims()} for at in walked]
    own: list[list[int]] = [
        [*({*image} & {*out})],
        *([*(x & {*out})] for x in window),
        [*({*weights} & {*out})],
        *([*(x & {*weights})] for x in window),
        [*({*image} & {*weights} - {-1})],
    ]
    if any(len(x) != 1 for x in own) or len(own) != 7:
        return None
    n, y, x, f, i, j, c = loops = tuple(loop for (loop,) in own)
    if sorted(loops) != [*range(7)] or -1 in weights or -1 in out:
        return None
    known = [(i, j, c, f), (f, i, j, c)]
    of_weights = tuple(weights) if tuple(weights) in known else known[0]
    dims = (
        (image.index(n), *walked, image.index(c)),
        tuple(map(weights.index, of_weights)),
        tuple(map(out.index, (n, y, x, f))),
    )
    found = ChannelsLast(loops, dims)
    is_new = window_of(maps_by(found, maps)) is not None
    return found if is_new and window_of([*maps]) is None else None


def maps_by(how: ChannelsLast, maps: Sequence[AffineMap]) -> list[AffineMap]:
    numbers = [AffineDimExpr(how.loops.index(loop)) for loop in range(7)]
    return [
        AffineMap(7, 0, tuple(map.results[at] for at in dims)).replace_dims_and_symbols(
            numbers, (), 7, 0
        )
        for map, dims in zip(maps, how.dims, strict=True)
    ]


def channels_last_in(
    op: linalg.GenericOp, device: Device, elements: tuple[str, str, str]
) -> ChannelsLast | None:
    """Return how a convolution becomes one that matrices of a device suit, or None."""
    if (found := channels_last(maps_of(op))) is None:
        return None
    shapes = [tensor_type(x).get_shape() for x in op.operands]
    (_, weights, out) = shapes
    (*_, channels), (*_, filters) = (
        [shape[at] for at in dims]
        for shape, dims in zip(shapes, found.dims, strict=True)
        if shape is not weights
    )
    _, _, depth = direct_tile(device, elements)
    if min(*weights, filters) < 1 or 2 * channels < depth:
        return None
    work = prod(x if x >= 0 else UNKNOWN_SIZE for x in (*out, *weights)) // filters
    return found if work >= LEAST_WORK else None


# --- Rewrite. ---


def reorder(op: linalg.GenericOp, how: Orders) -> linalg.GenericOp:
    """Put a product of tensors of other orders in the place of one."""
    b, maps = Builder.at(op), maps_of(op)
    kept = [x for x in range(maps[0].num_dims) if x not in how.units]
    numbers: list[AffineExpr] = [
        AffineDimExpr(kept.index(x)) if x in kept else AffineConstantExpr(0)
        for x in range(maps[0].num_dims)
    ]
    own: list[Collapsed] = []
    for value, map in zip(op.operands, maps, strict=True):
        without = map.replace_dims_and_symbols(numbers, (), len(kept), 0)
        own.append(without_units(value, without) or whole(without))
    wanted = [tuple(kept.index(x) for x in loops) for loops in how.operands]
    values = [
        transposed(b, collapsed(b, value, each.groups), order(each.map), loops)
        for value, each, loops in zip(op.operands, own, wanted, strict=True)
    ]
    kinds = [kind for n, kind in enumerate(op.iterator_types) if n in kept]
    of = [map_of(loops, len(kept)) for loops in wanted]
    new = remade(op, values[:2], values[2:], of, kinds)
    (old,), (found,) = op.results, b.effect(new).results
    found = transposed(b, found, wanted[2], order(own[2].map))
    found.name_hint = old.name_hint
    replace_expanded(b, old, found, own[2].groups)
    Rewriter.erase_op(op)
    return new


def swap_factors(op: linalg.GenericOp) -> None:
    """Swap the factors of a product whose result has its columns first.

    C[n, m] += A[m, k] * B[k, n]      is      C[n, m] += B[k, n] * A[m, k]
    """
    maps = maps_of(op)
    operands = [order(map) for map in maps]
    groups = groups_of(operands)
    if groups is None or operands[2][-1] not in groups.rows:
        return
    old = op.body.block
    a, b, c = old.args
    new = Block(arg_types=[b.type, a.type, c.type])
    values: dict[SSAValue, SSAValue] = dict(zip((b, a, c), new.args, strict=True))
    for each in old.ops:
        new.add_op(each.clone(values))
    pairs = zip(op.inputs, maps, strict=False)
    Rewriter.replace_op(op, rebuilt(op, [*pairs][::-1], new))


def reorder_window(op: linalg.GenericOp, how: ChannelsLast) -> None:
    """Put a convolution in NHWC in place of one."""
    b, (old,), before = Builder.at(op), op.results, tuple(range(4))
    a, w, c = (
        transposed(b, value, before, dims)
        for value, dims in zip(op.operands, how.dims, strict=True)
    )
    kinds = [op.iterator_types.data[loop] for loop in how.loops]
    new = remade(op, [a, w], [c], maps_by(how, maps_of(op)), kinds)
    found = transposed(b, b.effect(new).results[0], how.dims[2], before)
    found.name_hint = old.name_hint
    Rewriter.replace_op(op, [], [found])


def transposed(
    b: Builder, value: SSAValue, own: Sequence[int], wanted: Sequence[int]
) -> SSAValue:
    """Return a tensor whose dimensions follow loops in another order."""
    if [*own] == [*wanted]:
        return value
    known, element = shape(b, value), tensor_type(value).element_type
    found = [known[own.index(loop)] for loop in wanted]
    fixed, sizes = split_dynamic_index_list(found, DYNAMIC_INDEX)
    type = TensorType(element, fixed)
    (empty,) = b.effect(tensor.EmptyOp(sizes, type)).results
    if (number := constant_of(value)) is not None:
        if isinstance(number, arith.ConstantOp):
            number = b.effect(number).results[0]
        return b.effect(linalg.FillOp([number], [empty], [type])).results[0]
    at = tuple(wanted.index(loop) for loop in own)
    maps = map_of(at, len(at)), AffineMap.identity(len(at))
    return b.effect(generic([value], empty, maps, first)).results[0]


def first(element: SSAValue, _: SSAValue) -> SSAValue:
    return element


@dataclass(frozen=True)
class TransposeOperandsPass(ModulePass):
    name = "transpose-operands"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`, if any."""
    every: bool = False
    """Whether to order the operands of all products that CPUs or lanes compute in
    tiles, or only of those whose types the matrices of the device have.  Without a
    device, as with `every`."""
    inner_batch: bool = False
    """Whether kernels read A and B with a batch between rows and columns."""
    static_rows: bool = False
    """Whether kernels need rows of a static size, as block loads do."""
    precision: PrecisionName = "ieee"
    """How f32 is multiplied."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        has_target = not self.every and simt.target_of(op) is not None
        device = None
        if self.device is not None or has_target:
            device = device_of(self.device, op, self.name)
        for func in op.ops:
            for each in list(func.walk()) if isinstance(func, FuncOp) else ():
                if not isinstance(each, linalg.GenericOp) or not each.results:
                    continue
                match self._decide(each, device):
                    case Orders() as how:
                        swap_factors(reorder(each, how))
                    case ChannelsLast() as how:
                        reorder_window(each, how)
                    case None if is_product(each):
                        swap_factors(each)
                    case None:
                        pass

    def _decide(
        self, op: linalg.GenericOp, device: Device | None
    ) -> Orders | ChannelsLast | None:
        """Return how the operands of a product or convolution are to be ordered."""
        if (len(op.inputs), len(op.outputs)) != (2, 1):
            return None
        if not all(is_tensor(x.type) for x in op.operands):
            return None
        if (signs := body_signs(op)) is None:
            return None
        types = [tensor_type(x).element_type for x in op.operands]
        if any(map(is_nibble, types)):
            return None  # no kernel stores single elements of 4 bits
        a, b, c = map(element_name, types, (*signs, all(signs)))
        if c in ("f16", "bf16"):
            c = "f32"  # sums are of f32: see `split_sums` of fuse-linalg
        if self.precision in PRECISIONS and {a, b, c} == {"f32"}:
            a = b = PRECISIONS[self.precision].format
        how = orders_in(op, self.inner_batch, self.static_rows)
        if device is None or not device.multiplications(a, b, c, c):
            of_bytes = {a, b} <= {*BYTES} and c in ("s32", "u32")
            in_tiles = c in ("f32", "f64") or of_bytes
            return how if in_tiles and (self.every or device is None) else None
        return how or channels_last_in(op, device, (a, b, c))
