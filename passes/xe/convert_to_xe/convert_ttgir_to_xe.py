"""convert-ttgir-to-xe: lowers Triton tensors to vectors per lane, by their plans.

Before:  Triton kernels with layouts whose accesses `plan-block-io` has planned.
After:   SIMT functions. Loads and stores are `xe.block_load_2d` and `xe.block_store_2d`
         where a plan exists, and per lane otherwise; `tt.dot` is `xe.dpas`. No
         operation of `tt`, `ttg` and `ttig` is left.
Fails:   if an operation cannot be converted, naming the first. The module is then
         unchanged.

Triton kernels as functions, and their scalars.

    tt.func public @f(%a: !tt.ptr<f16>, %n: i32)
    func.func @f(%a: memref<f16>, %n: i32)
        attributes {simt.kernel, simt.subgroup_size, simt.work_group_size}

A pointer becomes a memref of rank 0, which stands for all memory after it.

Where several subgroups load the same element and the first of them stores it, a barrier
makes that one wait for all the loads.

    %x = tt.load %p        %x = memref.load %m[%i]            by every subgroup
                           simt.barrier
    tt.store %p, %y        scf.if %first { memref.store %y, %m[%i] }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import gpu
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.device import BlockIO, Device
from coopc.dialects import simt, tt, ttg, xe_plans
from coopc.dialects.llvm_assume import AssumeOp
from coopc.dialects.narrow import is_tensor
from coopc.ir.builder import Builder
from coopc.ir.control_flow import defined_by
from coopc.ir.device_option import target_device
from coopc.ir.split_values import Parts, Rule, Splitter, split_values
from coopc.ir.transaction import Refused, transaction
from coopc.passes.triton.access_attributes import LANE_BY_LANE
from coopc.passes.triton.access_order import (
    DESCRIPTOR_ACCESSES,
    may_conflict,
    waiting_accesses,
)
from coopc.passes.triton.layouts import ACCESSES
from coopc.passes.triton.origins import made_by, origins_of
from coopc.passes.xe.channel_plans import channel_plans, demand_channels
from coopc.passes.xe.conditions import BlockOp, conditions, second_entries
from coopc.passes.xe.convert_to_xe.block_access import BlockMessages, Payload
from coopc.passes.xe.convert_to_xe.dot_to_dpas import dot
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory, buffer_type
from coopc.passes.xe.convert_to_xe.scalar_access import ScalarAccess
from coopc.passes.xe.convert_to_xe.scale_loop_iv import scale_loop_ivs
from coopc.passes.xe.convert_to_xe.scans import scan
from coopc.passes.xe.convert_to_xe.tensor_memory import (
    TensorMemory,
    may_be_before,
    memref_of,
    pointer_base,
)
from coopc.passes.xe.convert_to_xe.tensors import RETURNS, RULES, convert_layout, reduce
from coopc.passes.xe.plan_block_io import column_multiple
from coopc.passes.xe.register_layout import register_layout
from coopc.rounding import FORMATS


def convert_functions(module: ModuleOp, io: BlockIO | None) -> list[FuncOp]:
    """Make functions of a module's kernels, their bodies as they are."""
    facts = tt.ModuleFacts.of(module)
    lanes = facts.threads_per_warp
    assert facts.num_warps is not None, module
    found: list[FuncOp] = []
    for entry, is_needed in second_entries(module, io).items():
        if not is_needed:
            Rewriter.erase_op(entry)
    for op in list(module.ops):
        if not isinstance(op, tt.FuncOp):
            continue
        needed = conditions(op, io)
        domains = ttg.Domain.GLOBAL_READ | ttg.Domain.GLOBAL_WRITE
        for access in waits_for_copies(op):
            Builder.at(access).effect(ttg.BarrierOp(domains))
        body = op.detach_region(op.body)
        types = FunctionType.from_lists(op.function_type.inputs.data, [])
        func = FuncOp(op.sym_name.data, types, body)
        func.location = op.location
        func.attributes[simt.KERNEL] = UnitAttr()
        func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
        size = DenseArrayBase.from_list(i32, [lanes * facts.num_warps])
        func.attributes[simt.WORK_GROUP_SIZE] = size
        simt.add_conditions(func, needed)
        if LANE_BY_LANE in op.attributes:
            func.attributes[LANE_BY_LANE] = UnitAttr()
        Rewriter.replace_op(op, func, [])
        for each in [x for x in func.body.walk() if isinstance(x, ProgramOp)]:
            convert_program(each)
        found.append(func)
    tt.ModuleFacts.drop(module)
    return found


def waits_for_copies(func: tt.FuncOp) -> Sequence[Operation]:
    """Return the accesses before which subgroups that have copies wait for others."""
    repeated: set[Operation] = set()
    for op in func.body.walk():
        if isinstance(op, ACCESSES | DESCRIPTOR_ACCESSES):
            types = [x.type for x in (*op.operands, *op.results)]
            tensor = next((x for x in types if is_tensor(x)), None)
            if tensor is None or tt.layout_of(tensor).free_masks()["warp"]:
                repeated.add(op)
    return waiting_accesses(func.body.block, may_conflict, repeated)


ProgramOp = (
    AssumeOp
    | tt.GetNumProgramsOp
    | tt.GetProgramIdOp
    | tt.ReturnOp
    | ttg.BarrierOp
    | gpu.BarrierOp
)


def convert_program(op: ProgramOp) -> None:
    """Replace an operation that is about the program, not about tensors."""
    b = Builder.at(op)
    results: Sequence[SSAValue] = ()
    match op:
        case tt.ReturnOp():
            b.effect(ReturnOp())
        case AssumeOp():
            pass
        case ttg.BarrierOp() | gpu.BarrierOp():
            b.effect(simt.BarrierOp())
        case tt.GetProgramIdOp() | tt.GetNumProgramsOp():
            is_id = isinstance(op, tt.GetProgramIdOp)
            make = simt.WorkgroupIdOp if is_id else simt.NumWorkgroupsOp
            axis = tuple(simt.Dimension)[op.program_axis.value]
            id = b.effect(make(axis)).results[0]
            results = b.effect(IndexCastOp(id, i32)).results
            results[0].name_hint = op.result.name_hint
    Rewriter.replace_op(op, [], results)


TRITON = ("tt", "ttg", "ttig")
WIDTHS = (1, 8, 16, 32, 64)
"""Bits of elements."""
_NUMBERS = "expected a pointer that is moved by elements, not a number of bytes"
REASONS = {
    "tt.assert": ("tt.assert is not supported: a kernel cannot stop with a message"),
    "tt.int_to_ptr": _NUMBERS,
    "tt.print": ("tt.print is not supported: a kernel has no output to print to"),
    "tt.ptr_to_int": _NUMBERS,
    **dict.fromkeys(
        (
            "tt.clampf",
            "tt.extern_elementwise",
            "tt.mulhiui",
            "tt.precise_divf",
            "tt.precise_sqrt",
        ),
        "expected arithmetic of arith and math: expand-tt-math",
    ),
}
"""Why operations are never converted, where there is more to say than that."""


def parts_of(value: SSAValue, op: Operation) -> Parts | None:
    """Return what a value that an operation gives becomes; None where it stays.

    Raises:
        Refused: nothing can be made of it.
    """
    match value.type:
        case tt.TensorDescType() as type:
            base = memref_of(descriptor_behind(value, op).base)
            if type.rank != 2:
                return Parts((base, *(i32,) * type.rank, *(i64,) * type.rank))
            return Parts((base, i32, i32, i32), ("", "_width", "_height", "_pitch"))
        case ttg.MemDescType() | tt.PtrType() as type:
            if op.dialect_name() not in TRITON:
                what = f"expected {type} not to be chosen or carried"
                if isinstance(type, tt.PtrType):
                    what += ": choose or carry how far it is moved"
                raise Refused(op, what)
            if isinstance(type, ttg.MemDescType):
                return Parts((buffer_type(type),))
            if not tt.is_tensor(type.pointee):
                _refuse_width(type.pointee, value, op)
            return Parts((memref_of(value),))
        case type if tt.is_tensor(type):
            if tt.encoding_of(type) is None:
                what = f"expected a tensor with a known encoding, got {type}"
                raise Refused(op, what)
            element = type.element_type
            is_pointer = isinstance(element, tt.PtrType)
            _refuse_width(element.pointee if is_pointer else element, value, op)
            return Parts(register_layout(type).types)
        case _:
            return None


def _refuse_width(element: Attribute, value: SSAValue, op: Operation) -> None:
    """Refuse elements that vectors of a lane do not have."""
    if isinstance(element, IntegerType) and element.bitwidth in WIDTHS:
        return
    floats = [name for name, each in FORMATS.items() if each.bits >= 8]
    if element.name in floats:
        return
    kinds = f"integers of 1, 8, 16, 32 or 64 bits, {', '.join(floats)}"
    raise Refused(op, f"expected {kinds}, or pointers to them, got {value.type}")


def descriptor_behind(desc: SSAValue, op: Operation) -> tt.MakeTensorDescriptorOp:
    """Return where a descriptor that an operation gives is made.

    Raises:
        Refused: it is not made in the kernel, in one place.
    """
    made = [x.owner for x in origins_of(desc)]
    if not all(isinstance(x, tt.MakeTensorDescriptorOp) for x in made):
        what = "expected a descriptor that is made in the kernel"
        raise Refused(op, f"{what}, got {desc.type}")
    first, *others = made
    assert isinstance(first, tt.MakeTensorDescriptorOp), desc
    if others:
        what = "expected a descriptor that is made in one place"
        raise Refused(op, f"{what}, got {desc.type} of {len(made)} places")
    return first


def memory_of(
    func: FuncOp, group: GroupMemory, payload: Payload, io: BlockIO | None
) -> TensorMemory:
    """Look at a kernel as it is: loops are rebuilt while values are split."""
    # The entry point for any memory is to be short, the others are to be fast.
    in_loops = LANE_BY_LANE in func.attributes
    channels = channel_plans(func) if io is None and not in_loops else {}
    demand_channels(func, channels)
    ops = list(func.walk())
    return TensorMemory(
        group,
        BlockMessages(payload, io is not None and io.immediate_offsets),
        ScalarAccess(in_loops),
        channels,
        {op: pointer_base(op) for op in ops if isinstance(op, ACCESSES)},
        frozenset(x for x in ops if isinstance(x, ACCESSES) and may_be_before(x.ptr)),
        frozenset(
            op
            for op in ops
            if isinstance(op, BlockOp)
            and (made := made_by(op.desc)) is not None
            and made.padding_option is tt.Padding.NAN
        ),
        {
            op: column_multiple(op)
            for op in ops
            if isinstance(op, BlockOp) and xe_plans.PLAN in op.attributes
        },
    )


def convert(
    func: FuncOp,
    parts: Mapping[SSAValue, Parts],
    payload: Payload,
    device: Device | None,
) -> None:
    """Convert the body of a kernel, whose values become these parts."""
    io = None if device is None else device.block_io
    group = GroupMemory(func.body.block)
    rules: dict[type[Operation], Rule] = {
        **RULES,
        **memory_of(func, group, payload, io).rules(),
        **group.rules(),
        tt.DotOp: partial(dot, device),
        tt.ReduceOp: partial(reduce, group),
        tt.ScanOp: partial(scan, group),
        ttg.ConvertLayoutOp: partial(convert_layout, group),
    }
    found = [
        op
        for op in func.walk()
        if op.dialect_name() in TRITON and not isinstance(op, RETURNS)
    ]
    for op in found:
        if type(op) not in rules:
            raise Refused(op, REASONS.get(op.name, "it is not converted to xe"))
    scale_loop_ivs(func)
    split_values(func, parts, rules)
    for op in found:
        if op.parent is not None:  # it has no tensor: its rule says what is to be done
            rules[type(op)](op, Splitter.at(op))
            raise Refused(op, "it is not converted to xe")
    group.share()
    func.attributes.pop(LANE_BY_LANE, None)


def _refuse_function(op: tt.FuncOp) -> None:
    facts = tt.ModuleFacts.of(op)
    if not op.is_kernel:
        what = f"a kernel, got @{op.sym_name.data}: inline what is called"
    elif facts.num_warps is None:
        what = f"{tt.NUM_WARPS} on the module, got none"
    elif facts.num_ctas != 1:
        what = f"{tt.NUM_CTAS} = 1, got {facts.num_ctas}"
    elif len(op.body.blocks) != 1:
        what = f"structured control flow, got {len(op.body.blocks)} blocks"
    else:
        return
    raise Refused(op, f"expected {what}")


@dataclass(frozen=True)
class ConvertTtgirToXePass(ModulePass):
    name = "convert-ttgir-to-xe"

    payload: Payload = "none"
    """Which message addresses are kept in registers: none, those of prefetches, or
    those of loads as well."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(each, tt.FuncOp) for each in op.ops):
            return
        device = target_device(op)
        io = None if device is None else device.block_io
        with transaction(op) as draft:
            parts: dict[SSAValue, Parts] = {}
            for each in draft.walk():
                for value in defined_by(each):
                    if (found := parts_of(value, each)) is not None:
                        parts[value] = found
                if isinstance(each, tt.FuncOp):
                    _refuse_function(each)
            for func in convert_functions(draft, io):
                convert(func, parts, self.payload, device)
