"""Triton's kernels as functions, and the scalars in them.

    tt.func public @f(%a: !tt.ptr<f16>, %n: i32)
    func.func @f(%a: memref<f16>, %n: i32)
        attributes {simt.kernel, simt.subgroup_size, simt.work_group_size}

A pointer becomes a memref of rank 0, which stands for all the memory behind it.
"""

from __future__ import annotations

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    UnitAttr,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.device import BlockIO
from coopc.dialects import simt, tt, ttg
from coopc.dialects.llvm_target import AssumeOp
from coopc.dialects.tt.enums import ProgramAxis
from coopc.dialects.tt.names import ModuleFacts
from coopc.interface import SECOND_ENTRY
from coopc.passes.xe.accesses import LANE_BY_LANE
from coopc.passes.xe.conditions import conditions

_DIMENSIONS = {
    ProgramAxis.X: simt.Dimension.X,
    ProgramAxis.Y: simt.Dimension.Y,
    ProgramAxis.Z: simt.Dimension.Z,
}


def convert_functions(module: ModuleOp, io: BlockIO | None) -> list[FuncOp]:
    """Make functions of a module's kernels, their bodies as they are."""
    facts = ModuleFacts.of(module)
    lanes = facts.threads_per_warp
    assert facts.num_warps is not None, module
    found: list[FuncOp] = []
    for entry, is_needed in second_entries(module, io).items():
        if not is_needed:
            Rewriter.erase_op(entry)
    for op in list(module.ops):
        if not isinstance(op, tt.FuncOp):
            continue
        needed = None if io is None else conditions(op, io)
        body = op.detach_region(op.body)
        types = FunctionType.from_lists(op.function_type.inputs.data, [])
        func = FuncOp(op.sym_name.data, types, body)
        func.location = op.location
        func.attributes[simt.KERNEL] = UnitAttr()
        func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
        size = DenseArrayBase.from_list(i32, [lanes * facts.num_warps])
        func.attributes[simt.WORK_GROUP_SIZE] = size
        if needed is not None and needed.data:
            func.attributes[simt.CONDITIONS] = needed
        if LANE_BY_LANE in op.attributes:
            func.attributes[LANE_BY_LANE] = UnitAttr()
        Rewriter.replace_op(op, func, [])
        for each in list(func.body.walk()):
            convert_program(each)
        found.append(func)
    for name in list(module.attributes):
        if name.startswith(("ttg.", "ttig.")):
            del module.attributes[name]
    return found


def second_entries(module: ModuleOp, io: BlockIO | None) -> dict[tt.FuncOp, bool]:
    """Return second entry points, and whether the kernel itself has conditions."""
    named = {x.sym_name.data: x for x in module.ops if isinstance(x, tt.FuncOp)}
    found: dict[tt.FuncOp, bool] = {}
    for name, func in named.items():
        first = named.get(name.removesuffix(SECOND_ENTRY))
        if LANE_BY_LANE in func.attributes and first not in (None, func):
            found[func] = io is not None and bool(conditions(first, io).data)
    return found


def convert_program(op: Operation) -> None:
    """Replace an operation that is about the program, not about tensors."""
    match op:
        case tt.ReturnOp():
            new: Operation = ReturnOp()
            new.location = op.location
            Rewriter.replace_op(op, new, [])
        case AssumeOp():
            Rewriter.erase_op(op)
        case ttg.BarrierOp():
            new = simt.BarrierOp()
            new.location = op.location
            Rewriter.replace_op(op, new, [])
        case tt.GetProgramIdOp() | tt.GetNumProgramsOp():
            dimension = _DIMENSIONS[op.program_axis]
            is_id = isinstance(op, tt.GetProgramIdOp)
            id = (simt.WorkgroupIdOp if is_id else simt.NumWorkgroupsOp)(dimension)
            cast = IndexCastOp(id.result, i32)
            cast.result.name_hint = op.result.name_hint
            id.location = cast.location = op.location
            Rewriter.insert_op([id, cast], InsertPoint.before(op))
            Rewriter.replace_op(op, [], [cast.result])
        case _:
            pass
