"""converge-subgroup: inserts barriers where a compiler splits a subgroup.

Before:  scf.if %in { .. }           scf.for .. {
         %x = func.call @f(%v)         %y = arith.select %in, %a, %b
         scf.if %in { .. }             .. }
After:   scf.if %in { .. }           scf.for .. {
         simt.barrier subgroup         simt.barrier subgroup
         %x = func.call @f(%v)         %y = arith.select %in, %a, %b
         scf.if %in { .. }             .. }
Fails:   never; nothing is changed for devices that keep lanes together

`Device.keeps_lanes_together` is false for compilers that split a subgroup: they call @f
separately for the lanes with %in and for the others, so @f broadcasts among only some
lanes; and they unswitch the loop on %in, after which some lanes run neither copy.
They do not move barriers, or code that contains them.  No barrier is needed for calls
without collective operations, nor for loops without a loop-invariant condition that
differs between lanes.  None may stand in divergent control flow.  Barriers have a cost:
the same compiler crashes if long vectors are live across several of them, under a
condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from coopc.dialects import simt
from coopc.dialects.traits import Collective
from coopc.ir.control_flow import Functions, callee, functions, reached
from coopc.ir.device_option import target_device
from coopc.ir.uniformity import Uniformity, Variation


@dataclass(frozen=True)
class ConvergeSubgroupPass(ModulePass):
    name = "converge-subgroup"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = target_device(op)
        if device is None or device.keeps_lanes_together:
            return
        for where, cause in list(parted(op)):
            barrier = simt.BarrierOp(simt.FenceScope.SUBGROUP)
            barrier.location = cause.location
            Rewriter.insert_op(barrier, where)


def parted(module: ModuleOp) -> Iterator[tuple[InsertPoint, Operation]]:
    """Yield where lanes may be taken apart, and the call or the loop that suffers."""
    found, known = Uniformity(module), functions(module)
    together = collective(known)
    for op in module.walk():
        if isinstance(op, CallOp) and callee(op, known) in together:
            if found.around(op) <= Variation.SUBGROUPS:
                yield InsertPoint.before(op), op
        elif (body := loop_body(op)) is not None and body.first_op is not None:
            uniform = found.around(body.first_op) <= Variation.SUBGROUPS
            if uniform and any(decides(x, found, op) for x in op.walk()):
                yield InsertPoint.at_start(body), op


def collective(known: Functions) -> set[FuncOp]:
    """Return the functions that lanes have to run together, by what they call too."""
    return {
        func
        for func in known.values()
        if any(
            op.has_trait(Collective)
            for each in reached(func, known)
            for op in each.walk()
        )
    }


def loop_body(op: Operation) -> Block | None:
    """Return what runs in every round of a loop; None of what is no loop."""
    match op:
        case scf.ForOp():
            return op.body.block
        case scf.WhileOp():
            return op.after_region.block
        case _:
            return None


def decides(op: Operation, found: Uniformity, loop: Operation) -> bool:
    """Whether an operation chooses by what lanes differ in, and all rounds agree on."""
    if not isinstance(op, scf.IfOp | scf.IndexSwitchOp | arith.SelectOp):
        return False
    choice = op.operands[0]
    return found.of(choice) > Variation.SUBGROUPS and is_invariant(choice, loop)


def is_invariant(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is, or can be made, one that is known before a loop begins."""
    if not loop.is_ancestor(value.owner):
        return True
    return (
        isinstance(value.owner, Operation)
        and not value.owner.regions
        and is_side_effect_free(value.owner)
        and all(is_invariant(operand, loop) for operand in value.owner.operands)
    )
