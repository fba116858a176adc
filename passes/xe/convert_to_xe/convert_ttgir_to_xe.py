"""`convert-ttgir-to-xe`: Triton's tensors as vectors of each lane, by their plans.

Before: kernels of Triton GPU IR whose accesses have been planned (`plan-block-io`).
After:  functions of one lane: loads and stores are `xe.block_load_2d` and
        `xe.block_store_2d` where there is a plan, per lane where there is none;
        `tt.dot` is `xe.dpas`.  Nothing of `tt`, `ttg` and `ttig` is left.
Fails:  naming the first operation that cannot be converted; nothing is changed then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.device import BlockIO
from coopc.dialects import simt, tt, ttg, ttig
from coopc.dialects.tt.enums import Padding
from coopc.dialects.tt.types import TensorDescType, is_tensor
from coopc.ir.builder import Built
from coopc.passes.xe.accesses import LANE_BY_LANE
from coopc.passes.xe.convert_to_xe.atomics import Atomics
from coopc.passes.xe.convert_to_xe.block_access import (
    BlockAccess,
    plan_of,
    spread_of_value,
)
from coopc.passes.xe.convert_to_xe.buffers import Buffers, buffer_type
from coopc.passes.xe.convert_to_xe.channel_access import ChannelAccess, demand, plans_of
from coopc.passes.xe.convert_to_xe.checks import why_not
from coopc.passes.xe.convert_to_xe.descriptors import Descriptors
from coopc.passes.xe.convert_to_xe.dot_to_dpas import dot
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory
from coopc.passes.xe.convert_to_xe.join_split import join, split
from coopc.passes.xe.convert_to_xe.kernels import convert_functions
from coopc.passes.xe.convert_to_xe.lane_access import LaneAccess
from coopc.passes.xe.convert_to_xe.payloads import Payload, PayloadLoads, Prefetches
from coopc.passes.xe.convert_to_xe.pointer_casts import same_pointer
from coopc.passes.xe.convert_to_xe.pointers import (
    Pointers,
    base_of,
    memref_of,
    origin_of,
)
from coopc.passes.xe.convert_to_xe.reductions import Reductions
from coopc.passes.xe.convert_to_xe.registers import unpacked
from coopc.passes.xe.convert_to_xe.scale_loop_iv import count_in_units
from coopc.passes.xe.convert_to_xe.tensors import Tensors
from coopc.passes.xe.exchanges import Exchanges
from coopc.passes.xe.register_layout import spread_of
from coopc.rewrite.one_to_many import Parts, Rule, Splitter, split_values


def parts_of(value: SSAValue) -> Parts | None:
    """Return what a value becomes; None where it stays."""
    type = value.type
    if is_tensor(type):
        return Parts(spread_of(type).types)
    if isinstance(type, TensorDescType):
        found = origin_of(value)
        assert found is not None, value
        made = found.owner
        assert isinstance(made, tt.MakeTensorDescriptorOp), value
        base = memref_of(made.base)
        if type.rank != 2:
            return Parts((base, *(i32,) * type.rank, *(i64,) * type.rank))
        suffixes = ("", "_width", "_height", "_pitch")
        return Parts((base, i32, i32, i32), suffixes)
    if isinstance(type, tt.PtrType):
        return Parts((memref_of(value),))
    if isinstance(type, ttg.MemDescType):
        return Parts((buffer_type(type),))
    return None


def is_padded_with_nan(op: tt.DescriptorLoadOp) -> bool:
    """Whether a load reads NaN outside of its tensor, not zeros."""
    found = origin_of(op.desc)
    made = None if found is None else found.owner
    assert isinstance(made, tt.MakeTensorDescriptorOp), op
    return made.padding_option is Padding.NAN


def values_in(func: FuncOp) -> list[SSAValue]:
    """Return all values of a function, arguments too."""
    found: list[SSAValue] = []
    for op in func.walk():
        found += op.results
        found += (x for region in op.regions for b in region.blocks for x in b.args)
    return found


class Conversion:
    """The rules of one kernel."""

    def __init__(
        self,
        entry: Entry,
        bases: dict[Operation, SSAValue],
        payload: Payload,
        io: BlockIO | None,
        in_loops: bool,
        channels: ChannelAccess,
        padded: frozenset[Operation],
    ) -> None:
        """Start with what is at the entry, and what accesses are to."""
        loads = None
        if payload == "all" and io is not None:
            loads = PayloadLoads(entry, io.immediate_offsets)
        self.entry = entry
        self.pointers = Pointers(entry)
        self.blocks = BlockAccess(entry, loads)
        self.channels = channels
        self.padded = padded
        self.prefetches = Prefetches(entry, payload in ("prefetch", "all"))
        self.lanes = LaneAccess(entry, self.pointers, bases, in_loops)
        self.memory = GroupMemory(entry)

    def rules(self) -> dict[type[Operation], Rule]:
        """Return them, by operation."""
        memory = self.memory
        buffers = Buffers(self.entry, memory)
        exchanges = Exchanges(self.entry, memory)
        return {
            **Tensors(self.entry, self.pointers, exchanges).rules(),
            **Descriptors(self.entry).rules(),
            tt.AtomicRMWOp: Atomics(
                self.entry, self.pointers, memory, self.lanes.bases
            ).update,
            tt.BitcastOp: same_pointer,
            tt.DotOp: dot,
            tt.DescriptorLoadOp: self.load_block,
            tt.DescriptorStoreOp: self.store_block,
            tt.JoinOp: join,
            tt.LoadOp: self.load,
            tt.SplitOp: split,
            tt.StoreOp: self.store,
            tt.ReduceOp: Reductions(self.entry, memory).reduce,
            ttg.LocalAllocOp: buffers.alloc,
            ttg.LocalDeallocOp: lambda op, s: (),
            ttg.LocalLoadOp: buffers.load,
            ttg.LocalStoreOp: buffers.store,
            ttg.MemDescTransOp: buffers.trans,
            ttig.DescriptorPrefetchOp: self.prefetches.fetch,
            ttig.PrefetchOp: lambda op, s: (),
        }

    def load_block(
        self, op: tt.DescriptorLoadOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """By blocks, by slots in a row, or lane by lane."""
        if (plan := plan_of(op)) is not None:
            return [self.blocks.load(op, s, plan)]
        if op in self.channels.plans:
            return [self.channels.load(op, s)]
        spread = spread_of_value(op.result)
        where = self.lanes.through_descriptor(op, spread, s)
        other = None
        if op in self.padded:
            count = len(spread.registers) // spread.length
            other = [self.lanes.not_a_number(spread)] * count
        return [self.lanes.load(op.result, where, other, s)]

    def store_block(
        self, op: tt.DescriptorStoreOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """By blocks, or lane by lane."""
        if (plan := plan_of(op)) is not None:
            return self.blocks.store(op, s, plan)
        where = self.lanes.through_descriptor(op, spread_of_value(op.src), s)
        self.lanes.store(op.src, where, s)
        return ()

    def load(self, op: tt.LoadOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Lane by lane; a scalar by all of them."""
        if not is_tensor(op.ptr.type):
            return [(self.lanes.load_scalar(op, s),)]
        where = self.lanes.through_pointers(op, s)
        other = None
        if op.other is not None:
            other = unpacked(s, spread_of_value(op.other), s.parts(op.other))
        return [self.lanes.load(op.result, where, other, s)]

    def store(self, op: tt.StoreOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
        """Lane by lane; a scalar by the first of them."""
        if not is_tensor(op.ptr.type):
            self.lanes.store_scalar(op, s)
            return ()
        self.lanes.store(op.value, self.lanes.through_pointers(op, s), s)
        return ()


def convert(func: FuncOp, payload: Payload, io: BlockIO | None) -> None:
    """Convert the body of a kernel."""
    entry = Entry(func.body.block)
    count_in_units(func, entry)
    parts = {
        value: found
        for value in values_in(func)
        if (found := parts_of(value)) is not None
    }
    # Loops are rebuilt while values are split: what is behind them is found before.
    loads = (op for op in func.walk() if isinstance(op, tt.DescriptorLoadOp))
    padded = frozenset(op for op in loads if is_padded_with_nan(op))
    bases: dict[Operation, SSAValue] = {
        op: base
        for op in func.walk()
        if isinstance(op, tt.AtomicRMWOp | tt.LoadOp | tt.StoreOp)
        and (base := base_of(op.ptr)) is not None
    }
    # The entry point for any memory is to be short, the others are to be fast.
    in_loops = LANE_BY_LANE in func.attributes
    channels = ChannelAccess(entry, Built())
    if io is None and not in_loops:
        channels.plans = plans_of(func)
        demand(func, channels.plans)
    conversion = Conversion(entry, bases, payload, io, in_loops, channels, padded)
    rules = conversion.rules()
    split_values(func, parts, rules)
    conversion.memory.share()
    func.attributes.pop(LANE_BY_LANE, None)


@dataclass(frozen=True)
class ConvertTtgirToXePass(ModulePass):
    """Make functions of one lane of Triton's kernels."""

    name = "convert-ttgir-to-xe"

    payload: Payload = "none"
    """Which addresses are held in payloads: those of prefetches, or of loads too."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all of `op`, then convert it."""
        if not any(isinstance(each, tt.FuncOp) for each in op.ops):
            return
        for each in op.walk():
            if (reason := why_not(each)) is not None:
                each.emit_error(reason, PassFailedException(reason))
        target = simt.target_of(op)
        io = None if target is None else devices.device(target.device.data).block_io
        for func in convert_functions(op, io):
            convert(func, self.payload, io)
