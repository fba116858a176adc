"""assign-tt-layouts: gives the tensors of Triton kernels layouts for Xe.

Before:  a module with one Triton kernel without layouts, whose products DPAS supports.
After:   all tensors have encodings, as in Triton GPU IR, and `ttg.num-warps` is set:
         the requested number, or one that suits the tensors. Tensors computed from
         ranges and scalars only are recomputed in each layout they are used in; others
         are converted. Barriers separate accesses by different lanes to the same
         argument.
Fails:   never; other kernels are unchanged.

The accumulator of a `tt.dot` gets the DPAS layout, and its operands get dot-operand
layouts.  Layouts propagate through elementwise operations and control flow, and from
loads to their pointers and masks: from accumulators first, then from operands; what
remains gets a row-major blocked layout.  The first layout to reach a value wins, except
that the result of a `tt.dot` always has its own: another, such as that of the transpose
of another product, is converted.

Without a `tt.dot`, layouts propagate from loads and stores: each lane has a contiguous
vector, and consecutive lanes follow the contiguous dimension of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import prod
from operator import add
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from coopc.device import Device
from coopc.dialects import tt, ttg, xe
from coopc.dialects.encodings import attribute_of
from coopc.dialects.narrow import tensor_type
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import shape_of, sizes
from coopc.dialects.xe import accumulators
from coopc.ir.builder import Builder
from coopc.ir.control_flow import defined_by, links
from coopc.ir.device_option import target_device
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import (
    BlockedEncoding,
    Encoding,
    LinearEncoding,
    SliceEncoding,
    dims,
)
from coopc.layout.linear import LinearLayout, select_outs, transpose_outs
from coopc.layout.linear import product as side_by_side
from coopc.passes.triton.access_order import may_conflict, waiting_accesses
from coopc.passes.triton.dead_values import remove_dead
from coopc.passes.triton.layouts import remark_warps, why_not_laid_out
from coopc.passes.xe.register_layout import precision_of
from coopc.passes.xe.vector_plans import vectors_along
from coopc.remarks import remark

Step: TypeAlias = Callable[[Encoding], Encoding | None]
"""From the layout of a value to that of a neighbour; None if there is none."""
Tie: TypeAlias = tuple[SSAValue, SSAValue, Step, Step]
"""Two values, and the steps from the first to the second, and back."""

Ties: TypeAlias = Mapping[SSAValue, Sequence[tuple[SSAValue, Step]]]
"""The neighbours of each value, and the steps to them."""

RESERVED = 32
"""Registers that are left for addresses and all else."""
BETWEEN = 96
"""Registers that are left for what is computed of sums, and for factors."""
BUSY_SUBGROUPS = 4
"""The least number of subgroups that share what is more than products."""
MOST_SUBGROUPS = 32
"""Of a work-group."""
BLOCK = 32
"""Rows, and columns, that a subgroup has in one piece: what one message moves."""
DEFAULT_WARPS = 4
"""Subgroups of a program, by Triton's default."""
MOST_ELEMENTS = 64
"""Of a tensor in a lane, where more subgroups can share it."""
DEFAULT_STAGES = 2
"""Steps of a loop that are under way at a time, by Triton's default."""
VECTOR_BITS = 128
"""What a lane moves at a time."""


class Unassigned(Exception):
    """Why a kernel gets no layouts."""


# What is tied to what.


def same(encoding: Encoding) -> Encoding:
    return encoding


def sliced(axis: int) -> Step:
    return lambda x: SliceEncoding(axis, x) if x.rank > 1 else None


def unsliced(axis: int) -> Step:
    def step(x: Encoding) -> Encoding | None:
        return x.parent if isinstance(x, SliceEncoding) and x.dim == axis else None

    return step


def axis_of(op: tt.ExpandDimsOp | tt.ReduceOp) -> int:
    return op.axis.value.data


def transposed(op: tt.TransOp, back: bool) -> Step:
    """The step from the source of a transposition to its result, or back."""
    order, source = op.permutation, op.result if back else op.src
    if back:
        order = tuple(order.index(dim) for dim in range(len(order)))
    shape = shape_of(source.type)
    return lambda x: LinearEncoding(tt.transposed(x.linear(shape), order))


def reshaped(source: SSAValue, result: SSAValue) -> Step:
    """The step from a value to one of another shape."""
    old, new = shape_of(source.type), shape_of(result.type)
    return lambda x: LinearEncoding(tt.reshaped(x.linear(old), new))


def halved(pairs: SSAValue) -> Step:
    """The step from pairs to one half of each; none where lanes do not hold pairs."""
    shape = shape_of(pairs.type)

    def step(x: Encoding) -> Encoding | None:
        layout = x.linear(shape)
        bases = {name: layout.bases(name) for name in layout.in_names}
        kept = [x for x in bases.pop("register") if not x[-1]]
        if any(x[-1] for each in bases.values() for x in each):
            return None
        whole = LinearLayout.of({"register": kept, **bases}, layout.out_sizes)
        return LinearEncoding(select_outs(whole, layout.out_names[:-1]))

    return step


def paired(half: SSAValue) -> Step:
    """The step from one half of pairs to pairs, which lanes then hold."""
    shape = shape_of(half.type)

    def step(x: Encoding) -> Encoding:
        names = dims(len(shape) + 1)
        pair = LinearLayout.identity(2, "register", names[-1])
        return LinearEncoding(
            transpose_outs(side_by_side(pair, x.linear(shape)), names)
        )

    return step


def alike(values: Sequence[SSAValue], free: AbstractSet[SSAValue]) -> Iterator[Tie]:
    found = (x for x in values if x not in free)
    return ((x, y, same, same) for x, y in pairwise(found))


ALIKE = (
    tt.AddPtrOp,
    tt.AtomicCASOp,
    tt.AtomicRMWOp,
    tt.BitcastOp,
    tt.BroadcastOp,
    tt.DescriptorLoadOp,
    tt.DescriptorStoreOp,
    tt.FpToFpOp,
    tt.LoadOp,
    tt.MakeRangeOp,
    tt.ScanOp,
    tt.SplatOp,
    tt.StoreOp,
)
"""Beside arithmetic: operations whose tensors all have one layout."""


TIES: Mapping[type[Operation], Callable[[Any], Sequence[Tie]]] = {
    tt.DotOp: lambda op: [(op.c, op.d, same, same)],
    tt.ExpandDimsOp: lambda op: [
        (op.src, op.result, unsliced(axis_of(op)), sliced(axis_of(op)))
    ],
    tt.JoinOp: lambda op: [
        (x, op.result, paired(x), halved(op.result)) for x in op.operands
    ],
    tt.ReduceOp: lambda op: [
        *((op.srcs[0], x, same, same) for x in op.srcs),
        *(
            (op.srcs[0], x, sliced(axis_of(op)), unsliced(axis_of(op)))
            for x in op.res
            if tt.is_tensor(x.type)
        ),
    ],
    tt.ReshapeOp: lambda op: [
        (op.src, op.result, reshaped(op.src, op.result), reshaped(op.result, op.src))
    ],
    tt.SplitOp: lambda op: [(op.src, x, halved(op.src), paired(x)) for x in op.results],
    tt.TransOp: lambda op: [
        (op.src, op.result, transposed(op, False), transposed(op, True))
    ],
}
"""How the layouts of what an operation takes and gives depend."""


def ties(op: Operation, free: AbstractSet[SSAValue]) -> Iterator[Tie]:
    """Yield how the layouts of tensors depend that an operation takes and gives.

    Tensors that are `free` have any layout.

    Raises:
        Unassigned: it is not known.
    """
    tensors = [x for x in (*op.operands, *op.results) if tt.is_tensor(x.type)]
    if (rule := TIES.get(type(op))) is not None:
        yield from rule(op)
    elif isinstance(op, ALIKE) or op.dialect_name() in ("arith", "math"):
        yield from alike(tensors, free)
    elif isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
        for group in links(op, {}):
            yield from alike(group, free)
    elif tensors and not isinstance(op, scf.YieldOp | scf.ConditionOp):
        raise Unassigned(f"{op.name} has no rule")


# How subgroups share products.


@dataclass(frozen=True, slots=True)
class Grid:
    """Subgroups along the rows and the columns of sums."""

    rows: int
    cols: int

    @property
    def count(self) -> int:
        return self.rows * self.cols

    def registers(self, op: tt.DotOp, each: int) -> tuple[int, int]:
        """Return how many registers of so many bytes sums need, and factors."""
        (m, n), depth = shape_of(op.d.type), shape_of(op.a.type)[-1]
        rows, cols = m // self.rows, n // self.cols
        sums, factors = rows * cols * bits(op.d), (rows + cols) * depth * bits(op.a)
        return sums // (8 * each), factors // (8 * each)


def bits(value: SSAValue) -> int:
    found = tt.bits_of(value.type)
    assert found is not None, value
    return found


def grid_of(
    dots: Sequence[tt.DotOp],
    device: Device,
    whole_rows: bool,
    is_busy: bool,
    warps: int | None = None,
) -> Grid:
    """Return the fewest subgroups whose registers hold sums and factors.

    With `whole_rows` a subgroup has all columns of its sums; with `is_busy` more is
    computed than products.
    """
    assert device.dpas is not None, device
    most = max(device.registers) - RESERVED - BETWEEN * is_busy
    size = device.register_bytes
    shapes = [shape_of(x.d.type) for x in dots]
    rows = min(x[0] for x in shapes) // max(device.dpas.rows)
    cols = 1 if whole_rows else min(x[1] for x in shapes) // device.dpas.lanes

    def cost(grid: Grid) -> tuple[int, ...]:
        blocks: dict[Block | None, list[tuple[int, int]]] = {}
        for op in dots:
            blocks.setdefault(op.parent, []).append(grid.registers(op, size))
        factors = [max(x for _, x in each) for each in blocks.values()]
        sums = [sum(x for x, _ in each) for each in blocks.values()]
        needed = max(map(add, factors, sums))
        over, few = max(0, needed - most), is_busy and grid.count < BUSY_SUBGROUPS
        return over, few, grid.count, max(factors), grid.cols

    powers = [
        Grid(1 << x, 1 << y)
        for x in range(rows.bit_length())
        for y in range(cols.bit_length())
    ]
    powers = [x for x in powers if x.count <= MOST_SUBGROUPS]
    return min([x for x in powers if x.count == warps] or powers, key=cost)


def dpas_encoding(op: tt.DotOp, grid: Grid, device: Device) -> DpasEncoding:
    """Return the layout of the sums of a product.

    Raises:
        Unassigned: DPAS does not do it.
    """
    dpas = device.dpas
    assert dpas is not None, device
    shape, depth = shape_of(op.d.type), shape_of(op.a.type)[-1]
    element, sum = element_of(op.a.type), element_of(op.d.type)
    precision = precision_of(element)
    is_exact = (
        precision is xe.Precision.TF32 and op.precision is not tt.InputPrecision.TF32
    )
    if precision is None or precision.value not in dpas.operands or is_exact:
        raise Unassigned(f"DPAS does not multiply {element}")
    if element_of(op.b.type) != element or sum not in accumulators(
        precision, dpas.lanes
    ):
        raise Unassigned(f"DPAS does not multiply {element} to {sum}")
    least = max(dpas.rows), dpas.lanes
    if len(shape) != 2 or depth < dpas.k(bits(op.a)):
        raise Unassigned(f"DPAS does not multiply {depth} of K to {sizes(shape)}")
    if shape[0] < least[0] or shape[1] < least[1]:
        raise Unassigned(f"its products of {sizes(shape)} are less than those of DPAS")
    return DpasEncoding(
        least[0],
        dpas.depth,
        dpas.lanes,
        precision.ops_per_channel,
        dpas.lanes,
        (grid.rows, grid.cols),
        (
            min(shape[0] // grid.rows, BLOCK) // least[0],
            min(shape[1] // grid.cols, BLOCK) // least[1],
        ),
    )


def lanes_of(device: Device) -> int:
    """Return the lanes of subgroups without products.

    Their numbers of 32 bits are two registers at most: what an operand can be.
    """
    most = 2 * device.register_bytes // 4
    return max(x for x in device.subgroup_sizes if x <= most)


def warps_for(ops: Iterable[Operation], lanes: int, asked: int | None) -> int:
    """Return the subgroups that share a program without products.

    As many as are asked for, or as Triton takes where nothing is said, but no more than
    have elements, and in the second case no fewer than hold the greatest tensor.
    """
    values = (x for op in ops for x in op.results if tt.is_tensor(x.type))
    most = max((prod(shape_of(x.type)) for x in values), default=1) // lanes
    if asked is not None and asked.bit_count() == 1:
        return min(asked, max(most, 1), MOST_SUBGROUPS)
    warps = max(min(most, DEFAULT_WARPS), most // MOST_ELEMENTS, 1)
    return min(warps, MOST_SUBGROUPS)


def factor(sums: Encoding, index: int) -> DotOperandEncoding:
    """Return the layout of an operand of a product."""
    assert isinstance(sums, DpasEncoding), sums
    each = sums.ops_per_chan
    return DotOperandEncoding(index, sums, each if index else max(1, each // 2))


def blocked(
    type: Attribute, lanes: int, warps: int, each: int, first: int = -1
) -> BlockedEncoding:
    """Return a layout in which lanes, then subgroups follow each other.

    A lane has `each` elements in one piece, if there are as many for it. They go along
    the dimension `first`, then along the last ones.
    """
    shape = shape_of(type)
    order = sorted(range(len(shape)), key=lambda dim: (dim != first, -dim))
    vector, left, counts = [1] * len(shape), [*shape], list[list[int]]()
    vector[order[0]] = max(
        1, min(each, prod(shape) // (lanes * warps), shape[order[0]])
    )
    left[order[0]] //= vector[order[0]]
    for many in (lanes, warps):
        found = [1] * len(shape)
        for dim in order:
            found[dim] = min(many // prod(found), left[dim])
            left[dim] //= found[dim]
        found[order[-1]] *= many // prod(found)
        counts.append(found)
    return BlockedEncoding(
        tuple(vector), tuple(counts[0]), tuple(counts[1]), tuple(order)
    )


def piece_of(type: Attribute) -> int:
    """Return how many elements a lane moves at a time."""
    return VECTOR_BITS // (tt.bits_of(type) or 64)


def along_rows(type: Attribute, lanes: int, warps: int) -> BlockedEncoding:
    return blocked(type, lanes, warps, piece_of(type))


def accesses(
    ops: Iterable[Operation], free: AbstractSet[SSAValue]
) -> list[tuple[SSAValue, int, int]]:
    """Return tensors that are loaded or stored, those first that decide for others.

    With the elements that a lane has in one piece, and the dimension along which they
    are: large tensors come first, and of equal ones those of long vectors.  Lanes also
    have pieces of what is combined along rows, without vectors in memory: the fewer
    lanes have a row, the less they exchange.
    """
    combined: set[tuple[int, int]] = set()
    found: list[tuple[SSAValue, int, int]] = []
    for op in ops:
        if isinstance(op, tt.ReduceOp | tt.ScanOp):
            combined.add((len(shape_of(op.srcs[0].type)), op.axis.value.data))
    for op in ops:
        if isinstance(op, tt.LoadOp | tt.StoreOp) and tt.is_tensor(op.ptr.type):
            moved = op.result if isinstance(op, tt.LoadOp) else op.value
            vectors = ((plan.length, dim) for dim, plan in vectors_along(op))
            each, dim = next(vectors, (1, -1))
            rank = len(shape_of(moved.type))
            if rank > 1 and (rank, dim) in combined:
                each = max(each, piece_of(moved.type))
            found += [(x, each, dim) for x in (moved, op.ptr) if x not in free][:1]
    return sorted(found, key=lambda x: (-prod(shape_of(x[0].type)), -x[1]))


# The plan.


@dataclass(frozen=True, slots=True)
class LayoutPlan:
    """The layouts of a kernel."""

    lanes: int
    warps: int
    layouts: Mapping[SSAValue, Encoding]
    """Of all tensors that are not free."""
    free: frozenset[SSAValue]
    """Tensors that are made of ranges and scalars, in any layout."""

    def of_operand(self, op: Operation, index: int) -> Encoding:
        """Return the layout in which an operation takes an operand."""
        around = op.parent_op()
        slot: SSAValue | None = None
        match op, around:
            case scf.ForOp(), _:
                slot = op.body.block.args[index - 2]
            case scf.WhileOp(), _:
                slot = op.before_region.block.args[index]
            case scf.ConditionOp(), scf.WhileOp():
                slot = around.after_region.block.args[index - 1]
            case scf.YieldOp(), scf.ForOp():
                slot = around.body.block.args[index + 1]
            case scf.YieldOp(), scf.WhileOp():
                slot = around.before_region.block.args[index]
            case scf.YieldOp(), scf.IfOp():
                slot = around.results[index]
            case tt.DotOp(), _ if index < 2:
                return factor(self.layouts[op.d], index)
            case _ if not isinstance(op, tt.ReduceOp) and op.results:
                slot = op.results[0]
            case _:
                known = (x for x in op.operands if x in self.layouts)
                slot = next(known, None)
        if slot is None:
            return along_rows(op.operands[0].type, self.lanes, self.warps)
        return before(op, self.layouts[slot])


def before(op: Operation, result: Encoding) -> Encoding:
    """Return the layout of what an operation takes by that of what it gives."""
    if (rule := TIES.get(type(op))) is None:
        return result
    *_, back = rule(op)[0]
    found = back(result)
    assert found is not None, op
    return found


def is_free(op: Operation, free: AbstractSet[SSAValue]) -> bool:
    """Whether an operation makes a tensor of ranges and scalars alone."""
    return (
        len(op.results) == 1
        and tt.is_tensor(op.results[0].type)
        and not op.regions
        and not isinstance(op, tt.JoinOp)  # lanes are to hold pairs
        and is_side_effect_free(op)
        and all(x in free for x in op.operands if tt.is_tensor(x.type))
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """Layouts that spread from value to value."""

    ties: Ties
    layouts: dict[SSAValue, Encoding] = field(default_factory=dict[SSAValue, Encoding])

    def start(self, value: SSAValue, encoding: Encoding) -> None:
        """Give a layout to a value, and to what it reaches, that have none yet."""
        todo = [(value, encoding)]
        for value, encoding in todo:
            if value not in self.layouts:
                self.layouts[value] = encoding
                todo += self.reached(value, encoding)

    def start_all(self, layouts: Mapping[SSAValue, Encoding]) -> None:
        """Give layouts to some values, then to what each of them reaches in turn."""
        self.layouts.update(layouts)
        for value, encoding in layouts.items():
            for each in self.reached(value, encoding):
                self.start(*each)

    def reached(
        self, value: SSAValue, encoding: Encoding
    ) -> Iterator[tuple[SSAValue, Encoding]]:
        """Yield the neighbours of a value, and the layouts that its layout implies."""
        for neighbour, step in self.ties.get(value, ()):
            if (found := step(encoding)) is not None:
                yield neighbour, found


def is_loaded(factor: SSAValue) -> bool:
    """Whether a factor of a product is multiplied as it is in memory."""
    op = factor.owner
    if isinstance(op, tt.TransOp):
        return is_loaded(op.src)
    return isinstance(op, tt.LoadOp | tt.DescriptorLoadOp)


def grid_for(
    ops: Sequence[Operation],
    dots: Sequence[tt.DotOp],
    ties: Ties,
    device: Device,
    warps: int | None,
) -> Grid:
    """Return how subgroups share the products of a kernel.

    Raises:
        Unassigned: DPAS does not do one of them.
    """
    of_sums = Spread(ties)
    for op in dots:
        of_sums.start(op.d, dpas_encoding(op, Grid(1, 1), device))
    reached = of_sums.layouts.keys()
    factors = [x for op in dots for x in (op.a, op.b)]
    is_chained = any(x in reached for x in factors)
    functions = (op for op in ops if op.dialect_name() == "math")
    is_busy = (
        is_chained
        or not all(map(is_loaded, factors))
        or any(x in reached for op in functions for x in op.results)
    )
    return grid_of(dots, device, is_chained, is_busy, warps)


def free_tensors(ops: Iterable[Operation]) -> set[SSAValue]:
    found: set[SSAValue] = set()
    for op in ops:
        if is_free(op, found):
            found.add(op.results[0])
    return found


def all_ties(ops: Iterable[Operation], free: AbstractSet[SSAValue]) -> Ties:
    """Return to what each tensor that is not free is tied.

    Raises:
        Unassigned: an operation has no rule.
    """
    found: dict[SSAValue, list[tuple[SSAValue, Step]]] = {}
    for op in ops:
        for one, other, step, back in ties(op, free):
            if one not in free and other not in free:
                found.setdefault(one, []).append((other, step))
                found.setdefault(other, []).append((one, back))
    return found


def plan_layouts(
    func: tt.FuncOp, dots: Sequence[tt.DotOp], device: Device, warps: int | None = None
) -> LayoutPlan:
    """Return the layouts of a kernel with these products.

    As many `warps` share the kernel as are asked for, if that is possible.

    Raises:
        Unassigned: it has a product that DPAS does not do, or an operation without a
            rule.
    """
    assert device.dpas is not None, device
    ops = list(func.body.walk())
    free = free_tensors(ops)
    tied = all_ties(ops, free)
    spread = Spread(tied)
    if dots:
        lanes, grid = device.dpas.lanes, grid_for(ops, dots, tied, device, warps)
        spread.start_all({x.d: dpas_encoding(x, grid, device) for x in dots})
        for op, index in product(dots, (0, 1)):
            if (value := op.operands[index]) not in free:
                spread.start(value, factor(spread.layouts[op.d], index))
    else:
        lanes = lanes_of(device)
        grid = Grid(warps_for(ops, lanes, warps), 1)
        for value, each, dim in accesses(ops, free):
            layout = blocked(value.type, lanes, grid.count, each, dim)
            spread.start(value, layout)
    for value in (x for op in ops for x in defined_by(op)):
        if value not in free and tt.is_tensor(value.type):
            spread.start(value, along_rows(value.type, lanes, grid.count))
    plan = LayoutPlan(lanes, grid.count, spread.layouts, frozenset(free))
    for op in ops:
        spread.layouts.update(agree(op, plan))
    return plan


def agree(op: Operation, plan: LayoutPlan) -> Mapping[SSAValue, Encoding]:
    """Return the layouts of results that those of other values imply."""
    pairs: Iterable[tuple[SSAValue, SSAValue]] = ()
    match op:
        case scf.ForOp():
            pairs = zip(op.results, op.body.block.args[1:], strict=True)
        case scf.WhileOp():
            pairs = zip(op.results, op.after_region.block.args, strict=True)
        case tt.JoinOp():
            half = halved(op.result)(plan.layouts[op.result])
            half = half or along_rows(op.lhs.type, plan.lanes, plan.warps)
            found = paired(op.lhs)(half)
            assert found is not None, op
            return {op.result: found}
        case tt.ScanOp() | tt.SplitOp():
            pairs = ((x, op.results[0]) for x in op.results)
        case tt.ReduceOp():
            step, source = sliced(axis_of(op)), plan.of_operand(op, 0)
            found = step(source)
            return {x: found for x in op.res if found is not None}
        case _:
            pass
    return {x: plan.layouts[y] for x, y in pairs if y in plan.layouts}


# The rewrite.


def set_encoding(value: SSAValue, encoding: Encoding) -> SSAValue:
    type, op = with_encoding(value, encoding), value.owner
    if isinstance(op, arith.ConstantOp):
        dense = op.value
        assert isinstance(dense, DenseIntOrFPElementsAttr), value
        of_numbers = TensorType(dense.get_element_type(), type.shape, type.encoding)
        op.properties["value"] = DenseIntOrFPElementsAttr(of_numbers, dense.data)
    return Rewriter.replace_value_with_new_type(value, type)


def with_encoding(value: SSAValue, encoding: Encoding) -> TensorType[Attribute]:
    type = tensor_type(value)
    return TensorType(type.element_type, type.get_shape(), attribute_of(encoding))


@dataclass(frozen=True, slots=True)
class Assignment:
    """Gives the tensors of a kernel the layouts of a plan."""

    plan: LayoutPlan
    made: dict[tuple[SSAValue, Encoding], SSAValue] = field(default_factory=lambda: {})

    def of(self, value: SSAValue, encoding: Encoding) -> SSAValue:
        """Return a tensor in a layout."""
        if self.plan.layouts.get(value) == encoding:
            return value
        if (found := self.made.get((value, encoding))) is None:
            is_free = value in self.plan.free
            make = self._copied if is_free else self._converted
            found = self.made[value, encoding] = make(value, encoding)
            found.name_hint = value.name_hint
        return found

    def _copied(self, value: SSAValue, encoding: Encoding) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation), value
        new = op.clone()
        self.give_operands(new, before(op, encoding))
        Rewriter.insert_op(new, InsertPoint.before(op))
        return set_encoding(new.results[0], encoding)

    def _converted(self, value: SSAValue, encoding: Encoding) -> SSAValue:
        owner = value.owner
        at = owner.first_op if isinstance(owner, Block) else owner
        assert at is not None, value
        new = ttg.ConvertLayoutOp(value, with_encoding(value, encoding))
        Builder.after(value, at.location).effect(new)
        return new.result

    def give_operands(self, op: Operation, encoding: Encoding | None = None) -> None:
        for index, value in enumerate(op.operands):
            if tt.is_tensor(value.type):
                wanted = encoding or self.plan.of_operand(op, index)
                if not self.is_held_as(op, value, wanted):
                    op.operands[index] = self.of(value, wanted)

    def is_held_as(self, op: Operation, value: SSAValue, encoding: Encoding) -> bool:
        """Whether a value has a layout already, under another encoding.

        Only operations that just move elements take one: others compare encodings.
        """
        own, shape = self.plan.layouts.get(value), shape_of(value.type)
        is_moved = isinstance(op, tt.ReshapeOp | tt.SplitOp | tt.TransOp)
        if own is None or not is_moved or not isinstance(encoding, LinearEncoding):
            return False
        return tt.linear(own, shape) == tt.linear(encoding, shape)

    def apply(self, func: tt.FuncOp) -> None:
        for op in list(func.body.walk()):
            if not self.plan.free.intersection(op.results):
                self.give_operands(op)
        for value, encoding in self.plan.layouts.items():
            set_encoding(value, encoding)
        remove_dead(func)


# Accesses to the same memory.


def must_wait(first: Operation, second: Operation) -> bool:
    """Whether a lane may access what another one does, and one of them writes."""
    pointers = first.operands[0]
    if pointers is second.operands[0] and tt.is_tensor(pointers.type):
        free = tt.layout_of(pointers.type).free_masks()
        if not (free["lane"] or free["warp"]):
            return False
    return may_conflict(first, second)


@dataclass(frozen=True)
class AssignTtLayoutsPass(ModulePass):
    name = "assign-tt-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [x for x in op.ops if isinstance(x, tt.FuncOp)]
        device = target_device(op)
        if len(found) != 1 or device is None or device.dpas is None:
            return
        facts = tt.ModuleFacts.of(op)
        if facts.says_threads or why_not_laid_out(op) is not None:
            return
        dots = [x for x in found[0].body.walk() if isinstance(x, tt.DotOp)]
        try:
            plan = plan_layouts(found[0], dots, device, facts.num_warps)
        except Unassigned as error:
            remark(found[0], f"the kernel gets no layouts: {error}")
            return
        remark_warps(found[0], facts.num_warps, plan.warps)
        for loop in found[0].body.walk():
            if isinstance(loop, scf.ForOp) and tt.NUM_STAGES not in loop.attributes:
                loop.attributes[tt.NUM_STAGES] = IntegerAttr(DEFAULT_STAGES, i32)
        op.attributes[tt.NUM_WARPS] = IntegerAttr(plan.warps, i32)
        op.attributes[tt.THREADS_PER_WARP] = IntegerAttr(plan.lanes, i32)
        Assignment(plan).apply(found[0])
        domains = ttg.Domain.GLOBAL_READ | ttg.Domain.GLOBAL_WRITE
        for access in waiting_accesses(found[0].body.block, must_wait):
            Builder.at(access).effect(ttg.BarrierOp(domains))
