"""plan-block-io: decides which 2D block messages load and store tensors.

Before:  loads and stores of Triton tensors with encodings.
After:   each has `xe.plan`, messages that provably give every register of every lane
         and subgroup its element, or `xe.no_plan`, the reason why there is no plan;
         with `explain=true` both are also remarks. Accesses through pointers that are
         vectors per lane have `xe.vector`. A tensor that is only converted to another
         layout is loaded in that layout, if there is a plan for it.
Fails:   for unknown devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc import device as devices
from coopc.dialects import tt, ttig, xe_plans
from coopc.dialects.narrow import tensor_type
from coopc.ir.device_option import device_of
from coopc.ir.facts import ValueFacts, constant_number
from coopc.passes.triton.access_attributes import (
    FOR_ANY,
    LANE_BY_LANE,
    NO_PROMISE,
    why_no_matrix,
)
from coopc.passes.triton.base_alignment import SURFACE_ALIGNMENT, alignment_of
from coopc.passes.triton.origins import copies_of, made_by
from coopc.passes.xe.channel_plans import ChannelPlan, decide_channels
from coopc.passes.xe.conditions import (
    BlockOp,
    known_multiple,
    known_surfaces,
    refuse_steps,
    second_entries,
    source_of,
)
from coopc.passes.xe.register_layout import channel_bits
from coopc.passes.xe.vector_plans import plan_vector
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import CHANNEL_BITS, refuse_surface
from coopc.plan.prefetch import PrefetchPlan, plan_prefetch
from coopc.plan.refusal import Reason, Refusal
from coopc.plan.search import Request, plan
from coopc.remarks import remark

LoadOp: TypeAlias = tt.DescriptorLoadOp | tt.LoadOp
StoreOp: TypeAlias = tt.DescriptorStoreOp | tt.StoreOp
AccessOp: TypeAlias = LoadOp | StoreOp


def accessed_type(op: AccessOp) -> tt.Tensor | None:
    """Return the type of what is loaded or stored; None if it has no layout."""
    match op:
        case tt.DescriptorLoadOp() | tt.LoadOp():
            type = op.result.type
        case tt.DescriptorStoreOp():
            type = op.src.type
        case tt.StoreOp():
            type = op.value.type
    return type if tt.is_tensor(type) and tt.has_encoding(type) else None


def request_of(op: BlockOp, type: tt.Tensor) -> Request | Refusal:
    """Return what the planner is to be asked, or why there is nothing to ask."""
    rank, order = len(type.get_shape()), tt.block_io(op)
    if rank != 2 or len(op.indices) != 2:
        return Refusal(Reason.RANK, f"a tensor of rank {rank} of {len(op.indices)}")
    width = tt.bits_of(type)
    assert width is not None, type
    run, channel = channel_bits(type)
    return Request(
        tt.layout_of(type),
        rank - 2 if order == "column_major" else rank - 1,
        width,
        isinstance(op, StoreOp),
        run,
        channel,
        column_multiple(op),
    )


Decision: TypeAlias = BlockPlan | PrefetchPlan | Refusal


def decide(
    op: AccessOp, type: tt.Tensor, device: devices.Device
) -> BlockPlan | Refusal:
    """Return how a tensor is moved on a device, or why not by block messages."""
    if tt.encoding_of(type) is None:
        return Refusal(Reason.LANES_ORDER, f"{type} has no layout")
    if not isinstance(op, BlockOp):
        what = why_no_matrix(op, "a pointer for each element")
        # What the reason says already.
        detail = what.removeprefix(f"{Reason.UNKNOWN_MEMORY.value}: ")
        return Refusal(Reason.UNKNOWN_MEMORY, detail)
    request = request_of(op, type)
    if isinstance(request, Refusal):
        return request
    made, io = made_by(op.desc), device.block_io
    if made is not None and io is not None:
        refusal = (
            refuse_stride(made)
            or refuse_sizes(made, io)
            or refuse_base(made)
            or refuse_column(op, request.element_bits)
        )
        if refusal is not None:
            return refusal
    decided = plan(request, io)
    if isinstance(decided, BlockPlan) and made is not None:
        return refuse_steps(decided, *op.indices) or decided
    return decided


def refuse_sizes(
    made: tt.MakeTensorDescriptorOp, io: devices.BlockIO
) -> Refusal | None:
    """Return why the sizes of a descriptor are those of no surface, as far as known."""
    for known in known_surfaces(made):
        if (refusal := refuse_surface(io, known)) is not None:
            return refusal
    return None


def refuse_base(made: tt.MakeTensorDescriptorOp) -> Refusal | None:
    """Return why a base is not aligned, whatever the arguments of the kernel are."""
    bytes = made.type.element_bits // 8
    found = alignment_of(made.base, bytes)
    if found is None:
        return Refusal(Reason.BASE, "it is moved by what is not understood")
    if not found.rest:
        return None
    size = found.rest.divisor(ValueFacts().divisor) * bytes
    what = f"it is moved by a multiple of {size} bytes, expected {SURFACE_ALIGNMENT}"
    return Refusal(Reason.BASE, what)


def column_multiple(op: BlockOp) -> int:
    """Return a power of two that the column of a block is a multiple of.

    It is a multiple of 4 bytes where Triton promises that.
    """
    known = known_multiple(op.indices[-1])
    if tt.block_io(op) is None or NO_PROMISE in op.attributes:
        return known
    return max(known, CHANNEL_BITS // tt.descriptor_type(op.desc).element_bits)


def refuse_column(op: BlockOp, bits: int) -> Refusal | None:
    """Return why a block does not begin at a multiple of 4 bytes in its row.

    Where nothing is known of the column, that is Triton's promise.
    """
    column, unit = op.indices[-1], CHANNEL_BITS // bits
    known = ValueFacts().divisor(column)
    if unit <= 1 or known % unit == 0:
        return None
    if tt.block_io(op) is not None and NO_PROMISE not in op.attributes:
        rest = rest_of(column, unit)
        if not rest:
            return None
        what = f"a column that is {rest} more than a multiple of {unit} elements"
    else:
        what = f"a column that is a multiple of {known} elements, as far as is known"
    return Refusal(Reason.POSITION, f"{what}, of {bits} bits, expected one of 4 bytes")


def rest_of(value: SSAValue, unit: int) -> int | None:
    """Return what is left of a number divided by a power of two, if that is known."""
    match value.owner:
        case ConstantOp(value=IntegerAttr(value=number)):
            return number.data % unit
        case AddiOp(lhs=lhs, rhs=rhs):
            pair = rest_of(lhs, unit), rest_of(rhs, unit)
            return None if None in pair else sum(x or 0 for x in pair) % unit
        case _:
            return None if ValueFacts().divisor(value) % unit else 0


def refuse_stride(made: tt.MakeTensorDescriptorOp) -> Refusal | None:
    """Return why the rows of a descriptor are not contiguous, where that is known."""
    stride = constant_number(source_of(made.strides[-1]))
    if stride in (None, 1):
        return None
    return Refusal(Reason.STRIDE, f"an inner stride of {stride}, expected 1")


def decide_prefetch(
    op: ttig.DescriptorPrefetchOp, device: devices.Device
) -> PrefetchPlan | Refusal:
    """Return how the subgroups of a work-group fetch a block, or why they do not."""
    type = op.desc.type
    warps = tt.ModuleFacts.of(op).num_warps
    assert isinstance(type, tt.TensorDescType), op
    if type.rank != 2 or warps is None:
        return Refusal(Reason.RANK, f"a block of rank {type.rank}")
    rows, cols = type.shape
    if any(size & (size - 1) for size in (rows, cols)):
        return Refusal(Reason.OVERLAP, f"a block of {rows} x {cols}")
    return plan_prefetch(rows, cols, type.element_bits, warps, device.block_io)


def summary(decided: Decision) -> str:
    """Return in one line what was decided.

    >>> from coopc.plan.refusal import Reason
    >>> summary(Refusal(Reason.RANK, "a tensor of rank 1"))
    'moved lane by lane: a message has two dimensions: a tensor of rank 1'
    """
    if isinstance(decided, Refusal):
        return f"moved lane by lane: {decided}"
    if isinstance(decided, PrefetchPlan):
        many = "s" * (decided.messages > 1)
        return f"{decided.messages} message{many} of {decided.shape} a subgroup"
    messages = len(decided.firsts)
    text = f"{messages} message{'s' * (messages > 1)} of {decided.shape}"
    if decided.swaps:
        text += f", {len(decided.swaps)} exchange of lanes"
    return text


def told(op: Operation, decided: Decision) -> str:
    """Return in one line how a tensor is moved: by channels where there is no plan."""
    text = summary(decided)
    is_load = isinstance(op, tt.DescriptorLoadOp)
    if is_load and isinstance(decided, Refusal):
        if decided.reason is not Reason.NO_BLOCK_IO:
            return text
        channels = decide_channels(op)
        if isinstance(channels, ChannelPlan):
            return str(channels)
        return f"{text}; nor by channels: {channels}"
    return text


def load_as_used(func: Operation, device: devices.Device) -> None:
    """Let messages load a tensor in the one layout that it is used in."""
    for load in [x for x in func.walk() if isinstance(x, tt.DescriptorLoadOp)]:
        copies = copies_of(load.result) or ()
        wanted = {(tensor_type(x), is_flipped) for x, is_flipped in copies}
        if len(wanted) != 1:
            continue
        ((type, is_flipped),) = wanted
        before = dict(load.attributes)
        if is_flipped:
            transpose(load)
        if not isinstance(decide(load, type, device), BlockPlan):
            load.attributes = before
            continue
        users = [use.operation for use in load.result.uses]
        loaded = Rewriter.replace_value_with_new_type(load.result, type)
        for each, _ in copies:
            each.replace_all_uses_with(loaded)
        for user in users:
            remove_with_users(user)


def transpose(load: tt.DescriptorLoadOp) -> None:
    """Let a load give columns of memory as rows, or the other way round."""
    before = tt.block_io(load)
    if before is None:
        load.attributes[NO_PROMISE] = UnitAttr()
    is_rows = before != "column_major"
    order = "column_major" if is_rows else "row_major"
    load.attributes[tt.BLOCK_IO] = StringAttr(order)


def remove_with_users(op: Operation) -> None:
    for result in op.results:
        for use in list(result.uses):
            remove_with_users(use.operation)
    Rewriter.erase_op(op)


def remark_second_entry(op: Operation, name: str) -> None:
    """Remark what a second entry point is for; its accesses have no remarks."""
    remark(op, f"@{name} moves all of memory lane by lane, and has no conditions")


def write(op: Operation, decided: Decision) -> None:
    op.attributes.pop(xe_plans.PLAN, None)
    op.attributes.pop(xe_plans.REFUSAL, None)
    op.attributes.pop(xe_plans.VECTOR, None)
    if isinstance(op, tt.LoadOp | tt.StoreOp) and decided is not FOR_ANY:
        vector = plan_vector(op)
        if vector is not None:
            op.attributes[xe_plans.VECTOR] = IntegerAttr(vector.length, i64)
    match decided:
        case Refusal():
            op.attributes[xe_plans.REFUSAL] = StringAttr(str(decided))
        case PrefetchPlan():
            op.attributes[xe_plans.PLAN] = xe_plans.BlockPrefetchPlanAttr(decided)
        case _ if isinstance(op, StoreOp):
            op.attributes[xe_plans.PLAN] = xe_plans.BlockStorePlanAttr(decided)
        case _:
            op.attributes[xe_plans.PLAN] = xe_plans.BlockLoadPlanAttr(decided)


@dataclass(frozen=True)
class PlanBlockIoPass(ModulePass):
    name = "plan-block-io"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    explain: bool = False
    """Print a remark for each decision."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        for func in op.ops:
            self.plan(func, device)
        if self.explain:
            for entry, is_needed in second_entries(op, device.block_io).items():
                if is_needed:
                    remark_second_entry(entry, entry.sym_name.data)

    def plan(self, func: Operation, device: devices.Device) -> None:
        for_any_memory = LANE_BY_LANE in func.attributes
        if not for_any_memory:
            load_as_used(func, device)
        for op in func.walk():
            if isinstance(op, ttig.DescriptorPrefetchOp):
                decided = decide_prefetch(op, device)
            elif isinstance(op, AccessOp) and (type := accessed_type(op)) is not None:
                decided = FOR_ANY if for_any_memory else decide(op, type, device)
            else:
                if self.explain and isinstance(op, ttig.PrefetchOp):
                    remark(op, f"left out: {why_no_matrix(op, 'no matrix')}")
                continue
            write(op, decided)
            if self.explain and not for_any_memory:
                remark(op, told(op, decided))
