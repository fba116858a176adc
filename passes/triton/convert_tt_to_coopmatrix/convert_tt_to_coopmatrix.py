"""convert-tt-to-coopmatrix: lowers Triton kernels to subgroups with matrices.

Before:  Triton kernels, with calls inlined and Triton's arithmetic expanded. Layouts
         are ignored. The module has a target, or `subgroup-size` is given.
After:   kernels whose work-groups are one subgroup, which runs one program. Tensors
         from memory, loops and products are in work-group memory; all others are
         computed where their elements are used. `tt.dot` becomes coopmatrix.mul_add of
         tiles. No operation of `tt`, `ttg` and `ttig` is left.
Fails:   if an operation cannot be converted, naming the first. The module is then
         unchanged.

    tt.func @f(%p: !tt.ptr<f16>, %n: i32)
    func.func @f(%p: memref<f16>, %n: i32)
        attributes {simt.kernel, simt.subgroup_size, simt.work_group_size}

A loop-carried tensor has a buffer, unless it only advances by a constant amount: then
it is computed from the iteration number. Buffers are allocated where they are first
written; `share-workgroup-memory` places them.

With `shared=true`, several subgroups run a program if its accumulators or its work can
be divided among them; they stage common operands in work-group memory. Otherwise, a
program whose buffers exceed work-group memory is processed part by part, or its lanes
keep elements that no other lane needs in private memory.

With `rounds=true`, `tt.dot` operands that are blocks of memory are loaded as matrices,
and a loop that only accumulates products is repeated for each block of accumulators,
together with the code that stores them (rounds.py). The kernel may then require that
two arguments do not overlap; with `fallback=true` it gets a second entry point without
that condition, in which loops are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import (
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.device import Device
from coopc.dialects import coopmatrix, simt, tt, ttg, ttig
from coopc.dialects.layout import CoopmatrixAttr
from coopc.dialects.llvm_assume import AssumeOp
from coopc.dialects.narrow import is_tensor
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import ShuffleMode
from coopc.dialects.tt.types import in_memory, shape_of, without
from coopc.interface import SECOND_ENTRY, Condition
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.device_option import device_of
from coopc.ir.transaction import Refused, transaction
from coopc.layout.family import CoopmatrixFamily
from coopc.passes.coopmatrix.supported_tiles import HeldMatrices
from coopc.passes.generic.share_workgroup_memory import shared_bytes
from coopc.passes.triton.access_order import may_conflict, waiting_accesses
from coopc.passes.triton.convert_tt_to_coopmatrix import (
    accesses,
    carried_values,
    in_matrices,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.kept_sums import loop
from coopc.passes.triton.convert_tt_to_coopmatrix.kernel import (
    Flag,
    NotShared,
    Rule,
    SubgroupOptions,
    TtKernel,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.own_elements import own_elements
from coopc.passes.triton.convert_tt_to_coopmatrix.parts import (
    LOADS,
    cut_program,
    plan_parts,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.products import dot, is_multiplied
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    WRITES,
    consumers,
    is_of_elements,
    is_pair,
    rematerialized,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.shared_rounds import (
    WHOLE,
    plan_shared,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.staged_factors import staged_loads
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    FIRST,
    FUNCTIONS,
    Coordinates,
    Pointer,
    Tensor,
    function_of,
    index,
    splat_tensor,
    unflattened,
)
from coopc.passes.triton.dead_values import remove_dead
from coopc.passes.triton.layouts import remark_warps
from coopc.passes.triton.memory import update_memory
from coopc.passes.triton.normalize_tt_descriptors import make_host_descriptors
from coopc.passes.triton.origins import View
from coopc.plan.khr_table import way
from coopc.remarks import LEFT_OUT, remark, remarks_to

BLOCK = (32, 32)
"""Rows and columns of sums that a subgroup keeps, where a device does not say it."""
ALONE = "one subgroup runs a program"
PARTS = (8, 4, 2)
"""Subgroups that do a part of a program each, where there are so many."""
ROUNDS = (2, 4, 8, 16, 32)
SCRATCH_BYTES = 2048
"""Of work-group memory, that `legalize-coopmatrix-khr` may take for a subgroup's
matrices at edges."""
REASONS = {
    "tt.elementwise_inline_asm": "assembly is for one device",
}
"""Why operations are never converted, where there is more to say than that."""
DROPPED = {
    "tt.assert": "a kernel cannot stop with a message",
    "tt.print": "a kernel has no output to print to",
}
"""Why operations are left out."""


# Operations on tensors


def split(k: TtKernel, op: tt.SplitOp) -> None:
    src = k.tensor(op.src)
    for which, result in enumerate(op.results):

        def element(at: Coordinates, which: int = which) -> SSAValue:
            return k.elements.of(src, (*at, k.b.constant(INDEX, which)))

        found = Tensor(src.shape[:-1], element, None, src.reads, src.base)
        k.values.setdefault(result, found)


def splat(k: TtKernel, op: tt.SplatOp) -> None:
    value = k.values[op.src]
    assert not isinstance(value, Tensor), op
    k.values[op.result] = splat_tensor(shape_of(op.result.type), value)


def unsplat(k: TtKernel, op: tt.UnsplatOp) -> None:
    src = k.tensor(op.src)
    k.elements.known.clear()
    zeros = tuple(k.b.constant(INDEX, 0) for _ in src.shape)
    k.values[op.result] = k.elements.of(src, zeros)


def program(k: TtKernel, op: tt.GetProgramIdOp | tt.GetNumProgramsOp) -> None:
    is_id = isinstance(op, tt.GetProgramIdOp)
    make = simt.WorkgroupIdOp if is_id else simt.NumWorkgroupsOp
    found = k.b.effect(make(tuple(simt.Dimension)[op.program_axis])).results[0]
    k.values[op.result] = k.b.pure(arith.IndexCastOp, found, i32)


def barrier(k: TtKernel, op: ttg.BarrierOp | gpu.BarrierOp) -> None:
    k.b.effect(simt.BarrierOp())


def hint(k: TtKernel, op: Operation) -> None:
    """Nothing is left of it."""


def shared(k: TtKernel, op: ttg.LocalAllocOp | ttg.LocalLoadOp) -> None:
    """Take what a buffer of Triton is made of for what it holds."""
    src = op.init if isinstance(op, ttg.LocalAllocOp) else op.src
    changed = any(isinstance(x.operation, ttg.LocalStoreOp) for x in op.result.uses)
    if src is None or changed:
        raise Refused(op, "expected a buffer that is written once, when it is made")
    k.values[op.result] = k.values[src]


def drop(k: TtKernel, op: tt.AssertOp | tt.PrintOp) -> None:
    remark(op, f"{LEFT_OUT}: {DROPPED[op.name]}")


def of_elements(k: TtKernel, op: Operation) -> None:
    """Let tensors be computed where they are used, or once, if that is less."""
    refuse(op, type(op) in FUNCTIONS)
    is_repeated = isinstance(op, tt.GatherOp | tt.BroadcastOp)
    if is_repeated and k.tensor(op.src).reads and not k.is_loaded(op.src):
        k.in_buffer(op.src)
    values = [k.values[x] for x in op.operands]
    srcs = [
        splat_tensor((), x) if isinstance(x, SSAValue) else x
        for x in values
        if isinstance(x, SSAValue | Tensor)
    ]
    for result in op.results:
        found = function_of(k.elements, op, srcs, result)
        k.values[result] = found
        is_kept = bool(found.reads) and not found.in_rounds
        is_kept = is_kept and bool(result.uses)
        is_kept = is_kept and result not in k.users and result not in k.repeated
        if is_kept and not isinstance(op, View) and not k.is_loaded(result):
            k.in_buffer(result)


def scalar(k: TtKernel, op: Operation) -> None:
    """Write an operation on numbers and pointers."""
    if (pointer := accesses.pointer_of(k, op)) is not None:
        k.values[op.results[0]] = pointer
        return
    known = op.dialect_name() not in ("tt", "ttg", "ttig")
    is_of_tensors = any(is_tensor(x.type) for x in op.operands)
    refuse(op, known and not op.regions and not is_of_tensors)
    operands = dict(zip(op.operands, k.numbers(op.operands), strict=True))
    new = k.b.effect(op.clone(dict[SSAValue, SSAValue](operands)))
    k.values.update(zip(op.results, new.results, strict=True))


def refuse(op: Operation, is_known: bool) -> None:
    if not is_known:
        what = REASONS.get(op.name, "no engine has it")
        raise Refused(op, f"not supported: {what}")


# Reductions, scans and the like: what regions make of elements, into buffers

Put: TypeAlias = Callable[[SSAValue], Coordinates]
"""From a place along the axis to the coordinates of an element."""
Combined: TypeAlias = Callable[[TtKernel, tt.ReduceOp, Sequence[Tensor], Put], Values]
"""What a reduction makes of the elements along its axis."""


def elements_at(k: TtKernel, srcs: Sequence[Tensor], at: Coordinates) -> Values:
    return tuple(k.elements.of(x, at) for x in srcs)


def buffers(k: TtKernel, op: Operation, name: str) -> list[Tensor]:
    """Return a buffer for each result, which is noted."""
    found = [k.buffer(shape_of(x.type), element_of(x.type), name) for x in op.results]
    k.values.update(zip(op.results, found, strict=True))
    return found


def put_all(
    k: TtKernel, targets: Sequence[Tensor], at: Coordinates, values: Values
) -> Values:
    """Store an element of each of several tensors; return these."""
    for target, value in zip(targets, values, strict=True):
        k.put(target, at, value)
    return values


def reduce(k: TtKernel, op: tt.ReduceOp) -> None:
    """Combine elements along an axis, to tensors or scalars."""
    b, axis, srcs = k.b, op.axis.value.data, k.tensors(op.srcs)
    shape, size = without(srcs[0].shape, axis), srcs[0].shape[axis]
    if is_pair(op) and k.is_loaded(op.srcs[0]):
        k.values[op.results[0]] = pair(k, op, srcs[0])
        return
    is_shared = size % k.options.lanes == 0
    combined = of_lanes if is_shared else in_turn

    def row(at: Coordinates, combined: Combined = in_turn) -> Values:
        return combined(k, op, srcs, lambda x: (*at[:axis], x, *at[axis:]))

    if not shape:
        k.elements.known.clear()
        found = row((), combined)
        k.values.update(zip(op.results, found, strict=True))
        return
    targets = buffers(k, op, "reduced")

    def of_row(number: BoundedIndex, _: Values) -> Values:
        at = unflattened(b, b.index(number), shape)
        values, is_first = row(at, of_lanes), b.equal(b.lane(k.options.lanes), 0)
        b.branch(is_first, lambda: put_all(k, targets, at, values))
        return ()

    is_alone = k.workers == k.options.lanes
    if not (is_shared and is_alone) or prod(shape) >= k.options.lanes:
        k.fill_each(shape, lambda at: put_all(k, targets, at, row(at)))
        return
    k.barrier()
    k.elements.known.clear()
    b.loop(prod(shape), (), of_row, name="row")
    k.barrier()


def of_lanes(k: TtKernel, op: tt.ReduceOp, srcs: Sequence[Tensor], put: Put) -> Values:
    """Combine elements that all lanes share: each its own, then with each other."""
    b, lanes, size = k.b, k.options.lanes, srcs[0].shape[op.axis.value.data]
    lane = b.lane(lanes)

    def next(t: BoundedIndex, sums: Values) -> Values:
        place = b.index(b.add(b.times(t, lanes), lane))
        here = elements_at(k, srcs, put(place))
        return k.inlined(op, op.combine, (*sums, *here))

    sums = elements_at(k, srcs, put(b.index(lane)))
    sums = b.loop(size // lanes, sums, next, name="part", start=1)
    step = lanes // 2
    while step:
        apart = b.constant(INDEX, step)
        others = [b.shuffle(x, apart, ShuffleMode.XOR) for x in sums]
        sums = k.inlined(op, op.combine, (*sums, *others))
        step //= 2
    return tuple(b.from_lane(x, FIRST) for x in sums)


def in_turn(k: TtKernel, op: tt.ReduceOp, srcs: Sequence[Tensor], put: Put) -> Values:
    """Combine elements one after the other."""
    b, size = k.b, srcs[0].shape[op.axis.value.data]

    def next(t: BoundedIndex, sums: Values) -> Values:
        here = elements_at(k, srcs, put(b.index(t)))
        return k.inlined(op, op.combine, (*sums, *here))

    sums = elements_at(k, srcs, put(b.constant(INDEX, 0)))
    return b.loop(size, sums, next, name="at", start=1)


def pair(k: TtKernel, op: tt.ReduceOp, src: Tensor) -> Tensor:
    """Return the tensor of pairs combined, each where it is used."""
    axis = op.axis.value.data

    def element(at: Coordinates) -> SSAValue:
        one, other = (
            k.elements.of(src, (*at[:axis], k.b.constant(INDEX, x), *at[axis:]))
            for x in range(2)
        )
        return k.inlined(op, op.combine, (one, other))[0]

    return Tensor(without(src.shape, axis), element, None, src.reads)


def scan(k: TtKernel, op: tt.ScanOp) -> None:
    """Combine each element with what is before it."""
    b, axis, srcs = k.b, op.axis.value.data, k.tensors(op.srcs)
    shape, size = without(srcs[0].shape, axis), srcs[0].shape[axis]
    targets = buffers(k, op, "scanned")

    def of_row(at: Coordinates) -> None:
        at = at if shape else ()

        def put(t: BoundedIndex) -> Coordinates:
            place = b.index(t)
            if op.reverse.value.data:
                place = b.pure(arith.SubiOp, b.constant(INDEX, size - 1), place)
            return (*at[:axis], place, *at[axis:])

        def next(t: BoundedIndex, sums: Values) -> Values:
            here = put(t)
            sums = k.inlined(op, op.combine, (*sums, *elements_at(k, srcs, here)))
            return put_all(k, targets, here, sums)

        first = put(FIRST)
        sums = put_all(k, targets, first, elements_at(k, srcs, first))
        b.loop(size, sums, next, name="at", start=1)

    k.fill_each(shape or (1,), of_row)


def map_elementwise(k: TtKernel, op: tt.MapElementwiseOp) -> None:
    """Fill tensors with what a region makes of elements, `pack` at a time."""
    b, pack, srcs = k.b, op.pack.value.data, k.tensors(op.srcs)
    *rows, cols = srcs[0].shape
    if cols % pack:
        what = f"rows of a multiple of {pack} elements, which a call takes"
        raise Refused(op, f"expected {what}, got {cols}")
    targets = buffers(k, op, "mapped")

    def call(at: Coordinates) -> None:
        *row, group = at
        first = b.pure(arith.MuliOp, group, b.constant(INDEX, pack))
        places = [(*row, b.plus(first, x)) for x in range(pack)]
        given = [k.elements.of(x, place) for x in srcs for place in places]
        found = iter(k.inlined(op, op.scalar_op, tuple(given)))
        for target in targets:
            for place in places:
                k.put(target, place, next(found))

    k.fill_each((*rows, cols // pack), call)


def histogram(k: TtKernel, op: tt.HistogramOp) -> None:
    """Count how many elements are 0, 1, 2, ..."""
    b, src = k.b, k.tensor(op.src)
    mask = None if op.mask is None else k.tensor(op.mask)
    result = k.buffer(shape_of(op.result.type), i32, "counts")
    k.values[op.result], memory = result, result.buffer
    assert memory is not None, op
    k.fill(result, lambda at: b.constant(i32, 0))

    def count(at: Coordinates) -> None:
        place = index(b, k.elements.of(src, at))
        flag: Flag = b.compare("ult", place, b.constant(INDEX, result.shape[0]))
        if mask is not None:
            flag = b.both(flag, k.elements.of(mask, at))
        one = b.constant(i32, 1)
        b.effect_where(flag, lambda: update_memory(tt.Update.ADD, memory, one, [place]))

    k.for_each(src.shape, count)
    k.barrier()


RULES: Mapping[type[Operation], Rule] = {
    **accesses.RULES,
    **carried_values.RULES,
    **dict.fromkeys((gpu.BarrierOp, ttg.BarrierOp), barrier),
    **dict.fromkeys((tt.AssertOp, tt.PrintOp), drop),
    **dict.fromkeys((tt.GetNumProgramsOp, tt.GetProgramIdOp), program),
    **dict.fromkeys((ttg.LocalAllocOp, ttg.LocalLoadOp), shared),
    **dict.fromkeys(
        (
            AssumeOp,
            ttg.LocalDeallocOp,
            ttig.DescriptorPrefetchOp,
            ttig.PrefetchOp,
        ),
        hint,
    ),
    scf.ForOp: loop,
    tt.DotOp: dot,
    tt.HistogramOp: histogram,
    tt.MapElementwiseOp: map_elementwise,
    tt.ReduceOp: reduce,
    tt.ScanOp: scan,
    tt.SplatOp: splat,
    tt.SplitOp: split,
    tt.UnsplatOp: unsplat,
}
"""How an operation is written that is neither arithmetic nor a view."""


def write(k: TtKernel, op: Operation) -> None:
    if op in k.waiting:
        k.wait()
    if in_matrices.takes(k, op):
        return
    is_of_tensors = any(is_tensor(x.type) for x in op.results)
    RULES.get(type(op), of_elements if is_of_tensors else scalar)(k, op)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that does what one of Triton does."""

    func: FuncOp
    apart: frozenset[tuple[int, int]] = frozenset()
    """Numbers of arguments that are loaded from, and stored to, and may not overlap."""
    rematerializes: bool = False
    """Whether it computes elements once more, which saves buffers."""


def convert_function(
    ctx: Context,
    old: tt.FuncOp,
    options: SubgroupOptions,
    fallback: bool,
    shared: bool,
) -> list[FuncOp]:
    """Return the kernel that does what a kernel of Triton does.

    With `fallback`, another one follows if this one has conditions; with `shared`,
    subgroups of the device share what it does, if they can.
    """
    found, device = None, options.device
    if device is not None and shared:
        found = in_subgroups(ctx, old, options, device)
        if isinstance(found, str):
            remark(old, f"{ALONE}: {found}")
    if not isinstance(found, Kernel):
        found = in_subgroup(ctx, old, options)
        if device is not None:
            found = in_rounds(ctx, old, options, device, found)
    func = found.func
    if not found.apart:
        return [func]
    pairs = sorted((stored, loaded) for loaded, stored in found.apart)
    why = "something is stored before all is loaded"
    simt.add_conditions(
        func,
        (Condition("memory", x, apart_from_argument=y, why=why) for x, y in pairs),
    )
    if not fallback:
        return [func]
    options = replace(options, rematerialize=found.rematerializes)
    with remarks_to(lambda line: None):
        second, _ = written(ctx, old, options, frozenset(old.walk()))
    second.sym_name = StringAttr(func.sym_name.data + SECOND_ENTRY)
    return [func, second]


def leave_to_lanes(kernels: Sequence[FuncOp], device: Device, lanes: int) -> None:
    """Let lanes hold the matrices of kernels with products that DPAS does not do."""
    from coopc.passes.xe.register_layout import why_not_dpas  # of this engine alone

    ops = [x for func in kernels for x in func.walk()]
    products = [x for x in ops if isinstance(x, coopmatrix.MulAddOp)]
    reasons = ((x, why_not_dpas(x, device, lanes)) for x in products)
    for op, reason in reasons:
        if reason is not None:
            remark(op, f"the kernel's products are computed by lanes: {reason}")
            for func in kernels:
                func.attributes[coopmatrix.DISTRIBUTION] = CoopmatrixAttr(
                    CoopmatrixFamily()
                )
            return


def in_subgroup(ctx: Context, old: tt.FuncOp, options: SubgroupOptions) -> Kernel:
    """Return a kernel whose programs are those of one subgroup."""
    func, kernel = written(ctx, old, options, frozenset())
    if same := loops_in_place(func, kernel):
        with remarks_to(lambda line: None):  # they were made before
            func, kernel = written(ctx, old, options, same)
    return Kernel(func, conditions(func, kernel), options.rematerialize)


def loops_in_place(func: FuncOp, kernel: TtKernel) -> frozenset[Operation]:
    """Return loops of which the host cannot say that no factor is stored to."""
    # The host compares memory of arguments only.
    return frozenset(
        loop
        for (loaded, stored), loop in kernel.apart.items()
        if loaded is stored or not {loaded, stored} <= {*func.args}
    )


def conditions(func: FuncOp, kernel: TtKernel) -> frozenset[tuple[int, int]]:
    """Return which arguments are to be apart: what is loaded, and what is stored."""
    return frozenset(
        (func.args.index(loaded), func.args.index(stored))
        for loaded, stored in kernel.apart
        if loaded is not None and stored is not None
    )


def in_subgroups(
    ctx: Context, old: tt.FuncOp, options: SubgroupOptions, device: Device
) -> Kernel | str:
    """Return a kernel of work-groups whose subgroups share a program, or why not.

    They share its sums, else each does a part of it.
    """
    reason = plans = plan_shared(old, device)
    if not isinstance(plans, str):
        sharing = replace(options, block=WHOLE, aligns_rows=True, shared=plans)
        try:
            func, kernel = written(ctx, old, sharing, frozenset())
            check_memory(func, device)
        except NotShared as error:
            reason = str(error)
        else:
            if not loops_in_place(func, kernel):
                return Kernel(func, conditions(func, kernel))
            reason = "it may store to memory that it loads operands from"
    assert isinstance(reason, str), old
    dots = [x for x in old.walk() if isinstance(x, tt.DotOp)]
    least, why_not = options.tile[0] if dots else 1, ""
    if not all(is_multiplied(x, device) for x in dots):
        # Work-group memory would hold matrices of each subgroup.
        return f"{reason}, and {device.name} has no matrices for a product"
    for subgroups, rounds in product(PARTS, (1, *ROUNDS)):
        sharing = replace(options, parts=subgroups)
        found = in_parts(ctx, old, sharing, subgroups * rounds, least)
        if isinstance(found, str):
            why_not = found
            continue
        size = bytes_of_parts(found.func, device, subgroups)
        if size <= device.limits.local_bytes:
            if dots:
                turns = f", in {rounds} rounds" if rounds > 1 else ""
                remark(
                    old, f"{subgroups} subgroups compute a part each{turns}: {reason}"
                )
            return found
        why_not = f"{subgroups} parts take {size} bytes of buffers"
    return f"{reason}, and {why_not}"


def bytes_of_parts(func: FuncOp, device: Device, subgroups: int) -> int:
    """Return the work-group memory of subgroups, with that for legalized matrices.

    These are matrices at edges, and those that the device does not convert itself.
    """
    from coopc.passes.khr.legalize_coopmatrix_khr.legalize_coopmatrix_khr import (
        facts_of,  # of this engine alone
    )

    ops, target = list(func.walk()), HeldMatrices(device, {})
    loads = (x for x in ops if isinstance(x, coopmatrix.LoadOp))
    is_at_edges = any(x.checked is not None for x in loads)
    staged = {
        (*matrix.shape, matrix.element_bits)
        for op in ops
        if isinstance(op, coopmatrix.ConvertOp)
        and way("convert", facts_of(op, target), device).form == "staged"
        for matrix in map(coopmatrix.matrix_type, (op.value, op.result))
    }
    scratch = max(is_at_edges * SCRATCH_BYTES, sum(map(prod, staged)) // 8)
    return shared_bytes(func) + subgroups * scratch


def in_rounds(
    ctx: Context,
    old: tt.FuncOp,
    options: SubgroupOptions,
    device: Device,
    whole: Kernel,
) -> Kernel:
    """Return a kernel that does a program in parts, if it has no room as a whole.

    If it cannot, elements are computed once more, for which no buffer is needed, or
    each lane has a buffer of its own.
    """
    size, most = shared_bytes(whole.func), device.limits.local_bytes
    if size <= most:
        return whole
    room = f"its buffers take {size} bytes, {device.name} has room for {most}"
    why = ""
    has_dots = any(isinstance(x, tt.DotOp) for x in old.walk())
    leasts = (options.tile[0], 1) if has_dots else (1,)  # rather whole tiles
    for count, least in product(ROUNDS, leasts):
        found = in_parts(ctx, old, options, count, least)
        if isinstance(found, str):
            if least > 1:
                continue
            why = f", and it cannot be computed in rounds: {found}"
            break
        if shared_bytes(found.func) <= most:
            remark(old, f"{room}: it is computed in {count} rounds")
            return found
    with remarks_to(lambda line: None):  # they were made before
        found = in_subgroup(ctx, old, replace(options, rematerialize=True))
    if shared_bytes(found.func) <= most:
        remark(old, f"{room}: elements are rematerialized, not buffered{why}")
        return found
    draft = whole.func.clone()
    if own_elements(draft, options.lanes) and shared_bytes(draft) <= most:
        remark(old, f"{room}: lanes keep their elements in private memory{why}")
        return replace(whole, func=draft)
    remark(old, f"{room}{why}")
    return whole


def in_parts(
    ctx: Context, old: tt.FuncOp, options: SubgroupOptions, count: int, least: int
) -> Kernel | str:
    """Return a kernel that does a program in parts, or why there is none.

    A part stores `least` indices at least; the options say how many subgroups do the
    parts.
    """
    draft = old.clone()
    make_host_descriptors(draft)
    remove_dead(draft)  # what nobody needs is not cut
    plan = plan_parts(draft, count, least)
    if isinstance(plan, str):
        return plan
    whole = {x for x in draft.walk() if isinstance(x, LOADS)}
    cut_program(draft, plan, options.parts)
    if options.parts > 1 and options.device is not None:
        left = (x for x in draft.walk() if x in whole)
        common = staged_loads(left, options.work_items, options.device)
        options = replace(options, common=common)
    try:
        func, kernel = written(ctx, draft, options, frozenset())
    except Refused as error:  # of the whole program it names the operation
        return error.reason
    if loops_in_place(func, kernel):
        return "it may store to memory that it loads operands from"
    return Kernel(func, plan.apart)


def check_memory(func: FuncOp, device: Device) -> None:
    """Check that the buffers of a kernel fit into work-group memory.

    Raises:
        NotShared: they do not.
    """
    size, most = shared_bytes(func), device.limits.local_bytes
    if size > most:
        raise NotShared(f"{size} bytes of buffers, {device.name} has room for {most}")


def remark_sharing(old: tt.FuncOp, device: Device) -> None:
    """Say of a kernel that it would be faster if subgroups shared what it does."""
    if device.shares_gemm and not isinstance(plan_shared(old, device), str):
        remark(
            old,
            f"{ALONE}; with staged=true several share it, and tiles in work-group "
            f"memory, which is far faster on {device.name}",
        )


def written(
    ctx: Context,
    old: tt.FuncOp,
    options: SubgroupOptions,
    in_place: frozenset[Operation],
) -> tuple[FuncOp, TtKernel]:
    """Write a kernel anew; loops that are `in_place` are not around statements."""
    if not old.is_kernel:
        what = f"a kernel, got @{old.sym_name.data}: inline what is called"
        raise Refused(old, f"expected {what}")
    if len(old.body.blocks) != 1:
        what = f"structured control flow, got {len(old.body.blocks)} blocks"
        raise Refused(old, f"expected {what}")
    make_host_descriptors(old)
    args = old.body.block.args
    for arg in args:
        if is_tensor(arg.type):
            what = f"scalars, pointers and descriptors as arguments, got {arg.type}"
            raise Refused(old, f"expected {what}")
    types = [
        MemRefType(in_memory(x.type.pointee), [])
        if isinstance(x.type, tt.PtrType)
        else x.type
        for x in args
    ]
    entry = Block(arg_types=types)
    func = FuncOp(old.sym_name.data, FunctionType.from_lists(types, []), Region(entry))
    func.location = old.location
    func.attributes[simt.KERNEL] = UnitAttr()
    simt.set_sizes(func, options.lanes, (options.work_items,))
    b = Builder.at_end(entry, old.location)
    again = options.rematerialize
    users = consumers(old, WRITES if again else ())  # they may write to what is loaded
    repeated = rematerialized(old, users) if again else frozenset[SSAValue]()
    waiting = frozenset[Operation]()
    if options.work_items > 1:
        has_sums = any(isinstance(x, tt.DotOp) for x in old.walk())
        block = old.body.block
        waiting |= {*waiting_accesses(block, partial(must_wait, has_sums=has_sums))}
    kernel = TtKernel(ctx, b, options, write, in_place, users, repeated, waiting)
    for arg, new in zip(args, entry.args, strict=True):
        new.name_hint, new.location = arg.name_hint, arg.location
        is_pointer = isinstance(arg.type, tt.PtrType)
        kernel.values[arg] = Pointer(new, b.constant(i64, 0)) if is_pointer else new
    kernel.block(old.body.block)
    b.effect(ReturnOp())
    return func, kernel


def must_wait(first: Operation, second: Operation, has_sums: bool) -> bool:
    """Whether lanes wait between two accesses, which one lane may not do for itself.

    A lane has the same elements of all tensors, unless a kernel `has_sums`.
    """
    pointers = first.operands[0]
    is_same = is_tensor(pointers.type) and pointers is second.operands[0]
    both = first, second
    is_own = is_same and not has_sums and all(map(is_of_elements, both))
    return not is_own and may_conflict(first, second)


@dataclass(frozen=True)
class ConvertTtToCoopmatrixPass(ModulePass):
    name = "convert-tt-to-coopmatrix"

    subgroup_size: int | None = None
    """Subgroup size; by default the device's."""
    device: str | None = None
    """The device, if the module has no target."""
    tile: tuple[int, ...] = (16, 16, 16)
    """The most M, N and K of one product."""
    rounds: bool = False
    """Load operands from memory as matrices where the device can, and keep accumulators
    in matrices, as many at a time as suit it."""
    fallback: bool = False
    """Give kernels that have conditions a second entry point, `.fallback`."""
    shared: bool = False
    """Run a program on several subgroups, if it only stores results of products or can
    be split in parts; requires `rounds`."""
    dpas: bool = False
    """Target DPAS: kernels with products that DPAS does not support get the lane
    distribution `#layout.coopmatrix`, with a remark."""

    def __post_init__(self) -> None:
        lanes = self.subgroup_size
        if lanes is not None and (lanes < 1 or lanes & (lanes - 1)):
            what = "expected a subgroup size that is a power of two"
            raise ValueError(f"{what}, got {lanes}")
        if len(self.tile) != 3 or any(n < 1 or n & (n - 1) for n in self.tile):
            what = "expected tile = m,n,k, powers of two"
            raise ValueError(f"{what}, got {','.join(map(str, self.tile))}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert `op`, if it has kernels of Triton."""
        if not any(isinstance(each, tt.FuncOp) for each in op.ops):
            return
        m, n, k = self.tile
        options = SubgroupOptions(self.subgroup_size or 0, (m, n, k))
        device: Device | None = None
        if self.rounds or not options.lanes:
            if self.device is None and simt.target_of(op) is None:
                what = f"expected a target, or {self.name}{{subgroup-size=..}}"
                raise PassFailedException(f"{what}, got neither")
            device = device_of(self.device, op, self.name)
            options = replace(options, lanes=options.lanes or device.subgroup_size)
            if self.rounds:
                tiles = device.gemm_tiles
                options = replace(
                    options,
                    block=tiles[0].subgroup if tiles else BLOCK,
                    aligns_rows=device.aligned_rows,
                    device=device,
                )
        facts = tt.ModuleFacts.of(op)
        with transaction(op) as draft:
            for each in list(draft.ops):
                if isinstance(each, tt.FuncOp):
                    if device is not None and not self.shared:
                        remark_sharing(each, device)
                    new = convert_function(
                        ctx, each, options, self.fallback, self.shared
                    )
                    if not facts.says_threads:
                        group = simt.kernel_of(new[0]).subgroups
                        remark_warps(each, facts.num_warps, group)
                    if self.dpas and device is not None:
                        leave_to_lanes(new, device, options.lanes)
                    Rewriter.replace_op(each, new, [])
            tt.ModuleFacts.drop(draft)
