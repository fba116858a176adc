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
from xdsl.dialects.builtin import MemRefType, ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import tt
from coopc.dialects.tt.types import TensorDescType, is_tensor
from coopc.passes.xe.block_access import BlockAccess, plan_of
from coopc.passes.xe.checks import why_not
from coopc.passes.xe.counters import count_in_units
from coopc.passes.xe.descriptors import Descriptors
from coopc.passes.xe.entry import Entry
from coopc.passes.xe.kernels import convert_functions
from coopc.passes.xe.products import dot
from coopc.passes.xe.spread import spread_of
from coopc.passes.xe.tensors import Tensors
from coopc.rewrite.one_to_many import Parts, Rule, Splitter, split_values


def parts_of(type: Attribute) -> Parts | None:
    """Return what a value of a type becomes; None where it stays."""
    if is_tensor(type):
        return Parts(spread_of(type).types)
    if isinstance(type, TensorDescType):
        memref = MemRefType(type.element, [])
        suffixes = ("", "_width", "_height", "_pitch")
        return Parts((memref, i32, i32, i32), suffixes)
    if isinstance(type, tt.PtrType):
        return Parts((MemRefType(type.pointee, []),))
    return None


def values_in(func: FuncOp) -> list[SSAValue]:
    """Return all values of a function, arguments too."""
    found: list[SSAValue] = []
    for op in func.walk():
        found += op.results
        found += (x for region in op.regions for b in region.blocks for x in b.args)
    return found


@dataclass(slots=True)
class Conversion:
    """The rules of one kernel."""

    entry: Entry

    def rules(self) -> dict[type[Operation], Rule]:
        """Return them, by operation."""
        return {
            **Tensors(self.entry).rules(),
            **Descriptors(self.entry).rules(),
            tt.DotOp: dot,
            tt.DescriptorLoadOp: self.load,
            tt.DescriptorStoreOp: self.store,
        }

    def load(
        self, op: tt.DescriptorLoadOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """By blocks, or lane by lane."""
        plan = plan_of(op)
        assert plan is not None
        return [BlockAccess(self.entry).load(op, s, plan)]

    def store(
        self, op: tt.DescriptorStoreOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """By blocks, or lane by lane."""
        plan = plan_of(op)
        assert plan is not None
        return BlockAccess(self.entry).store(op, s, plan)


def convert(func: FuncOp) -> None:
    """Convert the body of a kernel."""
    entry = Entry(func.body.block)
    count_in_units(func, entry)
    parts = {
        value: found
        for value in values_in(func)
        if (found := parts_of(value.type)) is not None
    }
    split_values(func, parts, Conversion(entry).rules())


@dataclass(frozen=True)
class ConvertTtgirToXePass(ModulePass):
    """Make functions of one lane of Triton's kernels."""

    name = "convert-ttgir-to-xe"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all of `op`, then convert it."""
        if not any(isinstance(each, tt.FuncOp) for each in op.ops):
            return
        for each in op.walk():
            if (reason := why_not(each)) is not None:
                each.emit_error(reason, PassFailedException(reason))
        for func in convert_functions(op):
            convert(func)
