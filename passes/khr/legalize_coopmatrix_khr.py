"""legalize-coopmatrix-khr: what SPV_KHR_cooperative_matrix lacks, by other means.

Before:  coopmatrix operations on tiles that the device has
After:   those that are instructions there; loops over elements, and work-group memory
         with barriers, for the rest, as `coopc.plan.khr_table` says
Fails:   where the table refuses an operation on the device, by name and with the
         reason; for unknown devices.  Nothing is changed then
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.passes.khr.decisions import decide, decide_products
from coopc.passes.khr.legalizer import Legalizer
from coopc.rewrite.device_option import device_of


def legalize(
    module: ModuleOp, device: devices.Device, products_only: bool = False
) -> None:
    """Rewrite a module for a device; or only multiplications of types that it lacks.

    Raises:
        PassFailedException: the device refuses an operation; nothing is changed then.
    """
    decide_on = decide_products if products_only else decide
    decisions = decide_on(module, device)
    for each in decisions:
        if each.form == "refused":
            each.op.emit_error(each.reason, PassFailedException(each.reason))
    legalizer = Legalizer(module, device)
    for each in decisions:
        legalizer.rewrite(each)
    for each in reversed(decisions):
        if each.form != "native":
            Rewriter.erase_op(each.op)


@dataclass(frozen=True)
class LegalizeCoopmatrixKhrPass(ModulePass):
    """Turn operations into such as the device has instructions for."""

    name = "legalize-coopmatrix-khr"

    device: str | None = None
    """A name in `coopc.device.DEVICES`; that of `simt.target` where it is absent."""

    products_only: bool = False
    """Whether only multiplications of types that the device lacks are rewritten: before
    `split-coopmatrix`, which cuts what is then loaded and stored."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite."""
        legalize(op, device_of(self.device, op, self.name), self.products_only)
