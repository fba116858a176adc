"""legalize-coopmatrix-khr: what SPV_KHR_cooperative_matrix lacks, by other means.

Before:  coopmatrix operations on tiles that the device has
After:   those that are instructions there; loops over elements, and work-group memory
         with barriers, for the rest, as `coopc.plan.khr_table` says
Fails:   where the table refuses an operation on the device, by name and with the
         reason; for unknown devices.  Nothing is changed then
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.passes.khr.decisions import decide, decide_products, slow_ways
from coopc.passes.khr.legalizer import Legalizer
from coopc.remarks import remark
from coopc.rewrite.device_option import device_of
from coopc.rewrite.one_to_many import Parts, Splitter, split_values
from coopc.rewrite.structure import functions, why_not_structured


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
    for func in functions(module).values():
        if (reason := why_not_structured(func)) and any(
            func.is_ancestor(each.op) for each in decisions if each.form != "native"
        ):
            func.emit_error(reason, PassFailedException(reason))
    for op, text in slow_ways(decisions, device):
        remark(op, text)
    # Products alone leave matrices, for what comes next to cut them.
    legalizer = Legalizer(module, device, holds=not products_only)
    for each in decisions:
        legalizer.rewrite(each)
    rewritten = [each.op for each in decisions if each.form != "native"]
    _drop(module, rewritten, legalizer)
    for op in reversed(rewritten):
        if op.parent is not None:
            Rewriter.erase_op(op)


def _drop(module: ModuleOp, ops: list[Operation], legalizer: Legalizer) -> None:
    """Take matrices that memory holds out of control flow, with what made them."""
    values = {
        value: Parts(()) for value in _values(ops) if legalizer.is_held(value.type)
    }

    def rule(op: Operation, _: Splitter) -> list[tuple[SSAValue, ...]]:
        return [() if result in values else (result,) for result in op.results]

    own = {type(op): rule for op in ops if op.dialect_name() == "coopmatrix"}
    split_values(module, values, own)


def _values(ops: list[Operation]) -> Iterator[SSAValue]:
    """Yield what operations take and give, to their regions too."""
    for op in ops:
        yield from (*op.operands, *op.results)
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


@dataclass(frozen=True)
class LegalizeCoopmatrixKhrPass(ModulePass):
    """Turn operations into such as the device has instructions for."""

    name = "legalize-coopmatrix-khr"

    device: str | None = None
    """A device of `--list devices`; that of `simt.target` where it is absent."""

    products_only: bool = False
    """Whether only multiplications of types that the device lacks are rewritten: before
    `split-coopmatrix`, which cuts what is then loaded and stored."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite."""
        legalize(op, device_of(self.device, op, self.name), self.products_only)
