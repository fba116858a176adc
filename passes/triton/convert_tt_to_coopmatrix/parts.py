"""Programs that are cut along a dimension of what they store, part by part.

    %x = tt.load %p                     64 x 32       rows 16 s, .., 16 s + 15
    %m = "tt.reduce"(%x) axis = 1       64            16
    tt.store %q, f(%x, %m)              64 x 32       rows 16 s, .., 16 s + 15

Part s of 4 is what a subgroup does, or a round of a program whose buffers have no room
in work-group memory together.  What a part needs of a tensor is a run of indices along
one dimension, or all of it, as a product needs all of B for rows of its result.  Each
product and each reduction of a tensor is done by one part alone.

Parts run in any order, so that none may load what another one stores: that such memory
does not overlap becomes a condition of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from coopc.dialects import tt, ttg
from coopc.dialects.narrow import is_tensor
from coopc.dialects.tt.types import Tensor, block_io, shape_of
from coopc.ir.builder import Builder
from coopc.ir.control_flow import definer, links
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import WRITES, is_splat
from coopc.passes.triton.origins import bases_of

Dimensions: TypeAlias = Sequence[int | None]
"""Of operands, along which a part needs a run of indices; None where it needs all."""
BlockOp: TypeAlias = tt.DescriptorLoadOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp

LOADS = (tt.LoadOp, tt.DescriptorLoadOp, tt.DescriptorGatherOp)
ONCE = (*WRITES, gpu.BarrierOp, tt.AssertOp, tt.PrintOp)
"""What is done once, unless it is cut."""
SLOW = (tt.DotOp, tt.HistogramOp, tt.ReduceOp, tt.ScanOp)
"""What is not to be done again by each part."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a part is of a tensor, or of a block of memory."""

    dim: int
    size: int
    """Indices along that dimension."""
    needs: Dimensions = ()
    """Of the operands of what makes it."""


@dataclass(frozen=True, slots=True)
class PartsPlan:
    """How a program is cut."""

    count: int
    """Of the parts, 2 or more."""
    writes: Mapping[Operation, Part]
    """What is written."""
    parts: Mapping[SSAValue, Mapping[int, Part]]
    """What a part needs of values, by the dimension."""
    apart: frozenset[tuple[int, int]]
    """Numbers of arguments that are loaded from, and stored to, and may not overlap."""


def plan_parts(func: tt.FuncOp, count: int, least: int) -> PartsPlan | str:
    """Return how a program is cut, or why it is not.

    There are `count` parts, 2 or more, which store `least` indices at least. The kernel
    makes its descriptors itself.
    """
    ops, apart = list(func.walk()), loads_and_stores(func)
    if isinstance(apart, str):
        return apart
    choices: list[list[tuple[Operation, Part]]] = []
    for op in ops:
        if not isinstance(op, ONCE):
            continue
        shape = written_shape(op)
        if isinstance(shape, str):
            return shape
        choices.append(
            [
                (op, Part(dim, size // count, needed_to_write(op, dim)))
                for dim, size in enumerate(shape)
                if size % count == 0 and size // count >= least
            ]
        )
        if not choices[-1]:
            sizes = "x".join(map(str, shape))
            return f"{op.name} of {sizes} is too small for {count} parts"
    reasons: list[str] = []
    for writes in product(*choices) if choices else ():
        found = Needs(count)
        why_not = found.of(ops, dict(writes))
        if why_not is None:
            return PartsPlan(count, dict(writes), found.parts, apart)
        reasons.append(why_not)
    return reasons[0] if reasons else "nothing is stored"


def loads_and_stores(func: tt.FuncOp) -> frozenset[tuple[int, int]] | str:
    """Return which arguments are to be apart, or why that cannot be a condition."""
    loaded, stored = set[SSAValue](), set[SSAValue]()
    for op in func.walk():
        if isinstance(op, (*LOADS, *WRITES)) and op.operands:
            bases = loaded if isinstance(op, LOADS) else stored
            bases.update(bases_of(op.operands[0]))
    args = func.body.block.args
    if not {*loaded, *stored} <= {*args}:
        return "memory is accessed at addresses"
    if loaded & stored:
        return "it stores to what it loads from"
    return frozenset((args.index(x), args.index(y)) for x in loaded for y in stored)


def written_shape(op: Operation) -> tuple[int, ...] | str:
    """Return the shape of what is written, or why that is not done in parts."""
    match op:
        case tt.StoreOp():
            found = block_type(op.value.type)
        case tt.AtomicRMWOp() if not op.result.uses:
            found = block_type(op.val.type)
        case tt.DescriptorStoreOp() | tt.DescriptorReduceOp():
            found = block_type(op.src.type)
        case _:
            found = None
    return f"{op.name} is computed once" if found is None else found.get_shape()


def block_type(type: Attribute) -> Tensor | None:
    """Return the tensor that a value is, or describes a block of memory for."""
    if isinstance(type, tt.PtrType):
        type = type.pointee
    elif isinstance(type, tt.TensorDescType):
        type = type.block
    return type if is_tensor(type) else None


def cut_type(type: Attribute, part: Part) -> Attribute:
    """Return the type of a part of a tensor, or of what describes a block of memory."""
    if isinstance(type, tt.PtrType):
        return tt.PtrType.of(cut_type(type.pointee, part))
    if isinstance(type, tt.TensorDescType):
        return tt.TensorDescType(cut_type(type.block, part))
    assert is_tensor(type), type
    sizes = enumerate(type.get_shape())
    shape = [part.size if dim == part.dim else size for dim, size in sizes]
    return TensorType(type.element_type, shape)


# What a part of a result needs of operands, by operation.


def along(op: Operation, dim: int) -> Dimensions:
    return [dim if block_type(x.type) is not None else None for x in op.operands]


def of_block(op: BlockOp, dim: int) -> Dimensions:
    """Return which dimension of a descriptor is that of what is loaded or stored."""
    value = op.result if isinstance(op, tt.DescriptorLoadOp) else op.src
    rank, most = len(shape_of(value.type)), len(op.indices)
    place = dim
    if rank >= 2 and block_io(op) == "column_major" and dim >= rank - 2:
        place = 2 * rank - 3 - dim
    source = (
        [dim] if isinstance(op, tt.DescriptorStoreOp | tt.DescriptorReduceOp) else []
    )
    return [place + most - rank, *source, *[None] * most]


def reshaped(op: tt.ReshapeOp, dim: int) -> Dimensions | str:
    shapes = shape_of(op.src.type), shape_of(op.result.type)
    before, after = ([d for d, n in enumerate(x) if n > 1] for x in shapes)
    sizes = (
        [shape[d] for d in x] for shape, x in zip(shapes, (before, after), strict=True)
    )
    old, new = sizes
    if old == new or (dim == after[0] and old[0] == new[0]):
        return [before[after.index(dim)]]
    return "a view of other sizes is not split"


def of_product(op: tt.DotOp, dim: int) -> Dimensions:
    rank = len(shape_of(op.d.type))
    return [None if dim == rank - 1 else dim, None if dim == rank - 2 else dim, dim]


def of_scan(op: tt.ScanOp, dim: int) -> Dimensions | str:
    is_axis = dim == op.axis.value.data
    return (
        "a scan runs along the split dimension" if is_axis else [dim] * len(op.operands)
    )


def of_joined(op: tt.JoinOp, dim: int) -> Dimensions | str:
    is_last = dim == len(shape_of(op.operands[0].type))
    return "pairs are not split" if is_last else [dim, dim]


NEEDS: Mapping[type[Operation], Callable[[Any, int], Dimensions | str]] = {
    **dict.fromkeys(tt.ELEMENTWISE, along),
    **dict.fromkeys(
        (tt.AddPtrOp, tt.AdvanceOp, tt.BitcastOp, tt.IntToPtrOp, tt.LoadOp), along
    ),
    **dict.fromkeys((tt.PtrToIntOp, tt.SplitOp, ttg.ConvertLayoutOp), along),
    **dict.fromkeys(
        (tt.MakeRangeOp, tt.MakeTensorDescriptorOp, tt.MakeTensorPtrOp, tt.SplatOp),
        lambda op, dim: [None] * len(op.operands),
    ),
    arith.ConstantOp: lambda op, dim: (
        [] if is_splat(op.result) else "a constant has several numbers"
    ),
    tt.BroadcastOp: lambda op, dim: [None if shape_of(op.src.type)[dim] == 1 else dim],
    tt.DescriptorLoadOp: of_block,
    tt.DotOp: of_product,
    tt.ExpandDimsOp: lambda op, dim: [dim - (dim > op.axis.value.data)],
    tt.GatherOp: lambda op, dim: [None if dim == op.axis.value.data else dim, dim],
    tt.JoinOp: of_joined,
    tt.ReduceOp: lambda op, dim: [dim + (dim >= op.axis.value.data)] * len(op.operands),
    tt.ReshapeOp: reshaped,
    tt.ScanOp: of_scan,
    tt.TransOp: lambda op, dim: [op.permutation[dim]],
}


def needed_to_write(op: Operation, dim: int) -> Dimensions:
    is_block = isinstance(op, tt.DescriptorStoreOp | tt.DescriptorReduceOp)
    return of_block(op, dim) if is_block else along(op, dim)


@dataclass(slots=True)
class Needs:
    """What parts need, as far as it is known."""

    count: int
    parts: dict[SSAValue, dict[int, Part]] = field(
        default_factory=dict[SSAValue, dict[int, Part]]
    )
    whole: set[SSAValue] = field(default_factory=set[SSAValue])

    def of(
        self, ops: Iterable[Operation], writes: Mapping[Operation, Part]
    ) -> str | None:
        """Find what parts need for all that is written, or return why it is not cut."""
        todo: list[tuple[SSAValue, int | None]] = []
        for op in ops:
            if op in writes:
                todo += zip(op.operands, writes[op].needs, strict=True)
            elif isinstance(op, scf.ForOp):
                todo += ((x, None) for x in (op.lb, op.ub, op.step))
            elif isinstance(op, scf.IfOp | scf.ConditionOp):
                todo.append((op.operands[0], None))
        while todo:
            value, dim = todo.pop()
            if value in self.whole if dim is None else dim in self._dims(value):
                continue
            found = self._whole(value) if dim is None else self._part(value, dim)
            if isinstance(found, str):
                return found
            todo += found
        return None

    def _whole(self, value: SSAValue) -> list[tuple[SSAValue, int | None]] | str:
        self.whole.add(value)
        if (group := self._passed(value, None)) is not None:
            return group
        owner = value.owner
        if isinstance(owner, SLOW):
            return f"each part needs all that {owner.name} makes"
        operands = () if isinstance(owner, Block) else owner.operands
        return [(x, None) for x in operands]

    def _part(
        self, value: SSAValue, dim: int
    ) -> list[tuple[SSAValue, int | None]] | str:
        block, owner = block_type(value.type), value.owner
        assert block is not None, value
        size, rest = divmod(block.get_shape()[dim], self.count)
        if rest:
            return "sizes are no multiples of the parts"
        known = self.parts.setdefault(value, {})
        known[dim] = Part(dim, size)
        if (group := self._passed(value, dim)) is not None:
            return group
        assert isinstance(owner, Operation), value
        if (rule := NEEDS.get(type(owner))) is None:
            return f"the result of {owner.name} is not split"
        needs = rule(owner, dim)
        if isinstance(needs, str):
            return needs
        known[dim] = Part(dim, size, needs)
        return [*zip(owner.operands, needs, strict=True)]

    def _passed(
        self, value: SSAValue, dim: int | None
    ) -> list[tuple[SSAValue, int | None]] | str | None:
        """Return what else control flow makes of a value that it passes on.

        None if the value does not come from control flow.
        """
        flow = definer(value)
        if not isinstance(flow, scf.ForOp | scf.IfOp | scf.WhileOp):
            return None
        if dim is not None and isinstance(flow, scf.WhileOp):
            return f"a result of {flow.name} is not split"
        group = {x for group in links(flow, {}) if value in group for x in group}
        own = (x for x in group if flow in (x.owner, x.owner.parent_op()))
        if len({dim}.union(*map(self._dims, own))) > 1:
            return f"{flow.name} passes on what parts need in several ways"
        return [(x, dim) for x in group]

    def _dims(self, value: SSAValue) -> set[int | None]:
        whole: set[int | None] = {None} if value in self.whole else set()
        return whole | {*self.parts.get(value, ())}


# --- the program ---


def cut_program(func: tt.FuncOp, plan: PartsPlan, subgroups: int) -> None:
    """Let subgroups do the parts of a program, in rounds if there are more parts."""
    block, body = func.body.block, Block(arg_types=[i32])
    (*ops, last) = block.ops
    if subgroups == plan.count:
        cut(func, plan, Builder(block, ops[0], func.location).id("warp"))
        return
    for op in ops:
        op.detach()
        body.add_op(op)
    body.add_op(scf.YieldOp())
    b, part = Builder.at(last), body.args[0]
    rounds, step = plan.count // subgroups, b.constant(i32, 1)
    lower, upper = (b.constant(i32, x) for x in (0, rounds))
    part.name_hint = "part"
    b.effect(scf.ForOp(lower, upper, step, [], body))
    if subgroups > 1:
        inside = Builder(body, body.first_op, func.location)
        first = inside.pure(arith.MuliOp, part, inside.constant(i32, subgroups))
        part = inside.pure(arith.AddiOp, first, inside.id("warp"))
    cut(func, plan, part)


def cut(func: tt.FuncOp, plan: PartsPlan, number: SSAValue) -> None:
    """Make a program do the part of a number alone."""
    parts = Parts(plan, number)
    for op in list(func.walk()):
        parts.cut(op)
    for op in reversed(list(func.walk())):
        is_read = isinstance(op, LOADS) or is_side_effect_free(op)
        is_free = bool(op.results) and is_read and not any(x.uses for x in op.results)
        if op in plan.writes or is_free:
            Rewriter.erase_op(op)


@dataclass(slots=True)
class Parts:
    """A program while it is cut."""

    plan: PartsPlan
    number: SSAValue
    """Of the part, an i32."""
    made: dict[tuple[SSAValue, int], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, int], SSAValue]
    )
    """Parts of values along a dimension."""
    carried: dict[Operation | None, dict[int, int]] = field(
        default_factory=dict["Operation | None", dict[int, int]]
    )
    """Along which dimensions a loop or a branch passes on parts, by number."""

    def take(self, value: SSAValue, dim: int | None) -> SSAValue:
        return value if dim is None else self.made[value, dim]

    def cut(self, op: Operation) -> None:
        """Write what a part needs of what an operation makes, in front of it."""
        if isinstance(op, scf.ForOp | scf.IfOp):
            self._pass_on(op)
        elif isinstance(op, scf.YieldOp):
            for number, dim in self.carried.get(op.parent_op(), {}).items():
                op.operands[number] = self.take(op.operands[number], dim)
        elif (part := self.plan.writes.get(op)) is not None:
            self._like(op, part)
        else:
            for result in op.results:
                for dim, part in self.plan.parts.get(result, {}).items():
                    if (result, dim) not in self.made:
                        new = self._like(op, part)
                        pairs = zip(op.results, new, strict=True)
                        self.made |= {(x, dim): value for x, value in pairs}

    def _like(self, op: Operation, part: Part) -> Sequence[SSAValue]:
        """Write an operation for a part, and return its results."""
        b = Builder.at(op)
        types = [cut_type(x.type, part) for x in op.results]
        if isinstance(op, arith.ConstantOp):
            dense: Any = op.value
            return [b.constant(types[0], dense.get_values()[0])]
        if isinstance(op, tt.MakeRangeOp):
            start = op.start.value.data
            here = b.effect(tt.MakeRangeOp(start, start + part.size, types[0])).result
            first = b.effect(tt.SplatOp(self._first(b, part), types[0])).result
            return [b.pure(arith.AddiOp, here, first)]
        pairs = zip(op.operands, part.needs, strict=True)
        operands = [self.take(*each) for each in pairs]
        if (places := places_of(op)) is not None:
            dim = part.needs[0]
            at = places + (part.dim if dim is None else dim)
            operands[at] = b.pure(arith.AddiOp, operands[at], self._first(b, part))
        new = b.like(op, operands, types, [x.clone() for x in op.regions])
        for old, value in zip(op.results, new.results, strict=True):
            value.name_hint = old.name_hint
        return new.results

    def _first(self, b: Builder, part: Part) -> SSAValue:
        """Return the first index of a part."""
        return b.pure(arith.MuliOp, self.number, b.constant(i32, part.size))

    def _pass_on(self, op: scf.ForOp | scf.IfOp) -> None:
        """Let a loop carry parts, or a branch have them as results."""
        carried = self.carried[op] = dict[int, int]()
        for number, result in enumerate(op.results):
            for dim, part in self.plan.parts.get(result, {}).items():
                carried[number] = dim
                passed: list[SSAValue] = [result]
                if isinstance(op, scf.ForOp):
                    passed.append(op.body.block.args[1 + number])
                    op.operands[3 + number] = self.take(op.iter_args[number], dim)
                type = cut_type(result.type, part)
                for old in passed:
                    new = Rewriter.replace_value_with_new_type(old, type)
                    self.made[new, dim] = new


def places_of(op: Operation) -> int | None:
    """Return which operand says first where in memory a block begins, if one does."""
    match op:
        case tt.DescriptorLoadOp() | tt.DescriptorStoreOp() | tt.DescriptorReduceOp():
            return len(op.operands) - len(op.indices)
        case tt.MakeTensorPtrOp():
            return len(op.operands) - len(op.offsets)
        case _:
            return None
