"""`plan-block-io`: decide by which 2D block messages tensors are moved.

Before: loads and stores of Triton's tensors, with their encodings.
After:  each has `xe.plan`, messages that proved that they give every register of every
        lane and subgroup its element, or `xe.no_plan`, the reason why there are none;
        with `explain=true` both are printed too, as remarks.
Fails:  there is no such device.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import simt, xe
from coopc.passes.xe.accesses import Access, access_of, request_of
from coopc.plan.block2d import BlockPlan
from coopc.plan.refusal import Refusal
from coopc.plan.search import plan


def decide(access: Access, device: devices.Device) -> BlockPlan | Refusal:
    """Return how a tensor is moved on a device, or why not by block messages."""
    request = request_of(access)
    if isinstance(request, Refusal):
        return request
    return plan(request, device.block_io)


def summary(decided: BlockPlan | Refusal) -> str:
    """Return in one line what was decided.

    >>> from coopc.plan.refusal import Reason
    >>> summary(Refusal(Reason.RANK, "a tensor of rank 1"))
    'moved lane by lane: a message has two dimensions: a tensor of rank 1'
    """
    if isinstance(decided, Refusal):
        return f"moved lane by lane: {decided}"
    messages = len(decided.firsts)
    text = f"{messages} message{'s' * (messages > 1)} of {decided.shape}"
    if decided.swaps:
        text += f", {len(decided.swaps)} exchange of lanes"
    if decided.row_step > 1:
        text += f", every {decided.row_step}nd row"
    return text


def device_of(name: str | None, module: ModuleOp, who: str) -> devices.Device:
    """Return the device of an option, or the one that the module is compiled for.

    Raises:
        PassFailedException: neither names one that there is.
    """
    if name is None:
        target = simt.target_of(module)
        if target is None:
            raise PassFailedException(
                f"{who}: expected a device, {who}{{device=..}}, or {simt.TARGET} on "
                "the module, got neither"
            )
        name = target.device.data
    try:
        return devices.device(name)
    except ValueError as error:
        raise PassFailedException(f"{who}: {error}") from error


def remark(op: Operation, text: str) -> None:
    """Print a remark about an operation, with its place, for people."""
    place = ""
    if isinstance(at := op.location, FileLineColLoc):
        place = f"{at.filename.data}:{at.line.data}:{at.column.data}: "
    print(f"{place}remark: {op.name}: {text}", file=sys.stderr)


@dataclass(frozen=True)
class PlanBlockIOPass(ModulePass):
    """Write a plan, or the reason against one, to each access of a tensor."""

    name = "plan-block-io"

    device: str | None = None
    """A name in `coopc.device.DEVICES`; that of `simt.target` where it is absent."""
    explain: bool = False
    """Whether each decision is printed to the standard error."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on every access of `op`."""
        device = device_of(self.device, op, self.name)
        for each in op.walk():
            if (access := access_of(each)) is None:
                continue
            decided = decide(access, device)
            each.attributes.pop(xe.PLAN, None)
            each.attributes.pop(xe.REFUSAL, None)
            if isinstance(decided, Refusal):
                each.attributes[xe.REFUSAL] = StringAttr(str(decided))
            elif access.is_store:
                each.attributes[xe.PLAN] = xe.BlockStorePlanAttr(decided)
            else:
                each.attributes[xe.PLAN] = xe.BlockLoadPlanAttr(decided)
            if self.explain:
                remark(each, summary(decided))
